"""Convexity, growth and the distance from a minimiser: what the kernel takes of them, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from altered import refused, with_declared, with_entry, with_quantity, with_rule, with_setting
from fedco.bounds import get_theorem
from fedco.bounds.language.metrics import METRICS
from fedco.bounds.language.theorem import Theorem
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
from fedco.bounds.proof.kernel.rules import Geometric
from fedco.bounds.proof.kernel.terms import replaced
from fedco.bounds.proof.runs import metric_at
from rewritten import rewritten

CONVEX, DISTANCE, GROWING, PL, LOCAL = (
    get_theorem(f"library.{name}")
    for name in ("sgd_convex", "sgd_convex_distance", "sgd_strongly_convex", "sgd_pl", "local_sgd_convex")
)
X, AFTER, LEAST = Var("x"), Var("x", 1), App("w", Sum(()))


def up_to(found: Derivation, theorem: Theorem, last: str) -> Progress:
    """What is established after a step of the derivation."""
    names = [step.name for step in found.steps]
    return checked_steps(replace(found, steps=found.steps[: names.index(last) + 1]), theorem, "printed")


# --- tangents ---------------------------------------------------------------------------------------------------------


def test_a_tangent_is_taken_where_the_samples_of_the_step_are_new():
    found = derivation(CONVEX)
    (tangent,) = (s for s in found.steps if s.name == "convexity")
    later = replace(found, steps=(Step("t", replace(tangent.rule, terms=(AFTER, LEAST))),))
    refused(CONVEX, later, "not known before the samples")
    same = replace(found, steps=(Step("t", replace(tangent.rule, terms=(X, AFTER))),))
    assert "nothing" not in check(same, CONVEX, "printed").failure  # the other end may be anything


@pytest.mark.parametrize(
    ("theorem", "axiom"), [(CONVEX, "convexity: convexity"), (GROWING, "mu of F"), (PL, "kappa of F")]
)
def test_without_the_assumption_nothing_is_known_of_the_shape(theorem, axiom: str):
    found = derivation(theorem)
    assert axiom in found.axioms
    left = {name: item for name, item in found.axioms.items() if name != axiom}
    refused(theorem, replace(found, axioms=left), "no such assumption")


def test_convexity_rests_on_an_entry_that_says_it():
    found = derivation(CONVEX)
    axioms = {**found.axioms, "convexity: convexity": Convexity("smoothness", "F")}
    refused(CONVEX, replace(found, axioms=axioms), "does not say that the objective is convex")
    axioms = {**found.axioms, "minimiser: minimum": Minimum("smoothness", "F", "w")}
    refused(CONVEX, replace(found, axioms=axioms), "does not say that the objective is least")


def test_the_constant_of_growth_is_that_of_its_symbol():
    """A smoothness constant does not stand for strong convexity, nor the other way round."""
    found = derivation(GROWING)
    refused(
        GROWING,
        replace(found, axioms={**found.axioms, "mu of F": Assumed("L_bar", "F", "strong convexity constant")}),
        "says nothing",
    )
    with_pl = {**found.axioms, "mu of F": Assumed("mu", "F", "Polyak-Lojasiewicz constant")}
    refused(GROWING, replace(found, axioms=with_pl), "says nothing")


# --- clients that are convex ------------------------------------------------------------------------------------------


def three_points(*terms: Term, symbol: str = "L", entry: str = "convexity") -> Derivation:
    """The derivation of Local SGD on convex clients, with its step of three points at other terms."""
    found = derivation(LOCAL)
    axioms = {**found.axioms, "convexity: clients": AboveTangents(entry, symbol, "F")}
    return replace(with_rule(found, "three points", terms=terms) if terms else found, axioms=axioms)


MODEL, MODELS = Mean("n", X), App("dF", X, (None,))


def test_three_points_are_those_of_the_axiom():
    assert check(three_points(MODELS, MODEL, LEAST), LOCAL, "printed").accepted


@pytest.mark.parametrize(
    ("terms", "why"),
    [
        ((MODELS, X, LEAST), "depends on ['n']"),
        ((MODELS, MODEL, X), "depends on ['n']"),
        ((App("dF", X, (0,)), MODEL, LEAST), "mean over the samples"),
        ((App("dF", Mean("i", App("dF", X, (0,))), (None,)), X, LEAST), "depends on ['n']"),
        ((App("w", Sum(())), MODEL, LEAST), "no value of dF"),
        ((MODELS, MODEL), "wanted a gradient and two points"),
    ],
    ids=[
        "above at every client",
        "below at every client",
        "a sample",
        "gradients at gradients",
        "no gradient",
        "two terms",
    ],
)
def test_what_does_not_hold_of_convex_clients_is_refused(terms, why: str):
    """F_k at a point of its own is no value of F; a sample of a convex function need not be convex."""
    refused(LOCAL, three_points(*terms), why)


def test_clients_are_convex_and_smooth_by_entries_that_say_so():
    refused(LOCAL, three_points(entry="smoothness"), "does not say that the objective of every client is convex")
    refused(LOCAL, three_points(symbol="sigma"), "says nothing")
    refused(
        LOCAL, three_points(symbol="L_bar"), "says nothing of dF"
    )  # false: that of the mean of the F_k may be smaller
    mean = next(a for a in CONVEX.assumptions if a.name == "convexity")
    refused(
        with_entry(LOCAL, "convexity", mean),
        derivation(LOCAL),
        "does not say that the objective of every client is convex",
    )


def test_half_of_the_smoothness_fails_on_an_instance():
    """Between the mean models of two steps, where the step from all models to one is as large as it may be."""
    moved = Mean("n", AFTER)
    found = three_points(MODELS, moved, MODEL)
    progress = up_to(found, LOCAL, "three points")
    fact = progress.state.facts["three points"]
    s = Reader(LOCAL, LOCAL.statement("printed"))
    left, right = fact.sides
    wrong = inequality(progress.state, left, right - s.L / 4 * sq(moved - X))
    runs = {style: instance(style, progress) for style in STYLES}
    assert not examine(progress, runs, {"three points": fact}).failed
    assert examine(progress, runs, {"three points": wrong}).failed


# --- the minimiser ----------------------------------------------------------------------------------------------------


def test_the_minimiser_is_one_point():
    found = derivation(CONVEX)
    of_clients = with_declared(found, "functions", "w", index=frozenset({"n"}), mean_index=frozenset({"n"}))
    refused(CONVEX, of_clients, "one point")
    refused(CONVEX, with_declared(found, "functions", "w", space="y", domain="y"), "space")


def test_another_function_is_no_minimiser():
    found = derivation(PL)
    other = Function("v", "x", "x", (), frozenset({"n"}), frozenset({"n"}), role="schedule")
    more = with_setting(found, functions=(*found.setting.functions, other))
    refused(PL, replace(more, axioms={**found.axioms, "m": Minimum("minimiser", "F", "v")}), "not the minimiser")


def test_the_distance_of_the_start_is_that_of_the_model_from_the_minimiser():
    found = derivation(GROWING)
    for meaning in (sq(AFTER - LEAST), 2 * sq(X - LEAST)):
        refused(GROWING, with_quantity(found, "distance", meaning), "not the squared distance of")


@pytest.mark.parametrize(
    "meaning",
    [value("F", AFTER) - value("F", X), value("F", X) - value("F", AFTER), value("F", X)],
    ids=["a decrease", "an increase", "the value itself"],
)
def test_a_gap_is_above_the_minimum(meaning):
    refused(PL, with_quantity(derivation(PL), "gap", meaning), "")


# --- the metric -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", [word for word in METRICS if word != "last_distance_sq"])
def test_a_proof_of_one_metric_is_none_of_another(word: str):
    refused(replace(GROWING, metric=METRICS[word]), derivation(GROWING), "")


def test_the_last_iterate_is_that_after_all_steps_whatever_others_average():
    found = derivation(GROWING)
    after = replace(GROWING, average="after")
    assert check(found, after, "printed").accepted
    progress = begin(found, GROWING, "printed")
    run = instance(next(s for s in STYLES if s.name == "rounds"), progress)
    expected = run.scalar(sq(X - LEAST), run.horizon)
    assert metric_at(progress, run) == expected != run.scalar(sq(X - LEAST), run.horizon - 1)


def test_a_mean_after_each_step_is_not_one_before():
    before = replace(CONVEX, average="before")
    refused(before, derivation(CONVEX), "as the metric says")


# --- contraction ------------------------------------------------------------------------------------------------------


def test_a_contraction_is_by_the_factor_of_its_step():
    s = Reader(GROWING, GROWING.statement("printed"))
    refused(GROWING, with_rule(derivation(GROWING), "contraction", factor=1 - s.mu * s.eta / 2), "does not say")
    refused(GROWING, with_rule(derivation(GROWING), "contraction", quantity="x"), "")


def test_the_rest_of_a_contraction_covers_what_is_added_at_each_step():
    s = Reader(GROWING, GROWING.statement("printed"))
    exact = s.eta * s.sigma**2 / (s.mu * s.N * s.b)
    assert check(with_rule(derivation(GROWING), "contraction", rest=exact), GROWING, "printed").accepted
    refused(GROWING, with_rule(derivation(GROWING), "contraction", rest=Fraction(99, 100) * exact), "not certified")
    refused(GROWING, with_rule(derivation(GROWING), "contraction", rest=-1 * exact), "not certified")


def test_a_power_of_what_may_be_negative_is_refused():
    refused(rewritten(GROWING, {"contraction": ""}), derivation(GROWING), "base may be negative")


def test_the_power_is_that_of_the_statement():
    other = rewritten(GROWING, {"initialisation": "(1 - mu*eta)**(2*T)*D**2"})
    refused(other, derivation(GROWING), "no power")


def test_a_contraction_holds_at_every_step():
    """A sum over the run, or what holds at the first step only, is no premise."""
    found = derivation(GROWING)
    contraction = next(s for s in found.steps if s.name == "contraction")
    assert isinstance(contraction.rule, Geometric)
    cut = found.steps[: found.steps.index(contraction)]
    for name, rule in (("summed", SumOver("approach")), ("at 0", AtStart("approach"))):
        steps = (*cut, Step(name, rule), replace(contraction, rule=replace(contraction.rule, step=name)))
        refused(GROWING, replace(found, steps=steps), "every step")


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
    s = Reader(GROWING, GROWING.statement("printed"))
    left, right = fact.sides
    wrong = inequality(progress.state, left + s.mu / 2 * sq(X - LEAST), right)
    runs = {style: instance(style, progress) for style in STYLES[:6]}
    assert not examine(progress, runs, {"tangent": fact}).failed
    assert examine(progress, runs, {"tangent": wrong}).failed
