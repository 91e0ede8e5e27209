"""Means over per-client data of a scalar function of linear margins a_i.x, their derivatives, and bounds of them; and what the robust
problems have in common: bounded losses of such margins, of which g_k is a mean at client k.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from ..certificate import QUOTIENT, WORDS, Certificate, Formula, by_quantity, largest, rounded_up, upper
from ..kinds import AbstractComposite, AbstractSampled, Draws, Predictions, Sample
from ..kinds.predictions import of_margins, only_training_data
from .composition import heterogeneity_of_average, no_extra_certificates
from .data import margins_of
from .noise import IndexSample, every_index, index_of
from .patterns import first_axis
from .scalar import OfLoss, SaturatedLogistic, ScalarLoss, Sigmoid

MEAN_MAP = "A mean of c_i a_i with |c_i| <= sup is at most sup ||A||/sqrt(n)"
OTHERS = "J_k - J = (1 - 1/K) J_k - (1/K) sum of the others"


@dataclass(frozen=True)
class Spectrum:
    """Sizes of data: root of the largest eigenvalue of mean_i a_i a_i^T, per client and pooled; lengths of the a_i."""

    per_client: tuple[float, ...]
    pooled: Formula
    root_mean_square: Formula  # the largest over the clients
    longest: Formula

    @staticmethod
    def of(features: Tensor) -> Spectrum:
        """From `(clients, samples, dim)`; each is rounded up."""
        scale = features.shape[1] ** 0.5
        own = torch.linalg.matrix_norm(features, ord=2) / scale
        pooled = float(torch.linalg.matrix_norm(features.flatten(0, 1), ord=2)) / (scale * features.shape[0] ** 0.5)
        lengths = torch.linalg.vector_norm(features, dim=-1)
        return Spectrum(
            tuple(rounded_up(float(s)) for s in own),
            Formula(rounded_up(pooled), "||A||/sqrt(K n)", QUOTIENT),
            Formula(rounded_up(float((lengths**2).mean(-1).amax().sqrt())), "max_k sqrt(mean |a_i|^2)", WORDS),
            Formula(rounded_up(float(lengths.amax())), "max |a_i|", WORDS),
        )

    @property
    def largest(self) -> Formula:
        """Of any client."""
        return Formula(max(self.per_client), "max_k ||A_k||/sqrt(n)", QUOTIENT)

    @property
    def apart(self) -> Formula:
        """Bound of ||(mean map of k) - (mean of the mean maps)|| per unit of slope, over k."""
        text = "max_k ((1 - 1/K) ||A_k|| + (1/K) sum of the other ||A_l||)/sqrt(n)"
        return Formula(heterogeneity_of_average(self.per_client), text, QUOTIENT)


@dataclass(frozen=True, eq=False)
class LinearLosses:
    """Features `(clients, samples, dim)`, already multiplied by their labels +-1 `(clients, samples)`, and averages."""

    features: Tensor
    labels: Tensor

    @cached_property
    def spectrum(self) -> Spectrum:
        """Sizes of the data."""
        return Spectrum.of(self.features)

    @cached_property
    def _client(self) -> Tensor:
        return torch.arange(len(self.features), device=self.features.device).unsqueeze(-1)

    def rows(self, index: Tensor | None) -> Tensor:
        """The features of all samples `(clients, samples, dim)`, or of the drawn ones `(runs, clients, batch, dim)`."""
        return self.features if index is None else self.features[self._client, index]

    def picked(self, table: Tensor, index: Tensor | None) -> Tensor:
        """The same for another table `(clients, samples, ...)`."""
        return table if index is None else table[self._client, index]

    def margins(self, x: Tensor, index: Tensor | None) -> tuple[Tensor, Tensor]:
        """a_i.x `(runs, clients, batch)` and the a_i themselves."""
        rows = self.rows(index)
        return (rows * x.unsqueeze(2)).sum(-1), rows

    def average(self, function: OfLoss, x: Tensor, index: Tensor | None = None) -> Tensor:
        """mean_i u(a_i.x), `(runs, clients, dim) -> (runs, clients)`."""
        return function.value(self.margins(x, index)[0]).mean(-1)

    def average_gradient(self, function: OfLoss, x: Tensor, index: Tensor | None = None) -> Tensor:
        """mean_i u'(a_i.x) a_i, `(runs, clients, dim)`."""
        margins, rows = self.margins(x, index)
        return combination(function.slope(margins), rows)


def combination(rates: Tensor, rows: Tensor) -> Tensor:
    """mean_i c_i a_i over the batch: `(runs, clients, batch)` and `(..., batch, dim)` to `(runs, clients, dim)`."""
    weighted = rates.unsqueeze(-1) * rows
    if weighted.shape[2] == 1:
        return weighted.squeeze(2)
    return weighted.transpose(-1, -2).contiguous().mean(-1)


def map_certificates(function: OfLoss, size: Spectrum) -> Iterator[Certificate]:
    """Of g_k(x) = mean_i u(a_i.x) with one sampled i: its Lipschitz, smoothness, noise and heterogeneity constants."""
    slope, bend, (low, high) = *function.suprema, function.range
    noises = (
        upper("inner_jacobian_noise", slope * size.root_mean_square, "A variance is at most the second moment."),
        upper("inner_value_noise", (high - low) / 2, "A variance on an interval is at most (length/2)^2."),
    )
    yield upper("inner_lipschitz", slope * size.largest, f"{MEAN_MAP}, with the slopes as c_i.")
    in_mean_square = "mean (u(a_i.x) - u(a_i.x'))^2 <= sup |u'|^2 mean (a_i.(x - x'))^2."
    yield upper("inner_mean_square_lipschitz", slope * size.largest, in_mean_square)
    of_sample = "The gradient of one sample is u'(a_i.x) a_i."
    yield upper("inner_jacobian_mean_square", slope * size.root_mean_square, of_sample)
    yield upper("inner_sample_lipschitz", slope * size.longest, of_sample)
    turned = f"{MEAN_MAP}, with differences of slopes as c_i, which are at most sup |u''| |a_i.(x - x')|."
    yield upper("inner_smoothness", bend * size.largest**2, turned)
    yield upper("inner_sample_smoothness", bend * size.longest**2, "The Hessian of one sample is u''(a_i.x) a_i a_i^T.")
    yield from noises
    yield upper("inner_noise", largest(*(one.formula for one in noises)))
    yield upper("inner_jacobian_heterogeneity", slope * size.apart, f"{OTHERS}.")


_OF_EXTRA = {
    "noncompositional_smoothness": "inner_smoothness",
    "noncompositional_gradient_noise": "inner_jacobian_noise",
    "noncompositional_heterogeneity": "inner_jacobian_heterogeneity",
}
"""Constants of h_k, and those of an inner map that say the same of it."""


def extra_certificates(function: OfLoss | None, size: Spectrum) -> Iterator[Certificate]:
    """Of h_k(x) = mean_i u(a_i.x), or of h = 0."""
    if function is None:
        yield from no_extra_certificates()
        return
    of_map = by_quantity(map_certificates(function, size))
    yield from (replace(of_map[same], quantity=name) for name, same in _OF_EXTRA.items())


LOSSES: Mapping[str, type[Sigmoid] | type[SaturatedLogistic]] = {"sigmoid": Sigmoid, "logistic": SaturatedLogistic}


def chosen_loss(name: str, M: float) -> ScalarLoss:
    """The loss of that name with supremum M.

    Raises:
        ValueError: for another name, or an M that the loss cannot have.
    """
    if name not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {name!r}")
    return LOSSES[name](M)


class AbstractOfMargins(AbstractSampled):
    """A problem on the margins of per-client data, of which a sample is one; `start` on the wrong side of the first axis."""

    samples: int
    table: str
    positives: float
    shift: float
    noise: float
    seed: int
    start: float
    device: str

    @cached_property
    def data(self) -> LinearLosses:
        """Features times labels, and labels."""
        sizes, law = (self.clients, self.samples, self.dim), (self.positives, self.shift, self.noise)
        return LinearLosses(*margins_of(self.table, *sizes, *law, self.seed, self.device))

    @cached_property
    def initial_point(self) -> Tensor:
        return -self.start * first_axis(self.dim, self.device)

    def predict(self, x: Tensor, split: str = "train") -> Predictions:
        """Scores of all training data at x `(runs, dim)`."""
        only_training_data(self.name, split)
        return of_margins(self.data.margins(x.unsqueeze(1), None)[0], self.data.labels)

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> IndexSample:
        return IndexSample(draws.integers(purpose, self.samples, batch))

    def atoms(self) -> tuple[IndexSample, Tensor]:
        return every_index(self.samples, self.clients, self.device)


@dataclass(frozen=True)
class AbstractOfTable(AbstractOfMargins):
    """One on generated data, or on those of a table.

    Args:
        clients, samples, dim: their number, samples per client, size of the model.
        table, positives: "" for generated data, else a table of `data.TABLES` and the share of positive labels.
        shift, noise, seed: of the data, see `data.margins_of`.
        start: distance of the initial point from 0, on the wrong side of the first axis.
    """

    name: str = "margins"
    clients: int = 6
    samples: int = 16
    dim: int = 5
    table: str = ""
    positives: float = 0.5
    shift: float = 0.5
    noise: float = 0.5
    seed: int = 0
    start: float = 4.0
    device: str = "cpu"


@dataclass(frozen=True)
class AbstractMarginProblem(AbstractOfTable, AbstractComposite):
    """g_k(x) = mean_i u(l_ki(x)), where l_ki is a loss of the margin of sample i at client k; a sample is one such i.

    Args:
        M: the largest loss. loss: "sigmoid" or "logistic" (saturated). The rest as for `AbstractOfTable`.
    """

    M: float = 1.0
    loss: str = "sigmoid"
    inner_dim: int = 1

    @property
    @abstractmethod
    def inner_function(self) -> OfLoss:
        """u of the loss."""

    def _check_parameters(self) -> None:
        if self.inner_dim != 1:
            raise ValueError(f"inner_dim is 1, got {self.inner_dim}")
        _ = self.data, self.inner_function  # the data and the loss check their own parameters

    @cached_property
    def loss_function(self) -> ScalarLoss:
        """Of a margin."""
        return chosen_loss(self.loss, self.M)

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self.data.average(self.inner_function, x, index_of(sample)).unsqueeze(-1)

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return self.data.average_gradient(self.inner_function, x, index_of(sample)) * v
