"""An independent re-check of a certificate's listing: fractions and integer square roots, no arb, no shared formulas.

Written from Algorithm 1 again, not from the certifier's code. s(y) is bounded through s(y)^2 = y^2 / (y^2 + 4) and
`math.isqrt`; every intermediate interval is rounded outward to multiples of 2^-64.

Source: feddro, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, isqrt

from .certificate import Box, BoxCertificate, Counterexample
from .instance import Case, Claim

Ends = tuple[Fraction, Fraction]
_GRID = 1 << 64


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
    """Bounds of s over an interval: s is increasing."""
    return _slope_bounds(y[0])[0], _slope_bounds(y[1])[1]


def _slope_bounds(y: Fraction) -> Ends:
    square = y * y / (y * y + 4)
    root = isqrt(floor(square * _GRID * _GRID))
    low, high = Fraction(root, _GRID), Fraction(root + 1, _GRID)
    return (low, high) if y >= 0 else (-high, -low)


def move(claim: Claim, x: Ends, etas: list[Ends], only_step: int | None = None) -> Ends:
    """Bounds of -(1/K) sum of the local gradients over the round's steps (or of one step), iterating every client."""
    slopes, offsets = claim.instance.slopes, claim.instance.offsets
    average_slope, average_offset = Fraction(sum(slopes), len(slopes)), Fraction(sum(offsets), len(offsets))
    shared_slope = slope_interval(_affine(average_slope, x, average_offset))
    total: Ends = (Fraction(0), Fraction(0))
    for a, c in zip(slopes, offsets, strict=True):
        where = x
        for step, eta in enumerate(etas):
            shared = step == 0 and claim.case == Case.II
            steepness = shared_slope if shared else slope_interval(_affine(Fraction(a), where, Fraction(c)))
            gradient = _affine(Fraction(a), steepness, Fraction(0))
            if not shared and only_step in (None, step):
                total = (total[0] - gradient[1], total[1] - gradient[0])
            corners = [e * g for e in eta for g in gradient]
            where = outward(where[0] - max(corners), where[1] - min(corners))
    total = (total[0] / len(slopes), total[1] / len(slopes))
    if claim.case == Case.II and only_step in (None, 0):
        common = _affine(-average_slope, shared_slope, Fraction(0))
        total = (total[0] + common[0], total[1] + common[1])
    return total


def _affine(a: Fraction, x: Ends, c: Fraction) -> Ends:
    ends = (a * x[0] + c, a * x[1] + c)
    return min(ends), max(ends)


def outward(low: Fraction, high: Fraction) -> Ends:
    return Fraction(floor(low * _GRID), _GRID), Fraction(ceil(high * _GRID), _GRID)
