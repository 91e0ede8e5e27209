"""ComFedL: local steps with the plain, biased stochastic gradient of a composition, on a sample of the clients.

Source: Huang, Li, Huang, "Compositional federated learning", 2021, Algorithm 1. That paper calls the inner function f
and the outer one g; the names here are the usual ones, F_i = f_i(g_i(.)).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

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
from ..engine.oracles import LOCAL_ORACLES
from ..engine.schedule import Schedule, at


@dataclass(frozen=True, eq=False)
class ComFedL(Method):
    """Algorithm 1 on F(w) = (1/n) sum_i f_i(g_i(w)).

    Args:
        eta: step size, in [x]^2 / [f].
        tau: synchronisation gap, steps per round.
        b: batch size of the inner function.
        b_1: batch size of the outer function; has no use for the special problem.
        m: number of clients that take part in a round, |C_s|, drawn uniformly without replacement; all when None.
        problem_form: "general" samples the outer gradient independently of the inner function (lines 11 to 13);
            "special" has one deterministic outer function, whose exact gradient is used (line 10).

    Lines 8 and 11 draw anew at every local step, although their batches carry no index s. The theorems are about wbar_s
    at the beginning of the rounds: record with ``every=tau, average=False``. Within a round the state's average is the
    proof's wbar_{s,t}, over C_s. Clients outside C_s step too, on their own noise, and are overwritten unheard.
    """

    name: ClassVar[str] = "comfedl"
    kinds: ClassVar[tuple[str, ...]] = ("local_composite",)
    needs: ClassVar[tuple[str, ...]] = LOCAL_ORACLES
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period", "m": "sampled_clients"}

    eta: Scalar | Schedule
    tau: int
    b: int = 1
    b_1: int = 1
    m: int | None = None
    problem_form: str = choice("general", "special")

    def init(self, problem: Any, start: Start, draws: Draws) -> State:
        return State(x=start.models(problem, draws), active=participants(draws, self.m))

    def local_step(self, problem: Any, state: State, draws: Draws, t: int) -> State:
        state = at_round_start(state, draws, t, self.tau, self.m)
        return replace(state, x=descend(state.x, at(self.eta, t), self._gradient(problem, state.x, draws)))

    def _gradient(self, problem: Any, x: Tensor, draws: Draws) -> Tensor:
        inner_sample = problem.sample(draws, self.b, purpose="inner")
        is_special = self.problem_form == "special"
        outer_sample = None if is_special else problem.sample(draws, self.b_1, purpose="outer")
        y = problem.inner(x, inner_sample)
        return problem.inner_vjp(x, problem.outer_gradient(y, outer_sample), inner_sample)

    def communicate(self, problem: Any, state: State, t: int) -> State:
        return replace(state, x=average(state.x, state.active)) if is_due(t, self.tau) else state

    def messages(self, problem: Any, T: int) -> Messages:
        rounds = T // self.tau
        return Messages(rounds, rounds * problem.dim * fraction(problem, self.m))
