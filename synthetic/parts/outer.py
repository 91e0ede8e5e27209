"""The outer functions f_k: pseudo-Hubers about client centres, with multiplicative gradient noise; and functions of one number."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ..certificate import Certificate, Formula, Points, exact, hypotenuse, nearly, on_diagonal, upper
from ..kinds import INDEPENDENT_CLIENTS, ONE_OUTER_FUNCTION, AbstractComposite, AbstractLocalComposite, Sample
from .blocks import RadialPseudoHuber, Sine, short_sum
from .composition import deterministic_outer, steepest_and_most_curved
from .parameters import require_nonnegative, require_positive
from .patterns import pair_signs

_FAR = 1000.0  # widths at which the slope is 0.9999995 of the Lipschitz constant
_NEAR = 0.01  # widths at which the curvature is 0.9999 of its value at 0
_DOMAIN = "all of R^inner_dim"


@dataclass(frozen=True)
class CenteredOuter:
    """f_k(y; s) = B w (sqrt(1 + |y - c_k|^2 / w^2) - 1) + sigma s sin(e.y), with w = B/L and e = (1, ..., 1)/sqrt(m).

    The centres are c_k = (target + s_k spread) (1, ..., 1) with s_k = +1, -1, +1, ... in pairs.

    Args:
        lipschitz, smoothness: B and L, of the mean f_k.
        noise: sigma, the standard deviation of the gradient at e.y = 0, and its supremum.
    """

    clients: int
    inner_dim: int
    lipschitz: float
    smoothness: float
    noise: float = 0.0
    target: float = 0.0
    spread: float = 0.0
    device: str = "cpu"

    def __post_init__(self) -> None:
        require_positive(self, "lipschitz", "smoothness", of="outer")
        require_nonnegative(self, "noise", "spread", of="outer")
        if not math.isfinite(self.target):
            raise ValueError(f"outer: target must be finite, got {self.target}")

    @cached_property
    def radial(self) -> RadialPseudoHuber:
        """The function about its centre."""
        return RadialPseudoHuber(self.lipschitz, self.smoothness)

    @cached_property
    def _noise_wave(self) -> Sine:
        return Sine(self.noise, 1.0)

    @cached_property
    def _centers(self) -> Tensor:
        return (self.target + self.spread * pair_signs(self.clients)).unsqueeze(-1).to(self.device)

    def _from_center(self, y: Tensor, rows: Tensor | None) -> Tensor:
        if self.spread == 0:
            return y - self.target
        return y - (self._centers if rows is None else self._centers[rows])

    def value(self, y: Tensor, rows: Tensor | None = None) -> Tensor:
        """Exact f_k(y_k), `(..., clients, inner_dim) -> (..., clients)`; `rows` says which client each lane is."""
        return self.radial.value(self._from_center(y, rows))

    def gradient(self, y: Tensor, s: Tensor | None = None, rows: Tensor | None = None) -> Tensor:
        """Gradient of f_k(.; s) at y_k, same shape; s is a batch mean, None for the exact gradient."""
        gradient = self.radial.gradient(self._from_center(y, rows))
        if s is None:
            return gradient
        root = math.sqrt(self.inner_dim)
        return gradient + (s / root).unsqueeze(-1) * self._noise_wave.slope(short_sum(y) / root)

    @property
    def _first_center(self) -> float:
        return self.target + (self.spread if self.clients > 1 else 0.0)

    def certificates(self) -> Iterator[Certificate]:
        """Every constant of f_k and of its samples."""
        reach = _FAR * self.radial.width + math.sqrt(self.inner_dim) * (abs(self.target) + self.spread)
        crest = (on_diagonal(self.inner_dim, 2 * math.pi * math.ceil(reach / (2 * math.pi))),)
        root = math.sqrt(self.inner_dim)
        middle, near = root * self._first_center, _NEAR * self.radial.width
        pair = tuple(on_diagonal(self.inner_dim, middle + side * near) for side in (-1, 1))
        tends = "|grad f| = B r / sqrt(w^2 + r^2) tends to B"
        both = f"{tends}, E||noise||^2 = sigma^2 cos^2(e.y); both nearly attained far away at e.y = 2 pi n."
        along = f"{tends} e along e, where the noise gradient at e.y = 2 pi n, s = +1 is sigma e."
        steep, sigma = nearly("outer_lipschitz", self.lipschitz, f"{tends}.", crest, _DOMAIN), self.noise
        noise = Formula(sigma, "outer_gradient_noise")
        yield steep
        yield nearly("outer_mean_square_lipschitz", hypotenuse(steep.formula, noise), both, crest, _DOMAIN)
        yield nearly("outer_sample_lipschitz", steep.formula + noise, along, crest, _DOMAIN)
        error = "The error is sigma s cos(e.y) e, so at most sigma."
        yield exact("outer_gradient_noise", sigma, error, (on_diagonal(self.inner_dim, 0.0),), domain=_DOMAIN)
        most = "Both Hessian eigenvalues are at most B/w = L."
        curved = nearly("outer_smoothness", self.smoothness, most, pair, _DOMAIN)
        yield curved
        if sigma == 0:
            yield nearly("outer_sample_smoothness", curved.formula, "There is no noise.", pair, _DOMAIN)
            return
        turns = "The noise adds the Hessian -sigma s sin(e.y) e e^T, of norm at most sigma, which turns at the rate 1."
        yield upper("outer_sample_smoothness", curved.formula + noise, turns, _DOMAIN)


class ScalarOuter(ABC):
    """A smooth function of one number on [low, high], continued linearly on both sides: Lipschitz and smooth on all of R.

    An estimate of the inner value may leave the values that the inner map takes.

    Attributes:
        lipschitz, smoothness: the exact constants. steepest, most_curved: a point and a pair of points that attain them.
    """

    low: float
    high: float
    lipschitz: float
    smoothness: float
    steepest: Points
    most_curved: Points

    @abstractmethod
    def _value(self, inside: Tensor) -> Tensor:
        """On [low, high], elementwise."""

    @abstractmethod
    def _slope(self, inside: Tensor) -> Tensor: ...

    @property
    def _share(self) -> float:
        """The part of the smoothness that `most_curved` attains."""
        return 1 - 1e-9

    def value(self, y: Tensor) -> Tensor:
        """The function, elementwise."""
        inside = y.clamp(self.low, self.high)
        return self._value(inside) + self._slope(inside) * (y - inside)

    def slope(self, y: Tensor) -> Tensor:
        """Its derivative."""
        return self._slope(y.clamp(self.low, self.high))

    def certificates(self) -> Iterator[Certificate]:
        """Its Lipschitz and its smoothness constant."""
        steep = self.lipschitz, "f is steepest at an end of the range, linear beyond.", self.steepest, 1.0
        curved = self.smoothness, "f'' is largest at an end of the range, 0 beyond.", self.most_curved, self._share
        yield from steepest_and_most_curved("all of R", steep, curved)


@dataclass(frozen=True)
class Logarithm(ScalarOuter):
    """scale log y, low > 0."""

    scale: float
    low: float
    high: float

    def _value(self, inside: Tensor) -> Tensor:
        return self.scale * torch.log(inside)

    def _slope(self, inside: Tensor) -> Tensor:
        return self.scale / inside

    @property
    def lipschitz(self) -> float:  # type: ignore[override]
        return self.scale / self.low

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        return self.scale / self.low**2

    @property
    def steepest(self) -> Points:  # type: ignore[override]
        return ((self.low,),)

    @property
    def most_curved(self) -> Points:  # type: ignore[override]
        """A short pair at the lower end."""
        return (self.low,), (self.low + min(1e-3 * (self.high - self.low), _NEAR / 2 * self.low),)

    @property
    def _share(self) -> float:
        (low,), (other,) = self.most_curved
        return low / other * (1 - 1e-9)


@dataclass(frozen=True)
class NegativeHalfSquare(ScalarOuter):
    """-y^2 / (2 scale), 0 <= low."""

    scale: float
    low: float
    high: float

    def _value(self, inside: Tensor) -> Tensor:
        return -inside * inside / (2 * self.scale)

    def _slope(self, inside: Tensor) -> Tensor:
        return -inside / self.scale

    @property
    def lipschitz(self) -> float:  # type: ignore[override]
        return self.high / self.scale

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        return 1 / self.scale

    @property
    def steepest(self) -> Points:  # type: ignore[override]
        return ((self.high,),)

    @property
    def most_curved(self) -> Points:  # type: ignore[override]
        return (self.low,), (self.high,)


@dataclass(frozen=True)
class Exponential(ScalarOuter):
    """exp(y / gamma) on [0, top]: increasing and convex."""

    gamma: float
    top: float
    low: ClassVar[float] = 0.0  # type: ignore[misc]

    def __post_init__(self) -> None:
        require_positive(self, "gamma", "top", of="exponential")

    @property
    def high(self) -> float:  # type: ignore[override]
        return self.top

    def _value(self, inside: Tensor) -> Tensor:
        return torch.exp(inside / self.gamma)

    def _slope(self, inside: Tensor) -> Tensor:
        return torch.exp(inside / self.gamma) / self.gamma

    def value(self, y: Tensor) -> Tensor:
        """With one exponential where the rule for all functions takes two."""
        inside = y.clamp(0.0, self.top)
        return self._value(inside) * (1 + (y - inside) / self.gamma)

    @property
    def lipschitz(self) -> float:  # type: ignore[override]
        """The slope at and beyond the top."""
        return math.exp(self.top / self.gamma) / self.gamma

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        """The curvature just below the top."""
        return self.lipschitz / self.gamma

    @property
    def steepest(self) -> Points:  # type: ignore[override]
        return ((self.top,),)

    @property
    def most_curved(self) -> Points:  # type: ignore[override]
        return (max(self.top - 1e-3 * self.gamma, 0.0),), (self.top,)

    def certificates(self) -> Iterator[Certificate]:
        """Of a deterministic outer function that is the same for every client."""
        steep, curved = "exp is steepest at the top, linear beyond.", "exp curves most just below the top, 0 beyond."
        both = (self.lipschitz, steep, self.steepest, 1 - 1e-12), (self.smoothness, curved, self.most_curved, 0.999)
        silent = exact("outer_gradient_noise", 0.0, "The outer function has no noise.", domain="all of R")
        lipschitz, smoothness = steepest_and_most_curved("all of R", *both)
        yield from deterministic_outer(lipschitz, smoothness, silent)


class AbstractOfScalar(AbstractComposite):
    """One whose outer function is one of a number, the same for every client."""

    _outer: ScalarOuter

    def outer(self, y: Tensor) -> Tensor:
        return self._outer.value(y).squeeze(-1)

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self._outer.slope(y)


class AbstractExponential(AbstractOfScalar, AbstractLocalComposite):
    """The mean over the clients of the exponential of their inner values."""

    @property
    def properties(self) -> frozenset[str]:
        return INDEPENDENT_CLIENTS | ONE_OUTER_FUNCTION
