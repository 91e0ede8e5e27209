"""The small models of the experiments; each starts from a fixed seed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn


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


def network(sizes: Sequence[int], seed: int = 0) -> nn.Module:
    """Fully connected layers of these sizes with a ReLU between them, torch's own initialisation."""

    def make() -> nn.Module:
        layers: list[nn.Module] = []
        for into, out in pairwise(sizes):
            layers += [nn.Linear(into, out), nn.ReLU()]
        return nn.Sequential(*layers[:-1])

    return _seeded(make, seed)


def convolutional(
    shape: Sequence[int], classes: int, filters: int = 64, layers: int = 4, groups: int | None = None
) -> nn.Module:
    """Layers of 3 x 3 convolutions, each with a ReLU and, while there are two pixels, a halving of the sides; a linear one last.

    Args:
        shape: channels, height and width of an input, which comes as a vector.
        groups: of a GroupNorm before each ReLU; none without it.
    """

    def make() -> nn.Module:
        channels, *sides = shape
        parts: list[nn.Module] = [nn.Unflatten(-1, tuple(shape))]
        for _ in range(layers):
            parts.append(nn.Conv2d(channels, filters, 3, padding=1))
            parts += [nn.GroupNorm(groups, filters)] if groups else []
            parts.append(nn.ReLU())
            channels = filters
            if min(sides) > 1:
                parts.append(nn.MaxPool2d(2))
                sides = [side // 2 for side in sides]
        return nn.Sequential(*parts, nn.Flatten(-3), nn.Linear(channels * sides[0] * sides[1], classes))

    return _seeded(make, 0)


class _Block(nn.Module):
    """Two convolutions and what goes past them: the input, halved in its sides and filled up with empty channels."""

    def __init__(self, into: int, out: int) -> None:
        super().__init__()
        self.step, self.more = out // into, out - into
        self.first = nn.Conv2d(into, out, 3, stride=self.step, padding=1, bias=False)
        self.second = nn.Conv2d(out, out, 3, padding=1, bias=False)
        self.norms = nn.ModuleList([nn.GroupNorm(8, out), nn.GroupNorm(8, out)])

    def forward(self, x: Tensor) -> Tensor:
        inside = self.norms[1](self.second(torch.relu(self.norms[0](self.first(x)))))
        past = nn.functional.pad(x[..., :: self.step, :: self.step], (0, 0, 0, 0, 0, self.more))
        return torch.relu(inside + past)


def residual(shape: Sequence[int], classes: int) -> nn.Module:
    """ResNet20 for inputs that come as vectors.

    GroupNorm takes the place of batch normalisation, whose loss is no mean over examples.

    Source: He, Zhang, Ren, Sun, "Deep residual learning for image recognition", 2016, section 4.2.
    """

    def make() -> nn.Module:
        stem = [
            nn.Unflatten(-1, tuple(shape)),
            nn.Conv2d(shape[0], 16, 3, padding=1, bias=False),
            nn.GroupNorm(8, 16),
            nn.ReLU(),
        ]
        widths = [16] * 4 + [32] * 3 + [64] * 3
        stages = [_Block(into, out) for into, out in pairwise(widths)]
        return nn.Sequential(*stem, *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(-3), nn.Linear(64, classes))

    return _seeded(make, 0)
