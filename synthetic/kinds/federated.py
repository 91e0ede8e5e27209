"""The plain kind (1/N) sum_i F_i(x): nothing is composed."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from torch import Tensor

from .problem import AbstractSampled, Sample, client_mean


class AbstractFederated(AbstractSampled):
    """F(x) = (1/N) sum_i F_i(x) with stochastic gradients of the F_i: nothing is composed.

    The means over the clients may be overridden where they have a closed form.
    """

    kind: ClassVar[str] = "federated"

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
