"""A bound and its terms over one symbol, with the empirical curve of a validate run beside it if there is one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ...bounds.evaluation.evaluate import bound, evaluate
from ...bounds.language.quantities import COUNT
from ...bounds.language.reading import InputError, read_values
from ...bounds.language.rendering import titled
from ...bounds.language.theorem import Statement
from ...figures import Axis, Curve, Plot, log_log_plot, mathtext, plain
from ...suggestion import nearest
from ..runs.validate import read_measured

POINTS = 60


def bound_plot(
    statement: Statement,
    over: str,
    ends: tuple[float, float],
    values: Mapping[str, Any],
    measured: Path | None = None,
) -> tuple[Plot, list[str]]:
    """The total and each term over `over`, where the statement is admissible; the rest of the axis is left blank.

    Returns:
        The figure, and for each blank end of the axis how far it reaches, and which condition fails there, what it wants and gets.

    Raises:
        InputError: an unknown symbol, a missing value, ends out of order, or no admissible point on the axis.
    """
    symbols, theorem = statement.symbols, statement.theorem
    if over not in symbols:
        raise InputError(f"{over[:30]}: not a symbol of {statement.name}; {nearest(over, tuple(symbols))}")
    if not 0 < ends[0] < ends[1]:
        raise InputError(f"{over}: wanted 0 < from < to, got {ends[0]:g} and {ends[1]:g}")
    numbers = read_values(symbols, {k: v for k, v in values.items() if k != over}, statement.name)
    axis = np.geomspace(*ends, POINTS)
    if symbols[over].quantity.domain == COUNT:
        whole = np.round(axis)
        axis = np.unique(whole[(whole >= ends[0]) & (whole <= ends[1])])
        if not len(axis):
            raise InputError(f"{over}: wanted a whole number between from and to, got {ends[0]:g} and {ends[1]:g}")
    found = evaluate(statement, **{name: float(value) for name, value in numbers.items()}, **{over: axis})
    if not found["terms"]:
        raise InputError(f"{statement.name}: has no terms to plot")
    curves = [Curve("bound", list(axis), _shown(found["total"], found["admissible"]), theory=True)]
    curves += [
        Curve(name, list(axis), _shown(term, found["admissible"]), theory=True) for name, term in found["terms"].items()
    ]
    if not np.any(found["admissible"]):
        why = min((_failures(statement, numbers, over, end) for end in (axis[0], axis[-1])), key=len)
        raise InputError(
            f"{over}: no admissible value between {ends[0]:g} and {ends[1]:g} for {statement.name}; {'; '.join(why)}"
        )
    (inside,) = np.nonzero(np.broadcast_to(found["admissible"], axis.shape))
    blank = (axis[: inside[0]], axis[0]), (axis[inside[-1] + 1 :], axis[-1])
    gaps = [
        f"{over} = {points[0]:g}{f' to {points[-1]:g}' if len(points) > 1 else ''}: {'; '.join(_failures(statement, numbers, over, end))}"
        for points, end in blank
        if len(points)
    ]
    curves += _measured_curves(theorem.id, measured) if measured and over == "T" else []
    unit = str(symbols[over].quantity.dimension)
    figure = log_log_plot(
        curves,
        title=f"{titled(statement)} over {over}",
        x_axis=Axis(f"{mathtext(symbols[over].latex)}: {plain(symbols[over].quantity.meaning)}", unit),
        y_axis=Axis(mathtext(theorem.metric.latex), str(theorem.metric.dimension)),
    )
    return figure, gaps


def _failures(statement: Statement, numbers: Mapping[str, Any], over: str, end: float) -> list[str]:
    """The conditions that fail at an end of the axis."""
    return [str(failure) for failure in bound(statement, {**numbers, over: float(end)}, strict=False).failures]


def _shown(values: Any, admissible: Any) -> list[float]:
    kept = np.where(np.asarray(admissible) & (np.asarray(values) > 0), values, np.nan)
    return [float(value) for value in kept]


def _measured_curves(theorem_id: str, folder: Path) -> list[Curve]:
    rows = [row for row in read_measured(folder) if row["theorem"] == theorem_id]
    problems = sorted({row["problem"] for row in rows})
    return [
        Curve(f"empirical, {name}", [r["T"] for r in mine], [r["verdict"]["empirical"] for r in mine])
        for name in problems
        if (mine := sorted((r for r in rows if r["problem"] == name), key=lambda r: r["T"]))
    ]
