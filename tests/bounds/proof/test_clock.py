"""Step sizes and weights that depend on the step: what the kernel takes of the clock, t + offset at step t, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from unittest.mock import patch

import altered
import pytest
from altered import with_declared, with_rule
from fedco.bounds import get_theorem
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.formula import read_formula
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
from fedco.bounds.proof.kernel.derivation import Progress, begin
from fedco.bounds.proof.kernel.rules import vectors
from fedco.bounds.proof.kernel.signomial import POSITION, Signomial
from fedco.bounds.proof.solve import solved
from fedco.validation.proofs.lock import instances_of
from rewritten import rewritten

DECLINING = get_theorem("library.sgd_strongly_convex_declining")
CONSTANT = get_theorem("library.sgd_strongly_convex")
X = Var("x")
POSITION_NUMBER = POSITION.number
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


def refused(found: Derivation, why: str, theorem=DECLINING) -> None:
    altered.refused(theorem, found, why)


def checked(steps: tuple[Step, ...]) -> Progress:
    return checked_steps(replace(plan(), steps=steps), DECLINING, "printed")


def test_the_derivation_is_accepted_and_uses_all_that_it_assumes():
    verdict = check(plan(), DECLINING, "printed")
    assert verdict.accepted, verdict.failure
    assert not verdict.unused
    assert "t >= 0" in verdict.conditions


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
    refused(replace(plan(), offset=None), "does not depend on")
    constant = plan(CONSTANT)
    claim = Combine(scalar(clock()), scalar(clock()))
    refused(replace(constant, steps=(Step("c", claim),)), "no clock", CONSTANT)
    refused(replace(constant, steps=(Step("w", Weighted((("distance", clock()),), "approach")),)), "no clock", CONSTANT)


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
        refused(changed, "does not depend on")


def test_the_clock_is_at_least_its_offset_and_no_more():
    below, above = clock() - S.t0, clock() - S.t0 - 1
    for claim, holds in ((below, True), (above, False), (-1 * below, False), (S.T + S.t0 - clock(), False)):
        step = Step("c", Combine(scalar(0 * S.t0), scalar(claim)))
        verdict = check(replace(plan(), steps=(step,)), DECLINING, "printed")
        assert ("step c" not in verdict.failure) is holds, (claim, verdict.failure)


# --- weights ----------------------------------------------------------------------------------------------------------


plan()  # before any part of the kernel is another one
NOISE = (1 + 1 / S.t0) ** 2 * S.a**2 * S.sigma**2 / (S.N * S.b)
WEIGHTED = "weighted, all steps"
GROWN, NOW = (clock() + 1) ** 2, clock() ** 2


def test_the_weight_of_the_next_step_is_that_of_the_next_step():
    for weight in (GROWN, clock(), 2 * NOW, NOW + POSITION_NUMBER):
        other = with_rule(plan(), WEIGHTED, weights=(("distance", weight),))
        refused(other, "the clock" if weight == NOW + POSITION_NUMBER else "does not say that")


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


@pytest.mark.parametrize(
    "weights", [(), (("distance", NOW), ("distance", NOW)), (("nothing", NOW),), (("distance", NOW), ("gradient", NOW))]
)
def test_every_quantity_has_one_weight(weights):
    refused(with_rule(plan(), WEIGHTED, weights=weights), "wanted a weight for each")


def test_a_potential_of_two_quantities():
    """Gradient descent on a convex function: 2 eta t (F - F_*) + ||x - x_*||^2 does not grow."""
    theorem = get_theorem("library.gd_convex")
    verdict = check(plan(theorem), theorem, "printed")
    assert verdict.accepted and not verdict.unused
    statement = theorem.statement("printed")
    (term,) = statement.terms
    for factor in (read_formula("1/2", {}), read_formula("99/100", {})):
        sharper = with_statement(theorem, replace(statement, terms=(replace(term, expr=factor * term.expr),)))
        assert not check(plan(theorem), sharper, "printed").accepted
    for wrong in (clock(), clock() - 1, 2 * S.eta * clock()):
        (own,) = (step.rule for step in plan(theorem).steps if step.name == WEIGHTED)
        other = with_rule(plan(theorem), WEIGHTED, weights=(("gap", wrong), own.weights[1]))
        refused(other, "does not say that", theorem)


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
    refused(replace(found, steps=(*found.steps[:at], first)), "wanted an inequality")


def test_the_code_of_the_method_has_the_step_size_of_the_derivation(one_family: None):
    """A derivation about steps a/(t + 2 t0) is one about another method."""
    found = plan()
    other = replace(found, offset=2 * S.t0)
    refused(other, "the derivation has the clock")
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
