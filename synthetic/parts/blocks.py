"""Smooth building blocks with derivatives and certified constants: what the problems are made of.

A block is a scalar function applied elementwise, with operations whose bits do not depend on the position in a tensor
(torch's `pow` with a fractional exponent and its `cosh` fail that, so they are not used). Each constant is the supremum
over the real line of the absolute first, second or third derivative; the docstring says where it is attained.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from .parameters import require_nonnegative, require_paired

LARGEST_WAVENUMBER = 1e3  # of a problem: faster waves lose digits, as sin(q t) has rounding error 1e-16 q t
_SHORT = 3  # sums over fewer than four numbers take five times as long as over four
_PSEUDO_HUBER_THIRD = 48 / (25 * math.sqrt(5))  # max of 3 t (1 + t^2)^(-5/2), at t = 1/2


def wavenumber_of(noise_of_derivative: float, noise: float) -> float:
    """How fast noise of a wave turns, from its sizes; 1 without noise."""
    return noise_of_derivative / noise if noise > 0 else 1.0


def norm_squared(y: Tensor) -> Tensor:
    """|y|^2 along the last axis, which stays, with length 1."""
    return short_sum(y * y)


def short_sum(v: Tensor) -> Tensor:
    """Sum over the last axis, which stays, with length 1. Over a short one term by term, a fifth of torch's time."""
    if v.shape[-1] > _SHORT:
        return v.sum(-1, keepdim=True)
    total, *others = v.split(1, -1)
    for other in others:
        total = total + other
    return total


class AbstractScalar(ABC):
    """A function of one number and its first two derivatives, elementwise."""

    @abstractmethod
    def value(self, t: Tensor) -> Tensor: ...

    @abstractmethod
    def slope(self, t: Tensor) -> Tensor: ...

    @abstractmethod
    def curvature(self, t: Tensor) -> Tensor: ...


@dataclass(frozen=True)
class AbstractWave(AbstractScalar):
    """Amplitude a / q at wavenumber q: its derivatives are at most a, a q and a q^2, all attained."""

    steepness: float
    wavenumber: float

    def __post_init__(self) -> None:
        require_nonnegative(self, "steepness", "wavenumber", of=type(self).__name__)

    @property
    def lipschitz(self) -> float:
        return self.steepness

    @property
    def smoothness(self) -> float:
        return self.steepness * self.wavenumber

    @property
    def curvature_lipschitz(self) -> float:
        return self.steepness * self.wavenumber**2


@dataclass(frozen=True)
class Sine(AbstractWave):
    """a sin(q t) / q, and a t when q = 0: odd, steepest at 0, most curved at q t = pi/2; constants a, a q, a q^2."""

    def value(self, t: Tensor) -> Tensor:
        if self.wavenumber == 0:
            return self.steepness * t
        return (self.wavenumber * t).sin_().mul_(self.steepness / self.wavenumber)

    def slope(self, t: Tensor) -> Tensor:
        return (self.wavenumber * t).cos_().mul_(self.steepness)

    def curvature(self, t: Tensor) -> Tensor:
        return (self.wavenumber * t).sin_().mul_(-self.steepness * self.wavenumber)


@dataclass(frozen=True)
class Cosine(AbstractWave):
    """a (1 - cos(q t)) / q: even, minimum 0 at 0, most curved at 0, steepest at q t = pi/2; constants a, a q, a q^2."""

    def value(self, t: Tensor) -> Tensor:
        if self.wavenumber == 0:
            return 0.0 * t
        return (2 * self.steepness / self.wavenumber) * torch.sin(self.wavenumber / 2 * t).square()  # near 0 too

    def slope(self, t: Tensor) -> Tensor:
        return (self.wavenumber * t).sin_().mul_(self.steepness)

    def curvature(self, t: Tensor) -> Tensor:
        return (self.wavenumber * t).cos_().mul_(self.steepness * self.wavenumber)


@dataclass(frozen=True)
class RadialPseudoHuber:
    """B (sqrt(w^2 + |y|^2) - w) with w = B / L, on vectors along the last axis; zero when B = 0.

    The gradient is B y / sqrt(w^2 + |y|^2), so B is the supremum of its norm (at infinity). The Hessian has eigenvalue
    B w^2 (w^2 + |y|^2)^(-3/2) along y and B (w^2 + |y|^2)^(-1/2) across it, both at most B / w = L, attained at 0.
    """

    lipschitz: float
    smoothness: float

    def __post_init__(self) -> None:
        require_nonnegative(self, "lipschitz", "smoothness", of="RadialPseudoHuber")
        require_paired(self, "lipschitz", "smoothness", of="RadialPseudoHuber")

    @property
    def width(self) -> float:
        """Where the function turns from quadratic to linear; 1 for the zero function, which has no scale."""
        return self.lipschitz / self.smoothness if self.smoothness > 0 else 1.0

    def value(self, y: Tensor) -> Tensor:
        squared = norm_squared(y).squeeze(-1)
        return self.lipschitz * squared / (torch.sqrt(self.width**2 + squared) + self.width)

    def squared(self, y: Tensor) -> Tensor:
        """w^2 + |y|^2, with a last axis of length 1."""
        return self.width**2 + norm_squared(y)

    def pull(self, squared: Tensor) -> Tensor:
        """The factor of y in the gradient, B / sqrt(w^2 + |y|^2), from the root's argument."""
        return self.lipschitz / torch.sqrt(squared)

    def gradient(self, y: Tensor) -> Tensor:
        return y * self.pull(self.squared(y))

    def hvp(self, y: Tensor, v: Tensor, squared: Tensor, pull: Tensor) -> Tensor:
        """Hessian at y times v: B/r (v - y (y.v)/r^2) with r = sqrt(w^2 + |y|^2); the last two are those at y."""
        along = short_sum(y * v)
        return (y * (-along / squared)).add_(v).mul_(pull)

    @property
    def hessian_lipschitz(self) -> float:
        """Along any line the function is a scalar pseudo-Huber of width at least w, so the scalar constant holds."""
        return _PSEUDO_HUBER_THIRD * self.lipschitz / self.width**2

    def scalar(self, radius: float) -> tuple[float, float]:
        """Value and slope at distance `radius`, as Python floats."""
        root = math.hypot(self.width, radius)
        return self.lipschitz * radius**2 / (root + self.width), self.lipschitz * radius / root
