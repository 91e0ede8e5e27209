"""Derivations and theorems in which one declared thing is another one, and the refusal that is due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fedco.bounds.language.change import with_statement
from fedco.bounds.language.formula import read_formula
from fedco.bounds.language.notation import STEP
from fedco.bounds.proof.derivations import verdict


def among(items: Sequence[Any], name: str, other: Any = None, /, **fields: Any) -> tuple[Any, ...]:
    """The items with `other` in the place of the one of this name, or with other fields of that one."""
    assert name in {each.name for each in items}, name
    made = [(other or replace(each, **fields)) if each.name == name else each for each in items]
    return tuple(made)


def with_rule(plan: Any, step: str, rule: Any = None, /, **fields: Any) -> Any:
    """A derivation with another rule at a step, or with other fields of the rule."""
    (own,) = (each.rule for each in plan.steps if each.name == step)
    return replace(plan, steps=among(plan.steps, step, rule=rule or replace(own, **fields)))


def with_setting(plan: Any, **changes: Any) -> Any:
    return replace(plan, setting=replace(plan.setting, **changes))


def with_declared(plan: Any, kind: str, name: str, other: Any = None, /, **fields: Any) -> Any:
    """A derivation with one of its `kind`, such as "variables", declared otherwise."""
    return with_setting(plan, **{kind: among(getattr(plan.setting, kind), name, other, **fields)})


def with_axiom(plan: Any, name: str, axiom: Any = None) -> Any:
    """A derivation with another assumption of this name, or without it."""
    others = {key: each for key, each in plan.axioms.items() if key != name}
    return replace(plan, axioms=others if axiom is None else {**others, name: axiom})


def with_quantity(plan: Any, name: str, meaning: Any) -> Any:
    return replace(plan, quantities=among(plan.quantities, name, meaning=meaning))


def with_stated(theorem: Any, kind: str, name: str, other: Any = None, /, **fields: Any) -> Any:
    """A theorem whose default statement has one of its `kind`, such as "terms", otherwise."""
    statement = theorem.statement()
    return with_statement(theorem, replace(statement, **{kind: among(getattr(statement, kind), name, other, **fields)}))


def with_entry(theorem: Any, name: str, other: Any = None, /, **fields: Any) -> Any:
    """A theorem with one entry of its list of assumptions otherwise."""
    return replace(theorem, assumptions=among(theorem.assumptions, name, other, **fields))


def with_method(theorem: Any, name: str = "", /, **formulas: str) -> Any:
    """A theorem with another method, or with one that gets other formulas; what has an empty one is left to the method."""
    symbols = {binding.name: binding.symbol for binding in theorem.notation} | {"t": STEP}
    values = {**theorem.method.values, **{key: text and read_formula(text, symbols) for key, text in formulas.items()}}
    given = {key: value for key, value in values.items() if value != ""}
    return replace(theorem, method=replace(theorem.method, name=name or theorem.method.name, values=given))


def refused(theorem: Any, plan: Any, why: str) -> None:
    """The kernel refuses the derivation of a theorem, and says why."""
    found = verdict(plan, theorem)
    assert not found.accepted, "accepted"
    assert why in found.failure, found.failure
