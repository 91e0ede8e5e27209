"""q-FedAvg: FedAvg whose server weights the clients by a power of their losses, for a fairer model.

Source: Li, Sanjabi, Beirami, Smith, "Fair resource allocation in federated learning", ICLR 2020, Algorithm 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import (
    Messages,
    NotApplicable,
    Scalar,
    Start,
    State,
    broadcast,
    client_mean,
)
from ..engine.oracles import VALUE_ORACLES
from ..engine.participation import fraction, participants
from .plain import plain_value
from .rounds import InRounds

SMALLEST_LOSS = 1e-10  # the authors' program adds it to a loss before taking powers


@dataclass(frozen=True, kw_only=True)
class QFedAvgState(State):
    """x_t, and origin: the shared model w^t at the beginning of the round, like x."""

    origin: Tensor


@dataclass(frozen=True, eq=False)
class QFedAvg(InRounds):
    """Algorithm 2 on sum_k F_k(w)^(q+1) / (q+1), F_k >= 0 the plain losses.

    Args:
        eta: local step size, in [x]^2 / [f].
        q: how much fairness; 0 is FedAvg.
        tau: local steps per round, in place of E epochs.
        b: batch size.
        m: number of clients that take part in a round, drawn uniformly without replacement; all when None.
        L: Lipschitz constant in Delta w_k = L (w^t - w_k), in [f] / [x]^2; 1 / eta when None, as the authors have it.

    F_k(w^t) is the exact loss at the beginning of the round. It must be positive: ``init`` looks at the first one, and
    a smaller one later counts as 1e-10. The box draws clients with p_k; here p_k = 1 / N. A client sends Delta_k and
    the number h_k (counted with the embeddings).
    """

    name: ClassVar[str] = "q_fedavg"
    kinds: ClassVar[tuple[str, ...]] = tuple(VALUE_ORACLES)
    needs: ClassVar[tuple[str, ...]] = ("sample",)
    needs_on: ClassVar[Mapping[str, tuple[str, ...]]] = VALUE_ORACLES
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period", "m": "sampled_clients"}

    eta: Scalar
    q: Scalar
    tau: int
    b: int = 1
    m: int | None = None
    L: Scalar | None = None

    def init(self, problem: Any, start: Start, draws: Draws) -> QFedAvgState:
        x = start.models(problem, draws)
        smallest = plain_value(problem, x).min().item()
        if smallest <= 0:
            raise NotApplicable(f"q_fedavg needs losses > 0: {problem.name} has one of {smallest:.3g} at the start")
        return QFedAvgState(x=x, origin=x, active=participants(draws, self.m))

    def after_round(self, problem: Any, state: QFedAvgState, t: int) -> QFedAvgState:
        L = 1 / self.eta if self.L is None else self.L
        loss = plain_value(problem, state.origin).clamp(min=SMALLEST_LOSS).unsqueeze(-1)
        loss_to_q = (self.q * loss.log()).exp()
        delta_w = L * (state.origin - state.x)
        delta = loss_to_q * delta_w
        h = self.q * loss_to_q / loss * delta_w.square().sum(-1, keepdim=True) + L * loss_to_q
        new = client_mean(state.origin) - client_mean(delta, state.active) / client_mean(h, state.active)
        x = broadcast(new, problem.clients)
        return replace(state, x=x, origin=x)

    def messages(self, problem: Any, T: int) -> Messages:
        rounds, share_of_rounds = T // self.tau, fraction(problem, self.m)
        return Messages(rounds, rounds * problem.dim * share_of_rounds, rounds * share_of_rounds)
