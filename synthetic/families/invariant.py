"""Invariant logistic regression as a conditional problem, with certified upper constants.

F(x) = (1/N) sum_n E_{(a, b)} log(1 + exp(-b E_{eta|a} r tanh(eta.x / r))) + reg sum_i gamma x_i^2 / (1 + gamma x_i^2).

The paper has eta.x where this has r tanh(eta.x / r): its inner variance sigma_2^2 |x|^2 is unbounded, so that its
Assumption 3.3 fails on R^d for the paper's own experiment; the saturation at r (by default of the order of the
margins, larger is closer to the paper) restores it. eta - a is +-sigma_2 sqrt(d) along a random axis: covariance
sigma_2^2 I as in the paper, finite support.

The mean of r tanh(eta.x / r) over draws of eta, and its gradient, is what a run spends its time on: `AbstractMargins`. eta is
a + shake e_i or a - shake e_i. One draw is formed; of several draws only a.x and the coordinates of x that were drawn are needed; and
very many are counted, so that their cost no longer grows. Shapes there: `grid` or `seeds` of a sample may be 1, as all grid points of
a seed share it. eta, a, shake and push are given times 2 / r: then eta.x is the argument of the exponential that all are computed from.

Source: Wu et al., Federated conditional stochastic optimization, section 5.1, equation (4).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..certificate import WORDS, Certificate, Formula, by_quantity, hypotenuse, named, nearly, upper
from ..kinds import Draws, InnerSample, OuterSample, Predictions
from ..kinds.predictions import only_training_data
from ..parts.composition import cap_certificate, gap_above
from ..parts.noise import AbstractNumbered
from ..parts.parameters import require_nonnegative, require_positive
from ..parts.scalar import TANH_CURVATURE, softplus

_REGULARISER_SLOPE = 3 * math.sqrt(3) / 8  # max of 2 s / (1 + s^2)^2, at s^2 = 1/3
_UP = 1 + 1e-12


@dataclass(frozen=True)
class Tally(InnerSample):
    """Many draws of eta, counted: their order does not matter. eta: every outcome; count: how often each was drawn; share: of all draws.

    Counted once for all grid points, and then as cheap for 1000 draws as for 100.
    """

    count: Tensor
    share: Tensor

    def only(self, index: int) -> InnerSample:
        """The draw `index` where they are in the order of their outcomes."""
        return InnerSample((self.count.cumsum(-1) <= index).sum(-1, keepdim=True))


def folded(v: Tensor, outer: OuterSample) -> Tensor:
    """`(runs, ...)` as `(grid, seeds, ...)`: all grid points of a seed have one sample, so it is looked up once."""
    seeds, runs = outer.outcome.shape[0], v.shape[0]
    return v.view(runs // seeds, seeds, *v.shape[1:]) if runs % seeds == 0 else v.unsqueeze(0)


@dataclass(frozen=True)
class InvariantLogistic(AbstractNumbered):
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
        counted = draws.per_seed.counts(purpose, outcomes, *tail)
        return Tally(everything, counted, counted / m)

    @property
    def outer_outcomes(self) -> int:
        return self.points

    @property
    def inner_outcomes(self) -> int:
        return 2 * self.dim

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        return by_quantity(self._outer_certificates(), self._inner_certificates(), self._whole_certificates())

    def _outer_certificates(self) -> Iterator[Certificate]:
        domain, both = "all of R^2", "f has slopes of size at most 1 in the margin and 1 in the regulariser"
        yield upper("outer_sample_lipschitz", math.sqrt(2.0), f"{both}.", domain)
        yield upper("outer_mean_square_lipschitz", math.sqrt(2.0), f"{both}.", domain)
        yield nearly(
            "outer_sample_smoothness",
            0.25,
            "softplus'' = s (1 - s) is at most 1/4, at 0.",
            ((-1e-2, 0.0), (1e-2, 0.0)),
            domain=domain,
        )

    @cached_property
    def _sizes(self) -> tuple[Formula, Formula, Formula]:
        """max |eta|, root of max E|eta|^2 given a, and the supremum of the slope of the regulariser."""
        longest = float(torch.linalg.vector_norm(self.data[0], dim=-1).max())
        slope = self.reg * math.sqrt(self.dim * self.gamma) * _REGULARISER_SLOPE
        return (
            Formula((longest + self.shake) * _UP, "max |eta|", WORDS),
            Formula(math.hypot(longest, self.shake) * _UP, "max sqrt(E|eta|^2)", WORDS),
            Formula(slope * _UP, "(slope of the regulariser)"),
        )

    def _bends(self) -> tuple[Formula, Formula]:
        """The largest curvatures of a margin and of the regulariser."""
        most, (r, reg, gamma) = (
            Formula(TANH_CURVATURE, "max |tanh''|", WORDS),
            named(self, "saturation", "reg", "gamma"),
        )
        return most * self._sizes[0] ** 2 / r, 2 * reg * gamma

    def _inner_certificates(self) -> Iterator[Certificate]:
        longest, root_mean_square, slope = self._sizes
        rows = "The rows of the Jacobian are tanh'(.) eta and the slope of the regulariser."
        yield upper("inner_jacobian_mean_square", hypotenuse(root_mean_square, slope), rows)
        yield upper("inner_sample_lipschitz", hypotenuse(longest, slope), rows)
        yield upper("inner_sample_smoothness", hypotenuse(*self._bends()), f"{rows} |tanh''| <= 4/(3 sqrt 3).")
        yield upper("inner_value_noise", self.saturation, "The margin is in [-r, r].")

    def _whole_certificates(self) -> Iterator[Certificate]:
        longest, root_mean_square, slope = self._sizes
        of_margin, of_penalty = self._bends()
        yield gap_above(self, 0.0, "Every term is nonnegative.")
        chain = "Chain rule: softplus'' is at most 1/4, and its slope at most 1, as is that of tanh."
        yield upper("objective_smoothness", 0.25 * longest**2 + of_margin + of_penalty, chain)
        yield cap_certificate(self, root_mean_square + slope, "E|eta| plus the slope of the regulariser.")


def below(twice: Tensor) -> Tensor:
    """(1 - tanh(t)) / 2 = 1 / (1 + exp(2 t)) from 2 t, which is written over; exp costs a third of tanh."""
    exponential = twice.exp_()
    shifted = exponential.add(1.0) if exponential.requires_grad else exponential.add_(1.0)
    return shifted.reciprocal_()


def _quarter_slope(below: Tensor) -> Tensor:
    """A quarter of tanh' where `below` is that of the same argument."""
    return torch.addcmul(below, below, below, value=-1)


def _plus_product(onto: Tensor, one: Tensor, other: Tensor, scale: float) -> Tensor:
    """onto + scale * one * other, over `onto` where that has all rows of `other`: it has not in a batch of several."""
    if onto.shape[:-1] == other.shape[:-1]:
        return onto.addcmul_(one, other, value=scale)
    return torch.addcmul(onto, one, other, value=scale)


class AbstractMargins(ABC):
    """The margins of x `(grid, seeds, clients, 1, dim)` at the draws of eta for each outer sample."""

    saturation: float

    @property
    @abstractmethod
    def _below(self) -> Tensor:
        """The mean of `below` over the draws, `(grid, seeds, clients, batch, 1)`."""

    @property
    def mean(self) -> Tensor:
        """The mean margin, `(grid, seeds, clients, batch, 1)`."""
        return torch.rsub(self._below, self.saturation, alpha=2 * self.saturation)

    @abstractmethod
    def pull(self, v: Tensor, onto: Tensor, sign: float = 1.0) -> Tensor:
        """`onto`, which may be written over, + sign * v * gradient of the mean margin, `(…, clients, batch, dim)`."""


@dataclass(frozen=True, eq=False)
class OneDraw(AbstractMargins):
    """One draw for each outer sample: eta `(…, batch, dim)`, and `below` there `(…, batch, 1)`."""

    saturation: float
    eta: Tensor
    there: Tensor

    @staticmethod
    def of(x: Tensor, eta: Tensor, saturation: float) -> OneDraw:
        return OneDraw(saturation, eta, below((eta * x).sum(-1, keepdim=True)))

    @property
    def _below(self) -> Tensor:
        return self.there

    def pull(self, v: Tensor, onto: Tensor, sign: float = 1.0) -> Tensor:
        return _plus_product(onto, self.eta, _quarter_slope(self.there).mul_(v), sign * 2 * self.saturation)


@dataclass(frozen=True, eq=False)
class Listed(AbstractMargins):
    """m draws a + push e_axis for each outer sample: axis, push and `below` there are `(…, batch, m)`."""

    saturation: float
    a: Tensor
    axis: Tensor
    push: Tensor
    there: Tensor

    @staticmethod
    def of(x: Tensor, a: Tensor, axis: Tensor, push: Tensor, saturation: float) -> Listed:
        shape = tuple(map(max, x.shape[:-1], axis.shape[:-1]))
        axis = axis.expand(*shape, -1)
        drawn = x.expand(*shape, -1).gather(-1, axis)
        return Listed(saturation, a, axis, push, below(torch.addcmul((a * x).sum(-1, keepdim=True), drawn, push)))

    @property
    def _below(self) -> Tensor:
        return self.there.sum(-1, keepdim=True) / self.there.shape[-1]

    def pull(self, v: Tensor, onto: Tensor, sign: float = 1.0) -> Tensor:
        slopes, scale = _quarter_slope(self.there).mul_(v), sign * 2 * self.saturation / self.there.shape[-1]
        pulled = _plus_product(onto, self.a, slopes.sum(-1, keepdim=True), scale)
        return pulled.scatter_add_(-1, self.axis, slopes.mul_(scale * self.push))


@dataclass(frozen=True, eq=False)
class Counted(AbstractMargins):
    """All 2 dim outcomes: `below` at a + shake e_i and at a - shake e_i, `(…, batch, dim)`, and how much each counts."""

    saturation: float
    a: Tensor
    shake: float
    up: Tensor
    down: Tensor
    shares: tuple[Tensor, Tensor]

    @staticmethod
    def of(x: Tensor, a: Tensor, shake: float, shares: tuple[Tensor, Tensor], saturation: float) -> Counted:
        along = (a * x).sum(-1, keepdim=True)
        up, down = torch.add(along, x, alpha=shake), torch.sub(along, x, alpha=shake)
        return Counted(saturation, a, shake, below(up), below(down), shares)

    @property
    def _below(self) -> Tensor:
        return (self.up * self.shares[0]).addcmul_(self.down, self.shares[1]).sum(-1, keepdim=True)

    def pull(self, v: Tensor, onto: Tensor, sign: float = 1.0) -> Tensor:
        up, down = _quarter_slope(self.up).mul_(self.shares[0]), _quarter_slope(self.down).mul_(self.shares[1])
        scale = sign * 2 * self.saturation
        pulled = _plus_product(onto, up - down, v, scale * self.shake)
        return pulled.addcmul_(self.a, up.add_(down).sum(-1, keepdim=True).mul_(v), value=scale)
