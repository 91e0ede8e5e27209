"""Solving a program in floating point. Nothing here need be trusted: what is rounded from it is checked exactly.

First the least bound; then, with a bound that is a little larger, the point with the most room on all sides, which survives rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .presolve import RIGHT, Core, Line


class NoSolution(ValueError):
    """The program has none, or the solver found none; the message says which."""


@dataclass(frozen=True)
class Point:
    """Values of the columns (0 for those of any sign, which are eliminated) and of the matrices, and the number on the right."""

    columns: np.ndarray
    grams: tuple[np.ndarray, ...]
    bound: float
    room: float = 0.0
    sizes: tuple[np.ndarray, ...] = ()
    """In which the vectors of each matrix are measured."""


class Floating:
    """A program as arrays; its unknowns are measured in sizes that come near to what they are."""

    def __init__(self, core: Core):
        self.core, self.unknowns = core, core.unknowns
        self.columns = [k for k, u in enumerate(self.unknowns) if u.gram < 0 and not u.signed]
        self.cells: dict[int, list[int]] = {g: [] for g in range(len(core.program.grams))}
        for k, unknown in enumerate(self.unknowns):
            if unknown.gram >= 0:
                self.cells[unknown.gram].append(k)
        largest = np.zeros(len(self.unknowns))
        for line in (*core.lines, core.objective):
            top = max((abs(float(c)) for k, c in line.items() if k != RIGHT), default=1.0)
            for k, c in line.items():
                if k != RIGHT:
                    largest[k] = max(largest[k], abs(float(c)) / (top if line is not core.objective else 1.0))
        self.sizes = 1 / np.where(largest > 0, largest, 1.0)
        self.vector_sizes = {
            g: np.sqrt([self.sizes[k] for k in cells if self.unknowns[k].cell[0] == self.unknowns[k].cell[1]])
            for g, cells in self.cells.items()
        }

    def least(self) -> Point:
        """The least bound.

        Raises:
            NoSolution: there is none.
        """
        found = self._solve(None)
        for _ in range(2):
            before = self.sizes, self.vector_sizes
            try:
                self._measure(found)
                found = self._solve(None)
            except NoSolution:
                self.sizes, self.vector_sizes = before
                break
        return found

    def roomy(self, least: Point, slack: float) -> Point:
        """The point with the most room that has a bound at most 1 + slack times the least one."""
        return self._solve(least.bound + slack * abs(least.bound))

    def _measure(self, found: Point) -> None:
        """By the size of a solution, within bounds."""
        new = np.abs(found.columns)
        ratio = new / self.sizes[: len(new)]
        top = max([1e-30, *ratio[[k for k in self.columns]]]) if self.columns else 1.0
        sizes = self.sizes.copy()
        for k in self.columns:
            sizes[k] *= np.clip(ratio[k] / top, 1e-6, 1.0)
        self.sizes = sizes

    def _line(self, line: Line) -> tuple[np.ndarray, dict[int, np.ndarray], float]:
        own = np.array([float(line.get(k, 0)) * self.sizes[k] for k in self.columns])
        cells = {}
        for g, members in self.cells.items():
            scale = self.vector_sizes[g]
            cells[g] = np.array(
                [float(line.get(k, 0)) * scale[self.unknowns[k].cell[0]] * scale[self.unknowns[k].cell[1]] for k in members]
            )
        return own, cells, float(line.get(RIGHT, 0))

    def _solve(self, most: float | None) -> Point:
        import cvxpy as cp

        unknown = cp.Variable(max(len(self.columns), 1), nonneg=True)
        room = cp.Variable()
        squares, lower = {}, {}
        for g, members in self.cells.items():
            n = len(self.vector_sizes[g])
            if n:
                squares[g] = cp.Variable((n, n), PSD=True)
                lower[g] = cp.hstack([squares[g][self.unknowns[k].cell] for k in members])
        rows = [self._line(line) for line in self.core.lines]
        weights = [1 / (max([0.0, *np.abs(own), *(abs(c) for part in cells.values() for c in part)]) or 1.0) for own, cells, _ in rows]

        def total(rows: list, weights: list[float]):
            left = np.array([w * own for w, (own, _, _) in zip(weights, rows, strict=True)]).reshape(len(rows), -1)
            found = left @ unknown if self.columns else 0
            for g in squares:
                matrix = np.array([w * cells[g] for w, (_, cells, _) in zip(weights, rows, strict=True)])
                found = found + matrix @ lower[g]
                if most is not None:
                    diagonal = np.array([float(self.unknowns[k].cell[0] == self.unknowns[k].cell[1]) for k in self.cells[g]])
                    found = found + (matrix @ diagonal) * room
            return found

        right = np.array([w * value for w, (*_, value) in zip(weights, rows, strict=True)])
        constraints = [total(rows, weights) == right] if rows else []
        cost = self._line(self.core.objective)
        bound = cost[2] - cp.sum(total([cost], [1.0]))
        if most is None:
            problem = cp.Problem(cp.Minimize(bound), constraints)
        else:
            problem = cp.Problem(cp.Maximize(room), [*constraints, bound <= most, room <= 1])
        try:
            problem.solve(solver=cp.CLARABEL)
        except cp.SolverError:
            raise NoSolution("the solver failed") from None
        if unknown.value is None:
            raise NoSolution(f"the program is {problem.status}")
        extra = 0.0 if most is None else float(room.value)
        values = np.zeros(len(self.core.program.columns))
        for place, k in enumerate(self.columns):
            values[k] = unknown.value[place] * self.sizes[k]
        grams = []
        for g, scale in self.vector_sizes.items():
            n = len(scale)
            value = squares[g].value + extra * np.eye(n) if n else np.zeros((0, 0))
            grams.append(value * np.outer(scale, scale))
        return Point(values, tuple(grams), float(bound.value), extra, tuple(self.vector_sizes.values()))
