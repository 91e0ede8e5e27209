"""What the minimax and the bilevel family share: a second variable y whose best value is affine in x."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property

import torch
from torch import Tensor

from ...kinds import Draws, Sample, batch_mean, client_mean
from .curve import Landscape, PiecewiseLinear
from .family import Family
from .federated import apart
from .noise import SignPair, paired_atoms, paired_signs


class SecondVariable(Family):
    """Every client has a function of x and (coupling x + dual_tilt_i) y - dual_curvature/2 y^2, or the negative of it.

    The slope p_i of the function is piecewise linear through (`knots`, `slopes`); `estimate` is y_0. Coupling and curvature are those of
    all clients, so that what they differ by has a bound.
    """

    @cached_property
    def slope(self) -> PiecewiseLinear:
        """p_i."""
        return PiecewiseLinear(self.parameters["knots"], self.parameters["slopes"])

    @property
    @abstractmethod
    def landscape(self) -> Landscape:
        """Of F."""

    def _of(self, name: str) -> Tensor:
        """A parameter, `(runs, 1, 1)` or `(runs, clients, 1)`."""
        return self.parameters[name].unsqueeze(-1)

    def _jolt(self, name: str, signs: Tensor | None) -> Tensor | float:
        return 0.0 if signs is None else self._of(name) * batch_mean(signs).unsqueeze(-1)

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> SignPair:
        return paired_signs(draws, batch, purpose, self._noisy)

    def atoms(self) -> tuple[SignPair, Tensor]:
        return paired_atoms(self.clients, self._noisy)

    def _slope_in_x(self, x: Tensor, sample: Sample | None) -> Tensor:
        """p_i with its noise."""
        return self.slope.at(x) + self._jolt("gradient_noise", sample.outer if isinstance(sample, SignPair) else None)

    def _pull(self, x: Tensor) -> Tensor:
        """What multiplies y at every client, `(runs, clients, 1) -> same`."""
        return self._of("coupling") * x + self._of("dual_tilt")

    def best(self, x: Tensor) -> Tensor:
        """The y that is best for the mean of the clients, `(runs, count) -> same`."""
        tilt = client_mean(self.parameters["dual_tilt"]).unsqueeze(-1)
        return (self.parameters["coupling"] * x + tilt) / self.parameters["dual_curvature"]

    def _everywhere(self, points: Tensor) -> Tensor:
        """Points `(runs, count)` at every client."""
        return points.unsqueeze(1).expand(-1, self.clients, -1)

    @property
    def _coupling(self) -> Tensor:
        return self.parameters["coupling"].abs().squeeze(-1)

    def _constants_of(self, curvature: tuple[str, ...]) -> Mapping[str, Tensor]:
        """The constants of p_i and of the start of y; `curvature` are the names of that in y."""
        points, start = self.parameters["knots"].flatten(1), self.start.expand(self.runs, 1)
        return {
            "local_smoothness": self.slope.lipschitz.amax(-1),
            "local_gradient_noise": self.parameters["gradient_noise"].abs().amax(-1),
            "local_gradient_heterogeneity": apart(self.slope.at(self._everywhere(points))),
            "dual_gradient_noise": self.parameters["dual_noise"].abs().amax(-1),
            **dict.fromkeys(curvature, self.parameters["dual_curvature"].squeeze(-1)),
            "initial_dual_error": (self.parameters["estimate"] - self.best(start)).abs().squeeze(-1),
        }

    def _tilts_apart(self) -> Tensor:
        return apart(self.parameters["dual_tilt"].unsqueeze(-1))

    @property
    def _gap(self) -> Tensor:
        """From the values at both ends: the infimum of the landscape is read off knots, where F may be far larger than the gap."""
        least = self.objective(self.landscape.minimiser.view(-1, 1).expand(self.runs, 1))
        found: Tensor = self.objective(self.start.expand(self.runs, 1)) - least
        return torch.where(self.landscape.infimum.isfinite(), found.clamp_min(0.0), torch.inf)


def preimages(knots: Tensor, slope: Tensor, offset: Tensor) -> Tensor:
    """Where slope x + offset meets knots, `(runs, count)`; anywhere where the slope is 0."""
    meets = (knots - offset) / torch.where(slope == 0, torch.inf, slope)
    return torch.where(torch.isfinite(meets), meets, 0.0)
