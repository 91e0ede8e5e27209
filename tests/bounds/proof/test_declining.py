"""Steps a/(t + t0): sums of negative powers over the steps, what holds from step 1 on, and vectors with the clock."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
from fedco.bounds import get_theorem
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.formula import read_formula
from fedco.bounds.language.metrics import with_weights
from fedco.bounds.language.notation import STEP
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
from fedco.validation.proofs.lock import instances_of
from typer.testing import CliRunner

SGD, SCGD = get_theorem("library.sgd_declining"), get_theorem("library.scgd_declining")


@cache
def plan(theorem) -> Derivation:
    found = derivation(theorem)
    assert isinstance(found, Derivation)
    return found


def changed(theorem, constants=(), without=(), weights="", **terms: str):
    """The theorem with other formulas of its terms or derived constants, without some conditions, or with other weights."""
    statement, names = theorem.statement("printed"), {b.name: b.symbol for b in theorem.notation}
    own = names | {constant.name: constant.symbol for constant in statement.derived}
    derived = tuple(
        replace(d, expr=read_formula(dict(constants)[d.name], names)) if d.name in dict(constants) else d
        for d in statement.derived
    )
    made = tuple(replace(t, expr=read_formula(terms[t.name], own)) if t.name in terms else t for t in statement.terms)
    kept = tuple(c for c in statement.conditions if c.name not in without)
    if weights:
        other = read_formula(weights, {**names, "t": STEP})
        theorem = replace(theorem, metric=with_weights(theorem.metric, other, ""))
    return with_statement(theorem, replace(statement, terms=made, derived=derived, conditions=kept))


def broken(theorem) -> str:
    """What a false statement comes to on instances, by the proof of the true one."""
    return " ".join(instances_of(plan(get_theorem(theorem.id)), theorem).failed)


@pytest.mark.parametrize("theorem", [SGD, SCGD], ids=lambda t: t.id)
def test_it_is_accepted_and_nothing_is_idle(theorem):
    verdict = check(plan(theorem), theorem, "printed")
    assert verdict.accepted and not verdict.unused, verdict


REFUSED = {
    "a sum over fewer steps": {"constants": {"Q": "sum(t, 0, T/2 - 1, 1/(t + t0)**2)"}},
    "a sum over the clients": {"constants": {"Q": "sum(t, 0, N - 1, 1/(t + t0)**2)"}},
    "a sum from later on": {"constants": {"Q": "sum(t, 0, T - 1, 1/(t + t0 + 1)**2)"}},
    "another power": {"constants": {"Q": "sum(t, 0, T - 1, 1/(t + t0)**3)"}},
    "another sum of the weights": {"constants": {"W": "sum(t, 0, T - 1, 1/(t + t0/2))"}},
    "other weights": {"weights": "1/(t + 2*t0)"},
    "other weights with their sum": {
        "weights": "1/(t + 2*t0)",
        "constants": {"W": "sum(t, 0, T - 1, 1/(t + 2*t0))"},
    },
    "faster weights": {"weights": "1/(t + t0)**2"},
    "less of the gap": {"initialisation": "F_gap/(a*W)"},
    "any first step": {"without": ("first_step",)},
}


@pytest.mark.parametrize("name", REFUSED)
def test_another_statement_is_refused(name: str):
    other = changed(SGD, **REFUSED[name])
    assert not check(plan(SGD), other, "printed").accepted


@pytest.mark.parametrize("theorem", [SGD, SCGD], ids=lambda t: t.id)
def test_an_instance_breaks_a_false_statement(theorem, few_families):
    smaller = {term.name: f"({term.expr})/100" for term in theorem.statement("printed").terms}
    assert "statement" in broken(changed(theorem, **smaller))


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
    other = changed(SGD, constants={"Q": formula})
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
    position = Signomial([(((POSITION, 1),), 1)])
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
