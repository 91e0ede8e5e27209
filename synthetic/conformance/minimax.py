"""The minimax kind: the certificates that it must have, what they claim, and the checks of its oracles.

A point of a client is the pair (x, y), and smoothness in x is that at every y, so that the rows of other kinds do not serve.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from ..kinds import Sample, client_mean
from .inequalities import WHOLE, Inequalities, Inequality, Problem, Role
from .kind import Kind, sampled
from .oracle_checks import AUTOGRAD, RUNS, Oracle, check_slope, disagree, random_points
from .pairs import Pair, initial_error, inverse_monotonicity, parts, turned

_TRIED = 64  # points of Y at which nothing may exceed the maximum


def _parts(problem: Problem, point: Tensor) -> Pair:
    """x and y of a point; y is projected on Y, so that every pair is one of the domain."""
    x, y = parts(problem, point)
    return x, problem.projected(y)


def _descent(problem: Problem, point: Tensor, sample: Sample | None = None) -> Tensor:
    return problem.descent_gradient(*_parts(problem, point), sample)


def _ascent(problem: Problem, point: Tensor, sample: Sample | None = None) -> Tensor:
    return problem.ascent_gradient(*_parts(problem, point), sample)


def _turned(problem: Problem, a: Tensor, b: Tensor, *, of: str, along: str) -> Tensor:
    gradient = problem.descent_gradient if of == "x" else problem.ascent_gradient
    at, to = (_parts(problem, problem.to_clients(point)) for point in (a, b))
    return turned(gradient, at, to, along)


def _coupling(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return torch.maximum(_turned(problem, a, b, of="x", along="y"), _turned(problem, a, b, of="y", along="x"))


def _strong_concavity(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    pair = (_parts(problem, problem.to_clients(point)) for point in (a, b))
    return inverse_monotonicity(lambda x, y: -problem.ascent_gradient(x, y), *pair)


_ROWS = Inequalities({"local_gradient": Role(_descent, "xy"), "ascent_gradient": Role(_ascent, "xy")})
_OF_ROWS = ("local_gradient_noise", "dual_gradient_noise", "local_gradient_heterogeneity", "dual_heterogeneity")
MINIMAX: dict[str, Inequality] = {
    **WHOLE,
    **{name: _ROWS[name] for name in _OF_ROWS},
    "local_smoothness": Inequality("xy", True, lambda p, a, b: _turned(p, a, b, of="x", along="x")),
    "dual_smoothness": Inequality("xy", True, lambda p, a, b: _turned(p, a, b, of="y", along="y")),
    "coupling": Inequality("xy", True, _coupling),
    "strong_concavity": Inequality("xy", True, _strong_concavity, inverse=True),
    "initial_dual_error": Inequality("x", False, partial(initial_error, "maximiser", "initial_dual")),
}


def _oracles(problem: Problem, seed: int) -> dict[str, tuple[Tensor, Oracle]]:
    point = random_points(problem, RUNS, problem.dim + problem.inner_dim, seed)
    return {
        name: (point, partial(of, problem))
        for name, of in (("descent_gradient", _descent), ("ascent_gradient", _ascent))
    }


def _check_parts(problem: Problem, seed: int) -> Iterator[str]:
    """Both gradients against autograd of the value."""
    point = random_points(problem, RUNS, problem.dim + problem.inner_dim, seed)
    x, y = (part.requires_grad_() for part in _parts(problem, point))
    for name, at in (("descent_gradient", x), ("ascent_gradient", y)):
        yield from check_slope(name, getattr(problem, name)(x, y), "local_value", problem.local_value(x, y), at)


def _check_maximiser(problem: Problem, seed: int) -> Iterator[str]:
    """It is in Y, where nothing is larger; Y is a set onto which a projection twice is one; the start of y is in it."""
    x = random_points(problem, RUNS, problem.dim, seed)[:, 0].contiguous()
    best = problem.maximiser(x)
    if disagree(problem.projected(best), best, 0.0):
        yield "maximiser: not in the set Y"
    if disagree(problem.projected(problem.initial_dual), problem.initial_dual, 0.0):
        yield "initial_dual: not in the set Y"
    far = random_points(problem, _TRIED * RUNS, problem.inner_dim, seed + 1)[:, 0]
    tried = problem.projected(far)
    if disagree(problem.projected(tried), tried, 0.0):
        yield "projected: a projection twice is not one"
    if bool(
        (
            ((far - tried) * (tried - tried.roll(1, 0))).sum(-1)
            < -AUTOGRAD * (1 + (far - tried).norm(dim=-1) * tried.norm(dim=-1).max())
        ).any()
    ):
        yield "projected: another point of the set is nearer"

    def value(x: Tensor, y: Tensor) -> Tensor:
        return client_mean(problem.local_value(problem.to_clients(x), problem.to_clients(y)))

    largest = value(x, best)
    if disagree(problem.objective(x), largest, AUTOGRAD):
        yield "objective differs from the mean of the f_i at the maximiser"
    near = problem.projected(best.repeat(_TRIED, 1) + 1e-3 * far / far.norm(dim=-1, keepdim=True))
    for y in (tried, near):
        if bool((value(x.repeat(_TRIED, 1), y) > largest.repeat(_TRIED) * (1 + AUTOGRAD) + AUTOGRAD).any()):
            yield "maximiser: the mean of the f_i is larger at another y of the set"
            break


KIND = Kind(
    (
        "local_smoothness",
        "coupling",
        "dual_smoothness",
        "strong_concavity",
        "local_gradient_noise",
        "dual_gradient_noise",
        "objective_smoothness",
        "objective_gap",
    ),
    MINIMAX,
    sampled(_oracles, parts=_check_parts, maximiser=_check_maximiser),
)
