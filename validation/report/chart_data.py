"""A chart with the numbers behind it, which the page offers as JSON and CSV."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from .charts import Axis, Line, chart


def figure(lines: Sequence[Line], x_axis: Axis, y_axis: Axis, *, title: str, file: str, **more: Any) -> dict[str, Any]:
    """A chart and its columns by name; a line of style "gap" only joins two others and has no column.

    Args:
        file: name of the files with the numbers, without a suffix.
        more: as for `chart`.
    """
    columns: dict[str, list[float | None]] = {}
    for line in (line for line in lines if line.style != "gap"):
        columns[f"{line.name}: {x_axis.label}"] = _finite(line.x)
        columns[line.name] = _finite(line.y)
        if line.lower is not None and line.upper is not None:
            columns[f"{line.name}, lower"], columns[f"{line.name}, upper"] = _finite(line.lower), _finite(line.upper)
    return {
        "svg": chart(lines, x_axis, y_axis, title=title, **more),
        "title": title,
        "file": re.sub(r"[^\w.]+", "_", file),
        "data": columns,
    }


def _finite(values: Iterable[float]) -> list[float | None]:
    return [float(f"{value:.7g}") if math.isfinite(value) else None for value in values]
