"""Vanilla FedAvg on a compositional objective: the method that the FedDRO paper proves not to converge.

Source: Khanduri et al., FedDRO, Algorithm 1, with gradient (6) and the proof of Theorem 4.1 in appendix D.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, Start, State, average, choice, descend, is_due
from ..engine.schedule import Schedule, at


@dataclass(frozen=True, kw_only=True)
class FedAvgState(State):
    """x_k^t, and y: the clients' estimates y_k^t of the inner value, (runs, clients, inner_dim)."""

    y: Tensor


def compositional_gradient(problem: Any, x: Tensor, y: Tensor, sample: Any = None) -> Tensor:
    """grad h_k(x_k) + (d g_k(x_k))^T grad f(y_k): equations (6) and (7). Shape (runs, clients, dim).

    Here f is deterministic, so the sample serves h_k and g_k only.
    """
    gradient = problem.inner_vjp(x, problem.outer_gradient(y), sample)
    extra = problem.extra_gradient(x, sample)
    return gradient if extra is None else extra + gradient


@dataclass(frozen=True, eq=False)
class FedAvg(Method):
    """Algorithm 1: local steps with the client's own y_k = g_k(x_k); models are averaged every I steps.

    Args:
        eta: step size, in [x]^2 / [f].
        I: local steps per round.
        case: "I" shares the models only; "II" shares the embeddings g_k(xbar) too, when the models are shared.
        after_average: Case I, which y_k a client uses right after a round. Line 5 sets y_k^{t+1} = g_k(x_k^{t+1})
            before line 7 replaces x_k^{t+1} by the average. "recompute" evaluates it at the average, as the proof of
            Theorem 4.1 does (step 1 has 4 xbar^t - 4); "keep" takes the box line by line.

    In Case II, y_k is the average only for the first step of a round; the steps after use the client's own g_k again.
    The box starts from a common y^0, which the proof of Case I does not (its first step has g_k(xbar^0)): the default
    is the proof's, ``Start(y=...)`` gives the box's. The paper has h = 0 and exact oracles; with h != 0 its gradient is
    added to (6), and the oracles stay exact.
    """

    name: ClassVar[str] = "fedavg"
    kinds: ClassVar[tuple[str, ...]] = ("shared_composite",)
    needs: ClassVar[tuple[str, ...]] = ("inner", "inner_vjp", "outer_gradient", "extra_gradient")
    quantities: ClassVar[Mapping[str, str]] = {"I": "communication_period"}

    eta: Scalar | Schedule
    I: int
    case: str = choice("I", "II")
    after_average: str = choice("recompute", "keep")

    def init(self, problem: Any, start: Start, draws: Draws) -> FedAvgState:
        x = start.models(problem, draws)
        y = start.embeddings(problem, draws)
        if y is None:
            y = problem.inner(x) if self.case == "I" else average(problem.inner(x))
        return FedAvgState(x=x, y=y)

    def local_step(self, problem: Any, state: FedAvgState, draws: Draws, t: int) -> FedAvgState:
        x = descend(state.x, at(self.eta, t), compositional_gradient(problem, state.x, state.y))
        return FedAvgState(x=x, y=problem.inner(x))

    def communicate(self, problem: Any, state: FedAvgState, t: int) -> FedAvgState:
        if not is_due(t, self.I):
            return state
        x = average(state.x)
        if self.case == "II":
            return FedAvgState(x=x, y=average(problem.inner(x)))
        return FedAvgState(x=x, y=problem.inner(x)) if self.after_average == "recompute" else replace(state, x=x)

    def messages(self, problem: Any, T: int) -> Messages:
        rounds = T // self.I
        return Messages(rounds, rounds * problem.dim, rounds * problem.inner_dim if self.case == "II" else 0)
