"""The surrogate of average precision of a model's score as a conditional problem.

    F(x) = (1/N) sum_n E_{z+} f(E_z g(x; z+, z)),  f(u) = -u_1/u_2,  g = ([y = 1] l, l),  l = max(s - h(z+) + h(z), 0)^2

z+ runs over the positive examples of client n, z over all of them; h is the model's one output.

Source: Wu et al., Federated conditional stochastic optimization, section 5.3, equation (6).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor
from torch.func import grad, vmap

from ...errors import InputError
from ..kinds import Draws, InnerSample, OuterSample
from ..parts.noise import AbstractNumbered
from .base import AbstractModelProblem, ModelParts
from .flat import pulled

_SMALLEST = 1e-12
"""Added to u_2, which is 0 where every pair is ranked rightly by the margin."""


@dataclass(frozen=True, eq=False)
class PrecisionModel(AbstractModelProblem, AbstractNumbered):
    """The problem above.

    Args:
        parts: a model with one output, and data with the labels 0 and 1; as many positive examples at every client.
        margin: s.

    Raises:
        InputError: clients with different numbers of positive examples, or none.
    """

    parts: ModelParts
    margin: float = 1.0
    inner_dim: ClassVar[int] = 2  # type: ignore[misc]

    def __post_init__(self) -> None:
        counts = self._is_positive.sum(-1)
        if int(counts.min()) != int(counts.max()) or int(counts.min()) < 1:
            raise InputError(f"positive examples: wanted as many at every client, got {counts.tolist()}")

    @cached_property
    def _is_positive(self) -> Tensor:
        return (self.parts.train.targets == 1) & (self.parts.train.weights > 0)

    @cached_property
    def positives(self) -> Tensor:
        """Positions of the positive examples, `(clients, positives)`."""
        return torch.stack([torch.nonzero(row).flatten() for row in self._is_positive])

    def _losses(self, x: Tensor, own: Tensor, others: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
        """(u_1, u_2) of one outer sample: own `(1, ...)`, others `(m, ...)`, labels and weights `(m,)`."""
        scores = self.parts.flat.outputs(x, torch.cat([own, others])).flatten()
        loss = (self.margin - scores[0] + scores[1:]).clamp_min(0.0) ** 2
        return torch.stack([(weights * loss * labels).sum(), (weights * loss).sum()])

    def _rows(self, outer: OuterSample, inner: InnerSample | None) -> tuple[Tensor, ...]:
        """The positive examples, and their partners with labels and weights, `(runs, clients, batch, ...)`."""
        train, client = self.parts.train, torch.arange(self.clients)
        own = train.inputs[client.view(-1, 1), self.positives[client.view(-1, 1), outer.outcome]]
        if inner is not None:
            place = client.view(-1, 1, 1)
            equal = torch.full(inner.eta.shape, 1 / inner.eta.shape[-1], dtype=torch.float64)
            return own.unsqueeze(3), train.inputs[place, inner.eta], train.targets[place, inner.eta], equal
        batch, runs = outer.outcome.shape[2], outer.outcome.shape[0]
        everything = train.inputs[None, :, None].expand(runs, -1, batch, *train.inputs.shape[1:])
        labels, weights = (rows[None, :, None].expand(runs, -1, batch, -1) for rows in (train.targets, train.weights))
        return own.unsqueeze(3), everything, labels, weights

    def inner(self, x: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        each = vmap(self._losses, in_dims=(None, 0, 0, 0, 0))
        return self.parts.flat.lanes(each, x, data=self._rows(outer, inner))

    def inner_vjp(self, x: Tensor, v: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        each = vmap(pulled(self._losses), in_dims=(None, 0, 0, 0, 0, 0))
        return self.parts.flat.lanes(each, x, v, data=self._rows(outer, inner))

    def sample_gradient(self, x: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        def slope(at: Tensor, *rows: Tensor) -> Tensor:
            return grad(lambda p: self._ratio(self._losses(p, *rows)))(at)

        each = vmap(slope, in_dims=(None, 0, 0, 0, 0))
        return self.parts.flat.lanes(each, x, data=self._rows(outer, inner))

    @staticmethod
    def _ratio(u: Tensor) -> Tensor:
        return -u[..., 0] / (u[..., 1] + _SMALLEST)

    def outer_value(self, y: Tensor, outer: OuterSample) -> Tensor:
        return self._ratio(y)

    def outer_gradient(self, y: Tensor, outer: OuterSample) -> Tensor:
        below = y[..., 1] + _SMALLEST
        return torch.stack([-1 / below, y[..., 0] / below**2], dim=-1)

    @property
    def outer_outcomes(self) -> int:
        return self.positives.shape[1]

    @property
    def inner_outcomes(self) -> int:
        return self.parts.train.common

    def sample_inner(self, draws: Draws, outer: OuterSample, m: int, purpose: str = "inner") -> InnerSample:
        uniform = draws.uniform(purpose, outer.outcome.shape[-1], m)
        counts = self.parts.train.counts.view(1, -1, 1, 1)
        return InnerSample(torch.minimum((uniform * counts).long(), counts - 1))
