"""Rounds of local steps along estimates that correct for how clients and samples differ.

SCAFFOLD: local steps corrected by control variates, which estimate how a client's gradient differs from the mean.
Local STORM: local steps along a recursive estimate of the gradient, which is averaged with the models.
FedGLOMO: a recursive estimate at the server of how far a round moves the models, and one of the gradient at the clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Scalar, Start, State, average, broadcast, choice, client_mean, descend, participants
from ..engine.oracles import PLAIN_ORACLES, TWO_MESSAGE_COSTS
from ..engine.schedule import Schedule, at
from .plain import plain_gradient
from .rounds import InRounds, RoundState


@dataclass(frozen=True, kw_only=True)
class ScaffoldState(RoundState):
    """control: c_i; shared_control: c; gathered: the sum that makes c_i^+."""

    control: Tensor
    shared_control: Tensor
    gathered: Tensor


@dataclass(frozen=True, eq=False)
class Scaffold(InRounds):
    """Algorithm 1 on F(x) = (1/N) sum_i F_i(x); all control variates start at 0.

    Args:
        eta: local step size eta_l, in [x]^2 / [f].
        tau: local steps per round, K in the box.
        eta_g: step size of the server, a pure number.
        b: batch size.
        m: number of clients that take part in a round, |S|; all when None.
        control: c_i^+ is the mean of the gradients of the round ("average", option II: c_i - c + (x - y_i) / (K eta_l) is
            that mean) or the gradient of another batch at the server's x ("gradient", option I).

    Source: Karimireddy et al., "SCAFFOLD: stochastic controlled averaging for federated learning", ICML 2020, Algorithm 1.
    """

    sends: ClassVar[int] = 2
    name: ClassVar[str] = "scaffold"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = TWO_MESSAGE_COSTS
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period", "m": "sampled_clients"}

    eta: Scalar | Schedule
    tau: int
    eta_g: Scalar = 1.0
    b: int = 1
    m: int | None = None
    control: str = choice("average", "gradient")

    def init(self, problem: Any, start: Start, draws: Draws) -> ScaffoldState:
        x, active = start.models(problem, draws), participants(draws, self.m)
        zero = x.new_zeros(x.shape)
        return ScaffoldState(x=x, active=active, origin=x, control=zero, shared_control=zero, gathered=zero)

    def local_step(self, problem: Any, state: ScaffoldState, draws: Draws, t: int) -> ScaffoldState:
        state = self.begun(state, draws, t)
        gradient = plain_gradient(problem, state.x, draws, self.b)
        x = descend(state.x, at(self.eta, t), gradient - state.control + state.shared_control)
        return replace(state, x=x, gathered=self._gathered(problem, state, gradient, draws, t))

    def _gathered(self, problem: Any, state: ScaffoldState, gradient: Tensor, draws: Draws, t: int) -> Tensor:
        begins = t % self.tau == 0
        if self.control == "average":
            return gradient if begins else state.gathered + gradient
        if not begins:
            return state.gathered
        return self.tau * problem.local_gradient(state.origin, problem.sample(draws, self.b, purpose="control"))

    def after_round(self, problem: Any, state: ScaffoldState, t: int) -> ScaffoldState:
        clients = problem.clients
        x = state.origin + self.eta_g * (broadcast(client_mean(state.x, state.active), clients) - state.origin)
        control = state.gathered / self.tau
        if state.active is not None:
            control = torch.where(state.active.unsqueeze(-1) > 0, control, state.control)
        shared = broadcast(client_mean(control), clients)
        return ScaffoldState(
            x=x, active=state.active, origin=x, control=control, shared_control=shared, gathered=state.gathered
        )


@dataclass(frozen=True, kw_only=True)
class LocalSTORMState(State):
    """x_i; previous: x_i before the last step; d: the estimates d_i. All like x."""

    previous: Tensor
    d: Tensor


@dataclass(frozen=True, eq=False)
class LocalSTORM(InRounds):
    """d_i <- g_i(x_i) + (1 - a)(d_i - g_i(x_i before)), both on one sample, x_i <- x_i - eta d_i; averaged every tau steps.

    Args:
        eta: step size, in [x]^2 / [f].
        a: weight of the new gradient, in (0, 1]; 1 is Local SGD.
        tau: local steps per round; 1 is STORM with the samples of all clients.
        b: batch size.
        B: batch size at t = 0, where d_i is a gradient; b when None.

    After a round the model before is still the client's own, as the pair that a sample is evaluated at.

    Our formulation, on clients, of Cutkosky, Orabona, "Momentum-based variance reduction in non-convex SGD", NeurIPS 2019, with
    constant numbers, or schedules in t, in the place of its adaptive ones.
    """

    sends: ClassVar[int] = 2
    name: ClassVar[str] = "local_storm"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = TWO_MESSAGE_COSTS
    quantities: ClassVar[Mapping[str, str]] = {"a": "momentum", "tau": "communication_period"}

    eta: Scalar | Schedule
    a: Scalar | Schedule
    tau: int
    b: int = 1
    B: int | None = None

    def init(self, problem: Any, start: Start, draws: Draws) -> LocalSTORMState:
        x = start.models(problem, draws)
        return LocalSTORMState(x=x, previous=x, d=x)  # d: replaced at t = 0

    def local_step(self, problem: Any, state: LocalSTORMState, draws: Draws, t: int) -> LocalSTORMState:
        sample = problem.sample(draws, self.b if t > 0 else self.B or self.b)
        d = problem.local_gradient(state.x, sample)
        if t > 0:
            d = d + (1 - at(self.a, t)) * (state.d - problem.local_gradient(state.previous, sample))
        return LocalSTORMState(x=descend(state.x, at(self.eta, t), d), previous=state.x, d=d)

    def after_round(self, problem: Any, state: LocalSTORMState, t: int) -> LocalSTORMState:
        return replace(state, x=average(state.x), d=average(state.d))


@dataclass(frozen=True, kw_only=True)
class FedGLOMOState(RoundState):
    """x_i, previous and d: the local models, those before the last step, and the estimates along which they step.

    twin, twin_previous, twin_d: the same of the steps that begin at the older model.
    older: the server's model of the round before; u: its estimate of a round's change. All like x.
    """

    previous: Tensor
    d: Tensor
    twin: Tensor
    twin_previous: Tensor
    twin_d: Tensor
    older: Tensor
    u: Tensor


@dataclass(frozen=True, eq=False)
class FedGLOMO(InRounds):
    """u <- D + (1 - beta)(u - D'), x <- x + u: D and D' are the mean changes of a round from x and, on the same samples, from x before.

    Args:
        eta: local step size, in [x]^2 / [f].
        beta: weight of a round's own change, in (0, 1]; 1 forgets the rounds before, and with a = 1 it is Local SGD.
        tau: local steps per round.
        a: weight of a new gradient in the local estimate, which is g + (1 - a)(d - g at the model before) and begins every round
            with a gradient, in [0, 1].
        b: batch size.
        m: number of clients that take part in a round, drawn uniformly without replacement; all when None.

    The first u is D. A client sends both of its changes.

    Our formulation of Das et al., "Faster non-convex federated learning via global and local momentum", UAI 2022, without
    compression.
    """

    sends: ClassVar[int] = 2
    name: ClassVar[str] = "fedglomo"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = TWO_MESSAGE_COSTS
    quantities: ClassVar[Mapping[str, str]] = {
        "beta": "momentum",
        "a": "momentum",
        "tau": "communication_period",
        "m": "sampled_clients",
    }

    eta: Scalar | Schedule
    beta: Scalar
    tau: int
    a: Scalar = 1.0
    b: int = 1
    m: int | None = None

    def init(self, problem: Any, start: Start, draws: Draws) -> FedGLOMOState:
        x, active = start.models(problem, draws), participants(draws, self.m)
        return FedGLOMOState(
            x=x, active=active, previous=x, d=x, twin=x, twin_previous=x, twin_d=x, origin=x, older=x, u=x
        )  # d, twin_d and u: replaced in the first round

    def local_step(self, problem: Any, state: FedGLOMOState, draws: Draws, t: int) -> FedGLOMOState:
        state = self.begun(state, draws, t)
        sample = problem.sample(draws, self.b)

        def moved(x: Tensor, previous: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
            new = problem.local_gradient(x, sample)
            if t % self.tau > 0:
                new = new + (1 - self.a) * (d - problem.local_gradient(previous, sample))
            return descend(x, at(self.eta, t), new), new

        x, d = moved(state.x, state.previous, state.d)
        twin, twin_d = moved(state.twin, state.twin_previous, state.twin_d)
        return replace(state, x=x, previous=state.x, d=d, twin=twin, twin_previous=state.twin, twin_d=twin_d)

    def after_round(self, problem: Any, state: FedGLOMOState, t: int) -> FedGLOMOState:
        u = average(state.x, state.active) - state.origin
        if t >= self.tau:
            twin_change = average(state.twin, state.active) - state.older
            u = u + (1 - self.beta) * (state.u - twin_change)
        x = state.origin + u
        return replace(state, x=x, twin=state.origin, origin=x, older=state.origin, u=u)
