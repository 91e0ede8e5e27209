"""What a tuner is asked, and the way from a point to exact values: whole numbers that use a budget up, and everything holds.

And the exact simplex method against scipy."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from fractions import Fraction as Q
from math import inf, log10
from random import Random
from types import SimpleNamespace

import fedco
import numpy as np
import pytest
import sympy as sp
from fedco.bounds.language.theorem import Condition
from fedco.bounds.optimum import numerical, tuning, whole_numbers
from fedco.bounds.optimum.linear import UnboundedError, minimise
from fedco.bounds.optimum.model import model
from fedco.bounds.optimum.polish import candidates, largest_allowed, polish
from fedco.bounds.optimum.posynomial import Converter, EmptyBoxError, NotPosynomialError, Posynomial
from fedco.bounds.optimum.search import Found
from fedco.bounds.optimum.task import make_task
from fedco.bounds.optimum.tuning import tune
from fedco.bounds.optimum.whole_numbers import accepts, rounded
from inverse_cases import FCSG
from refusal import is_refused
from scipy.optimize import linprog
from small_theorems import CONSTANTS, EXAMPLE, SCHEDULE, asking, planned

x, y = (sp.Symbol(name, positive=True) for name in "xy")
number, variable = Posynomial.number, Posynomial.variable


def test_what_is_measured_is_the_statement_and_what_fails():
    """Conditions, budgets, ranges and the target at values of eta, p and T, by hand; whole numbers without tolerance."""
    task = asking(ranges={"eta": ("1/100", "1/4"), "p": (2, None)})

    def by_hand(eta, p, T, room):
        total = 10 / (eta * T) + 18 * eta / 7 + 4 * eta**2 * p**2 * 4 * 25
        failed = (eta > 0.5 * (1 + room)) + (T > 1000) + (eta * (1 + room) < 0.01) + (eta > 0.25 * (1 + room)) + (p < 2)
        return total, failed

    for tolerance in (0.0, 0.1):
        measure = numerical.measured(task, tolerance)
        for point in (
            (0.1, 3.0, 500.0),
            (0.26, 2.0, 1000.0),
            (0.3, 1.0, 1001.0),
            (0.0095, 2.0, 4.0),
            (0.52, 1.0, 1000.0),
        ):
            objective, failed = measure(*(np.array([value]) for value in point))
            assert (objective[0], failed[0]) == pytest.approx(by_hand(*point, tolerance)), (point, tolerance)
    goal = asking(budget=None, eps=30)
    objective, failed = numerical.measured(goal)(np.array([0.1, 0.01]), np.array([1.0, 1.0]), np.array([10.0, 20.0]))
    assert objective.tolist() == [10.0, 20.0] and failed.tolist() == [0, 1]
    ranked = numerical.penalised(goal)(np.array([[-1.0, -2.0], [0.1, -3.0], [1.0, log10(20)]]), [False, True, True])
    assert ranked == pytest.approx([1.0, 1e6 + 1])


def test_a_numerical_search_finds_the_least_value_or_nothing():
    """18 eta/7 + 10/(eta T) + 400 eta^2 p^2 with T = 100 is least at p = 1 and where its slope in eta is 0."""
    task = make_task(model(EXAMPLE, CONSTANTS | {"T": 100}), {"samples": 1000}, None, None, {"p": (None, 40)})
    point = numerical.differential_evolution(task, steps=10)
    (eta,) = (r.real for r in np.roots([800, 18 / 7, 0, -0.1]) if r.imag == 0 and r.real > 0)
    assert point == {"eta": pytest.approx(eta, rel=1e-3), "p": 1.0}
    with is_refused(r"^pr_sgd\.theorem_1 \(printed\): no admissible values were found"):
        numerical.differential_evolution(asking(ranges={"eta": (3, None)}), steps=3)


@pytest.mark.parametrize(
    ("ends", "wanted"), [(("1/20", "1/10"), 0.05), (("1/1000", "1/100"), 0.01), (("1/20", "0.0500001"), 0.05)]
)
def test_a_numerical_search_ends_where_a_range_does(ends, wanted):
    """What is least at eta = 0.015 and p = 1 is least at the nearest end of a range, which is found however narrow the range is."""
    task = make_task(
        model(EXAMPLE, CONSTANTS | {"T": 100}), {"samples": 1000}, None, None, {"eta": ends, "p": (2, 2000)}
    )
    point = numerical.differential_evolution(task, steps=10)
    assert point["eta"] == pytest.approx(wanted, rel=1e-2) and point["p"] == 2


def test_a_task_holds_at_its_limits_and_not_beyond():
    """eta = 1/4, p = 2 and T = 1000 with every limit just there; then each limit passed by a little."""
    exact = F(10 * 4, 1000) + F(18, 28) + F(4 * 4 * 4 * 25, 16)
    point = {"eta": F(1, 4), "p": F(2), "T": F(1000)}
    fine = asking(ranges={"eta": ("1/4", "1/4"), "p": (2, 2)})
    assert whole_numbers.accepts(fine, point) and whole_numbers.objective_at(fine, point) == pytest.approx(float(exact))
    for ranges in ({"eta": ("1/3", None)}, {"eta": (None, "1/5")}, {"p": (3, None)}, {"p": (None, 1)}):
        assert not whole_numbers.accepts(asking(ranges=ranges), point)
    assert not whole_numbers.accepts(asking(budget={"samples": "999.999"}), point)
    assert whole_numbers.accepts(asking(budget=None, eps=exact), point)
    assert not whole_numbers.accepts(asking(budget=None, eps=exact - F(1, 10**20)), point)
    assert not whole_numbers.accepts(asking(), point | {"eta": F(51, 100)})
    assert whole_numbers.objective_at(asking(budget=None, eps=1), point) == 1000.0


def test_the_constraints_of_a_task():
    point = {"eta": 0.25, "p": 2.0, "T": 500.0}
    total = 10 / (0.25 * 500) + 18 * 0.25 / 7 + 4 * 0.25**2 * 4 * 100
    objective, limits = asking(budget={"samples": 1000, "rounds": 100}).make(Converter({}))
    found = {name: part.at(point) for name, part in limits if not name.startswith("method_range")}
    assert objective.at(point) == pytest.approx(total)
    assert found == pytest.approx({"step_size": 0.5, "budget of samples": 0.5, "budget of rounds": 2.5})
    cost, limits = asking(budget=None, eps=5, cost={"samples": 2, "rounds": "1/2"}).make(Converter({}))
    assert cost.at(point) == pytest.approx(2 * 500 + 125) and dict(limits)["target"].at(point) == pytest.approx(
        total / 5
    )
    assert asking(budget=None, eps=5).objective == "samples" and asking().objective == "bound"
    weighted = asking(budget={"cost": 10}, cost={"samples": 2})
    assert dict(weighted.make(Converter({}))[1])["budget of cost"].at(point) == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"eps": 1}, "got both"),
        ({"budget": None}, "got neither"),
        ({"budget": {"samples": 0}}, "budget of samples: wanted a positive"),
        ({"budget": None, "eps": 0}, "eps: wanted a positive"),
        ({"ranges": {"p": (3, 2)}}, "got 3 > 2"),
        ({"ranges": {"p": (0, 2)}}, "range of p: wanted a positive"),
        ({"budget": None, "eps": 1, "cost": {"samples": 0}}, "weight of samples: wanted a positive"),
    ],
)
def test_what_is_no_task(changed, message):
    with is_refused(message):
        asking(**changed)


def test_a_term_that_makes_no_sense_where_a_condition_fails_is_no_error():
    task = asking()
    for value, error in ((2.0, EmptyBoxError), (1.0, NotPosynomialError), (1 + 1e-10, NotPosynomialError)):
        broken = SimpleNamespace(
            limits=lambda converter, value=value: [("a", variable("x")), ("b", number(value))], terms={"t": x - y}
        )
        with pytest.raises(error):
            replace(task, model=broken).make(Converter({}, upper=False))


def test_a_model_of_a_statement():
    made = model(EXAMPLE, CONSTANTS)
    assert made.whole == ("p", "T") and made.real == ("eta",)
    assert made.box() == {"eta": (0.0, inf), "p": (1.0, inf), "T": (1.0, inf)}
    with is_refused(r"step_size: the values given violate eta <= 1/L: wanted <= 0\.5, got 0\.75"):
        model(EXAMPLE, CONSTANTS | {"eta": "3/4"})
    assert "step_size" not in [c.name for c in model(EXAMPLE, CONSTANTS | {"eta": "1/2"}).conditions]


def test_a_schedule_is_followed_where_nothing_else_is_said():
    """eta = 1/(L p) and p = T/N: what is given stays, and so does what an equality fixes; the rest follows."""
    statement, symbols = planned()
    T, eta = symbols["T"], symbols["eta"]
    constants = {"F_gap": 3, "L": 2, "N": 5}

    def followed(statement, **given):
        made = model(statement, constants | given, follow_schedule=True)
        return [binding.name for binding in made.free], dict(made.determined)

    assert followed(statement) == (["T"], {"eta": 5 / (2 * T), "p": T / 5})
    assert followed(statement, eta="1/7") == (["T"], {"p": T / 5})
    assert followed(statement, p=4) == (["T"], {"eta": sp.Rational(1, 8)})
    step = Condition("step", eta, "==", 3 / (symbols["L"] * T))
    assert followed(planned(SCHEDULE, step)[0]) == (["T"], {"eta": 3 / (2 * T), "p": T / 5})
    free = model(statement, constants)
    assert [binding.name for binding in free.free] == ["eta", "T", "p"] and not free.determined
    best, usual = (
        tuning.tune(statement, constants, budget={"T": 100}, **how) for how in ({}, {"follow_schedule": True})
    )
    assert best.value < usual.value == float(usual.bound) and float(usual.values["p"]) == float(usual.values["T"]) / 5


def test_equalities_express_one_hyperparameter_by_the_others():
    """What numbers decide is checked and dropped; what stands alone on the left is solved for, else a real before a count."""
    _, s = planned()
    constants = {"F_gap": 3, "L": 2, "N": 5}

    def fixed(*equalities, **given):
        statement, _ = planned(
            {}, *(Condition(f"e{i}", left, "==", right) for i, (left, right) in enumerate(equalities))
        )
        made = model(statement, constants | given)
        assert all(c.name.startswith("method_range") for c in made.conditions)
        assert {*made.determined} | {b.name for b in made.free} == {"eta", "p", "T"} - {*given}
        assert (
            not {s[name] for name in made.determined}
            & sp.Tuple(*made.terms.values(), *made.costs.values()).free_symbols
        )
        return made.determined

    assert fixed((s["eta"] * s["p"], sp.Integer(3))) == {"eta": 3 / s["p"]}
    assert fixed((s["p"], 3 / s["eta"])) == {"p": 3 / s["eta"]}
    assert fixed((s["T"], s["p"] * 7), (s["eta"], 1 / s["T"])) == {"T": 7 * s["p"], "eta": 1 / (7 * s["p"])}
    assert fixed((s["eta"], 1 / s["T"]), (s["T"], s["p"] * 7)) == {"T": 7 * s["p"], "eta": 1 / (7 * s["p"])}
    assert fixed((s["T"] / s["p"], s["N"]), (s["eta"], 1 / s["p"]), p=4, T=20) == {"eta": sp.Rational(1, 4)}
    assert fixed((s["eta"] * s["p"], sp.Integer(3)), p=4) == {"eta": sp.Rational(3, 4)}
    with is_refused(r"^e0: wanted .*; the values given do not satisfy it"):
        fixed((s["T"] / s["p"], s["N"]), p=4, T=21)
    with is_refused(r"^e0: cannot solve .* for a hyperparameter"):
        fixed((s["T"] + s["p"], s["eta"] + s["N"]))


def test_conditions_of_a_model_are_at_most_one_where_they_hold():
    """Both directions of a relation; a part of an extremum keeps its name, and what fails already says why."""
    _, s = planned()
    least = Condition("least", s["eta"], "<=", sp.Min(1 / s["L"], 3 / s["p"]))
    statement, _ = planned({}, Condition("long", s["T"], ">=", 4 * s["p"]), least)
    made = model(statement, {"F_gap": 3, "L": 2, "N": 5})
    at = {"eta": 0.25, "T": 20.0, "p": 2.0}
    parts = {name: part.at(at) for name, part in made.limits(Converter({})) if not name.startswith("method_range")}
    assert parts == pytest.approx({"long": 0.4, "least[1]": 0.5, "least[2]": 1 / 6})
    with is_refused(r"^least: the values given violate .*: wanted <= 0\.3, got 0\.4$"):
        model(statement, {"F_gap": 3, "L": 2, "N": 5, "eta": "2/5", "p": 10})
    with is_refused(r"^method_range_p: .*: wanted <= 20, got 21 \(a run communicates at least once\)$"):
        model(planned({})[0], {"F_gap": 3, "L": 2, "N": 5, "T": 20, "p": 21})


def test_what_a_tuner_may_choose():
    """Hyperparameters, but not what belongs to the problem, unless it may be left open; constants have to be given."""
    statement, _ = planned({})
    constants = {"F_gap": 3, "L": 2}
    with is_refused(r"missing: N\b"):
        model(statement, constants)
    free = model(statement, constants, also_free=frozenset({"clients"})).free
    assert {b.name for b in free} == {"eta", "T", "p", "N"}
    with is_refused(r"missing: L\b"):
        model(statement, {"F_gap": 3, "N": 5}, also_free=frozenset({"clients", "local_smoothness"}))
    with is_refused("bounds nothing"):
        model(replace(statement, terms=()), {})


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
    with is_refused(r"^pr_sgd\.theorem_1 \(printed\): no admissible values with finitely many digits"):
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


# --- exact linear programs --------------------------------------------------------------------------------------------


NAMES = ("a", "b", "c", "d")


def random_linear_program(rng: Random):
    rows = [({n: Q(rng.randint(-3, 3)) for n in NAMES}, Q(rng.randint(-4, 6))) for _ in range(rng.randint(2, 7))]
    if rng.random() < 0.4:  # many rows meet in one point, some of them in both directions
        rows = [({n: Q(rng.randint(-1, 1)) for n in NAMES}, Q(rng.randint(-1, 1))) for _ in range(4)]
        rows += [({n: -v for n, v in row.items()}, -limit) for row, limit in rows[:2]]
    return {n: Q(rng.randint(-3, 3)) for n in NAMES}, rows, frozenset(rng.sample(NAMES, rng.randint(0, 4)))


@pytest.mark.parametrize("seed", range(120))
def test_agrees_with_scipy(seed):
    objective, rows, nonnegative = random_linear_program(Random(seed))
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
