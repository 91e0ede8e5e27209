"""A certificate, for every step size of an interval and every unbounded x, that [threshold, inf) is kept by each round.

Write F(x, eta) = (xbar after - xbar) / eta and u = x - threshold >= 0; the claim is u + eta F >= 0.
- u >= reach * eta: true, because |F| <= reach (all |s| < 1). So x is bounded by threshold + reach * eta_max.
- A box on which F >= 0: true for all its u >= 0 and eta >= 0. No division by eta, so nothing is left near eta = 0.
- A box on which min(u) + max(eta) * min(F) >= 0: true.
Boxes that neither rule decides are split. Bounds of F are balls of arb (python-flint, outward rounding) with s at the
two ends of its argument, s being increasing; a ball that is not finite decides nothing. A corner where the ball of
u + eta F lies below 0 is a counterexample.

`recheck` looks at the listing again: it is written from Algorithm 1 and not from the certifier's code, and computes with the
fractions of the exact engine, not with balls.

Source: feddro, Algorithm 1, Theorem 4.1 and the two claims of Appendix D.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import floor, isqrt
from typing import Any, TypeVar

from flint import arb

from .....bounds.evaluation.enclosure import ball_of, ends
from ....exact.interval import Ends, ends_of
from ....exact.run import constant
from .instance import Case, Claim, round_drift, shared_and_local_drift

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

    @property
    def balls(self) -> tuple[arb, arb]:
        """A ball that contains every x of it, and one that contains every eta."""
        return hull(self.x_lower, self.x_upper), hull(self.eta_lower, self.eta_upper)

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
    return ends(ball.lower()).lower


def upper_fraction(ball: arb) -> Fraction:
    return -lower_fraction(-ball)


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
    drift = round_drift(claim, *box.balls, slope_ball).lower()
    return drift, ball_of(box.x_lower - claim.threshold) + ball_of(box.eta_upper) * drift.min(arb(0))


def _varying_step(claim: Claim, box: Box) -> tuple[arb, arb]:
    """The same two for steps eta and eta' with ratio * eta <= eta' <= eta_max.

    u + eta first + eta' second is linear in eta': where second >= 0 the smallest eta' is the worst, elsewhere the
    largest.
    """
    assert claim.step_ratio is not None
    first, second = (part.lower() for part in shared_and_local_drift(claim, *box.balls, slope_ball))
    undecided = arb("nan")
    drift = first + ball_of(claim.step_ratio) * second if second >= 0 else undecided
    start = ball_of(box.x_lower - claim.threshold)
    pull = ball_of(box.eta_upper) * first.min(arb(0)) + ball_of(claim.eta_max) * second.min(arb(0))
    return drift, start + pull


# --- the re-check ----------------------------------------------------------------------------------------------------

_GRID = 1 << 64
"""Of the bounds of s: its multiples of 1 / _GRID."""


def recheck(certificate: BoxCertificate) -> tuple[str, ...]:
    """What is wrong with a certificate that says `certified`, or with a counterexample; empty when nothing is."""
    claim, faults = certificate.claim, []
    if certificate.counterexample is not None and not is_counterexample(claim, certificate.counterexample):
        faults.append(f"{certificate.counterexample}: not a counterexample")
    if certificate.status != "certified":
        return tuple(faults)
    if claim.start < claim.threshold:
        faults.append(f"base case: start {claim.start} is below the threshold {claim.threshold}")
    boxes = [proved.box for proved in certificate.proved]
    speed = Fraction(claim.local_steps * sum(abs(a) for a in claim.instance.slopes), len(claim.instance.slopes))
    widest = claim.threshold + speed * claim.eta_max
    if not covers(boxes, claim.threshold, widest, claim.eta_max):
        faults.append(f"the boxes leave a gap in [{claim.threshold}, {widest}] x [0, {claim.eta_max}]")
    faults += [f"{box}: neither rule holds" for box in boxes if not box_holds(claim, box)]
    return tuple(faults)


def covers(boxes: Iterable[Box], x_lower: Fraction, x_upper: Fraction, eta_max: Fraction) -> bool:
    """Whether the boxes cover [x_lower, x_upper] x [0, eta_max]: strip by strip between all the edges in eta."""
    boxes = sorted(boxes, key=lambda box: box.x_lower)
    edges = sorted({Fraction(0), eta_max} | {edge for box in boxes for edge in (box.eta_lower, box.eta_upper)})
    for low, high in pairwise(edges):
        if high <= 0 or low >= eta_max:
            continue
        reached = x_lower
        for box in boxes:
            if box.eta_lower <= low and high <= box.eta_upper and box.x_lower <= reached:
                reached = max(reached, box.x_upper)
        if reached < x_upper:
            return False
    return True


def box_holds(claim: Claim, box: Box) -> bool:
    """u + eta F >= 0 on the box, by one of the two rules, from bounds computed here."""
    x, eta = (box.x_lower, box.x_upper), (box.eta_lower, box.eta_upper)
    u = box.x_lower - claim.threshold
    if claim.step_ratio is None:
        low = move(claim, x, [eta] * claim.local_steps)[0]
        return low >= 0 or u + box.eta_upper * low >= 0
    alone = move(claim, x, [eta, eta], only_step=0)[0]
    after = move(claim, x, [eta, eta], only_step=1)[0]
    upward = after >= 0 and alone + claim.step_ratio * after >= 0
    return upward or u + box.eta_upper * min(alone, Fraction(0)) + claim.eta_max * min(after, Fraction(0)) >= 0


def is_counterexample(claim: Claim, found: Counterexample) -> bool:
    """Whether the round from found.x with found.eta (and second_eta) certainly ends below the threshold."""
    admitted = found.x >= claim.threshold and 0 < found.eta <= claim.eta_max
    if claim.step_ratio is None:
        admitted = admitted and found.second_eta == found.eta
    else:
        admitted = admitted and claim.step_ratio * found.eta <= found.second_eta <= claim.eta_max
    x, etas = (found.x, found.x), [(found.eta, found.eta)] * claim.local_steps
    if claim.step_ratio is None:
        high = found.x + found.eta * move(claim, x, etas)[1]
    else:
        first, second = (move(claim, x, etas, only_step=step)[1] for step in (0, 1))
        high = found.x + found.eta * first + found.second_eta * second
    return admitted and high < claim.threshold


def slope_interval(y: Ends) -> Ends:
    """Bounds of s over an interval, through s(y)^2 = y^2 / (y^2 + 4): s is increasing."""
    return _slope_bounds(y[0])[0], _slope_bounds(y[1])[1]


def _slope_bounds(y: Fraction) -> Ends:
    square = y * y / (y * y + 4)
    root = isqrt(floor(square * _GRID * _GRID))
    low, high = Fraction(root, _GRID), Fraction(root + 1, _GRID)
    return (low, high) if y >= 0 else (-high, -low)


def move(claim: Claim, x: Ends, etas: list[Ends], only_step: int | None = None) -> Ends:
    """Bounds of -(1/K) sum of the local gradients over the round's steps (or of one step), iterating every client."""
    slopes, offsets = claim.instance.slopes, claim.instance.offsets
    mean_slope, mean_offset = Fraction(sum(slopes), len(slopes)), Fraction(sum(offsets), len(offsets))

    def steepness(y: Any) -> Any:
        return constant(slope_interval(ends_of(y)))

    shared_steepness = steepness(mean_slope * constant(x) + mean_offset)
    total: Any = Fraction(0)
    for a, c in zip(slopes, offsets, strict=True):
        where = constant(x)
        for step, eta in enumerate(etas):
            shared = step == 0 and claim.case is Case.II
            gradient = a * (shared_steepness if shared else steepness(a * where + c))
            if not shared and only_step in (None, step):
                total = total - gradient
            where = where - constant(eta) * gradient
    total = total / len(slopes)
    if claim.case is Case.II and only_step in (None, 0):
        total = total - mean_slope * shared_steepness
    return ends_of(total)
