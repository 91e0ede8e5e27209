"""Local composites F(x) = (1/K) sum_k f_k(g_k(x)): affine inner maps, outer functions with piecewise linear slopes."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from ...kinds import AbstractLocalComposite, Sample
from .affine import SampledAffineFamily
from .curve import Landscape


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
