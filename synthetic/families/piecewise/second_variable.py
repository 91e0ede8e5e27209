"""What the minimax and the bilevel family share: a second variable y whose best value is affine in x."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor

from ...kinds import Sample, client_mean
from .curve import Landscape
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
