"""Federated MAML as a local composite: g_k(x; z) = x - lam grad L_k(x; z), f_k(y; s) = L_k(y; s).

Source: Gao, Li, Huang, Local-SCGDM, equation (8), Assumption 3.8 and Lemma 3.9. The constants here are derived again:
the paper's C_g^2 = (1 + lam L_1)^2 + lam^2 sigma_2^2 drops a cross term that spectral norms keep (with A = I and
R = r v v^T in two dimensions, (||A + R||^2 + ||A - R||^2)/2 = ((1 + r)^2 + 1)/2, which exceeds 1 + r^2 for r < 2).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from torch import Tensor

from ..certificate import Certificate, by_quantity, exact, upper
from ..families.meta import gap_certificate
from ..kinds import INDEPENDENT_CLIENTS, AbstractLocalComposite, Sample
from ..parts.blocks import wavenumber_of
from ..parts.composition import cap_certificate, composite_noise
from ..parts.loss import loss_certificates
from ..parts.noise import AbstractBowls, AbstractNoisyPairs, NoisePair
from ..parts.parameters import require_exceeds, require_nonnegative, require_paired, require_positive


@dataclass(frozen=True)
class FederatedMAML(AbstractNoisyPairs, AbstractBowls, AbstractLocalComposite):
    """One-step MAML over tilted `RippledBowl` losses; the parameters are the constants of Assumption 3.8.

    Args:
        lam: the fine-tuning step size.
        G, L_1: bounds of the gradient and of the smoothness of the losses; G must exceed Delta.
        sigma_1, sigma_2: noise of the gradient and of the Hessian of a loss; both zero or both positive.
        kurtosis: of that noise, an integer.
        Delta: sup ||grad L_k - grad L||.

    Raises:
        ValueError: for parameters that contradict each other, naming them.
    """

    PURPOSES: ClassVar[tuple[str, str]] = (".train", ".test")
    name: str = "federated_maml"
    clients: int = 8
    dim: int = 6
    lam: float = 0.1
    G: float = 1.0
    L_1: float = 0.3
    sigma_1: float = 0.1
    sigma_2: float = 0.1
    kurtosis: int = 1
    Delta: float = 0.0
    start: float = 10.0
    device: str = "cpu"
    inner_dim: int = field(init=False, default=0)  # the fine-tuned model has the size of the model

    def __post_init__(self) -> None:
        object.__setattr__(self, "inner_dim", self.dim)
        require_positive(self, "lam")
        require_paired(self, "sigma_1", "sigma_2")
        require_exceeds(self, "G", "Delta")
        require_nonnegative(self, "start")
        _ = self.bowl, self.law  # the parts check their own parameters

    @property
    def _losses(self) -> tuple[float, float, float, float]:
        return self.G, self.L_1, self.sigma_1, wavenumber_of(self.sigma_2, self.sigma_1)

    @property
    def properties(self) -> frozenset[str]:
        return INDEPENDENT_CLIENTS | ({"equal_inner_maps", "equal_outer_functions"} if self.Delta == 0 else set())

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return x - self.lam * self.local_gradient(x, sample)

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return v - self.lam * self.local_hvp(x, v, sample)

    def outer(self, y: Tensor) -> Tensor:
        return self.bowl.value(y)

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self.bowl.gradient(y, sample.second.mean(-1) if isinstance(sample, NoisePair) else None)

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        loss = by_quantity(loss_certificates(self.bowl, self.law))
        parts = loss | by_quantity((*self._inner_certificates(loss), *self._outer_certificates(loss)))
        return parts | by_quantity((composite_noise(parts), *self._whole_certificates(loss)))

    def _inner_certificates(self, loss: Mapping[str, Certificate]) -> Iterator[Certificate]:
        lam, steepest, most = self.lam, 1 + self.lam * self.L_1, self.law.largest
        shake = lam * self.sigma_2
        second = math.sqrt(steepest**2 + 2 * steepest * shake / most + shake**2)
        said = "lam times the Hessian noise, exactly" if self.sigma_1 > 0 else "No noise"
        yield upper("inner_lipschitz", steepest, "||I - lam Hessian|| <= 1 + lam L_1.")
        yield upper(
            "inner_jacobian_mean_square",
            second,
            "E(1 + lam L_1 + lam sigma_2 |z|)^2 with E z^2 = 1 and E|z| = 1/sqrt(k).",
        )
        yield upper(
            "inner_mean_square_lipschitz",
            math.hypot(steepest, shake),
            "E||(A + z R) v||^2 = ||A v||^2 + ||R v||^2 <= ((1 + lam L_1)^2 + lam^2 sigma_2^2) ||v||^2.",
        )
        yield upper("inner_sample_lipschitz", steepest + shake * most, "|z| <= sqrt(k).")
        yield upper(
            "inner_smoothness",
            lam * float(loss["local_hessian_lipschitz"].value),
            "lam times the Lipschitz constant of the Hessian.",
        )
        rate = lam * self.sigma_2 * self.bowl.noise_wavenumber * most
        yield upper(
            "inner_sample_smoothness",
            lam * float(loss["local_hessian_lipschitz"].value) + rate,
            "The noise Hessian -sigma_1 P z sin(P v.x) v v^T is sigma_2 P sqrt(k)-Lipschitz.",
        )
        for name, of, value in (
            ("inner_jacobian_noise", "local_hessian_noise", shake),
            ("inner_value_noise", "local_gradient_noise", lam * self.sigma_1),
        ):
            yield exact(name, value, f"{said}.", loss[of].points, attains=1.0 - 1e-9)

    def _outer_certificates(self, loss: Mapping[str, Certificate]) -> Iterator[Certificate]:
        most = self.law.largest
        yield upper("outer_lipschitz", self.G, "The gradient bound of the losses.")
        yield upper("outer_smoothness", self.L_1, "The smoothness of the losses.")
        yield upper(
            "outer_mean_square_lipschitz",
            math.hypot(self.G, self.sigma_1),
            "E||grad + noise||^2 = ||grad||^2 + E||noise||^2 for vectors.",
        )
        yield exact(
            "outer_gradient_noise",
            self.sigma_1,
            "The gradient noise of the losses.",
            loss["local_gradient_noise"].points,
            attains=1.0 - 1e-9,
        )
        yield upper("outer_sample_lipschitz", self.G + self.sigma_1 * most, "|z| <= sqrt(k).")
        yield upper("outer_sample_smoothness", self.L_1 + self.sigma_2 * most, "|z| <= sqrt(k).")

    def _whole_certificates(self, loss: Mapping[str, Certificate]) -> Iterator[Certificate]:
        steepest, rho = 1 + self.lam * self.L_1, float(loss["local_hessian_lipschitz"].value)
        yield upper(
            "objective_smoothness",
            steepest**2 * self.L_1 + self.lam * self.G * rho,
            "Lemma 3.9: the gradient at g(x) moves by (1 + lam L_1) L_1, the factor by lam rho.",
        )
        yield cap_certificate(self, steepest * self.G, "||I - lam Hessian|| ||grad L_k||.")
        yield gap_certificate(self.bowl, self.objective(self.initial_point.unsqueeze(0)).item())
