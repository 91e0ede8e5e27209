"""The printed proof of Theorem 4.1, step by step, and three lemmas that reach further; each with an exact check.

Every check is a statement about polynomials or rationals (s(y) < b for y, b >= 0 is y^2 < b^2 (y^2 + 4)), or about a listing
of boxes that `recheck` has looked at.

Source: feddro, Theorem 4.1 and Appendix D; docs/theory/counterexample.md for the reduction to polynomials.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import sympy as sp

from .certificate import certify
from .instance import PAPER, PAPER_CLAIMS, PAPER_LEVEL, Case, Claim, Instance
from .limits import limit_band
from .recheck import recheck

V = sp.Symbol("v")
"""The variable of the facts, v >= 0."""
ETA = 1 + V
"""A step size of at least 1."""
ETA_SQUARED = Fraction(1, 8)
"""(sqrt(2)/4)^2: the square of the largest step size of `LOCAL_STEP`, attained at x = 3/2 by client 1."""
LEMMA_ETA = Fraction(35355, 100000)
"""A rational just below sqrt(2)/4, the reach of the lemmas for any number of local steps."""


# --- lemmas ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fact:
    """A polynomial is >= 0 for every v >= 0, being (v - root)^2, or 1 without a root, times one with no negative coefficient."""

    statement: str
    polynomial: sp.Expr
    root: Fraction | None = None

    @property
    def holds(self) -> bool:
        square = sp.Poly(1 if self.root is None else (V - self.root) ** 2, V)
        quotient, remainder = sp.div(sp.Poly(self.polynomial, V), square)
        return bool(remainder.is_zero and all(c >= 0 for c in quotient.all_coeffs()))


@dataclass(frozen=True)
class Lemma:
    """A statement and the polynomial facts that its argument rests on."""

    name: str
    statement: str
    facts: tuple[Fact, ...]

    @property
    def holds(self) -> bool:
        return bool(self.facts) and all(fact.holds for fact in self.facts)


def local_step_polynomial(
    client: int, eta_squared: Fraction = ETA_SQUARED, threshold: Fraction = PAPER_LEVEL, instance: Instance = PAPER
) -> sp.Expr:
    """(v + z - threshold)^2 (a^2 v^2 + 4) - eta^2 a^4 v^2, with z = -c/a the client's own optimum and x = z + v.

    From x = z + v, v > 0, the step back is eta |a| s(|a| v) = eta a^2 v / sqrt(a^2 v^2 + 4), so >= 0 says that it
    ends at or above the threshold; from x <= z the step goes up.
    """
    a, z = instance.slopes[client], Fraction(-instance.offsets[client], instance.slopes[client])
    return (V + z - threshold) ** 2 * (a**2 * V**2 + 4) - eta_squared * a**4 * V**2


def _ratio(ratio: Fraction, eta_text: str, speed: Fraction) -> Fact:
    """4 r^2 >= (1/2 + speed r)^2 (2 - r^2), where speed >= 2 sqrt(2) eta_max: see docs, `After the shared step`."""
    statement = f"second step >= {ratio} of the first, steps up to {eta_text}: s(2) pays for s(x) wherever x_1 < 1/2"
    return Fact(statement, sp.sympify(4 * ratio**2 - (PAPER_LEVEL + speed * ratio) ** 2 * (2 - ratio**2)))


LOCAL_STEP = Lemma(
    "local_step",
    "x_k >= 1/2 implies x_k - eta a_k s(g_k(x_k)) >= 1/2 for k = 1, 2 and every 0 < eta <= sqrt(2)/4",
    (
        Fact("client 1, x = 1 + v", local_step_polynomial(0), root=Fraction(1, 2)),
        Fact("client 2, x = 2 + v", local_step_polynomial(1)),
    ),
)
"""So case I holds for every number of local steps and every sequence of steps in that range (the paper: I = 2, eta < 1/8)."""

AFTER_THE_SHARED_STEP = Lemma(
    "after_the_shared_step",
    "case II, every I >= 2: both clients are >= 1/2 from the second local step on, for steps in (0, sqrt(2)/4] with "
    "second >= 3/4 first, and for steps in (0, 1/22] with second >= 2/5 first; later steps of the round are free",
    (
        _ratio(Fraction(3, 4), "sqrt(2)/4", Fraction(1)),
        _ratio(Fraction(2, 5), "1/22", Fraction(3, 22)),
    ),
)
"""So case II holds for every I >= 2 (the paper: I = 2, constant eta < 1/22)."""

LARGE_STEP = Lemma(
    "large_step",
    "case II, I = 2, one step size per round: x >= 1/2 implies xbar >= 1/2 after the round, for every eta >= 1",
    (
        Fact("x_1 > 1 after the shared step: 16 eta^2 - 4 >= 12 eta", 16 * ETA**2 - 4 - 12 * ETA),
        Fact("0 < x_1 <= 1: 9 (4 eta^2 - 1) >= 4 (eta + 1/2)^2", 9 * (4 * ETA**2 - 1) - 4 * (ETA + PAPER_LEVEL) ** 2),
        Fact(
            "x_1 <= 0, x <= 5/2: 4/sqrt(5) - 1 >= 5/sqrt(41), as (1 + 25/32)^2 <= 16/5 and (5/(25/32))^2 <= 41",
            sp.sympify(min(Fraction(16, 5) - Fraction(57, 32) ** 2, 41 - Fraction(32, 5) ** 2)),
        ),
        Fact("x_1 <= 0, x > 5/2, sqrt(x^2+4) <= 3 eta: s(5/2) >= 3/4", sp.Integer(25 * 16 - 9 * 41)),
        Fact("and then 2 (4 + 3 eta)^2 >= 4 eta", 2 * (4 + 3 * ETA) ** 2 - 4 * ETA),
        Fact("x_1 <= 0, x > 5/2, sqrt(x^2+4) > 3 eta: 4/sqrt(5) >= 7/4", sp.Integer(16 * 16 - 5 * 49)),
        Fact("and then 9 eta^2 - 4 >= (1/2 + eta/4)^2", 9 * ETA**2 - 4 - (PAPER_LEVEL + ETA / 4) ** 2),
    ),
)
"""With boxes on (0, 1]: every eta > 0."""

LEMMAS_OF = {Case.I: (LOCAL_STEP,), Case.II: (LOCAL_STEP, AFTER_THE_SHARED_STEP, LARGE_STEP)}

# --- the printed steps ---------------------------------------------------------------------------------------------------

HALF, ETA_II, CASE_3_RIGHT_END = Fraction(1, 2), Fraction(1, 22), Fraction(11, 10)


@dataclass(frozen=True)
class ProofStep:
    """One printed step: where it stands, what is printed, what holds, and a check that re-derives `holds` exactly.

    `kind`: `holds`; `loose` (true, far from tight); `slip` (the printed formula is false, the argument survives once it is
    mended); `gap` (not shown, and true); `overclaim` (said, and false as said). `line` is the line of the extracted text.
    """

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


def sign_of_13(end: Fraction = CASE_3_RIGHT_END) -> bool:
    """s(x) < 1/2 at both ends of [1/2, 11/10], hence on all of it: s increases; s(x) = 1/2 only at x^2 = 4/3."""
    return slope_below(HALF, HALF) and slope_below(end, HALF) and Fraction(4, 3) > end**2


def six_tenths(x: Fraction = CASE_3_RIGHT_END) -> bool:
    """q(x) = (4 - 23x/11)^2 - (6/10)^2 ((4 - 2x)^2 + 4) >= 0 on [1/2, 11/10]: convex, falling up to 11/10, >= 0 there.

    The square root's argument is largest at epsilon_2 = 0 and the numerator is positive.
    """
    steepness, share = Fraction(23, 11), Fraction(36, 100)
    value = (4 - steepness * x) ** 2 - share * ((4 - 2 * x) ** 2 + 4)
    derivative = -2 * steepness * (4 - steepness * x) + 4 * share * (4 - 2 * x)
    convex = steepness**2 - 4 * share > 0
    return 4 - steepness * x > 0 and convex and derivative < 0 and value >= 0


def missing_signs(eta: Fraction = ETA_II) -> bool:
    """(>=, <) needs x (1 - 2 e) <= 1 and x (1 + e) > 2, so e > 1/5; but e < eta < 1/22. (<, =) is x = 2/(1 + e)."""
    needed = Fraction(1, 5)
    return (1 + needed) / (1 - 2 * needed) == 2 and epsilon_2_below(HALF, eta, eta) and needed > eta


def ends_of_case_3(eta: Fraction = ETA_II) -> bool:
    """1/(1 - 2 epsilon_2) is at most 1.1, as epsilon_2 < eta."""
    return 1 / (1 - 2 * eta) == CASE_3_RIGHT_END and epsilon_2_below(HALF, eta, eta)


def first_cases(eta: Fraction = Fraction(1, 8)) -> bool:
    """1/2 - 3 eta >= eta at eta = 1/8 (equality), 1/2 - 2 eta >= eta up to 1/6."""
    return HALF - 3 * eta == eta and HALF - 2 * Fraction(1, 6) == Fraction(1, 6)


def is_certified(claim: Claim, status: str = "certified") -> bool:
    """The certifier says so, and its listing or its point was re-checked with fractions."""
    found = certify(claim)
    return found.status == status and not recheck(found) and (found.counterexample is not None) == (status == "refuted")


PROOF_STEPS = (
    ProofStep(
        "case I, step size",
        497,
        "holds",
        "|4 eta s(4 x_1 - 4)| <= 1/2 for eta <= 1/8",
        "true",
        lambda: 4 * Fraction(1, 8) <= HALF,
    ),
    ProofStep(
        "case I, node 2",
        505,
        "loose",
        "1/2 <= x_2^{t+1} <= 3/2",
        "x_2^{t+1} < 5/4",
        lambda: 1 + 2 * Fraction(1, 8) == Fraction(5, 4) < Fraction(3, 2),  # x_2^{t+1} < 1 + 2 eta for x < 1
    ),
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
        missing_signs,
    ),
    ProofStep(
        "case II, cases (1), (2)",
        570,
        "holds",
        "1/2 - 3 eta >= eta and 1/2 - 2 eta >= eta for eta <= 1/8",
        "true; the second up to eta = 1/6",
        first_cases,
    ),
    ProofStep(
        "case II, case (3)",
        580,
        "holds",
        "1/2 <= x <= 1/(1 - 2 epsilon_2) <= 1.1, 1 + epsilon_2 <= 23/22",
        "true, as epsilon_2 < eta < 1/22",
        ends_of_case_3,
    ),
    ProofStep(
        "case II, (13)",
        588,
        "slip",
        "eta x / sqrt(x^2 + 4) > eta/2 for 1/2 <= x <= 1.1",
        "eta x / sqrt(x^2 + 4) < eta/2 on the whole of [1/2, 1.1] (0.2425 eta at 1/2, 0.4819 eta at 1.1, "
        "equality only at 2/sqrt(3)): the reverse of what is printed, and what makes (13) sufficient",
        sign_of_13,
    ),
    ProofStep(
        "case II, 6/10",
        590,
        "holds",
        "(4 - 2x 23/22) / sqrt((4 - 2x(1 + epsilon_2))^2 + 4) >= 6/10",
        "true on [1/2, 1.1] (at least 0.63)",
        six_tenths,
    ),
    ProofStep(
        "claims, C_eta",
        531,
        "loose",
        "C_eta = 1/8 (case I), 1/22 (case II)",
        "case I: sqrt(2)/4 for any I and any step sizes; case II: sqrt(2)/4 for any I >= 2 and one step size per "
        "round, and every eta > 0 for I = 2",
        lambda: (
            is_certified(Claim(Case.II, eta_max=Fraction(1)))
            and all(lemma.holds for lemma in (LOCAL_STEP, AFTER_THE_SHARED_STEP, LARGE_STEP))
        ),
    ),
    ProofStep(
        "claims",
        481,
        "holds",
        "xbar >= 1/2 at every communication round for 0 < eta < C_eta",
        "true",
        lambda: all(is_certified(claim) for claim in PAPER_CLAIMS.values()),
    ),
    ProofStep(
        "Theorem 4.1, 'for any 0 < eta^t < C_eta'",
        428,
        "overclaim",
        "no convergence for any step sizes eta^t in (0, C_eta), case II included",
        "false in case II: if the steps after the shared one shrink (2^-n of it in round n), xbar tends to the "
        "stationary point, for every C_eta; true if each round keeps one step size, or second >= 11/100 first "
        "(I = 2); false already at second = 1/10 first as an invariance of [1/2, inf)",
        # s(1/2) > (1/10)(2 s(2) + s(3)) suffices at x = 1/2 as eta -> 0
        lambda: is_certified(Claim(Case.II, eta_max=ETA_II, step_ratio=Fraction(1, 10)), "refuted"),
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
        lambda: all(cell.lower > 1 for cell in limit_band(Case.II, ETA_II)),
    ),
)
