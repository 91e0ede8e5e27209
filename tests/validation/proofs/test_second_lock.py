"""The second lock of `fedco prove`: what it covers, what it sees, and that each lock holds where the other one is open."""

from __future__ import annotations

import json
import runpy
import sys
from dataclasses import replace
from functools import cache

import pytest
import sympy as sp
from fedco.bounds import get_theorem
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.reading import InputError
from fedco.bounds.proof.derivations import derivation, derived_ids, verdict
from fedco.bounds.proof.kernel import (
    EVERY,
    Derivation,
    Function,
    Mean,
    Objective,
    Open,
    Quantity,
    Reader,
    Setting,
    Source,
    Step,
    Var,
    Variable,
    sq,
)
from fedco.bounds.proof.kernel.terms import App
from fedco.bounds.proof.locks import Instances, LockError, Proof, prove, tried
from fedco.validation.proofs import code
from fedco.validation.proofs.lock import code_beside, instances_of
from fedco.validation.runs.registry import codes_of
from quick import slow_but

QUICK = (
    "baselines.local_sgd",
    "meta_fl.lemma_4",
)
PLAIN = "baselines.local_sgd"


@cache
def found(name: str) -> Instances:
    theorem = get_theorem(name)
    return instances_of(derivation(theorem), theorem)


@pytest.mark.parametrize("name", slow_but(QUICK, derived_ids()))
def test_every_claim_of_every_derivation_holds(name):
    assert found(name).hold, (found(name).failed[:3], found(name).not_covered)


def test_what_is_tried():
    """Many claims on dozens of families, further draws among them, each variant of the method, and what runs measure.

    FedDRO's Algorithm 2 draws its answer from t = 1..T, and the proof sums over t = 0..T-1.
    """
    once, minimax = found(PLAIN), get_theorem("feddro.theorem_5_1")
    assert once.tried > 1000 and len(once.families) > 30 and any("seed 2" in family for family in once.families)
    covered, other, measured = code_beside(derivation(minimax), minimax).variants
    assert covered == "first_update = update: its code has the update equations"
    assert other.startswith("not about first_update = keep: x after step 0")
    assert measured == "the proof is about the models at t = 0..T-1; validate and falsify measure those at t = 1..T"
    estimated = get_theorem("meta_fl.theorem_8_HF")
    assert len(code_beside(derivation(estimated), estimated).variants) == 2
    assert not any("validate and falsify" in line for line in found(PLAIN).variants)


# --- one lock open, the other holds -----------------------------------------------------------------------------------


def scaled(name: str, factor: sp.Rational):
    """A theorem with a part of each of its terms, which is not in the registry."""
    base = get_theorem(name)
    statement = base.statement(base.default)
    return with_statement(
        base, replace(statement, terms=tuple(replace(t, expr=factor * t.expr) for t in statement.terms))
    )


def test_the_instances_hold_where_the_rules_accept_anything(few_families):
    theorem = scaled(PLAIN, sp.Rational(1, 100))
    opened = replace(verdict(derivation(get_theorem(PLAIN)), get_theorem(PLAIN)), theorem=theorem.id)
    assert opened.checked
    proof = Proof(opened, instances_of(derivation(get_theorem(PLAIN)), theorem))
    assert not proof.checked and proof.to_dict()["rules"]
    line = next(text for text in proof.instances.failed if text.startswith("statement ("))
    assert "against" in line and "NOT CHECKED" in str(proof)


def test_the_rules_hold_where_no_instance_sees_it(few_families):
    """A thousandth less than what is proved: no instance comes so near, and the kernel refuses."""
    theorem = scaled(PLAIN, sp.Rational(999, 1000))
    plan = derivation(get_theorem(PLAIN))
    proof = Proof(verdict(plan, theorem), instances_of(plan, theorem))
    assert proof.instances.tried and not proof.instances.failed
    assert not proof.verdict.accepted and not proof.checked


# --- what it sees -----------------------------------------------------------------------------------------------------


def test_another_variant_of_the_method_is_seen(one_family):
    theorem = get_theorem("feddro.theorem_5_1")
    update, keep = codes_of(theorem)
    result = instances_of(derivation(theorem), theorem, codes=(update, replace(keep, covered=True)))
    (line, *_) = result.failed
    assert line.startswith("first_update = keep: x after step 0 (period 3): the code has") and not result.hold


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        (PLAIN, Var("x", 1)),
        ("baselines.local_sgd", Var("x")),
        ("library.sgd_convex", Var("x")),
        ("library.fedavg_sampled", Mean("n", Var("x"))),
        ("library.fedavg_sampled", Var("z", 1)),
    ],
)
def test_a_metric_that_the_kernel_takes_at_another_model_is_seen(name, wrong, monkeypatch, one_family):
    """Both locks once took a metric at the server's new models from one reading; now the method's code has the model of each step."""
    theorem = get_theorem(name)
    plan = derivation(theorem)
    monkeypatch.setattr(code, "metric_points", lambda reading, axioms: (wrong,))
    lines = [line for line in instances_of(plan, theorem).failed if "the metric at step" in line]
    assert lines and "the code has" in lines[0]


def test_a_schedule_that_is_too_short_is_seen(one_family):
    name = "fcsg_m.corollary_4_5"
    plan, own = derivation(get_theorem(name)), scaled(name, sp.Rational(9, 10))
    lines = [line for line in instances_of(plan, own).failed if line.startswith("schedule of fcsg_m.theorem_4_4")]
    assert lines and "that of the corollary" in lines[0]


def test_a_theorem_without_code_is_not_covered():
    theorem = replace(get_theorem(PLAIN), method=None)
    result = code_beside(derivation(get_theorem(PLAIN)), theorem)
    assert result.not_covered == ("the code of the method: none is declared beside the update equations",)
    assert not result.failed


def test_the_method_that_a_theorem_names_is_compared():
    """A stranger's theorem declares no code beside its equations, but names its method."""
    theorem = replace(get_theorem(PLAIN), title="mine")
    plan = derivation(get_theorem(PLAIN))
    same = code_beside(plan, theorem)
    assert same.variants and not same.failed and not same.not_covered
    slower = Var("x") - Reader(theorem, theorem.statement()).eta * Mean("i", App("dF", Var("x"), (0,))) / 2
    x = replace(plan.setting.variable("x"), equations=((EVERY, slower),))
    setting = replace(plan.setting, variables=(x, *(v for v in plan.setting.variables if v.name != "x")))
    lines = code_beside(replace(plan, setting=setting, steps=()), theorem).failed
    assert any(line.startswith("as declared: x after step 0 (period 3): the code has") for line in lines)


def test_a_symbol_that_nothing_measures_is_not_covered(one_family):
    base = get_theorem(PLAIN)
    statement = base.statement(base.default)
    gamma = next(b for b in base.notation if b.name == "B_f").symbol
    theorem = with_statement(
        base, replace(statement, terms=(*statement.terms, replace(statement.terms[0], name="more", expr=gamma**2)))
    )
    assert "B_f: no family has a outer_sample_lipschitz" in instances_of(derivation(base), theorem).not_covered


def test_declarations_that_are_refused():
    """What the rules do not take is not tried on instances either, and the reason is one line."""
    theorem = get_theorem(PLAIN)
    s = Reader(theorem, theorem.statement())
    x, moved = Var("x"), Var("x") - s.eta * App("dF", Var("x"), (0,))
    exact = App("dF", Var("q"), (None,))
    setting = Setting(
        (),
        (Source("xi", (), "independence"),),
        (Function("dF", "x", "x", ("xi",)),),
        (Variable("x", "x", frozenset(), ((EVERY, moved),)), Variable("q", "x")),
        (Objective("F", "q", exact, "smoothness"),),
    )
    given = derivation(theorem)
    gradient = Quantity("gradient", sq(App("dF", x, (None,))))
    plan = Derivation(
        setting,
        (gradient,),
        {},
        (Step("open", Open("gradient")),),
        (),
        "gradient",
        "x",
        given.inside,
        "independence",
    )
    result = instances_of(plan, theorem)
    assert result.tried == 0 and result.not_covered == (
        "the declarations of the derivation: dF: wanted the role of a function of the problem, got ''",
    )


# --- the process and the answer ---------------------------------------------------------------------------------------


def test_both_locks_from_the_outside():
    said = []
    proof = prove(get_theorem(PLAIN), note=said.append)
    assert proof.checked and proof.instances == found(PLAIN) and PLAIN in said[0]
    data = json.loads(json.dumps(proof.to_dict()))
    assert data["checked"] and data["rules"] and data["instances"]["not_covered"] == []
    assert data["instances"]["tried"] == proof.instances.tried and "instances: " in str(proof)


def test_rules_only_is_never_checked():
    proof = prove(get_theorem(PLAIN), rules_only=True, note=pytest.fail)
    data = proof.to_dict()
    assert (data["checked"], data["rules"], data["instances"]) == (False, True, None)
    assert "rules only" in str(proof).splitlines()[-1]


@pytest.mark.parametrize(
    "instances",
    [Instances(0, ()), Instances(5, ("a",), not_covered=("x",)), Instances(5, ("a",), failed=("x",))],
)
def test_what_is_not_covered_or_fails_is_not_checked(instances):
    accepted = verdict(derivation(get_theorem(PLAIN)), get_theorem(PLAIN))
    assert accepted.checked and not Proof(accepted, instances).checked
    assert Proof(accepted, Instances(5, ("a",))).checked
    assert Instances.of(json.loads(json.dumps(instances.to_dict()))) == instances


def test_the_process_says_in_one_line_what_it_does_not_know(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["", "baselines.no_such_theorem", "printed"])
    with pytest.raises(SystemExit, match=r"^.*no_such_theorem.*$"):
        runpy.run_module("fedco.validation.proofs", run_name="__main__")


@pytest.mark.parametrize(
    ("writes", "said"),
    [
        ("echo one >&2; echo two >&2; exit 3", "two"),
        ("exit 3", "exit status 3"),
        ("echo '{}'", "exit status 0"),
        ("echo nothing", "exit status 0"),
    ],
)
def test_a_process_that_fails_is_one_line(tmp_path, monkeypatch, writes, said):
    process = tmp_path / "process"
    process.write_text(f"#!/bin/sh\n{writes}\n", encoding="utf-8")
    process.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(process))
    with pytest.raises(LockError) as error:
        tried("baselines.local_sgd", "printed")
    assert str(error.value) == f"baselines.local_sgd: the instances were not tried: {said}"
    assert isinstance(error.value, InputError)
