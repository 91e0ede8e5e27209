"""FedAdam: local SGD whose server takes the mean change of the models for a gradient and steps as Adam, Yogi or Adagrad does.

Our formulation of Reddi et al., "Adaptive federated optimization", ICLR 2021.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Scalar, Start, State, average, blend, choice
from ..engine.oracles import PLAIN_ORACLES, ROUND_COSTS
from ..engine.participation import participants
from ..engine.schedule import Schedule, at
from .rounds import InRounds


@dataclass(frozen=True, kw_only=True)
class FedAdamState(State):
    """x_i; origin: the server's model x; first, second: its moments u and v. All like x."""

    origin: Tensor
    first: Tensor
    second: Tensor


@dataclass(frozen=True, eq=False)
class FedAdam(InRounds):
    """With D = mean_i x_i - x of a round: u <- beta_1 u + (1 - beta_1) D, v by `variant`, x <- x + eta_g u / (sqrt(v) + epsilon).

    Args:
        eta: local step size, in [x]^2 / [f].
        tau: local steps per round.
        eta_g: step size of the server, in [x].
        beta_1, beta_2: weights of the old moments, in [0, 1].
        epsilon: degree of adaptivity, in [x]; u starts at 0 and v at epsilon^2, without a correction of the bias.
        b: batch size.
        m: number of clients that take part in a round, drawn uniformly without replacement; all when None.
        variant: "adam": v <- beta_2 v + (1 - beta_2) D^2; "yogi": v <- v - (1 - beta_2) D^2 sign(v - D^2); "adagrad": v <- v + D^2.
    """

    name: ClassVar[str] = "fedadam"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = ROUND_COSTS
    quantities: ClassVar[Mapping[str, str]] = {
        "beta_1": "momentum",
        "beta_2": "momentum",
        "tau": "communication_period",
        "m": "sampled_clients",
    }

    eta: Scalar | Schedule
    tau: int
    eta_g: Scalar | Schedule
    beta_1: Scalar = 0.9
    beta_2: Scalar = 0.99
    epsilon: Scalar = 1e-3
    b: int = 1
    m: int | None = None
    variant: str = choice("adam", "yogi", "adagrad")

    def init(self, problem: Any, start: Start, draws: Draws) -> FedAdamState:
        x = start.models(problem, draws)
        zero = x.new_zeros(x.shape)
        second = zero + self.epsilon * self.epsilon
        return FedAdamState(x=x, active=participants(draws, self.m), origin=x, first=zero, second=second)

    def after_round(self, problem: Any, state: FedAdamState, t: int) -> FedAdamState:
        change = average(state.x, state.active) - state.origin
        first = blend(change, state.first, self.beta_1)
        second = self._second(state.second, change.square())
        x = state.origin + at(self.eta_g, t) * first / (second.sqrt() + self.epsilon)
        return replace(state, x=x, origin=x, first=first, second=second)

    def _second(self, v: Tensor, squared: Tensor) -> Tensor:
        if self.variant == "adam":
            return blend(squared, v, self.beta_2)
        if self.variant == "yogi":
            return v - (1 - self.beta_2) * squared * torch.sign(v - squared)
        return v + squared
