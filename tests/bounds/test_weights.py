"""Weights of the iterates: what a definition takes, and their values."""

from __future__ import annotations

from fractions import Fraction

import fedco
import numpy as np
import pytest
import sympy as sp
from fedco.bounds.audit.necessary import formulas_digest
from fedco.bounds.evaluation.weights import StepWeights
from fedco.bounds.language.definition import keys_of
from fedco.bounds.language.notation import STEP
from fedco.bounds.language.reading import InputError
from hypothesis import given
from hypothesis import strategies as st

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
    with pytest.raises(InputError) as caught:
        defined(**keys)
    assert message in str(caught.value) and "\n" not in str(caught.value)


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
    with pytest.raises(InputError, match="weights"):
        StepWeights(sp.sympify(formula)).shares(3, after=False)


NOT_EXACT = [(1 - STEP, "it is -1"), (sp.sqrt(STEP), "no rational number"), (1 / (STEP - 2), "no rational")]


@pytest.mark.parametrize(("formula", "why"), NOT_EXACT)
def test_what_has_no_exact_value_is_refused(formula: sp.Expr, why: str):
    with pytest.raises(InputError, match=why):
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
    with pytest.raises(InputError, match="at least 0, got -1 at t = 1000000"):
        falling.bound(t0=999_999, T=1_000_001, **at)
    with pytest.raises(InputError, match="one above 0, all are 0 in 1 steps"):
        defined(weights="t").bound(t0=1, T=1, **at)
    assert defined(weights="t", average="after").bound(t0=1, T=1, **at).admissible
    assert defined(weights="(1 - mu*eta/2)**(-t)").bound(t0=1, T=10**5, **at).admissible
    for unreal, t in (("sqrt(t - t0)", 0), ("1/(t - t0)**2", 1)):
        with pytest.raises(InputError, match=f"got no finite real number at t = {t}"):
            defined(weights=unreal).bound(t0=1, T=10, **at)
