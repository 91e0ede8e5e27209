"""What follows for the instance of Theorem 4.1: lemmas, where the runs end, how far the claims reach, and the printed proof.

The derivations are in docs/theory/counterexample.md. A check here is a statement about polynomials or rationals (s(y) < b for
y, b >= 0 is y^2 < b^2 (y^2 + 4)), about balls of arb, rounded outward, or about a listing of boxes that `recheck` has looked at.

Source: feddro, Theorem 4.1, Appendix D, figure 6, Algorithm 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import sympy as sp
from flint import arb

from .....bounds.evaluation.enclosure import Enclosure, ball_of
from .....bounds.papers.feddro.checks import sign_before_13
from .certificate import (
    Box,
    Counterexample,
    certify,
    curvature_ball,
    explore,
    hull,
    lower_fraction,
    probe,
    recheck,
    slope_ball,
    upper_fraction,
)
from .instance import (
    PAPER,
    PAPER_CLAIMS,
    PAPER_LEVEL,
    Case,
    Claim,
    one_round,
    round_derivatives,
    round_drift,
)

# --- lemmas for every number of local steps -----------------------------------------------------------------------------

V = sp.Symbol("v")
"""The variable of the facts, v >= 0."""
ETA = 1 + V
"""A step size of at least 1."""
ETA_SQUARED = Fraction(1, 8)
"""(sqrt(2)/4)^2: the square of the largest step size of `LOCAL_STEP`, attained at x = 3/2 by client 1."""
LEMMA_ETA = Fraction(35355, 100000)
"""A rational just below sqrt(2)/4, the reach of the lemmas for any number of local steps."""


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
    client: int, eta_squared: Fraction = ETA_SQUARED, threshold: Fraction = PAPER_LEVEL
) -> sp.Expr:
    """(v + z - threshold)^2 (a^2 v^2 + 4) - eta^2 a^4 v^2, with z = -c/a the client's own optimum and x = z + v.

    From x = z + v, v > 0, the step back is eta |a| s(|a| v) = eta a^2 v / sqrt(a^2 v^2 + 4), so >= 0 says that it
    ends at or above the threshold; from x <= z the step goes up.
    """
    a, z = PAPER.slopes[client], Fraction(-PAPER.offsets[client], PAPER.slopes[client])
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


# --- where the runs end -------------------------------------------------------------------------------------------------

#: eta times the largest curvature of f(g_1), which is 4^2 / 2 = 8, must not exceed 1 for a monotone round map.
MONOTONE_ETA = Fraction(1, 8)
#: The round map sends this interval into itself for every eta <= MONOTONE_ETA (certified with the contraction).
TRAP = (Fraction(1, 2), Fraction(3))

_POINT_HALF_WIDTH = Fraction(1, 2**40)
_BAND_STEPS = 40


@dataclass(frozen=True)
class LimitPoint:
    """xbar*(eta) is in `x` for every step size in `eta`, and ||grad Phi|| there in `gradient`."""

    eta: Enclosure
    x: Enclosure
    gradient: Enclosure

    def as_dict(self) -> dict[str, float]:
        """Floats rounded outward."""
        enclosures = {"eta": self.eta, "x": self.x, "gradient_norm": self.gradient}
        return {
            f"{name}_{end}": value
            for name, enclosure in enclosures.items()
            for end, value in zip(("lower", "upper"), enclosure.floats(), strict=True)
        }


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
    return _limit_point(Enclosure(eta, eta), Enclosure(lower, upper))


def limit_band(case: Case, eta_max: Fraction, cells: int = 16) -> tuple[LimitPoint, ...]:
    """Enclosures of xbar*(eta), with two local steps, valid for *every* eta of each of `cells` intervals that tile [0, eta_max]."""
    claim = _monotone_claim(case, eta_max, 2)
    edges = [eta_max * i / cells for i in range(cells + 1)]
    band = []
    for cell in pairwise(edges):
        lower, upper = (_last_certain(claim, hull(*cell), side) for side in (0, 1))
        band.append(_limit_point(Enclosure(*cell), Enclosure(lower, upper)))
    return tuple(band)


def band_is_increasing(case: Case, band: tuple[LimitPoint, ...]) -> bool:
    """Whether dF/deta > 0 is certified around the whole band of `limit_band`: then xbar*(eta) increases, because dF/dx < 0.

    False means undecided.
    """
    claim = _monotone_claim(case, band[-1].eta.upper, 2)

    def rise(box: Box) -> arb:
        return round_derivatives(claim, *box.balls, slope_ball, curvature_ball)[1].lower()

    return all(is_above(Box(*cell.x.pair, *cell.eta.pair), rise, Fraction(0)) for cell in band)


def contracts(case: Case, eta_max: Fraction, rate: Fraction, local_steps: int = 2) -> bool:
    """Whether |M(x) - xbar*| <= (1 - rate eta) |x - xbar*| on TRAP, which M keeps, for every eta in (0, eta_max]; False if undecided.

    The round map M is increasing (eta <= 1/8), the ends of TRAP move inward, and -dF/dx >= rate on the whole of it.
    """
    claim = _monotone_claim(case, eta_max, local_steps)

    def inward(box: Box) -> arb:
        drift = round_drift(claim, *box.balls, slope_ball)
        return drift.lower() if box.x_lower == TRAP[0] else (-drift).lower()

    def steepness(box: Box) -> arb:
        return (-round_derivatives(claim, *box.balls, slope_ball, curvature_ball)[0]).lower()

    ends = [Box(end, end, Fraction(0), eta_max) for end in TRAP]
    keeps = all(is_above(end, inward, Fraction(0)) for end in ends)
    return keeps and is_above(Box(*TRAP, Fraction(0), eta_max), steepness, rate)


def _monotone_claim(case: Case, eta: Fraction, local_steps: int) -> Claim:
    if not 0 <= eta <= MONOTONE_ETA:
        raise ValueError(f"eta: wanted a rational in [0, {MONOTONE_ETA}], where the round map is monotone, got {eta}")
    return Claim(case, eta_max=MONOTONE_ETA, local_steps=local_steps)


def _float_root(claim: Claim, eta: float) -> Fraction:
    """Where F changes sign in floats: a proposal, which `limit_point` certifies."""
    lower, upper = map(float, TRAP)
    for _ in range(50):
        middle = (lower + upper) / 2
        rising = round_drift(claim, middle, eta) > 0
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


def _limit_point(eta: Enclosure, x: Enclosure) -> LimitPoint:
    """||grad Phi(x)|| = x / sqrt(x^2 + 4) increases in x > 0."""
    gradient = lower_fraction(slope_ball(ball_of(x.lower))), upper_fraction(slope_ball(ball_of(x.upper)))
    return LimitPoint(eta, x, Enclosure(*gradient))


def is_above(region: Box, quantity: Callable[[Box], arb], bound: Fraction, limit: int = 4_000) -> bool:
    """Whether quantity > bound is certified on boxes that cover the region; False where `limit` of them do not decide it."""
    ball = ball_of(bound)
    shape = (region.x_upper - region.x_lower) / (region.eta_upper - region.eta_lower)

    def decided(box: Box) -> bool | None:
        value = quantity(box)
        return True if value.is_finite() and value > ball else None

    _, undecided, *_ = explore(region, shape, decided, limit)
    return not undecided


# --- how far the claims reach -------------------------------------------------------------------------------------------

#: The scan looks for a failing step size in (0, SCAN_TO].
SCAN_TO = Fraction(1)
#: Counterexamples are proposed at multiples of 1 / X_GRID, so that they print shorter.
X_GRID = 2**24
_MOST_BOXES = 12_000


@dataclass(frozen=True)
class InvarianceRange:
    """`xbar >= 1/2 implies xbar >= 1/2 a round later` holds on (0, certified] (every eta > 0 if None).

    It fails at `counterexample` (None: no failure exists, or none was found).
    """

    certified: Fraction | None
    argument: str
    counterexample: Counterexample | None


def invariance_range(case: Case, local_steps: int = 2, gap: Fraction = Fraction(1, 400)) -> InvarianceRange:
    """Bracket the first step size at which the invariance fails; boxes are tried up to `gap` below the failure found.

    Raises ValueError in case II with one local step, which is gradient descent and keeps no such level.
    """
    if case is Case.II and local_steps == 1:
        raise ValueError("local_steps: wanted at least 2 in case II (one shared step is gradient descent), got 1")
    if case is Case.II and local_steps == 2:
        return _every_step_size()
    failure = first_failure(Claim(case, eta_max=SCAN_TO, local_steps=local_steps))
    wanted = SCAN_TO if failure is None else failure.eta - gap
    boxes = certify(Claim(case, eta_max=wanted, local_steps=local_steps), _MOST_BOXES)
    lemma_holds = LEMMA_ETA**2 <= ETA_SQUARED and LOCAL_STEP.holds and AFTER_THE_SHARED_STEP.holds
    if lemma_holds and boxes.eta_certified < LEMMA_ETA:
        return InvarianceRange(LEMMA_ETA, "lemmas", failure)
    return InvarianceRange(boxes.eta_certified, f"{len(boxes.proved)} boxes", failure)


def first_failure(claim: Claim, eta_points: int = 2000, x_points: int = 3000) -> Counterexample | None:
    """The smallest step size of a grid at which a certified counterexample exists on a grid of x."""
    reach = float(claim.reach)
    for i in range(1, eta_points + 1):
        eta = claim.eta_max * i / eta_points
        x = float(claim.threshold) + np.linspace(0.0, reach * float(eta), x_points)
        after = x + float(eta) * round_drift(claim, x, float(eta))
        if after.min() < float(claim.threshold):
            found = probe(claim, Fraction(round(float(x[after.argmin()]) * X_GRID), X_GRID), eta)
            if found is not None:
                return found
    return None


def _every_step_size() -> InvarianceRange:
    """Case II with two local steps: boxes up to eta = 1, the lemma from there on."""
    boxes = certify(Claim(Case.II, eta_max=Fraction(1)))
    if boxes.status == "certified" and LARGE_STEP.holds:
        return InvarianceRange(None, f"{len(boxes.proved)} boxes up to 1, lemma `large_step` beyond", None)
    return InvarianceRange(boxes.eta_certified, f"{len(boxes.proved)} boxes", boxes.counterexample)


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
        lower = _mean_after(
            claim, lower, shared_step, local_step
        ).lower()  # the round is increasing in xbar: eta <= 1/8
        upper = _mean_after(claim, upper, shared_step, local_step).upper()
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


def _mean_after(claim: Claim, mean: arb, shared_step: Fraction, local_step: Fraction) -> arb:
    steps = [ball_of(step) for step in (shared_step, *[local_step] * (claim.local_steps - 1))]
    return one_round(claim, mean, steps, slope_ball)[0]


# --- the printed steps ---------------------------------------------------------------------------------------------------

HALF, CASE_3_RIGHT_END = Fraction(1, 2), Fraction(11, 10)
ETA_I, ETA_II = (PAPER_CLAIMS[case].eta_max for case in Case)


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


def epsilon_2_below(x: Fraction, eta: Fraction, bound: Fraction) -> bool:
    """Whether epsilon_2 = 2 eta / sqrt(x^2 + 4) < bound, exactly."""
    return 4 * eta * eta < bound * bound * (x * x + 4)


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


def first_cases(eta: Fraction = ETA_I) -> bool:
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
        lambda: 4 * ETA_I <= HALF,
    ),
    ProofStep(
        "case I, node 2",
        505,
        "loose",
        "1/2 <= x_2^{t+1} <= 3/2",
        "x_2^{t+1} < 5/4",
        lambda: 1 + 2 * ETA_I == Fraction(5, 4) < Fraction(3, 2),  # x_2^{t+1} < 1 + 2 eta for x < 1
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
        lambda: bool(sign_before_13()),
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
        "false of the clients of the proof in case II: if the steps after the shared one shrink (2^-n of it in round n), xbar tends to "
        "the stationary point, for every C_eta; true if each round keeps one step size, or second >= 11/100 first "
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
        lambda: all(cell.x.lower > 1 for cell in limit_band(Case.II, ETA_II)),
    ),
)
