"""The minimax kind max_y (1/N) sum_i f_i(x, y), to be minimised in x."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from torch import Tensor

from .problem import AbstractSampled, Sample, client_mean


class AbstractMinimax(AbstractSampled):
    """F(x) = max over y in Y of (1/N) sum_i f_i(x, y), strongly concave in y; Y closed and convex, `inner_dim` the size of y.

    The gradient is that of the mean of the f_i in x at the maximiser, by Danskin's theorem.
    """

    kind: ClassVar[str] = "minimax"

    @abstractmethod
    def local_value(self, x: Tensor, y: Tensor) -> Tensor:
        """Exact f_i(x_i, y_i), `(runs, clients, dim)` and `(runs, clients, inner_dim) -> (runs, clients)`."""

    @abstractmethod
    def descent_gradient(self, x: Tensor, y: Tensor, sample: Sample | None = None) -> Tensor:
        """Gradient of f_i in x, `(runs, clients, dim)`; with a sample the mean over its batch."""

    @abstractmethod
    def ascent_gradient(self, x: Tensor, y: Tensor, sample: Sample | None = None) -> Tensor:
        """Gradient of f_i in y, `(runs, clients, inner_dim)`; with a sample the mean over its batch."""

    @abstractmethod
    def projected(self, y: Tensor) -> Tensor:
        """The nearest point of Y, `(..., inner_dim) -> (..., inner_dim)`."""

    @abstractmethod
    def maximiser(self, x: Tensor) -> Tensor:
        """The y in Y at which the mean of the f_i(x, .) is largest, `(runs, dim) -> (runs, inner_dim)`."""

    @property
    @abstractmethod
    def initial_dual(self) -> Tensor:
        """Where y starts, `(inner_dim,)`, in Y."""

    def objective(self, x: Tensor) -> Tensor:
        return client_mean(self.local_value(self.to_clients(x), self.to_clients(self.maximiser(x))))

    def gradient(self, x: Tensor) -> Tensor:
        return client_mean(self.descent_gradient(self.to_clients(x), self.to_clients(self.maximiser(x))))
