"""Distribution-agnostic MAML as a local composite with one deterministic outer function, for ComFedL's special form.

    F(x) = (1/K) sum_k exp(f_k(x) / gamma),   f_k(x) = E_z L_k(x - lam grad L_k(x; z))

gamma log F is the maximum over r of sum_k r_k f_k - gamma KL(r, uniform). The paper's (10) fine-tunes with the exact
gradient, L_k(x - lam grad L_k(x)); a sampled fine-tuning step is a biased sample of that, so that no unbiased scalar
inner oracle exists and the outer functions would have to be exp(L_k / gamma), one per client (its general form). Here
the fine-tuning step itself is the sampled one: the inner function is its expected loss, its samples are unbiased, and
the outer function is the same for every client, as Theorem 2 asks. Without noise both are the same. The exponential is
continued linearly beyond `top` (the paper allows any increasing function): else no Lipschitz constant exists.

Source: Huang, Li, Huang, ComFedL, equations (8) to (10).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property

import torch
from torch import Tensor

from ..certificate import Certificate, by_quantity, upper
from ..kinds import Sample
from ..parts.bowl import BowlPoint, RippledBowl
from ..parts.composition import composite_cap, composite_noise, composite_smoothness, gap_above
from ..parts.loss import infimum_of_losses
from ..parts.noise import AbstractNoisy, NoiseSample
from ..parts.outer import AbstractExponential, Exponential
from ..parts.recall import Recall
from .maml import FederatedMAML


@dataclass(frozen=True)
class AgnosticMAML(AbstractNoisy, AbstractExponential):
    """The problem above over tilted `RippledBowl` losses; the parameters are those of `FederatedMAML`.

    Args:
        lam: the fine-tuning step size. G, L_1: bounds of the gradient and of the smoothness of the losses; G > Delta.
        sigma_1, sigma_2, kurtosis: noise of the gradient and of the Hessian in the fine-tuning step.
        Delta: sup ||grad L_k - grad L||.
        gamma: weight of the KL penalty. top: the loss up to which the outer function is exp(y / gamma).

    Raises:
        ValueError: for parameters that contradict each other, naming them.
    """

    name: str = "agnostic_maml"
    clients: int = 6
    dim: int = 4
    lam: float = 0.1
    G: float = 1.0
    L_1: float = 0.3
    sigma_1: float = 0.1
    sigma_2: float = 0.1
    kurtosis: int = 1
    Delta: float = 0.3
    gamma: float = 2.0
    top: float = 2.0
    start: float = 4.0
    device: str = "cpu"
    inner_dim: int = 1

    def __post_init__(self) -> None:
        if self.inner_dim != 1:
            raise ValueError(f"inner_dim is 1, got {self.inner_dim}")
        _ = self._outer, self._tasks  # the parts check their own parameters

    @cached_property
    def _tasks(self) -> FederatedMAML:
        """The same tasks without the exponential: what checks the parameters and holds the losses."""
        shared = [item.name for item in fields(FederatedMAML) if item.init and item.name != "name"]
        return FederatedMAML(**{name: getattr(self, name) for name in shared})

    @property
    def bowl(self) -> RippledBowl:
        """The losses."""
        return self._tasks.bowl

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
        parts = by_quantity((*self._inner_certificates(), *self._outer.certificates()))
        cap = composite_cap(parts)
        return parts | by_quantity((composite_noise(parts), composite_smoothness(parts), cap, self._gap_certificate()))

    def _inner_certificates(self) -> Iterator[Certificate]:
        """With J_z = I - lam (Hessian + z R), |R| <= sigma_2: |J_z| <= s + d |z|, where E|z| = 1/sqrt(k), E z^2 = 1."""
        lam, G, L_1, most = self.lam, self.G, self.L_1, self.law.largest
        s, d, shift = 1 + lam * L_1, lam * self.sigma_2, lam * self.sigma_1
        rho = self.bowl.hessian_lipschitz
        jump = lam * self.sigma_2 * self.bowl.noise_wavenumber
        mean, square, worst = s + d / most, s * s + 2 * s * d / most + d * d, s + d * most
        chain = "grad L_k(x - lam grad L_k(x; z)) is J_z grad L_k, |J_z| <= s + d |z|, s = 1 + lam L_1, d = lam sigma_2"
        yield upper("inner_lipschitz", G * mean, f"{chain}; averaged over z.")
        for name in ("inner_jacobian_mean_square", "inner_mean_square_lipschitz"):
            yield upper(name, G * math.sqrt(square), f"{chain}; root of the mean square over z.")
        yield upper("inner_sample_lipschitz", G * worst, f"{chain}; |z| <= sqrt(k).")
        moves = "J_z moves by lam (rho + sigma_2 P |z|) |x - x'|, grad L_k at the tuned point by L_1 |J_z| |x - x'|"
        yield upper("inner_smoothness", square * L_1 + G * (lam * rho + jump / most), f"{moves}; averaged over z.")
        yield upper(
            "inner_sample_smoothness", worst**2 * L_1 + G * (lam * rho + jump * most), f"{moves}; |z| <= sqrt(k)."
        )
        pairs = "Half the mean square over two independent z of the difference of their samples"
        yield upper("inner_value_noise", G * shift, f"{pairs}, at most G lam sigma_1 |z - z'|.")
        yield upper(
            "inner_jacobian_noise",
            G * d + worst * L_1 * shift,
            f"{pairs}, at most (lam sigma_2 G + max |J_z| L_1 lam sigma_1) |z - z'|.",
        )

    def _gap_certificate(self) -> Certificate:
        least = torch.tensor(infimum_of_losses(self.bowl), dtype=torch.float64)
        jensen = (
            "The outer function is convex and increasing: F >= its value at the mean of the bounds of inf L_k (Jensen)."
        )
        return gap_above(self, self._outer.value(least).item(), jensen)
