"""What the shared and the local composite kind have in common."""

from __future__ import annotations

from abc import abstractmethod

from torch import Tensor

from .problem import AbstractSampled, Sample


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
