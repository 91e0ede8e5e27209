"""Rounds of local steps after which the server makes a step of its own of the mean change of the models.

Two-sided SGD: local steps of one size, and a server that steps along their mean change with a size and a momentum of its own.
FedAdam: local SGD whose server takes the mean change of the models for a gradient and steps as Adam, Yogi or Adagrad does.
FedNova: clients make different numbers of local steps, and the server averages their changes per step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from ...errors import InputError
from ..engine.draws import Draws
from ..engine.method import Counts, Scalar, Start, average, blend, choice, descend, participants
from ..engine.oracles import PLAIN_ORACLES, ROUND_COSTS
from ..engine.schedule import Schedule, at
from .plain import plain_gradient
from .rounds import InRounds, RoundState


@dataclass(frozen=True, kw_only=True)
class TwoSidedState(RoundState):
    """velocity: u, the server's momentum, like x."""

    velocity: Tensor


@dataclass(frozen=True, eq=False)
class TwoSidedSGD(InRounds):
    """tau steps x_i <- x_i - eta g_i, then u <- beta u + mean_i (x_i - x) and x <- x + eta_g u, u = 0 at the start.

    Args:
        eta: local step size, in [x]^2 / [f].
        tau: local steps per round.
        eta_g: step size of the server, a pure number; 1 with beta = 0 is Local SGD.
        beta: momentum of the server, in [0, 1).
        b: batch size.
        m: number of clients that take part in a round, drawn uniformly without replacement; all when None.

    A schedule of eta_g is evaluated at the last step of a round.

    Our formulation of FedAvg with server momentum, which is FedAvgM in Hsu, Qi, Brown, "Measuring the effects of non-identical
    data distribution for federated visual classification", arXiv:1909.06335, and of the generalised FedAvg with two step
    sizes in Reddi et al., "Adaptive federated optimization", ICLR 2021.
    """

    name: ClassVar[str] = "two_sided_sgd"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = ROUND_COSTS
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period", "m": "sampled_clients"}

    eta: Scalar | Schedule
    tau: int
    eta_g: Scalar | Schedule = 1.0
    beta: Scalar = 0.0
    b: int = 1
    m: int | None = None

    def init(self, problem: Any, start: Start, draws: Draws) -> TwoSidedState:
        x = start.models(problem, draws)
        return TwoSidedState(x=x, active=participants(draws, self.m), origin=x, velocity=x.new_zeros(x.shape))

    def after_round(self, problem: Any, state: TwoSidedState, t: int) -> TwoSidedState:
        velocity = self.beta * state.velocity + (average(state.x, state.active) - state.origin)
        x = state.origin + at(self.eta_g, t) * velocity
        return replace(state, x=x, origin=x, velocity=velocity)


@dataclass(frozen=True, kw_only=True)
class FedAdamState(RoundState):
    """first, second: the server's moments u and v, like x."""

    first: Tensor
    second: Tensor


@dataclass(frozen=True, eq=False)
class FedAdam(InRounds):
    """With D = mean_i x_i - x of a round: u <- beta_1 u + (1 - beta_1) D, v by `variant`, x <- x + eta_g u / (sqrt(v) + epsilon).

    Args:
        eta: local step size, in [x]^2 / [f].
        tau: local steps per round.
        eta_g: step size of the server, in [x].
        beta_1, beta_2: weights of the old moments, in [0, 1].
        epsilon: degree of adaptivity, in [x]; u starts at 0 and v at epsilon^2, without a correction of the bias.
        b: batch size.
        m: number of clients that take part in a round, drawn uniformly without replacement; all when None.
        variant: "adam": v <- beta_2 v + (1 - beta_2) D^2; "yogi": v <- v - (1 - beta_2) D^2 sign(v - D^2); "adagrad": v <- v + D^2.

    Our formulation of Reddi et al., "Adaptive federated optimization", ICLR 2021.
    """

    name: ClassVar[str] = "fedadam"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = ROUND_COSTS
    quantities: ClassVar[Mapping[str, str]] = {
        "beta_1": "momentum",
        "beta_2": "momentum",
        "tau": "communication_period",
        "m": "sampled_clients",
    }

    eta: Scalar | Schedule
    tau: int
    eta_g: Scalar | Schedule
    beta_1: Scalar = 0.9
    beta_2: Scalar = 0.99
    epsilon: Scalar = 1e-3
    b: int = 1
    m: int | None = None
    variant: str = choice("adam", "yogi", "adagrad")

    def init(self, problem: Any, start: Start, draws: Draws) -> FedAdamState:
        x = start.models(problem, draws)
        zero = x.new_zeros(x.shape)
        second = zero + self.epsilon * self.epsilon
        return FedAdamState(x=x, active=participants(draws, self.m), origin=x, first=zero, second=second)

    def after_round(self, problem: Any, state: FedAdamState, t: int) -> FedAdamState:
        change = average(state.x, state.active) - state.origin
        first = blend(change, state.first, self.beta_1)
        second = self._second(state.second, change.square())
        x = state.origin + at(self.eta_g, t) * first / (second.sqrt() + self.epsilon)
        return replace(state, x=x, origin=x, first=first, second=second)

    def _second(self, v: Tensor, squared: Tensor) -> Tensor:
        if self.variant == "adam":
            return blend(squared, v, self.beta_2)
        if self.variant == "yogi":
            return v - (1 - self.beta_2) * squared * torch.sign(v - squared)
        return v + squared


_NEAR = 1e-9  # how far from 1 the sum of the weights may be: they are typed as decimals


@dataclass(frozen=True, eq=False)
class FedNova(InRounds):
    """tau_i steps x_i <- x_i - eta g_i, then x <- x + tau_eff sum_i p_i (x_i - x) / tau_i, tau_eff = sum_i p_i tau_i.

    Args:
        eta: local step size, in [x]^2 / [f].
        tau: length of a round, in steps: client i makes the first tau_i of them.
        steps: the tau_i, each at most tau, a list with one entry for each client; tau at each when None.
        weights: the p_i >= 0 with sum 1, one for each client; 1 / N when None. Others than 1 / N descend sum_i p_i F_i.
        b: batch size.

    Every client draws samples in each of the tau steps of a round, also in those that it does not make: that is what its costs count.
    With equal tau_i and p_i this is Local SGD. During a round the averaged model is the plain mean of the x_i.

    Our formulation of Wang, Liu, Liang, Joshi, Poor, "Tackling the objective inconsistency problem in heterogeneous federated
    optimization", NeurIPS 2020, with plain stochastic gradient descent at the clients; the same update as the authors'
    program at github.com/JYWa/FedNova without momentum and proximal term.
    """

    name: ClassVar[str] = "fednova"
    kinds: ClassVar[tuple[str, ...]] = ("federated",)
    needs: ClassVar[tuple[str, ...]] = PLAIN_ORACLES["federated"]
    costs: ClassVar[Mapping[str, str]] = ROUND_COSTS
    uncounted: ClassVar[tuple[str, ...]] = ("steps", "weights")
    quantities: ClassVar[Mapping[str, str]] = {"tau": "communication_period"}

    eta: Scalar | Schedule
    tau: int
    steps: Counts | None = None
    weights: tuple[float, ...] | None = None
    b: int = 1

    def init(self, problem: Any, start: Start, draws: Draws) -> RoundState:
        steps, weights = self._steps(problem), self.weights
        if len(steps) != problem.clients or max(steps) > self.tau:
            wanted = f"one number for each of the {problem.clients} clients, at most tau = {self.tau}"
            raise InputError(f"{self.name}: steps must be {wanted}; got {self.steps}")
        if weights and not (len(weights) == problem.clients and min(weights) >= 0 and abs(sum(weights) - 1) <= _NEAR):
            wanted = f"one number >= 0 for each of the {problem.clients} clients, with sum 1"
            raise InputError(f"{self.name}: weights must be {wanted}; got {self.weights}")
        x = start.models(problem, draws)
        return RoundState(x=x, origin=x)

    def local_step(self, problem: Any, state: RoundState, draws: Draws, t: int) -> RoundState:
        moved = descend(state.x, at(self.eta, t), plain_gradient(problem, state.x, draws, self.b))
        steps_still = [t % self.tau < tau_i for tau_i in self._steps(problem)]
        return replace(state, x=torch.where(_column(steps_still, moved) > 0, moved, state.x))

    def after_round(self, problem: Any, state: RoundState, t: int) -> RoundState:
        steps, clients = self._steps(problem), problem.clients
        per_step = (state.x - state.origin) / _column(steps, state.x)
        if self.weights is None:
            change = average(per_step) * sum(steps) / clients
        else:
            tau_eff = sum(p * tau_i for p, tau_i in zip(self.weights, steps, strict=True))
            change = tau_eff * clients * average(_column(self.weights, state.x) * per_step)
        return replace(state, x=state.origin + change, origin=state.origin + change)

    def _steps(self, problem: Any) -> tuple[int, ...]:
        steps = self.tau if self.steps is None else self.steps
        return (steps,) * problem.clients if isinstance(steps, int) else steps


def _column(numbers: Any, like: Tensor) -> Tensor:
    """One number for each client, (1, clients, 1)."""
    return torch.tensor(numbers, dtype=like.dtype, device=like.device).view(1, -1, 1)
