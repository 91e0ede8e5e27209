"""What is falsified, read off the declarations: kind, quantities, method, statistic. The one place that knows where they stand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ...algorithms import Method
from ...bounds.language.notation import Binding
from ...bounds.language.reading import InputError
from ...bounds.language.theorem import Theorem
from ..runs.registry import recipes

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

    @property
    def symbols(self) -> dict[str, Binding]:
        """The symbols of the statement by name."""
        return self.theorem.symbols(self.label)

    def named(self, quantity: str) -> str | None:
        """The symbol that stands for a quantity."""
        return next((name for name, b in self.symbols.items() if b.quantity.name == quantity), None)


def target_of(theorem: Theorem, label: str) -> Target:
    """The target of a theorem's statement.

    Raises:
        InputError: the declarations do not say what to run, or the statement bounds nothing.
    """
    if not theorem.statement(label).terms:
        raise InputError(f"{theorem.id} ({label}): defines constants and bounds nothing")
    if statistic := AT_ONE_POINT.get(theorem.metric.name):
        return Target(theorem, label, theorem.problem, None, statistic=statistic)
    recipe = recipes().get(theorem.id)
    if recipe is None:
        raise InputError(f"{theorem.id}: no method and statistic are declared for it")
    return Target(theorem, label, theorem.problem, recipe.method, recipe.average, recipe.steps, recipe.every)
