"""Compositions of affine inner maps with outer functions whose slopes are piecewise linear: what they share, local and shared ones."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ...kinds import AbstractLocalComposite, AbstractSharedComposite, Sample
from ...parts.noise import mean_sign
from .curve import Landscape, PiecewiseLinear, landscape, preimages
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


class LocalCompositeFamily(SampledAffineFamily, AbstractLocalComposite):
    """Affine g_k(x; z), their noise as `NoisyInner` has it, and f_k'(y; s) = p_k(y) + gradient_noise_k s, z and s fair signs.

    p_k is piecewise linear through the knots (`knots`, `slopes`). Both signs are independent over clients and samples.
    """

    def outer(self, y: Tensor) -> Tensor:
        return self.slope.integral(y).squeeze(-1)

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self._shaken(self.slope.at(y), "gradient_noise", sample)

    @cached_property
    def landscape(self) -> Landscape:
        """Of F."""
        return self._of_compositions()

    def constants(self) -> dict[str, Tensor]:
        parts = self._of_the_parts()
        noise = torch.maximum(parts["inner_noise"], parts["outer_gradient_noise"])
        return {**parts, "composite_noise": noise, **self.landscape.constants(self._at_start)}


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
