"""The bilevel kind: the certificates that it must have, what they claim, and the checks of its oracles. A point is the pair (x, y)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from ..kinds import Sample, client_mean
from .inequalities import WHOLE, Inequalities, Inequality, Problem, Role, norm
from .kind import Kind, sampled
from .oracle_checks import AUTOGRAD, RUNS, Oracle, disagree, random_points
from .pairs import initial_error, inverse_monotonicity, parts, random_pair, turned, turned_between, value_of

_SAMPLED = ("upper_gradient", "upper_gradient_in_y", "lower_gradient")
_SECOND = ("lower_hvp", "lower_cross")


def _hypergradient(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return turned_between(problem.hypergradient, "y", parts(problem, a), parts(problem, b)).unsqueeze(-1)


_ROLES = dict(zip(("local_gradient", "ascent_gradient", "lower_gradient"), _SAMPLED, strict=True))
_ROWS = Inequalities({role: Role(partial(value_of, name), "xy") for role, name in _ROLES.items()})
_OF_ROWS = (
    "local_gradient_noise",
    "local_gradient_heterogeneity",
    "upper_lipschitz",
    "dual_gradient_noise",
    "lower_gradient_noise",
    "lower_heterogeneity",
)
BILEVEL: dict[str, Inequality] = {
    **WHOLE,
    **{name: _ROWS[name] for name in _OF_ROWS},
    "local_smoothness": Inequality("xy", True, partial(turned, "upper_gradient", "x")),
    "lower_smoothness": Inequality("xy", True, partial(turned, "lower_gradient", "y")),
    "lower_coupling": Inequality("xy", True, partial(turned, "lower_gradient", "x")),
    "lower_strong_convexity": Inequality(
        "xy", True, partial(inverse_monotonicity, "lower_gradient", 1.0), inverse=True
    ),
    "hypergradient_smoothness": Inequality("xy", True, _hypergradient),
    "initial_dual_error": Inequality("x", False, partial(initial_error, "lower_minimiser", "initial_lower")),
}


def _oracles(problem: Problem, seed: int) -> dict[str, tuple[Tensor, Oracle]]:
    return {name: (random_pair(problem, seed), partial(value_of, name, problem)) for name in _SAMPLED}


def _second(problem: Problem, seed: int) -> dict[str, tuple[Tensor, Oracle]]:
    return {name: (random_pair(problem, seed), partial(_along_y, name, problem)) for name in _SECOND}


def _along_y(name: str, problem: Problem, point: Tensor, sample: Sample | None = None) -> Tensor:
    """A second derivative, which takes no sample, along y."""
    x, y = parts(problem, point)
    found: Tensor = getattr(problem, name)(x, y, y)
    return found


def _check_parts(problem: Problem, seed: int) -> Iterator[str]:
    """Every derivative against autograd of what it is a derivative of."""
    x, y = (part.requires_grad_() for part in parts(problem, random_pair(problem, seed)))
    v = torch.linspace(-1, 1, y.numel(), dtype=y.dtype, device=y.device).view(y.shape)
    slope = torch.autograd.grad(problem.lower_value(x, y).sum(), y, create_graph=True)[0]
    turn = torch.autograd.grad((slope * v).sum(), (x, y), allow_unused=True)
    of_x, of_y = torch.autograd.grad(problem.local_value(x, y).sum(), (x, y), allow_unused=True)
    wanted = {
        "upper_gradient": (of_x, x),
        "upper_gradient_in_y": (of_y, y),
        "lower_gradient": (slope.detach(), y),
        "lower_cross": (turn[0], x),
        "lower_hvp": (turn[1], y),
    }
    for name, (expected, like) in wanted.items():
        given = (x, y, v) if name in _SECOND else (x, y)
        found = getattr(problem, name)(*given).detach()
        if disagree(found, torch.zeros_like(like) if expected is None else expected, AUTOGRAD):
            yield f"{name} differs from autograd"


def _check_lower_level(problem: Problem, seed: int) -> Iterator[str]:
    """The mean of the g_i has no slope in y at y*(x); `solve_lower` solves the equation of its Hessian."""
    x = random_points(problem, RUNS, problem.dim, seed)[:, 0].contiguous()
    y = problem.lower_minimiser(x)
    slope = problem.lower_gradient(problem.to_clients(x), problem.to_clients(y))
    if bool((norm(client_mean(slope)) > AUTOGRAD * (1 + norm(slope).amax(1))).any()):
        yield "lower_minimiser: the mean of the g_i is smaller at another y"
    if problem.initial_lower.shape != (problem.inner_dim,):
        yield f"initial_lower: expected the shape ({problem.inner_dim},), got {tuple(problem.initial_lower.shape)}"
    v = random_points(problem, RUNS, problem.inner_dim, seed + 1)[:, 0].contiguous()
    solved = (problem.to_clients(part) for part in (x, y, problem.solve_lower(x, y, v)))
    if disagree(client_mean(problem.lower_hvp(*solved)), v, AUTOGRAD):
        yield "solve_lower: the mean Hessian of the g_i times its answer is not the right side"


KIND = Kind(
    (
        "lower_smoothness",
        "lower_strong_convexity",
        "lower_coupling",
        "hypergradient_smoothness",
        "local_gradient_noise",
        "dual_gradient_noise",
        "lower_gradient_noise",
        "objective_smoothness",
        "objective_gap",
    ),
    BILEVEL,
    sampled(_oracles, _second, parts=_check_parts, lower_level=_check_lower_level),
)
