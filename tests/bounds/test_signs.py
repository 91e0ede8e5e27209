"""Exact signs of numbers that ordinary precision cannot tell from 0."""

from __future__ import annotations

from math import isqrt

import pytest
import sympy as sp
from fedco.bounds.evaluation.evaluate import sign


@pytest.mark.parametrize("digits", [10, 40, 80])
def test_the_sign_of_a_tiny_difference(digits):
    below = sp.Rational(isqrt(2 * 10 ** (2 * digits)), 10**digits)  # the digits of the root, cut off
    above = below + sp.Rational(1, 10**digits)
    assert (sign(sp.sqrt(2) - below), sign(sp.sqrt(2) - above)) == (1, -1)
    assert (sign(below - sp.sqrt(2)), sign(above - sp.sqrt(2))) == (-1, 1)


def test_a_tie_is_0():
    assert sign(sp.sqrt(2) + sp.sqrt(3) - sp.sqrt(5 + 2 * sp.sqrt(6))) == 0
    assert sign(sp.sqrt(8) - 2 * sp.sqrt(2)) == 0 and sign(sp.Integer(0)) == 0
