"""Charts of the report as inline SVG: no script, no font, no colour of their own.

A chart names classes only; the page's style sheet gives them colours for light, dark and print. A series is told apart by its
number at the end of its line, its marker and its dashes, and only then by its colour. All text is escaped.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

SERIES = 6
"""Number of colours and markers in the style sheet; a seventh series starts again."""
WIDTH, HEIGHT = 430, 300
"""The viewBox; text is 12 of its units high, which is readable from a phone to a printed page."""
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 20, 14, 42
_MOST_TICKS = 6
_LABEL_HEIGHT = 11
_VISIBLE = 0.2
"""A point that lies closer to the line between others cannot be seen."""
_ZONE_CHARACTERS = 12
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_MARKERS = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "M-3.6,-3.6h7.2v7.2h-7.2z",
    "M0,-4.6L4.4,3.4H-4.4z",
    "M0,-5L5,0L0,5L-5,0z",
    "M0,4.6L4.4,-3.4H-4.4z",
    "M-1.4,-4.4h2.8v3h3v2.8h-3v3h-2.8v-3h-3v-2.8h3z",
)


@dataclass(frozen=True)
class Line:
    """One line of a chart.

    Args:
        name: for the reader's pointer and for screen readers.
        x, y: (points,) each; a point that the axes cannot show is left out.
        series: from 1; gives colour and marker.
        style: a class of the style sheet: "measured" has markers, "bound", "guide", "thin" and "strong" have none.
        lower, upper: ends of a band around y.
        label: written at the right end.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    series: int = 1
    style: str = "measured"
    lower: Sequence[float] | None = None
    upper: Sequence[float] | None = None
    label: str = ""


@dataclass(frozen=True)
class Mark:
    """A point with a word beside it, below it where it is a target; without x, a line across the whole chart."""

    text: str
    x: float | None = None
    y: float | None = None
    style: str = "mark"


@dataclass(frozen=True)
class Zone:
    """A stripe between two values of y, or of x where it is upright."""

    low: float
    high: float
    text: str
    upright: bool = False


@dataclass(frozen=True)
class Axis:
    """An axis: what it shows, and whether it is logarithmic."""

    label: str
    log: bool = False
    includes: tuple[float, ...] = ()
    """Values that lie on the axis whether or not there is a point."""

    def shows(self, value: float) -> bool:
        return math.isfinite(value) and (value > 0 or not self.log)

    def at(self, value: float) -> float:
        return math.log10(value) if self.log else value


def chart(
    lines: Sequence[Line],
    x_axis: Axis,
    y_axis: Axis,
    *,
    title: str,
    marks: Sequence[Mark] = (),
    zones: Sequence[Zone] = (),
    width: int = WIDTH,
    height: int = HEIGHT,
    inside: Callable[[Scale, Scale], Markup] | None = None,
) -> Markup:
    """An `<svg>` of lines on two axes; the empty string where no point of a line can be shown.

    Args:
        inside: more to draw on top, from the two scales.
    """
    if not any(_points(line, x_axis, y_axis) for line in lines):
        return Markup("")
    across, up = scales(lines, x_axis, y_axis, marks=marks, zones=zones, width=width, height=height)
    parts = [_grid(across, up, x_axis, y_axis, width, height)]
    parts += [_zone(zone, across, up) for zone in zones]
    parts += [_line(line, x_axis, y_axis, across, up) for line in lines]
    parts += [_mark(mark, across, up, width) for mark in marks]
    parts += _end_labels(lines, x_axis, y_axis, across, up)
    parts.append(inside(across, up) if inside else Markup(""))
    return Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        width, height, title, Markup("").join(parts)
    )


def scales(
    lines: Sequence[Line],
    x_axis: Axis,
    y_axis: Axis,
    *,
    marks: Sequence[Mark] = (),
    zones: Sequence[Zone] = (),
    width: int = WIDTH,
    height: int = HEIGHT,
) -> tuple[Scale, Scale]:
    """Where a chart puts what: across and up."""
    seen = [point for line in lines for point in _points(line, x_axis, y_axis)]
    xs = [x for x, _ in seen] + [mark.x for mark in marks if mark.x is not None]
    ys = [y for _, y in seen] + [mark.y for mark in marks if mark.y is not None]
    for zone in zones:
        (xs if zone.upright else ys).extend((zone.low, zone.high))
    return _scale(xs, x_axis, _LEFT, width - _RIGHT), _scale(ys, y_axis, height - _BOTTOM, _TOP)


@dataclass(frozen=True)
class Scale:
    """From data to the picture, linear in what the axis shows."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    axis: Axis

    @property
    def ends(self) -> tuple[float, float, float, float]:
        """What it shows at its two ends, and where they lie: for a script that moves something along it."""
        return self.low, self.high, self.start, self.end

    def __call__(self, value: float) -> float:
        share = (self.axis.at(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 2)


def _scale(values: Sequence[float], axis: Axis, start: float, end: float) -> Scale:
    low, high = (axis.at(edge((*values, *axis.includes))) for edge in (min, max))
    margin = 0.05 * (high - low) if high > low else (0.5 if axis.log else max(abs(low), 1.0) / 2)
    low, high = low - margin, high + margin
    return Scale(low, high, start, end, _log_ticks(low, high) if axis.log else _ticks(low, high), axis)


def _ticks(low: float, high: float) -> tuple[float, ...]:
    rough = (high - low) / _MOST_TICKS
    power = 10 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in (1, 2, 2.5, 5, 10) if nice * power >= rough)
    return tuple(i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1))


def _log_ticks(low: float, high: float) -> tuple[float, ...]:
    """Powers of ten, every so many that they do not crowd; 1, 2 and 5 of each where there are few."""
    step = max(1, math.ceil((high - low) / _MOST_TICKS))
    powers = [p for p in range(math.floor(low), math.ceil(high) + 1) if p % step == 0]
    factors = (1, 2, 5) if high - low < 2 else (1,)
    found = [factor * 10.0**power for power in powers for factor in factors]
    return tuple(value for value in found if low <= math.log10(value) <= high)


def number(value: float) -> str:
    """A short number: 0.125, 3200, 1.5·10⁻⁷."""
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:.4g}" if abs(value) < 9999.5 else f"{value:.0f}"
    digits, _, power = f"{value:.2e}".partition("e")
    exponent = str(int(power)).translate(_SUPERSCRIPTS)
    digits = digits.rstrip("0").rstrip(".")
    return f"10{exponent}" if digits == "1" else f"{digits}·10{exponent}"


def _grid(across: Scale, up: Scale, x_axis: Axis, y_axis: Axis, width: int, height: int) -> Markup:
    bottom, middle = height - _BOTTOM, (_TOP + height - _BOTTOM) / 2
    parts = [
        Markup('<path class="grid" d="M{},{}V{}"/><text class="tick x" x="{}" y="{}">{}</text>').format(
            across(t), _TOP, bottom, across(t), bottom + 15, number(t)
        )
        for t in across.ticks
    ]
    parts += [
        Markup('<path class="grid" d="M{},{}H{}"/><text class="tick y" x="{}" y="{}">{}</text>').format(
            _LEFT, up(t), width - _RIGHT, _LEFT - 6, up(t) + 4, number(t)
        )
        for t in up.ticks
    ]
    parts.append(Markup('<path class="axis" d="M{},{}V{}H{}"/>').format(_LEFT, _TOP, bottom, width - _RIGHT))
    parts.append(
        Markup('<text class="label x" x="{}" y="{}">{}</text>').format(
            (_LEFT + width - _RIGHT) / 2, height - 6, x_axis.label
        )
    )
    parts.append(
        Markup('<text class="label y" transform="translate(11,{}) rotate(-90)">{}</text>').format(middle, y_axis.label)
    )
    return Markup("").join(parts)


def _points(line: Line, x_axis: Axis, y_axis: Axis) -> list[tuple[float, float]]:
    return [(x, y) for x, y in zip(line.x, line.y, strict=True) if x_axis.shows(x) and y_axis.shows(y)]


def _path(points: Sequence[tuple[float, float]], across: Scale, up: Scale) -> str:
    return "M" + "L".join(f"{x:g},{y:g}" for x, y in _needed([(across(x), up(y)) for x, y in points]))


def _needed(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points without those that lie on the line through the ones that stay (Ramer, Douglas and Peucker)."""
    kept = {0, len(points) - 1}
    open_parts = [(0, len(points) - 1)]
    while open_parts:
        first, last = open_parts.pop()
        off = {i: _beside(points[i], points[first], points[last]) for i in range(first + 1, last)}
        worst = max(off, key=lambda i: off[i], default=first)
        if off and off[worst] > _VISIBLE:
            kept.add(worst)
            open_parts += [(first, worst), (worst, last)]
    return [points[i] for i in sorted(kept)]


def _beside(point: tuple[float, float], start: tuple[float, float], end: tuple[float, float]) -> float:
    """How far a point lies from the line through two others, or from the two where they are one."""
    (x, y), (dx, dy) = (tuple(b - a for a, b in zip(start, other, strict=True)) for other in (point, end))
    length = math.hypot(dx, dy)
    return abs(x * dy - y * dx) / length if length else math.hypot(x, y)


def _line(line: Line, x_axis: Axis, y_axis: Axis, across: Scale, up: Scale) -> Markup:
    points = _points(line, x_axis, y_axis)
    if not points:
        return Markup("")
    inside = [Markup("<title>{}</title>").format(line.name)]
    if line.lower is not None and line.upper is not None:
        ends = [
            (x, low, high)
            for x, low, high in zip(line.x, line.lower, line.upper, strict=True)
            if x_axis.shows(x) and y_axis.shows(low) and y_axis.shows(high)
        ]
        if len(ends) > 1:
            around = [(x, high) for x, _, high in ends] + [(x, low) for x, low, _ in reversed(ends)]
            inside.append(Markup('<path class="band" d="{}Z"/>').format(_path(around, across, up)))
    inside.append(Markup('<path class="line" d="{}"/>').format(_path(points, across, up)))
    if line.style == "measured" or len(points) == 1:
        shape = _MARKERS[(line.series - 1) % SERIES]
        inside += [
            Markup('<path class="point" transform="translate({},{})" d="{}"/>').format(across(x), up(y), shape)
            for x, y in points
        ]
    return Markup('<g class="series s{} {}" data-series="{}">{}</g>').format(
        (line.series - 1) % SERIES + 1, line.style, line.series, Markup("").join(inside)
    )


def _zone(zone: Zone, across: Scale, up: Scale) -> Markup:
    if zone.upright:
        left, right, top, bottom = across(zone.low), across(zone.high), up.end, up.start
        lines, place = textwrap.wrap(zone.text, _ZONE_CHARACTERS), top + 18
    else:
        left, right, top, bottom = across.start, across.end, up(zone.high), up(zone.low)
        lines, place = [zone.text], (top + bottom) / 2 + 4
    text = Markup("").join(
        Markup('<text x="{}" y="{}">{}</text>').format(round((left + right) / 2, 2), round(place + 14 * i, 2), line)
        for i, line in enumerate(lines)
    )
    return Markup('<g class="zone"><rect x="{}" y="{}" width="{}" height="{}"/>{}</g>').format(
        left, top, round(right - left, 2), round(bottom - top, 2), text
    )


def _mark(mark: Mark, across: Scale, up: Scale, width: int) -> Markup:
    if mark.x is None and mark.y is not None:
        return Markup('<g class="{} across"><path d="M{},{}H{}"/><text class="end" x="{}" y="{}">{}</text></g>').format(
            mark.style, _LEFT, up(mark.y), width - _RIGHT, width - _RIGHT - 4, up(mark.y) - 5, mark.text
        )
    assert mark.x is not None and mark.y is not None
    x, y = across(mark.x), up(mark.y)
    is_right = x > (_LEFT + width - _RIGHT) / 2
    beside = y + 19 if mark.style == "target" else y - 7
    return Markup(
        '<g class="{}"><path d="{}" transform="translate({},{})"/><text class="{}" x="{}" y="{}">{}</text></g>'
    ).format(mark.style, _MARKERS[3], x, y, "end" if is_right else "", x + (-9 if is_right else 9), beside, mark.text)


def _end_labels(lines: Sequence[Line], x_axis: Axis, y_axis: Axis, across: Scale, up: Scale) -> list[Markup]:
    """The labels at the right ends, pushed apart where they would overlap."""
    ends = [(points[-1], line) for line in lines if line.label and (points := _points(line, x_axis, y_axis))]
    made, last = [], -math.inf
    for (x, y), line in sorted(ends, key=lambda end: up(end[0][1])):
        last = max(up(y), last + _LABEL_HEIGHT)
        made.append(
            Markup('<text class="end-label s{}" x="{}" y="{}">{}</text>').format(
                (line.series - 1) % SERIES + 1, across(x) + 7, last + 4, line.label
            )
        )
    return made


# --- with the numbers behind it, which the page offers as JSON and CSV ------------------------------------------------------


def figure(lines: Sequence[Line], x_axis: Axis, y_axis: Axis, *, title: str, file: str, **more: Any) -> dict[str, Any]:
    """A chart and its columns by name; a line of style "gap" only joins two others and has no column.

    Args:
        file: name of the files with the numbers, without a suffix.
        more: as for `chart`.
    """
    columns: dict[str, list[float | None]] = {}
    for line in (line for line in lines if line.style != "gap"):
        columns[f"{line.name}: {x_axis.label}"] = _column(line.x)
        columns[line.name] = _column(line.y)
        if line.lower is not None and line.upper is not None:
            columns[f"{line.name}, lower"], columns[f"{line.name}, upper"] = _column(line.lower), _column(line.upper)
    return {
        "svg": chart(lines, x_axis, y_axis, title=title, **more),
        "title": title,
        "file": re.sub(r"[^\w.]+", "_", file),
        "data": columns,
    }


def _column(values: Iterable[float]) -> list[float | None]:
    return [float(f"{value:.7g}") if math.isfinite(value) else None for value in values]
