"""Second moments of runs of any length in doubles, for many instances beside each other, by the powers of `exact.long_run`.

The first round is run with each sign alone, a later one from the state after it with each part of the state moved by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..exact.long_run import AffineRound, Counted
from .noise import Run, SignTable

Array = np.ndarray
_STRETCH = 100.0
"""Factor by which the kinks of a bowl are moved outward, so that what a round does is read off an affine map."""
_MOVED = 3
"""Rounds in which it is seen by how much every part of the state moves."""
_LEAST_MOVE = 1e-4
"""Relative: by how much a part of a state of several is moved at least, where steps move it."""
_ROUNDING, _FLOOR = 1e-6, 1e-14
"""Relative: how far an affine round may be off, and what of a gradient is nothing but rounding."""
_OFF_A_GROUP = 3.0
"""How far a member of a group may go, in units of how far one client alone does: the mean of its group, and what it is off."""
NO_STATE = ("active",)
"""Fields of a state that no step moves."""


def stretched(parameters: Mapping[str, Array]) -> dict[str, Array]:
    """Bowls whose two kinks, or whose Hessian's plateau, end far away; every other function stays as it is."""
    made = dict(parameters)
    for knots, slopes in (("knots", "slopes"), ("extra_knots", "extra_slopes"), ("dual_knots", "dual_slopes")):
        if knots in made and made[knots].shape[-1] == 2:
            for name in (knots, slopes):
                middle = made[name].mean(axis=-1, keepdims=True)
                made[name] = middle + _STRETCH * (made[name] - middle)
    if "curvatures" in made and made["knots"].shape[-1] == 4:
        ends, heights = made["knots"][:, 0], made["curvatures"][:, 0]
        centre, widths = ends.mean(axis=-1, keepdims=True), np.diff(ends[:, :3], axis=-1)
        widths[:, 1] = centre[:, 0] - ends[:, 1]
        area = widths[:, 0] * (heights[:, 0] + heights[:, 1]) / 2 + widths[:, 1] * (heights[:, 1] + heights[:, 2]) / 2
        made["knots"] = (centre + _STRETCH * (ends - centre))[:, None]
        made["tilt"] = made["tilt"] - (_STRETCH - 1) * area[:, None]
    return made


def floor_of(linear: Mapping[str, Array]) -> Array:
    """Squared gradients that are nothing but rounding, `(instances,)`, for stretched parameters."""
    if "curvatures" in linear:
        growth = 1 + linear["alpha"] * np.abs(linear["curvatures"]).max(axis=(1, 2))
        found: Array = (_FLOOR * np.abs(linear["tilt"]).max(axis=1) * growth**2) ** 2
        return found
    steep = np.abs(linear["slopes"]).max(axis=(1, 2))
    if "curvature" in linear:
        steep = steep + linear["curvature"] * np.abs(linear["knots"]).max(axis=(1, 2))
    if "coupling" in linear:
        steep = steep + _rounded_in_y(linear)
    if "inner_slope" in linear:
        steep = steep * np.abs(linear["inner_slope"]).max(axis=1)
    if "extra_slopes" in linear:
        steep = steep + np.abs(linear["extra_slopes"]).max(axis=(1, 2))
    found = (_FLOOR * steep) ** 2
    return found


def _rounded_in_y(linear: Mapping[str, Array]) -> Array:
    """The largest slope in x that a second variable adds, `(instances,)`."""
    rate = np.abs(linear["coupling"]) / linear["dual_curvature"]
    if "dual_slopes" in linear:
        of_levels: Array = rate * np.abs(linear["dual_slopes"]).max(axis=(1, 2))
        return of_levels
    reach = np.abs(linear["coupling"]) * np.abs(linear["knots"]).max(axis=(1, 2))
    of_a_saddle: Array = rate * (reach + np.abs(linear["dual_tilt"]).max(axis=1))
    return of_a_saddle


class _Lanes:
    """A method on a family, every instance with some lanes, from its start or from states that are handed in."""

    def __init__(self, run: Run, table: Tensor, clients: int) -> None:
        self.instances, self.lanes, self.table, self.clients = run.instances, table.shape[-2], table, clients
        self.measure = run.measure
        method, self.family, self.start = run.build(self.lanes)
        method.check(self.family)
        self.method = method.over(1)
        self.state: Any = None
        self.t = 0
        self.renumber()

    def renumber(self) -> None:
        """Signs are numbered from the first on."""
        if self.table.ndim == 3:  # every instance has lanes of its own
            self.draws = SignTable(self.table.flatten(0, 1), self.clients)
        else:
            self.draws = SignTable(self.table, self.clients, self.instances)

    def begin(self) -> None:
        self.state = self.method.init(self.family, self.start, self.draws)  # type: ignore[arg-type]

    def root(self) -> Array:
        """Of the measure at the averaged model, `(instances, lanes)`."""
        roots = self.measure.root(self.family, self.state.average)
        found: Array = roots[:, 0].numpy().reshape(self.instances, self.lanes)
        return found

    def step(self) -> None:
        draws: Any = self.draws.at(self.t)
        stepped = self.method.local_step(self.family, self.state, draws, self.t)
        self.state, self.t = self.method.communicate(self.family, stepped, self.t), self.t + 1

    def round(self, first: int, counted: Counted) -> Array:
        """One round from time `first` on; the roots of what counts, `(times, instances, lanes)`."""
        self.t = first
        return np.stack(counted.passed(self.step, self.root))

    def flat(self) -> Array:
        """The state as numbers, `(instances, lanes, size)`."""
        parts = [value.reshape(self.instances, self.lanes, -1) for _, value in moving(self.state)]
        return torch.cat(parts, dim=-1).numpy()

    def put(self, like: Any, numbers: Array) -> None:
        """A state of the form of another, with these numbers `(instances, lanes, size)`."""
        still = {f.name: getattr(like, f.name) for f in fields(like) if f.name in NO_STATE}
        kept = {n: v if v is None else v[:1].repeat(len(numbers) * self.lanes, 1) for n, v in still.items()}
        self.state = replace(with_numbers(like, numbers), **kept)


def moving(state: Any) -> Iterator[tuple[str, Any]]:
    """The parts of a state that steps move, by name."""
    for declared in fields(state):
        if declared.name not in NO_STATE:
            yield declared.name, getattr(state, declared.name)


def with_numbers(like: Any, numbers: Array) -> Any:
    """A state of the form of another whose moving parts are these numbers, `(instances, lanes, size)`."""
    first, made = 0, {}
    for name, value in moving(like):
        size = value[0].numel()
        part = torch.from_numpy(np.ascontiguousarray(numbers[..., first : first + size]))
        made[name], first = part.reshape(-1, *value.shape[1:]), first + size
    return replace(like, **made)


def long_runs(
    true: Run, linear: Run, clients: int, counted: Counted, rounds: Sequence[int], share: Array
) -> tuple[Array, Array]:
    """The statistic of numbers of rounds, `(numbers, instances)`, and how far the runs are from affine.

    Args:
        true, linear: the instances, and the same with kinks far away.
        rounds: rising, each at least 2.
        share: the variance of a sign, `(instances,)`: less than 1 where a client is a group, whose mean is what counts.

    The second is 0 where a run stays, for the most rounds, where the true instance is the linear one.
    """
    with torch.no_grad(), np.errstate(all="ignore"):
        first, at, like, spread, unit = _first_round(linear, clients, counted, share)
        affine = _affine(linear, clients, counted, at, like, unit)
        start = np.zeros((len(at), at.shape[1] + 1, spread.shape[2] + 1))
        start[:, :-1, :-1], start[:, -1, -1] = spread * np.sqrt(share)[:, None, None], 1.0
        found = list(counted.statistics(first, affine, start, rounds, share))
        scale = np.asarray(linear.measure.scale(linear.build(1)[1]))
        wide = np.where(share < 1, _OFF_A_GROUP, 1.0)[:, None, None]
        pushed = replace(affine, noise=affine.noise * wide)
        reach = pushed.reach(spread * wide, (rounds[-1] - 1).bit_length())
        astray = _astray(true, clients, counted, at, like, unit, affine, reach)
    return np.maximum(scale * np.stack(found), 0.0), astray


def _counting(run: Run, clients: int) -> _Lanes:
    """One lane for each instance, whose draws count the signs that are asked for."""
    return _Lanes(run, torch.zeros(1, 0, dtype=torch.float64), clients)


def _first_round(run: Run, clients: int, counted: Counted, share: Array) -> tuple[Array, Array, Any, Array, Array]:
    """Its summed squares, the state after it without noise, its form, what each sign does to it, and units of the state."""
    lanes = _counting(run, clients)
    lanes.begin()
    lanes.round(0, counted)
    count, like = lanes.draws.columns.count, lanes.state
    mixed = torch.from_numpy(np.random.default_rng(0).choice([-1.0, 1.0], size=(1, count)))
    lanes = _Lanes(run, torch.cat([_one_turned(count), mixed]), clients)
    lanes.begin()
    base, alone = _split(lanes.round(0, counted)[..., :-1])
    squares = (base**2 + (alone**2).sum(-1) * share).sum(0)
    at, spread = _split(lanes.flat()[:, :-1].swapaxes(1, 2))
    moved = np.abs(lanes.flat() - at[:, None]).max(axis=1)
    lanes.table = mixed.expand(count + 2, -1)
    for more in range(1, _MOVED):
        lanes.renumber()
        lanes.round(more * counted.period, counted)
        moved = np.maximum(moved, np.abs(lanes.flat() - at[:, None]).max(axis=1))
    seen = moved > 1e-13 * np.abs(at)
    if (
        len([*moving(like)]) > 1
    ):  # what one part does to another is seen where it moves by more than the rounding of both
        moved = np.maximum(moved, _LEAST_MOVE * np.abs(at))
    unit = np.where(seen, moved, 0.0)
    return squares, at, like, np.where(unit[..., None] > 0, spread / np.where(unit > 0, unit, 1)[..., None], 0.0), unit


def _one_turned(count: int) -> Tensor:
    """All signs up, and each of them alone down: a run need only be affine in signs, not defined without them."""
    return torch.ones(1 + count, count, dtype=torch.float64) - 2 * torch.cat(
        [torch.zeros(1, count, dtype=torch.float64), torch.eye(count, dtype=torch.float64)]
    )


def _split(values: Array) -> tuple[Array, Array]:
    """The mean `(...)` and what each sign adds `(..., signs)`, from lanes `(..., 1 + signs)` with one sign turned in each."""
    each = (values[..., :1] - values[..., 1:]) / 2
    return values[..., 0] - each.sum(-1), each


def _affine(run: Run, clients: int, counted: Counted, at: Array, like: Any, unit: Array) -> AffineRound:
    """A later round, from the state after the first, each part of it moved by its unit, and with each sign alone."""
    size = at.shape[1]
    counting = _counting(run, clients)
    counting.put(like, at[:, None])
    counting.round(counted.period, counted)
    count = counting.draws.columns.count
    up = torch.ones(size, count, dtype=torch.float64)
    lanes = _Lanes(run, torch.cat([up, _one_turned(count)]), clients)
    moved = np.zeros((len(at), lanes.lanes, size))
    moved[:, :size] = np.eye(size) * unit[:, None, :]
    lanes.put(like, at[:, None] + moved)
    seen = np.moveaxis(lanes.round(counted.period, counted), 0, 1)
    ends = ((lanes.flat() - at[:, None]) / np.where(unit > 0, unit, np.inf)[:, None]).swapaxes(1, 2)
    (shift, pushes), (level, jitter) = _split(ends[..., size:]), _split(seen[..., size:])
    step = np.zeros((len(at), size + 1, size + 1))
    step[:, :-1, :-1] = ends[..., :size] - ends[..., size : size + 1]
    step[:, :-1, -1], step[:, -1, -1] = shift, 1.0
    noise = np.zeros((len(at), size + 1, count))
    noise[:, :-1] = pushes
    rows = np.concatenate([seen[..., :size] - seen[..., size : size + 1], level[..., None]], axis=-1)
    return AffineRound(step, noise, rows, jitter)


def _astray(
    run: Run, clients: int, counted: Counted, at: Array, like: Any, unit: Array, affine: AffineRound, reach: Array
) -> Array:
    """How far a round of the true instances, from states and with signs that push one way, is from the affine one."""
    inside = np.concatenate([affine.step[:, :-1, :-1], affine.noise[:, :-1]], axis=-1)
    signs = np.where(inside < 0, -1.0, 1.0)
    signs = np.concatenate([signs, -signs], axis=1)
    size = at.shape[1]
    far = np.nan_to_num(reach, nan=1e300, posinf=1e300)[:, None]
    lanes = _Lanes(run, torch.from_numpy(signs[..., size:].copy()), clients)
    states, pushed = signs[..., :size] * far, signs[..., size:]
    lanes.put(like, at[:, None] + states * unit[:, None])
    lanes.round(counted.period, counted)
    ends = (lanes.flat() - at[:, None]) / np.where(unit > 0, unit, np.inf)[:, None]
    expected = states @ affine.step[:, :-1, :-1].swapaxes(1, 2) + affine.step[:, None, :-1, -1]
    expected = expected + pushed @ affine.noise[:, :-1].swapaxes(1, 2)
    off = (np.abs(ends - expected) / (far + 1)).max(axis=(1, 2))
    off = np.where(np.isfinite(off), off, 1.0)
    return np.where(off > _ROUNDING, np.clip(off, 1e-3, 1.0), 0.0)
