"""Local SGDA: every client descends in x and ascends in y by itself; both are averaged once in a round.

Our formulation of Deng, Mahdavi, "Local stochastic gradient descent ascent: convergence analysis and communication
efficiency", AISTATS 2021, with a projection on the set Y of the problem.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Scalar, Start, State, average, broadcast, descend, is_due
from ..engine.oracles import MINIMAX_ORACLES
from ..engine.participation import fraction, participants
from ..engine.schedule import Schedule, at
from .rounds import InRounds


@dataclass(frozen=True, kw_only=True)
class LocalSGDAState(State):
    """x_i; y: the y_i, (runs, clients, inner_dim)."""

    y: Tensor


@dataclass(frozen=True, eq=False)
class LocalSGDA(InRounds):
    """x_i <- x_i - eta grad_x f_i, y_i <- P(y_i + eta_y grad_y f_i), both at the old (x_i, y_i) on one sample; averaged every tau steps.

    The last step in y of a round is projected after the averaging: a mean of projections is not the projection of a mean.

    Args:
        eta: step size of the descent in x, in [x]^2 / [f].
        eta_y: step size of the ascent in y, in [y]^2 / [f].
        tau: local steps per round; 1 is SGDA with the samples of all clients.
        b: batch size.
        m: number of clients that take part in a round, drawn uniformly without replacement; all when None.

    ``Start.y`` is y_0, the problem's `initial_dual` without it; P is the projection on Y.
    """

    name: ClassVar[str] = "local_sgda"
    kinds: ClassVar[tuple[str, ...]] = ("minimax",)
    needs: ClassVar[tuple[str, ...]] = MINIMAX_ORACLES
    costs: ClassVar[Mapping[str, str]] = {
        "iterations": "T",
        "rounds": "T/tau",
        "samples": "b*T",
        "model_messages": "T/tau",
        "embedding_messages": "T/tau",
    }
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period", "m": "sampled_clients"}

    eta: Scalar | Schedule
    eta_y: Scalar | Schedule
    tau: int
    b: int = 1
    m: int | None = None

    def init(self, problem: Any, start: Start, draws: Draws) -> LocalSGDAState:
        y = start.embeddings(problem, draws)
        if y is None:
            y = broadcast(problem.initial_dual.expand(draws.runs, -1), draws.clients)
        return LocalSGDAState(x=start.models(problem, draws), y=y, active=participants(draws, self.m))

    def local_step(self, problem: Any, state: LocalSGDAState, draws: Draws, t: int) -> LocalSGDAState:
        state = self.begun(state, draws, t)
        sample = problem.sample(draws, self.b)
        down = problem.descent_gradient(state.x, state.y, sample)
        up = problem.ascent_gradient(state.x, state.y, sample)
        y = state.y + at(self.eta_y, t) * up
        if not is_due(t, self.tau):  # the server projects the mean
            y = problem.projected(y)
        return replace(state, x=descend(state.x, at(self.eta, t), down), y=y)

    def after_round(self, problem: Any, state: LocalSGDAState, t: int) -> LocalSGDAState:
        return replace(state, x=average(state.x, state.active), y=problem.projected(average(state.y, state.active)))

    def messages(self, problem: Any, T: int) -> Messages:
        rounds = T // self.tau * fraction(problem, self.m)
        return Messages(T // self.tau, rounds * problem.dim, rounds * problem.inner_dim)
