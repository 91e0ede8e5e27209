"""FedProx: local steps on the client's loss with a proximal term that holds it near the server's model.

Source: Li et al., "Federated optimization in heterogeneous networks", MLSys 2020, Algorithm 2 with a fixed number of steps
of stochastic gradient descent as the inexact local solver.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Scalar, Start, State, average
from ..engine.oracles import PLAIN_ORACLES, ROUND_COSTS
from ..engine.participation import participants
from ..engine.schedule import Schedule
from .rounds import InRounds


@dataclass(frozen=True, kw_only=True)
class FedProxState(State):
    """w_k; origin: the server's model w^t of this round."""

    origin: Tensor


@dataclass(frozen=True, eq=False)
class FedProx(InRounds):
    """tau steps on h_k(w; w^t) = F_k(w) + (mu / 2) |w - w^t|^2 at each client of the round, then the mean.

    Args:
        eta: local step size, in [x]^2 / [f].
        mu: weight of the proximal term, in [f] / [x]^2; 0 is Local SGD.
        tau: local steps per round.
        b: batch size.
        m: number of clients that take part in a round; all when None.

    The box draws a client with a probability in proportion to its data; here the clients weigh the same, as in the objective.
    """

    name: ClassVar[str] = "fedprox"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = ROUND_COSTS
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period", "m": "sampled_clients"}

    eta: Scalar | Schedule
    mu: Scalar
    tau: int
    b: int = 1
    m: int | None = None

    def init(self, problem: Any, start: Start, draws: Draws) -> FedProxState:
        x = start.models(problem, draws)
        return FedProxState(x=x, active=participants(draws, self.m), origin=x)

    def direction(self, problem: Any, state: FedProxState, draws: Draws) -> Tensor:
        return super().direction(problem, state, draws) + self.mu * (state.x - state.origin)

    def after_round(self, problem: Any, state: FedProxState, t: int) -> FedProxState:
        x = average(state.x, state.active)
        return replace(state, x=x, origin=x)
