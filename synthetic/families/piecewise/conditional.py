"""Conditional compositions F(x) = (1/N) sum_n E_xi f_n(E_eta g_n(x; eta); xi) with fair signs xi and eta."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ...kinds import AbstractConditional, Draws, InnerSample, OuterSample
from .curve import Landscape, PiecewiseLinear, landscape
from .family import Family


class ConditionalFamily(Family, AbstractConditional):
    """g_n(x; eta) = slope_n x + offset_n + value_noise_n eta and f_n'(y; xi) = p_n(y) + gradient_noise_n xi, p_n piecewise linear.

    eta = +-1 and xi = +-1. Without noise an outer batch of any size is one sample: batch sizes cost nothing.
    """

    SHAPES: ClassVar[Mapping[str, str]] = {
        "inner_slope": "client",
        "inner_offset": "client",
        "value_noise": "client",
        "gradient_noise": "client",
        "knots": "knots",
        "slopes": "knots",
        "start": "run",
    }

    @cached_property
    def outer_slope(self) -> PiecewiseLinear:
        """p_n, the mean of f_n' over xi."""
        return PiecewiseLinear(self.parameters["knots"], self.parameters["slopes"])

    def _of(self, name: str) -> Tensor:
        return self.parameters[name].unsqueeze(-1).unsqueeze(-1)

    def sample_outer(self, draws: Draws, batch: int, purpose: str = "outer") -> OuterSample:
        if self._noisy[1]:
            return OuterSample(draws.signs(purpose, batch))
        return OuterSample(torch.zeros(1, self.clients, batch if self._is_noisy else 1, dtype=torch.float64))

    def sample_inner(self, draws: Draws, outer: OuterSample, m: int, purpose: str = "inner") -> InnerSample:
        batch = outer.outcome.shape[-1]
        if not self._noisy[0]:
            return InnerSample(torch.zeros(1, self.clients, batch, 1, dtype=torch.float64))
        return InnerSample(draws.signs(purpose, batch, m))

    def inner(self, x: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        exact = self._of("inner_slope") * x.unsqueeze(2) + self._of("inner_offset")
        if inner is None:
            return exact.expand(-1, -1, outer.outcome.shape[-1], -1)
        return exact + self._of("value_noise") * inner.eta.mean(-1, keepdim=True)

    def inner_vjp(self, x: Tensor, v: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        return self._of("inner_slope") * v

    def outer_value(self, y: Tensor, outer: OuterSample) -> Tensor:
        linear = self.parameters["gradient_noise"].unsqueeze(-1) * outer.outcome * y.squeeze(-1)
        return self.outer_slope.integral(y.squeeze(-1)) + linear

    def outer_gradient(self, y: Tensor, outer: OuterSample) -> Tensor:
        exact = self.outer_slope.at(y.squeeze(-1)).unsqueeze(-1)
        return exact + self._of("gradient_noise") * outer.outcome.unsqueeze(-1) if self._noisy[1] else exact

    def outer_atoms(self) -> tuple[OuterSample, Tensor]:
        signs = torch.tensor([1.0, -1.0] if self._noisy[1] else [0.0], dtype=torch.float64)
        return OuterSample(signs.expand(1, self.clients, -1)), torch.full(
            (len(signs),), 1 / len(signs), dtype=torch.float64
        )

    def inner_atoms(self, outer: OuterSample) -> tuple[InnerSample, Tensor]:
        signs = torch.tensor([1.0, -1.0] if self._noisy[0] else [0.0], dtype=torch.float64)
        weights = torch.full((len(signs),), 1 / len(signs), dtype=torch.float64)
        return InnerSample(signs.expand(*outer.outcome.shape, len(signs))), weights

    @cached_property
    def landscape(self) -> Landscape:
        """Of F: its derivative breaks where an inner map meets a knot."""
        slope, offset = (self.parameters[name].unsqueeze(-1) for name in ("inner_slope", "inner_offset"))
        meets = (self.parameters["knots"] - offset) / torch.where(slope == 0, torch.inf, slope)
        points = torch.where(torch.isfinite(meets), meets, 0.0).flatten(1)
        y = slope * points.unsqueeze(1) + offset
        values, slopes = self.outer_slope.integral(y).mean(1), (slope * self.outer_slope.at(y)).mean(1)
        return landscape(points, values, slopes)

    def constants(self) -> dict[str, Tensor]:
        slope = self.parameters["inner_slope"].abs().amax(-1)
        value_noise = self.parameters["value_noise"].abs().amax(-1)
        lipschitz, smoothness = self.outer_slope.bound, self.outer_slope.lipschitz.amax(-1)
        jitter = self.parameters["gradient_noise"].abs()
        flat = torch.zeros_like(slope)
        return {
            "outer_mean_square_lipschitz": (lipschitz.square() + jitter.square()).amax(-1).sqrt(),
            "outer_sample_lipschitz": (lipschitz + jitter).amax(-1),
            "outer_sample_smoothness": smoothness,
            "inner_jacobian_mean_square": slope,
            "inner_value_noise": value_noise,
            "inner_sample_lipschitz": slope,
            "inner_sample_smoothness": flat,
            "objective_smoothness": self.landscape.smoothness,
            "gradient_cap": self.landscape.steepest,
            "objective_gap": self.objective(self.start.expand(self.runs, 1)) - self.landscape.infimum,
        }
