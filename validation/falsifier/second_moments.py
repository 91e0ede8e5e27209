"""Second moments of long runs whose noise multiplies the state, in doubles: by powers of what a step does to them, and how far paths come.

For a method that keeps the models, those before the last step and an estimate y of the inner value. With Z = (1, z), z a state in the
coordinates of `kept_reach`, and the outcomes s of the signs of one step,

    E[Z' Z'^T] = 2^-signs sum_s M_s E[Z Z^T] M_s^T.

The first step is taken as every other one: it is one of very many. What is found is checked exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..exact.kept_reach import Arithmetic, Step, coordinates, followed, proposed
from .long_run import moving, with_numbers
from .noise import Run, SignTable, paths

Array = np.ndarray
STATE = ("x", "previous", "y")
"""What a state has to have."""
_ROUNDING = 1e-9
_FAR = 1e3
"""Factor by which kinks are moved outward, so that maps are read off straight functions."""


def straightened(parameters: Mapping[str, Array]) -> dict[str, Array]:
    """The instances with their two kinks, and the end of the noise, far away."""
    far = ("knots", "slopes", "extra_knots", "noise_reach")
    return {name: array * _FAR if name in far else array for name, array in parameters.items()}


@dataclass(frozen=True)
class Maps:
    """What a step does, in coordinates (1, mean model, the other clients off it, last moves, error of y).

    Args:
        steps: `(instances, outcomes, size, size)`.
        average: the communication, `(instances, size, size)`.
        models, estimate: the models and those before, and y after a step, `(instances, rows, size)`.
        root: of the measure, `(instances, size)`.
    """

    steps: Array
    average: Array
    models: Array
    estimate: Array
    root: Array


def begun(run: Run, clients: int) -> tuple[Any, Any, Any, SignTable]:
    """The state of every instance before its first step, with the method, the problem and draws that count signs."""
    method, family, start = run.build(1)
    counting = SignTable(torch.zeros(1, 0, dtype=torch.float64), clients, run.instances)
    method = method.over(1)
    return method.init(family, start, counting), method, family, counting  # type: ignore[arg-type]


def read(run: Run, clients: int, period: int) -> Maps:
    """The maps of instances whose functions are straight, from states that are moved one entry at a time."""
    with torch.no_grad():
        state, method, family, counting = begun(run, clients)
        method.local_step(family, state, counting.at(1), 1)
        outcomes = paths(counting.columns.count).table
        base = np.concatenate([v.reshape(run.instances, -1).numpy() for _, v in moving(state)], axis=1)
        slopes, offsets = (family.parameters[name].numpy() for name in ("inner_slope", "inner_offset"))
        unit = np.ones_like(base)
        unit[:, 2 * clients :] = np.abs(slopes).max(axis=1, keepdims=True) + 1e-300
        size = base.shape[1]
        lanes = len(outcomes) * (1 + size)
        moved = base[:, None] + np.concatenate([0 * unit[:, None], np.eye(size) * unit[:, None]], axis=1)
        method, family, _ = run.build(lanes)
        placed = with_numbers(state, np.tile(moved, (1, len(outcomes), 1)))
        draws: Any = SignTable(outcomes.repeat_interleave(1 + size, dim=0), clients, run.instances).at(1)
        ended = method.over(1).local_step(family, placed, draws, 1)
        joined = method.over(1).communicate(family, placed, period - 1)
        roots = run.measure.root(family, placed.average)[:, 0].numpy().reshape(run.instances, lanes)[:, : 1 + size]

    def affine(seen: Array) -> Array:
        """`(instances, ..., 1 + size, rows)` of the moved states -> `(instances, ..., rows, 1 + size)`."""
        middle = [1] * (seen.ndim - 3)
        rates = (seen[..., 1:, :] - seen[..., :1, :]) / unit.reshape(-1, *middle, size, 1)
        constant = seen[..., 0, :] - (rates * base.reshape(-1, *middle, size, 1)).sum(-2)
        return np.concatenate([constant[..., None], rates.swapaxes(-1, -2)], axis=-1)

    def flat(of: Any) -> Array:
        parts = [v.reshape(run.instances, len(outcomes), 1 + size, -1).numpy() for _, v in moving(of)]
        return affine(np.concatenate(parts, axis=-1))

    units = np.eye(1 + size)
    x, before, y = (units[1 + k * clients : 1 + (k + 1) * clients] for k in range(len(STATE)))
    own = coordinates(dict(zip(STATE, (x, before, y), strict=True)), slopes, offsets, is_shared=True)
    back = np.linalg.inv(own)
    keep = 2 + 2 * clients  # the copies of y are one
    local, one = flat(ended), np.zeros((run.instances, len(outcomes), 1, 1 + size))
    one[..., 0] = 1.0
    full = np.concatenate([one, local], axis=2)
    average = np.concatenate([one[:, 0], flat(joined)[:, 0]], axis=1)
    models = np.concatenate([x, before]) @ back
    return Maps(
        (own[:, None] @ full @ back[:, None])[..., :keep, :keep],
        (own @ average @ back)[..., :keep, :keep],
        models[..., :keep],
        (local[:, :, 2 * clients] @ back)[..., :keep],
        (affine(roots[..., None])[:, 0][:, None] @ back)[:, 0, :keep],
    )


def means(maps: Maps, period: int, rounds: Sequence[int]) -> Array:
    """The mean squared root over so many rounds from the start of the coordinates, `(numbers, instances)`."""
    size = maps.root.shape[-1]
    spread, fold = _symmetric(size)
    local = _lifted(maps.steps, spread, fold)
    weights = (maps.root[:, :, None] * maps.root[:, None]).reshape(len(maps.root), -1) @ spread
    local[:, -1, :-1] = weights
    whole = _lifted(maps.average[:, None], spread, fold)
    for _ in range(period):
        whole = whole @ local
    state = np.zeros((len(whole), whole.shape[-1], 1))
    state[:, 0, 0] = 1.0
    found, doubled = [], [whole]
    while 2 ** len(doubled) <= max(rounds):
        doubled.append(doubled[-1] @ doubled[-1])
    for count in rounds:
        at = state
        for power, many in enumerate(doubled):
            at = many @ at if count >> power & 1 else at
        found.append(at[:, -1, 0] / (float(count) * period))
    return np.maximum(np.stack(found), 0.0)


def _symmetric(size: int) -> tuple[Array, Array]:
    """From the entries of a symmetric matrix to all its numbers, `(size^2, entries)`, and back."""
    pairs = [(i, j) for i in range(size) for j in range(i, size)]
    spread, fold = np.zeros((size * size, len(pairs))), np.zeros((len(pairs), size * size))
    for entry, (i, j) in enumerate(pairs):
        spread[i * size + j, entry] = spread[j * size + i, entry] = fold[entry, i * size + j] = 1.0
    return spread, fold


def _lifted(steps: Array, spread: Array, fold: Array) -> Array:
    """What maps do to second moments and to a sum beside them, `(instances, entries + 1, entries + 1)`."""
    count, outcomes, size, _ = steps.shape
    squares = np.einsum("iwab,iwcd->iacbd", steps, steps, optimize=True).reshape(count, size * size, size * size)
    made = np.zeros((count, len(fold) + 1, len(fold) + 1))
    made[:, :-1, :-1], made[:, -1, -1] = fold @ squares @ spread / outcomes, 1.0
    return made


def reaches(maps: Maps, period: int) -> tuple[Array, Array]:
    """How far models and estimates come on any path, `(instances,)`; infinite where no limits are found that a round keeps."""
    asked = {"model": np.abs(maps.models), "inner_value": np.abs(maps.estimate)}
    average = Step(np.abs(maps.average)[:, None], {})
    steps = [*[Step(np.abs(maps.steps), asked)] * period, average]
    limits, kept = proposed(steps, _DOUBLES)
    _, reach = followed(limits, steps, _DOUBLES)
    return np.where(kept, reach["model"], np.inf), np.where(kept, reach["inner_value"], np.inf)


def _solved(matrix: Array, right: Array) -> tuple[Array, Array]:
    is_regular = np.abs(np.linalg.det(matrix)) > 0
    found = np.linalg.solve(np.where(is_regular[:, None, None], matrix, np.eye(right.shape[-1])), right[..., None])[
        ..., 0
    ]
    is_positive = (found >= -_ROUNDING * np.abs(found).max(axis=1, keepdims=True)).all(axis=1)
    return np.maximum(found, 0.0), is_regular & is_positive


_DOUBLES = Arithmetic(_solved, lambda numbers: numbers)
