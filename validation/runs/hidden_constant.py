"""The constant that a statement hides in O(1): the smallest one that the data need, over a sweep of every symbol.

The bound is initialisation + c * rest, so a measured mean X needs c = (X - initialisation) / rest, and none where the
initialisation term alone is enough. From a start at rest nothing is left but the rest. That c stays bounded is what O(1)
claims; an exponent above 0 along a symbol would say that the hidden constant depends on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...bounds.registry import get_theorem
from ..statistics.evalues import mean_bracket
from ..statistics.slopes import bound_slope
from .sweeps import SweepResult

QUANTITY = "hidden_constant"
INITIALISATION = "initialisation"


def hidden_symbol(theorem_id: str, label: str) -> str | None:
    """The symbol of a statement that stands for the constant that the paper hides; None where it hides none."""
    symbols = get_theorem(theorem_id).symbols(label)
    return next((name for name, binding in symbols.items() if binding.quantity.name == QUANTITY), None)


def proved_value(theorem_id: str, label: str) -> float | None:
    """The value that a proof gives for it, as the theorem declares it; None where none is declared."""
    theorem, name = get_theorem(theorem_id), hidden_symbol(theorem_id, label)
    found = (c for c in theorem.compared_where if c.relation == "==" and str(c.left) == name)
    return next((float(condition.right) for condition in found), None)


@dataclass(frozen=True)
class NeededConstant:
    """c along one symbol: the estimate and a 95% upper end at each point, and its log-log slope where c is positive."""

    over: str
    values: tuple[float, ...]
    needed: tuple[float, ...]
    upper: tuple[float, ...]
    slope: float | None
    proved: float | None

    @property
    def largest(self) -> float:
        return max(self.upper)

    def to_dict(self) -> dict[str, Any]:
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}

    def __str__(self) -> str:
        growth = "" if self.slope is None else f", exponent {self.slope:.2f}"
        given = "" if self.proved is None else f"; the proof gives {self.proved:g}"
        return f"{self.over}: c up to {max(self.needed):.3g} (95% end {self.largest:.3g}){growth}{given}"


def needed_constant(result: SweepResult) -> NeededConstant:
    """The smallest c along a sweep of a statement that hides a constant."""
    theorem_id, label = result.sweep.theorem, result.label
    symbol = hidden_symbol(theorem_id, label)
    assert symbol is not None
    found, ends = [], []
    for index, column in enumerate(result.statistic.T):
        c = result.numbers[index][symbol]
        first = result.terms[INITIALISATION][index]
        rest = (result.bounds[index] - first) / c
        bracket = mean_bracket(column, result.cap[index])
        found.append(max(0.0, (float(column.mean()) - first) / rest))
        ends.append(max(0.0, (bracket.upper - first) / rest))
    positive = all(value > 0 for value in found) and all(map(math.isfinite, found))
    slope = bound_slope(result.values, found) if positive else None
    return NeededConstant(
        result.sweep.over, result.values, tuple(found), tuple(ends), slope, proved_value(theorem_id, label)
    )
