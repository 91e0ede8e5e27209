"""FedGLOMO: a recursive estimate at the server of how far a round moves the models, and one of the gradient at the clients.

Our formulation of Das et al., "Faster non-convex federated learning via global and local momentum", UAI 2022, without
compression.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Scalar, Start, State, average, descend
from ..engine.oracles import PLAIN_ORACLES, TWO_MESSAGE_COSTS
from ..engine.participation import participants
from ..engine.schedule import Schedule, at
from .rounds import InRounds


@dataclass(frozen=True, kw_only=True)
class FedGLOMOState(State):
    """x_i, previous and d: the local models, those before the last step, and the estimates along which they step.

    twin, twin_previous, twin_d: the same of the steps that begin at the older model.
    origin, older: the server's models x of this round and of the one before; u: its estimate of a round's change. All like x.
    """

    previous: Tensor
    d: Tensor
    twin: Tensor
    twin_previous: Tensor
    twin_d: Tensor
    origin: Tensor
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
