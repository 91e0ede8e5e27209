"""Other step sizes that the same theorem gives, and what lies between its own and the best of a grid: the gain as a product.

The path from theory's step size to the best one: the constants along the run are put in one after the other, then the conditions are
dropped, the one that stops the step size first, then comes what the form of the bound costs. Every place on it is run, so that
the factors multiply out to measured at theory's / measured at the best.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...bounds.evaluation.evaluate import RELATED
from ...errors import InputError
from .along import typical
from .answer import Row
from .bench import Bench
from .explain import along_the_run

POINTS, ZOOMS = 513, 3
"""Number of step sizes at which a bound is compared at once, and how often this is repeated around the best of them."""
SAME = 1e-6
"""A relative change of the step size below which nothing is run again."""
PILOTS = 5
"""Pilot runs that a heuristic may take; it stops where the step size changes by less than `SETTLED`."""
SETTLED = 0.05
GAP = "objective_gap"
WITHIN = 3.0
"""A step size counts as good where it measures at most so many times the best of the grid."""


@dataclass(frozen=True)
class GainLine:
    """A step of the path from theory's step size to the best one.

    Args:
        kind: "constant", "condition" or "terms". name: which; of the terms the one that grows most on the way.
        step, measured: after it. factor: measured before over measured after.
    """

    kind: str
    name: str
    step: float
    measured: float
    factor: float


@dataclass(frozen=True)
class Heuristic:
    """A step size that a practitioner could choose: no theorem stands behind it.

    Args:
        name: how it is made. pilots: the step sizes of the runs whose constants were put in.
        measured: None where a seed diverged. over_best: it over the best of the grid.
        within: whether that is at most `WITHIN`.
    """

    name: str
    pilots: tuple[float, ...]
    step: float
    measured: float | None
    over_best: float | None
    within: bool
    heuristic: bool = True


def least(
    bench: Bench,
    constants: Mapping[str, Any],
    low: float,
    high: float,
    asked: frozenset[str],
) -> Fraction | None:
    """The step size between two others at which the bound is least, with these constants and of the conditions only those `asked` for.

    Returns:
        None where none of those that are tried satisfies them, or none has a finite positive bound.
    """
    best = None
    for _ in range(ZOOMS):
        points = np.geomspace(low, high, POINTS)
        made = bench.over(points, constants)
        total, fine = made["total"], np.ones(POINTS, bool)
        for name in asked:
            fine &= _holds(bench, name, made)
        total = np.where(fine & np.isfinite(total) & (total > 0), total, np.inf)
        if not np.isfinite(total).any():
            return best
        at = int(total.argmin())
        best = Fraction(float(points[at]))
        low, high = float(points[max(at - 1, 0)]), float(points[min(at + 1, POINTS - 1)])
    return best


def _holds(bench: Bench, name: str, made: Mapping[str, Any]) -> Any:
    relation, left, right = bench.statement.condition(name).relation, made["left"][name], made["right"][name]
    if relation == "==":
        return np.isclose(left, right, rtol=1e-9, atol=0.0)
    return RELATED[relation](left, right)


def requirements(bench: Bench) -> frozenset[str]:
    return frozenset(condition.name for condition in bench.statement.requirements)


def gain_lines(
    bench: Bench, theory: Fraction, along: Mapping[str, Fraction], rows: list[Row], best: Row, seeds: int
) -> tuple[GainLine, ...]:
    """The path from theory's step size to the best one of the grid; a place at which a seed diverges is left out of it.

    Args:
        along: the constants along the run at theory's step size.
    """
    low, high = rows[0].step, rows[-1].step
    measured = bench.measure(theory, seeds).mean
    assert measured is not None and best.mean is not None
    lines: list[GainLine] = []
    now, asked, known = theory, requirements(bench), dict[str, Fraction]()

    def go(kind: str, name: str, to: Fraction | None) -> None:
        nonlocal now, measured
        assert measured is not None
        after = measured
        if to is not None and abs(to / now - 1) > SAME:
            found = _mean(bench, to, seeds)
            if found is not None and found > 0:
                after, now = found, to
        lines.append(GainLine(kind, name, float(now), after, measured / after))
        measured = after

    for name, value in along.items():
        known[name] = value
        go("constant", name, least(bench, known, low, high, asked))
    free = least(bench, known, low, high, frozenset())
    if free is not None and free > now:
        for name in _in_order(bench, known, float(now), float(free)):
            asked -= {name}
            go("condition", name, least(bench, known, low, high, asked))
    end = Fraction(best.times) * theory
    lines.append(GainLine("terms", _grows_most(bench, known, now, end), best.step, best.mean, measured / best.mean))
    return tuple(lines)


def _in_order(bench: Bench, known: Mapping[str, Any], low: float, high: float) -> list[str]:
    """The conditions that fail somewhere between two step sizes, the one that fails first before the others."""
    made = bench.over(np.geomspace(low, high, POINTS), known)
    fails = {name: ~_holds(bench, name, made) for name in made["left"]}
    first = {name: int(bad.argmax()) for name, bad in fails.items() if bad.any()}
    return sorted(first, key=lambda name: (first[name], name))


def _grows_most(bench: Bench, known: Mapping[str, Any], start: Fraction, end: Fraction) -> str:
    """The term of the bound that grows most from one step size to another."""
    terms = bench.over([float(start), float(end)], known)["terms"]
    return max(terms, key=lambda name: float(terms[name][1] - terms[name][0]))


def _mean(bench: Bench, value: Fraction, seeds: int) -> float | None:
    try:
        return bench.measure(value, seeds).mean
    except (InputError, ValueError):
        return None


def heuristics(bench: Bench, theory: Fraction, rows: list[Row], best: Row, seeds: int) -> tuple[Heuristic, ...]:
    """The step sizes at which the same bound is least with the typical constants of a pilot run, the first at theory's step size.

    Each pilot is run at the step size that the one before gives. Typical is the root mean square over the run: the terms of a bound are
    means over it. One heuristic keeps the conditions of the theorem, the other drops them. Both look between the ends of the grid, and
    keep the objective gap: what a pilot descended says how short it was, not how far the minimum is.
    """
    made = []
    for name, asked in (
        ("typical constants", requirements(bench)),
        ("typical constants, no conditions", frozenset[str]()),
    ):
        pilots, step = _settle(bench, theory, rows, asked, seeds)
        mean = _mean(bench, step, seeds)
        over = mean / best.mean if mean is not None and best.mean else None
        made.append(
            Heuristic(name, tuple(map(float, pilots)), float(step), mean, over, over is not None and over <= WITHIN)
        )
    return tuple(made)


def _settle(
    bench: Bench, theory: Fraction, rows: list[Row], asked: frozenset[str], seeds: int
) -> tuple[list[Fraction], Fraction]:
    """The pilots, and the step size that they end with; one that diverges ends them at the step size before."""
    gaps = {name for name, binding in bench.statement.symbols.items() if binding.quantity.name == GAP}
    pilots, step = [theory], theory
    while True:
        found, _ = along_the_run(bench, bench.trajectory(step, seeds), typical)
        kept = {name: value for name, value in found.items() if name not in gaps}
        to = least(bench, kept, rows[0].step, rows[-1].step, asked)
        if to is None or _mean(bench, to, seeds) is None:
            return pilots, step
        if abs(to / step - 1) < SETTLED or len(pilots) == PILOTS:
            return pilots, to
        step = to
        pilots.append(to)
