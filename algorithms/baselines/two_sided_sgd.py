"""Two-sided SGD: local steps of one size, and a server that steps along their mean change with a size and a momentum of its own.

Our formulation of FedAvg with server momentum, which is FedAvgM in Hsu, Qi, Brown, "Measuring the effects of non-identical
data distribution for federated visual classification", arXiv:1909.06335, and of the generalised FedAvg with two step
sizes in Reddi et al., "Adaptive federated optimization", ICLR 2021.
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
from ..engine.schedule import Schedule, at
from .rounds import InRounds


@dataclass(frozen=True, kw_only=True)
class TwoSidedState(State):
    """x_i; origin: the server's model x of this round; velocity: u, the server's momentum. All like x."""

    origin: Tensor
    velocity: Tensor


@dataclass(frozen=True, eq=False)
class TwoSidedSGD(InRounds):
    """tau steps x_i <- x_i - eta g_i, then u <- beta u + mean_i (x_i - x) and x <- x + eta_g u, u = 0 at the start.

    Args:
        eta: local step size, in [x]^2 / [f].
        tau: local steps per round.
        eta_g: step size of the server, a pure number; 1 with beta = 0 is Local SGD.
        beta: momentum of the server, in [0, 1).
        b: batch size.
        m: number of clients that take part in a round, drawn uniformly without replacement; all when None.

    A schedule of eta_g is evaluated at the last step of a round.
    """

    name: ClassVar[str] = "two_sided_sgd"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = ROUND_COSTS
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period", "m": "sampled_clients"}

    eta: Scalar | Schedule
    tau: int
    eta_g: Scalar | Schedule = 1.0
    beta: Scalar = 0.0
    b: int = 1
    m: int | None = None

    def init(self, problem: Any, start: Start, draws: Draws) -> TwoSidedState:
        x = start.models(problem, draws)
        return TwoSidedState(x=x, active=participants(draws, self.m), origin=x, velocity=x.new_zeros(x.shape))

    def after_round(self, problem: Any, state: TwoSidedState, t: int) -> TwoSidedState:
        velocity = self.beta * state.velocity + (average(state.x, state.active) - state.origin)
        x = state.origin + at(self.eta_g, t) * velocity
        return replace(state, x=x, origin=x, velocity=velocity)
