"""Figures of admissible sets: the set of two hyperparameters with the name of each border on it, the intervals of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sympy as sp

from ...figures import Axis, Curve, Plot, listed, log_log_plot, mathtext, plain, save, styled
from ..evaluation.evaluate import in_doubles
from ..language.notation import Binding
from ..language.reading import InputError
from ..language.rendering import titled
from ..language.theorem import Condition, Statement
from .conditions import ordered, reduced
from .intervals import Interval

POINTS = 400
_DECADES = 3.0
_INSIDE = "#cfe8cf"
_ROW_INCHES = 0.55
_FRAMES = ((0.15, 0.15), (0.15, 0.03), (0.03, 0.15))
"""Names keep these shares of the two axes away from their ends: the first that a border allows (it may run along the frame)."""

Window = tuple[tuple[float, float], tuple[float, float]]


def region_plot(
    statement: Statement,
    names: tuple[str, str],
    values: Mapping[str, Any],
    intervals: Mapping[str, Interval],
    interior: Mapping[str, str],
    window: Window | None = None,
) -> Plot:
    """The joint admissible set of two hyperparameters; the data are the points of each border.

    Args:
        intervals, interior: the projections of the set, and a point inside.
        window: ranges of the two axes (both logarithmic); chosen around the set if left out.
    """
    import numpy as np

    from ...figures import legend_below, look

    conditions = [c for c in reduced(statement, names, values) if c.relation != "=="]
    (x0, x1), (y0, y1) = window or window_around(intervals, names)
    grid = np.meshgrid(np.geomspace(x0, x1, POINTS), np.geomspace(y0, y1, POINTS))
    inside = np.ones_like(grid[0], dtype=bool)
    data: dict[str, list[float | None]] = {}
    entries: dict[str, Any] = {}
    title = f"{titled(statement)}: admissible set"
    with styled(6.0, 4.5, title=title) as figure:
        axes = figure.add_subplot(xscale="log", yscale="log")
        drawn: list[tuple[str, Any]] = []
        for condition in conditions:
            ratio = _ratio(statement, names, condition, grid)
            inside &= ratio <= 1
            if ratio.min() < 1 < ratio.max():
                shape = look(len(drawn))
                border = axes.contour(
                    *grid, ratio, levels=[1.0], colors=[shape["color"]], linestyles=[shape["linestyle"]]
                )
                drawn.append((condition.name, border))
                points = np.concatenate([part for part in border.allsegs[0] if len(part)])
                data |= {
                    f"{condition.name}: {n}": listed([float(x) for x in points[:, i]]) for i, n in enumerate(names)
                }
                (entries[plain(condition.name)],) = axes.plot(
                    [], [], color=shape["color"], linestyle=shape["linestyle"]
                )
        axes.contourf(*grid, inside.astype(float), levels=[0.5, 1.5], colors=[_INSIDE])
        for name, border in drawn:
            place = label_place(border, inside, (x0, x1), (y0, y1))
            axes.clabel(border, fmt={1.0: plain(name)}, fontsize="small", manual=[place])
        bindings = [statement.symbols[name] for name in names]
        axes.set(xlabel=str(_axis(bindings[0])), ylabel=str(_axis(bindings[1])), xlim=(x0, x1), ylim=(y0, y1))
        if all(name in interior for name in names):
            at = [float(sp.sympify(interior[name])) for name in names]
            (entries["a point inside"],) = axes.plot(*at, "ko", markersize=4, linestyle="none")
            data |= {f"a point inside: {name}": [value] for name, value in zip(names, at, strict=True)}
        legend_below(figure, entries)
    return Plot(figure, title, data)


def label_place(border: Any, inside: Any, xs: tuple[float, float], ys: tuple[float, float]) -> tuple[float, float]:
    """Where the name of a border stands: the middle of its part along the admissible set, or as near to that as the name still
    lies within the frame."""
    import numpy as np

    points = np.concatenate([part for part in border.allsegs[0] if len(part)])
    low, high = np.log([xs[0], ys[0]]), np.log([xs[1], ys[1]])
    shares = (np.log(points) - low) / (high - low)
    cells = np.clip((shares * (POINTS - 1)).round().astype(int), 1, POINTS - 2)
    along = np.array([inside[y - 1 : y + 2, x - 1 : x + 2].any() for x, y in cells])
    within = (((shares > frame) & (shares < 1 - np.array(frame))).all(axis=1) for frame in _FRAMES)
    away = next((found for found in within if found.any()), np.ones_like(along))
    wanted = np.flatnonzero(along & away if (along & away).any() else along if along.any() else away)
    middle, readable = wanted[len(wanted) // 2], np.flatnonzero(away)
    x, y = points[readable[np.abs(shares[readable] - shares[middle]).sum(axis=1).argmin()]]
    return float(x), float(y)


def _ratio(statement: Statement, names: tuple[str, str], condition: Condition, grid: Any) -> Any:
    """The side that must be small over the other, on the grid."""
    import numpy as np

    small, large = ordered(condition)
    symbols = [statement.symbols[name].symbol for name in names]
    return np.broadcast_to(in_doubles(symbols, small / large)(*grid), grid[0].shape)


def _axis(binding: Binding) -> Axis:
    return Axis(f"{mathtext(binding.latex)}: {plain(binding.quantity.meaning)}", str(binding.quantity.dimension))


def intervals_plot(statement: Statement, intervals: Sequence[tuple[str, Interval]]) -> Plot:
    """Each interval as a bar on a logarithmic axis, with the conditions that bind at its ends."""
    from ...figures import PALETTE

    title = f"{titled(statement)}: admissible values"
    known = [end for _, item in intervals for end in (item.lower, item.upper) if end]
    low, high = min(known, default=1.0), max(known, default=1.0)
    left, right = low / 10**_DECADES, high * 10
    with styled(height=1.2 + _ROW_INCHES * max(1, len(intervals)), title=title) as figure:
        axes = figure.add_subplot(xscale="log", xlim=(left, right), ylim=(len(intervals) - 0.4, -0.7))
        for row, (_, item) in enumerate(intervals):
            ends = item.lower or left, item.upper or right
            colour = PALETTE[row % len(PALETTE)]
            axes.plot(ends, (row, row), color=colour, linewidth=5, solid_capstyle="butt")
            for end, closed, side in (
                (item.lower, item.lower_closed, "lower"),
                (item.upper, item.upper_closed, "upper"),
            ):
                if end:
                    axes.plot(end, row, "o", color=colour, markerfacecolor=colour if closed else "white", markersize=7)
                    text = f"{end:.6g}\n{item.binding[side] or ''}"
                    axes.annotate(plain(text), (end, row), (0, 9), textcoords="offset points", ha="center", fontsize=7)
        axes.set_yticks(range(len(intervals)), [_letter(statement, name) for name, _ in intervals])
        axes.grid(False, axis="y")
    data = {"lower": listed([i.lower for _, i in intervals]), "upper": [i.upper for _, i in intervals]}
    return Plot(figure, title, data)


def _letter(statement: Statement, name: str) -> str:
    return mathtext(statement.symbols[name].latex)


def window_around(intervals: Mapping[str, Interval], names: Sequence[str]) -> Window:
    """About three decades around the ends of each projection."""
    ranges = []
    for name in names:
        interval = intervals.get(name)
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
    out: Path, curves: Mapping[str, tuple[Sequence[float], Sequence[float]]], x_axis: Axis, y_axis: Axis, title: str
) -> None:
    """Curves on logarithmic axes, each with its name."""
    drawn = [Curve(name, x, y) for name, (x, y) in curves.items()]
    save_picture(log_log_plot(drawn, title=title, x_axis=x_axis, y_axis=y_axis), out)


def save_picture(plot: Plot, out: Path) -> None:
    """Write a figure.

    Raises:
        InputError: an unknown ending of the file's name.
    """
    try:
        save(plot, out)
    except ValueError as error:
        raise InputError(f"{out}: wanted a known ending such as .png or .svg, got {error}") from None
