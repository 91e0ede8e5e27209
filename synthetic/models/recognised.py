"""What is recognised entirely: one linear layer, and a loss of torch with known slopes on the given targets.

Everything else is not: a subclass, a hook, a parametrisation, a `forward` of an instance, another reduction, weights, or
targets outside the range in which the slopes are known. What is not recognised is estimated, never certified.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .flat import is_plain

if TYPE_CHECKING:
    from .base import ModelParts

MOST_NUMBERS = 1 << 22
"""Most numbers in the outputs of the runs that are evaluated together: 32 MiB."""
_SUM = 1e-12
"""By how much the entries of a distribution in double precision may miss a sum of 1."""


@dataclass(frozen=True)
class Law:
    """Of the loss in its outputs: the largest slope (None where there is none), the largest curvature, and the gradient.

    `gradient` takes outputs `(..., outputs)` and targets without or with that axis.
    """

    slope: float | None
    curvature: float
    said: str
    gradient: Callable[[Tensor, Tensor], Tensor]


def _of_entropy(z: Tensor, targets: Tensor) -> Tensor:
    if targets.is_floating_point():
        return z.softmax(-1) * targets.sum(-1, keepdim=True) - targets
    one = torch.ones((), dtype=z.dtype).expand(z.shape[:-1]).unsqueeze(-1)
    return z.softmax(-1).scatter_add(-1, targets.expand(z.shape[:-1]).unsqueeze(-1), -one)


def _of_logistic(z: Tensor, targets: Tensor) -> Tensor:
    return z.sigmoid() - targets


def _of_square(z: Tensor, targets: Tensor) -> Tensor:
    return 2 / z.shape[-1] * (z - (targets if targets.dim() == z.dim() else targets.unsqueeze(-1)))


def layer_of(parts: ModelParts) -> nn.Linear | None:
    """The one linear layer of a model that is nothing else, all of whose parameters are trained, and that takes each example as one row."""
    model, shape = parts.flat.model, parts.train.inputs.shape[2:]
    layers = list(model) if type(model) is nn.Sequential and is_plain(model) else [model]
    *before, layer = layers or [model]
    flattens = [type(one) is nn.Flatten and (one.start_dim, one.end_dim) == (1, -1) for one in before]
    if type(layer) is not nn.Linear or not all(flattens) or not all(map(is_plain, layers)):
        return None
    if (not before and len(shape) != 1) or not all(p.requires_grad for p in layer.parameters()):
        return None
    weight, bias = layer.weight, layer.bias
    is_whole = (
        weight.dim() == 2 and weight.shape[1] == shape.numel() and (bias is None or bias.shape == weight.shape[:1])
    )
    return layer if is_whole else None


def law_of(parts: ModelParts, outputs: int) -> Law | None:
    """The slopes of the loss on the given targets; None where the loss, or its targets, are not recognised."""
    loss, targets = parts.flat.loss, parts.train.targets
    inside = targets[parts.train.weights > 0]
    crossed = _is(loss, nn.CrossEntropyLoss, functional.cross_entropy, "weight", "label_smoothing")
    if crossed and (_are_classes(loss, inside, outputs) or _are_distributions(inside)):
        return Law(
            math.sqrt(2.0),
            0.5,
            "cross-entropy has slopes of length at most sqrt 2 and Hessians of norm at most 1/2",
            _of_entropy,
        )
    logistic = _is(loss, nn.BCEWithLogitsLoss, functional.binary_cross_entropy_with_logits, "weight", "pos_weight")
    if outputs == 1 and logistic and bool(((inside >= 0) & (inside <= 1)).all()):
        return Law(1.0, 0.25, "the logistic loss has slopes of at most 1 and curvature of at most 1/4", _of_logistic)
    one_each = tuple(inside.shape[1:]) in (
        (outputs,),
        () if outputs == 1 else (outputs,),
    )  # else torch compares each with each
    if one_each and _is(loss, nn.MSELoss, functional.mse_loss) and bool(inside.isfinite().all()):
        return Law(None, 2.0 / outputs, "the mean squared error has the Hessian 2/outputs in every output", _of_square)
    return None


@dataclass(frozen=True, eq=False)
class LinearGradient:
    """The gradient of the mean loss of one linear layer, in closed form: sum_i w_i slope_i (t_i, 1)^T."""

    law: Law
    outputs: int
    has_bias: bool

    @staticmethod
    def of(parts: ModelParts) -> LinearGradient | None:
        """None where the model or its loss is not recognised."""
        layer = layer_of(parts)
        law = None if layer is None else law_of(parts, len(layer.weight))
        return None if layer is None or law is None else LinearGradient(law, len(layer.weight), layer.bias is not None)

    def __call__(self, x: Tensor, data: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        """x `(runs, clients, dim)`, data `(runs or 1, clients, batch, ...)` -> `(runs, clients, dim)`."""
        together = max(1, MOST_NUMBERS // (data[2][0].numel() * self.outputs))
        if len(x) <= together:
            return self._of(x, data)
        parts = zip(
            x.split(together), *((one.expand(len(x), *one.shape[1:]).split(together)) for one in data), strict=True
        )
        return torch.cat([self._of(at, (a, b, c)) for at, a, b, c in parts])

    def _of(self, x: Tensor, data: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        inputs, targets, weights = data
        rows = inputs.flatten(3)
        W = x[..., : self.outputs * rows.shape[-1]].unflatten(-1, (self.outputs, -1))
        shared = len(rows) == 1  # for every run: then it is not repeated
        z = torch.einsum("cbi,rcoi->rcbo", rows[0], W) if shared else torch.einsum("rcbi,rcoi->rcbo", rows, W)
        z = z + x[..., W[0, 0].numel() :].unsqueeze(-2) if self.has_bias else z
        slopes = weights.unsqueeze(-1) * self.law.gradient(z, targets)
        of_W = (
            torch.einsum("rcbo,cbi->rcoi", slopes, rows[0]) if shared else torch.einsum("rcbo,rcbi->rcoi", slopes, rows)
        )
        return torch.cat([of_W.flatten(2), slopes.sum(-2)], dim=-1) if self.has_bias else of_W.flatten(2)


def _is(loss: Any, kind: type, function: Any, *options: str) -> bool:
    """Whether a loss is torch's own, reduced by the mean, with none of the options."""
    if loss is function:
        return True
    plain = (
        isinstance(loss, nn.Module)
        and type(loss) is kind
        and is_plain(loss)
        and getattr(loss, "reduction", "") == "mean"
    )
    return plain and not any(_given(getattr(loss, name, None)) for name in options)


def _given(option: Any) -> bool:
    return option is not None and (isinstance(option, Tensor) or option != 0.0)


def _are_classes(loss: Any, targets: Tensor, outputs: int) -> bool:
    """Classes 0 to outputs - 1, none of them the one that is ignored."""
    if targets.is_floating_point() or targets.dim() != 1:
        return False
    ignored = getattr(loss, "ignore_index", -100)
    return bool(((targets >= 0) & (targets < outputs) & (targets != ignored)).all())


def _are_distributions(targets: Tensor) -> bool:
    if not targets.is_floating_point() or targets.dim() != 2:
        return False
    return bool((targets >= 0).all() and ((targets.sum(-1) - 1).abs() <= _SUM).all())


def least_loss(parts: ModelParts) -> float | None:
    """What no example's loss is below, whatever the model; None where the loss is not recognised."""
    targets = parts.train.targets
    width = targets.shape[2:].numel()
    classes = width if targets.is_floating_point() else int(targets.max()) + 1
    return 0.0 if any(law_of(parts, outputs) is not None for outputs in (width, classes)) else None
