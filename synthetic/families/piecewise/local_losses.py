"""Clients' losses with a known minimiser: piecewise linear derivatives without fine-tuning, piecewise linear Hessians with it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor

from ...kinds import AbstractFederated, AbstractMeta, Sample
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


class MetaFamily(SampledFamily, AbstractMeta):
    """f_i'' = p and f_i'(w) = tilt_i + the integral of p from its first knot to w; p vanishes at its first and last knot.

    A sample of f_i' is off by gradient_noise_i s with a fair sign s; Hessians have no noise. The clients differ by constants in
    f_i' alone, so that the heterogeneity of the gradients is the standard deviation of the tilts and that of the Hessians
    is 0. `alpha` is one number per run.
    """

    SHAPES: ClassVar[Mapping[str, str]] = {
        "knots": "shared",
        "curvatures": "shared",
        "tilt": "client",
        "gradient_noise": "client",
        "alpha": "run",
        "start": "run",
    }

    def __init__(self, parameters: Mapping[str, Tensor], nu: int = 1) -> None:
        super().__init__(parameters)
        self.nu = nu
        self.alpha: Any = self.parameters["alpha"].unsqueeze(-1)  # (runs, 1, 1): methods multiply by it

    def pick(self, run: int) -> MetaFamily:
        return MetaFamily({name: tensor[run : run + 1] for name, tensor in self.parameters.items()}, self.nu)

    @cached_property
    def hessian(self) -> PiecewiseLinear:
        """f_i'', the same for all clients."""
        return PiecewiseLinear(self.parameters["knots"], self.parameters["curvatures"])

    def local_value(self, x: Tensor) -> Tensor:
        return self._value(x).squeeze(-1)

    def local_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self._shaken(self._of("tilt") + self.hessian.integral(x), "gradient_noise", sample)

    def _value(self, points: Tensor) -> Tensor:
        """f_i at several points per client, `(runs, clients, points) -> same`."""
        return self._of("tilt") * (points - self.parameters["knots"][..., :1]) + self.hessian.second_integral(points)

    def local_hvp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return self.hessian.at(x) * v

    @cached_property
    def _critical_points(self) -> Tensor:
        """The knots and where the Hessian vanishes between them, `(runs, 1, points)`."""
        knots, heights = self.parameters["knots"], self.parameters["curvatures"]
        rises, widths = heights.diff(dim=-1), knots.diff(dim=-1)
        crosses = heights[..., :-1] * heights[..., 1:] < 0
        zeros = knots[..., :-1] - heights[..., :-1] * widths / torch.where(crosses, rises, 1.0)
        return torch.cat([knots, torch.where(crosses, zeros, knots[..., :-1])], dim=-1)

    def _lower_bound(self) -> Tensor:
        """A lower bound of inf f_i, `(runs, clients)`; minus infinity where there is none.

        Between neighbours a < b of the sorted critical points f_i' is monotone. Where it changes sign from minus to plus,
        f_i is convex there and lies above its tangents: above f_i(a) - |f_i'(a)| (b - a) and f_i(b) - f_i'(b) (b - a).
        """
        points = self._critical_points.expand(-1, self.clients, -1).sort(dim=-1).values
        slopes, values = self.local_gradient(points), self._value(points)
        crosses = (slopes[..., :-1] < 0) & (slopes[..., 1:] > 0)
        widths = points.diff(dim=-1)
        below = torch.maximum(values[..., :-1] + slopes[..., :-1] * widths, values[..., 1:] - slopes[..., 1:] * widths)
        lowest = torch.minimum(values.amin(-1), torch.where(crosses, below, torch.inf).amin(-1))
        unbounded = (slopes[..., 0] > 0) | (slopes[..., -1] < 0)
        return torch.where(unbounded, -torch.inf, lowest)

    def constants(self) -> dict[str, Tensor]:
        slopes = self.local_gradient(self._critical_points.expand(-1, self.clients, -1))
        noise, flat = self._largest("gradient_noise"), torch.zeros(self.runs, dtype=torch.float64)
        steepest = slopes.abs().amax((-1, -2))
        growth = 1 + self.parameters["alpha"][:, 0] * self.hessian.bound.amax(-1)
        return {
            "gradient_cap": growth**self.nu * steepest,
            "local_gradient_bound": steepest,
            "local_smoothness": self.hessian.bound.amax(-1),
            "local_hessian_lipschitz": self.hessian.lipschitz.amax(-1),
            "local_gradient_noise": noise,
            "local_hessian_noise": flat,
            "local_gradient_fourth_moment": noise.square().square(),
            "local_hessian_fourth_moment": flat,
            "local_gradient_heterogeneity": apart(self._of("tilt")),
            "local_hessian_heterogeneity": flat,
            "objective_gap": self._at_start - self._lower_bound().mean(-1),
        }
