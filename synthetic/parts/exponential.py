"""The outer function of KL-regularised robustness over clients: an exponential, made Lipschitz."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from ..certificate import Certificate, exact
from .composition import deterministic_outer
from .parameters import require_positive


@dataclass(frozen=True)
class Exponential:
    """exp(y / gamma) on [0, top], continued linearly on both sides: increasing, convex and smooth on all of R."""

    gamma: float
    top: float

    def __post_init__(self) -> None:
        require_positive(self, "gamma", "top", of="exponential")

    def value(self, y: Tensor) -> Tensor:
        """The function, elementwise."""
        inside = y.clamp(0.0, self.top)
        return torch.exp(inside / self.gamma) * (1 + (y - inside) / self.gamma)

    def slope(self, y: Tensor) -> Tensor:
        """Its derivative."""
        return torch.exp(y.clamp(0.0, self.top) / self.gamma) / self.gamma

    @property
    def lipschitz(self) -> float:
        """The slope at and beyond the top."""
        return math.exp(self.top / self.gamma) / self.gamma

    @property
    def smoothness(self) -> float:
        """The curvature just below the top."""
        return self.lipschitz / self.gamma

    def certificates(self) -> Iterator[Certificate]:
        """Of a deterministic outer function that is the same for every client."""
        near = 1e-3 * self.gamma
        pair = ((max(self.top - near, 0.0),), (self.top,))
        yield from deterministic_outer(
            exact(
                "outer_lipschitz",
                self.lipschitz,
                "exp is steepest at the top, linear beyond.",
                ((self.top,),),
                attains=1 - 1e-12,
                domain="all of R",
            ),
            exact(
                "outer_smoothness",
                self.smoothness,
                "exp curves most just below the top, 0 beyond.",
                pair,
                attains=0.999,
                domain="all of R",
            ),
        )
