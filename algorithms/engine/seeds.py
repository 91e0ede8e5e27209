"""A run cut along its seeds, and put together again. Runs are laid out as grid * seeds, the grid slow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import torch
from torch import Tensor

from .draws import Draws
from .method import Start, State

AnyState = TypeVar("AnyState", bound=State)


def join(parts: list[Tensor], grid: int, axis: int = 0) -> Tensor:
    """Tensors whose axis ``axis`` is (grid * some of the seeds) -> one whose axis is (grid * all of the seeds)."""
    if len(parts) == 1:
        return parts[0]
    return torch.cat([part.unflatten(axis, (grid, -1)) for part in parts], axis + 1).flatten(axis, axis + 1)


def join_states(states: list[AnyState], joined: Callable[[list[Tensor]], Tensor]) -> AnyState:
    """The state of all seeds from those of some seeds each, whose tensors `joined` puts together."""
    each = [state.tensors() for state in states]
    return replace(states[0], **{name: joined([tensors[name] for tensors in each]) for name in each[0]})


def seeds_of(state: AnyState, grid: int, columns: slice) -> AnyState:
    """The part of a state that belongs to the seeds ``columns``."""
    return replace(state, **{name: _cut(v, grid, columns) for name, v in state.tensors().items()})


def start_of(start: Start, draws: Draws, columns: slice) -> Start:
    """The part of a start that belongs to the seeds ``columns``: one row for all runs stays as it is."""
    rows = {name: v for name, v in vars(start).items() if v is not None and v.dim() == 2}
    for name, v in rows.items():
        if len(v) != draws.runs:
            raise ValueError(f"start.{name} must be float64 of shape (n,) or ({draws.runs}, n); got {tuple(v.shape)}")
    return replace(start, **{name: _cut(v, draws.grid, columns) for name, v in rows.items()})


def _cut(v: Tensor, grid: int, columns: slice) -> Tensor:
    return v.unflatten(0, (grid, -1))[:, columns].flatten(0, 1).contiguous()
