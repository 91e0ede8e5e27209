"""Theorem 4.1's instance and one communication round of Algorithm 1 on it, for any kind of number.

Shared outer f(y) = sqrt(y^2 + 4), affine inner maps g_k(x) = a_k x + c_k, h = 0, so that a local step is
x_k <- x_k - eta a_k s(y_k) with s(y) = f'(y) = y / sqrt(y^2 + 4), increasing, odd, |s| < 1. Case I takes
y_k = g_k(x_k) at every local step; case II takes y_k = (1/K) sum_j g_j(xbar) at the first local step of each round.

Source: feddro, Algorithm 1, Theorem 4.1 and Appendix D.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

Slope = Callable[[Any], Any]


class Case(StrEnum):
    """What Algorithm 1 shares at a communication round: the model (I), or the model and the embedding (II)."""

    I = "I"
    II = "II"


@dataclass(frozen=True)
class Instance:
    """Affine inner maps g_k(x) = slopes[k] x + offsets[k], integers, with the shared outer f(y) = sqrt(y^2 + 4)."""

    slopes: tuple[int, ...] = (4, -2)
    offsets: tuple[int, ...] = (-4, 4)

    def __post_init__(self) -> None:
        if not self.slopes or len(self.slopes) != len(self.offsets):
            raise ValueError(f"slopes and offsets: wanted as many of one as of the other, got {self}")

    @property
    def clients(self) -> int:
        return len(self.slopes)

    @property
    def mean_speed(self) -> Fraction:
        """(1/K) sum_k |a_k|: one local step moves xbar by less than eta times this, because |s| < 1."""
        return Fraction(sum(abs(a) for a in self.slopes), self.clients)


PAPER = Instance()
#: The initial point of Appendix D, and the level below which xbar is claimed never to fall.
PAPER_LEVEL = Fraction(1, 2)


@dataclass(frozen=True)
class Claim:
    """`xbar >= threshold at every communication round, for every admitted step size`, as an induction over rounds.

    `step_ratio` None: one step size per round, any in (0, eta_max], free to change from round to round. `step_ratio`
    r (case II, two local steps): the two step sizes of a round are any in (0, eta_max] with second >= r * first.
    """

    case: Case
    eta_max: Fraction
    local_steps: int = 2
    threshold: Fraction = PAPER_LEVEL
    start: Fraction = PAPER_LEVEL
    step_ratio: Fraction | None = None
    instance: Instance = PAPER

    def __post_init__(self) -> None:
        if self.eta_max <= 0:
            raise ValueError(f"eta_max: wanted a positive rational, got {self.eta_max}")
        if self.local_steps < 1:
            raise ValueError(f"local_steps: wanted a positive integer, got {self.local_steps}")
        if self.step_ratio is not None and (self.case is not Case.II or self.local_steps != 2 or self.step_ratio <= 0):
            raise ValueError(f"step_ratio: wanted a positive rational with case II and two local steps, got {self}")

    @property
    def reach(self) -> Fraction:
        """|xbar after a round - xbar before it| <= reach * eta."""
        return self.local_steps * self.instance.mean_speed


#: The two claims that the proof of Theorem 4.1 makes (feddro, Appendix D).
PAPER_CLAIMS = {
    Case.I: Claim(Case.I, eta_max=Fraction(1, 8)),
    Case.II: Claim(Case.II, eta_max=Fraction(1, 22)),
}


def round_drift(claim: Claim, x: Any, eta: Any, slope: Slope) -> Any:
    """(xbar after one round - xbar) / eta from xbar = x with one step size eta; nothing is divided by eta.

    Args: x, eta: numbers of one kind (floats, arrays, arb balls), eta = 0 included; slope: s for that kind of number.
    """
    points = [x] * claim.instance.clients
    total = 0 * x
    for step in range(claim.local_steps):
        gradients, their_sum = local_gradients(claim, points, step, slope)
        total = total + their_sum
        points = [point - eta * gradient for point, gradient in zip(points, gradients, strict=True)]
    return -total / claim.instance.clients


def local_gradients(claim: Claim, points: Sequence[Any], step: int, slope: Slope) -> tuple[list[Any], Any]:
    """The clients' directions a_k s(y_k) at this local step of a round, and their sum (tighter than adding balls)."""
    instance = claim.instance
    if step == 0 and claim.case is Case.II:
        shared = slope(_mean_inner(instance, points[0]))
        return [a * shared for a in instance.slopes], sum(instance.slopes) * shared
    inner = (a * point + c for a, c, point in zip(instance.slopes, instance.offsets, points, strict=True))
    gradients = [a * slope(y) for a, y in zip(instance.slopes, inner, strict=True)]
    return gradients, sum(gradients[1:], gradients[0])


def shared_and_local_drift(claim: Claim, x: Any, eta: Any, slope: Slope) -> tuple[Any, Any]:
    """Case II with two local steps: xbar after the round = x + eta * first + eta' * second; eta' is not in `second`."""
    instance = claim.instance
    shared = slope(_mean_inner(instance, x))
    first = -sum(instance.slopes) * shared / instance.clients
    second = 0 * x
    for a, c in zip(instance.slopes, instance.offsets, strict=True):
        second = second - a * slope(a * (x - eta * (a * shared)) + c)
    return first, second / instance.clients


def round_derivatives(claim: Claim, x: Any, eta: Any, slope: Slope, curvature: Slope) -> tuple[Any, Any]:
    """The partial derivatives (dF/dx, dF/deta) of F = `round_drift`, carried along the round; curvature is s'.

    1 + eta dF/dx is the derivative of the round map, so -dF/dx >= kappa > 0 makes it a contraction by 1 - eta kappa
    wherever it is increasing.
    """
    instance = claim.instance
    drift_by_x, drift_by_eta = 0 * x, 0 * x
    mean_slope = sum(instance.slopes)
    for a, c in zip(instance.slopes, instance.offsets, strict=True):
        point, by_x, by_eta = x, 1 + 0 * x, 0 * x
        for step in range(claim.local_steps):
            if step == 0 and claim.case is Case.II:
                y = _mean_inner(instance, x)
                gradient, gradient_by_x = a * slope(y), a * mean_slope * curvature(y) / instance.clients
                gradient_by_eta = 0 * x
            else:
                y = a * point + c
                curved = a * a * curvature(y)
                gradient, gradient_by_x, gradient_by_eta = a * slope(y), curved * by_x, curved * by_eta
            drift_by_x = drift_by_x - gradient_by_x
            drift_by_eta = drift_by_eta - gradient_by_eta
            point = point - eta * gradient
            by_x = by_x - eta * gradient_by_x
            by_eta = by_eta - gradient - eta * gradient_by_eta
    return drift_by_x / instance.clients, drift_by_eta / instance.clients


def _mean_inner(instance: Instance, x: Any) -> Any:
    return (sum(instance.slopes) * x + sum(instance.offsets)) / instance.clients
