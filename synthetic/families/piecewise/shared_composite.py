"""Shared composites Phi(x) = (1/K) sum_k h_k(x) + f((1/K) sum_k g_k(x)): affine g_k, piecewise linear f' and h_k'."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ...kinds import AbstractSharedComposite, Draws, Sample, batch_mean
from .curve import Landscape, PiecewiseLinear, landscape
from .family import Family
from .inner import NoisyInner
from .noise import SignPair, paired_atoms, paired_signs


class SharedCompositeFamily(Family, AbstractSharedComposite):
    """Affine g_k(x; z), their noise as `NoisyInner` has it, h_k'(x; s) = p_k(x) + gradient_noise_k s, f' piecewise linear.

    `estimate` is the free initial estimate y^0 of the inner value.
    """

    SHAPES: ClassVar[Mapping[str, str]] = {
        "inner_slope": "client",
        "inner_offset": "client",
        "value_noise": "client",
        "gradient_noise": "client",
        "knots": "shared",
        "slopes": "shared",
        "extra_knots": "knots",
        "extra_slopes": "knots",
        "start": "run",
        "estimate": "run",
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
        """f', the same for all clients."""
        return PiecewiseLinear(self.parameters["knots"], self.parameters["slopes"])

    @cached_property
    def extra_slope(self) -> PiecewiseLinear:
        """h_k'."""
        return PiecewiseLinear(self.parameters["extra_knots"], self.parameters["extra_slopes"])

    def _of(self, name: str) -> Tensor:
        return self.parameters[name].unsqueeze(-1)

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self.inner_map.value(x, _mean(sample.inner) if isinstance(sample, SignPair) else None)

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return self.inner_map.vjp(x, v, _mean(sample.inner) if isinstance(sample, SignPair) else None)

    def outer(self, y: Tensor) -> Tensor:
        return (
            self.outer_slope.integral(y.unsqueeze(1)).squeeze(1).squeeze(-1)
            if y.dim() == 2
            else (self.outer_slope.integral(y).squeeze(-1))
        )

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self.outer_slope.at(y.unsqueeze(1)).squeeze(1) if y.dim() == 2 else self.outer_slope.at(y)

    def extra(self, x: Tensor) -> Tensor:
        return self.extra_slope.integral(x).squeeze(-1)

    def extra_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        exact = self.extra_slope.at(x)
        if not isinstance(sample, SignPair):
            return exact
        return exact + self._of("gradient_noise") * _mean(sample.outer)

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> SignPair:
        return paired_signs(draws, batch, purpose, self._noisy)

    def atoms(self) -> tuple[SignPair, Tensor]:
        return paired_atoms(self.clients, self._noisy)

    @cached_property
    def landscape(self) -> Landscape:
        """Of Phi: its derivative breaks at the knots of h_k and where the mean inner map meets those of f."""
        slope, offset = self._of("inner_slope").mean(1), self._of("inner_offset").mean(1)
        meets = (self.parameters["knots"][:, 0] - offset) / torch.where(slope == 0, torch.inf, slope)
        meets = torch.where(torch.isfinite(meets), meets, 0.0)
        points = torch.cat([meets, self.parameters["extra_knots"].flatten(1)], dim=-1)
        y = (slope * points + offset).unsqueeze(1)
        everywhere = points.unsqueeze(1).expand(-1, self.clients, -1)
        values = self.outer_slope.integral(y).squeeze(1) + self.extra_slope.integral(everywhere).mean(1)
        slopes = slope * self.outer_slope.at(y).squeeze(1) + self.extra_slope.at(everywhere).mean(1)
        return landscape(points, values, slopes)

    def constants(self) -> dict[str, Tensor]:
        per_client = self.parameters["inner_slope"]
        own, mean = self.parameters["extra_knots"], self.parameters["extra_slopes"]
        shared_knots = bool((own == own[:, :1]).all())
        apart = (mean - mean.mean(1, keepdim=True)).abs().amax((-1, -2))
        spread = apart if shared_knots else 2 * self.extra_slope.bound.amax(-1)
        start = self.start.expand(self.runs, 1)
        return {
            **self.inner_map.constants(),
            "noncompositional_smoothness": self.extra_slope.lipschitz.amax(-1),
            "noncompositional_sample_smoothness": self.extra_slope.lipschitz.amax(-1),
            "noncompositional_gradient_noise": self.parameters["gradient_noise"].abs().amax(-1),
            "noncompositional_heterogeneity": spread,
            "outer_lipschitz": self.outer_slope.bound.amax(-1),
            "outer_smoothness": self.outer_slope.lipschitz.amax(-1),
            "inner_jacobian_heterogeneity": (per_client - per_client.mean(-1, keepdim=True)).abs().amax(-1),
            "objective_smoothness": self.landscape.smoothness,
            "gradient_cap": self.landscape.steepest,
            "objective_gap": self.objective(start) - self.landscape.infimum,
            "initial_inner_error": (self.parameters["estimate"] - self.inner_mean(start)).abs().squeeze(-1),
        }


def _mean(signs: Tensor) -> Tensor:
    return batch_mean(signs).unsqueeze(-1)
