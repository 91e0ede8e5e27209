"""Convexity, growth, the distance from a minimiser, the norm of the gradient: what the kernel takes of them, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from altered import refused, with_axiom, with_declared, with_entry, with_quantity, with_rule, with_setting
from fedco.bounds import get_theorem
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.formula import read_formula
from fedco.bounds.language.metrics import METRICS, with_probability
from fedco.bounds.language.notation import derived_symbol
from fedco.bounds.language.theorem import Derived, Theorem
from fedco.bounds.language.theorem import Term as Part
from fedco.bounds.proof.check_on_instances import STYLES, examine, instance
from fedco.bounds.proof.derivations import checked_steps, derivation
from fedco.bounds.proof.kernel import (
    AboveTangents,
    App,
    Assumed,
    AtStart,
    Convexity,
    Derivation,
    Function,
    Mean,
    Minimum,
    Reader,
    Step,
    Sum,
    SumOver,
    Term,
    Var,
    check,
    sq,
    value,
)
from fedco.bounds.proof.kernel.derivation import Progress, begin
from fedco.bounds.proof.kernel.facts import inequality
from fedco.bounds.proof.kernel.terms import replaced
from fedco.bounds.proof.runs import metric_at
from fedco.validation.proofs.lock import instances_of
from rewritten import rewritten

CONVEX, GROWING, PL, LOCAL, SGD = (
    get_theorem(f"library.{name}")
    for name in ("sgd_convex", "sgd_strongly_convex", "sgd_pl", "local_sgd_convex", "sgd_probable")
)
X, AFTER, LEAST = Var("x"), Var("x", 1), App("w", Sum(()))
MODEL, MODELS = Mean("n", X), App("dF", X, (None,))
S = Reader(GROWING, GROWING.statement("printed"))
ADDED = S.eta * S.sigma**2 / (S.mu * S.N * S.b)
"""What the steps of a contraction add up to."""


def up_to(found: Derivation, theorem: Theorem, last: str) -> Progress:
    """What is established after a step of the derivation."""
    names = [step.name for step in found.steps]
    return checked_steps(replace(found, steps=found.steps[: names.index(last) + 1]), theorem, "printed")


# --- what is refused --------------------------------------------------------------------------------------------------


def tangent_at(*terms: Term):
    """The derivation with this tangent alone."""

    def change(plan: Derivation) -> Derivation:
        (tangent,) = (step.rule for step in plan.steps if step.name == "convexity")
        return replace(plan, steps=(Step("t", replace(tangent, terms=terms)),))

    return change


def axiom(name: str, other=None):
    return lambda plan: with_axiom(plan, name, other)


def three_points(*terms: Term, symbol: str = "L", entry: str = "convexity"):
    """The derivation of Local SGD on convex clients, with its step of three points at other terms."""

    def change(plan: Derivation) -> Derivation:
        plan = with_axiom(plan, "convexity: clients", AboveTangents(entry, symbol, "F"))
        return with_rule(plan, "three points", terms=terms) if terms else plan

    return change


def with_another_function(plan: Derivation) -> Derivation:
    other = Function("v", "x", "x", (), frozenset({"n"}), frozenset({"n"}), role="schedule")
    plan = with_setting(plan, functions=(*plan.setting.functions, other))
    return with_axiom(plan, "m", Minimum("minimiser", "F", "v"))


def quantity_is(name: str, meaning):
    return lambda plan: with_quantity(plan, name, meaning)


def contraction(**fields):
    return lambda plan: with_rule(plan, "contraction", **fields)


def contraction_of(name: str, rule):
    """A contraction from a statement about the run, or about one step."""

    def change(plan: Derivation) -> Derivation:
        (place,) = (place for place, step in enumerate(plan.steps) if step.name == "contraction")
        last = plan.steps[place]
        return replace(
            plan, steps=(*plan.steps[:place], Step(name, rule), replace(last, rule=replace(last.rule, step=name)))
        )

    return change


CLIENTS_ARE_CONVEX = "does not say that the objective of every client is convex"
REFUSED = {
    "a tangent at a model made from the new samples": (CONVEX, tangent_at(AFTER, LEAST), "not known before the samples"),
    "without convexity": (CONVEX, axiom("convexity: convexity"), "no such assumption"),
    "without strong convexity": (GROWING, axiom("mu of F"), "no such assumption"),
    "without growth": (PL, axiom("kappa of F"), "no such assumption"),
    "convexity by another entry": (
        CONVEX, axiom("convexity: convexity", Convexity("smoothness", "F")), "does not say that the objective is convex"
    ),
    "a minimiser by another entry": (
        CONVEX, axiom("minimiser: minimum", Minimum("smoothness", "F", "w")), "does not say that the objective is least"
    ),
    "a smoothness constant for strong convexity": (
        GROWING, axiom("mu of F", Assumed("L_bar", "F", "strong convexity constant")), "says nothing"
    ),
    "strong convexity for growth": (
        GROWING, axiom("mu of F", Assumed("mu", "F", "Polyak-Lojasiewicz constant")), "says nothing"
    ),
    "convex clients by another entry": (LOCAL, three_points(entry="smoothness"), CLIENTS_ARE_CONVEX),
    "clients with a constant that is none of smoothness": (LOCAL, three_points(symbol="sigma"), "says nothing"),
    "the smoothness of F, which may be smaller than that of the clients": (
        LOCAL, three_points(symbol="L_bar"), "says nothing of dF"
    ),
    "above at every client": (LOCAL, three_points(MODELS, X, LEAST), "depends on ['n']"),
    "below at every client": (LOCAL, three_points(MODELS, MODEL, X), "depends on ['n']"),
    "a sample of a convex function, which need not be convex": (
        LOCAL, three_points(App("dF", X, (0,)), MODEL, LEAST), "mean over the samples"
    ),
    "gradients at gradients": (
        LOCAL, three_points(App("dF", Mean("i", App("dF", X, (0,))), (None,)), X, LEAST), "depends on ['n']"
    ),
    "no gradient": (LOCAL, three_points(LEAST, MODEL, LEAST), "no value of dF"),
    "two terms": (LOCAL, three_points(MODELS, MODEL), "wanted a gradient and two points"),
    "a minimiser of each client": (
        CONVEX,
        lambda plan: with_declared(plan, "functions", "w", index=frozenset({"n"}), mean_index=frozenset({"n"})),
        "one point",
    ),
    "a minimiser in another space": (
        CONVEX, lambda plan: with_declared(plan, "functions", "w", space="y", domain="y"), "space"
    ),
    "another function that is no minimiser": (PL, with_another_function, "not the minimiser"),
    "the distance after a step": (
        GROWING, quantity_is("distance", sq(AFTER - LEAST)), "not the squared distance of"
    ),
    "twice the distance": (GROWING, quantity_is("distance", 2 * sq(X - LEAST)), "not the squared distance of"),
    "a decrease is no gap": (PL, quantity_is("gap", value("F", AFTER) - value("F", X)), ""),
    "an increase is no gap": (PL, quantity_is("gap", value("F", X) - value("F", AFTER)), ""),
    "the value itself is no gap": (PL, quantity_is("gap", value("F", X)), ""),
    "a contraction by a smaller factor": (GROWING, contraction(factor=1 - S.mu * S.eta / 2), "does not say"),
    "a contraction of a vector": (GROWING, contraction(quantity="x"), ""),
    "a rest that does not cover what is added": (GROWING, contraction(rest=Fraction(99, 100) * ADDED), "not certified"),
    "a negative rest": (GROWING, contraction(rest=-1 * ADDED), "not certified"),
    "a contraction of a sum over the run": (GROWING, contraction_of("summed", SumOver("approach")), "every step"),
    "a contraction at the first step only": (GROWING, contraction_of("at 0", AtStart("approach")), "every step"),
}  # fmt: skip
"""Theorem, change of its derivation, and why it is refused."""


@pytest.mark.parametrize("name", REFUSED)
def test_a_changed_derivation_is_refused(name: str):
    theorem, change, why = REFUSED[name]
    refused(theorem, change(derivation(theorem)), why)


OTHER_THEOREMS = {
    "only the mean of the clients is convex": (
        with_entry(LOCAL, "convexity", next(a for a in CONVEX.assumptions if a.name == "convexity")), CLIENTS_ARE_CONVEX
    ),
    "a mean before each step": (replace(CONVEX, average="before"), "as the metric says"),
    "a power of what may be negative": (rewritten(GROWING, {"contraction": ""}), "base may be negative"),
    "another power": (rewritten(GROWING, {"initialisation": "(1 - mu*eta)**(2*T)*D**2"}), "no power"),
    **{word: (replace(GROWING, metric=METRICS[word]), "") for word in METRICS if word != "last_distance_sq"},
}  # fmt: skip
"""Another statement, metric or list of assumptions, with the derivation of the true one."""


@pytest.mark.parametrize("name", OTHER_THEOREMS)
def test_a_proof_of_one_theorem_is_none_of_another(name: str):
    other, why = OTHER_THEOREMS[name]
    refused(other, derivation(get_theorem(other.id)), why)


def test_what_the_changes_leave_is_accepted():
    assert check(three_points(MODELS, MODEL, LEAST)(derivation(LOCAL)), LOCAL, "printed").accepted
    assert check(contraction(rest=ADDED)(derivation(GROWING)), GROWING, "printed").accepted
    other_end = check(tangent_at(X, AFTER)(derivation(CONVEX)), CONVEX, "printed")
    assert "nothing" not in other_end.failure, "the other end may be anything"


# --- the metric and the instances -------------------------------------------------------------------------------------


def test_the_last_iterate_is_that_after_all_steps_whatever_others_average():
    found = derivation(GROWING)
    after = replace(GROWING, average="after")
    assert check(found, after, "printed").accepted
    progress = begin(found, GROWING, "printed")
    run = instance(next(s for s in STYLES if s.name == "rounds"), progress)
    expected = run.scalar(sq(X - LEAST), run.horizon)
    assert metric_at(progress, run) == expected != run.scalar(sq(X - LEAST), run.horizon - 1)


def test_half_of_the_smoothness_fails_on_an_instance():
    """Between the mean models of two steps, where the step from all models to one is as large as it may be."""
    moved = Mean("n", AFTER)
    progress = up_to(three_points(MODELS, moved, MODEL)(derivation(LOCAL)), LOCAL, "three points")
    fact = progress.state.facts["three points"]
    s = Reader(LOCAL, LOCAL.statement("printed"))
    left, right = fact.sides
    wrong = inequality(progress.state, left, right - s.L / 4 * sq(moved - X))
    runs = {style: instance(style, progress) for style in STYLES}
    assert not examine(progress, runs, {"three points": fact}).failed
    assert examine(progress, runs, {"three points": wrong}).failed


def test_the_minimiser_of_an_instance_is_one_and_not_at_zero():
    progress = begin(derivation(GROWING), GROWING, "printed")
    for style in STYLES:
        run = instance(style, progress)
        gradient = progress.derivation.setting.objective("F").gradient
        there = run(replaced(gradient, {"p": LEAST}), 0)
        assert not any(x for component in there for x in component.reshape(-1)), style.name
        assert any(x for component in run(LEAST, 0) for x in component.reshape(-1)), style.name


def test_a_wrong_tangent_fails_on_an_instance():
    """Twice the strong convexity of an instance, as a statement: some family breaks it."""
    progress = up_to(derivation(GROWING), GROWING, "tangent")
    fact = progress.state.facts["tangent"]
    left, right = fact.sides
    wrong = inequality(progress.state, left + S.mu / 2 * sq(X - LEAST), right)
    runs = {style: instance(style, progress) for style in STYLES[:6]}
    assert not examine(progress, runs, {"tangent": fact}).failed
    assert examine(progress, runs, {"tangent": wrong}).failed


# --- the norm of the gradient, by Jensen's inequality from its square -------------------------------------------------

FOUND = derivation(SGD)
assert isinstance(FOUND, Derivation)
PLAN = replace(FOUND, inside={**FOUND.inside, "F_gap": Fraction(7, 8)})
"""The point inside of the region is one at which Q is a rational number, 2."""
SQUARE = "2*F_gap/(eta*T) + L_bar*eta*sigma**2/(N*b)"


def bounded(term: str, square: str = SQUARE, metric=METRICS["mean_gradient"]) -> Theorem:
    """SGD on a smooth objective, with Q the root of a sum."""
    statement, names = SGD.statement("printed"), {b.name: b.symbol for b in SGD.notation}
    root = Derived("Q", read_formula(f"sqrt({square})", names), "Q")
    names["Q"] = derived_symbol("Q")
    said = replace(statement, derived=(root,), terms=(Part("all", read_formula(term, names)),))
    return with_statement(replace(SGD, metric=metric), said)


@pytest.mark.parametrize("word", ["mean_gradient", "minimum_gradient"])
def test_the_norm_is_at_most_the_root_of_the_mean_square(word: str):
    verdict = check(PLAN, bounded("Q", metric=METRICS[word]), "printed")
    assert verdict.accepted, verdict.failure
    assert "Jensen's inequality from its square" in verdict.rests_on["metric"]


@pytest.mark.slow
def test_it_holds_on_the_instances():
    found = instances_of(PLAN, bounded("Q"))
    assert not found.failed and found.tried


def test_with_a_probability_the_norm_exceeds_its_bound_as_often_as_markov_says():
    metric = with_probability(METRICS["mean_gradient"], "delta", "")
    assert check(PLAN, bounded("Q/delta", metric=metric), "printed").accepted
    assert not check(PLAN, bounded("Q", metric=metric), "printed").accepted


@pytest.mark.parametrize(
    ("term", "square", "why"),
    [
        ("9/10*Q", SQUARE, "left over"),
        ("Q", "2*F_gap/(eta*T) + L_bar*eta*sigma**2/(N**2*b)", "left over"),
        ("Q", "2*F_gap/(eta*T**2) + L_bar*eta*sigma**2/(N*b)", "left over"),
        ("-Q", SQUARE, "nowhere negative"),
        ("Q - 3*Q", SQUARE, "nowhere negative"),
    ],
)
def test_a_false_bound_is_refused(term: str, square: str, why: str):
    """The square of -Q is that of Q: a bound is not negative."""
    verdict = check(PLAN, bounded(term, square), "printed")
    assert not verdict.accepted and why in verdict.failure, verdict.failure


def test_the_bound_of_the_square_is_none_of_the_norm():
    """As the mean of the squares is at most Q^2, a proof that did not square would take Q^2 for a bound of the norm."""
    other = replace(SGD, metric=METRICS["mean_gradient"])
    assert not check(PLAN, other, "printed").accepted


@pytest.mark.slow
def test_an_instance_breaks_a_false_bound():
    found = instances_of(PLAN, bounded("Q/16"))
    assert any(line.startswith("statement") for line in found.failed), found


def test_the_norm_at_the_average_or_from_another_quantity_is_not_concluded():
    for word, why in (("averaged_gradient", "no convex function"), ("mean_gap", "minimiser")):
        verdict = check(PLAN, bounded("Q", metric=METRICS[word]), "printed")
        assert not verdict.accepted and why in verdict.failure, verdict.failure
