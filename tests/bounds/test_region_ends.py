"""What an interval says of itself."""

from __future__ import annotations

import pytest
import sympy as sp
from fedco.bounds.language.theorem import Condition
from fedco.bounds.region.intervals import Interval, intersect
from fedco.bounds.region.pictures import _window


def test_the_exact_ends_are_kept_but_not_printed_nor_compared():
    x = sp.Symbol("x", positive=True)
    (root,) = intersect([Condition("c", x**2, "<=", sp.Integer(2))], x)
    low, high = root.enclosure["upper"]
    assert low**2 < 2 < high**2 and "enclosure" not in repr(root)
    (near,) = intersect([Condition("c", x, "<=", sp.Rational(low + (high - low) / 3))], x)
    assert near == root and near.enclosure != root.enclosure


def test_runs_of_whole_numbers_between_ends_that_are_not_whole():
    n = sp.Symbol("n", positive=True, integer=True)
    outside = Condition("c", (2 * n - 5) * (2 * n - 11), ">=", sp.Integer(0))  # not in (5/2, 11/2)
    inside = Condition("c", (2 * n - 5) * (2 * n - 11), "<=", sp.Integer(0))
    assert [(p.lower, p.upper) for p in intersect([outside], n)] == [(1, 2), (6, None)]
    assert [(p.lower, p.upper) for p in intersect([inside], n)] == [(3, 5)]
    between = Condition("c", (4 * n - 9) * (4 * n - 11), ">=", sp.Integer(0))  # (9/4, 11/4) has no whole number
    assert [(p.lower, p.upper) for p in intersect([between], n)] == [(1, None)]


def test_a_coefficient_that_vanishes_unseen_does_not_move_an_end():
    """sqrt(3 + 2 sqrt(2)) = 1 + sqrt(2): what is left is x^3 <= 2 x."""
    x = sp.Symbol("x", positive=True)
    (found,) = intersect([Condition("c", x**3 + 1 + sp.sqrt(2), "<=", 2 * x + sp.sqrt(3 + 2 * sp.sqrt(2)))], x)
    low, high = found.enclosure["upper"]
    assert low**2 < 2 < high**2 and high - low < 1e-15
    assert found.lower == 0 and not found.lower_closed


def test_a_picture_spans_three_decades_around_the_ends():
    def of(low: float, high: float | None) -> tuple[float, float]:
        interval = Interval(low, high, False, False, {})
        window, other = _window({"x": interval}, ("x", "y"))
        assert other == (1e-4, 1e4), "nothing is known of y"
        return window

    for low, high in ((2.0, None), (0.0, 2000.0), (0.0, None), (2.0, 5.0)):
        left, right = of(low, high)
        assert 0 < left < (low or right) and right > (high or low)
        if not low or high is None:
            assert right / left == pytest.approx(3 * 1.5 * 1000)
    assert of(2.0, 5.0) == pytest.approx((2 / 1.5, 15))
