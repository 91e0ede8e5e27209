"""Theorem 4.1 of FedDRO: vanilla FedAvg provably fails on g_1 = 4x - 4, g_2 = -2x + 4, f(y) = sqrt(y^2 + 4).

Guarantee: a machine-checked certificate that xbar >= 1/2 at every communication round, for every step size of the
claimed range and every reachable x (so never near the stationary point x* = 0); how far beyond the paper's constants it
reaches; where xbar ends up, as a function of eta; and what the printed proof and statement get wrong.

    >>> summary("II")["certificate"]["status"]
    'certified'

Source: feddro, Theorem 4.1, Appendix D, figure 6; docs/theory/counterexample.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

from .....figures import Plot
from .certificate import BoxCertificate, Counterexample, certify, float_above, float_below
from .figure import FIGURE_ETAS, Trajectory, draw, simulate, trajectories
from .instance import PAPER, PAPER_CLAIMS, Case, Claim, Instance
from .invariance import InvarianceRange, invariance_range
from .lemmas import AFTER_THE_SHARED_STEP, LARGE_STEP, LEMMAS, LOCAL_STEP, Lemma
from .limits import Contraction, LimitPoint, band_is_increasing, contraction, limit_band, limit_point
from .proof import PROOF_STEPS, ProofStep
from .recheck import recheck
from .schedules import ScheduleRefutation, refute_varying_steps

__all__ = [
    "LEMMAS",
    "PAPER",
    "PAPER_CLAIMS",
    "PROOF_STEPS",
    "BoxCertificate",
    "Case",
    "Claim",
    "Contraction",
    "Counterexample",
    "Instance",
    "InvarianceRange",
    "Lemma",
    "LimitPoint",
    "ProofStep",
    "ScheduleRefutation",
    "Trajectory",
    "band_is_increasing",
    "certify",
    "contraction",
    "figure",
    "invariance_range",
    "limit_band",
    "limit_point",
    "recheck",
    "refute_varying_steps",
    "simulate",
    "summary",
    "trajectories",
]

THEOREM = "feddro.theorem_4_1"
LEMMAS_OF = {Case.I: (LOCAL_STEP,), Case.II: (LOCAL_STEP, AFTER_THE_SHARED_STEP, LARGE_STEP)}
#: Case II, I = 2: the smallest certified ratio second/first step of a round, and a ratio that certainly fails.
STEP_RATIO, FAILING_STEP_RATIO = Fraction(11, 100), Fraction(1079, 10000)
#: A certified contraction rate per unit of eta on [1/2, 3], both cases.
CONTRACTION_RATE = Fraction(2, 5)
#: In the summary the boxes stop this far below the first failure found: a few hundred of them instead of thousands.
SUMMARY_GAP = Fraction(3, 250)


@cache
def summary(case: str = "I") -> dict[str, Any]:
    """Everything certified about one case, ready for JSON; floats are rounded so as never to claim too much.

    Args: case: "I" or "II". Raises: ValueError for anything else. Treat the result as read-only: it is cached.
    """
    if case not in list(Case):
        raise ValueError(f"case: wanted I or II, got {case!r}")
    chosen = Case(case)
    claim = PAPER_CLAIMS[chosen]
    found = certify(claim)
    return {
        "theorem": THEOREM,
        "case": chosen.value,
        "instance": {
            "inner": ["4*x - 4", "-2*x + 4"],
            "outer": "sqrt(y^2 + 4)",
            "objective": "sqrt(x^2 + 4)",
            "start": str(claim.start),
            "stationary_point": 0,
        },
        "claim": {
            "statement": f"xbar >= {claim.threshold} at every communication round",
            "local_steps": claim.local_steps,
            "eta_upper": str(claim.eta_max),
            "step_sizes": "one per round, any sequence in (0, eta_upper]",
        },
        "certificate": _certificate_dict(found),
        "beyond_the_claim": _beyond(chosen),
        "limit_points": _limits(chosen),
        "proof": [step.as_dict() for step in PROOF_STEPS],
    }


def figure(case: str = "II", extra: tuple[Trajectory, ...] = ()) -> Plot:
    """The figure that corresponds to the paper's figure 6, certified limit points marked, with other methods' runs."""
    chosen = Case(case)
    drawn = trajectories(chosen)
    limits = [float(limit_point(chosen, Fraction(eta)).lower) for eta in FIGURE_ETAS]
    return draw(drawn, extra, limits, title=f"Vanilla FedAvg, case {chosen.value}: I = 2, xbar^0 = 1/2")


def _certificate_dict(found: BoxCertificate) -> dict[str, Any]:
    margins = {rule: found.worst_margin(rule) for rule in ("drift", "clearance")}
    faults = recheck(found)
    return {
        "status": found.status,
        "eta_certified": str(found.eta_certified),
        "boxes": len(found.proved),
        "evaluations": found.evaluations,
        "worst_margin": {rule: None if margin is None else float_below(margin) for rule, margin in margins.items()},
        "rechecked_with_fractions": not faults,
        "recheck_faults": list(faults),
        "counterexample": None if found.counterexample is None else _point(found.counterexample),
    }


def _beyond(case: Case) -> dict[str, Any]:
    reach = invariance_range(case, 2, SUMMARY_GAP)
    result: dict[str, Any] = {
        "two_local_steps": {
            "eta_certified": "every eta > 0" if reach.certified is None else str(reach.certified),
            "by": reach.argument,
            "fails_at": None if reach.counterexample is None else _point(reach.counterexample),
        },
        "any_number_of_local_steps": {
            "eta_certified": "sqrt(2)/4",
            "local_steps": "every I >= 1" if case is Case.I else "every I >= 2",
            "lemmas": [{"name": one.name, "statement": one.statement, "holds": one.holds} for one in LEMMAS_OF[case]],
        },
    }
    if case is Case.I:
        result["step_sizes_within_a_round"] = {"holds_for": "any sequence in (0, sqrt(2)/4], every I >= 1"}
        return result
    varying, failing = (
        certify(Claim(case, eta_max=PAPER_CLAIMS[case].eta_max, step_ratio=ratio))
        for ratio in (STEP_RATIO, FAILING_STEP_RATIO)
    )
    refuted = refute_varying_steps(PAPER_CLAIMS[case].eta_max)
    result["step_sizes_within_a_round"] = {
        "holds_for": f"I = 2, steps in (0, {varying.claim.eta_max}], second >= {STEP_RATIO} first",
        "certificate": _certificate_dict(varying),
        "fails_for": f"second = {FAILING_STEP_RATIO} first",
        "fails_at": None if failing.counterexample is None else _point(failing.counterexample),
        "converging_schedule": {
            "steps": f"round n: {refuted.shared_step}, then {refuted.shared_step} * 2^-n",
            "first_round_below_one_half": refuted.first_round_below,
            "rounds": refuted.rounds,
            "abs_x_upper": float_above(refuted.final_bound),
            "envelope_upper": float_above(refuted.envelope_bound),
        },
    }
    return result


def _limits(case: Case) -> dict[str, Any]:
    eta_max = PAPER_CLAIMS[case].eta_max
    band = limit_band(case, eta_max)
    shrink = contraction(case, eta_max, CONTRACTION_RATE)
    at = [limit_point(case, eta_max * i / 8) for i in range(9)]
    return {
        "eta_to_zero": at[0].as_dict(),
        "points": [point.as_dict() for point in at[1:]],
        "for_every_eta_between": [cell.as_dict() for cell in band],
        "increasing_in_eta": band_is_increasing(case, band),
        "contraction": None
        if shrink is None
        else {"interval": ["1/2", "3"], "factor": f"1 - {shrink.rate} eta", "eta_upper": str(eta_max)},
    }


def _point(found: Counterexample) -> dict[str, Any]:
    return {
        "x": str(found.x),
        "eta": str(found.eta),
        "second_eta": str(found.second_eta),
        "below_by": float_below(found.below_by),
    }
