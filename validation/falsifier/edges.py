"""Step sizes at the edges of what the conditions admit: the largest size, or the least numerator and offset of one that declines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ...bounds.language.notation import Binding
from .formula import Formula

Array = np.ndarray
EDGES: Mapping[str, int] = {
    "step_numerator": -1,
    "step_offset": -1,
    "dual_step_size": 1,
    "series_step_size": 1,
    "step_size": 1,
}
"""Quantity -> 1 where conditions bound it from above, -1 where they do from below; each is set before those that follow."""
POWER = 30.0
"""Ten to this, and to minus this, are the ends of what is tried."""
_BISECTIONS = 46
_AT_ONCE, _POINTS = 4, 1024
"""Halvings for which conditions are evaluated at once, at least; and points of all intervals, where there are few."""


def stepped_by(symbols: Mapping[str, Binding]) -> Iterator[tuple[str, int]]:
    """The symbols that are set so, in order, each with its side."""
    for quantity, side in EDGES.items():
        yield from ((name, side) for name, binding in symbols.items() if binding.quantity.name == quantity)


def edge(
    formula: Formula, values: Mapping[str, Any], name: str, side: int, later: Mapping[str, int], count: int
) -> Array:
    """Power of ten of the last admissible value of a symbol, times its side, `(count,)`: -POWER for none, about POWER for all.

    Args:
        values: of the other symbols; what the statement determines is completed.
        later: symbols that are set after this one, with their sides.
    """
    lenient = {other: 10.0 ** (-of * POWER) for other, of in later.items()}

    def holds(power: Array) -> Array:
        return formula.admits(formula.complete({**values, **lenient, name: 10.0 ** (side * power)}))

    return bisected(holds, np.full(count, -POWER), np.full(count, POWER), _BISECTIONS)[0]


def bisected(holds: Callable[[Array], Array], low: Array, high: Array, halvings: int) -> tuple[Array, Array]:
    """The ends after so many halvings; where it holds in the middle the low end moves there, elsewhere the high end does.

    A call is asked of all points that a few halvings can meet: it takes hardly longer for more.

    Args:
        holds: `(many, count)` points to truth values that broadcast to the same shape.
        low: ends `(count,)`, as `high`.

    Example:
        >>> bisected(lambda x: x * x <= 2, np.array([0.0]), np.array([2.0]), 3)
        (array([1.25]), array([1.5]))
    """
    lanes = np.arange(len(low))
    at_once = max(_AT_ONCE, _POINTS.bit_length() - len(low).bit_length())
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
