"""SCAFFOLD: local steps corrected by control variates, which estimate how a client's gradient differs from the mean.

Source: Karimireddy et al., "SCAFFOLD: stochastic controlled averaging for federated learning", ICML 2020, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Scalar, Start, State, broadcast, choice, client_mean, descend
from ..engine.oracles import PLAIN_ORACLES, TWO_MESSAGE_COSTS
from ..engine.participation import participants
from ..engine.schedule import Schedule, at
from .plain import plain_gradient
from .rounds import InRounds


@dataclass(frozen=True, kw_only=True)
class ScaffoldState(State):
    """y_i; origin: the server's x of this round; control: c_i; shared_control: c; gathered: the sum that makes c_i^+."""

    origin: Tensor
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
