"""Methods that weight the clients by their losses, for the worst of them or for a fairer model.

DRFA: the worst mixture of the clients' losses, its weights raised once a round at a random moment of it.
q-FedAvg: FedAvg whose server weights the clients by a power of their losses, for a fairer model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import torch
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
    descend,
    participants,
)
from ..engine.oracles import VALUE_ORACLES
from ..engine.schedule import Schedule, at
from .plain import plain_gradient, plain_value
from .rounds import InRounds, RoundState


def onto_simplex(v: Tensor) -> Tensor:
    """The Euclidean projection of each row on {p >= 0, sum p = 1}, (runs, n) -> same."""
    descending = v.sort(dim=-1, descending=True).values
    excess = descending.cumsum(-1) - 1
    count = torch.arange(1, v.shape[-1] + 1, dtype=v.dtype, device=v.device)
    kept = (descending * count > excess).sum(-1, keepdim=True)  # a prefix: that many entries stay positive
    kept = kept.clamp(min=1)  # 0 only where a model diverged, whose weights are no numbers
    return (v - excess.gather(-1, kept - 1) / kept).clamp(min=0.0)


def drawn(weights: Tensor, uniform: Tensor) -> Tensor:
    """How often each client is drawn with probabilities ``weights`` (runs, n) by ``uniform`` (runs, draws)."""
    edges, last = weights.cumsum(-1), weights.shape[-1] - 1
    client = (uniform.unsqueeze(-1) * edges[:, None, -1:] >= edges.unsqueeze(1)).sum(-1).clamp(max=last)
    return (client.unsqueeze(-1) == torch.arange(last + 1, device=weights.device)).sum(1).to(weights)


@dataclass(frozen=True, kw_only=True)
class DRFAState(State):
    """x_t; weights: lambda^(s), (runs, clients); snapshot: the models w_i^{t'}, like x.

    moment: the local step after which the snapshot is taken, t' - s tau - 1, (runs,).
    """

    weights: Tensor
    snapshot: Tensor
    moment: Tensor


@dataclass(frozen=True, eq=False)
class DRFA(InRounds):
    """Algorithm 1 on min over w, max over lambda in the simplex of sum_i lambda_i f_i(w), f_i the plain losses.

    Args:
        eta: step size of the model, in [x]^2 / [f].
        gamma: step size of lambda, in 1 / [f]; a round moves it by tau gamma.
        tau: local steps per round.
        b: batch size.
        m: clients per round: as many are drawn by lambda to step, and as many uniformly for lambda; N when None.

    D^(s) is drawn with replacement, so that (1/m) sum over it is unbiased for the lambda-weighted mean, and U without.
    The box updates lambda at the end of a round: here at the beginning of the next one, with the same numbers. W is the
    whole space. t' in {s tau + 1, ..., (s + 1) tau} counts finished local steps. A client sends its model, its snapshot
    and, when in U, one loss (counted with the embeddings); one drawn twice is counted twice.

    Source: Deng, Kamani, Mahdavi, "Distributionally robust federated averaging", NeurIPS 2020, Algorithm 1.
    """

    name: ClassVar[str] = "drfa"
    kinds: ClassVar[tuple[str, ...]] = tuple(VALUE_ORACLES)
    needs: ClassVar[tuple[str, ...]] = ("sample",)
    needs_on: ClassVar[Mapping[str, tuple[str, ...]]] = VALUE_ORACLES
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period", "m": "sampled_clients"}

    eta: Scalar | Schedule
    gamma: Scalar
    tau: int
    b: int = 1
    m: int | None = None

    def init(self, problem: Any, start: Start, draws: Draws) -> DRFAState:
        x = start.models(problem, draws)
        uniform = x.new_full(x.shape[:2], 1 / problem.clients)
        return DRFAState(x=x, weights=uniform, snapshot=x, moment=draws.integers("moment", self.tau)[:, 0])

    def local_step(self, problem: Any, state: DRFAState, draws: Draws, t: int) -> DRFAState:
        if t % self.tau == 0:
            weights = self._raised(problem, state, draws) if t > 0 else state.weights
            uniform = draws.uniform("clients", self.m or problem.clients)[:, 0]
            state = replace(
                state, weights=weights, active=drawn(weights, uniform), moment=draws.integers("moment", self.tau)[:, 0]
            )
        x = descend(state.x, at(self.eta, t), plain_gradient(problem, state.x, draws, self.b))
        is_moment = (state.moment == t % self.tau).view(-1, 1, 1)
        return replace(state, x=x, snapshot=torch.where(is_moment, x, state.snapshot))

    def _raised(self, problem: Any, state: DRFAState, draws: Draws) -> Tensor:
        """lambda + tau gamma v, projected: v_i = (N/m) f_i at the mean snapshot for i in U, else 0."""
        m = self.m or problem.clients
        at = broadcast(client_mean(state.snapshot, state.active), problem.clients)
        losses = plain_value(problem, at, problem.sample(draws, self.b, purpose="loss"))
        v = draws.subset("loss clients", m) * losses * (problem.clients / m)
        return onto_simplex(state.weights + (self.tau * self.gamma * v.unsqueeze(-1)).squeeze(-1))

    def messages(self, problem: Any, T: int) -> Messages:
        rounds, share_of_clients = T // self.tau, Fraction(self.m or problem.clients, problem.clients)
        return Messages(rounds, rounds * 2 * problem.dim * share_of_clients, rounds * share_of_clients)


SMALLEST_LOSS = 1e-10  # the authors' program adds it to a loss before taking powers


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

    Source: Li, Sanjabi, Beirami, Smith, "Fair resource allocation in federated learning", ICLR 2020, Algorithm 2.
    """

    numbers: ClassVar[int] = 1
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

    def init(self, problem: Any, start: Start, draws: Draws) -> RoundState:
        x = start.models(problem, draws)
        smallest = plain_value(problem, x).min().item()
        if smallest <= 0:
            raise NotApplicable(f"q_fedavg needs losses > 0: {problem.name} has one of {smallest:.3g} at the start")
        return RoundState(x=x, origin=x, active=participants(draws, self.m))

    def after_round(self, problem: Any, state: RoundState, t: int) -> RoundState:
        L = 1 / self.eta if self.L is None else self.L
        loss = plain_value(problem, state.origin).clamp(min=SMALLEST_LOSS).unsqueeze(-1)
        loss_to_q = (self.q * loss.log()).exp()
        delta_w = L * (state.origin - state.x)
        delta = loss_to_q * delta_w
        h = self.q * loss_to_q / loss * delta_w.square().sum(-1, keepdim=True) + L * loss_to_q
        new = client_mean(state.origin) - client_mean(delta, state.active) / client_mean(h, state.active)
        x = broadcast(new, problem.clients)
        return replace(state, x=x, origin=x)
