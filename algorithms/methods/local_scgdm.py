"""Local-SCGDM: momentum on the inner value and on the gradient, everything averaged every p steps.

Source: Gao, Li, Huang, "On the convergence of local stochastic compositional gradient descent with momentum",
ICML 2022, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, Start, State, average, blend, descend, is_due
from ..engine.oracles import LOCAL_ORACLES


@dataclass(frozen=True, kw_only=True)
class LocalSCGDMState(State):
    """x_t; u: the estimates u_t of the inner values (runs, clients, inner_dim); m: the momenta m_t, like x."""

    u: Tensor
    m: Tensor


@dataclass(frozen=True, eq=False)
class LocalSCGDM(Method):
    """Algorithm 1 on F(x) = (1/K) sum_k f_k(g_k(x)).

    Args:
        eta, beta: the step is beta eta, in [x]^2 / [f].
        gamma: gamma eta in (0, 1) is the weight of a new inner value.
        alpha: alpha eta in (0, 1) is the weight of a new gradient.
        p: communication period, steps per round.
        b: batch size; the box has 1.

    The box writes one sample zeta_t for the inner value, the inner gradient and the outer gradient alike, and so it is
    here; the assumptions and Lemma 4.1 call the inner one xi. Whether the two are independent is a matter of the
    problem's sample. ``Start.y`` has no use: line 3 sets u_1 from the first sample.
    """

    name: ClassVar[str] = "local_scgdm"
    kinds: ClassVar[tuple[str, ...]] = ("local_composite",)
    needs: ClassVar[tuple[str, ...]] = LOCAL_ORACLES
    quantities: ClassVar[Mapping[str, str]] = {
        "eta": "step_scale",
        "alpha": "gradient_momentum",
        "gamma": "inner_momentum",
        "p": "communication_period",
    }

    eta: Scalar
    alpha: Scalar
    beta: Scalar
    gamma: Scalar
    p: int
    b: int = 1

    def init(self, problem: Any, start: Start, draws: Draws) -> LocalSCGDMState:
        x = start.models(problem, draws)
        return LocalSCGDMState(x=x, u=problem.inner(x), m=x.new_zeros(x.shape))  # u and m: replaced at t = 0

    def local_step(self, problem: Any, state: LocalSCGDMState, draws: Draws, t: int) -> LocalSCGDMState:
        sample = problem.sample(draws, self.b)
        u = problem.inner(state.x, sample)
        if t > 0:
            u = blend(state.u, u, self.gamma * self.eta)
        m = problem.inner_vjp(state.x, problem.outer_gradient(u, sample), sample)
        if t > 0:
            m = blend(state.m, m, self.alpha * self.eta)
        return LocalSCGDMState(x=descend(state.x, self.beta * self.eta, m), u=u, m=m)

    def communicate(self, problem: Any, state: LocalSCGDMState, t: int) -> LocalSCGDMState:
        if not is_due(t, self.p):
            return state
        return LocalSCGDMState(x=average(state.x), u=average(state.u), m=average(state.m))

    def messages(self, problem: Any, T: int) -> Messages:
        rounds = T // self.p
        return Messages(rounds, rounds * 2 * problem.dim, rounds * problem.inner_dim)
