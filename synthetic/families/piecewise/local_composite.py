"""Local composites F(x) = (1/K) sum_k f_k(g_k(x)): affine inner maps, outer functions with piecewise linear slopes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ...kinds import AbstractLocalComposite, Draws, Sample, batch_mean
from .curve import Landscape, PiecewiseLinear, landscape
from .family import Family
from .inner import NoisyInner
from .noise import SignPair, paired_atoms, paired_signs


class LocalCompositeFamily(Family, AbstractLocalComposite):
    """Affine g_k(x; z), their noise as `NoisyInner` has it, and f_k'(y; s) = p_k(y) + gradient_noise_k s, z and s fair signs.

    p_k is piecewise linear through the knots (`knots`, `slopes`). Both signs are independent over clients and samples.
    """

    SHAPES: ClassVar[Mapping[str, str]] = {
        "inner_slope": "client",
        "inner_offset": "client",
        "value_noise": "client",
        "gradient_noise": "client",
        "knots": "knots",
        "slopes": "knots",
        "start": "run",
        "jacobian_noise": "client",
        "noise_reach": "run",
    }
    SIGNS: ClassVar[tuple[tuple[str, ...], tuple[str, ...]]] = (NoisyInner.SIGNED, ("gradient_noise",))
    ABSENT: ClassVar[frozenset[str]] = NoisyInner.ABSENT

    @cached_property
    def inner_map(self) -> NoisyInner:
        """g_k with its noise."""
        return NoisyInner.of(self.parameters)

    @cached_property
    def outer_slope(self) -> PiecewiseLinear:
        """f_k'."""
        return PiecewiseLinear(self.parameters["knots"], self.parameters["slopes"])

    def _of(self, name: str) -> Tensor:
        return self.parameters[name].unsqueeze(-1)

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self.inner_map.value(x, _mean(sample.inner) if isinstance(sample, SignPair) else None)

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return self.inner_map.vjp(x, v, _mean(sample.inner) if isinstance(sample, SignPair) else None)

    def outer(self, y: Tensor) -> Tensor:
        return self.outer_slope.integral(y).squeeze(-1)

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        exact = self.outer_slope.at(y)
        return exact + self._of("gradient_noise") * _mean(sample.outer) if isinstance(sample, SignPair) else exact

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> SignPair:
        return paired_signs(draws, batch, purpose, self._noisy)

    def atoms(self) -> tuple[SignPair, Tensor]:
        return paired_atoms(self.clients, self._noisy)

    @cached_property
    def landscape(self) -> Landscape:
        """Of F: its derivative breaks where an inner map meets a knot. Constant inner maps meet none."""
        slope, offset = self._of("inner_slope"), self._of("inner_offset")
        meets = (self.parameters["knots"] - offset) / torch.where(slope == 0, torch.inf, slope)
        points = torch.where(torch.isfinite(meets), meets, 0.0).flatten(1)
        return landscape(points, *self._along(points))

    def _along(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """F and F' at `(runs, count)` points."""
        everywhere = points.unsqueeze(1).expand(-1, self.clients, -1)
        y = self._of("inner_slope") * everywhere + self._of("inner_offset")
        slopes = self._of("inner_slope") * self.outer_slope.at(y)
        return self.outer_slope.integral(y).mean(1), slopes.mean(1)

    def constants(self) -> dict[str, Tensor]:
        jitter, inner = self.parameters["gradient_noise"].abs(), self.inner_map.constants()
        lipschitz, smoothness = self.outer_slope.bound, self.outer_slope.lipschitz.amax(-1)
        gap = self.objective(self.start.expand(self.runs, 1)) - self.landscape.infimum
        return {
            **inner,
            "outer_lipschitz": lipschitz.amax(-1),
            "outer_smoothness": smoothness,
            "outer_mean_square_lipschitz": (lipschitz.square() + jitter.square()).amax(-1).sqrt(),
            "outer_gradient_noise": jitter.amax(-1),
            "outer_sample_lipschitz": (lipschitz + jitter).amax(-1),
            "outer_sample_smoothness": smoothness,
            "composite_noise": torch.maximum(inner["inner_noise"], jitter.amax(-1)),
            "objective_smoothness": self.landscape.smoothness,
            "gradient_cap": self.landscape.steepest,
            "objective_gap": gap,
        }


def _mean(signs: Tensor) -> Tensor:
    return batch_mean(signs).unsqueeze(-1)
