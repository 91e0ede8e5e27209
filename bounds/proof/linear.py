"""Exact linear equations between expressions in the symbols. Nothing here need be trusted: the kernel checks what is made of the solution.

Which unknowns are 0, and which equations hold by themselves, is found at one point, modulo a prime; the others are then solved for.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

from .kernel.region import Region
from .kernel.signomial import ONE, ZERO, Param, ProofError, Signomial

_PRIME = 2**61 - 1
_ROOT = 12
"""A symbol is a 12th power at the point, so that its roots are numbers."""

_LARGEST = 100
"""Most terms of an equation while it is solved; a longer one is given up."""

Column = Mapping[Any, Signomial]
"""Row -> coefficient."""
Row = dict[int, Signomial]
"""Column -> coefficient."""


class NotSolved(ProofError):
    """There are no multipliers; the message says what is left over."""


class Point:
    """A point modulo a prime, the same in every process, at which the constants have the values of their formulas."""

    def __init__(self, region: Region):
        self.region, self.random = region, Random(1)
        self.roots: dict[Param, int] = {}
        self.formulas: dict[Param, int] = {}
        self.known: dict[Signomial, int] = {}

    def at(self, value: Signomial) -> int:
        if value not in self.known:
            self.known[value] = sum(self._term(*term) for term in value.terms) % _PRIME
        return self.known[value]

    def _term(self, monomial, coefficient: Fraction) -> int:
        found = coefficient.numerator * pow(coefficient.denominator, -1, _PRIME)
        for param, exponent in monomial:
            found = found * self._power(param, exponent) % _PRIME
        return found

    def _power(self, param: Param, exponent: int | Fraction) -> int:
        if param in self.region.formulas:
            whole = exponent / Fraction(self.region.powers.get(param, 1))
            if whole.denominator == 1:
                if param not in self.formulas:
                    self.formulas[param] = self.at(self.region.formulas[param])
                return pow(self.formulas[param], int(whole), _PRIME)
        if param not in self.roots:
            self.roots[param] = self.random.randrange(2, _PRIME)
        return pow(self.roots[param], int(exponent * _ROOT), _PRIME)


@dataclass(frozen=True)
class Profile:
    """What holds at the point: the rows that determine the unknowns, those that cannot hold, the unknowns that are not 0."""

    pivots: tuple[Hashable, ...]
    failed: tuple[Hashable, ...]
    support: tuple[int, ...]


def profile(point: Point, goal: Column, columns: Sequence[Column], rows: Sequence[Hashable], must: int) -> Profile:
    """Elimination at the point. The first `must` rows have to hold, the others where they can; the last unknowns are 0 if need be."""
    width = len(columns)
    by_row: dict[Hashable, dict[int, int]] = {}
    for k, column in enumerate((*columns, goal)):
        for row, value in column.items():
            by_row.setdefault(row, {})[k] = point.at(value)
    reduced: dict[int, dict[int, int]] = {}
    pivots: list[Hashable] = []
    failed: list[Hashable] = []
    for position, name in enumerate(rows):
        row = {k: c for k, c in by_row.get(name, {}).items() if c}
        for k in [k for k in row if k in reduced]:
            _subtract(row, reduced[k], row[k])
        pivot = min((k for k in row if k < width), default=None)
        if pivot is None:
            if row and position < must:
                failed.append(name)
            continue
        inverse = pow(row[pivot], -1, _PRIME)
        row = {k: c * inverse % _PRIME for k, c in row.items()}
        for other in reduced.values():
            if pivot in other:
                _subtract(other, row, other[pivot])
        reduced[pivot] = row
        pivots.append(name)
    return Profile(tuple(pivots), tuple(failed), tuple(sorted(k for k, row in reduced.items() if width in row)))


def _subtract(row: dict[int, int], other: dict[int, int], factor: int) -> None:
    for k, c in other.items():
        value = (row.get(k, 0) - factor * c) % _PRIME
        if value:
            row[k] = value
        else:
            row.pop(k, None)


def solution(goal: Column, columns: Sequence[Column], found: Profile) -> dict[int, Signomial]:
    """The unknowns that are not 0, from the rows that determine them.

    Raises:
        NotSolved: one is no sum of products of powers of the symbols.
    """
    wanted = set(found.support)
    left = []
    for name in found.pivots:
        row = {k: _positive(columns[k][name]) for k in found.support if name in columns[k]}
        if row:
            left.append((row, _positive(goal.get(name, ZERO))))
    order: list[tuple[int, Row, Signomial]] = []
    while wanted:
        costs = (
            (len(c.terms) > 1, len(row), len(c.terms), i, k) for i, (row, _) in enumerate(left) for k, c in row.items()
        )
        best = min(costs, default=None)
        if best is None:
            raise NotSolved("the multipliers are not determined")
        *_, i, k = best
        row, value = left.pop(i)
        order.append((k, row, value))
        wanted.discard(k)
        left = [_eliminated(k, other, (row, value)) if k in other[0] else other for other in left]
    values: dict[int, Signomial] = {}
    for k, row, value in reversed(order):
        for j, c in row.items():
            if j in values:
                value = value - c * values[j]
        values[k] = quotient(value, row[k])
    originals = {_twin(p): p for c in (*columns, goal) for v in c.values() for m, _ in v.terms for p, _ in m}
    return {k: _original(value, originals) for k, value in values.items()}


def _eliminated(k: int, other: tuple[Row, Signomial], row: tuple[Row, Signomial]) -> tuple[Row, Signomial]:
    """A row without the unknown k, multiplied by its coefficient in the other one where that has several terms."""
    pivot = row[0][k]
    scale, factor = (ONE, other[0][k] / pivot) if len(pivot.terms) == 1 else (pivot, other[0][k])
    table = {j: scale * c for j, c in other[0].items()}
    for j, c in row[0].items():
        table[j] = table.get(j, ZERO) - factor * c
    value = scale * other[1] - factor * row[1]
    if sum(len(c.terms) for c in (*table.values(), value)) > _LARGEST:
        raise NotSolved("the multipliers are too long to write")
    return {j: c for j, c in table.items() if c and j != k}, value


def _twin(param: Param) -> Param:
    """A positive parameter in the place of one that may be 0, to divide by on the way."""
    return param if param.positive else Param(param.name, True, False, param.moving, param.least)


def _positive(value: Signomial) -> Signomial:
    if all(p.positive for m, _ in value.terms for p, _ in m):
        return value
    return Signomial([(tuple((_twin(p), e) for p, e in m), c) for m, c in value.terms])


def _original(value: Signomial, originals: Mapping[Param, Param]) -> Signomial:
    try:
        return Signomial([(tuple((originals.get(p, p), e) for p, e in m), c) for m, c in value.terms])
    except ProofError as error:
        raise NotSolved(f"the multiplier {value!r}: {error}") from None


def quotient(above: Signomial, below: Signomial) -> Signomial:
    """above / below.

    Raises:
        NotSolved: that is no signomial.
    """
    if len(below.terms) == 1:
        return above / below
    names = sorted(above.params | below.params, key=lambda p: p.name)

    def order(term) -> list[int | Fraction]:
        exponents = dict(term[0])
        return [exponents.get(p, 0) for p in names]

    lead, found, rest = Signomial([max(below.terms, key=order)]), ZERO, above
    for _ in range(2 * len(above.terms) + 4):
        if not rest:
            return found
        term = Signomial([max(rest.terms, key=order)]) / lead
        found, rest = found + term, rest - term * below
    raise NotSolved(f"the multiplier ({above!r}) / ({below!r}) is no sum of products of powers")
