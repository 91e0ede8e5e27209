"""A run step by step, and what it leaves: the state between the local step and the communication, which `drive` hides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...algorithms import Method, Start
from ...algorithms.engine.draws import Draws
from ...algorithms.engine.method import client_mean

Array = np.ndarray
SEEDS = 32


@dataclass(frozen=True)
class Step:
    """One step of a run. States are those before step t, after the local step, and after the communication.

    `start` is the state at the beginning of the round that holds t.
    """

    problem: Any
    t: int
    before: Any
    stepped: Any
    after: Any
    start: Any


StepMetric = Callable[[Step], Tensor]  # -> (runs,)
Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Trace:
    """What a run left: name -> (steps, seeds), step t in row t; `period` the number of steps of a round."""

    values: Mapping[str, Array]
    numbers: Numbers
    period: int
    steps: int

    def __getitem__(self, name: str) -> Array:
        return self.values[name]

    def ends_round(self, count: int) -> Array:
        """(count,) whether step t ends in a communication."""
        return (np.arange(count) + 1) % self.period == 0


def walk(
    method: Method,
    problem: Any,
    steps: int,
    seeds: int,
    *,
    root_seed: int = 0,
    start: Start | None = None,
    period: int = 1,
    draws: Draws | None = None,
) -> Iterator[Step]:
    """The steps of a run one by one, with the state between the local step and the communication, which `drive` hides.

    The states are those of `drive` to the last bit. `draws` are the random numbers, where they are not those of the seeds.
    """
    draws = draws or Draws(root_seed, seeds, problem.clients, method.grid, problem.initial_point.device)
    moves = method.over(len(draws.seed_indices), problem.initial_point.device)
    method.check(problem)
    with torch.no_grad():
        state = first = moves.init(problem, start or Start(), draws)
        for t in range(steps):
            first = state if t % period == 0 else first
            stepped = moves.local_step(problem, state, draws.at(t), t)
            after = moves.communicate(problem, stepped, t)
            yield Step(problem, t, state, stepped, after, first)
            state = after


# --- statistics that the lemmas of several papers share; each maps a step to one number per run, `(runs,)` ------------------


def per_run(number: Any, like: Tensor) -> Any:
    """A hyperparameter as it multiplies a tensor `(runs, ...)`: a number, or one per run laid out along the first axis."""
    return number.view(-1, *[1] * (like.dim() - 1)) if isinstance(number, Tensor) else number


def mean_square(v: Tensor, active: Tensor | None = None) -> Tensor:
    """Squared norm of the mean over the (active) clients of v `(runs, clients, n)`."""
    return client_mean(v, active).square().sum(-1)


def square_mean(v: Tensor, active: Tensor | None = None) -> Tensor:
    """Mean over the (active) clients of the squared norm of v `(runs, clients, n)`."""
    return client_mean(v.square().sum(-1, keepdim=True), active).squeeze(-1)


def dispersion(v: Tensor, active: Tensor | None = None) -> Tensor:
    """Mean over the (active) clients of the squared distance to their mean."""
    return square_mean(v - client_mean(v, active).unsqueeze(1), active)


def objective(step: Step) -> Tensor:
    """F(xbar_t), in [f]."""
    return step.problem.objective(step.before.average)


def gradient_sq(step: Step) -> Tensor:
    """||grad F(xbar_t)||^2."""
    return step.problem.gradient(step.before.average).square().sum(-1)


def consensus(step: Step) -> Tensor:
    """(1/K) sum_k ||x_t^k - xbar_t||^2."""
    return dispersion(step.before.x, step.before.active)


def client_gradient(problem: Any, x: Tensor) -> Tensor:
    """grad F_k(x_k) of a local composition, exact, `(runs, clients, dim)`."""
    return problem.inner_vjp(x, problem.outer_gradient(problem.inner(x)))
