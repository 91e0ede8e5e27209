"""Conditional compositions F(x) = (1/N) sum_n E_xi f_n(E_eta g_n(x; eta); xi) with fair signs xi and eta."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from ...kinds import AbstractConditional, Draws, InnerSample, OuterSample
from ...parts.patterns import equal_weights
from .composite import AffineFamily
from .curve import Landscape

_CONSTANTS = (
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
        return {**{name: parts[name] for name in _CONSTANTS}, **self.landscape.constants(self._at_start)}


def _signs(noisy: bool) -> Tensor:
    return torch.tensor([1.0, -1.0] if noisy else [0.0], dtype=torch.float64)
