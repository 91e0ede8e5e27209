"""What `fedco run` runs: settings sorted into hyperparameters and parameters, and a grid cut into groups that step together.

Grid points that differ in real hyperparameters only are one batch. Whole numbers (a period, a batch size), words and
parameters of the problem need a run of their own; the same seed has the same noise in all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from inspect import signature
from typing import Any

import torch

from ...algorithms import Method, NotApplicable
from ...algorithms.engine.method import annotation_of
from ...algorithms.engine.schedule import Schedule
from ...algorithms.registry import get_method
from ...errors import InputError
from ...suggestion import instead
from ...synthetic import PRESETS
from ...synthetic import problem as find_problem
from ...synthetic.models import AbstractModelProblem, form_of, forms_of
from ...user_files import is_python_file
from .grid import Axis, product

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
