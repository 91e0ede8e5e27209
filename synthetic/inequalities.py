"""What each certificate of a composite problem claims, as a ratio that must not exceed it.

A ratio takes points `(lanes, size)` and returns `(lanes, clients)` or `(lanes, 1)`: the same points go to every client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .problem import AbstractComposite, AbstractProblem, Sample

Problem = Any  # a ratio is only ever called with a problem of its own kind


@dataclass(frozen=True)
class Inequality:
    """`ratio(problem, *points) <= certified value`, for one point or a pair, of the space of x or of y."""

    space: str
    pair: bool
    ratio: Callable[..., Tensor]

    def size(self, problem: AbstractProblem) -> int:
        """Length of a point."""
        return problem.dim if self.space == "x" else problem.inner_dim


def _norm(vector: Tensor) -> Tensor:
    return torch.linalg.vector_norm(vector, dim=-1)


def to_clients(problem: AbstractProblem, x: Tensor) -> Tensor:
    """The same point for every client, `(lanes, size) -> (lanes, clients, size)`."""
    return x.unsqueeze(1).expand(-1, problem.clients, -1)


def atom_list(problem: AbstractProblem) -> Iterator[tuple[Sample, float]]:
    """Every atom as a batch of one, with its probability."""
    sample, weights = problem.atoms()
    for index, weight in enumerate(weights.tolist()):
        yield sample.at(index), weight


def jacobian(problem: AbstractComposite, x: Tensor, sample: Sample | None = None) -> Tensor:
    """Jacobian of g_k, `(lanes, clients, inner_dim, dim)`, row by row from the oracle."""
    rows = torch.eye(problem.inner_dim, dtype=x.dtype, device=x.device)
    shape = (*x.shape[:-1], problem.inner_dim)
    return torch.stack([problem.inner_vjp(x, row.expand(shape), sample) for row in rows], dim=-2)


def spectral_norm(matrix: Tensor) -> Tensor:
    """Largest singular value of the last two axes, through the Gram matrix of the rows (few rows, many columns)."""
    if matrix.shape[-2] == 1:
        return _norm(matrix.squeeze(-2))
    gram = (matrix.unsqueeze(-2) * matrix.unsqueeze(-3)).sum(-1)
    return torch.linalg.eigvalsh(gram)[..., -1].clamp_min(0.0).sqrt()


def _frobenius(matrix: Tensor) -> Tensor:
    return _norm(matrix.flatten(-2))


def _mean_square(problem: Problem, of_atom: Callable[[Sample], Tensor]) -> Tensor:
    terms = [weight * of_atom(atom) ** 2 for atom, weight in atom_list(problem)]
    return torch.stack(terms).sum(0).sqrt()


def _largest(problem: Problem, of_atom: Callable[[Sample], Tensor]) -> Tensor:
    return torch.stack([of_atom(atom) for atom, _ in atom_list(problem)]).amax(0)


def _slope(map_: Callable[[Tensor], Tensor], norm: Callable[[Tensor], Tensor], a: Tensor, b: Tensor) -> Tensor:
    return norm(map_(a) - map_(b)) / _norm(a - b)


def _objective_gap(problem: Problem, x: Tensor) -> Tensor:
    start = problem.initial_point.unsqueeze(0)
    return (problem.objective(start) - problem.objective(x)).unsqueeze(-1)


def _gradient_cap(problem: Problem, x: Tensor) -> Tensor:
    return _norm(problem.gradient(x)).unsqueeze(-1)


def _objective_smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return _slope(problem.gradient, _norm, a, b).unsqueeze(-1)


WHOLE: dict[str, Inequality] = {
    "objective_gap": Inequality("x", False, _objective_gap),
    "gradient_cap": Inequality("x", False, _gradient_cap),
    "objective_smoothness": Inequality("x", True, _objective_smoothness),
}


def _inner_lipschitz(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return _slope(problem.inner, _norm, to_clients(problem, a), to_clients(problem, b))


def _inner_mean_square_lipschitz(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    a, b = to_clients(problem, a), to_clients(problem, b)
    return _mean_square(problem, lambda atom: _slope(lambda x: problem.inner(x, atom), _norm, a, b))


def _inner_jacobian_mean_square(problem: Problem, x: Tensor) -> Tensor:
    return _mean_square(problem, lambda atom: spectral_norm(jacobian(problem, to_clients(problem, x), atom)))


def _inner_smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return _slope(lambda x: jacobian(problem, x), spectral_norm, to_clients(problem, a), to_clients(problem, b))


def _inner_value_noise(problem: Problem, x: Tensor) -> Tensor:
    x = to_clients(problem, x)
    exact = problem.inner(x)
    return _mean_square(problem, lambda atom: _norm(problem.inner(x, atom) - exact))


def _inner_jacobian_noise(problem: Problem, x: Tensor) -> Tensor:
    x = to_clients(problem, x)
    exact = jacobian(problem, x)
    return _mean_square(problem, lambda atom: _frobenius(jacobian(problem, x, atom) - exact))


def _inner_noise(problem: Problem, x: Tensor) -> Tensor:
    return torch.maximum(_inner_value_noise(problem, x), _inner_jacobian_noise(problem, x))


def _inner_jacobian_heterogeneity(problem: Problem, x: Tensor) -> Tensor:
    own = jacobian(problem, to_clients(problem, x))
    return _frobenius(own - own.mean(1, keepdim=True))


def _inner_sample_lipschitz(problem: Problem, x: Tensor) -> Tensor:
    return _largest(problem, lambda atom: spectral_norm(jacobian(problem, to_clients(problem, x), atom)))


def _inner_sample_smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    a, b = to_clients(problem, a), to_clients(problem, b)
    return _largest(problem, lambda atom: _slope(lambda x: jacobian(problem, x, atom), spectral_norm, a, b))


def _outer_lipschitz(problem: Problem, y: Tensor) -> Tensor:
    return _norm(problem.outer_gradient(to_clients(problem, y)))


def _outer_smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return _slope(problem.outer_gradient, _norm, to_clients(problem, a), to_clients(problem, b))


def _outer_mean_square_lipschitz(problem: Problem, y: Tensor) -> Tensor:
    y = to_clients(problem, y)
    return _mean_square(problem, lambda atom: _norm(problem.outer_gradient(y, atom)))


def _outer_gradient_noise(problem: Problem, y: Tensor) -> Tensor:
    y = to_clients(problem, y)
    exact = problem.outer_gradient(y)
    return _mean_square(problem, lambda atom: _norm(problem.outer_gradient(y, atom) - exact))


def _outer_sample_lipschitz(problem: Problem, y: Tensor) -> Tensor:
    return _largest(problem, lambda atom: _norm(problem.outer_gradient(to_clients(problem, y), atom)))


def _outer_sample_smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    a, b = to_clients(problem, a), to_clients(problem, b)
    return _largest(problem, lambda atom: _slope(lambda y: problem.outer_gradient(y, atom), _norm, a, b))


_COMPOSITE: dict[str, Inequality] = WHOLE | {
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
    return _slope(lambda x: _extra_gradient(problem, x), _norm, to_clients(problem, a), to_clients(problem, b))


def _extra_noise(problem: Problem, x: Tensor) -> Tensor:
    x = to_clients(problem, x)
    exact = _extra_gradient(problem, x)
    return _mean_square(problem, lambda atom: _norm(_extra_gradient(problem, x, atom) - exact))


def _extra_heterogeneity(problem: Problem, x: Tensor) -> Tensor:
    own = _extra_gradient(problem, to_clients(problem, x))
    return _norm(own - own.mean(1, keepdim=True))


def _extra_gradient(problem: Problem, x: Tensor, atom: Sample | None = None) -> Tensor:
    gradient = problem.extra_gradient(x, atom)
    return 0.0 * x if gradient is None else gradient


INEQUALITIES: dict[str, dict[str, Inequality]] = {
    "local_composite": _COMPOSITE,
    "shared_composite": _COMPOSITE | {
        "noncompositional_smoothness": Inequality("x", True, _extra_smoothness),
        "noncompositional_gradient_noise": Inequality("x", False, _extra_noise),
        "noncompositional_heterogeneity": Inequality("x", False, _extra_heterogeneity),
    },
}
