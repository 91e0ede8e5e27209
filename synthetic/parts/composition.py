"""Composition rules: constants of a composite from those of its parts; and those of the whole, from its start or a lower bound.

Rules of numbers serve certificates and estimates alike; of formulas they make formulas, which certificates show.
`tests/synthetic/test_composition.py` tests each of them against a direct certificate of the whole.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any, NamedTuple, TypeVar

import torch

from ..certificate import (
    ROUNDING,
    Certificate,
    Formula,
    Number,
    Points,
    as_point,
    attained,
    difference_above,
    exact,
    hypotenuse,
    largest,
    rounded_up,
    upper,
    witnessed,
)
from ..kinds import AbstractFederated, AbstractProblem

Parts = Mapping[str, Certificate]
Constant = TypeVar("Constant", bound=Any)  # a frozen dataclass with a field `quantity`: a certificate, or an estimate


def chain_rule(jacobian: Number, bend: Number, slope: Number, curvature: Number) -> Number:
    """Smoothness of f(g(.)): |J|^2 L_f + |grad f| L_g, with |J| `jacobian`, L_f `bend`, |grad f| `slope` and L_g `curvature`.

    J(x)^T grad f(g(x)) - J(x')^T grad f(g(x')) is J(x)^T times the change of grad f, at most |J| L_f |J| |x - x'|, plus the change of J
    times grad f, at most L_g |x - x'| |grad f|. A mean of compositions has at most the largest of their constants.
    """
    return jacobian**2 * bend + slope * curvature


def fine_tuned_smoothness(slope: Number, smoothness: Number, rho: Number, rate: Number, steps: int = 1) -> Number:
    """Smoothness of f after so many steps of gradient descent of size `rate`; rho is the Lipschitz constant of its Hessian.

    Point l is (1 + rate L)^l-Lipschitz in the first. The last gradient moves by L times that, through a product of as many factors
    I - rate Hessian, each of norm at most 1 + rate L; factor l moves by rate rho times that of its point. With one step it is
    `chain_rule` for |J| = 1 + rate L, L_f = L, |grad f| = `slope` and L_g = rate rho.

    Source: Jamali, Saber, Bae, Generalized meta federated learning, Lemma 4; Gao, Li, Huang, Local-SCGDM, Lemma 3.9.
    """
    growth = 1 + rate * smoothness
    turned = smoothness * growth ** (2 * steps)
    if not steps:
        return turned
    moved = reduce(add, [growth**step for step in range(steps)])
    return turned + slope * rate * rho * growth ** (steps - 1) * moved


def shaken_mean_square(steady: Number, shake: Number, spread: Number) -> Number:
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
    return upper("objective_smoothness", chain_rule(*formulas(parts, *names)), "The chain rule, for every client.")


def composite_cap(parts: Parts) -> Certificate:
    """A bound of |grad F| of F = mean_k f_k(g_k(.)): the product of the two Lipschitz constants."""
    J, slope = formulas(parts, "inner_lipschitz", "outer_lipschitz")
    return upper("gradient_cap", J * slope, "The chain rule, for every client.")


COMPOSITE_NOISES = ("inner_jacobian_noise", "inner_value_noise", "outer_gradient_noise")


def composite_noise(parts: Parts) -> Certificate:
    """ComFedL's sigma: the largest of the inner Jacobian, inner value and outer gradient noise."""
    return upper("composite_noise", largest(*formulas(parts, *COMPOSITE_NOISES)))


def largest_of(quantity: str, *parts: Constant) -> Constant:
    """The largest of several constants, with all that is said of it, under another name."""
    return replace(max(parts, key=lambda one: one.value), quantity=quantity)


class Ruled(NamedTuple):
    """What a rule says of a constant: its value, the constant of a part that it is most about, and why."""

    quantity: str
    value: Any
    of: str
    why: str


def fine_tuned_parts(
    rate: Number, slope: Number, smoothness: Number, rho: Number, noise: Number, shake: Number
) -> Iterator[Ruled]:
    """Constants of g(x) = x - rate grad f(x), and of f outside of it.

    Args:
        slope, smoothness, rho: of the exact f; its Lipschitz constant, that of its gradient and that of its Hessian.
        noise, shake: standard deviations of the gradient and of the Hessian of a sample.
    """
    steepest, moved = 1 + rate * smoothness, rate * shake
    inside, outside = "The Jacobian is I minus so many times the Hessian", "The outer function is the loss"
    jolted, added = hypotenuse(steepest, moved), hypotenuse(slope, noise)
    yield Ruled("inner_lipschitz", steepest, "local_smoothness", inside)
    across = f"{inside}; E||(A + z R) v||^2 = ||A v||^2 + ||R v||^2 for noise z R, E z = 0 and E z^2 = 1"
    yield Ruled("inner_mean_square_lipschitz", jolted, "local_hessian_noise", across)
    yield Ruled("inner_smoothness", rate * rho, "local_hessian_lipschitz", inside)
    yield Ruled("inner_jacobian_noise", moved, "local_hessian_noise", inside)
    yield Ruled(
        "inner_value_noise", rate * noise, "local_gradient_noise", "A model moves by so many times the gradient"
    )
    yield Ruled("outer_lipschitz", slope, "local_gradient_bound", outside)
    yield Ruled("outer_smoothness", smoothness, "local_smoothness", outside)
    of_vectors = f"{outside}; E||grad + noise||^2 = ||grad||^2 + E||noise||^2 for vectors"
    yield Ruled("outer_mean_square_lipschitz", added, "local_gradient_bound", of_vectors)
    yield Ruled("outer_gradient_noise", noise, "local_gradient_noise", outside)


def deterministic_outer(lipschitz: Constant, smoothness: Constant, noise: Constant) -> Iterator[Constant]:
    """All outer constants of an f_k without noise: what holds for f_k holds for its only sample. `noise` is the 0 of its gradient."""
    yield lipschitz
    yield smoothness
    yield replace(lipschitz, quantity="outer_mean_square_lipschitz")
    yield replace(lipschitz, quantity="outer_sample_lipschitz")
    yield replace(smoothness, quantity="outer_sample_smoothness")
    yield noise


def steepest_and_most_curved(
    domain: str, steepest: tuple[Any, str, Points, float], most_curved: tuple[Any, str, Points, float]
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


def formulas(parts: Parts, *names: str) -> list[Formula]:
    """Constants under their names, for formulas of others."""
    return [parts[name].formula for name in names]


def cap_certificate(problem: AbstractProblem, cap: float | Formula, argument: str) -> Certificate:
    """`cap` as an upper bound of ||grad F||; the start witnesses how much of it is attained there."""
    start = problem.initial_point
    steep = float(torch.linalg.vector_norm(problem.gradient(start.unsqueeze(0))))
    return witnessed("gradient_cap", cap, argument, start, steep)


def start_value(problem: AbstractProblem) -> float:
    """F at the start."""
    return problem.objective(problem.initial_point.unsqueeze(0)).item()


def gap_above(problem: AbstractProblem, infimum: float, argument: str) -> Certificate:
    """F(start) - `infimum`, where the argument says why F is never below `infimum`."""
    return upper("objective_gap", difference_above(start_value(problem), infimum), argument)


def gap_to_zero(problem: AbstractProblem) -> Certificate:
    """F(start), for a sum of nonnegative functions that vanish at 0."""
    why = "F is a sum of nonnegative functions that vanish at 0."
    return attained("objective_gap", start_value(problem), why, (0.0,) * problem.dim)


def first_gradients(problem: AbstractFederated) -> Certificate:
    """How unlike the clients' gradients are at the start, which is evaluated."""
    start = problem.initial_point.unsqueeze(0)
    gradients = problem.local_gradient(problem.to_clients(start), None)
    apart = float((gradients - gradients.mean(1, keepdim=True)).square().sum(-1).mean().sqrt())
    where = (as_point(start[0]),)
    name, said = "initial_gradient_heterogeneity", "The gradients at the start, evaluated."
    return exact(name, rounded_up(apart), said, where, attains=1 - 1e-9) if apart else exact(name, 0.0, said)


_BISECTIONS = 200


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
    return value - abs(slope) * reach - ROUNDING * (1.0 + abs(value))
