"""Piecewise linear functions with tensors of knots, and their first two antiderivatives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class PiecewiseLinear:
    """Linear between its knots, constant outside: one function for each run and client.

    Args:
        knots: increasing positions, `(runs, clients, count)`.
        values: the values there, of the same shape.
    """

    knots: Tensor
    values: Tensor

    @cached_property
    def _pieces(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Left ends, widths, rates and rises of the pieces, `(runs, clients, count - 1)`."""
        widths, rises = self.knots.diff(dim=-1), self.values.diff(dim=-1)
        return self.knots[..., :-1].contiguous(), widths, rises / widths, rises

    def at(self, t: Tensor) -> Tensor:
        """The value at t, `(runs, clients, points) -> same`."""
        left, widths, rates, _ = self._pieces
        inside = _inside(t, left, widths)
        return self.values[..., :1] + (rates.unsqueeze(-2) * inside).sum(-1)

    def integral(self, t: Tensor) -> Tensor:
        """The integral from the first knot to t. Shapes as in `at`."""
        left, widths, rates, rises = self._pieces
        inside, beyond = _inside(t, left, widths), _beyond(t, left, widths)
        parts = rates.unsqueeze(-2) * inside.square() / 2 + rises.unsqueeze(-2) * beyond
        return self.values[..., :1] * (t - self.knots[..., :1]) + parts.sum(-1)

    def second_integral(self, t: Tensor) -> Tensor:
        """The integral of `integral` from the first knot to t. Shapes as in `at`."""
        left, widths, rates, rises = self._pieces
        inside, beyond = _inside(t, left, widths), _beyond(t, left, widths)
        half_width = (widths / 2).unsqueeze(-2)
        parts = rates.unsqueeze(-2) * inside.square() * inside / 6 + rises.unsqueeze(-2) * beyond * (
            half_width + beyond / 2
        )
        return self.values[..., :1] * (t - self.knots[..., :1]).square() / 2 + parts.sum(-1)

    @property
    def bound(self) -> Tensor:
        """sup of the absolute value, `(runs, clients)`."""
        return self.values.abs().amax(-1)

    @property
    def lipschitz(self) -> Tensor:
        """The Lipschitz constant, `(runs, clients)`."""
        return self._pieces[2].abs().amax(-1)


def _inside(t: Tensor, left: Tensor, widths: Tensor) -> Tensor:
    """How much of each piece lies left of t, `(runs, clients, points, pieces)`."""
    offset = t.unsqueeze(-1) - left.unsqueeze(-2)
    return torch.minimum(offset.clamp_min(0.0), widths.unsqueeze(-2))


def _beyond(t: Tensor, left: Tensor, widths: Tensor) -> Tensor:
    """How far t lies to the right of each piece."""
    return (t.unsqueeze(-1) - (left + widths).unsqueeze(-2)).clamp_min(0.0)


@dataclass(frozen=True, eq=False)
class Landscape:
    """What is known exactly of an objective whose derivative is piecewise linear, one per run.

    `infimum` is minus infinity where the objective is unbounded below; `smoothness` is the Lipschitz constant of the
    derivative.
    """

    infimum: Tensor
    smoothness: Tensor
    steepest: Tensor


def landscape(points: Tensor, values: Tensor, slopes: Tensor) -> Landscape:
    """The infimum and the smoothness of an objective from its values and derivatives at every breakpoint.

    Args:
        points: positions `(runs, count)` in any order that hold every breakpoint of the derivative.
        values, slopes: the objective and its derivative there.
    """
    points, order = points.sort(dim=-1)
    values, slopes = values.gather(-1, order), slopes.gather(-1, order)
    widths, rises = points.diff(dim=-1), slopes.diff(dim=-1)
    crosses = (slopes[:, :-1] < 0) & (slopes[:, 1:] > 0)
    fall = slopes[:, :-1].square() * widths / (2 * torch.where(crosses, rises, 1.0))
    between = torch.where(crosses, values[:, :-1] - fall, torch.inf)
    lowest = torch.minimum(values.amin(-1), between.amin(-1))
    unbounded = (slopes[:, 0] > 0) | (slopes[:, -1] < 0)
    rates = torch.where(widths > 0, rises.abs() / widths.clamp_min(1e-300), 0.0)
    return Landscape(torch.where(unbounded, -torch.inf, lowest), rates.amax(-1), slopes.abs().amax(-1))
