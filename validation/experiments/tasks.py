"""Meta-learning by tasks: what a step sees of them, one method whose weights say what it remembers, and few-shot classification.

Methods for MAML over drawn tasks differ in what they keep of the fine-tuned models g_i(x) = x - lam grad L_i(x) and of the
gradients, so they are one class here. In few-shot classification a task is N characters, K images of each to tune on and 15 others
of each to judge on:

    F(x) = (1/N) sum_n E_task L_query(x - lam grad L_support(x)),  tasks of client n from its own characters

Source: Finn, Abbeel, Levine, "Model-agnostic meta-learning", 2017, for the task; the papers that federate it say how
characters are dealt out to clients.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.func import grad, vmap
from torch.nn.functional import cross_entropy

from ...algorithms import Draws, Messages, Method, Scalar, Start, State, choice, is_due
from ...algorithms.engine.method import average, blend, descend
from ...errors import InputError
from ...synthetic.certificate import Certificate
from ...synthetic.kinds import AbstractProblem, InnerSample, OuterSample, Predictions
from ...synthetic.models import FlatModel

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


# --- few-shot classification --------------------------------------------------------------------------------------------


JUDGED = 15
"""Images of each character of a task that it is judged on."""


@dataclass(frozen=True)
class TaskSample(OuterSample):
    """Tasks: `outcome` their characters `(runs, clients, tasks, ways)`, `order` of the images `(…, ways, instances)`."""

    order: Tensor


@dataclass(frozen=True, eq=False)
class FewShotTasks(AbstractMeasured):
    """Tasks over the characters of each client, and fixed tasks of held-out characters.

    Args:
        flat: the network, with `ways` outputs, and cross-entropy.
        pixels: `(characters, instances, ...)`, one input each.
        owned: characters of each client. held: those of the tasks that losses are measured with.
        ways, shots: N and K. lam: the inner learning rate.
        drawn: tasks in a step of `episode`. tune_steps: fine-tuning steps where accuracy is measured.
        measured: fixed tasks that train and test losses are means of.

    Raises:
        InputError: too few characters or images for a task.
    """

    flat: FlatModel
    pixels: Tensor
    owned: tuple[Tensor, ...]
    held: Tensor
    ways: int = 5
    shots: int = 1
    lam: float = 0.4
    drawn: int = 4
    tune_steps: int = 1
    measured: int = 20
    seed: int = 0
    name: str = "few_shot"
    kind: ClassVar[str] = "conditional"

    def __post_init__(self) -> None:
        fewest = min(len(each) for each in (*self.owned, self.held))
        if fewest < self.ways:
            raise InputError(f"tasks of {self.ways} characters: a client, or the held-out part, has only {fewest}")
        if self.pixels.shape[1] < self.shots + 1:
            raise InputError(
                f"tasks with {self.shots} shots: wanted more images of a character than {self.pixels.shape[1]}"
            )

    @property
    def clients(self) -> int:  # type: ignore[override]
        return len(self.owned)

    @property
    def dim(self) -> int:  # type: ignore[override]
        return self.flat.dim

    @property
    def initial_point(self) -> Tensor:
        return self.flat.start

    @property
    def instances_drawn(self) -> int:
        """Images of a character that a task takes."""
        return min(self.pixels.shape[1], self.shots + JUDGED)

    @cached_property
    def table(self) -> tuple[Tensor, Tensor]:
        """Characters of every client, `(clients, most)`, and which of them are its own."""
        most = max(len(each) for each in self.owned)
        rows = [torch.cat([each, each[:1].expand(most - len(each))]) for each in self.owned]
        own = torch.arange(most) < torch.tensor([len(each) for each in self.owned]).unsqueeze(-1)
        return torch.stack(rows), own

    # --- tasks -----------------------------------------------------------------------------------------------------------

    def sample_outer(self, draws: Draws, batch: int, purpose: str = "outer") -> TaskSample:
        """Tasks of every client; which images of a character tune and which judge is drawn with them."""
        table, own = self.table
        keys = draws.uniform(f"{purpose}.characters", batch, table.shape[1])
        places = keys.masked_fill(~own.unsqueeze(1), 2.0).argsort(-1)[..., : self.ways]
        chosen = table[torch.arange(self.clients).view(-1, 1, 1), places]
        order = draws.uniform(f"{purpose}.images", batch, self.ways, self.pixels.shape[1]).argsort(-1)
        return TaskSample(chosen, order[..., : self.instances_drawn])

    def sample_inner(self, draws: Draws, outer: TaskSample, m: int, purpose: str = "inner") -> InnerSample:
        """The first `shots` images of every character of the tasks, which are drawn with them.

        Raises:
            ValueError: m is another number of images.
        """
        if m != self.shots:
            raise ValueError(f"m: wanted {self.shots}, the shots of a task, got {m}")
        return InnerSample(outer.order[..., : self.shots])

    def support_and_query(self, outer: TaskSample) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """To tune on and to judge on: inputs `(…, ways * images, ...)` and labels `(…, ways * images)`."""
        made = []
        for order in (outer.order[..., : self.shots], outer.order[..., self.shots :]):
            images = self.pixels[outer.outcome.unsqueeze(-1), order]
            labels = torch.arange(self.ways).view(-1, 1).expand(order.shape)
            axis = order.dim() - 2
            made.append((images.flatten(axis, axis + 1), labels.flatten(-2)))
        return made[0], made[1]

    def episode(self, draws: Draws) -> Episode:
        """The tasks of one step."""
        outer = self.sample_outer(draws, self.drawn, purpose="tasks")
        support, query = self.support_and_query(outer)
        return Episode(outer.outcome[..., 0], support, query)

    # --- oracles at x `(…, dim)` on points `(…, images, ...)`, the same axes before --------------------------------------

    def _mean(self, x: Tensor, inputs: Tensor, labels: Tensor) -> Tensor:
        return self.flat.examples(x, inputs, labels).mean()

    def _tuned(self, x: Tensor, inputs: Tensor, labels: Tensor, steps: int = 1) -> Tensor:
        for _ in range(steps):
            x = x - self.lam * grad(self._mean)(x, inputs, labels)
        return x

    def _after(self, x: Tensor, inputs: Tensor, labels: Tensor, judged: Tensor, answers: Tensor) -> Tensor:
        return self._mean(self._tuned(x, inputs, labels), judged, answers)

    def gradient_of(self, x: Tensor, points: tuple[Tensor, Tensor]) -> Tensor:
        """x `(runs, clients, tasks, dim)`: same shape."""
        return self.flat.lanes(grad(self._mean), x, data=points, axis=2)

    def hvp(self, x: Tensor, v: Tensor, points: tuple[Tensor, Tensor]) -> Tensor:
        """Hessian of the loss of each task times v, same shape as x."""

        def product(at: Tensor, along: Tensor, *rest: Tensor) -> Tensor:
            return grad(lambda p: (grad(self._mean)(p, *rest) * along).sum())(at)

        return self.flat.lanes(product, x, v, data=points, axis=2)

    def sample_gradient(self, x: Tensor, outer: TaskSample, inner: InnerSample | None = None) -> Tensor:
        """Of every task's loss after one step of fine-tuning, `(runs, clients, dim) -> (runs, clients, tasks, dim)`."""
        support, query = self.support_and_query(outer)
        tasks = outer.outcome.shape[2]
        spread = x.unsqueeze(2).expand(-1, -1, tasks, -1)
        return self.flat.lanes(grad(self._after), spread, data=(*support, *query), axis=2)

    # --- what is measured ------------------------------------------------------------------------------------------------

    @cached_property
    def fixed(self) -> dict[str, tuple[Tensor, ...]]:
        """Inputs and labels to tune and to judge on, `(tasks, images, ...)`, of the clients' characters and of the held-out ones."""
        generator = torch.Generator().manual_seed(self.seed)
        found: dict[str, tuple[Tensor, ...]] = {}
        for split, pools in (("train", self.owned), ("test", (self.held,))):
            chosen, order = [], []
            for k in range(self.measured):
                pool = pools[k % len(pools)]
                chosen.append(pool[torch.randperm(len(pool), generator=generator)[: self.ways]])
                keys = torch.rand(self.ways, self.pixels.shape[1], generator=generator)
                order.append(keys.argsort(-1)[:, : self.instances_drawn])
            support, query = self.support_and_query(TaskSample(torch.stack(chosen), torch.stack(order)))
            found[split] = (*support, *query)
        return found

    def data_loss(self, x: Tensor, split: str = "train") -> Tensor:
        """Mean over fixed tasks of the loss after one step of fine-tuning: `(runs, dim) -> (runs,)`."""
        each = vmap(self._after, in_dims=(None, 0, 0, 0, 0))
        return torch.stack([each(one, *self.fixed[split]).mean() for one in x])

    def predict(self, x: Tensor, split: str = "train") -> Predictions:
        """Scores of the images that fixed tasks are judged on, after `tune_steps` steps of fine-tuning; a client is a task."""

        def scores(at: Tensor, inputs: Tensor, labels: Tensor, judged: Tensor) -> Tensor:
            return self.flat.outputs(self._tuned(at, inputs, labels, self.tune_steps), judged)

        *tuning, labels = self.fixed[split]
        each = vmap(scores, in_dims=(None, 0, 0, 0))
        return Predictions(torch.stack([each(one, *tuning).detach() for one in x]), labels)

    def gradient(self, x: Tensor) -> Tensor:
        """Of `objective`."""
        each = vmap(grad(self._after), in_dims=(None, 0, 0, 0, 0))
        return torch.stack([each(one, *self.fixed["train"]).mean(0) for one in x])


def few_shot(model: nn.Module, **options: Any) -> FewShotTasks:
    """The tasks of a network."""
    return FewShotTasks(FlatModel(model, cross_entropy), **options)


def with_rotations(pixels: Tensor, side: int) -> Tensor:
    """Every character turned by 0, 90, 180 and 270 degrees is a character of its own: `(4 characters, instances, pixels)`,
    the four of a character one after the other."""
    squares = pixels.unflatten(-1, (side, side))
    turned = torch.stack([squares.rot90(k, (-2, -1)) for k in range(4)], dim=1)
    return turned.flatten(0, 1).flatten(-2)
