"""Invariant logistic regression as a conditional problem, with certified upper constants.

F(x) = (1/N) sum_n E_{(a, b)} log(1 + exp(-b E_{eta|a} r tanh(eta.x / r))) + reg sum_i gamma x_i^2 / (1 + gamma x_i^2).

The paper has eta.x where this has r tanh(eta.x / r): its inner variance sigma_2^2 |x|^2 is unbounded, so that its
Assumption 3.3 fails on R^d for the paper's own experiment; the saturation at r (by default of the order of the
margins, larger is closer to the paper) restores it. eta - a is +-sigma_2 sqrt(d) along a random axis: covariance
sigma_2^2 I as in the paper, finite support.

Source: Wu et al., Federated conditional stochastic optimization, section 5.1, equation (4).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..certificate import Certificate, by_quantity, exact, upper
from ..kinds import AbstractConditional, Draws, InnerSample, OuterSample, Predictions
from ..kinds.predictions import only_training_data
from ..parts.composition import cap_certificate, gap_above
from ..parts.invariant_margins import AbstractMargins, Counted, Listed, OneDraw, below
from ..parts.parameters import require_nonnegative, require_positive
from ..parts.patterns import equal_weights
from ..parts.scalar import TANH_CURVATURE, softplus

_REGULARISER_SLOPE = 3 * math.sqrt(3) / 8  # max of 2 s / (1 + s^2)^2, at s^2 = 1/3
_UP = 1 + 1e-12


@dataclass(frozen=True)
class Tally(InnerSample):
    """Many draws of eta, counted: their order does not matter. eta: every outcome; share: how often each was drawn.

    Counted once for all grid points, and then as cheap for 1000 draws as for 100.
    """

    share: Tensor


def folded(v: Tensor, outer: OuterSample) -> Tensor:
    """`(runs, ...)` as `(grid, seeds, ...)`: all grid points of a seed have one sample, so it is looked up once."""
    seeds, runs = outer.outcome.shape[0], v.shape[0]
    return v.view(runs // seeds, seeds, *v.shape[1:]) if runs % seeds == 0 else v.unsqueeze(0)


@dataclass(frozen=True)
class InvariantLogistic(AbstractConditional):
    """The problem above on generated data: a ~ N(0, I) scaled to length at most 1, b the sign of a.x_true.

    Args:
        clients, points, dim: N, data (a, b) per client, size of the model.
        sigma_2: standard deviation of eta about a, per coordinate.
        saturation: r. reg, gamma: of the non-convex regulariser.
        shift: 0 for clients with one law; else the means of a differ by this much between clients.

    Raises:
        ValueError: for a parameter that is not positive (sigma_2, shift and reg may be 0).
    """

    name: str = "invariant_logistic"
    clients: int = 4
    points: int = 8
    dim: int = 4
    sigma_2: float = 0.3
    saturation: float = 2.0
    reg: float = 0.01
    gamma: float = 1.0
    shift: float = 0.0
    seed: int = 0
    start: float = 4.0
    device: str = "cpu"
    inner_dim: int = field(init=False, default=2)  # the margin and the regulariser

    def __post_init__(self) -> None:
        require_positive(self, "saturation", "gamma", "start")
        require_nonnegative(self, "sigma_2", "reg", "shift")
        if min(self.clients, self.points, self.dim) < 1:
            raise ValueError(f"clients, points and dim must be positive, got {self.clients}, {self.points}, {self.dim}")

    @cached_property
    def data(self) -> tuple[Tensor, Tensor]:
        """a `(clients, points, dim)` and b `(clients, points)`."""
        generator = torch.Generator().manual_seed(self.seed)
        truth = torch.randn(self.dim, generator=generator, dtype=torch.float64)
        own = self.shift * torch.randn(self.clients, 1, self.dim, generator=generator, dtype=torch.float64)
        a = torch.randn(self.clients, self.points, self.dim, generator=generator, dtype=torch.float64) + own
        a = a / torch.linalg.vector_norm(a, dim=-1).max()
        b = torch.where((a * truth).sum(-1) >= 0, 1.0, -1.0).to(torch.float64)
        return a.to(self.device), b.to(self.device)

    @cached_property
    def initial_point(self) -> Tensor:
        """On the wrong side: along minus the mean of b a."""
        a, b = self.data
        mean = (a * b.unsqueeze(-1)).flatten(0, 1).mean(0)
        return -self.start * mean / torch.linalg.vector_norm(mean)

    @cached_property
    def _first_rows(self) -> Tensor:
        return self.points * torch.arange(self.clients, device=self.device).unsqueeze(-1)

    @cached_property
    def _one(self) -> Tensor:
        return torch.ones((), dtype=torch.float64, device=self.device)

    def _rows(self, outer: OuterSample) -> Tensor:
        """Which rows of a table of all data are drawn, flat."""
        return (outer.outcome + self._first_rows).flatten()

    def _labels(self, outer: OuterSample) -> Tensor:
        """b at the outcomes, `(1, seeds, clients, batch)`."""
        return self.data[1].flatten().index_select(0, self._rows(outer)).view(1, *outer.outcome.shape)

    @property
    def shake(self) -> float:
        """The length of eta - a, which lies along an axis."""
        return math.sqrt(self.dim) * self.sigma_2

    def _margins(self, x: Tensor, outer: OuterSample, inner: InnerSample | None, labelled: bool) -> AbstractMargins:
        """Of eta, or of b eta: as tanh is odd the label may go into the sample, which all grid points of a seed share."""
        rows = self._rows(outer)
        a, turn = (table.index_select(0, rows).view(1, *outer.outcome.shape, -1) for table in self._tables[labelled])
        x = folded(x, outer).unsqueeze(3)
        if inner is None:
            return Counted.of(x, a, self._push, (self._one / (2 * self.dim),) * 2, self.saturation)
        if isinstance(inner, Tally):
            (up, down), is_turned = folded(inner.share, outer).split(self.dim, -1), turn > 0
            shares = torch.where(is_turned, down, up), torch.where(is_turned, up, down)
            return Counted.of(x, a, self._push, shares, self.saturation)
        drawn = folded(inner.eta, outer) + turn
        if drawn.shape[-1] == 1:
            step = self._turning_steps.index_select(0, drawn.flatten()).view(*drawn.shape[:-1], -1)
            return OneDraw.of(x, a + step, self.saturation)
        return Listed.of(x, a, drawn % self.dim, self._turning_pushes[drawn], self.saturation)

    @cached_property
    def _tables(self) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """For eta and for b eta, of every datum: 2 a / r, and by how much -1 turns the outcomes of eta."""
        a, b = self.data[0].flatten(0, 1) * (2 / self.saturation), self.data[1].flatten().unsqueeze(-1)
        turn = torch.where(b < 0, self.dim, 0)
        return (a, torch.zeros_like(turn)), (a * b, turn)

    @property
    def _push(self) -> float:
        """The length of 2 (eta - a) / r."""
        return self.shake * (2 / self.saturation)

    @cached_property
    def steps(self) -> Tensor:
        """The values of eta - a, `(2 dim, dim)`: + shake along every axis, then - shake."""
        axes = self.shake * torch.eye(self.dim, dtype=torch.float64, device=self.device)
        return torch.cat([axes, -axes])

    @cached_property
    def _turning_steps(self) -> Tensor:
        """2 (eta - a) / r, and the first half once more, so that a turned outcome is found as well."""
        return torch.cat([self.steps, self.steps[: self.dim]]) * (2 / self.saturation)

    @cached_property
    def _turning_pushes(self) -> Tensor:
        """The one coordinate of each that is not 0, `(3 dim,)`."""
        return self._turning_steps.sum(-1)

    def _penalty_slope(self, x: Tensor) -> Tensor:
        """The gradient of the regulariser, 2 reg gamma x_i / (1 + gamma x_i^2)^2, like x: the factor is in the square."""
        if self.reg == 0:
            return torch.zeros_like(x)
        return x / torch.addcmul(self._root, x, x, value=self.gamma / math.sqrt(2 * self.reg * self.gamma)).square_()

    @cached_property
    def _root(self) -> Tensor:
        return self._one / math.sqrt(2 * self.reg * self.gamma)

    def inner(self, x: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        margin = self._margins(x, outer, inner, labelled=False).mean.flatten(0, 1)
        flatness = torch.addcmul(self._one, x, x, value=self.gamma).reciprocal_()
        penalty = self.reg * (self.dim - flatness.sum(-1, keepdim=True)).unsqueeze(2)
        return torch.cat((margin, penalty.expand_as(margin)), -1)

    def inner_vjp(self, x: Tensor, v: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        margins = self._margins(x, outer, inner, labelled=False)
        penalty = folded(self._penalty_slope(x).unsqueeze(2) * v[..., 1:], outer)
        return margins.pull(folded(v[..., :1], outer), penalty).flatten(0, 1)

    def sample_gradient(self, x: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        """In one go, without the value of the regulariser, whose slope in f is 1: about half the time of its parts."""
        margins = self._margins(x, outer, inner, labelled=True)
        penalty = folded(self._penalty_slope(x).unsqueeze(2), outer)
        return margins.pull(below(margins.mean), penalty, sign=-1.0).flatten(0, 1)

    def outer_value(self, y: Tensor, outer: OuterSample) -> Tensor:
        return softplus(-self._labels(outer) * folded(y[..., 0], outer)).flatten(0, 1) + y[..., 1]

    def outer_gradient(self, y: Tensor, outer: OuterSample) -> Tensor:
        """The slope of softplus(-b margin) in the margin is -b / (1 + exp(b margin)); that in the regulariser is 1."""
        label = self._labels(outer)
        slope = -label * below(label * folded(y[..., 0], outer))
        return pad(slope.flatten(0, 1).unsqueeze(-1), (0, 1), value=1.0)

    def predict(self, x: Tensor, split: str = "train") -> Predictions:
        """a.x of every datum; its sign is the label that a model gives."""
        only_training_data(self.name, split)
        a, b = self.data
        return Predictions((a * x[:, None, None]).sum(-1, keepdim=True), (b > 0).long())

    def sample_outer(self, draws: Draws, batch: int, purpose: str = "outer") -> OuterSample:
        return OuterSample(draws.per_seed.integers(purpose, self.points, batch))

    def sample_inner(self, draws: Draws, outer: OuterSample, m: int, purpose: str = "inner") -> InnerSample:
        outcomes, tail = 2 * self.dim, (outer.outcome.shape[-1], m)
        if m <= self.dim:
            return InnerSample(draws.per_seed.integers(purpose, outcomes, *tail))
        everything = torch.arange(outcomes, device=self.device).expand(*outer.outcome.shape, -1)
        return Tally(everything, draws.per_seed.counts(purpose, outcomes, *tail) / m)

    def outer_atoms(self) -> tuple[OuterSample, Tensor]:
        outcomes = torch.arange(self.points, device=self.device).expand(1, self.clients, -1)
        return OuterSample(outcomes), equal_weights(self.points, self.device)

    def inner_atoms(self, outer: OuterSample) -> tuple[InnerSample, Tensor]:
        steps = torch.arange(2 * self.dim, device=self.device)
        return InnerSample(steps.expand(*outer.outcome.shape, -1)), equal_weights(2 * self.dim, self.device)

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        return by_quantity([*self._outer_certificates(), *self._inner_certificates(), *self._whole_certificates()])

    def _outer_certificates(self) -> Iterator[Certificate]:
        domain, both = "all of R^2", "f has slopes of size at most 1 in the margin and 1 in the regulariser"
        yield upper("outer_sample_lipschitz", math.sqrt(2.0), f"{both}.", domain)
        yield upper("outer_mean_square_lipschitz", math.sqrt(2.0), f"{both}.", domain)
        yield exact(
            "outer_sample_smoothness",
            0.25,
            "softplus'' = s (1 - s) is at most 1/4, at 0.",
            ((-1e-2, 0.0), (1e-2, 0.0)),
            attains=0.9999,
            domain=domain,
        )

    @cached_property
    def _sizes(self) -> tuple[float, float, float]:
        """max |eta|, root of max E|eta|^2 given a, and the supremum of the slope of the regulariser."""
        longest = float(torch.linalg.vector_norm(self.data[0], dim=-1).max())
        shake = self.shake
        slope = self.reg * math.sqrt(self.dim * self.gamma) * _REGULARISER_SLOPE
        return (longest + shake) * _UP, math.hypot(longest, shake) * _UP, slope * _UP

    def _inner_certificates(self) -> Iterator[Certificate]:
        longest, root_mean_square, slope = self._sizes
        rows = "The rows of the Jacobian are tanh'(.) eta and the slope of the regulariser"
        curvature = math.hypot(TANH_CURVATURE * longest**2 / self.saturation, 2 * self.reg * self.gamma)
        yield upper("inner_jacobian_mean_square", math.hypot(root_mean_square, slope), f"{rows}.")
        yield upper("inner_sample_lipschitz", math.hypot(longest, slope), f"{rows}.")
        yield upper(
            "inner_sample_smoothness",
            curvature,
            f"{rows}; |tanh''| <= 4/(3 sqrt 3) and the regulariser's curvature is at most 2 reg gamma.",
        )
        yield upper("inner_value_noise", self.saturation, "The margin is in [-r, r].")

    def _whole_certificates(self) -> Iterator[Certificate]:
        longest, root_mean_square, slope = self._sizes
        yield gap_above(self, 0.0, "Every term is nonnegative.")
        yield upper(
            "objective_smoothness",
            0.25 * longest**2 + TANH_CURVATURE * longest**2 / self.saturation + 2 * self.reg * self.gamma,
            "Chain rule: softplus'' |eta|^2 + |tanh''| |eta|^2 / r + the regulariser's curvature.",
        )
        yield cap_certificate(self, root_mean_square + slope, "E|eta| plus the slope of the regulariser.")
