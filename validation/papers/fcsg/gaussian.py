"""Invariant logistic regression on the paper's own Gaussian data, drawn anew at every step.

F(x) = E log(1 + exp(-b E_{eta|a} eta.x)) + lam sum_i gamma x_i^2 / (1 + gamma x_i^2), a ~ N(0, sigma_1^2 I),
b the sign of a.x*, eta ~ N(a, sigma_2^2 I). The margin is linear in eta, so the mean of m inner samples is all that an
estimate needs, and it is drawn by its exact law N(a, sigma_2^2 I / m). Nothing is certified here: the inner variance
sigma_2^2 |x|^2 is not bounded (`synthetic/families/invariant.py` has the problem with saturated margins, which is).

Source: Wu et al., Federated conditional stochastic optimization, section 5.1, equation (4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ....synthetic.kinds import Draws, Predictions, Sample
from ...experiments.tasks import AbstractMeasured


@dataclass(frozen=True)
class Outcomes(Sample):
    """a `(runs, clients, batch, dim)`, and its label b = +-1 `(runs, clients, batch)`."""

    a: Tensor
    b: Tensor


@dataclass(frozen=True)
class Means(Sample):
    """The mean of the m inner samples of every outcome, `(runs, clients, batch, dim)`."""

    eta: Tensor


@dataclass(frozen=True, eq=False)
class GaussianInvariant(AbstractMeasured):
    """The problem above; every client has the same law.

    Args:
        ratio: sigma_2 / sigma_1. lam, gamma: of the regulariser. test: outer samples that accuracies are measured on.
    """

    ratio: float = 1.0
    clients: int = 16
    dim: int = 10
    sigma_1: float = 1.0
    lam: float = 0.001
    gamma: float = 10.0
    test: int = 50_000
    seed: int = 0
    kind: ClassVar[str] = "conditional"
    inner_dim: ClassVar[int] = 1  # type: ignore[misc]

    @property
    def name(self) -> str:  # type: ignore[override]
        return f"invariant logistic regression, sigma_2/sigma_1={self.ratio:g}"

    @cached_property
    def truth(self) -> Tensor:
        """x*, `(dim,)`."""
        return torch.randn(self.dim, generator=torch.Generator().manual_seed(self.seed), dtype=torch.float64)

    @property
    def initial_point(self) -> Tensor:
        return torch.zeros(self.dim, dtype=torch.float64)

    @cached_property
    def held_out(self) -> tuple[Tensor, Tensor]:
        """a `(test, dim)` and b `(test,)`."""
        generator = torch.Generator().manual_seed(self.seed + 1)
        a = self.sigma_1 * torch.randn(self.test, self.dim, generator=generator, dtype=torch.float64)
        return a, self._labels(a)

    def _labels(self, a: Tensor) -> Tensor:
        return torch.where((a * self.truth).sum(-1) >= 0, 1.0, -1.0).to(torch.float64)

    def sample_outer(self, draws: Draws, batch: int, purpose: str = "outer") -> Outcomes:
        a = self.sigma_1 * draws.normal(purpose, batch, self.dim)  # type: ignore[attr-defined]
        return Outcomes(a, self._labels(a))

    def sample_inner(self, draws: Draws, outer: Outcomes, m: int, purpose: str = "inner") -> Means:
        shake = self.ratio * self.sigma_1 / m**0.5
        return Means(outer.a + shake * draws.normal(purpose, *outer.a.shape[2:]))  # type: ignore[attr-defined]

    def sample_gradient(self, x: Tensor, outer: Outcomes, inner: Means | None = None) -> Tensor:
        eta = outer.a if inner is None else inner.eta
        margin = outer.b * (eta * x.unsqueeze(2)).sum(-1)
        pull = -outer.b * 0.5 * (1 - torch.tanh(margin / 2))
        return pull.unsqueeze(-1) * eta + self._penalty_slope(x).unsqueeze(2)

    def _penalty_slope(self, x: Tensor) -> Tensor:
        return 2 * self.lam * self.gamma * x / (1 + self.gamma * x * x) ** 2

    def data_loss(self, x: Tensor, split: str = "test") -> Tensor:
        """Over the held-out samples, `(runs, dim) -> (runs,)`."""
        a, b = self.held_out
        losses = torch.nn.functional.softplus(-(x @ a.T) * b).mean(-1)
        return losses + self.lam * (self.gamma * x * x / (1 + self.gamma * x * x)).sum(-1)

    def gradient(self, x: Tensor) -> Tensor:
        """Of `objective`."""
        a, b = self.held_out
        margin = (x @ a.T) * b
        return (-torch.sigmoid(-margin) * b) @ a / len(b) + self._penalty_slope(x)

    def predict(self, x: Tensor, split: str = "test") -> Predictions:
        a, b = self.held_out
        return Predictions((x @ a.T).unsqueeze(1).unsqueeze(-1), (b > 0).long().unsqueeze(0))
