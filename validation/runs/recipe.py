"""How a theorem is validated: its method, its statistic, and the instances."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from ...algorithms import Method
from .instance import Instance

Build = Callable[[Mapping[str, float]], Method]
"""A function that builds the method from the values of a theorem's symbols."""


@dataclass(frozen=True)
class Recipe:
    """How a theorem is validated.

    Args:
        method: builds the algorithm from the values of the theorem's symbols (floats by name, scheduled ones included)
            and the instance's hyperparameters, which may name what the statement leaves out (`m` sampled clients).
        instances: certified problems with hyperparameters that the theorem admits.
        average: "after" averages the squared gradient norm over t = 1..T, "before" over t = 0..T-1.
        label: the statement that is judged unless the user asks for another.
        steps: local steps that T stands for, from the same values (T itself by default).
        every: the statistic uses every so many steps (where a theorem speaks of server models only); None uses every step.
        defaults: hyperparameters of the method that the statement leaves out, where an instance does not name them.
        limit_exponent: exponent of T that the paper claims, drawn beside the curves.
    """

    method: Build
    instances: tuple[Instance, ...]
    average: str = "before"
    label: str = "printed"
    steps: Callable[[Mapping[str, float]], int] = lambda values: int(values["T"])
    every: Callable[[Mapping[str, float]], int] | None = None
    limit_exponent: float = -0.5
    defaults: Mapping[str, int | Fraction] = field(default_factory=dict)


def optional(values: Mapping[str, float], name: str) -> int | None:
    """A whole number that an instance may leave out."""
    return int(values[name]) if name in values else None
