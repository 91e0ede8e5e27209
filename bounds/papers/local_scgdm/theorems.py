"""Local-SCGDM (Gao, Li, Huang): Theorem 3.4, Corollary 3.5, Lemma 3.9 and the lemmas and lines that the proof composes.

`printed` is what the paper prints. Lemma 4.1 is printed twice, as (11) and, proved, as (25): the theorem uses (25).
Composed: composed.py; corrected: corrected.py; derivation: docs/theory/local_scgdm.md.
"""

from dataclasses import replace

import sympy as sp

from ...language.dimension import OBJECTIVE, ONE, VARIABLE
from ...language.theorem import Condition, Derived, Metric, Statement, Term, Theorem
from . import composed as proof
from . import corrected
from .lemmas import (
    DESCENT,
    LEMMA_4_1,
    LEMMA_4_2,
    LEMMA_4_3,
    LEMMA_4_3_STEP,
    LEMMA_A_1,
    LEMMA_A_2,
    POTENTIAL,
    POTENTIAL_STEP,
    START,
    START_INNER,
    START_MOMENTUM,
)
from .notation import (
    COMMUNICATES,
    DESCENT_STEP,
    INNER_RANGE,
    JACOBIAN,
    L_F,
    META,
    MOMENTUM_RANGE,
    OUTER,
    PERIOD,
    PERIOD_SQ,
    SCALE,
    STATIONARITY,
    STEP,
    VALUE,
    declare,
    s,
)

_smooth = L_F.symbol

# --- Lemma 3.9: meta-learning ----------------------------------------------------------------------------------------

LEMMA_3_9: Theorem = declare(
    "lemma_3_9",
    "lemma",
    "constants of federated meta-learning",
    ("Lemma 3.9", "10"),
    Metric("constants of (8)", "L_F", OBJECTIVE / VARIABLE**2, "with [y] = [x]; the dimension is that of L_F"),
    Statement(
        "printed",
        (),
        derived=(
            Derived("L_f", s.L_1, "L_f", "(19)"),
            Derived("L_g", s.lam * s.L_2, "L_g", "(18)"),
            Derived("C_f", sp.sqrt(s.sigma_1**2 + s.G**2), "C_f", "(22)"),
            Derived("C_g", sp.sqrt((1 + s.lam * s.L_1) ** 2 + s.lam**2 * s.sigma_2**2), "C_g", "(21)"),
            Derived("sigma_f", s.sigma_1, r"\sigma_f", "(23)"),
            Derived("sigma_g", s.lam * s.sigma_2, r"\sigma_g", "(23)"),
            Derived("delta_g", s.lam * s.sigma_1, r"\delta_g", "(23)"),
            Derived("L_F", (1 + s.lam * s.L_1) ** 2 * s.L_1 + s.lam * s.G * s.L_2, "L_F", "(24)"),
        ),
        note="printed as squares where a square stands",
    ),
    composed=lambda: proof.meta(s),
    corrected=lambda: corrected.meta(s, LEMMA_3_9),
    assumptions=META,
)

# --- Theorem 3.4 and Corollary 3.5 -----------------------------------------------------------------------------------

_AVERAGE_NOISE = (
    Term("inner_noise", 2 * s.gamma * s.eta * VALUE, "variance"),
    Term("gradient_noise", 2 * s.alpha * s.eta * (OUTER + JACOBIAN), "variance"),
    Term("inner_noise_second", 2 * s.gamma**2 * s.eta**2 * VALUE, "variance"),
)
_DRIFT = Term("drift", 32 * PERIOD_SQ * _smooth**2 * (16 * VALUE + OUTER + 3 * JACOBIAN), "drift")
_GAP = Term("initial_gap", 2 * s.F_gap / (s.beta * s.eta * s.T), "initialisation")
_USED = (MOMENTUM_RANGE, INNER_RANGE, STEP, SCALE, DESCENT_STEP, PERIOD)

SUMMED = declare(
    "summed",
    "lemma",
    "the potential over T steps",
    ("proof of Theorem 3.4", "42"),
    STATIONARITY,
    Statement(
        "printed",
        (
            _GAP,
            Term("initial_momentum", s.start_momentum_error / (s.alpha * s.eta * s.T), "initialisation"),
            Term(
                "initial_inner",
                2 * s.C_g**2 * s.L_g**2 * s.start_inner_error / (s.gamma * s.eta * s.T),
                "initialisation",
            ),
            *_AVERAGE_NOISE,
            _DRIFT,
        ),
        conditions=_USED,
        derived=(L_F,),
        note="the last line of (42); (46) has other coefficients for the two initial errors",
    ),
    composed=lambda: proof.summed(s, POTENTIAL_STEP, LEMMA_4_3),
)
THEOREM_3_4 = declare(
    "theorem_3_4",
    "theorem",
    "convergence of Local-SCGDM",
    ("Theorem 3.4", "6"),
    STATIONARITY,
    Statement(
        "printed",
        (
            _GAP,
            Term("initial_momentum", 6 * (OUTER + VALUE + JACOBIAN) / (s.alpha * s.eta * s.T), "initialisation"),
            Term("initial_inner", 4 * s.C_g**2 * s.L_g**2 * s.delta_g**2 / (s.gamma * s.eta * s.T), "initialisation"),
            *_AVERAGE_NOISE,
            _DRIFT,
        ),
        conditions=(*_USED, COMMUNICATES),
        derived=(L_F,),
        note="(46) is the same; p > 1 is an input of Algorithm 1",
    ),
    composed=lambda: proof.theorem(s, SUMMED, START_MOMENTUM, START_INNER),
    corrected=lambda: corrected.corrected(s, L_F, (MOMENTUM_RANGE, INNER_RANGE, STEP, SCALE)),
    note="refuting instances: bounds/papers/local_scgdm/instances.py",
)

SCHEDULE = {"eta": s.T ** sp.Rational(-1, 2), "p": s.T ** sp.Rational(1, 4)}
_CHOICES = tuple(Condition(f"{name}_choice", getattr(s, name), "==", value) for name, value in SCHEDULE.items())
_SHORTER = (_CHOICES[0], replace(_CHOICES[1], relation="<="))
_ROOT = sp.sqrt(s.T)
COROLLARY_3_5 = declare(
    "corollary_3_5",
    "corollary",
    "rate 1/sqrt(T)",
    ("Corollary 3.5", "7"),
    STATIONARITY,
    Statement(
        "printed",
        (
            Term("initial_gap", 2 * s.F_gap / (s.beta * _ROOT), "initialisation"),
            Term("initial_momentum", 6 * (OUTER + VALUE + JACOBIAN) / (s.alpha * _ROOT), "initialisation"),
            Term("initial_inner", 4 * s.C_g**2 * s.L_g**2 * s.delta_g**2 / (s.gamma * _ROOT), "initialisation"),
            Term("inner_noise", 2 * s.gamma * VALUE / _ROOT, "variance"),
            Term("gradient_noise", 2 * s.alpha * (OUTER + JACOBIAN) / _ROOT, "variance"),
            Term("inner_noise_second", 2 * s.gamma**2 * VALUE / s.T, "variance"),
            Term("drift", 32 * s.beta**2 * _smooth**2 * (16 * VALUE + OUTER + 3 * JACOBIAN) / _ROOT),
        ),
        conditions=_CHOICES,
        derived=(L_F,),
        schedule=SCHEDULE,
        note="printed without any condition on alpha, beta, gamma and T",
    ),
    composed=lambda: proof.at_schedule(s, THEOREM_3_4, "composed", SCHEDULE, _CHOICES),
    corrected=lambda: proof.at_schedule(s, THEOREM_3_4, "corrected", SCHEDULE, _SHORTER),
    follows_from=(THEOREM_3_4, SCHEDULE),
)

_UNIT_MOMENTA = {s.alpha: sp.Integer(1), s.gamma: sp.Integer(1)}
REMARK_3_6 = declare(
    "remark_3_6",
    "claim",
    "step size at alpha = gamma = 1",
    ("Remark 3.6", ""),
    Metric("beta", r"\beta", VARIABLE**2 / OBJECTIVE, "largest step size that Theorem 3.4 admits at alpha = gamma = 1"),
    Statement("printed", (Term("limit", 1 / sp.sqrt(16 * s.C_g**4 * s.L_f**2 + 8 * _smooth**2)),), derived=(L_F,)),
    composed=lambda: Statement(
        "composed",
        (Term("limit", 1 / sp.sqrt(sp.expand(1 / STEP.right.xreplace(_UNIT_MOMENTA) ** 2))),),
        derived=(L_F,),
        note="from the condition on beta",
    ),
)
REMARK_3_7 = declare(
    "remark_3_7",
    "claim",
    "communication rounds",
    ("Remark 3.7", ""),
    Metric("T/p", "T/p", ONE, "number of communication rounds with the schedule of Corollary 3.5"),
    Statement("printed", (Term("rounds", s.T ** sp.Rational(3, 4)),), note="eps^-3 rounds for T = eps^-4 iterations"),
    composed=lambda: Statement("composed", (Term("rounds", s.T / SCHEDULE["p"]),), note="T/p at the schedule"),
)

THEOREMS = (
    THEOREM_3_4,
    COROLLARY_3_5,
    REMARK_3_6,
    REMARK_3_7,
    LEMMA_3_9,
    LEMMA_4_1,
    LEMMA_4_2,
    LEMMA_4_3,
    LEMMA_A_1,
    LEMMA_A_2,
    LEMMA_4_3_STEP,
    DESCENT,
    POTENTIAL_STEP,
    POTENTIAL,
    SUMMED,
    START_MOMENTUM,
    START_INNER,
    START,
)
