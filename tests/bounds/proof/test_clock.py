"""Step sizes and weights that depend on the step: the clock, sums of its powers, weighted means and averaged iterates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from unittest.mock import patch

import pytest
import sympy as sp
from altered import refused, with_declared, with_rule
from fedco.bounds import get_theorem
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.formula import read_formula
from fedco.bounds.language.metrics import METRICS, with_weights
from fedco.bounds.language.notation import STEP
from fedco.bounds.proof.author import Proof
from fedco.bounds.proof.check_on_instances import STYLES, conclusion, examine, instance
from fedco.bounds.proof.derivations import checked_steps, derivation
from fedco.bounds.proof.kernel import (
    CLOCK,
    AtStart,
    Combine,
    Definition,
    Derivation,
    Geometric,
    Invariant,
    Later,
    ProofError,
    Quantity,
    Reader,
    Scalar,
    Step,
    SumOver,
    Var,
    Weighted,
    check,
    clock,
    quantity,
    scalar,
)
from fedco.bounds.proof.kernel import derivation as kernel_derivation
from fedco.bounds.proof.kernel.derivation import Progress, begin, reading
from fedco.bounds.proof.kernel.problem import at_clock, summed, weights
from fedco.bounds.proof.kernel.rules import vectors
from fedco.bounds.proof.kernel.scalars import At, One, Total, weighted_total
from fedco.bounds.proof.kernel.signomial import POSITION, Signomial, params_in
from fedco.bounds.proof.solve import solved
from fedco.cli import app
from fedco.validation.proofs.lock import instances_of
from hypothesis import given
from hypothesis import strategies as st
from rewritten import rewritten, weighing
from typer.testing import CliRunner

DECLINING, CONSTANT, WEIGHTED, AVERAGED = (
    get_theorem(f"library.sgd_strongly_convex{each}") for each in ("_declining", "", "_weighted", "_averaged")
)
GD, GD_CONVEX, SGD, SCGD = (
    get_theorem(f"library.{name}") for name in ("gd", "gd_convex", "sgd_declining", "scgd_declining")
)
X = Var("x")
POSITION_NUMBER = POSITION.number
SUMMED = "weighted, all steps"
"""The step of a weighted sum."""
S = Reader(DECLINING, DECLINING.statement("printed"))


@cache
def plan(theorem=DECLINING) -> Derivation:
    found = derivation(theorem)
    assert isinstance(found, Derivation)
    return found


def before(name: str) -> tuple[Step, ...]:
    """The steps before one of them."""
    steps = plan().steps
    return steps[: [step.name for step in steps].index(name)]


def checked(steps: tuple[Step, ...]) -> Progress:
    return checked_steps(replace(plan(), steps=steps), DECLINING, "printed")


def test_on_what_the_derivations_rest():
    """That each uses all that it assumes is tested for every derivation, in test_derivations.py."""
    assert "t >= 0" in check(plan(), DECLINING, "printed").conditions
    for theorem in (WEIGHTED, AVERAGED):
        verdict = check(plan(WEIGHTED), theorem, "printed")
        assert verdict.accepted and ("Jensen" in verdict.rests_on["metric"]) == (theorem is AVERAGED)


# --- no statement about one step is read at another one ---------------------------------------------------------------

OTHER_STEPS = {
    "summed": SumOver("approach"),
    "at the end": AtStart("approach", end=True),
    "later": Later("approach", 1),
    "the update, later": Later("step", 1),
    "a contraction": Geometric("distance", "approach", 1 - S.mu * S.a / clock(), S.sigma**2),
    "an induction": Invariant("distance", S.D**2, "approach", "approach"),
}


@pytest.mark.parametrize("name", OTHER_STEPS)
def test_a_statement_with_the_clock_is_about_one_step(name: str):
    steps = (*before("weighted"), Step("there", OTHER_STEPS[name]))
    with pytest.raises(ProofError, match=r"step itself|about the step"):
        checked(steps)


def test_read_at_another_step_an_update_is_false_on_an_instance():
    """The second lock alone, with the first one open."""
    update = Step("update there", Later("step", 1))
    with patch.object(vectors, "at_one_step", lambda fact: False):
        progress = checked((*before("weighted"), update))
    long = [style for style in STYLES if style.name in ("descent", "straight, small", "rounds")]
    runs = {style: instance(style, progress) for style in long}
    assert all(run.horizon > 1 for run in runs.values())
    assert examine(progress, runs, {"update there": progress.state.facts["update there"]}).failed


def test_no_rule_for_vectors_within_a_round_takes_an_equation_with_the_clock():
    state = begin(plan(), DECLINING, "printed").after(Step("step", Definition("x", "local"))).state
    with pytest.raises(ProofError, match="step itself"):
        state.equation("step")
    assert CLOCK in {p for c, _ in state.equation("step", position=True).term.parts for p in c.params}


# --- what may depend on the step --------------------------------------------------------------------------------------


def test_without_an_offset_nothing_depends_on_the_step():
    refused(DECLINING, replace(plan(), offset=None), "does not depend on")
    constant = plan(CONSTANT)
    claim = Combine(scalar(clock()), scalar(clock()))
    refused(CONSTANT, replace(constant, steps=(Step("c", claim),)), "no clock")
    refused(CONSTANT, replace(constant, steps=(Step("w", Weighted((("distance", clock()),), "approach")),)), "no clock")


@pytest.mark.parametrize("offset", [0 * S.t0, S.t0 - 1, -1 * S.t0, S.sigma, clock()])
def test_the_offset_is_positive_and_a_number(offset: Signomial):
    verdict = check(replace(plan(), offset=offset), DECLINING, "printed")
    assert not verdict.accepted
    assert "offset" in verdict.failure or "depend" in verdict.failure


def test_only_update_equations_speak_of_the_clock():
    found = plan()
    (objective,), ((phases, term),) = found.setting.objectives, found.setting.variable("x").equations
    for changed in (
        replace(found, quantities=tuple(Quantity(q.name, clock() * q.meaning) for q in found.quantities)),
        with_declared(found, "objectives", "F", gradient=clock() * objective.gradient),
        with_declared(found, "indices", "n", size=clock()),
        with_declared(found, "variables", "x", equations=((phases, POSITION_NUMBER * term),)),
    ):
        refused(DECLINING, changed, "does not depend on")


def test_the_clock_is_at_least_its_offset_and_no_more():
    below, above = clock() - S.t0, clock() - S.t0 - 1
    for claim, holds in ((below, True), (above, False), (-1 * below, False), (S.T + S.t0 - clock(), False)):
        step = Step("c", Combine(scalar(0 * S.t0), scalar(claim)))
        verdict = check(replace(plan(), steps=(step,)), DECLINING, "printed")
        assert ("step c" not in verdict.failure) is holds, (claim, verdict.failure)


# --- weights ----------------------------------------------------------------------------------------------------------


plan()  # before any part of the kernel is another one
NOISE = (1 + 1 / S.t0) ** 2 * S.a**2 * S.sigma**2 / (S.N * S.b)
GROWN, NOW = (clock() + 1) ** 2, clock() ** 2


OF_STEP = S.a * clock()
OTHER_WEIGHTS = [
    *((DECLINING, "weights", (("distance", each),), "does not say that") for each in (GROWN, clock(), 2 * NOW)),
    (DECLINING, "weights", (("distance", NOW + POSITION_NUMBER),), "the clock"),
    *(
        (DECLINING, "weights", each, "wanted a weight for each")
        for each in ((), (("distance", NOW),) * 2, (("nothing", NOW),), (("distance", NOW), ("gradient", NOW)))
    ),
    *(
        (WEIGHTED, "summed", each, "does not say that")
        for each in ((), *((("gap", c),) for c in (OF_STEP * clock(), 2 * OF_STEP, S.a * (clock() + 1))), (("distance", OF_STEP),))
    ),
    *((WEIGHTED, "summed", each, "wanted a weight for each") for each in ((("gap", OF_STEP),) * 2, (("nothing", OF_STEP),))),
]  # fmt: skip
"""Theorem, field of the rule, other weights of the quantities, why: a weight is that of the step, that of the next step is one later."""


@pytest.mark.parametrize(("theorem", "field", "other", "why"), OTHER_WEIGHTS)
def test_other_weights_of_a_sum_are_refused(theorem, field: str, other, why: str):
    refused(theorem, with_rule(plan(theorem), SUMMED, **{field: other}), why)


def still(theorem) -> Derivation:
    """The weight of step t stands at both ends of a step: nothing is asked of mu a."""
    claimed = NOW * quantity("distance", 1) <= NOW * quantity("distance") + NOISE
    return with_weight_of(theorem, claimed, NOW)


def with_weight_of(theorem, claimed, given: Signomial) -> Derivation:
    found = plan()
    proof = Proof(S, time="independence")
    proof.steps += before("weighted")
    proof.claim("weighted", claimed, given={"approach": given})
    proof.weighted("weighted", {"distance": NOW})
    proof.bound("D", of="distance", name="start")
    raw = replace(found, steps=tuple(proof.steps))
    return solved(raw, theorem, "printed")  # type: ignore[return-value]


def unshifted(rule: Weighted, shown: Signomial, of: Callable[[str], Scalar]) -> Scalar:
    """The kernel with a hole: the weight of the next step is that of this one."""
    at = clock() if shown == clock() + 1 else shown
    found = Scalar(())
    for name, weight in rule.weights:
        found = found + weight.substitute(CLOCK, at) * of(name)
    return found


def test_a_weight_that_does_not_grow_proves_nothing_and_each_lock_sees_it(few_families: None):
    """Planted: the same bound for every a, however small. With the weight of step t at both ends of a step it would follow."""
    false = rewritten(DECLINING, {"numerator": ""})
    with pytest.raises(ProofError, match="does not say that"):
        still(false)
    with patch.object(Weighted, "_sum", unshifted):
        attack = still(false)
        assert check(attack, false, "printed").accepted
        found = instances_of(attack, false)
    assert any("weighted, all steps" in line or "statement" in line for line in found.failed)


def test_a_potential_of_two_quantities():
    """Gradient descent on a convex function: 2 eta t (F - F_*) + ||x - x_*||^2 does not grow."""
    statement = GD_CONVEX.statement("printed")
    (term,) = statement.terms
    for factor in (read_formula("1/2", {}), read_formula("99/100", {})):
        sharper = with_statement(GD_CONVEX, replace(statement, terms=(replace(term, expr=factor * term.expr),)))
        assert not check(plan(GD_CONVEX), sharper, "printed").accepted
    (own,) = (step.rule for step in plan(GD_CONVEX).steps if step.name == SUMMED)
    for wrong in (clock(), clock() - 1, 2 * S.eta * clock()):
        other = with_rule(plan(GD_CONVEX), SUMMED, weights=(("gap", wrong), own.weights[1]))
        refused(GD_CONVEX, other, "does not say that")


def test_what_is_added_at_each_step_has_a_sum():
    added = (1 + 1 / clock()) ** 2 * S.a**2 * S.sigma**2 / (S.N * S.b)
    claimed = GROWN * quantity("distance", 1) <= NOW * quantity("distance") + added
    with pytest.raises(ProofError, match=r"no constant of the statement is the sum of \(t \+ offset\)\^\(-2\)"):
        with_weight_of(DECLINING, claimed, GROWN)
    rising = GROWN * quantity("distance", 1) <= NOW * quantity("distance") + NOISE * clock() / S.t0
    with pytest.raises(ProofError, match="depends on the step by more than negative powers"):
        with_weight_of(DECLINING, rising, GROWN)


def test_a_weighted_statement_holds_at_every_step():
    found = plan()
    at = [step.name for step in found.steps].index("weighted, all steps")
    first = Step("first", replace(found.steps[at].rule, step="step"))
    refused(DECLINING, replace(found, steps=(*found.steps[:at], first)), "wanted an inequality")


def test_the_code_of_the_method_has_the_step_size_of_the_derivation(one_family: None):
    """A derivation about steps a/(t + 2 t0) is one about another method."""
    found = plan()
    other = replace(found, offset=2 * S.t0)
    refused(DECLINING, other, "the derivation has the clock")
    with patch.object(kernel_derivation, "accept_schedules", lambda *_: None):
        codes = instances_of(other, DECLINING)
    assert any("as declared" in line for line in codes.failed), codes


def test_a_run_shows_the_clock_of_each_step():
    progress = begin(plan(), DECLINING, "printed")
    run = instance(next(s for s in STYLES if s.name == "rounds"), progress)
    offset = run.number(S.t0)
    assert [run.number(clock(), t) - offset for t in range(3)] == [0, 1, 2]
    gradient = progress.derivation.setting.variable("x").equations[0][1]
    moved = [run(gradient, t)[0] - run(Var("x"), t)[0] for t in range(2)]
    assert all(any(x for x in step.reshape(-1)) for step in moved)


def test_the_conclusion_is_nearly_attained():
    """A bound that is far from every instance would hide a false factor."""
    progress = checked(plan().steps)
    runs = {style: instance(style, progress) for style in STYLES if style.name == "descent"}
    found = examine(progress, runs, {"conclusion": conclusion(progress)})
    assert not found.failed


# --- sums of negative powers ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", ["1/(t + 2*t0)", "1/(t + t0)**2"])
@pytest.mark.parametrize("total", ["", "sum(t, 0, T - 1, 1/(t + 2*t0))"])
def test_other_weights_are_refused(weights: str, total: str):
    """With the sum of the true weights, or with another one."""
    other = weighing(rewritten(SGD, {"W": total} if total else {}), weights)
    refused(other, plan(SGD), "")


def test_a_sum_is_read_with_its_first_number_its_length_and_its_power():
    reader = Reader(SGD, SGD.statement("printed"))
    assert reader.sums[reader.params["W"]] == (reader.t0, reader.T, -1)
    assert reader.sums[reader.params["Q"]] == (reader.t0, reader.T, -2)
    state = begin(plan(SGD), SGD, "printed").state
    point = {reader.params[name]: Fraction(value) for name, value in {"t0": 2, "T": 3, "a": 1, "L_bar": 1}.items()}
    found = state.region.constants_at(point)
    assert found[reader.params["W"]] == Fraction(1, 2) + Fraction(1, 3) + Fraction(1, 4)
    assert found[reader.params["Q"]] == Fraction(1, 4) + Fraction(1, 9) + Fraction(1, 16)


@pytest.mark.parametrize("formula", ["sum(t, 0, T - 1, 1/sqrt(t + t0))", "sum(t, 0, T - 2, 1/(t + t0))"])
def test_a_sum_that_may_be_empty_or_has_roots_is_not_read(formula: str):
    other = rewritten(SGD, {"Q": formula})
    with pytest.raises(ProofError, match="Q: wanted a sum of negative whole powers"):
        Reader(other, other.statement("printed"))


# --- from step 1 on ---------------------------------------------------------------------------------------------------


def test_what_holds_at_later_steps_is_summed_from_there_only():
    for start, why in ((0, "does not hold at every step"), (2, "of a sum is 0 or 1"), (-1, "of a sum is 0 or 1")):
        refused(SCGD, with_rule(plan(SCGD), "potential, all steps", start=start), why)


def test_summed_from_step_1_it_lacks_what_step_0_adds():
    progress = checked_steps(plan(SCGD), SCGD, "printed")
    found, s = progress.state.facts["potential, all steps"].table, Reader(SCGD, SCGD.statement("printed"))
    assert found[At("gradient")] == -s.a / (2 * s.t0) and found[Total("gradient", power=-1)] == s.a / 2
    assert found[At("F", offset=1)] == -1 * s.a**0 and At("F") not in found
    noise = s.L_F * s.a**2 * s.C_f**2 * s.C_g**2 / (2 * s.N)
    shared = {m: c for m, c in (-found[One()]).terms if any(p.name == "L_F" for p, _ in m)}
    assert Signomial(shared) == noise * (s.Q - s.t0**-2)


def test_at_the_start_the_clock_shows_the_offset():
    state = checked_steps(plan(SGD), SGD, "printed")
    found = state.after(Step("at 0", AtStart("descent"))).state.facts["at 0"]
    assert CLOCK not in {p for _, c in found.form for p in c.params}
    with pytest.raises(ProofError, match="step itself"):
        state.after(Step("at T", AtStart("descent", end=True)))


# --- vectors with the clock -------------------------------------------------------------------------------------------


def test_in_vectors_stands_the_clock_and_no_position():
    for step in plan(SCGD).steps:
        if step.name.startswith("C_f of df") and CLOCK in _moving(step.rule):
            break
    else:
        raise AssertionError("no instance of an assumption has the clock in it")
    placed = replace(step, name="placed", rule=_put(step.rule, clock(), clock() + POSITION.number))
    steps = (*plan(SCGD).steps, placed)
    refused(SCGD, replace(plan(SCGD), steps=steps), "not for statements about the position")


def _moving(rule):
    return {p for p in params_in(rule) if p.moving}


def _put(rule, old, new):
    """An instance with twice the clock's power in front of its vectors."""
    terms = tuple(new * old**-1 * term for term in rule.terms)
    return replace(rule, terms=terms)


def test_the_written_proof_has_the_power_of_the_clock():
    found = CliRunner().invoke(app, ["prove", "library.sgd_declining", "--rules-only", "--latex"])
    assert r"\sum_{t=0}^{T-1} \left(t_0 + t\right)^{-1} \mathcal{G}_{t} \le" in found.output


# --- weighted means and averaged iterates -----------------------------------------------------------------------------


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
    refused(weighing(WEIGHTED, formula), plan(WEIGHTED), why)


def test_a_multiple_of_the_weights_is_the_same_metric():
    """Both sides are multiplied by the sum of the weights, and so are the multipliers of the conclusion."""
    many = weighing(WEIGHTED, "7*(t + t0)")
    seven = replace(plan(WEIGHTED), conclusion=tuple((7 * c, name) for c, name in plan(WEIGHTED).conclusion))
    assert check(seven, many, "printed").accepted and not check(seven, WEIGHTED, "printed").accepted


def test_the_value_at_an_average_needs_a_convex_function():
    other = replace(AVERAGED, metric=with_weights(METRICS["averaged_gradient_sq"], STEP + 1, ""))
    refused(other, plan(WEIGHTED), "is not the squared gradient")
    without = tuple(item for item in AVERAGED.assumptions if item.name != "strong convexity")
    refused(replace(AVERAGED, assumptions=without), plan(WEIGHTED), "mu")


def test_the_squared_gradient_is_no_convex_function_of_the_iterate():
    refused(replace(GD, metric=METRICS["averaged_gradient_sq"]), plan(GD), "no convex function")


def test_alike_weights_conclude_a_weighted_mean_without_a_clock():
    same = replace(GD, metric=with_weights(METRICS["weighted_gradient_sq"], sp.Integer(3), "3"))
    assert not check(plan(GD), same, "printed").accepted  # both sides are times 3 T: the multipliers are others
    tripled = replace(plan(GD), conclusion=tuple((3 * c * S.T, name) for c, name in plan(GD).conclusion))
    assert check(tripled, same, "printed").accepted


def test_a_weight_is_a_sum_of_whole_powers_of_the_clock():
    assert weighted_total("gap", 1 / clock()).parts == scalar(Total("gap", power=-1)).parts
    with pytest.raises(ProofError, match="no sum of whole powers"):
        weighted_total("gap", clock() ** Fraction(1, 2))


def test_a_sum_with_weights_is_none_without_them():
    weighted = scalar(Total("gap", power=1))
    begun = begin(replace(plan(WEIGHTED), steps=()), WEIGHTED, "printed")
    with pytest.raises(ProofError, match="left over"):
        begun.after(Step("wrong", Combine(weighted, scalar(Total("gap")), ())))
    without = begin(replace(plan(CONSTANT), steps=()), CONSTANT, "printed")
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
        found = weights(reading(plan(WEIGHTED), theorem, theorem.statement("printed"), S))
        assert found == (first, S.T**0)
        assert at_clock(found, S.t0) == clock() - S.t0 + first
    assert quantity("gap") != weighted_total("gap", clock())
