"""The figure of a run: along the steps for a few grid points, over the axis of a longer grid; bands over the seeds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...algorithms.engine.metrics import METRICS
from ...errors import InputError
from ...figures import Axis, Curve, Panel, Plot, panel_plot
from .orderings import is_share
from .table import MEAN, bands, mean_interval

if TYPE_CHECKING:
    from .run import RunResult

MOST_CURVES = 7
"""More grid points than this are drawn over their axis, not along the steps."""
_UNITS = {
    "objective": "[f]",
    "gradient_sq": "[f]^2 [x]^-2",
    "distance": "[x]",
    "consensus_error": "[x]^2",
    "bytes": "bytes",
}


def run_figure(done: RunResult, metric: str) -> Plot:
    """One metric of a run.

    Raises:
        InputError: it was not measured.
    """
    if metric not in done.table.values:
        raise InputError(f"{metric[:40]}: not measured in this run; wanted one of {' '.join(done.table.metrics)}")
    over_axis = done.table.size > MOST_CURVES and len(done.table.axes) == 1 and _is_numeric(done.table.points)
    panel = _over_axis(done, metric) if over_axis else _along_steps(done, metric)
    title = f"{done.description['method']} on {done.description['problem']}"
    count = len(done.table.seeds)
    return panel_plot(
        [panel], title=f"{title}; bands are 95% t-intervals of the mean over {count} seeds" if count > 1 else title
    )


def _is_numeric(points: Any) -> bool:
    return all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for each in points.values() for value in each
    )


def _along_steps(done: RunResult, metric: str) -> Panel:
    table, curves = done.table, []
    chosen = _chosen(table.size)
    for index in chosen:
        name = _named(table.point(index)) or metric
        curves.append(band(name, table.times, table.values[metric][index]))
    if metric == "gradient_sq" and MEAN in table.values:
        for index in chosen:
            if not np.isnan(table.values[MEAN][index]).all():
                name = f"its mean over the steps, {_named(table.point(index))}".rstrip(", ")
                curves.append(band(name, table.times, table.values[MEAN][index]))
        shown = [table.point(index) for index in chosen]
        for bound in done.bounds:
            if bound["point"] in shown:
                name = f"bound of the mean, {bound['statement']} {_named(bound['point'])}".rstrip()
                curves.append(Curve(name, bound["T"], bound["values"], theory=True))
    return Panel(curves, Axis("steps", "1"), _axis(metric), y_log=is_log(metric, curves))


def _over_axis(done: RunResult, metric: str) -> Panel:
    table = done.table
    axis = table.axes[0]
    values = [float(value) for value in table.points[axis]]
    curves = [_ends(f"{metric} at the end", values, table.final(metric))]
    if metric == "gradient_sq" and MEAN in table.values:
        curves.append(_ends("its mean over the steps", values, table.final(MEAN)))
        for statement in dict.fromkeys(bound["statement"] for bound in done.bounds):
            pairs = [(b["point"][axis], b["values"][-1]) for b in done.bounds if b["statement"] == statement]
            curves.append(
                Curve(
                    f"bound of the mean, {statement}", [float(x) for x, _ in pairs], [y for _, y in pairs], theory=True
                )
            )
    return Panel(
        curves,
        Axis(axis, "1"),
        _axis(metric),
        x_log=min(values) > 0 and max(values) / min(values) > 20,
        y_log=is_log(metric, curves),
    )


def _ends(name: str, x: Sequence[float], final: np.ndarray) -> Curve:
    found = [mean_interval(row) for row in final]
    lower = [mean if math.isnan(low) else low for mean, low, _ in found]
    upper = [mean if math.isnan(high) else high for mean, _, high in found]
    return Curve(name, x, [mean for mean, _, _ in found], lower, upper)


def band(name: str, times: Sequence[float], values: np.ndarray) -> Curve:
    """The mean over the seeds of `(seeds, times)` with its t-interval."""
    mean, low, high = bands(values)
    return Curve(name, list(times), mean.tolist(), low.tolist(), high.tolist())


def _chosen(size: int) -> list[int]:
    """All grid points, or a few of many, the first and the last among them."""
    if size <= MOST_CURVES:
        return list(range(size))
    return sorted({round(k * (size - 1) / (MOST_CURVES - 1)) for k in range(MOST_CURVES)})


def _named(point: Any) -> str:
    return ", ".join(
        f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}" for name, value in point.items()
    )


def _axis(metric: str) -> Axis:
    return Axis(metric if metric not in METRICS else metric.replace("_", " "), _UNITS.get(metric, "1"))


def is_log(metric: str, curves: Sequence[Curve]) -> bool:
    """Logarithmic where all values are positive and spread over more than a decade; shares and what is sent never are."""
    if is_share(metric) or metric in ("messages", "bytes"):
        return False
    values = [y for curve in curves for y in curve.y if math.isfinite(y)]
    return bool(values) and min(values) > 0 and max(values) > 10 * min(values)
