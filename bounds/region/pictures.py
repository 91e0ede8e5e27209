"""Figures of the inverse questions; matplotlib is imported only here, and only when a figure is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sympy as sp

from ...storage import write
from ..language.reading import InputError
from ..language.theorem import Statement
from .single import Admissible, admissible, reduced

_POINTS = 400
_DECADES = 3.0


def region_picture(
    statement: Statement,
    names: tuple[str, str],
    values: Mapping[str, Any],
    out: Path,
    *,
    window: tuple[tuple[float, float], tuple[float, float]] | None = None,
) -> Admissible:
    """Draw the joint admissible set of two hyperparameters, each condition's border with its name.

    Args:
        window: ranges of the two axes (both logarithmic); chosen around the set if left out.

    Returns:
        The set that was drawn.

    Raises:
        InputError: not two names, or as for `admissible`.
    """
    import numpy as np

    if len(names) != 2:
        raise InputError(f"a picture: wanted two hyperparameters, got {len(names)}")
    region = admissible(statement, names, values)
    conditions = [c for c in reduced(statement, names, values) if c.relation != "=="]
    symbols = [statement.symbols[name].symbol for name in names]
    (x0, x1), (y0, y1) = window or _window(region, names)
    grid = np.meshgrid(np.geomspace(x0, x1, _POINTS), np.geomspace(y0, y1, _POINTS))
    figure, axes = _figure()
    inside = np.ones_like(grid[0], dtype=bool)
    for number, condition in enumerate(conditions):
        small, large = (
            (condition.right, condition.left)
            if condition.relation in (">", ">=")
            else (condition.left, condition.right)
        )
        ratio = np.broadcast_to(sp.lambdify(symbols, small / large, "numpy")(*grid), grid[0].shape)
        inside &= ratio <= 1
        if ratio.min() < 1 < ratio.max():
            axes.contour(*grid, ratio, levels=[1.0], colors=[f"C{number}"])
            axes.plot([], [], color=f"C{number}", label=condition.name)
    axes.contourf(*grid, inside.astype(float), levels=[0.5, 1.5], colors=["#cfe8cf"])
    wording = [statement.symbols[name] for name in names]
    xlabel, ylabel = (f"{b.name}: {b.quantity.meaning} ({b.quantity.dimension})" for b in wording)
    axes.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel, title=f"{statement.name}: admissible set")
    if all(name in region.interior for name in names):
        axes.plot(*(float(sp.sympify(region.interior[name])) for name in names), "k.", label="a point inside")
    axes.legend(fontsize=8, loc="best")
    _save(figure, out)
    return region


def _window(region: Admissible, names: Sequence[str]) -> tuple[tuple[float, float], tuple[float, float]]:
    """About three decades around the ends of each projection."""
    ranges = []
    for name in names:
        interval = region.intervals.get(name)
        if interval is None:
            ranges.append((1e-4, 1e4))
            continue
        low, high = interval.lower or None, interval.upper
        if high is None:
            high = (low or 1.0) * 10**_DECADES
        low = low or high / 10**_DECADES
        ranges.append((low / 1.5, high * 3))
    return ranges[0], ranges[1]


def lines_picture(
    out: Path, curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], xlabel: str, ylabel: str, title: str = ""
) -> None:
    """Curves on logarithmic axes, each labelled."""
    figure, axes = _figure()
    for name, (x, y) in curves.items():
        axes.plot(x, y, marker=".", label=name)
    axes.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel, title=title)
    axes.legend(fontsize=8)
    _save(figure, out)


def _figure() -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.add_subplot()


def _save(figure: Any, out: Path) -> None:
    try:
        write(out, lambda file: figure.savefig(file, dpi=150, format=out.suffix.lstrip(".") or "png"))
    except ValueError as error:
        raise InputError(f"{out}: wanted a known ending such as .png or .svg, got {error}") from None
