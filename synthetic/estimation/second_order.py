"""Curvature that several forms need: of the whole objective, and of the Hessian of a client."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .lanczos import spectral_norm
from .losses import FAILURE, LANCZOS_STEPS, Losses, Pointwise
from .search import LEAST_ABOUT, Search

FEW = 14
"""Number of points where every example's Hessian is needed."""
HESSIAN_CHANGE = "Norm of the change of a client's Hessian over a short step, turned to where it changes most; perhaps not the largest"


def smoothness_of(problem: Any) -> Pointwise:
    """||Hessian of the objective||, its products by central differences of the exact gradient."""

    def norm(x: Tensor) -> Tensor:
        step = 1e-5 * (1 + torch.linalg.vector_norm(x, dim=-1, keepdim=True))

        def product(v: Tensor) -> Tensor:
            return (problem.gradient(x + step * v) - problem.gradient(x - step * v)) / (2 * step)

        return spectral_norm(product, x.shape, LANCZOS_STEPS, FAILURE)[0]

    return norm


def hessian_change(losses: Losses, search: Search) -> Pointwise:
    """How fast the Hessian of a client changes, over short steps about the points."""
    steps = search.region.draw(2 * max(search.points, LEAST_ABOUT), search.seed + 7)
    unit = 1e-3 * max(search.region.radius, 1e-6)

    def change(x: Tensor) -> Tensor:
        away = steps[: len(x)] - steps[len(x) : 2 * len(x)] + 1e-12
        return losses.steepest_hessian_change(x, unit * away / torch.linalg.vector_norm(away, dim=-1, keepdim=True))

    return change
