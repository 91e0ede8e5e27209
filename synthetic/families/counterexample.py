"""The two-client problem on which vanilla FedAvg does not converge.

Source: Khanduri et al., FedDRO, Theorem 4.1 (D.1), equation (10): g_1 = 4x - 4, g_2 = -2x + 4, f = sqrt(y^2 + 4),
h = 0, start 0.5. The paper's f keeps its constant: Phi(x) = sqrt(x^2 + 4), with minimum 2 at 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import torch
from torch import Tensor

from ..certificate import Certificate, exact
from ..kinds import INDEPENDENT_CLIENTS, AbstractSharedComposite, Draws, Sample
from ..parts.composition import steepest_and_most_curved

_SLOPES = (4.0, -2.0)
_INTERCEPTS = (-4.0, 4.0)
_START = 0.5
_FLOOR = 4.0  # under the root of f: f(0) = 2
_FAR = 2000.0


@dataclass(frozen=True)
class NoSample(Sample):
    """The sample of a deterministic problem: one empty draw, `(runs, clients, batch)` zeros."""

    nothing: Tensor


@dataclass(frozen=True)
class FedAvgCounterexample(AbstractSharedComposite):
    """K = 2, d = 1, all oracles deterministic. Every constant is a rational number.

    Example:
        >>> problem = FedAvgCounterexample()
        >>> problem.objective(torch.zeros(1, 1, dtype=torch.float64)).item()
        2.0
    """

    name: str = "feddro_counterexample"
    device: str = "cpu"
    clients: int = field(default=2, init=False)
    dim: int = field(default=1, init=False)
    inner_dim: int = field(default=1, init=False)

    @property
    def properties(self) -> frozenset[str]:
        return INDEPENDENT_CLIENTS | {"no_extra_term", "deterministic"}

    @cached_property
    def initial_point(self) -> Tensor:
        return torch.tensor([_START], dtype=torch.float64, device=self.device)

    @cached_property
    def _slopes(self) -> Tensor:
        return torch.tensor(_SLOPES, dtype=torch.float64, device=self.device).unsqueeze(-1)

    @cached_property
    def _intercepts(self) -> Tensor:
        return torch.tensor(_INTERCEPTS, dtype=torch.float64, device=self.device).unsqueeze(-1)

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self._slopes * x + self._intercepts

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return self._slopes * v

    @property
    def minimiser(self) -> Tensor:
        """Where Phi is least, `(1,)`."""
        return torch.zeros(1, dtype=torch.float64, device=self.device)

    def inner_mean(self, x: Tensor) -> Tensor:
        return 1.0 * x

    def outer(self, y: Tensor) -> Tensor:
        return torch.sqrt(y * y + _FLOOR).sum(-1)

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return y / torch.sqrt(y * y + _FLOOR)

    def objective(self, x: Tensor) -> Tensor:
        return self.outer(self.inner_mean(x))

    def gradient(self, x: Tensor) -> Tensor:
        return self.outer_gradient(self.inner_mean(x))

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> NoSample:
        return NoSample(0.0 * draws.signs(purpose, batch))

    def atoms(self) -> tuple[NoSample, Tensor]:
        return (
            NoSample(torch.zeros(1, self.clients, 1, dtype=torch.float64, device=self.device)),
            torch.ones(1, dtype=torch.float64, device=self.device),
        )

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        unit, far = ((0.0,), (1.0,)), ((_FAR,),)
        near = ((-1e-2,), (1e-2,))
        gap = Fraction(2.0 * ((1.0 + (_START / 2.0) ** 2) ** 0.5 - 1.0))
        line = "all of R"
        rows = [
            exact("inner_lipschitz", Fraction(4), "g_1 has slope 4 and g_2 slope -2.", unit),
            exact("inner_mean_square_lipschitz", Fraction(4), "As inner_lipschitz: there is no noise.", unit),
            exact("inner_jacobian_heterogeneity", Fraction(3), "g has slope 1: 4 - 1 = 3 = 1 - (-2).", ((0.0,),)),
            *steepest_and_most_curved(
                line,
                (Fraction(1), "|f'| = |y| / sqrt(y^2 + 4) tends to 1.", far, 0.999),
                (Fraction(1, 2), "f'' = 4 (y^2 + 4)^(-3/2) is largest at 0.", near, 0.9999),
            ),
            exact(
                "objective_smoothness", Fraction(1, 2), "Phi is f, since g(x) = x.", near, attains=0.9999, domain=line
            ),
            exact("gradient_cap", Fraction(1), "Phi is f, since g(x) = x.", far, attains=0.999, domain=line),
            exact("objective_gap", gap, "Phi = sqrt(x^2 + 4) has minimum 2 at 0; a double, rounded.", ((0.0,),)),
        ]
        zeros = (
            "noncompositional_smoothness",
            "noncompositional_gradient_noise",
            "noncompositional_heterogeneity",
            "inner_smoothness",
            "inner_noise",
            "inner_jacobian_noise",
            "inner_value_noise",
        )
        rows += [exact(name, Fraction(0), "h = 0, g_k is affine, nothing is random.") for name in zeros]
        return {row.quantity: row for row in rows}
