"""Sinewave regression by MAML as the paper has it: 25 tasks over 5 clients, a ReLU network with 40 units, 3 tasks a step.

The tasks are A sin(x + b pi/5) with A and b in 1..5. In a step every client draws 3 of its 5 tasks and 10 points in
[-5, 5] for each, and as many to judge the fine-tuned model on. Everything is written out for all lanes at once: a network
with one hidden layer has few enough derivatives. No constant is certified: ReLU is not smooth.

The methods of the paper's comparison are `TaskMethod` with other weights. The box of Local-SCGDM has one inner state; the
experiment keeps one for each task, at the client that has the task, and only those of drawn tasks move. Local-SCGDM is
alpha, gamma < 1 with "task"; Local-MOML has alpha = 1; Local-SCGD alpha = 1 with "one"; Local-BSGD, or Local-MAML,
gamma = alpha = 1.

Source: Gao, Li, Huang, Local-SCGDM, section 5.1, equation (8) and Algorithm 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from ....algorithms import Draws
from ....synthetic.models import FlatModel
from ...experiments.models import network
from ...experiments.tasks import AbstractMeasured, Episode, Points

INTERVAL = 5.0


@dataclass(frozen=True, eq=False)
class SinewaveTasks(AbstractMeasured):
    """The tasks and the network.

    Args:
        clients: the 25 tasks are dealt out to them at random, once. drawn: tasks of a client in a step.
        points: per task. hidden: units. lam: the inner learning rate. unseen: test tasks.
    """

    clients: int = 5
    drawn: int = 3
    points: int = 10
    hidden: int = 40
    lam: float = 0.001
    unseen: int = 600
    seed: int = 0
    name: str = "sinewave"
    kind: ClassVar[str] = "sinewave_tasks"

    @property
    def dim(self) -> int:  # type: ignore[override]
        return 3 * self.hidden + 1

    @property
    def tasks(self) -> int:
        """Tasks of one client."""
        return 25 // self.clients

    @cached_property
    def initial_point(self) -> Tensor:
        """torch's own initialisation: weights in, biases, weights out, bias."""
        return FlatModel(network((1, self.hidden, 1), seed=self.seed), torch.nn.functional.mse_loss).start

    @cached_property
    def table(self) -> Tensor:
        """Amplitude and phase, `(clients, tasks, 2)`."""
        pairs = torch.cartesian_prod(torch.arange(1.0, 6.0), torch.arange(1.0, 6.0)).to(torch.float64)
        order = torch.randperm(25, generator=torch.Generator().manual_seed(self.seed))
        return pairs[order].view(self.clients, self.tasks, 2)

    @cached_property
    def fixed(self) -> dict[str, tuple[Points, Points]]:
        """Points to tune and to judge on that losses are measured with: of all tasks, and of new ones, `(tasks, points)`."""
        generator = torch.Generator().manual_seed(self.seed + 1)
        low, high = torch.tensor([0.1, 0.0], dtype=torch.float64), torch.tensor([5.0, 5.0], dtype=torch.float64)
        new = low + (high - low) * torch.rand(self.unseen, 2, generator=generator, dtype=torch.float64)
        found = {}
        for split, table in (("train", self.table.flatten(0, 1)), ("test", new)):
            pair = [torch.rand(len(table), self.points, generator=generator, dtype=torch.float64) for _ in range(2)]
            first, second = (self._on(table, uniform) for uniform in pair)
            found[split] = (first, second)
        return found

    @staticmethod
    def _on(table: Tensor, uniform: Tensor) -> Points:
        inputs = INTERVAL * (2 * uniform - 1)
        return inputs, table[..., :1] * torch.sin(inputs + table[..., 1:] * (math.pi / 5))

    def episode(self, draws: Draws) -> Episode:
        """The tasks and points of one step."""
        order = draws.uniform("tasks", self.tasks).argsort(-1)[..., : self.drawn]
        table = self.table[torch.arange(self.clients).view(-1, 1), order]
        support, query = (
            self._on(table, draws.uniform(purpose, self.drawn, self.points)) for purpose in ("support", "query")
        )
        return Episode(order, support, query)

    # --- the network at x `(..., dim)` on points `(..., points)`: loss, gradient, Hessian times v ----------------------

    def _parts(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        into, bias, out = x[..., :-1].unflatten(-1, (3, self.hidden)).unbind(-2)
        return into.unsqueeze(-2), bias.unsqueeze(-2), out.unsqueeze(-2), x[..., -1:]

    def _forward(self, x: Tensor, points: Points) -> tuple[Tensor, Tensor, Tensor]:
        """Active units, their values `(..., points, hidden)`, and the errors `(..., points)`."""
        into, bias, out, last = self._parts(x)
        before = torch.addcmul(bias, points[0].unsqueeze(-1), into)
        on = (before > 0).to(x.dtype)
        values = before * on
        return on, values, (values * out).sum(-1) + last - points[1]

    def loss(self, x: Tensor, points: Points) -> Tensor:
        """Mean squared error, `(...)`."""
        return self._forward(x, points)[2].square().mean(-1)

    def gradient_of(self, x: Tensor, points: Points) -> Tensor:
        """Same shape as x."""
        on, values, errors = self._forward(x, points)
        rate = (2 / errors.shape[-1]) * errors.unsqueeze(-1)
        back = rate * self._parts(x)[2] * on
        return self._joined(
            (back * points[0].unsqueeze(-1)).sum(-2), back.sum(-2), (rate * values).sum(-2), rate.sum((-1, -2))
        )

    def hvp(self, x: Tensor, v: Tensor, points: Points) -> Tensor:
        """Where no unit is at its kink, which has probability one."""
        on, values, errors = self._forward(x, points)
        out, (d_into, d_bias, d_out, d_last) = self._parts(x)[2], self._parts(v)
        inputs = points[0].unsqueeze(-1)
        moved = torch.addcmul(d_bias, inputs, d_into) * on
        scale = 2 / errors.shape[-1]
        rate = scale * errors.unsqueeze(-1)
        d_rate = scale * ((moved * out).sum(-1) + (values * d_out).sum(-1) + d_last).unsqueeze(-1)
        back = (d_rate * out + rate * d_out) * on
        slopes = (d_rate * values + rate * moved).sum(-2)
        return self._joined((back * inputs).sum(-2), back.sum(-2), slopes, d_rate.sum((-1, -2)))

    @staticmethod
    def _joined(into: Tensor, bias: Tensor, out: Tensor, last: Tensor) -> Tensor:
        return torch.cat([into, bias, out, last.unsqueeze(-1)], dim=-1)

    # --- what is measured ------------------------------------------------------------------------------------------------

    def data_loss(self, x: Tensor, split: str = "train") -> Tensor:
        """Mean over the tasks of the loss after one step of fine-tuning: all 25, or 600 new ones. `(runs, dim) -> (runs,)`."""
        support, query = self.fixed[split]
        at = x.unsqueeze(1)
        return self.loss(at - self.lam * self.gradient_of(at, support), query).mean(-1)

    def fitted(self, x: Tensor, task: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Curve and truth on a task (A, b) after one step on 10 points, x `(runs, dim)`: `(runs, n)` and `(n,)`."""
        uniform = torch.rand(self.points, generator=torch.Generator().manual_seed(self.seed + 2), dtype=torch.float64)
        tuned = x - self.lam * self.gradient_of(x, self._on(task, uniform))
        truth = task[0] * torch.sin(inputs + task[1] * (math.pi / 5))
        return self._forward(tuned, (inputs, torch.zeros_like(inputs)))[2], truth

    def gradient(self, x: Tensor) -> Tensor:
        """Of `objective`, by the chain rule."""
        support, query = self.fixed["train"]
        at = x.unsqueeze(1).expand(-1, len(support[0]), -1)
        v = self.gradient_of(at - self.lam * self.gradient_of(at, support), query)
        return (v - self.lam * self.hvp(at, v, support)).mean(1)
