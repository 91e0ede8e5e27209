"""Expectations over fair signs without drawing any: every path of a short run, or the second moments of a linear one.

A run with n signs is laid out along several lanes. Over all 2^n paths a mean is an expectation. Where the run stays affine in
the signs, 1 + 2 n lanes do for every statistic that is quadratic in it: for Q(z) = Q(z_0 + sum_j c_j s_j)

    E Q = Q(z_0) + sum_j ((Q(z_0 + c_j) + Q(z_0 - c_j)) / 2 - Q(z_0)).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

import numpy as np
import torch
from torch import Tensor

from ...algorithms import Method, Start
from ...bounds.language.metrics import DISTANCE_SQ, GAP, GRADIENT, GRADIENT_SQ
from ...errors import InputError
from ..exact.draws import SignDraws
from ..lemmas.trace import Step, walk
from ..runs.measures import RECORDED, At

Array = np.ndarray
_ROUNDING = 1e-9
MOST_SIGNS = 64
"""Most signs of a run in closed moments, and of a run that is laid out along lanes."""


# --- what is measured ---


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

    def __init__(self, recorded: Callable[[Any, Any, int], Tensor], weights: Array):
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
"""Measure -> how it is taken on batches of instances; its exact evaluation is in `validation/exact/statistic.py`."""


# --- runs along lanes ---


class OtherDrawsError(InputError):
    """A method draws other numbers than signs."""


class SignTable(SignDraws):
    """Draws whose signs are read off a table.

    Args:
        table: `(lanes, signs)`; one row of zeros to count what a run asks for.
        clients: of the problem.
        instances: how many runs have these lanes, those of one beside each other.
    """

    def __init__(self, table: Tensor, clients: int, instances: int = 1) -> None:
        super().__init__(clients, len(table) * instances)
        self.table, self.instances = table, instances

    def taken(self, first: int, size: int, tail: tuple[int, ...]) -> Tensor:
        if first + size > self.table.shape[1]:
            return torch.zeros(self.runs, self.clients, *tail, dtype=torch.float64)
        found = self.table[:, first : first + size].repeat(self.instances, 1)
        return found.reshape(self.runs, self.clients, *tail)

    def __getattr__(self, name: str) -> NoReturn:
        if name in ("uniform", "integers", "normal", "counts", "words"):
            raise OtherDrawsError(f"the method draws {name} of its own, and a search knows no noise but signs")
        raise AttributeError(name)


@dataclass(frozen=True, eq=False)
class Lanes:
    """Rows of signs and their weights in an expectation: `(lanes, signs)` and `(lanes,)`."""

    table: Tensor
    weights: Tensor

    def __len__(self) -> int:
        return len(self.table)

    def draws(self, instances: int, clients: int) -> SignTable:
        """Every instance with all lanes: the lanes of one instance lie beside each other."""
        return SignTable(self.table, clients, instances=instances)

    def expectation(self, values: Array) -> Array:
        """`(..., instances * lanes) -> (..., instances)`; of an instance with a lane that overflows it is no number."""
        split = values.reshape(*values.shape[:-1], -1, len(self))
        with np.errstate(over="ignore", invalid="ignore"):
            found: Array = split @ self.weights.numpy()
        return found


@cache
def moments(signs: int) -> Lanes:
    """The lanes of second moments: no sign, and each sign alone with both values."""
    unit = torch.eye(signs, dtype=torch.float64)
    table = torch.cat([torch.zeros(1, signs, dtype=torch.float64), unit, -unit])
    weights = torch.full((1 + 2 * signs,), 0.5, dtype=torch.float64)
    weights[0] = 1 - signs
    return Lanes(table, weights)


@cache
def paths(signs: int) -> Lanes:
    """Every path."""
    bits = torch.arange(2**signs).unsqueeze(1) >> torch.arange(signs)
    return Lanes((bits & 1).double() * 2 - 1, torch.full((2**signs,), 2.0**-signs, dtype=torch.float64))


def extremes(steps: Array) -> Tensor:
    """Two rows per instance: all signs pushing one number as far as they can, from what each does alone `(instances, signs)`."""
    signs = torch.from_numpy(np.where(steps < 0, -1.0, 1.0))
    return torch.stack([signs, -signs], dim=1).flatten(0, 1)


@dataclass(frozen=True)
class Run:
    """A method on a family, every instance with as many lanes as asked for: `build(lanes)` gives (method, family, start).

    `measure` is what is taken of its models; with `weights`, `(steps + 1, instances)`, at their average so far.
    """

    build: Callable[[int], tuple[Method, Any, Start]]
    instances: int
    steps: int
    measure: InDoubles = MEASURED[GRADIENT_SQ]
    weights: Array | None = None

    def walked(self, lanes: int, draws: SignTable) -> Iterator[Step]:
        method, family, start = self.build(lanes)
        return walk(method, family, self.steps, 1, start=start, draws=draws)  # type: ignore[arg-type]

    def averages(self, lanes: int, draws: SignTable) -> tuple[Array, Array]:
        """The averaged model and what is measured there at t = 0, ..., steps, `(steps + 1, instances * lanes)`."""
        points: list[Array] = []
        seen: list[Array] = []
        recorded = self.measure.recorded
        if self.weights is not None:
            recorded = AtAverage(recorded, np.repeat(self.weights, lanes, axis=1))
        for step in self.walked(lanes, draws):
            for state in (step.before, step.after) if not points else (step.after,):
                points.append(state.average[:, 0].numpy())
                seen.append(recorded(step.problem, state, step.t).numpy())
        return np.stack(points), np.maximum(np.stack(seen) - np.asarray(self.measure.rounding(step.problem)), 0.0)


def signs_of(run: Run, clients: int) -> int:
    """How many signs a run asks for; above `MOST_SIGNS` they are counted no further."""
    counting = SignTable(torch.zeros(run.instances, 0, dtype=torch.float64), clients)
    for _ in run.walked(1, counting):
        if counting.columns.count > MOST_SIGNS:
            break
    return counting.columns.count


def measured(run: Run, clients: int, lanes: Lanes) -> tuple[Array, Array]:
    """What is measured at t = 0, ..., steps, `(steps + 1, instances * lanes)`, and how far the runs are from the law of the lanes.

    The second is 0 where the runs are affine in their signs, also when all push one way, or where every path is a lane; it is 1 where
    a run overflows.
    """
    points, seen = run.averages(len(lanes), lanes.draws(run.instances, clients))
    if lanes.weights[0] > 0:
        return seen, np.zeros(run.instances)
    split = points.reshape(len(points), run.instances, len(lanes))
    with np.errstate(over="ignore", invalid="ignore"):
        alone = (split - split[..., :1])[..., 1 : 1 + lanes.table.shape[1]]
        rows = extremes(alone[-1])
        actual, _ = run.averages(2, SignTable(rows, clients))
        predicted = split[..., :1] + np.einsum("tij,irj->tir", alone, rows.numpy().reshape(run.instances, 2, -1))
        off = np.abs(actual.reshape(predicted.shape) - predicted).max(axis=(0, 2))
        size = np.abs(alone).sum(-1).max(axis=0) + 1e-300
        is_affine = off <= _ROUNDING * (size + np.abs(split).max(axis=(0, 2)))
        astray = np.where(is_affine, 0.0, np.minimum(off / size, 1.0))
    return seen, np.where(np.isfinite(off), astray, 1.0)
