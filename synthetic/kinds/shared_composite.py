"""The kind h(x) + f(mean of the g_k(x)): one outer function of the mean of the clients' inner maps."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from torch import Tensor

from .composite import AbstractComposite
from .problem import Sample, client_mean


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
        everywhere, outer = self.to_clients(x), self.to_clients(self.outer_gradient(self.inner_mean(x)))
        per_client, extra = self.inner_vjp(everywhere, outer), self.extra_gradient(everywhere)
        return client_mean(per_client if extra is None else per_client + extra)
