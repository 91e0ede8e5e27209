"""Steps a/(t + t0): sums of negative powers over the steps, what holds from step 1 on, and vectors with the clock."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
from fedco.bounds import get_theorem
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import (
    AtStart,
    Derivation,
    ProofError,
    Reader,
    Step,
    check,
    clock,
)
from fedco.bounds.proof.kernel.derivation import begin
from fedco.bounds.proof.kernel.scalars import At, One, Total
from fedco.bounds.proof.kernel.signomial import CLOCK, POSITION, Signomial, params_in
from fedco.cli import app
from rewritten import rewritten, weighing
from typer.testing import CliRunner

SGD, SCGD = get_theorem("library.sgd_declining"), get_theorem("library.scgd_declining")


@cache
def plan(theorem) -> Derivation:
    found = derivation(theorem)
    assert isinstance(found, Derivation)
    return found


@pytest.mark.parametrize("weights", ["1/(t + 2*t0)", "1/(t + t0)**2"])
@pytest.mark.parametrize("total", ["", "sum(t, 0, T - 1, 1/(t + 2*t0))"])
def test_other_weights_are_refused(weights: str, total: str):
    """With the sum of the true weights, or with another one."""
    other = weighing(rewritten(SGD, {"W": total} if total else {}), weights)
    assert not check(plan(SGD), other, "printed").accepted


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


def with_rule(theorem, name: str, **attributes) -> Derivation:
    steps = tuple(replace(s, rule=replace(s.rule, **attributes)) if s.name == name else s for s in plan(theorem).steps)
    return replace(plan(theorem), steps=steps)


def test_what_holds_at_later_steps_is_summed_from_there_only():
    verdict = check(with_rule(SCGD, "potential, all steps", start=0), SCGD, "printed")
    assert not verdict.accepted and "does not hold at every step" in verdict.failure
    for start in (2, -1):
        verdict = check(with_rule(SCGD, "potential, all steps", start=start), SCGD, "printed")
        assert "the first step of a sum is 0 or 1" in verdict.failure


def test_summed_from_step_1_it_lacks_what_step_0_adds():
    progress = begin(plan(SCGD), SCGD, "printed")
    for step in plan(SCGD).steps:
        progress = progress.after(step)
    found, s = progress.state.facts["potential, all steps"].table, Reader(SCGD, SCGD.statement("printed"))
    assert found[At("gradient")] == -s.a / (2 * s.t0) and found[Total("gradient", power=-1)] == s.a / 2
    assert found[At("F", offset=1)] == -1 * s.a**0 and At("F") not in found
    noise = s.L_F * s.a**2 * s.C_f**2 * s.C_g**2 / (2 * s.N)
    shared = {m: c for m, c in (-found[One()]).terms if any(p.name == "L_F" for p, _ in m)}
    assert Signomial(shared) == noise * (s.Q - s.t0**-2)


def test_at_the_start_the_clock_shows_the_offset():
    state = begin(plan(SGD), SGD, "printed")
    for step in plan(SGD).steps:
        state = state.after(step)
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
    position = POSITION.number
    placed = replace(step, name="placed", rule=_put(step.rule, clock(), clock() + position))
    steps = (*plan(SCGD).steps, placed)
    verdict = check(replace(plan(SCGD), steps=steps), SCGD, "printed")
    assert "not for statements about the position" in verdict.failure


def _moving(rule):
    return {p for p in params_in(rule) if p.moving}


def _put(rule, old, new):
    """An instance with twice the clock's power in front of its vectors."""
    terms = tuple(new * old**-1 * term for term in rule.terms)
    return replace(rule, terms=terms)


def test_the_written_proof_has_the_power_of_the_clock():
    found = CliRunner().invoke(app, ["prove", "library.sgd_declining", "--rules-only", "--latex"])
    assert r"\sum_{t=0}^{T-1} \left(t_0 + t\right)^{-1} \mathcal{G}_{t} \le" in found.output
