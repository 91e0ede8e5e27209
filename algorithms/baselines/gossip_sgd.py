"""Gossip SGD: no server; after local steps each client replaces its model by a weighted mean over its neighbours.

Our formulation of decentralised SGD, Lian et al., "Can decentralized algorithms outperform centralized algorithms?",
NeurIPS 2017, and with local steps Koloskova et al., "A unified theory of decentralized SGD with changing topology and
local updates", ICML 2020.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import mul
from typing import Any, ClassVar

import torch
from torch import Tensor

from ...errors import InputError
from ..engine.draws import Draws
from ..engine.method import Messages, Scalar, Start, State, choice
from ..engine.oracles import PLAIN_ORACLES, TWO_MESSAGE_COSTS
from ..engine.schedule import Schedule, largest
from .rounds import InRounds

Matrix = tuple[tuple[float, ...], ...]
_ROUNDING = 1e-12  # many times the rounding error of a singular value of a matrix with entries of at most 1
_SIMPLE = 10**6  # the largest denominator of a fraction that was typed
_NEAR = 1e-9  # how far from 1 the sum of a row or column may be: they are typed as decimals


def complete(clients: int) -> Matrix:
    """Everybody hears everybody alike."""
    return ((1,) * clients,) * clients


def ring(clients: int) -> Matrix:
    """A client hears itself and its two neighbours alike; of up to three clients everybody is a neighbour."""
    near = {0, 1, clients - 1}
    return tuple(tuple(int((j - i) % clients in near) for j in range(clients)) for i in range(clients))


def _is_nonnegative(rows: list[list[Fraction]]) -> bool:
    """Whether a symmetric matrix has no negative eigenvalue, by elimination."""
    for k, pivot in enumerate(rows):
        if pivot[k] < 0 or (pivot[k] == 0 and any(pivot[k:])):
            return False
        for row in rows[k + 1 :] if pivot[k] else ():
            factor = row[k] / pivot[k]
            row[k:] = [entry - factor * above for entry, above in zip(row[k:], pivot[k:], strict=True)]
    return True


TOPOLOGIES = {"ring": ring, "complete": complete}
"""Who hears whom, with equal weights that sum to more than 1: whole numbers, so that an exact run has no rounded 1/3."""


def _typed(number: float | Fraction) -> Fraction:
    """A double as the fraction of small numbers of which it is the nearest one, else as it is; a fraction as it is."""
    short = Fraction(number).limit_denominator(_SIMPLE)
    return short if isinstance(number, float) and float(short) == number else Fraction(number)


@dataclass(frozen=True, eq=False)
class GossipSGD(InRounds):
    """x_i <- sum_j W_ij x_j after every tau steps x_i <- x_i - eta g_i, W doubly stochastic.

    Args:
        eta: step size, in [x]^2 / [f].
        tau: local steps between two exchanges.
        b: batch size.
        topology: "ring" or "complete", where W is not given.
        W: the mixing matrix as a list of rows, its entries >= 0, every row and column with sum 1.
        gamma: an exchange goes this part of the way, x_i <- (1 - gamma) x_i + gamma sum_j W_ij x_j; all of it when None.

    The averaged model is the plain mean of the x_i, which an exchange leaves as it is. A client sends its model to every
    j for which W_ji > 0; `costs` are those of a ring of more than two clients.
    """

    name: ClassVar[str] = "gossip_sgd"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = TWO_MESSAGE_COSTS
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period"}
    measured: ClassVar[tuple[str, ...]] = ("mixing_contraction", "spectral_gap")
    measured_by: ClassVar[tuple[str, ...]] = ("topology", "W", "gamma")

    eta: Scalar | Schedule
    tau: int = 1
    b: int = 1
    topology: str = choice("ring", "complete")
    W: Matrix | None = None
    gamma: Scalar | None = None

    @property
    def gradient_step(self) -> Scalar:
        return largest(self.eta)

    def init(self, problem: Any, start: Start, draws: Draws) -> State:
        W, clients = self.W or (), problem.clients
        is_square = len(W) == clients and all(len(row) == clients for row in W)
        lines = [*W, *zip(*W, strict=True)] if is_square else []
        if W and not (is_square and all(min(line) >= 0 and abs(sum(line) - 1) <= _NEAR for line in lines)):
            wanted = f"{clients} rows of {clients} numbers >= 0, every row and column with sum 1"
            raise InputError(f"{self.name}: W must be {wanted}; got {self.W}")
        return State(x=start.models(problem, draws))

    def after_round(self, problem: Any, state: State, t: int) -> State:
        heard = self._heard(problem.clients)
        summed = sums(state.x, heard)
        mixed = summed if self.W else summed / sum(heard[0])
        return replace(state, x=mixed if self.gamma is None else torch.lerp(state.x, mixed, self.gamma))

    def _heard(self, clients: int) -> Matrix:
        return self.W or TOPOLOGIES[self.topology](clients)

    def mixing(self, clients: int) -> tuple[tuple[Fraction, ...], ...]:
        """What an exchange multiplies the models by, W or the part gamma of the way there, its rows exactly."""
        heard, part = self._heard(clients), Fraction(1) if self.gamma is None else _typed(self.gamma)  # type: ignore[arg-type]
        whole = 1 if self.W else int(sum(heard[0]))
        kept = [[(1 - part) * (i == j) for j in range(clients)] for i in range(clients)]
        return tuple(
            tuple(own + part * Fraction(weight) / whole for own, weight in zip(mine, row, strict=True))
            for mine, row in zip(kept, heard, strict=True)
        )

    def measure(self, clients: int) -> Mapping[str, float]:
        """The largest singular value of W - 11^T/N, rounded up: ||W x - xbar|| is at most so many times ||x - xbar||."""
        W = torch.tensor([[float(weight) for weight in row] for row in self.mixing(clients)], dtype=torch.float64)
        contraction = min(float(torch.linalg.matrix_norm(W - 1 / len(W), 2)) + _ROUNDING, 1.0)
        return {"mixing_contraction": contraction, "spectral_gap": 1 - contraction}

    def attains(self, quantity: str, value: float | Fraction, clients: int) -> bool:
        """Whether the contraction is at most c, or the gap at least 1 - c: c^2 I - M^T M has no negative eigenvalue, M = W - 11^T/N.

        A double is taken for the fraction of small numbers of which it is the nearest one.
        """
        c = 1 - _typed(value) if quantity == "spectral_gap" else _typed(value)
        away = [[weight - Fraction(1, clients) for weight in row] for row in self.mixing(clients)]
        columns = list(zip(*away, strict=True))
        gram = [[sum(map(mul, one, other), Fraction(0)) for other in columns] for one in columns]
        left = [[(c**2 if i == j else 0) - entry for j, entry in enumerate(row)] for i, row in enumerate(gram)]
        return c >= 0 and _is_nonnegative(left)

    def attaining(self, quantity: str, value: Scalar) -> GossipSGD:
        """Everybody goes a part of the way to the mean of all, so that that part is the gap, of at most 1."""
        return replace(self, topology="complete", W=None, gamma=value if quantity == "spectral_gap" else 1 - value)

    def messages(self, problem: Any, T: int) -> Messages:
        heard, rounds = self._heard(problem.clients), T // self.tau
        edges = sum(heard[j][i] > 0 for i in range(problem.clients) for j in range(problem.clients) if i != j)
        return Messages(rounds, Fraction(rounds * problem.dim * edges, problem.clients))


def sums(x: Tensor, weights: Matrix) -> Tensor:
    """sum_j weights_ij x_j at every client i, (runs, clients, n) -> same; the sum is over a last axis, as everywhere."""
    rows = torch.tensor(weights, dtype=x.dtype, device=x.device).unsqueeze(1)
    return (x.transpose(1, 2).contiguous().unsqueeze(1) * rows).sum(-1)
