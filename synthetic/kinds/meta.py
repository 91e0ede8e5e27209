"""The kind (1/N) sum_i f_i(w_nu^i(w)): losses after nu fine-tuning steps."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from torch import Tensor

from .problem import AbstractSampled, Sample


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
