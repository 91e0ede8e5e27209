"""FCSG: local steps with the biased gradient estimate of a conditional expectation.

Source: Wu et al., "Federated conditional stochastic optimization", NeurIPS 2023, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, Start, State, average, descend, is_due
from ..engine.oracles import CONDITIONAL_ORACLES
from ..engine.schedule import Schedule, at


@dataclass(frozen=True)
class ConditionalBatch:
    """b outer samples xi, and m inner samples eta for each: what one gradient estimate is made of."""

    outer: Any
    inner: Any

    @staticmethod
    def draw(problem: Any, draws: Draws, b: int, m: int) -> ConditionalBatch:
        outer = problem.sample_outer(draws, b)
        return ConditionalBatch(outer, problem.sample_inner(draws, outer, m))

    def gradient(self, problem: Any, x: Tensor) -> Tensor:
        """The mean over the batch of the estimates (3): (mean_j dg)^T grad f_xi(mean_j g). (runs, clients, dim)."""
        per_sample = problem.sample_gradient(x, self.outer, self.inner)
        if per_sample.shape[2] == 1:
            return per_sample.squeeze(2)
        return per_sample.transpose(2, 3).contiguous().sum(-1) / per_sample.shape[2]


@dataclass(frozen=True, eq=False)
class FCSG(Method):
    """Algorithm 1 on F(x) = (1/N) sum_n E_xi f_xi(E_{eta|xi} g_eta(x, xi)), without momentum (line 14).

    Args:
        alpha: step size, in [x]^2 / [f].
        q: local steps per round.
        m: inner batch size. b: outer batch size.
        B: outer batch size of the first estimate u_1; b when None.

    The box computes u_{t+1} at x_t and then steps with it in its iteration t + 1; one step here is that estimate and
    that step, so time t is the box's x_t. Line 6 averages u_t too, which changes nothing without momentum: x_t is the
    average of x_{t-1} - alpha u_t either way. Section 4.1 has the models sent and no more, and so they are counted.
    """

    name: ClassVar[str] = "fcsg"
    kinds: ClassVar[tuple[str, ...]] = ("conditional",)
    needs: ClassVar[tuple[str, ...]] = CONDITIONAL_ORACLES
    quantities: ClassVar[Mapping[str, str]] = {"q": "communication_period"}

    alpha: Scalar | Schedule
    q: int
    m: int
    b: int = 1
    B: int | None = None

    def init(self, problem: Any, start: Start, draws: Draws) -> State:
        return State(x=start.models(problem, draws))

    def local_step(self, problem: Any, state: State, draws: Draws, t: int) -> State:
        batch = ConditionalBatch.draw(problem, draws, (self.B or self.b) if t == 0 else self.b, self.m)
        return replace(state, x=descend(state.x, at(self.alpha, t), batch.gradient(problem, state.x)))

    def communicate(self, problem: Any, state: State, t: int) -> State:
        return replace(state, x=average(state.x)) if is_due(t, self.q) else state

    def messages(self, problem: Any, T: int) -> Messages:
        return Messages(T // self.q, T // self.q * problem.dim)
