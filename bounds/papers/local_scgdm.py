"""Local-SCGDM (Gao, Li, Huang): Theorem 3.4, Corollary 3.5, Lemma 3.9 and the lemmas and lines that the proof composes.

`printed` is what the paper prints. Lemma 4.1 is printed twice, as (11) and, proved, as (25): the theorem uses (25).
Composed and corrected statements: local_scgdm_proof.py; derivation: docs/theory/local_scgdm.md.
"""

import sympy as sp

from ..dimension import INNER, OBJECTIVE, VARIABLE
from ..theorem import Condition, Derived, Metric, Statement, Term
from . import local_scgdm_proof as proof
from .local_scgdm_words import (
    COMMUNICATES,
    DESCENT_STEP,
    GRADIENT_SQ,
    INNER_RANGE,
    L_F,
    META,
    MOMENTUM_RANGE,
    PERIOD,
    SCALE,
    STATIONARITY,
    STEP,
    declare,
    s,
)

_smooth = L_F.symbol
_VALUE = s.C_g**2 * s.L_f**2 * s.delta_g**2
_OUTER = s.C_g**2 * s.sigma_f**2
_JACOBIAN = s.C_f**2 * s.sigma_g**2
_CHANGE = "one step of the potential (14) = (39)"

# --- Lemma 3.9: meta-learning ----------------------------------------------------------------------------------------

LEMMA_3_9 = declare(
    "lemma_3_9",
    "lemma",
    "constants of federated meta-learning",
    ("Lemma 3.9", "10"),
    Metric("C_f, C_g, L_f, L_g, sigma_f, sigma_g, delta_g, L_F", "L_F", OBJECTIVE / VARIABLE**2, "of (8), with [y] = [x]"),
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
    corrected=lambda: proof.meta(s, LEMMA_3_9),
    assumptions=META,
)

# --- Lemmas 4.1 and 4.2: one step of the two estimators --------------------------------------------------------------

MOMENTUM_ERROR = Metric(
    "E||m_{t+1} - grad F_k(x_t)||^2",
    r"\mathbb{E}\|m_{t+1}^{(k)}-\nabla F^{(k)}(x_t^{(k)})\|^2",
    GRADIENT_SQ,
    "one client, or the mean over the clients",
)
INNER_ERROR = Metric(
    "E||u_{t+1} - g_k(x_t)||^2", r"\mathbb{E}\|u_{t+1}^{(k)}-g^{(k)}(x_t^{(k)})\|^2", INNER**2, "one client, or the mean"
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
            Term("gradient_noise", 2 * s.alpha**2 * s.eta**2 * (_OUTER + _JACOBIAN), "variance"),
        ),
        conditions=(MOMENTUM_RANGE,),
        note="(25), its proof, ends with L_F in the momentum term: that is `proved`",
    ),
    proved=lambda: proof.momentum_error(s, L_F, MOMENTUM_RANGE),
    corrected=lambda: proof.momentum_error_between(s, L_F, MOMENTUM_RANGE),
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
    proved=lambda: proof.inner_error(s, INNER_RANGE),
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
    proved=lambda: proof.inner_spread(s, INNER_RANGE),
)
LEMMA_A_2 = declare(
    "lemma_a_2",
    "lemma",
    "spread of the stochastic gradients",
    ("Lemma A.2", "33"),
    Metric(
        "(1/K) sum_k ||z_k - zbar||^2", r"\frac1K\sum_k\|z_{t+1}^{(k)}-\bar z_{t+1}\|^2", GRADIENT_SQ, "quoted, not proved"
    ),
    Statement(
        "printed",
        (
            Term("drift", 48 * s.C_f**2 * s.L_g**2 * s.consensus_error),
            Term("inner_consensus", 16 * s.C_g**2 * s.L_f**2 * s.inner_consensus),
            Term("outer_noise", 8 * _OUTER, "variance"),
            Term("jacobian_noise", 24 * _JACOBIAN, "variance"),
        ),
        note="printed without an expectation, with u_{t+1}, and as a sum over the clients",
    ),
    corrected=lambda: proof.gradient_spread(s),
)
CONSENSUS = Metric(
    "(1/(T K)) sum_t sum_k E||x_k - xbar||^2",
    r"\frac1{TK}\sum_{t=0}^{T-1}\sum_k\mathbb{E}\|\bar x_t-x_t^{(k)}\|^2",
    VARIABLE**2,
)
_PERIOD_SQ = s.p**2 * s.beta**2 * s.eta**2
LEMMA_4_3_STEP = declare(
    "lemma_4_3_step",
    "lemma",
    "drift of the clients, before it is solved",
    ("proof of Lemma 4.3", "36"),
    CONSENSUS,
    Statement(
        "printed",
        (
            Term("drift", _PERIOD_SQ * (48 * s.C_f**2 * s.L_g**2 + 128 * s.C_g**4 * s.L_f**2) * s.consensus_error),
            Term("inner_noise", 128 * _PERIOD_SQ * _VALUE, "variance"),
            Term("outer_noise", 8 * _PERIOD_SQ * _OUTER, "variance"),
            Term("jacobian_noise", 24 * _PERIOD_SQ * _JACOBIAN, "variance"),
        ),
        conditions=(MOMENTUM_RANGE, INNER_RANGE),
        note="printed times T K; the conditions are used and not printed",
    ),
    proved=lambda: proof.drift_step(s, LEMMA_A_1, LEMMA_A_2, MOMENTUM_RANGE),
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
            Term("inner_noise", 256 * _PERIOD_SQ * _VALUE, "variance"),
            Term("outer_noise", 16 * _PERIOD_SQ * _OUTER, "variance"),
            Term("jacobian_noise", 48 * _PERIOD_SQ * _JACOBIAN, "variance"),
        ),
        conditions=(PERIOD,),
        note="printed times T K",
    ),
    proved=lambda: proof.drift(s, LEMMA_4_3_STEP, PERIOD),
    corrected=lambda: proof.drift_by_length(s),
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
    proved=lambda: proof.descent(s, L_F, DESCENT_STEP),
)
_STEP_NOISE = (
    Term("inner_noise", 2 * s.beta * s.gamma * s.eta**2 * _VALUE, "variance"),
    Term("gradient_noise", 2 * s.alpha * s.beta * s.eta**2 * (_OUTER + _JACOBIAN), "variance"),
    Term("inner_noise_second", 2 * s.beta * s.gamma**2 * s.eta**3 * _VALUE, "variance"),
)
_STEP_START = (
    Term("descent", -s.beta * s.eta / 2 * s.gradient_sq),
    Term("drift", s.beta * s.eta * _smooth**2 * s.consensus_error),
)
_POTENTIAL = Metric("P_{t+1} - P_t", r"P_{t+1}-P_t", OBJECTIVE, _CHANGE)
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
    proved=lambda: proof.potential_step(s, DESCENT, LEMMA_4_1, LEMMA_4_2),
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
    proved=lambda: proof.potential(s, POTENTIAL_STEP, STEP, SCALE),
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
            Term("outer_noise", 3 * _OUTER, "variance"),
            Term("inner_noise", 3 * _VALUE, "variance"),
            Term("jacobian_noise", 3 * _JACOBIAN, "variance"),
        ),
    ),
    proved=lambda: proof.start_momentum(s),
    corrected=lambda: proof.start_momentum_reordered(s),
)
START_INNER = declare(
    "start_inner",
    "lemma",
    "error of the first inner estimate",
    ("proof of Theorem 3.4", "44"),
    Metric("E||u_1 - g_k(x_0)||^2", r"\mathbb{E}\|u_1^{(k)}-g^{(k)}(x_0)\|^2", INNER**2),
    Statement("printed", (Term("inner_noise", s.delta_g**2, "variance"),), note="printed with =, meant as <="),
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
            Term("initial_momentum", s.beta * (3 * _OUTER + 3 * _VALUE + 3 * _JACOBIAN) / s.alpha),
            Term("initial_inner", 2 * s.beta * s.C_g**2 * s.L_g**2 * s.delta_g**2 / s.gamma),
        ),
        note="printed with L_g where the potential (39) has L_f",
    ),
    proved=lambda: proof.start(s, START_MOMENTUM, START_INNER),
)

# --- Theorem 3.4 and Corollary 3.5 -----------------------------------------------------------------------------------

_AVERAGE_NOISE = (
    Term("inner_noise", 2 * s.gamma * s.eta * _VALUE, "variance"),
    Term("gradient_noise", 2 * s.alpha * s.eta * (_OUTER + _JACOBIAN), "variance"),
    Term("inner_noise_second", 2 * s.gamma**2 * s.eta**2 * _VALUE, "variance"),
)
_DRIFT = Term("drift", 32 * _PERIOD_SQ * _smooth**2 * (16 * _VALUE + _OUTER + 3 * _JACOBIAN), "drift")
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
    proved=lambda: proof.summed(s, POTENTIAL_STEP, LEMMA_4_3),
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
            Term("initial_momentum", 6 * (_OUTER + _VALUE + _JACOBIAN) / (s.alpha * s.eta * s.T), "initialisation"),
            Term(
                "initial_inner", 4 * s.C_g**2 * s.L_g**2 * s.delta_g**2 / (s.gamma * s.eta * s.T), "initialisation"
            ),
            *_AVERAGE_NOISE,
            _DRIFT,
        ),
        conditions=(*_USED, COMMUNICATES),
        derived=(L_F,),
        note="(46) is the same; p > 1 is an input of Algorithm 1",
    ),
    proved=lambda: proof.theorem(s, SUMMED, START_MOMENTUM, START_INNER),
    corrected=lambda: proof.corrected(s, L_F, (MOMENTUM_RANGE, INNER_RANGE, STEP, SCALE)),
    note="refuting instances: bounds/errata/local_scgdm_instances.py",
)

SCHEDULE = {"eta": s.T ** sp.Rational(-1, 2), "p": s.T ** sp.Rational(1, 4)}
_CHOICES = tuple(Condition(f"{name}_choice", getattr(s, name), "==", value) for name, value in SCHEDULE.items())
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
            Term("initial_momentum", 6 * (_OUTER + _VALUE + _JACOBIAN) / (s.alpha * _ROOT), "initialisation"),
            Term("initial_inner", 4 * s.C_g**2 * s.L_g**2 * s.delta_g**2 / (s.gamma * _ROOT), "initialisation"),
            Term("inner_noise", 2 * s.gamma * _VALUE / _ROOT, "variance"),
            Term("gradient_noise", 2 * s.alpha * (_OUTER + _JACOBIAN) / _ROOT, "variance"),
            Term("inner_noise_second", 2 * s.gamma**2 * _VALUE / s.T, "variance"),
            Term("drift", 32 * s.beta**2 * _smooth**2 * (16 * _VALUE + _OUTER + 3 * _JACOBIAN) / _ROOT),
        ),
        conditions=_CHOICES,
        derived=(L_F,),
        schedule=SCHEDULE,
        note="printed without any condition on alpha, beta, gamma and T",
    ),
    proved=lambda: proof.at_schedule(s, THEOREM_3_4, "proved", SCHEDULE, _CHOICES),
    corrected=lambda: proof.at_schedule(s, THEOREM_3_4, "corrected", SCHEDULE, _CHOICES),
    follows_from=("local_scgdm.theorem_3_4", SCHEDULE),
)

THEOREMS = (
    THEOREM_3_4,
    COROLLARY_3_5,
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
