"""The non-compositional part h_k: a bowl with ripples, client terms and gradient noise, every constant exact."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ..certificate import Certificate, as_point, attained, exact, upper
from .blocks import LARGEST_WAVENUMBER, AbstractBlock, Cosine, RadialPseudoHuber, Sine
from .parameters import require_nonnegative, require_positive
from .patterns import pair_index, pair_signs, walsh_directions

_RIPPLE_SHARE = 0.25  # of the smoothness
_CLIENT_SHARE = 0.25  # of the smoothness at most; what the client terms do not use goes to the bowl
_RIPPLE_LIPSCHITZ_SHARE = 0.2  # of the Lipschitz constant
_NEARLY_ALL = 0.9999
_HALF_ANGLE = 0.01


@dataclass(frozen=True)
class RippledBowl:
    """h_k(x; s) = radial pseudo-Huber(x) + sum_i ripple(x_i) + s_k Delta (1 - cos(p v_k.x))/p + sigma s sin(P v_k.x)/P.

    Every term but the noise is even with its largest curvature at 0, so that there the Hessian norms add up: the
    smoothness is exact. The ripples make h non-convex as soon as the bowl has flattened. sum_k s_k v_k = 0 in pairs.
    With `tilt` the client term is s_k Delta sin(p v_k.x)/p: it pulls the minimisers of the clients apart, and the
    smoothness is an upper bound.

    Args:
        lipschitz: bound of ||grad h|| of the mean h (the client terms cancel in the mean).
        smoothness: Lipschitz constant of grad h_k, attained by client 0 at 0.
        noise: sigma, the standard deviation of the stochastic gradient at 0, and its supremum.
        heterogeneity: Delta = sup ||grad h_k - grad h||, attained where p v_k.x = pi/2 (at 0 with `tilt`).
        noise_wavenumber: P, so that the Hessian noise is sigma P.
    """

    clients: int
    dim: int
    lipschitz: float
    smoothness: float
    noise: float = 0.0
    heterogeneity: float = 0.0
    noise_wavenumber: float = 1.0
    tilt: bool = False
    device: str = "cpu"

    def __post_init__(self) -> None:
        require_positive(self, "lipschitz", "smoothness", of="bowl")
        if not 0 < self.noise_wavenumber <= LARGEST_WAVENUMBER:
            raise ValueError(
                f"bowl: the noise wavenumber must be in (0, {LARGEST_WAVENUMBER}], got {self.noise_wavenumber}"
            )
        require_nonnegative(self, "noise", "heterogeneity", of="bowl")
        if self.heterogeneity > 0 and self.clients < 2:
            raise ValueError(f"bowl: heterogeneity needs at least 2 clients, got {self.clients}")
        if self.ripple.wavenumber > LARGEST_WAVENUMBER:
            raise ValueError(
                f"bowl: smoothness {self.smoothness} is too large for the Lipschitz constant "
                f"{self.lipschitz}: the ripples would need wavenumber {self.ripple.wavenumber}"
            )

    @property
    def _client_share(self) -> float:
        return min(_CLIENT_SHARE, self.heterogeneity * LARGEST_WAVENUMBER / self.smoothness)

    @property
    def mean_smoothness(self) -> float:
        """Lipschitz constant of grad h of the mean h."""
        return (1.0 - self._client_share) * self.smoothness

    @cached_property
    def radial(self) -> RadialPseudoHuber:
        """The bowl itself: h >= radial, since the other terms of the mean h are nonnegative."""
        return RadialPseudoHuber(
            (1 - _RIPPLE_LIPSCHITZ_SHARE) * self.lipschitz, (1 - _RIPPLE_SHARE - self._client_share) * self.smoothness
        )

    @cached_property
    def ripple(self) -> Cosine:
        """The wave in each coordinate."""
        steepness = _RIPPLE_LIPSCHITZ_SHARE * self.lipschitz / math.sqrt(self.dim)
        return Cosine(steepness, _RIPPLE_SHARE * self.smoothness / steepness)

    @cached_property
    def client_wave(self) -> AbstractBlock:
        """The wave that tells the clients apart, before its sign."""
        wave = Sine if self.tilt else Cosine
        return wave(self.heterogeneity, self.client_wavenumber)

    @property
    def client_wavenumber(self) -> float:
        """p."""
        return self._client_share * self.smoothness / self.heterogeneity if self.heterogeneity > 0 else 0.0

    @property
    def hessian_lipschitz(self) -> float:
        """A Lipschitz constant of the Hessian of h_k: those of the three terms, added."""
        return self.radial.hessian_lipschitz + self.ripple.curvature_lipschitz + self.client_wave.curvature_lipschitz

    @cached_property
    def _noise_wave(self) -> Sine:
        return Sine(self.noise, self.noise_wavenumber)

    @cached_property
    def directions(self) -> Tensor:
        """v_k, `(clients, dim)`."""
        return walsh_directions(pair_index(self.clients), self.dim, self.device)

    @cached_property
    def _signs(self) -> Tensor:
        return pair_signs(self.clients).to(self.device)

    def value(self, x: Tensor) -> Tensor:
        """h_k(x_k), `(runs, clients, dim) -> (runs, clients)`."""
        along = (x * self.directions).sum(-1)
        return self.mean_value(x) + self._signs * self.client_wave.value(along)

    def gradient(self, x: Tensor, s: Tensor | None = None) -> Tensor:
        """grad h_k(x_k; s), `(runs, clients, dim)`; s `(runs, clients)` is a batch mean."""
        return self.at(x).gradient(s)

    def hvp(self, x: Tensor, v: Tensor, s: Tensor | None = None) -> Tensor:
        """Hessian of h_k(.; s) at x_k times v_k, `(runs, clients, dim)`; s as in `gradient`."""
        return self.at(x).hvp(v, s)

    def at(self, x: Tensor) -> BowlPoint:
        """What gives several derivatives at one point `(runs, clients, dim)` for less than each alone."""
        return BowlPoint(self, x)

    def mean_value(self, x: Tensor) -> Tensor:
        """(1/K) sum_k h_k(x), `(..., dim) -> (...)`."""
        return self.radial.value(x) + self.ripple.value(x).sum(-1)

    def mean_gradient(self, x: Tensor) -> Tensor:
        """Gradient of the mean h, `(..., dim)`."""
        return self.ripple.slope(x).addcmul_(x, self.radial.pull(self.radial.squared(x)))

    def _point(self, multiple: float) -> tuple[float, ...]:
        return as_point(torch.full((self.dim,), multiple / math.sqrt(self.dim), dtype=torch.float64))

    def certificates(self) -> Iterator[Certificate]:
        """Every constant of h_k."""
        reach = _HALF_ANGLE * min(self.radial.width, 1 / self.ripple.wavenumber, 1 / max(self.client_wavenumber, 1e-12))
        yield exact(
            "noncompositional_smoothness",
            self.smoothness,
            "The Hessian norms of bowl, ripples and client term add up at 0, where each is largest.",
            (self._point(-reach), self._point(reach)),
            attains=_NEARLY_ALL,
        )
        yield upper(
            "noncompositional_sample_smoothness",
            self.smoothness + self.noise * self.noise_wavenumber,
            "The noise adds the Hessian -sigma s P sin(P v.x) v v^T, of norm at most sigma P.",
        )
        yield exact(
            "noncompositional_gradient_noise",
            self.noise,
            "The gradient error is sigma s cos(v.x) v with |v| = 1: at most sigma, attained at 0.",
            (self._point(0.0),),
        )
        crest = math.pi / 2 / self.client_wavenumber if self.heterogeneity > 0 else 0.0
        yield attained(
            "noncompositional_heterogeneity",
            self.heterogeneity,
            "grad h_k - grad h = s_k Delta sin(p v_k.x) v_k, at most Delta, attained at p v_k.x = pi/2.",
            self._point(crest),
        )


@dataclass(frozen=True, eq=False)
class BowlPoint:
    """The derivatives of a `RippledBowl` at x, and what they share: independent of the noise, computed when first used."""

    bowl: RippledBowl
    x: Tensor

    @cached_property
    def _along(self) -> Tensor:
        return (self.x * self.bowl.directions).sum(-1)

    @cached_property
    def _squared(self) -> Tensor:
        return self.bowl.radial.squared(self.x)

    @cached_property
    def _pull(self) -> Tensor:
        return self.bowl.radial.pull(self._squared)

    def gradient(self, s: Tensor | None = None) -> Tensor:
        """As `RippledBowl.gradient`."""
        bowl = self.bowl
        rate = bowl._signs * bowl.client_wave.slope(self._along)
        if s is not None:
            rate = rate + s * bowl._noise_wave.slope(self._along)
        common = bowl.ripple.slope(self.x).addcmul_(self.x, self._pull)
        return torch.addcmul(common, bowl.directions, rate.unsqueeze(-1))

    def hvp(self, v: Tensor, s: Tensor | None = None) -> Tensor:
        """As `RippledBowl.hvp`."""
        bowl = self.bowl
        rate = bowl._signs * bowl.client_wave.curvature(self._along)
        if s is not None:
            rate = rate + s * bowl._noise_wave.curvature(self._along)
        common = bowl.radial.hvp(self.x, v, self._squared, self._pull).add_(bowl.ripple.curvature(self.x) * v)
        return torch.addcmul(common, bowl.directions, (rate * (v * bowl.directions).sum(-1)).unsqueeze(-1))
