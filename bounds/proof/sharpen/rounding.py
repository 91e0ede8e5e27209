"""From a point in floating point to exact multipliers: rounded, then the equations repaired with the unknowns that have most room."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq

from .optimise import Point
from .presolve import RIGHT, Line, Unknown, flint, fraction, lines_of, reduced, squares_of, unknowns_of
from .program import Program

Squares = tuple[tuple[Fraction, tuple[Fraction, ...]], ...]
"""(d, coefficients of the vectors) each: d ||c_1 v_1 + c_2 v_2 + ...||^2 is left out."""


class NotExact(ValueError):
    """What was rounded is no solution."""


@dataclass(frozen=True)
class Solution:
    """Exact values of the columns, the matrices as squares, and the number on the right."""

    columns: tuple[Fraction, ...]
    squares: tuple[Squares, ...]
    bound: Fraction


def exact(program: Program, point: Point, digits: int) -> Solution:
    """
    Args:
        digits: to which the unknowns are rounded first.

    Raises:
        NotExact: a number that has to be nonnegative is not.
    """
    unknowns = unknowns_of(program)
    values = _repaired(program, unknowns, point, digits)
    width = len(program.columns)
    columns = tuple(values[:width])
    for column, value in zip(program.columns, columns, strict=True):
        if value < 0 and not column.signed:
            raise NotExact(f"the multiplier of {column.premise} is negative")
    squares, place = [], width
    for gram in program.grams:
        cells = {(i, j): flint(values[place + k]) for k, (i, j, _) in enumerate(gram.cells)}
        found = squares_of(len(gram.vectors), cells)
        if found is None:
            raise NotExact("a matrix is not positive semidefinite")
        squares.append(tuple((fraction(d), tuple(map(fraction, direction))) for d, direction in found))
        place += len(gram.cells)
    right = program.goal.get(program.objective, Fraction(0))
    for value, unknown in zip(values, unknowns, strict=True):
        right += -value * unknown.table.get(program.objective, Fraction(0))
    return Solution(columns, tuple(squares), right)


def _room(program: Program, point: Point) -> list[tuple[float, float]]:
    """(value, room) of each unknown."""
    found = []
    for column, value in zip(program.columns, point.columns, strict=True):
        found.append((float(value), float("inf") if column.signed else float(value)))
    for gram, square in zip(program.grams, point.grams, strict=True):
        found += [(float(square[i, j]), max(float(square[i, i] * square[j, j]), 0.0) ** 0.5) for i, j, _ in gram.cells]
    return found


def _repaired(program: Program, unknowns: list[Unknown], point: Point, digits: int) -> list[Fraction]:
    """Rounded values that satisfy every equation; those that are changed are the ones with most room."""
    near = _room(program, point)
    sizes = [max((abs(float(c)) for c in unknown.table.values()), default=0.0) for unknown in unknowns]
    order = [(room == float("inf"), room * size) for (_, room), size in zip(near, sizes, strict=True)]
    pivots: dict[int, Line] = {}
    left, _ = lines_of(program, unknowns)
    while left:
        left.sort(key=len)
        line, *left = left
        own = [k for k in line if k != RIGHT]
        if not own:
            if line:
                raise NotExact("an equation that no unknown satisfies")
            continue
        pivot = max(own, key=lambda k: order[k])
        left = [reduced(other, pivot, line) if pivot in other else other for other in left]
        pivots = {k: reduced(other, pivot, line) if pivot in other else other for k, other in pivots.items()}
        pivots[pivot] = line
    largest = max([abs(value) for value, _ in near] or [1.0])
    values = [_rounded(value, largest, digits) for value, _ in near]
    for pivot, line in pivots.items():
        total = line.get(RIGHT, fmpq(0))
        for k, c in line.items():
            if k not in (pivot, RIGHT):
                total -= c * flint(values[k])
        values[pivot] = fraction(total / line[pivot])
    return values


def _rounded(value: float, largest: float, digits: int) -> Fraction:
    """To a number of digits of its own; 0 where it is nothing beside the largest."""
    if abs(value) < largest * 1e-13:
        return Fraction(0)
    return Fraction(f"{value:.{digits}g}")
