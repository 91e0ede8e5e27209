"""Acc-FCSG-M: FCSG with momentum-based variance reduction.

Source: Wu et al., "Federated conditional stochastic optimization", NeurIPS 2023, Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, Start, State, average, choice, descend, is_due
from ..engine.oracles import CONDITIONAL_ORACLES
from ..engine.schedule import Schedule, at
from .fcsg import ConditionalBatch


@dataclass(frozen=True, kw_only=True)
class AccFCSGMState(State):
    """x_t; previous: x_{t-1}; u: the gradient estimates u_t. All like x."""

    previous: Tensor
    u: Tensor


@dataclass(frozen=True, eq=False)
class AccFCSGM(Method):
    """Algorithm 2: u_{t+1} = estimate at x_t + (1 - beta)(u_t - estimate at x_{t-1}), on one batch (line 14).

    Args:
        alpha: step size, in [x]^2 / [f].
        beta: weight in (0, 1); 1 forgets the past.
        q: local steps per round; models and gradient estimates are averaged.
        m: inner batch size. b: outer batch size. B: outer batch size of u_1; b when None.
        first_estimate: "own" of each client, as line 2 has it, or "averaged" before the first step.
        previous_model: "own" of each client at a communication, as line 14 has it, or "averaged" with x_t.

    Time is shifted as in ``FCSG``. Line 13
    draws inner samples for the B first outer samples at every t; those of the b samples of line 12 are meant.
    """

    name: ClassVar[str] = "acc_fcsg_m"
    kinds: ClassVar[tuple[str, ...]] = ("conditional",)
    needs: ClassVar[tuple[str, ...]] = CONDITIONAL_ORACLES
    quantities: ClassVar[Mapping[str, str]] = {"beta": "momentum", "q": "communication_period"}

    alpha: Scalar | Schedule
    beta: Scalar
    q: int
    m: int
    b: int = 1
    B: int | None = None
    first_estimate: str = choice("own", "averaged")
    previous_model: str = choice("own", "averaged")

    def init(self, problem: Any, start: Start, draws: Draws) -> AccFCSGMState:
        x = start.models(problem, draws)
        return AccFCSGMState(x=x, previous=x, u=x.new_zeros(x.shape))  # u: replaced at t = 0

    def local_step(self, problem: Any, state: AccFCSGMState, draws: Draws, t: int) -> AccFCSGMState:
        batch = ConditionalBatch.draw(problem, draws, (self.B or self.b) if t == 0 else self.b, self.m)
        u = batch.gradient(problem, state.x)
        if t > 0:
            u = u + (1 - self.beta) * (state.u - batch.gradient(problem, state.previous))
        return AccFCSGMState(x=descend(state.x, at(self.alpha, t), u), previous=state.x, u=u)

    def communicate(self, problem: Any, state: AccFCSGMState, t: int) -> AccFCSGMState:
        if is_due(t, self.q):
            previous = average(state.previous) if self.previous_model == "averaged" else state.previous
            return AccFCSGMState(x=average(state.x), previous=previous, u=average(state.u))
        if t == 0 and self.first_estimate == "averaged":
            return replace(
                state, x=average(state.x), u=average(state.u)
            )  # the common x_0 minus a step with the average
        return state

    def messages(self, problem: Any, T: int) -> Messages:
        rounds = T // self.q + int(self.first_estimate == "averaged" and self.q > 1 and T > 0)
        return Messages(rounds, rounds * 2 * problem.dim)
