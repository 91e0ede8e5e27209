"""What the problems made of a model have in common: data, samples, predictions, losses, and the constants that were found for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ..certificate import Certificate
from ..kinds import INDEPENDENT_CLIENTS, AbstractProblem, Draws, Predictions
from ..parts.noise import IndexSample, every_index
from .data import ClientData
from .flat import FlatModel
from .recognised import LinearGradient


@dataclass(frozen=True, eq=False)
class ModelParts:
    """A model with the data of the clients, and the oracles of its local losses L_k.

    Args:
        flat: the model and its loss. train: what oracles see. test: what they do not see, or None.
        start: `(dim,)`; the parameters of the module without it.
        constants: estimated constants by quantity, where somebody has estimated them.
        search: how they are to be estimated: arguments of `estimate_constants`.
    """

    flat: FlatModel
    train: ClientData
    test: ClientData | None = None
    start: Tensor | None = None
    name: str = "model"
    constants: Mapping[str, Certificate] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)

    def value(self, x: Tensor, index: Tensor | None = None) -> Tensor:
        """L_k(x_k), `(runs, clients)`: over all data, or at positions."""
        return self.flat.value(x, self.train.rows(index))

    def gradient(self, x: Tensor, index: Tensor | None = None) -> Tensor:
        """`(runs, clients, dim)`; in closed form where the model is one linear layer with a loss that is recognised."""
        return (self._linear or self.flat.gradient)(x, self.train.rows(index))

    @cached_property
    def _linear(self) -> LinearGradient | None:
        return LinearGradient.of(self)

    def hvp(self, x: Tensor, v: Tensor, index: Tensor | None = None) -> Tensor:
        """Hessian of L_k at x_k times v_k, `(runs, clients, dim)`."""
        return self.flat.hvp(x, v, self.train.rows(index))


class AbstractModelProblem(AbstractProblem):
    """The members that do not depend on the form; `parts` is what a form is made of."""

    parts: ModelParts

    @property
    def certified(self) -> bool:  # type: ignore[override]
        """Whether every constant that it carries is proved, as for linear models; then a bound may rest on them."""
        kinds = {certificate.kind for certificate in self.parts.constants.values()}
        return bool(kinds) and "estimated" not in kinds

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.parts.name

    @property
    def clients(self) -> int:  # type: ignore[override]
        return self.parts.train.clients

    @property
    def dim(self) -> int:  # type: ignore[override]
        return self.parts.flat.dim

    @property
    def properties(self) -> frozenset[str]:
        return INDEPENDENT_CLIENTS

    @property
    def initial_point(self) -> Tensor:
        return self.parts.flat.start if self.parts.start is None else self.parts.start

    @property
    def certificates(self) -> Mapping[str, Certificate]:
        """What was estimated or, for linear models, proved; nothing without `fedco.estimate`."""
        return self.parts.constants

    @property
    def has_test_data(self) -> bool:
        return self.parts.test is not None

    def _split(self, split: str) -> ClientData:
        found = {"train": self.parts.train, "test": self.parts.test}.get(split)
        if found is None:
            raise ValueError(f"{self.name} has no {split} data")
        return found

    def deployed(self, x: Tensor) -> Tensor:
        """The models that the clients use once x `(runs, dim)` is trained, `(runs, clients, dim)`: x itself."""
        return self.to_clients(x)

    def predict(self, x: Tensor, split: str = "train") -> Predictions:
        data = self._split(split)
        scores = self.parts.flat.scores(self.deployed(x), data.inputs.unsqueeze(0))
        return Predictions(scores, data.labels, (data.weights > 0).to(torch.float64))

    def data_loss(self, x: Tensor, split: str = "train") -> Tensor:
        """The mean over the clients of their mean losses, of the models that they use: `(runs, dim) -> (runs,)`."""
        return self.parts.flat.value(self.deployed(x), self._split(split).rows(None)).mean(-1)

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> Any:
        return IndexSample(self.parts.train.positions(draws.uniform(purpose, batch)))

    def atoms(self) -> tuple[Any, Tensor]:
        """Every example of every client; wants as many at each.

        Raises:
            InputError: the clients have different numbers of examples.
        """
        return every_index(self.parts.train.common, self.clients, "cpu")
