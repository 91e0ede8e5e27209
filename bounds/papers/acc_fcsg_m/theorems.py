"""Acc-FCSG-M (Wu et al.): Theorem 4.7, Corollary 4.8, Remark 4.9 and the lemmas of appendix D.

The printed theorem has no value for c; c = 30 S_F^2/(bN), the only one in the paper, is used. `corrected` statements
are derived in docs/theory/fcsg.md; they hold for the algorithm as printed, whose first estimate is not averaged.
"""

import sympy as sp

from ...language.dimension import OBJECTIVE
from ...language.theorem import Condition, Metric, Statement, Term
from ..fcsg import composed as fcsg_proof
from ..fcsg import theorems as fcsg
from ..fcsg.notation import (
    BIAS,
    GRADIENT_SQ,
    MOMENTUM_RANGE,
    PRODUCT,
    S_F,
    SHORT_STEP,
    STATIONARITY,
    STEP,
    C,
    R,
    declare,
    follows,
    s,
)
from . import composed as proof

_smooth, _c = S_F.symbol, C.symbol
_clients = s.N * s.b

# --- appendix D ----------


def _descent(drift: sp.Expr) -> tuple[Term, ...]:
    return (
        Term("descent", -s.alpha / 2 * s.gradient_sq),
        Term("direction", -(s.alpha / 2 - s.alpha**2 * _smooth / 2) * s.update_sq),
        Term("drift", 3 * s.alpha * _smooth**2 / 2 * drift),
        Term("bias", 3 * s.alpha / 2 * BIAS),
        Term("estimate", 3 * s.alpha / 2 * s.error_sq),
    )


LEMMA_D_1 = declare(
    "acc_fcsg_m",
    "lemma_d_1",
    "lemma",
    "descent of Acc-FCSG-M",
    ("Lemma D.1", "32"),
    Metric("F(xbar_{t+1}) - F(xbar_t)", r"\mathbb{E}[F(\bar x_{t+1})-F(\bar x_t)]", OBJECTIVE),
    Statement(
        "printed",
        _descent(s.client_deviation_sq / s.N),
        derived=(S_F,),
        note="the deviation is that of one client n, the sum over n is not printed; ubar_{t+1} is compared with "
        "(1/N) sum_n grad Fhat^n(x_t^n)",
    ),
    composed=proof.descent,
    corrected=Statement("corrected", _descent(s.consensus_error), derived=(S_F,)),
)

_kept = (1 - s.beta) ** 2
LEMMA_D_2 = declare(
    "acc_fcsg_m",
    "lemma_d_2",
    "lemma",
    "error of the averaged estimate",
    ("Lemma D.2", "37"),
    Metric(
        "E||ubar_{t+1} - (1/N) sum_n grad Fhat^n(x_t^n)||^2",
        r"\mathbb{E}\|\bar u_{t+1}-\frac1N\sum_n\nabla\hat F^n(x_t^n)\|^2",
        GRADIENT_SQ,
        "update_sq, dispersion_sq and error_sq are those of step t",
    ),
    Statement(
        "printed",
        (
            Term("estimate", _kept * s.error_sq),
            Term("dispersion", 8 * _kept * _smooth**2 / _clients * (s.q - 1) / s.q * s.alpha**2 * s.dispersion_sq),
            Term("direction", 4 * _kept * _smooth**2 * s.alpha**2 / _clients * s.update_sq),
            Term("variance", 2 * s.beta**2 * s.L_f**2 / _clients),
        ),
        derived=(S_F,),
        note="taken from another paper, without a proof here",
    ),
    corrected=Statement(
        "corrected",
        (
            Term("estimate", _kept * s.error_sq),
            Term("dispersion", 2 * _kept * _smooth**2 / _clients * s.alpha**2 * s.dispersion_sq),
            Term("direction", 2 * _kept * _smooth**2 * s.alpha**2 / _clients * s.update_sq),
            Term("jump", 2 * _kept * _smooth**2 / _clients * s.previous_consensus),
            Term("variance", 2 * s.beta**2 * PRODUCT / _clients),
        ),
        derived=(S_F,),
        note="t >= 1; at a communication the dispersion is 0, at every other step the jump may be left out",
    ),
    not_composed="quoted from another paper, without a proof",
)

LEMMA_D_3 = declare(
    "acc_fcsg_m",
    "lemma_d_3",
    "lemma",
    "dispersion of the estimates",
    ("Lemma D.3", "38"),
    Metric(
        "average of (1/N) sum_n E||u_t^n - ubar_t||^2",
        r"\frac1T\sum_t\frac1N\sum_n\mathbb{E}\|u_t^n-\bar u_t\|^2",
        GRADIENT_SQ,
        "both sides of (38) divided by 15 alpha/72 and by the number of steps",
    ),
    Statement(
        "printed",
        (
            Term("direction", R(3, 5) * s.update_sq),
            Term("variance", R(3, 5) * s.L_f**2 * _c**2 * s.alpha**2 / (s.b * _smooth**2)),
            Term("heterogeneity", R(9, 5) * PRODUCT * _c**2 * s.alpha**2 / _smooth**2),
        ),
        proof.PROOF,
        (S_F, C),
        proof.MOMENTUM,
    ),
    composed=proof.dispersion,
    corrected=Statement(
        "corrected",
        (
            Term("direction", R(583, 100) * (s.alpha * s.q * _smooth) ** 2 * s.update_sq),
            Term("heterogeneity", R(73, 25) * PRODUCT * s.beta**2 * (s.q**2 - 1)),
            Term("first_block", R(73, 25) * PRODUCT / s.T * (s.q - 1), "initialisation"),
        ),
        (SHORT_STEP, MOMENTUM_RANGE),
        (S_F,),
        note="the sum runs over 1 <= t < T and is divided by T, since u_t exists from t = 1 on; first_block may be left out if "
        "u_1 is averaged before the first step; derivation: docs/theory/fcsg.md",
    ),
)

# --- Theorem 4.7 and what follows ----------

MOMENTUM_PRINTED = Condition("momentum_choice", s.beta, "==", 5 * _smooth * s.alpha)
LONG_ROUND = Condition(
    "long_round", s.alpha, "<=", 3 / (4 * s.q ** R(3, 2) * _smooth), "the jump at a communication; implied for q <= 81"
)

THEOREM_4_7 = declare(
    "acc_fcsg_m",
    "theorem_4_7",
    "theorem",
    "convergence of Acc-FCSG-M",
    ("Theorem 4.7", ""),
    STATIONARITY,
    Statement(
        "printed",
        (
            Term("initialisation", 2 * s.F_gap / (s.alpha * s.T)),
            Term("start", 3 * PRODUCT / (s.beta * s.B * s.N * s.T), "initialisation"),
            Term("drift", R(13, 6) * PRODUCT * _c**2 * s.alpha**2 / _smooth**2),
            Term("bias", 3 * BIAS),
            Term("variance", 6 * s.beta * s.L_f**2 / _clients),
        ),
        (STEP, MOMENTUM_PRINTED),
        (S_F, C),
        {"beta": 5 * _smooth * s.alpha},
        note="c is not defined in the statement; c = 30 S_F^2/(bN) is the only value in the paper",
    ),
    composed=lambda: proof.theorem(LEMMA_D_1, LEMMA_D_2, LEMMA_D_3, fcsg.LEMMA_A_3_VARIANCE),
    corrected=Statement(
        "corrected",
        (
            Term("initialisation", 2 * s.F_gap / (s.alpha * s.T)),
            Term("start", 3 * PRODUCT / (s.beta * s.B * s.N * s.T), "initialisation"),
            Term("drift", R(1, 3) * PRODUCT * _c**2 * s.alpha**2 / _smooth**2),
            Term("bias", 3 * BIAS),
            Term("variance", 6 * s.beta * PRODUCT / _clients),
            Term("first_block", R(3, 5) * s.q * (s.q - 1) * PRODUCT / s.T, "initialisation"),
        ),
        (*proof.PROOF, LONG_ROUND),
        (S_F, C),
        proof.MOMENTUM,
        note="first_block may be left out if u_1 is averaged before the first step; derivation: docs/theory/fcsg.md",
    ),
)

POWER = (s.N * s.T) ** R(-2, 3)
PERIOD = (s.T / s.N**2) ** R(1, 3)
CHOICES = {
    "alpha": s.N ** R(2, 3) / (12 * _smooth * s.T ** R(1, 3)),
    "beta": 5 * s.N ** R(1, 3) / (24 * s.T ** R(2, 3) * s.b),
    "B": PERIOD,
}
SCHEDULE = {**CHOICES, "q": PERIOD}
LARGEST_PERIOD = R(9) ** R(2, 3) * (s.T / s.N**2) ** R(2, 9)

COROLLARY_4_8 = declare(
    "acc_fcsg_m",
    "corollary_4_8",
    "corollary",
    "Acc-FCSG-M with its schedule",
    ("Corollary 4.8", "51"),
    STATIONARITY,
    Statement(
        "printed",
        (
            Term("initialisation", 24 * _smooth * s.F_gap * POWER),
            Term("start", R(72, 5) * s.b * PRODUCT * POWER, "initialisation"),
            Term("drift", R(325, 24) * PRODUCT / s.b**2 * POWER),
            Term("bias", 3 * BIAS),
            Term("variance", R(5, 4) * s.L_f**2 / s.b**2 * POWER),
        ),
        follows(SCHEDULE),
        (S_F,),
        SCHEDULE,
    ),
    composed=lambda: fcsg_proof.scheduled(THEOREM_4_7, SCHEDULE, s.N**2 * s.q**3),
    corrected=Statement(
        "corrected",
        (
            Term("initialisation", 24 * _smooth * s.F_gap * POWER),
            Term("start", R(72, 5) * s.b * PRODUCT * POWER, "initialisation"),
            Term("drift", R(25, 12) * PRODUCT / s.b**2 * POWER),
            Term("bias", 3 * BIAS),
            Term("variance", R(5, 4) * PRODUCT / s.b**2 * POWER),
            Term("first_block", R(3, 5) * s.q * (s.q - 1) * PRODUCT / s.T, "initialisation"),
        ),
        (
            *follows(CHOICES),
            Condition("short_round", s.q, "<=", PERIOD, "alpha <= 1/(12 q S_F)"),
            Condition("long_round", s.q, "<=", LARGEST_PERIOD, "alpha <= 3/(4 q^(3/2) S_F)"),
        ),
        (S_F,),
        CHOICES,
        note="q is free; first_block may be left out if u_1 is averaged before the first step",
    ),
    follows_from=(THEOREM_4_7, SCHEDULE),
)

REMARK_4_9 = fcsg_proof.rounds(
    "remark_4_9",
    "acc_fcsg_m",
    "communication rounds of Acc-FCSG-M",
    "Remark 4.9",
    (s.N * s.T) ** R(2, 3),
    SCHEDULE,
    corrected=Statement(
        "corrected",
        (Term("rounds", sp.Max((s.N * s.T) ** R(2, 3), fcsg_proof.tidy(s.T / LARGEST_PERIOD))),),
        note="T/q at the largest period that the corrected Corollary 4.8 admits",
    ),
)

THEOREMS = (THEOREM_4_7, COROLLARY_4_8, REMARK_4_9, LEMMA_D_1, LEMMA_D_2, LEMMA_D_3)
