"""Every derivation checks, says what its statement says, and a change anywhere in it is noticed; which changes are planted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from altered import refused
from fedco.bounds import get_theorem
from fedco.bounds.language import bounding
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Term
from fedco.bounds.proof.check_on_instances import STYLES, derivation_names, established, examine, instance
from fedco.bounds.proof.derivations import checked_steps, derivation, derived_ids, prove
from fedco.bounds.proof.kernel import (
    LOCAL,
    Assume,
    Combine,
    ProofError,
    Step,
    Var,
    check,
    check_each,
    parameter,
    scalar,
    signomial,
    sq,
)
from fedco.bounds.proof.kernel.rules import Rule
from fedco.bounds.proof.mutation import (
    Resumed,
    Survey,
    constant_mutants,
    mutants,
    outcome,
    statement_mutants,
    survey,
    what_is_established,
)
from fedco.bounds.registry import get_paper
from quick import slow_but
from representatives import SHORT

IDS = derived_ids()
SAMPLE = 3
"""Changes of each derivation; all of them under `slow`."""
PLAIN = "fcsg.theorem_4_1"
NOT_NEEDED = {
    "local_scgdm.theorem_3_4": {"step_scale"},
    "comfedl.theorem_1": {"whole_rounds"},  # it says what the metric means
    "comfedl.theorem_2": {"whole_rounds"},
}
"""Conditions of a statement that its derivation does not need; `fedco prove` lists them as not used."""
SHORTER = {
    "library.sgd_strongly_convex_weighted",
    "library.sgd_strongly_convex_averaged",
    "library.fedprox",
    "library.scgd_declining",
    "library.sgd_bounded_noise_probable",
}
"""Stated with t0 for t0 - 1 and T + t0 for T + 2 t0 - 1, with 2 gamma for (2 - 1/p) gamma, with 2 for 2 (1 - L_bar eta), or with a sum over
all steps in the place of one from step 1 on, which is shorter, and more than the derivation delivers."""


def unchecked(name):
    """The lemmas that a derivation takes as true without a derivation of their own, as the paper declares them."""
    return get_paper(name.partition(".")[0]).unchecked(name)


@pytest.mark.parametrize("name", IDS)
def test_every_derivation_checks_and_says_on_what_it_rests(name):
    """Every step and every condition is used, every term is reached, and no more is delivered than is stated."""
    found, statement = prove(get_theorem(name)), get_theorem(name).statement()
    assert found.accepted, found.failure
    assert tuple(text.partition(" ")[0] for text in found.given) == unchecked(name)
    assert found.checked == (not found.given) == found.to_dict()["checked"]
    assert not [text for text in found.unused if text.startswith("step ")]
    assert not set(found.conditions) & set(found.unused)
    assert not (name.startswith("library.") and found.unused), "nothing is assumed in vain"
    assert {c.name for c in statement.conditions} - set(found.conditions) == NOT_NEEDED.get(name, set())
    more = [text for text in found.dropped if "conclusion: " in text and text.endswith(" 1")]
    assert bool(more) == (name in SHORTER)
    if found.rests_on.keys() > {"method"}:
        assert set(found.rests_on) == {"metric", "horizon", "period", "method"}
        places = (bounding.LAST_MODEL, *bounding.POINTS.values())
        assert any(words in found.rests_on["metric"] for words in places)
    assert found.formal and all(text in str(found) for text in found.formal)


@pytest.mark.parametrize("name", slow_but(SHORT, IDS))
def test_a_sample_of_changes_is_noticed(name):
    found = survey(get_theorem(name), SAMPLE)
    assert found.tried == SAMPLE and set(found.survivors) <= set(SLACK.get(name, ())), str(found)


GIVEN_MORE = {
    "baselines.scgd": (
        ".axioms[C_f of df 2].given.entries[1][1]",
        ".axioms[C_g of dg 2].given.entries[0][1]",
        *(f".steps[{i}].rule.given.entries[{j}][1]" for i in (17, 30) for j in (0, 1)),
    ),
    "local_scgdm.theorem_3_4": tuple(
        f"{case}.axioms[{axiom}].given.entries[{i}][1]"
        for case in "AB"
        for axiom, i in (
            ("C_f of df 2", 0),
            ("C_g of dg 2", 1),
            ("sigma_f of df", 0),
            ("sigma_g of dg", 0),
            ("sigma_g of dg", 1),
        )
    ),
}
_CLIENTS_DRAWN = (".steps[45].rule.term.known.entries[0][1]", ".steps[53].rule.term.parts[0][1].known.entries[0][1]")
SLACK = GIVEN_MORE | {f"comfedl.theorem_{i}": _CLIENTS_DRAWN for i in (1, 2)}
_ANOTHER_STEP = (".steps[23].rule.terms[0].vector.parts[2][1].samples[0]",)
SLACK |= {f"meta_fl.theorem_8{method}": _ANOTHER_STEP for method in ("", "_FO", "_HF")}
SLACK["library.fedavg_sampled"] = (".steps[15].rule.terms[0].vector.parts[1][1].term.samples[0]",)
SLACK["meta_fl.lemma_11"] = (".steps[28].rule.given.entries[0][1]",)
SLACK["meta_fl.lemma_6"] = tuple(
    f".axioms[sigma_H of ddf].{place}" for place in ("given.entries[0][1]", "given.entries[2][1]")
)
"""Changes that survive, because what they say is true as well.

A second moment, a variance or an expectation is taken given samples that the vector is independent of: those of the other source
at the same step or of the next step, or without those of the step before. For ComFedL: the mean over a fresh draw of clients is taken given
more draws, or one draw less, at a point that does not depend on them. For meta FL the error of the estimates, and for FedAvg the gradients
of a batch, are taken at another step where the mean over a set of clients is only used given the past: samples of all steps have one law.
The variance of a Hessian is taken given one step more or one less of the path, and the second moment of the Hessian-free estimate is
bounded given one step more of the path (test_differences.py evaluates it too)."""


@pytest.mark.slow
@pytest.mark.parametrize("name", IDS)
def test_every_change_is_noticed(name):
    found = survey(get_theorem(name))
    print(found)
    assert found.tried == found.of and found.share >= Fraction(99, 100), str(found)
    assert set(found.survivors) == set(SLACK.get(name, ())), str(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in derivation_names() if name.partition(" ")[0] in SLACK])
def test_what_survives_is_true(name):
    """The steps that such a change makes different hold on exact instances."""
    before = established(name)
    theorem, case = name.partition(" ")[::2]
    styles = [style for style in STYLES if style.name in ("straight, small", "bent apart", "bent with noise")]
    tried = set()
    for mutant in mutants(before.derivation):
        if case + mutant.where not in SLACK[theorem]:
            continue
        try:
            changed = checked_steps(mutant.value, before.theorem, before.label)
        except ProofError:
            continue  # the change the other way is refused
        facts = {step: f for step, f in changed.state.facts.items() if f != before.state.facts[step]}
        found = examine(changed, {style: instance(style, changed) for style in styles}, facts)
        assert not found.failed and (found.compared or not facts), f"{mutant.where}: {found}"
        tried.add(case + mutant.where)
    assert tried == {place for place in SLACK[theorem] if place.startswith(case)}


def test_a_proof_as_text_has_every_line_with_what_it_comes_from():
    found = prove(get_theorem(PLAIN))
    text = str(found)
    for line in found.lines:
        reasons = f", from {', '.join(line.uses)}" if line.uses else ""
        assert f". {line.name}: {line.claim}\n     {line.rule}{reasons}" in text
    assert all(f"not used: {name}" in text for name in found.unused) and text.endswith(f"{len(found.lines)} steps")
    assert str(replace(found, accepted=False, failure="step 3")).endswith("NOT CHECKED: step 3")
    assert str(replace(found, given=("lemma",))).endswith(f"checked given lemma: {len(found.lines)} steps")


def test_outcomes():
    """A smaller term is refused, a larger one is reported as left out, and the same derivation says the same."""
    theorem, plan = get_theorem(PLAIN), derivation(get_theorem(PLAIN))
    before = prove(theorem)

    def changed(factor):
        terms = tuple(Term(t.name, t.expr * (factor if t.name == "drift" else 1)) for t in theorem.statement().terms)
        return with_statement(theorem, replace(theorem.statement(), terms=terms))

    assert outcome(plan, changed(Fraction(1, 2)), "corrected", before) == "refused"
    assert outcome(plan, changed(2), "corrected", before) == "reported"
    assert outcome(plan, theorem, "corrected", before) == "same"


# --- the changes that are planted, and the shortcut of a survey ---------------------------------------------------------

A, B = parameter("a"), parameter("b")


def listed(value):
    return [(m.where, m.value) for m in mutants(value)]


def test_changes_of_numbers():
    number = 3 * A**2 * B - 5
    everything = [v for _, v in listed(number)]
    one, other = 3 * A**2 * B, signomial(5)
    assert set(everything) == {
        *(factor * one - other for factor in (2, Fraction(1, 2), -1)),
        *(one - factor * other for factor in (2, Fraction(1, 2), -1)),
        one * A - other,
        one * B - other,
    }
    assert len(everything) == 8 and [w for w, _ in listed(one)][-2:] == [": exponent of a", ": exponent of b"]
    assert signomial(1) in [v for _, v in listed(1 / A)]
    smaller = (A**2).least(B)
    changed = [v for _, v in listed(smaller)]
    assert (2 * A**2).least(B) in changed and (A**2).least(B / 2) in changed and (A**3).least(B) in changed
    assert not [v for v in changed if v == smaller]


def test_changes_of_everything_else():
    assert listed(True) == [("", False)] and listed(7) == [("", 8), ("", 6)]
    assert listed((1, False)) == [("[0]", (2, False)), ("[0]", (0, False)), ("[1]", (1, True))]
    assert listed({"x": 1}) == [("[x]", {"x": 2}), ("[x]", {"x": 0})]
    assert listed("text") == [] and listed(None) == [] and listed(LOCAL) == []
    step = Step("s", Combine(scalar(0), 2 * sq(Var("x"))), "why")
    found = dict(listed(step))
    assert Step("s", Combine(scalar(0), 4 * sq(Var("x"))), "why") in found.values()
    assert Step("s", Combine(scalar(0), 2 * sq(Var("x")), equal=True), "why") in found.values()
    assert all(each.name == "s" and each.why == "why" for each in found.values())
    assert listed(Assume("a", (Var("x", 3),))) == [], "a shift that only renames the step is left alone"


def test_changes_of_a_statement():
    """Of each term and condition, once: doubled, halved, negated, with one symbol more or less; a condition is also left out."""
    statement = get_theorem(PLAIN).statement("corrected")
    found = {m.where: m.value for m in statement_mutants(statement)}
    symbols = {term.name: len(term.expr.free_symbols) for term in statement.terms}
    sizes = {c.name: len(c.right.free_symbols) for c in statement.conditions}
    assert len(found) == sum(3 + 2 * n for n in symbols.values()) + sum(4 + 2 * n for n in sizes.values())
    for changed in found.values():
        parts = [set(getattr(changed, name)) ^ set(getattr(statement, name)) for name in ("terms", "conditions")]
        assert len({each.name for part in parts for each in part}) == 1 and sum(map(len, parts)) <= 2
    first, *_ = statement.terms
    assert found[f"term {first.name}: halved"].term(first.name).expr == first.expr / 2
    steps = next(symbol for symbol in first.expr.free_symbols if str(symbol) == "T")
    assert found[f"term {first.name}: divided by T"].term(first.name).expr == first.expr / steps


def test_changes_of_a_constant():
    """Also of what stands inside its formula: every exponent, and every term and factor that may be left out."""
    statement = get_theorem("meta_fl.lemma_5").statement()
    found = [m.value for m in constant_mutants(statement)]
    assert len(found) > 10
    for changed in found:
        both = zip(changed.derived, statement.derived, strict=True)
        assert sum(one.expr != other.expr for one, other in both) == 1


def test_a_change_is_checked_from_where_it_was_made_as_it_is_from_the_start():
    theorem = get_theorem(PLAIN)
    plan = derivation(theorem)
    known, rng = Resumed(plan, theorem, "corrected"), Random(1)
    assert known.accepted == check(plan, theorem)
    steps = rng.sample([m.value for m in mutants(plan) if m.where.startswith(".steps")], 4)
    declared = rng.sample([m.value for m in mutants(plan) if m.where.startswith(".axioms")], 1)
    for changed in (*steps, *declared, replace(plan, steps=plan.steps[:-1]), plan):
        assert known.verdict(changed, theorem) == check(changed, theorem)
    for mutant in rng.sample([*statement_mutants(theorem.statement("corrected"))], 3):
        about = with_statement(theorem, mutant.value)
        assert known.verdict(plan, about) == check(plan, about)


def test_a_step_that_says_the_same_needs_no_other_check():
    """What later steps see of the step that was just checked decides."""
    theorem = get_theorem(PLAIN)
    plan = derivation(theorem)
    known = Resumed(plan, theorem, "corrected")
    for at, step in enumerate(plan.steps):
        progress = known.before[at + 1]
        fact, name, *_, used, dropped, exact = what_is_established(progress)
        assert (fact, name) == (progress.state.facts[step.name], step.name)
        assert (used, dropped, exact) == (progress.state.used, progress.state.dropped, progress.state.exact)
    for at in Random(2).sample(range(len(plan.steps)), 2):
        copied = replace(plan, steps=(*plan.steps[:at], replace(plan.steps[at]), *plan.steps[at + 1 :]))
        assert known.verdict(copied, theorem) is known.accepted


def test_what_a_survey_says():
    found = Survey("t", 10, {"refused": 3, "same": 0, "survived": 1}, ("here",))
    assert (found.tried, found.share) == (4, Fraction(3, 4))
    assert str(found) == "t: 4 of 10 changes tried: 3 refused, 0 same, 1 survived; noticed 75.00%\n  survived: here"
    assert Survey("t", 0, {}, ()).share == 1
    with pytest.raises(InputError, match="no derivation of the corrected statement"):
        survey(get_theorem("fcsg.lemma_b_1"))


# --- what a derivation may not do -------------------------------------------------------------------------------------


class Wish(Rule):
    def apply(self, state):
        return Combine(sq(Var("x")), sq(Var("x"))).apply(state)


PLAN = derivation(get_theorem(PLAIN))
REFUSED = {
    "is no rule": {"steps": (Step("wish", Wish()), *PLAN.steps)},
    "not in the theorem's list": {"time": "wished for"},
    "is not the value of the objective at": {"model": "u"},
    "not allowed": {"inside": {**PLAN.inside, "q": Fraction(1, 2)}},
    "no such step before": {"steps": PLAN.steps[::-1]},
    "of this name already": {"steps": (*PLAN.steps, PLAN.steps[0])},
    "a quantity is declared twice": {"quantities": (*PLAN.quantities, PLAN.quantities[0])},
}
"""What its axioms, its metric and what it knows of the samples may not be: test_readings.py."""


@pytest.mark.parametrize("why", REFUSED)
def test_what_a_derivation_may_not_do(why):
    refused(get_theorem(PLAIN), replace(PLAN, **REFUSED[why]), why)


# --- a statement under one of several assumptions -----------------------------------------------------------------------


def cases():
    theorem = get_theorem("local_scgdm.theorem_3_4")
    return theorem, derivation(theorem)


def test_every_case_is_checked():
    theorem, plan = cases()
    found = prove(theorem)
    assert found.checked and {line.name.partition(": ")[0] for line in found.lines} == {"A", "B"}
    for i, (name, case) in enumerate(plan.cases):
        broken = replace(case, steps=case.steps[:-1])
        changed = replace(plan, cases=(*plan.cases[:i], (name, broken), *plan.cases[i + 1 :]))
        verdict = check_each(changed, theorem, "corrected")
        assert not verdict.checked and verdict.failure.startswith(f"{name}: ") and "errors" in verdict.failure


def test_what_the_cases_rest_on_together():
    """Assumptions in the order of the theorem, conditions of every case, and loose only what no case needs exactly."""
    theorem, plan = cases()
    found, each = prove(theorem), [check(case, theorem) for _, case in plan.cases]
    assert set(found.conditions) == {name for one in each for name in one.conditions}
    assert set(found.unused) == {n for one in each for n in one.unused} - {*found.conditions, *found.assumptions}
    exact = {name for one in each for name in set(one.conditions) - set(one.loose)}
    assert set(found.loose) == set(found.conditions) - exact
    used = {plan.assumption, *(name for one in each for name in one.assumptions)}
    assert found.assumptions == tuple(item.name for item in theorem.assumptions if item.name in used)
    assert found.dropped == tuple(
        f"{c}: {text}" for (c, _), one in zip(plan.cases, each, strict=True) for text in one.dropped
    )


def test_the_alternatives_are_an_assumption_of_the_theorem():
    theorem, plan = cases()
    found = check_each(replace(plan, assumption="wished for"), theorem, "corrected")
    assert not found.checked and "'wished for' is not in the theorem's list" in found.failure
    assert "not stated: clients" in prove(theorem).assumptions
    with pytest.raises(ProofError, match="two or more cases"):
        replace(plan, cases=plan.cases[:1])
    with pytest.raises(ProofError, match="different names"):
        replace(plan, cases=(plan.cases[0], plan.cases[0]))


def test_line_13_with_inner_maps_that_differ_is_refused():
    """The error of the printed theorem: the mean inner estimate has no mean function to follow."""
    theorem, plan = cases()
    shared, free = (case for _, case in plan.cases)
    with pytest.raises(ProofError, match="no assumption says that its mean is the same"):
        functions = tuple(replace(f, equal="") for f in shared.setting.functions)
        replace(shared.setting, functions=functions)
    mixed = replace(shared.setting, functions=free.setting.functions)
    for case in (shared, free):
        assert not check(replace(case, setting=mixed), theorem).checked
