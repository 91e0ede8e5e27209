"""What the certificates of the two composite kinds claim."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from ..kinds import Sample
from .inequalities import (
    WHOLE,
    Inequality,
    Problem,
    difference_quotient,
    frobenius,
    jacobian,
    largest,
    largest_quotient,
    mean_square,
    mean_square_quotient,
    norm,
    spectral_norm,
)


def _inner_lipschitz(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return difference_quotient(problem.inner, norm, problem.to_clients(a), problem.to_clients(b))


def _inner_mean_square_lipschitz(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return mean_square_quotient(problem, problem.inner, norm, a, b)


def _inner_jacobian_mean_square(problem: Problem, x: Tensor) -> Tensor:
    return mean_square(problem, lambda x, atom: spectral_norm(jacobian(problem, x, atom)), problem.to_clients(x))


def _inner_smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return difference_quotient(
        lambda x: jacobian(problem, x), spectral_norm, problem.to_clients(a), problem.to_clients(b)
    )


def _inner_value_noise(problem: Problem, x: Tensor) -> Tensor:
    x = problem.to_clients(x)
    exact = problem.inner(x)
    return mean_square(problem, lambda x, exact, atom: norm(problem.inner(x, atom) - exact), x, exact)


def _inner_jacobian_noise(problem: Problem, x: Tensor) -> Tensor:
    x = problem.to_clients(x)
    exact = jacobian(problem, x)
    return mean_square(problem, lambda x, exact, atom: frobenius(jacobian(problem, x, atom) - exact), x, exact)


def _inner_noise(problem: Problem, x: Tensor) -> Tensor:
    return torch.maximum(_inner_value_noise(problem, x), _inner_jacobian_noise(problem, x))


def _inner_jacobian_heterogeneity(problem: Problem, x: Tensor) -> Tensor:
    own = jacobian(problem, problem.to_clients(x))
    return frobenius(own - own.mean(1, keepdim=True))


def _inner_sample_lipschitz(problem: Problem, x: Tensor) -> Tensor:
    return largest(problem, lambda x, atom: spectral_norm(jacobian(problem, x, atom)), problem.to_clients(x))


def _inner_sample_smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return largest_quotient(problem, partial(jacobian, problem), spectral_norm, a, b)


def _outer_lipschitz(problem: Problem, y: Tensor) -> Tensor:
    return norm(problem.outer_gradient(problem.to_clients(y)))


def _outer_smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return difference_quotient(problem.outer_gradient, norm, problem.to_clients(a), problem.to_clients(b))


def _outer_mean_square_lipschitz(problem: Problem, y: Tensor) -> Tensor:
    return mean_square(problem, lambda y, atom: norm(problem.outer_gradient(y, atom)), problem.to_clients(y))


def _outer_gradient_noise(problem: Problem, y: Tensor) -> Tensor:
    y = problem.to_clients(y)
    exact = problem.outer_gradient(y)
    return mean_square(problem, lambda y, exact, atom: norm(problem.outer_gradient(y, atom) - exact), y, exact)


def _outer_sample_lipschitz(problem: Problem, y: Tensor) -> Tensor:
    return largest(problem, lambda y, atom: norm(problem.outer_gradient(y, atom)), problem.to_clients(y))


def _outer_sample_smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return largest_quotient(problem, problem.outer_gradient, norm, a, b)


def _composite_noise(problem: Problem, x: Tensor) -> Tensor:
    """The outer noise is taken at y = g_k(x), which loses nothing because g_k is onto."""
    y = problem.inner(problem.to_clients(x))
    exact = problem.outer_gradient(y)
    outer = mean_square(problem, lambda y, exact, atom: norm(problem.outer_gradient(y, atom) - exact), y, exact)
    return torch.maximum(outer, _inner_noise(problem, x))


COMPOSITE: dict[str, Inequality] = WHOLE | {
    "composite_noise": Inequality("x", False, _composite_noise),
    "inner_lipschitz": Inequality("x", True, _inner_lipschitz),
    "inner_mean_square_lipschitz": Inequality("x", True, _inner_mean_square_lipschitz),
    "inner_jacobian_mean_square": Inequality("x", False, _inner_jacobian_mean_square),
    "inner_smoothness": Inequality("x", True, _inner_smoothness),
    "inner_noise": Inequality("x", False, _inner_noise),
    "inner_value_noise": Inequality("x", False, _inner_value_noise),
    "inner_jacobian_noise": Inequality("x", False, _inner_jacobian_noise),
    "inner_jacobian_heterogeneity": Inequality("x", False, _inner_jacobian_heterogeneity),
    "inner_sample_lipschitz": Inequality("x", False, _inner_sample_lipschitz),
    "inner_sample_smoothness": Inequality("x", True, _inner_sample_smoothness),
    "outer_lipschitz": Inequality("y", False, _outer_lipschitz),
    "outer_smoothness": Inequality("y", True, _outer_smoothness),
    "outer_mean_square_lipschitz": Inequality("y", False, _outer_mean_square_lipschitz),
    "outer_gradient_noise": Inequality("y", False, _outer_gradient_noise),
    "outer_sample_lipschitz": Inequality("y", False, _outer_sample_lipschitz),
    "outer_sample_smoothness": Inequality("y", True, _outer_sample_smoothness),
}


def _extra_smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return difference_quotient(
        lambda x: _extra_gradient(problem, x), norm, problem.to_clients(a), problem.to_clients(b)
    )


def _extra_sample_smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return largest_quotient(problem, partial(_extra_gradient, problem), norm, a, b)


def _extra_noise(problem: Problem, x: Tensor) -> Tensor:
    x = problem.to_clients(x)
    exact = _extra_gradient(problem, x)
    return mean_square(problem, lambda x, exact, atom: norm(_extra_gradient(problem, x, atom) - exact), x, exact)


def _extra_heterogeneity(problem: Problem, x: Tensor) -> Tensor:
    own = _extra_gradient(problem, problem.to_clients(x))
    return norm(own - own.mean(1, keepdim=True))


def _extra_gradient(problem: Problem, x: Tensor, atom: Sample | None = None) -> Tensor:
    gradient = problem.extra_gradient(x, atom)
    return 0.0 * x if gradient is None else gradient


SHARED: dict[str, Inequality] = COMPOSITE | {
    "noncompositional_smoothness": Inequality("x", True, _extra_smoothness),
    "noncompositional_sample_smoothness": Inequality("x", True, _extra_sample_smoothness),
    "noncompositional_gradient_noise": Inequality("x", False, _extra_noise),
    "noncompositional_heterogeneity": Inequality("x", False, _extra_heterogeneity),
}
