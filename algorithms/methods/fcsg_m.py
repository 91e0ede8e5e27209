"""FCSG-M: FCSG with a momentum estimate of the gradient.

Source: Wu et al., "Federated conditional stochastic optimization", NeurIPS 2023, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, Start, State, average, blend, descend, is_due
from ..engine.oracles import CONDITIONAL_ORACLES
from ..engine.schedule import Schedule, at
from .fcsg import ConditionalBatch


@dataclass(frozen=True, kw_only=True)
class FCSGMState(State):
    """x_t, and u: the gradient estimates u_t, like x."""

    u: Tensor


@dataclass(frozen=True, eq=False)
class FCSGM(Method):
    """Algorithm 1 with u_{t+1} = (1 - beta) u_t + beta (estimate at x_t) (line 14 of FCSG-M).

    Args:
        alpha: step size, in [x]^2 / [f].
        beta: momentum weight of the new estimate, in (0, 1).
        q: local steps per round; models and gradient estimates are averaged.
        m: inner batch size. b: outer batch size. B: outer batch size of u_1; b when None.

    Time is shifted as in ``FCSG``: u_{t+1} is computed at x_t, and x_{t+1} = x_t - alpha u_{t+1}. Lines 6 and 7 average
    u_t and x_{t-1} - alpha u_t; whether the average of u comes before or after the step does not matter.
    """

    name: ClassVar[str] = "fcsg_m"
    kinds: ClassVar[tuple[str, ...]] = ("conditional",)
    needs: ClassVar[tuple[str, ...]] = CONDITIONAL_ORACLES
    quantities: ClassVar[Mapping[str, str]] = {"beta": "momentum", "q": "communication_period"}

    alpha: Scalar | Schedule
    beta: Scalar
    q: int
    m: int
    b: int = 1
    B: int | None = None

    def init(self, problem: Any, start: Start, draws: Draws) -> FCSGMState:
        x = start.models(problem, draws)
        return FCSGMState(x=x, u=x.new_zeros(x.shape))  # u: replaced at t = 0

    def local_step(self, problem: Any, state: FCSGMState, draws: Draws, t: int) -> FCSGMState:
        if t == 0:
            u = ConditionalBatch.draw(problem, draws, self.B or self.b, self.m).gradient(problem, state.x)
        else:
            estimate = ConditionalBatch.draw(problem, draws, self.b, self.m).gradient(problem, state.x)
            u = blend(state.u, estimate, self.beta)
        return FCSGMState(x=descend(state.x, at(self.alpha, t), u), u=u)

    def communicate(self, problem: Any, state: FCSGMState, t: int) -> FCSGMState:
        return FCSGMState(x=average(state.x), u=average(state.u)) if is_due(t, self.q) else state

    def messages(self, problem: Any, T: int) -> Messages:
        return Messages(T // self.q, T // self.q * 2 * problem.dim)
