"""The measures of a metric on batches of instances in doubles; their exact evaluation is in `validation/exact/statistic.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...bounds.language.metrics import DISTANCE_SQ, GAP, GRADIENT, GRADIENT_SQ
from ..runs.measures import RECORDED, At


@dataclass(frozen=True)
class InDoubles:
    """A measure of instances that lie beside each other.

    Args:
        recorded: (problem, state, t) -> what a run records of it, `(runs,)`.
        root: (problem, models) -> numbers affine in the models, `(runs, 1)`, whose square times `scale` it is on quadratic functions.
        rounding: what of it is nothing but rounding, `(runs,)`.
    """

    recorded: Callable[[Any, Any, int], Tensor]
    root: Callable[[Any, Tensor], Tensor]
    scale: Callable[[Any], Tensor | float] = lambda problem: 1.0
    rounding: Callable[[Any], Tensor | float] = lambda problem: 0.0


class AtAverage:
    """What is recorded at the average of the models of one run so far; it is called at every time that the weights are given for.

    Args:
        recorded: (problem, state, t) -> what is recorded at a state. weights: `(times, runs)`.
    """

    def __init__(self, recorded: Callable[[Any, Any, int], Tensor], weights: np.ndarray):
        self.recorded, self.rows = recorded, iter(torch.from_numpy(np.ascontiguousarray(weights, dtype=float)))
        self.total: Any = 0.0
        self.weight: Any = 0.0

    def __call__(self, problem: Any, state: Any, t: int) -> Tensor:
        weight = next(self.rows).unsqueeze(-1)
        self.total, self.weight = self.total + weight * state.average, self.weight + weight
        begun = torch.where(self.weight > 0, self.total / self.weight, state.average)
        return self.recorded(problem, At(begun), t)


MEASURED: Mapping[str, InDoubles] = {
    GRADIENT_SQ: InDoubles(RECORDED[GRADIENT_SQ], lambda problem, x: problem.gradient(x)),
    GRADIENT: InDoubles(RECORDED[GRADIENT], lambda problem, x: problem.gradient(x)),
    DISTANCE_SQ: InDoubles(
        RECORDED[DISTANCE_SQ],
        lambda problem, x: x - problem.minimiser,
        rounding=lambda problem: (1e-14 * problem.parameters["knots"].abs().amax((1, 2))).square(),
    ),
    GAP: InDoubles(
        RECORDED[GAP],
        lambda problem, x: problem.gradient(x),
        lambda problem: 1 / (2 * problem.landscape.bottom),
        lambda problem: 2 * problem.landscape.rounding,
    ),
}
"""Measure -> how it is taken."""
