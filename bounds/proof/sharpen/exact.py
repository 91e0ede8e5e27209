"""A program in exact numbers: made smaller before it is solved, and a solution in floating point made exact.

First unknowns of any sign are eliminated, and what signs alone show to be 0 is left out; so what is solved in floating point has no
redundant equation, and room on both sides of what stays. What comes back is rounded, and the equations are repaired with the unknowns
that have most room.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from flint import fmpq

from ...evaluation.enclosure import fmpq_of
from ...evaluation.evaluate import fraction_of
from .program import Gram, Program, Table

Line = dict[int, fmpq]
"""Unknown -> coefficient; the number on the right stands at `RIGHT`."""
RIGHT = -1


@dataclass(frozen=True)
class Unknown:
    """A column, or a cell of a Gram matrix (which, row, column)."""

    table: Table
    signed: bool
    gram: int = -1
    cell: tuple[int, int] = (0, 0)


def unknowns_of(program: Program) -> list[Unknown]:
    """The columns, then the cells of the matrices."""
    found = [Unknown(column.table, column.signed) for column in program.columns]
    for g, gram in enumerate(program.grams):
        found += [Unknown(table, False, g, (i, j)) for i, j, table in gram.cells]
    return found


def lines_of(program: Program, unknowns: Sequence[Unknown]) -> tuple[list[Line], Line]:
    """The equations, and the number that is to be least with the opposite sign."""
    rows: dict[object, Line] = {row: {} for row in (*program.rows, program.objective)}
    for k, unknown in enumerate(unknowns):
        for row, c in unknown.table.items():
            rows[row][k] = fmpq_of(c)
    for row, c in program.goal.items():
        rows[row][RIGHT] = fmpq_of(c)
    objective = rows.pop(program.objective)
    return list(rows.values()), objective


@dataclass(frozen=True)
class Core:
    """A program without the unknowns of any sign: `lines` are independent equations in the others."""

    program: Program
    lines: tuple[Line, ...]
    objective: Line

    @property
    def unknowns(self) -> list[Unknown]:
        return unknowns_of(self.program)


def core(program: Program) -> Core:
    """The program without what is 0 by signs alone, with unknowns of any sign eliminated."""
    while True:
        unknowns = unknowns_of(program)
        lines, objective = lines_of(program, unknowns)
        for k, unknown in enumerate(unknowns):
            if unknown.gram < 0 and unknown.signed:
                lines, objective = _without(k, lines, objective)
        smaller = _without_zeros(program, unknowns, lines)
        if smaller is None:
            return Core(program, tuple(independent(lines)), objective)
        program = smaller


def _without(k: int, lines: list[Line], objective: Line) -> tuple[list[Line], Line]:
    """An unknown put in from the shortest equation that has it, which is used up."""
    having = [line for line in lines if k in line]
    if not having:
        return lines, objective
    pivot = min(having, key=len)
    rest = [reduced(line, k, pivot) if k in line else line for line in lines if line is not pivot]
    return [line for line in rest if line], reduced(objective, k, pivot) if k in objective else objective


def reduced(line: Line, k: int, pivot: Line) -> Line:
    """A line less the multiple of another one that cancels an unknown."""
    found, factor = dict(line), line[k] / pivot[k]
    for j, c in pivot.items():
        changed = found.get(j, 0) - factor * c
        if changed == 0:
            found.pop(j, None)
        else:
            found[j] = changed
    return found


def independent(lines: list[Line]) -> list[Line]:
    """Equations from which all others follow."""
    kept: list[Line] = []
    left = [(line, line) for line in sorted(lines, key=len)]
    while left:
        (own, line), *left = left
        if not any(k != RIGHT for k in line):
            if line:
                kept.append(own)  # 0 = 1: the solver will say so
            continue
        kept.append(own)
        k = min(j for j in line if j != RIGHT)
        left = [(first, reduced(other, k, line) if k in other else other) for first, other in left]
    return kept


def _without_zeros(program: Program, unknowns: list[Unknown], lines: list[Line]) -> Program | None:
    """Without the unknowns, and the directions of matrices, of which an equation says that a sum of what is nonnegative is 0."""
    columns: set[int] = set()
    flat: dict[int, list[list[fmpq]]] = {}
    for line in lines:
        if line.get(RIGHT, 0) == 0:
            for sign in (1, -1):
                found = _sum_of_nonnegative(program, unknowns, line, sign)
                if found is not None:
                    columns |= found[0]
                    for g, directions in found[1].items():
                        flat.setdefault(g, []).extend(directions)
                    break
    if not columns and not flat:
        return None
    grams = tuple(_across_all(gram, flat.get(g, [])) for g, gram in enumerate(program.grams))
    return replace(program, columns=tuple(c for k, c in enumerate(program.columns) if k not in columns), grams=grams)


def _sum_of_nonnegative(
    program: Program, unknowns: list[Unknown], line: Line, sign: int
) -> tuple[set[int], dict[int, list[list[fmpq]]]] | None:
    """The columns and the directions in an equation in which all is nonnegative, or None."""
    columns: set[int] = set()
    matrices: dict[int, dict[tuple[int, int], fmpq]] = {}
    for k, c in line.items():
        if k == RIGHT:
            continue
        unknown = unknowns[k]
        if unknown.gram < 0:
            if unknown.signed or c * sign < 0:
                return None
            columns.add(k)
        else:
            i, j = unknown.cell
            matrices.setdefault(unknown.gram, {})[i, j] = c * sign / (1 if i == j else 2)
    flat = {}
    for g, cells in matrices.items():
        directions = squares_of(len(program.grams[g].vectors), cells)
        if directions is None:
            return None
        flat[g] = [direction for _, direction in directions]
    return columns, flat


def squares_of(n: int, cells: Mapping[tuple[int, int], fmpq]) -> list[tuple[fmpq, list[fmpq]]] | None:
    """L D L^T of a symmetric matrix, given by its cells (i, j) with i >= j; None where it is not positive semidefinite."""
    used = sorted({i for cell, c in cells.items() if c != 0 for i in cell})
    matrix = {(i, j): cells.get((max(i, j), min(i, j)), fmpq(0)) for i in used for j in used}
    found = []
    for place, k in enumerate(used):
        pivot, rest = matrix[k, k], used[place + 1 :]
        if pivot < 0 or (pivot == 0 and any(matrix[i, k] != 0 for i in rest)):
            return None
        if pivot == 0:
            continue
        column = {i: matrix[i, k] / pivot for i in rest}
        for i in rest:
            for j in rest:
                matrix[i, j] -= column[i] * column[j] * pivot
        found.append((pivot, [fmpq(1) if i == k else column.get(i, fmpq(0)) for i in range(n)]))
    return found


def _across_all(gram: Gram, directions: list[list[fmpq]]) -> Gram:
    """With the vectors for which all these directions are 0."""
    left = [list(direction) for direction in directions]
    while left:
        direction = left.pop()
        most = next((i for i, c in enumerate(direction) if c != 0), None)
        if most is None:
            continue
        ratios = [c / direction[most] for c in direction]
        gram = across(gram, most, [fraction_of(c) for c in ratios])
        for other in left:
            factor = other[most]
            for i, c in enumerate(ratios):
                other[i] -= factor * c
            del other[most]
    return gram


def without(gram: Gram, gone: set[int]) -> Gram:
    """Without some of the vectors."""
    left = [i for i in range(len(gram.vectors)) if i not in gone]
    place = {old: new for new, old in enumerate(left)}
    cells = tuple((place[i], place[j], table) for i, j, table in gram.cells if i in place and j in place)
    return Gram(gram.claim, tuple(gram.vectors[i] for i in left), cells)


def across(gram: Gram, most: int, ratios: Sequence[Fraction]) -> Gram:
    """With vectors for which a direction, the sum of ratio times vector with ratio 1 at `most`, is 0."""
    left = [i for i in range(len(ratios)) if i != most]
    vectors = tuple(gram.vectors[i] - ratios[i] * gram.vectors[most] if ratios[i] else gram.vectors[i] for i in left)
    inner = {(i, j): table for i, j, table in gram.cells} | {(j, i): table for i, j, table in gram.cells}
    halves = {ij: {row: c / (1 if ij[0] == ij[1] else 2) for row, c in table.items()} for ij, table in inner.items()}
    cells = []
    for a, i in enumerate(left):
        for b, j in enumerate(left[: a + 1]):
            parts = (
                (1, (i, j)),
                (-ratios[j], (i, most)),
                (-ratios[i], (most, j)),
                (ratios[i] * ratios[j], (most, most)),
            )
            total: Table = {}
            for factor, ij in parts:
                for row, c in halves[ij].items() if factor else ():
                    total[row] = total.get(row, Fraction(0)) + factor * c * (1 if a == b else 2)
            cells.append((a, b, {row: c for row, c in total.items() if c}))
    return Gram(gram.claim, vectors, tuple(cells))


# --- from a point to exact multipliers ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """Values of the columns (0 for those of any sign, which are eliminated) and of the matrices, and the number on the right."""

    columns: np.ndarray
    grams: tuple[np.ndarray, ...]
    bound: float
    room: float = 0.0
    sizes: tuple[np.ndarray, ...] = ()
    """In which the vectors of each matrix are measured."""


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
        cells = {(i, j): fmpq_of(values[place + k]) for k, (i, j, _) in enumerate(gram.cells)}
        found = squares_of(len(gram.vectors), cells)
        if found is None:
            raise NotExact("a matrix is not positive semidefinite")
        squares.append(tuple((fraction_of(d), tuple(map(fraction_of, direction))) for d, direction in found))
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
                total -= c * fmpq_of(values[k])
        values[pivot] = fraction_of(total / line[pivot])
    return values


def _rounded(value: float, largest: float, digits: int) -> Fraction:
    """To a number of digits of its own; 0 where it is nothing beside the largest."""
    if abs(value) < largest * 1e-13:
        return Fraction(0)
    return Fraction(f"{value:.{digits}g}")
