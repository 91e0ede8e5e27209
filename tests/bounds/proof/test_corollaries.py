"""The rule for corollaries accepts what follows and refuses a wrong instance in each way in which it can be wrong; lemmas taken as true."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from altered import refused as refused_by_kernel
from altered import with_stated
from fedco.bounds import get_theorem
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.theorem import Assumption, Condition, Metric, Term
from fedco.bounds.proof import derivations
from fedco.bounds.proof.derivations import derivation, prove
from fedco.bounds.proof.kernel import Verdict, check, follow, signomial
from quick import slow_but

NAME = "fcsg_m.corollary_4_5"
THEOREM = get_theorem(NAME)
PLAN = derivation(THEOREM)
STATEMENT = THEOREM.statement("corrected")
PREMISE = prove(PLAN.theorem)


def verdict(plan=PLAN, theorem=THEOREM, premise=PREMISE):
    return follow(plan, theorem, "corrected", premise)


def refused(message, **given):
    found = verdict(**given)
    assert not found.checked and message in found.failure, found.failure


def stated(**changes):
    return with_statement(THEOREM, replace(STATEMENT, **changes))


def conditions(**changed):
    """The statement with other right sides; None drops the condition."""
    kept = [c for c in STATEMENT.conditions if changed.get(c.name, c) is not None]
    return stated(conditions=tuple(replace(c, right=changed.get(c.name, c.right)) for c in kept))


def test_it_follows():
    found = verdict()
    assert found.checked, found.failure
    assert found.assumptions == PREMISE.assumptions
    assert {line.name for line in found.lines} >= {"beta_choice", "condition direction", "term drift"}


def test_the_theorem_must_be_proved():
    refused("is not proved: no steps", premise=Verdict(PLAN.theorem.id, "corrected", False, (), failure="no steps"))
    refused("the premise is not", premise=prove(get_theorem("fcsg.theorem_4_1")))
    refused("the premise is not", premise=replace(PREMISE, statement="printed"))


def test_a_theorem_without_a_derivation_is_no_premise():
    """The printed theorem has none, and neither has a lemma that a derivation takes as true."""
    found = derivations.verdict(replace(PLAN, label="printed"), THEOREM)
    assert not found.checked and found.failure
    parent = derivations.premise_of(PLAN.theorem, "printed")
    assert not parent.accepted and "no derivation that the kernel checks" in parent.failure
    assert derivations.premise_of(PLAN.theorem, "corrected").accepted
    doubtful = tuple(replace(lemma, label="printed") for lemma in RESTING.lemmas)
    accepted = check(RESTING, MAIN)
    assert len(accepted.given) == 3 and not derivations.with_lemmas(RESTING, MAIN, accepted).given
    given = tuple(f"{lemma.theorem.id} printed" for lemma in doubtful)
    left = derivations.with_lemmas(replace(RESTING, lemmas=doubtful), MAIN, replace(accepted, given=given))
    assert left.given == tuple(g for g in given if "lemma_4" not in g) and not left.checked, (
        "Lemma 4 is checked as printed"
    )


def test_every_term_is_at_least_that_of_the_theorem():
    for term in STATEMENT.terms:
        smaller = tuple(Term(t.name, t.expr * (Fraction(99, 100) if t is term else 1)) for t in STATEMENT.terms)
        refused(f"term {term.name}", theorem=stated(terms=smaller))
    refused("other terms", theorem=stated(terms=STATEMENT.terms[:-1]))
    renamed = (*STATEMENT.terms[:-1], replace(STATEMENT.terms[-1], name="renamed"))
    assert verdict(theorem=stated(terms=renamed)).checked, "terms that only one side has are compared together"
    refused("has no terms", theorem=stated(terms=()))


def test_the_conditions_of_the_theorem_follow():
    table = {c.name: c.right for c in STATEMENT.conditions}
    refused(
        "condition momentum_range",
        theorem=conditions(beta_choice=2 * table["beta_choice"], horizon=None),
        plan=replace(PLAN, powers=()),
    )
    refused("condition direction", theorem=conditions(alpha_choice=2 * table["alpha_choice"]))
    refused("term drift", theorem=conditions(q_choice=2 * table["q_choice"]))


@pytest.mark.parametrize("name", slow_but((NAME,), ("fcsg.corollary_4_2", NAME, "local_scgdm.corollary_3_5")))
def test_rounds_may_be_shorter_than_the_schedule_and_not_longer(name):
    """`<=` for the printed `==`: twice the schedule's rounds are refused, and so is any number of steps in a round."""
    theorem = get_theorem(name)
    own, statement = derivation(theorem), theorem.statement("corrected")
    premise = prove(own.theorem)
    (rounds,) = (c for c in statement.conditions if c.name in ("q_choice", "p_choice"))
    assert rounds.relation == "<=" and theorem.statement("printed").condition(rounds.name).relation == "=="
    assert follow(own, theorem, "corrected", premise).checked
    for change in ([replace(rounds, right=2 * rounds.right)], []):
        others = [c for c in statement.conditions if c is not rounds]
        changed = with_statement(theorem, replace(statement, conditions=(*others, *change)))
        assert not follow(replace(own, powers=own.powers[:1]), changed, "corrected", premise).checked
        assert not follow(own, changed, "corrected", premise).checked


def test_a_symbol_is_fixed_once_and_not_by_itself():
    alpha = STATEMENT.condition("alpha_choice")
    refused("its own formula", theorem=conditions(alpha_choice=alpha.left * alpha.right))
    twice = stated(conditions=(*STATEMENT.conditions, replace(alpha, name="again", right=2 * alpha.right)))
    refused("the point inside violates again", theorem=twice)
    smoothness = next(b.symbol for b in THEOREM.notation if b.name == "L_f")
    fixed = stated(conditions=(*STATEMENT.conditions, Condition("unit", smoothness, "==", alpha.right**0)))
    refused("that of a constant", theorem=fixed)


def test_the_constants_are_those_of_the_theorem():
    (smooth,) = STATEMENT.derived
    refused("the constant S_F is not that", theorem=stated(derived=(replace(smooth, expr=2 * smooth.expr),)))


def test_a_constant_that_only_the_theorem_names():
    """c = 30 S_F^2/(b N) is not a symbol of the corollary; its formula stays that of the theorem."""
    theorem = get_theorem("acc_fcsg_m.corollary_4_8")
    own, statement = derivation(theorem), theorem.statement("corrected")
    premise = prove(own.theorem)
    assert "c" not in {d.name for d in statement.derived} and follow(own, theorem, "corrected", premise).checked
    (alpha,) = (c for c in statement.conditions if c.name == "alpha_choice")
    batch = next(b.symbol for b in theorem.notation if b.name == "b")
    fixed = Condition("unit", batch, "==", alpha.right**0)
    changed = with_statement(theorem, replace(statement, conditions=(fixed, *statement.conditions)))
    assert "that of a constant" in follow(own, changed, "corrected", premise).failure
    larger = Condition("beta_choice", statement.condition("beta_choice").left, "==", alpha.right**2)
    others = tuple(larger if c.name == "beta_choice" else c for c in statement.conditions)
    found = follow(own, with_statement(theorem, replace(statement, conditions=others)), "corrected", premise)
    assert not found.checked and "momentum_choice" in found.failure


def test_the_subject_is_that_of_the_theorem():
    other = Metric("another", "m", THEOREM.metric.dimension)
    refused("another metric", theorem=replace(THEOREM, metric=other))
    refused("another metric", theorem=replace(THEOREM, average="after"))
    refused("other problems", theorem=replace(THEOREM, problem="federated"))
    refused("which the corollary does not list", theorem=replace(THEOREM, assumptions=THEOREM.assumptions[1:]))
    stronger = replace(PLAN.theorem, assumptions=(*PLAN.theorem.assumptions, Assumption("more", "something else")))
    refused("'more', which the corollary", plan=replace(PLAN, theorem=stronger))
    narrower = with_statement(PLAN.theorem, replace(PLAN.theorem.statement("corrected"), assume=("no_extra_term",)))
    refused("assumes more of a problem", plan=replace(PLAN, theorem=narrower))


def test_the_region_is_not_empty():
    refused("violates q_choice", plan=replace(PLAN, inside={**PLAN.inside, "N": Fraction(16)}))
    theorem = get_theorem("acc_fcsg_m.corollary_4_8")
    own = derivation(theorem)
    half = replace(own, inside={**own.inside, "N": Fraction(8)})
    found = follow(half, theorem, "corrected", prove(own.theorem))
    assert "B = 1/2 is not allowed" in found.failure
    refused("is not rational", plan=replace(PLAN, inside={**PLAN.inside, "T": Fraction(17)}))
    refused("L_f = -1 is not allowed", plan=replace(PLAN, inside={**PLAN.inside, "L_f": Fraction(-1)}))


def test_a_power_of_a_condition():
    refused("between single terms", plan=replace(PLAN, powers=(("no such condition", Fraction(1, 2)),)))
    refused("positive exponent", plan=replace(PLAN, powers=(("horizon", Fraction(-1, 2)),)))
    two_terms = conditions(horizon=STATEMENT.condition("horizon").right + STATEMENT.condition("beta_choice").right)
    refused("between single terms", theorem=two_terms)


def test_a_certificate_is_re_checked():
    refused("condition direction", plan=replace(PLAN, certificates={"condition direction": ()}))
    too_much = ((signomial(10), ("horizon^1/2",)),)
    refused("condition direction", plan=replace(PLAN, certificates={"condition direction": too_much}))
    negative = ((signomial(-1), ("horizon^1/2",)),)
    refused("condition direction", plan=replace(PLAN, certificates={"condition direction": negative}))


# --- lemmas that a theorem takes as true ------------------------------------------------------------------------------

MAIN = get_theorem("meta_fl.theorem_8")
RESTING = derivation(MAIN)


def resting_is_refused(message, **changes):
    found = check(replace(RESTING, **changes), MAIN)
    assert not found.accepted and not found.checked and message in found.failure, found.failure


def test_a_lemma_must_be_about_the_same_constants():
    smooth, estimate, similar = RESTING.lemmas
    for i, lemma in enumerate(RESTING.lemmas):
        said = lemma.theorem.statement(lemma.label)
        doubled = tuple(replace(d, expr=2 * d.expr) for d in said.derived)
        other = replace(lemma, theorem=with_statement(lemma.theorem, replace(said, derived=doubled)))
        lemmas = (*RESTING.lemmas[:i], other, *RESTING.lemmas[i + 1 :])
        resting_is_refused(f"the constant {lemma.constants[0]} is not that", lemmas=lemmas)
    resting_is_refused("does not rest on itself", lemmas=(*RESTING.lemmas, replace(smooth, theorem=MAIN)))
    resting_is_refused("needs steps", lemmas=(smooth, replace(estimate, label="printed"), similar))
    resting_is_refused("gamma_F: no symbol of the theorem", lemmas=(smooth, estimate))
    more = (*similar.theorem.assumptions, Assumption("wished for", "something else"))
    wishing = replace(similar, theorem=replace(similar.theorem, assumptions=more))
    resting_is_refused("assumes 'wished for', which the theorem does not list", lemmas=(smooth, estimate, wishing))
    stronger = replace(smooth.theorem, assume=(*smooth.theorem.assume, "no_extra_term"))
    resting_is_refused("assumes more of a problem", lemmas=(replace(smooth, theorem=stronger), estimate, similar))
    other = replace(similar.theorem, problem="federated")
    resting_is_refused("other problems", lemmas=(smooth, estimate, replace(similar, theorem=other)))


def test_what_is_given_is_said():
    found = check(RESTING, MAIN)
    assert found.accepted and not found.checked
    assert found.given == ("meta_fl.lemma_4 printed", "meta_fl.lemma_6 corrected", "meta_fl.lemma_7 corrected")
    data = found.to_dict()
    assert data["checked"] is False and data["accepted"] is True and data["given"] == list(found.given)
    assert "checked given meta_fl.lemma_4 printed" in str(found)
    assert any(row.startswith("gamma_F: any nonnegative number") for row in found.reading)
    assert {"3", "5"} <= set(prove(MAIN).assumptions), "what the lemmas assume"


def test_a_name_of_an_assumption_and_of_a_condition_is_refused():
    other = with_stated(MAIN, "conditions", "step_size", name="batches")
    refused_by_kernel(other, RESTING, "'batches' is the name of two of the assumptions")
