"""Sinewave regression by MAML: fit A sin(x + b pi/5) with a small network, one task per client. Estimated constants.

The paper distributes 25 tasks over 5 clients and samples tasks; the composite form (8) has one inner map per client, so
here every client holds one task. Its network has ReLU, for which no smoothness constant exists; here it has tanh.

Source: Gao, Li, Huang, Local-SCGDM, section 5.1 and equation (8).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.func import grad

from ..parts.adversary import Budget
from .user import LocalFromFunctions

_AMPLITUDES = (1.0, 2.0, 3.0, 4.0, 5.0)
_PHASES = (1.0, 2.0, 3.0, 4.0, 5.0)
_INTERVAL = 5.0
_REGION = 3.0  # weights of a trained network of this size are below it


def sinewave_maml(
    name: str = "sinewave_maml",
    tasks: int = 25,
    hidden: int = 8,
    samples: int = 10,
    lam: float = 0.001,
    seed: int = 0,
    factor: float = 2.0,
    budget: Budget | None = None,
) -> LocalFromFunctions:
    """The problem (1/K) sum_k L_k(x - lam grad L_k(x)), L_k the mean squared error on task k.

    Args:
        tasks: how many of the 25 pairs of amplitude and phase, one per client.
        hidden: width of the one hidden layer; the model has 3 hidden + 1 parameters.
        samples: training data per task, and as many test data.
        lam: inner learning rate, 0.001 in the paper.
        factor, budget: of the estimates; by default within 3 of 0. They take minutes beyond a few tasks and units.

    Raises:
        ValueError: unless 1 <= tasks <= 25.
    """
    pairs = [(A, b) for A in _AMPLITUDES for b in _PHASES][:tasks]
    if len(pairs) != tasks or tasks < 1:
        raise ValueError(f"tasks must be in [1, {len(_AMPLITUDES) * len(_PHASES)}], got {tasks}")
    generator = torch.Generator().manual_seed(seed)
    train, test = (_data(pairs, samples, generator) for _ in range(2))
    start = 0.5 * torch.randn(3 * hidden + 1, generator=generator, dtype=torch.float64)

    def tuned(x: Tensor, item: Tensor | None) -> Tensor:
        return x - lam * grad(_squared_error)(x, item)

    budget = budget or Budget(farthest=_REGION)
    return LocalFromFunctions(tuned, _squared_error, train, test, start, name, factor, budget)


def _data(pairs: list[tuple[float, float]], samples: int, generator: torch.Generator) -> Tensor:
    """(input, target) pairs, `(clients, samples, 2)`."""
    inputs = _INTERVAL * (2 * torch.rand(len(pairs), samples, generator=generator, dtype=torch.float64) - 1)
    table = torch.tensor(pairs, dtype=torch.float64)
    targets = table[:, :1] * torch.sin(inputs + table[:, 1:] * (math.pi / 5))
    return torch.stack([inputs, targets], dim=-1)


def _squared_error(x: Tensor, item: Tensor | None) -> Tensor:
    """(network(input) - target)^2; x is (weights in, biases, weights out, bias)."""
    assert item is not None
    into, bias, out = x[:-1].unflatten(0, (3, -1)).unbind(0)
    return ((torch.tanh(into * item[0] + bias) * out).sum() + x[-1] - item[1]) ** 2
