"""What the certificates of the local losses f_i claim: of the meta and federated kinds, and of MAML as a local composite."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from ..kinds import Sample
from .inequalities import (
    WHOLE,
    Inequality,
    Problem,
    along_axes,
    difference_quotient,
    frobenius,
    largest,
    largest_quotient,
    mean_square,
    norm,
    spectral_norm,
)


def hessian(problem: Problem, x: Tensor, sample: Sample | None = None) -> Tensor:
    """Hessian of f_i, `(lanes, clients, dim, dim)`, column by column from the oracle."""
    return torch.stack(along_axes(problem.local_hvp, problem.dim, x, sample), dim=-1)


def _gradient_bound(problem: Problem, x: Tensor) -> Tensor:
    return norm(problem.local_gradient(problem.to_clients(x)))


def _smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return difference_quotient(problem.local_gradient, norm, problem.to_clients(a), problem.to_clients(b))


def _hessian_lipschitz(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return difference_quotient(
        lambda x: hessian(problem, x), spectral_norm, problem.to_clients(a), problem.to_clients(b)
    )


def _sample_gradient_bound(problem: Problem, x: Tensor) -> Tensor:
    return largest(problem, lambda x, atom: norm(problem.local_gradient(x, atom)), problem.to_clients(x))


def _sample_smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return largest_quotient(problem, problem.local_gradient, norm, a, b)


def _sample_hessian_lipschitz(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return largest_quotient(problem, partial(hessian, problem), spectral_norm, a, b)


def _gradient_noise(problem: Problem, x: Tensor) -> Tensor:
    x = problem.to_clients(x)
    exact = problem.local_gradient(x)
    return mean_square(problem, lambda x, exact, atom: norm(problem.local_gradient(x, atom) - exact), x, exact)


def _hessian_noise(problem: Problem, x: Tensor) -> Tensor:
    x = problem.to_clients(x)
    exact = hessian(problem, x)
    return mean_square(problem, lambda x, exact, atom: frobenius(hessian(problem, x, atom) - exact), x, exact)


def _gradient_fourth_moment(problem: Problem, x: Tensor) -> Tensor:
    x = problem.to_clients(x)
    exact = problem.local_gradient(x)
    return (
        mean_square(problem, lambda x, exact, atom: norm(problem.local_gradient(x, atom) - exact) ** 2, x, exact) ** 2
    )


def _hessian_fourth_moment(problem: Problem, x: Tensor) -> Tensor:
    x = problem.to_clients(x)
    exact = hessian(problem, x)
    return mean_square(problem, lambda x, exact, atom: frobenius(hessian(problem, x, atom) - exact) ** 2, x, exact) ** 2


def _gradient_heterogeneity(problem: Problem, x: Tensor) -> Tensor:
    own = problem.local_gradient(problem.to_clients(x))
    return (norm(own - own.mean(1, keepdim=True)) ** 2).mean(-1, keepdim=True).sqrt()


def _hessian_heterogeneity(problem: Problem, x: Tensor) -> Tensor:
    own = hessian(problem, problem.to_clients(x))
    return (frobenius(own - own.mean(1, keepdim=True)) ** 2).mean(-1, keepdim=True).sqrt()


LOCAL_LOSS: dict[str, Inequality] = {
    "local_gradient_bound": Inequality("x", False, _gradient_bound),
    "local_smoothness": Inequality("x", True, _smoothness),
    "local_hessian_lipschitz": Inequality("x", True, _hessian_lipschitz),
    "local_sample_gradient_bound": Inequality("x", False, _sample_gradient_bound),
    "local_sample_smoothness": Inequality("x", True, _sample_smoothness),
    "local_sample_hessian_lipschitz": Inequality("x", True, _sample_hessian_lipschitz),
    "local_gradient_noise": Inequality("x", False, _gradient_noise),
    "local_hessian_noise": Inequality("x", False, _hessian_noise),
    "local_gradient_fourth_moment": Inequality("x", False, _gradient_fourth_moment),
    "local_hessian_fourth_moment": Inequality("x", False, _hessian_fourth_moment),
    "local_gradient_heterogeneity": Inequality("x", False, _gradient_heterogeneity),
    "local_hessian_heterogeneity": Inequality("x", False, _hessian_heterogeneity),
}

META: dict[str, Inequality] = WHOLE | LOCAL_LOSS
FEDERATED: dict[str, Inequality] = WHOLE | {name: of for name, of in LOCAL_LOSS.items() if "hessian" not in name}
