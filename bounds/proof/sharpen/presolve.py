"""A program made smaller before it is solved, exactly: unknowns of any sign are eliminated, and what signs alone show to be 0 is left out.

So what is solved in floating point has no redundant equation, and room on both sides of what stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import fmpq

from .ground import Table
from .program import Gram, Program

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

    @property
    def nonnegative(self) -> bool:
        return not self.signed if self.gram < 0 else self.cell[0] == self.cell[1]


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
            rows[row][k] = flint(c)
    for row, c in program.goal.items():
        rows[row][RIGHT] = flint(c)
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
        gone = _zero(lines, unknowns)
        if not gone:
            return Core(program, tuple(independent(lines)), objective)
        program = _smaller(program, unknowns, gone)


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


def _zero(lines: list[Line], unknowns: list[Unknown]) -> set[int]:
    """Nonnegative unknowns that an equation without anything of any sign shows to be 0."""
    gone: set[int] = set()
    vectors: set[tuple[int, int]] = set()
    left = [dict(line) for line in lines]
    while True:
        before = len(gone)
        for line in left:
            for k in [k for k in line if k != RIGHT and (k in gone or _on(unknowns[k], vectors))]:
                del line[k]
            own = [k for k in line if k != RIGHT]
            if not own or line.get(RIGHT, 0) != 0 or not all(unknowns[k].nonnegative for k in own):
                continue
            if len({line[k] > 0 for k in own}) == 1:
                gone |= set(own)
                vectors |= {(unknowns[k].gram, unknowns[k].cell[0]) for k in own if unknowns[k].gram >= 0}
        if len(gone) == before:
            return gone


def _on(unknown: Unknown, vectors: set[tuple[int, int]]) -> bool:
    return unknown.gram >= 0 and any((unknown.gram, i) in vectors for i in unknown.cell)


def _smaller(program: Program, unknowns: list[Unknown], gone: set[int]) -> Program:
    columns = tuple(column for k, column in enumerate(program.columns) if k not in gone)
    vectors: dict[int, set[int]] = {}
    for k in gone:
        if unknowns[k].gram >= 0:
            vectors.setdefault(unknowns[k].gram, set()).add(unknowns[k].cell[0])
    grams = tuple(without(gram, vectors.get(g, set())) for g, gram in enumerate(program.grams))
    return replace(program, columns=columns, grams=grams)


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
            parts = ((1, (i, j)), (-ratios[j], (i, most)), (-ratios[i], (most, j)), (ratios[i] * ratios[j], (most, most)))
            total: Table = {}
            for factor, ij in parts:
                for row, c in halves[ij].items() if factor else ():
                    total[row] = total.get(row, Fraction(0)) + factor * c * (1 if a == b else 2)
            cells.append((a, b, {row: c for row, c in total.items() if c}))
    return Gram(gram.claim, vectors, tuple(cells))


def flint(value: Fraction) -> fmpq:
    return fmpq(value.numerator, value.denominator)


def fraction(value: fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))
