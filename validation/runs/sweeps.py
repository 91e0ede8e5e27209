"""One symbol of a theorem at a time: how the measured statistic depends on it, beside how the bound does.

A sweep is a list of experiments that differ in one symbol of the statement: a horizon, the number of clients, a period, a batch
size, a noise or a heterogeneity constant. Each point is a campaign experiment of its own, with its own root seed, so the points
share no randomness and the slope interval of `slopes` applies; chunks are cached and resumed as in `campaign`.

What is compared. A bound claims that the statistic grows with the symbol no faster than the bound does (a negative exponent:
falls at least as fast). So the measured log-log slope is put beside the bound's own slope over the same points. `SLOWER`
and `EQUAL` (within `EXPONENT_TOLERANCE`) agree with the claim; `FASTER` says that over these points the statistic gains
on the bound. That alone refutes no bound, which may lie far above: it says that the exponent cannot be read off these
points. The interval has 95% coverage and is a description; verdicts and their alpha belong to `validate`.

Read off a sweep too: the constant that a statement hides in O(1), as the smallest one that the data need.
The bound is initialisation + c * rest, so a measured mean X needs c = (X - initialisation) / rest, and none where the
initialisation term alone is enough. From a start at rest nothing is left but the rest. That c stays bounded is what O(1)
claims; an exponent above 0 along a symbol would say that the hidden constant depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from ...algorithms.engine.limits import check_jobs
from ...bounds.language.reading import InputError
from ...bounds.language.rendering import titled
from ...bounds.registry import get_theorem
from ...figures import Axis, Curve, Plot, log_log_plot, mathtext, plain
from ..statistics.evalues import mean_bracket
from ..statistics.slopes import EXPONENT_TOLERANCE, SlopeEstimate, bound_slope, slope_interval
from .campaign import Experiment, Task, chunks_of, run_tasks, tasks_of
from .declaration import Sweep
from .experiments import cap_of
from .limits import HOURS, check_experiments
from .values import evaluate_at

SEEDS = 64
GROUP = 8
HIDDEN_CONSTANT, INITIALISATION = "hidden_constant", "initialisation"
FIRST_ROOT_SEED = 1000
"""First root seed of sweeps, beyond those of `validate`, so that a sweep repeats none of its runs."""


class Comparison(StrEnum):
    """The measured exponent beside the bound's over the same points."""

    SLOWER = "grows more slowly than the bound"
    EQUAL = "as the bound"
    FASTER = "grows faster than the bound"


@dataclass(frozen=True)
class SweepResult:
    """Measured and claimed dependence on a symbol; all lists are over the points, `statistic` is (seeds, points)."""

    sweep: Sweep
    label: str
    values: tuple[float, ...]
    statistic: np.ndarray
    bounds: tuple[float, ...]
    terms: Mapping[str, tuple[float, ...]]
    cap: tuple[float, ...]
    numbers: tuple[Mapping[str, float], ...]
    messages: tuple[Mapping[str, str], ...]
    measured: SlopeEstimate
    theory: float

    @property
    def comparison(self) -> Comparison:
        if self.measured.upper < self.theory - EXPONENT_TOLERANCE:
            return Comparison.SLOWER
        above = self.measured.lower > self.theory + EXPONENT_TOLERANCE
        return Comparison.FASTER if above else Comparison.EQUAL

    @property
    def tightness(self) -> tuple[float, ...]:
        return tuple(bound / mean for bound, mean in zip(self.bounds, self.means, strict=True))

    @property
    def means(self) -> tuple[float, ...]:
        return tuple(float(mean) for mean in self.statistic.mean(axis=0))

    def __str__(self) -> str:
        claim = "" if self.sweep.claimed is None else f", claimed {self.sweep.claimed:.3g}"
        slopes = f"measured {self.measured}, bound {self.theory:.3f}{claim}"
        return f"{self.sweep.name}: exponent {slopes}: {self.comparison} ({self.sweep.why})"

    def to_dict(self) -> dict[str, Any]:
        return {
            "theorem": self.sweep.theorem,
            "statement": self.label,
            "over": self.sweep.over,
            "why": self.sweep.why,
            "values": list(self.values),
            "mean": list(self.means),
            "bound": list(self.bounds),
            "terms": {name: list(values) for name, values in self.terms.items()},
            "seeds": len(self.statistic),
            "measured_slope": [self.measured.slope, self.measured.lower, self.measured.upper],
            "bound_slope": self.theory,
            "claimed_exponent": self.sweep.claimed,
            "comparison": str(self.comparison),
        }


def experiments_of(sweep: Sweep, seeds: int) -> list[Experiment]:
    """The points of a sweep, each with a root seed of its own."""
    return [
        Experiment(get_theorem(sweep.theorem), sweep.label, instance, T, seeds, FIRST_ROOT_SEED + index)
        for index, (instance, T) in enumerate(sweep.points)
    ]


def evaluate_sweep(sweep: Sweep) -> tuple[list[float], list[Any], list[float]]:
    """Value of the symbol, bound and cap at each point, with nothing run.

    Raises:
        InputError: a point that the theorem does not admit.
    """
    theorem, label = get_theorem(sweep.theorem), sweep.label
    values, bounds, caps = [], [], []
    for instance, T in sweep.points:
        problem = instance.made()
        bound, _ = evaluate_at(theorem, label, problem, instance.hyperparameters, T)
        if not bound.admissible:
            raise InputError(f"{sweep.name}: condition {', '.join(bound.failed)} fails on {instance.name} at T={T}")
        values.append(bound.numbers[sweep.over])
        bounds.append(bound)
        caps.append(cap_of(theorem, problem, instance, bound))
    return values, bounds, caps


def tasks_of_sweeps(sweeps: Sequence[Sweep], seeds: int = SEEDS) -> list[Task]:
    """All chunks of several sweeps, longest first."""
    return tasks_of([experiment for sweep in sweeps for experiment in experiments_of(sweep, seeds)])


def run_sweep(
    sweep: Sweep,
    *,
    seeds: int = SEEDS,
    jobs: int = 1,
    cache: Path | None = None,
    chunks: Mapping[str, Any] | None = None,
    hours: float = HOURS,
) -> SweepResult:
    """Measure a sweep.

    Args:
        seeds: per point, at least two groups of 8; descriptive, so not planned for a verdict.
        cache: folder of the chunks, reused when they are there.
        chunks: results that were computed elsewhere, by key (`run_tasks`).
        hours: how long it may take by the estimate that is made before it starts.

    Raises:
        InputError: it cannot fit or end in time, or a point is one that the theorem does not admit.
    """
    experiments = experiments_of(sweep, seeds)
    if chunks is None:
        check_jobs(jobs)
        check_experiments(experiments, jobs, hours)
    values, bounds, caps = evaluate_sweep(sweep)
    found = chunks if chunks is not None else run_tasks(tasks_of(experiments), jobs=jobs, cache=cache)
    parts = [[found[task.key] for task in chunks_of(experiment)] for experiment in experiments]
    statistic = np.stack([np.concatenate([part["statistic"] for part in row]) for row in parts], axis=1)
    totals = tuple(float(bound.total) for bound in bounds)
    return SweepResult(
        sweep,
        sweep.label,
        tuple(values),
        statistic,
        totals,
        {name: tuple(bound.terms[name] for bound in bounds) for name in bounds[0].terms},
        tuple(caps),
        tuple(bound.numbers for bound in bounds),
        tuple(row[0]["messages"] for row in parts),
        slope_interval(values, statistic, group_size=GROUP),
        bound_slope(values, totals),
    )


def sweep_figure(result: SweepResult) -> Plot:
    """The statistic with a 95% bracket, the bound and its terms over the symbol, log-log."""
    theorem = get_theorem(result.sweep.theorem)
    symbol = theorem.symbols(result.label)[result.sweep.over]
    brackets = [mean_bracket(column, cap) for column, cap in zip(result.statistic.T, result.cap, strict=True)]
    values = list(result.values)
    claim = "" if result.sweep.claimed is None else f", claimed {result.sweep.claimed:.3g}"
    curves = [
        Curve(
            f"measured, slope {result.measured}",
            values,
            list(result.means),
            [bracket.lower for bracket in brackets],
            [bracket.upper for bracket in brackets],
        ),
        Curve(f"bound, slope {result.theory:.3f}{claim}", values, list(result.bounds), theory=True),
    ]
    largest = sorted(result.terms, key=lambda name: -max(result.terms[name]))[:MOST_TERMS]
    curves += [
        Curve(name, values, list(result.terms[name]), theory=True) for name in largest if any(result.terms[name])
    ]
    return log_log_plot(
        curves,
        title=f"{titled(theorem.statement(result.label))} over {result.sweep.over}",
        x_axis=Axis(f"{mathtext(symbol.latex)}: {plain(symbol.quantity.meaning)}", str(symbol.quantity.dimension)),
        y_axis=Axis(mathtext(theorem.metric.latex), str(theorem.metric.dimension)),
    )


MOST_TERMS = 4
"""Most terms that are drawn beside the bound: more curves could not be told apart by seven colours."""


def hidden_symbol(theorem_id: str, label: str) -> str | None:
    """The symbol of a statement that stands for the constant that the paper hides; None where it hides none."""
    symbols = get_theorem(theorem_id).symbols(label)
    return next((name for name, binding in symbols.items() if binding.quantity.name == HIDDEN_CONSTANT), None)


def proved_value(theorem_id: str, label: str) -> float | None:
    """The value that a proof gives for it, as the theorem declares it; None where none is declared."""
    theorem, name = get_theorem(theorem_id), hidden_symbol(theorem_id, label)
    found = (c for c in theorem.compared_where if c.relation == "==" and str(c.left) == name)
    return next((float(condition.right) for condition in found), None)


@dataclass(frozen=True)
class NeededConstant:
    """c along one symbol: the estimate and a 95% upper end at each point, and its log-log slope where c is positive."""

    over: str
    values: tuple[float, ...]
    needed: tuple[float, ...]
    upper: tuple[float, ...]
    slope: float | None
    proved: float | None

    @property
    def largest(self) -> float:
        return max(self.upper)

    def to_dict(self) -> dict[str, Any]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}

    def __str__(self) -> str:
        growth = "" if self.slope is None else f", exponent {self.slope:.2f}"
        given = "" if self.proved is None else f"; the proof gives {self.proved:g}"
        return f"{self.over}: c up to {max(self.needed):.3g} (95% end {self.largest:.3g}){growth}{given}"


def needed_constant(result: SweepResult) -> NeededConstant:
    """The smallest c along a sweep of a statement that hides a constant."""
    theorem_id, label = result.sweep.theorem, result.label
    symbol = hidden_symbol(theorem_id, label)
    assert symbol is not None
    found, ends = [], []
    for index, column in enumerate(result.statistic.T):
        c = result.numbers[index][symbol]
        first = result.terms[INITIALISATION][index]
        rest = (result.bounds[index] - first) / c
        bracket = mean_bracket(column, result.cap[index])
        found.append(max(0.0, (float(column.mean()) - first) / rest))
        ends.append(max(0.0, (bracket.upper - first) / rest))
    positive = all(value > 0 for value in found) and all(map(math.isfinite, found))
    slope = bound_slope(result.values, found) if positive else None
    return NeededConstant(
        result.sweep.over, result.values, tuple(found), tuple(ends), slope, proved_value(theorem_id, label)
    )
