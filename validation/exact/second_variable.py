"""Minimax and bilevel problems in exact numbers: a second variable y whose best value is affine in x."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from ...synthetic.families.piecewise import BilevelFamily, MinimaxFamily
from .base import Instance, OfOneCurve, Signs, at, curves
from .curve import Curve, composed, mean, tilted, total
from .sampled import Sampled
from .tensor import ExactTensor, raw

Q = Fraction


class _SecondVariable(OfOneCurve):
    """Clients with P_i(x), and (coupling x + dual_tilt_i) y - dual_curvature/2 y^2 or its negative; `estimate` is y_0."""

    estimated: ClassVar[str] = "start of y"

    def __init__(self, instance: Instance) -> None:
        super().__init__(instance)
        self.coupling, self.dual_curvature = (instance.parameters[name] for name in ("coupling", "dual_curvature"))
        if not self.dual_curvature > 0:
            raise ValueError(f"dual_curvature: wanted a number above 0, got {self.dual_curvature}")

    @cached_property
    def client_slopes(self) -> list[Curve]:
        """p_i."""
        return curves(self.parameters["knots"], self.parameters["slopes"])

    @property
    def rate(self) -> Fraction:
        """By how much the best y moves with x."""
        number: Fraction = self.coupling / self.dual_curvature
        return number

    @property
    def offset(self) -> Fraction:
        """The best y at x = 0."""
        return _average(self.parameters["dual_tilt"]) / self.dual_curvature

    @property
    def right_estimate(self) -> Fraction:
        return self.rate * self.start + self.offset

    def _slope_in_x(self, x: Any, sample: Signs | None) -> ExactTensor:
        """p_i with its noise."""
        signs = sample.outer if sample else None
        return self._with_noise(lambda i, t: at(self.client_slopes[i], t), "gradient_noise", signs, x)

    def _down(self, x: Any, y: Any, name: str, signs: ExactTensor | None) -> ExactTensor:
        """dual_curvature y - coupling x - dual_tilt_i, with a noise of its own."""
        of_x = self.coupling * raw(x)
        tilts = self.parameters["dual_tilt"]
        sloped = self._with_noise(lambda i, t: self.dual_curvature * t - tilts[i], name, signs, y)
        return ExactTensor.of(sloped.numbers - of_x)

    def _in_x(self) -> Sampled:
        """p_i with its noise, along x."""
        return Sampled.of(self.client_slopes, self.noise_sizes("gradient_noise"))

    def _of_the_start(self) -> dict[str, Fraction]:
        return {
            "initial_dual_error": abs(self.parameters["estimate"] - self.right_estimate),
            "objective_gap": self.gap,
        }

    def _pulled(self, noise: str) -> Sampled:
        """`_down`, or its negative, along y."""
        tilts, rate = self.parameters["dual_tilt"], [self.dual_curvature] * self.clients
        return Sampled.with_even_noise([tilts], [rate], self.noise_sizes(noise), rate)

    def _coupled(self) -> Sampled:
        """How a gradient moves along the other variable."""
        rate = [self.coupling] * self.clients
        return Sampled.with_even_noise([[Q(0)] * self.clients], [rate], [Q(0)] * self.clients, rate)


def _average(numbers: list[Fraction]) -> Fraction:
    return sum(numbers, Q(0)) / len(numbers)


class ExactMinimax(_SecondVariable):
    """F(x) = max_y (1/N) sum_i f_i(x, y), f_i(x, y) = P_i(x) + (coupling x + dual_tilt_i) y - dual_curvature/2 y^2."""

    FAMILY = MinimaxFamily

    @cached_property
    def derivative(self) -> Curve:
        return tilted(mean(self.client_slopes), self.coupling * self.rate, self.coupling * self.offset)

    def descent_gradient(self, x: Any, y: Any, sample: Signs | None = None) -> ExactTensor:
        return ExactTensor.of(self._slope_in_x(x, sample).numbers + self.coupling * raw(y))

    def ascent_gradient(self, x: Any, y: Any, sample: Signs | None = None) -> ExactTensor:
        down = self._down(x, y, "dual_noise", sample.inner if sample else None)
        return ExactTensor.of(-down.numbers)

    def projected(self, y: Any) -> Any:
        return y

    def functions(self) -> dict[str, Sampled]:
        return {
            "local_gradient": replace(self._in_x(), beyond=[self.coupling] * self.clients),  # its rate along y
            "objective_gradient": self.gradient_of_objective,
            "ascent_gradient": self._pulled("dual_noise"),
            "gradient_along_dual": self._coupled(),
        }

    def of_the_objective(self) -> dict[str, Fraction]:
        return {**self._of_the_start(), "strong_concavity": self.dual_curvature}


class ExactBilevel(_SecondVariable):
    """F(x) = (1/N) sum_i P_i(x) + Q_i(y*(x)), y*(x) least for the mean of dual_curvature/2 y^2 - (coupling x + dual_tilt_i) y."""

    FAMILY = BilevelFamily

    @cached_property
    def dual_slopes(self) -> list[Curve]:
        """q_i, the derivatives of the Q_i."""
        return curves(self.parameters["dual_knots"], self.parameters["dual_slopes"])

    @cached_property
    def derivative(self) -> Curve:
        return total([mean(self.client_slopes), composed(mean(self.dual_slopes), self.rate, self.offset)])

    def upper_gradient(self, x: Any, y: Any, sample: Signs | None = None) -> ExactTensor:
        return self._slope_in_x(x, sample)

    def upper_gradient_in_y(self, x: Any, y: Any, sample: Signs | None = None) -> ExactTensor:
        signs = sample.outer if sample else None
        return self._with_noise(lambda i, t: at(self.dual_slopes[i], t), "dual_noise", signs, y)

    def lower_gradient(self, x: Any, y: Any, sample: Signs | None = None) -> ExactTensor:
        return self._down(x, y, "lower_noise", sample.inner if sample else None)

    def lower_hvp(self, x: Any, y: Any, v: Any) -> ExactTensor:
        return ExactTensor.of(self.dual_curvature * raw(v))

    def lower_cross(self, x: Any, y: Any, v: Any) -> ExactTensor:
        return ExactTensor.of(-self.coupling * raw(v))

    def functions(self) -> dict[str, Sampled]:
        return {
            "local_gradient": self._in_x(),
            "objective_gradient": self.gradient_of_objective,
            "ascent_gradient": Sampled.of(self.dual_slopes, self.noise_sizes("dual_noise")),
            "lower_gradient": self._pulled("lower_noise"),
            "lower_gradient_along_upper": self._coupled(),
        }

    def of_the_objective(self) -> dict[str, Fraction]:
        return {
            **self._of_the_start(),
            "lower_strong_convexity": self.dual_curvature,
            "hypergradient_smoothness": abs(self.rate) * mean(self.dual_slopes).lipschitz(),
        }
