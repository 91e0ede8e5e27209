"""The printed proof of Theorem 4.1, step by step, each with an exact check of what holds instead.

Every check is a statement about polynomials or rationals (s(y) < b for y, b >= 0 is y^2 < b^2 (y^2 + 4)), so that it
can be run again with `Fraction` alone. `kind`: `holds`; `loose` (true, far from tight); `slip` (the printed formula is
false, the argument survives once it is mended); `gap` (not shown, and true); `overclaim` (said, and false as said).

Source: feddro, Theorem 4.1 and Appendix D. `line` is the line of the extracted text of the paper.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from .certificate import certify
from .instance import PAPER_CLAIMS, Case, Claim
from .lemmas import AFTER_THE_SHARED_STEP, LARGE_STEP, LOCAL_STEP
from .limits import limit_band
from .recheck import recheck

HALF = Fraction(1, 2)
ETA_II = Fraction(1, 22)
CASE_3_RIGHT_END = Fraction(11, 10)


@dataclass(frozen=True)
class ProofStep:
    """One printed step: where it stands, what is printed, what holds, and a check that re-derives `holds` exactly."""

    where: str
    line: int
    kind: str
    printed: str
    holds: str
    check: Callable[[], bool]

    def as_dict(self) -> dict[str, str | int | bool]:
        return {
            "where": self.where,
            "line": self.line,
            "kind": self.kind,
            "printed": self.printed,
            "expected": self.holds,
            "rechecked": self.check(),
        }


def slope_below(y: Fraction, bound: Fraction) -> bool:
    """Whether s(y) = y / sqrt(y^2 + 4) < bound, exactly, for y >= 0 and bound >= 0."""
    return y * y < bound * bound * (y * y + 4)


def epsilon_2_below(x: Fraction, eta: Fraction, bound: Fraction) -> bool:
    """Whether epsilon_2 = 2 eta / sqrt(x^2 + 4) < bound, exactly."""
    return 4 * eta * eta < bound * bound * (x * x + 4)


def _case_1_step() -> bool:
    return 4 * Fraction(1, 8) <= HALF


def _node_2_range() -> bool:
    """x_2^{t+1} < 1 + 2 eta <= 5/4 for x < 1 and eta <= 1/8."""
    return 1 + 2 * Fraction(1, 8) == Fraction(5, 4) < Fraction(3, 2)


def _sign_of_13() -> bool:
    """s(x) < 1/2 at both ends of [1/2, 11/10], hence on all of it: s increases; s(x) = 1/2 only at x^2 = 4/3."""
    return slope_below(HALF, HALF) and slope_below(CASE_3_RIGHT_END, HALF) and Fraction(4, 3) > CASE_3_RIGHT_END**2


def _six_tenths() -> bool:
    """q(x) = (4 - 23x/11)^2 - (6/10)^2 ((4 - 2x)^2 + 4) >= 0 on [1/2, 11/10]: convex, falling up to 11/10, >= 0 there.

    The square root's argument is largest at epsilon_2 = 0 and the numerator is positive.
    """
    x, steepness, share = CASE_3_RIGHT_END, Fraction(23, 11), Fraction(36, 100)
    value = (4 - steepness * x) ** 2 - share * ((4 - 2 * x) ** 2 + 4)
    derivative = -2 * steepness * (4 - steepness * x) + 4 * share * (4 - 2 * x)
    convex = steepness**2 - 4 * share > 0
    return 4 - steepness * x > 0 and convex and derivative < 0 and value >= 0


def _missing_signs() -> bool:
    """(>=, <) needs x (1 - 2 e) <= 1 and x (1 + e) > 2, so e > 1/5; but e < eta < 1/22. (<, =) is x = 2/(1 + e)."""
    needed = Fraction(1, 5)
    return (1 + needed) / (1 - 2 * needed) == 2 and epsilon_2_below(HALF, ETA_II, ETA_II) and needed > ETA_II


def _ends_of_case_3() -> bool:
    return 1 / (1 - 2 * ETA_II) == CASE_3_RIGHT_END and epsilon_2_below(HALF, ETA_II, ETA_II)


def _first_cases() -> bool:
    """1/2 - 3 eta >= eta at eta = 1/8 (equality), 1/2 - 2 eta >= eta up to 1/6."""
    eta = Fraction(1, 8)
    return HALF - 3 * eta == eta and HALF - 2 * Fraction(1, 6) == Fraction(1, 6)


def _constants_are_loose() -> bool:
    """The lemmas' proofs, and boxes for case II up to eta = 1, re-checked without arb."""
    boxes = certify(Claim(Case.II, eta_max=Fraction(1)))
    clean = boxes.status == "certified" and not recheck(boxes)
    return clean and LOCAL_STEP.holds and AFTER_THE_SHARED_STEP.holds and LARGE_STEP.holds


def _varying_steps_fail() -> bool:
    """At x = 1/2 a round with second step eta'/eta <= 1/10 ends below 1/2: s(1/2) > (1/10)(2 s(2) + s(3)) suffices
    as eta -> 0, and the certifier returns an exact point, re-checked with fractions."""
    found = certify(Claim(Case.II, eta_max=ETA_II, step_ratio=Fraction(1, 10)))
    return found.status == "refuted" and found.counterexample is not None and not recheck(found)


def _printed_claims() -> bool:
    found = [certify(claim) for claim in PAPER_CLAIMS.values()]
    return all(one.status == "certified" and not recheck(one) for one in found)


def _figure_6_remark() -> bool:
    """The certified limit points of case II exceed 1 for every eta of [0, 1/22]."""
    return all(cell.lower > 1 for cell in limit_band(Case.II, ETA_II))


PROOF_STEPS = (
    ProofStep("case I, step size", 497, "holds", "|4 eta s(4 x_1 - 4)| <= 1/2 for eta <= 1/8", "true", _case_1_step),
    ProofStep("case I, node 2", 505, "loose", "1/2 <= x_2^{t+1} <= 3/2", "x_2^{t+1} < 5/4", _node_2_range),
    ProofStep(
        "case I, cases (2) and (3)",
        507,
        "gap",
        "'follows in a very similar straightforward manner'",
        "one local step of either node keeps [1/2, inf) for every eta <= sqrt(2)/4, from any x >= 1/2",
        lambda: LOCAL_STEP.holds,
    ),
    ProofStep(
        "case II, cases (1)-(3)",
        562,
        "gap",
        "signs (<0,<0), (<0,>0), (>=0,>=0)",
        "(<0,=0) is missing (the argument of case (2) covers it); (>=0,<0) is missing and empty, as it needs "
        "epsilon_2 > 1/5, and epsilon_2 < eta < 1/22",
        _missing_signs,
    ),
    ProofStep(
        "case II, cases (1), (2)",
        570,
        "holds",
        "1/2 - 3 eta >= eta and 1/2 - 2 eta >= eta for eta <= 1/8",
        "true; the second up to eta = 1/6",
        _first_cases,
    ),
    ProofStep(
        "case II, case (3)",
        580,
        "holds",
        "1/2 <= x <= 1/(1 - 2 epsilon_2) <= 1.1, 1 + epsilon_2 <= 23/22",
        "true, as epsilon_2 < eta < 1/22",
        _ends_of_case_3,
    ),
    ProofStep(
        "case II, (13)",
        588,
        "slip",
        "eta x / sqrt(x^2 + 4) > eta/2 for 1/2 <= x <= 1.1",
        "eta x / sqrt(x^2 + 4) < eta/2 on the whole of [1/2, 1.1] (0.2425 eta at 1/2, 0.4819 eta at 1.1, "
        "equality only at 2/sqrt(3)): the reverse of what is printed, and what makes (13) sufficient",
        _sign_of_13,
    ),
    ProofStep(
        "case II, 6/10",
        590,
        "holds",
        "(4 - 2x 23/22) / sqrt((4 - 2x(1 + epsilon_2))^2 + 4) >= 6/10",
        "true on [1/2, 1.1] (at least 0.63)",
        _six_tenths,
    ),
    ProofStep(
        "claims, C_eta",
        531,
        "loose",
        "C_eta = 1/8 (case I), 1/22 (case II)",
        "case I: sqrt(2)/4 for any I and any step sizes; case II: sqrt(2)/4 for any I >= 2 and one step size per "
        "round, and every eta > 0 for I = 2",
        _constants_are_loose,
    ),
    ProofStep(
        "claims", 481, "holds", "xbar >= 1/2 at every communication round for 0 < eta < C_eta", "true", _printed_claims
    ),
    ProofStep(
        "Theorem 4.1, 'for any 0 < eta^t < C_eta'",
        428,
        "overclaim",
        "no convergence for any step sizes eta^t in (0, C_eta), case II included",
        "false in case II: if the steps after the shared one shrink (2^-n of it in round n), xbar tends to the "
        "stationary point, for every C_eta; true if each round keeps one step size, or second >= 11/100 first "
        "(I = 2); false already at second = 1/10 first as an invariance of [1/2, inf)",
        _varying_steps_fail,
    ),
    ProofStep(
        "Theorem 4.1, 'a fixed I > 1'",
        461,
        "gap",
        "the proof treats I = 2 only",
        "true for every I >= 2 (case I: every I >= 1); at I = 1 case II is gradient descent",
        lambda: LOCAL_STEP.holds and AFTER_THE_SHARED_STEP.holds,
    ),
    ProofStep(
        "figure 6, remark",
        602,
        "holds",
        "in case II xbar converges to a quantity greater than 1",
        "true for every 0 < eta <= 1/22 (the limit point increases from 1.0553 to 1.1263); 'the proof of Theorem "
        "4.2 above' is that of Theorem 4.1",
        _figure_6_remark,
    ),
)
