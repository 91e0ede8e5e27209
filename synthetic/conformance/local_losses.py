"""The clients' losses f_i as functions that certificates bound: of the meta and federated kinds, and of MAML as a local composite."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from ...bounds.language.bounding import AVERAGE, unlike
from ..kinds import Sample
from .inequalities import WHOLE, Inequality, Problem, Role, along_axes, each_atom, mean_square, norm, spectral_norm


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
