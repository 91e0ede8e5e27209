"""Figures: log-log curves with their theoretical bound, ready for print and for inlining in one HTML file.

Matplotlib is imported when a figure is drawn, without pyplot and its global state. Colours are the Okabe-Ito palette,
which colour-blind readers can tell apart; each curve also has its own marker and dash, so that the figure survives a
grey printer. Every plot carries the numbers behind it.
"""

from __future__ import annotations

import base64
import io
import math
import os
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...storage import write
from ..statistics.slopes import SlopeEstimate, bound_slope

#: Okabe and Ito (2008), yellow left out because it vanishes on white paper.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
_STYLE: Any = {
    "font.size": 9,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "svg.hashsalt": "fedco",
    "savefig.dpi": 200,
}
_SIZE_INCHES = (5.6, 3.8)
_TITLE_WIDTH, _LABEL_WIDTH = 72, 44  # characters that fit at these sizes
_FEW_DECADES = 3
_MOST_MARKERS = 20
_FEW_CURVES = 4
_GUIDE_OFFSET = 0.6  # the guide line runs parallel below the curve instead of hiding it
_ID_USES = re.compile(r'(\bid="|url\(#|href="#)')


@dataclass(frozen=True)
class Axis:
    """An axis label; the unit is compulsory, `1` where the quantity is a pure number."""

    label: str
    unit: str

    def __post_init__(self) -> None:
        if not self.label or not self.unit:
            raise ValueError(f"axis: wanted a label and a unit ('1' for a pure number), got {self!r}")

    def __str__(self) -> str:
        return self.label if self.unit == "1" else f"{self.label}  ({self.unit})"


@dataclass(frozen=True)
class Curve:
    """One named line, `(points,)` each; `lower` and `upper` draw a band; `theory` draws it without markers."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    lower: Sequence[float] | None = None
    upper: Sequence[float] | None = None
    theory: bool = False

    def __post_init__(self) -> None:
        lengths = {len(part) for part in (self.x, self.y, self.lower, self.upper) if part is not None}
        if len(lengths) != 1 or 0 in lengths or (self.lower is None) != (self.upper is None):
            raise ValueError(f"{self.name}: wanted x, y and both band ends of one length >= 1, got {sorted(lengths)}")


@dataclass(frozen=True)
class Plot:
    """A drawn figure and the data behind it: `data[column]` is a list of numbers (None where not finite)."""

    figure: Any
    title: str
    data: dict[str, list[float | None]] = field(default_factory=dict)


def log_log_plot(curves: Sequence[Curve], *, title: str, x_axis: Axis, y_axis: Axis) -> Plot:
    """Curves on logarithmic axes. Points that are not positive and finite are not drawn, but stay in the data."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    _check_names(curves)
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=_SIZE_INCHES, layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot(xscale="log", yscale="log", xlabel=str(x_axis), ylabel=_fitted(y_axis))
        axes.set_title(textwrap.fill(title, _TITLE_WIDTH), fontsize="medium")
        for index, curve in enumerate(curves):
            _draw(axes, curve, index)
        _label_ticks(axes)
        axes.legend()
    return Plot(figure, title, _columns(curves))


@dataclass(frozen=True)
class Panel:
    """One set of axes with its curves; linear or logarithmic scales, a title where there are several panels."""

    curves: Sequence[Curve]
    x_axis: Axis
    y_axis: Axis
    x_log: bool = False
    y_log: bool = False
    title: str = ""


def panel_plot(panels: Sequence[Panel], *, title: str) -> Plot:
    """Panels side by side, two in a row, with one title. Values that are not finite, or not positive on a logarithmic
    scale, are not drawn, but stay in the data."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows, columns = -(-len(panels) // 2), min(len(panels), 2)
    data: dict[str, list[float | None]] = {}
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(_SIZE_INCHES[0] * columns, _SIZE_INCHES[1] * rows), layout="constrained")
        FigureCanvasAgg(figure)
        figure.suptitle(textwrap.fill(title, _TITLE_WIDTH * columns), fontsize="medium")
        for place, panel in enumerate(panels):
            _check_names(panel.curves)
            axes = figure.add_subplot(rows, columns, place + 1, xlabel=str(panel.x_axis), ylabel=_fitted(panel.y_axis))
            axes.set_xscale("log" if panel.x_log else "linear")
            axes.set_yscale("log" if panel.y_log else "linear")
            axes.set_title(textwrap.fill(panel.title, _TITLE_WIDTH), fontsize="medium")
            for index, curve in enumerate(panel.curves):
                _draw(axes, curve, index, is_log=panel.y_log, is_dense=len(curve.x) > _MOST_MARKERS)
            _legend(axes, len(panel.curves))
            prefix = f"{panel.title}: " if panel.title else ""
            data |= {f"{prefix}{name}": column for name, column in _columns(panel.curves).items()}
    return Plot(figure, title, data)


def convergence_plot(
    horizons: Sequence[float],
    empirical: Sequence[float],
    bound: Sequence[float],
    *,
    title: str,
    metric: Axis,
    band: tuple[Sequence[float], Sequence[float]] | None = None,
    measured_slope: SlopeEstimate | None = None,
    limit_exponent: float | None = None,
    bound_name: str = "bound",
    horizon_axis: Axis | None = None,
) -> Plot:
    """Empirical running mean with its bound against T, log-log, the measured slope beside the theory's.

    Args:
        horizons: `(points,)` T, in local steps unless `horizon_axis` says otherwise.
        empirical: `(points,)` mean over seeds of the claim's statistic.
        bound: `(points,)` right-hand side at the same T, same unit.
        metric: name and unit of the statistic, for instance Axis("mean of ||grad Phi||^2", "[f]^2/[x]^2").
        band: confidence bracket of the mean, two sequences `(points,)`.
        measured_slope: from `slope_interval`; shown in the legend.
        limit_exponent: the exponent as T -> infinity; drawn as a guide line below the curve.
    """
    lower, upper = band if band is not None else (None, None)
    measured = "empirical" if measured_slope is None else f"empirical, slope {measured_slope}"
    theory = f"{bound_name}, slope {bound_slope(horizons, bound):.3f} over these T" if len(horizons) > 1 else bound_name
    curves = [
        Curve(measured, horizons, empirical, lower, upper),
        Curve(theory, horizons, bound, theory=True),
    ]
    if limit_exponent is not None:
        guide = [_GUIDE_OFFSET * empirical[-1] * (t / horizons[-1]) ** limit_exponent for t in horizons]
        curves.append(Curve(f"limit exponent {limit_exponent:.3g} (guide)", horizons, guide, theory=True))
    return log_log_plot(curves, title=title, x_axis=horizon_axis or Axis("T", "local steps"), y_axis=metric)


def save(plot: Plot, path: str | os.PathLike[str]) -> Path:
    """Write `.svg`, `.png` or `.pdf`, chosen by the suffix; the bytes do not depend on the date."""
    drawn = _rendered(plot, Path(path).suffix.lstrip(".").lower())
    return write(path, lambda file: file.write(drawn))


def inline_svg(plot: Plot, prefix: str) -> str:
    """An `<svg>` element to paste into HTML: no prologue, no metadata, ids made unique by `prefix`."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", prefix):
        raise ValueError(f"prefix: wanted a letter, then letters, digits, - or _, got {prefix!r}")
    text = _rendered(plot, "svg").decode("utf-8")
    text = re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)
    text = _ID_USES.sub(lambda match: match.group(1) + prefix + "-", text)
    return re.sub(r"<svg ", f'<svg role="img" aria-label="{_escaped(plot.title)}" ', text, count=1)


def data_uri(plot: Plot, kind: str = "png") -> str:
    """The figure as a `data:` URI (`png` or `svg`) for an `<img>` element."""
    media = {"png": "image/png", "svg": "image/svg+xml"}
    if kind not in media:
        raise ValueError(f"kind: wanted one of {sorted(media)}, got {kind!r}")
    return f"data:{media[kind]};base64,{base64.b64encode(_rendered(plot, kind)).decode('ascii')}"


def _rendered(plot: Plot, kind: str) -> bytes:
    import matplotlib

    undated: dict[str, dict[str, Any]] = {
        "svg": {"Title": plot.title, "Date": None},
        "png": {"Title": plot.title},
        "pdf": {"Title": plot.title, "CreationDate": None},
    }
    if kind not in undated:
        raise ValueError(f"figure format: wanted one of {sorted(undated)}, got {kind!r}")
    target = io.BytesIO()
    with matplotlib.rc_context(_STYLE):
        plot.figure.savefig(target, format=kind, metadata=undated[kind])
    return target.getvalue()


def _draw(axes: Any, curve: Curve, index: int, *, is_log: bool = True, is_dense: bool = False) -> None:
    colour, look = PALETTE[index % len(PALETTE)], index % len(_MARKERS)
    marker = "" if curve.theory or is_dense else _MARKERS[look]
    shown = _drawable if is_log else _finite
    axes.plot(curve.x, shown(curve.y), label=curve.name, color=colour, marker=marker, linestyle=_DASHES[look])
    if curve.lower is not None and curve.upper is not None:
        axes.fill_between(curve.x, shown(curve.lower), shown(curve.upper), color=colour, alpha=0.2, linewidth=0)


def _fitted(axis: Axis) -> str:
    """The label of the vertical axis, its unit on a line of its own where both do not fit."""
    text = str(axis)
    return text if len(text) <= _LABEL_WIDTH or axis.unit == "1" else f"{axis.label}\n({axis.unit})"


def _label_ticks(axes: Any) -> None:
    """Plain labels at 1, 2 and 5 on an axis of few decades, powers of ten on a longer one; never overlapping ones."""
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        few = math.log10(high / low) < _FEW_DECADES
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
        axis.set_major_formatter("{x:g}" if few else LogFormatterSciNotation())
        axis.set_minor_formatter(NullFormatter())


def _drawable(values: Sequence[float]) -> Any:
    y = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(y) & (y > 0), y, np.nan)


def _legend(axes: Any, curves: int) -> None:
    """Inside the axes where few curves leave room for it, else below."""
    if curves <= _FEW_CURVES:
        axes.legend()
    else:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=1 if curves <= 2 * _FEW_CURVES else 2)


def _finite(values: Sequence[float]) -> Any:
    y = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(y), y, np.nan)


def _columns(curves: Sequence[Curve]) -> dict[str, list[float | None]]:
    columns: dict[str, list[float | None]] = {}
    for curve in curves:
        parts = {"x": curve.x, "y": curve.y, "lower": curve.lower, "upper": curve.upper}
        columns |= {f"{curve.name}: {part}": _listed(values) for part, values in parts.items() if values is not None}
    return columns


def _listed(values: Sequence[float]) -> list[float | None]:
    return [float(v) if math.isfinite(v) else None for v in values]


def _check_names(curves: Sequence[Curve]) -> None:
    names = [curve.name for curve in curves]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"curves: wanted at least one and distinct names, got {names}")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
