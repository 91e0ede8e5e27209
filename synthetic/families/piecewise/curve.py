"""Piecewise linear functions with tensors of knots, and their first two antiderivatives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class PiecewiseLinear:
    """Linear between its knots, and outside with one rate: one function for each run and client.

    Args:
        knots: increasing positions, `(runs, clients, count)`.
        values: the values there, of the same shape.
        beyond: the rate outside the knots, `(runs, 1)`; constant there without it.
    """

    knots: Tensor
    values: Tensor
    beyond: Tensor | None = None

    @cached_property
    def _pieces(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Left ends, widths, rates and rises of the pieces, `(runs, clients, count - 1)`."""
        widths, rises = self.knots.diff(dim=-1), self.values.diff(dim=-1)
        return self.knots[..., :-1].contiguous(), widths, rises / widths, rises

    def at(self, t: Tensor) -> Tensor:
        """The value at t, `(runs, clients, points) -> same`."""
        left, widths, rates, _ = self._pieces
        inside = _inside(t, left, widths)
        found = self.values[..., :1] + (rates.unsqueeze(-2) * inside).sum(-1)
        return found if self.beyond is None else found + self.beyond.unsqueeze(-1) * sum(self._outside(t))

    def _outside(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """How far t is left of the first knot, at most 0, and right of the last one, at least 0."""
        return (t - self.knots[..., :1]).clamp_max(0.0), (t - self.knots[..., -1:]).clamp_min(0.0)

    def integral(self, t: Tensor) -> Tensor:
        """The integral from the first knot to t. Shapes as in `at`."""
        left, widths, rates, rises = self._pieces
        inside, beyond = _inside(t, left, widths), _beyond(t, left, widths)
        parts = rates.unsqueeze(-2) * inside.square() / 2 + rises.unsqueeze(-2) * beyond
        found = self.values[..., :1] * (t - self.knots[..., :1]) + parts.sum(-1)
        if self.beyond is None:
            return found
        return found + self.beyond.unsqueeze(-1) * sum(part.square() for part in self._outside(t)) / 2

    def second_integral(self, t: Tensor) -> Tensor:
        """The integral of `integral` from the first knot to t. Shapes as in `at`."""
        left, widths, rates, rises = self._pieces
        inside, beyond = _inside(t, left, widths), _beyond(t, left, widths)
        half_width = (widths / 2).unsqueeze(-2)
        parts = rates.unsqueeze(-2) * inside.square() * inside / 6 + rises.unsqueeze(-2) * beyond * (
            half_width + beyond / 2
        )
        found = self.values[..., :1] * (t - self.knots[..., :1]).square() / 2 + parts.sum(-1)
        if self.beyond is None:
            return found
        return found + self.beyond.unsqueeze(-1) * sum(part**3 for part in self._outside(t)) / 6

    @property
    def bound(self) -> Tensor:
        """sup of the absolute value, `(runs, clients)`; infinite where it is not constant outside the knots."""
        largest = self.values.abs().amax(-1)
        return largest if self.beyond is None else torch.where(self.beyond == 0, largest, torch.inf)

    @property
    def lipschitz(self) -> Tensor:
        """The Lipschitz constant, `(runs, clients)`."""
        steepest = self._pieces[2].abs().amax(-1)
        return steepest if self.beyond is None else torch.maximum(steepest, self.beyond.abs())


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

    `infimum` is minus infinity where the objective is unbounded below, and is attained at `minimiser` elsewhere; `smoothness` is the
    Lipschitz constant of the derivative, `flattest` its least rate, `polyak_lojasiewicz` the largest constant of that inequality (0 where
    it holds with none), `bottom` its rate beside the minimiser. Values are off by `rounding` at most.
    """

    infimum: Tensor
    smoothness: Tensor
    steepest: Tensor
    minimiser: Tensor
    flattest: Tensor
    polyak_lojasiewicz: Tensor
    bottom: Tensor
    rounding: Tensor

    def constants(self, start: Tensor) -> dict[str, Tensor]:
        """Those of an objective that has these values at the start, `(runs,)`."""
        return {
            "objective_smoothness": self.smoothness,
            "gradient_cap": self.steepest,
            "objective_gap": start - self.infimum,
        }


def landscape(points: Tensor, values: Tensor, slopes: Tensor, beyond: Tensor | None = None) -> Landscape:
    """What an objective is like, from its values and derivatives at every breakpoint.

    Args:
        points: positions `(runs, count)` in any order that hold every breakpoint of the derivative.
        values, slopes: the objective and its derivative there.
        beyond: the rate of the derivative outside of them, `(runs, 1)`; 0 without it.
    """
    points, order = points.sort(dim=-1)
    values, slopes = values.gather(-1, order), slopes.gather(-1, order)
    far = torch.zeros_like(points[:, :1]) if beyond is None else beyond
    if beyond is not None:
        points, values, slopes = _with_vertices(points, values, slopes, far)
    widths, rises = points.diff(dim=-1), slopes.diff(dim=-1)
    crosses = (slopes[:, :-1] < 0) & (slopes[:, 1:] > 0)
    fall = slopes[:, :-1].square() * widths / (2 * torch.where(crosses, rises, 1.0))
    between = torch.where(crosses, values[:, :-1] - fall, torch.inf)
    lowest = torch.minimum(values.amin(-1), between.amin(-1))
    unbounded = (slopes[:, 0] > 0) | (slopes[:, -1] < 0) | (far[:, 0] < 0)
    rates = torch.where(widths > 0, rises / widths.clamp_min(1e-300), far)
    steepest = torch.where(far[:, 0] == 0, slopes.abs().amax(-1), torch.inf)
    inside = points[:, :-1] - slopes[:, :-1] * widths / torch.where(crosses, rises, 1.0)
    where = torch.cat([values, between], dim=-1).argmin(-1, keepdim=True)
    rounding = _ROUNDING * values.abs().amax(-1)
    above = values - lowest.unsqueeze(-1)
    is_least = above <= rounding.unsqueeze(-1)
    steep = torch.where(is_least, torch.inf, slopes.square() / (2 * torch.where(is_least, 1.0, above))).amin(-1)
    bottom = crosses & (between <= (lowest + rounding).unsqueeze(-1))
    beside = bottom | (is_least[:, :-1] != is_least[:, 1:])
    elsewhere = (slopes[:, :-1] * slopes[:, 1:] < 0) & ~bottom  # stationary, and not least
    lowest_rate = torch.where(beside & (widths > 0), rates, torch.inf).amin(-1)
    curved = torch.where(elsewhere.any(-1), 0.0, torch.minimum(lowest_rate, far[:, 0]))
    return Landscape(
        torch.where(unbounded, -torch.inf, lowest),
        rates.abs().amax(-1),
        steepest,
        torch.cat([points, inside], dim=-1).gather(-1, where),
        torch.minimum(rates.amin(-1), far[:, 0]),
        torch.minimum(steep, curved).clamp_min(0.0),
        lowest_rate,
        rounding,
    )


_ROUNDING = 1e-14
"""Relative: what of a value is nothing but rounding."""


def _with_vertices(points: Tensor, values: Tensor, slopes: Tensor, beyond: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The same with the point outside of them, on either side, at which the derivative vanishes: an end again where there is none."""
    rate = torch.where(beyond > 0, beyond, torch.inf)
    made = []
    for end, slope in ((0, slopes[:, :1].clamp_min(0.0)), (-1, slopes[:, -1:].clamp_max(0.0))):
        at, value, steep = (part[:, end].unsqueeze(-1) for part in (points, values, slopes))
        made.append(
            (at - slope / rate, value - slope.square() / (2 * rate), torch.where(beyond > 0, steep - slope, steep))
        )
    left, right = made
    return tuple(torch.cat(parts, dim=-1) for parts in zip(left, (points, values, slopes), right, strict=True))  # type: ignore[return-value]


def preimages(knots: Tensor, slope: Tensor, offset: Tensor) -> Tensor:
    """Where slope x + offset meets knots, of one shape; anywhere where the slope is 0."""
    meets = (knots - offset) / torch.where(slope == 0, torch.inf, slope)
    return torch.where(torch.isfinite(meets), meets, 0.0)
