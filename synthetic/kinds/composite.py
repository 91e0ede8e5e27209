"""The composite kinds: one outer function of the mean of the clients' inner maps, or a composition of each client's own."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from torch import Tensor

from .problem import AbstractSampled, Sample, client_mean


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

    The means over the clients may be overridden where they have a closed form; h is 0 where both its members are not overridden.

    Source: Khanduri et al., FedDRO, problem (2).
    """

    kind: ClassVar[str] = "shared_composite"

    def extra(self, x: Tensor) -> Tensor:
        """Exact h_k(x_k), `(runs, clients, dim) -> (runs, clients)`; zeros where there is no h."""
        return x.new_zeros(x.shape[:-1])

    def extra_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor | None:
        """Gradient of h_k at x_k, `(runs, clients, dim)`; None where h = 0."""
        return None

    def inner_mean(self, x: Tensor) -> Tensor:
        """Exact g(x) = (1/K) sum_k g_k(x), `(runs, dim) -> (runs, inner_dim)`."""
        return client_mean(self.inner(self.to_clients(x)))

    def objective(self, x: Tensor) -> Tensor:
        return client_mean(self.extra(self.to_clients(x))) + self.outer(self.inner_mean(x))

    def gradient(self, x: Tensor) -> Tensor:
        everywhere, outer = self.to_clients(x), self.to_clients(self.outer_gradient(self.inner_mean(x)))
        per_client, extra = self.inner_vjp(everywhere, outer), self.extra_gradient(everywhere)
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
