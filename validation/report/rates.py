"""The rates part of the report: every sweep of a theorem, costs to reach eps, hidden constants."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..runs.campaign import run_tasks
from ..runs.measured_complexity import CostExponent, cost_exponents
from ..runs.registry import complexity_of, sweeps_of
from ..runs.sweeps import SEEDS, NeededConstant, SweepResult, hidden_symbol, needed_constant, run_sweep, tasks_of_sweeps


@dataclass(frozen=True)
class MeasuredRates:
    """What a theorem's sweeps found."""

    theorem: str
    sweeps: tuple[SweepResult, ...]
    costs: tuple[CostExponent, ...]
    constants: tuple[NeededConstant, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "theorem": self.theorem,
            "sweeps": [result.to_dict() for result in self.sweeps],
            "costs": [cost.to_dict() for cost in self.costs],
            "hidden_constant": [constant.to_dict() for constant in self.constants],
        }


def measure_rates(
    theorem_id: str,
    *,
    seeds: int = SEEDS,
    jobs: int = 1,
    cache: Path | None = None,
    scheduler: str | None = None,
) -> MeasuredRates:
    """All sweeps of a theorem, and the costs along its schedule; every chunk is taken from `cache` when it is there."""
    sweeps, schedule = sweeps_of(theorem_id), complexity_of(theorem_id)
    wanted = sweeps if schedule is None or schedule in sweeps else (*sweeps, schedule)
    chunks = run_tasks(tasks_of_sweeps(wanted, seeds), jobs=jobs, cache=cache, scheduler=scheduler)
    results = tuple(run_sweep(sweep, seeds=seeds, chunks=chunks) for sweep in sweeps)
    costs = () if schedule is None else tuple(cost_exponents(run_sweep(schedule, seeds=seeds, chunks=chunks)))
    hidden = tuple(needed_constant(result) for result in results if hidden_symbol(theorem_id, result.label))
    return MeasuredRates(theorem_id, results, costs, hidden)
