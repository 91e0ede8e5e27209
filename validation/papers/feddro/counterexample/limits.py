"""Where vanilla FedAvg stops on the instance of Theorem 4.1: rigorous limit points as functions of the step size.

For 0 < eta <= 1/8 and every number of local steps the round map M(x) = x + eta F(x, eta) is strictly increasing with
M' < 1 (docs/theory/counterexample.md), so it has one fixed point xbar*(eta), and xbar tends to it monotonically from
any start. A sign change of F between two rationals therefore encloses it; at eta = 0 the enclosed root of F(., 0) is
the limit of xbar*(eta) as eta -> 0. All bounds are arb balls, rounded outward.

Source: feddro, Theorem 4.1, figure 6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from flint import arb

from .....bounds.evaluation.enclosure import ball_of
from .certificate import (
    Box,
    curvature_ball,
    explore,
    float_above,
    float_below,
    hull,
    lower_fraction,
    slope_ball,
    upper_fraction,
)
from .instance import Case, Claim, round_derivatives, round_drift

#: eta times the largest curvature of f(g_1), which is 4^2 / 2 = 8, must not exceed 1 for a monotone round map.
MONOTONE_ETA = Fraction(1, 8)
#: The round map sends this interval into itself for every eta <= MONOTONE_ETA (certified with the contraction).
TRAP = (Fraction(1, 2), Fraction(3))

_POINT_HALF_WIDTH = Fraction(1, 2**40)
_BAND_STEPS = 40


@dataclass(frozen=True)
class LimitPoint:
    """lower <= xbar*(eta) <= upper for every eta in [eta_lower, eta_upper], and ||grad Phi|| there."""

    eta_lower: Fraction
    eta_upper: Fraction
    lower: Fraction
    upper: Fraction
    gradient_lower: Fraction
    gradient_upper: Fraction

    def as_dict(self) -> dict[str, float]:
        """Floats rounded outward."""
        return {
            "eta_lower": float_below(self.eta_lower),
            "eta_upper": float_above(self.eta_upper),
            "x_lower": float_below(self.lower),
            "x_upper": float_above(self.upper),
            "gradient_norm_lower": float_below(self.gradient_lower),
            "gradient_norm_upper": float_above(self.gradient_upper),
        }


@dataclass(frozen=True)
class Contraction:
    """|M(x) - xbar*| <= (1 - rate eta) |x - xbar*| on TRAP, which M keeps, for every eta in (0, eta_max]."""

    eta_max: Fraction
    rate: Fraction
    boxes: int


def limit_point(case: Case, eta: Fraction, local_steps: int = 2) -> LimitPoint:
    """The limit point for one exact step size in [0, 1/8], to about 1e-12; eta = 0 is the limit as eta -> 0.

    Raises ValueError outside that range, ArithmeticError if the sign change cannot be certified.
    """
    claim = _monotone_claim(case, eta, local_steps)
    centre = _float_root(claim, float(eta))
    lower, upper = centre - _POINT_HALF_WIDTH, centre + _POINT_HALF_WIDTH
    ball = ball_of(eta)
    if not (_sign(claim, lower, ball) > 0 > _sign(claim, upper, ball)):
        raise ArithmeticError(f"limit point at eta = {eta}: no certified sign change in [{lower}, {upper}]")
    return _enclosure(eta, eta, lower, upper)


def limit_band(case: Case, eta_max: Fraction, cells: int = 16, local_steps: int = 2) -> tuple[LimitPoint, ...]:
    """Enclosures of xbar*(eta) valid for *every* eta of each of `cells` intervals that tile [0, eta_max]."""
    claim = _monotone_claim(case, eta_max, local_steps)
    edges = [eta_max * i / cells for i in range(cells + 1)]
    band = []
    for eta_lower, eta_upper in pairwise(edges):
        ball = hull(eta_lower, eta_upper)
        lower, upper = (_last_certain(claim, ball, side) for side in (0, 1))
        band.append(_enclosure(eta_lower, eta_upper, lower, upper))
    return tuple(band)


def band_is_increasing(case: Case, band: tuple[LimitPoint, ...], local_steps: int = 2) -> bool:
    """Whether dF/deta > 0 is certified around the whole band: then xbar*(eta) increases, because dF/dx < 0.

    False means undecided.
    """
    claim = _monotone_claim(case, band[-1].eta_upper, local_steps)

    def rise(box: Box) -> arb:
        x, eta = hull(box.x_lower, box.x_upper), hull(box.eta_lower, box.eta_upper)
        return round_derivatives(claim, x, eta, slope_ball, curvature_ball)[1].lower()

    return all(
        boxes_above(Box(cell.lower, cell.upper, cell.eta_lower, cell.eta_upper), rise, Fraction(0)) is not None
        for cell in band
    )


def contraction(case: Case, eta_max: Fraction, rate: Fraction, local_steps: int = 2) -> Contraction | None:
    """A certificate that the round map contracts TRAP with this rate for every eta in (0, eta_max]; None if undecided.

    It is increasing (eta <= 1/8), its ends move inward, and -dF/dx >= rate on the whole of it.
    """
    claim = _monotone_claim(case, eta_max, local_steps)

    def inward(box: Box) -> arb:
        drift = round_drift(claim, ball_of(box.x_lower), hull(box.eta_lower, box.eta_upper), slope_ball)
        return drift.lower() if box.x_lower == TRAP[0] else (-drift).lower()

    ends = [Box(end, end, Fraction(0), eta_max) for end in TRAP]
    if any(boxes_above(end, inward, Fraction(0)) is None for end in ends):
        return None

    def steepness(box: Box) -> arb:
        x, eta = hull(box.x_lower, box.x_upper), hull(box.eta_lower, box.eta_upper)
        return (-round_derivatives(claim, x, eta, slope_ball, curvature_ball)[0]).lower()

    boxes = boxes_above(Box(*TRAP, Fraction(0), eta_max), steepness, rate)
    return None if boxes is None else Contraction(eta_max, rate, boxes)


def _monotone_claim(case: Case, eta: Fraction, local_steps: int) -> Claim:
    if not 0 <= eta <= MONOTONE_ETA:
        raise ValueError(f"eta: wanted a rational in [0, {MONOTONE_ETA}], where the round map is monotone, got {eta}")
    return Claim(case, eta_max=MONOTONE_ETA, local_steps=local_steps)


def _float_root(claim: Claim, eta: float) -> Fraction:
    """Where F changes sign in floats: a proposal, which `limit_point` certifies."""
    lower, upper = map(float, TRAP)
    for _ in range(50):
        middle = (lower + upper) / 2
        rising = round_drift(claim, middle, eta, lambda y: y / (y * y + 4) ** 0.5) > 0
        lower, upper = (middle, upper) if rising else (lower, middle)
    return Fraction(lower)


def _sign(claim: Claim, x: Fraction, eta: arb) -> int:
    """The certain sign of F(x, eta) for every eta of the ball; 0 if it is not certain."""
    drift = round_drift(claim, ball_of(x), eta, slope_ball)
    if not drift.is_finite():
        return 0
    return 1 if drift > 0 else -1 if drift < 0 else 0


def _last_certain(claim: Claim, eta: arb, side: int) -> Fraction:
    """By bisection, the innermost rational found on this side of the root at which the sign of F is certain."""
    wanted = 1 - 2 * side
    certain, beyond = TRAP[side], TRAP[1 - side]
    if _sign(claim, certain, eta) != wanted:
        raise ArithmeticError(f"limit point: the sign of F at {certain} is not certain for eta in {eta}")
    for _ in range(_BAND_STEPS):
        middle = (certain + beyond) / 2
        if _sign(claim, middle, eta) == wanted:
            certain = middle
        else:
            beyond = middle
    return certain


def _enclosure(eta_lower: Fraction, eta_upper: Fraction, lower: Fraction, upper: Fraction) -> LimitPoint:
    """||grad Phi(x)|| = x / sqrt(x^2 + 4) increases in x > 0."""
    gradient = lower_fraction(slope_ball(ball_of(lower))), upper_fraction(slope_ball(ball_of(upper)))
    return LimitPoint(eta_lower, eta_upper, lower, upper, *gradient)


def boxes_above(region: Box, quantity: Callable[[Box], arb], bound: Fraction, limit: int = 4_000) -> int | None:
    """The number of boxes on which quantity > bound was certified so as to cover the region; None if undecided."""
    ball = ball_of(bound)
    shape = (region.x_upper - region.x_lower) / (region.eta_upper - region.eta_lower)

    def is_above(box: Box) -> bool | None:
        value = quantity(box)
        return True if value.is_finite() and value > ball else None

    decided, undecided, *_ = explore(region, shape, is_above, limit)
    return None if undecided else len(decided)
