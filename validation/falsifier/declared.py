"""What is falsified, read off the declarations: kind, quantities, method, statistic. The one place that knows where they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...algorithms import Method
from ...bounds.language.notation import Binding
from ...bounds.language.reading import InputError
from ...bounds.language.theorem import Theorem
from ..runs.registry import recipes
from .method_call import method_of
from .properties import PROPERTIES

Values = Mapping[str, Any]
AT_ONE_POINT = {"(1/N) sum_i ||grad F_i - grad F||^2": "gradient_spread"}
"""Metrics that are a number at each point of the space -> the statistic of a problem that they are."""


@dataclass(frozen=True)
class Target:
    """A statement with everything that a search has to know of it.

    Args:
        kind: kind of problem.
        method: builds the algorithm from the values of the symbols; None for a statement about one point.
        average: "before" averages over t = 0..T-1, "after" over t = 1..T.
        steps: the local steps that the values stand for.
        every: the statistic uses every so many steps; None uses all.
        statistic: for a statement about one point, which number it bounds.
    """

    theorem: Theorem
    label: str
    kind: str
    method: Callable[[Values], Method] | None
    average: str = "before"
    steps: Callable[[Values], int] = lambda values: int(values["T"])
    every: Callable[[Values], int] | None = None
    statistic: str = ""

    @cached_property
    def stated(self) -> dict[str, Binding]:
        """The symbols of the statement by name."""
        return self.theorem.symbols(self.label)

    @cached_property
    def symbols(self) -> dict[str, Binding]:
        """Those of the statement, and those that the method needs besides: a statement may leave out what it holds for."""
        extra = {name: self.theorem.notation[name] for name in self._needed if name not in self.stated}
        return {**self.stated, **extra}

    @property
    def assumed(self) -> tuple[str, ...]:
        """Named properties that an instance must have."""
        return tuple(dict.fromkeys((*self.theorem.assume, *self.theorem.statement(self.label).assume)))

    @property
    def _needed(self) -> list[str]:
        """The symbols that the method is built from, found by building it once."""
        if self.method is None:
            return []
        probe = _Probe()
        self.method(probe)
        return [name for name in probe.asked if name in self.theorem.notation.bindings]

    def named(self, quantity: str) -> str | None:
        """The symbol that stands for a quantity."""
        return next((name for name, b in self.symbols.items() if b.quantity.name == quantity), None)


class _Probe(dict[str, Any]):
    """Values that are 1 whatever is asked for, and what was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def __missing__(self, name: str) -> int:
        self.asked.append(name)
        return 1


def target_of(theorem: Theorem, label: str) -> Target:
    """The target of a theorem's statement.

    Raises:
        InputError: the declarations do not say what to run, or the statement bounds nothing.
    """
    if not theorem.statement(label).terms:
        raise InputError(f"{theorem.id} ({label}): defines constants and bounds nothing")
    for name in (*theorem.assume, *theorem.statement(label).assume):
        if name not in PROPERTIES:
            raise InputError(
                f"{theorem.id} ({label}): assumes {name}, which no family knows; wanted one of {' '.join(PROPERTIES)}"
            )
    if statistic := AT_ONE_POINT.get(theorem.metric.name):
        return Target(theorem, label, theorem.problem, None, statistic=statistic)
    if theorem.method is not None:
        length = next((n for n, b in theorem.symbols(label).items() if b.quantity.name == "iterations"), "T")
        return Target(
            theorem, label, theorem.problem, method_of(theorem.method), theorem.average, lambda v: int(v[length])
        )
    recipe = recipes().get(theorem.id)
    if recipe is None:
        raise InputError(f"{theorem.id}: no method and statistic are declared for it")
    return Target(theorem, label, theorem.problem, recipe.method, recipe.average, recipe.steps, recipe.every)
