"""What a figure runs, as a table with a row for each curve, and the runner that reads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import prod
from typing import Any

import numpy as np
import torch

from ...algorithms import Method
from .figures import Made, Measured, Setup
from .orderings import is_share
from .run import run

_TUNING_SEED = 1_000_003
_TUNING_SEEDS = 2
_RECORDS = 40


@dataclass(frozen=True)
class Size:
    """A value of the default size, and the paper's with `--full`."""

    default: Any
    full: Any


@dataclass(frozen=True)
class Best:
    """Of these values of a hyperparameter the one that does best, on seeds that no figure uses."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Row:
    """One curve: a method on a problem.

    Args:
        name, panel: of the curve.
        problem: makes it, of the setup and of those settings that are no hyperparameters of the method.
        settings: hyperparameters, and parameters of the problem; each may be a `Size`, a hyperparameter a `Best`.
        rounds, period: those of the table without them.
        choice: under which name the best hyperparameters are reported; that of the curve without it. Rows with one choice share
            what was found for the first of them.
        tuning: settings that are others while the best is looked for.
        only_full: it is there with `--full` only.
    """

    name: str
    method: type[Method]
    problem: Callable[..., Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    panel: str = ""
    rounds: int | Size | None = None
    period: int | str | None = None
    choice: str = ""
    tuning: Mapping[str, Any] = field(default_factory=dict)
    only_full: bool = False


def varied(
    name: str, values: Sequence[Any], method: type[Method], problem: Callable[..., Any], *, panel: str = "", **more: Any
) -> tuple[Row, ...]:
    """A row for each value of one setting, named after it; `more` are the others that are not the table's."""
    return tuple(Row(f"{name}={value:g}", method, problem, {**more, name: value}, panel) for value in values)


@dataclass(frozen=True, eq=False)
class CurveTable:
    """The curves of a figure; called with a setup it runs them.

    Args:
        metrics: what is measured of each.
        rounds: length of a run, in periods. period: steps, or the hyperparameter that says how many; above 1 the horizontal axis
            counts communication rounds.
        settings: of all rows that do not say otherwise.
        records: about how many values are kept of a run.
        tuned_for: the metric that decides on a `Best`: a share should be large, any other small.
        tuning_rounds: length of the runs that it is found with; `rounds` without it.
        step_label: how the step size that all rows share is reported; not at all without it.
        data_name: that of the problem without it.
        finish: what is made of the measured curves; without it their models are not kept.
    """

    rows: tuple[Row, ...]
    metrics: tuple[str, ...]
    rounds: int | Size = 1
    period: int | str = 1
    settings: Mapping[str, Any] = field(default_factory=dict)
    records: int = _RECORDS
    tuned_for: str = ""
    tuning_rounds: int | Size | None = None
    step_label: str = ""
    data_name: str = ""
    finish: Callable[[Made], Made] | None = None

    def changed(self, **settings: Any) -> CurveTable:
        """The same with these settings in every row, as a control has it."""
        return replace(self, rows=tuple(replace(row, settings={**row.settings, **settings}) for row in self.rows))

    def __call__(self, setup: Setup) -> Made:
        """Run all rows.

        Raises:
            InputError: a run takes too long, or does not fit in memory.
        """
        chosen = {self.step_label: sized(setup, self.settings["eta"])} if self.step_label else {}
        problems: dict[Any, Any] = {}
        best: dict[str, Method] = {}
        curves = []
        for row in self.rows:
            if row.only_full and not setup.full:
                continue
            given = {name: sized(setup, value) for name, value in {**self.settings, **row.settings}.items()}
            declared = {item.name for item in fields(row.method)}
            hyper = {name: given.pop(name) for name in list(given) if name in declared}
            if (row.problem, *given.items()) not in problems:
                problems[row.problem, *given.items()] = row.problem(setup, **given)
            problem = problems[row.problem, *given.items()]
            fixed = {name: value for name, value in hyper.items() if not isinstance(value, Best)}
            grid = {name: list(value.values) for name, value in hyper.items() if isinstance(value, Best)}
            choice, length = row.choice or row.name, row.rounds or self.rounds
            if grid and choice not in best:
                searched = {**fixed, **row.tuning}
                steps = sized(setup, self.tuning_rounds or length) * self._period(row, searched)
                best[choice], chosen[choice] = tuned(
                    setup, row.method, searched, grid, problem, steps, self.tuned_for, larger=is_share(self.tuned_for)
                )
            method = replace(best[choice], **fixed) if grid else row.method(**fixed)
            period = self._period(row, fixed)
            steps = sized(setup, length) * period
            options: dict[str, Any] = {"panel": row.panel, "period": period, "records": self.records}
            measured = curve(setup, row.name, method, problem, steps, self.metrics, **options)
            curves.append(measured if self.finish else replace(measured, models=None))
        made = Made(tuple(curves), chosen, data_name=self.data_name or problem.name)
        return self.finish(made) if self.finish else made

    def _period(self, row: Row, settings: Mapping[str, Any]) -> int:
        period = row.period or self.period
        return settings[period] if isinstance(period, str) else period


def sized(setup: Setup, value: Any) -> Any:
    """The value of a `Size` for this setup; any other as it is."""
    return setup.size(value.default, value.full) if isinstance(value, Size) else value


def curve(
    setup: Setup,
    name: str,
    method: Method,
    problem: Any,
    T: int,
    metrics: Sequence[str],
    *,
    panel: str = "",
    period: int = 1,
    records: int = _RECORDS,
) -> Measured:
    """One method on one problem, recorded every so many whole rounds of `period` steps.

    With a period above 1 the horizontal axis counts communication rounds.
    """
    every = period * max(1, T // (period * records))
    setup.say(f"{panel} {name}: {T} steps".strip())
    done = run(
        method, problem, T=T, seeds=setup.seeds, metrics=metrics, every=every, checkpoints=setup.kept, hours=setup.hours
    )  # fmt: skip
    values = {metric: np.asarray(done.table.values[metric][0]) for metric in metrics}
    times = [t / period for t in done.table.times]
    over = "communication rounds" if period > 1 else "steps"
    models = None if done.models is None else done.models[0]
    return Measured(panel, name, times, values, over, settings(setup, method, problem, T), models)


def settings(setup: Setup, method: Method, problem: Any, T: int) -> dict[str, Any]:
    """What of a run a control may change: hyperparameters, steps, and the problem, by its objective at one point.

    Empty with --full, where that objective may not fit in memory: a control is looked at in its default size.
    """
    if setup.full:
        return {}
    at = problem.initial_point + 0.1 * torch.sin(1 + torch.arange(problem.dim, dtype=torch.float64))
    return {**method.hyperparameters(), "T": T, "problem": problem.objective(at[None])[0].item().hex()}


def tuned(
    setup: Setup,
    owner: type[Method],
    settings: Mapping[str, Any],
    grid: Mapping[str, Sequence[Any]],
    problem: Any,
    T: int,
    metric: str,
    *,
    larger: bool,
) -> tuple[Method, dict[str, Any]]:
    """The method with the grid point whose mean of the last tenth is best, on seeds that no figure uses; one point needs no run."""
    if prod(map(len, grid.values())) == 1:
        best = {name: value for name, (value,) in grid.items()}
        return owner(**{**settings, **best}), best
    setup.say(f"tuning {owner.name}")
    found = run(
        owner, problem, T=T, seeds=_TUNING_SEEDS, metrics=[metric], settings=settings, grid=grid,
        every=max(1, T // 20), root_seed=_TUNING_SEED, checkpoints=setup.kept, hours=setup.hours,
    )  # fmt: skip
    last = found.table.values[metric][:, :, -3:].mean((1, 2))
    worst = -np.inf if larger else np.inf
    scores = np.where(np.isfinite(last), last, worst)
    best = found.table.point(int(scores.argmax() if larger else scores.argmin()))
    return owner(**{**settings, **{name: _typed(value) for name, value in best.items()}}), best


def _typed(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
