"""What an interval says of itself."""

from __future__ import annotations

import sympy as sp
from fedco.bounds.language.theorem import Condition
from fedco.bounds.region.intervals import intersect


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
