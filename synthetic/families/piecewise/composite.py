"""Compositions of affine, noisy inner maps with outer functions whose slopes are piecewise linear: local, shared and conditional ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ...kinds import (
    AbstractConditional,
    AbstractLocalComposite,
    AbstractSharedComposite,
    Draws,
    InnerSample,
    OuterSample,
    Sample,
)
from ...parts.noise import mean_sign
from ...parts.patterns import equal_weights
from .curve import Landscape, PiecewiseLinear, landscape, preimages
from .family import Family, SampledFamily

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


_OF_CONDITIONAL = (
    "outer_mean_square_lipschitz",
    "outer_sample_lipschitz",
    "outer_sample_smoothness",
    "inner_jacobian_mean_square",
    "inner_value_noise",
    "inner_sample_lipschitz",
    "inner_sample_smoothness",
)


class ConditionalFamily(AffineFamily, AbstractConditional):
    """g_n(x; eta) = slope_n x + offset_n + value_noise_n eta and f_n'(y; xi) = p_n(y) + gradient_noise_n xi, p_n piecewise linear.

    eta = +-1 and xi = +-1. Without noise an outer batch of any size is one sample: batch sizes cost nothing.
    """

    def _drawn(self, name: str) -> Tensor:
        """A parameter with axes for a batch and for x, `(runs, clients, 1, 1)`."""
        return self._of(name).unsqueeze(-1)

    def sample_outer(self, draws: Draws, batch: int, purpose: str = "outer") -> OuterSample:
        if self._noisy[1]:
            return OuterSample(draws.signs(purpose, batch))
        return OuterSample(torch.zeros(1, self.clients, batch if any(self._noisy) else 1, dtype=torch.float64))

    def sample_inner(self, draws: Draws, outer: OuterSample, m: int, purpose: str = "inner") -> InnerSample:
        batch = outer.outcome.shape[-1]
        if not self._noisy[0]:
            return InnerSample(torch.zeros(1, self.clients, batch, 1, dtype=torch.float64))
        return InnerSample(draws.signs(purpose, batch, m))

    def inner(self, x: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        exact = self.inner_map.value(x).unsqueeze(2)
        if inner is None:
            return exact.expand(-1, -1, outer.outcome.shape[-1], -1)
        return exact + self._drawn("value_noise") * inner.eta.mean(-1, keepdim=True)

    def inner_vjp(self, x: Tensor, v: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        return self._drawn("inner_slope") * v

    def outer_value(self, y: Tensor, outer: OuterSample) -> Tensor:
        linear = self._of("gradient_noise") * outer.outcome * y.squeeze(-1)
        return self.slope.integral(y.squeeze(-1)) + linear

    def outer_gradient(self, y: Tensor, outer: OuterSample) -> Tensor:
        exact = self.slope.at(y.squeeze(-1)).unsqueeze(-1)
        return exact + self._drawn("gradient_noise") * outer.outcome.unsqueeze(-1) if self._noisy[1] else exact

    def outer_atoms(self) -> tuple[OuterSample, Tensor]:
        signs = _signs(self._noisy[1])
        return OuterSample(signs.expand(1, self.clients, -1)), equal_weights(len(signs), "cpu")

    def inner_atoms(self, outer: OuterSample) -> tuple[InnerSample, Tensor]:
        signs = _signs(self._noisy[0])
        return InnerSample(signs.expand(*outer.outcome.shape, len(signs))), equal_weights(len(signs), "cpu")

    @cached_property
    def landscape(self) -> Landscape:
        """Of F."""
        return self._of_compositions()

    def constants(self) -> dict[str, Tensor]:
        parts = self._of_the_parts()
        return {**{name: parts[name] for name in _OF_CONDITIONAL}, **self.landscape.constants(self._at_start)}


def _signs(noisy: bool) -> Tensor:
    return torch.tensor([1.0, -1.0] if noisy else [0.0], dtype=torch.float64)
