"""Meta-learning by tasks: what a step sees of them, and one method whose weights say what it remembers.

Methods for MAML over drawn tasks differ in what they keep of the fine-tuned models g_i(x) = x - lam grad L_i(x) and of the
gradients, so they are one class here.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from ...algorithms import Draws, Messages, Method, Scalar, Start, State, choice, is_due
from ...algorithms.engine.method import average, blend, descend
from ...synthetic.certificate import Certificate
from ...synthetic.kinds import AbstractProblem

Points = tuple[Tensor, Tensor]
"""Inputs and targets, `(..., tasks, points)`."""


class AbstractMeasured(AbstractProblem):
    """A problem of an experiment: nothing is certified of it, and it has data that no oracle sees. Its objective is the training loss."""

    certified: ClassVar[bool] = False
    has_test_data: ClassVar[bool] = True
    inner_dim: ClassVar[int] = 0  # type: ignore[misc]

    @property
    def certificates(self) -> Mapping[str, Certificate]:
        return {}

    @abstractmethod
    def data_loss(self, x: Tensor, split: str = "train") -> Tensor:
        """Mean loss on those data, `(runs, dim) -> (runs,)`."""

    def objective(self, x: Tensor) -> Tensor:
        return self.data_loss(x)


@dataclass(frozen=True)
class Episode:
    """What a step sees: which tasks of a client, int64 `(runs, clients, 3)`, and points to tune and to judge on."""

    drawn: Tensor
    support: Points
    query: Points


@dataclass(frozen=True, kw_only=True)
class TaskState(State):
    """x_t; u: the inner states, `(runs, clients, tasks, dim)`, one task where there is one for all; m: like x."""

    u: Tensor
    m: Tensor


@dataclass(frozen=True, eq=False)
class TaskMethod(Method):
    """u_i <- (1 - gamma) u_i + gamma (x - lam grad L_i(x)), m <- (1 - alpha) m + alpha mean_i (I - lam H_i) grad L_i(u_i),
    x <- x - eta m, i over the drawn tasks; x and m are averaged every p steps.

    Args:
        eta: the step. gamma, alpha: weights of a new inner value and of a new gradient; 1 keeps nothing.
        p: communication period.
        inner_states: "task" keeps one for every task, which stays at its client; "one" has one for all tasks of a client,
            their mean, averaged with the models.

    A state starts from the first value of its task.
    """

    name: ClassVar[str] = "task_method"
    kinds: ClassVar[tuple[str, ...]] = ("sinewave_tasks", "conditional")
    needs: ClassVar[tuple[str, ...]] = ("episode", "gradient_of", "hvp")

    eta: Scalar
    gamma: Scalar
    alpha: Scalar
    p: int
    inner_states: str = choice("task", "one")

    def init(self, problem: Any, start: Start, draws: Draws) -> TaskState:
        x = start.models(problem, draws)
        count = problem.tasks if self.inner_states == "task" else 1
        return TaskState(x=x, u=x.unsqueeze(2).expand(-1, -1, count, -1).clone().fill_(math.nan), m=torch.zeros_like(x))

    def local_step(self, problem: Any, state: TaskState, draws: Draws, t: int) -> TaskState:
        seen = problem.episode(draws)
        x = state.x.unsqueeze(2).expand(-1, -1, problem.drawn, -1)
        tuned = x - problem.lam * problem.gradient_of(x, seen.support)
        if self.inner_states == "task":
            place = seen.drawn.unsqueeze(-1).expand(-1, -1, -1, x.shape[-1])
            used = self._blended(state.u.gather(2, place), tuned)
            u = state.u.scatter(2, place, used)
        else:
            u = self._blended(state.u, tuned.mean(2, keepdim=True))
            used = u.expand_as(x)
        slope = problem.gradient_of(used, seen.query)
        z = (slope - problem.lam * problem.hvp(x, slope, seen.support)).mean(2)
        m = z if t == 0 else blend(state.m, z, self.alpha)
        return TaskState(x=descend(state.x, self.eta, m), u=u, m=m)

    def _blended(self, old: Tensor, new: Tensor) -> Tensor:
        """The new value where there is no old one yet."""
        weight = self.gamma.unsqueeze(-1) if isinstance(self.gamma, Tensor) else self.gamma
        return torch.where(old.isnan(), new, blend(old, new, weight))

    def communicate(self, problem: Any, state: TaskState, t: int) -> TaskState:
        if not is_due(t, self.p):
            return state
        shared = replace(state, x=average(state.x), m=average(state.m))
        return shared if self.inner_states == "task" else replace(shared, u=average(state.u.squeeze(2)).unsqueeze(2))

    def messages(self, problem: Any, T: int) -> Messages:
        rounds = T // self.p
        parts = 1 + (self.alpha != 1 if not isinstance(self.alpha, Tensor) else 1)
        return Messages(rounds, rounds * problem.dim * parts, rounds * problem.dim if self.inner_states == "one" else 0)
