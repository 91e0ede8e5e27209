"""Plain federated problems F_i(x) = sum_j h(x_j) + s_i Delta v_i.x: quadratic, Huber, strongly convex and non-convex sines.

All clients have the separable part in common, so F is that part: the tilts cancel in the mean, as s = 1, -1/2, -1/2 in each
three clients with one v. Opposite pairs would cancel too, but so would, by symmetry, the bias of local steps at 0.
A stochastic gradient is grad F_i(x) + sigma z v_i with E z = 0, E z^2 = 1, E z^4 = k. Noise and heterogeneity are the
same at every point, so that every constant is exact. A tilted F_i need not be bounded below; F is, by 0.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ..certificate import (
    WORDS,
    Certificate,
    Formula,
    as_point,
    attained,
    by_quantity,
    exact,
    hypotenuse,
    named,
    nearly,
    pair_along,
)
from ..kinds import AbstractFederated, Sample
from ..parts.blocks import LARGEST_WAVENUMBER, Cosine
from ..parts.composition import first_gradients, gap_to_zero
from ..parts.noise import AbstractTriples, mean_noise
from ..parts.parameters import require_exceeds, require_nonnegative, require_positive
from ..parts.patterns import one_hot

_HALF_ANGLE = 0.01


@dataclass(frozen=True)
class AbstractSeparable(AbstractTriples, AbstractFederated):
    """What the three families share.

    Args:
        L: Lipschitz constant of grad F_i. sigma: noise of one stochastic gradient. The rest as for `AbstractNoisy`; clients left over
            by threes do not differ, and 0 is the minimiser of F.

    Raises:
        ValueError: for parameters that contradict each other, naming them.
    """

    convex: ClassVar[bool] = True
    """Whether h is."""
    L: float = 1.0
    sigma: float = 0.0
    inner_dim: int = field(init=False, default=0)  # nothing is composed

    def __post_init__(self) -> None:
        require_positive(self, "L", "clients", "dim")
        require_nonnegative(self, "sigma", "Delta", "start")
        self._check_triples("Delta")
        self._check_shape()

    @abstractmethod
    def _check_shape(self) -> None:
        """Raise ValueError, naming them, for parameters of h that contradict each other."""

    @abstractmethod
    def _value(self, x: Tensor) -> Tensor:
        """h_j(x_j), elementwise `(..., dim)`; its minimum is 0, at 0."""

    @abstractmethod
    def _slope(self, x: Tensor) -> Tensor:
        """h_j'(x_j)."""

    @abstractmethod
    def _shape_certificates(self) -> Iterator[Certificate]:
        """What follows from h: smoothness, and bounds of the gradients where they are finite."""

    @property
    def _growth(self) -> float:
        """The smallest curvature of h."""
        return 0.0

    @property
    def _flattest(self) -> float:
        """A coordinate where h has about its smallest curvature, there and at twice that."""
        return 1.0

    @cached_property
    def _tilts(self) -> Tensor:
        return self.Delta * self.signs

    def local_value(self, x: Tensor) -> Tensor:
        return self._value(x).sum(-1) + self._tilts * (x * self.directions).sum(-1)

    def local_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        noise = mean_noise(sample)
        rate = self._tilts.expand(x.shape[:-1]) if noise is None else self._tilts + self.sigma * noise
        return torch.addcmul(self._slope(x), self.directions, rate.unsqueeze(-1))

    def objective(self, x: Tensor) -> Tensor:
        return self._value(x).sum(-1)

    def gradient(self, x: Tensor) -> Tensor:
        return self._slope(x)

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        return by_quantity(self._shape_certificates(), self._noise_certificates(), self._mean_certificates())

    @property
    def properties(self) -> frozenset[str]:
        found = {"convex", "convex_clients"} if self.convex else set()
        return super().properties | found | ({"deterministic"} if self.sigma == 0 else set())

    def reach(self, step: float, steps: int) -> float | None:
        """How far from the minimiser models can come, in [x], that are means of models which step along gradients of one sample.

        A step of at most 2 / L along grad F takes no coordinate further from 0, so that a step adds at most `step` times tilt and
        noise; where every curvature is at least mu, a step of at most 1 / L shortens the way by 1 - mu step, and they add up to
        at most tilt and noise over mu. Any batch: the noise is a mean of such. None where h is not convex, or steps are longer.

        Args:
            step: the step size, in [x]^2 / [f]. steps: how many there are.
        """
        if not self.convex or step * self.L > 2:
            return None
        pushed = self.Delta + self.sigma * self.law.largest
        far = self.start + steps * step * pushed
        mu = self._growth
        return min(far, max(self.start, pushed / mu)) if mu > 0 and step * self.L <= 1 else far

    def _noise_certificates(self) -> Iterator[Certificate]:
        error = "The error is sigma z v_i with |v_i| = 1, E z^2 = 1 and E z^4 = kurtosis, at every point."
        noise = attained("local_gradient_noise", self.sigma, error, self._at(0.0))
        yield noise
        largest, fourth = f"{error} The largest |z| is sqrt(kurtosis).", self.law.fourth_moment * noise.formula**4
        yield attained("local_gradient_noise_bound", noise.formula * self.law.size, largest, self._at(0.0))
        yield attained("local_gradient_fourth_moment", fourth, error, self._at(0.0))

    def _mean_certificates(self) -> Iterator[Certificate]:
        yield gap_to_zero(self)
        far = "F is least at 0, and the start is as far from there as its parameter says."
        yield attained("initial_distance", self.start, far, self._at(0.0))
        if self._growth > 0:
            axis = self._flattest * one_hot(torch.tensor(self.dim - 1), self.dim)
            flat = as_point(axis), as_point(2 * axis)
            curved = "The smallest curvature, that of the last coordinate far away."
            yield nearly("strong_convexity", self._growth, curved, flat)
            yield nearly("polyak_lojasiewicz", self._growth, curved, flat[:1])
        apart, tilt = self.spread("Delta"), "grad F_i - grad F = s_i Delta v_i at every point"
        yield attained("local_gradient_heterogeneity", apart, f"{tilt}.", self._at(0.0))
        yield attained("minimiser_heterogeneity", apart, f"{tilt}, and grad F = 0 at 0.", self._at(0.0))
        most = Formula(self.Delta * float(self.signs.abs().max()), "max |s_i| Delta", WORDS)
        both = hypotenuse(most, Formula(self.sigma, "local_gradient_noise"))
        yield attained("minimiser_second_moment", both, f"{tilt}; the error sigma z v_i has mean 0.", self._at(0.0))
        yield first_gradients(self)

    def _smoothness(self, reach: float, argument: str) -> Iterator[Certificate]:
        """All smoothness constants are L, attained along the first axis within `reach` of 0; tilts and noise are linear."""
        pair = pair_along(one_hot(torch.tensor(0), self.dim), reach)
        for name in ("local_smoothness", "local_sample_smoothness", "objective_smoothness"):
            yield nearly(name, self.L, argument, pair)

    def _bounded(self, G: float, steepest: float) -> Iterator[Certificate]:
        """Bounds of gradients that are largest where every coordinate is `steepest`: there h' is parallel to v_0."""
        bound, (sigma, Delta) = Formula(G, "G"), named(self, "sigma", "Delta")
        largest = sigma * self.law.size
        for name, value in (
            ("local_gradient_bound", bound),
            ("local_sample_gradient_bound", bound + largest),
            ("gradient_cap", bound - Delta),
        ):
            parallel = "h' parallel to the tilt and the noise of client 0, added."
            yield exact(name, value, parallel, (self._at(steepest),), attains=1 - 1e-9)

    def _at(self, coordinate: float) -> tuple[float, ...]:
        """The point with all coordinates equal: along v_0, the direction of client 0."""
        return (coordinate,) * self.dim


@dataclass(frozen=True)
class FederatedQuadratic(AbstractSeparable):
    """h_j(t) = lambda_j t^2 / 2 with curvatures from L down to mu. The gradients are unbounded, so nothing caps them.

    Args:
        mu: the smallest curvature, in [0, L]. The rest as for `AbstractSeparable`.
    """

    name: str = "federated_quadratic"
    mu: float = 0.1

    def _check_shape(self) -> None:
        if not 0 <= self.mu <= self.L:
            raise ValueError(f"mu must be in [0, L], got mu={self.mu} and L={self.L}")

    @property
    def _growth(self) -> float:
        return float(self.curvatures.min())

    @cached_property
    def curvatures(self) -> Tensor:
        """lambda_j, `(dim,)`."""
        steps = torch.arange(self.dim, dtype=torch.float64) / max(self.dim - 1, 1)
        return (self.L + (self.mu - self.L) * steps).to(self.device)

    def _value(self, x: Tensor) -> Tensor:
        return 0.5 * self.curvatures * x * x

    def _slope(self, x: Tensor) -> Tensor:
        return self.curvatures * x

    def _shape_certificates(self) -> Iterator[Certificate]:
        yield from self._smoothness(1.0, "The largest curvature, that of the first coordinate.")


@dataclass(frozen=True)
class FederatedHuber(AbstractSeparable):
    """h(t) = L t^2 / 2 up to |t| = g / L, and slope g beyond, g = (G - Delta) / sqrt(dim).

    Args:
        G: bound of ||grad F_i||, larger than Delta. The rest as for `AbstractSeparable`.
    """

    name: str = "federated_huber"
    G: float = 1.0

    def _check_shape(self) -> None:
        require_exceeds(self, "G", "Delta")

    @property
    def _steepest(self) -> float:
        return (self.G - self.Delta) / math.sqrt(self.dim)

    def _value(self, x: Tensor) -> Tensor:
        slope = self._slope(x)
        return slope * (x - slope / (2 * self.L))

    def _slope(self, x: Tensor) -> Tensor:
        return (self.L * x).clamp(-self._steepest, self._steepest)

    def _shape_certificates(self) -> Iterator[Certificate]:
        knee = self._steepest / self.L
        yield from self._smoothness(0.5 * knee, "The curvature is L up to the knee and 0 beyond.")
        yield from self._bounded(self.G, 2 * knee)


@dataclass(frozen=True)
class FederatedStronglyConvex(AbstractSeparable):
    """h(t) = mu t^2 / 2 + (L - mu) k(t), k(t) = t^2 / 2 up to |t| = knee and of slope knee beyond: curvature L near 0, mu away.

    Args:
        mu: the smallest curvature, in (0, L]. knee: in [x]. The rest as for `AbstractSeparable`.
    """

    name: str = "federated_strongly_convex"
    mu: float = 0.1
    knee: float = 1.0

    def _check_shape(self) -> None:
        require_positive(self, "mu", "knee")
        if self.mu > self.L:
            raise ValueError(f"mu must be in (0, L], got mu={self.mu} and L={self.L}")

    @property
    def _growth(self) -> float:
        return self.mu

    @property
    def _flattest(self) -> float:
        return 1e6 * self.knee  # so far away the tangents are nearly those of the quadratic part

    def _value(self, x: Tensor) -> Tensor:
        near = x.clamp(-self.knee, self.knee)
        return 0.5 * self.mu * x * x + (self.L - self.mu) * near * (x - near / 2)

    def _slope(self, x: Tensor) -> Tensor:
        return self.mu * x + (self.L - self.mu) * x.clamp(-self.knee, self.knee)

    def _shape_certificates(self) -> Iterator[Certificate]:
        yield from self._smoothness(0.5 * self.knee, "The curvature is L up to the knee and mu beyond.")


@dataclass(frozen=True)
class FederatedSines(AbstractSeparable):
    """h(t) = g (1 - cos(q t)) / q with g = (G - Delta) / sqrt(dim) and g q = L: non-convex, with minima everywhere.

    Args:
        G: bound of ||grad F_i||, larger than Delta. The rest as for `AbstractSeparable`.
    """

    convex: ClassVar[bool] = False
    name: str = "federated_sines"
    G: float = 1.0

    def _check_shape(self) -> None:
        require_exceeds(self, "G", "Delta")
        if self.wave.wavenumber > LARGEST_WAVENUMBER:
            raise ValueError(
                f"L={self.L} is too large for G={self.G}: wavenumber {self.wave.wavenumber} exceeds "
                f"{LARGEST_WAVENUMBER}"
            )

    @cached_property
    def wave(self) -> Cosine:
        """h."""
        steepest = (self.G - self.Delta) / math.sqrt(self.dim)
        return Cosine(steepest, self.L / steepest)

    def _value(self, x: Tensor) -> Tensor:
        return self.wave.value(x)

    def _slope(self, x: Tensor) -> Tensor:
        return self.wave.slope(x)

    def _shape_certificates(self) -> Iterator[Certificate]:
        yield from self._smoothness(_HALF_ANGLE / self.wave.wavenumber, "The curvature is L cos(q t), largest at 0.")
        yield from self._bounded(self.G, math.pi / 2 / self.wave.wavenumber)
