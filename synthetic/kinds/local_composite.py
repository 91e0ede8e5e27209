"""The kind (1/K) sum_k f_k(g_k(x)): every client has a composition of its own."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from .composite import AbstractComposite
from .problem import client_mean


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
