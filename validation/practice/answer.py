"""What `fedco practice` answers: a row for each step size, the best of theory and of the grid, and the product."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...bounds.language.rendering import titled
from ...bounds.language.result import AbstractResult, Cell, Sheet, Table, shown
from ...bounds.language.theorem import Theorem
from ...errors import InputError
from ...figures import Axis, Curve, Panel, Plot, mathtext, panel_plot
from .explain import Explanation

DIVERGED = 1e9
"""A run whose metric is so many times the squared gradient norm at the start, or not finite, diverged."""


@dataclass(frozen=True)
class Row:
    """One step size.

    Args:
        step: its value. times: it over theory's. rounds: in which models are shared.
        bound_text: why there is no bound; empty where there is one.
        mean: of the measured metric over the seeds; None where a seed diverged, or where nothing was run.
        low, high: ends of its 95% t-interval; None with one seed.
        diverged: how many seeds diverged (`DIVERGED`).
        bound: of the theorem; None where a condition fails.
    """

    step: float
    times: float
    rounds: int
    bound_text: str
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    diverged: int = 0
    bound: float | None = None

    @property
    def measured(self) -> float | str:
        """The mean, or why there is none."""
        if self.mean is not None:
            return self.mean
        return f"diverged ({self.diverged} seeds)" if self.diverged else "not run"


@dataclass(frozen=True, repr=False)
class Practice(AbstractResult):
    """A theorem's step size beside a grid, on one problem.

    Args:
        steps: local steps of every run. step: the symbol that the grid varies. settings: the other hyperparameters, theory's.
        rows: by rising step size; theory's has `times` 1.
        explanation: of bound / measured at theory's step size; None where that cannot be computed.
    """

    theorem: Theorem
    statement: str
    problem: str
    steps: int
    seeds: int
    root_seed: int
    step: str
    settings: Mapping[str, float]
    rows: tuple[Row, ...]
    explanation: Explanation | None
    notes: tuple[str, ...] = ()

    @property
    def theory(self) -> Row:
        """The row of the hyperparameters that make the bound least."""
        return next(row for row in self.rows if row.times == 1)

    @property
    def best(self) -> Row | None:
        """The row with the least measured mean; None where every row diverged."""
        return min((row for row in self.rows if row.mean is not None), key=lambda row: row.mean, default=None)  # type: ignore[arg-type,return-value]

    @property
    def gain(self) -> float | None:
        """Measured at theory's step size / measured at the best of the grid; None where one of them is missing or 0."""
        theory, best = self.theory.mean, self.best and self.best.mean
        return theory / best if theory is not None and best else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "theorem": self.theorem.id,
            "statement": self.statement,
            "metric": self.theorem.metric.name,
            "problem": self.problem,
            "steps": self.steps,
            "seeds": self.seeds,
            "root_seed": self.root_seed,
            "step": self.step,
            "settings": dict(self.settings),
            "rows": [asdict(row) for row in self.rows],
            "theory": self.theory.step,
            "best": self.best and self.best.step,
            "gain": self.gain,
            "explanation": self.explanation and asdict(self.explanation),
            "notes": list(self.notes),
        }

    def sheet(self) -> Sheet:
        rows = tuple(
            (row.step, row.times, row.rounds, row.measured, row.low, row.high, row.bound_text or row.bound)
            for row in self.rows
        )
        heads = (self.step, "times theory", "rounds", "measured", "low", "high", "bound")
        tables = [Table("grid", heads, rows)]
        if self.explanation is not None:
            tables.append(Table("product", ("line", "in the bound", "along the run", "factor"), self._product()))
            terms = tuple((line.name, line.value, line.times) for line in self.explanation.terms)
            tables.append(Table("terms", ("term, constants along the run", "value", "times measured"), terms))
        return Sheet(self._title(), None, tuple(tables), (*self.notes, *self._said()))

    def _title(self) -> str:
        others = "".join(f", {name} = {value:.6g}" for name, value in self.settings.items())
        return f"{self.theorem.id} ({self.statement}) on {self.problem}: {self.steps} steps, {self.seeds} seeds{others}"

    def _product(self) -> tuple[tuple[Cell, ...], ...]:
        assert self.explanation is not None
        lines = tuple((line.symbol, line.worst, line.along, line.factor) for line in self.explanation.constants)
        remaining = ("what remains (the quotient)", None, None, self.explanation.remaining)
        return (*lines, remaining, ("bound / measured", None, None, self.explanation.factor))

    def _said(self) -> tuple[str, ...]:
        """Best in theory, best on the grid, and what stays as it is in the product."""
        best, theory = self.best, self.theory
        said = [f"least bound: {self.step} = {theory.step:.4g}, measured {_text(theory.measured)}"]
        if best is theory:
            said.append("least measured: the same step size; no other of the grid does better")
        elif best is not None:
            less = f", {self.gain:.4g} times less" if self.gain else ""
            said.append(
                f"least measured: {self.step} = {best.step:.4g}, {best.times:g} times theory's, measured {_text(best.measured)}{less}"
            )
        if any(row.diverged for row in self.rows):
            said.append(
                f"diverged: the metric is not finite, or more than {DIVERGED:g} times the squared gradient norm at the start"
            )
        if best is not None and best is self.rows[-1]:
            said.append("the largest step size of the grid is the best one: a wider grid may have a better one")
        if self.explanation is None:
            said.append("bound / measured cannot be computed at theory's step size")
        else:
            said += [f"{name} stays as it is: {why}" for name, why in self.explanation.kept.items()]
        return tuple(said)

    def __str__(self) -> str:
        lines = [self._title(), f"  metric {self.theorem.metric.name}; 95% t-interval of the mean over the seeds"]
        lines.append(f"  {self.step:>12} {'x theory':>10} {'rounds':>7} {'measured':>18}  {'interval':<24} bound")
        for row in self.rows:
            ends = "" if row.low is None or row.high is None else f"[{row.low:.4g}, {row.high:.4g}]"
            bound = row.bound_text if row.bound is None else f"{row.bound:.4g}"
            lines.append(
                f"  {row.step:>12.4g} {row.times:>10.4g} {row.rounds:>7} {_text(row.measured):>18}  {ends:<24} {bound}"
            )
        if (found := self.explanation) is not None:
            lines.append(f"  bound / measured at theory's step size: {found.factor:.4g} =")
            lines += [
                f"    {line.factor:<10.4g} {line.symbol}: {line.worst:.4g} in the bound, {line.along:.4g} along the run"
                for line in found.constants
            ]
            lines.append(
                f"    {found.remaining:<10.4g} what remains, the quotient: the sum of the terms over the measured metric"
            )
            lines += [f"      {line.times:<10.4g} {line.name}" for line in found.terms]
        return "\n".join([*lines, *(f"  {text}" for text in (*self._said(), *self.notes))])

    def plot(self) -> Plot:
        """Measured metric with its interval, and the bound, over the step size.

        Raises:
            InputError: every run diverged.
        """
        rows = [row for row in self.rows if row.mean is not None]
        if not rows:
            raise InputError("plot: every run diverged; wanted a grid with smaller step sizes (--below)")
        means = [float(row.mean or 0) for row in rows]
        low = [mean if row.low is None else row.low for row, mean in zip(rows, means, strict=True)]
        high = [mean if row.high is None else row.high for row, mean in zip(rows, means, strict=True)]
        curves = [Curve("measured", [row.step for row in rows], means, low, high)]
        bounded = {row.step: row.bound for row in self.rows if row.bound is not None}
        if bounded:
            curves.append(Curve("bound", list(bounded), list(bounded.values()), theory=True))
        metric = self.theorem.metric
        panel = Panel(
            curves,
            Axis(f"step size {self.step}", "1"),
            Axis(mathtext(metric.latex), str(metric.dimension)),
            x_log=True,
            y_log=min(means) > 0,
        )
        title = f"{titled(self.theorem.statement(self.statement))} on {self.problem}; bands are 95% t-intervals"
        return panel_plot([panel], title=title)


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else shown(value)
