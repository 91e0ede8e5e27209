"""What functions of a pair (x, y) attain: how much they turn along one of the two while the other is held."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .inequalities import Problem, difference_quotient, norm

Pair = tuple[Tensor, Tensor]
Oracle = Callable[[Tensor, Tensor], Tensor]


def parts(problem: Problem, point: Tensor) -> Pair:
    """x and y of points that are both laid end to end."""
    return point[..., : problem.dim].contiguous(), point[..., problem.dim :].contiguous()


def turned(oracle: Oracle, a: Pair, b: Pair, along: str) -> Tensor:
    """How much an oracle turns along x at the first y, or along y at the first x, per distance; 0 where that is 0."""
    (x, y), (x_b, y_b) = a, b
    if along == "x":
        return difference_quotient(lambda at: oracle(at, y), norm, x, x_b).nan_to_num(0.0)
    return difference_quotient(lambda at: oracle(x, at), norm, y, y_b).nan_to_num(0.0)


def initial_error(best: str, start: str, problem: Problem, x: Tensor) -> Tensor:
    """How far the first y is from the best one, both members of the problem, at the initial x: the same at every point."""
    apart = getattr(problem, best)(problem.initial_point.unsqueeze(0)) - getattr(problem, start)
    return norm(apart).unsqueeze(-1).expand(len(x), 1)


def inverse_monotonicity(gradient: Oracle, a: Pair, b: Pair) -> Tensor:
    """|y - y'|^2 over the rise of the slope along it: at most 1 / mu for a strongly convex function of y, infinite without a rise."""
    (x, y), (_, other) = a, b
    way = other - y
    rise = ((gradient(x, other) - gradient(x, y)) * way).sum(-1)
    length = (way * way).sum(-1)
    return torch.where(length > 0, length / rise.clamp(min=0.0), 0.0)
