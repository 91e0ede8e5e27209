"""The surrogate of average precision (area under the precision-recall curve) as a conditional problem, on real tables.

    F(x) = (1/N) sum_n E_{xi+} f(E_{xi'} g(x; xi+, xi')),   f(u) = -u_1/u_2,   g = ([y' = 1] l, l),
    l = max(s - h(x; z+) + h(x; z'), 0)^2,   h(x; z) = r tanh(x.z / r)

xi+ runs over the positive rows of client n and xi' over all of them. The paper leaves the score h open and its f is not
bounded: with saturated scores and a margin s > 2 r all values of l lie in [(s - 2r)^2, (s + 2r)^2], where f is smooth.
There f is the paper's; outside the range of g it is continued by a bounded smooth function (see `RatioContinued`), which
no mean of samples ever reaches.

Source: Wu et al., Federated conditional stochastic optimization, section 5.3, equation (6).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from ..certificate import WORDS, Certificate, Formula, by_quantity, hypotenuse, named, rounded_up, upper
from ..kinds import InnerSample, OuterSample, Predictions
from ..kinds.predictions import only_training_data
from ..parts.composition import cap_certificate, gap_above
from ..parts.data import deal
from ..parts.noise import AbstractNumbered
from ..parts.scalar import TANH_CURVATURE


@dataclass(frozen=True)
class RatioContinued:
    """-a(u_1) b(u_2), where a(u) = u on [0, H] and b(u) = 1/u on [L, infinity).

    Beyond [0, H] the slope of a falls linearly from 1 to 0 over a length H; below L that of b does so over L/2. Hence
    -H/2 <= a <= 3H/2, 0 <= a' <= 1, |a''| <= 1/H and 0 < b <= 5/(4L), |b'| <= 1/L^2, |b''| <= 2/L^3.
    """

    low: float
    high: float

    def _first(self, u: Tensor) -> tuple[Tensor, Tensor]:
        """a and a'."""
        inside, H = u.clamp(0.0, self.high), self.high
        beyond = (u - inside).clamp(-H, H)
        return inside + beyond - beyond * beyond.abs() / (2 * H), 1 - beyond.abs() / H

    def _second(self, u: Tensor) -> tuple[Tensor, Tensor]:
        """b and b'."""
        inside, L = u.clamp_min(self.low), self.low
        below = (inside - u).clamp_max(L / 2)
        remaining = 1 - 2 * below / L
        return 1 / inside + (below - below * below / L) / (L * L), -remaining / (inside * inside)

    def value(self, y: Tensor) -> Tensor:
        """`(..., 2) -> (...)`."""
        return -self._first(y[..., 0])[0] * self._second(y[..., 1])[0]

    def gradient(self, y: Tensor) -> Tensor:
        """Same shape as y."""
        (a, a_slope), (b, b_slope) = self._first(y[..., 0]), self._second(y[..., 1])
        return torch.stack([-a_slope * b, -a * b_slope], dim=-1)

    @property
    def lipschitz(self) -> float:
        """hypot of |a'| b and |a| |b'|."""
        return math.hypot(1.25 / self.low, 1.5 * self.high / self.low**2)

    @property
    def smoothness(self) -> float:
        """Frobenius norm of the bounds of the Hessian entries."""
        L, H = self.low, self.high
        return math.sqrt((1.25 / (L * H)) ** 2 + 2 / L**4 + (3 * H / L**3) ** 2)


@dataclass(frozen=True)
class AveragePrecision(AbstractNumbered):
    """The problem above on rows of a real table.

    Args:
        table: of `data.TABLES`. clients, samples, dim: N, rows per client, size of the model.
        positives: share of positive rows at every client: the smaller, the more imbalanced.
        margin: s, more than twice the saturation. saturation: r.
        shift, seed: see `data.deal`.

    Raises:
        ValueError: unless margin > 2 saturation > 0, or for clients with positive rows only.
    """

    name: str = "average_precision"
    table: str = "breast_cancer"
    clients: int = 4
    samples: int = 12
    dim: int = 6
    positives: float = 0.25
    margin: float = 1.0
    saturation: float = 0.2
    shift: float = 0.5
    seed: int = 0
    start: float = 1.0
    device: str = "cpu"
    inner_dim: int = field(init=False, default=2)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.margin) and self.margin > 2 * self.saturation > 0):
            raise ValueError(f"need margin > 2 saturation > 0, got margin={self.margin}, saturation={self.saturation}")
        if not self._rare < self.samples:  # the data check their own parameters
            raise ValueError(
                f"positives: each client needs a row that is not positive, got {self._rare} of {self.samples}"
            )

    @cached_property
    def data(self) -> tuple[Tensor, Tensor]:
        """Rows `(clients, samples, dim)` and labels 0/1 `(clients, samples)`; the positive rows come first."""
        features, labels, _ = deal(
            self.table, self.clients, self.samples, self.dim, self.positives, self.shift, self.seed
        )
        return features.to(self.device), (labels > 0).to(torch.float64).to(self.device)

    @cached_property
    def _rare(self) -> int:
        """Number of positive rows per client."""
        return int(self.data[1][0].sum())

    @cached_property
    def _outer(self) -> RatioContinued:
        return RatioContinued((self.margin - 2 * self.saturation) ** 2, (self.margin + 2 * self.saturation) ** 2)

    @cached_property
    def initial_point(self) -> Tensor:
        """On the wrong side: from the mean of the positive rows to that of the negative ones."""
        features, labels = self.data
        weights = labels.unsqueeze(-1)
        across = (features * (1 - weights)).sum((0, 1)) / (1 - weights).sum()
        across = across - (features * weights).sum((0, 1)) / weights.sum()
        return self.start * across / torch.linalg.vector_norm(across)

    def _at(self, table: Tensor, index: Tensor) -> Tensor:
        client = torch.arange(self.clients, device=self.device)
        return table[client.view(-1, *(1,) * (index.dim() - 2)), index]

    def _partners(self, outer: OuterSample, inner: InnerSample | None) -> Tensor:
        """Positions of xi' `(runs, clients, batch, m)`; all rows without a sample."""
        if inner is not None:
            return inner.eta
        return torch.arange(self.samples, device=self.device).expand(*outer.outcome.shape, -1)

    def _scores(self, x: Tensor, index: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """h, its rate 1 - tanh^2 and the rows at these positions; x has the axes of `index` but the last ones."""
        rows = self._at(self.data[0], index)
        th = torch.tanh((rows * x).sum(-1) / self.saturation)
        return self.saturation * th, 1 - th * th, rows

    def _gaps(self, x: Tensor, outer: OuterSample, inner: InnerSample | None) -> tuple[Tensor, ...]:
        """s - h+ + h' `(runs, clients, batch, m)`, labels of xi', and rates and rows of both."""
        partners = self._partners(outer, inner)
        own, own_rate, own_rows = self._scores(x.unsqueeze(2), outer.outcome)
        other, rate, rows = self._scores(x[:, :, None, None], partners)
        gap = self.margin - own.unsqueeze(-1) + other
        return gap, self._at(self.data[1], partners), own_rate, own_rows, rate, rows

    def inner(self, x: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        gap, label, *_ = self._gaps(x, outer, inner)
        loss = gap * gap
        return torch.stack([(label * loss).mean(-1), loss.mean(-1)], dim=-1)

    def inner_vjp(self, x: Tensor, v: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        gap, label, own_rate, own_rows, rate, rows = self._gaps(x, outer, inner)
        weight = (label * v[..., :1] + v[..., 1:]) * 2 * gap
        others = ((weight * rate).unsqueeze(-1) * rows).transpose(-1, -2).contiguous().mean(-1)
        return others - (weight.mean(-1) * own_rate).unsqueeze(-1) * own_rows

    def outer_value(self, y: Tensor, outer: OuterSample) -> Tensor:
        return self._outer.value(y)

    def outer_gradient(self, y: Tensor, outer: OuterSample) -> Tensor:
        return self._outer.gradient(y)

    def average_precision(self, x: Tensor) -> Tensor:
        """The surrogate itself, -F, `(runs, dim) -> (runs,)`: between 0 and 1."""
        return -self.objective(x)

    def predict(self, x: Tensor, split: str = "train") -> Predictions:
        """The scores h of all rows."""
        only_training_data(self.name, split)
        everyone = torch.arange(self.samples, device=self.device).expand(1, self.clients, -1)
        return Predictions(self._scores(x[:, None, None], everyone)[0].unsqueeze(-1), self.data[1].long())

    @property
    def outer_outcomes(self) -> int:
        return self._rare

    @property
    def inner_outcomes(self) -> int:
        return self.samples

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        return by_quantity(self._outer_certificates(), self._inner_certificates(), self._whole_certificates())

    def _outer_certificates(self) -> Iterator[Certificate]:
        domain, product = "all of R^2", "f = -a(u_1) b(u_2) with |a| <= 3H/2, |a'| <= 1, b <= 5/(4L), |b'| <= 1/L^2"
        for name in ("outer_sample_lipschitz", "outer_mean_square_lipschitz"):
            yield upper(name, self._outer.lipschitz, f"{product}.", domain)
        yield upper(
            "outer_sample_smoothness",
            self._outer.smoothness,
            f"{product}, |a''| <= 1/H, |b''| <= 2/L^3: Frobenius norm of the Hessian.",
            domain,
        )

    @cached_property
    def _sizes(self) -> tuple[Formula, Formula]:
        """max |z+| and the longest row of all."""
        lengths = torch.linalg.vector_norm(self.data[0], dim=-1)
        own, longest = (rounded_up(float(each.max())) for each in (lengths[:, : self._rare], lengths))
        return Formula(own, "max |z+|", WORDS), Formula(longest, "max |z|", WORDS)

    def _inner_certificates(self) -> Iterator[Certificate]:
        (own, longest), (margin, saturation) = self._sizes, named(self, "margin", "saturation")
        steepest = 2 * (margin + 2 * saturation)
        rows = "Both rows of the Jacobian are at most grad l = 2 e grad e with |e| <= s + 2r, |grad e| <= |z+| + |z'|"
        lengths, labels = torch.linalg.vector_norm(self.data[0], dim=-1), self.data[1]
        second = rounded_up(float(((1 + labels) * (own.value + lengths) ** 2).mean(-1).max().sqrt()))
        squares = Formula(second, "max sqrt(mean (1 + [y' = 1]) (max |z+| + |z'|)^2)", WORDS)
        averaged = f"{rows}; the first row only where y' = 1, averaged over xi'."
        yield upper("inner_jacobian_mean_square", steepest * squares, averaged)
        root_2, both = Formula(math.sqrt(2), "sqrt(2)"), own + longest
        yield upper("inner_sample_lipschitz", root_2 * steepest * both, f"{rows}.")
        of_e = Formula(TANH_CURVATURE, "max |tanh''|", WORDS) / saturation * (own**2 + longest**2)
        hessian = "Hessian of e^2: 2 |grad e|^2 + 2 |e| |Hessian e|, and |r tanh(t/r)''| <= 4/(3 sqrt 3 r)."
        yield upper("inner_sample_smoothness", root_2 * (2 * both**2 + steepest * of_e), hessian)
        low, high = named(self._outer, "low", "high")
        interval = (
            "A variance on an interval is at most (length/2)^2: of l in [low, high] and of [y' = 1] l in [0, high]."
        )
        yield upper("inner_value_noise", hypotenuse((high - low) / 2, high / 2), interval)

    def _whole_certificates(self) -> Iterator[Certificate]:
        (own, longest), (margin, saturation) = self._sizes, named(self, "margin", "saturation")
        yield gap_above(self, -1.0, "u_1 <= u_2 on the range of g, so F >= -1.")
        cap = 2 * (own + longest) / (margin - 2 * saturation)
        quotient = "grad(u_1/u_2) = E([y' = 1] - u_1/u_2) grad l / u_2"
        yield cap_certificate(self, cap, f"{quotient}, |grad l| <= 2 e |grad e|, E e <= E e^2/(s - 2r).")
