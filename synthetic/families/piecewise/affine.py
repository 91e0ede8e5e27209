"""What the families of compositions share: affine inner maps, and an outer function with a piecewise linear slope."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor

from ...kinds import Sample
from .curve import Landscape, landscape, preimages
from .family import Family, SampledFamily

OF_THE_CLIENTS = dict.fromkeys(("inner_slope", "inner_offset", "value_noise", "gradient_noise"), "client")
"""Parameters of the inner maps and of the noise."""


class AffineFamily(Family):
    """g_k(x; z) = inner_slope_k x + inner_offset_k + value_noise_k z; the slope of f_k goes through (`knots`, `slopes`)."""

    SHAPES: ClassVar[Mapping[str, str]] = {
        **OF_THE_CLIENTS,
        "knots": "knots",
        "slopes": "knots",
        "start": "run",
    }

    def _inner(self, x: Tensor) -> Tensor:
        """Exact inner values, `(runs, clients, count) -> same`."""
        return self._of("inner_slope") * x + self._of("inner_offset")

    def _of_compositions(self) -> Landscape:
        """Of the mean of the f_k(g_k(x)): its derivative breaks where an inner map meets a knot; a constant one meets none."""
        slope, knots = self._of("inner_slope"), self.parameters["knots"]
        points = preimages(knots, slope, self._of("inner_offset")).flatten(1)
        y = self._inner(self._everywhere(points))
        return landscape(points, self.slope.integral(y).mean(1), (slope * self.slope.at(y)).mean(1))

    def _of_the_parts(self) -> dict[str, Tensor]:
        """The constants of the inner maps, and of outer functions with `gradient_noise` in their slope."""
        slope, jitter = self._largest("inner_slope"), self.parameters["gradient_noise"].abs()
        steepest, smoothness = self.slope.bound, self.slope.lipschitz.amax(-1)
        of_slope = ("lipschitz", "mean_square_lipschitz", "jacobian_mean_square", "sample_lipschitz")
        flat = ("smoothness", "sample_smoothness", "jacobian_noise")
        return {
            "outer_lipschitz": steepest.amax(-1),
            "outer_smoothness": smoothness,
            "outer_mean_square_lipschitz": (steepest.square() + jitter.square()).amax(-1).sqrt(),
            "outer_gradient_noise": jitter.amax(-1),
            "outer_sample_lipschitz": (steepest + jitter).amax(-1),
            "outer_sample_smoothness": smoothness,
            **{f"inner_{name}": slope for name in of_slope},
            **{f"inner_{name}": torch.zeros_like(slope) for name in flat},
            "inner_value_noise": self._largest("value_noise"),
        }


class SampledAffineFamily(AffineFamily, SampledFamily):
    """One whose inner maps and outer functions are sampled together."""

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self._shaken(self._inner(x), "value_noise", sample, "inner")

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return self._of("inner_slope") * v
