"""Local heavy-ball SGD: every client steps with a momentum of its own; the momenta are averaged with the models.

Our formulation of parallel restarted SGD with momentum, Yu, Jin, Yang, "On the linear speedup analysis of communication
efficient momentum SGD for distributed non-convex optimization", ICML 2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Scalar, Start, State, average, choice, descend
from ..engine.oracles import PLAIN_ORACLES, TWO_MESSAGE_COSTS
from ..engine.participation import fraction, participants
from ..engine.schedule import Schedule, at
from .plain import plain_gradient
from .rounds import InRounds


@dataclass(frozen=True, kw_only=True)
class LocalHeavyBallState(State):
    """x_i; velocity: the momenta v_i, like x."""

    velocity: Tensor


@dataclass(frozen=True, eq=False)
class LocalHeavyBall(InRounds):
    """v_i <- beta v_i + g_i, x_i <- x_i - eta v_i; after tau steps the clients of the round average what they have.

    Args:
        eta: step size, in [x]^2 / [f]; with a constant eta a step is x - eta g + beta (x - the model before).
        beta: momentum, in [0, 1); 0 is Local SGD.
        tau: local steps per round; 1 with all clients is minibatch SGD with momentum.
        b: batch size.
        m: number of clients that take part in a round, drawn uniformly without replacement; all when None.
        momentum: what becomes of the v_i after a round: "average" shares their mean as the models', "keep" leaves each
            client its own, "reset" begins every round with 0.
    """

    name: ClassVar[str] = "local_heavy_ball"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = TWO_MESSAGE_COSTS
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period", "m": "sampled_clients"}

    eta: Scalar | Schedule
    beta: Scalar
    tau: int
    b: int = 1
    m: int | None = None
    momentum: str = choice("average", "keep", "reset")

    def init(self, problem: Any, start: Start, draws: Draws) -> LocalHeavyBallState:
        x = start.models(problem, draws)
        return LocalHeavyBallState(x=x, active=participants(draws, self.m), velocity=x.new_zeros(x.shape))

    def local_step(self, problem: Any, state: LocalHeavyBallState, draws: Draws, t: int) -> LocalHeavyBallState:
        state = self.begun(state, draws, t)
        velocity = self.beta * state.velocity + plain_gradient(problem, state.x, draws, self.b)
        return replace(state, x=descend(state.x, at(self.eta, t), velocity), velocity=velocity)

    def after_round(self, problem: Any, state: LocalHeavyBallState, t: int) -> LocalHeavyBallState:
        velocity = state.velocity
        if self.momentum == "average":
            velocity = average(velocity, state.active)
        elif self.momentum == "reset":
            velocity = velocity.new_zeros(velocity.shape)
        return replace(state, x=average(state.x, state.active), velocity=velocity)

    def messages(self, problem: Any, T: int) -> Messages:
        rounds, sent = T // self.tau, 2 if self.momentum == "average" else 1
        return Messages(rounds, sent * rounds * problem.dim * fraction(problem, self.m))
