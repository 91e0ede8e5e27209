"""Theorem 4.1 of FedDRO: vanilla FedAvg provably fails on g_1 = 4x - 4, g_2 = -2x + 4, f(y) = sqrt(y^2 + 4).

Guarantee: a machine-checked certificate that xbar >= 1/2 at every communication round, for every step size of the
claimed range and every reachable x (so never near the stationary point x* = 0); how far beyond the paper's constants it
reaches; where xbar ends up, as a function of eta; and what the printed proof and statement get wrong.

    >>> summary("II")["certificate"]["status"]
    'certified'

Source: feddro, Theorem 4.1, Appendix D, figure 6; docs/theory/counterexample.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from .....bounds.evaluation.enclosure import Enclosure
from ....runs.declaration import Counterexample
from .certificate import BoxCertificate, certify, recheck
from .certificate import Counterexample as Point
from .consequences import (
    LEMMAS_OF,
    PROOF_STEPS,
    band_is_increasing,
    contracts,
    invariance_range,
    limit_band,
    limit_point,
    refute_varying_steps,
)
from .figure import figure, scene
from .instance import PAPER_CLAIMS, THEOREM, Case, Claim

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


def _certificate_dict(found: BoxCertificate) -> dict[str, Any]:
    margins = {rule: found.worst_margin(rule) for rule in ("drift", "clearance")}
    faults = recheck(found)
    return {
        "status": found.status,
        "eta_certified": str(found.eta_certified),
        "boxes": len(found.proved),
        "evaluations": found.evaluations,
        "worst_margin": {rule: None if margin is None else _below(margin) for rule, margin in margins.items()},
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
            "abs_x_upper": _above(refuted.final_bound),
            "envelope_upper": _above(refuted.envelope_bound),
        },
    }
    return result


def _limits(case: Case) -> dict[str, Any]:
    eta_max = PAPER_CLAIMS[case].eta_max
    band = limit_band(case, eta_max)
    shrinks = contracts(case, eta_max, CONTRACTION_RATE)
    at = [limit_point(case, eta_max * i / 8) for i in range(9)]
    return {
        "eta_to_zero": at[0].as_dict(),
        "points": [point.as_dict() for point in at[1:]],
        "for_every_eta_between": [cell.as_dict() for cell in band],
        "increasing_in_eta": band_is_increasing(case, band),
        "contraction": {"interval": ["1/2", "3"], "factor": f"1 - {CONTRACTION_RATE} eta", "eta_upper": str(eta_max)}
        if shrinks
        else None,
    }


def _point(found: Point) -> dict[str, Any]:
    return {
        "x": str(found.x),
        "eta": str(found.eta),
        "second_eta": str(found.second_eta),
        "below_by": _below(found.below_by),
    }


def _below(value: Fraction) -> float:
    """A float that is not above an exact value: what is printed never claims more than what is proved."""
    return Enclosure(value, value).floats()[0]


def _above(value: Fraction) -> float:
    return Enclosure(value, value).floats()[1]


def text(found: Mapping[str, Any]) -> str:
    """What `fedco counterexample` prints of a case."""
    certificate, limits = found["certificate"], found["limit_points"]
    points = [
        f"  eta = {p['eta_upper']:.5f}: xbar -> {p['x_lower']:.9f}, ||grad Phi|| = {p['gradient_norm_lower']:.6f}"
        for p in limits["points"]
    ]
    zero = limits["eta_to_zero"]
    return "\n".join(
        [
            f"Case {found['case']}: {found['claim']['statement']} for 0 < eta <= {found['claim']['eta_upper']}",
            f"  certificate: {certificate['status']} up to eta = {certificate['eta_certified']}, boxes: {certificate['boxes']}, "
            f"re-checked with fractions: {certificate['rechecked_with_fractions']}",
            f"  eta -> 0: xbar -> {zero['x_lower']:.9f}, ||grad Phi|| = {zero['gradient_norm_lower']:.6f} (the minimiser is 0)",
            *points,
        ]
    )


def row(found: Mapping[str, Any]) -> dict[str, str]:
    """The row of a case in the report, by heading."""
    certificate, last = found["certificate"], found["limit_points"]["points"][-1]
    return {
        "case": found["case"],
        "claimed range": f"0 < eta < {found['claim']['eta_upper']}",
        "certificate": f"{certificate['status']}, {certificate['boxes']} boxes",
        "range certified here": found["beyond_the_claim"]["two_local_steps"]["eta_certified"],
        "limit point at the end of the range": f"{last['x_lower']:.9f}",
        "||grad Phi|| there": f"{last['gradient_norm_lower']:.6f}",
    }


COUNTEREXAMPLE = Counterexample(
    "Vanilla FedAvg does not converge",
    "Two clients, g_1 = 4x - 4 and g_2 = -2x + 4, f = sqrt(y^2 + 4): the objective is sqrt(x^2 + 4), minimised at 0. The "
    "table certifies, in ball arithmetic and for every step size of the range at once, that the average never comes below "
    "1/2 at a communication.",
    tuple(Case),
    summary,
    text,
    row,
    figure,
    "xbar at each communication of vanilla FedAvg for several step sizes, with certified limit points, and the two "
    "methods that do reach the stationary point 0.",
    scene,
)
