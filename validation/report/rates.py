"""The rates part of the report: every sweep of a theorem with its figure and data, costs to reach eps, hidden constants."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...bounds.cost.resources import MEANING
from ...figures import Plot, inline_svg
from ..runs.campaign import run_tasks
from ..runs.hidden_constant import NeededConstant, hidden_symbol, needed_constant
from ..runs.measured_complexity import CostExponent, cost_exponents
from ..runs.registry import complexity_of, sweeps_of
from ..runs.sweeps import SEEDS, SweepResult, run_sweep, sweep_figure, tasks_of_sweeps


@dataclass(frozen=True)
class Rates:
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
) -> Rates:
    """All sweeps of a theorem, and the costs along its schedule; every chunk is taken from `cache` when it is there."""
    sweeps, schedule = sweeps_of(theorem_id), complexity_of(theorem_id)
    wanted = sweeps if schedule is None or schedule in sweeps else (*sweeps, schedule)
    chunks = run_tasks(tasks_of_sweeps(wanted, seeds), jobs=jobs, cache=cache, scheduler=scheduler)
    results = tuple(run_sweep(sweep, seeds=seeds, chunks=chunks) for sweep in sweeps)
    costs = () if schedule is None else tuple(cost_exponents(run_sweep(schedule, seeds=seeds, chunks=chunks)))
    hidden = tuple(needed_constant(result) for result in results if hidden_symbol(theorem_id, result.label))
    return Rates(theorem_id, results, costs, hidden)


def rates_section(rates: Rates, prefix: str) -> dict[str, Any]:
    """Rows and figures for the template."""
    return {
        "theorem": rates.theorem,
        "sweeps": [_sweep_row(result) for result in rates.sweeps],
        "figures": [
            figure_entry(sweep_figure(result), f"{prefix}_{result.sweep.over}", result.sweep.theorem, str(result))
            for result in rates.sweeps
        ],
        "costs": [_cost_row(cost) for cost in rates.costs],
        "costs_along": rates.costs[0].why if rates.costs else "",
        "constants": [str(constant) for constant in rates.constants],
        "largest_constant": f"{max((max(c.needed) for c in rates.constants), default=0.0):.3g}",
    }


def _sweep_row(result: SweepResult) -> dict[str, str]:
    claimed = result.sweep.claimed
    return {
        "over": result.sweep.over,
        "points": ", ".join(f"{value:g}" for value in result.values),
        "measured": str(result.measured),
        "bound": f"{result.theory:.3f}",
        "claimed": "" if claimed is None else f"{claimed:.3g}",
        "comparison": str(result.comparison),
        "tightness": f"{min(result.tightness):.3g} to {max(result.tightness):.3g}",
        "why": result.sweep.why,
    }


def _cost_row(cost: CostExponent) -> dict[str, str]:
    return {
        "resource": MEANING[cost.resource],
        "measured": str(cost.measured),
        "bound": f"{cost.bound:.3f}",
        "claimed": "" if cost.claimed is None else f"{cost.claimed:.3g}",
        "where": cost.claim,
    }


def figure_entry(plot: Plot, prefix: str, name: str, caption: str) -> dict[str, Any]:
    """An inline figure with its data as JSON and CSV links, for the template."""
    from markupsafe import Markup

    return {
        "svg": Markup(inline_svg(plot, prefix)),
        "caption": caption,
        "file": f"{name}_{prefix}.json",
        "href": _data_uri("application/json", json.dumps(plot.data, allow_nan=False)),
        "csv_file": f"{name}_{prefix}.csv",
        "csv_href": _data_uri("text/csv", as_csv(plot.data)),
    }


def as_csv(data: dict[str, list[float | None]]) -> str:
    """One column per curve part; shorter columns are padded with empty cells."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(data)
    length = max((len(column) for column in data.values()), default=0)
    writer.writerows([_cell(column, row) for column in data.values()] for row in range(length))
    return target.getvalue()


def _cell(column: Sequence[float | None], row: int) -> str:
    value = column[row] if row < len(column) else None
    return "" if value is None else repr(value)


def _data_uri(media: str, text: str) -> str:
    return f"data:{media};base64,{base64.b64encode(text.encode()).decode()}"
