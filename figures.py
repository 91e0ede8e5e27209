"""Figures: one look for all of them, labelled axes, a legend that never covers the data, and the numbers behind each.

Matplotlib is imported when a figure is drawn, without pyplot and its global state; `fedco.mplstyle` is its style sheet. Colours are
the Okabe-Ito palette, which colour-blind readers can tell apart; each curve also has its own marker and dash, so that the
figure survives a grey printer. Imports nothing of fedco but `storage`: every package may use it.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from .storage import write, write_text

STYLE_SHEET = Path(__file__).with_name("fedco.mplstyle")
#: Okabe and Ito (2008), yellow left out because it vanishes on white paper; the style sheet's cycle.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
_HATCHES = ("", "///", "...", "\\\\\\", "xxx", "+++", "ooo")
_SIZE_INCHES = (5.6, 3.8)
_LEGEND_ROW_INCHES = 0.19
_BAR_INCHES = 0.28
_TITLE_WIDTH, _LABEL_WIDTH, _ACROSS = (
    72,
    44,
    68,
)  # characters that fit at these sizes: titles, vertical and horizontal labels
_LEGEND_WIDTH = 38  # two entries of so many characters fit side by side
_FEW_DECADES = 3
_MOST_MARKERS = 20
_COMMAND = re.compile(r"\\[A-Za-z]+|[{}$^_]")
_POWER = re.compile(r"\^(-?[0-9/]+)")
_SHORT_FRACTION = re.compile(r"\\frac(\w)(?:(\w)|(?=\{))")
_MATHTEXT = {
    r"\mathbf 1": r"\mathbf{1}",
    r"\text{": r"\mathrm{",
    r"\tfrac": r"\frac",
    r"\left\{": "{",
    r"\le ": r"\leq ",
    r"\ge ": r"\geq ",
}
KINDS = ("svg", "png", "pdf")


@dataclass(frozen=True)
class Axis:
    """An axis label, in which `$...$` is mathtext; the unit is compulsory, `1` where the quantity is a pure number."""

    label: str
    unit: str

    def __post_init__(self) -> None:
        if not self.label or not self.unit:
            raise ValueError(f"axis: wanted a label and a unit ('1' for a pure number), got {self!r}")

    def __str__(self) -> str:
        return self.label if self.unit == "1" else f"{self.label}  ({self.unit_text})"

    @property
    def unit_text(self) -> str:
        """The unit, its powers in mathtext."""
        if "^" not in self.unit:
            return self.unit
        powers = _POWER.sub(r"^{\1}", self.unit).replace(" ", r"\,")
        return f"${powers}$"


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
class Panel:
    """One set of axes with its curves; linear or logarithmic scales, a title where there are several panels."""

    curves: Sequence[Curve]
    x_axis: Axis
    y_axis: Axis
    x_log: bool = False
    y_log: bool = False
    title: str = ""


@dataclass(frozen=True, repr=False)
class Plot:
    """A drawn figure and the data behind it: `data[column]` is a list of numbers (None where not finite)."""

    figure: Any
    title: str
    data: dict[str, list[float | None]] = field(default_factory=dict)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it, and its numbers beside it; see `fedco.figures.save`."""
        return save(self, path)

    def __repr__(self) -> str:
        return f"Plot({self.title!r}: {', '.join(self.data)})"

    def _repr_svg_(self) -> str:
        return _rendered(self, "svg").decode("utf-8")


# --- text ------------------------------------------------------------------------------------------------------------


def mathtext(latex: str) -> str:
    """A formula for a label, between dollar signs, in the part of LaTeX that matplotlib draws."""
    text = _SHORT_FRACTION.sub(lambda m: rf"\frac{{{m[1]}}}" + (f"{{{m[2]}}}" if m[2] else ""), latex)
    for had, has in _MATHTEXT.items():
        text = text.replace(had, has)
    return f"${text}$"


def plain(text: str) -> str:
    """Text for a label in which nothing is mathtext."""
    return text.replace("$", r"\$")


def _width(label: str) -> int:
    """About how many characters a label is wide, commands of mathtext counting as one."""
    return len(_COMMAND.sub(lambda match: "x" if match.group().startswith("\\") else "", label))


def _fitted(axis: Axis) -> str:
    """The label of the vertical axis, its unit on a line of its own where both do not fit."""
    text = str(axis)
    return text if _width(text) <= _LABEL_WIDTH or axis.unit == "1" else f"{axis.label}\n({axis.unit_text})"


def _wrapped(axis: Axis) -> str:
    """The label of the horizontal axis, on two lines where one is too long; a formula in it stays whole."""
    words = re.findall(r"(?:\$[^$]*\$|\S)+", str(axis))
    total, lines = _width(str(axis)), [""]
    for word in words:
        joined = f"{lines[-1]} {word}".strip()
        if total > _ACROSS and lines[-1] and _width(joined) > _ACROSS:
            lines.append(word)
        else:
            lines[-1] = joined
    return "\n".join(lines) if len(lines) > 1 else str(axis)


# --- drawing ---------------------------------------------------------------------------------------------------------


@contextmanager
def styled(
    width: float = _SIZE_INCHES[0], height: float = _SIZE_INCHES[1], *, title: str = "", across: int = 1
) -> Iterator[Any]:
    """An empty figure in the common style, which holds while it is drawn; `across` panels lie side by side."""
    import matplotlib.style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.style.context(STYLE_SHEET):
        figure = Figure(figsize=(width, height))
        FigureCanvasAgg(figure)
        if title:
            figure.suptitle(textwrap.fill(plain(title), _TITLE_WIDTH * across), fontsize="medium")
        yield figure


def legend_below(figure: Any, entries: Mapping[str, Any] | None = None) -> None:
    """One legend under the axes, where it covers no data; the figure grows by its height.

    Args:
        entries: label -> what is drawn; every labelled line of the axes without it.
    """
    drawn = entries if entries is not None else _labelled(figure)
    if not drawn:
        return
    columns = 2 if len(drawn) > 1 and max(map(_width, drawn)) <= _LEGEND_WIDTH else 1
    rows = -(-len(drawn) // columns)
    figure.set_figheight(figure.get_figheight() + rows * _LEGEND_ROW_INCHES)
    figure.legend(list(drawn.values()), list(drawn), loc="outside lower center", ncols=columns)


def _labelled(figure: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return found


def look(index: int) -> dict[str, Any]:
    """Colour, dash and marker of a curve; no two of the first 49 agree in colour and dash."""
    turn = index // len(PALETTE)
    other = (index + turn) % len(_DASHES)
    return {"color": PALETTE[index % len(PALETTE)], "linestyle": _DASHES[other], "marker": _MARKERS[other]}


def log_log_plot(curves: Sequence[Curve], *, title: str, x_axis: Axis, y_axis: Axis) -> Plot:
    """Curves on logarithmic axes. Points that are not positive and finite are not drawn, but stay in the data."""
    return panel_plot([Panel(curves, x_axis, y_axis, x_log=True, y_log=True)], title=title)


def panel_plot(panels: Sequence[Panel], *, title: str) -> Plot:
    """Panels side by side, two in a row, with one title. Values that are not finite, or not positive on a logarithmic
    scale, are not drawn, but stay in the data."""
    rows, columns = -(-len(panels) // 2), min(len(panels), 2)
    data: dict[str, list[float | None]] = {}
    with styled(_SIZE_INCHES[0] * columns, _SIZE_INCHES[1] * rows, title=title, across=columns) as figure:
        for place, panel in enumerate(panels):
            _check_names(panel.curves)
            axes = figure.add_subplot(
                rows, columns, place + 1, xlabel=_wrapped(panel.x_axis), ylabel=_fitted(panel.y_axis)
            )
            axes.set_xscale("log" if panel.x_log else "linear")
            axes.set_yscale("log" if panel.y_log else "linear")
            axes.set_title(textwrap.fill(plain(panel.title), _TITLE_WIDTH))
            for index, curve in enumerate(panel.curves):
                _draw(axes, curve, index, is_log=panel.y_log)
            _label_ticks(axes)
            prefix = f"{panel.title}: " if panel.title else ""
            data |= {f"{prefix}{name}": column for name, column in _columns(panel.curves).items()}
        legend_below(figure)
    return Plot(figure, title, data)


def bar_plot(groups: Mapping[str, Mapping[str, float | None]], *, title: str, axis: Axis, log: bool = False) -> Plot:
    """Horizontal bars: one row per label, one bar in it per group; the value is written beside each.

    Args:
        groups: group -> label -> value; a value that is None, or not positive on a logarithmic axis, has no bar.
    """
    labels = list(dict.fromkeys(label for values in groups.values() for label in values))
    share = 0.8 / len(groups)
    with styled(height=1.1 + _BAR_INCHES * len(labels) * max(1.0, 0.7 * len(groups)), title=title) as figure:
        axes = figure.add_subplot(xlabel=str(axis), xscale="log" if log else "linear")
        for place, (group, values) in enumerate(groups.items()):
            at = [row + (place - (len(groups) - 1) / 2) * share for row in range(len(labels))]
            lengths = [_bar(values.get(label), log) for label in labels]
            bars = axes.barh(
                at,
                lengths,
                share * 0.92,
                label=plain(group),
                color=PALETTE[place % len(PALETTE)],
                hatch=_HATCHES[place % 7],
            )
            axes.bar_label(bars, [_written(values.get(label)) for label in labels], padding=3, fontsize="small")
        axes.set_yticks(range(len(labels)), [plain(label) for label in labels])
        axes.invert_yaxis()
        axes.grid(False, axis="y")
        axes.margins(x=0.16)
        if len(groups) > 1:
            legend_below(figure, {plain(group): bars for group, bars in zip(groups, axes.containers, strict=True)})
    data = {group: [_number(values.get(label)) for label in labels] for group, values in groups.items()}
    return Plot(figure, title, data)


def _bar(value: float | None, log: bool) -> float:
    return value if value is not None and math.isfinite(value) and (value > 0 or not log) else math.nan


def _written(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else f"{value:.4g}"


def _draw(axes: Any, curve: Curve, index: int, *, is_log: bool) -> None:
    shape = look(index)
    if curve.theory or len(curve.x) > _MOST_MARKERS:
        del shape["marker"]
    shown = _positive if is_log else _finite
    axes.plot(curve.x, shown(curve.y), label=plain_outside_math(curve.name), **shape)
    if curve.lower is not None and curve.upper is not None:
        band = shown(curve.lower), shown(curve.upper)
        axes.fill_between(curve.x, *band, color=shape["color"], alpha=0.2, linewidth=0)


def plain_outside_math(text: str) -> str:
    """A name as it is where its dollar signs come in pairs, else with none of them opening mathtext."""
    return text if text.count("$") % 2 == 0 else plain(text)


def _label_ticks(axes: Any) -> None:
    """Plain labels at 1, 2 and 5 on a logarithmic axis of few decades, powers of ten on a longer one; never overlapping."""
    from matplotlib.ticker import LogFormatterSciNotation, LogLocator, NullFormatter

    for axis, (low, high) in ((axes.xaxis, axes.get_xlim()), (axes.yaxis, axes.get_ylim())):
        if axis.get_scale() != "log":
            continue
        few = math.log10(high) - math.log10(low) < _FEW_DECADES
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if few else (1.0,)))
        axis.set_major_formatter("{x:g}" if few else LogFormatterSciNotation())
        axis.set_minor_formatter(NullFormatter())


_LARGEST = 1e250
"""What is larger is drawn on no logarithmic axis: its margins would not be doubles."""


def _positive(values: Sequence[float]) -> Any:
    y = np.asarray(values, dtype=np.float64)
    return np.where((y < _LARGEST) & (y > 1 / _LARGEST), y, np.nan)


def _finite(values: Sequence[float]) -> Any:
    y = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(y), y, np.nan)


def _columns(curves: Sequence[Curve]) -> dict[str, list[float | None]]:
    columns: dict[str, list[float | None]] = {}
    for curve in curves:
        parts = {"x": curve.x, "y": curve.y, "lower": curve.lower, "upper": curve.upper}
        columns |= {f"{curve.name}: {part}": listed(values) for part, values in parts.items() if values is not None}
    return columns


def listed(values: Sequence[float]) -> list[float | None]:
    """Numbers as a column of a plot's data."""
    return [_number(value) for value in values]


def _number(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _check_names(curves: Sequence[Curve]) -> None:
    names = [curve.name for curve in curves]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"curves: wanted at least one and distinct names, got {names}")


# --- files -----------------------------------------------------------------------------------------------------------


def save(plot: Plot, path: str | os.PathLike[str]) -> Path:
    """Write `.svg`, `.png` or `.pdf`, chosen by the suffix, and the numbers beside it as `NAME.data.csv`.

    The bytes do not depend on the date.

    Raises:
        ValueError: another suffix.
        OSError: a file cannot be written.
    """
    target = Path(path)
    drawn = _rendered(plot, target.suffix.lstrip(".").lower())
    made = write(target, lambda file: file.write(drawn))
    if plot.data:
        write_text(data_file(target), _csv(plot))
    return made


def data_file(path: str | os.PathLike[str]) -> Path:
    """Where the numbers of a figure lie."""
    return Path(path).with_suffix(".data.csv")


def _csv(plot: Plot) -> str:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(plot.data)
    rows.writerows(zip_longest(*(["" if v is None else repr(v) for v in column] for column in plot.data.values())))
    return text.getvalue()


def _rendered(plot: Plot, kind: str) -> bytes:
    import matplotlib.style

    undated: dict[str, dict[str, Any]] = {
        "svg": {"Title": plot.title, "Date": None},
        "png": {"Title": plot.title},
        "pdf": {"Title": plot.title, "CreationDate": None},
    }
    if kind not in undated:
        raise ValueError(f"figure format: wanted one of {sorted(undated)}, got {kind!r}")
    target = io.BytesIO()
    with matplotlib.style.context(STYLE_SHEET):
        plot.figure.savefig(target, format=kind, metadata=undated[kind])
    return target.getvalue()
