"""Statistics that the lemmas of several papers share; each maps a step to one number per run, `(runs,)`."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from ...algorithms.engine.method import client_mean
from .trace import Step


def per_run(number: Any, like: Tensor) -> Any:
    """A hyperparameter as it multiplies a tensor `(runs, ...)`: a number, or one per run laid out along the first axis."""
    return number.view(-1, *[1] * (like.dim() - 1)) if isinstance(number, Tensor) else number


def directions(step: Step, step_size: Any) -> Tensor:
    """What each client's local step subtracts, over the step size, `(runs, clients, dim)`."""
    moved = step.before.x - step.stepped.x
    used: Tensor = moved / per_run(step_size, moved)
    return used


def mean_square(v: Tensor, active: Tensor | None = None) -> Tensor:
    """Squared norm of the mean over the (active) clients of v `(runs, clients, n)`."""
    return client_mean(v, active).square().sum(-1)


def square_mean(v: Tensor, active: Tensor | None = None) -> Tensor:
    """Mean over the (active) clients of the squared norm of v `(runs, clients, n)`."""
    return client_mean(v.square().sum(-1, keepdim=True), active).squeeze(-1)


def dispersion(v: Tensor, active: Tensor | None = None) -> Tensor:
    """Mean over the (active) clients of the squared distance to their mean."""
    return square_mean(v - client_mean(v, active).unsqueeze(1), active)


def objective(step: Step) -> Tensor:
    """F(xbar_t), in [f]."""
    return step.problem.objective(step.before.average)


def gradient_sq(step: Step) -> Tensor:
    """||grad F(xbar_t)||^2."""
    return step.problem.gradient(step.before.average).square().sum(-1)


def consensus(step: Step) -> Tensor:
    """(1/K) sum_k ||x_t^k - xbar_t||^2."""
    return dispersion(step.before.x, step.before.active)


def client_gradient(problem: Any, x: Tensor) -> Tensor:
    """grad F_k(x_k) of a local composition, exact, `(runs, clients, dim)`."""
    return problem.inner_vjp(x, problem.outer_gradient(problem.inner(x)))
