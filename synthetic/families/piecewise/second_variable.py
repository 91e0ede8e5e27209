"""Minimax and bilevel problems with piecewise linear slopes, quadratic in a second variable y whose best value is affine in x."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ...kinds import AbstractBilevel, AbstractMinimax, Sample, client_mean
from .curve import Landscape, PiecewiseLinear, landscape, preimages
from .family import SampledFamily, apart


class SecondVariable(SampledFamily):
    """Every client has a function of x and (coupling x + dual_tilt_i) y - dual_curvature/2 y^2, or the negative of it.

    The slope p_i of the function is piecewise linear through (`knots`, `slopes`); `estimate` is y_0. Coupling and curvature are those of
    all clients, so that what they differ by has a bound.
    """

    @property
    @abstractmethod
    def landscape(self) -> Landscape:
        """Of F."""

    def _slope_in_x(self, x: Tensor, sample: Sample | None) -> Tensor:
        """p_i with its noise."""
        return self._shaken(self.slope.at(x), "gradient_noise", sample)

    def _pull(self, x: Tensor) -> Tensor:
        """What multiplies y at every client, `(runs, clients, 1) -> same`."""
        return self._of("coupling") * x + self._of("dual_tilt")

    def best(self, x: Tensor) -> Tensor:
        """The y that is best for the mean of the clients, `(runs, count) -> same`."""
        tilt = client_mean(self.parameters["dual_tilt"]).unsqueeze(-1)
        return (self.parameters["coupling"] * x + tilt) / self.parameters["dual_curvature"]

    def _constants_of(self, curvature: tuple[str, ...], coupling: str, heterogeneity: str) -> Mapping[str, Tensor]:
        """The constants of p_i, of what is linear in y, of the start of y, and of F; the names are those of the kind."""
        points, start = self.parameters["knots"].flatten(1), self.start.expand(self.runs, 1)
        return {
            "local_smoothness": self.slope.lipschitz.amax(-1),
            "local_gradient_noise": self._largest("gradient_noise"),
            "local_gradient_heterogeneity": apart(self.slope.at(self._everywhere(points))),
            "dual_gradient_noise": self._largest("dual_noise"),
            **dict.fromkeys(curvature, self.parameters["dual_curvature"].squeeze(-1)),
            "initial_dual_error": (self.parameters["estimate"] - self.best(start)).abs().squeeze(-1),
            coupling: self._largest("coupling"),
            heterogeneity: apart(self._of("dual_tilt")),
            **self.landscape.constants(self._at_start),
            "objective_gap": self._gap,
        }

    @property
    def _gap(self) -> Tensor:
        """From the values at both ends: the infimum of the landscape is read off knots, where F may be far larger than the gap."""
        least = self.objective(self.landscape.minimiser.view(-1, 1).expand(self.runs, 1))
        return torch.where(self.landscape.infimum.isfinite(), (self._at_start - least).clamp_min(0.0), torch.inf)


class MinimaxFamily(SecondVariable, AbstractMinimax):
    """f_i(x, y) = P_i(x) + (coupling x + dual_tilt_i) y - dual_curvature/2 y^2 on all y, P_i' = p_i piecewise linear.

    A sample adds gradient_noise_i s to the gradient in x and dual_noise_i z to that in y, with independent fair signs s and z. F' is the
    mean of the p_i plus coupling times the best y, and grows with the rate coupling^2 / dual_curvature outside the knots.
    """

    SHAPES: ClassVar[Mapping[str, str]] = {
        "gradient_noise": "client",
        "dual_noise": "client",
        "knots": "knots",
        "slopes": "knots",
        "coupling": "run",
        "dual_curvature": "run",
        "dual_tilt": "client",
        "start": "run",
        "estimate": "run",
    }
    SIGNS: ClassVar[tuple[tuple[str, ...], tuple[str, ...]]] = (("dual_noise",), ("gradient_noise",))

    def local_value(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.slope.integral(x) + self._pull(x) * y - self._of("dual_curvature") / 2 * y * y).squeeze(-1)

    def descent_gradient(self, x: Tensor, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self._slope_in_x(x, sample) + self._of("coupling") * y

    def ascent_gradient(self, x: Tensor, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self._shaken(self._pull(x) - self._of("dual_curvature") * y, "dual_noise", sample, "inner")

    def projected(self, y: Tensor) -> Tensor:
        return y

    def maximiser(self, x: Tensor) -> Tensor:
        return self.best(x)

    @property
    def initial_dual(self) -> Tensor:
        return self.parameters["estimate"][0]

    @cached_property
    def landscape(self) -> Landscape:
        """Of F: its derivative breaks at the knots of the clients."""
        points = self.parameters["knots"].flatten(1)
        everywhere, best = self._everywhere(points), self.best(points)
        values = self.slope.integral(everywhere).mean(1) + self.parameters["dual_curvature"] / 2 * best.square()
        slopes = self.slope.at(everywhere).mean(1) + self.parameters["coupling"] * best
        return landscape(
            points, values, slopes, self.parameters["coupling"].square() / self.parameters["dual_curvature"]
        )

    def constants(self) -> dict[str, Tensor]:
        return dict(self._constants_of(("dual_smoothness", "strong_concavity"), "coupling", "dual_heterogeneity"))


class BilevelFamily(SecondVariable, AbstractBilevel):
    """f_i(x, y) = P_i(x) + Q_i(y) and g_i(x, y) = dual_curvature/2 y^2 - (coupling x + dual_tilt_i) y.

    P_i' = p_i and Q_i' = q_i are piecewise linear, q_i through (`dual_knots`, `dual_slopes`). A sample adds gradient_noise_i s to the
    gradient of f_i in x, dual_noise_i s to that in y and lower_noise_i z to that of g_i in y, with independent fair signs s and z. With
    r = coupling / dual_curvature F' is the mean of the p_i plus r times the mean of the q_i at y*(x).
    """

    SHAPES: ClassVar[Mapping[str, str]] = {
        "gradient_noise": "client",
        "dual_noise": "client",
        "lower_noise": "client",
        "knots": "knots",
        "slopes": "knots",
        "dual_knots": "knots",
        "dual_slopes": "knots",
        "coupling": "run",
        "dual_curvature": "run",
        "dual_tilt": "client",
        "start": "run",
        "estimate": "run",
    }
    SIGNS: ClassVar[tuple[tuple[str, ...], tuple[str, ...]]] = (("lower_noise",), ("gradient_noise", "dual_noise"))

    @cached_property
    def dual_slope(self) -> PiecewiseLinear:
        """q_i."""
        return PiecewiseLinear(self.parameters["dual_knots"], self.parameters["dual_slopes"])

    def local_value(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.slope.integral(x) + self.dual_slope.integral(y)).squeeze(-1)

    def upper_gradient(self, x: Tensor, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self._slope_in_x(x, sample)

    def upper_gradient_in_y(self, x: Tensor, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self._shaken(self.dual_slope.at(y), "dual_noise", sample)

    def lower_value(self, x: Tensor, y: Tensor) -> Tensor:
        return (self._of("dual_curvature") / 2 * y * y - self._pull(x) * y).squeeze(-1)

    def lower_gradient(self, x: Tensor, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self._shaken(self._of("dual_curvature") * y - self._pull(x), "lower_noise", sample, "inner")

    def lower_hvp(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        return self._of("dual_curvature") * v

    def lower_cross(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        return -self._of("coupling") * v

    def lower_minimiser(self, x: Tensor) -> Tensor:
        return self.best(x)

    def solve_lower(self, x: Tensor, y: Tensor, v: Tensor) -> Tensor:
        return v / self.parameters["dual_curvature"]

    @property
    def initial_lower(self) -> Tensor:
        return self.parameters["estimate"][0]

    @property
    def _rate(self) -> Tensor:
        """By how much y* moves with x, `(runs, 1)`."""
        return self.parameters["coupling"] / self.parameters["dual_curvature"]

    @cached_property
    def landscape(self) -> Landscape:
        """Of F: its derivative breaks at the knots of the p_i and where y*(x) meets those of the q_i."""
        offset = self.best(torch.zeros_like(self.parameters["coupling"]))
        meets = preimages(self.parameters["dual_knots"].flatten(1), self._rate, offset)
        points = torch.cat([self.parameters["knots"].flatten(1), meets], dim=-1)
        x, y = self._everywhere(points), self._everywhere(self.best(points))
        values = self.slope.integral(x).mean(1) + self.dual_slope.integral(y).mean(1)
        slopes = self.slope.at(x).mean(1) + self._rate * self.dual_slope.at(y).mean(1)
        return landscape(points, values, slopes)

    @property
    def _mean_dual_smoothness(self) -> Tensor:
        """The Lipschitz constant of the mean of the q_i, `(runs,)`."""
        points = self.parameters["dual_knots"].flatten(1)
        slopes = self.dual_slope.at(self._everywhere(points)).mean(1)
        return landscape(points, torch.zeros_like(points), slopes).smoothness

    def constants(self) -> dict[str, Tensor]:
        names = ("lower_smoothness", "lower_strong_convexity")
        return {
            **self._constants_of(names, "lower_coupling", "lower_heterogeneity"),
            "lower_gradient_noise": self._largest("lower_noise"),
            "upper_lipschitz": self.dual_slope.bound.amax(-1),
            "hypergradient_smoothness": self._rate.abs().squeeze(-1) * self._mean_dual_smoothness,
        }
