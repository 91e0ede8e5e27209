"""What the certificates of the conditional kind claim: for every outcome of the outer sample, over the inner one."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..kinds import AbstractConditional, InnerSample
from .inequalities import WHOLE, Inequality, Problem, along_axes, difference_quotient, norm, spectral_norm


def jacobian(problem: AbstractConditional, x: Tensor, inner: InnerSample | None) -> Tensor:
    """Jacobian of g_eta(., xi) for every outcome xi, `(lanes, clients, outcomes, inner_dim, dim)`."""
    outer, weights = problem.outer_atoms()
    rows = along_axes(problem.inner_vjp, problem.inner_dim, x, outer, inner, axes=(len(weights),))
    return torch.stack(rows, dim=-2)


def _per_inner_atom(problem: AbstractConditional, of: Callable[[InnerSample], Tensor]) -> list[tuple[Tensor, float]]:
    inner, weights = problem.inner_atoms(problem.outer_atoms()[0])
    return [(of(inner.only(i)), weight) for i, weight in enumerate(weights.tolist())]


def _mean_square(problem: AbstractConditional, of: Callable[[InnerSample], Tensor]) -> Tensor:
    """Root of E_{eta|xi} of the square, largest over xi: `(lanes, clients)`."""
    terms = [weight * value**2 for value, weight in _per_inner_atom(problem, of)]
    return torch.stack(terms).sum(0).sqrt().amax(-1)


def _largest(problem: AbstractConditional, of: Callable[[InnerSample], Tensor]) -> Tensor:
    return torch.stack([value for value, _ in _per_inner_atom(problem, of)]).amax(0).amax(-1)


def _inner_jacobian_mean_square(problem: Problem, x: Tensor) -> Tensor:
    x = problem.to_clients(x)
    return _mean_square(problem, lambda eta: spectral_norm(jacobian(problem, x, eta)))


def _inner_sample_lipschitz(problem: Problem, x: Tensor) -> Tensor:
    x = problem.to_clients(x)
    return _largest(problem, lambda eta: spectral_norm(jacobian(problem, x, eta)))


def _inner_sample_smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    a, b = problem.to_clients(a), problem.to_clients(b)
    distance = norm(a - b).unsqueeze(-1)

    def ratio(eta: InnerSample) -> Tensor:
        return spectral_norm(jacobian(problem, a, eta) - jacobian(problem, b, eta)) / distance

    return _largest(problem, ratio)


def _inner_value_noise(problem: Problem, x: Tensor) -> Tensor:
    x = problem.to_clients(x)
    outer, _ = problem.outer_atoms()
    exact = problem.inner(x, outer)
    return _mean_square(problem, lambda eta: norm(problem.inner(x, outer, eta) - exact))


def _at_every_outcome(problem: AbstractConditional, y: Tensor) -> Tensor:
    """The same points for all clients and outcomes; points of each, `(lanes, clients, outcomes, inner_dim)`, as they are."""
    if y.dim() > 2:
        return y
    return problem.to_clients(y).unsqueeze(2).expand(-1, -1, len(problem.outer_atoms()[1]), -1)


def _outer_sample_lipschitz(problem: Problem, y: Tensor) -> Tensor:
    return norm(problem.outer_gradient(_at_every_outcome(problem, y), problem.outer_atoms()[0])).amax(-1)


def _outer_mean_square_lipschitz(problem: Problem, y: Tensor) -> Tensor:
    outer, weights = problem.outer_atoms()
    squared = norm(problem.outer_gradient(_at_every_outcome(problem, y), outer)) ** 2
    return (weights * squared).sum(-1).sqrt()


def _outer_sample_smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    outer, _ = problem.outer_atoms()
    a, b = _at_every_outcome(problem, a), _at_every_outcome(problem, b)
    return difference_quotient(lambda y: problem.outer_gradient(y, outer), norm, a, b).amax(-1)


CONDITIONAL: dict[str, Inequality] = WHOLE | {
    "inner_jacobian_mean_square": Inequality("x", False, _inner_jacobian_mean_square),
    "inner_sample_lipschitz": Inequality("x", False, _inner_sample_lipschitz),
    "inner_sample_smoothness": Inequality("x", True, _inner_sample_smoothness),
    "inner_value_noise": Inequality("x", False, _inner_value_noise),
    "outer_mean_square_lipschitz": Inequality("y", False, _outer_mean_square_lipschitz),
    "outer_sample_lipschitz": Inequality("y", False, _outer_sample_lipschitz),
    "outer_sample_smoothness": Inequality("y", True, _outer_sample_smoothness),
}
