"""F(w) = (1/N) sum_i f_i(w_nu^i): the loss after nu steps of fine-tuning, with certified constants.

Source: Jamali, Saber, Bae, Generalized meta federated learning, problem (7), Assumptions 1 to 5.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch

from ..certificate import Certificate, as_point, attained, by_quantity, upper
from ..kinds import AbstractMeta
from ..parts.blocks import wavenumber_of
from ..parts.bowl import RippledBowl
from ..parts.composition import cap_certificate
from ..parts.loss import infimum_of_losses, loss_certificates
from ..parts.noise import AbstractBowls
from ..parts.parameters import require_exceeds, require_nonnegative, require_paired


@dataclass(frozen=True)
class Meta(AbstractBowls, AbstractMeta):
    """The meta family: f_i is a tilted `RippledBowl`; the parameters are the paper's constants where they can be exact.

    Args:
        clients, dim: N and the size of w.
        alpha, nu: step size and number of the fine-tuning steps; they belong to the objective.
        B: bound of ||grad f_i||; must exceed Delta. L: bound of the smoothness of f_i.
        sigma_G, sigma_H: noise of one stochastic gradient and Hessian; both zero or both positive.
        kurtosis: k, so that kappa_G = k sigma_G^4 and kappa_H = k sigma_H^4.
        Delta: sup ||grad f_i - grad f|| of a paired client; gamma_G is Delta times the root of the paired share.

    Raises:
        ValueError: for parameters that contradict each other, naming them.
    """

    name: str = "meta"
    clients: int = 8
    dim: int = 6
    alpha: float = 0.1
    nu: int = 2
    B: float = 1.0
    L: float = 0.5
    sigma_G: float = 0.0
    sigma_H: float = 0.0
    kurtosis: int = 1
    Delta: float = 0.0
    start: float = 10.0
    device: str = "cpu"
    inner_dim: int = field(init=False, default=0)  # the fine-tuned model has the size of the model

    def __post_init__(self) -> None:
        object.__setattr__(self, "inner_dim", self.dim)
        if not (math.isfinite(self.alpha) and self.alpha > 0 and self.nu >= 0):
            raise ValueError(f"alpha must be positive and nu at least 0, got {self.alpha} and {self.nu}")
        require_paired(self, "sigma_G", "sigma_H")
        require_exceeds(self, "B", "Delta")
        require_nonnegative(self, "start")
        _ = self.bowl, self.law  # the parts check their own parameters

    @property
    def _losses(self) -> tuple[float, float, float, float]:
        return self.B, self.L, self.sigma_G, wavenumber_of(self.sigma_H, self.sigma_G)

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        return by_quantity((*loss_certificates(self.bowl, self.law), *self._whole_certificates()))

    def _whole_certificates(self) -> Iterator[Certificate]:
        growth, rho = 1 + self.alpha * self.L, self.bowl.hessian_lipschitz
        steps = sum(growth**step for step in range(self.nu))
        smoothness = self.L * growth ** (2 * self.nu) + self.B * self.alpha * rho * growth ** (self.nu - 1) * steps
        yield upper(
            "objective_smoothness",
            smoothness,
            "Lemma 4: w_l is (1 + alpha L)^l-Lipschitz in w, the last gradient moves by L times that, "
            "each factor of (8) by alpha rho times that.",
        )
        cap = growth**self.nu * self.B
        yield cap_certificate(self, cap, "nu factors of norm at most 1 + alpha L; ||grad f_i|| <= B.")
        yield gap_certificate(self.bowl, self.objective(self.initial_point.unsqueeze(0)).item())


def gap_certificate(bowl: RippledBowl, start: float) -> Certificate:
    """F(start) - inf F where F averages values of the losses and all of them vanish at 0 without the client terms."""
    if bowl.heterogeneity == 0:
        return attained(
            "objective_gap",
            start,
            "All f_i are one nonnegative function with minimum 0 at 0.",
            as_point(torch.zeros(bowl.dim)),
        )
    return upper(
        "objective_gap",
        start - infimum_of_losses(bowl),
        "F averages values of the f_i, so inf F is at least the mean of the bounds of inf f_i.",
    )
