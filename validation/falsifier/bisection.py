"""Bisection of many intervals beside each other, a few halvings per call."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Array = np.ndarray
_AT_ONCE, _POINTS = 4, 1024


def bisected(
    holds: Callable[[Array], Array], low: Array, high: Array, halvings: int, *, at_once: int | None = None
) -> tuple[Array, Array]:
    """The ends after so many halvings; where it holds in the middle the low end moves there, elsewhere the high end does.

    Args:
        holds: `(many, count)` points to truth values that broadcast to the same shape.
        low: ends `(count,)`, as `high`.
        at_once: halvings per call, of which all points are asked that they can meet: a call takes hardly longer for more. Without it four,
            or as many as ask for a thousand points of all intervals.

    Example:
        >>> bisected(lambda x: x * x <= 2, np.array([0.0]), np.array([2.0]), 3)
        (array([1.25]), array([1.5]))
    """
    lanes = np.arange(len(low))
    at_once = at_once or max(_AT_ONCE, _POINTS.bit_length() - len(low).bit_length())
    while halvings > 0:
        levels = min(at_once, halvings)
        grid = np.stack([low, high])
        for _ in range(levels):
            finer = np.empty((2 * len(grid) - 1, len(low)))
            finer[::2], finer[1::2] = grid, (grid[:-1] + grid[1:]) / 2
            grid = finer
        found = np.broadcast_to(holds(grid[1:-1]), grid[1:-1].shape)
        left, width = np.zeros(len(low), dtype=int), len(grid) - 1
        while width > 1:
            width //= 2
            left += np.where(found[left + width - 1, lanes], width, 0)
        low, high, halvings = grid[left, lanes], grid[left + 1, lanes], halvings - levels
    return low, high
