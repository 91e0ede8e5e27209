"""Branch and bound on problems solved by hand, the points of a Pareto front, and what orders say."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import fedco
import pytest
import sympy as sp
from fedco.bounds.cost.comparison import orders
from fedco.bounds.cost.orders import rates
from fedco.bounds.cost.sensitivity import pareto
from fedco.bounds.language.reading import InputError
from fedco.bounds.optimum import tuning
from fedco.bounds.optimum.polish import polish
from fedco.bounds.optimum.posynomial import Posynomial
from fedco.bounds.optimum.program import Program
from fedco.bounds.optimum.search import minimise
from inverse_cases import FCSG

X = sp.Symbol("x", positive=True)


@pytest.mark.parametrize(("low", "high"), [(0.01, 0.99), (0.3, 0.99), (0.01, 0.7)])
def test_a_box_is_split_where_a_real_variable_makes_a_factor_inexact(low, high):
    """1/(x (1 - x)) is least, 4, at x = 1/2; on the whole box 1 - x is known as 1 - low or 1 - high only."""
    found = minimise(lambda converter: (converter.convert(1 / (X * (1 - X))), []), {"x": (low, high)}, ())
    assert 4 <= found.value < 4.001 and 3.9 < found.lower <= 4
    assert found.point["x"] == pytest.approx(0.5, rel=1e-2)


def test_a_split_of_an_unbounded_variable():
    """(x^2 + 9)/(x - 1) is least, 2 + 2 sqrt(10), at x = 1 + sqrt(10)."""
    found = minimise(lambda converter: (converter.convert((X**2 + 9) / (X - 1)), []), {"x": (1.5, float("inf"))}, ())
    least = 2 + 2 * 10**0.5
    assert least <= found.value * (1 + 1e-9) and found.lower <= least * (1 + 1e-9)


def test_a_constraint_that_holds_with_equality_is_not_violated():
    x = Posynomial.variable("x")
    program = Program(x, (("limit", x * Posynomial.number(0.5)),))
    assert program.violated({"x": 2.0}) == [] and program.violated({"x": 2.5}, slack=0.25) == []
    assert program.violated({"x": 2.000001}) == ["limit"] and program.violated({"x": 2.6}, slack=0.25) == ["limit"]


def test_the_points_of_a_front_are_different_trades():
    """Between the two ends a round has one price after the other, and the cheapest schedules differ."""
    values = {"L": 1, "sigma": 1, "G": 1, "F_gap": 1, "N": 4}
    front = pareto(fedco.theorem("baselines.local_sgd").statement("printed"), values, "1/10", points=6)
    rounds, samples = ([t.cost[name] for t in front] for name in ("rounds", "samples"))
    assert len(front) >= 5
    assert all(a < b for a, b in pairwise(rounds))
    assert all(a > b for a, b in pairwise(samples))


def test_orders_of_a_kind_that_there_is_not_are_refused():
    with pytest.raises(InputError, match="not a kind"):
        orders("convex")
    assert {row.kind for row in orders("conditional", ("printed",)).rows} == {"conditional"}


def test_orders_are_printed_with_their_schedule():
    found = rates(fedco.theorem("fcsg.theorem_4_1").statement("printed"))
    (line,) = [line for line in str(found).splitlines() if line.startswith("  with ")]
    assert line == "  with " + ", ".join(f"{name} ~ {order}" for name, order in found.schedule.items())
    assert set(found.schedule) >= {"alpha", "q", "m", "T"} and "  samples ~ " in str(found)


def test_whole_numbers_some_steps_away_are_led_back(monkeypatch):
    """From other whole numbers within the budget the polish finds those of the optimum again."""
    met = []
    monkeypatch.setattr(tuning, "GAP", -1.0)
    monkeypatch.setattr(tuning, "polish", lambda task, found: met.append((task, found)) or found)
    fedco.theorem("fcsg.theorem_4_1").tune("printed", budget={"samples": 1009}, **FCSG)
    ((task, best),) = met
    for moved in ({"m": 12.0, "T": 84.0}, {"m": 5.0, "T": 150.0}):
        away = replace(best, point={**best.point, **moved}, value=1.1 * best.value)
        found = polish(task, away)
        assert found.value == pytest.approx(best.value, rel=1e-6)
        assert {name: found.point[name] for name in moved} == {name: best.point[name] for name in moved}
    assert polish(task, best).value == best.value
