"""How far the state of a method can come on any path, where each of its steps is one of a few affine maps: limits that a round keeps.

Coordinates of the state have a limit each at the start of a round. A step takes limits to limits, the largest over its maps; those at
the end of a round must be no larger than those at its start, so that no path ever leaves them, whatever its signs are. Limits are
proposed by a linear equation for the maps that are worst, and shown by fractions that are rounded up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...bounds.evaluation.moments import Matrix, RandomMap, Recursion
from .run import CannotReplay

Q = Fraction
Rows = list[list[Fraction]]
_BITS, _PROPOSALS, _MORE, _LONGEST_ROUND = 320, 24, Q(1, 2**20), 1024
"""Digits of a limit after the point, choices of the worst maps that are tried, what is allowed beyond the equation, steps."""


@dataclass(frozen=True)
class Step:
    """One step of a round in numbers that are at least those of every path.

    Args:
        maps: for each outcome the sizes of its coefficients, `(1 + coordinates)` squared, the first column being that of the constant 1.
        asked: "model" and "inner_value" -> such rows of the points that an oracle is asked for during the step.
    """

    maps: Sequence[Rows]
    asked: Mapping[str, Rows]


def kept_reach(
    run: Recursion, coordinates: Rows, asked_first: Mapping[str, Rows], asked: Mapping[str, Rows]
) -> dict[str, Fraction]:
    """ "model" and "inner_value" -> what no point exceeds in size that an oracle is asked for, on any path and however long the run is.

    Args:
        coordinates: rows over Z = (1, z), as many as z has entries; those of a basis.
        asked_first, asked: the points of the first step and of every other one, as rows over Z.

    Raises:
        CannotReplay: no limits are found that a round keeps, or a round is too long.
    """
    if run.period > _LONGEST_ROUND:
        raise CannotReplay(
            f"rounds of {run.period} steps: wanted at most {_LONGEST_ROUND} to follow the limits of every path"
        )
    basis = [[Q(1), *[Q(0)] * len(coordinates)], *coordinates]
    back = _inverse(basis)

    def step(part: RandomMap, rows: Mapping[str, Rows]) -> Step:
        if part.covariance is not None:
            raise CannotReplay("noise that is added has no outcomes to follow")
        found = [_sizes(_times(_times(basis, matrix), back)) for _, matrix in part.outcomes]
        return Step(found, {name: _sizes(_times(of, back)) for name, of in rows.items()})

    later, average = step(run.local, asked), [] if run.communication is None else [step(run.communication, {})]
    first = later if run.first is None else step(run.first, asked_first)
    steps = [*[later] * run.period, *average]
    begin = [abs(value) for (value,) in _times(basis, [[Q(1)], *([Q(v)] for v in run.start)])]
    lead, at_first = _followed(begin, [first, *steps[1:]])
    kept = _around([max(both) for both in zip(begin, lead, strict=True)], _proposed(steps))
    end, reach = _followed(kept, steps)
    if any(now > limit for limits in (end, lead) for now, limit in zip(limits, kept, strict=True)):
        raise CannotReplay("a path may leave every reach that was found")
    return {name: max(reach[name], at_first[name]) for name in reach}


def _followed(limits: list[Fraction], steps: Sequence[Step]) -> tuple[list[Fraction], dict[str, Fraction]]:
    """The limits after these steps, and the largest points that an oracle is asked for on the way."""
    reach: dict[str, Fraction] = {}
    for step in steps:
        for name, rows in step.asked.items():
            reach[name] = max([reach.get(name, Q(0)), *(_dot(row, limits) for row in rows)])
        limits = [max(_up(_dot(matrix[i], limits)) for matrix in step.maps) for i in range(len(limits))]
    return limits, reach


def _proposed(steps: Sequence[Step]) -> list[Fraction]:
    """Limits that a round is likely to keep: the fixed point of the maps that are worst at it.

    Raises:
        CannotReplay: there is none.
    """
    size = len(steps[0].maps[0])
    limits, chosen = [Q(1), *[Q(0)] * (size - 1)], None
    for _ in range(_PROPOSALS):
        worst, now = [], limits
        through = [[Q(int(i == j)) for j in range(size)] for i in range(size)]
        for step in steps:
            best = [_worst([matrix[i] for matrix in step.maps], now) for i in range(size)]
            rows = [step.maps[w][i] for i, w in enumerate(best)]
            now, through = (
                [_up(_dot(row, now)) for row in rows],
                [[_up(v) for v in row] for row in _times(rows, through)],
            )
            worst.append(best)
        if worst == chosen:
            return [Q(1), *(limit * (1 + _MORE) for limit in limits[1:])]
        chosen, limits = worst, [Q(1), *_fixed_point(through)]
    raise CannotReplay("no reach was found that every path keeps")


def _worst(rows: Sequence[Sequence[Fraction]], limits: Sequence[Fraction]) -> int:
    """The row that leads farthest."""
    return max(range(len(rows)), key=lambda w: _dot(rows[w], limits))


def _around(begin: list[Fraction], limits: list[Fraction]) -> list[Fraction]:
    """The limits, as many times as large as it takes to hold the first round's: what a round keeps it keeps so many times as large."""
    times = max([Q(1), *(at / limit for at, limit in zip(begin, limits, strict=True) if limit)])
    return [Q(1), *(times * limit for limit in limits[1:])]


def _fixed_point(through: Rows) -> list[Fraction]:
    """Of limits = constant + rates limits.

    Raises:
        CannotReplay: there is none that is positive.
    """
    rates = [[Q(int(i == j)) - v for j, v in enumerate(row[1:])] for i, row in enumerate(through[1:])]
    try:
        found = [sum((a * row[0] for a, row in zip(back, through[1:], strict=True)), Q(0)) for back in _inverse(rates)]
    except ZeroDivisionError:
        found = [Q(-1)]
    if any(limit < 0 for limit in found):
        raise CannotReplay("no reach was found that every path keeps: what a round does to the state grows")
    return [_up(limit) for limit in found]


def _inverse(matrix: Matrix) -> Rows:
    """Of a matrix of fractions.

    Raises:
        ZeroDivisionError: it has none.
    """
    from flint import fmpq, fmpq_mat

    entries = [fmpq(v.numerator, v.denominator) for row in matrix for v in map(Q, row)]
    size = len(matrix)
    flat = [Q(int(v.p), int(v.q)) for v in fmpq_mat(size, size, entries).inv().entries()]
    return [flat[i * size : (i + 1) * size] for i in range(size)]


def _times(left: Matrix, right: Matrix) -> Rows:
    return [[_dot(row, column) for column in zip(*right, strict=True)] for row in left]


def _sizes(matrix: Rows) -> Rows:
    return [[abs(v) for v in row] for row in matrix]


def _dot(row: Sequence[Any], limits: Sequence[Any]) -> Fraction:
    return sum((a * b for a, b in zip(row, limits, strict=True) if a and b), Q(0))


def _up(number: Fraction) -> Fraction:
    return Q(-((-number.numerator << _BITS) // number.denominator), 1 << _BITS)
