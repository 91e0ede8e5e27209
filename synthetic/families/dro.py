"""Distributionally robust learning: KL and chi-square penalties on weights of samples or of clients, with certified upper constants.

With losses l_ki in [0, M] of sample i at client k, f_k = mean_i l_ki, lambda, gamma > 0 and means over all samples, or all clients:

    samples  KL          Phi = lambda log mean exp(l / lambda)             g_k = mean_i exp(l_ki / lambda),  f = lambda log
             chi-square  Phi = mean l + (mean l^2 - (mean l)^2) / (2 lambda)
                         g_k = mean_i l_ki,  f = -y^2 / (2 lambda),  h_k = mean_i (l_ki + l_ki^2 / (2 lambda))
    clients  KL          F = mean_k exp(f_k / gamma): gamma log F is max over r of sum_k r_k f_k - gamma KL(r, uniform)
             chi-square  Phi = mean_k f_k + (mean_k f_k^2 - (mean_k f_k)^2) / (2 gamma)

Each but the third is a max over weights p of sum p_i l_i - lambda D(p, uniform), the chi-square ones when lambda, or gamma, is at least
M (then the maximiser has p >= 0). FedDRO's (4) leaves out the factor lambda, and its (5) has the opposite sign and no mean loss, so that
minimising (5) would maximise the variance; the formulas above are derived from (3). The third is ComFedL's (6), a local composite with
one deterministic outer function, which its special form runs on. An unbiased sample of exp(f_k / gamma) does not exist for a sampled
f_k, so that ComFedL's (5) with its outer logarithm is no shared composite with sampled g_k. The last is one: f_k^2 has the unbiased
sample l_ki l_kj with two independent data i and j. Outside the values that g can take, f is continued linearly.

Source: Khanduri et al., FedDRO, section 2.1, equations (3) to (5); Huang, Li, Huang, ComFedL, equations (4) to (6).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from ..certificate import WORDS, Certificate, Formula, by_quantity, named, upper
from ..kinds import INDEPENDENT_CLIENTS, AbstractSharedComposite, Draws, Sample
from ..parts.composition import (
    cap_certificate,
    composite_noise,
    composite_smoothness,
    gap_above,
)
from ..parts.linear_losses import AbstractMarginProblem, extra_certificates, map_certificates
from ..parts.noise import PairSample, every_pair, index_of
from ..parts.outer import AbstractExponential, AbstractOfScalar, Exponential, Logarithm, NegativeHalfSquare, ScalarOuter
from ..parts.parameters import require_positive
from ..parts.scalar import OfLoss, exponential_of, identity_of, loss_and_half_square


@dataclass(frozen=True)
class RobustLoss(AbstractOfScalar, AbstractMarginProblem, AbstractSharedComposite):
    """KL (`penalty="kl"`) or chi-square (`penalty="chi2"`) regularised DRO of a bounded loss of linear margins.

    Args:
        penalty: "kl" or "chi2". weight: lambda, at least M for chi-square. The rest as for `AbstractMarginProblem`.

    Raises:
        ValueError: for an unknown penalty, loss or table, or lambda below M with chi-square.
    """

    name: str = "robust_loss"
    penalty: str = "kl"
    weight: float = 1.0
    shift: float = 0.0

    def __post_init__(self) -> None:
        if self.penalty not in ("kl", "chi2"):
            raise ValueError(f"penalty must be 'kl' or 'chi2', got {self.penalty!r}")
        require_positive(self, "weight")
        if self.penalty == "chi2" and self.weight < self.M:
            raise ValueError(
                f"chi2 needs weight >= M (else the worst case is not inside the simplex), "
                f"got weight={self.weight} and M={self.M}"
            )
        self._check_parameters()

    @property
    def properties(self) -> frozenset[str]:
        return INDEPENDENT_CLIENTS | ({"no_extra_term"} if self._extra is None else set())

    @cached_property
    def inner_function(self) -> OfLoss:
        return (
            exponential_of(self.loss_function, self.weight) if self.penalty == "kl" else identity_of(self.loss_function)
        )

    @cached_property
    def _extra(self) -> OfLoss | None:
        return None if self.penalty == "kl" else loss_and_half_square(self.loss_function, self.weight)

    @cached_property
    def _outer(self) -> ScalarOuter:  # type: ignore[override]
        of = Logarithm if self.penalty == "kl" else NegativeHalfSquare
        return of(self.weight, *self.inner_function.range)

    def extra(self, x: Tensor) -> Tensor:
        return x.new_zeros(x.shape[:-1]) if self._extra is None else self.data.average(self._extra, x)

    def extra_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor | None:
        return None if self._extra is None else self.data.average_gradient(self._extra, x, index_of(sample))

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        size = self.data.spectrum
        parts = map_certificates(self.inner_function, size), extra_certificates(self._extra, size)
        return by_quantity(*parts, self._outer.certificates(), self._whole_certificates())

    def _whole_certificates(self) -> Iterator[Certificate]:
        mean = "Phi is a maximum over p that includes p = uniform: at least the mean, and so the least, loss."
        yield gap_above(self, self.loss_function.smallest, mean)
        lipschitz, size = Formula(self.loss_function.steepest, "sup |loss'|", WORDS), self.data.spectrum
        M, weight = named(self, "M", "weight")
        if self.penalty == "kl":
            cap, reason = lipschitz * size.longest, "a p-weighted mean of loss gradients"
        else:
            cap = (1 + M / weight) * lipschitz * size.pooled
            reason = "the mean of loss gradients times factors in [0, 1 + M/weight]"
        yield cap_certificate(self, cap, f"grad Phi is {reason}.")


@dataclass(frozen=True)
class ClientKL(AbstractMarginProblem, AbstractExponential):
    """KL-regularised DRO over clients, ComFedL's (6).

    Args:
        gamma: the weight of the penalty. The rest as for `AbstractMarginProblem`.

    Raises:
        ValueError: for a gamma that is not positive, or an unknown loss or table.
    """

    name: str = "client_kl"
    gamma: float = 1.0

    def __post_init__(self) -> None:
        self._check_parameters()
        _ = self._outer  # checks gamma

    @cached_property
    def inner_function(self) -> OfLoss:
        return identity_of(self.loss_function)

    @cached_property
    def _outer(self) -> Exponential:  # type: ignore[override]
        return Exponential(self.gamma, self.inner_function.range[1])

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        parts = by_quantity(map_certificates(self.inner_function, self.data.spectrum), self._outer.certificates())
        return parts | by_quantity((composite_noise(parts), composite_smoothness(parts)), self._whole_certificates())

    def _whole_certificates(self) -> Iterator[Certificate]:
        least = math.exp(self.inner_function.range[0] / self.gamma)
        yield gap_above(self, least, "Every f_k is a mean of losses, so at least the smallest one.")
        steepest = Formula(self._outer.lipschitz, "outer_lipschitz") * self.inner_function.suprema[0]
        cap = (
            steepest
            * Formula(sum(self.data.spectrum.per_client), "(sum_k ||A_k||/sqrt(n))")
            / Formula(self.clients, "clients")
        )
        yield cap_certificate(self, cap, "The mean of sup |f'| |grad f_k| over the clients, u the loss.")


@dataclass(frozen=True)
class ClientChi2(AbstractOfScalar, AbstractMarginProblem, AbstractSharedComposite):
    """Chi-square-regularised DRO over clients: g_k = f_k, f = -y^2 / (2 gamma), h_k = f_k + f_k^2 / (2 gamma).

    A sample is a pair of independent data (i, j): g_k(x; i, j) = l_i and h_k(x; i, j) = l_i + l_i l_j / (2 gamma). The
    maximiser is r_k = (1 + (f_k - mean f) / gamma) / K, which is in the simplex because gamma >= M.

    Args:
        gamma: the weight of the penalty, at least M. The rest as for `AbstractMarginProblem`.

    Raises:
        ValueError: for gamma below M, or an unknown loss or table.
    """

    name: str = "client_chi2"
    gamma: float = 1.0

    def __post_init__(self) -> None:
        if not (math.isfinite(self.gamma) and self.gamma >= self.M):
            raise ValueError(
                f"gamma must be finite and at least M (else the worst case is not inside the simplex), "
                f"got gamma={self.gamma} and M={self.M}"
            )
        self._check_parameters()

    @cached_property
    def inner_function(self) -> OfLoss:
        return identity_of(self.loss_function)

    @cached_property
    def _outer(self) -> NegativeHalfSquare:  # type: ignore[override]
        return NegativeHalfSquare(self.gamma, *self.inner_function.range)

    def extra(self, x: Tensor) -> Tensor:
        loss = self.data.average(self.inner_function, x)
        return loss + loss * loss / (2 * self.gamma)

    def extra_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        if not isinstance(sample, PairSample):
            loss = self.data.average(self.inner_function, x).unsqueeze(-1)
            return (1 + loss / self.gamma) * self.data.average_gradient(self.inner_function, x)
        (left, right), (l_i, l_j), (s_i, s_j) = self._pair(x, sample)
        half = 0.5 / self.gamma
        of_first, of_second = (s_i * (1 + half * l_j)).unsqueeze(-1) * left, (half * s_j * l_i).unsqueeze(-1) * right
        return (of_first + of_second).transpose(-1, -2).contiguous().mean(-1)

    def _pair(self, x: Tensor, sample: PairSample) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor, ...]]:
        """Features, losses and slopes of both data of every pair."""
        (m_i, left), (m_j, right) = self.data.margins(x, sample.index), self.data.margins(x, sample.second)
        values, slopes = self.inner_function.value, self.inner_function.slope
        return (left, right), (values(m_i), values(m_j)), (slopes(m_i), slopes(m_j))

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> PairSample:
        first, second = (draws.integers(f"{purpose}.{which}", self.samples, batch) for which in ("first", "second"))
        return PairSample(first, second)

    def atoms(self) -> tuple[PairSample, Tensor]:
        return every_pair(self.samples, self.samples, self.clients, self.device)

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        parts = map_certificates(self.inner_function, self.data.spectrum), self._extra_certificates()
        return by_quantity(*parts, self._outer.certificates(), self._whole_certificates())

    def _extra_certificates(self) -> Iterator[Certificate]:
        (slope, bend), size, (M, gamma) = self.inner_function.suprema, self.data.spectrum, named(self, "M", "gamma")
        top = 1 + M / gamma
        chain = "h_k = v(f_k) with v' <= 1 + M/gamma and v'' = 1/gamma, f_k a mean of losses u: chain rule."
        yield upper("noncompositional_smoothness", (top * bend + slope**2 / gamma) * size.largest**2, chain)
        both = "Root of the second moment: |grad l_i| (1 + M/(2 gamma)) + |grad l_j| M/(2 gamma) in L^2."
        yield upper("noncompositional_gradient_noise", top * slope * size.root_mean_square, both)
        apart = "|v'(f_k) grad f_k| is at most (1 + M/gamma) that of the inner map; deviations as there."
        yield upper("noncompositional_heterogeneity", top * slope * size.apart, apart)

    def _whole_certificates(self) -> Iterator[Certificate]:
        mean = "Phi is a maximum over r that includes r = uniform: at least the mean, and so the least, loss."
        yield gap_above(self, self.loss_function.smallest, mean)
        cap = self.inner_function.suprema[0] * self.data.spectrum.largest
        yield cap_certificate(self, cap, "grad Phi is an r-weighted mean of the grad f_k, r in the simplex.")
