"""A statement with its constants put in: what is left to choose, under which conditions, and what follows from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf
from typing import Any

import sympy as sp

from ..cost.resources import resources
from ..evaluation.evaluate import exact, holds
from ..language.notation import Binding
from ..language.reading import InputError, missing_values, read_values
from ..language.theorem import RANGE, Condition, Statement
from ..region.conditions import first_solved, split_extrema, symbols_of, without_multiples
from .posynomial import Converter, Posynomial, condition_limits

GIVEN = frozenset(
    (
        "clients",
        "participation",
        "sampled_clients",
        "failure_probability",
        "fine_tuning_steps",
        "fine_tuning_step_size",
        "difference_step",
        "hidden_constant",
    )
)
"""Quantities that belong to the problem or to the set-up: a tuner does not choose them."""


LEAST_DISTANCE = 1e-9
"""Least distance from the end of an open domain, relative to that end."""


class VanishingError(InputError):
    """The statement says nothing at the values given."""


@dataclass(frozen=True)
class Model:
    """What a tuner sees of a statement.

    Args:
        free: the hyperparameters to choose.
        determined: hyperparameters that an equality condition of the statement fixes, as formulas in the free ones.
        terms, conditions, costs: in the free symbols, constants put in.
        values: what the user gave, exactly.
    """

    statement: Statement
    values: Mapping[str, Fraction]
    free: tuple[Binding, ...]
    determined: Mapping[str, sp.Expr]
    terms: Mapping[str, sp.Expr]
    conditions: tuple[Condition, ...]
    costs: Mapping[str, sp.Expr]

    @property
    def whole(self) -> tuple[str, ...]:
        """Free hyperparameters that are whole numbers."""
        return tuple(binding.name for binding in self.free if binding.quantity.numbers.whole)

    @property
    def real(self) -> tuple[str, ...]:
        return tuple(binding.name for binding in self.free if not binding.quantity.numbers.whole)

    def box(self) -> dict[str, tuple[float, float]]:
        """Where each free hyperparameter may be, without 0, and without the end of an open domain."""
        domains = {binding.name: binding.quantity.numbers for binding in self.free}
        ends = {name: inf if d.most is None else d.most * (1 - LEAST_DISTANCE * d.open) for name, d in domains.items()}
        return {name: (float(domain.whole), float(ends[name])) for name, domain in domains.items()}

    def total(self) -> sp.Expr:
        return sp.Add(*self.terms.values())

    def limits(self, converter: Converter) -> list[tuple[str, Posynomial]]:
        """The conditions as `posynomial <= 1`; in a lower bound, one that has no such form is left out."""
        return condition_limits(self.conditions, converter)


def model(
    statement: Statement,
    values: Mapping[str, Any],
    *,
    also_free: frozenset[str] = frozenset(),
    follow_schedule: bool = False,
) -> Model:
    """The model of a statement for given constants; hyperparameters that are given stay fixed.

    Args:
        also_free: quantities of GIVEN that may be left open here.
        follow_schedule: take the statement's schedule for what is not given, even where its conditions leave a choice.

    Raises:
        InputError: unknown symbol, bad value, a constant missing, no terms, or nothing left to choose.
    """
    bindings = statement.symbols
    numbers = read_values(bindings, values, statement.name)
    _check(statement, numbers, also_free)
    point = {bindings[name].symbol: exact(number) for name, number in numbers.items()}
    ends = {f"{RANGE}{name}" for name, b in bindings.items() if b.quantity.numbers.most is not None}  # are in the box
    asked = [c for c in without_multiples(statement) if c.name not in ends]
    conditions = [c.each_side(lambda side: statement.at(side, point)) for c in asked]
    if follow_schedule:
        conditions += [
            Condition(f"schedule of {name}", bindings[name].symbol, "==", statement.at(expr, point))
            for name, expr in statement.schedule.items()
            if name not in numbers
            and not any(c.relation == "==" and c.left == bindings[name].symbol for c in conditions)
        ]
    terms = {term.name: statement.at(term.expr, point) for term in statement.terms}
    if name := next((name for name, term in terms.items() if term.has(sp.zoo, sp.nan, sp.oo)), None):
        raise VanishingError(f"{statement.name}: the term {name} has a denominator of 0 at the values given")
    costs = {name: expr.xreplace(point) for name, expr in resources(statement).items()}
    made = Model(
        statement,
        numbers,
        tuple(binding for name, binding in bindings.items() if name not in numbers),
        {},
        terms,
        tuple(conditions),
        costs,
    )
    for condition in (c.at(point) for c in statement.multiples):
        if not condition.left.free_symbols and not holds(condition):
            raise InputError(f"{condition.name}: the values given violate {statement.condition(condition.name)}")
    return _without_extrema(_without_equalities(made))


def _check(statement: Statement, numbers: Mapping[str, Fraction], also_free: frozenset[str]) -> None:
    bindings = statement.symbols
    if not statement.terms:
        raise InputError(f"{statement.name}: bounds nothing (it has no terms), so there is nothing to minimise")
    missing = [name for name, b in bindings.items() if name not in numbers and not _chosen(b, also_free)]
    if missing:
        raise missing_values(bindings, missing)


def _chosen(binding: Binding, also_free: frozenset[str]) -> bool:
    """Whether a tuner may choose this symbol."""
    quantity = binding.quantity
    return quantity.role == "hyperparameter" and (quantity.name not in GIVEN or quantity.name in also_free)


def _without_equalities(made: Model) -> Model:
    """Use each equality condition to express one hyperparameter by the others."""
    while equality := next((c for c in made.conditions if c.relation == "=="), None):
        rest = tuple(c for c in made.conditions if c is not equality)
        free = {binding.symbol for binding in made.free}
        if not symbols_of(equality) & free:
            if not holds(equality):
                raise InputError(f"{equality.name}: wanted {equality}; the values given do not satisfy it")
            made = replace(made, conditions=rest)
            continue
        inside = symbols_of(equality) & free
        found = first_solved(equality, sorted(inside, key=lambda s: (s != equality.left, bool(s.is_integer), str(s))))
        if found is None:
            raise InputError(f"{equality.name}: cannot solve {equality} for a hyperparameter")
        made = _substituted(replace(made, conditions=rest), *found)
    return made


def _substituted(made: Model, symbol: sp.Symbol, formula: sp.Expr) -> Model:
    table = {symbol: formula}
    determined = {name: expr.xreplace(table) for name, expr in made.determined.items()}
    return replace(
        made,
        free=tuple(binding for binding in made.free if binding.symbol != symbol),
        determined={**determined, str(symbol): formula},
        terms={name: expr.xreplace(table) for name, expr in made.terms.items()},
        conditions=tuple(c.at(table) for c in made.conditions),
        costs={name: expr.xreplace(table) for name, expr in made.costs.items()},
    )


def _without_extrema(made: Model) -> Model:
    """Split `x <= min(a, b)`; drop what holds as numbers; a condition on numbers alone that fails is the user's
    error."""
    kept = []
    for condition in split_extrema(list(made.conditions)):
        if symbols_of(condition):
            kept.append(condition)
        elif not holds(condition):
            raise InputError(_violated(made, condition))
    return replace(made, conditions=tuple(kept))


def _violated(made: Model, condition: Condition) -> str:
    name = condition.name.partition("[")[0]
    declared = made.statement.condition(name)
    sides = f"wanted {condition.relation} {float(condition.right):.10g}, got {float(condition.left):.10g}"
    why = f" ({declared.note})" if name.startswith(RANGE) else ""
    return f"{name}: the values given violate {declared}: {sides}{why}"
