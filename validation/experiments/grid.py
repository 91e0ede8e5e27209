"""Grids as a user writes them: `eta=1e-3:1:13log`, `eta=0:1:5`, `I=1,2,4`, `case=I,II`, `eta=0.1,0.5/(t + 4)`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...algorithms.engine.schedule import Schedule
from ...bounds.language.reading import read_number
from ...errors import InputError

_NAME = re.compile(r"(problem\.)?[A-Za-z_][A-Za-z0-9_]*")
_COUNT = re.compile(r"([0-9]{1,4})(log|lin)?")
MOST_VALUES = 1000


@dataclass(frozen=True)
class Axis:
    """A name and its values, numbers or words, at least one and all different."""

    name: str
    values: tuple[Any, ...]

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) < len(self.values):
            raise InputError(f"--grid {self.name}: wanted at least one value and no value twice, got {self.values}")


def split_setting(text: str) -> tuple[str, str]:
    """`NAME=VALUE`, where NAME may begin with `problem.`.

    Raises:
        InputError: not of that form.
    """
    name, equals, value = text.partition("=")
    if not equals or not _NAME.fullmatch(name.strip()) or not value.strip():
        raise InputError(f"{text[:40]!r}: wanted NAME=VALUE, or problem.NAME=VALUE for a parameter of the problem")
    return name.strip(), value.strip()


def read_axis(text: str) -> Axis:
    """One axis of a grid: LOW:HIGH:COUNTlog, LOW:HIGH:COUNT, or values with commas between them.

    Raises:
        InputError: not of that form; the message names the axis.
    """
    name, values = split_setting(text)
    if values.count(":") == 2:
        return Axis(name, _range(name, *values.split(":")))
    return Axis(name, tuple(read_setting(name, value) for value in values.split(",")))


def _range(name: str, low: str, high: str, count: str) -> tuple[float, ...]:
    known = _COUNT.fullmatch(count.strip())
    left, right = (float(read_number(f"--grid {name}", end, "two numbers and a count")) for end in (low, high))
    if not known or not 2 <= int(known[1]) <= MOST_VALUES or not left < right:
        raise InputError(
            f"--grid {name}: wanted LOW:HIGH:COUNTlog or LOW:HIGH:COUNT with LOW < HIGH and a count of 2 to {MOST_VALUES}, "
            f"got {low}:{high}:{count}"
        )
    steps, is_log = int(known[1]) - 1, known[2] == "log"
    if is_log and left <= 0:
        raise InputError(f"--grid {name}: wanted a positive LOW for a logarithmic grid, got {low}")
    inside = ((k / steps) for k in range(1, steps))
    middle = (left * (right / left) ** share if is_log else left + (right - left) * share for share in inside)
    return (left, *middle, right)


def read_setting(name: str, text: str) -> Any:
    """A number (a whole one as an int), true or false, a word, or the formula of a schedule, such as 0.5/(t + 4).

    Raises:
        InputError: none of these.
    """
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        return text
    if "(" in text:
        try:
            return str(Schedule.of(text))
        except ValueError as error:
            raise InputError(f"{name}: {error}") from None
    value = read_number(name, text)
    return int(value) if value.denominator == 1 and "." not in text and "e" not in text.lower() else float(value)


def product(axes: Sequence[Axis]) -> list[dict[str, Any]]:
    """Every combination of the values, the first axis slowest; one empty combination without axes."""
    points: list[dict[str, Any]] = [{}]
    for axis in axes:
        points = [{**point, axis.name: value} for point in points for value in axis.values]
    if len({axis.name for axis in axes}) < len(axes):
        raise InputError(f"--grid: a name occurs twice in {[axis.name for axis in axes]}")
    return points


def as_axes(grid: Sequence[str] | Mapping[str, Sequence[Any]] | None) -> tuple[Axis, ...]:
    """Axes from texts, or from `{name: values}`."""
    if grid is None:
        return ()
    if isinstance(grid, Mapping):
        return tuple(Axis(name, tuple(_plain(value) for value in values)) for name, values in grid.items())
    return tuple(read_axis(text) for text in grid)


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError(f"grid: wanted finite numbers, got {value}")
    return value
