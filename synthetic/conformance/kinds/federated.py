"""The plain federated kind: the certificates that it must have, what they claim, and the checks of its oracles."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch
from torch import Tensor

from ....bounds.language import bounding
from ....bounds.language.bounding import Form
from ...kinds import client_mean
from ..inequalities import Inequalities, Inequality, Problem, at_minimiser, norm
from ..kind import Kind, sampled
from ..local_losses import GRADIENTS, with_fourth_moments
from ..oracle_checks import AUTOGRAD, RUNS, Oracle, disagree, random_points


def _oracles(problem: Problem, seed: int) -> dict[str, tuple[Tensor, Oracle]]:
    return {"local_gradient": (random_points(problem, RUNS, problem.dim, seed), problem.local_gradient)}


def _check_parts(problem: Problem, seed: int) -> Iterator[str]:
    """The clients' gradients against autograd; objective and gradient as means over the clients."""
    x = random_points(problem, RUNS, problem.dim, seed).requires_grad_()
    (expected,) = torch.autograd.grad(problem.local_value(x).sum(), x)
    if disagree(problem.local_gradient(x).detach(), expected, AUTOGRAD):
        yield "local_gradient differs from autograd of local_value"
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

KIND = Kind(
    (
        "local_smoothness",
        "local_sample_smoothness",
        "local_gradient_noise",
        "objective_smoothness",
        "objective_gap",
    ),
    Inequalities(GRADIENTS, {**with_fourth_moments(GRADIENTS), **AT_MINIMISER}),
    sampled(_oracles, parts=_check_parts),
)
