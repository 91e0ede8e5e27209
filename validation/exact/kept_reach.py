"""How far the state of a method can come on any path, where each of its steps is one of a few affine maps: limits that a round keeps.

Coordinates of the state have a limit each at the start of a round. A step takes limits to limits, the largest over its maps; those at
the end of a round must be no larger than those at its start, so that no path ever leaves them, whatever its signs are. Limits are
proposed by a linear equation for the maps that are worst. `proposed`, `followed` and `coordinates` serve instances in doubles, many
beside each other, and one in fractions: only how an equation is solved and how a number is rounded differs. In fractions, which are
rounded up, `kept_reach` shows that the limits are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...bounds.evaluation.enclosure import fmpq_of
from ...bounds.evaluation.evaluate import fraction_of
from ...bounds.evaluation.moments import RandomMap, Recursion
from .run import CannotReplay

Q = Fraction
Array = np.ndarray
_BITS, _PROPOSALS, _MORE, _LONGEST_ROUND = 320, 24, Q(1, 2**20), 1024
"""Digits of a limit after the point, choices of the worst maps that are tried, what is allowed beyond the equation, steps."""


@dataclass(frozen=True)
class Step:
    """One step of a round in numbers that are at least those of every path.

    Args:
        maps: for each outcome the sizes of its coefficients, `(..., outcomes, 1 + coordinates, 1 + coordinates)`, the first column being
            that of the constant 1.
        asked: "model" and "inner_value" -> such rows of the points that an oracle is asked for during the step, `(..., rows, 1 +
            coordinates)`.
    """

    maps: Array
    asked: Mapping[str, Array]


@dataclass(frozen=True)
class Arithmetic:
    """What two kinds of numbers do differently.

    Args:
        solved: matrices `(..., n, n)` and right sides `(..., n)` -> the solutions of these equations, and which have one that is nowhere
            negative.
        up: numbers -> numbers at least as large, with fewer digits.
    """

    solved: Callable[[Array, Array], tuple[Array, Array]]
    up: Callable[[Array], Array]


def proposed(steps: Sequence[Step], arithmetic: Arithmetic) -> tuple[Array, Array]:
    """Limits that a round is likely to keep, `(..., 1 + coordinates)`, and where there are such, `(...)`.

    They are the fixed point of the maps that are worst at it, or nearly, and a little more.
    """
    lead, size = steps[0].maps.shape[:-3], steps[0].maps.shape[-1]
    unit = np.eye(size, dtype=int) * np.ones((*lead, 1, 1), dtype=steps[0].maps.dtype)
    limits, found = unit[..., 0, :], np.ones(lead, dtype=bool)
    for _ in range(_PROPOSALS):
        last, now, through = limits, limits, unit
        for step in steps:
            led = (step.maps @ now[..., None, :, None])[..., 0]
            best = led.argmax(axis=-2)
            rows = np.take_along_axis(step.maps, best[..., None, :, None], axis=-3)[..., 0, :, :]
            now = arithmetic.up(np.take_along_axis(led, best[..., None, :], axis=-2)[..., 0, :])
            through = arithmetic.up(rows @ through)
        solution, has_one = arithmetic.solved(unit[..., 1:, 1:] - through[..., 1:, 1:], through[..., 1:, 0])
        found = found & has_one
        limits = np.concatenate([unit[..., 0, :1], np.where(found[..., None], solution, 0 * solution)], axis=-1)
        if (limits == last).all():
            break
    limits[..., 1:] *= 1 + (_MORE if limits.dtype == object else float(_MORE))
    return limits, found


def followed(limits: Array, steps: Sequence[Step], arithmetic: Arithmetic) -> tuple[Array, dict[str, Any]]:
    """The limits after these steps, and the largest points that an oracle is asked for on the way, `(...)`."""
    reach: dict[str, Any] = {}
    for step in steps:
        for name, rows in step.asked.items():
            here = (rows @ limits[..., None])[..., 0].max(axis=-1, initial=0)
            reach[name] = np.maximum(reach.get(name, here), here)
        limits = arithmetic.up((step.maps @ limits[..., None, :, None])[..., 0].max(axis=-2))
    return limits, reach


def coordinates(parts: Mapping[str, Array], slopes: Array, offsets: Array, *, is_shared: bool) -> Array:
    """The constant 1, and coordinates that signs move little: rows over Z = (1, z), `(..., 1 + coordinates, 1 + entries)`.

    They are the mean model, what each client is off it, the last moves, and the error of y. Entries of other names are by themselves.

    Args:
        parts: name -> the entries of a state of this name, as rows over Z `(entries, 1 + entries of all)`.
        slopes, offsets: of the inner maps, `(..., clients)`.
        is_shared: whether every client has an estimate of the mean inner value, and not of its own.
    """
    parts, clients = dict(parts), slopes.shape[-1]
    x = parts.pop("x")
    mean, before = x.sum(axis=0) / clients, parts.pop("previous", x)
    one = np.zeros_like(mean)
    one[0] = 1
    found = [one, mean, *(x[1:] - mean), *(x - before if before is not x else ())]
    if "y" in parts:
        y, values = parts.pop("y"), slopes[..., None] * before + offsets[..., None] * one
        if is_shared:
            found += [y[0] - values.sum(axis=-2) / clients, *(y[1:] - y[0])]
        else:
            found += [y[k] - values[..., k, :] for k in range(clients)]
    found += [row for rows in parts.values() for row in rows]
    return np.stack([np.broadcast_to(row, (*slopes.shape[:-1], len(one))) for row in found], axis=-2)


# --- fractions ---


def kept_reach(
    run: Recursion, basis: Array, asked_first: Mapping[str, Array], asked: Mapping[str, Array]
) -> dict[str, Fraction]:
    """ "model" and "inner_value" -> what no point exceeds in size that an oracle is asked for, on any path and however long the run is.

    Args:
        basis: `coordinates`.
        asked_first, asked: the points of the first step and of every other one, as rows over Z.

    Raises:
        CannotReplay: no limits are found that a round keeps, or a round is too long.
    """
    if run.period > _LONGEST_ROUND:
        raise CannotReplay(
            f"rounds of {run.period} steps: wanted at most {_LONGEST_ROUND} to follow the limits of every path"
        )
    back = _inverse(basis)

    def step(part: RandomMap, rows: Mapping[str, Array]) -> Step:
        if part.covariance is not None:
            raise CannotReplay("noise that is added has no outcomes to follow")
        maps = [abs(basis @ np.array(matrix, dtype=object) @ back) for _, matrix in part.outcomes]
        return Step(np.stack(maps), {name: abs(of @ back) for name, of in rows.items()})

    later, average = step(run.local, asked), [] if run.communication is None else [step(run.communication, {})]
    first = step(run.local if run.first is None else run.first, asked_first)
    steps = [*[later] * run.period, *average]
    begin = abs(basis @ np.array([Q(1), *map(Q, run.start)], dtype=object))
    lead, at_first = followed(begin, [first, *steps[1:]], _FRACTIONS)
    limits, found = proposed(steps, _FRACTIONS)
    if not found:
        raise CannotReplay("no reach was found that every path keeps: what a round does to the state grows")
    kept = _around(np.maximum(begin, lead), limits)
    end, reach = followed(kept, steps, _FRACTIONS)
    if any(now > limit for after in (end, lead) for now, limit in zip(after, kept, strict=True)):
        raise CannotReplay("a path may leave every reach that was found")
    return {name: max(reach[name], at_first[name]) for name in reach}


def _around(begin: Array, limits: Array) -> Array:
    """The limits, as many times as large as it takes to hold the first round's: what a round keeps it keeps so many times as large."""
    times = max([Q(1), *(at / limit for at, limit in zip(begin, limits, strict=True) if limit)])
    return np.array([Q(1), *(times * limit for limit in limits[1:])], dtype=object)


def _solved(matrix: Array, right: Array) -> tuple[Array, Array]:
    try:
        found = _inverse(matrix) @ right
    except ZeroDivisionError:
        return 0 * right, np.array(False)
    return _up(found), np.array(all(value >= 0 for value in found))


def _inverse(matrix: Array) -> Array:
    """Of a matrix of fractions.

    Raises:
        ZeroDivisionError: it has none.
    """
    from flint import fmpq_mat

    entries = [fmpq_of(Q(number)) for number in matrix.flat]
    flat = [fraction_of(number) for number in fmpq_mat(len(matrix), len(matrix), entries).inv().entries()]
    found: Array = np.array(flat, dtype=object).reshape(matrix.shape)
    return found


def _rounded_up(number: Any) -> Fraction:
    exact = Q(number)
    return Q(-((-exact.numerator << _BITS) // exact.denominator), 1 << _BITS)


_up = np.frompyfunc(_rounded_up, 1, 1)
_FRACTIONS = Arithmetic(_solved, _up)
