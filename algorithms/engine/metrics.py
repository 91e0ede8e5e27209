"""What a run may record: functions ``(problem, state, t) -> (runs,)`` of the state at time t, before step t.

The exact objective and its exact gradient are used, at the averaged model, as the theorems do.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from .method import State, client_mean


def gradient_norm_squared(problem: Any, state: State, t: int) -> Tensor:
    """||grad F(xbar^t)||^2, the quantity whose time average the theorems bound. In [f]^2 / [x]^2."""
    return problem.gradient(state.average).square().sum(-1)


def objective(problem: Any, state: State, t: int) -> Tensor:
    """F(xbar^t), in [f]."""
    return problem.objective(state.average)


def consensus_error(problem: Any, state: State, t: int) -> Tensor:
    """(1/K) sum_k ||x_k^t - xbar^t||^2, the client drift, in [x]^2."""
    drift = (state.x - state.average.unsqueeze(1)).square().sum(-1, keepdim=True)
    return client_mean(drift, state.active).squeeze(-1)
