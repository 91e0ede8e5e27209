"""How far the invariance of [1/2, inf) really reaches, for other numbers of local steps: certified from both sides.

From below the larger of what the lemmas give for every number of local steps and what boxes give; from above an exact
point at which one round certainly ends below 1/2. A scan in floats only says where to look; it decides nothing.

Source: feddro, Theorem 4.1 (`for a fixed number of local updates I > 1`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .certificate import Counterexample, certify, probe
from .instance import Case, Claim, round_drift
from .lemmas import AFTER_THE_SHARED_STEP, ETA_SQUARED, LARGE_STEP, LOCAL_STEP

#: A rational just below sqrt(2)/4, the reach of the lemmas for any number of local steps.
LEMMA_ETA = Fraction(35355, 100000)
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
