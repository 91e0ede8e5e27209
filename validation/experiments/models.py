"""The small models of the experiments; each starts from a fixed seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import nn


def _seeded(make: Callable[[], nn.Module], seed: int) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make().double()


def softmax_regression(features: int, classes: int) -> nn.Module:
    """A linear model that starts at 0."""
    model = nn.Linear(features, classes).double()
    for parameter in model.parameters():
        nn.init.zeros_(parameter)
    return model


def network(sizes: Sequence[int], activation: type[nn.Module] = nn.ReLU, seed: int = 0) -> nn.Module:
    """Fully connected layers of these sizes with the activation between them, torch's own initialisation."""

    def make() -> nn.Module:
        layers: list[nn.Module] = []
        for into, out in pairwise(sizes):
            layers += [nn.Linear(into, out), activation()]
        return nn.Sequential(*layers[:-1])

    return _seeded(make, seed)
