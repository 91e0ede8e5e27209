"""Starts that a round keeps: instances whose endless runs stay where they begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .laws.base import REST_BISECTIONS

if TYPE_CHECKING:
    from .instance_space import InstanceSpace

Array = np.ndarray
Values = dict[str, Any]


def at_rest(
    space: InstanceSpace, parameters: dict[str, Array], values: Values, count: int
) -> tuple[dict[str, Array], Array]:
    """Parameters for which a round ends where it began, found by bisection, and how far the ends are from allowing it.

    The second is 0 where a round moves both ends inwards, else a number up to 1.
    """

    def moved(shift: Array) -> Array:
        shifted = space.shifted(parameters, shift)
        start = space.family(shifted, count).start.expand(count, 1)[:, 0].numpy()
        return space.law.round_end(space, shifted, values, count) - start

    low, high = -np.ones(count), np.ones(count)
    at_low, at_high = moved(low), moved(high)
    wrong = np.maximum(np.maximum(-at_low, at_high), 0.0)
    size = np.abs(at_low) + np.abs(at_high)
    astray = np.where(
        (at_low > 0) & (at_high < 0), 0.0, np.maximum(np.nan_to_num(wrong / (size + 1e-300), nan=1.0), 1e-3)
    )
    for _ in range(REST_BISECTIONS):
        middle = (low + high) / 2
        ahead = moved(middle) > 0
        low, high = np.where(ahead, middle, low), np.where(ahead, high, middle)
    astray = np.where(_is_settled(space, parameters, low, high), astray, np.maximum(astray, 1e-3))
    return space.shifted(parameters, (low + high) / 2), astray


def _is_settled(space: InstanceSpace, parameters: dict[str, Array], low: Array, high: Array) -> Array:
    """Whether the gradient is far larger than what bisection leaves open: else it is nothing but that."""
    ends = [space.family(space.shifted(parameters, shift), len(shift)) for shift in (low, high)]
    a, b = (family.gradient(family.start.expand(family.runs, 1))[:, 0].numpy() for family in ends)
    settled: Array = np.abs(a - b) <= 0.01 * np.abs(a + b)
    return settled
