"""Gradients that are tau steps old: what the kernel refuses of the variable that is another one of tau steps before, and of the rule
that says how far it is.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from fedco.bounds.language.formula import read_formula
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import (
    EVERY,
    LOCAL,
    Delay,
    ProofError,
    Reader,
    Setting,
    Var,
    Variable,
    check,
    parameter,
)
from fedco.bounds.proof.kernel.derivation import begin
from fedco.bounds.registry import get_theorem
from fedco.validation.proofs.lock import instances_of
from rewritten import rewritten

DELAYED = get_theorem("library.delayed_sgd")
PRINTED = DELAYED.statement("printed")
NAMES = {binding.name: binding.symbol for binding in DELAYED.notation}


@pytest.mark.parametrize(
    ("part", "formula"),
    [
        ("delay", "L_bar**2*eta**2*sigma**2/(N*b)"),
        ("delay", "(tau - 1)*L_bar**2*eta**2*sigma**2/(N*b)"),
        ("delay", "tau*L_bar**2*eta**2*sigma**2/(N**2*b)"),
        ("delay", "0*sigma"),
        ("variance", "L_bar*eta*sigma**2/(2*N*b)"),
        ("initialisation", "F_gap/(eta*T)"),
        ("step_size", "eta*L_bar + tau*eta**2*L_bar**2 <= 1"),
        ("step_size", "eta*L_bar + (tau - 1)**2*eta**2*L_bar**2 <= 1"),
        ("step_size", "tau**2*eta**2*L_bar**2 <= 1"),
    ],
)
def test_a_stronger_statement_does_not_follow(part, formula):
    with pytest.raises(ProofError, match="the statement: "):
        derivation(rewritten(DELAYED, {part: formula}))


@pytest.mark.parametrize("formula", ["1", "2", "tau + 1", "b", "tau*tau"])
def test_a_method_with_another_delay_is_refused(formula):
    values = {**DELAYED.method.values, "D": read_formula(formula, NAMES)}
    other = replace(DELAYED, method=replace(DELAYED.method, values=values))
    assert "for its delay, the statement's is tau" in check(derivation(DELAYED), other, "printed").failure


def test_delays_that_are_drawn_are_no_fixed_ones(one_family):
    other = replace(DELAYED, method=replace(DELAYED.method, options={"delays": "random"}))
    assert not instances_of(derivation(DELAYED), other).hold


def test_the_first_gradients_are_assumed_to_be_at_the_first_model():
    listed = tuple(item for item in DELAYED.assumptions if item.name != "start")
    found = check(derivation(DELAYED), replace(DELAYED, assumptions=listed), "printed")
    assert "no assumption of the theorem says" in found.failure


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
X, Z = Var("x"), Var("z")
NEWER = Variable("x", "x", equations=((EVERY, X - Z),))


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ((NEWER, Variable("z", "x", of="y", behind=D)), "a variable declared before it"),
        ((Variable("z", "x", of="x", behind=D), NEWER), "a variable declared before it"),
        ((NEWER, Variable("z", "x", of="x")), "how many steps behind it is"),
        ((NEWER, Variable("z", "x", behind=D)), "a variable declared before it"),
        ((NEWER, Variable("z", "y", of="x", behind=D)), "and nothing else"),
        ((NEWER, Variable("z", "x", of="x", behind=D, sources=())), "and nothing else"),
        ((NEWER, Variable("z", "x", of="x", behind=D, equations=((EVERY, X),))), "and nothing else"),
        (
            (Variable("x", "x", equations=((LOCAL, X),)), Variable("z", "x", of="x", behind=D)),
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
        (lambda: {"noise": moved_noise() + X}, "without noise is not made of z alone"),
        (lambda: {"noise": moved_noise() + Z}, "the noise is not centred"),
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
    own = replace(rows["x"], equations=((phases, term - Reader(DELAYED, PRINTED).eta * X),))
    variables = tuple(own if v.name == "x" else v for v in plan.setting.variables)
    moved = replace(plan, setting=replace(plan.setting, variables=variables))
    (rule,) = (step.rule for step in plan.steps if isinstance(step.rule, Delay))
    state = begin(moved, DELAYED, "printed").state
    step = next(step for step in plan.steps if step.name == rule.move)
    state.facts[step.name] = step.rule.apply(state)
    with pytest.raises(ProofError, match="without noise is not made of z alone"):
        rule.apply(state)
