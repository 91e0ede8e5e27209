"""A statement as numpy functions of its symbols: schedule, bound, conditions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from ...bounds.evaluation.evaluate import fraction_of, in_doubles
from ...bounds.language.change import Change
from ...bounds.language.power import Power
from ...bounds.language.theorem import Condition, Statement, Theorem
from ...bounds.registry import get_theorem as find

Array = np.ndarray
_CONTRARY = {"<=": ">", "<": ">=", ">=": "<", ">": "<="}
LENGTHS = ("iterations", "rounds")
"""The quantities that say how long a run is."""


@dataclass(frozen=True)
class Sides:
    """The bound, whether the conditions hold, and by how much the worst of them fails (relative to its sides, at least 0)."""

    bound: Array
    admissible: Array
    excess: Array


@dataclass(frozen=True)
class Formula:
    """A statement compiled once for one search.

    Args:
        outside: a condition that no instance may meet. How large a step may be does not depend on it.
    """

    theorem: Theorem
    label: str
    outside: Condition | None = None

    @property
    def statement(self) -> Statement:
        return self.theorem.statement(self.label)

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """The statement's own, and those of the theorem that it follows from, where their symbols are the statement's.

        A corollary that leaves out its theorem's conditions is attacked where they hold: the charitable reading.
        """
        own = tuple(condition.each_side(self.statement.expand) for condition in self.statement.stated)
        return (*own, *self.inherited)

    @cached_property
    def inherited(self) -> tuple[Condition, ...]:
        """The conditions of the theorem that a corollary follows from, in the corollary's symbols.

        What the theorem chooses and the corollary chooses for itself is the corollary's choice.
        """
        if self.theorem.follows_from is None:
            return ()
        general = find(self.theorem.follows_from[0])
        parent = general.statement(general.first)
        known = {self.theorem.notation[name].symbol for name in self.names}
        kept = [c for c in parent.conditions if not (c.relation == "==" and str(c.left) in self.determined)]
        expanded = (condition.each_side(parent.expand) for condition in kept)
        return tuple(c for c in expanded if (c.left.free_symbols | c.right.free_symbols) <= known)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(self.theorem.symbols(self.label))

    @cached_property
    def determined(self) -> dict[str, sp.Expr]:
        """Symbols that the statement fixes: by its schedule, or by an equality with a symbol on its left."""
        fixed = dict(self.statement.schedule)
        for condition in self.statement.conditions:
            is_choice = condition.relation == "==" and condition.left.is_Symbol
            if is_choice and str(condition.left) not in fixed:
                fixed[str(condition.left)] = condition.right
        return fixed

    @cached_property
    def fixed(self) -> dict[str, Fraction]:
        """The symbols that the statement sets to a number."""
        expanded = {name: self.statement.expand(expr) for name, expr in self.determined.items()}
        return {name: fraction_of(e) for name, e in expanded.items() if e.is_Rational}

    def chosen(self, values: Mapping[str, Fraction]) -> dict[str, Fraction]:
        """The symbols that an equality fixes and no schedule sets, exactly; those that come out irrational are left out."""
        found: dict[str, Fraction] = {}
        for name, expr in self.determined.items():
            if name not in self.statement.schedule:
                known = {**values, **found}
                point = {s: sp.Rational(known[str(s)]) for s in self.statement.symbols_of(expr) if str(s) in known}
                value = self.statement.at(expr, point)
                if value.is_Rational:
                    found[name] = fraction_of(value)
        return found

    @cached_property
    def _completions(self) -> dict[str, tuple[tuple[str, ...], Any]]:
        made = {}
        for name, expr in self.determined.items():
            expanded = self.statement.expand(expr)
            needs = tuple(sorted(str(symbol) for symbol in expanded.free_symbols))
            arguments = [self.theorem.notation[need].symbol for need in needs]
            made[name] = needs, in_doubles(arguments, expanded)
        return made

    def complete(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values with those that the statement determines."""
        known, pending = dict(values), [name for name in self._completions if name not in values]
        for _ in range(len(pending)):
            for name in list(pending):
                needs, function = self._completions[name]
                if all(need in known for need in needs):
                    known[name] = function(*(np.asarray(known[need], dtype=float) for need in needs))
                    pending.remove(name)
        return known

    @cached_property
    def is_exponential(self) -> bool:
        """Whether the bound has a power in the length of a run."""
        lengths = {b.symbol for b in self.theorem.symbols(self.label).values() if b.quantity.name in LENGTHS}
        terms = [self.statement.expand(term.expr) for term in self.statement.terms]
        return any(power.args[1].free_symbols & lengths for term in terms for power in term.atoms(Power))

    @cached_property
    def _terms(self) -> Any:
        return self.compiled([self.statement.expand(term.expr) for term in self.statement.terms])

    def terms(self, values: Mapping[str, Any]) -> list[Array]:
        """The terms one by one, at arrays that broadcast against each other."""
        with np.errstate(all="ignore"):
            return [np.asarray(term, dtype=float) for term in self._terms(*self.arrays(values))]

    @cached_property
    def _derived(self) -> Any:
        return self.compiled([self.statement.expand(item.expr) for item in self.statement.derived])

    def derived(self, values: Mapping[str, Any]) -> dict[str, Array]:
        """The derived constants by name."""
        with np.errstate(all="ignore"):
            found = self._derived(*self.arrays(values))
        names = [item.name for item in self.statement.derived]
        return {name: np.asarray(value, dtype=float) for name, value in zip(names, found, strict=True)}

    @cached_property
    def _ends(self) -> Any:
        return self.compiled([side for condition in self._judged for side in (condition.left, condition.right)])

    @cached_property
    def _judged(self) -> tuple[Condition, ...]:
        """The conditions, and last the contrary of the one that is not to be met."""
        if self.outside is None:
            return self.conditions
        contrary = self.outside.each_side(self.statement.expand)
        return (*self.conditions, replace(contrary, relation=_CONTRARY[contrary.relation]))

    def compiled(self, outputs: list[sp.Expr]) -> Any:
        arguments = [self.theorem.notation[name].symbol for name in self.names]
        return in_doubles(arguments, outputs)

    def sides(self, values: Mapping[str, Any]) -> Sides:
        """The bound and the conditions at arrays that broadcast against each other."""
        arrays = self.arrays(values)
        shape = np.broadcast_shapes(*(a.shape for a in arrays))
        with np.errstate(all="ignore"):
            bound = np.broadcast_to(sum(self.terms(values), np.zeros(())), shape)
        admissible, excess = self._met(arrays, self.conditions)
        return Sides(bound, admissible & np.isfinite(bound), excess)

    def admits(self, values: Mapping[str, Any]) -> Array:
        """Whether the conditions hold."""
        return self._met(self.arrays(values), self.conditions)[0]

    def met(self, values: Mapping[str, Any]) -> tuple[Array, Array]:
        """Whether the conditions hold and the instance is where it is looked for, and the largest excess."""
        return self._met(self.arrays(values), self._judged)

    def arrays(self, values: Mapping[str, Any]) -> list[Array]:
        return [np.asarray(values[name], dtype=float) for name in self.names]

    def _met(self, arrays: list[Array], conditions: Sequence[Condition]) -> tuple[Array, Array]:
        """Whether all these conditions hold, and the largest excess."""
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
        admissible, excess = np.ones(shape, dtype=bool), np.zeros(shape)
        with np.errstate(all="ignore"):
            ends = self._ends(*arrays)
        for condition, left, right in zip(conditions, ends[::2], ends[1::2], strict=False):
            holds, over = _judge(condition.relation, np.asarray(left, dtype=float), np.asarray(right, dtype=float))
            admissible &= holds
            excess = np.maximum(excess, np.where(holds, 0.0, over))
        return admissible, excess


def _judge(relation: str, left: Array, right: Array) -> tuple[Array, Array]:
    """Whether `left relation right` holds, and its excess relative to the larger side; a NaN never holds."""
    with np.errstate(all="ignore"):
        over = (left - right) / (np.abs(left) + np.abs(right) + 1e-300)
    over = np.abs(over) if relation == "==" else -over if relation in (">", ">=") else over
    over = np.where(np.isnan(over), 1.0, over)
    if relation == "==":
        return over <= 1e-9, over
    return (over < 0 if relation in ("<", ">") else over <= 0), np.maximum(over, 0.0)


@dataclass(frozen=True)
class Panel:
    """A statement, or several that each differ from it in one term: what one run says of all of them.

    Symbols, schedule and conditions are those of the statement itself, so that its instances are theirs.

    Args:
        changes: of one term each; None is the statement as it stands.
    """

    formula: Formula
    changes: tuple[Change | None, ...] = (None,)

    @cached_property
    def _places(self) -> tuple[tuple[int, int | None], ...]:
        """For each change the place of its term, and that of the expression which replaces it; None where it is dropped."""
        names, used = [term.name for term in self.formula.statement.terms], 0
        found: list[tuple[int, int | None]] = []
        for change in self.changes:
            if change is None:
                found.append((-1, None))
            elif change.way == "dropped":
                found.append((names.index(change.part), None))
            else:
                found.append((names.index(change.part), used))
                used += 1
        return tuple(found)

    @cached_property
    def _replacing(self) -> Any:
        statement = self.formula.statement
        made = []
        for change, (place, used) in zip(self.changes, self._places, strict=True):
            if change is not None and used is not None:
                made.append(statement.expand(change.of(statement).terms[place].expr))
        return self.formula.compiled(made)

    def terms(self, values: Mapping[str, Any], terms: Sequence[Array]) -> Iterator[list[Array]]:
        """For each change the terms of the changed statement, from those of the statement itself at the same values."""
        with np.errstate(all="ignore"):
            other = [np.asarray(term, dtype=float) for term in self._replacing(*self.formula.arrays(values))]
        for place, used in self._places:
            new = [] if used is None else [other[used]]
            yield list(terms) if place < 0 else [*terms[:place], *new, *terms[place + 1 :]]
