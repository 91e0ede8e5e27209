"""The federated and the meta kind, and of MAML as a local composite: the clients' losses f_i as functions that certificates bound."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from ...bounds.language import bounding
from ...bounds.language.bounding import AVERAGE, Form, unlike
from ..kinds import Sample, client_mean
from .inequalities import (
    WHOLE,
    Inequalities,
    Inequality,
    Problem,
    Role,
    along_axes,
    at_minimiser,
    each_atom,
    mean_square,
    norm,
    spectral_norm,
)
from .kind import Kind, sampled
from .oracle_checks import AUTOGRAD, RUNS, Oracle, along, check_product, check_slope, disagree, random_points


def _hessian(problem: Problem, x: Tensor, sample: Sample | None) -> Tensor:
    """`(lanes, clients, dim, dim)`, column by column from the oracle."""
    return torch.stack(along_axes(problem.local_hvp, problem.dim, x, sample), dim=-1)


GRADIENTS = {"local_gradient": Role(lambda problem, x, atom: problem.local_gradient(x, atom))}
HESSIANS = {"local_hessian": Role(_hessian, is_matrix=True)}


def _fourth_moment(role: Role, problem: Problem, x: Tensor) -> Tensor:
    """E||error||^4: no row has a form for it."""
    x, size = problem.to_clients(x), spectral_norm if role.is_matrix else norm
    exact = role.of(problem, x, None)
    squares = each_atom(problem, lambda x, exact, atom: size(role.of(problem, x, atom) - exact) ** 2, x, exact)
    return mean_square(*squares) ** 2


def _unlike_at_start(problem: Problem, x: Tensor) -> Tensor:
    """The same wherever x is."""
    start = problem.to_clients(problem.initial_point.expand_as(x))
    return GRADIENTS["local_gradient"].attained(unlike("local_gradient", over=AVERAGE), problem, start)


def with_fourth_moments(roles: dict[str, Role]) -> dict[str, Inequality]:
    """What is no row read at every point: the fourth moments of the errors of these functions, how unlike the first gradients are, and what
    every kind has."""
    moments = {
        f"{name}_fourth_moment": Inequality("x", False, partial(_fourth_moment, of)) for name, of in roles.items()
    }
    return {**WHOLE, "initial_gradient_heterogeneity": Inequality("x", False, _unlike_at_start), **moments}


def _gradients(problem: Problem, seed: int) -> dict[str, tuple[Tensor, Oracle]]:
    return {"local_gradient": (random_points(problem, RUNS, problem.dim, seed), problem.local_gradient)}


def _check_gradients(problem: Problem, seed: int) -> Iterator[str]:
    """The clients' gradients against autograd; objective and gradient as means over the clients."""
    x = random_points(problem, RUNS, problem.dim, seed).requires_grad_()
    yield from check_slope("local_gradient", problem.local_gradient(x), "local_value", problem.local_value(x), x)
    point = x.detach()[:, 0].contiguous()
    everywhere = problem.to_clients(point)
    if disagree(problem.objective(point), client_mean(problem.local_value(everywhere)), AUTOGRAD):
        yield "objective differs from mean_i F_i(x)"
    if disagree(problem.gradient(point), client_mean(problem.local_gradient(everywhere)), AUTOGRAD):
        yield "gradient differs from mean_i grad F_i(x)"


def _second_moment(problem: Problem, least: Tensor) -> Tensor:
    """Root of E||gradient of one sample||^2, `(1, clients)`."""
    form = Form(bounding.SIZE, "local_gradient", bounding.MEAN_SQUARE)
    return GRADIENTS["local_gradient"].attained(form, problem, problem.to_clients(least))


def _heterogeneity(problem: Problem, least: Tensor) -> Tensor:
    """Root of the mean over the clients of ||grad f_i||^2, `(1, 1)`."""
    return client_mean(norm(problem.local_gradient(problem.to_clients(least))) ** 2).sqrt().unsqueeze(-1)


AT_MINIMISER = {
    "minimiser_second_moment": Inequality("x", False, partial(at_minimiser, _second_moment)),
    "minimiser_heterogeneity": Inequality("x", False, partial(at_minimiser, _heterogeneity)),
}

FEDERATED = Kind(
    (
        "local_smoothness",
        "local_sample_smoothness",
        "local_gradient_noise",
        "objective_smoothness",
        "objective_gap",
    ),
    Inequalities(GRADIENTS, {**with_fourth_moments(GRADIENTS), **AT_MINIMISER}),
    sampled(_gradients, parts=_check_gradients),
)


def _gradients_and_hessians(problem: Problem, seed: int) -> dict[str, tuple[Tensor, Oracle]]:
    """local_gradient and local_hvp as functions of (point, sample), with a point to try them at."""
    x = random_points(problem, RUNS, problem.dim, seed)
    return {"local_gradient": (x, problem.local_gradient), "local_hvp": along(problem, "local_hvp", problem.dim, seed)}


def _check_fine_tuning(problem: Problem, seed: int) -> Iterator[str]:
    """Derivatives against autograd, sampled and exact; the objective by its nu steps."""
    x = random_points(problem, RUNS, problem.dim, seed).requires_grad_()
    v = random_points(problem, RUNS, problem.dim, seed + 1)
    yield from check_slope("local_gradient", problem.local_gradient(x), "local_value", problem.local_value(x), x)
    yield from check_product(problem, "local_hvp", "local_gradient", x, v)
    point = x.detach()[:, 0]
    w = problem.to_clients(point)
    for _ in range(problem.nu):
        w = w - problem.alpha * problem.local_gradient(w)
    if disagree(problem.objective(point), client_mean(problem.local_value(w)), AUTOGRAD):
        yield "objective differs from mean_i f_i(w_nu^i)"


_ROLES = GRADIENTS | HESSIANS
META = Kind(
    (
        "local_gradient_bound",
        "local_smoothness",
        "local_hessian_lipschitz",
        "local_gradient_noise",
        "local_hessian_noise",
        "local_gradient_fourth_moment",
        "local_hessian_fourth_moment",
        "local_gradient_heterogeneity",
        "local_hessian_heterogeneity",
        "objective_gap",
        "gradient_cap",
    ),
    Inequalities(_ROLES, with_fourth_moments(_ROLES)),
    sampled(_gradients_and_hessians, parts=_check_fine_tuning),
)
