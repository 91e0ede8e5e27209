"""How an exact instance looks: the clients' functions of one variable, and the points that matter on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

Slope = Callable[[Fraction], Fraction | float]

POINTS = 60
"""Number of places at which a picture is drawn, besides its marked points and its kinks."""


def affine(slope: Fraction | int, at_zero: Fraction | int) -> Slope:
    """The derivative of a quadratic client."""
    return lambda x: slope * x + at_zero


@dataclass(frozen=True)
class Picture:
    """The clients of an instance over an interval of the model; a report draws it, nothing is checked with it.

    Args:
        slopes: the derivative of each client's objective, in the order of the clients.
        interval: which models are shown.
        marks: a word, such as "start" or "minimiser", and the model that it stands at.
        kinks: models at which a slope changes abruptly and that are drawn exactly.
        variable: the name of the model.
        objective: the derivative of the objective, where it is not the mean of the slopes.
    """

    slopes: tuple[Slope, ...]
    interval: tuple[Fraction | int, Fraction | int]
    marks: Mapping[str, Fraction | int] = field(default_factory=dict)
    kinks: tuple[Fraction | int, ...] = ()
    variable: str = "x"
    objective: Slope | None = None

    def __post_init__(self) -> None:
        if not self.slopes or not self.interval[0] < self.interval[1]:
            raise ValueError(f"picture: wanted a client and an interval, got {len(self.slopes)} over {self.interval}")

    def drawn(self) -> dict[str, Any]:
        """JSON-ready: `x`, the height of each client's function there, of their mean and of the objective.

        Heights are 0 at the first mark, or at the left end without one: an instance fixes slopes only.
        """
        xs = self._places()
        origin = xs.index(Fraction(next(iter(self.marks.values())))) if self.marks else 0
        heights = [_heights(slope, xs, origin) for slope in self.slopes]
        return {
            "variable": self.variable,
            "x": [float(x) for x in xs],
            "clients": heights,
            "mean": [sum(column) / len(heights) for column in zip(*heights, strict=True)],
            "objective": None if self.objective is None else _heights(self.objective, xs, origin),
            "marks": {word: float(at) for word, at in self.marks.items()},
        }

    def _places(self) -> list[Fraction]:
        low, high = (Fraction(end) for end in self.interval)
        even = [low + (high - low) * i / POINTS for i in range(POINTS + 1)]
        more = [Fraction(x) for x in (*self.kinks, *self.marks.values()) if low <= x <= high]
        return sorted({*even, *more})


def _heights(slope: Slope, xs: list[Fraction], origin: int) -> list[float]:
    """The integral by Simpson's rule between neighbours, exact where the slope is a parabola there; 0 at the origin."""
    heights = [0.0]
    for left, right in pairwise(xs):
        ends = float(slope(left)) + float(slope(right)) + 4 * float(slope((left + right) / 2))
        heights.append(heights[-1] + float(right - left) * ends / 6)
    return [height - heights[origin] for height in heights]
