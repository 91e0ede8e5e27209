"""Local steps in rounds: what all such methods share, and those whose server takes the mean of the models.

Local SGD, or FedAvg on ordinary losses: what comes out when the composition is ignored.
FedProx: local steps on the client's loss with a proximal term that holds it near the server's model.
Local heavy-ball SGD: every client steps with a momentum of its own; the momenta are averaged with the models.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import (
    Messages,
    Method,
    Scalar,
    Start,
    State,
    at_round_start,
    average,
    choice,
    descend,
    fraction,
    is_due,
    participants,
)
from ..engine.oracles import PLAIN_ORACLES, ROUND_COSTS, TWO_MESSAGE_COSTS
from ..engine.schedule import Schedule, at, largest
from .plain import plain_gradient

AnyState = TypeVar("AnyState", bound=State)


@dataclass(frozen=True, kw_only=True)
class RoundState(State):
    """x_i; origin: the server's model at the beginning of this round, like x."""

    origin: Tensor


class InRounds(Method):
    """A method with local steps x_i <- x_i - eta d_i, d_i a plain gradient unless it says otherwise; `m` clients or all of them."""

    sends: ClassVar[int] = 1  # model-sized messages of a client in a round
    numbers: ClassVar[int] = 0  # and single numbers
    eta: Scalar | Schedule
    tau: int
    b: int
    m: int | None = None

    def direction(self, problem: Any, state: Any, draws: Draws) -> Tensor:
        """d_i, like x."""
        return plain_gradient(problem, state.x, draws, self.b)

    def after_round(self, problem: Any, state: Any, t: int) -> State:
        """The state once a round has ended with step t: with the mean of the models unless it says otherwise."""
        return replace(state, x=average(state.x, state.active))

    def begun(self, state: AnyState, draws: Draws, t: int) -> AnyState:
        """The state with the clients of the round."""
        return at_round_start(state, draws, t, self.tau, self.m)

    def local_step(self, problem: Any, state: Any, draws: Draws, t: int) -> State:
        state = self.begun(state, draws, t)
        return replace(state, x=descend(state.x, at(self.eta, t), self.direction(problem, state, draws)))

    def communicate(self, problem: Any, state: Any, t: int) -> State:
        return self.after_round(problem, state, t) if is_due(t, self.tau) else state

    def messages(self, problem: Any, T: int) -> Messages:
        rounds = T // self.tau
        taking_part = rounds * fraction(problem, self.m)
        return Messages(rounds, self.sends * taking_part * problem.dim, self.numbers and self.numbers * taking_part)


@dataclass(frozen=True, eq=False)
class LocalSGD(InRounds):
    """Local steps with the gradients of plain losses (see ``plain``), averaged over the clients of the round.

    Args:
        eta: step size, in [x]^2 / [f].
        tau: local steps per round.
        b: batch size; the gradients of b single samples are averaged, not their inner values.
        m: number of clients that take part in a round, drawn uniformly without replacement; all when None.

    The box weights a client by its number of data, n_k / n; here the clients weigh the same, as in the objective.

    Source: McMahan et al., "Communication-efficient learning of deep networks from decentralized data", AISTATS 2017,
    Algorithm 1, with steps in place of epochs; Stich, "Local SGD converges fast and communicates little", ICLR 2019,
    Algorithm 1, is m = None. The FedDRO paper's own FedAvg, with the gradients of the composition, is ``FedAvg``.
    """

    name: ClassVar[str] = "local_sgd"
    kinds: ClassVar[tuple[str, ...]] = tuple(PLAIN_ORACLES)
    needs: ClassVar[tuple[str, ...]] = ()
    needs_on: ClassVar[Mapping[str, tuple[str, ...]]] = PLAIN_ORACLES
    costs: ClassVar[Mapping[str, str]] = ROUND_COSTS
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period", "m": "sampled_clients"}

    eta: Scalar | Schedule
    tau: int
    b: int = 1
    m: int | None = None

    @property
    def gradient_step(self) -> Scalar:
        return largest(self.eta)

    def init(self, problem: Any, start: Start, draws: Draws) -> State:
        return State(x=start.models(problem, draws), active=participants(draws, self.m))


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

    Source: Li et al., "Federated optimization in heterogeneous networks", MLSys 2020, Algorithm 2 with a fixed number of steps
    of stochastic gradient descent as the inexact local solver.
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

    def init(self, problem: Any, start: Start, draws: Draws) -> RoundState:
        x = start.models(problem, draws)
        return RoundState(x=x, active=participants(draws, self.m), origin=x)

    def direction(self, problem: Any, state: RoundState, draws: Draws) -> Tensor:
        return super().direction(problem, state, draws) + self.mu * (state.x - state.origin)

    def after_round(self, problem: Any, state: RoundState, t: int) -> RoundState:
        x = average(state.x, state.active)
        return replace(state, x=x, origin=x)


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

    Our formulation of parallel restarted SGD with momentum, Yu, Jin, Yang, "On the linear speedup analysis of communication
    efficient momentum SGD for distributed non-convex optimization", ICML 2019.
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
