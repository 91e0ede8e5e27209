"""The kind E_xi f_xi(E_{eta|xi} g_eta(x, xi)): the inner expectation is conditional on the outer sample."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor

from .problem import AbstractProblem, Draws, Sample


@dataclass(frozen=True)
class OuterSample(Sample):
    """Outcomes of xi, int64 `(runs, clients, batch)`."""

    outcome: Tensor


@dataclass(frozen=True)
class InnerSample(Sample):
    """m conditional draws of eta for each outer sample, `(runs, clients, batch, m)`."""

    eta: Tensor

    def only(self, index: int) -> InnerSample:
        """The one inner draw `index` of every outer sample."""
        return InnerSample(self.eta[..., index : index + 1])


class AbstractConditional(AbstractProblem):
    """F(x) = (1/N) sum_n E_xi f_xi(E_{eta|xi} g_eta(x, xi)), with finitely many outcomes of xi and of eta.

    Every oracle keeps the outer batch axis, because f_xi is not linear: methods average over it last.
    `objective` and `gradient` are right where all outcomes of xi are equally likely; else they must be overridden.

    Source: Wu et al., Federated conditional stochastic optimization, problem (1).
    """

    kind: ClassVar[str] = "conditional"

    @abstractmethod
    def sample_outer(self, draws: Draws, batch: int, purpose: str = "outer") -> OuterSample:
        """`batch` independent draws of xi per run and client."""

    @abstractmethod
    def sample_inner(self, draws: Draws, outer: OuterSample, m: int, purpose: str = "inner") -> InnerSample:
        """m draws of eta given each outer sample."""

    @abstractmethod
    def inner(self, x: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        """Mean of g_eta(x_n, xi) over the m draws, its conditional expectation when there are none.

        `(runs, clients, dim) -> (runs, clients, batch, inner_dim)`.
        """

    @abstractmethod
    def inner_vjp(self, x: Tensor, v: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        """Its transposed Jacobian times v `(runs, clients, batch, inner_dim)`: `(runs, clients, batch, dim)`."""

    @abstractmethod
    def outer_value(self, y: Tensor, outer: OuterSample) -> Tensor:
        """f_xi(y), `(runs, clients, batch, inner_dim) -> (runs, clients, batch)`."""

    @abstractmethod
    def outer_gradient(self, y: Tensor, outer: OuterSample) -> Tensor:
        """Gradient of f_xi at y, same shape as y."""

    def sample_gradient(self, x: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        """The chain rule at each sample: `inner_vjp` of the gradient of f_xi at `inner`. With inner samples it is biased.

        `(runs, clients, dim) -> (runs, clients, batch, dim)`. May be overridden where it is cheaper in one go.

        Source: Wu et al., Federated conditional stochastic optimization, equation (3).
        """
        return self.inner_vjp(x, self.outer_gradient(self.inner(x, outer, inner), outer), outer, inner)

    @abstractmethod
    def outer_atoms(self) -> tuple[OuterSample, Tensor]:
        """Every outcome of xi along the batch axis, `(1, clients, atoms)`, and the probabilities."""

    @abstractmethod
    def inner_atoms(self, outer: OuterSample) -> tuple[InnerSample, Tensor]:
        """Every outcome of eta along the last axis, for each outer sample, and the conditional probabilities."""

    def objective(self, x: Tensor) -> Tensor:
        everything, _ = self.outer_atoms()
        values = self.outer_value(self.inner(self.to_clients(x), everything), everything)
        return values.flatten(1).mean(-1)

    def gradient(self, x: Tensor) -> Tensor:
        everything, _ = self.outer_atoms()
        each = self.sample_gradient(self.to_clients(x), everything)
        return each.flatten(1, 2).transpose(1, 2).contiguous().mean(-1)
