"""Certificates of the whole objective that rest on its value or gradient at the start."""

from __future__ import annotations

import torch

from ..certificate import Certificate, as_point, upper
from ..kinds import AbstractProblem

_ROUNDING = 1e-12


def cap_certificate(problem: AbstractProblem, cap: float, argument: str) -> Certificate:
    """`cap` as an upper bound of ||grad F||; the start witnesses how much of it is attained there."""
    start = problem.initial_point
    attained = float(torch.linalg.vector_norm(problem.gradient(start.unsqueeze(0)))) / cap
    return Certificate(
        "gradient_cap",
        cap,
        "upper",
        argument,
        witness=min(1.0, attained) * (1 - _ROUNDING),
        points=(as_point(start),),
    )


def gap_above(problem: AbstractProblem, infimum: float, argument: str) -> Certificate:
    """F(start) - `infimum`, where the argument says why F is never below `infimum`."""
    start = problem.objective(problem.initial_point.unsqueeze(0)).item()
    return upper("objective_gap", start - infimum, argument)
