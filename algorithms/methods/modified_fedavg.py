"""FedAvg with the embedding shared at every step: the repair that Theorem 4.2 states.

Source: Khanduri et al., FedDRO, Theorem 4.2 and appendix E.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, Start, average, descend, is_due
from ..engine.schedule import Schedule, at
from .fedavg import FedAvgState, compositional_gradient


@dataclass(frozen=True, eq=False)
class ModifiedFedAvg(Method):
    """Algorithm 1 with y_k^t = ybar^t = (1/K) sum_k g_k(x_k^t) at every step t; models averaged every I steps.

    Args:
        eta: step size, in [x]^2 / [f].
        I: local steps between two averages of the models.

    The oracles are exact, as in the paper; ``FedDRO`` with beta = 1 is the same method on samples. ``Start.y`` has no
    use here: already y^0 is computed from x^0.
    """

    name: ClassVar[str] = "modified_fedavg"
    kinds: ClassVar[tuple[str, ...]] = ("shared_composite",)
    needs: ClassVar[tuple[str, ...]] = ("inner", "inner_vjp", "outer_gradient", "extra_gradient")
    quantities: ClassVar[Mapping[str, str]] = {"I": "communication_period"}

    eta: Scalar | Schedule
    I: int

    def init(self, problem: Any, start: Start, draws: Draws) -> FedAvgState:
        x = start.models(problem, draws)
        return FedAvgState(x=x, y=average(problem.inner(x)))

    def local_step(self, problem: Any, state: FedAvgState, draws: Draws, t: int) -> FedAvgState:
        y = average(problem.inner(state.x))
        return FedAvgState(x=descend(state.x, at(self.eta, t), compositional_gradient(problem, state.x, y)), y=y)

    def communicate(self, problem: Any, state: FedAvgState, t: int) -> FedAvgState:
        return FedAvgState(x=average(state.x), y=state.y) if is_due(t, self.I) else state

    def messages(self, problem: Any, T: int) -> Messages:
        return Messages(T // self.I, T // self.I * problem.dim, T * problem.inner_dim)
