"""Plain federated problems F(x) = (1/N) sum_i F_i(x) whose derivatives F_i' are piecewise linear, with a minimiser that is known."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

from torch import Tensor

from ...kinds import AbstractFederated, Sample
from .curve import Landscape, PiecewiseLinear, landscape
from .family import SampledFamily, apart


class FederatedFamily(SampledFamily, AbstractFederated):
    """F_i'(x; s) = p_i(x) + curvature x + gradient_noise_i s with fair signs s.

    p_i is piecewise linear through `knots` and `slopes`, and constant outside. With a curvature, which all clients share, F grows
    as a square does: it may be strongly convex, and no gradient has a bound.
    """

    SHAPES: ClassVar[Mapping[str, str]] = {
        "gradient_noise": "client",
        "knots": "knots",
        "slopes": "knots",
        "curvature": "run",
        "start": "run",
    }
    ABSENT: ClassVar[frozenset[str]] = frozenset(("curvature",))

    @cached_property
    def slope(self) -> PiecewiseLinear:
        """F_i'."""
        knots, slopes, rate = self.parameters["knots"], self.parameters["slopes"], self._curvature
        return PiecewiseLinear(knots, slopes if rate is None else slopes + rate.unsqueeze(-1) * knots, rate)

    @property
    def _curvature(self) -> Tensor | None:
        """`(runs, 1)`."""
        return self.parameters.get("curvature")

    @property
    def minimiser(self) -> Tensor:
        """Where F is least, `(1,)`, or `(runs, 1)` where there are several instances."""
        return self.landscape.minimiser if self.runs > 1 else self.landscape.minimiser[0]

    def local_value(self, x: Tensor) -> Tensor:
        return self.slope.integral(x).squeeze(-1)

    def local_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self._shaken(self.slope.at(x), "gradient_noise", sample)

    @cached_property
    def _at_knots(self) -> tuple[Tensor, Tensor]:
        """Every knot of every client, `(runs, count)`, and the slopes of all clients there, `(runs, clients, count)`."""
        points = self.parameters["knots"].flatten(1)
        return points, self._slopes(points)

    def _slopes(self, points: Tensor) -> Tensor:
        """The slopes of all clients, `(runs, clients, count)`, at points `(runs, count)`."""
        return self.slope.at(self._everywhere(points))

    @cached_property
    def landscape(self) -> Landscape:
        """Of F: its derivative breaks at the knots of the clients."""
        points, slopes = self._at_knots
        values = self.slope.integral(self._everywhere(points))
        return landscape(points, values.mean(1), slopes.mean(1), self._curvature)

    def constants(self) -> dict[str, Tensor]:
        _, slopes = self._at_knots
        noise, jitter = self._largest("gradient_noise"), self.parameters["gradient_noise"].abs()
        start, steepest, smoothness = self.start.expand(self.runs, 1), self.slope.bound, self.slope.lipschitz.amax(-1)
        least = self.slope.at(self.landscape.minimiser.view(-1, 1, 1).expand(-1, self.clients, 1))[..., 0].square()
        return {
            **self.landscape.constants(self._at_start),
            "local_gradient_bound": steepest.amax(-1),
            "local_smoothness": smoothness,
            "local_sample_smoothness": smoothness,
            "local_sample_gradient_bound": (steepest + jitter).amax(-1),
            "local_gradient_noise": noise,
            "local_gradient_noise_bound": noise,
            "local_gradient_fourth_moment": noise.square().square(),
            "local_gradient_heterogeneity": apart(slopes),
            "strong_convexity": self.landscape.flattest.clamp_min(0.0),
            "polyak_lojasiewicz": self.landscape.polyak_lojasiewicz,
            "initial_gradient_heterogeneity": apart(self._slopes(start)),
            "initial_distance": (start - self.landscape.minimiser)[:, 0].abs(),
            "minimiser_heterogeneity": least.mean(1).sqrt(),
            "minimiser_second_moment": (least + jitter.square()).amax(1).sqrt(),
        }
