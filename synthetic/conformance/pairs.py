"""What oracles of a pair (x, y) attain: how much they turn along one of the two while the other is held."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..kinds import Sample
from .inequalities import Problem, difference_quotient, norm
from .oracle_checks import RUNS, random_points

Pair = tuple[Tensor, Tensor]


def parts(problem: Problem, point: Tensor) -> Pair:
    """x and y of points that are both laid end to end; y is projected where the kind has a set Y: every pair is one of the domain."""
    x, y = point[..., : problem.dim].contiguous(), point[..., problem.dim :].contiguous()
    return x, problem.projected(y) if hasattr(problem, "projected") else y


def random_pair(problem: Problem, seed: int) -> Tensor:
    """x and y laid end to end."""
    return random_points(problem, RUNS, problem.dim + problem.inner_dim, seed)


def value_of(name: str, problem: Problem, point: Tensor, sample: Sample | None = None) -> Tensor:
    """An oracle at points that are laid end to end."""
    found: Tensor = getattr(problem, name)(*parts(problem, point), sample)
    return found


def turned(name: str, along: str, problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    """How much an oracle turns along x at the first y, or along y at the first x, per distance; 0 where that is 0."""
    return turned_between(getattr(problem, name), along, *_of_the_clients(problem, a, b))


def turned_between(oracle: Callable[[Tensor, Tensor], Tensor], along: str, a: Pair, b: Pair) -> Tensor:
    """The same of any function of the two."""
    (x, y), (x_b, y_b) = a, b
    if along == "x":
        return difference_quotient(lambda at: oracle(at, y), norm, x, x_b).nan_to_num(0.0)
    return difference_quotient(lambda at: oracle(x, at), norm, y, y_b).nan_to_num(0.0)


def inverse_monotonicity(name: str, sign: float, problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    """|y - y'|^2 over the rise along it of `sign` times an oracle: at most 1 / mu for the slope of a strongly convex function of y."""
    (x, y), (_, other) = _of_the_clients(problem, a, b)
    gradient, way = getattr(problem, name), other - y
    rise = (sign * (gradient(x, other) - gradient(x, y)) * way).sum(-1)
    length = (way * way).sum(-1)
    return torch.where(length > 0, length / rise.clamp(min=0.0), 0.0)


def _of_the_clients(problem: Problem, a: Tensor, b: Tensor) -> tuple[Pair, Pair]:
    return parts(problem, problem.to_clients(a)), parts(problem, problem.to_clients(b))


def initial_error(best: str, start: str, problem: Problem, x: Tensor) -> Tensor:
    """How far the first y is from the best one, both members of the problem, at the initial x: the same at every point."""
    apart = getattr(problem, best)(problem.initial_point.unsqueeze(0)) - getattr(problem, start)
    return norm(apart).unsqueeze(-1).expand(len(x), 1)
