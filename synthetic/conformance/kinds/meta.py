"""The meta kind: the certificates that it must have, what they claim, and the checks of its oracles."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ...kinds import client_mean
from ..inequalities import Inequalities, Problem, atom_list
from ..kind import Kind, sampled
from ..local_losses import GRADIENTS, HESSIANS, with_fourth_moments
from ..oracle_checks import AUTOGRAD, RUNS, Oracle, along, disagree, random_points


def loss_oracles(problem: Problem, seed: int) -> dict[str, tuple[Tensor, Oracle]]:
    """local_gradient and local_hvp as functions of (point, sample), with a point to try them at."""
    x = random_points(problem, RUNS, problem.dim, seed)
    return {"local_gradient": (x, problem.local_gradient), "local_hvp": along(problem, "local_hvp", problem.dim, seed)}


def _check_parts(problem: Problem, seed: int) -> Iterator[str]:
    """Derivatives against autograd, sampled and exact; the objective by its nu steps."""
    x = random_points(problem, RUNS, problem.dim, seed).requires_grad_()
    v = random_points(problem, RUNS, problem.dim, seed + 1)
    (expected,) = torch.autograd.grad(problem.local_value(x).sum(), x)
    if disagree(problem.local_gradient(x).detach(), expected, AUTOGRAD):
        yield "local_gradient differs from autograd of local_value"
    for sample in (None, *(atom for atom, _ in atom_list(problem))):
        (expected,) = torch.autograd.grad((problem.local_gradient(x, sample) * v).sum(), x)
        if disagree(problem.local_hvp(x, v, sample).detach(), expected, AUTOGRAD):
            yield f"local_hvp differs from autograd of local_gradient (sample {sample is not None})"
            break
    point = x.detach()[:, 0]
    w = problem.to_clients(point)
    for _ in range(problem.nu):
        w = w - problem.alpha * problem.local_gradient(w)
    if disagree(problem.objective(point), client_mean(problem.local_value(w)), AUTOGRAD):
        yield "objective differs from mean_i f_i(w_nu^i)"


_ROLES = GRADIENTS | HESSIANS
KIND = Kind(
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
    sampled(loss_oracles, parts=_check_parts),
)
