"""The plain kind (1/N) sum_i F_i(x): nothing is composed."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from torch import Tensor

from .problem import AbstractSampled, Sample, client_mean


class AbstractOfLosses(AbstractSampled):
    """One whose clients have a loss f_i each, with stochastic gradients."""

    @abstractmethod
    def local_value(self, x: Tensor) -> Tensor:
        """Exact f_i(x_i), `(runs, clients, dim) -> (runs, clients)`."""

    @abstractmethod
    def local_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        """Gradient of f_i at x_i, `(runs, clients, dim)`; with a sample the mean over its batch."""


class AbstractFederated(AbstractOfLosses):
    """F(x) = (1/N) sum_i f_i(x): nothing is composed.

    The means over the clients may be overridden where they have a closed form.
    """

    kind: ClassVar[str] = "federated"

    def objective(self, x: Tensor) -> Tensor:
        return client_mean(self.local_value(self.to_clients(x)))

    def gradient(self, x: Tensor) -> Tensor:
        return client_mean(self.local_gradient(self.to_clients(x)))
