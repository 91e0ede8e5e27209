"""What the baselines that work in rounds share: tau local steps at every client of the round, then what the server makes of them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, State, descend, is_due
from ..engine.participation import at_round_start, fraction
from ..engine.schedule import Schedule, at
from .plain import plain_gradient

AnyState = TypeVar("AnyState", bound=State)


class InRounds(Method):
    """A method with local steps x_i <- x_i - eta d_i, d_i a plain gradient unless it says otherwise; `m` clients or all of them."""

    sends: ClassVar[int] = 1  # model-sized messages of a client in a round
    eta: Scalar | Schedule
    tau: int
    b: int
    m: int | None = None

    def direction(self, problem: Any, state: Any, draws: Draws) -> Tensor:
        """d_i, like x."""
        return plain_gradient(problem, state.x, draws, self.b)

    @abstractmethod
    def after_round(self, problem: Any, state: Any, t: int) -> State:
        """The state once a round has ended with step t."""

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
        return Messages(rounds, self.sends * rounds * problem.dim * fraction(problem, self.m))
