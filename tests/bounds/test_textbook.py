"""Textbook theorems as files, with words of their own, logarithms, exponentials, powers in the horizon and sums over t: every verb on them.

The constants are ours and stand in the files with the argument; none is quoted from a paper.
"""

from __future__ import annotations

import json
import subprocess
from fractions import Fraction
from math import ceil, exp, floor, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from fedco.bounds.audit.checks import automatic
from fedco.bounds.cost.comparison import compare
from fedco.bounds.cost.orders import Order, rates
from fedco.bounds.evaluation.enclosure import enclose, enclose_bound
from fedco.bounds.language.definition import define, keys_of, load
from fedco.bounds.language.formula import read_formula
from fedco.bounds.language.power import Power
from fedco.bounds.language.rendering import describe
from fedco.bounds.registry import get_theorem
from fedco.validation.explorer.javascript import Library, statement_source
from fedco.validation.falsifier.attack import falsify
from quick import slow_but
from refusal import is_refused
from small_theorems import LETTERS

FILES = {path.stem: path for path in sorted((Path(__file__).parent / "textbook").glob("*.toml"))}
POINT: dict[str, Any] = {
    "mu": "1/2",
    "L": 2,
    "L_bar": 2,
    "a": "1/3",
    "t0": "5/2",
    "F_gap": 3,
    "sigma": 1,
    "D": 4,
    "eta": "1/10",
    "c": "1/3",
    "T": 200,
    "N": 5,
}
X = 0.05  # mu*eta
WANTED = {
    "gd_strongly_convex": 64 * (1 - (1 - X) ** 200) / (X * 200),
    "sgd_pl": 12 * (1 - (1 - X) ** 200) / (X * 200) + 0.4 / 2.5,
    "sgd_pl_exponential": 12 * (1 - exp(-X * 200)) / ((1 - exp(-X)) * 200) + 0.4 / 2.5,
    "sgd_pl_logarithm": 12 / (0.5 * (1 + log(200)) / 100 * 200) + 4 * (1 + log(200)) / 100 / 2.5,
    "sgd_declining": (6 + 2 / 5 * sum(1 / 9 / (t + 2.5) for t in range(200)))
    / sum(1 / 3 / (t + 2.5) ** 0.5 for t in range(200)),
    "sgd_log": (18 + 2 / 15) * (1 + log(200)) / 200**0.5,
}


def point(name: str, **changed: Any) -> dict[str, Any]:
    symbols = load(FILES[name]).statement().symbols
    known = {**POINT, **changed}
    scheduled = load(FILES[name]).statement().schedule
    return {symbol: known[symbol] for symbol in symbols if symbol not in scheduled}


every_file = pytest.mark.parametrize("name", WANTED)


@every_file
def test_the_value_at_a_point_on_arrays_and_enclosed(name: str):
    theorem, wanted = load(FILES[name]), WANTED[name]
    assert theorem.bound(**point(name)).total == pytest.approx(wanted, rel=1e-14)
    along = theorem.bound(**point(name, T=np.array([100.0, 200.0])))
    assert along.total[1] == pytest.approx(wanted, rel=1e-12) and along.admissible.all()
    found = enclose_bound(theorem.statement(), point(name))["total"]
    assert found.width < Fraction(1, 10**20) and float(found.lower) == pytest.approx(wanted, rel=1e-14)


@every_file
def test_it_is_written_for_people_and_as_data(name: str):
    theorem = load(FILES[name])
    said = describe(theorem)
    assert "align" in said["statements"][theorem.default]["latex"] and said["metric"].latex
    again = define(**keys_of(theorem, "printed"))
    assert again.statement() == theorem.statement() and again.metric == theorem.metric
    assert list(automatic(theorem)) == []


@every_file
def test_javascript_computes_what_python_does(name: str):
    theorem = load(FILES[name])
    statement, library = theorem.statement(), Library()
    source = statement_source(statement, library)
    bound = theorem.bound(**point(name))
    values = [bound.numbers[symbol] for symbol in statement.symbols]
    program = f"const o = []; ({source}).all({json.dumps(values)}, o); console.log(JSON.stringify(o));"
    done = subprocess.run(["node", "-e", library.text() + program], capture_output=True, text=True, check=True)
    terms = json.loads(done.stdout)[: len(statement.terms)]
    assert terms == pytest.approx(list(bound.terms.values()), rel=1e-12)


SEARCHED = {"sgd_log", "gd_strongly_convex", "sgd_pl", "sgd_pl_exponential", "sgd_pl_logarithm"}
"""Those that instances can be about; the free factor of the first is its own, and the runs have it as the step size. The steps of
`sgd_declining` are 1/sqrt(t + t0), which are irrational."""


@pytest.mark.parametrize("name", slow_but(("sgd_pl_exponential", "sgd_declining"), WANTED))
def test_falsify_says_what_no_instance_has(name: str):
    theorem = load(FILES[name])
    found = falsify(theorem, seconds=0.1)
    if name in SEARCHED:
        assert found.outcome == "SURVIVED"
    else:
        assert found.outcome == "NOT_APPLICABLE" and len(found.why) == 1


# --- horizons that a rational number would not survive -----------------------------------------------------------------


def test_a_long_horizon_takes_no_time_and_no_memory():
    theorem = load(FILES["sgd_pl"])
    T = 10**15
    total = theorem.bound(**point("sgd_pl", T=T)).total
    assert total == pytest.approx(12 / (X * T) + 0.16, rel=1e-14)
    assert enclose_bound(theorem.statement(), point("sgd_pl", T=T))["total"].contains(
        Fraction(12 * 20, T) + Fraction(4, 25)
    )


def test_powers_are_exact_where_they_are_short_and_to_any_precision_elsewhere():
    T, x = sp.symbols("T", integer=True, positive=True), sp.symbols("x", positive=True)
    power = read_formula("(1 - x)**T", {"x": x, "T": T})
    assert power.xreplace({T: sp.Integer(3), x: sp.Rational(1, 2)}) == sp.Rational(1, 8)
    long = power.xreplace({T: sp.Integer(10**6), x: sp.Rational(1, 10)})
    assert isinstance(long, Power)
    digits = sp.N(long, 30)
    assert float(sp.log(digits) / sp.log(sp.Float("0.9", 40))) == pytest.approx(10**6, rel=1e-15)
    found = enclose(long)
    assert 0 < found.width < found.lower / 10**20 and found.lower <= Fraction(str(sp.N(long, 40))) * (
        1 + Fraction(1, 10**30)
    )
    assert sp.diff(power, x).subs({T: 2, x: sp.Rational(1, 2)}) == -1


@pytest.mark.parametrize(
    ("text", "wanted"),
    {
        "log(T)": log(7),
        "exp(-x)": exp(-0.3),
        "floor(T*x)": floor(2.1),
        "ceil(T*x)": ceil(2.1),
        "x**T": 0.3**7,
        "T**x": 7**0.3,
        "2**(-T)": 2**-7,
        "log(exp(T))": 7,
        "exp(log(x))": 0.3,
        "(1 - x)**(T/2)": 0.7**3.5,
    }.items(),
)
def test_functions_of_formulas(text: str, wanted: float):
    T, x = sp.symbols("T", integer=True, positive=True), sp.symbols("x", positive=True)
    found = read_formula(text, {"x": x, "T": T})
    at = found.xreplace({T: sp.Integer(7), x: sp.Rational(3, 10)})
    assert float(at) == pytest.approx(wanted, rel=1e-14)
    enclosed = enclose(found, {T: sp.Integer(7), x: sp.Rational(3, 10)})
    assert float(enclosed.lower) == float(at) == float(enclosed.upper)
    assert float(sp.lambdify([T, x], found, "numpy")(7.0, 0.3)) == pytest.approx(wanted, rel=1e-12)


# --- regions, the tuner, orders ----------------------------------------------------------------------------------------

CONTRACTION: dict[str, Any] = {
    "id": "shape.contraction",
    "symbols": {name: LETTERS[name] for name in ("L", "F_gap", "sigma", "eta", "T")} | {"mu": "polyak_lojasiewicz"},
    "terms": {"start": "2*L*F_gap*(1 - mu*eta)**T", "noise": "L**2*eta*sigma**2/mu"},
    "conditions": {"step": "eta <= 1/L"},
    "method": {"name": "local_sgd", "eta": "eta", "tau": 1, "b": 1},
}
"""The shape of a bound at the last step, which no metric here says yet: for what follows from the formula alone."""
ONES = {"mu": 1, "L": 1, "F_gap": 1, "sigma": 1}


def limited(**conditions: str) -> Any:
    return define(**{**CONTRACTION, "conditions": {**CONTRACTION["conditions"], **conditions}})


def test_regions_of_transcendental_conditions_have_enclosed_ends():
    theorem = limited(enough="(1 - mu*eta)**T <= 1/100", slow="eta*mu >= log(T)/T")
    found = theorem.admissible("T", eta="1/10", **ONES)
    assert (found.intervals["T"].lower, found.intervals["T"].binding["lower"]) == (44, "enough")
    assert "halving" in found.note
    eta = theorem.admissible("eta", T=100, **ONES).intervals["eta"]
    assert (eta.upper, eta.binding["lower"]) == (1, "slow")
    assert eta.lower == pytest.approx(log(100) / 100, rel=1e-15) and eta.lower >= log(100) / 100
    low, high = eta.enclosure["lower"]
    assert 0 < high - low < Fraction(1, 10**18)
    pieces = limited(both="T >= 3*log(T)").admissible("T", eta="1/10", **ONES).pieces["T"]
    assert [(p.lower, p.upper) for p in pieces] == [(1, 1), (5, None)]
    rounded = limited(whole="floor(T/3) >= 7").admissible("T", eta="1/10", **ONES).intervals["T"]
    assert (rounded.lower, rounded.upper) == (21, None)


def test_ends_far_from_1_are_found():
    found = limited(slow="L*eta*log(T) <= 1").admissible("T", eta="1/50", **ONES).intervals["T"]
    assert found.binding["upper"] == "slow" and found.upper == pytest.approx(exp(50), rel=1e-12)
    assert not found.contains(10**25)
    longer = limited(slow="L*eta*log(T) <= 1").admissible("T", eta="1/5000", **ONES)
    assert longer.remarks[0] == "the theorem does not limit T from above within the floats"
    steep = limited(mild="log(1 + L*eta) <= 1").admissible("eta", T=100, **ONES | {"L": 10**20, "mu": 1})
    assert steep.feasible and steep.intervals["eta"].upper == 10**-20  # eta <= 1/L binds first
    open_end = limited(mild="log(1 + L*eta) <= 2*L*eta").admissible("eta", T=100, **ONES).intervals["eta"]
    assert (open_end.lower, open_end.upper) == (0, 1)


FACTOR = {
    "id": "shape.drift",
    "problem": "federated",
    "symbols": {name: LETTERS[name] for name in ("L", "F_gap", "eta", "p", "T")},
    "terms": {"start": "2*F_gap/(eta*T)", "drift": "L*F_gap*p*(p - 1)"},
    "method": {"name": "local_sgd", "eta": "eta", "tau": "p", "b": 1},
}


@pytest.mark.parametrize(
    ("conditions", "L", "longest"),
    [
        ({"drift": "eta*L*p*(p - 1) <= 1", "long": "L*eta*p >= 1/10"}, 1, 11),
        ({"drift": "eta*L*p*(p - 1) <= 7/2", "long": "eta*L >= 1/(10*p)", "few": "p*(p + 1) <= T"}, "1/7", 9),
        ({"drift": "eta**2*L**2*(p - 1) <= 1", "long": "eta*L >= 1/5"}, "1/7", 26),
    ],
)
def test_a_limit_whose_factor_is_0_at_one_step_is_none_there(conditions: Any, L: Any, longest: int):
    found = define(**{**FACTOR, "conditions": conditions}).admissible(("eta", "p"), L=L, F_gap=1, T=100)
    assert (found.intervals["p"].lower, found.intervals["p"].upper) == (1, longest)


def test_what_vanishes_at_another_end_or_is_undefined_there():
    """T - p is 0 at p = T, and nothing limits eta there; 1/(p - 1) has no value at p = 1, so that p = 1 is left out."""
    at_end = {"drift": "eta*L*(T - p) <= 1/10", "long": "L*eta*p >= 2"}
    found = define(**{**FACTOR, "conditions": at_end}).admissible(("eta", "p"), L=1, F_gap=1, T=20).intervals["p"]
    assert (found.lower, found.upper) == (20, 20)
    undefined = {"drift": "eta*L <= 1/(p - 1)", "long": "L*eta*p >= 2"}
    found = define(**{**FACTOR, "conditions": undefined}).admissible(("eta", "p"), L=1, F_gap=1, T=20).intervals["p"]
    assert (found.lower, found.upper) == (2, 2)


def test_a_period_at_which_a_condition_has_no_value_is_not_accepted():
    theorem = define(**{**FACTOR, "conditions": {"drift": "eta*L <= 1/(p - 1)"}})
    with is_refused("no admissible values with finitely many digits"):
        theorem.tune(L=1, F_gap=1, budget={"T": 100})
    assert theorem.tune(L=1, F_gap=1, p=2, budget={"T": 100}).bound.admissible


@pytest.mark.parametrize(("more", "clients", "logs"), [("", "", 0), ("*log(T)**2", "", 2), ("", "*(1 + log(N))", 0)])
def test_orders_keep_the_clients_beside_a_logarithm(more: str, clients: str, logs: int):
    terms = {"start": f"2*F_gap{more}/(eta*T)", "noise": f"L*eta*sigma**2{clients}/(N*b)"}
    symbols = {"sigma": "local_gradient_noise", "N": "clients", "b": "batch_size"}
    symbols |= {name: word for name, word in FACTOR["symbols"].items() if name != "p"}
    method = {"name": "minibatch_sgd", "eta": "eta", "b": "b"}
    made = define(**{**FACTOR, "symbols": symbols, "terms": terms, "conditions": {"s": "L*eta <= 1"}, "method": method})
    assert rates(made.statement()).costs["samples"] == Order(Fraction(2), Fraction(-1), Fraction(logs))


def test_orders_say_where_the_clients_are_not_known():
    found = rates(get_theorem("meta_fl.theorem_8").statement("corrected")).costs["samples"]
    assert found.clients is None and "clients not known" in str(found) and found.to_dict()["clients"] is None


def test_gaps_between_whole_numbers_are_told():
    conditions = {"drift": "eta*L*p**2 <= 5/2", "long": "L*eta*p >= 3/20"}
    theorem = define(**{**FACTOR, "conditions": conditions})
    found = theorem.admissible(("eta", "p"), L="3/4", F_gap=1, T=100)
    assert found.intervals["eta"].contains(
        0.0131
    ) and "there may be values for which the others cannot be chosen" in str(found)
    assert not theorem.admissible("p", L="3/4", F_gap=1, T=100, eta="0.0131").feasible


def test_a_logarithm_has_no_value_below_0():
    theorem = limited(inside="log(2 - 4*eta*L) <= 0")
    assert theorem.admissible("eta", T=100, **ONES).intervals["eta"].to_dict() == {
        "lower": pytest.approx(0.25),
        "upper": pytest.approx(0.5),
        "lower_closed": True,
        "upper_closed": False,
        "binding": {"lower": "inside", "upper": "inside"},
    }


def test_what_the_tuner_and_joint_regions_cannot_follow_is_said():
    theorem = define(**CONTRACTION)
    best = theorem.tune(budget={"T": 1000}, **ONES)
    assert best.method == "differential evolution" and best.note.startswith("not a geometric program ((1 - eta)**T")
    grid = np.geomspace(1e-4, 1, 4000)
    assert best.value <= float((2 * (1 - grid) ** 1000 + grid).min()) * (1 + 1e-6)
    fixed = limited(slow="eta*mu >= log(T)/T").tune(budget={"samples": 10**4}, T=50, eta="1/2", **ONES)
    assert fixed.bound.admissible
    with is_refused(r"cannot describe eta, T together: .* is no product of powers; solve for one"):
        limited(enough="(1 - mu*eta)**T <= 1/100").admissible(("eta", "T"), **ONES)


LINEAR = Order(Fraction(1), Fraction(0), Fraction(1))
ORDERS: dict[str, tuple[dict[str, str], Order, Order]] = {
    "a linear rate to a floor": ({}, LINEAR, Order(Fraction(-1), Fraction(0))),
    "exp": ({"start": "2*L*F_gap*exp(-mu*eta*T)"}, LINEAR, Order(Fraction(-1), Fraction(0))),
    "a log factor": (
        {"start": "2*F_gap/(eta*T)", "noise": "L*eta*sigma**2*(1 + log(T)) + mu*F_gap/ceil(T/2)"},
        Order(Fraction(2), Fraction(0), Fraction(1)),
        Order(Fraction(-1), Fraction(0), Fraction(-1)),
    ),
    "an exponential and a power": (
        {"start": "2*F_gap*exp(-mu*eta*T)/(eta*T**4)", "noise": "L*eta*sigma**2/T**4"},
        Order(Fraction(1, 5), Fraction(0), Fraction(1, 5)),
        Order(Fraction(-1, 5), Fraction(0), Fraction(4, 5)),
    ),
    "an exponential that cannot be small": (
        {"start": "2*F_gap*exp(-mu*eta)/(eta*T)", "noise": "L*eta*sigma**2/T"},
        Order(Fraction(1), Fraction(0)),
        Order(Fraction(0), Fraction(0)),
    ),
}


@pytest.mark.parametrize(("terms", "T", "eta"), ORDERS.values(), ids=ORDERS)
def test_orders_have_powers_of_the_logarithm(terms: dict[str, str], T: Order, eta: Order):
    found = rates(define(**{**CONTRACTION, "terms": {**CONTRACTION["terms"], **terms}}).statement())
    assert (found.costs["samples"], found.schedule["T"], found.schedule["eta"]) == (T, T, eta)


def test_what_an_exponential_takes_away_changes_no_order():
    found = rates(load(FILES["sgd_pl"]).statement())
    assert found.costs["samples"] == Order(Fraction(2), Fraction(-1)) and found.schedule["eta"].eps == -1


def test_orders_outside_terms_are_refused_in_a_line():
    with is_refused(r"no exponents, .* stands outside the terms"):
        rates(limited(enough="(1 - mu*eta)**T <= 1/100").statement())
    with is_refused(r"no exponents, .* does not decay in one product of powers"):
        rates(
            define(**{**CONTRACTION, "terms": {**CONTRACTION["terms"], "start": "2*L*F_gap*exp(mu*eta*T)"}}).statement()
        )


def test_they_are_compared():
    rows = compare(1, theorems=[str(FILES["sgd_log"]), str(FILES["sgd_pl"])]).rows
    assert all(row.tuned is not None and row.tuned.bound.total <= 1 for row in rows)


# --- mistakes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "wanted"),
    {
        "2*L*F_gap*log(L)/T": "log of a quantity with a dimension",
        "2*L*F_gap*exp(-eta*T)": "exponent -T*eta of dimension [f]^-1 [x]^2",
        "2*L*F_gap*T**eta": "exponent eta of dimension [f]^-1 [x]^2",
        "2*L*F_gap*mu**T": "of a quantity of dimension",
        "2*L*F_gap*floor(eta)/T": "floor of a quantity with a dimension",
        "2*L*F_gap*log(0)": "column 11: wanted the log of a positive number, got 0",
    }.items(),
)
def test_a_mistake_is_one_line(start: str, wanted: str):
    """What no formula may have at all: test_reading.py."""
    with is_refused("term start: ") as caught:
        define(**{**CONTRACTION, "terms": {**CONTRACTION["terms"], "start": start}})
    message = str(caught.value)
    assert wanted in message and message.isprintable() and len(message) < 300, message


def test_a_logarithm_of_what_is_not_positive_is_one_line_at_evaluation():
    theorem = define(**{**CONTRACTION, "terms": {**CONTRACTION["terms"], "start": "L*F_gap*log(2 - 4*eta*L)/T"}})
    with is_refused(r"term start: log\(.*\): wanted a positive number, got -2$"):
        theorem.bound(eta=1, T=10, **ONES)
    root = define(**{**CONTRACTION, "terms": {**CONTRACTION["terms"], "start": "L*F_gap*(1 - 4*eta*L)**(1/T)"}})
    with is_refused(r"wanted a base that is not negative, got -3$"):
        root.bound(eta=1, T=3, **ONES)


def test_a_power_beyond_all_numbers_is_one_line():
    theorem = define(**{**CONTRACTION, "terms": {**CONTRACTION["terms"], "start": "L*F_gap/exp(exp(exp(T)))"}})
    with is_refused(r"a power beyond exp\(10\*\*30\)"):
        theorem.bound(eta="1/10", T=100, **ONES)
