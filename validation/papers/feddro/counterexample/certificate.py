"""A certificate, for every step size of an interval and every unbounded x, that [threshold, inf) is kept by each round.

Write F(x, eta) = (xbar after - xbar) / eta and u = x - threshold >= 0; the claim is u + eta F >= 0.
- u >= reach * eta: true, because |F| <= reach (all |s| < 1). So x is bounded by threshold + reach * eta_max.
- A box on which F >= 0: true for all its u >= 0 and eta >= 0. No division by eta, so nothing is left near eta = 0.
- A box on which min(u) + max(eta) * min(F) >= 0: true.
Boxes that neither rule decides are split. Bounds of F are balls of arb (python-flint, outward rounding) with s at the
two ends of its argument, s being increasing; a ball that is not finite decides nothing. A corner where the ball of
u + eta F lies below 0 is a counterexample. `recheck` re-checks the listing with fractions alone.

Source: feddro, Theorem 4.1 and the two claims of Appendix D.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

from flint import arb

from .....bounds.evaluation.enclosure import ball_of
from .instance import Claim, round_drift, shared_and_local_drift

#: A claim that needs more boxes than this is left undecided rather than pursued.
BOX_LIMIT = 60_000
Said = TypeVar("Said")


@dataclass(frozen=True)
class Box:
    """The rectangle [x_lower, x_upper] x [eta_lower, eta_upper], in exact rationals."""

    x_lower: Fraction
    x_upper: Fraction
    eta_lower: Fraction
    eta_upper: Fraction

    def split(self, stretch: Fraction) -> tuple[Box, Box]:
        """The two halves along x if the box is more than `stretch` times as wide in x as in eta, else along eta."""
        if self.x_upper - self.x_lower > stretch * (self.eta_upper - self.eta_lower):
            middle = (self.x_lower + self.x_upper) / 2
            return (
                Box(self.x_lower, middle, self.eta_lower, self.eta_upper),
                Box(middle, self.x_upper, self.eta_lower, self.eta_upper),
            )
        middle = (self.eta_lower + self.eta_upper) / 2
        return (
            Box(self.x_lower, self.x_upper, self.eta_lower, middle),
            Box(self.x_lower, self.x_upper, middle, self.eta_upper),
        )


@dataclass(frozen=True)
class ProvedBox:
    """A box, the rule that decides it (`drift` or `clearance`) and a certified lower bound of that rule's quantity."""

    box: Box
    rule: str
    margin: Fraction


@dataclass(frozen=True)
class Counterexample:
    """Exact rationals x >= threshold and eta for which xbar after the round is certified to be below the threshold.

    `second_eta` is the second step size of the round where the claim lets it differ; `below_by` is a lower bound of
    threshold - xbar after the round.
    """

    x: Fraction
    eta: Fraction
    second_eta: Fraction
    below_by: Fraction


@dataclass(frozen=True)
class BoxCertificate:
    """The outcome for one claim. `status`: certified, refuted, or partial (certified up to `eta_certified` only)."""

    claim: Claim
    status: str
    eta_certified: Fraction
    proved: tuple[ProvedBox, ...]
    undecided: tuple[Box, ...]
    counterexample: Counterexample | None
    base_case: bool
    evaluations: int

    def worst_margin(self, rule: str) -> Fraction | None:
        """The smallest certified margin among the boxes decided by `rule`; None if no box was."""
        return min((proved.margin for proved in self.proved if proved.rule == rule), default=None)


def certify(claim: Claim, box_limit: int = BOX_LIMIT) -> BoxCertificate:
    """Prove or refute the induction `xbar >= threshold` of `claim`, with its base case start >= threshold.

    Example: certify(PAPER_CLAIMS[Case.II]).status == "certified"
    """
    proved, undecided, counterexample, evaluations = explore(
        search_region(claim),
        claim.reach,
        lambda box: _decide(claim, box),
        box_limit,
        lambda box: probe(claim, box.x_lower, box.eta_upper),
    )
    base_case = claim.start >= claim.threshold
    refuted = counterexample is not None or not base_case
    return BoxCertificate(
        claim=claim,
        status="refuted" if refuted else "partial" if undecided else "certified",
        eta_certified=min((box.eta_lower for box in undecided), default=claim.eta_max) if base_case else Fraction(0),
        proved=proved,
        undecided=undecided,
        counterexample=counterexample,
        base_case=base_case,
        evaluations=evaluations,
    )


def explore(
    region: Box,
    stretch: Fraction,
    decide: Callable[[Box], Said | None],
    limit: int,
    probe: Callable[[Box], Counterexample | None] = lambda box: None,
) -> tuple[tuple[Said, ...], tuple[Box, ...], Counterexample | None, int]:
    """Cut a region into boxes, the widest first, until each is decided, `limit` of them were looked at, or `probe` finds a point.

    Returns: what was said of the boxes that are decided, the boxes that are left, the point, and how many boxes were looked at.
    """
    waiting, decided = deque([region]), list[Said]()
    looked_at, point = 0, None
    while waiting and looked_at < limit and point is None:
        box = waiting.popleft()  # what the limit leaves undecided is then near the true trouble
        looked_at += 1
        said = decide(box)
        if said is None:
            point = probe(box)
            waiting += box.split(stretch)
        else:
            decided.append(said)
    return tuple(decided), tuple(waiting), point, looked_at


def search_region(claim: Claim) -> Box:
    """The rectangle outside which |F| <= reach settles the claim."""
    reach = claim.reach * (1 if claim.step_ratio is None else 2)
    return Box(claim.threshold, claim.threshold + reach * claim.eta_max, Fraction(0), claim.eta_max)


def probe(claim: Claim, x: Fraction, eta: Fraction) -> Counterexample | None:
    """A counterexample at this exact point (with the smallest admitted second step), or None."""
    second_eta = eta if claim.step_ratio is None else min(claim.step_ratio * eta, claim.eta_max)
    if not (claim.threshold <= x and 0 < eta <= claim.eta_max):
        return None
    x_ball, eta_ball = ball_of(x), ball_of(eta)
    if claim.step_ratio is None:
        move = eta_ball * round_drift(claim, x_ball, eta_ball, slope_ball)
    else:
        first, second = shared_and_local_drift(claim, x_ball, eta_ball, slope_ball)
        move = eta_ball * first + ball_of(second_eta) * second
    gap = ball_of(x - claim.threshold) + move
    if not gap.is_finite() or not gap < 0:
        return None
    return Counterexample(x, eta, second_eta, below_by=lower_fraction(-gap))


def hull(lower: Fraction, upper: Fraction) -> arb:
    """A ball that contains [lower, upper]."""
    return ball_of(lower).union(ball_of(upper))


def lower_fraction(ball: arb) -> Fraction:
    """The exact value of a lower bound of a finite ball."""
    mantissa, exponent = ball.lower().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def upper_fraction(ball: arb) -> Fraction:
    return -lower_fraction(-ball)


def float_below(value: Fraction) -> float:
    """A float that is not above an exact value: what is printed never claims more than what is proved."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def float_above(value: Fraction) -> float:
    return 0.0 - float_below(-value)


def slope_ball(y: arb) -> arb:
    """s(y) = y / sqrt(y^2 + 4) over a ball, from its two ends because s is increasing."""
    return _slope_at(y.lower()).union(_slope_at(y.upper()))


def curvature_ball(y: arb) -> arb:
    """s'(y) = 4 / (y^2 + 4)^(3/2) over a ball: even, decreasing in |y|."""
    return _curvature_at(y.abs_lower()).union(_curvature_at(y.abs_upper()))


def _slope_at(y: Any) -> Any:
    return y / (y * y + 4).sqrt()


def _curvature_at(y: Any) -> Any:
    square = y * y + 4
    return 4 / (square * square.sqrt())


def _decide(claim: Claim, box: Box) -> ProvedBox | None:
    rules: Callable[[Claim, Box], tuple[arb, arb]] = _constant_step if claim.step_ratio is None else _varying_step
    drift, clearance = rules(claim, box)
    for rule, quantity in (("drift", drift), ("clearance", clearance)):
        if quantity.is_finite() and quantity >= 0:
            return ProvedBox(box, rule, lower_fraction(quantity))
    return None


def _constant_step(claim: Claim, box: Box) -> tuple[arb, arb]:
    """Lower bounds of F over the box, and of min(u) + max(eta) min(F, 0)."""
    drift = round_drift(claim, hull(box.x_lower, box.x_upper), hull(box.eta_lower, box.eta_upper), slope_ball).lower()
    return drift, ball_of(box.x_lower - claim.threshold) + ball_of(box.eta_upper) * drift.min(arb(0))


def _varying_step(claim: Claim, box: Box) -> tuple[arb, arb]:
    """The same two for steps eta and eta' with ratio * eta <= eta' <= eta_max.

    u + eta first + eta' second is linear in eta': where second >= 0 the smallest eta' is the worst, elsewhere the
    largest.
    """
    assert claim.step_ratio is not None
    x, eta = hull(box.x_lower, box.x_upper), hull(box.eta_lower, box.eta_upper)
    first, second = (part.lower() for part in shared_and_local_drift(claim, x, eta, slope_ball))
    undecided = arb("nan")
    drift = first + ball_of(claim.step_ratio) * second if second >= 0 else undecided
    start = ball_of(box.x_lower - claim.threshold)
    pull = ball_of(box.eta_upper) * first.min(arb(0)) + ball_of(claim.eta_max) * second.min(arb(0))
    return drift, start + pull
