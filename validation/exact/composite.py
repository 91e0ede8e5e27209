"""The composite kinds in exact numbers: affine inner maps behind outer functions with piecewise linear slopes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ...synthetic.families.piecewise import ConditionalFamily, LocalCompositeFamily, SharedCompositeFamily
from ...synthetic.kinds import InnerSample
from .base import OfOneCurve, Signs, at, curves, per_client, per_lane, times
from .curve import Curve, composed, mean, total
from .function import Function, Joined, WithSlope
from .noise import Noisy
from .sampled import Sampled
from .tensor import ExactTensor, raw

Q = Fraction


class _AffineInner(OfOneCurve):
    """What the composite kinds have in common: g_k(x) = slope_k x + offset_k, with noise as `NoisyInner` has it."""

    @property
    def slopes(self) -> list[Fraction]:
        listed: list[Fraction] = self.parameters["inner_slope"]
        return listed

    @property
    def offsets(self) -> list[Fraction]:
        listed: list[Fraction] = self.parameters["inner_offset"]
        return listed

    def inner_number(self, k: int, x: Any) -> Any:
        return self.slopes[k] * x + self.offsets[k]

    @cached_property
    def jacobian_noises(self) -> list[Curve]:
        """What a sign multiplies in the Jacobian of each client.

        Raises:
            ValueError: noise without a reach.
        """
        sizes = self.parameters.get("jacobian_noise") or [Q(0)] * len(self.slopes)
        reach = self.parameters.get("noise_reach", Q(0))
        if any(sizes) and not reach > 0:
            raise ValueError(f"noise_reach: wanted a positive number, got {reach}")
        silent = Curve(((Q(0), Q(0)),))
        return [Curve(((-2 * reach, Q(0)), (-reach, j), (reach, j), (2 * reach, Q(0)))) if j else silent for j in sizes]

    @cached_property
    def inner_noises(self) -> list[Function]:
        """What a sign multiplies in the value of each client's inner map."""
        given = zip(self.noises["value_noise"], self.jacobian_noises, strict=True)
        return [Joined(value, WithSlope(slope)) if slope.bound() else value for value, slope in given]

    def inner(self, x: Any, sample: Signs | None = None) -> ExactTensor:
        signs, noises = sample.inner if sample else None, self.inner_noises

        def jolted(r: int, k: int, t: Any) -> Any:
            size = Q(0) if signs is None else noises[k].at(t)
            return self.inner_number(k, t) + (Q(0) if size == 0 else product(size, raw(signs)[r, k]))

        return per_lane(jolted, x)

    def inner_vjp(self, x: Any, v: Any, sample: Signs | None = None) -> ExactTensor:
        signs, noises, points = sample.inner if sample else None, self.inner_noises, raw(x)

        def pulled(r: int, k: int, number: Any) -> Any:
            return times(self.slopes[k] + self._jolt(noises[k].slope(points[r, k, 0]), k, signs, r), number)

        return per_lane(pulled, v)

    def _inner_functions(self) -> dict[str, Sampled]:
        jacobians, steep = [Curve(((Q(0), slope),)) for slope in self.slopes], self.jacobian_noises
        return {
            "inner_value": Sampled.of_lines(self.slopes, self.offsets, self.noise_sizes("value_noise"), steep),
            "inner_jacobian": Sampled.of(jacobians, steep),
            "objective_gradient": self.gradient_of_objective,
        }


class _OwnOuter(_AffineInner):
    """F is the mean over the clients of f_k(slope_k x + offset_k), an outer function each."""

    @cached_property
    def outer_slopes(self) -> list[Curve]:
        return curves(self.parameters["knots"], self.parameters["slopes"])

    @cached_property
    def derivative(self) -> Curve:
        """F'."""
        parts = zip(self.outer_slopes, self.slopes, self.offsets, strict=True)
        return mean([composed(curve, slope, offset) for curve, slope, offset in parts])

    def functions(self) -> dict[str, Sampled]:
        outer = Sampled.of(self.outer_slopes, self.noise_sizes("gradient_noise"))
        return {**self._inner_functions(), "outer_gradient": outer}

    def of_the_objective(self) -> dict[str, Fraction]:
        return {"objective_gap": self.gap}


class ExactLocalComposite(_OwnOuter):
    """F(x) = (1/K) sum_k f_k(slope_k x + offset_k)."""

    FAMILY = LocalCompositeFamily

    def outer_gradient(self, y: Any, sample: Signs | None = None) -> ExactTensor:
        signs = sample.outer if sample else None
        return self._with_noise(lambda k, t: at(self.outer_slopes[k], t), "gradient_noise", signs, y)


class ExactSharedComposite(_AffineInner):
    """Phi(x) = (1/K) sum_k h_k(x) + f((1/K) sum_k (slope_k x + offset_k)); `estimate` is y^0."""

    FAMILY = SharedCompositeFamily

    @cached_property
    def outer_slope(self) -> Curve:
        return curves(self.parameters["knots"], self.parameters["slopes"])[0]

    @cached_property
    def extra_slopes(self) -> list[Curve]:
        return curves(self.parameters["extra_knots"], self.parameters["extra_slopes"])

    @cached_property
    def _mean_inner(self) -> tuple[Fraction, Fraction]:
        return sum(self.slopes, Q(0)) / self.clients, sum(self.offsets, Q(0)) / self.clients

    estimated: ClassVar[str] = "initial estimate of the inner value"

    @property
    def right_estimate(self) -> Fraction:
        slope, offset = self._mean_inner
        return slope * self.start + offset

    @cached_property
    def derivative(self) -> Curve:
        """Phi'."""
        return total([composed(self.outer_slope, *self._mean_inner), mean(self.extra_slopes)])

    def outer_gradient(self, y: Any, sample: Signs | None = None) -> ExactTensor:
        return per_client(lambda _, number: at(self.outer_slope, number), y)

    def extra_gradient(self, x: Any, sample: Signs | None = None) -> ExactTensor:
        signs = sample.outer if sample else None
        return self._with_noise(lambda k, t: at(self.extra_slopes[k], t), "gradient_noise", signs, x)

    def functions(self) -> dict[str, Sampled]:
        return {
            **self._inner_functions(),
            "outer_gradient": Sampled.of([self.outer_slope]),
            "extra_gradient": Sampled.of(self.extra_slopes, self.noise_sizes("gradient_noise")),
        }

    def of_the_objective(self) -> dict[str, Fraction]:
        return {
            "objective_gap": self.gap,
            "initial_inner_error": abs(self.parameters["estimate"] - self.right_estimate),
        }


@dataclass(frozen=True)
class OuterSigns:
    """A batch of outcomes of xi, of which `count` are told apart; `drawn` gives its signs `(runs, clients, batch)`, where it has noise.

    They are drawn when the noise first acts.
    """

    count: int
    drawn: Callable[[], Any] | None = None


class ExactConditional(_OwnOuter):
    """F(x) = (1/N) sum_n E_xi f_n(slope_n x + offset_n; xi), f_n' off by gradient_noise_n xi with a fair sign xi."""

    FAMILY = ConditionalFamily
    OLDER = frozenset(("gradient_noise",))

    def sample_outer(self, draws: Any, batch: int, purpose: str = "outer") -> OuterSigns:
        """Without noise every batch is one sample."""
        if self._jolted("gradient_noise"):
            drawn = cache(lambda: draws.signs(purpose, batch))
            return OuterSigns(drawn().shape[-1] if self._jolted("value_noise") else 1, drawn)
        return OuterSigns(batch if self.is_noisy else 1)

    def sample_inner(self, draws: Any, outer: OuterSigns, m: int, purpose: str = "inner") -> InnerSample:
        if self._jolted("value_noise"):
            return InnerSample(draws.signs(purpose, outer.count, m))
        return InnerSample(torch.zeros(1, self.clients, outer.count, 1))

    def outer_atoms(self) -> tuple[OuterSigns, Tensor]:
        if not self._jolted("gradient_noise"):
            return OuterSigns(1), torch.ones(1, dtype=torch.float64)
        signs = torch.tensor([1.0, -1.0], dtype=torch.float64).expand(1, self.clients, -1)
        return OuterSigns(2, lambda: signs), torch.full((2,), 0.5, dtype=torch.float64)

    def inner_atoms(self, outer: OuterSigns) -> tuple[InnerSample, Tensor]:
        signs = torch.tensor([1.0, -1.0] if self._jolted("value_noise") else [0.0], dtype=torch.float64)
        weights = torch.full((len(signs),), 1 / len(signs), dtype=torch.float64)
        return InnerSample(signs.expand(1, self.clients, outer.count, -1)), weights

    def sample_gradient(self, x: Any, outer: OuterSigns, inner: InnerSample | None = None) -> ExactTensor:
        """(runs, clients, batch, 1): the chain rule at the mean of the inner draws of each outer sample."""
        points = raw(x)
        within = None if inner is None else raw(inner.eta).mean(-1)
        values = np.empty((len(points), self.clients, outer.count), dtype=object)
        for r, k, i in np.ndindex(values.shape):
            jolt = _part(self.parameters["value_noise"][k], within, r, k, i)
            values[r, k, i] = self.inner_number(k, points[r, k, 0]) + jolt
        sizes = per_client(lambda k, y: self.noises["gradient_noise"][k].slope(y), values).numbers
        without = None if outer.drawn is None or not any(size != 0 for size in sizes.flat) else raw(outer.drawn())
        result = np.empty((*values.shape[:2], outer.count if without is None else without.shape[-1], 1), dtype=object)
        for r, k, i in np.ndindex(result.shape[:3]):
            one = i % outer.count
            slope = at(self.outer_slopes[k], values[r, k, one]) + _part(sizes[r, k, one], without, r, k, i)
            result[r, k, i, 0] = self.slopes[k] * slope
        return ExactTensor.of(result)


def _part(size: Any, signs: Any, run: int, k: int, i: int) -> Any:
    """What a noise of this size adds to one sample of one client in one run."""
    return Q(0) if signs is None or size == 0 else times(size, signs[run % len(signs), k, i])


def product(a: Any, b: Any) -> Any:
    """A product of numbers; of two that are random no more is known than its affine part and the size of the rest."""
    return Noisy.blurred(a, b) if isinstance(a, Noisy) and isinstance(b, Noisy) and a.parts and b.parts else a * b
