"""The kind (1/N) sum_i f_i(w_nu^i(w)): losses after nu fine-tuning steps."""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

from torch import Tensor

from .federated import AbstractOfLosses
from .problem import Sample, client_mean


class AbstractMeta(AbstractOfLosses):
    """F(w) = (1/N) sum_i f_i(w_nu^i), w_l^i = w_{l-1}^i - alpha grad f_i(w_{l-1}^i), w_0^i = w.

    Source: Jamali, Saber, Bae, Generalized meta federated learning, problem (7).
    """

    kind: ClassVar[str] = "meta"
    alpha: float
    nu: int

    @abstractmethod
    def local_hvp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        """Hessian of f_i at x_i times v_i, `(runs, clients, dim)`; with a sample the mean over its batch."""

    def fine_tuned(self, x: Tensor) -> list[Tensor]:
        """w_0^i, ..., w_nu^i from x, with exact gradients, `(runs, clients, dim)` each."""
        steps = [x]
        for _ in range(self.nu):
            steps.append(steps[-1] - self.alpha * self.local_gradient(steps[-1]))
        return steps

    def client_gradients(self, x: Tensor) -> Tensor:
        """grad F_i(x_i), exact, `(runs, clients, dim)`: equation (8), the I - alpha Hessian(w_l) times the gradient at w_nu."""
        *steps, last = self.fine_tuned(x)
        direction = self.local_gradient(last)
        for w in reversed(steps):
            direction = direction - self.alpha * self.local_hvp(w, direction)
        return direction

    def objective(self, x: Tensor) -> Tensor:
        return client_mean(self.local_value(self.fine_tuned(self.to_clients(x))[-1]))

    def gradient(self, x: Tensor) -> Tensor:
        return client_mean(self.client_gradients(self.to_clients(x)))
