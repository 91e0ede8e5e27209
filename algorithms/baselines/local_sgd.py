"""Local SGD, or FedAvg on ordinary losses: what comes out when the composition is ignored.

Source: McMahan et al., "Communication-efficient learning of deep networks from decentralized data", AISTATS 2017,
Algorithm 1, with steps in place of epochs; Stich, "Local SGD converges fast and communicates little", ICLR 2019,
Algorithm 1, is m = None. The FedDRO paper's own FedAvg, with the gradients of the composition, is ``FedAvg``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ..engine.draws import Draws
from ..engine.method import Scalar, Start, State, average
from ..engine.oracles import PLAIN_ORACLES, ROUND_COSTS
from ..engine.participation import participants
from ..engine.schedule import Schedule, largest
from .rounds import InRounds


@dataclass(frozen=True, eq=False)
class LocalSGD(InRounds):
    """Local steps with the gradients of plain losses (see ``plain``), averaged over the clients of the round.

    Args:
        eta: step size, in [x]^2 / [f].
        tau: local steps per round.
        b: batch size; the gradients of b single samples are averaged, not their inner values.
        m: number of clients that take part in a round, drawn uniformly without replacement; all when None.

    The box weights a client by its number of data, n_k / n; here the clients weigh the same, as in the objective.
    """

    name: ClassVar[str] = "local_sgd"
    kinds: ClassVar[tuple[str, ...]] = tuple(PLAIN_ORACLES)
    needs: ClassVar[tuple[str, ...]] = ()
    needs_on: ClassVar[Mapping[str, tuple[str, ...]]] = PLAIN_ORACLES
    costs: ClassVar[Mapping[str, str]] = ROUND_COSTS
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period", "m": "sampled_clients"}

    eta: Scalar | Schedule
    tau: int
    b: int = 1
    m: int | None = None

    @property
    def gradient_step(self) -> Scalar:
        return largest(self.eta)

    def init(self, problem: Any, start: Start, draws: Draws) -> State:
        return State(x=start.models(problem, draws), active=participants(draws, self.m))

    def after_round(self, problem: Any, state: State, t: int) -> State:
        return replace(state, x=average(state.x, state.active))
