"""Certified constants of generalised linear models on given data: nothing is sampled, each value holds everywhere.

The model is one linear layer; z = W a + c are its outputs and t = (a, 1) its inputs with the constant. Cross-entropy has
slopes softmax(z) - e_y of length at most sqrt 2 and Hessians diag(p) - p p^T of norm at most 1/2, the logistic loss 1 and
1/4, half of the squared error Hessian 1 in each output. By the Kronecker product with t t^T each constant of the whole is
one of mean_i t_i t_i^T.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from ..certificate import Certificate, rounded_up, upper
from ..models.base import ModelParts
from ..models.conditional import InvariantModel
from ..models.recognised import law_of, layer_of


def certified(parts: ModelParts) -> Iterator[Certificate]:
    """The constants of the plain form that hold on all of R^d; none for another model or another loss."""
    layer = layer_of(parts)
    law = None if layer is None else law_of(parts, len(layer.weight))
    if layer is None or law is None or not bool(parts.train.inputs.isfinite().all()):
        return
    rows = _rows(parts, layer.bias is not None)
    weights = parts.train.weights
    per_client = torch.stack([_largest(row, weight) for row, weight in zip(rows, weights, strict=True)])
    pooled = _largest(rows.flatten(0, 1), weights.flatten() / len(rows))
    lengths = torch.linalg.vector_norm(rows, dim=-1)
    longest, second = float(lengths.max()), float((lengths.square() * weights).sum(-1).amax().sqrt())
    said = f"One linear layer: {law.said}, and its Hessians are Kronecker products with t t^T."
    for name, square in (
        ("local_smoothness", float(per_client.max())),
        ("objective_smoothness", float(pooled)),
        ("local_sample_smoothness", longest**2),
    ):
        yield upper(name, rounded_up(law.curvature * square), said)
    if law.slope is None:
        return
    for name, length in (
        ("local_sample_gradient_bound", longest),
        ("local_gradient_bound", second),
        ("gradient_cap", second),
        ("local_gradient_noise", second),
    ):
        yield upper(name, rounded_up(law.slope * length), f"{said} Root mean squares bound means and deviations.")
    root = float((lengths.square() * weights).sum(-1).mean().sqrt())
    apart = f"{said} Deviations from the mean are at most the root mean square."
    yield upper("local_gradient_heterogeneity", rounded_up(law.slope * root), apart)


def certified_views(problem: InvariantModel) -> Iterator[Certificate]:
    """The constants of invariant learning that hold on all of R^d, where the model is one layer: g_eta(x, xi) = W v + c of a view v
    has the Jacobian I times t^T with t = (v, 1), whatever x. How far the values of views are apart is not bounded.
    """
    train = problem.parts.train
    views = replace(problem.parts, train=replace(train, inputs=train.inputs.flatten(1, 2)))
    layer = layer_of(views)
    law = None if layer is None else law_of(problem.parts, len(layer.weight))
    if layer is None or law is None or not bool(train.inputs.isfinite().all()):
        return
    rows = _rows(views, layer.bias is not None).unflatten(1, (train.common, -1))
    squares, means = rows.square().sum(-1), rows.mean(2).flatten(0, 1)
    said = f"One linear layer: its Jacobian at a view is the identity times t^T, and {law.said}."
    values = {
        "inner_sample_lipschitz": float(squares.max().sqrt()),
        "inner_jacobian_mean_square": float(squares.mean(-1).max().sqrt()),
        "inner_sample_smoothness": 0.0,
        "outer_sample_smoothness": law.curvature,
        "objective_smoothness": law.curvature * float(_largest(means, torch.full_like(means[:, 0], 1 / len(means)))),
    }
    if law.slope is not None:
        lengths = torch.linalg.vector_norm(means, dim=-1)
        values |= dict.fromkeys(("outer_sample_lipschitz", "outer_mean_square_lipschitz"), law.slope)
        values["gradient_cap"] = law.slope * float(lengths.mean())
    yield from (upper(name, rounded_up(value), said) for name, value in values.items())


def _rows(parts: ModelParts, has_constant: bool) -> Tensor:
    """t of every example, `(clients, most, inputs + 1)`."""
    rows = parts.train.inputs.flatten(2)
    return torch.cat([rows, torch.ones_like(rows[..., :1])], dim=-1) if has_constant else rows


def _largest(rows: Tensor, weights: Tensor) -> Tensor:
    """The largest eigenvalue of sum_i w_i t_i t_i^T."""
    return torch.linalg.matrix_norm(rows * weights.sqrt().unsqueeze(-1), ord=2).square()
