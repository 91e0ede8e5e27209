"""Scalar losses of the applications, with certified suprema of value, slope and curvature."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

_GRID = 400_001
_REACH = 40.0  # beyond it every derivative of a sigmoid is below exp(-40)
_TAIL = 1e-15


@dataclass(frozen=True)
class Sigmoid:
    """A bounded non-convex loss of the margin t: M / (1 + exp(t)), between 0 and M.

    With s = 1/(1 + exp(t)): slope -M s (1 - s), at most M/4; curvature M s (1 - s)(1 - 2 s), at most M/(6 sqrt 3).
    """

    M: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.M) and self.M > 0):
            raise ValueError(f"the largest loss M must be finite and positive, got {self.M}")

    def value(self, t: Tensor) -> Tensor:
        """The loss."""
        return self.M * torch.sigmoid(-t)

    def slope(self, t: Tensor) -> Tensor:
        """Its derivative."""
        s = torch.sigmoid(-t)
        return -self.M * s * (1 - s)

    def curvature(self, t: Tensor) -> Tensor:
        """Its second derivative."""
        s = torch.sigmoid(-t)
        return self.M * s * (1 - s) * (1 - 2 * s)


@dataclass(frozen=True)
class OfLoss:
    """u(loss(t)) for an increasing smooth u on [0, M], given by u and its first two derivatives.

    The suprema are computed on a grid of step h and enclosed: the function between two grid points exceeds the larger
    one by at most h/2 times a crude bound of the next derivative; beyond the grid all derivatives are below 1e-15.
    """

    loss: Sigmoid
    outer: Callable[[Tensor], Tensor]
    outer_slope: Callable[[Tensor], Tensor]
    outer_curvature: Callable[[Tensor], Tensor]
    crude: tuple[float, float, float]  # bounds of u', u'', u''' on [0, M]

    def value(self, t: Tensor) -> Tensor:
        """u(loss(t))."""
        return self.outer(self.loss.value(t))

    def slope(self, t: Tensor) -> Tensor:
        """Its derivative."""
        return self.outer_slope(self.loss.value(t)) * self.loss.slope(t)

    def curvature(self, t: Tensor) -> Tensor:
        """Its second derivative."""
        value, slope = self.loss.value(t), self.loss.slope(t)
        return self.outer_curvature(value) * slope * slope + self.outer_slope(value) * self.loss.curvature(t)

    @cached_property
    def range(self) -> tuple[float, float]:
        """The infimum and the supremum, at loss 0 and loss M."""
        ends = self.outer(torch.tensor([0.0, self.loss.M], dtype=torch.float64)).tolist()
        return ends[0], ends[1]

    @cached_property
    def lipschitz(self) -> float:
        """An upper bound of |slope|, within 0.1% of the supremum."""
        return self._enclosed(self.slope, self._crude_curvature)

    @cached_property
    def smoothness(self) -> float:
        """An upper bound of |curvature|, within 0.1% of the supremum."""
        return self._enclosed(self.curvature, self._crude_third)

    @property
    def _crude_curvature(self) -> float:
        first, second, _ = self.crude
        return second * (self.loss.M / 4) ** 2 + first * self.loss.M / (6 * math.sqrt(3))

    @property
    def _crude_third(self) -> float:
        """|loss'''| <= M/8, since loss''' = -M s (1 - s) (1 - 6 s (1 - s)) and s (1 - s) <= 1/4."""
        first, second, third = self.crude
        slope, curvature = self.loss.M / 4, self.loss.M / (6 * math.sqrt(3))
        return third * slope**3 + 3 * second * slope * curvature + first * self.loss.M / 8

    @staticmethod
    def _enclosed(function: Callable[[Tensor], Tensor], crude: float) -> float:
        grid = torch.linspace(-_REACH, _REACH, _GRID, dtype=torch.float64)
        step = 2 * _REACH / (_GRID - 1)
        return float(function(grid).abs().max()) * (1 + 1e-12) + crude * step / 2 + _TAIL


def exponential_of(loss: Sigmoid, temperature: float) -> OfLoss:
    """exp(loss / temperature): what KL-regularised DRO averages."""
    top = math.exp(loss.M / temperature)

    def scaled(power: int) -> Callable[[Tensor], Tensor]:
        return lambda value: torch.exp(value / temperature) / temperature**power

    crude = (top / temperature, top / temperature**2, top / temperature**3)
    return OfLoss(loss, scaled(0), scaled(1), scaled(2), crude)


def loss_and_half_square(loss: Sigmoid, weight: float) -> OfLoss:
    """loss + loss^2 / (2 weight): the non-compositional part of chi-square DRO."""
    return OfLoss(loss, lambda v: v + v * v / (2 * weight), lambda v: 1 + v / weight,
                  lambda v: torch.full_like(v, 1 / weight), (1 + loss.M / weight, 1 / weight, 0.0))


def identity_of(loss: Sigmoid) -> OfLoss:
    """The loss itself."""
    return OfLoss(loss, lambda v: v, torch.ones_like, torch.zeros_like, (1.0, 0.0, 0.0))
