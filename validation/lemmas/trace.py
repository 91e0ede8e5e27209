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

    def step_in_round(self, count: int) -> Array:
        """(count,) how many steps of its round come before step t."""
        return np.arange(count) % self.period

    def ends_round(self, count: int) -> Array:
        """(count,) whether step t ends in a communication."""
        return self.step_in_round(count) == self.period - 1


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
