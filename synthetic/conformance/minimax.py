"""The minimax kind: the certificates that it must have, what they claim, and the checks of its oracles.

A point of a client is the pair (x, y), and smoothness in x is that at every y, so that the rows of other kinds do not serve.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from ..kinds import client_mean
from .inequalities import WHOLE, Inequalities, Inequality, Problem, Role
from .kind import Kind, sampled
from .oracle_checks import AUTOGRAD, RUNS, Oracle, check_slope, disagree, random_points
from .pairs import initial_error, inverse_monotonicity, parts, random_pair, turned, value_of

_TRIED = 64  # points of Y at which nothing may exceed the maximum


def _coupling(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return torch.maximum(*(turned(name, along, problem, a, b) for name, along in zip(_SAMPLED, "yx", strict=True)))


_SAMPLED = ("descent_gradient", "ascent_gradient")
_ROLES = dict(zip(("local_gradient", "ascent_gradient"), _SAMPLED, strict=True))
_ROWS = Inequalities({role: Role(partial(value_of, name), "xy") for role, name in _ROLES.items()})
_OF_ROWS = ("local_gradient_noise", "dual_gradient_noise", "local_gradient_heterogeneity", "dual_heterogeneity")
MINIMAX: dict[str, Inequality] = {
    **WHOLE,
    **{name: _ROWS[name] for name in _OF_ROWS},
    "local_smoothness": Inequality("xy", True, partial(turned, "descent_gradient", "x")),
    "dual_smoothness": Inequality("xy", True, partial(turned, "ascent_gradient", "y")),
    "coupling": Inequality("xy", True, _coupling),
    "strong_concavity": Inequality("xy", True, partial(inverse_monotonicity, "ascent_gradient", -1.0), inverse=True),
    "initial_dual_error": Inequality("x", False, partial(initial_error, "maximiser", "initial_dual")),
}


def _oracles(problem: Problem, seed: int) -> dict[str, tuple[Tensor, Oracle]]:
    return {name: (random_pair(problem, seed), partial(value_of, name, problem)) for name in _SAMPLED}


def _check_parts(problem: Problem, seed: int) -> Iterator[str]:
    """Both gradients against autograd of the value."""
    x, y = (part.requires_grad_() for part in parts(problem, random_pair(problem, seed)))
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
    outwards = far - tried
    slack = AUTOGRAD * (1 + outwards.norm(dim=-1) * tried.norm(dim=-1).max())
    if bool(((outwards * (tried - tried.roll(1, 0))).sum(-1) < -slack).any()):
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
