"""Step sizes at the edges of what the conditions admit: the largest size, or the least numerator and offset of one that declines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...bounds.language.notation import Binding
from .bisection import bisected
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
