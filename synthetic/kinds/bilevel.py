"""The bilevel kind (1/N) sum_i f_i(x, y*(x)), where y*(x) is least for (1/N) sum_i g_i(x, y), to be minimised in x."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from torch import Tensor

from .problem import AbstractSampled, Sample, client_mean


class AbstractBilevel(AbstractSampled):
    """F(x) = (1/N) sum_i f_i(x, y*(x)), y*(x) = argmin over y of (1/N) sum_i g_i(x, y); `inner_dim` the size of y.

    Every g_i is strongly convex in y. By the implicit function theorem the gradient of F is that of the mean of the f_i in x, minus
    the mean of grad_xy g_i times the v that solves: mean of grad_yy g_i times v = mean of grad_y f_i, all at (x, y*(x)).
    """

    kind: ClassVar[str] = "bilevel"

    @abstractmethod
    def local_value(self, x: Tensor, y: Tensor) -> Tensor:
        """Exact f_i(x_i, y_i), `(runs, clients, dim)` and `(runs, clients, inner_dim) -> (runs, clients)`."""

    @abstractmethod
    def upper_gradient(self, x: Tensor, y: Tensor, sample: Sample | None = None) -> Tensor:
        """Gradient of f_i in x, `(runs, clients, dim)`; with a sample the mean over its batch."""

    @abstractmethod
    def upper_gradient_in_y(self, x: Tensor, y: Tensor, sample: Sample | None = None) -> Tensor:
        """Gradient of f_i in y, `(runs, clients, inner_dim)`; with a sample the mean over its batch."""

    @abstractmethod
    def lower_value(self, x: Tensor, y: Tensor) -> Tensor:
        """Exact g_i(x_i, y_i), `(runs, clients)`."""

    @abstractmethod
    def lower_gradient(self, x: Tensor, y: Tensor, sample: Sample | None = None) -> Tensor:
        """Gradient of g_i in y, `(runs, clients, inner_dim)`; with a sample the mean over its batch."""

    @abstractmethod
    def lower_hvp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        """Exact grad_yy g_i times v, `(runs, clients, inner_dim)`."""

    @abstractmethod
    def lower_cross(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        """Exact grad_xy g_i times v, the gradient in x of <grad_y g_i, v>: v `(runs, clients, inner_dim) -> (runs, clients, dim)`."""

    @abstractmethod
    def lower_minimiser(self, x: Tensor) -> Tensor:
        """y*(x), `(runs, dim) -> (runs, inner_dim)`."""

    @abstractmethod
    def solve_lower(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        """The w with: mean of grad_yy g_i at (x, y) times w = v; `(runs, dim)` and `(runs, inner_dim)` twice `-> (runs, inner_dim)`."""

    @property
    @abstractmethod
    def initial_lower(self) -> Tensor:
        """Where y starts, `(inner_dim,)`."""

    def objective(self, x: Tensor) -> Tensor:
        return client_mean(self.local_value(self.to_clients(x), self.to_clients(self.lower_minimiser(x))))

    def gradient(self, x: Tensor) -> Tensor:
        return self.hypergradient(x, self.lower_minimiser(x))

    def hypergradient(self, x: Tensor, y: Tensor) -> Tensor:
        """The formula of the gradient with any y in the place of y*(x), `(runs, dim)` and `(runs, inner_dim) -> (runs, dim)`."""
        x_i, y_i = self.to_clients(x), self.to_clients(y)
        v = self.to_clients(self.solve_lower(x, y, client_mean(self.upper_gradient_in_y(x_i, y_i))))
        return client_mean(self.upper_gradient(x_i, y_i) - self.lower_cross(x_i, y_i, v))
