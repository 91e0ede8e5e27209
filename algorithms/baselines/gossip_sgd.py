"""Gossip SGD: no server; after local steps each client replaces its model by a weighted mean over its neighbours.

Our formulation of decentralised SGD, Lian et al., "Can decentralized algorithms outperform centralized algorithms?",
NeurIPS 2017, and with local steps Koloskova et al., "A unified theory of decentralized SGD with changing topology and
local updates", ICML 2020.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import torch
from torch import Tensor

from ..engine.draws import Draws
from ..engine.method import Messages, Method, Scalar, Start, State, choice, descend, is_due
from ..engine.oracles import PLAIN_ORACLES
from ..engine.schedule import Schedule, at, largest
from .plain import plain_gradient

Matrix = tuple[tuple[float, ...], ...]
_NEAR = 1e-9  # how far from 1 the sum of a row or column may be: they are typed as decimals


def complete(clients: int) -> Matrix:
    """Everybody hears everybody: 1 / N everywhere."""
    return ((1 / clients,) * clients,) * clients


def ring(clients: int) -> Matrix:
    """1/3 for a client and each of its two neighbours; of up to three clients everybody is a neighbour."""
    near = [0, 1, clients - 1]
    return (
        complete(clients)
        if clients <= 3
        else tuple(tuple(1 / 3 if (j - i) % clients in near else 0.0 for j in range(clients)) for i in range(clients))
    )


@dataclass(frozen=True, eq=False)
class GossipSGD(Method):
    """x_i <- sum_j W_ij x_j after every tau steps x_i <- x_i - eta g_i, W doubly stochastic.

    Args:
        eta: step size, in [x]^2 / [f].
        tau: local steps between two exchanges.
        b: batch size.
        topology: "ring" or "complete", where W is not given.
        W: the mixing matrix as a list of rows, its entries >= 0, every row and column with sum 1.

    The averaged model is the plain mean of the x_i, which an exchange leaves as it is. A client sends its model to every
    j for which W_ji > 0; `costs` are those of a ring of more than two clients.
    """

    name: ClassVar[str] = "gossip_sgd"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = {
        "iterations": "T",
        "rounds": "T/tau",
        "samples": "b*T",
        "model_messages": "2*T/tau",
    }
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period"}

    eta: Scalar | Schedule
    tau: int = 1
    b: int = 1
    topology: str = choice("ring", "complete")
    W: Matrix | None = None

    @property
    def gradient_step(self) -> Scalar:
        return largest(self.eta)

    def init(self, problem: Any, start: Start, draws: Draws) -> State:
        W, clients = self._matrix(problem), problem.clients
        rows = [*W, *zip(*W, strict=False)]
        is_doubly_stochastic = all(min(row) >= 0 and abs(sum(row) - 1) <= _NEAR for row in rows)
        if len(W) != clients or any(len(row) != clients for row in W) or not is_doubly_stochastic:
            wanted = f"{clients} rows of {clients} numbers >= 0, every row and column with sum 1"
            raise ValueError(f"{self.name}: W must be {wanted}; got {self.W}")
        return State(x=start.models(problem, draws))

    def local_step(self, problem: Any, state: State, draws: Draws, t: int) -> State:
        return replace(state, x=descend(state.x, at(self.eta, t), plain_gradient(problem, state.x, draws, self.b)))

    def communicate(self, problem: Any, state: State, t: int) -> State:
        return replace(state, x=mixed(state.x, self._matrix(problem))) if is_due(t, self.tau) else state

    def _matrix(self, problem: Any) -> Matrix:
        return self.W or {"ring": ring, "complete": complete}[self.topology](problem.clients)

    def messages(self, problem: Any, T: int) -> Messages:
        W, rounds = self._matrix(problem), T // self.tau
        edges = sum(W[j][i] > 0 for i in range(problem.clients) for j in range(problem.clients) if i != j)
        return Messages(rounds, Fraction(rounds * problem.dim * edges, problem.clients))


def mixed(x: Tensor, W: Matrix) -> Tensor:
    """sum_j W_ij x_j at every client i, (runs, clients, n) -> same; the sum is over a last axis, as everywhere."""
    weights = torch.tensor(W, dtype=x.dtype, device=x.device).unsqueeze(1)
    return (x.transpose(1, 2).contiguous().unsqueeze(1) * weights).sum(-1)
