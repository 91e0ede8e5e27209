"""What the kernel refuses of SCAFFOLD, FedProx, gradients that are some steps old, and FedAvg with sampled clients: stronger
statements, and other uses of the rules that they brought."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fedco.bounds.language.formula import read_formula
from fedco.bounds.language.metrics import METRICS
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import (
    EVERY,
    LOCAL,
    App,
    Assumed,
    Delay,
    Mean,
    ProofError,
    Quantity,
    Reader,
    Setting,
    StartValue,
    Var,
    Variable,
    check,
    parameter,
    sq,
)
from fedco.bounds.proof.kernel.derivation import begin
from fedco.bounds.proof.kernel.problem import metric_points
from fedco.bounds.proof.kernel.readings import Reading
from fedco.bounds.proof.kernel.scalars import At, One
from fedco.bounds.registry import get_theorem
from fedco.validation.exact.statistic import Statistic
from fedco.validation.falsifier.declared import target_of
from fedco.validation.proofs.lock import instances_of
from fedco.validation.runs.registry import recipe_for
from quick import slowly
from rewritten import rewritten

SCAFFOLD, FEDPROX, DELAYED, FEDAVG = (
    get_theorem(f"library.{name}") for name in ("scaffold", "fedprox", "delayed_sgd", "fedavg_sampled")
)
NEAREST = [
    (SCAFFOLD, "noise_drift", "6*(p - 1)*eta**2*L**2*sigma**2/b"),
    (SCAFFOLD, "first_round", "p**2*(p - 1)*eta**2*L**2*zeta_0**2/T"),
    (FEDPROX, "initialisation", "2*F_gap/(eta*T)"),
    (FEDPROX, "heterogeneity", "(8*p/9 - 8/9)*(2*p - 1)*eta**2*L**2*zeta**2"),
    (DELAYED, "delay", "L_bar**2*eta**2*sigma**2/(N*b)"),
    (DELAYED, "delay", "(tau - 1)*L_bar**2*eta**2*sigma**2/(N*b)"),
    (DELAYED, "delay", "tau*L_bar**2*eta**2*sigma**2/(N**2*b)"),
    (DELAYED, "delay", "0*sigma"),
    (DELAYED, "variance", "L_bar*eta*sigma**2/(2*N*b)"),
    (DELAYED, "initialisation", "F_gap/(eta*T)"),
    (DELAYED, "step_size", "eta*L_bar + tau*eta**2*L_bar**2 <= 1"),
    (DELAYED, "step_size", "eta*L_bar + (tau - 1)**2*eta**2*L_bar**2 <= 1"),
    (DELAYED, "step_size", "tau**2*eta**2*L_bar**2 <= 1"),
    (FEDAVG, "variance", "(2 - r)*L*eta*sigma**2/(r*N*b)"),
    (FEDAVG, "sampling", "3*s*p*L*eta*zeta**2"),
    (FEDAVG, "heterogeneity", "(3*p/4 - 3/4)*(2*p - 2)*eta**2*L**2*zeta**2"),
    (FEDAVG, "noise_drift", "(3*p/2 - 3/2)*(1 - 1/N)*eta**2*L**2*sigma**2/b"),
    (FEDAVG, "initialisation", "F_gap/(eta*T)"),
]
"""The nearest to what is true, of each of these terms; those of delayed gradients take no time."""
FARTHER = [
    (SCAFFOLD, "noise_drift", "7*(p - 1)*eta**2*L**2*sigma**2/(N*b)"),
    (SCAFFOLD, "first_round", "0*zeta_0"),
    (SCAFFOLD, "variance", "L*eta*sigma**2/(2*N*b)"),
    (FEDPROX, "variance", "(1 + eta*gamma*p)*L*eta*sigma**2/(N*b)"),
    (FEDPROX, "noise_drift", "(1 + eta*gamma*p)*(8*p/3 - 8/3)*(1 - 1/N)*eta**2*L**2*sigma**2/(N*b)"),
    (FEDAVG, "variance", "L*eta*sigma**2/(N*b)"),
    (FEDAVG, "variance", "(3 - 2*r)*L*eta*sigma**2/(N*b)"),
    (FEDAVG, "sampling", "0*zeta"),
    (FEDAVG, "sampling", "4*s*L*eta*zeta**2"),
    (FEDAVG, "sampling", "4*s*(p - 1)*L*eta*zeta**2"),
    (FEDAVG, "heterogeneity", "(p/2 - 1/2)*(2*p - 1)*eta**2*L**2*zeta**2"),
    (FEDAVG, "noise_drift", "0*sigma"),
]


@pytest.mark.parametrize(("theorem", "part", "formula"), [*NEAREST, *map(slowly, FARTHER)])
def test_a_stronger_statement_does_not_follow(theorem, part, formula):
    with pytest.raises(ProofError, match="the statement"):
        derivation(rewritten(theorem, {part: formula}))


@pytest.mark.parametrize(
    ("theorem", "entry", "said"),
    [
        (SCAFFOLD, "controls at rest", "'controls at rest' is not in the theorem's list"),
        (DELAYED, "start", "no assumption of the theorem says"),
        (FEDAVG, "whole rounds", "no assumption of the theorem says that the horizon is a whole number of rounds"),
    ],
)
def test_a_start_at_rest_the_first_gradients_and_whole_rounds_are_assumed(theorem, entry, said):
    """The mean over the steps of the server's model is that over the rounds only where all rounds are whole."""
    listed = tuple(item for item in theorem.assumptions if item.name != entry)
    assert said in check(derivation(theorem), replace(theorem, assumptions=listed), "printed").failure


# --- SCAFFOLD: the first gradients --------------------------------------------------------------


def first_gradients(meaning, of="unlike"):
    """What the kernel makes of zeta_0, as a bound of a quantity or of a value of the clients' gradient at the server's model."""
    plan = derivation(SCAFFOLD)
    reader = Reader(SCAFFOLD, SCAFFOLD.statement())
    reading = Reading(SCAFFOLD, SCAFFOLD.statement(), reader, plan.setting, (Quantity("unlike", meaning),), "x")
    return reading.axioms({"first": Assumed("zeta_0", of)})["first"]


def gradients(point, *samples):
    return App("dF", point, samples or (None,))


X = Var("x")
HERE = Mean("n", X)


def away(term):
    return term - Mean("n", term)


def test_what_is_unlike_at_the_start_is_bounded_there_and_nowhere_else():
    axiom = first_gradients(sq(away(gradients(HERE))))
    assert isinstance(axiom, StartValue) and axiom.assumption == "first gradients" and axiom.offset == 0
    plan = derivation(SCAFFOLD)
    fact = axiom.instance(begin(plan, SCAFFOLD, "printed").state, ())
    assert fact.phases is None and [type(atom) for atom, _ in fact.form if not isinstance(atom, One)] == [At]


@pytest.mark.parametrize(
    "meaning",
    [
        sq(gradients(HERE)),
        sq(away(gradients(X))),
        sq(away(gradients(Var("z")))),
        sq(away(gradients(HERE, 0))),
        sq(Mean("n", gradients(HERE))),
        2 * sq(away(gradients(HERE))),
        sq(away(gradients(Mean("n", Var("x", 1))))),
        sq(away(Var("c"))),
    ],
    ids=repr,
)
def test_it_bounds_no_other_quantity(meaning):
    with pytest.raises(ProofError, match="is not the squared distance of"):
        first_gradients(meaning)


def test_it_bounds_no_gradient_at_any_point():
    with pytest.raises(ProofError, match="zeta_0 says nothing of dF"):
        first_gradients(sq(away(gradients(HERE))), of="dF")


# --- gradients that are tau steps old ---------------------------------------------------------------------------------


PRINTED = DELAYED.statement("printed")
NAMES = {binding.name: binding.symbol for binding in DELAYED.notation}


@pytest.mark.parametrize("formula", ["1", "2", "tau + 1", "b", "tau*tau"])
def test_a_method_with_another_delay_is_refused(formula):
    values = {**DELAYED.method.values, "D": read_formula(formula, NAMES)}
    other = replace(DELAYED, method=replace(DELAYED.method, values=values))
    assert "for its delay, the statement's is tau" in check(derivation(DELAYED), other, "printed").failure


def test_delays_that_are_drawn_are_no_fixed_ones(one_family):
    other = replace(DELAYED, method=replace(DELAYED.method, options={"delays": "random"}))
    assert not instances_of(derivation(DELAYED), other).hold


def with_variable(**parts):
    """The derivation with other words about z."""
    plan = derivation(DELAYED)
    variables = tuple(replace(v, **parts) if v.name == "z" else v for v in plan.setting.variables)
    return replace(plan, setting=replace(plan.setting, variables=variables))


@pytest.mark.parametrize("name", ["b", "N", "T", "2*tau", "1"])
def test_another_delay_than_that_of_the_statement_is_refused(name):
    reader = Reader(DELAYED, PRINTED)
    found = check(with_variable(behind=reader.read(read_formula(name, NAMES))), DELAYED, "printed")
    assert "is no delay of the statement" in found.failure


@pytest.mark.parametrize("name", ["eta", "tau - 1"])
def test_what_may_be_0_or_less_is_no_delay(name):
    reader = Reader(DELAYED, PRINTED)
    behind = reader.read(read_formula(name, NAMES))
    if name == "eta":
        assert "is no delay of the statement" in check(with_variable(behind=behind), DELAYED, "printed").failure
    else:
        with pytest.raises(ProofError, match="how many steps behind it is"):
            with_variable(behind=behind)


D = parameter("d", count=True, positive=True)
NEW, OLD = Var("x"), Var("z")
NEWER = Variable("x", "x", equations=((EVERY, NEW - OLD),))


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ((NEWER, Variable("z", "x", of="y", behind=D)), "a variable declared before it"),
        ((Variable("z", "x", of="x", behind=D), NEWER), "a variable declared before it"),
        ((NEWER, Variable("z", "x", of="x")), "how many steps behind it is"),
        ((NEWER, Variable("z", "x", behind=D)), "a variable declared before it"),
        ((NEWER, Variable("z", "y", of="x", behind=D)), "and nothing else"),
        ((NEWER, Variable("z", "x", of="x", behind=D, sources=())), "and nothing else"),
        ((NEWER, Variable("z", "x", of="x", behind=D, equations=((EVERY, NEW),))), "and nothing else"),
        (
            (Variable("x", "x", equations=((LOCAL, NEW),)), Variable("z", "x", of="x", behind=D)),
            "no single equation",
        ),
        (
            (NEWER, Variable("z", "x", of="x", behind=D), Variable("w", "x", of="z", behind=D)),
            "no single equation",
        ),
    ],
)
def test_an_older_value_is_that_and_nothing_else(variables, text):
    with pytest.raises(ProofError, match=text):
        Setting((), (), (), variables)


def replaced_rule(**parts):
    """The derivation with another use of the rule, for what `parts` says."""
    plan = derivation(DELAYED)
    steps = tuple(replace(s, rule=replace(s.rule, **parts)) if isinstance(s.rule, Delay) else s for s in plan.steps)
    return replace(plan, steps=steps)


def moved_noise():
    (rule,) = (step.rule for step in derivation(DELAYED).steps if isinstance(step.rule, Delay))
    return rule.noise


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (lambda: {"quantity": "M"}, "is not how far a variable is from its value of an earlier step"),
        (lambda: {"quantity": "F"}, "is not one squared norm"),
        (lambda: {"noise": 0 * moved_noise()}, "without noise is not made of z alone"),
        (lambda: {"noise": moved_noise() + NEW}, "without noise is not made of z alone"),
        (lambda: {"noise": moved_noise() + OLD}, "the noise is not centred"),
        (lambda: {"noise": 2 * moved_noise()}, "without noise is not made of z alone"),
        (lambda: {"growth": "noise of a move"}, "is no nonnegative multiple of a quantity"),
        (lambda: {"noise_growth": "move"}, "is no nonnegative multiple of a quantity"),
        (lambda: {"move": "noise"}, "noise"),
    ],
)
def test_another_use_of_the_rule_is_refused(parts, text):
    found = check(replaced_rule(**parts()), DELAYED, "printed")
    assert not found.accepted and found.failure.startswith("step moved") and text in found.failure, found.failure


def test_a_move_that_the_newer_variable_adds_to_is_refused():
    """x - eta (g(z) + x): what is not noise was not known before the window of the last steps began."""
    plan = derivation(DELAYED)
    rows = {v.name: v for v in plan.setting.variables}
    ((phases, term),) = rows["x"].equations
    own = replace(rows["x"], equations=((phases, term - Reader(DELAYED, PRINTED).eta * NEW),))
    variables = tuple(own if v.name == "x" else v for v in plan.setting.variables)
    moved = replace(plan, setting=replace(plan.setting, variables=variables))
    (rule,) = (step.rule for step in plan.steps if isinstance(step.rule, Delay))
    state = begin(moved, DELAYED, "printed").state
    step = next(step for step in plan.steps if step.name == rule.move)
    state.facts[step.name] = step.rule.apply(state)
    with pytest.raises(ProofError, match="without noise is not made of z alone"):
        rule.apply(state)


# --- FedAvg with sampled clients --------------------------------------------------------------------------------------


@pytest.mark.parametrize("formula", ["2*p*eta*L <= 1", "3*(p - 1)*eta*L <= 1", "3*eta*L <= 1"])
def test_longer_steps_are_refused(formula):
    with pytest.raises(ProofError, match="not certified to be nonnegative"):
        derivation(rewritten(FEDAVG, {"step_size": formula}))


def measured_at(theorem):
    """Where the kernel takes the mean squared gradient of a run with the theorem's method."""
    plan, statement = derivation(theorem), theorem.statement("printed")
    along = replace(theorem, metric=METRICS["mean_gradient_sq"])
    return metric_points(Reading(along, statement, Reader(along, statement), plan.setting, model=plan.model), {})


def test_the_mean_of_all_clients_is_not_what_a_run_measures():
    """The rules accepted a derivation about the mean of all N clients inside rounds, of which a run measures those that take part."""
    with pytest.raises(ProofError, match="the mean of the clients that take part, not of all"):
        measured_at(FEDAVG)
    assert measured_at(get_theorem("library.sampled_sgd")) == (Var("x"),), "one model, that of the server"


def test_the_new_models_of_the_server_are_measured_by_no_rule():
    """A run takes them once a round, at T = p the last model only; the kernel took them after every step, the first model p - 1 times.

    Both locks accepted 2 L F_gap/T + L^2 eta^2 sigma^2/(N b T) + (1 - 1/T) G^2 for Local SGD, which a Huber function in many
    dimensions exceeds from its minimiser.
    """
    with pytest.raises(ProofError, match="after each round a run takes it at the new model"):
        plan, later = derivation(FEDAVG), replace(FEDAVG, average="after")
        reading = Reading(later, later.statement(), Reader(later, later.statement()), plan.setting, model=plan.model)
        metric_points(reading, {})


def test_runs_and_searches_take_it_once_a_round():
    values = {"p": 4, "T": 8}
    every = recipe_for(FEDAVG.id).every
    assert every is not None and every(values) == 4 and recipe_for("library.sampled_sgd").every is None
    assert target_of(FEDAVG, "printed").statistic(values) == Statistic(every=4)
