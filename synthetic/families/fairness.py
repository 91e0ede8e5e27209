"""Classification with fairness constraints as a shared composite, on real tables.

    Phi = mean loss + rho f(g(x)),   g(x)_j = (mean loss of the positives of group j) - (mean loss of all positives)

with f the radial pseudo-Huber of slope 1: a smooth penalty for unequal opportunity. Groups are the quantile classes of a
held-out column of the table, which stands in for a protected attribute: the tables have none.

FedDRO's experiment has the Adult table with groups that are uncertain; that table is too large to ship, and here the
groups are known.

Source: Khanduri et al., FedDRO, section 6 and appendix B (equality of opportunity).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from ..certificate import (
    QUOTIENT,
    WORDS,
    Certificate,
    Formula,
    by_quantity,
    largest,
    named,
    pair_along,
    rounded_up,
    upper,
)
from ..kinds import AbstractSharedComposite, Sample
from ..parts.blocks import RadialPseudoHuber
from ..parts.composition import cap_certificate, gap_above, heterogeneity_of_average, steepest_and_most_curved
from ..parts.data import deal
from ..parts.linear_losses import (
    MEAN_MAP,
    OTHERS,
    AbstractOfMargins,
    LinearLosses,
    chosen_loss,
    combination,
    extra_certificates,
)
from ..parts.noise import index_of
from ..parts.parameters import require_positive
from ..parts.scalar import OfLoss, identity_of

_FAR, _NEAR = 1000.0, 0.01  # widths at which the outer slope and curvature are within 1e-4 of their suprema


@dataclass(frozen=True)
class FairClassifier(AbstractOfMargins, AbstractSharedComposite):
    """The problem above; every constant of the data is an upper bound, those of the penalty are exact.

    Args:
        table: of `data.TABLES`. clients, samples, dim: K, rows per client, size of the model (the last column of the table
            is held out).
        groups: number of groups, the size of the inner value.
        rho: weight of the penalty. width: where the penalty turns from quadratic to linear.
        positives, shift, seed: see `data.deal`. loss, M: as for `linear_losses.AbstractMarginProblem`.

    Raises:
        ValueError: for a weight or width that is not positive, or groups without positives.
    """

    name: str = "fair_classifier"
    table: str = "breast_cancer"
    clients: int = 6
    samples: int = 16
    dim: int = 6
    groups: int = 2
    rho: float = 1.0
    width: float = 0.1
    loss: str = "logistic"
    M: float = 2.0
    positives: float = 0.5
    shift: float = 0.5
    seed: int = 0
    start: float = 4.0
    device: str = "cpu"
    inner_dim: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "inner_dim", self.groups)
        require_positive(self, "rho", "width")
        if self.groups < 2:
            raise ValueError(f"groups must be at least 2, got {self.groups}")
        _ = self._weights, self.loss_function  # the data and the loss check their own parameters

    @cached_property
    def dealt(self) -> tuple[Tensor, Tensor, Tensor]:
        """Features, labels +-1, and the column that says who is in which group."""
        return deal(self.table, self.clients, self.samples, self.dim, self.positives, self.shift, self.seed)

    @cached_property
    def data(self) -> LinearLosses:
        features, labels, _ = self.dealt
        return LinearLosses((features * labels.unsqueeze(-1)).to(self.device), labels.to(self.device))

    @cached_property
    def _weights(self) -> Tensor:
        """w_ki with g(x)_j = mean over k and i of w_kij l_ki(x): `(clients, samples, groups)`."""
        _, labels, held_out = self.dealt
        positive = (labels > 0).to(torch.float64)
        cuts = torch.quantile(held_out, torch.linspace(0, 1, self.groups + 1, dtype=torch.float64)[1:-1])
        members = torch.nn.functional.one_hot(torch.bucketize(held_out, cuts), self.groups) * positive.unsqueeze(-1)
        counts = members.sum((0, 1))
        if not bool((counts > 0).all()):
            raise ValueError(f"groups: each needs a positive row, got {counts.tolist()} of them")
        share = members / counts - (positive / positive.sum()).unsqueeze(-1)
        return (share * positive.numel()).to(self.device)

    @cached_property
    def loss_function(self) -> OfLoss:
        """Of a margin."""
        return identity_of(chosen_loss(self.loss, self.M))

    @cached_property
    def _penalty(self) -> RadialPseudoHuber:
        return RadialPseudoHuber(self.rho, self.rho / self.width)

    @cached_property
    def initial_point(self) -> Tensor:
        """On the wrong side: along minus the mean of the features times labels."""
        mean = self.data.features.flatten(0, 1).mean(0)
        return -self.start * mean / torch.linalg.vector_norm(mean)

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        index = index_of(sample)
        losses = self.loss_function.value(self.data.margins(x, index)[0])
        return combination(losses, self.data.picked(self._weights, index))

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        index = index_of(sample)
        margins, rows = self.data.margins(x, index)
        pull = (self.data.picked(self._weights, index) * v.unsqueeze(2)).sum(-1)
        return combination(pull * self.loss_function.slope(margins), rows)

    def outer(self, y: Tensor) -> Tensor:
        return self._penalty.value(y)

    def outer_gradient(self, y: Tensor, sample: Sample | None = None) -> Tensor:
        return self._penalty.gradient(y)

    def extra(self, x: Tensor) -> Tensor:
        return self.data.average(self.loss_function, x)

    def extra_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self.data.average_gradient(self.loss_function, x, index_of(sample))

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        parts = self._inner_certificates(), extra_certificates(self.loss_function, self.data.spectrum)
        return by_quantity(*parts, self._outer_certificates(), self._whole_certificates())

    @cached_property
    def _sizes(self) -> tuple[tuple[float, ...], tuple[float, ...], float, Tensor]:
        """Per client ||W||/sqrt(n) in spectral and in Frobenius norm; the largest |w_i|; the |w_i|."""
        scale = math.sqrt(self.samples)
        spectral = tuple(rounded_up(float(s) / scale) for s in torch.linalg.matrix_norm(self._weights, ord=2))
        frobenius = tuple(rounded_up(float(s) / scale) for s in torch.linalg.matrix_norm(self._weights))
        lengths = torch.linalg.vector_norm(self._weights, dim=-1)
        return spectral, frobenius, rounded_up(float(lengths.max())), lengths

    def _inner_certificates(self) -> Iterator[Certificate]:
        (slope, bend), size, high = self.loss_function.suprema, self.data.spectrum, self.loss_function.range[1]
        spectral, frobenius, most, lengths = self._sizes
        longest, lipschitz = Formula(most, "max |w_i|", WORDS), slope.value
        steepest = max(w * a for w, a in zip(spectral, size.per_client, strict=True))
        product = Formula(steepest, "max_k ||W_k|| ||A_k||/n", QUOTIENT)
        yield upper("inner_lipschitz", slope * product, "J_k = W^T diag(u'(a_i.x)) A / n.")
        weighted = "mean |w_i|^2 (l_i(x) - l_i(x'))^2 <= max |w_i|^2 sup |u'|^2 mean (a_i.(x - x'))^2."
        yield upper("inner_mean_square_lipschitz", slope * longest * size.largest, weighted)
        turned = f"{MEAN_MAP}, with |w_i| times differences of slopes as c_i."
        yield upper("inner_smoothness", bend * longest * size.largest**2, turned)
        pairs = (lengths * torch.linalg.vector_norm(self.data.features, dim=-1)) ** 2
        jacobian_noise = rounded_up(lipschitz * math.sqrt(float(pairs.mean(-1).max())))
        spread = rounded_up(math.sqrt(float((lengths**2).mean(-1).max())))
        noises = (
            upper("inner_jacobian_noise", jacobian_noise, "Root of mean |w_i|^2 |u'(a_i.x) a_i|^2."),
            upper("inner_value_noise", high * spread, "Root of the second moment, mean |w_i|^2 l_i^2, with l_i <= M."),
        )
        yield from noises
        yield upper("inner_noise", largest(*(one.formula for one in noises)))
        bounds = tuple(lipschitz * w * a for w, a in zip(frobenius, size.per_client, strict=True))
        yield upper(
            "inner_jacobian_heterogeneity",
            heterogeneity_of_average(bounds),
            f"{OTHERS}; ||J_k||_F <= sup |u'| ||W_k||_F ||A_k|| / n.",
        )

    def _outer_certificates(self) -> Iterator[Certificate]:
        rho, width = named(self, "rho", "width")
        diagonal = torch.ones(self.groups, dtype=torch.float64)
        far, near = (pair_along(diagonal, n * self.width / math.sqrt(self.groups)) for n in (_FAR, _NEAR))
        tends = "|grad f| = rho r / sqrt(width^2 + r^2) tends to rho."
        yield from steepest_and_most_curved(
            "all of R^groups",
            (self.rho, tends, far[1:], 0.9999),
            (rho / width, "Both Hessian eigenvalues are at most that.", near, 0.9998),
        )

    def _whole_certificates(self) -> Iterator[Certificate]:
        nonnegative = "The mean loss is at least the smallest one and the penalty at least 0."
        yield gap_above(self, self.loss_function.range[0], nonnegative)
        weights = rounded_up(float(torch.linalg.matrix_norm(self._weights.flatten(0, 1), ord=2)))
        slope = self.loss_function.suprema[0] * self.data.spectrum.pooled
        steepest = slope * Formula(weights, "||W||") / Formula(math.sqrt(self.clients * self.samples), "sqrt(K n)")
        cap = slope + Formula(self.rho, "rho") * steepest
        yield cap_certificate(self, cap, "|grad h| + rho ||J||, both of the pooled data.")
