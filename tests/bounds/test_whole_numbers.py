"""From a point to exact values: whole numbers that use a budget up, reals with few digits, and everything holds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from math import inf
from types import SimpleNamespace

import fedco
import numpy as np
import pytest
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Condition
from fedco.bounds.optimum import tuning
from fedco.bounds.optimum.model import model
from fedco.bounds.optimum.polish import candidates, largest_allowed, polish
from fedco.bounds.optimum.search import Found
from fedco.bounds.optimum.task import make_task
from fedco.bounds.optimum.tuning import tune
from fedco.bounds.optimum.whole_numbers import accepts, rounded
from inverse_cases import FCSG
from tuner_cases import CONSTANTS, EXAMPLE, asking, planned

# --- polish ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 2, 17, 1000, 1001, 10**6])
@pytest.mark.parametrize("high", [1.0, 2.0, 1000.0])
def test_the_largest_value_that_is_allowed(limit, high):
    def rank(point):
        return np.where(point["n"] * point["m"] <= limit, 1.0, np.inf)

    moved = np.array([1.0, 3.0, 7.0])
    found = largest_allowed(rank, {"m": moved, "n": 0.0}, "n", 1.0, high)
    assert found.tolist() == [max(1.0, min(high, limit // m)) for m in moved]


PLACES = ({"m": 5.0, "n": 4.0, "k": 2.0, "x": 0.7}, {"m": 7.0, "n": 4.0, "k": 2.0, "x": 2.1})


@pytest.mark.parametrize(("at", "slack", "size"), [(PLACES[0], 0.5, 12), (PLACES[0], -2.0, 6), (PLACES[1], 0.0, 2)])
def test_what_a_polish_looks_at(at, slack, size):
    """Against the same in plain words for three whole numbers with m n k <= 60 and a real one, up to 3 steps away."""
    limits = {"m": (2.0, 9.0), "n": (1.0, inf), "k": (1.0, 3.0), "x": (0.0, inf)}
    task = SimpleNamespace(
        box=lambda: dict(limits),
        model=SimpleNamespace(free=[SimpleNamespace(name=name) for name in limits], whole=("m", "n", "k")),
    )

    def value(m, n, k, x):
        return 30 / (x * m) + x * (n - 4.2) ** 2 + 5 / k + x if m * n * k <= 60 else inf

    def rank(point):
        arrays = np.broadcast_arrays(*(np.asarray(point[name], float) for name in limits))
        return np.array([value(*each) for each in zip(*map(np.ravel, arrays), strict=True)]).reshape(arrays[0].shape)

    best = dict[tuple[float, ...], float]()
    for first in ("m", "n", "k"):
        low, high = limits[first]
        others = [name for name in ("m", "n", "k") if name != first]
        for moved in range(int(max(low, at[first] - 3)), int(min(high, at[first] + 3)) + 1):
            tried = []
            for name in others:  # as large as the budget allows
                (third,) = (other for other in others if other != name)
                largest = min(limits[name][1], 60 // (moved * at[third]))
                tried.append({name: max(largest, limits[name][0])})
                for more in (0, 1):  # the third scaled first, rounded down or up
                    scaled = min(max(at[third] * at[first] / moved // 1 + more, limits[third][0]), limits[third][1])
                    largest = min(limits[name][1], 60 // (moved * scaled))
                    tried.append({third: scaled, name: max(largest, limits[name][0])})
            for group in ([], [others[0]], [others[1]], others):  # scaled, rounded down or up
                for up in ([], [others[0]], [others[1]], others):
                    scaled = {n: at[n] * at[first] / moved // 1 + (n in up) for n in group}
                    tried.append({n: min(max(v, limits[n][0]), limits[n][1]) for n, v in scaled.items()})
            for changed in tried:
                point = {**at, **changed, first: float(moved)}
                steps = [at["x"] * (moved / at[first]) ** -power for power in (0, 0.5, 1)]
                least = min(value(point["m"], point["n"], point["k"], x) for x in steps)
                numbers = point["m"], point["n"], point["k"]
                if least < best.get(numbers, inf):
                    best[numbers] = least
    found = Found(value(*at.values()) + slack, at)
    wanted = sorted((v, chosen) for chosen, v in best.items() if v <= found.value)[:12]
    assert len(wanted) == size < len(best)
    assert (at["m"], at["n"], at["k"]) in [chosen for _, chosen in wanted] or slack
    got = candidates(rank, task, found, ["m", "n", "k"], steps=3, most=12)
    assert [tuple(chosen.values()) for chosen in got] == [chosen for _, chosen in wanted]


def at(eta: float, p: float, T: float, **more) -> Found:
    total = 10 / (eta * T) + 18 * eta / 7 + 400 * eta**2 * p**2
    return Found(total, {"eta": eta, "p": p, "T": T}, **more)


def test_a_polish_goes_on_until_nothing_is_better():
    """The bound falls with T up to the budget and with 1/p: from 1,500 steps away that takes more than two rounds of 600."""
    task = asking(budget={"samples": 2000})
    best = tune(EXAMPLE, CONSTANTS, budget={"samples": 2000})
    found = polish(task, at(0.01, 4.0, 450.0, lower=0.25, nodes=4))
    assert (found.point["p"], found.point["T"]) == (1, 2000) == (best.values["p"], best.values["T"])
    assert found.value == pytest.approx(best.value, rel=1e-5) and (found.lower, found.nodes) == (0.25, 4)
    assert polish(task, replace(found, lower=9.0)) == replace(found, lower=9.0), "nothing is better"
    assert polish(task, at(0.01, 4.0, 450.0, lower=9.0)).lower == found.value, "no bound lies above the point"


def test_which_numbers_a_polish_moves():
    """Neither what is fixed, nor what is too large for a step to matter, nor what no point is known of."""
    budget = {"samples": 10**7 + 500}
    large = polish(asking(budget=budget), at(1e-5, 3.0, 1e7)).point
    assert (large["p"], large["T"]) == (1, 1e7)
    long = polish(asking(budget=budget), at(1e-5, 3.0, 1e7 - 1)).point
    assert long["p"] == 1 and long["T"] > 1e7 - 1
    held = polish(asking(budget=budget, ranges={"p": (3, 3)}), at(0.01, 3.0, 450.0)).point
    assert held["p"] == 3 and held["T"] > 450
    fixed = at(0.01, 3.0, 450.0)
    assert polish(asking(ranges={"p": (3, 3), "T": (450, 450)}), fixed) is fixed


def test_reals_follow_the_whole_numbers_of_a_polish():
    """Within their ranges, as the program at the new numbers chooses them."""
    found = polish(asking(ranges={"eta": (None, "1/250")}), at(0.003, 2.0, 400.0))
    assert found.point == {"eta": pytest.approx(1 / 250), "p": 1.0, "T": 1000.0}
    assert found.value == pytest.approx(at(1 / 250, 1.0, 1000.0).value)


# --- exact values ----------------------------------------------------------------------------------------------------------------


def digits(value: F) -> int:
    return len(f"{float(value):.15g}".replace(".", "").lstrip("0").rstrip("0"))


@pytest.mark.parametrize(
    ("ranges", "eta", "most"),
    [
        (None, 0.0221921871123, 10),
        ({"eta": ("0.0123456789", "0.0123456790")}, 0.01234567891234, 10),
        ({"eta": ("0.01234567890123", "0.01234567890124")}, 0.012345678901234, 15),
        ({"eta": ("0.0123456789012345", "0.0123456789012345")}, 0.0123456789012345, 15),
    ],
)
def test_exact_values_have_few_digits_and_hold(ranges, eta, most):
    """Ten where there is room for them, and fifteen where nothing else fits."""
    task = asking(ranges=ranges)
    found = rounded(task, {"eta": eta, "p": 1.0, "T": 1000.0})
    assert accepts(task, found) and (found["p"], found["T"]) == (1, 1000) and digits(found["eta"]) <= most
    assert float(found["eta"]) == pytest.approx(eta, rel=1e-3) and (most == 10) == (digits(found["eta"]) <= 10)


def test_real_values_keep_away_from_every_limit():
    """By a billionth where that is possible: the step size, at most 1/2 here, is no limit of what is chosen after it."""
    task = make_task(model(EXAMPLE, CONSTANTS | {"sigma": "1/100", "G": "1/100"}), {"samples": 1000}, None, None, None)
    found = rounded(task, {"eta": 0.5, "p": 1.0, "T": 1000.0})
    assert 1e-10 < 1 - 2 * found["eta"] < F(3, 10**9)


@pytest.mark.parametrize(("budget", "T", "found"), [(999, 1000, 999), (10**8 - 5, 10**8, 10**8 - 10)])
def test_neighbours_are_tried_where_no_digits_help(budget, T, found):
    """A whole number of some ten-millionths of it less, the best objective first; 1 stays."""
    task = asking(budget={"samples": budget})
    assert rounded(task, {"eta": 0.001, "p": 1.0, "T": float(T)}).items() >= {"p": 1, "T": found}.items()
    with pytest.raises(
        InputError, match=r"^pr_sgd\.theorem_1 \(printed\): no admissible values with finitely many digits"
    ):
        rounded(asking(budget={"samples": F(99, 100) * T}), {"eta": 0.001, "p": 1.0, "T": float(T)})


def test_of_two_neighbours_the_one_with_the_better_objective_is_taken():
    """T may be 999 or 1001 and not 1000; the bound falls with T."""
    least = tune(EXAMPLE, CONSTANTS | {"p": 1, "T": 1000}, budget={"samples": 1001})
    task = asking(budget={"samples": 1001}, ranges={"T": ("1000.5", None)})
    found = rounded(task, {"eta": float(least.values["eta"]), "p": 1.0, "T": 1000.0})
    assert (found["p"], found["T"]) == (1, 1001)


@pytest.mark.parametrize(("schedule", "also"), [({"eta": "1/L"}, {"p": F(3)}), ({"eta": "1/L", "p": "1 + T/N"}, {})])
def test_what_an_equality_fixes_is_chosen_with_the_rest(schedule, also):
    """What the schedule gives is left to it; anything else has to be said when the statement is evaluated."""
    _, symbols = planned()
    statement, _ = planned(schedule, Condition("rounds", symbols["p"], "==", 1 + symbols["T"] / symbols["N"]))
    task = make_task(model(statement, {"F_gap": 3, "L": 2, "N": 5}), {"T": 100}, None, None, None)
    assert [*task.model.determined] == ["p"]
    found = rounded(task, {"eta": 0.25, "T": 10.0})
    assert found.items() >= {"T": F(10), **also}.items() and ("p" in found) is bool(also)


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
