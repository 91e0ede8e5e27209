"""Bilevel problems F(x) = (1/N) sum_i f_i(x, y*(x)): f_i with piecewise linear slopes in x and in y, a quadratic lower level."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ...kinds import AbstractBilevel, Sample
from .curve import Landscape, PiecewiseLinear, landscape, preimages
from .second_variable import SecondVariable


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
