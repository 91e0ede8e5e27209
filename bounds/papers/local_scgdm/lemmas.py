"""Local-SCGDM: the lemmas and lines of the proof of Theorem 3.4, as printed; composed in composed.py."""

from __future__ import annotations

from ...language.dimension import INNER, OBJECTIVE, VARIABLE
from ...language.theorem import Metric, Statement, Term
from . import composed as proof
from . import corrected
from .notation import (
    ASSUMPTIONS,
    DESCENT_STEP,
    GRADIENT_SQ,
    IDENTICAL,
    INNER_RANGE,
    JACOBIAN,
    L_F,
    MOMENTUM_RANGE,
    OUTER,
    PERIOD,
    PERIOD_SQ,
    SCALE,
    STEP,
    VALUE,
    declare,
    s,
)

_smooth = L_F.symbol

# --- Lemmas 4.1 and 4.2: one step of the two estimators --------------------------------------------------------------

MOMENTUM_ERROR = Metric(
    "E||m_{t+1} - grad F_k(x_t)||^2",
    r"\mathbb{E}\|m_{t+1}^{(k)}-\nabla F^{(k)}(x_t^{(k)})\|^2",
    GRADIENT_SQ,
    "one client, or the mean over the clients",
)
INNER_ERROR = Metric(
    "E||u_{t+1} - g_k(x_t)||^2", r"\mathbb{E}\|u_{t+1}^{(k)}-g^{(k)}(x_t^{(k)})\|^2", INNER**2, "one client"
)
LEMMA_4_1 = declare(
    "lemma_4_1",
    "lemma",
    "error of the momentum",
    ("Lemma 4.1", "11"),
    MOMENTUM_ERROR,
    Statement(
        "printed",
        (
            Term("momentum_error", (1 - s.alpha * s.eta) * s.momentum_error),
            Term("inner_error", 2 * s.alpha * s.eta * s.C_g**2 * s.L_f**2 * s.next_inner_error),
            Term("momentum", 2 * s.eta * s.beta**2 * s.L_f**2 / s.alpha * s.momentum_sq),
            Term("gradient_noise", 2 * s.alpha**2 * s.eta**2 * (OUTER + JACOBIAN), "variance"),
        ),
        conditions=(MOMENTUM_RANGE,),
        note="(25), its proof, ends with L_F in the momentum term: that is `composed`",
    ),
    composed=lambda: proof.momentum_error(s, L_F, MOMENTUM_RANGE),
    corrected=lambda: corrected.momentum_error_between(s, L_F, MOMENTUM_RANGE),
)
LEMMA_4_2 = declare(
    "lemma_4_2",
    "lemma",
    "error of the inner estimate",
    ("Lemma 4.2", "12"),
    INNER_ERROR,
    Statement(
        "printed",
        (
            Term("momentum", s.eta * s.beta**2 * s.C_g**2 / s.gamma * s.momentum_sq),
            Term("inner_noise", s.gamma**2 * s.eta**2 * s.delta_g**2, "variance"),
            Term("inner_error", (1 - s.gamma * s.eta) * s.inner_error),
        ),
        conditions=(INNER_RANGE,),
        note="true between communications only",
    ),
    composed=lambda: proof.inner_error(s, INNER_RANGE),
)

# --- Lemmas A.1, A.2 and 4.3: the clients drift apart ----------------------------------------------------------------

LEMMA_A_1 = declare(
    "lemma_a_1",
    "lemma",
    "spread of the inner estimates",
    ("Lemma A.1", "27"),
    Metric(
        "sum over a period of (1/K) sum_k E||u_k - ubar||^2",
        r"\sum_{t'=s_tp}^{t-1}\frac1K\sum_k\mathbb{E}\|u_{t'}^{(k)}-\bar u_{t'}\|^2",
        INNER**2,
    ),
    Statement(
        "printed",
        (
            Term("inner_noise", 8 * s.p * s.delta_g**2, "variance"),
            Term("drift", 8 * s.C_g**2 * s.consensus_sum),
        ),
        conditions=(INNER_RANGE,),
        note="the condition is used and not printed; printed as a sum over the clients, here divided by K",
    ),
    composed=lambda: proof.inner_spread(s, INNER_RANGE),
)
LEMMA_A_2 = declare(
    "lemma_a_2",
    "lemma",
    "spread of the stochastic gradients",
    ("Lemma A.2", "33"),
    Metric("(1/K) sum_k ||z_k - zbar||^2", r"\frac1K\sum_k\|z_{t+1}^{(k)}-\bar z_{t+1}\|^2", GRADIENT_SQ, "quoted"),
    Statement(
        "printed",
        (
            Term("drift", 48 * s.C_f**2 * s.L_g**2 * s.consensus_error),
            Term("inner_consensus", 16 * s.C_g**2 * s.L_f**2 * s.inner_consensus),
            Term("outer_noise", 8 * OUTER, "variance"),
            Term("jacobian_noise", 24 * JACOBIAN, "variance"),
        ),
        note="printed without an expectation, with u_{t+1}, and as a sum over the clients",
    ),
    corrected=lambda: corrected.gradient_spread(s),
    not_composed="quoted from another paper, without a proof",
    assumptions=(*ASSUMPTIONS, IDENTICAL),
)
CONSENSUS = Metric(
    "(1/(T K)) sum_t sum_k E||x_k - xbar||^2",
    r"\frac1{TK}\sum_{t=0}^{T-1}\sum_k\mathbb{E}\|\bar x_t-x_t^{(k)}\|^2",
    VARIABLE**2,
)
LEMMA_4_3_STEP = declare(
    "lemma_4_3_step",
    "lemma",
    "drift of the clients, before it is solved",
    ("proof of Lemma 4.3", "36"),
    CONSENSUS,
    Statement(
        "printed",
        (
            Term("drift", PERIOD_SQ * (48 * s.C_f**2 * s.L_g**2 + 128 * s.C_g**4 * s.L_f**2) * s.consensus_error),
            Term("inner_noise", 128 * PERIOD_SQ * VALUE, "variance"),
            Term("outer_noise", 8 * PERIOD_SQ * OUTER, "variance"),
            Term("jacobian_noise", 24 * PERIOD_SQ * JACOBIAN, "variance"),
        ),
        conditions=(MOMENTUM_RANGE, INNER_RANGE),
        note="printed times T K; the conditions are used and not printed",
    ),
    composed=lambda: proof.drift_step(s, LEMMA_A_1, LEMMA_A_2, MOMENTUM_RANGE),
)
LEMMA_4_3 = declare(
    "lemma_4_3",
    "lemma",
    "drift of the clients",
    ("Lemma 4.3", "13"),
    CONSENSUS,
    Statement(
        "printed",
        (
            Term("inner_noise", 256 * PERIOD_SQ * VALUE, "variance"),
            Term("outer_noise", 16 * PERIOD_SQ * OUTER, "variance"),
            Term("jacobian_noise", 48 * PERIOD_SQ * JACOBIAN, "variance"),
        ),
        conditions=(PERIOD,),
        note="printed times T K",
    ),
    composed=lambda: proof.drift(s, LEMMA_4_3_STEP, PERIOD),
    corrected=lambda: corrected.drift_by_length(s),
)

# --- the potential ---------------------------------------------------------------------------------------------------

DESCENT = declare(
    "descent",
    "lemma",
    "descent of one step",
    ("Section 4", "15"),
    Metric("F(xbar_{t+1}) - F(xbar_t)", r"F(\bar x_{t+1})-F(\bar x_t)", OBJECTIVE),
    Statement(
        "printed",
        (
            Term("descent", -s.beta * s.eta / 2 * s.gradient_sq),
            Term("momentum", -s.beta * s.eta / 4 * s.momentum_sq),
            Term("momentum_error", s.beta * s.eta * s.momentum_error),
            Term("drift", s.beta * s.eta * _smooth**2 * s.consensus_error),
        ),
        conditions=(DESCENT_STEP,),
        derived=(L_F,),
        note="(38) is the same",
    ),
    composed=lambda: proof.descent(s, L_F, DESCENT_STEP),
)
_STEP_NOISE = (
    Term("inner_noise", 2 * s.beta * s.gamma * s.eta**2 * VALUE, "variance"),
    Term("gradient_noise", 2 * s.alpha * s.beta * s.eta**2 * (OUTER + JACOBIAN), "variance"),
    Term("inner_noise_second", 2 * s.beta * s.gamma**2 * s.eta**3 * VALUE, "variance"),
)
_STEP_START = (
    Term("descent", -s.beta * s.eta / 2 * s.gradient_sq),
    Term("drift", s.beta * s.eta * _smooth**2 * s.consensus_error),
)
_POTENTIAL = Metric("P_{t+1} - P_t", r"P_{t+1}-P_t", OBJECTIVE, "one step of the potential (14) = (39)")
POTENTIAL_STEP = declare(
    "potential_step",
    "lemma",
    "one step of the potential, before the condition on beta",
    ("Section 4", "16"),
    _POTENTIAL,
    Statement(
        "printed",
        (
            *_STEP_START,
            Term(
                "momentum_inner",
                2 * s.eta * s.beta**3 * s.C_g**4 * s.L_f**2 / s.gamma**2
                + 2 * s.eta**2 * s.beta**3 * s.C_g**2 * s.L_f**2 * s.C_g**2 / s.gamma,
                "momentum",
            ),
            Term(
                "momentum",
                (2 * s.eta * s.beta**3 * _smooth**2 / s.alpha**2 - s.beta * s.eta / 4) * s.momentum_sq,
            ),
            *_STEP_NOISE,
        ),
        conditions=(DESCENT_STEP, MOMENTUM_RANGE, INNER_RANGE),
        derived=(L_F,),
        note="the bracket is closed too early in (16): momentum_inner lacks momentum_sq; (40) is right",
    ),
    composed=lambda: proof.potential_step(s, DESCENT, LEMMA_4_1, LEMMA_4_2),
)
POTENTIAL = declare(
    "potential",
    "lemma",
    "descent of the potential",
    ("Section 4", "17"),
    _POTENTIAL,
    Statement(
        "printed",
        (*_STEP_START, *_STEP_NOISE),
        conditions=(DESCENT_STEP, MOMENTUM_RANGE, INNER_RANGE, STEP, SCALE),
        derived=(L_F,),
        note="(41) is the same; printed after the condition on beta, in the setting of Theorem 3.4",
    ),
    composed=lambda: proof.potential(s, POTENTIAL_STEP, STEP, SCALE),
)

# --- the start -------------------------------------------------------------------------------------------------------

START_MOMENTUM = declare(
    "start_momentum",
    "lemma",
    "error of the first momentum",
    ("proof of Theorem 3.4", "43"),
    Metric("E||m_1 - grad F_k(x_0)||^2", r"\mathbb{E}\|m_1^{(k)}-\nabla F^{(k)}(x_0)\|^2", GRADIENT_SQ),
    Statement(
        "printed",
        (
            Term("outer_noise", 3 * OUTER, "variance"),
            Term("inner_noise", 3 * VALUE, "variance"),
            Term("jacobian_noise", 3 * JACOBIAN, "variance"),
        ),
    ),
    composed=lambda: proof.start_momentum(s),
    corrected=lambda: corrected.start_momentum_reordered(s),
)
START_INNER = declare(
    "start_inner",
    "lemma",
    "error of the first inner estimate",
    ("proof of Theorem 3.4", "44"),
    Metric("E||u_1 - g_k(x_0)||^2", r"\mathbb{E}\|u_1^{(k)}-g^{(k)}(x_0)\|^2", INNER**2),
    Statement("printed", (Term("inner_noise", s.delta_g**2, "variance"),), note="printed with =, meant as <="),
    composed=lambda: proof.first_inner(s),
)
START = declare(
    "start_potential",
    "lemma",
    "the potential at the start",
    ("proof of Theorem 3.4", "45"),
    Metric("P_0 - F(x_0)", r"P_0-F(x_0)", OBJECTIVE),
    Statement(
        "printed",
        (
            Term("initial_momentum", s.beta * (3 * OUTER + 3 * VALUE + 3 * JACOBIAN) / s.alpha),
            Term("initial_inner", 2 * s.beta * s.C_g**2 * s.L_g**2 * s.delta_g**2 / s.gamma),
        ),
        note="printed with L_g where the potential (39) has L_f",
    ),
    composed=lambda: proof.start(s, START_MOMENTUM, START_INNER),
)
