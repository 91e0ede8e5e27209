"""The forms whose inner expectation is conditional on an example or a task.

invariant   mean_k mean_i l(mean_j h(x; v_kij), target_ki)                 v_kij: view j of example i at client k
maml_tasks  mean_k mean_i L_ki(x - lam mean_j grad l(x; s_kij))            s_kij: example j that task i is tuned with

xi is the example or the task, eta the view or the example to tune with; `precision.py` has a third form of the kind.

Source: Wu et al., Federated conditional stochastic optimization, sections 5.1 and 5.2, for what both are uses of.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor
from torch.func import grad, vmap

from ...errors import InputError
from ..kinds import InnerSample, OuterSample, Predictions
from ..parts.noise import AbstractNumbered
from .base import AbstractModelProblem, ModelParts
from .data import ClientData
from .flat import pulled


class AbstractConditionalModel(AbstractModelProblem, AbstractNumbered):
    """Outcomes of xi are the rows of a client, and those of eta are in the row: as many rows at every client."""

    parts: ModelParts

    @property
    def outer_outcomes(self) -> int:
        return self.parts.train.common

    def data_loss(self, x: Tensor, split: str = "train") -> Tensor:
        """The objective on those data, `(runs, dim) -> (runs,)`."""
        return self._on(split).objective(x)

    def _on(self, split: str) -> Self:
        parts = replace(self.parts, train=self._split(split))
        return replace(self, parts=parts)  # type: ignore[type-var]

    def _place(self, *axes: int) -> Tensor:
        """The number of each client, for looking rows up."""
        return torch.arange(self.clients).view(-1, *axes)


@dataclass(frozen=True, eq=False)
class InvariantModel(AbstractConditionalModel):
    """Invariant learning: the loss of the mean output over the views of an example, such as augmented copies of it.

    Args:
        parts: inputs `(clients, examples, views, ...)`, targets `(clients, examples, ...)`; the model gives one row of numbers, or one
            number, for a view.

    Raises:
        InputError: inputs without an axis for views, other outputs, or clients with different numbers of examples.
    """

    parts: ModelParts

    def __post_init__(self) -> None:
        train = self.parts.train
        _ = train.common
        if train.inputs.dim() < 4:
            shape = tuple(train.inputs.shape[2:])
            raise InputError(f"invariant: wanted inputs (views, ...) of every example, got examples of shape {shape}")
        if len(self._output) > 1:
            raise InputError(f"invariant: wanted outputs (batch, numbers) of the model, got (batch, {self._output})")

    @cached_property
    def _output(self) -> torch.Size:
        """The shape of the model's output for one view."""
        with torch.no_grad():
            return self.parts.flat.outputs(self.initial_point, self.parts.train.inputs[0, 0]).shape[1:]

    @property
    def inner_dim(self) -> int:  # type: ignore[override]
        return self._output.numel()

    @property
    def inner_outcomes(self) -> int:
        return self.parts.train.inputs.shape[2]

    def _views(self, outer: OuterSample, inner: InnerSample | None) -> Tensor:
        """`(runs, clients, batch, m, ...)`, all views without inner samples."""
        inputs = self.parts.train.inputs
        if inner is None:
            return inputs[self._place(1), outer.outcome]
        return inputs[self._place(1, 1), outer.outcome.unsqueeze(-1), inner.eta]

    def _targets(self, outer: OuterSample) -> Tensor:
        return self.parts.train.targets[self._place(1), outer.outcome]

    def _mean(self, x: Tensor, views: Tensor) -> Tensor:
        """Of one example, `(inner_dim,)`."""
        return self.parts.flat.outputs(x, views).reshape(len(views), -1).mean(0)

    def _loss(self, y: Tensor, target: Tensor) -> Tensor:
        return self.parts.flat.losses(y.view(1, *self._output), target.unsqueeze(0))[0]

    def inner(self, x: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        each = vmap(self._mean, in_dims=(None, 0))
        return self.parts.flat.lanes(each, x, data=(self._views(outer, inner),))

    def inner_vjp(self, x: Tensor, v: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        each = vmap(pulled(self._mean), in_dims=(None, 0, 0))
        return self.parts.flat.lanes(each, x, v, data=(self._views(outer, inner),))

    def sample_gradient(self, x: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        def slope(at: Tensor, views: Tensor, target: Tensor) -> Tensor:
            return grad(lambda p: self._loss(self._mean(p, views), target))(at)

        each = vmap(slope, in_dims=(None, 0, 0))
        return self.parts.flat.lanes(each, x, data=(self._views(outer, inner), self._targets(outer)))

    def outer_value(self, y: Tensor, outer: OuterSample) -> Tensor:
        return self.parts.flat.lanes(self._loss, y, data=(self._targets(outer),), axis=2)

    def outer_gradient(self, y: Tensor, outer: OuterSample) -> Tensor:
        return self.parts.flat.lanes(grad(self._loss), y, data=(self._targets(outer),), axis=2)

    def predict(self, x: Tensor, split: str = "train") -> Predictions:
        """The mean scores over the views."""
        data = self._split(split)
        each = vmap(self._mean, in_dims=(None, 0))
        scores = self.parts.flat.lanes(each, self.to_clients(x), data=(data.inputs.unsqueeze(0),))
        return Predictions(scores, data.labels, (data.weights > 0).to(torch.float64))


@dataclass(frozen=True, eq=False)
class TasksModel(AbstractConditionalModel):
    """MAML over tasks: the first `support` examples of a task tune the model by one step, the others judge it.

    Args:
        parts: inputs `(clients, tasks, examples, ...)`, targets `(clients, tasks, examples, ...)`.
        support: examples to tune with; half of them without it. lam: the size of the step.

    Raises:
        InputError: no axis for examples, nothing to tune with or to judge on, or clients with different numbers of tasks.
    """

    parts: ModelParts
    support: int = 0
    lam: float = 0.1

    def __post_init__(self) -> None:
        train = self.parts.train
        _ = train.common
        if train.targets.dim() < 3 or train.inputs.shape[2] != train.targets.shape[2]:
            shapes = f"{tuple(train.inputs.shape[2:])} and {tuple(train.targets.shape[2:])}"
            raise InputError(f"maml_tasks: wanted inputs and targets (examples, ...) of every task, got {shapes}")
        if not 0 < self.inner_outcomes < train.inputs.shape[2]:
            raise InputError(
                f"support: wanted 1 to {train.inputs.shape[2] - 1} of the {train.inputs.shape[2]} examples of a task, "
                f"got {self.support}"
            )

    @property
    def inner_dim(self) -> int:  # type: ignore[override]
        return self.dim

    @property
    def inner_outcomes(self) -> int:
        return self.support or self.parts.train.inputs.shape[2] // 2

    def tuning(self) -> ModelParts:
        """The examples that tune, each a client of its own."""
        return self._alone(slice(self.inner_outcomes))

    def judging(self) -> ModelParts:
        """The examples that judge, each a client of its own."""
        return self._alone(slice(self.inner_outcomes, None))

    def _alone(self, which: slice) -> ModelParts:
        train = self.parts.train
        rows = [values[:, :, which].flatten(0, 2).unsqueeze(1) for values in (train.inputs, train.targets)]
        return replace(self.parts, train=ClientData(rows[0], rows[1], torch.ones(len(rows[0]), dtype=torch.int64)))

    def _tuned_with(self, outer: OuterSample, inner: InnerSample | None) -> tuple[Tensor, ...]:
        """Inputs, targets and weights `(runs, clients, batch, m, ...)`."""
        which = torch.arange(self.inner_outcomes) if inner is None else inner.eta
        return self._rows(outer, which)

    def _judged_on(self, outer: OuterSample) -> tuple[Tensor, ...]:
        return self._rows(outer, torch.arange(self.inner_outcomes, self.parts.train.inputs.shape[2]))

    def _rows(self, outer: OuterSample, which: Tensor) -> tuple[Tensor, ...]:
        train, at = self.parts.train, (self._place(1, 1), outer.outcome.unsqueeze(-1), which)
        inputs, targets = train.inputs[at], train.targets[at]
        shape = (*outer.outcome.shape, which.shape[-1])
        return inputs, targets, torch.full(shape, 1 / which.shape[-1], dtype=torch.float64)

    def _spread(self, x: Tensor, outer: OuterSample) -> Tensor:
        return x.unsqueeze(2).expand(-1, -1, outer.outcome.shape[-1], -1)

    def _over(self, function: Any, *points: Tensor, data: tuple[Tensor, ...]) -> Tensor:
        return self.parts.flat.lanes(function, *points, data=data, axis=2)

    def inner(self, x: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        x, data = self._spread(x, outer), self._tuned_with(outer, inner)
        return x - self.lam * self._over(grad(self.parts.flat.mean_loss), x, data=data)

    def inner_vjp(self, x: Tensor, v: Tensor, outer: OuterSample, inner: InnerSample | None = None) -> Tensor:
        data, product = self._tuned_with(outer, inner), pulled(grad(self.parts.flat.mean_loss))
        return v - self.lam * self._over(product, self._spread(x, outer), v, data=data)

    def outer_value(self, y: Tensor, outer: OuterSample) -> Tensor:
        return self._over(self.parts.flat.mean_loss, y, data=self._judged_on(outer))

    def outer_gradient(self, y: Tensor, outer: OuterSample) -> Tensor:
        return self._over(grad(self.parts.flat.mean_loss), y, data=self._judged_on(outer))

    def predict(self, x: Tensor, split: str = "train") -> Predictions:
        """Scores of the examples that judge, by the model that is tuned for their task."""
        on = self._on(split)
        outer, _ = on.outer_atoms()
        tuned, (inputs, *_) = on.inner(on.to_clients(x), outer), on._judged_on(outer)
        scores = self._over(self.parts.flat.outputs, tuned, data=(inputs,))
        if scores.dim() == 4:  # one number for each example
            scores = scores.unsqueeze(-1)
        labels = on.parts.train.labels[:, :, on.inner_outcomes :]
        return Predictions(scores.flatten(2, 3), labels.flatten(1, 2))
