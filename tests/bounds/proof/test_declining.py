"""Steps a/(t + t0): sums of negative powers over the steps, what holds from step 1 on, and vectors with the clock."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from altered import refused, with_rule
from fedco.bounds import get_theorem
from fedco.bounds.proof.derivations import checked_steps, derivation
from fedco.bounds.proof.kernel import (
    AtStart,
    ProofError,
    Reader,
    Step,
    clock,
)
from fedco.bounds.proof.kernel.derivation import begin
from fedco.bounds.proof.kernel.scalars import At, One, Total
from fedco.bounds.proof.kernel.signomial import CLOCK, POSITION, Signomial, params_in
from fedco.cli import app
from rewritten import rewritten, weighing
from typer.testing import CliRunner

SGD, SCGD = get_theorem("library.sgd_declining"), get_theorem("library.scgd_declining")


@pytest.mark.parametrize("weights", ["1/(t + 2*t0)", "1/(t + t0)**2"])
@pytest.mark.parametrize("total", ["", "sum(t, 0, T - 1, 1/(t + 2*t0))"])
def test_other_weights_are_refused(weights: str, total: str):
    """With the sum of the true weights, or with another one."""
    other = weighing(rewritten(SGD, {"W": total} if total else {}), weights)
    refused(other, derivation(SGD), "")


def test_a_sum_is_read_with_its_first_number_its_length_and_its_power():
    reader = Reader(SGD, SGD.statement("printed"))
    assert reader.sums[reader.params["W"]] == (reader.t0, reader.T, -1)
    assert reader.sums[reader.params["Q"]] == (reader.t0, reader.T, -2)
    state = begin(derivation(SGD), SGD, "printed").state
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
        refused(SCGD, with_rule(derivation(SCGD), "potential, all steps", start=start), why)


def test_summed_from_step_1_it_lacks_what_step_0_adds():
    progress = checked_steps(derivation(SCGD), SCGD, "printed")
    found, s = progress.state.facts["potential, all steps"].table, Reader(SCGD, SCGD.statement("printed"))
    assert found[At("gradient")] == -s.a / (2 * s.t0) and found[Total("gradient", power=-1)] == s.a / 2
    assert found[At("F", offset=1)] == -1 * s.a**0 and At("F") not in found
    noise = s.L_F * s.a**2 * s.C_f**2 * s.C_g**2 / (2 * s.N)
    shared = {m: c for m, c in (-found[One()]).terms if any(p.name == "L_F" for p, _ in m)}
    assert Signomial(shared) == noise * (s.Q - s.t0**-2)


def test_at_the_start_the_clock_shows_the_offset():
    state = checked_steps(derivation(SGD), SGD, "printed")
    found = state.after(Step("at 0", AtStart("descent"))).state.facts["at 0"]
    assert CLOCK not in {p for _, c in found.form for p in c.params}
    with pytest.raises(ProofError, match="step itself"):
        state.after(Step("at T", AtStart("descent", end=True)))


# --- vectors with the clock -------------------------------------------------------------------------------------------


def test_in_vectors_stands_the_clock_and_no_position():
    for step in derivation(SCGD).steps:
        if step.name.startswith("C_f of df") and CLOCK in _moving(step.rule):
            break
    else:
        raise AssertionError("no instance of an assumption has the clock in it")
    placed = replace(step, name="placed", rule=_put(step.rule, clock(), clock() + POSITION.number))
    steps = (*derivation(SCGD).steps, placed)
    refused(SCGD, replace(derivation(SCGD), steps=steps), "not for statements about the position")


def _moving(rule):
    return {p for p in params_in(rule) if p.moving}


def _put(rule, old, new):
    """An instance with twice the clock's power in front of its vectors."""
    terms = tuple(new * old**-1 * term for term in rule.terms)
    return replace(rule, terms=terms)


def test_the_written_proof_has_the_power_of_the_clock():
    found = CliRunner().invoke(app, ["prove", "library.sgd_declining", "--rules-only", "--latex"])
    assert r"\sum_{t=0}^{T-1} \left(t_0 + t\right)^{-1} \mathcal{G}_{t} \le" in found.output
