"""What a certificate claims, as a ratio that must not exceed it; here the ones that every kind of problem has.

A ratio takes points `(lanes, size)` and returns `(lanes, clients)` or `(lanes, 1)`: the same points go to every client.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..kinds import AbstractComposite, AbstractProblem, AbstractSampled, Sample

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


def norm(vector: Tensor) -> Tensor:
    """Euclidean norm along the last axis."""
    return torch.linalg.vector_norm(vector, dim=-1)


def atom_list(problem: AbstractSampled) -> Iterator[tuple[Sample, float]]:
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
        return norm(matrix.squeeze(-2))
    gram = (matrix.unsqueeze(-2) * matrix.unsqueeze(-3)).sum(-1)
    return torch.linalg.eigvalsh(gram)[..., -1].clamp_min(0.0).sqrt()


def frobenius(matrix: Tensor) -> Tensor:
    """Frobenius norm of the last two axes."""
    return norm(matrix.flatten(-2))


def mean_square(problem: Problem, of_atom: Callable[[Sample], Tensor]) -> Tensor:
    """Root of the exact expectation of the square over the finite support."""
    terms = [weight * of_atom(atom) ** 2 for atom, weight in atom_list(problem)]
    return torch.stack(terms).sum(0).sqrt()


def largest(problem: Problem, of_atom: Callable[[Sample], Tensor]) -> Tensor:
    """The largest over the finite support."""
    return torch.stack([of_atom(atom) for atom, _ in atom_list(problem)]).amax(0)


def difference_quotient(
    map_: Callable[[Tensor], Tensor], size: Callable[[Tensor], Tensor], a: Tensor, b: Tensor
) -> Tensor:
    """size(map(a) - map(b)) / |a - b|."""
    return size(map_(a) - map_(b)) / norm(a - b)


def _objective_gap(problem: Problem, x: Tensor) -> Tensor:
    start = problem.initial_point.unsqueeze(0)
    return (problem.objective(start) - problem.objective(x)).unsqueeze(-1)


def _gradient_cap(problem: Problem, x: Tensor) -> Tensor:
    return norm(problem.gradient(x)).unsqueeze(-1)


def _objective_smoothness(problem: Problem, a: Tensor, b: Tensor) -> Tensor:
    return difference_quotient(problem.gradient, norm, a, b).unsqueeze(-1)


WHOLE: dict[str, Inequality] = {
    "objective_gap": Inequality("x", False, _objective_gap),
    "gradient_cap": Inequality("x", False, _gradient_cap),
    "objective_smoothness": Inequality("x", True, _objective_smoothness),
}
