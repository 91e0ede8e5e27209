"""A certified bilevel family with a quadratic lower level.

    g_i(x, y) = sum_j ((1 + chi s_i) h_j / 2 y_j^2 - c x_j y_j) + s_i Delta_g v_i.y,   h_j evenly from mu to l
    f_i(x, y) = sum_j (a b(x_j) + r p(y_j)) + s_i (Delta v_i.x + Delta_y v_i.y)

b(t) = t^2 / (2 (1 + t^2)) is not convex, p(t) = sqrt(1 + t^2) - 1 is, with slopes below 1. Everything with s_i cancels in the mean, as
s = 1, -1/2, -1/2 in each three clients, so that y*_j(x) = c x_j / h_j and F(x) = sum_j (a b(x_j) + r p(c x_j / h_j)); with chi > 0 no
client's own Hessian in y is the mean one. A sample adds sigma z v_i and sigma_y z v_i to the gradients of f_i in x and in y, and
sigma_g z' v_i to that of g_i in y, with independent z and z' of one law, E z^2 = 1 and E z^4 = k; second derivatives have no noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ..certificate import WORDS, Certificate, Formula, as_point, by_quantity, named, nearly, pair_along, upper
from ..kinds import AbstractBilevel, Sample
from ..parts.noise import AbstractSecondVariable
from ..parts.parameters import require_nonnegative, require_positive
from ..parts.patterns import first_axis
from .minimax import STEEPEST

_NEAR, _FAR = 1e-3, 1e3


@dataclass(frozen=True)
class QuadraticLower(AbstractSecondVariable, AbstractBilevel):
    """f_i and g_i as the head of this file says.

    Args:
        r: curvature of p at 0, in [f] / [y]^2.
        c: coupling of the lower level, in [f] / ([x] [y]). mu, l: its least and its largest curvature, in [f] / [y]^2.
        chi: how much the clients' curvatures differ, from 0 to below 2.
        sigma_g: noise of a gradient of g_i in y. Delta_g: the largest distance of that from its mean over the clients, where chi = 0.
        The rest as for `AbstractSecondVariable`.

    Raises:
        ValueError: for parameters that contradict each other, naming them.
    """

    PURPOSES: ClassVar[tuple[str, str]] = (" of f", " of g")
    name: str = "quadratic lower level"
    r: float = 0.5
    c: float = 0.5
    mu: float = 0.5
    l: float = 1.0
    chi: float = 0.0
    sigma_g: float = 0.0
    Delta_g: float = 0.0

    def __post_init__(self) -> None:
        require_positive(self, "clients", "dim", "r", "c", "mu", "l")
        differ = ("chi", "Delta", "Delta_y", "Delta_g")
        require_nonnegative(self, "a", "sigma", "sigma_y", "sigma_g", "start", *differ)
        if self.mu > self.l:
            raise ValueError(f"mu must be at most l, got mu = {self.mu} and l = {self.l}")
        if self.chi >= 2:
            raise ValueError(f"chi must be below 2, got {self.chi}")
        self._check_triples(*differ)

    @cached_property
    def _mean_curvatures(self) -> Tensor:
        """h_j, `(dim,)`."""
        return torch.linspace(self.mu, self.l, self.dim, dtype=torch.float64, device=self.device)

    @cached_property
    def _curvatures(self) -> Tensor:
        """(1 + chi s_i) h_j, `(clients, dim)`."""
        return (1 + self.chi * self.signs).unsqueeze(-1) * self._mean_curvatures

    @cached_property
    def initial_lower(self) -> Tensor:
        return self.start_of_y

    def local_value(self, x: Tensor, y: Tensor) -> Tensor:
        of_x, of_y = x * x, y * y
        shared = self.a / 2 * of_x / (1 + of_x) + self.r * of_y / (1 + (1 + of_y).sqrt())
        return shared.sum(-1) + self.tilt(x, y)

    def upper_gradient(self, x: Tensor, y: Tensor, sample: Sample | None = None) -> Tensor:
        growing = 1 + x * x
        return self.a * x / (growing * growing) + self.pull(self.Delta, self.sigma, sample)

    def upper_gradient_in_y(self, x: Tensor, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self.r * y / (1 + y * y).sqrt() + self.pull(self.Delta_y, self.sigma_y, sample)

    def lower_value(self, x: Tensor, y: Tensor) -> Tensor:
        shared = self._curvatures / 2 * y * y - self.c * x * y
        return shared.sum(-1) + self.signs * self.Delta_g * (y * self.directions).sum(-1)

    def lower_gradient(self, x: Tensor, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self._curvatures * y - self.c * x + self.pull(self.Delta_g, self.sigma_g, sample, "second")

    def lower_hvp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        return self._curvatures * v

    def lower_cross(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        return -self.c * v

    def lower_minimiser(self, x: Tensor) -> Tensor:
        return self.c * x / self._mean_curvatures

    def solve_lower(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        return v / self._mean_curvatures

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        levels = self._of_the_upper_level(), self._of_the_lower_level()
        return by_quantity(*levels, self._of_the_noise(), self._of_the_objective())

    def _of_the_upper_level(self) -> Iterator[Certificate]:
        r, c, mu, Delta_y = named(self, "r", "c", "mu", "Delta_y")
        curved = "b'' is 1 at 0 and nowhere larger in absolute value; the rest does not turn along x."
        yield nearly("local_smoothness", self.a, curved, self.pair_of_points(_NEAR, 0.0))
        differ = "A client's gradient in x differs from the mean by s_i Delta v_i at every point."
        yield from self.everywhere(differ, local_gradient_heterogeneity=self.spread("Delta"))
        steep = (
            Formula(math.sqrt(self.dim), "sqrt(dim)") * r + Formula(float(self.signs.max()), "max s_i", WORDS) * Delta_y
        )
        away = torch.cat([torch.zeros(self.dim, dtype=torch.float64), _FAR * self.directions[0].sign().cpu()])
        tends = "p' tends to 1, and v_0 has entries of one size, so that with s_0 the two add up far from 0."
        yield nearly("upper_lipschitz", steep, tends, (as_point(away),))
        response = "It is c / h_j r p'(y_j) plus what does not depend on y, and p'' is 1 at 0 and nowhere larger."
        in_y = self.pair_of_points(0.0, _NEAR)
        yield nearly("hypergradient_smoothness", c * r / mu, response, in_y)

    def _of_the_lower_level(self) -> Iterator[Certificate]:
        quadratic = "The gradient in y is (1 + chi s_i) h_j y_j plus what does not depend on y."
        sizes = {"lower_smoothness": self._curvatures.max(), "lower_strong_convexity": self._curvatures.min()}
        for axis, (name, size) in zip((self.dim - 1, 0), sizes.items(), strict=True):
            in_y = self.pair_of_points(0.0, 1.0, axis)
            yield nearly(name, float(size), quadratic, in_y)
        linear = "The gradient in y is -c x plus what does not depend on x."
        yield nearly("lower_coupling", self.c, linear, self.pair_of_points(1.0, 0.0))
        if self.chi == 0:
            differ = "A client's gradient in y differs from the mean by s_i Delta_g v_i at every point."
            yield from self.everywhere(differ, lower_heterogeneity=self.spread("Delta_g"))

    def _of_the_noise(self) -> Iterator[Certificate]:
        error = "The error is the noise times z v_i, or z' v_i, with |v_i| = 1 and E z^2 = 1, at every point."
        sizes = {
            "local_gradient_noise": self.sigma,
            "dual_gradient_noise": self.sigma_y,
            "lower_gradient_noise": self.sigma_g,
        }
        yield from self.everywhere(error, **sizes)

    def _of_the_objective(self) -> Iterator[Certificate]:
        a, r, c, mu = named(self, "a", "r", "c", "mu")
        pair = pair_along(first_axis(self.dim), _NEAR / max(1.0, self.c / self.mu))  # y*(x) is near 0 too
        curved = "b'' and p'' are largest at 0, and c / h_j for the least curvature."
        yield nearly("objective_smoothness", a + r * (c / mu) ** 2, curved, pair)
        steepest = self.a * STEEPEST + self.r * self.c / self._mean_curvatures
        cap = float(torch.linalg.vector_norm(steepest))
        yield upper("gradient_cap", cap, "b and p each at their steepest, in every coordinate.")
        best = self.lower_minimiser(self.initial_point.unsqueeze(0))
        yield from self.whole_certificates(best, "The minimiser of the lower level is c x_j / h_j, and y starts at 0.")
