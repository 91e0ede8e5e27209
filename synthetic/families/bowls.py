"""Problems whose clients have the losses f_i of a tilted `RippledBowl`: plain, fine-tuned, and reweighed after fine-tuning.

    federated bowl  F(x) = (1/N) sum_i f_i(x)                        unlike in `federated` the clients differ by more at some points
                                                                     than at others, and the noise depends on the point
    meta            F(w) = (1/N) sum_i f_i(w_nu^i)                   the loss after nu steps of fine-tuning
    MAML            g_k(x; z) = x - lam grad f_k(x; z), f_k(y; s)    a local composite
    agnostic MAML   (1/K) sum_k exp(L_k(x) / gamma)                  L_k(x) = E_z f_k(x - lam grad f_k(x; z)); ComFedL's special form

Source: Jamali, Saber, Bae, Generalized meta federated learning, problem (7), Assumptions 1 to 5; Gao, Li, Huang, Local-SCGDM,
equation (8), Assumption 3.8 and Lemma 3.9; Huang, Li, Huang, ComFedL, equations (8) to (10). The constants of MAML are derived
again: Local-SCGDM's C_g^2 = (1 + lam L_1)^2 + lam^2 sigma_2^2 drops a cross term that spectral norms keep (with A = I and
R = r v v^T in two dimensions, (||A + R||^2 + ||A - R||^2)/2 = ((1 + r)^2 + 1)/2, which exceeds 1 + r^2 for r < 2).
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

from ..certificate import Certificate, Formula, by_quantity, exact, named, nearly, pair_along, root, upper
from ..kinds import INDEPENDENT_CLIENTS, AbstractFederated, AbstractLocalComposite, AbstractMeta, Sample
from ..parts.blocks import wavenumber_of
from ..parts.bowl import BowlPoint, RippledBowl, infimum_of_losses, loss_certificates
from ..parts.composition import (
    cap_certificate,
    composite_cap,
    composite_noise,
    composite_smoothness,
    fine_tuned_parts,
    fine_tuned_smoothness,
    first_gradients,
    gap_above,
    gap_to_zero,
    shaken_mean_square,
    start_value,
)
from ..parts.noise import AbstractNoisy, AbstractNoisyPairs, NoisePair, NoiseSample, mean_noise
from ..parts.outer import AbstractExponential, Exponential
from ..parts.parameters import require_exceeds, require_nonnegative, require_paired, require_positive
from ..parts.patterns import uneven_direction
from ..parts.recall import Recall


class AbstractBowls(AbstractNoisy):
    """One whose clients' losses are those of a tilted `RippledBowl`."""

    @property
    @abstractmethod
    def _losses(self) -> tuple[float, float, float, float]:
        """Bounds of ||grad f_i|| and of its smoothness; the noise of a gradient, and how fast that turns with x."""

    @cached_property
    def bowl(self) -> RippledBowl:
        """The losses."""
        G, L, sigma, wavenumber = self._losses
        slope = G - self.Delta
        return RippledBowl(
            self.clients, self.dim, slope, L, sigma, self.Delta, wavenumber, tilt=True, device=self.device
        )

    def _check_losses(self, slope: str, *noises: str) -> None:
        """Raise ValueError, naming them, for parameters of the losses that contradict each other."""
        if noises:
            require_paired(self, *noises)
        require_exceeds(self, slope, "Delta")
        require_nonnegative(self, "start")
        _ = self.bowl, self.law  # the parts check their own parameters

    def _gap_of_averaged_losses(self) -> Certificate:
        """F(start) - inf F where F averages values of the losses and all of them vanish at 0 without the client terms."""
        if self.Delta == 0:
            return gap_to_zero(self)
        averages = "F averages values of the f_i, so inf F is at least the mean of the bounds of inf f_i."
        return upper("objective_gap", start_value(self) - infimum_of_losses(self.bowl), averages)

    def local_value(self, x: Tensor) -> Tensor:
        """f_i(x_i), `(runs, clients, dim) -> (runs, clients)`."""
        return self.bowl.value(x)

    def local_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        """Gradient of f_i at x_i, `(runs, clients, dim)`."""
        return self.bowl.gradient(x, mean_noise(sample))

    def local_hvp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        """Hessian of f_i at x_i times v_i, `(runs, clients, dim)`."""
        return self.bowl.hvp(x, v, mean_noise(sample))


@dataclass(frozen=True)
class FederatedBowl(AbstractBowls, AbstractFederated):
    """f_i is a tilted `RippledBowl`, non-convex as soon as the bowl has flattened.

    Args:
        G: bound of ||grad f_i||, larger than Delta. L: bound of the smoothness of f_i.
        sigma: noise of one stochastic gradient. noise_wavenumber: how fast it turns with x, in 1 / [x].
        The rest as for `AbstractNoisy`; Delta is that of a paired client.

    Raises:
        ValueError: for parameters that contradict each other, naming them.
    """

    name: str = "federated_bowl"
    G: float = 1.0
    L: float = 0.5
    sigma: float = 0.0
    noise_wavenumber: float = 1.0
    inner_dim: int = field(init=False, default=0)  # nothing is composed

    def __post_init__(self) -> None:
        self._check_losses("G")

    @property
    def _losses(self) -> tuple[float, float, float, float]:
        return self.G, self.L, self.sigma, self.noise_wavenumber

    def objective(self, x: Tensor) -> Tensor:
        return self.bowl.mean_value(x)

    def gradient(self, x: Tensor) -> Tensor:
        return self.bowl.mean_gradient(x)

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        of_gradients = (c for c in loss_certificates(self.bowl, self.law) if "hessian" not in c.quantity)
        return by_quantity(of_gradients, self._whole_certificates())

    @property
    def properties(self) -> frozenset[str]:
        return super().properties | ({"deterministic"} if self.sigma == 0 else set())

    def _whole_certificates(self) -> Iterator[Certificate]:
        bowl = self.bowl
        reach = 0.01 * min(bowl.radial.width, 1 / bowl.ripple.wavenumber)
        pair = pair_along(uneven_direction(self.dim), reach)
        curved = "The client terms cancel in the mean; bowl and ripples both curve most at 0."
        yield nearly("objective_smoothness", bowl.mean_smoothness, curved, pair)
        yield cap_certificate(self, bowl.lipschitz, "The client terms cancel; bowl and ripples at their steepest.")
        yield gap_to_zero(self)
        yield first_gradients(self)


@dataclass(frozen=True)
class Meta(AbstractBowls, AbstractMeta):
    """The meta family: f_i is a tilted `RippledBowl`; the parameters are the paper's constants where they can be exact.

    Args:
        alpha, nu: step size and number of the fine-tuning steps; they belong to the objective.
        B: bound of ||grad f_i||; must exceed Delta. L: bound of the smoothness of f_i.
        sigma_G, sigma_H: noise of one stochastic gradient and Hessian; both zero or both positive.
        The rest as for `AbstractNoisy`: kappa_G = k sigma_G^4 and kappa_H = k sigma_H^4; Delta is that of a paired client, and gamma_G
        Delta times the root of the paired share.

    Raises:
        ValueError: for parameters that contradict each other, naming them.
    """

    name: str = "meta"
    alpha: float = 0.1
    nu: int = 2
    B: float = 1.0
    L: float = 0.5
    sigma_G: float = 0.0
    sigma_H: float = 0.0
    inner_dim: int = field(init=False, default=0)  # the fine-tuned model has the size of the model

    def __post_init__(self) -> None:
        object.__setattr__(self, "inner_dim", self.dim)
        if not (math.isfinite(self.alpha) and self.alpha > 0 and self.nu >= 0):
            raise ValueError(f"alpha must be positive and nu at least 0, got {self.alpha} and {self.nu}")
        self._check_losses("B", "sigma_G", "sigma_H")

    @property
    def _losses(self) -> tuple[float, float, float, float]:
        return self.B, self.L, self.sigma_G, wavenumber_of(self.sigma_H, self.sigma_G)

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        return by_quantity(loss_certificates(self.bowl, self.law), self._whole_certificates())

    def _whole_certificates(self) -> Iterator[Certificate]:
        (B, L, alpha), rho = (
            named(self, "B", "L", "alpha"),
            Formula(self.bowl.hessian_lipschitz, "local_hessian_lipschitz"),
        )
        smooth = fine_tuned_smoothness(B, L, rho, alpha, self.nu)
        lemma = "Lemma 4: w_l is (1 + alpha L)^l-Lipschitz in w, the last gradient moves by L times that, each factor of (8) by alpha rho"
        yield upper("objective_smoothness", smooth, f"{lemma} times that.")
        cap = (1 + alpha * L) ** self.nu * B
        yield cap_certificate(self, cap, "nu factors of norm at most 1 + alpha L; ||grad f_i|| <= B.")
        yield self._gap_of_averaged_losses()


@dataclass(frozen=True)
class AbstractTuned(AbstractBowls):
    """One whose clients tune the model by one step of size lam before its loss is taken.

    Args:
        lam: the fine-tuning step size.
        G, L_1: bounds of the gradient and of the smoothness of the losses; G must exceed Delta.
        sigma_1, sigma_2: noise of the gradient and of the Hessian of a loss; both zero or both positive. The rest as for `AbstractNoisy`.

    Raises:
        ValueError: for parameters that contradict each other, naming them.
    """

    lam: float = 0.1
    G: float = 1.0
    L_1: float = 0.3
    sigma_1: float = 0.1
    sigma_2: float = 0.1

    def _check_tuning(self) -> None:
        require_positive(self, "lam")
        self._check_losses("G", "sigma_1", "sigma_2")

    @property
    def _losses(self) -> tuple[float, float, float, float]:
        return self.G, self.L_1, self.sigma_1, wavenumber_of(self.sigma_2, self.sigma_1)


@dataclass(frozen=True)
class FederatedMAML(AbstractNoisyPairs, AbstractTuned, AbstractLocalComposite):
    """One-step MAML over tilted `RippledBowl` losses; the parameters, those of `AbstractTuned`, are the constants of Assumption 3.8."""

    PURPOSES: ClassVar[tuple[str, str]] = (".train", ".test")
    name: str = "federated_maml"
    inner_dim: int = field(init=False, default=0)  # the fine-tuned model has the size of the model

    def __post_init__(self) -> None:
        object.__setattr__(self, "inner_dim", self.dim)
        self._check_tuning()

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
        parts = loss | by_quantity(self._composed_certificates(loss))
        return parts | by_quantity((composite_noise(parts),), self._whole_certificates(loss))

    def _composed_certificates(self, loss: Mapping[str, Certificate]) -> Iterator[Certificate]:
        lam, G, L_1, sigma_1, sigma_2 = named(self, "lam", "G", "L_1", "sigma_1", "sigma_2")
        rho, P = loss["local_hessian_lipschitz"].formula, Formula(self.bowl.noise_wavenumber, "P")
        most, steepest, shake = self.law.size, 1 + lam * L_1, lam * sigma_2
        law = "The noise is z times at most sigma_1 in a gradient and sigma_2 in a Hessian, which turns at the rate P"
        samples = {
            "inner_jacobian_mean_square": root(shaken_mean_square(steepest, shake, most)),
            "inner_sample_lipschitz": steepest + shake * most,
            "inner_sample_smoothness": lam * rho + lam * sigma_2 * P * most,
            "outer_sample_lipschitz": G + sigma_1 * most,
            "outer_sample_smoothness": L_1 + sigma_2 * most,
        }
        of_z = "E z^2 = 1, |z| <= sqrt(kurtosis) and E|z| = 1/sqrt(kurtosis)"
        yield from (upper(name, value, f"{law}; {of_z}.") for name, value in samples.items())
        for name, value, of, why in fine_tuned_parts(lam, G, L_1, rho, sigma_1, sigma_2):
            if name.endswith("noise"):
                yield exact(name, value, f"{why}; attained where {of} is.", loss[of].points, attains=1.0 - 1e-9)
            else:
                yield upper(name, value, f"{why}.")

    def _whole_certificates(self, loss: Mapping[str, Certificate]) -> Iterator[Certificate]:
        (lam, G, L_1), rho = named(self, "lam", "G", "L_1"), loss["local_hessian_lipschitz"].formula
        lemma = "Lemma 3.9: the gradient at g(x) moves by (1 + lam L_1) L_1, the factor by lam rho."
        yield upper("objective_smoothness", fine_tuned_smoothness(G, L_1, rho, lam), lemma)
        yield cap_certificate(self, (1 + lam * L_1) * G, "||I - lam Hessian|| ||grad L_k||.")
        yield self._gap_of_averaged_losses()


@dataclass(frozen=True)
class AgnosticMAML(AbstractTuned, AbstractExponential):
    """The problem above over tilted `RippledBowl` losses. In the fine-tuning step alone there is noise.

    Args:
        gamma: weight of the KL penalty. top: the loss up to which the outer function is exp(y / gamma). The rest as for `AbstractTuned`.

    Raises:
        ValueError: for parameters that contradict each other, naming them.
    """

    name: str = "agnostic_maml"
    clients: int = 6
    dim: int = 4
    Delta: float = 0.3
    start: float = 4.0
    gamma: float = 2.0
    top: float = 2.0
    inner_dim: int = 1

    def __post_init__(self) -> None:
        if self.inner_dim != 1:
            raise ValueError(f"inner_dim is 1, got {self.inner_dim}")
        _ = self._outer  # checks its own parameters
        self._check_tuning()

    @cached_property
    def _outer(self) -> Exponential:  # type: ignore[override]
        return Exponential(self.gamma, self.top)

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        _, _, tuned = self._recall(self._fine_tuned, x, sample)
        return self._mean(self.bowl.value(tuned).unsqueeze(-1), sample)

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        here, noise, tuned = self._recall(self._fine_tuned, x, sample)
        gradient = self.bowl.gradient(tuned)
        pulled = here.hvp(gradient, noise).mul_(-self.lam).add_(gradient)
        return self._mean(pulled, sample).mul_(v)

    def _fine_tuned(self, x: Tensor, sample: Sample | None) -> tuple[BowlPoint, Tensor, Tensor]:
        """The losses at x and the noise, both for every z of the batch, and the fine-tuned models."""
        x, noise = self._spread(x, sample)
        here = self.bowl.at(x)
        return here, noise, here.gradient(noise).mul_(-self.lam).add_(x)

    @cached_property
    def _recall(self) -> Recall:
        return Recall()

    def _noise(self, sample: Sample | None) -> Tensor:
        """The z of a sample `(runs, clients, batch)`, or all of them."""
        return sample.noise if isinstance(sample, NoiseSample) else self.law.support()[0].expand(1, self.clients, -1)

    def _spread(self, x: Tensor, sample: Sample | None) -> tuple[Tensor, Tensor]:
        """A run for every z of the batch, because the loss is not linear in it: x `(runs * batch, clients, dim)` and z."""
        noise = self._noise(sample)
        runs, batch = x.shape[0], noise.shape[-1]
        if batch == 1:
            return x, noise.squeeze(-1)
        lanes = noise.expand(runs, -1, -1).transpose(1, 2).reshape(runs * batch, self.clients)
        return x.repeat_interleave(batch, 0), lanes

    def _mean(self, values: Tensor, sample: Sample | None) -> Tensor:
        """Mean over the batch, expectation over all z without a sample: `(runs * batch, clients, n) -> (runs, clients, n)`."""
        batch = self._noise(sample).shape[-1]
        if batch == 1:
            return values
        grouped = values.unflatten(0, (-1, batch)).permute(0, 2, 3, 1).contiguous()
        return grouped.mean(-1) if isinstance(sample, NoiseSample) else (grouped * self.law.support()[1]).sum(-1)

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        parts = by_quantity(self._inner_certificates(), self._outer.certificates())
        cap = composite_cap(parts)
        return parts | by_quantity((composite_noise(parts), composite_smoothness(parts), cap, self._gap_certificate()))

    def _inner_certificates(self) -> Iterator[Certificate]:
        """With J_z = I - lam (Hessian + z R), |R| <= sigma_2: |J_z| <= s + d |z|, where E|z| = 1/sqrt(kurtosis), E z^2 = 1."""
        lam, G, L_1, sigma_1, sigma_2 = named(self, "lam", "G", "L_1", "sigma_1", "sigma_2")
        rho, P = Formula(self.bowl.hessian_lipschitz, "rho"), Formula(self.bowl.noise_wavenumber, "P")
        most, s, d, shift, jump = self.law.size, 1 + lam * L_1, lam * sigma_2, lam * sigma_1, lam * sigma_2 * P
        mean, square, worst = s + d / most, shaken_mean_square(s, d, most), s + d * most
        chain = "grad L_k(x - lam grad L_k(x; z)) is J_z grad L_k, |J_z| <= 1 + lam L_1 + lam sigma_2 |z|"
        yield upper("inner_lipschitz", G * mean, f"{chain}; averaged over z.")
        for name in ("inner_jacobian_mean_square", "inner_mean_square_lipschitz"):
            yield upper(name, G * root(square), f"{chain}; root of the mean square over z.")
        yield upper("inner_sample_lipschitz", G * worst, f"{chain}; |z| <= sqrt(kurtosis).")
        moves = "J_z moves by lam (rho + sigma_2 P |z|) |x - x'|, grad L_k at the tuned point by L_1 |J_z| |x - x'|"
        yield upper("inner_smoothness", square * L_1 + G * (lam * rho + jump / most), f"{moves}; averaged over z.")
        bend = worst**2 * L_1 + G * (lam * rho + jump * most)
        yield upper("inner_sample_smoothness", bend, f"{moves}; |z| <= sqrt(kurtosis).")
        pairs = (
            "Half the mean square over two independent z of the difference of their samples, at most so many |z - z'|."
        )
        yield upper("inner_value_noise", G * shift, pairs)
        yield upper("inner_jacobian_noise", G * d + worst * L_1 * shift, pairs)

    def _gap_certificate(self) -> Certificate:
        least = torch.tensor(infimum_of_losses(self.bowl), dtype=torch.float64)
        jensen = (
            "The outer function is convex and increasing: F >= its value at the mean of the bounds of inf L_k (Jensen)."
        )
        return gap_above(self, self._outer.value(least).item(), jensen)
