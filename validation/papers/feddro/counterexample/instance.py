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

import numpy as np

from .....bounds.registry import get_theorem

THEOREM = "feddro.theorem_4_1"
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


def _printed(name: str) -> Fraction:
    """A number of the printed statement."""
    return Fraction(str(get_theorem(THEOREM).statement("printed").constant(name).expr))


PAPER = Instance()
#: The initial point of Appendix D, and the level below which xbar is claimed never to fall.
PAPER_LEVEL = _printed("xbar_lower")


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
PAPER_CLAIMS = {case: Claim(case, eta_max=_printed(f"C_eta_{case}")) for case in Case}


def slope(y: Any) -> Any:
    """s in double precision, entry by entry."""
    return y / np.sqrt(y * y + 4.0)


def one_round(claim: Claim, x: Any, etas: Sequence[Any], slope: Slope = slope) -> tuple[Any, list[Any]]:
    """One communication round from xbar = x with these step sizes, one for each local step.

    Args: x, etas: numbers of one kind (floats, arrays, arb balls, `Dual`s); slope: s for that kind of number.
    Returns: xbar at its end, and for each local step the sum of the clients' directions a_k s(y_k).
    """
    instance = claim.instance
    points, sums = [x] * instance.clients, []
    for step, eta in enumerate(etas):
        if step == 0 and claim.case is Case.II:
            shared = slope((sum(instance.slopes) * x + sum(instance.offsets)) / instance.clients)
            directions = [a * shared for a in instance.slopes]
            total = sum(instance.slopes) * shared  # tighter than a sum of balls
        else:
            inner = (a * point + c for a, c, point in zip(instance.slopes, instance.offsets, points, strict=True))
            directions = [a * slope(y) for a, y in zip(instance.slopes, inner, strict=True)]
            total = sum(directions[1:], directions[0])
        sums.append(total)
        points = [point - eta * direction for point, direction in zip(points, directions, strict=True)]
    return sum(points[1:], points[0]) / instance.clients, sums


def round_drift(claim: Claim, x: Any, eta: Any, slope: Slope = slope) -> Any:
    """(xbar after one round - xbar) / eta from xbar = x with one step size eta; nothing is divided by eta, which may be 0."""
    _, sums = one_round(claim, x, [eta] * claim.local_steps, slope)
    return -sum(sums[1:], sums[0]) / claim.instance.clients


def shared_and_local_drift(claim: Claim, x: Any, eta: Any, slope: Slope) -> tuple[Any, Any]:
    """Case II with two local steps: xbar after the round = x + eta * first + eta' * second; eta' is not in `second`."""
    first, second = one_round(claim, x, [eta, eta], slope)[1]
    return -first / claim.instance.clients, -second / claim.instance.clients


def round_derivatives(claim: Claim, x: Any, eta: Any, slope: Slope, curvature: Slope) -> tuple[Any, Any]:
    """The partial derivatives (dF/dx, dF/deta) of F = `round_drift`; curvature is s'.

    1 + eta dF/dx is the derivative of the round map, so -dF/dx >= kappa > 0 makes it a contraction by 1 - eta kappa
    wherever it is increasing.
    """

    def moved(y: Dual) -> Dual:
        return Dual(slope(y.value), curvature(y.value) * y.rate)

    by_x, by_eta = (round_drift(claim, Dual(x, along), Dual(eta, 1 - along), moved).rate for along in (1, 0))
    return by_x, by_eta


@dataclass(frozen=True)
class Dual:
    """A number and its derivative in one direction; an integer does not move."""

    value: Any
    rate: Any

    def __add__(self, other: Dual | int) -> Dual:
        if isinstance(other, int):
            return Dual(self.value + other, self.rate)
        return Dual(self.value + other.value, self.rate + other.rate)

    def __mul__(self, other: Dual | int) -> Dual:
        if isinstance(other, int):
            return Dual(self.value * other, self.rate * other)
        return Dual(self.value * other.value, self.rate * other.value + self.value * other.rate)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Dual:
        return self * -1

    def __sub__(self, other: Dual) -> Dual:
        return self + -other

    def __truediv__(self, number: int) -> Dual:
        return Dual(self.value / number, self.rate / number)
