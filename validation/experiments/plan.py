"""What `fedco run` runs: a grid as a user writes it, and how it is cut into groups that step together.

A grid is `eta=1e-3:1:13log`, `eta=0:1:5`, `I=1,2,4`, `case=I,II` or `eta=0.1,0.5/(t + 4)`. Settings are sorted into hyperparameters
and parameters. Grid points that differ in real hyperparameters only are one batch. Whole numbers (a period, a batch size), words and
parameters of the problem need a run of their own; the same seed has the same noise in all of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from inspect import signature
from typing import Any

import torch

from ...algorithms import Method, NotApplicable
from ...algorithms.engine.method import annotation_of
from ...algorithms.engine.schedule import Schedule
from ...algorithms.registry import get_method
from ...bounds.language.reading import read_number
from ...errors import InputError
from ...suggestion import instead
from ...synthetic import PRESETS
from ...synthetic import problem as find_problem
from ...synthetic.models import AbstractModelProblem, form_of, forms_of
from ...user_files import is_python_file

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


# --- what is run of it --------------------------------------------------------------------------------------------------


_PARAMETER = "problem."


@dataclass(frozen=True)
class Group:
    """Grid points that one `drive` runs: `points[i]` are the values of the axes at grid index i of `method`."""

    method: Method
    problem: Any
    points: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Plan:
    """The method's class, the problem, what is fixed and what varies.

    Args:
        method: a name, `FILE.py:NAME`, a class, or a method whose hyperparameters are then fixed.
        problem: a name, `FILE.py:NAME`, a problem, or a description of a model.
        settings: hyperparameters of the method, and parameters of the problem; `problem.NAME` is always a parameter.
        axes: what varies, named in the same way.

    Raises:
        InputError: an unknown name, a missing hyperparameter, or a value that the method or the problem refuses.
    """

    method: str | type[Method] | Method
    problem: Any
    settings: Mapping[str, Any]
    axes: tuple[Axis, ...] = ()

    @property
    def owner(self) -> type[Method]:
        if isinstance(self.method, Method):
            return type(self.method)
        return get_method(self.method) if isinstance(self.method, str) else self.method

    def groups(self) -> list[Group]:
        """In the order of the grid, whose first axis is the slowest one within and between groups."""
        self._check_names()
        batched = [axis for axis in self.axes if self._is_batched(axis)]
        apart = [axis for axis in self.axes if not self._is_batched(axis)]
        return [self._group(choice, product(batched)) for choice in product(apart)]

    def _check_names(self) -> None:
        declared = {item.name for item in fields(self.owner)}
        if twice := {axis.name for axis in self.axes} & set(self.settings):
            raise InputError(f"{', '.join(sorted(twice))}: both set and in the grid; wanted one of the two")
        parameters = self._parameters()
        for name in (*self.settings, *(axis.name for axis in self.axes)):
            if self._is_hyperparameter(name):
                continue
            if parameters is not None and name.removeprefix(_PARAMETER) not in parameters:
                known = (*sorted(declared), *(f"{_PARAMETER}{each}" for each in sorted(parameters)))
                raise InputError(
                    f"{name[:40]}: neither a hyperparameter of {self.owner.name} nor a parameter of the problem; "
                    f"{instead(name, known)}"
                )

    def _parameters(self) -> set[str] | None:
        """What the problem can be told; None where it cannot be known without making it."""
        if not isinstance(self.problem, (str, Mapping)):
            return set()
        if isinstance(self.problem, Mapping) or is_python_file(self.problem) or self.problem not in PRESETS:
            return None
        return set(signature(PRESETS[self.problem].family).parameters) - {"name"}

    def _is_hyperparameter(self, name: str) -> bool:
        return name in {item.name for item in fields(self.owner)}

    def _is_batched(self, axis: Axis) -> bool:
        kinds = {item.name: annotation_of(item) for item in fields(self.owner)}
        is_number = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in axis.values)
        return kinds.get(axis.name, "").startswith("Scalar") and is_number

    def _group(self, choice: Mapping[str, Any], batch: Sequence[Mapping[str, Any]]) -> Group:
        given = {**self.settings, **choice}
        hyper = {name: value for name, value in given.items() if self._is_hyperparameter(name)}
        parameters = {name.removeprefix(_PARAMETER): value for name, value in given.items() if name not in hyper}
        for name in batch[0]:
            hyper[name] = torch.tensor([float(point[name]) for point in batch], dtype=torch.float64)
        method, problem = self._method(hyper), self._problem(parameters)
        try:
            method.check(problem)
        except NotApplicable as error:
            raise InputError(f"{error}{_other_forms(method, problem)}") from None
        return Group(method, problem, tuple({**choice, **point} for point in batch))

    def _method(self, hyper: Mapping[str, Any]) -> Method:
        kinds = {item.name: annotation_of(item) for item in fields(self.owner)}
        known = dict(hyper)
        if isinstance(self.method, Method):
            known = {item.name: getattr(self.method, item.name) for item in fields(self.owner)} | known
        missing = [item.name for item in fields(self.owner) if item.default is MISSING and item.name not in known]
        if missing:
            raise InputError(
                f"{self.owner.name}: wanted values of {', '.join(missing)}; give --set {missing[0]}=… or --grid {missing[0]}=…"
            )
        for name, value in known.items():
            if kinds[name].startswith("Scalar") and isinstance(value, int) and not isinstance(value, bool):
                known[name] = float(value)
        try:
            for name, value in known.items():
                if "Schedule" in kinds[name] and isinstance(value, str) and "(" in value:
                    known[name] = Schedule.of(value)
            return self.owner(**known)
        except ValueError as error:
            raise InputError(str(error)) from None

    def _problem(self, parameters: Mapping[str, Any]) -> Any:
        if not isinstance(self.problem, (str, Mapping)):
            return self.problem  # a ready one, of which no parameter was accepted
        try:
            return find_problem(self.problem, **parameters)
        except (TypeError, ValueError) as error:
            raise InputError(str(error)) from None


def _other_forms(method: Method, problem: Any) -> str:
    """Which forms a model takes for a method, where the problem is one of a model."""
    if not isinstance(problem, AbstractModelProblem):
        return ""
    forms = [form for kind in method.kinds for form in forms_of(kind)]
    return f"; the forms {' '.join(forms)} are of such a kind, got {form_of(problem)}" if forms else ""
