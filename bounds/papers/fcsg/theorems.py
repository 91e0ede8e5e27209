"""FCSG (Wu et al.): Theorem 4.1, Corollary 4.2, Remark 4.3 and the lemmas of appendices A and B.

`corrected` statements are derived in docs/theory/fcsg.md.
"""

import sympy as sp

from ...language.dimension import OBJECTIVE, VARIABLE
from ...language.theorem import Condition, Derived, Metric, Statement, Term
from . import composed as proof
from .notation import BIAS, GRADIENT_SQ, PRODUCT, ROOT_SCHEDULE, S_F, STATIONARITY, STEP, R, declare, follows, s

_smooth = S_F.symbol
RATE = 1 / sp.sqrt(s.N * s.T)

# --- appendix A ----------

LEMMA_A_2 = declare(
    "fcsg",
    "lemma_a_2",
    "lemma",
    "constants of the plug-in gradient",
    ("Lemma A.2", "10"),
    Metric("S_F", "S_F", OBJECTIVE / VARIABLE**2, "Lipschitz constant of grad F and grad Fhat"),
    Statement(
        "printed",
        (),
        derived=(
            S_F,
            Derived("bias_F", s.L_g * s.S_f * s.sigma_g / sp.sqrt(s.m), r"\|\nabla\hat F^n-\nabla F^n\|", "(a) bias"),
            Derived("sigma_F", s.L_f * s.L_g, r"\sigma_F", "(c) deviation of a stochastic gradient, and ||grad Fhat||"),
            Derived("zeta_F", 2 * s.L_f * s.L_g, r"\|\nabla\hat F^n-\nabla\hat F^k\|", "(d) heterogeneity"),
        ),
        note="for points that do not depend on the samples",
    ),
    composed=lambda: proof.plug_in_constants(),
)

LEMMA_A_3_VARIANCE = declare(
    "fcsg",
    "lemma_a_3_variance",
    "lemma",
    "variance of an outer batch",
    ("Lemma A.3, first part", ""),
    Metric(
        "E||batch gradient - grad Fhat^n(x_t^n)||^2", r"\mathbb{E}\|G_t^n(x_t^n)-\nabla\hat F^n(x_t^n)\|^2", GRADIENT_SQ
    ),
    Statement("printed", (Term("variance", PRODUCT / s.b),)),
    composed=lambda: proof.batch_variance(LEMMA_A_2),
)

LEMMA_A_3 = declare(
    "fcsg",
    "lemma_a_3",
    "lemma",
    "spread of the clients' gradients",
    ("Lemma A.3, second part", "13"),
    Metric(
        "(1/N) sum_n E||grad Fhat^n(x_n) - mean||^2",
        r"\frac1N\sum_n\mathbb{E}\|\nabla\hat F^n(x_t^n)-\frac1N\sum_k\nabla\hat F^k(x_t^k)\|^2",
        GRADIENT_SQ,
    ),
    Statement(
        "printed",
        (Term("drift", 6 * _smooth**2 * s.consensus_error), Term("heterogeneity", 12 * PRODUCT)),
        derived=(S_F,),
        note="printed as a sum over the clients; here divided by N",
    ),
    composed=lambda: proof.spread(LEMMA_A_2),
)

# --- appendix B ----------

CONSENSUS_SUM = Metric(
    "sum_t (1/N) sum_n E||x_n - xbar||^2",
    r"\sum_{t=0}^{T-1}\frac1N\sum_n\mathbb{E}\|x_t^n-\bar x_t\|^2",
    VARIABLE**2,
    "summed over t = 0..T-1",
)
DRIFT = (s.q - 1) * (2 * s.q - 1) / 6 * s.alpha**2 * PRODUCT
"""Average consensus error when every estimate has a second moment of at most L_f^2 L_g^2 (docs, step 1)."""

LEMMA_B_1 = declare(
    "fcsg",
    "lemma_b_1",
    "lemma",
    "client drift of FCSG",
    ("Lemma B.1", "14"),
    CONSENSUS_SUM,
    Statement(
        "printed",
        (Term("drift", 39 * s.q * (s.q - 1) * s.alpha**2 * PRODUCT * s.T),),
        (STEP,),
        (S_F,),
    ),
    composed=lambda: proof.consensus(LEMMA_A_3, LEMMA_A_3_VARIANCE),
    corrected=Statement("corrected", (Term("drift", DRIFT * s.T),), note="any step size"),
)

LEMMA_B_2 = declare(
    "fcsg",
    "lemma_b_2",
    "lemma",
    "descent of FCSG",
    ("Lemma B.2", ""),
    Metric("E[F(xbar_{t+1}) - F(xbar_t)]", r"\mathbb{E}[F(\bar x_{t+1})-F(\bar x_t)]", OBJECTIVE),
    Statement(
        "printed",
        (
            Term("descent", -s.alpha / 2 * s.gradient_sq),
            Term("drift", s.alpha * _smooth**2 * s.consensus_error),
            Term("bias", s.alpha * BIAS),
            Term("variance", s.alpha**2 * _smooth * PRODUCT / s.N),
        ),
        derived=(S_F,),
        note="the consensus error stands without its expectation",
    ),
    composed=lambda: proof.descent(LEMMA_A_3_VARIANCE),
    corrected=Statement(
        "corrected",
        (
            Term("descent", -s.alpha / 2 * s.gradient_sq),
            Term("drift", s.alpha * _smooth**2 * s.consensus_error),
            Term("bias", s.alpha * BIAS),
            Term("variance", s.alpha**2 * _smooth * PRODUCT / (2 * s.N * s.b)),
        ),
        (Condition("descent_step", s.alpha * _smooth, "<=", sp.Integer(1)),),
        (S_F,),
        note="t >= 1; at t = 0 the batch is B",
    ),
)

# --- Theorem 4.1 and what follows ----------

THEOREM_4_1 = declare(
    "fcsg",
    "theorem_4_1",
    "theorem",
    "convergence of FCSG",
    ("Theorem 4.1", ""),
    STATIONARITY,
    Statement(
        "printed",
        (
            Term("initialisation", 2 * s.F_gap / (s.alpha * s.T)),
            Term("bias", 2 * BIAS),
            Term("variance", 2 * s.alpha * _smooth * PRODUCT / s.N),
            Term("drift", 42 * s.q * (s.q - 1) * s.alpha**2 * PRODUCT * _smooth**2),
        ),
        (STEP,),
        (S_F,),
        note="printed without expectations and with F(xbar_T) in place of the infimum",
    ),
    composed=lambda: proof.theorem(LEMMA_B_1, LEMMA_B_2),
    corrected=Statement(
        "corrected",
        (
            Term("initialisation", 2 * s.F_gap / (s.alpha * s.T)),
            Term("bias", 2 * BIAS),
            Term("variance", s.alpha * _smooth * PRODUCT / (s.N * s.b)),
            Term("drift", 2 * _smooth**2 * DRIFT),
        ),
        (
            Condition("descent_step", s.alpha * _smooth, "<=", sp.Integer(1), "no limit on q"),
            Condition("first_batch", s.b, "<=", s.B, "the first step is at most as noisy as the others"),
        ),
        (S_F,),
        {"B": s.b},
        note="derivation: docs/theory/fcsg.md, section 2",
    ),
)

COROLLARY_4_2 = declare(
    "fcsg",
    "corollary_4_2",
    "corollary",
    "FCSG with its schedule",
    ("Corollary 4.2", "27"),
    STATIONARITY,
    Statement(
        "printed",
        (
            Term("initialisation", 12 * _smooth * s.F_gap * RATE),
            Term("bias", 2 * BIAS),
            Term("variance", PRODUCT / 6 * RATE),
            Term("drift", R(19, 9) * PRODUCT * RATE),
        ),
        follows(ROOT_SCHEDULE),
        (S_F,),
        ROOT_SCHEDULE,
    ),
    composed=lambda: proof.scheduled(THEOREM_4_1, ROOT_SCHEDULE, s.N**3 * s.q**4),
    corrected=Statement(
        "corrected",
        (
            Term("initialisation", 12 * _smooth * s.F_gap * RATE),
            Term("bias", 2 * BIAS),
            Term("variance", PRODUCT / (6 * s.b) * RATE),
            Term("drift", PRODUCT / 54 * RATE),
        ),
        (
            *follows(ROOT_SCHEDULE, at_most=("q",)),
            Condition("horizon", s.T, ">=", s.N**3, "at least one step between communications"),
            Condition("first_batch", s.b, "<=", s.B),
        ),
        (S_F,),
        {**ROOT_SCHEDULE, "B": s.b},
        note="the corrected Theorem 4.1 with (q-1)(2q-1) <= 2q^2; shorter rounds are covered",
    ),
    follows_from=(THEOREM_4_1, ROOT_SCHEDULE),
)

REMARK_4_3 = proof.rounds(
    "remark_4_3", "fcsg", "communication rounds of FCSG", "Remark 4.3", (s.N * s.T) ** R(3, 4), ROOT_SCHEDULE
)

THEOREMS = (
    THEOREM_4_1,
    COROLLARY_4_2,
    REMARK_4_3,
    LEMMA_A_2,
    LEMMA_A_3_VARIANCE,
    LEMMA_A_3,
    LEMMA_B_1,
    LEMMA_B_2,
)
