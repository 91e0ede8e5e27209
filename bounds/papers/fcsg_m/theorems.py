"""FCSG-M (Wu et al.): Theorem 4.4, Corollary 4.5, Remark 4.6 and the lemmas of appendix C.

`corrected` statements are derived in docs/theory/fcsg.md.
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
    ROOT_SCHEDULE,
    S_F,
    STATIONARITY,
    STEP,
    R,
    declare,
    follows,
    s,
)
from . import composed as proof

_smooth = S_F.symbol
RATE = fcsg.RATE
GRADIENT_DISPERSION = PRODUCT * (1 + 1 / s.N) + 12 * PRODUCT
"""As Lemma C.3 prints it."""
MOMENTUM_CHOICE = Condition("momentum_choice", s.beta, "==", proof.MOMENTUM["beta"])

# --- appendix C ----------

LEMMA_C_1 = declare(
    "fcsg_m",
    "lemma_c_1",
    "lemma",
    "descent of FCSG-M",
    ("Lemma C.1", "28"),
    Metric("E[F(xbar_{t+1}) - F(xbar_t)]", r"\mathbb{E}[F(\bar x_{t+1})-F(\bar x_t)]", OBJECTIVE),
    Statement(
        "printed",
        (
            Term("descent", -s.alpha / 2 * s.gradient_sq),
            Term("direction", -(s.alpha / 2 - s.alpha**2 * _smooth / 2) * s.update_sq),
            Term("drift", 4 * s.alpha * _smooth**2 * s.consensus_error),
            Term("bias", 2 * s.alpha * BIAS),
            Term("estimate", 2 * s.alpha * s.error_sq),
        ),
        derived=(S_F,),
        note="the estimate ubar_{t+1} is compared with grad Fhat(xbar_t)",
    ),
    composed=proof.descent,
)

LEMMA_C_2 = declare(
    "fcsg_m",
    "lemma_c_2",
    "lemma",
    "error of the averaged estimate",
    ("Lemma C.2", ""),
    Metric(
        "(1/T) sum_t E||ubar_{t+1} - grad Fhat(xbar_t)||^2",
        r"\frac1T\sum_{t=0}^{T-1}\mathbb{E}\|\bar u_{t+1}-\nabla\hat F(\bar x_t)\|^2",
        GRADIENT_SQ,
        "the observables on the right are averages over t = 0..T-1 too",
    ),
    Statement(
        "printed",
        (
            Term("start", 2 * s.start_error_sq / (s.beta * s.T)),
            Term("direction", 4 * s.alpha**2 * _smooth**2 / s.beta**2 * s.update_sq),
            Term("variance", 2 * s.beta * PRODUCT / s.N),
            Term("drift", 2 * _smooth**2 * s.consensus_error),
        ),
        (MOMENTUM_RANGE,),
        (S_F,),
        note="0 < beta < 1 stands in section 4.2",
    ),
    composed=lambda: proof.tracking(fcsg.LEMMA_A_3_VARIANCE),
)

LEMMA_C_3 = declare(
    "fcsg_m",
    "lemma_c_3",
    "lemma",
    "client drift of FCSG-M",
    ("Lemma C.3", ""),
    fcsg.CONSENSUS_SUM,
    Statement(
        "printed",
        (Term("drift", 6 * s.q * (s.q - 1) * s.alpha**2 * s.T / 5 * GRADIENT_DISPERSION),),
        (STEP, MOMENTUM_RANGE),
        (S_F,),
        note="0 < beta < 1 stands in section 4.2",
    ),
    composed=lambda: proof.consensus(fcsg.LEMMA_A_3, fcsg.LEMMA_A_3_VARIANCE),
    corrected=Statement("corrected", (Term("drift", fcsg.DRIFT * s.T),), (MOMENTUM_RANGE,), note="any step size"),
)

# --- Theorem 4.4 and what follows ----------

THEOREM_4_4 = declare(
    "fcsg_m",
    "theorem_4_4",
    "theorem",
    "convergence of FCSG-M",
    ("Theorem 4.4", ""),
    STATIONARITY,
    Statement(
        "printed",
        (
            Term("initialisation", 2 * s.F_gap / (s.alpha * s.T)),
            Term("drift", R(96, 5) * _smooth**2 * s.q**2 * s.alpha**2 * (PRODUCT * (1 + 1 / s.N) + 3 * PRODUCT)),
            Term("bias", 4 * BIAS),
            Term("start", 8 * PRODUCT / (s.beta * s.B * s.T), "initialisation"),
            Term("variance", 8 * s.beta * PRODUCT / s.N),
        ),
        (STEP, MOMENTUM_CHOICE),
        (S_F,),
        proof.MOMENTUM,
        note="printed with beta = 5 S_F eta; eta is the inner random variable, read as alpha",
    ),
    composed=lambda: proof.theorem(LEMMA_C_1, LEMMA_C_2, LEMMA_C_3, fcsg.LEMMA_A_3_VARIANCE),
    corrected=Statement(
        "corrected",
        (
            Term("initialisation", 2 * s.F_gap / (s.alpha * s.T)),
            Term("drift", 16 * _smooth**2 * fcsg.DRIFT),
            Term("bias", 4 * BIAS),
            Term("start", 8 * PRODUCT / (s.beta * s.N * s.B * s.T), "initialisation"),
            Term("variance", 8 * s.beta * PRODUCT / (s.N * s.b)),
        ),
        (MOMENTUM_RANGE, proof.DIRECTION),
        (S_F,),
        proof.MOMENTUM,
        note="alpha and beta free, no limit on q; derivation: docs/theory/fcsg.md, section 3",
    ),
)

SCHEDULE = {**ROOT_SCHEDULE, "beta": R(5, 6) * sp.sqrt(s.N / s.T)}
"""alpha and q as Corollary 4.5 prints them; beta = 5 S_F alpha."""

COROLLARY_4_5 = declare(
    "fcsg_m",
    "corollary_4_5",
    "corollary",
    "FCSG-M with its schedule",
    ("Corollary 4.5", ""),
    STATIONARITY,
    Statement(
        "printed",
        (
            Term("initialisation", 12 * _smooth * s.F_gap * RATE),
            Term("drift", R(112, 3) * PRODUCT * RATE),
            Term("bias", 4 * BIAS),
            Term("start", R(48, 5) * PRODUCT * RATE, "initialisation"),
            Term("variance", R(20, 3) * PRODUCT * RATE),
        ),
        follows(SCHEDULE),
        (S_F,),
        SCHEDULE,
        note="beta = 5 S_F alpha as in the theorem; no B appears: B = O(1) of Remark 4.6 is read as 1",
    ),
    composed=lambda: fcsg_proof.scheduled(THEOREM_4_4, SCHEDULE, s.N**3 * s.q**4, {"B": sp.Integer(1)}),
    corrected=Statement(
        "corrected",
        (
            Term("initialisation", 12 * _smooth * s.F_gap * RATE),
            Term("drift", R(4, 27) * PRODUCT * RATE),
            Term("bias", 4 * BIAS),
            Term("start", R(48, 5) * PRODUCT * RATE / (s.N * s.B), "initialisation"),
            Term("variance", R(20, 3) * PRODUCT * RATE / s.b),
        ),
        (
            *follows(SCHEDULE, at_most=("q",)),
            Condition("horizon", s.T, ">=", s.N**3, "at least one step between communications"),
        ),
        (S_F,),
        SCHEDULE,
        note="the corrected Theorem 4.4 with (q-1)(2q-1) <= 2q^2; shorter rounds are covered",
    ),
    follows_from=(THEOREM_4_4, {**SCHEDULE, "B": sp.Integer(1)}),
)

REMARK_4_6 = fcsg_proof.rounds(
    "remark_4_6", "fcsg_m", "communication rounds of FCSG-M", "Remark 4.6", (s.N * s.T) ** R(3, 4), ROOT_SCHEDULE
)

THEOREMS = (THEOREM_4_4, COROLLARY_4_5, REMARK_4_6, LEMMA_C_1, LEMMA_C_2, LEMMA_C_3)
