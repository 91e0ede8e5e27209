"""A corollary at points: the conditions of its theorem hold there, and the bound of the theorem is at most that of the corollary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import sympy as sp

from ...bounds.evaluation.enclosure import EnclosureError, enclose_bound
from ...bounds.evaluation.evaluate import bound, complete, exact, fraction_of
from ...bounds.language.notation import STEP
from ...bounds.language.reading import InputError
from ...bounds.language.theorem import Statement, Theorem
from ...bounds.proof.kernel import Corollary

DRAWS = 200
FACTORS = tuple(Fraction(2) ** (12 * k) for k in (-1, 0, 0, 1))
"""Powers of 2^12, whose square, cube and fourth roots are rational."""


@dataclass(frozen=True)
class Point:
    """Values of the corollary's symbols, and what the theorem says there."""

    values: Mapping[str, Fraction]
    theorem: str
    broken: str
    left: float
    right: float

    @property
    def holds(self) -> bool:
        return not self.broken and self.left <= self.right

    def __str__(self) -> str:
        where = ", ".join(f"{name} = {value}" for name, value in self.values.items())
        said = self.broken or f"the bound of the theorem is {self.left:.12g}, that of the corollary {self.right:.12g}"
        return f"schedule of {self.theorem} (the schedule at points): {said}, at {where}"


def points(plan: Corollary, theorem: Theorem, label: str) -> Iterator[Point]:
    """Points at which the corollary's conditions hold: its own point inside and random multiples; symbols are matched by quantity."""
    own, parent = theorem.statement(label), plan.theorem.statement(plan.label)
    rng = Random(f"{theorem.id} {label}")
    seen: set[tuple[Any, ...]] = set()
    for draw in range(DRAWS):
        factors = {name: rng.choice(FACTORS) if draw else Fraction(1) for name in own.symbols}
        values = {n: v * factors[n] for n, v in plan.inside.items() if n in own.symbols}
        key = tuple(values.items())
        found = None if key in seen else _at(own, values)
        seen.add(key)
        if found is not None:
            yield _compared(own, parent, values, found)


def _at(own: Statement, values: Mapping[str, Fraction]) -> dict[str, Fraction] | None:
    """The values of all symbols, where they are rational and the conditions hold."""
    try:
        fixed = {str(condition.left) for condition in own.conditions if condition.relation == "=="}
        free = {n: v for n, v in values.items() if n not in fixed}
        if any(own.symbols[n].symbol.is_integer and v.denominator > 1 for n, v in free.items()):
            return None
        point = complete(own, free)
        found = {name: sp.nsimplify(point[binding.symbol]) for name, binding in own.symbols.items()}
        if not all(value.is_Rational for value in found.values()):
            return None
        numbers = {name: fraction_of(value) for name, value in found.items()}
        return numbers if bound(own, numbers, strict=False).admissible else None
    except (InputError, EnclosureError):
        return None


def _compared(
    own: Statement, parent: Statement, values: Mapping[str, Fraction], found: Mapping[str, Fraction]
) -> Point:
    by_quantity = {own.symbols[name].quantity.name: value for name, value in found.items()}
    given = {name: by_quantity.get(b.quantity.name, Fraction(1)) for name, b in parent.symbols.items()}
    name = parent.theorem.id
    try:
        result = bound(parent, given, strict=False)
        left, right = enclose_bound(parent, given)["total"].lower, enclose_bound(own, found)["total"].upper
    except (InputError, EnclosureError) as error:
        return Point(values, name, f"the theorem has no bound: {error}", 0.0, 0.0)
    broken = "" if result.admissible else f"the conditions of {name} fail"
    broken = broken or _other_run(own.theorem, parent.theorem, found, given)
    return Point(values, name, broken if left <= right else "", float(left), float(right))


def _other_run(own: Theorem, parent: Theorem, found: Mapping[str, Fraction], given: Mapping[str, Fraction]) -> str:
    """What the method of the corollary is given that its theorem's is not, at these values."""
    ours, theirs = _given(own, found), _given(parent, given)
    other = sorted(name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name))
    return "".join(f"the method is given {n} = {ours.get(n)}, in {parent.id} {theirs.get(n)}" for n in other[:1])


def _given(theorem: Theorem, values: Mapping[str, Fraction]) -> dict[str, Any]:
    """The method's name, options and hyperparameters at values of the symbols; what depends on the step at two steps."""
    if theorem.method is None:
        return {}
    known = ((b.symbol, values[b.name]) for b in theorem.notation if b.name in values)
    point = {symbol: exact(v) for symbol, v in known}
    formulas = {name: sp.sympify(formula).xreplace(point) for name, formula in theorem.method.values.items()}
    at = {name: tuple(formula.subs(STEP, t) for t in (0, 5)) for name, formula in formulas.items()}
    return {**at, **theorem.method.options, "method": theorem.method.name}
