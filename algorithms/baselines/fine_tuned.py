"""What the paper's method is compared with on losses after a step of fine-tuning.

Per-FedAvg: meta federated learning with one step of fine-tuning.
Local-MOML: meta federated learning with a memory of each client's fine-tuned model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Batches, Method, Scalar, SpecialCase, Start, State, blend, choice, descend, participants
from ..engine.oracles import META_ORACLES
from ..engine.schedule import Schedule, at
from ..methods.meta_fl import MetaFL
from .rounds import InRounds


@dataclass(frozen=True, eq=False)
class PerFedAvg(SpecialCase):
    """Generalised meta FL with nu = 1, whatever the nu of the problem.

    Args:
        beta, tau, D, D_H, m, variant, delta: as in ``MetaFL``. D = (size of D, size of D'), D_H = size of D''.

    On a problem with nu > 1 it descends the loss after one step of fine-tuning, not the problem's objective: so the
    generalised meta FL paper compares the two (section 5).

    Source: Fallah, Mokhtari, Ozdaglar, "Personalized federated learning with theoretical guarantees: a model-agnostic
    meta-learning approach", NeurIPS 2020, Algorithm 1, and its first-order and Hessian-free versions.
    """

    name: ClassVar[str] = "per_fedavg"
    kinds: ClassVar[tuple[str, ...]] = ("meta",)
    needs: ClassVar[tuple[str, ...]] = META_ORACLES
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period", "m": "sampled_clients"}

    beta: Scalar | Schedule
    tau: int
    D: Batches = 1
    D_H: Batches | None = None
    m: int | None = None
    variant: str = choice("exact", "first_order", "hessian_free")
    delta: Scalar = 1e-3

    def general(self, kind: str) -> Method:
        return MetaFL(
            beta=self.beta, tau=self.tau, D=self.D, D_H=self.D_H, m=self.m, variant=self.variant, delta=self.delta, nu=1
        )


@dataclass(frozen=True, kw_only=True)
class LocalMOMLState(State):
    """x_t, and u: the memories of the fine-tuned models, like x; they never leave the client."""

    u: Tensor


@dataclass(frozen=True, eq=False)
class LocalMOML(InRounds):
    """u <- (1 - beta) u + beta (x - alpha grad f_i(x)), x <- x - eta (I - alpha hess f_i(x)) grad f_i(u).

    Args:
        eta: step size, in [x]^2 / [f].
        beta: weight of a newly fine-tuned model in the memory, in (0, 1]; 1 forgets the past.
        tau: local steps per round.
        b: batch size of the gradients and of the Hessian, three independent batches in a step.
        b_0: batch size of the gradient that a memory starts from; b when None.
        m: number of clients that take part in a round, drawn uniformly without replacement; all when None.
        memory: "reset" starts it anew from the shared model at every round, as the authors' programs do; "keep" only
            once, as the one-machine MOML, which has a memory of every task for good.
        variant: "exact", or "first_order" without the Hessian, as the authors' federated program has it.

    alpha is the problem's; there is one step of fine-tuning whatever its nu. The authors' sinewave program
    differentiates through the moving average and takes the support batch for the Hessian too: the step is then beta
    times as long. The Hessian of a fresh batch makes the estimate unbiased for a given u, and so it is here.

    Source: Wang, Yuan, Ying, Yang, "Memory-based optimization methods for model-agnostic meta-learning and personalized
    federated learning", JMLR 24 (2023), LocalMOML, and the authors' programs at github.com/bokun-wang/moml.
    """

    name: ClassVar[str] = "local_moml"
    kinds: ClassVar[tuple[str, ...]] = ("meta",)
    needs: ClassVar[tuple[str, ...]] = ("sample", "local_gradient", "local_hvp", "alpha")
    quantities: ClassVar[Mapping[str, str]] = {
        "beta": "momentum",
        "tau": "communication_period",
        "m": "sampled_clients",
    }

    eta: Scalar | Schedule
    beta: Scalar
    tau: int
    b: int = 1
    b_0: int | None = None
    m: int | None = None
    memory: str = choice("reset", "keep")
    variant: str = choice("exact", "first_order")

    def init(self, problem: Any, start: Start, draws: Draws) -> LocalMOMLState:
        x = start.models(problem, draws)
        return LocalMOMLState(x=x, u=x, active=participants(draws, self.m))  # u: replaced at t = 0

    def local_step(self, problem: Any, state: LocalMOMLState, draws: Draws, t: int) -> LocalMOMLState:
        state = self.begun(state, draws, t)
        x, u = state.x, state.u
        if t == 0 or (self.memory == "reset" and t % self.tau == 0):
            u = self._fine_tuned(problem, x, problem.sample(draws, self.b_0 or self.b, purpose="memory"))
        support, hessian, query = (problem.sample(draws, self.b, purpose=p) for p in ("support", "hessian", "query"))
        u = blend(u, self._fine_tuned(problem, x, support), self.beta)
        d = problem.local_gradient(u, query)
        if self.variant == "exact":
            d = d - problem.alpha * problem.local_hvp(x, d, hessian)
        return replace(state, x=descend(x, at(self.eta, t), d), u=u)

    def _fine_tuned(self, problem: Any, x: Tensor, batch: Any) -> Tensor:
        return x - problem.alpha * problem.local_gradient(x, batch)
