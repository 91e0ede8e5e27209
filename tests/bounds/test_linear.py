"""The exact simplex method against scipy on random programs."""

from __future__ import annotations

from fractions import Fraction as Q
from random import Random

import pytest
from fedco.bounds.optimum.linear import UnboundedError, minimise
from scipy.optimize import linprog

NAMES = ("a", "b", "c", "d")


def random_program(rng: Random):
    rows = [({n: Q(rng.randint(-3, 3)) for n in NAMES}, Q(rng.randint(-4, 6))) for _ in range(rng.randint(2, 7))]
    if rng.random() < 0.4:  # many rows meet in one point, some of them in both directions
        rows = [({n: Q(rng.randint(-1, 1)) for n in NAMES}, Q(rng.randint(-1, 1))) for _ in range(4)]
        rows += [({n: -v for n, v in row.items()}, -limit) for row, limit in rows[:2]]
    return {n: Q(rng.randint(-3, 3)) for n in NAMES}, rows, frozenset(rng.sample(NAMES, rng.randint(0, 4)))


@pytest.mark.parametrize("seed", range(120))
def test_agrees_with_scipy(seed):
    objective, rows, nonnegative = random_program(Random(seed))
    reference = linprog(
        [float(objective[n]) for n in NAMES],
        A_ub=[[float(row[n]) for n in NAMES] for row, _ in rows],
        b_ub=[float(limit) for _, limit in rows],
        bounds=[(0 if n in nonnegative else None, None) for n in NAMES],
    )
    if reference.status == 3:
        with pytest.raises(UnboundedError):
            minimise(objective, rows, nonnegative)
        return
    point = minimise(objective, rows, nonnegative)
    if reference.status == 2:
        assert point is None
        return
    assert all(sum(row[n] * point[n] for n in NAMES) <= limit for row, limit in rows)
    assert all(point[n] >= 0 for n in nonnegative)
    assert float(sum(objective[n] * point[n] for n in NAMES)) == pytest.approx(reference.fun, abs=1e-9)


def test_linear_programs_that_touch_their_ends():
    one = Q(1)
    assert minimise({"a": one}, [({"a": -one}, Q(-3))], frozenset("a")) == {"a": 3}
    assert minimise({"a": one}, [({"a": -one}, Q(3))], frozenset()) == {"a": -3}
    assert minimise({"a": one}, [({"a": one}, Q(2)), ({"a": -one}, Q(-2))], frozenset()) == {"a": 2}
    assert minimise({"a": one}, [({"a": one}, Q(2)), ({"a": -one}, Q(-3))], frozenset()) is None
    doubled = [({"a": -one, "b": Q(0)}, Q(-1)), ({"a": -one}, Q(-2)), ({"a": -one}, Q(-1))]
    assert minimise({"a": one}, doubled, frozenset("a"))["a"] == 2  # the strictest of equal rows
    with pytest.raises(UnboundedError):
        minimise({"a": -one}, [({"b": one}, Q(1))], frozenset("a"))
    assert minimise({}, [], frozenset()) == {}
