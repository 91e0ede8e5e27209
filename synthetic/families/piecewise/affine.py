"""What the families of compositions share: affine inner maps, and an outer function with a piecewise linear slope."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

from torch import Tensor

from ...kinds import Sample
from ...parts.ripples import mean_sign
from .curve import Landscape, landscape, preimages
from .family import Family, SampledFamily
from .inner import NoisyInner

OF_THE_CLIENTS = dict.fromkeys(("inner_slope", "inner_offset", "value_noise", "gradient_noise"), "client")
"""Parameters of the inner maps and of the noise."""
OF_JACOBIANS = {"jacobian_noise": "client", "noise_reach": "run"}
"""Those of the noise of Jacobians, where a kind has it."""


class AffineFamily(Family):
    """g_k(x; z) = inner_slope_k x + inner_offset_k + value_noise_k z; the slope of f_k goes through (`knots`, `slopes`)."""

    SHAPES: ClassVar[Mapping[str, str]] = {
        **OF_THE_CLIENTS,
        "knots": "knots",
        "slopes": "knots",
        "start": "run",
    }

    @cached_property
    def inner_map(self) -> NoisyInner:
        """g_k with its noise."""
        return NoisyInner.of(self.parameters)

    def _of_compositions(self) -> Landscape:
        """Of the mean of the f_k(g_k(x)): its derivative breaks where an inner map meets a knot; a constant one meets none."""
        slope, knots = self._of("inner_slope"), self.parameters["knots"]
        points = preimages(knots, slope, self._of("inner_offset")).flatten(1)
        y = self.inner_map.value(self._everywhere(points))
        return landscape(points, self.slope.integral(y).mean(1), (slope * self.slope.at(y)).mean(1))

    def _of_the_parts(self) -> dict[str, Tensor]:
        """The constants of the inner maps, and of outer functions with `gradient_noise` in their slope."""
        jitter = self.parameters["gradient_noise"].abs()
        steepest, smoothness = self.slope.bound, self.slope.lipschitz.amax(-1)
        return {
            "outer_lipschitz": steepest.amax(-1),
            "outer_smoothness": smoothness,
            "outer_mean_square_lipschitz": (steepest.square() + jitter.square()).amax(-1).sqrt(),
            "outer_gradient_noise": jitter.amax(-1),
            "outer_sample_lipschitz": (steepest + jitter).amax(-1),
            "outer_sample_smoothness": smoothness,
            **self.inner_map.constants(),
        }


class SampledAffineFamily(AffineFamily, SampledFamily):
    """One whose inner maps and outer functions are sampled together; Jacobians may have noise, as `NoisyInner` says."""

    SHAPES: ClassVar[Mapping[str, str]] = {**AffineFamily.SHAPES, **OF_JACOBIANS}
    SIGNS: ClassVar[tuple[tuple[str, ...], tuple[str, ...]]] = (NoisyInner.SIGNED, ("gradient_noise",))
    ABSENT: ClassVar[frozenset[str]] = NoisyInner.ABSENT

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self.inner_map.value(x, _laid_out(sample))

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return self.inner_map.vjp(x, v, _laid_out(sample))


def _laid_out(sample: Sample | None) -> Tensor | None:
    """The mean sign of the inner maps over a batch, `(runs, clients, 1)`."""
    sign = mean_sign(sample)
    return None if sign is None else sign.unsqueeze(-1)
