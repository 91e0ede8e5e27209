"""A problem of one's own: clients on a circle, each pulled to its place by sqrt(1 + ||x - c_i||^2), with exact oracles.

fedco validate pr_sgd.toml --problem ring.py:problem --out ring
"""

import math
from dataclasses import dataclass

import torch
from fedco.synthetic import AbstractFederated, Certificate, Sample, by_quantity


@dataclass(frozen=True)
class Signs(Sample):
    """One sign for each sampled gradient, (runs, clients, batch)."""

    signs: torch.Tensor


@dataclass(frozen=True, eq=False)
class Ring(AbstractFederated):
    """F_i(x) = sqrt(1 + ||x - c_i||^2), c_i on a circle; a stochastic gradient is off by +-sigma along the first axis.

    Args:
        clients: N. radius: of the circle. sigma: noise of one stochastic gradient. start: first coordinate of x_0.
    """

    name: str = "ring"
    clients: int = 8
    radius: float = 1.0
    sigma: float = 0.5
    start: float = 6.0
    dim: int = 2
    inner_dim: int = 0

    @property
    def initial_point(self):
        return torch.tensor([self.start, 0.0], dtype=torch.float64)

    def _away(self, x):
        angles = 2 * math.pi * torch.arange(self.clients, dtype=torch.float64) / self.clients
        return x - self.radius * torch.stack([angles.cos(), angles.sin()], dim=-1)

    def local_value(self, x):
        return (1 + self._away(x).square().sum(-1)).sqrt()

    def local_gradient(self, x, sample=None):
        exact = self._away(x) / self.local_value(x).unsqueeze(-1)
        if sample is None:
            return exact
        first_axis = torch.tensor([1.0, 0.0], dtype=torch.float64)
        return exact + self.sigma * sample.signs.mean(-1, keepdim=True) * first_axis

    def sample(self, draws, batch, purpose="sample"):
        return Signs(draws.signs(purpose, batch))

    def atoms(self):
        signs = torch.tensor([-1.0, 1.0], dtype=torch.float64).expand(1, self.clients, 2)
        return Signs(signs), torch.tensor([0.5, 0.5], dtype=torch.float64)

    @property
    def certificates(self):
        gap = float(self.objective(self.initial_point.unsqueeze(0))) - 1
        hessian = "The Hessian is (I - g g^T) / F_i with g = grad F_i: between 0 and 1."
        return by_quantity(
            (
                Certificate("local_smoothness", 1.0, "upper", hessian),
                Certificate("local_sample_smoothness", 1.0, "upper", "The noise does not depend on x."),
                Certificate("objective_smoothness", 1.0, "upper", hessian),
                Certificate("local_gradient_bound", 1.0, "upper", "||x - c_i|| < sqrt(1 + ||x - c_i||^2)."),
                Certificate("gradient_cap", 1.0, "upper", "A mean of gradients of norm below 1."),
                Certificate("local_gradient_noise", self.sigma, "upper", "The error is +-sigma along a unit vector."),
                Certificate("objective_gap", gap, "upper", "Every F_i is at least 1."),
            )
        )


problem = Ring()
