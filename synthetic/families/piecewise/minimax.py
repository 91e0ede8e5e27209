"""Minimax problems F(x) = max_y (1/N) sum_i f_i(x, y) with piecewise linear slopes in x, quadratic in y."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

from torch import Tensor

from ...kinds import AbstractMinimax, Sample
from .curve import Landscape, landscape
from .second_variable import SecondVariable


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
