"""Affine inner maps with the noise of a fair sign on their values and on their Jacobians."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

_WHOLE = 1.5
"""Integral of a Jacobian's noise over all points to one side of 0, in units of its size times its reach."""


@dataclass(frozen=True, eq=False)
class NoisyInner:
    """g_k(x; z) = slope_k x + offset_k + z n_k(x) with a fair sign z and n_k(x) = value_noise_k + the integral of N_k from 0 to x.

    N_k, the noise of the Jacobian, is jacobian_noise_k at most `noise_reach` from 0, falls on a line to 0 at twice that, and is 0 beyond.
    So every sample is bounded in its noise, and has a Jacobian with the Lipschitz constant |jacobian_noise_k| / noise_reach.

    Args:
        slope, offset, value_noise, jacobian_noise: `(runs, clients, 1)`.
        reach: `(runs, 1, 1)`.
    """

    slope: Tensor
    offset: Tensor
    value_noise: Tensor
    jacobian_noise: Tensor | None
    reach: Tensor | None

    ABSENT: ClassVar[frozenset[str]] = frozenset(("jacobian_noise", "noise_reach"))
    """Parameters that may be left out: then Jacobians have no noise."""
    SIGNED: ClassVar[tuple[str, ...]] = ("value_noise", "jacobian_noise")
    """Parameters that the sign multiplies."""

    @staticmethod
    def of(parameters: Mapping[str, Tensor]) -> NoisyInner:
        """From the parameters of a family; Jacobians without noise where none of the runs has any."""
        slope, offset, value = (
            parameters[name].unsqueeze(-1) for name in ("inner_slope", "inner_offset", "value_noise")
        )
        size = parameters.get("jacobian_noise")
        if size is None or not bool((size != 0).any()):
            return NoisyInner(slope, offset, value, None, None)
        reach = parameters.get("noise_reach", torch.zeros_like(size[:, :1]))
        return NoisyInner(slope, offset, value, size.unsqueeze(-1), reach.unsqueeze(-1))

    def value(self, x: Tensor, signs: Tensor | None = None) -> Tensor:
        """g_k, off by the mean sign of a batch, `(runs, clients, 1)`, where there is one."""
        exact = self.slope * x + self.offset
        return exact if signs is None else exact + self._value_noise(x) * signs

    def _value_noise(self, x: Tensor) -> Tensor:
        if self.jacobian_noise is None:
            return self.value_noise
        far = self._far(x).clamp_max(2.0)
        area = far - (far - 1).clamp_min(0.0).square() / 2
        return self.value_noise + self.jacobian_noise * self._width * area * x.sign()

    def vjp(self, x: Tensor, v: Tensor, signs: Tensor | None = None) -> Tensor:
        """The transposed Jacobian times v."""
        if signs is None or self.jacobian_noise is None:
            return self.slope * v
        return (self.slope + self.jacobian_noise * (2 - self._far(x)).clamp(0.0, 1.0) * signs) * v

    @property
    def _width(self) -> Tensor:
        assert self.reach is not None
        return torch.where(self.reach > 0, self.reach, 1.0)

    def _far(self, x: Tensor) -> Tensor:
        """How far x is from 0, in units of the reach."""
        return x.abs() / self._width

    def constants(self) -> dict[str, Tensor]:
        """Quantity -> its supremum over points, samples and clients, `(runs,)`; infinite where noise has no reach."""
        slope, of_value = self.slope.abs().squeeze(-1), self.value_noise.abs().squeeze(-1)
        flat = torch.zeros_like(slope[:, 0])
        mean_square, of_jacobian, bend = slope, torch.zeros_like(slope), torch.zeros_like(slope)
        if self.jacobian_noise is not None and self.reach is not None:
            of_jacobian, reach = self.jacobian_noise.abs().squeeze(-1), self.reach.squeeze(-1)
            is_noisy = of_jacobian != 0
            mean_square = torch.where(is_noisy, torch.hypot(slope, of_jacobian), slope)
            bend = torch.where(is_noisy, torch.where(reach > 0, of_jacobian / self._width.squeeze(-1), torch.inf), bend)
            of_value = of_value + _WHOLE * of_jacobian * reach.clamp_min(0.0)
        value_noise, jacobian_noise = of_value.amax(-1), of_jacobian.amax(-1)
        return {
            "inner_lipschitz": slope.amax(-1),
            "inner_smoothness": flat,
            "inner_mean_square_lipschitz": mean_square.amax(-1),
            "inner_jacobian_mean_square": mean_square.amax(-1),
            "inner_jacobian_noise": jacobian_noise,
            "inner_value_noise": value_noise,
            "inner_noise": torch.maximum(value_noise, jacobian_noise),
            "inner_sample_lipschitz": (slope + of_jacobian).amax(-1),
            "inner_sample_smoothness": bend.amax(-1),
        }
