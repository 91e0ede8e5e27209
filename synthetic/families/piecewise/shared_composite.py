"""Shared composites Phi(x) = (1/K) sum_k h_k(x) + f((1/K) sum_k g_k(x)): affine g_k, piecewise linear f' and h_k'."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ...kinds import AbstractSharedComposite, Sample
from .affine import OF_JACOBIANS, OF_THE_CLIENTS, SampledAffineFamily
from .curve import Landscape, PiecewiseLinear, landscape, preimages


class SharedCompositeFamily(SampledAffineFamily, AbstractSharedComposite):
    """Affine g_k(x; z), their noise as `NoisyInner` has it, h_k'(x; s) = p_k(x) + gradient_noise_k s, f' piecewise linear.

    f' is the same for all clients. `estimate` is the free initial estimate y^0 of the inner value.
    """

    SHAPES: ClassVar[Mapping[str, str]] = {
        **OF_THE_CLIENTS,
        "knots": "shared",
        "slopes": "shared",
        "extra_knots": "knots",
        "extra_slopes": "knots",
        "start": "run",
        "estimate": "run",
        **OF_JACOBIANS,
    }

    @cached_property
    def extra_slope(self) -> PiecewiseLinear:
        """h_k'."""
        return PiecewiseLinear(self.parameters["extra_knots"], self.parameters["extra_slopes"])

    def outer(self, y: Tensor) -> Tensor:
        if y.dim() == 2:
            return self.outer(y.unsqueeze(1)).squeeze(1)
        return self.slope.integral(y).squeeze(-1)

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self.slope.at(y.unsqueeze(1)).squeeze(1) if y.dim() == 2 else self.slope.at(y)

    def extra(self, x: Tensor) -> Tensor:
        return self.extra_slope.integral(x).squeeze(-1)

    def extra_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self._shaken(self.extra_slope.at(x), "gradient_noise", sample)

    @cached_property
    def landscape(self) -> Landscape:
        """Of Phi: its derivative breaks at the knots of h_k and where the mean inner map meets those of f."""
        slope, offset = self._of("inner_slope").mean(1), self._of("inner_offset").mean(1)
        meets = preimages(self.parameters["knots"][:, 0], slope, offset)
        points = torch.cat([meets, self.parameters["extra_knots"].flatten(1)], dim=-1)
        y, everywhere = (slope * points + offset).unsqueeze(1), self._everywhere(points)
        values = self.slope.integral(y).squeeze(1) + self.extra_slope.integral(everywhere).mean(1)
        slopes = slope * self.slope.at(y).squeeze(1) + self.extra_slope.at(everywhere).mean(1)
        return landscape(points, values, slopes)

    def constants(self) -> dict[str, Tensor]:
        parts, per_client = self._of_the_parts(), self.parameters["inner_slope"]
        own, slopes = self.parameters["extra_knots"], self.parameters["extra_slopes"]
        shared_knots = bool((own == own[:, :1]).all())
        apart = (slopes - slopes.mean(1, keepdim=True)).abs().amax((-1, -2))
        smoothness = self.extra_slope.lipschitz.amax(-1)
        start = self.start.expand(self.runs, 1)
        return {
            "noncompositional_smoothness": smoothness,
            "noncompositional_sample_smoothness": smoothness,
            "noncompositional_gradient_noise": self._largest("gradient_noise"),
            "noncompositional_heterogeneity": apart if shared_knots else 2 * self.extra_slope.bound.amax(-1),
            **{name: value for name, value in parts.items() if name not in _OF_NOISE_IN_F},
            "inner_jacobian_heterogeneity": (per_client - per_client.mean(-1, keepdim=True)).abs().amax(-1),
            **self.landscape.constants(self._at_start),
            "initial_inner_error": (self.parameters["estimate"] - self.inner_mean(start)).abs().squeeze(-1),
        }


_OF_NOISE_IN_F = (
    "outer_mean_square_lipschitz",
    "outer_gradient_noise",
    "outer_sample_lipschitz",
    "outer_sample_smoothness",
)
"""`gradient_noise` is in h_k here."""
