"""Means of a user's function over per-client data, and their derivatives by torch.func."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.func import grad, vjp, vmap

from ..kinds import Sample
from .patterns import equal_weights

_MOST_ATOMS = 4096

Datum = Tensor | None
Function = Callable[[Tensor, Datum], Tensor]


@dataclass(frozen=True)
class DataSample(Sample):
    """Positions of data at each client, int64 `(runs, clients, batch)`, one field per data set."""

    first: Tensor
    second: Tensor


@dataclass(frozen=True, eq=False)
class Averaged:
    """The mean over data of `function(point, datum)` at each client, and its derivatives, lane by lane."""

    function: Function
    data: Tensor | None

    def _lane(self, point: Tensor, items: Datum) -> Tensor:
        if items is None:
            return self.function(point, None)
        return vmap(self.function, in_dims=(None, 0))(point, items).mean(0)

    def _over_lanes(self, lane: Callable[..., Tensor], index: Tensor | None, *points: Tensor) -> Tensor:
        plain = (0,) * len(points)
        if self.data is None:
            return vmap(vmap(partial(lane, None)))(*points)
        if index is None:
            return vmap(vmap(lane, in_dims=(0, *plain)), in_dims=(None, *plain))(self.data, *points)
        items = self.data[torch.arange(len(self.data), device=self.data.device).unsqueeze(-1), index]
        runs = points[0].shape[0]
        return vmap(vmap(lane))(items.expand(runs, *items.shape[1:]), *points)

    def value(self, point: Tensor, index: Tensor | None = None) -> Tensor:
        """`(runs, clients, size) -> (runs, clients, ...)`; index None takes all data."""
        return self._over_lanes(lambda items, p: self._lane(p, items), index, point)

    def pulled(self, point: Tensor, v: Tensor, index: Tensor | None = None) -> Tensor:
        """Transposed Jacobian times v."""
        return self._over_lanes(lambda items, p, u: vjp(lambda q: self._lane(q, items), p)[1](u)[0], index, point, v)

    def gradient(self, point: Tensor, index: Tensor | None = None) -> Tensor:
        """Of a scalar function."""
        return self._over_lanes(lambda items, p: grad(lambda q: self._lane(q, items))(p), index, point)


def checked_data(name: str, data: Tensor, clients: int | None = None) -> Tensor:
    """`data` if it is float64 `(clients, samples, ...)`, else a ValueError that says what it is."""
    if data.dim() < 2 or data.dtype != torch.float64 or 0 in data.shape:
        raise ValueError(
            f"{name} must be a non-empty float64 tensor (clients, samples, ...), got {data.dtype} {tuple(data.shape)}"
        )
    if clients is not None and len(data) != clients:
        raise ValueError(f"{name} must have one row per client, {clients}, got {len(data)}")
    return data


def checked_start(start: Tensor) -> Tensor:
    """`start` if it is float64 `(dim,)`, else a ValueError that says what it is."""
    if start.dim() != 1 or start.dtype != torch.float64:
        raise ValueError(f"start must be a float64 tensor (dim,), got {start.dtype} {tuple(start.shape)}")
    return start


def all_pairs(first: int, second: int, clients: int, device: torch.device) -> tuple[DataSample, Tensor]:
    """Every pair of positions in two data sets of these sizes, with equal probabilities.

    Raises:
        ValueError: for more than 4096 pairs.
    """
    if first * second > _MOST_ATOMS:
        raise ValueError(
            f"expectations run over all {first} x {second} pairs of data, at most {_MOST_ATOMS}: "
            "use fewer data, or no data for the outer function"
        )
    left = torch.arange(first, device=device).repeat_interleave(second).expand(1, clients, -1)
    right = torch.arange(second, device=device).repeat(first).expand(1, clients, -1)
    return DataSample(left, right), equal_weights(first * second, device)
