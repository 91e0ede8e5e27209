"""What the papers' methods for compositions are compared with on compositions.

Local-SCGD: a moving average of the inner value, averaged with the models every p steps; no momentum.
SCGD: stochastic compositional gradient descent with everything averaged after every step.
GCIVR: incremental variance reduction of the inner value, of its Jacobian and of the gradient of h.
Local-BSGD: local steps with the biased gradient of a composition, the batch means plugged in as they are.
Minibatch SGD: one step for each communication, with the batch plugged into the composition.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, SpecialCase, Start, State, average, blend, choice, descend, is_due
from ..engine.oracles import CONDITIONAL_ORACLES, LOCAL_ORACLES, LOSS_ORACLES, META_ORACLES, SHARED_ORACLES, STEP_COSTS
from ..engine.schedule import Schedule, at, largest
from ..methods.comfedl import ComFedL
from ..methods.fcsg import FCSG
from ..methods.feddro import FedDRO
from ..methods.meta_fl import MetaFL
from .plain import AtEveryStep
from .rounds import LocalSGD


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

    Source: Wang, Fang, Liu, "Stochastic compositional gradient descent", Math. Program. 161 (2017), Algorithm 1 (one
    machine); Gao, Li, Huang, ICML 2022, equation (2), and section 5.1 for what the local version averages.
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


@dataclass(frozen=True, eq=False)
class SCGD(SpecialCase):
    """Local-SCGD with p = 1; on a problem with one client it is the single-machine method.

    Args:
        eta, gamma, b, inner_value, outer_sample: as in ``LocalSCGD``. The source calls eta alpha_k and gamma beta_k, lets
        both decrease, and projects x on a closed set, which here is the whole space.

    Source: Wang, Fang, Liu, "Stochastic compositional gradient descent", Math. Program. 161 (2017), Algorithm 1.
    """

    name: ClassVar[str] = "scgd"
    kinds: ClassVar[tuple[str, ...]] = ("local_composite",)
    needs: ClassVar[tuple[str, ...]] = LOCAL_ORACLES
    quantities: ClassVar[Mapping[str, str]] = {"gamma": "momentum"}

    eta: Scalar | Schedule
    gamma: Scalar | Schedule
    b: int = 1
    inner_value: str = choice("new", "old")
    outer_sample: str = choice("independent", "same")

    def general(self, kind: str) -> Method:
        return LocalSCGD(
            eta=self.eta, gamma=self.gamma, p=1, b=self.b, inner_value=self.inner_value, outer_sample=self.outer_sample
        )


def jacobian(problem: Any, x: Tensor, sample: Any) -> Tensor:
    """dg_k(x_k), one row per inner coordinate, (runs, clients, inner_dim, dim)."""
    rows = torch.eye(problem.inner_dim, dtype=x.dtype, device=x.device).expand(*x.shape[:2], -1, -1)
    return torch.stack([problem.inner_vjp(x, row.contiguous(), sample) for row in rows.unbind(2)], dim=2)


@dataclass(frozen=True, kw_only=True)
class GCIVRState(State):
    """x_i; previous: x_{i-1}; y, z: estimates of g_k and of its Jacobian; u: of grad h_k, None where h = 0."""

    previous: Tensor
    y: Tensor
    z: Tensor
    u: Tensor | None = None


@dataclass(frozen=True, eq=False)
class GCIVR(AtEveryStep):
    """y_i = y_{i-1} + g(x_i; S_i) - g(x_{i-1}; S_i), likewise z_i and u_i; x_{i+1} = x_i - eta (u_i + z_i^T grad f(y_i)).

    Args:
        eta: step size, in [x]^2 / [f].
        tau: length of an epoch; its first step starts the estimates anew.
        b: batch size of the differences, |S_i|.
        B: batch size at the beginning of an epoch; None takes the exact oracles, which is the finite-sum case.

    The paper has one machine. Here, as in the parallel version that the FedDRO paper runs, every client keeps the
    estimates of its own g_k and h_k, and their means are formed at every step: first of the inner value, then of the
    direction. Growing epochs and the proximal term of CIVR are left out.

    Source: Haddadpour, Kamani, Mahdavi, Karbasi, "Learning distributionally robust models at scale via composite
    optimization", ICLR 2022; the estimators of the composite part are those of CIVR, Zhang and Xiao, "A stochastic
    composite gradient method with incremental variance reduction", NeurIPS 2019, Algorithm 1.
    """

    name: ClassVar[str] = "gcivr"
    kinds: ClassVar[tuple[str, ...]] = ("shared_composite",)
    needs: ClassVar[tuple[str, ...]] = SHARED_ORACLES
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period"}

    eta: Scalar | Schedule
    tau: int
    b: int = 1
    B: int | None = None

    def init(self, problem: Any, start: Start, draws: Draws) -> GCIVRState:
        x = start.models(problem, draws)
        y, z, u = self._oracles(problem, x, None)
        return GCIVRState(x=x, previous=x, y=y, z=z, u=u)  # y, z and u: replaced at t = 0

    def local_step(self, problem: Any, state: GCIVRState, draws: Draws, t: int) -> GCIVRState:
        if t % self.tau == 0:
            sample = None if self.B is None else problem.sample(draws, self.B, purpose="epoch")
            y, z, u = self._oracles(problem, state.x, sample)
        else:
            sample = problem.sample(draws, self.b)
            now, before = (self._oracles(problem, x, sample) for x in (state.x, state.previous))
            y, z = state.y + (now[0] - before[0]), state.z + (now[1] - before[1])
            u = None if state.u is None else state.u + (now[2] - before[2])
        v = problem.outer_gradient(average(y))
        gradient = (z * v.unsqueeze(-1)).transpose(2, 3).contiguous().sum(-1)
        x = descend(state.x, at(self.eta, t), gradient if u is None else u + gradient)
        return GCIVRState(x=x, previous=state.x, y=y, z=z, u=u)

    def _oracles(self, problem: Any, x: Tensor, sample: Any) -> tuple[Any, Any, Any]:
        return problem.inner(x, sample), jacobian(problem, x, sample), problem.extra_gradient(x, sample)

    def messages(self, problem: Any, T: int) -> Messages:
        return Messages(T, T * problem.dim, T * problem.inner_dim)


@dataclass(frozen=True, eq=False)
class LocalBSGD(SpecialCase):
    """ComFedL with all clients, or FCSG: no estimate of the inner value is carried over, so the bias is that of m.

    Args:
        eta: step size, in [x]^2 / [f].
        tau: local steps per round.
        m: inner batch size. b: outer batch size.

    Source: Hu et al., "Biased stochastic first-order methods for conditional stochastic optimization and applications in
    meta learning", NeurIPS 2020, Algorithm 1 (one machine). The Local-SCGDM paper, section 5.1, compares with "Local-BSGD
    (Huang et al., 2021) (i.e., Local-MAML)", which is ComFedL; on a conditional problem it is FCSG.
    """

    name: ClassVar[str] = "local_bsgd"
    kinds: ClassVar[tuple[str, ...]] = ("local_composite", "conditional")
    needs: ClassVar[tuple[str, ...]] = ()
    needs_on: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "local_composite": LOCAL_ORACLES,
        "conditional": CONDITIONAL_ORACLES,
    }
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period"}

    eta: Scalar | Schedule
    tau: int
    m: int = 1
    b: int = 1

    def general(self, kind: str) -> Method:
        if kind == "conditional":
            return FCSG(alpha=self.eta, q=self.tau, m=self.m, b=self.b)
        return ComFedL(eta=self.eta, tau=self.tau, b=self.m, b_1=self.b)


@dataclass(frozen=True, eq=False)
class MinibatchSGD(SpecialCase):
    """FedDRO, ComFedL, FCSG, meta FL or Local SGD, by the kind of the problem: a round after every step and no memory.

    Args:
        eta: step size, in [x]^2 / [f].
        b: batch size per client, of every oracle.
        m: inner batch size for each of the b outer samples of a conditional problem; has no use elsewhere.

    The FedDRO paper says no more than "customized for CO": on a shared composite the inner value is the mean over all clients
    and samples of the step, as its other centralised baselines. In Woodworth et al. (2020) a round of tau local steps
    becomes one step on a batch tau times as large: choose b so.

    Source: Ghadimi, Lan, "Stochastic first- and zeroth-order methods for nonconvex stochastic programming", SIAM J. Optim.
    2013; the FedDRO paper's baseline MBSGD, "customized for CO" in a parallel version (section 6).
    """

    name: ClassVar[str] = "minibatch_sgd"
    kinds: ClassVar[tuple[str, ...]] = ("shared_composite", "local_composite", "conditional", "meta", "federated")
    needs: ClassVar[tuple[str, ...]] = ()
    needs_on: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "shared_composite": SHARED_ORACLES,
        "local_composite": LOCAL_ORACLES,
        "conditional": CONDITIONAL_ORACLES,
        "meta": META_ORACLES,
        "federated": LOSS_ORACLES,
    }
    costs: ClassVar[Mapping[str, str]] = {**STEP_COSTS, "model_messages": "T"}

    eta: Scalar | Schedule
    b: int = 1
    m: int = 1

    @property
    def gradient_step(self) -> Scalar:
        return largest(self.eta)

    def general(self, kind: str) -> Method:
        methods: dict[str, Any] = {
            "shared_composite": lambda: FedDRO(eta=self.eta, beta=1.0, I=1, b=self.b, first_update="update"),
            "local_composite": lambda: ComFedL(eta=self.eta, tau=1, b=self.b, b_1=self.b),
            "conditional": lambda: FCSG(alpha=self.eta, q=1, m=self.m, b=self.b),
            "meta": lambda: MetaFL(beta=self.eta, tau=1, D=self.b),
            "federated": lambda: LocalSGD(eta=self.eta, tau=1, b=self.b),
        }
        return methods[kind]()
