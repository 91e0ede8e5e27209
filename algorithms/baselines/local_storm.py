"""Local STORM: local steps along a recursive estimate of the gradient, which is averaged with the models.

Our formulation, on clients, of Cutkosky, Orabona, "Momentum-based variance reduction in non-convex SGD", NeurIPS 2019, with
constant numbers, or schedules in t, in the place of its adaptive ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Scalar, Start, State, average, descend
from ..engine.oracles import PLAIN_ORACLES, TWO_MESSAGE_COSTS
from ..engine.schedule import Schedule, at
from .rounds import InRounds


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
