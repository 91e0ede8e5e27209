"""What a tuner is asked: models, tasks, what holds at a point, and the numerical search."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from math import inf, log10
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Condition
from fedco.bounds.optimum import numerical, tuning, whole_numbers
from fedco.bounds.optimum.model import model
from fedco.bounds.optimum.posynomial import Converter, EmptyBoxError, NotPosynomialError, Posynomial
from fedco.bounds.optimum.task import make_task
from tuner_cases import CONSTANTS, EXAMPLE, PLANNED, asking, planned

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
    with pytest.raises(InputError, match=r"^pr_sgd\.theorem_1 \(printed\): no admissible values were found"):
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
    with pytest.raises(InputError, match=message):
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
    with pytest.raises(InputError, match=r"step_size: the values given violate eta <= 1/L: wanted <= 0\.5, got 0\.75"):
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
    assert followed(planned(PLANNED["schedule"], step)[0]) == (["T"], {"eta": 3 / (2 * T), "p": T / 5})
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
    with pytest.raises(InputError, match=r"^e0: wanted .*; the values given do not satisfy it"):
        fixed((s["T"] / s["p"], s["N"]), p=4, T=21)
    with pytest.raises(InputError, match=r"^e0: cannot solve .* for a hyperparameter"):
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
    with pytest.raises(InputError, match=r"^least: the values given violate .*: wanted <= 0\.3, got 0\.4$"):
        model(statement, {"F_gap": 3, "L": 2, "N": 5, "eta": "2/5", "p": 10})
    with pytest.raises(
        InputError, match=r"^method_range_p: .*: wanted <= 20, got 21 \(a run communicates at least once\)$"
    ):
        model(planned({})[0], {"F_gap": 3, "L": 2, "N": 5, "T": 20, "p": 21})


def test_what_a_tuner_may_choose():
    """Hyperparameters, but not what belongs to the problem, unless it may be left open; constants have to be given."""
    statement, _ = planned({})
    constants = {"F_gap": 3, "L": 2}
    with pytest.raises(InputError, match=r"missing: N\b"):
        model(statement, constants)
    free = model(statement, constants, also_free=frozenset({"clients"})).free
    assert {b.name for b in free} == {"eta", "T", "p", "N"}
    with pytest.raises(InputError, match=r"missing: L\b"):
        model(statement, {"F_gap": 3, "N": 5}, also_free=frozenset({"clients", "local_smoothness"}))
    with pytest.raises(InputError, match="bounds nothing"):
        model(replace(statement, terms=()), {})
