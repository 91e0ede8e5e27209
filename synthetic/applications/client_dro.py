"""Distributionally robust learning over clients: the adversary weighs client losses f_k = mean_i l_ki, not samples.

    KL          F = (1/K) sum_k exp(f_k / gamma): gamma log F is max over r of sum_k r_k f_k - gamma KL(r, uniform)
    chi-square  Phi = mean_k f_k + (mean_k f_k^2 - (mean_k f_k)^2) / (2 gamma), the maximum with the chi-square penalty
                when gamma >= M

The first is ComFedL's (6), a local composite with one deterministic outer function exp(y / gamma), which its special
form runs on. An unbiased sample of exp(f_k / gamma) does not exist for a sampled f_k, so that (5) with its outer
logarithm is no shared composite with sampled g_k. The second is one: f_k^2 has the unbiased sample l_ki l_kj with two
independent data i and j.

Source: Huang, Li, Huang, ComFedL, equations (4) to (6); Khanduri et al., FedDRO, section 2.1, with clients for samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ..certificate import Certificate, by_quantity, upper
from ..kinds import (
    AbstractSharedComposite,
    Draws,
    Sample,
)
from ..parts.composition import (
    cap_certificate,
    composite_noise,
    composite_smoothness,
    gap_above,
    steepest_and_most_curved,
)
from ..parts.linear_losses import AbstractMarginProblem, IndexSample, map_certificates
from ..parts.outer import AbstractExponential, Exponential
from ..parts.patterns import equal_weights
from ..parts.scalar import OfLoss, identity_of


@dataclass(frozen=True)
class PairSample(IndexSample):
    """Positions of two independent minibatches, int64 `(runs, clients, batch)` each; the inner map reads the first."""

    second: Tensor


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
        parts = by_quantity((*map_certificates(self.inner_function, self.data.spectrum), *self._outer.certificates()))
        return parts | by_quantity((composite_noise(parts), composite_smoothness(parts), *self._whole_certificates()))

    def _whole_certificates(self) -> Iterator[Certificate]:
        least = math.exp(self.inner_function.range[0] / self.gamma)
        yield gap_above(self, least, "Every f_k is a mean of losses, so at least the smallest one.")
        cap = self._outer.lipschitz * self.inner_function.lipschitz * sum(self.data.spectrum.per_client) / self.clients
        yield cap_certificate(self, cap, "The mean of sup |f'| |grad f_k| over the clients.")


@dataclass(frozen=True)
class ClientChi2(AbstractMarginProblem, AbstractSharedComposite):
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

    def outer(self, y: Tensor) -> Tensor:
        inside = y.clamp(*self.inner_function.range)
        return (-inside * inside / (2 * self.gamma) - inside / self.gamma * (y - inside)).squeeze(-1)

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return -y.clamp(*self.inner_function.range) / self.gamma

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
        everyone = torch.arange(self.samples, device=self.device)
        first, second = (
            grid.flatten().expand(1, self.clients, -1) for grid in torch.meshgrid(everyone, everyone, indexing="ij")
        )
        return PairSample(first, second), equal_weights(self.samples**2, self.device)

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        return by_quantity(
            (
                *map_certificates(self.inner_function, self.data.spectrum),
                *self._extra_certificates(),
                *self._outer_certificates(),
                *self._whole_certificates(),
            )
        )

    def _extra_certificates(self) -> Iterator[Certificate]:
        lipschitz, size, top = self.inner_function.lipschitz, self.data.spectrum, 1 + self.M / self.gamma
        smoothness = (top * self.inner_function.smoothness + lipschitz**2 / self.gamma) * size.largest**2
        yield upper(
            "noncompositional_smoothness",
            smoothness,
            "h_k = u(f_k) with u' <= 1 + M/gamma and u'' = 1/gamma: chain rule.",
        )
        yield upper(
            "noncompositional_gradient_noise",
            top * lipschitz * size.root_mean_square,
            "Root of the second moment: |grad l_i| (1 + M/(2 gamma)) + |grad l_j| M/(2 gamma) in L^2.",
        )
        yield upper(
            "noncompositional_heterogeneity",
            top * lipschitz * size.apart,
            "|u'(f_k) grad f_k| is at most (1 + M/gamma) that of the inner map; deviations as there.",
        )

    def _outer_certificates(self) -> Iterator[Certificate]:
        low, high = self.inner_function.range
        yield from steepest_and_most_curved(
            "all of R",
            (high / self.gamma, "f is steepest at M, linear beyond.", ((high,),), 1 - 1e-12),
            (1 / self.gamma, "f'' = -1/gamma on the range, 0 beyond.", ((low,), (high,)), 1 - 1e-9),
        )

    def _whole_certificates(self) -> Iterator[Certificate]:
        mean = "Phi is a maximum over r that includes r = uniform: at least the mean, and so the least, loss."
        yield gap_above(self, self.loss_function.smallest, mean)
        cap = self.inner_function.lipschitz * self.data.spectrum.largest
        yield cap_certificate(self, cap, "grad Phi is an r-weighted mean of the grad f_k, r in the simplex.")
