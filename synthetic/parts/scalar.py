"""Scalar losses of the applications, with certified suprema of value, slope and curvature."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ..certificate import WORDS, Formula
from .blocks import AbstractScalar
from .parameters import require_positive

_CELLS, _SPLITS, _ROUNDS = 2048, 8, 30
_TOLERANCE = 1e-5
_REACH = 40.0  # in units of the loss: beyond it every derivative is below 10 exp(-40)
_TAIL = 1e-15
TANH_CURVATURE = 4 / (3 * math.sqrt(3))  # max of |tanh''| = 2 |tanh| (1 - tanh^2), where tanh^2 = 1/3
_SIGMOID_CURVATURE = 1 / (6 * math.sqrt(3))  # max of |s (1 - s) (1 - 2 s)|


def sigmoid(t: Tensor) -> Tensor:
    """1 / (1 + exp(-t)), from tanh: the bits of `torch.sigmoid` depend on the position in a tensor."""
    return 0.5 * (1 + torch.tanh(0.5 * t))


def softplus(t: Tensor) -> Tensor:
    """log(1 + exp(t)), from functions whose bits do not depend on the position in a tensor."""
    return t.clamp_min(0.0) + torch.log1p(torch.exp(-t.abs()))


class ScalarLoss(AbstractScalar):
    """A smooth bounded loss of a margin.

    Attributes:
        M: its supremum. smallest: its infimum. steepest: an upper bound of |slope|, within 0.01% of the supremum.
        crude: bounds of the absolute values of its first three derivatives. reach: beyond it they are all negligible.
    """

    M: float
    smallest: float
    steepest: float
    crude: tuple[float, float, float]
    reach: float


@dataclass(frozen=True)
class Sigmoid(ScalarLoss):
    """A bounded non-convex loss of the margin t: M / (1 + exp(t)), between 0 and M.

    With s = 1/(1 + exp(t)): slope -M s (1 - s), at most M/4; curvature M s (1 - s)(1 - 2 s), at most M/(6 sqrt 3); third
    derivative -M s (1 - s)(1 - 6 s (1 - s)), at most M/8 because s (1 - s) <= 1/4.
    """

    smallest: ClassVar[float] = 0.0  # type: ignore[misc]
    reach: ClassVar[float] = _REACH  # type: ignore[misc]
    M: float

    def __post_init__(self) -> None:
        require_positive(self, "M", of="loss")

    @property
    def steepest(self) -> float:  # type: ignore[override]
        return self.M / 4

    @property
    def crude(self) -> tuple[float, float, float]:  # type: ignore[override]
        return self.M / 4, self.M * _SIGMOID_CURVATURE, self.M / 8

    def value(self, t: Tensor) -> Tensor:
        return self.M * sigmoid(-t)

    def slope(self, t: Tensor) -> Tensor:
        s = sigmoid(-t)
        return -self.M * s * (1 - s)

    def curvature(self, t: Tensor) -> Tensor:
        s = sigmoid(-t)
        return self.M * s * (1 - s) * (1 - 2 * s)


@dataclass(frozen=True)
class SaturatedLogistic(ScalarLoss):
    """The logistic loss log(1 + exp(-c)) of the saturated margin c = r tanh(t / r), where M = log(1 + exp(r)).

    The plain logistic loss is unbounded, so that exp(loss / lambda) is neither Lipschitz nor bounded; this one is within
    t^3 / (3 r^2) of it in the margin and lies between log(1 + exp(-r)) and M.

    Raises:
        ValueError: unless M > log 2, the loss of the margin 0.
    """

    M: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.M) and math.log(2) < self.M):
            raise ValueError(f"the largest loss M of the logistic loss must exceed log 2, got {self.M}")

    @cached_property
    def saturation(self) -> float:
        """r."""
        return math.log(math.expm1(self.M))

    @property
    def smallest(self) -> float:  # type: ignore[override]
        return math.log1p(math.exp(-self.saturation))

    @cached_property
    def steepest(self) -> float:  # type: ignore[override]
        return identity_of(self).lipschitz

    @property
    def crude(self) -> tuple[float, float, float]:  # type: ignore[override]
        """Bounds of the first three derivatives, by the chain rule with |tanh'''| <= 2."""
        curvature, third = TANH_CURVATURE / self.saturation, 2 / self.saturation**2
        return 1.0, 0.25 + curvature, _SIGMOID_CURVATURE + 0.75 * curvature + third

    @property
    def reach(self) -> float:  # type: ignore[override]
        """Beyond it all derivatives are negligible: tanh'(t/r) <= 4 exp(-2 t/r)."""
        return _REACH * self.saturation

    def _saturated(self, t: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """c and its first two derivatives."""
        th = torch.tanh(t / self.saturation)
        first = 1 - th * th
        return self.saturation * th, first, (-2 / self.saturation) * th * first

    def value(self, t: Tensor) -> Tensor:
        return softplus(-self.saturation * torch.tanh(t / self.saturation))

    def slope(self, t: Tensor) -> Tensor:
        c, first, _ = self._saturated(t)
        return -sigmoid(-c) * first

    def curvature(self, t: Tensor) -> Tensor:
        c, first, second = self._saturated(t)
        s = sigmoid(-c)
        return s * (1 - s) * first * first - s * second


@dataclass(frozen=True)
class OfLoss:
    """u(loss(t)) for an increasing smooth u on the range of the loss, given by u and its first two derivatives.

    The suprema are enclosed by branch and bound over cells of a bounded interval with a crude bound of the next derivative;
    beyond the interval every derivative of the loss is below 10 exp(-40), which the tolerance covers.
    """

    loss: ScalarLoss
    outer: Callable[[Tensor], Tensor]
    outer_slope: Callable[[Tensor], Tensor]
    outer_curvature: Callable[[Tensor], Tensor]
    crude: tuple[float, float, float]  # bounds of u', u'', u''' on the range of the loss

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
        """The infimum and the supremum, at the smallest and the largest loss."""
        ends = self.outer(torch.tensor([self.loss.smallest, self.loss.M], dtype=torch.float64)).tolist()
        return ends[0], ends[1]

    @cached_property
    def lipschitz(self) -> float:
        """An upper bound of |slope|, within 0.01% of the supremum."""
        return self.enclosed(self.slope, self.crude_curvature)

    @cached_property
    def smoothness(self) -> float:
        """An upper bound of |curvature|, within 0.01% of the supremum."""
        return self.enclosed(self.curvature, self.crude_third)

    @property
    def suprema(self) -> tuple[Formula, Formula]:
        """Of slope and curvature, as certificates write them."""
        return Formula(self.lipschitz, "sup |u'|", WORDS), Formula(self.smoothness, "sup |u''|", WORDS)

    @property
    def crude_curvature(self) -> float:
        """A bound of |curvature|, by the chain rule."""
        (first, second, _), (slope, curvature, _) = self.crude, self.loss.crude
        return second * slope**2 + first * curvature

    @property
    def crude_third(self) -> float:
        """A bound of the third derivative, by the chain rule."""
        (first, second, third), (slope, curvature, loss_third) = self.crude, self.loss.crude
        return third * slope**3 + 3 * second * slope * curvature + first * loss_third

    def enclosed(self, function: Callable[[Tensor], Tensor], crude: float) -> float:
        """Branch and bound: |function| on a cell of half-width h is at most its value at the middle plus crude * h.

        Cells that cannot exceed the best value by more than the tolerance are dropped, the others split.
        """
        half, best = self.loss.reach / _CELLS, 0.0
        middles = half * (2 * torch.arange(_CELLS, dtype=torch.float64) + 1 - _CELLS)
        offsets = (2 * torch.arange(_SPLITS, dtype=torch.float64) + 1 - _SPLITS) / _SPLITS
        for _ in range(_ROUNDS):
            found = function(middles).abs()
            best = max(best, float(found.max()))
            middles = middles[found + crude * half > best * (1 + _TOLERANCE) + _TAIL]
            if len(middles) == 0:
                return best * (1 + 2 * _TOLERANCE) + 2 * _TAIL
            middles, half = (middles.unsqueeze(1) + half * offsets).flatten(), half / _SPLITS
        return best * (1 + _TOLERANCE) + 2 * crude * half * _SPLITS + _TAIL


def exponential_of(loss: ScalarLoss, temperature: float) -> OfLoss:
    """exp(loss / temperature): what KL-regularised DRO averages."""
    top = math.exp(loss.M / temperature)

    def scaled(power: int) -> Callable[[Tensor], Tensor]:
        return lambda value: torch.exp(value / temperature) / temperature**power

    crude = (top / temperature, top / temperature**2, top / temperature**3)
    return OfLoss(loss, scaled(0), scaled(1), scaled(2), crude)


def loss_and_half_square(loss: ScalarLoss, weight: float) -> OfLoss:
    """loss + loss^2 / (2 weight): the non-compositional part of chi-square DRO."""
    return OfLoss(
        loss,
        lambda v: v + v * v / (2 * weight),
        lambda v: 1 + v / weight,
        lambda v: torch.full_like(v, 1 / weight),
        (1 + loss.M / weight, 1 / weight, 0.0),
    )


def identity_of(loss: ScalarLoss) -> OfLoss:
    """The loss itself."""
    return OfLoss(loss, lambda v: v, torch.ones_like, torch.zeros_like, (1.0, 0.0, 0.0))
