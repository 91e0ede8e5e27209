"""Federated logistic regression: F_i(x) = mean_j log(1 + exp(-m_ij.x)) + lambda |x|^2 / 2, on generated or real data.

m_ij is the feature vector of sample j at client i times its label; a stochastic gradient takes one j at random.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from ..certificate import (
    MINIMUM_EXACT_WITNESS,
    Certificate,
    Formula,
    as_point,
    by_quantity,
    difference_above,
    exact,
    pair_along,
    rounded_up,
    upper,
)
from ..kinds import AbstractFederated, Sample
from ..parts.composition import cap_certificate, first_gradients
from ..parts.linear_losses import AbstractOfTable, combination
from ..parts.noise import index_of
from ..parts.parameters import require_nonnegative
from ..parts.scalar import sigmoid, softplus

_NEWTON_STEPS = 60
_REACH = 1e-3
_DAMPING = 1e-12


@dataclass(frozen=True)
class FederatedLogistic(AbstractOfTable, AbstractFederated):
    """Logistic losses of linear margins with an optional ridge.

    Args:
        ridge: lambda; above 0 the gradients are unbounded, and no bound of them is certified. The rest as for `AbstractOfTable`.

    Raises:
        ValueError: for a negative ridge, or data that the table does not have.
    """

    name: str = "federated_logistic"
    ridge: float = 0.0
    inner_dim: int = field(init=False, default=0)  # nothing is composed

    def __post_init__(self) -> None:
        require_nonnegative(self, "ridge", "start")
        _ = self.data  # checks its own parameters

    def local_value(self, x: Tensor) -> Tensor:
        margins, _ = self.data.margins(x, None)
        return softplus(-margins).mean(-1) + 0.5 * self.ridge * (x * x).sum(-1)

    def local_gradient(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        margins, rows = self.data.margins(x, index_of(sample))
        return combination(-sigmoid(-margins), rows) + self.ridge * x

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        bounds = () if self.ridge > 0 else self._bounds()
        return by_quantity(self._smoothness(), self._differences(), bounds, (self._gap(), first_gradients(self)))

    def _smoothness(self) -> Iterator[Certificate]:
        """The weights s (1 - s) of the Hessians mean_j s_j (1 - s_j) m_j m_j^T are all largest at 0, at once."""
        rows = self.data.features
        longest = rows.flatten(0, 1)[int(torch.linalg.vector_norm(rows, dim=-1).flatten().argmax())]
        client = int(torch.tensor(self.data.spectrum.per_client).argmax())
        size = self.data.spectrum
        for name, square, along in (
            ("local_smoothness", size.largest**2, _top(rows[client])),
            ("objective_smoothness", size.pooled**2, _top(rows.flatten(0, 1))),
            ("local_sample_smoothness", size.longest**2, longest / longest.norm()),
        ):
            smooth, pair = square / 4 + Formula(self.ridge, "ridge"), pair_along(along, _REACH)
            yield exact(name, smooth, "The logistic loss curves most at margin 0: 1/4.", pair, attains=1 - 1e-5)

    def _differences(self) -> Iterator[Certificate]:
        """A gradient is -m/2 - u m/2 with |u| <= 1 (plus the ridge, which all share)."""
        rows, size = self.data.features, self.data.spectrum
        means = rows.mean(1)
        scatter = (rows - means.unsqueeze(1)).square().sum(-1).mean(1).sqrt()
        deviation = 0.5 * float((scatter + rows.square().sum(-1).mean(1).sqrt()).amax())
        apart = float((means - means.mean(0)).square().sum(-1).mean().sqrt())
        own = float(torch.tensor(size.per_client, dtype=torch.float64).square().mean().sqrt())
        noise = "A deviation is at most that of m/2 plus the root of mean |m|^2 / 4."
        yield upper("local_gradient_noise", rounded_up(deviation), noise)
        differ = "That of the mean m/2 plus the root of the mean over clients of ||mean u m||^2 / 4."
        yield upper("local_gradient_heterogeneity", rounded_up(0.5 * (apart + own)), differ)

    def _bounds(self) -> Iterator[Certificate]:
        rows, size = self.data.features, self.data.spectrum
        means = torch.linalg.vector_norm(rows.mean(1), dim=-1)
        local = max(0.5 * (float(mean) + own) for mean, own in zip(means, size.per_client, strict=True))
        pooled = 0.5 * (float(torch.linalg.vector_norm(rows.mean((0, 1)))) + size.pooled.value)
        yield upper("local_gradient_bound", rounded_up(local), "||mean m||/2 plus ||mean u m||/2, |u| <= 1.")
        yield upper("local_sample_gradient_bound", size.longest, "The slope of the loss is below 1.")
        yield cap_certificate(self, rounded_up(pooled), "||mean m||/2 plus ||mean u m||/2 over all clients.")

    def _gap(self) -> Certificate:
        rows = self.data.features.flatten(0, 1)
        best = minimiser_of(rows, self.ridge)
        start, least = self.objective(torch.stack([self.initial_point, best])).tolist()
        if self.ridge > 0:
            below = float(self.gradient(best.unsqueeze(0)).square().sum()) / (2 * self.ridge)
            infimum, argument = least - below, "F is ridge-strongly convex: F >= F(x) - |grad F(x)|^2 / (2 ridge)."
        else:
            infimum, argument = (
                dual_bound(rows, best),
                ("log(1 + exp(-t)) >= H(p) - p t for p in [0, 1]; with sum p_i m_i = 0 the mean of H(p_i) is below F."),
            )
        gap = difference_above(start, infimum)
        attained = max(start - least, 0.0) / gap * (1 - 1e-9)
        return Certificate(
            "objective_gap",
            gap,
            "exact" if attained >= MINIMUM_EXACT_WITNESS else "upper",
            argument,
            witness=attained,
            points=(as_point(best),),
        )


def _top(rows: Tensor) -> Tensor:
    """The unit vector that the largest eigenvalue of mean_j m_j m_j^T belongs to."""
    return torch.linalg.svd(rows, full_matrices=False).Vh[0]


def minimiser_of(rows: Tensor, ridge: float) -> Tensor:
    """Where F is least, by damped Newton steps; as far as they go where F has no minimum. `(dim,)`."""
    x = rows.new_zeros(rows.shape[-1])
    eye = torch.eye(len(x), dtype=rows.dtype, device=rows.device)

    def value(at: Tensor) -> float:
        return float(softplus(-(rows @ at)).mean() + 0.5 * ridge * at @ at)

    for _ in range(_NEWTON_STEPS):
        s = sigmoid(-(rows @ x))
        gradient = ridge * x - (s.unsqueeze(-1) * rows).mean(0)
        hessian = (rows * (s * (1 - s)).unsqueeze(-1)).T @ rows / len(rows) + (ridge + _DAMPING) * eye
        step = torch.linalg.solve(hessian, gradient)
        while value(x - step) > value(x) and float(step.norm()) > _DAMPING:
            step = 0.5 * step
        x = x - step
    return x


def dual_bound(rows: Tensor, x: Tensor) -> float:
    """A lower bound of mean_i log(1 + exp(-m_i.x)) over all x: the mean entropy of weights p in [0, 1] with sum p_i m_i = 0.

    At the minimum p_i = sigmoid(-m_i.x) is such; elsewhere it is moved to the nearest one. Without one in [0, 1]: 0.
    """
    p = sigmoid(-(rows @ x))
    p = p - torch.linalg.pinv(rows.T) @ (rows.T @ p)
    if bool((p <= 0).any() or (p >= 1).any()):
        return 0.0
    return float(-(p * p.log() + (1 - p) * (1 - p).log()).mean()) * (1 - 1e-12)
