"""A certified minimax family: f_i(x, y) = sum_j (a h(x_j) + b x_j y_j - mu/2 y_j^2) + tilts, y in a box [-R, R]^dim.

h(t) = t^2 / (2 (1 + t^2)) is not convex. The tilts s_i Delta v_i.x and s_i Delta_y v_i.y cancel in the mean, as s = 1, -1/2, -1/2 in
each three clients, so that the objective is F(x) = sum_j (a h(x_j) + H(x_j)), H(t) = max over |y| <= R of b t y - mu/2 y^2, a Huber
function. Stochastic gradients add sigma z v_i and sigma_y z' v_i with independent z and z' of one law, E z^2 = 1 and E z^4 = k.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from torch import Tensor

from ..certificate import WORDS, Certificate, Formula, by_quantity, named, nearly, pair_along, upper
from ..kinds import AbstractMinimax, Sample
from ..parts.noise import AbstractSecondVariable
from ..parts.parameters import require_nonnegative, require_positive
from ..parts.patterns import first_axis

STEEPEST = 9 / (16 * math.sqrt(3))
"""The largest h'(t) = t / (1 + t^2)^2, at t = 1/sqrt(3)."""
_NEAR = 1e-3


@dataclass(frozen=True)
class Saddle(AbstractSecondVariable, AbstractMinimax):
    """F_i as the head of this file says.

    Args:
        b: coupling, in [f] / ([x] [y]). mu: strong concavity in y, in [f] / [y]^2. R: half-width of the box, in [y].
        The rest as for `AbstractSecondVariable`.

    Raises:
        ValueError: for parameters that contradict each other, naming them.
    """

    PURPOSES: ClassVar[tuple[str, str]] = (" in x", " in y")
    name: str = "saddle"
    b: float = 0.5
    mu: float = 1.0
    R: float = 1.0

    def __post_init__(self) -> None:
        require_positive(self, "clients", "dim", "b", "mu", "R")
        require_nonnegative(self, "a", "sigma", "sigma_y", "Delta", "Delta_y", "start")
        self._check_triples("Delta", "Delta_y")

    @cached_property
    def initial_dual(self) -> Tensor:
        return self.start_of_y

    def local_value(self, x: Tensor, y: Tensor) -> Tensor:
        squares = x * x
        shared = self.a / 2 * squares / (1 + squares) + self.b * x * y - self.mu / 2 * y * y
        return shared.sum(-1) + self.tilt(x, y)

    def descent_gradient(self, x: Tensor, y: Tensor, sample: Sample | None = None) -> Tensor:
        growing = 1 + x * x
        return self.a * x / (growing * growing) + self.b * y + self.pull(self.Delta, self.sigma, sample)

    def ascent_gradient(self, x: Tensor, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self.b * x - self.mu * y + self.pull(self.Delta_y, self.sigma_y, sample, "second")

    def projected(self, y: Tensor) -> Tensor:
        return y.clamp(-self.R, self.R)

    def maximiser(self, x: Tensor) -> Tensor:
        return self.projected(self.b / self.mu * x)

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        return by_quantity(self._of_the_clients(), self._of_the_noise(), self._of_the_objective())

    def _of_the_clients(self) -> Iterator[Certificate]:
        in_x, in_y = self.pair_of_points(_NEAR, 0.0), self.pair_of_points(0.0, 0.5 * self.R)
        curved = "h'' is 1 at 0 and nowhere larger in absolute value; the rest is linear in x."
        yield nearly("local_smoothness", self.a, curved, in_x)
        linear = "The gradient in x is b y plus what does not depend on y, and the other way round."
        yield nearly("coupling", self.b, linear, in_y, domain="R^d x Y")
        quadratic = "The gradient in y is -mu y plus what does not depend on y."
        for name in ("dual_smoothness", "strong_concavity"):
            yield nearly(name, self.mu, quadratic, in_y, domain="R^d x Y")
        differ = (
            "A client's gradient differs from the mean by s_i Delta v_i in x, and s_i Delta_y v_i in y, at every point."
        )
        spread = {"local_gradient_heterogeneity": self.spread("Delta"), "dual_heterogeneity": self.spread("Delta_y")}
        yield from self.everywhere(differ, **spread)

    def _of_the_noise(self) -> Iterator[Certificate]:
        error = "The error is sigma z v_i in x and sigma_y z' v_i in y with |v_i| = 1 and E z^2 = 1, at every point."
        yield from self.everywhere(error, local_gradient_noise=self.sigma, dual_gradient_noise=self.sigma_y)

    def _of_the_objective(self) -> Iterator[Certificate]:
        a, b, mu, R = named(self, "a", "b", "mu", "R")
        pair = pair_along(first_axis(self.dim), min(_NEAR, self.mu * self.R / self.b))
        curved = "h'' is largest at 0, and so is that of the Huber function H, b^2 / mu."
        yield nearly("objective_smoothness", a + b**2 / mu, curved, pair)
        cap = Formula(math.sqrt(self.dim), "sqrt(dim)") * (a * Formula(STEEPEST, "max h'", WORDS) + b * R)
        yield upper("gradient_cap", cap, "h and H each at their steepest, in every coordinate.")
        best = self.maximiser(self.initial_point.unsqueeze(0))
        yield from self.whole_certificates(best, "The maximiser is b / mu x, projected on the box.")
