"""What depends on the step t: sums in formulas, step sizes that decline, weights of the iterates; exact, fast, the same everywhere, and a
sentence for what is none."""

from __future__ import annotations

import json
import subprocess
import time
from fractions import Fraction
from typing import Any

import fedco
import numpy as np
import pytest
import sympy as sp
from fedco.algorithms.engine.schedule import Schedule
from fedco.bounds.audit.necessary import formulas_digest
from fedco.bounds.cost.orders import rates
from fedco.bounds.evaluation.enclosure import EnclosureError, enclose
from fedco.bounds.evaluation.evaluate import evaluate, in_doubles
from fedco.bounds.evaluation.weights import StepWeights
from fedco.bounds.language.definition import keys_of
from fedco.bounds.language.formula import FormulaError, read_formula
from fedco.bounds.language.notation import STEP
from fedco.bounds.language.power_sum import LONGEST, PowerSum
from fedco.bounds.language.rendering import to_text
from fedco.bounds.language.schedule import read_schedule
from fedco.validation.explorer.javascript import HELPERS
from fedco.validation.runs.method_of import build_of
from hypothesis import given
from hypothesis import strategies as st
from quick import slow_but_one
from refusal import is_refused
from small_theorems import small

T, t0, a = sp.symbols("T", integer=True, positive=True), sp.symbols("t0", positive=True), sp.symbols("a", positive=True)
NAMES = {"T": T, "t0": t0, "a": a}
AT = {T: sp.Integer(37), t0: sp.Rational(5, 2), a: sp.Rational(1, 3)}
SUMS: dict[str, Any] = {
    "sum(t, 0, T - 1, a/(t + t0))": lambda: sum(Fraction(1, 3) / (t + Fraction(5, 2)) for t in range(37)),
    "sum(t, 1, T, t**2)": lambda: sum(t**2 for t in range(1, 38)),
    "sum(t, 0, T - 1, (t + t0)**3)": lambda: sum((t + Fraction(5, 2)) ** 3 for t in range(37)),
    "sum(t, 0, T - 1, (t + t0)**2/(t + 1))": lambda: sum((t + Fraction(5, 2)) ** 2 / (t + 1) for t in range(37)),
    "sum(t, 0, T - 1, 1/((t + 1)*(t + 2)))": lambda: Fraction(37, 38),
    "sum(t, 0, T - 1, (T - t)*t)": lambda: sum((37 - t) * t for t in range(37)),
    "sum(s, 0, T - 1, 1/(2*s + t0))": lambda: sum(1 / (2 * s + Fraction(5, 2)) for s in range(37)),
    "1/sum(t, 0, T - 1, a**2/(t + t0)**2)": lambda: 9 / sum(1 / (t + Fraction(5, 2)) ** 2 for t in range(37)),
    "sum(t, 0, T - 1, sum(s, 0, T - 1, 1/(s + 1)))": lambda: 37 * sum(Fraction(1, s + 1) for s in range(37)),
}


@pytest.mark.parametrize("text", SUMS)
def test_a_sum_is_exact_and_the_same_everywhere(text: str):
    found, wanted = read_formula(text, NAMES), Fraction(SUMS[text]())
    exact = found.xreplace(AT)
    assert exact.is_Rational and Fraction(int(exact.p), int(exact.q)) == wanted
    assert enclose(found, AT).contains(wanted) and enclose(found, AT).width < wanted / 10**20
    on_arrays = sp.lambdify([T, t0, a], found, "numpy")(np.array([37.0, 1.0]), 2.5, 1 / 3)
    assert on_arrays[0] == pytest.approx(float(wanted), rel=1e-13)
    again = read_formula(str(found), NAMES)
    assert sp.expand(again - found) == 0


POWERS = {"1/(t + t0)": -1, "1/sqrt(t + t0)": -0.5, "1/(t + t0)**2": -2, "1/(t + t0)**(3/2)": -1.5, "sqrt(t + t0)": 0.5}
OFFSETS = (Fraction(1, 100), Fraction(1), Fraction(37, 3))


@pytest.mark.parametrize(
    ("power", "exponent", "steps", "offset"),
    [
        pytest.param(*case, marks=marks)
        for *_, case, marks in slow_but_one(
            [(power, exponent, steps, offset) for offset in OFFSETS]
            for power, exponent in POWERS.items()
            for steps in (1, 15, 16, 17, 18, 40, 1000)
        )
    ],
)
def test_in_double_precision_and_in_javascript_a_sum_is_what_its_terms_add_up_to(
    power: str, exponent: float, steps: int, offset: Fraction
):
    found = read_formula(f"sum(t, 0, T - 1, {power})", NAMES)
    wanted = sum((t + float(offset)) ** exponent for t in range(steps))
    point = {T: sp.Integer(steps), t0: sp.Rational(offset.numerator, offset.denominator)}
    assert sp.lambdify([T, t0], found, "numpy")(float(steps), float(offset)) == pytest.approx(wanted, rel=1e-12)
    assert float(sp.N(found.xreplace(point), 20)) == pytest.approx(wanted, rel=1e-12)
    assert float(enclose(found, point).lower) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("low", ["0", "t0", "-t0", "T - 3"])
@pytest.mark.parametrize("high", ["T/2", "T - 10", "(T + 70)/t0", "t0"])
@pytest.mark.parametrize("power", ["a", "t + 1", "(t - t0)**2", "1/(t + t0 + 9)", "sqrt(t + 9)"])
def test_a_sum_runs_over_the_whole_numbers_between_its_ends(low: str, high: str, power: str):
    """Ends that are no whole numbers, and ends that leave nothing between them."""
    found, summand = read_formula(f"sum(t, {low}, {high}, {power})", NAMES), read_formula(power, {**NAMES, "t": STEP})
    for steps in (3, 7, 60):
        at = {T: sp.Integer(steps), t0: sp.Rational(5, 2), a: sp.Rational(1, 3)}
        first, last = (read_formula(end, NAMES).xreplace(at) for end in (low, high))
        over = range(int(sp.ceiling(first)), int(sp.floor(last)) + 1)
        wanted = sum((float(summand.xreplace({**at, STEP: sp.Integer(t)})) for t in over), 0.0)
        assert float(sp.N(found.xreplace(at), 20)) == pytest.approx(wanted, rel=1e-12)
        assert float(enclose(found, at).lower) == pytest.approx(wanted, rel=1e-12)
        assert enclose(found, at).width <= Fraction(1, 10**20)
        arrays = sp.lambdify([T, t0, a], found, "numpy")(np.array([float(steps)]), 2.5, 1 / 3)
        assert arrays == pytest.approx(wanted, rel=1e-11, abs=1e-11)


def test_the_page_adds_up_as_python_does():
    rows = [(f, n, p) for f in (0.01, 1.0, 12.5) for n in (0, 1, 16, 17, 300) for p in (-1, -0.5, -2, 0.5, 0, 3)]
    rows += [(f, n, p) for f in (0.0, -3.5, -16.0) for n in (0, 5, 300) for p in (0, 1, 2)]
    program = f"{HELPERS} console.log(JSON.stringify({json.dumps(rows)}.map((row) => $$powerSum(...row))));"
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    wanted = [sum((f + k) ** p for k in range(n)) for f, n, p in rows]
    assert json.loads(done.stdout) == pytest.approx(wanted, rel=1e-12)


def test_an_end_that_is_whole_keeps_its_term_in_doubles():
    """100*0.29 is 28.999999999999996 in doubles."""
    symbols, terms = {"T": "iterations", "x": "heavy_ball_momentum"}, {"all": "sum(t, 1, x*T, t + 1) + ceil(x*T)/T"}
    own = fedco.define(id="m.t", symbols=symbols, units=["objective_gap", "step_size"], terms=terms)
    points = [(100, "29/100"), (49, "1/49"), (98, "2/98"), (10, "1/4")]
    exact = [own.bound(T=steps, x=part).total for steps, part in points]
    numbers = {"T": [steps for steps, _ in points], "x": [float(Fraction(part)) for _, part in points]}
    assert evaluate(own.statement(), **numbers)["total"] == pytest.approx(exact, rel=1e-12)
    program = (
        f"{HELPERS} console.log(JSON.stringify([$$floor(100 * 0.29), $$ceil(100 * 0.29), $$floor(2.9), $$ceil(3.1)]));"
    )
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [29, 29, 2, 4]


def test_a_large_number_between_two_whole_ones_is_rounded_to_the_right_one():
    """Within a relative distance of a whole number lie all numbers beyond its inverse: there the distance itself counts."""
    large = np.array([540736504.7, -540736504.7, 3e9 + 0.25])
    x = sp.Symbol("x")
    assert list(in_doubles([x], sp.floor(x))(large)) == [540736504, -540736505, 3e9]
    assert list(in_doubles([x], sp.ceiling(x))(large)) == [540736505, -540736504, 3e9 + 1]
    numbers = ", ".join(f"$$floor({x!r}), $$ceil({x!r})" for x in large.tolist())
    program = f"{HELPERS} console.log(JSON.stringify([{numbers}]));"
    done = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [540736504, 540736505, -540736505, -540736504, 3e9, 3e9 + 1]


def test_a_long_sum_takes_no_time():
    found = read_formula("sum(t, 0, T - 1, a/(t + t0))", NAMES)
    began = time.process_time()
    for steps in (LONGEST + 1, 10**9, 10**15):
        value = found.xreplace({**AT, T: sp.Integer(steps)})
        assert float(value) == pytest.approx(np.log(steps + 2.0) / 3 - 0.2345, rel=1e-2)
        assert enclose(value).width < Fraction(1, 10**20)
    assert time.process_time() - began < 2


def test_a_sum_without_a_term_is_0_and_a_pole_is_no_number():
    for text in ("sum(t, 1, 0, 1/t)", "sum(t, 5, 3, 1/(t + t0))", "sum(t, 1, 0, 1/sqrt(t))"):
        assert read_formula(text, NAMES) == 0
    assert np.isnan(PowerSum._imp_(-1.5, 4, -1))
    first = sp.symbols("x", real=True)
    with pytest.raises(EnclosureError, match="positive"):
        enclose(PowerSum(first, T, -1), {first: sp.Rational(-3, 2), T: sp.Integer(4)})


@pytest.mark.parametrize(
    ("text", "reason"),
    {
        "sum(T, 0, 3, 1)": "wanted a new name for what the sum is over",
        "sum(sqrt, 0, 3, 1)": "wanted a new name",
        "sum(2, 0, 3, 1)": "wanted a new name",
        "sum(t, 0, T - 1)": "wanted ','",
        "sum(t, 0, T - 1, 1/t)": "wanted a positive number under every power, got 0 at t = 0",
        "sum(t, 0, T - 1, log(t + 1))": "wanted a sum of powers such as 1/(t + t0)",
        "sum(t, 0, T - 1, (1 - a)**t)": "wanted a sum of powers",
        "sum(t, 0, T - 1, sqrt(t + 1)*sqrt(t + 2))": "wanted a sum of powers",
        "sum(t, 0, t, 1)": "'t' is not a declared name",
        "t + sum(t, 0, T, 1)": "'t' is not a declared name",
    }.items(),
)
def test_what_is_no_sum_is_one_line_with_a_column(text: str, reason: str):
    with pytest.raises(FormulaError, match=r"^column [0-9]+: ") as raised:
        read_formula(text, NAMES)
    assert reason in str(raised.value)


# --- schedules ---------------------------------------------------------------------------------------------------------

DECLINING: dict[str, Any] = {
    "id": "mine.declining",
    "metric": "last_distance_sq",
    "symbols": {"a": "step_numerator", "t0": "step_offset", "D": "initial_distance", "T": "iterations"},
    "terms": {"start": "(t0/(T + t0))**2*D**2"},
    "conditions": {"a": "a == a"},
    "method": {"name": "minibatch_sgd", "eta": "a/(t + t0)", "b": 1},
}


def with_step(eta: Any, **more: Any) -> Any:
    return fedco.define(**{**DECLINING, "method": {"name": "minibatch_sgd", "eta": eta, "b": 1, **more}})


@pytest.mark.parametrize(
    ("eta", "wanted"),
    {
        "a/(t + t0)": (0.5, 4.0, 1, 1),
        "2*a/(3*t + t0)": (1 / 3, 4 / 3, 1, 1),
        "a/sqrt(t + t0)": (0.5, 4.0, 1 / 2, 1),
        "a/(floor(t/5) + t0)": (0.5, 4.0, 1, 5),
        "a/sqrt(4*t + 1)": (0.25, 0.25, 1 / 2, 1),
        "a/(t + t0)**(1/3)": (0.5, 4.0, 1 / 3, 1),
        "3*(a/(8*floor(t/5) + t0)**(1/3))**2": (3 / 16, 0.5, 2 / 3, 5),
    }.items(),
)
def test_a_method_gets_the_schedule_that_its_formula_is(eta: str, wanted: tuple[float, float, float, int]):
    method = build_of(with_step(eta))({"a": 0.5, "t0": 4.0})
    schedule = method.eta
    assert isinstance(schedule, Schedule)
    assert (schedule.a, schedule.t0, float(schedule.power), schedule.every) == pytest.approx(wanted)
    formula = with_step(eta).method.values["eta"]
    for t in (0, 1, 7):
        assert schedule.at(t) == pytest.approx(float(formula.subs({STEP: t, a: 0.5, t0: 4.0})))


def test_the_step_size_is_said_where_the_theorem_is():
    theorem = with_step("a/(t + t0)")
    assert theorem.method.schedules == {"eta": a / (STEP + t0)}
    assert "  at step t, eta = a/(t + t0)" in to_text(theorem).splitlines()
    assert theorem.to_dict()["step_sizes"] == {"eta": "a/(t + t0)"}


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ({"eta": "a/(t**2 + t0)"}, "wanted a/(t + t0) or a/sqrt(t + t0) or a/(t + t0)**(1/3) or"),
        ({"eta": "a/(t + t0)**(3/2)"}, "wanted a/(t + t0)"),
        ({"eta": "a/t"}, "wanted a/(t + t0)"),
        ({"eta": "a*t"}, "wanted a/(t + t0)"),
        ({"eta": "a/(t + t0) + 1"}, "wanted a/(t + t0)"),
        ({"eta": "a/floor(t/2 + t/3)"}, "wanted a/(t + t0)"),
        ({"eta": "a", "b": "1/(t + t0)"}, "minibatch_sgd takes one b for all steps t; of minibatch_sgd, eta may"),
    ],
)
def test_what_is_no_schedule_is_one_line(method: dict[str, str], reason: str):
    with is_refused() as raised:
        fedco.define(**{**DECLINING, "method": {"name": "minibatch_sgd", **method}})
    assert reason in str(raised.value)


def test_t_is_the_step_only_under_method():
    with is_refused("'t' is not a declared name"):
        fedco.define(**{**DECLINING, "terms": {"start": "D**2/(t + t0)"}})
    own = {**DECLINING, "symbols": {**DECLINING["symbols"], "t": "batch_size"}, "conditions": {"t": "t == t"}}
    with is_refused("declines with the step t, but t is a symbol of the theorem"):
        fedco.define(**own)  # it was a constant step, and nothing said so
    constant = fedco.define(**{**own, "method": {**own["method"], "eta": "a*t/t0"}})
    assert read_schedule(constant.method.values["eta"]) is None


def test_orders_of_sums():
    """The sum of 1/(t + 1) grows as a logarithm, that of 1/sqrt(t + 1) as a root, that of 1/(t + 1)**2 not at all."""

    def samples(noise: str) -> str:
        costs = {"samples": "T", "rounds": "T"}
        theorem = small(f"F_gap*L*{noise}/T", conditions={"sigma": "sigma >= 0"}, costs=costs)
        return str(rates(theorem.statement()).costs["samples"])

    assert samples("sum(t, 0, T - 1, 1/(t + 1)**2)") == samples("1")
    assert "log" in samples("sum(t, 0, T - 1, 1/(t + 1))")
    assert samples("sum(t, 0, T - 1, 1/sqrt(t + 1))") == samples("sqrt(T)")
    with is_refused("a sum over t stands in a denominator"):
        samples("T/sum(t, 0, T - 1, 1/sqrt(t + 1))")


# --- weights of the iterates ------------------------------------------------------------------------------------------


KEYS = {
    "id": "mine.weighted",
    "symbols": {
        "D": "initial_distance",
        "mu": "strong_convexity",
        "eta": "step_size",
        "t0": "step_offset",
        "T": "iterations",
    },
    "terms": {"start": "t0*D**2/(eta*T)"},
    "conditions": {"step": "mu*eta <= 1"},
    "metric": "weighted_gap",
    "weights": "(t + t0)**2",
}


def defined(**keys: object):
    return fedco.define(**{name: value for name, value in {**KEYS, **keys}.items() if value is not None})


def test_a_definition_says_its_weights_and_is_written_with_them():
    found = defined()
    assert found.metric.name == "sum_t ((t + t0)**2) E[F(xbar_t) - F(x_*)] / sum_t ((t + t0)**2)"
    assert "t_{0}" in found.metric.latex
    again = fedco.define(**keys_of(found, "printed"))
    assert again.metric == found.metric
    symbols = {**KEYS["symbols"], "delta": "failure_probability"}
    terms = {"start": "t0*D**2/(eta*T*delta)"}
    likely = defined(symbols=symbols, probability={"failure": "delta"}, terms=terms)
    assert likely.metric.weights == found.metric.weights
    assert likely.metric.name.startswith("with probability 1 - delta, sum_t ((t + t0)**2) ")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"weights": None}, 'mine.weighted: weights: weighted_gap needs some; for instance weights = "t + 1"'),
        (
            {"metric": "last_gap"},
            "mine.weighted: weights: last_gap takes none; wanted one of the metrics weighted_gradient_sq",
        ),
        ({"metric": None}, "mine.weighted: weights: mean_gradient_sq takes none; wanted one of"),
        ({"weights": "-t - 1"}, "mine.weighted: weights: wanted weights that are positive, got '-t - 1'"),
        ({"weights": "0"}, "mine.weighted: weights: wanted weights that are positive, got '0'"),
        (
            {"weights": "t - 3"},
            "mine.weighted: weights: wanted weights of at least 0, got 't - 3', which is below 0 at t = 0",
        ),
        ({"weights": "t + zeta"}, "mine.weighted: weights: column 5: 'zeta' is not a declared name"),
        ({"weights": "t +"}, "mine.weighted: weights: column 4"),
        ({"weights": 3}, "mine.weighted: weights: wanted a text, got '3'"),
        ({"weights": ["t"]}, "mine.weighted: weights: wanted a text"),
        ({"weights": "t + D"}, "mine.weighted: weights: wanted dimension one dimension, got mixed dimensions"),
        (
            {"metric": "weighted_moreau"},
            "then _ and one of gradient_sq gradient gap distance_sq",
        ),
        (
            {"symbols": {**KEYS["symbols"], "a": "step_numerator"}, "weights": "t + a"},
            "mine.weighted, printed: weights speak of ['a'], of which the statement says nothing",
        ),
    ],
)
def test_a_mistake_is_one_line(keys: dict[str, object], message: str):
    with is_refused() as caught:
        defined(**keys)
    assert message in str(caught.value)


@given(st.integers(1, 12), st.booleans(), st.integers(0, 3), st.fractions(Fraction(1, 8), 8, max_denominator=8))
def test_shares_are_the_exact_weights_over_their_sum(steps: int, after: bool, power: int, base: Fraction):
    found = StepWeights((STEP + 1) ** power * sp.Rational(base.numerator, base.denominator) ** STEP)
    times = range(1, steps + 1) if after else range(steps)
    exact = [found.exactly(t) for t in times]
    assert exact == [(t + 1) ** power * base**t for t in times]
    shares = found.shares(steps, after=after)
    assert shares[0 if after else -1] == 0 and shares.sum() == pytest.approx(1, rel=1e-12)
    wanted = np.array([float(weight / sum(exact)) for weight in exact])
    np.testing.assert_allclose(shares[1:] if after else shares[:-1], wanted, rtol=1e-12)


def test_weights_beyond_the_range_of_doubles_have_shares():
    """10^t sums to (10^T - 1)/9, so that the last of them has 9/10 of it."""
    shares = StepWeights(sp.Integer(10) ** STEP).shares(400, after=False)
    assert shares[-2] == pytest.approx(0.9, rel=1e-12) and shares[0] == 0


@pytest.mark.parametrize("formula", [STEP - 1, 1 / STEP, sp.log(STEP), 0 * STEP])
def test_what_is_no_weight_is_refused(formula: sp.Expr):
    with is_refused("weights"):
        StepWeights(sp.sympify(formula)).shares(3, after=False)


NOT_EXACT = [(1 - STEP, "it is -1"), (sp.sqrt(STEP), "no rational number"), (1 / (STEP - 2), "no rational")]


@pytest.mark.parametrize(("formula", "why"), NOT_EXACT)
def test_what_has_no_exact_value_is_refused(formula: sp.Expr, why: str):
    with is_refused(why):
        StepWeights(formula).exactly(2)


def test_what_is_kept_of_a_statement_depends_on_its_weights():
    other = defined(weights="t + t0")
    assert formulas_digest(defined().statement()) == formulas_digest(defined().statement())
    assert formulas_digest(other.statement()) != formulas_digest(defined().statement())


def test_a_bound_with_weights_below_0_is_refused_at_the_values():
    at = {"D": 1, "mu": 1, "eta": 1}
    falling = defined(weights="t0 - t")
    assert falling.bound(t0=10**6, T=10**6, **at).admissible  # the last weight is 1
    assert falling.bound(t0=10**40, T=10**40, **at).admissible
    with is_refused("at least 0, got -1 at t = 1000000"):
        falling.bound(t0=999_999, T=1_000_001, **at)
    with is_refused("one above 0, all are 0 in 1 steps"):
        defined(weights="t").bound(t0=1, T=1, **at)
    assert defined(weights="t", average="after").bound(t0=1, T=1, **at).admissible
    assert defined(weights="(1 - mu*eta/2)**(-t)").bound(t0=1, T=10**5, **at).admissible
    for unreal, t in (("sqrt(t - t0)", 0), ("1/(t - t0)**2", 1)):
        with is_refused(f"got no finite real number at t = {t}"):
            defined(weights=unreal).bound(t0=1, T=10, **at)
