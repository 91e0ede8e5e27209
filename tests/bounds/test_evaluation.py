"""Evaluation against other arithmetic: balls and signs against mpmath and fractions, statements on arrays against the conditions, values
that are drawn."""

from __future__ import annotations

import operator
import time
from dataclasses import fields, replace
from fractions import Fraction
from fractions import Fraction as Q
from itertools import pairwise
from math import inf, nextafter
from pathlib import Path
from random import Random

import fedco
import mpmath
import numpy as np
import pytest
import sympy as sp
from fedco.bounds.evaluation import evaluate as module
from fedco.bounds.evaluation.arrays import bound_on_arrays
from fedco.bounds.evaluation.enclosure import (
    Enclosure,
    EnclosureError,
    enclose,
    enclose_bound,
    ends,
    fmpq_of,
    values_on,
)
from fedco.bounds.evaluation.evaluate import bound, complete, evaluate, exact, holds, sign
from fedco.bounds.evaluation.strategies import (
    COUNTS,
    MODERATE_STEPS,
    REALS,
    admissible_hyperparameters,
    satisfies,
    values,
)
from fedco.bounds.language.definition import define, load
from fedco.bounds.language.quantities import COUNT, NONNEGATIVE, POSITIVE, STEPS
from fedco.bounds.language.recursion import root, step_function
from fedco.bounds.language.theorem import Condition, Statement, put_in
from fedco.errors import UndefinedError
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from refusal import is_refused
from registry_cases import anywhere, every_statement, few, find
from small_theorems import LETTERS, small

x, y, z = sp.symbols("x y z", real=True)
HOLDS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}


def q(value: sp.Rational) -> Q:
    return Q(int(value.p), int(value.q))


# --- balls ----------------------------------------------------------------------------------------------------------------

VALUED = {
    sp.pi + x: lambda x, y: mpmath.pi + x,
    sp.E * x: lambda x, y: mpmath.e * x,
    sp.exp(x) - sp.exp(-y): lambda x, y: mpmath.exp(x) - mpmath.exp(-y),
    sp.log(x) * sp.log(y): lambda x, y: mpmath.log(x) * mpmath.log(y),
    x**y: lambda x, y: x**y,
    y ** (x / 3): lambda x, y: y ** (x / 3),
    sp.Pow(sp.E, x, evaluate=False): lambda x, y: mpmath.exp(x),
    sp.Max(x, y, sp.Rational(5, 2)) / sp.Min(x, y, 2): lambda x, y: max(x, y, mpmath.mpf(5) / 2) / min(x, y, 2),
    sp.Abs(x - y) + sp.Abs(y - x): lambda x, y: 2 * abs(x - y),
    sp.floor(10 * x) - sp.ceiling(10 * y): lambda x, y: mpmath.floor(10 * x) - mpmath.ceil(10 * y),
    sp.floor(sp.pi * x) - sp.ceiling(sp.E * y): lambda x, y: mpmath.floor(mpmath.pi * x) - mpmath.ceil(mpmath.e * y),
    x ** sp.Rational(3, 2) + y ** sp.Rational(-2, 3): lambda x, y: x**1.5 + y ** (-mpmath.mpf(2) / 3),
    x ** sp.Rational(5, 3) - x**-3 * y**4: lambda x, y: x ** (mpmath.mpf(5) / 3) - y**4 / x**3,
    x - y - 3 * x * y / 7: lambda x, y: x - y - 3 * x * y / 7,
}


@pytest.mark.parametrize("expr", VALUED, ids=str)
def test_an_enclosure_has_the_value_of_another_arithmetic(expr: sp.Expr):
    with mpmath.workdps(60):
        for a, b in ((Q(7, 3), Q(3)), (Q(1, 2), Q(9, 4)), (Q(3), Q(1, 3)), (Q(2), Q(2))):
            found = enclose(expr, {x: exact(a), y: exact(b)})
            wanted = VALUED[expr](mpmath.mpf(a.numerator) / a.denominator, mpmath.mpf(b.numerator) / b.denominator)
            middle = (found.lower + found.upper) / 2
            assert (
                abs(mpmath.mpf(middle.numerator) / middle.denominator - wanted) <= abs(wanted) * mpmath.mpf(10) ** -30
            )
            assert found.width <= (1 + abs(middle)) / Q(10) ** 30


def test_powers_of_whole_numbers_are_exact_for_negative_and_vanishing_bases():
    n = sp.Symbol("n", integer=True)
    for base, power, value in ((-2, 3, -8), (0, 2, 0), (-3, -2, Q(1, 9)), (Q(-1, 2), 4, Q(1, 16)), (5, 0, 1)):
        found = enclose(x**n, {x: exact(Q(base)), n: sp.Integer(power)})
        assert found.contains(value) and found.width < Q(1, 10**30), (base, power)
    assert enclose(sp.root(x, 4) * y, {x: sp.Integer(81), y: -sp.Integer(2)}).contains(-6)
    with pytest.raises(EnclosureError):
        enclose(x**y, {x: -sp.Integer(2), y: sp.Rational(1, 2)})


def test_an_enclosure_answers_for_its_ends():
    some = Enclosure(Q(1, 3), Q(1, 2))
    assert [some.contains(v) for v in (Q(1, 3), Q(1, 2), 0.4, Q(1, 4), Q(2, 3))] == [True, True, True, False, False]
    assert some.pair == (Q(1, 3), Q(1, 2)) and some.width == Q(1, 6)
    signs = {(1, 2): 1, (-2, -1): -1, (0, 0): 0, (-1, 1): None, (0, 1): None, (-1, 0): None, (Q(1, 9), 3): 1}
    assert {ends: Enclosure(Q(ends[0]), Q(ends[1])).sign for ends in signs} == signs
    assert Enclosure(Q(-3), Q(-1, 9)).sign == -1
    low, high = some.floats()
    assert Q(low) <= Q(1, 3) < Q(nextafter(low, inf)) and high == 0.5, "an end that is a double stays"
    low, high = Enclosure(Q(1, 2), Q(2, 3)).floats()
    assert low == 0.5 and Q(high) >= Q(2, 3) > Q(nextafter(high, -inf))
    low, _ = Enclosure(Q(1, 10), Q(1, 2)).floats()
    assert Q(low) < Q(1, 10) < Q(nextafter(low, inf)), "the nearest double is above"


def test_every_operation_of_a_rule_in_balls():
    """What a rule of a recursion may do with its numbers, from both sides, against fractions."""
    rules = {
        "sum": lambda n, v, w: v + w + 1 + Q(1, 3) + (2 + v) + (Q(1, 7) + w),
        "difference": lambda n, v, w: v - w - 5 - (3 - v) - (Q(1, 3) - w),
        "product": lambda n, v, w: v * w * 3 * (2 * v) * (Q(5, 2) * w),
        "quotient": lambda n, v, w: v / w / 3 + 5 / v + Q(1, 3) / w,
        "power": lambda n, v, w: v**3 + w**-2 + v**n,
        "compared": lambda n, v, w: (v if v < w else w) + (1 if v < 2 else 10) + (100 if w < Q(1, 2) else 1000),
    }
    for name, rule in rules.items():
        node = step_function(name, rule, name, lazy=True)
        for a, b in ((Q(7, 3), Q(2, 5)), (Q(1, 9), Q(4)), (Q(2), Q(1, 2)), (Q(3), Q(5))):
            point = {x: exact(a), y: exact(b), z: sp.Integer(4)}
            found = enclose(
                node(sp.Symbol("k", integer=True), x, y), {**point, sp.Symbol("k", integer=True): sp.Integer(4)}
            )
            assert found.contains(rule(4, a, b)) and found.width < Q(1, 10**25), name


def test_a_rule_may_have_a_list_for_each_step():
    k = sp.Symbol("k", integer=True)
    node = step_function(
        "listed", lambda n, items, v: sum((items[i] * (i + 1) for i in range(n)), 0) + root(v), "l", lazy=True
    )
    found = enclose(
        node(k, sp.Tuple(x, y, sp.sqrt(2)), z), {k: sp.Integer(3), x: sp.Integer(5), y: sp.Integer(7), z: sp.Integer(3)}
    )
    with mpmath.workdps(40):
        wanted = 5 + 14 + 3 * mpmath.sqrt(2) + mpmath.sqrt(3)
        assert mpmath.mpf(found.lower.numerator) / found.lower.denominator <= wanted
        assert abs(float(found.lower) - wanted) < 1e-14
    with pytest.raises(EnclosureError, match="wanted a whole number of steps, got k"):
        enclose(node(k, sp.Tuple(x), z), {k: sp.Rational(1, 2), x: sp.Integer(1), z: sp.Integer(2)})


@pytest.mark.parametrize(("power", "wanted"), [(1, (-2, 2)), (2, (0, 4)), (3, (-8, 8))])
def test_a_power_of_a_ball_around_0_is_enclosed(power, wanted):
    """Of a ball whose midpoint is 0 `arb` gives no power, and the symbol at a region's centre has one."""
    x = sp.Symbol("x")
    value, _ = values_on(arb(0, 2), x, x**power, ())
    low, high = ends(value).pair
    assert low <= wanted[0] and wanted[1] <= high and high - low < wanted[1] - wanted[0] + Q(1, 10**6)


# --- exact signs and conditions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("relation", HOLDS)
def test_a_condition_between_numbers_is_decided_exactly(relation: str):
    near = sp.sqrt(2) + sp.Rational(1, 10**50)
    for left, right, order in (
        (sp.Integer(1), sp.Integer(2), -1),
        (sp.Integer(3), sp.Rational(5, 2), 1),
        (sp.Rational(1, 3), sp.Rational(1, 3), 0),
        (sp.sqrt(2), near, -1),
        (near, sp.sqrt(2), 1),
        (sp.sqrt(2) * sp.sqrt(3), sp.sqrt(6), 0),
        (sp.Rational(-1, 10**40), sp.Integer(0), -1),
    ):
        assert holds(Condition("c", left, relation, right)) is HOLDS[relation](order, 0), (left, right)


@pytest.mark.parametrize("seed", range(6))
def test_the_sign_of_sums_of_roots_is_that_of_many_digits(seed: int):
    rng = Random(seed)
    terms = [
        rng.choice([-1, 1]) * exact(Q(rng.randint(1, 9), rng.randint(1, 9))) * sp.sqrt(rng.randint(2, 30))
        for _ in range(3)
    ]
    expr = sp.Add(*terms)
    number = expr.evalf(80)
    assert sign(expr) == (0 if number == 0 or abs(number) < sp.Float(10) ** -70 else 1 if number > 0 else -1)
    assert sign(expr - expr.evalf(20)) in (-1, 0, 1) and sign(10**30 * expr) == sign(expr) == -sign(-expr)
    digits = sp.Rational(int(expr.evalf(90) * 10**80), 10**80)
    assert sign(expr - digits + sp.Rational(2, 10**79)) == 1 and sign(expr - digits - sp.Rational(2, 10**79)) == -1


@pytest.mark.parametrize("expr", [sp.zoo, sp.nan, sp.oo, sp.sqrt(-2), 1 + sp.I, sp.Pow(0, -1)])
def test_what_is_no_real_number_has_no_sign(expr: sp.Expr):
    with is_refused(r"not a (finite|real) number"):
        sign(expr)


# --- statements ------------------------------------------------------------------------------------------------------------------

SYMBOLS = {name: LETTERS[name] for name in ("F_gap", "L", "eta", "beta", "T", "N")}


def statement(schedule: dict[str, str] | None = None, **conditions: str) -> Statement:
    terms = {"start": "F_gap/(eta*T)", "rest": "L*F_gap*beta/N"}
    return small(terms, id="case.theorem", conditions=conditions, schedule=schedule or {}).statement("printed")


POINT = {"F_gap": 3, "L": 2, "eta": "1/2", "beta": "1/4", "T": 10, "N": 6}


@pytest.mark.parametrize("relation", HOLDS)
def test_arrays_meet_a_condition_as_exact_numbers_do(relation: str):
    """On the border and just beside it; an equality to a relative 1e-9."""
    case = statement(c=f"eta*L {relation} 1", d="4*beta <= 1")
    steps = [
        0.25,
        nextafter(0.5, 0),
        0.5,
        nextafter(0.5, 1),
        1.0,
        0.5 * (1 + 8e-10),
        0.5 * (1 - 8e-10),
        0.5 * (1 + 2e-9),
        0.5 * (1 - 2e-9),
    ]
    found = evaluate(case, **{**POINT, "eta": steps, "beta": 0.25})["admissible"].tolist()
    wanted = [abs(2 * v - 1) <= 1e-9 if relation == "==" else HOLDS[relation](2 * v, 1) for v in steps]
    assert found == wanted
    for value in steps[:5]:
        one = bound(case, {**POINT, "eta": repr(value)}, strict=False)
        assert one.admissible is HOLDS[relation](2 * value, 1)
        assert (one.conditions[0].slack > 0) is (relation != "==" and HOLDS[relation[0]](2 * value, 1))
    assert not evaluate(case, **{**POINT, "eta": 0.5, "beta": [0.3]})["admissible"].any(), "every condition counts"
    large = evaluate(
        statement(c="1000*L*eta == 1000"), **{**POINT, "eta": [0.5 * (1 + 8e-10), 0.5 * (1 + 2e-9)], "beta": 1}
    )
    assert large["admissible"].tolist() == [True, False], "the tolerance is relative"


def test_a_schedule_fills_what_is_left_out_in_any_order():
    case = statement({"eta": "beta/(4*L)", "beta": "1/sqrt(N)", "N": "T - 1"})
    given_values = {"F_gap": 3, "L": 2, "T": 10}
    known = {str(symbol): value for symbol, value in complete(case, given_values).items()}
    assert (known["N"], known["beta"], known["eta"]) == (9, sp.Rational(1, 3), sp.Rational(1, 24))
    arrays = evaluate(case, F_gap=3.0, L=2.0, T=[10.0, 17.0])
    wanted = [bound(case, {**given_values, "T": T}) for T in (10, 17)]
    assert arrays["total"].tolist() == pytest.approx([one.total for one in wanted], rel=1e-14)
    assert arrays["admissible"].tolist() == [True, True] and list(arrays["terms"]) == ["start", "rest"]
    own = bound(case, {**given_values, "N": 4}, strict=False)
    assert own.values["beta"] == "1/2" and own.failed == ("schedule_N",), "a value that is given is not overwritten"
    assert evaluate(case, F_gap=3.0, L=2.0, T=10.0, N=4.0)["admissible"].tolist() is False
    with is_refused(r"^T: wanted a positive integer .* missing: T$"):
        complete(case, {"F_gap": 3, "L": 2})
    with is_refused(r"^T: wanted an array of numbers"):
        evaluate(case, F_gap=3.0, L=2.0)
    with is_refused(r"^q: not a symbol of case\.theorem"):
        evaluate(case, F_gap=3.0, L=2.0, T=10.0, q=1.0)
    circle = statement({"eta": "beta/L", "beta": "eta*L"})
    with is_refused(r"missing: eta, beta$"):
        complete(circle, {"F_gap": 3, "L": 2, "T": 10, "N": 4})


def test_arrays_broadcast_along_every_axis():
    case = statement(c="eta <= 1/L")
    shapes = {"eta": (3, 1, 1), "L": (2, 1), "T": (4,)}
    rng = np.random.default_rng(1)
    arrays = {
        "eta": rng.uniform(0.1, 1, shapes["eta"]),
        "L": rng.uniform(1, 3, shapes["L"]),
        "T": rng.integers(1, 99, shapes["T"]),
    }
    found = bound_on_arrays(case, {**POINT, **arrays}, strict=False)
    assert found.total.shape == found.admissible.shape == found.terms["rest"].shape == (3, 2, 4)
    eta, L, T = (np.broadcast_to(arrays[name], (3, 2, 4)) for name in ("eta", "L", "T"))
    assert np.allclose(found.total, 3 / (eta * T) + L * 3 * 0.25 / 6, rtol=1e-14)
    assert np.array_equal(found.admissible, eta <= 1 / L) and 0 < found.admissible.sum() < 24
    zero = bound_on_arrays(case, POINT | {"T": np.zeros((0,))}, strict=False)
    assert zero.total.shape == (0,)


def test_the_enclosures_of_a_statement_have_its_parts():
    derived = {"rate": "sqrt(2)/(eta*T)", "twice": "2*rate"}
    case = small({"a": "F_gap*rate", "b": "F_gap*twice"}, derived=derived).statement("printed")
    found = enclose_bound(case, {"F_gap": 3, "eta": "1/2", "T": 10})
    assert list(found) == ["rate", "twice", "a", "b", "total"]
    for name, factor in {"rate": 1, "twice": 2, "a": 3, "b": 6, "total": 9}.items():
        low, high = (end / factor * 5 for end in found[name].pair)
        assert low**2 < 2 < high**2 and high - low < Q(1, 10**30), name


def test_a_value_that_no_number_is_says_where():
    case = small({"a": "F_gap/(eta*T*(1 - beta))", "b": "F_gap*sqrt(2 - beta)/(eta*T)"}).statement("printed")
    vanishing = "^term a: 1 - beta is 0 at these values, and is a denominator; wanted finite positive values$"
    for beta, message in ((1, vanishing), (3, "^b: not a real number")):
        with is_refused(message):
            bound(case, {"F_gap": 1, "eta": 1, "beta": beta, "T": 1}, strict=False)
    assert bound(case, {"F_gap": 1, "eta": 1, "beta": 2, "T": 1}, strict=False).terms == {"a": -1.0, "b": 0.0}


@pytest.mark.parametrize(
    "condition", ["eta*F_gap <= 4*beta*eta**2/beta**2", "min(eta/beta, 1/beta) <= 4", "F_gap <= rate"]
)
def test_a_momentum_of_0_in_a_denominator_gets_one_clear_sentence(condition):
    made = small(
        {"a": "rate/(eta*T)"},
        symbols={"beta": "heavy_ball_momentum"},
        derived={"rate": "F_gap/beta"},
        conditions={"small": condition},
        units=["objective_gap", "step_size"],
    )
    for asked in (made.bound, made.elasticities):
        with pytest.raises(
            UndefinedError, match=r"^rate: beta is 0 at these values, and is a denominator; wanted finite"
        ):
            asked(F_gap=1, eta="1/10", T=10, beta=0)


# --- values that are drawn ---------------------------------------------------------------------------------------------------------


def test_ladders_have_no_wide_gaps():
    """From 1e-12 to 500 by factors of 2 and 5/2; counts of every size up to 1e24, powers of ten among them."""
    assert REALS[0] == Q(1, 10**12) and REALS[-1] == 500 and {b / a for a, b in pairwise(REALS)} == {Q(2), Q(5, 2)}
    assert COUNTS[0] == 1 and COUNTS[-1] == Q(10) ** 24 and {Q(10) ** k for k in range(2, 25)} <= set(COUNTS)
    assert all(1 < b / a <= 10 and b.denominator == 1 for a, b in pairwise(COUNTS)) and all(
        n in COUNTS for n in (2, 3, 5, 8, 16)
    )


@pytest.mark.parametrize("whole", [True, False])
def test_hyperparameters_are_found_on_the_ladder_where_there_are_any(whole: bool):
    name, other = ("T", "N") if whole else ("eta", "beta")
    case = statement(
        a=f"{name} >= 3*{other}" if whole else "eta*L >= 3*beta", b=f"{other} >= 1" if whole else "beta >= 1/2"
    )
    constants = {"F_gap": Q(3), "L": Q(2)}
    found = admissible_hyperparameters(case, constants, ("eta", "beta", "T", "N"), 5)
    assert found == admissible_hyperparameters(case, constants, ("eta", "beta", "T", "N"), 5) is not None
    assert satisfies(case, found) and found["F_gap"] == 3 and set(found) == set(SYMBOLS)
    assert found["T"] in COUNTS and found["N"] in COUNTS and {found["eta"], found["beta"]} <= set(REALS)
    assert not satisfies(case, {**found, name: Q(1) if whole else Q(1, 10**12)})
    drawn = {
        tuple(sorted(admissible_hyperparameters(case, constants, ("eta", "beta", "T", "N"), n).items()))
        for n in range(4)
    }
    assert len(drawn) == 4
    assert (
        admissible_hyperparameters(statement(a="beta <= 1/2", b="beta >= 3/5"), constants, tuple(SYMBOLS)[2:], 1)
        is None
    )


def test_drawn_values_are_in_their_domains_and_satisfy_what_is_asked():
    case = statement(a="eta*L >= 3*beta")
    seen: list[dict[str, Q]] = []
    quiet = settings(max_examples=40, derandomize=True, database=None)

    @quiet
    @given(point=values(case, admissible=False))
    def anywhere(point):
        seen.append(point)

    @settings(quiet, max_examples=4)
    @given(point=values(case))
    def inside(point):
        assert satisfies(case, point)

    anywhere()
    inside()
    assert any(not satisfies(case, point) for point in seen) and {*seen[0]} == set(SYMBOLS)
    domains = {name: case.symbols[name].quantity.domain for name in SYMBOLS}
    assert set(domains.values()) == {COUNT, NONNEGATIVE, POSITIVE}
    for point in seen:
        for name, value in point.items():
            assert value > 0 or (domains[name] == NONNEGATIVE and value == 0)
            assert domains[name] != COUNT or (value.denominator == 1 and value <= 10**6)
            assert domains[name] == COUNT or (value <= 300 and (value == 0 or value >= Q(1, 120)))
    reached = (
        [point["F_gap"] == 0 for point in seen],
        [point["N"] == 1 for point in seen],
        [point["T"] > 12 for point in seen],
    )
    assert all(map(any, reached)), "no gap, one client, a long run"
    assert MODERATE_STEPS == 5 and STEPS not in domains.values()
    fixed = statement({"eta": "1/(2*L)"}, a="beta <= 1")
    free: list[set[str]] = []

    @settings(quiet, max_examples=3)
    @given(point=values(fixed))
    def scheduled(point):
        free.append(set(point))
        assert satisfies(fixed, point)

    scheduled()
    assert all(names == set(SYMBOLS) - {"eta"} for names in free)


def test_a_tie_is_0():
    assert sign(sp.sqrt(2) + sp.sqrt(3) - sp.sqrt(5 + 2 * sp.sqrt(6))) == 0
    assert sign(sp.sqrt(8) - 2 * sp.sqrt(2)) == 0 and sign(sp.Integer(0)) == 0


def test_a_corollary_says_where_the_conditions_of_its_theorem_fail():
    """eta = sqrt(N/T)/L of a corollary without T >= N is 4/L at N = 16, T = 1, where the theorem asks for eta <= 1/L."""
    parent = load(Path(fedco.__file__).parent / "examples" / "pr_sgd.toml")
    symbols = {binding.name: binding.quantity.name for binding in parent.notation}
    terms = {
        "initialisation": "2*L*F_gap/sqrt(N*T)",
        "variance": "sigma**2/sqrt(N*T)",
        "drift": "4*N*p**2*(G**2 + sigma**2)/T",
    }
    own = define(
        id="pr_sgd.corollary_1", symbols=symbols, terms=terms, schedule={"eta": "sqrt(N/T)/L"}, follows_from=parent
    )
    given = {"L": 1, "sigma": 1, "G": 2, "F_gap": 10, "N": 16, "p": 1}
    outside, inside = own.bound(**given, T=1), own.bound(**given, T=16)
    (failure,) = outside.general_failures
    assert (failure.name, failure.got) == ("step_size", 4.0) and outside.to_dict()["general_failures"]
    assert "conditions of pr_sgd.theorem_1, from which it follows, fail here: step_size" in str(outside)
    assert any("from which it follows" in note for note in outside.sheet().notes)
    assert not inside.general_failures and "general_failures" not in inside.to_dict()


# --- what every enclosure keeps to ------------------------------------------------------------------------------------


@every_statement
def test_the_enclosure_contains_the_bound(name, label):
    theorem, statement = find(name, label)

    @few(2)
    @given(point=anywhere(theorem, label))
    def check(point):
        one = bound(theorem.statement(label), point, strict=False)
        found = enclose_bound(theorem.statement(label), point)
        exact = complete(theorem.statement(label), point)
        values = {**one.derived, **one.terms} | ({"total": one.total} if one.terms else {})
        exprs = {item.name: item.expr for item in (*statement.derived, *statement.terms)}
        assert set(found) == set(values)
        for where, value in values.items():
            low, high = found[where].floats()
            assert low <= value <= high, where
            assert found[where].width <= Fraction(1, 10**24) * (1 + abs(Fraction(value))) * 10**6
            true = statement.at(exprs[where], exact) if where in exprs else None
            if true is not None and true.is_Rational:
                assert found[where].contains(Fraction(int(true.p), int(true.q)))

    check()


@few(20)
@given(power=st.integers(1_000_010, 2**40), base=st.sampled_from([2, 3, -3, Fraction(7, 2)]))
def test_ends_that_would_fill_the_memory_are_not_written_out(power, base):
    """A run that diverges for 2^31 rounds asked for gigabytes."""
    ball = arb(fmpq_of(Fraction(base))) ** power
    with pytest.raises(EnclosureError, match="no enclosure is written out of a number of about 2"):
        ends(ball)
    tiny = ends(1 / ball)
    limit = Fraction(1, 2**999_998)
    assert bool(-limit <= tiny.lower <= 0 <= tiny.upper <= limit)


@pytest.mark.parametrize("expr", [1 / x, sp.log(x), sp.sqrt(x - 1), x ** sp.Rational(-1, 3), sp.zoo, sp.nan])
def test_what_is_not_finite_is_an_error(expr):
    with pytest.raises(EnclosureError):
        enclose(expr, {x: sp.Integer(0)})


def test_a_missing_value_and_an_unknown_function_are_errors():
    with pytest.raises(EnclosureError, match="x: wanted a value"):
        enclose(x + 1)
    with pytest.raises(EnclosureError, match="no ball arithmetic for gamma"):
        enclose(sp.gamma(x), {x: sp.Rational(1, 3)})


def test_more_bits_make_it_narrower_and_the_precision_is_restored():
    from flint import ctx

    before = ctx.prec
    wide, narrow = (enclose(sp.sqrt(2), bits=bits) for bits in (60, 300))
    assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper and narrow.width < wide.width * Fraction(1, 2**200)
    assert ctx.prec == before


def test_a_root_of_a_long_number_is_not_factored():
    """sympy would look for prime factors of a number of 40,000 bits: minutes."""
    size = 10**3000 + 7
    began = time.process_time()
    found = put_in(3 * sp.sqrt(x**4 + 1) + sp.sqrt(sp.sqrt(x**4 + 1) + 2), {x: sp.Integer(size)})
    theorem = fedco.theorem("meta_fl.lemma_5")
    theorem.bound(
        "corrected", strict=False, **{name: "100" if name == "nu" else "1e30" for name in theorem.symbols("corrected")}
    )
    assert time.process_time() - began < 5
    assert abs(sp.log(found.evalf(30)) - sp.log(sp.Float(3, 30)) - 2 * sp.log(sp.Float(size, 30))) < 1e-20
    assert put_in(sp.sqrt(x**2 + 1), {x: sp.Rational(3, 4)}) == sp.Rational(5, 4)


def test_a_rule_that_compares_is_decided_or_refused():
    """Whether sqrt(v)^2 < 2: at v = 2 no number of digits tells."""

    def rule(steps, value):
        return Fraction(steps) if root(value) * root(value) < 2 else Fraction(0)

    function = step_function("compares", rule, "compares", lazy=True)
    for value, wanted in ((sp.Rational(3, 2), 5), (sp.Integer(3), 0)):
        ball = enclose(function(x, value), {x: sp.Integer(5)})
        assert (ball.lower, ball.upper) == (wanted, wanted)
    with pytest.raises(EnclosureError, match="which is smaller"):
        enclose(function(x, sp.Integer(2)), {x: sp.Integer(5)})


def test_a_rule_may_have_symbols_beside_numbers():
    function = step_function("mixed", lambda steps, base, more: base**steps + more, "mixed")
    assert function(sp.Integer(2), x, sp.Integer(3)) == x**2 + 3
    assert function(sp.Integer(2), sp.Rational(1, 2), sp.Integer(3)) == sp.Rational(13, 4)


# --- large arrays, and the plot of one --------------------------------------------------------------------------------


LOCAL_SGD = fedco.theorem("baselines.local_sgd")
AT = {"L": 2, "G": 3, "sigma": 1, "F_gap": 5, "p": 4, "b": 1, "N": 8, "T": 1000}


@pytest.mark.parametrize("block", [1, 7, 24, 1000])
def test_a_grid_is_the_same_in_blocks_of_any_size(block, monkeypatch):
    """Along the first axis, the second, and in what does not vary along either."""
    eta, horizon = np.geomspace(1e-3, 1, 11).reshape(-1, 1), np.array([[10.0, 100.0, 1000.0]])
    varied = AT | {"eta": eta, "T": horizon, "L": np.linspace(1, 2, 3).reshape(1, 3)}
    whole = LOCAL_SGD.bound("printed", strict=False, **varied)
    monkeypatch.setattr(module, "POINTS_PER_BLOCK", block)
    cut = LOCAL_SGD.bound("printed", strict=False, **varied)
    assert whole.total.shape == cut.total.shape == (11, 3)
    assert np.array_equal(whole.total, cut.total) and np.array_equal(whole.admissible, cut.admissible)
    assert whole.terms.keys() == cut.terms.keys() and len(cut.terms) >= 3
    assert all(np.array_equal(whole.terms[name], cut.terms[name]) for name in cut.terms)
    assert 0 < whole.admissible.sum() < 33
    for row, column in ((0, 0), (10, 2), (6, 1)):
        point = {name: float(np.broadcast_to(varied[name], (11, 3))[row, column]) for name in ("eta", "T", "L")}
        one = LOCAL_SGD.bound("printed", strict=False, **(AT | point))
        assert cut.total[row, column] == pytest.approx(one.total) and cut.admissible[row, column] == one.admissible


def test_a_plot_is_over_one_array():
    bound = LOCAL_SGD.bound("printed", strict=False, **AT, eta=np.geomspace(1e-3, 1, 5))
    plot = bound.plot()
    assert "eta" in str([getattr(plot, item.name) for item in fields(plot)])
    two = LOCAL_SGD.bound("printed", strict=False, **(AT | {"eta": np.array([0.1, 0.2]), "T": np.array([10.0, 20.0])}))
    square = LOCAL_SGD.bound("printed", strict=False, **AT, eta=np.full((2, 2), 0.1))
    for refused in (two, square):
        with is_refused("one array of one dimension"):
            refused.plot()


def test_the_bars_of_terms_have_the_unit_of_the_metric_and_those_of_constants_none():
    with_terms = LOCAL_SGD.bound("printed", strict=False, **AT, eta="1/100")
    label = with_terms.plot().figure.axes[0].get_xlabel()
    assert "F(" in label and "[f]" in label and "[x]" in label, "E |grad F|^2: f^2 / x^2"
    without = replace(with_terms, terms={}, total=None, derived={"c": 2.0, "d": 3.0})
    assert without.plot().figure.axes[0].get_xlabel().startswith("value")
    assert without.plot().data == {"terms": [3.0, 2.0]}


@pytest.mark.parametrize(("points", "more"), [(19, False), (20, False), (21, True)])
def test_what_is_not_printed_is_said(points: int, more: bool):
    found = LOCAL_SGD.bound("printed", strict=False, **AT, eta=np.geomspace(1e-3, 1, points))
    assert (f"the first 20 of {points} points" in found.to_markdown()) is more
    assert len(found.sheet().tables[0].rows) == min(points, 20) and len(found.to_frame()) == points
