"""What the robust problems have in common: bounded losses of linear margins, of which g_k is a mean at client k."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ..kinds import AbstractComposite, AbstractSampled, Draws, Predictions, Sample
from ..kinds.predictions import of_margins, only_training_data
from .data import margins_of
from .linear_losses import IndexSample, LinearLosses, index_of
from .patterns import equal_weights
from .scalar import OfLoss, SaturatedLogistic, ScalarLoss, Sigmoid

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
        return -self.start * torch.eye(self.dim, dtype=torch.float64, device=self.device)[0]

    def predict(self, x: Tensor, split: str = "train") -> Predictions:
        """Scores of all training data at x `(runs, dim)`."""
        only_training_data(self.name, split)
        return of_margins(self.data.margins(x.unsqueeze(1), None)[0], self.data.labels)

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> IndexSample:
        return IndexSample(draws.integers(purpose, self.samples, batch))

    def atoms(self) -> tuple[IndexSample, Tensor]:
        index = torch.arange(self.samples, device=self.device).expand(1, self.clients, -1)
        return IndexSample(index), equal_weights(self.samples, self.device)


@dataclass(frozen=True)
class AbstractMarginProblem(AbstractOfMargins, AbstractComposite):
    """g_k(x) = mean_i u(l_ki(x)), where l_ki is a loss of the margin of sample i at client k; a sample is one such i.

    Args:
        clients, samples, dim: K, samples per client, size of the model.
        M: the largest loss. loss: "sigmoid" or "logistic" (saturated).
        table, positives: "" for generated data, else a table of `tables` and the share of positive labels.
        shift, noise, seed: of the data, see `data.margins_of`.
    """

    name: str = "margin_problem"
    clients: int = 6
    samples: int = 16
    dim: int = 5
    M: float = 1.0
    loss: str = "sigmoid"
    table: str = ""
    positives: float = 0.5
    shift: float = 0.5
    noise: float = 0.5
    seed: int = 0
    start: float = 4.0
    device: str = "cpu"
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
