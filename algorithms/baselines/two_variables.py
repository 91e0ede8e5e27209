"""Methods with a second variable y: for minimax and for bilevel problems.

Local SGDA: every client descends in x and ascends in y by itself; both are averaged once in a round.
FedTTSA: two-timescale stochastic approximation for a bilevel problem whose two levels are means over clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Scalar, Start, State, average, broadcast, descend, fraction, is_due, participants
from ..engine.oracles import BILEVEL_ORACLES, MINIMAX_ORACLES, ROUND_COSTS
from ..engine.schedule import Schedule, at
from .plain import AtEveryStep
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

    Our formulation of Deng, Mahdavi, "Local stochastic gradient descent ascent: convergence analysis and communication
    efficiency", AISTATS 2021, with a projection on the set Y of the problem.
    """

    name: ClassVar[str] = "local_sgda"
    kinds: ClassVar[tuple[str, ...]] = ("minimax",)
    needs: ClassVar[tuple[str, ...]] = MINIMAX_ORACLES
    costs: ClassVar[Mapping[str, str]] = {**ROUND_COSTS, "embedding_messages": "T/tau"}
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


@dataclass(frozen=True, kw_only=True)
class FedTTSAState(State):
    """x at every client; y: that of the lower level, the same at every client, (runs, clients, inner_dim)."""

    y: Tensor


@dataclass(frozen=True, eq=False)
class FedTTSA(AtEveryStep):
    """tau local steps y_i <- y_i - eta_y grad_y g_i, averaged; then x <- x - eta mean_i (grad_x f_i - grad_xy g_i v) at the new y.

    v = eta_v sum_{k < K} (I - eta_v H)^k mean_i grad_y f_i stands for H^-1 mean_i grad_y f_i, H = mean_i grad_yy g_i: K exchanges.

    Args:
        eta: step size of the upper level, in [x]^2 / [f].
        eta_y: step size of the lower level, in [y]^2 / [f].
        eta_v: step size of the series, in [y]^2 / [f]; the series converges below 2 / the largest curvature of the mean g_i.
        K: number of its terms, at least 1.
        tau: local steps in y before each step in x.
        b: batch size of a step in y; the step in x has one of its own, of the same size.

    ``Start.y`` is y_0, the problem's `initial_lower` without it.

    Our federated formulation of Hong, Wai, Wang, Yang, "A two-timescale stochastic algorithm framework for bilevel optimization",
    SIAM J. Optim. 2023, with exact products of second derivatives and a vector.
    """

    name: ClassVar[str] = "fed_ttsa"
    kinds: ClassVar[tuple[str, ...]] = ("bilevel",)
    needs: ClassVar[tuple[str, ...]] = BILEVEL_ORACLES
    costs: ClassVar[Mapping[str, str]] = {
        "iterations": "T",
        "rounds": "(K + 2)*T",
        "samples": "b*(tau + 1)*T",
        "model_messages": "T",
        "embedding_messages": "(K + 1)*T",
    }
    quantities: ClassVar[Mapping[str, str]] = {"K": "series_terms"}

    eta: Scalar | Schedule
    eta_y: Scalar | Schedule
    eta_v: Scalar
    K: int
    tau: int = 1
    b: int = 1

    def init(self, problem: Any, start: Start, draws: Draws) -> FedTTSAState:
        y = start.embeddings(problem, draws)
        if y is None:
            y = broadcast(problem.initial_lower.expand(draws.runs, -1), draws.clients)
        return FedTTSAState(x=start.models(problem, draws), y=y)

    def local_step(self, problem: Any, state: FedTTSAState, draws: Draws, t: int) -> FedTTSAState:
        x, y = state.x, state.y
        for step in range(self.tau):
            sample = problem.sample(draws, self.b, f"lower {step}")
            y = descend(y, at(self.eta_y, t), problem.lower_gradient(x, y, sample))
        y = average(y)
        sample = problem.sample(draws, self.b, "upper")
        slope = average(problem.upper_gradient_in_y(x, y, sample))
        v = self.eta_v * slope
        for _ in range(self.K - 1):
            v = v + self.eta_v * (slope - average(problem.lower_hvp(x, y, v)))
        direction = problem.upper_gradient(x, y, sample) - problem.lower_cross(x, y, v)
        return FedTTSAState(x=descend(x, at(self.eta, t), direction), y=y)

    def messages(self, problem: Any, T: int) -> Messages:
        return Messages((self.K + 2) * T, T * problem.dim, (self.K + 1) * T * problem.inner_dim)
