"""Successive halving over step sizes: all with a few seeds, the better half with twice as many, and so on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from ...errors import InputError
from ..experiments.table import mean_interval
from .answer import Row
from .bench import Bench, Report

FIRST = 2
"""Number of seeds of every step size in the first round."""
LEAST = 3
"""Number of step sizes that get all seeds, theory's among them."""


def stages(size: int, seeds: int) -> Iterator[tuple[int, int]]:
    """(step sizes, seeds of each) of every round; the seeds of a round are those of the one before and new ones."""
    count = min(FIRST, seeds)
    yield size, count
    while count < seeds:
        size, count = min(size, max(LEAST, -(-size // 2))), min(2 * count, seeds)
        yield size, count


def cost(size: int, seeds: int) -> int:
    """Runs, one seed at one step size each, that the rounds take."""
    before, total = 0, 0
    for left, count in stages(size, seeds):
        total, before = total + left * (count - before), count
    return total


def halve(
    bench: Bench,
    theory: Fraction,
    factor: int,
    powers: range,
    seeds: int,
    budget: int,
    report: Callable[[str], Report] | None = None,
) -> list[Row]:
    """The rows of a grid, by rising step size.

    In each round the step sizes with the least mean go on; theory's always does. One that diverged does not. Before the second round the
    grid grows upwards, by one step size at a time, as long as the largest is the best one, by the metric and by the objective at the
    end, and the budget allows it. Where only the metric falls, the runs end where the objective is flat.

    Args:
        powers: the grid is theory's step size times `factor` to these powers, 0 among them.
        budget: runs, one seed at one step size each, that are made at most.

    Raises:
        InputError: the budget is too small for the grid.
    """
    if budget < (least := cost(len(powers), seeds)):
        raise InputError(
            f"--budget: wanted at least {least} runs for {len(powers)} step sizes and {seeds} seeds, got {budget}"
        )
    rows: dict[int, Row] = {}

    def run(power: int, count: int) -> None:
        label = report and report(f"{bench.runs}/{budget} ")
        rows[power] = row_at(bench, theory, Fraction(factor) ** power, count, label)

    _, count = next(stages(len(powers), seeds))
    for power in powers:
        run(power, count)
    while cost(len(rows) + 1, seeds) <= budget and _still_better(rows):
        run(max(rows) + 1, count)
    chosen = list(rows)
    for size, count in list(stages(len(rows), seeds))[1:]:
        going = [power for power in _ranked({p: rows[p] for p in chosen}) if rows[power].mean is not None and power]
        chosen = [0, *going[: size - 1]]
        for power in chosen:
            run(power, count)
    return [rows[power] for power in sorted(rows)]


def _still_better(rows: dict[int, Row]) -> bool:
    """Whether the largest step size has the least metric and the least objective."""
    top = rows[max(rows)]
    if top.mean is None or top.objective is None or _ranked(rows)[0] != max(rows):
        return False
    return all(row.objective is None or top.objective <= row.objective for row in rows.values())


def _ranked(rows: dict[int, Row]) -> list[int]:
    """Powers by rising mean; those without one last. Equal ones by their size."""
    return sorted(rows, key=lambda power: (math.inf if rows[power].mean is None else rows[power].mean, power))


def row_at(bench: Bench, theory: Fraction, times: Fraction, seeds: int, report: Report | None = None) -> Row:
    """One step size with what was measured and the bound; with the reason where it cannot be run."""
    value = theory * times
    row = Row(float(value), float(times), 0, "")
    try:
        bound = bench.bound(value)
        found = bench.measure(value, seeds, report)
    except (InputError, ValueError) as error:
        return replace(row, bound_text=f"not run: {error}")
    fails = "" if bound.admissible else f"conditions fail: {', '.join(bound.failed)}"
    holds = bound.total if bound.admissible else None
    row = replace(row, rounds=found.rounds, seeds=seeds, bound_text=fails, bound=holds, formula=bound.total)
    if found.diverged:
        return replace(row, diverged=found.diverged)
    mean, low, high = mean_interval(found.metric)
    objective = float(found.objective.mean())
    return replace(
        row,
        mean=mean,
        low=None if math.isnan(low) else low,
        high=None if math.isnan(high) else high,
        objective=objective if math.isfinite(objective) else None,
    )
