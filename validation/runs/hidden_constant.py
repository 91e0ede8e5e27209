"""The constant that meta FL's Theorem 8 hides in O(1): the smallest one that the data need, over a sweep of every dial.

The bound is initialisation + c * rest, so a measured mean X needs c = (X - initialisation) / rest, and none where the
initialisation term alone is enough. From a start at rest nothing is left but the rest. That c stays bounded is what O(1)
claims; an exponent above 0 along a dial would say that the hidden constant depends on it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..statistics.evalues import mean_bracket
from ..statistics.slopes import bound_slope
from .sweeps import SweepResult

SYMBOL = "c"
INITIALISATION = "initialisation"
PROVED = 10.0
"""What the proof in docs/theory/meta_fl.md gives for c."""


@dataclass(frozen=True)
class NeededConstant:
    """c along one dial: the estimate and a 95% upper end at each point, and its log-log slope where c is positive."""

    dial: str
    values: tuple[float, ...]
    needed: tuple[float, ...]
    upper: tuple[float, ...]
    slope: float | None

    @property
    def largest(self) -> float:
        return max(self.upper)

    def to_dict(self) -> dict[str, Any]:
        return {
            "dial": self.dial,
            "values": list(self.values),
            "needed": list(self.needed),
            "upper": list(self.upper),
            "slope": self.slope,
            "proved": PROVED,
        }

    def __str__(self) -> str:
        growth = "" if self.slope is None else f", exponent {self.slope:.2f}"
        return f"{self.dial}: c up to {max(self.needed):.3g} (95% end {self.largest:.3g}){growth}; the proof gives {PROVED:g}"


def needed_constant(result: SweepResult) -> NeededConstant:
    """The smallest c along a sweep of a statement that has the symbol c."""
    found, ends = [], []
    for index, column in enumerate(result.statistic.T):
        c = result.numbers[index][SYMBOL]
        first = result.terms[INITIALISATION][index]
        rest = (result.bounds[index] - first) / c
        bracket = mean_bracket(column, result.cap[index])
        found.append(max(0.0, (float(column.mean()) - first) / rest))
        ends.append(max(0.0, (bracket.upper - first) / rest))
    positive = all(value > 0 for value in found) and all(map(math.isfinite, found))
    slope = bound_slope(result.values, found) if positive else None
    return NeededConstant(result.sweep.dial, result.values, tuple(found), tuple(ends), slope)
