"""Solving a program in floating point. Nothing here need be trusted: what is rounded from it is checked exactly.

First the least bound; then, with a bound that is a little larger, the point with the most room on all sides, which survives rounding.
Directions in which a matrix has to be 0 are guessed from such a point, and left out.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import lsqr

from .exact import RIGHT, Core, Line, Point, across, without
from .program import Gram, Program


class NoSolution(ValueError):
    """The program has none, or the solver found none; the message says which."""


class Floating:
    """A program as arrays; its unknowns are measured in sizes that come near to what they are."""

    def __init__(self, core: Core):
        self.core, self.unknowns = core, core.unknowns
        self.columns = [k for k, u in enumerate(self.unknowns) if u.gram < 0 and not u.signed]
        self.cells: dict[int, list[int]] = {g: [] for g in range(len(core.program.grams))}
        for k, unknown in enumerate(self.unknowns):
            if unknown.gram >= 0:
                self.cells[unknown.gram].append(k)
        self.sizes, self.vector_sizes = self._balanced()

    def _balanced(self) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """Sizes of the unknowns with which the coefficients of every equation are near to 1, in the mean square of their logarithms."""
        places: dict[tuple[int, int], int] = {}
        rows: list[int] = []
        columns: list[int] = []
        values: list[float] = []
        wanted: list[float] = []

        def put(entry: int, key: tuple[int, int]) -> None:
            rows.append(entry)
            columns.append(places.setdefault(key, len(places)))
            values.append(1.0)

        for r, line in enumerate((*self.core.lines, self.core.objective)):
            for k, c in line.items():
                if float(c) == 0:  # too small for a float
                    continue
                entry = len(wanted)
                wanted.append(-np.log(abs(float(c))))
                put(entry, (-2, r))
                if k == RIGHT:
                    continue
                unknown = self.unknowns[k]
                for key in [(-1, k)] if unknown.gram < 0 else [(unknown.gram, i) for i in unknown.cell]:
                    put(entry, key)
        shape = (len(wanted), len(places))
        found = lsqr(coo_matrix((values, (rows, columns)), shape).tocsr(), np.array(wanted))[0] if wanted else []
        sizes = np.ones(len(self.unknowns))
        for k in self.columns:
            sizes[k] = np.exp(found[places[-1, k]]) if (-1, k) in places else 1.0
        vectors = {
            g: np.exp([found[places[g, i]] if (g, i) in places else 0.0 for i in range(len(gram.vectors))])
            for g, gram in enumerate(self.core.program.grams)
        }
        return sizes, vectors

    def least(self) -> Point:
        """The least bound.

        Raises:
            NoSolution: there is none.
        """
        return self._solve(None)

    def roomy(self, least: Point, slack: float, *, everywhere: bool = False) -> Point:
        """The point with the most room that has a bound at most 1 + slack times the least one.

        Args:
            everywhere: with room for the multipliers too, not for the matrices alone.
        """
        return self._solve(least.bound + slack * abs(least.bound), everywhere)

    def _line(self, line: Line) -> tuple[np.ndarray, dict[int, np.ndarray], float]:
        own = np.array([float(line.get(k, 0)) * self.sizes[k] for k in self.columns])
        cells = {}
        for g, members in self.cells.items():
            scale = self.vector_sizes[g]
            cells[g] = np.array(
                [
                    float(line.get(k, 0)) * scale[self.unknowns[k].cell[0]] * scale[self.unknowns[k].cell[1]]
                    for k in members
                ]
            )
        return own, cells, float(line.get(RIGHT, 0))

    def _solve(self, most: float | None, everywhere: bool = False) -> Point:
        import cvxpy

        cp: Any = cvxpy
        unknown = cp.Variable(max(len(self.columns), 1), nonneg=True)
        room = cp.Variable()
        squares, lower = {}, {}
        for g, members in self.cells.items():
            n = len(self.vector_sizes[g])
            if n:
                squares[g] = cp.Variable((n, n), PSD=True)
                lower[g] = cp.hstack([squares[g][self.unknowns[k].cell] for k in members])
        rows = [self._line(line) for line in self.core.lines]
        weights = [
            1 / (max([0.0, *np.abs(own), *(abs(c) for part in cells.values() for c in part)]) or 1.0)
            for own, cells, _ in rows
        ]

        def total(rows: list, weights: list[float]):
            left = np.array([w * own for w, (own, _, _) in zip(weights, rows, strict=True)]).reshape(len(rows), -1)
            found = left @ unknown if self.columns else 0
            if self.columns and everywhere:
                found = found + left.sum(axis=1) * room
            for g in squares:
                matrix = np.array([w * cells[g] for w, (_, cells, _) in zip(weights, rows, strict=True)])
                found = found + matrix @ lower[g]
                if most is not None:
                    diagonal = np.array(
                        [float(self.unknowns[k].cell[0] == self.unknowns[k].cell[1]) for k in self.cells[g]]
                    )
                    found = found + (matrix @ diagonal) * room
            return found

        right = np.array([w * value for w, (*_, value) in zip(weights, rows, strict=True)])
        constraints = [total(rows, weights) == right] if rows else []
        cost = self._line(self.core.objective)
        unit = max([0.0, *np.abs(cost[0]), *(abs(c) for part in cost[1].values() for c in part)]) or 1.0
        bound = cost[2] / unit - cp.sum(total([cost], [1 / unit]))
        if most is None:
            problem = cp.Problem(cp.Minimize(bound), constraints)
        else:
            problem = cp.Problem(cp.Maximize(room), [*constraints, bound <= most / unit, room <= 1])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of an inaccurate solution: the exact check decides
                problem.solve(solver=cp.CLARABEL)
        except cp.SolverError:
            raise NoSolution("the solver failed") from None
        if unknown.value is None:
            raise NoSolution(f"the program is {problem.status}")
        extra = 0.0 if most is None else float(room.value)
        values = np.zeros(len(self.core.program.columns))
        for place, k in enumerate(self.columns):
            values[k] = (unknown.value[place] + (extra if everywhere else 0.0)) * self.sizes[k]
        grams = []
        for g, scale in self.vector_sizes.items():
            n = len(scale)
            value = squares[g].value + extra * np.eye(n) if n else np.zeros((0, 0))
            grams.append(value * np.outer(scale, scale))
        return Point(values, tuple(grams), float(bound.value) * unit, extra, tuple(self.vector_sizes.values()))


# --- faces --------------------------------------------------------------------------------------------------------------

FLAT = 1e-7
"""An eigenvalue that is smaller, beside the largest one, is taken for 0."""
LARGEST = 10**4
"""Denominator of the ratios in a direction."""
NEAR = 1e-4


def on_its_face(program: Program, at: Point) -> Program | None:
    """The program with fewer vectors, or None where every matrix has room."""
    grams = []
    for gram, square, sizes in zip(program.grams, at.grams, at.sizes, strict=True):
        lengths = np.diag(square) / np.maximum(sizes, 1e-300) ** 2
        gone = {i for i, length in enumerate(lengths) if length < FLAT * max([1e-3, *lengths])}
        kept = [i for i in range(len(square)) if i not in gone]
        grams.append(_narrowed(without(gram, gone), square[np.ix_(kept, kept)]))
    changed = any(len(new.vectors) < len(old.vectors) for new, old in zip(grams, program.grams, strict=True))
    return replace(program, grams=tuple(grams)) if changed else None


def _narrowed(gram: Gram, square: np.ndarray) -> Gram:
    """Without the directions in which the matrix is 0, where these have rational ratios."""
    if not len(square):
        return gram
    scale = np.sqrt(np.maximum(np.diag(square), 1e-300))
    values, vectors = np.linalg.eigh(square / np.outer(scale, scale))
    flat = values < FLAT * max(values[-1], 1e-300)
    places = list(range(len(square)))
    for most, direction in _echelon((vectors[:, flat] / scale[:, None]).T, scale):
        ratios = [Fraction(float(r)).limit_denominator(LARGEST) for r in direction]
        if all(
            abs(float(r) - x) * scale[i] <= NEAR * scale[most]
            for i, (r, x) in enumerate(zip(ratios, direction, strict=True))
        ):
            gram = across(gram, places.index(most), [ratios[i] for i in places])
            places.remove(most)
    return gram


def _echelon(rows: np.ndarray, scale: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """(place, direction) each; a direction is 1 at its place, and the others are 0 there."""
    rows = rows.copy()
    places: list[int] = []
    for i in range(len(rows)):
        sizes = np.abs(rows[i:] * scale)
        best, place = divmod(int(np.argmax(sizes)), sizes.shape[1])
        rows[[i, i + best]] = rows[[i + best, i]]
        rows[i] /= rows[i, place]
        for k in range(len(rows)):
            if k != i:
                rows[k] -= rows[k, place] * rows[i]
        places.append(place)
    return list(zip(places, rows, strict=True))
