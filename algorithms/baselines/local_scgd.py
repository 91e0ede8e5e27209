"""Local-SCGD: a moving average of the inner value, averaged with the models every p steps; no momentum.

Source: Wang, Fang, Liu, "Stochastic compositional gradient descent", Math. Program. 161 (2017), Algorithm 1 (one
machine); Gao, Li, Huang, ICML 2022, equation (2), and section 5.1 for what the local version averages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, Start, State, average, blend, choice, descend, is_due
from ..engine.oracles import LOCAL_ORACLES
from ..engine.schedule import Schedule, at


@dataclass(frozen=True, kw_only=True)
class LocalSCGDState(State):
    """x_t, and u: the moving averages u_t of the inner values, (runs, clients, inner_dim)."""

    u: Tensor


@dataclass(frozen=True, eq=False)
class LocalSCGD(Method):
    """u_{t+1} = (1 - gamma) u_t + gamma g_k(x_t; xi), x_{t+1} = x_t - eta dg_k(x_t; xi)^T grad f_k(u; zeta).

    Args:
        eta: step size, in [x]^2 / [f].
        gamma: weight of a new inner value, in (0, 1); 1 forgets the past.
        p: communication period, steps per round.
        b: batch size; the boxes have 1.
        inner_value: the u of the step. "new" is u_{t+1}, as in Wang et al. and in the box of Local-SCGDM; "old" is u_t,
            as equation (2) prints it.
        outer_sample: "independent" draws zeta apart from xi, as Wang et al. and (2) do; "same" has zeta = xi, as the box
            of Local-SCGDM.

    Wang et al. leave u_0 free; here it is the first sample of the inner value, line 3 of Local-SCGDM, and ``Start.y``
    has no use. With "same" it is ``LocalSCGDM`` with alpha eta = 1, which sends a momentum too.
    """

    name: ClassVar[str] = "local_scgd"
    kinds: ClassVar[tuple[str, ...]] = ("local_composite",)
    needs: ClassVar[tuple[str, ...]] = LOCAL_ORACLES
    quantities: ClassVar[Mapping[str, str]] = {"gamma": "momentum", "p": "communication_period"}

    eta: Scalar | Schedule
    gamma: Scalar | Schedule
    p: int
    b: int = 1
    inner_value: str = choice("new", "old")
    outer_sample: str = choice("independent", "same")

    def init(self, problem: Any, start: Start, draws: Draws) -> LocalSCGDState:
        x = start.models(problem, draws)
        return LocalSCGDState(x=x, u=problem.inner(x))  # u: replaced at t = 0

    def local_step(self, problem: Any, state: LocalSCGDState, draws: Draws, t: int) -> LocalSCGDState:
        xi = problem.sample(draws, self.b)
        zeta = xi if self.outer_sample == "same" else problem.sample(draws, self.b, purpose="outer")
        g = problem.inner(state.x, xi)
        old = state.u if t > 0 else g
        new = blend(old, g, at(self.gamma, t))
        u = new if self.inner_value == "new" else old
        z = problem.inner_vjp(state.x, problem.outer_gradient(u, zeta), xi)
        return LocalSCGDState(x=descend(state.x, at(self.eta, t), z), u=new)

    def communicate(self, problem: Any, state: LocalSCGDState, t: int) -> LocalSCGDState:
        return LocalSCGDState(x=average(state.x), u=average(state.u)) if is_due(t, self.p) else state

    def messages(self, problem: Any, T: int) -> Messages:
        rounds = T // self.p
        return Messages(rounds, rounds * problem.dim, rounds * problem.inner_dim)
