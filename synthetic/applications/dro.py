"""Distributionally robust learning as a shared composite: KL and chi-square penalties, with certified upper constants.

With losses l_ki in [0, M] of sample i at client k, lambda > 0 and means over all samples:

    KL          Phi = lambda log mean exp(l / lambda)                g_k = mean_i exp(l_ki / lambda),  f = lambda log
    chi-square  Phi = mean l + (mean l^2 - (mean l)^2) / (2 lambda)
                g_k = mean_i l_ki,  f = -y^2 / (2 lambda),  h_k = mean_i (l_ki + l_ki^2 / (2 lambda))

Both are max over p of sum p_i l_i - lambda D(p, uniform), the second when lambda >= M (then the maximiser has p >= 0).
The adversary p weighs samples; `client_dro` has the problems where it weighs clients. The paper's (4) leaves out the
factor lambda, and its (5) has the opposite sign and no mean loss, so that minimising (5) would maximise the variance;
the formulas above are derived from (3). Outside the values that g can take, f is continued linearly: it stays smooth,
which an estimate of g that leaves them needs.

Source: Khanduri et al., FedDRO, section 2.1, equations (3) to (5); Huang et al., ComFedL, equation (5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ..certificate import Certificate, by_quantity
from ..kinds import INDEPENDENT_CLIENTS, AbstractSharedComposite, Sample
from ..parts.composition import cap_certificate, gap_above, steepest_and_most_curved
from ..parts.linear_losses import AbstractMarginProblem, extra_certificates, index_of, map_certificates
from ..parts.parameters import require_positive
from ..parts.scalar import OfLoss, exponential_of, identity_of, loss_and_half_square


@dataclass(frozen=True)
class RobustLoss(AbstractMarginProblem, AbstractSharedComposite):
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

    def outer(self, y: Tensor) -> Tensor:
        inside = y.clamp(*self.inner_function.range)
        value = self.weight * torch.log(inside) if self.penalty == "kl" else -inside * inside / (2 * self.weight)
        return (value + self._outer_slope(inside) * (y - inside)).squeeze(-1)

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self._outer_slope(y.clamp(*self.inner_function.range))

    def _outer_slope(self, inside: Tensor) -> Tensor:
        return self.weight / inside if self.penalty == "kl" else -inside / self.weight

    def extra(self, x: Tensor) -> Tensor:
        return x.new_zeros(x.shape[:-1]) if self._extra is None else self.data.average(self._extra, x)

    def extra_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor | None:
        return None if self._extra is None else self.data.average_gradient(self._extra, x, index_of(sample))

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        size = self.data.spectrum
        return by_quantity(
            (
                *map_certificates(self.inner_function, size),
                *extra_certificates(self._extra, size),
                *self._outer_certificates(),
                *self._whole_certificates(),
            )
        )

    def _outer_certificates(self) -> Iterator[Certificate]:
        low, high = self.inner_function.range
        near = 1e-3 * (high - low)
        steep = "f is steepest at an end of the range, linear beyond."
        curved = "f'' is largest at an end of the range, 0 beyond."
        if self.penalty == "kl":
            pair, share = ((low,), (low + near,)), low / (low + near)
            both = (self.weight / low, steep, ((low,),), 1.0), (self.weight / low**2, curved, pair, share * (1 - 1e-9))
        else:
            both = (high / self.weight, steep, ((high,),), 1.0), (1 / self.weight, curved, ((low,), (high,)), 1 - 1e-9)
        yield from steepest_and_most_curved("all of R", *both)

    def _whole_certificates(self) -> Iterator[Certificate]:
        mean = "Phi is a maximum over p that includes p = uniform: at least the mean, and so the least, loss."
        yield gap_above(self, self.loss_function.smallest, mean)
        lipschitz, size = self.loss_function.steepest, self.data.spectrum
        if self.penalty == "kl":
            cap, reason = lipschitz * size.longest, "a p-weighted mean of loss gradients"
        else:
            cap = (1 + self.M / self.weight) * lipschitz * size.pooled
            reason = "the mean of loss gradients times factors in [0, 1 + M/lambda]"
        yield cap_certificate(self, cap, f"grad Phi is {reason}.")
