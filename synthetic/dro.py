"""Distributionally robust learning as a shared composite: KL and chi-square penalties, with certified upper constants.

With losses l_ki in [0, M] of sample i at client k, lambda > 0 and means over all samples:

    KL          Phi = lambda log mean exp(l / lambda)                g_k = mean_i exp(l_ki / lambda),  f = lambda log
    chi-square  Phi = mean l + (mean l^2 - (mean l)^2) / (2 lambda)
                g_k = mean_i l_ki,  f = -y^2 / (2 lambda),  h_k = mean_i (l_ki + l_ki^2 / (2 lambda))

Both are max over p of sum p_i l_i - lambda D(p, uniform), the second when lambda >= M (then the maximiser has p >= 0).
The paper's (4) leaves out the factor lambda, and its (5) has the opposite sign and no mean loss, so that minimising (5)
would maximise the variance; the formulas above are derived from (3). Outside the values that g can take, f is continued
linearly: it stays smooth, which an estimate of g that leaves them needs.

Source: Khanduri et al., FedDRO, section 2.1, equations (3) to (5); Huang et al., ComFedL, equation (5).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from .certificate import Certificate, as_point
from .data import margin_features
from .problem import AbstractSharedComposite, Draws, Sample, client_mean
from .scalar import OfLoss, Sigmoid, exponential_of, identity_of, loss_and_half_square

_FITS = ("feddro.lemma_3_1", "feddro.theorem_5_1", "feddro.corollary_1", "feddro.corollary_2")


@dataclass(frozen=True)
class IndexSample(Sample):
    """Positions of data at each client, int64 `(runs, clients, batch)`: one minibatch serves both g_k and h_k."""

    index: Tensor


@dataclass(frozen=True)
class RobustLoss(AbstractSharedComposite):
    """KL (`penalty="kl"`) or chi-square (`penalty="chi2"`) regularised DRO of the sigmoid loss of linear margins.

    Args:
        clients, samples, dim: K, samples per client, size of the model.
        weight: lambda, at least M for chi-square. M: the largest loss.
        shift, noise, seed: of the data, see `data.margin_features`.

    Raises:
        ValueError: for an unknown penalty, or lambda below M with chi-square.
    """

    name: str = "robust_loss"
    penalty: str = "kl"
    clients: int = 6
    samples: int = 16
    dim: int = 5
    weight: float = 1.0
    M: float = 1.0
    shift: float = 0.0
    noise: float = 0.5
    seed: int = 0
    start: float = 4.0
    device: str = "cpu"
    inner_dim: int = 1

    def __post_init__(self) -> None:
        if self.penalty not in ("kl", "chi2"):
            raise ValueError(f"penalty must be 'kl' or 'chi2', got {self.penalty!r}")
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise ValueError(f"weight must be finite and positive, got {self.weight}")
        if self.penalty == "chi2" and self.weight < self.M:
            raise ValueError(f"chi2 needs weight >= M (else the worst case is not inside the simplex), "
                             f"got weight={self.weight} and M={self.M}")
        if self.inner_dim != 1:
            raise ValueError(f"inner_dim is 1, got {self.inner_dim}")
        _ = self._features, self._inner  # the data and the loss check their own dials

    @property
    def fits(self) -> tuple[str, ...]:
        """Theorem 4.2 is about h = 0."""
        return (*_FITS, "feddro.theorem_4_2") if self._extra is None else _FITS

    @cached_property
    def _features(self) -> Tensor:
        return margin_features(self.clients, self.samples, self.dim, self.shift, self.noise, self.seed, self.device)

    @cached_property
    def _inner(self) -> OfLoss:
        return exponential_of(Sigmoid(self.M), self.weight) if self.penalty == "kl" else identity_of(Sigmoid(self.M))

    @cached_property
    def _extra(self) -> OfLoss | None:
        return None if self.penalty == "kl" else loss_and_half_square(Sigmoid(self.M), self.weight)

    @cached_property
    def initial_point(self) -> Tensor:
        """On the wrong side of the classes' means."""
        return -self.start * torch.eye(self.dim, dtype=torch.float64, device=self.device)[0]

    def _rows(self, index: Tensor | None) -> Tensor:
        """The features of all samples `(clients, samples, dim)`, or of the drawn ones `(runs, clients, batch, dim)`."""
        if index is None:
            return self._features
        return self._features[torch.arange(self.clients, device=self.device).unsqueeze(-1), index]

    def _average(self, function: OfLoss, x: Tensor, index: Tensor | None) -> Tensor:
        return function.value((self._rows(index) * x.unsqueeze(2)).sum(-1)).mean(-1)

    def _average_gradient(self, function: OfLoss, x: Tensor, index: Tensor | None) -> Tensor:
        rows = self._rows(index)
        weighted = function.slope((rows * x.unsqueeze(2)).sum(-1)).unsqueeze(-1) * rows
        return weighted.transpose(-1, -2).contiguous().mean(-1)

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        index = sample.index if isinstance(sample, IndexSample) else None
        return self._average(self._inner, x, index).unsqueeze(-1)

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        index = sample.index if isinstance(sample, IndexSample) else None
        return self._average_gradient(self._inner, x, index) * v

    def inner_mean(self, x: Tensor) -> Tensor:
        return client_mean(self.inner(self._to_clients(x)))

    def outer(self, y: Tensor) -> Tensor:
        inside = y.clamp(*self._inner.range)
        value = self.weight * torch.log(inside) if self.penalty == "kl" else -inside * inside / (2 * self.weight)
        return (value + self._outer_slope(inside) * (y - inside)).squeeze(-1)

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self._outer_slope(y.clamp(*self._inner.range))

    def _outer_slope(self, inside: Tensor) -> Tensor:
        return self.weight / inside if self.penalty == "kl" else -inside / self.weight

    def extra(self, x: Tensor) -> Tensor:
        return x.new_zeros(x.shape[:-1]) if self._extra is None else self._average(self._extra, x, None)

    def extra_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor | None:
        index = sample.index if isinstance(sample, IndexSample) else None
        return None if self._extra is None else self._average_gradient(self._extra, x, index)

    def objective(self, x: Tensor) -> Tensor:
        return client_mean(self.extra(self._to_clients(x))) + self.outer(self.inner_mean(x))

    def gradient(self, x: Tensor) -> Tensor:
        spread = self._to_clients(x)
        pull = self.outer_gradient(self.inner_mean(x)).unsqueeze(1)
        per_client = self.inner_vjp(spread, pull)
        extra = self.extra_gradient(spread)
        return client_mean(per_client if extra is None else per_client + extra)

    def _to_clients(self, x: Tensor) -> Tensor:
        return x.unsqueeze(1).expand(-1, self.clients, -1)

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> IndexSample:
        return IndexSample(draws.integers(purpose, self.samples, batch))

    def atoms(self) -> tuple[IndexSample, Tensor]:
        everyone = torch.arange(self.samples, device=self.device).expand(1, self.clients, -1)
        return IndexSample(everyone), torch.full((self.samples,), 1.0 / self.samples, dtype=torch.float64,
                                                 device=self.device)

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        parts = [*_map_certificates(self._inner, self._spectrum), *_extra_certificates(self._extra, self._spectrum),
                 *self._outer_certificates(), *self._whole_certificates()]
        return {part.quantity: part for part in parts}

    @cached_property
    def _spectrum(self) -> Spectrum:
        return Spectrum.of(self._features)

    def _outer_certificates(self) -> Iterator[Certificate]:
        low, high = self._inner.range
        if self.penalty == "kl":
            steepest, most_curved, where = self.weight / low, self.weight / low**2, (low, low + 1e-3)
        else:
            steepest, most_curved, where = high / self.weight, 1 / self.weight, (low, high)
        yield Certificate("outer_lipschitz", steepest, "exact", "f is steepest at an end of the range, linear beyond.",
                          "all of R", 1.0, ((low if self.penalty == "kl" else high,),))
        yield Certificate("outer_smoothness", most_curved, "exact", "f'' is largest at an end of the range, 0 beyond.",
                          "all of R", 0.998, ((where[0],), (where[1],)))

    def _whole_certificates(self) -> Iterator[Certificate]:
        start = self.initial_point.unsqueeze(0)
        yield Certificate("objective_gap", self.objective(start).item(), "upper",
                          "Phi is a maximum over p that includes the mean of nonnegative losses at p = uniform.")
        slope, size = self.M / 4, self._spectrum
        cap = slope * size.longest if self.penalty == "kl" else (1 + self.M / self.weight) * slope * size.pooled
        reason = "a p-weighted mean of loss gradients" if self.penalty == "kl" else (
            "the mean of loss gradients times factors in [0, 1 + M/lambda]")
        witness = float(torch.linalg.vector_norm(self.gradient(start))) / cap
        yield Certificate("gradient_cap", cap, "upper", f"grad Phi is {reason}.",
                          witness=min(1.0, witness) * (1 - 1e-12), points=(as_point(start[0]),))


@dataclass(frozen=True)
class Spectrum:
    """Sizes of data: root of the largest eigenvalue of mean_i a_i a_i^T, per client and pooled; lengths of the a_i."""

    per_client: tuple[float, ...]
    pooled: float
    root_mean_square: float  # the largest over the clients of sqrt(mean_i |a_i|^2)
    longest: float

    @staticmethod
    def of(features: Tensor) -> Spectrum:
        """From `(clients, samples, dim)`; each is rounded up by 1e-12."""
        scale = features.shape[1] ** 0.5
        own = torch.linalg.matrix_norm(features, ord=2) / scale
        pooled = float(torch.linalg.matrix_norm(features.flatten(0, 1), ord=2)) / (scale * features.shape[0] ** 0.5)
        lengths = torch.linalg.vector_norm(features, dim=-1)
        up = 1 + 1e-12
        return Spectrum(tuple(float(s) * up for s in own), pooled * up,
                        float((lengths**2).mean(-1).amax().sqrt()) * up, float(lengths.amax()) * up)

    @property
    def largest(self) -> float:
        """Of any client."""
        return max(self.per_client)

    @property
    def apart(self) -> float:
        """Bound of ||(mean map of k) - (mean of the mean maps)|| per unit of slope, over k."""
        total, clients = sum(self.per_client), len(self.per_client)
        return max((1 - 1 / clients) * own + (total - own) / clients for own in self.per_client)


_MEAN_MAP = "A mean of c_i a_i with |c_i| <= sup is at most sup ||A||/sqrt(n)"


def _map_certificates(function: OfLoss, size: Spectrum) -> Iterator[Certificate]:
    slope, (low, high) = function.lipschitz, function.range
    jacobian_noise, value_noise = slope * size.root_mean_square, (high - low) / 2
    yield Certificate("inner_lipschitz", slope * size.largest, "upper", f"{_MEAN_MAP}, with the slopes as c_i.")
    yield Certificate("inner_mean_square_lipschitz", slope * size.largest, "upper",
                      "mean (u(a_i.x) - u(a_i.x'))^2 <= sup |u'|^2 mean (a_i.(x - x'))^2.")
    yield Certificate("inner_smoothness", function.smoothness * size.largest**2, "upper",
                      f"{_MEAN_MAP}, with differences of slopes as c_i, which are at most sup |u''| |a_i.(x - x')|.")
    yield Certificate("inner_jacobian_noise", jacobian_noise, "upper", "A variance is at most the second moment.")
    yield Certificate("inner_value_noise", value_noise, "upper", "A variance on an interval is at most (length/2)^2.")
    yield Certificate("inner_noise", max(jacobian_noise, value_noise), "upper", "The larger of the two.")
    yield Certificate("inner_jacobian_heterogeneity", slope * size.apart, "upper",
                      "J_k - J = (1 - 1/K) J_k - (1/K) sum of the others.")


def _extra_certificates(function: OfLoss | None, size: Spectrum) -> Iterator[Certificate]:
    names = ("noncompositional_smoothness", "noncompositional_gradient_noise", "noncompositional_heterogeneity")
    if function is None:
        yield from (Certificate(name, 0.0, "exact", "There is no h.") for name in names)
        return
    values = (function.smoothness * size.largest**2, function.lipschitz * size.root_mean_square,
              function.lipschitz * size.apart)
    for name, value in zip(names, values, strict=True):
        yield Certificate(name, value, "upper", "As for the inner map, with the slope of l + l^2/(2 lambda).")
