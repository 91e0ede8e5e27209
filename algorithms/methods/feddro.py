"""FedDRO: a momentum estimate of the inner value, shared at every step; models shared every I steps.

Source: Khanduri et al., FedDRO, Algorithm 2, with equations (7) and (8).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, Start, State, average, choice, descend, is_due
from ..engine.oracles import SHARED_ORACLES
from ..engine.schedule import Schedule, at
from .fedavg import compositional_gradient


@dataclass(frozen=True, kw_only=True)
class FedDROState(State):
    """x_k^t; previous: x_k^{t-1}; y: the shared estimate ybar, a copy per client, (runs, clients, inner_dim)."""

    previous: Tensor
    y: Tensor


@dataclass(frozen=True, eq=False)
class FedDRO(Method):
    """Algorithm 2 on Phi(x) = h(x) + f((1/K) sum_k g_k(x)).

    Args:
        eta: step size eta^t, in [x]^2 / [f].
        beta: momentum beta^t of the inner estimate, in (0, 1); 1 forgets the past.
        I: local steps between two averages of the models.
        b: batch size |b|, of h and of g.
        first_update: line 2 initialises y^0, line 6 computes y^t by (8) from t = 0 on. "keep" leaves y^0 as initialised
            at t = 0, which is what the potential function of appendix F starts from; "update" applies (8) with the
            initialised value as y^{-1} and x^{-1} = x^0, which gives (1 - beta) y^0 + beta g_k(x^0; zeta^0).

    ``Start.y`` is y^0; by default the exact (1/K) sum_k g_k(x^0), so that the paper's ||ybar^0 - g(xbar^0)|| is 0.
    In (8), x_k^t after a round is the average but x_k^{t-1} is still the client's own: the difference that (8) corrects
    for then holds the averaging too, which step (g) in the proof of Lemma F.4 leaves out.
    """

    name: ClassVar[str] = "feddro"
    kinds: ClassVar[tuple[str, ...]] = ("shared_composite",)
    needs: ClassVar[tuple[str, ...]] = SHARED_ORACLES
    quantities: ClassVar[Mapping[str, str]] = {"beta": "momentum", "I": "communication_period"}

    eta: Scalar | Schedule
    beta: Scalar | Schedule
    I: int
    b: int = 1
    first_update: str = choice("keep", "update")

    def init(self, problem: Any, start: Start, draws: Draws) -> FedDROState:
        x = start.models(problem, draws)
        y = start.embeddings(problem, draws)
        return FedDROState(x=x, previous=x, y=average(problem.inner(x)) if y is None else y)

    def local_step(self, problem: Any, state: FedDROState, draws: Draws, t: int) -> FedDROState:
        sample = problem.sample(draws, self.b)
        y = state.y
        if t > 0 or self.first_update == "update":
            before, now = problem.inner(state.previous, sample), problem.inner(state.x, sample)
            y = average((1 - at(self.beta, t)) * (state.y - before) + now)
        x = descend(state.x, at(self.eta, t), compositional_gradient(problem, state.x, y, sample))
        return FedDROState(x=x, previous=state.x, y=y)

    def communicate(self, problem: Any, state: FedDROState, t: int) -> FedDROState:
        return replace(state, x=average(state.x)) if is_due(t, self.I) else state

    def messages(self, problem: Any, T: int) -> Messages:
        shared_embeddings = T if self.first_update == "update" else T - 1
        return Messages(T // self.I, T // self.I * problem.dim, shared_embeddings * problem.inner_dim)
