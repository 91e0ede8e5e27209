"""Plain federated problems F(x) = (1/N) sum_i F_i(x) whose derivatives F_i' are piecewise linear, with a minimiser that is known."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

from torch import Tensor

from ...kinds import AbstractFederated, Draws, Sample, batch_mean
from .curve import Landscape, PiecewiseLinear, landscape
from .family import Family
from .noise import SignPair, paired_atoms, paired_signs


class FederatedFamily(Family, AbstractFederated):
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
        exact = self.slope.at(x)
        if not isinstance(sample, SignPair):
            return exact
        return exact + self.parameters["gradient_noise"].unsqueeze(-1) * batch_mean(sample.outer).unsqueeze(-1)

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> SignPair:
        return paired_signs(draws, batch, purpose, self._noisy)

    def atoms(self) -> tuple[SignPair, Tensor]:
        return paired_atoms(self.clients, self._noisy)

    @cached_property
    def _at_knots(self) -> tuple[Tensor, Tensor]:
        """Every knot of every client, `(runs, count)`, and the slopes of all clients there, `(runs, clients, count)`."""
        points = self.parameters["knots"].flatten(1)
        return points, self._slopes(points)

    def _slopes(self, points: Tensor) -> Tensor:
        """The slopes of all clients, `(runs, clients, count)`, at points `(runs, count)`."""
        return self.slope.at(points.unsqueeze(1).expand(-1, self.clients, -1))

    @cached_property
    def landscape(self) -> Landscape:
        """Of F: its derivative breaks at the knots of the clients."""
        points, slopes = self._at_knots
        values = self.slope.integral(points.unsqueeze(1).expand(-1, self.clients, -1))
        return landscape(points, values.mean(1), slopes.mean(1), self._curvature)

    def constants(self) -> dict[str, Tensor]:
        _, slopes = self._at_knots
        noise = self.parameters["gradient_noise"].abs().amax(-1)
        start = self.start.expand(self.runs, 1)
        least = self.slope.at(self.landscape.minimiser.view(-1, 1, 1).expand(-1, self.clients, 1))[..., 0].square()
        sampled = least + self.parameters["gradient_noise"].square()
        return {
            "gradient_cap": self.landscape.steepest,
            "local_gradient_bound": self.slope.bound.amax(-1),
            "local_smoothness": self.slope.lipschitz.amax(-1),
            "local_sample_smoothness": self.slope.lipschitz.amax(-1),
            "local_sample_gradient_bound": (self.slope.bound + self.parameters["gradient_noise"].abs()).amax(-1),
            "local_gradient_noise": noise,
            "local_gradient_noise_bound": noise,
            "local_gradient_fourth_moment": noise.square().square(),
            "local_gradient_heterogeneity": apart(slopes),
            "objective_smoothness": self.landscape.smoothness,
            "objective_gap": self.objective(start) - self.landscape.infimum,
            "strong_convexity": self.landscape.flattest.clamp_min(0.0),
            "polyak_lojasiewicz": self.landscape.polyak_lojasiewicz,
            "initial_gradient_heterogeneity": apart(self._slopes(start)),
            "initial_distance": (start - self.landscape.minimiser)[:, 0].abs(),
            "minimiser_heterogeneity": least.mean(1).sqrt(),
            "minimiser_second_moment": sampled.amax(1).sqrt(),
        }


def apart(slopes: Tensor) -> Tensor:
    """How far slopes `(runs, clients, count)` are from their mean over the clients, in mean square, where that is most: `(runs,)`."""
    return (slopes - slopes.mean(1, keepdim=True)).square().mean(1).amax(-1).sqrt()
