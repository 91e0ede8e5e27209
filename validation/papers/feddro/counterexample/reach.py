"""How far Theorem 4.1 really reaches: other numbers of local steps, and step sizes that vary inside a round.

The invariance of [1/2, inf) is certified from both sides. From below by the larger of what the lemmas give for every number
of local steps and what boxes give; from above by an exact point at which one round certainly ends below 1/2. A scan in
floats only says where to look; it decides nothing.

The theorem claims non-convergence for *any* 0 < eta^t < C_eta. In case II the first step of a round is an exact
gradient step of Phi, because the shared embedding is g(xbar). Let round n use a at that step and split a 2^-n evenly
over the I - 1 others: every eta^t lies in (0, C_eta), yet
    xbar_{n+1} = xbar_n - a xbar_n / sqrt(xbar_n^2 + 4) + e_n,   |e_n| <= 3 a 2^-n,
so that |xbar_n| <= q^n / 2 + 3 a sum_{m < n} q^(n-1-m) 2^-m -> 0 with q = 1 - a / sqrt(5), as long as |xbar| <= 1,
which the sum of the e_n guarantees for a <= 1/12. Little of the instance was used: with `a` small enough the same
schedule gives grad Phi(xbar) -> 0 in case II wherever the paper's assumptions hold and Phi is bounded below.

Source: feddro, Theorem 4.1 (`for a fixed number of local updates I > 1`, `for any 0 < eta^t < C_eta`), Algorithm 1 case II.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import arb

from .....bounds.evaluation.enclosure import ball_of
from .certificate import Counterexample, certify, probe, slope_ball, upper_fraction
from .instance import PAPER_LEVEL, Case, Claim, one_round, round_drift
from .printed import AFTER_THE_SHARED_STEP, ETA_SQUARED, LARGE_STEP, LEMMA_ETA, LOCAL_STEP

#: The scan looks for a failing step size in (0, SCAN_TO].
SCAN_TO = Fraction(1)
#: Counterexamples are proposed at multiples of 1 / X_GRID, so that they print shorter.
X_GRID = 2**24


@dataclass(frozen=True)
class InvarianceRange:
    """`xbar >= 1/2 implies xbar >= 1/2 a round later` holds on (0, certified] (every eta > 0 if None).

    It fails at `counterexample` (None: no failure exists, or none was found).
    """

    case: Case
    local_steps: int
    certified: Fraction | None
    argument: str
    counterexample: Counterexample | None


def invariance_range(
    case: Case, local_steps: int = 2, gap: Fraction = Fraction(1, 400), box_limit: int = 12_000
) -> InvarianceRange:
    """Bracket the first step size at which the invariance fails; boxes are tried up to `gap` below the failure found.

    Raises ValueError in case II with one local step, which is gradient descent and keeps no such level.
    """
    if case is Case.II and local_steps == 1:
        raise ValueError("local_steps: wanted at least 2 in case II (one shared step is gradient descent), got 1")
    if case is Case.II and local_steps == 2:
        return _every_step_size()
    failure = first_failure(Claim(case, eta_max=SCAN_TO, local_steps=local_steps))
    wanted = SCAN_TO if failure is None else failure.eta - gap
    boxes = certify(Claim(case, eta_max=wanted, local_steps=local_steps), box_limit)
    lemma_holds = LEMMA_ETA**2 <= ETA_SQUARED and LOCAL_STEP.holds and AFTER_THE_SHARED_STEP.holds
    if lemma_holds and boxes.eta_certified < LEMMA_ETA:
        return InvarianceRange(case, local_steps, LEMMA_ETA, "lemmas", failure)
    return InvarianceRange(case, local_steps, boxes.eta_certified, f"{len(boxes.proved)} boxes", failure)


def first_failure(claim: Claim, eta_points: int = 2000, x_points: int = 3000) -> Counterexample | None:
    """The smallest step size of a grid at which a certified counterexample exists on a grid of x."""
    reach = float(claim.reach)
    for i in range(1, eta_points + 1):
        eta = claim.eta_max * i / eta_points
        x = float(claim.threshold) + np.linspace(0.0, reach * float(eta), x_points)
        after = x + float(eta) * round_drift(claim, x, float(eta), lambda y: y / np.sqrt(y * y + 4))
        if after.min() < float(claim.threshold):
            found = probe(claim, Fraction(round(float(x[after.argmin()]) * X_GRID), X_GRID), eta)
            if found is not None:
                return found
    return None


def _every_step_size() -> InvarianceRange:
    """Case II with two local steps: boxes up to eta = 1, the lemma from there on."""
    boxes = certify(Claim(Case.II, eta_max=Fraction(1)))
    if boxes.status == "certified" and LARGE_STEP.holds:
        return InvarianceRange(Case.II, 2, None, f"{len(boxes.proved)} boxes up to 1, lemma `large_step` beyond", None)
    return InvarianceRange(Case.II, 2, boxes.eta_certified, f"{len(boxes.proved)} boxes", boxes.counterexample)


#: Beyond this shared step the envelope's |xbar| <= 1 is not guaranteed: 1/2 + 3 a (1 + 1/2 + ...) <= 1 needs a <= 1/12.
LARGEST_SHARED_STEP = Fraction(1, 12)


@dataclass(frozen=True)
class ScheduleRefutation:
    """A run of case II with every step size in (0, eta_max) whose xbar tends to 0.

    `first_round_below`: the first communication round at which xbar is certified below 1/2. `final_bound`: a certified
    upper bound of |xbar| after `rounds` rounds, by arb. `envelope_bound`: what the closed formula gives there; that
    formula tends to 0 with the number of rounds, which proves convergence.
    """

    eta_max: Fraction
    shared_step: Fraction
    local_steps: int
    rounds: int
    first_round_below: int
    final_bound: Fraction
    envelope_bound: Fraction


def refute_varying_steps(eta_max: Fraction, local_steps: int = 2, rounds: int = 500) -> ScheduleRefutation:
    """Run the shrinking schedule below eta_max, in arb balls; ArithmeticError if xbar is never certified below 1/2."""
    if eta_max <= 0 or local_steps < 2:
        raise ValueError(f"wanted eta_max > 0 and local_steps >= 2, got {eta_max} and {local_steps}")
    shared_step = min(eta_max * Fraction(9, 10), LARGEST_SHARED_STEP)
    claim = Claim(Case.II, eta_max=eta_max, local_steps=local_steps)
    level = ball_of(PAPER_LEVEL)
    lower, upper, first_below = level, level, 0
    for n in range(rounds):
        local_step = shared_step / 2**n / (local_steps - 1)
        lower = _one_round(claim, lower, shared_step, local_step).lower()  # the round is increasing in xbar: eta <= 1/8
        upper = _one_round(claim, upper, shared_step, local_step).upper()
        if not first_below and upper < level:
            first_below = n + 1
    if not (first_below and lower.is_finite() and upper.is_finite()):
        raise ArithmeticError(f"after {rounds} rounds xbar is not certified below 1/2: [{lower}, {upper}]")
    return ScheduleRefutation(
        eta_max=eta_max,
        shared_step=shared_step,
        local_steps=local_steps,
        rounds=rounds,
        first_round_below=first_below,
        final_bound=upper_fraction(abs(lower).max(abs(upper))),
        envelope_bound=envelope(shared_step, rounds),
    )


def envelope(shared_step: Fraction, rounds: int) -> Fraction:
    """q^n / 2 + 3 a (q^n - 2^-n) / (q - 1/2) with q = 1 - 4a/9 >= 1 - a/sqrt(5), rounded up: it tends to 0."""
    q = ball_of(1 - shared_step * Fraction(4, 9))
    decay, halving = q**rounds, ball_of(Fraction(1, 2**rounds))
    noise = ball_of(3 * shared_step) * (decay - halving) / (q - ball_of(Fraction(1, 2)))
    return upper_fraction(decay / 2 + noise)


def _one_round(claim: Claim, mean: arb, shared_step: Fraction, local_step: Fraction) -> arb:
    steps = [ball_of(step) for step in (shared_step, *[local_step] * (claim.local_steps - 1))]
    points, _ = one_round(claim, mean, steps, slope_ball)
    return sum(points[1:], points[0]) / claim.instance.clients
