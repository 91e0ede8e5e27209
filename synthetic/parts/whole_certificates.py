"""Certificates that rest on the value of the objective at the start, or on gradients there."""

from __future__ import annotations

import torch

from ..certificate import ROUNDING, Certificate, as_point, attained, difference_above, exact, rounded_up, upper
from ..kinds import AbstractFederated, AbstractProblem


def cap_certificate(problem: AbstractProblem, cap: float, argument: str) -> Certificate:
    """`cap` as an upper bound of ||grad F||; the start witnesses how much of it is attained there."""
    start = problem.initial_point
    attained = float(torch.linalg.vector_norm(problem.gradient(start.unsqueeze(0)))) / cap
    return Certificate(
        "gradient_cap",
        cap,
        "upper",
        argument,
        witness=min(1.0, attained) * (1 - ROUNDING),
        points=(as_point(start),),
    )


def gap_above(problem: AbstractProblem, infimum: float, argument: str) -> Certificate:
    """F(start) - `infimum`, where the argument says why F is never below `infimum`."""
    start = problem.objective(problem.initial_point.unsqueeze(0)).item()
    return upper("objective_gap", difference_above(start, infimum), argument)


def gap_to_zero(problem: AbstractProblem) -> Certificate:
    """F(start), for a sum of nonnegative functions that vanish at 0."""
    gap, least = float(problem.objective(problem.initial_point.unsqueeze(0))), (0.0,) * problem.dim
    return attained("objective_gap", gap, "F is a sum of nonnegative functions that vanish at 0.", least)


def first_gradients(problem: AbstractFederated) -> Certificate:
    """How unlike the clients' gradients are at the start, which is evaluated."""
    start = problem.initial_point.unsqueeze(0)
    gradients = problem.local_gradient(problem.to_clients(start), None)
    apart = float((gradients - gradients.mean(1, keepdim=True)).square().sum(-1).mean().sqrt())
    where = (as_point(start[0]),)
    name, said = "initial_gradient_heterogeneity", "The gradients at the start, evaluated."
    return exact(name, rounded_up(apart), said, where, attains=1 - 1e-9) if apart else exact(name, 0.0, said)
