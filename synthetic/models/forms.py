"""The forms that a model, a loss and client data can take, one class for each: L_k is the mean loss of client k.

federated      mean_k L_k(x)
kl_clients     mean_k c exp(L_k(x) / gamma)                    DRO over clients, ComFedL's (6)
kl_dro         lambda log mean_k mean_i exp(l_ki(x) / lambda)  DRO over samples, FedDRO's (4)
chi2_dro       mean l + (mean l^2 - (mean l)^2) / (2 lambda)   DRO over samples, FedDRO's (5) as derived from its (3)
maml           mean_k L_k(x - lam grad L_k(x))                 Local-SCGDM's (8), ComFedL's (7)
agnostic_maml  mean_k c exp(L_k(x - lam grad L_k(x)) / gamma)  ComFedL's (10)
meta           mean_k L_k(after nu steps of fine-tuning)       generalised meta FL
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor
from torch.func import grad

from ..kinds import (
    INDEPENDENT_CLIENTS,
    ONE_OUTER_FUNCTION,
    AbstractFederated,
    AbstractLocalComposite,
    AbstractMeta,
    AbstractSharedComposite,
    Draws,
    Sample,
)
from ..parts.noise import PairSample, index_of
from .base import AbstractModelProblem, ModelParts


def _second(sample: Sample | None) -> Tensor | None:
    return sample.second if isinstance(sample, PairSample) else index_of(sample)


def _fine_tuned(parts: ModelParts, x: Tensor, rate: float, steps: int) -> Tensor:
    """x `(runs, clients, dim)` after steps on the whole training data of each client."""
    for _ in range(steps):
        x = x - rate * parts.gradient(x)
    return x


class _LocalLosses:
    """The oracles of a kind whose clients have a loss L_k each and nothing is composed."""

    parts: ModelParts

    def local_value(self, x: Tensor) -> Tensor:
        return self.parts.value(x)

    def local_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self.parts.gradient(x, index_of(sample))

    def local_hvp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return self.parts.hvp(x, v, index_of(sample))


@dataclass(frozen=True, eq=False)
class FederatedModel(_LocalLosses, AbstractModelProblem, AbstractFederated):
    """The plain form. With `tune_steps` the clients use models that are fine-tuned first: this changes accuracies only."""

    parts: ModelParts
    tune_steps: int = 0
    tune_rate: float = 0.0
    inner_dim: ClassVar[int] = 0  # type: ignore[misc]

    def deployed(self, x: Tensor) -> Tensor:
        return _fine_tuned(self.parts, self.to_clients(x), self.tune_rate, self.tune_steps)


class _Exponential:
    """c exp(y / gamma), c = exp(-level / gamma): the level changes the unit of the step size, and nothing else."""

    gamma: float
    level: float

    def outer(self, y: Tensor) -> Tensor:
        return torch.exp((y[..., 0] - self.level) / self.gamma)

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return torch.exp((y - self.level) / self.gamma) / self.gamma

    @property
    def properties(self) -> frozenset[str]:
        return INDEPENDENT_CLIENTS | ONE_OUTER_FUNCTION


class _OfLosses:
    """g_k = L_k, a number."""

    parts: ModelParts

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self.parts.value(x, index_of(sample)).unsqueeze(-1)

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return self.parts.gradient(x, index_of(sample)) * v


@dataclass(frozen=True, eq=False)
class KLOverClients(_OfLosses, _Exponential, AbstractModelProblem, AbstractLocalComposite):
    """g_k = L_k, f = c exp(y / gamma): the adversary weighs clients."""

    parts: ModelParts
    gamma: float = 1.0
    level: float = 0.0
    inner_dim: ClassVar[int] = 1  # type: ignore[misc]


@dataclass(frozen=True, eq=False)
class AgnosticMAMLModel(_Exponential, AbstractModelProblem, AbstractLocalComposite):
    """g_k = L_k(x - lam grad L_k(x)), f = c exp(y / gamma). A sample fine-tunes on one minibatch and is judged on another:
    its mean is not g_k, whose fine-tuning uses all data; no method of one minibatch can do better."""

    parts: ModelParts
    gamma: float = 1.0
    level: float = 0.0
    lam: float = 0.1
    inner_dim: ClassVar[int] = 1  # type: ignore[misc]
    no_constants: ClassVar[str] = (
        "fine-tuned on a minibatch, a sample has another mean than the inner value, and every theorem assumes that it has not"
    )

    def _tuned_loss(self) -> Callable[..., Tensor]:
        flat, lam = self.parts.flat, self.lam

        def loss(x: Tensor, *rows: Tensor) -> Tensor:
            first, second = rows[:3], rows[3:]
            return flat.mean_loss(x - lam * grad(flat.mean_loss)(x, *first), *second)

        return loss

    def _rows(self, sample: Sample | None) -> tuple[Tensor, ...]:
        return (*self.parts.train.rows(index_of(sample)), *self.parts.train.rows(_second(sample)))

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self.parts.flat.lanes(self._tuned_loss(), x, data=self._rows(sample)).unsqueeze(-1)

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return self.parts.flat.lanes(grad(self._tuned_loss()), x, data=self._rows(sample)) * v

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> PairSample:
        return _pair(self.parts, draws, batch, purpose)

    def deployed(self, x: Tensor) -> Tensor:
        return _fine_tuned(self.parts, self.to_clients(x), self.lam, 1)


def _pair(parts: ModelParts, draws: Draws, batch: int, purpose: str) -> PairSample:
    first, second = (parts.train.positions(draws.uniform(f"{purpose}.{which}", batch)) for which in ("tune", "judge"))
    return PairSample(first, second)


@dataclass(frozen=True, eq=False)
class MAMLModel(AbstractModelProblem, AbstractLocalComposite):
    """g_k = x - lam grad L_k(x), f_k = L_k. A sample has one minibatch for g_k and an independent one for f_k."""

    parts: ModelParts
    lam: float = 0.1

    @property
    def inner_dim(self) -> int:  # type: ignore[override]
        return self.dim

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return x - self.lam * self.parts.gradient(x, index_of(sample))

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return v - self.lam * self.parts.hvp(x, v, index_of(sample))

    def outer(self, y: Tensor) -> Tensor:
        return self.parts.value(y)

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self.parts.gradient(y, _second(sample))

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> PairSample:
        return _pair(self.parts, draws, batch, purpose)

    def deployed(self, x: Tensor) -> Tensor:
        return self.inner(self.to_clients(x))


@dataclass(frozen=True, eq=False)
class MetaModel(_LocalLosses, AbstractModelProblem, AbstractMeta):
    """f_k = L_k after nu steps of size alpha."""

    parts: ModelParts
    alpha: float = 0.01
    nu: int = 1
    inner_dim: ClassVar[int] = 0  # type: ignore[misc]

    def deployed(self, x: Tensor) -> Tensor:
        return self.fine_tuned(self.to_clients(x))[-1]


class _OfExamples(AbstractModelProblem):
    """Means over the examples of functions of their losses, with their derivatives."""

    def _mean_of(self, function: Callable[[Tensor], Tensor], x: Tensor, sample: Sample | None) -> Tensor:
        """mean_i u(l_ki), `(runs, clients)`."""
        return self.parts.flat.lanes(self._of(function), x, data=self.parts.train.rows(index_of(sample)))

    def _slope_of(self, function: Callable[[Tensor], Tensor], x: Tensor, sample: Sample | None) -> Tensor:
        return self.parts.flat.lanes(grad(self._of(function)), x, data=self.parts.train.rows(index_of(sample)))

    def _of(self, function: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
        def mean(x: Tensor, inputs: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
            return (weights * function(self.parts.flat.examples(x, inputs, targets))).sum()

        return mean


@dataclass(frozen=True, eq=False)
class KLOverExamples(_OfExamples, AbstractSharedComposite):
    """g_k = mean_i exp(l_ki / lambda), f = lambda log y, continued linearly below 1, which g_k >= 1 never is for l >= 0."""

    parts: ModelParts
    weight: float = 1.0
    inner_dim: ClassVar[int] = 1  # type: ignore[misc]

    def _exp(self, losses: Tensor) -> Tensor:
        return torch.exp(losses / self.weight)

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self._mean_of(self._exp, x, sample).unsqueeze(-1)

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return self._slope_of(self._exp, x, sample) * v

    def outer(self, y: Tensor) -> Tensor:
        inside = y.clamp_min(1.0)
        return (self.weight * (torch.log(inside) + (y - inside) / inside)).squeeze(-1)

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self.weight / y.clamp_min(1.0)

    @property
    def properties(self) -> frozenset[str]:
        return INDEPENDENT_CLIENTS | {"no_extra_term"}


@dataclass(frozen=True, eq=False)
class Chi2OverExamples(_OfLosses, _OfExamples, AbstractSharedComposite):
    """g_k = mean_i l_ki, f = -y^2 / (2 lambda), h_k = mean_i (l_ki + l_ki^2 / (2 lambda)): the mean loss plus its variance
    over 2 lambda. It is the worst case over weights of the examples where no loss is more than lambda below the mean."""

    parts: ModelParts
    weight: float = 1.0
    inner_dim: ClassVar[int] = 1  # type: ignore[misc]

    def outer(self, y: Tensor) -> Tensor:
        return -(y * y).squeeze(-1) / (2 * self.weight)

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return -y / self.weight

    def _with_square(self, losses: Tensor) -> Tensor:
        return losses + losses * losses / (2 * self.weight)

    def extra(self, x: Tensor) -> Tensor:
        return self._mean_of(self._with_square, x, None)

    def extra_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self._slope_of(self._with_square, x, sample)


def finite_level(parts: ModelParts) -> float:
    """The largest client loss at the start: with it as level the largest outer value there is 1, whatever gamma."""
    origin = parts.flat.start if parts.start is None else parts.start
    level = float(parts.value(origin.expand(1, parts.train.clients, -1)).max())
    return level if math.isfinite(level) else 0.0
