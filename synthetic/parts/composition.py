"""Composition rules: constants of a composite from those of its parts; and those of the whole, from its start or a lower bound.

Rules of numbers serve certificates and estimates alike. A rule of certificates returns an upper certificate whose argument says what was
composed. `tests/synthetic/test_composition.py` tests each of them against a direct certificate of the whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import torch

from ..certificate import ROUNDING, Certificate, as_point, attained, difference_above, exact, rounded_up, upper
from ..kinds import AbstractFederated, AbstractProblem

Parts = Mapping[str, Certificate]
Constant = TypeVar("Constant", bound=Any)  # a frozen dataclass with a field `quantity`: a certificate, or an estimate
Number = Fraction | float
Points = tuple[tuple[float, ...], ...]


def chain_rule(jacobian: float, bend: float, slope: float, curvature: float) -> float:
    """Smoothness of f(g(.)): |J|^2 L_f + |grad f| L_g, with |J| `jacobian`, L_f `bend`, |grad f| `slope` and L_g `curvature`.

    J(x)^T grad f(g(x)) - J(x')^T grad f(g(x')) is J(x)^T times the change of grad f, at most |J| L_f |J| |x - x'|, plus the change of J
    times grad f, at most L_g |x - x'| |grad f|. A mean of compositions has at most the largest of their constants.
    """
    return jacobian**2 * bend + slope * curvature


def fine_tuned_smoothness(slope: float, smoothness: float, rho: float, rate: float, steps: int = 1) -> float:
    """Smoothness of f after so many steps of gradient descent of size `rate`; rho is the Lipschitz constant of its Hessian.

    Point l is (1 + rate L)^l-Lipschitz in the first. The last gradient moves by L times that, through a product of as many factors
    I - rate Hessian, each of norm at most 1 + rate L; factor l moves by rate rho times that of its point. With one step it is
    `chain_rule` for |J| = 1 + rate L, L_f = L, |grad f| = `slope` and L_g = rate rho.

    Source: Jamali, Saber, Bae, Generalized meta federated learning, Lemma 4; Gao, Li, Huang, Local-SCGDM, Lemma 3.9.
    """
    growth = 1 + rate * smoothness
    moved = sum(growth**step for step in range(steps))
    return smoothness * growth ** (2 * steps) + slope * rate * rho * growth ** (steps - 1) * moved


def shaken_mean_square(steady: float, shake: float, spread: float) -> float:
    """Mean square of a spectral norm that is at most `steady` + `shake` |z|, where E z^2 = 1 and E|z| = 1 / `spread`.

    Spectral norms keep the cross term, which vanishes for vectors and for Frobenius norms.
    """
    return steady**2 + 2 * steady * shake / spread + shake**2


def composite_smoothness(parts: Parts) -> Certificate:
    """L_F of F = mean_k f_k(g_k(.)): |J|^2 L_f + |grad f| L_g, with J and grad f those of the exact maps.

    Uses the quantities inner_lipschitz, outer_smoothness, outer_lipschitz and inner_smoothness; the paper's
    C_g^2 L_f + C_f L_g is the same with the larger mean-square constants.

    Source: Gao, Li, Huang, Local-SCGDM, before Assumption 3.4; Khanduri et al., FedDRO, Lemma 3.1.
    """
    names = ("inner_lipschitz", "outer_smoothness", "outer_lipschitz", "inner_smoothness")
    value = chain_rule(*(_value(parts, name) for name in names))
    return upper("objective_smoothness", value, "Chain rule: |J|^2 L_f + |grad f| L_g for every client.")


def composite_cap(parts: Parts) -> Certificate:
    """A bound of |grad F| of F = mean_k f_k(g_k(.)): the product of the two Lipschitz constants."""
    return upper(
        "gradient_cap",
        _value(parts, "inner_lipschitz") * _value(parts, "outer_lipschitz"),
        "Chain rule: |J| |grad f| for every client.",
    )


def composite_noise(parts: Parts) -> Certificate:
    """ComFedL's sigma: the largest of the inner Jacobian, inner value and outer gradient noise."""
    names = ("inner_jacobian_noise", "inner_value_noise", "outer_gradient_noise")
    return upper(
        "composite_noise",
        max(_value(parts, name) for name in names),
        "The largest of the inner Jacobian, inner value and outer gradient noise.",
    )


def deterministic_outer(lipschitz: Constant, smoothness: Constant, noise: Constant) -> Iterator[Constant]:
    """All outer constants of an f_k without noise: what holds for f_k holds for its only sample. `noise` is the 0 of its gradient."""
    yield lipschitz
    yield smoothness
    yield replace(lipschitz, quantity="outer_mean_square_lipschitz")
    yield replace(lipschitz, quantity="outer_sample_lipschitz")
    yield replace(smoothness, quantity="outer_sample_smoothness")
    yield noise


def steepest_and_most_curved(
    domain: str, steepest: tuple[Number, str, Points, float], most_curved: tuple[Number, str, Points, float]
) -> Iterator[Certificate]:
    """Exact Lipschitz and smoothness constants of an outer function: value, argument, points, and the share attained at these."""
    for name, (value, argument, points, attains) in (("outer_lipschitz", steepest), ("outer_smoothness", most_curved)):
        yield exact(name, value, argument, points, attains=attains, domain=domain)


def no_extra_certificates() -> Iterator[Certificate]:
    """The constants of h = 0."""
    for name in ("smoothness", "sample_smoothness", "gradient_noise", "heterogeneity"):
        yield exact(f"noncompositional_{name}", 0.0, "There is no h.")


def heterogeneity_of_average(bounds: Sequence[float]) -> float:
    """Bound over k of |J_k - mean J| where |J_k| <= bounds[k]: J_k - J = (1 - 1/K) J_k - (1/K) sum of the others.

    Raises:
        ValueError: without clients.
    """
    total, clients = math.fsum(bounds), len(bounds)
    if clients < 1:
        raise ValueError("need the bound of at least one client")
    return max((1 - 1 / clients) * own + (total - own) / clients for own in bounds)


def _value(parts: Parts, quantity: str) -> float:
    return float(parts[quantity].value)


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


_BISECTIONS = 200
_ROUNDING = 1e-12  # relative: a few hundred rounding errors of the value at the end point


def convex_minimum(function: Callable[[float], tuple[float, float]], low: float, high: float) -> float:
    """A number at most min of a convex differentiable `function` on [low, high], and within rounding of it.

    Bisection on the sign of the slope; then, by convexity, min >= value(r) - |slope(r)| (high - low) for every r.

    Args:
        function: returns (value, slope) at a point.
        low, high: the interval, low <= high.

    Raises:
        ValueError: when low > high.

    Example:
        >>> abs(convex_minimum(lambda r: ((r - 1) ** 2, 2 * (r - 1)), 0.0, 5.0)) < 1e-11
        True
    """
    if low > high:
        raise ValueError(f"low must not exceed high, got {low} and {high}")
    left, right = low, high
    for _ in range(_BISECTIONS):
        middle = 0.5 * (left + right)
        left, right = (left, middle) if function(middle)[1] > 0 else (middle, right)
    return max(_bound_from(function, point, low, high) for point in (low, high, left, right))


def _bound_from(function: Callable[[float], tuple[float, float]], point: float, low: float, high: float) -> float:
    value, slope = function(point)
    reach = (point - low) if slope > 0 else (high - point)
    return value - abs(slope) * reach - _ROUNDING * (1.0 + abs(value))
