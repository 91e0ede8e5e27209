"""The two composite kinds: the functions that certificates bound, the certificates that each must have, and checks of its oracles."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ..kinds import Sample, client_mean
from .inequalities import Inequalities, Problem, Role, along_axes
from .kind import Kind, sampled
from .local_losses import GRADIENTS, HESSIANS, with_fourth_moments
from .oracle_checks import AUTOGRAD, RUNS, Oracle, along, check_product, check_slope, disagree, random_points


def _jacobian(problem: Problem, x: Tensor, sample: Sample | None) -> Tensor:
    """Of g_k, `(lanes, clients, inner_dim, dim)`, row by row from the oracle."""
    return torch.stack(along_axes(problem.inner_vjp, problem.inner_dim, x, sample), dim=-2)


def _extra_gradient(problem: Problem, x: Tensor, sample: Sample | None) -> Tensor:
    gradient = problem.extra_gradient(x, sample)
    return 0.0 * x if gradient is None else gradient


COMPOSITE = {
    "inner_value": Role(lambda problem, x, atom: problem.inner(x, atom)),
    "inner_jacobian": Role(_jacobian, is_matrix=True),
    "outer_gradient": Role(lambda problem, y, atom: problem.outer_gradient(y, atom), space="y"),
}
SHARED = COMPOSITE | {"extra_gradient": Role(_extra_gradient)}


def composite_oracles(problem: Problem, seed: int) -> dict[str, tuple[Tensor, Oracle]]:
    """Each stochastic oracle by name, as a function of (point, sample), with a point to try it at."""
    x, y = (random_points(problem, RUNS, size, seed + i) for i, size in enumerate((problem.dim, problem.inner_dim)))
    oracles: dict[str, tuple[Tensor, Oracle]] = {
        "inner": (x, problem.inner),
        "inner_vjp": along(problem, "inner_vjp", problem.inner_dim, seed),
        "outer_gradient": (y, problem.outer_gradient),
    }
    if problem.kind == "shared_composite" and problem.extra_gradient(x) is not None:
        oracles["extra_gradient"] = (x, problem.extra_gradient)
    return oracles


def check_parts(problem: Problem, seed: int) -> Iterator[str]:
    """Derivatives of the parts against autograd, sampled and exact; the objective from its parts."""
    x = random_points(problem, RUNS, problem.dim, seed).requires_grad_()
    y = random_points(problem, RUNS, problem.inner_dim, seed + 1).requires_grad_()
    v = random_points(problem, RUNS, problem.inner_dim, seed + 2)
    yield from check_product(problem, "inner_vjp", "inner", x, v)
    yield from check_slope("outer_gradient", problem.outer_gradient(y), "outer", problem.outer(y), y)
    yield from _check_shared(problem, x) if problem.kind == "shared_composite" else _check_local(problem, x)


def _check_shared(problem: Problem, x: Tensor) -> Iterator[str]:
    gradient = problem.extra_gradient(x)
    if gradient is not None:
        yield from check_slope("extra_gradient", gradient, "extra", problem.extra(x), x)
    point = x.detach()[:, 0]
    spread = problem.to_clients(point)
    mean = client_mean(problem.inner(spread))
    if disagree(problem.inner_mean(point), mean, AUTOGRAD):
        yield "inner_mean differs from the mean of inner over the clients"
    outer = problem.outer(problem.to_clients(mean))[:, 0]
    if disagree(problem.objective(point), client_mean(problem.extra(spread)) + outer, AUTOGRAD):
        yield "objective differs from mean_k h_k(x) + f(mean_k g_k(x))"


def _check_local(problem: Problem, x: Tensor) -> Iterator[str]:
    point = x.detach()[:, 0]
    spread = problem.to_clients(point)
    if disagree(problem.objective(point), client_mean(problem.outer(problem.inner(spread))), AUTOGRAD):
        yield "objective differs from mean_k f_k(g_k(x))"


composite_checks = sampled(composite_oracles, parts=check_parts)


LOCAL_COMPOSITE = Kind(
    (
        "outer_mean_square_lipschitz",
        "outer_smoothness",
        "outer_gradient_noise",
        "outer_sample_lipschitz",
        "outer_sample_smoothness",
        "inner_jacobian_mean_square",
        "inner_smoothness",
        "inner_jacobian_noise",
        "inner_value_noise",
        "inner_sample_lipschitz",
        "inner_sample_smoothness",
        "composite_noise",
        "objective_smoothness",
        "objective_gap",
        "gradient_cap",
    ),
    Inequalities(COMPOSITE | GRADIENTS | HESSIANS, with_fourth_moments(GRADIENTS | HESSIANS)),
    composite_checks,
)


SHARED_COMPOSITE = Kind(
    (
        "noncompositional_smoothness",
        "noncompositional_gradient_noise",
        "noncompositional_heterogeneity",
        "outer_lipschitz",
        "outer_smoothness",
        "inner_mean_square_lipschitz",
        "inner_smoothness",
        "inner_noise",
        "inner_jacobian_heterogeneity",
        "objective_gap",
        "gradient_cap",
    ),
    Inequalities(SHARED),
    composite_checks,
)
