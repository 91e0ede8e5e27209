"""One dial of a theorem at a time: how the measured statistic depends on it, beside how the bound does.

A sweep is a list of cells that differ in one symbol of the statement: a horizon, the number of clients, a period, a batch
size, a noise or a heterogeneity constant. Each point is a campaign cell of its own, with its own root seed, so the points
share no randomness and the slope interval of `slopes` applies; chunks are cached and resumed as in `campaign`.

What is compared. A bound claims that the statistic grows with the dial no faster than the bound does (a negative exponent:
falls at least as fast). So the measured log-log slope is put beside the bound's own slope over the same points. `SLOWER`
and `EQUAL` (within `EXPONENT_TOLERANCE`) agree with the claim; `FASTER` says that over these points the statistic gains
on the bound. That alone refutes no bound, which may lie far above: it says that the exponent cannot be read off these
points. The interval has 95% coverage and is a description; verdicts and their alpha belong to `validate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from ...bounds.language.reading import InputError
from ...bounds.registry import get_theorem as find_theorem
from ...synthetic import problem as find_problem
from ..recipes import recipe_for
from ..recipes.recipe import Instance
from ..report.plots import Axis, Curve, Plot, log_log_plot
from ..statistics.evalues import mean_bracket
from ..statistics.slopes import EXPONENT_TOLERANCE, SlopeEstimate, bound_slope, slope_interval
from .campaign import Cell, Task, chunks_of, run_tasks, tasks_of
from .experiments import GIVEN_BY_THE_PROBLEM, HORIZONS, evaluate_at

SEEDS = 64
GROUP = 8
FIRST_ROOT_SEED = 1000
"""Beyond those of `validate`, so that a sweep repeats none of its runs."""


class Comparison(StrEnum):
    """The measured exponent beside the bound's over the same points."""

    SLOWER = "grows more slowly than the bound"
    EQUAL = "as the bound"
    FASTER = "grows faster than the bound"


@dataclass(frozen=True)
class Sweep:
    """A dial of a theorem and the cells along it.

    Args:
        dial: a symbol of the statement.
        cells: (instance, T) per point.
        claimed: the exponent that the paper names for this dial, None where it names none.
        why: what the base instance is and what is kept fixed.
    """

    theorem: str
    dial: str
    cells: tuple[tuple[Instance, int], ...]
    why: str
    claimed: float | None = None

    @property
    def name(self) -> str:
        return f"{self.theorem} over {self.dial}"

    def campaign_cells(self, seeds: int) -> list[Cell]:
        label = recipe_for(self.theorem).label
        return [
            Cell(self.theorem, label, instance, T, seeds, FIRST_ROOT_SEED + index)
            for index, (instance, T) in enumerate(self.cells)
        ]


@dataclass(frozen=True)
class SweepResult:
    """Measured and claimed dependence on a dial; all lists are over the points, `statistic` is (seeds, points)."""

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
            "dial": self.sweep.dial,
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


def along(
    theorem_id: str,
    dial: str,
    base: Instance,
    T: int | Callable[[Any], int],
    values: Sequence[Any],
    why: str,
    *,
    claimed: float | None = None,
    hyper: Callable[[Any], Mapping[str, Any]] | None = None,
    dials: Callable[[Any], Mapping[str, Any]] | None = None,
) -> Sweep:
    """A sweep from a base instance, driven by what the declaration says the symbol is.

    A horizon moves T; a constant, and what belongs to the objective (clients, nu, alpha), is a dial of the problem of the
    same name unless `dials` says which; everything else is a hyperparameter. `hyper` adds what moves along with it.

    Raises:
        InputError: the statement has no such symbol.
    """
    symbols = find_theorem(theorem_id).symbols(recipe_for(theorem_id).label)
    if dial not in symbols:
        raise InputError(f"{dial[:30]}: not a symbol of {theorem_id}; wanted one of {' '.join(symbols)}")
    quantity = symbols[dial].quantity
    given = GIVEN_BY_THE_PROBLEM.get(quantity.name)

    def point(value: Any) -> tuple[Instance, int]:
        is_horizon = quantity.name in HORIZONS
        is_hyper = quantity.role == "hyperparameter" and not is_horizon and given is None
        chosen = {**base.hyperparameters, **({dial: value} if is_hyper else {}), **(hyper(value) if hyper else {})}
        own = {} if is_hyper or is_horizon else {given or dial: value}
        problem_dials = {**base.dials, **(dials(value) if dials else own)}
        horizon = int(value) if is_horizon else T(value) if callable(T) else T
        return Instance(base.problem, chosen, why, problem_dials, (horizon,)), horizon

    return Sweep(theorem_id, dial, tuple(point(value) for value in values), why, claimed)


def evaluate_sweep(sweep: Sweep) -> tuple[list[float], list[Any], list[float]]:
    """Value of the dial, bound and cap at each point, with nothing run.

    Raises:
        InputError: a point that the theorem does not admit.
    """
    theorem, label = find_theorem(sweep.theorem), recipe_for(sweep.theorem).label
    values, bounds, caps = [], [], []
    for instance, T in sweep.cells:
        problem = find_problem(instance.problem, **instance.dials)
        bound, _ = evaluate_at(theorem, label, problem, instance.hyperparameters, T)
        if not bound.admissible:
            raise InputError(f"{sweep.name}: condition {', '.join(bound.failed)} fails on {instance.name} at T={T}")
        values.append(bound.numbers[sweep.dial])
        bounds.append(bound)
        caps.append(float(problem.certificates["gradient_cap"].value) ** 2)
    return values, bounds, caps


def tasks_of_sweeps(sweeps: Sequence[Sweep], seeds: int = SEEDS) -> list[Task]:
    """All chunks of several sweeps, longest first."""
    return tasks_of([cell for sweep in sweeps for cell in sweep.campaign_cells(seeds)])


def run_sweep(
    sweep: Sweep,
    *,
    seeds: int = SEEDS,
    jobs: int = 1,
    cache: Path | None = None,
    chunks: Mapping[str, Any] | None = None,
) -> SweepResult:
    """Measure a sweep.

    Args:
        seeds: per point, at least two groups of 8; descriptive, so not planned for a verdict.
        cache: folder of the chunks, reused when they are there.
        chunks: results that were computed elsewhere, by key (`run_tasks`).
    """
    values, bounds, caps = evaluate_sweep(sweep)
    cells = sweep.campaign_cells(seeds)
    found = chunks if chunks is not None else run_tasks(tasks_of(cells), jobs=jobs, cache=cache)
    parts = [[found[task.key] for task in chunks_of(cell)] for cell in cells]
    statistic = np.stack([np.concatenate([part["statistic"] for part in row]) for row in parts], axis=1)
    totals = tuple(float(bound.total) for bound in bounds)
    return SweepResult(
        sweep,
        recipe_for(sweep.theorem).label,
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
    """The statistic with a 95% bracket, the bound and its terms over the dial, log-log."""
    theorem = find_theorem(result.sweep.theorem)
    symbol = theorem.symbols(result.label)[result.sweep.dial]
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
        title=f"{result.sweep.theorem} ({result.label}) over {result.sweep.dial}",
        x_axis=Axis(f"{result.sweep.dial}: {symbol.quantity.meaning}", str(symbol.quantity.dimension)),
        y_axis=Axis(f"mean over t of {theorem.metric.name}", str(theorem.metric.dimension)),
    )


MOST_TERMS = 4
"""Terms drawn beside the bound: more curves than seven colours tell apart say nothing."""
