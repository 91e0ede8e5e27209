"""The area under the ROC curve of a model's score as a saddle problem, and the federated method for it, CODA+.

    min over (w, a, b), max over alpha of (1/N) sum_k E_z F(w, a, b, alpha; z),  z = (input, y), h the model's one output,
    F = (1 - p) (h - a)^2 [y = 1] + p (h - b)^2 [y = 0] + 2 (1 + alpha) (p h [y = 0] - (1 - p) h [y = 1]) - p (1 - p) alpha^2

with p the share of positive examples.

Source: Ying, Wen, Lyu, "Stochastic online AUC maximization", NeurIPS 2016, for F; Yuan et al., "Federated deep AUC
maximization for heterogeneous data with a constant communication complexity", ICML 2021, for CODA+.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ...algorithms import Draws, Messages, Method, Scalar, Start, State, is_due
from ...algorithms.engine.method import average, descend
from ...synthetic.kinds import Predictions
from ...synthetic.models.base import AbstractModelProblem, ModelParts
from ...synthetic.models.data import ClientData
from ...synthetic.models.flat import FlatModel
from ...synthetic.parts.noise import index_of

_DUAL = 2
"""The place of alpha among (a, b, alpha, w)."""


class _WithThresholds(nn.Module):
    """The model with a, b and alpha as parameters before its own; the outputs of an example are (h, a, b, alpha)."""

    def __init__(self, score: nn.Module) -> None:
        super().__init__()
        self.a, self.b, self.alpha = (nn.Parameter(torch.zeros(1, dtype=torch.float64)) for _ in range(3))
        self.score = score

    def forward(self, inputs: Tensor) -> Tensor:
        h = self.score(inputs).view(-1)
        return torch.stack([h, *(value.expand_as(h) for value in (self.a, self.b, self.alpha))], dim=-1)


@dataclass(frozen=True)
class _Surrogate:
    """F of outputs `(batch, 4)` and labels 0 or 1 `(batch,)`, its mean."""

    share: float

    def __call__(self, outputs: Tensor, labels: Tensor) -> Tensor:
        h, a, b, alpha = outputs.unbind(-1)
        p, y = self.share, labels.to(outputs.dtype)
        squares = (1 - p) * (h - a) ** 2 * y + p * (h - b) ** 2 * (1 - y)
        return (squares + 2 * (1 + alpha) * (p * h * (1 - y) - (1 - p) * h * y) - p * (1 - p) * alpha**2).mean()


@dataclass(frozen=True, eq=False)
class AreaModel(AbstractModelProblem):
    """The problem above at x = (a, b, alpha, w), which starts at 0 and at the model's own parameters.

    Its objective is F, no function to be minimised: methods for other kinds do not run on it.
    """

    parts: ModelParts
    kind: ClassVar[str] = "saddle"
    inner_dim: ClassVar[int] = 0  # type: ignore[misc]

    @cached_property
    def ascends(self) -> Tensor:
        """1 for the coordinate of alpha, 0 for the others, `(dim,)`."""
        return torch.zeros(self.dim, dtype=torch.float64).index_fill_(0, torch.tensor(_DUAL), 1.0)

    def descent_ascent(self, x: Tensor, sample: Any = None) -> Tensor:
        """The gradient in (a, b, w), and minus that in alpha, `(runs, clients, dim)`."""
        return self.parts.gradient(x, index_of(sample)) * (1 - 2 * self.ascends)

    def objective(self, x: Tensor) -> Tensor:
        return self.parts.value(self.to_clients(x)).mean(-1)

    def gradient(self, x: Tensor) -> Tensor:
        return self.parts.gradient(self.to_clients(x)).mean(1)

    def predict(self, x: Tensor, split: str = "train") -> Predictions:
        data = self._split(split)
        scores = self.parts.flat.scores(self.deployed(x), data.inputs.unsqueeze(0))[..., :1]
        return Predictions(scores, data.targets.long(), (data.weights > 0).to(torch.float64))


def area(score: nn.Module, train: ClientData, test: ClientData, name: str) -> AreaModel:
    """The saddle problem of a model with one output on data with the labels 0 and 1."""
    inside = train.weights > 0
    share = float((train.targets[inside] == 1).double().mean())
    return AreaModel(ModelParts(FlatModel(_WithThresholds(score), _Surrogate(share)), train, test, name=name))


@dataclass(frozen=True, kw_only=True)
class CodaState(State):
    """x_t, and centre: the model at the beginning of the stage, like x."""

    centre: Tensor


@dataclass(frozen=True, eq=False)
class CodaPlus(Method):
    """x <- x - eta_s (descent-ascent direction + prox (x - centre) in all coordinates but alpha), averaged every tau steps.

    Args:
        eta: the step of the first stage. decay: by what the step is divided from one stage to the next, eta_s = eta / decay^s.
        prox: weight of the proximal term, 1 / gamma there.
        tau: local steps per round. stage: steps of a stage, a multiple of tau. b: batch size.

    A stage begins at the averaged model of the last step, as public programs have it.
    """

    name: ClassVar[str] = "coda_plus"
    kinds: ClassVar[tuple[str, ...]] = ("saddle",)
    needs: ClassVar[tuple[str, ...]] = ("sample", "descent_ascent")
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period"}

    eta: Scalar
    prox: Scalar
    tau: int
    stage: int
    b: int
    decay: float = 3.0

    def __post_init__(self) -> None:
        if self.stage % self.tau:
            raise ValueError(f"coda_plus: stage must be a multiple of tau = {self.tau}, got {self.stage}")

    def init(self, problem: Any, start: Start, draws: Draws) -> CodaState:
        x = start.models(problem, draws)
        return CodaState(x=x, centre=x)

    def local_step(self, problem: Any, state: CodaState, draws: Draws, t: int) -> CodaState:
        pulled = (state.x - state.centre) * (1 - problem.ascends) * self.prox
        direction = problem.descent_ascent(state.x, problem.sample(draws, self.b)) + pulled
        return replace(state, x=descend(state.x, self.eta / self.decay ** (t // self.stage), direction))

    def communicate(self, problem: Any, state: CodaState, t: int) -> CodaState:
        if not is_due(t, self.tau):
            return state
        x = average(state.x)
        return CodaState(x=x, centre=x if is_due(t, self.stage) else state.centre)

    def messages(self, problem: Any, T: int) -> Messages:
        return Messages(T // self.tau, T // self.tau * problem.dim)
