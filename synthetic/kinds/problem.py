"""What a problem is: data, oracles and certificates. One abstract class per kind of problem.

Shapes: `runs` x `clients` x `dim` (a model), `runs` x `clients` x `inner_dim` (an inner value), float64 throughout.
A lane (run, client) is computed by elementwise operations and sums over the last axis only, so that its numbers do not
depend on what else is in the batch. The names of the certified constants are those of the vocabulary.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import ClassVar, Protocol, Self

from torch import Tensor

from ..certificate import Certificate
from ..fits import federated_fits


class Draws(Protocol):
    """The random numbers of one step; two calls with one purpose return the same numbers."""

    @property
    def per_seed(self) -> Draws:
        """The same numbers once for all grid points: `(seeds, clients, ...)` where runs are grid points times seeds."""

    def signs(self, purpose: str, *tail: int) -> Tensor: ...

    def integers(self, purpose: str, high: int, *tail: int) -> Tensor: ...

    def counts(self, purpose: str, high: int, *tail: int) -> Tensor: ...


@dataclass(frozen=True)
class Sample:
    """Base of the samples: a frozen set of tensors `(runs, clients, batch, ...)`."""

    def at(self, index: int) -> Self:
        """The one element `index` of the batch, as a batch of one."""
        picked = {f.name: getattr(self, f.name)[:, :, index : index + 1] for f in fields(self)}
        return replace(self, **picked)


class AbstractProblem(ABC):
    """What every method and every validation may call.

    `objective` and `gradient` are exact; so is every oracle when it gets no sample.
    """

    kind: ClassVar[str]
    name: str
    clients: int
    dim: int
    inner_dim: int

    @property
    @abstractmethod
    def fits(self) -> tuple[str, ...]:
        """Ids of the theorems whose assumptions it satisfies."""

    @property
    @abstractmethod
    def initial_point(self) -> Tensor:
        """Where runs start, `(dim,)`."""

    @property
    @abstractmethod
    def certificates(self) -> Mapping[str, Certificate]:
        """The certified constants by quantity."""

    @abstractmethod
    def objective(self, x: Tensor) -> Tensor:
        """Exact objective, `(runs, dim) -> (runs,)`."""

    @abstractmethod
    def gradient(self, x: Tensor) -> Tensor:
        """Exact gradient of the objective, `(runs, dim) -> (runs, dim)`."""

    def to_clients(self, x: Tensor) -> Tensor:
        """The same point for every client, `(runs, size) -> (runs, clients, size)`."""
        return x.unsqueeze(1).expand(-1, self.clients, -1)


class AbstractSampled(AbstractProblem):
    """A problem whose randomness is one sample. `atoms` lists its whole finite support, so expectations are sums."""

    @abstractmethod
    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> Sample:
        """`batch` independent samples per run and client."""

    @abstractmethod
    def atoms(self) -> tuple[Sample, Tensor]:
        """The support of a sample as one batch `(1, clients, atoms, ...)`, and its probabilities `(atoms,)`."""


class AbstractComposite(AbstractSampled):
    """Oracles that the shared and the local composite kinds have in common. With a sample: the mean over its batch."""

    @abstractmethod
    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        """g_k(x_k), `(runs, clients, dim) -> (runs, clients, inner_dim)`."""

    @abstractmethod
    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        """Transposed Jacobian of g_k at x_k times v_k, `-> (runs, clients, dim)`."""

    @abstractmethod
    def outer(self, y: Tensor) -> Tensor:
        """Exact f_k(y_k), `(runs, clients, inner_dim) -> (runs, clients)`."""

    @abstractmethod
    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        """Gradient of f_k at y_k, same shape as y."""


class AbstractSharedComposite(AbstractComposite):
    """Phi(x) = (1/K) sum_k h_k(x) + f((1/K) sum_k g_k(x)): one deterministic f for all clients.

    The means over the clients may be overridden where they have a closed form.

    Source: Khanduri et al., FedDRO, problem (2).
    """

    kind: ClassVar[str] = "shared_composite"

    @abstractmethod
    def extra(self, x: Tensor) -> Tensor:
        """Exact h_k(x_k), `(runs, clients, dim) -> (runs, clients)`; zeros where there is no h."""

    @abstractmethod
    def extra_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor | None:
        """Gradient of h_k at x_k, `(runs, clients, dim)`; None where h = 0."""

    def inner_mean(self, x: Tensor) -> Tensor:
        """Exact g(x) = (1/K) sum_k g_k(x), `(runs, dim) -> (runs, inner_dim)`."""
        return client_mean(self.inner(self.to_clients(x)))

    def objective(self, x: Tensor) -> Tensor:
        return client_mean(self.extra(self.to_clients(x))) + self.outer(self.inner_mean(x))

    def gradient(self, x: Tensor) -> Tensor:
        spread, pull = self.to_clients(x), self.to_clients(self.outer_gradient(self.inner_mean(x)))
        per_client, extra = self.inner_vjp(spread, pull), self.extra_gradient(spread)
        return client_mean(per_client if extra is None else per_client + extra)


class AbstractLocalComposite(AbstractComposite):
    """F(x) = (1/K) sum_k f_k(g_k(x)): each client has its own stochastic f_k and g_k.

    Source: Gao, Li, Huang, Local-SCGDM, problem (1).
    """

    kind: ClassVar[str] = "local_composite"

    def objective(self, x: Tensor) -> Tensor:
        return client_mean(self.outer(self.inner(self.to_clients(x))))

    def gradient(self, x: Tensor) -> Tensor:
        x = self.to_clients(x)
        return client_mean(self.inner_vjp(x, self.outer_gradient(self.inner(x))))


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


class AbstractFederated(AbstractSampled):
    """F(x) = (1/N) sum_i F_i(x) with stochastic gradients of the F_i: nothing is composed.

    The means over the clients may be overridden where they have a closed form.
    """

    kind: ClassVar[str] = "federated"

    @property
    def fits(self) -> tuple[str, ...]:
        return federated_fits(self.certificates)

    @abstractmethod
    def local_value(self, x: Tensor) -> Tensor:
        """Exact F_i(x_i), `(runs, clients, dim) -> (runs, clients)`."""

    @abstractmethod
    def local_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        """Gradient of F_i at x_i, `(runs, clients, dim)`; with a sample the mean over its batch."""

    def objective(self, x: Tensor) -> Tensor:
        return client_mean(self.local_value(self.to_clients(x)))

    def gradient(self, x: Tensor) -> Tensor:
        return client_mean(self.local_gradient(self.to_clients(x)))


class AbstractMeta(AbstractSampled):
    """F(w) = (1/N) sum_i f_i(w_nu^i), w_l^i = w_{l-1}^i - alpha grad f_i(w_{l-1}^i), w_0^i = w.

    Source: Jamali, Saber, Bae, Generalized meta federated learning, problem (7).
    """

    kind: ClassVar[str] = "meta"
    alpha: float
    nu: int

    @abstractmethod
    def local_value(self, x: Tensor) -> Tensor:
        """Exact f_i(x_i), `(runs, clients, dim) -> (runs, clients)`."""

    @abstractmethod
    def local_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        """Gradient of f_i at x_i, `(runs, clients, dim)`; with a sample the mean over its batch."""

    @abstractmethod
    def local_hvp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        """Hessian of f_i at x_i times v_i, `(runs, clients, dim)`; with a sample the mean over its batch."""


def batch_mean(per_sample: Tensor) -> Tensor:
    """Mean over the last axis, the batch; of a batch of one it is that one, without an operation."""
    return per_sample[..., 0] if per_sample.shape[-1] == 1 else per_sample.mean(-1)


def client_mean(per_client: Tensor) -> Tensor:
    """Mean over axis 1, the clients: transposed so that it is a sum over the last axis (batch-independent bits)."""
    return (
        per_client.transpose(1, -1).contiguous().sum(-1).div(per_client.shape[1])
        if per_client.dim() == 3
        else (per_client.sum(-1).div(per_client.shape[1]))
    )
