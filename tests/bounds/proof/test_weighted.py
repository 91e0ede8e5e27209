"""Weighted means and averaged iterates: what the kernel concludes of them, and the attacks that each lock refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import altered
import pytest
import sympy as sp
from fedco.bounds import get_theorem
from fedco.bounds.language.metrics import METRICS, with_weights
from fedco.bounds.language.notation import STEP
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import Combine, Derivation, ProofError, Reader, Step, check, clock, quantity
from fedco.bounds.proof.kernel.derivation import begin, reading
from fedco.bounds.proof.kernel.problem import at_clock, summed, weights
from fedco.bounds.proof.kernel.scalars import Total, scalar, weighted_total
from hypothesis import given
from hypothesis import strategies as st
from rewritten import weighing

WEIGHTED, AVERAGED = (get_theorem(f"library.sgd_strongly_convex_{each}") for each in ("weighted", "averaged"))
PLAN = derivation(WEIGHTED)
assert isinstance(PLAN, Derivation)
S = Reader(WEIGHTED, WEIGHTED.statement("printed"))


def refused(theorem, why: str, plan: Derivation = PLAN) -> None:
    altered.refused(theorem, plan, why)


@pytest.mark.parametrize("theorem", [WEIGHTED, AVERAGED], ids=["weighted", "averaged"])
def test_the_derivation_is_accepted_and_uses_all_that_it_assumes(theorem):
    verdict = check(PLAN, theorem, "printed")
    assert verdict.accepted, verdict.failure
    assert not verdict.unused
    assert ("Jensen" in verdict.rests_on["metric"]) == (theorem is AVERAGED)


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        ("(t + t0)**2", "left over"),
        ("t + t0 + 1", "left over"),
        ("1", "left over"),
        ("t - t0", "nonnegative factors"),
        ("t", "positive at t = 0"),
        ("t + t0 - 1", "positive at t = 0"),
        ("(1 - mu*a)**(-t)", "polynomials in t"),
        ("sqrt(t + t0)", "polynomials in t"),
    ],
)
def test_other_weights_are_not_concluded_from_these(formula: str, why: str):
    refused(weighing(WEIGHTED, formula), why)


def test_a_multiple_of_the_weights_is_the_same_metric():
    """Both sides are multiplied by the sum of the weights, and so are the multipliers of the conclusion."""
    many = weighing(WEIGHTED, "7*(t + t0)")
    seven = replace(PLAN, conclusion=tuple((7 * c, name) for c, name in PLAN.conclusion))
    assert check(seven, many, "printed").accepted and not check(seven, WEIGHTED, "printed").accepted


def test_the_value_at_an_average_needs_a_convex_function():
    refused(
        replace(AVERAGED, metric=with_weights(METRICS["averaged_gradient_sq"], STEP + 1, "")),
        "is not the squared gradient",
    )
    without = tuple(item for item in AVERAGED.assumptions if item.name != "strong convexity")
    refused(replace(AVERAGED, assumptions=without), "mu")


def test_the_squared_gradient_is_no_convex_function_of_the_iterate():
    from_sum = derivation(get_theorem("library.gd"))
    gd = get_theorem("library.gd")
    assert check(from_sum, gd, "printed").accepted
    verdict = check(from_sum, replace(gd, metric=METRICS["averaged_gradient_sq"]), "printed")
    assert not verdict.accepted and "no convex function" in verdict.failure


def test_alike_weights_conclude_a_weighted_mean_without_a_clock():
    gd = get_theorem("library.gd")
    same = replace(gd, metric=with_weights(METRICS["weighted_gradient_sq"], sp.Integer(3), "3"))
    assert not check(derivation(gd), same, "printed").accepted  # both sides are times 3 T: the multipliers are others
    tripled = replace(derivation(gd), conclusion=tuple((3 * c * S.T, name) for c, name in derivation(gd).conclusion))
    assert check(tripled, same, "printed").accepted


# --- the rule ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        (("gap", S.a * clock() ** 2),),
        (("gap", 2 * S.a * clock()),),
        (("gap", S.a * (clock() + 1)),),
        (("distance", S.a * clock()),),
        (),
    ],
)
def test_what_is_summed_has_the_weight_of_the_step(given):
    refused(WEIGHTED, "does not say that", altered.with_rule(PLAN, "weighted, all steps", summed=given))


@pytest.mark.parametrize("names", [("gap", "gap"), ("nothing",)])
def test_every_summed_quantity_has_one_weight(names):
    given = tuple((name, S.a * clock()) for name in names)
    refused(WEIGHTED, "wanted a weight for each", altered.with_rule(PLAN, "weighted, all steps", summed=given))


def test_a_weight_is_a_sum_of_whole_powers_of_the_clock():
    assert weighted_total("gap", 1 / clock()).parts == scalar(Total("gap", power=-1)).parts
    with pytest.raises(ProofError, match="no sum of whole powers"):
        weighted_total("gap", clock() ** Fraction(1, 2))


def test_a_sum_with_weights_is_none_without_them():
    weighted = scalar(Total("gap", power=1))
    begun = begin(replace(PLAN, steps=()), WEIGHTED, "printed")
    with pytest.raises(ProofError, match="left over"):
        begun.after(Step("wrong", Combine(weighted, scalar(Total("gap")), ())))
    plain = get_theorem("library.sgd_strongly_convex")
    without = begin(replace(derivation(plain), steps=()), plain, "printed")
    weighted = scalar(Total("distance", power=1))
    with pytest.raises(ProofError, match="no clock"):
        without.after(Step("no clock", Combine(weighted, weighted, (), equal=True)))


@given(st.lists(st.integers(0, 5), min_size=1, max_size=4), st.integers(1, 9))
def test_the_sum_of_the_weights_is_that_sum(powers: list[int], steps: int):
    T = S.params["T"]
    found = summed(tuple(S.T**0 * Fraction(c) for c in powers), S.T).at({T: Fraction(steps)})
    assert found == sum(c * t**k for t in range(steps) for k, c in enumerate(powers))


def test_the_weights_are_those_of_the_iterate_that_is_measured():
    for average, first in (("before", S.t0), ("after", S.t0 + 1)):
        theorem = replace(WEIGHTED, average=average)
        found = weights(reading(PLAN, theorem, theorem.statement("printed"), S))
        assert found == (first, S.T**0)
        assert at_clock(found, S.t0) == clock() - S.t0 + first
    assert quantity("gap") != weighted_total("gap", clock())
