"""FedTTSA: two-timescale stochastic approximation for a bilevel problem whose two levels are means over clients.

Our federated formulation of Hong, Wai, Wang, Yang, "A two-timescale stochastic algorithm framework for bilevel optimization",
SIAM J. Optim. 2023, with exact products of second derivatives and a vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, Start, State, average, broadcast, descend
from ..engine.oracles import BILEVEL_ORACLES
from ..engine.schedule import Schedule, at


@dataclass(frozen=True, kw_only=True)
class FedTTSAState(State):
    """x at every client; y: that of the lower level, the same at every client, (runs, clients, inner_dim)."""

    y: Tensor


@dataclass(frozen=True, eq=False)
class FedTTSA(Method):
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

    def communicate(self, problem: Any, state: FedTTSAState, t: int) -> FedTTSAState:
        return replace(state, x=average(state.x))

    def messages(self, problem: Any, T: int) -> Messages:
        return Messages((self.K + 2) * T, T * problem.dim, (self.K + 1) * T * problem.inner_dim)
