"""FedDRO: Lemma 3.1 and the lemma chain F.2 to F.6 of appendix F."""

from __future__ import annotations

import sympy as sp

from ...language.dimension import INNER, OBJECTIVE, VARIABLE
from ...language.theorem import Condition, Metric, Statement, Term
from . import composed as proof
from .notation import (
    C_BETA,
    CONSENSUS_COEFFICIENT,
    DRIFT_COEFFICIENT,
    HETEROGENEITY,
    L_PHI,
    NOISE,
    UNITS,
    declare,
    s,
    source,
)

# --- Lemma 3.1 -------------------------------------------------------------------------------------------------------

LEMMA_3_1 = declare(
    "lemma_3_1",
    "lemma",
    "smoothness of Phi",
    source("Lemma 3.1"),
    Metric("L_Phi", r"L_\Phi", OBJECTIVE / VARIABLE**2, "Lipschitz constant of grad Phi"),
    Statement("printed", (), derived=(L_PHI,)),
    composed=lambda: proof.smoothness(s),
)

# --- the lemma chain of appendix F -----------------------------------------------------------------------------------

_at_batch = s.b * s.K
LEMMA_F_2 = declare(
    "lemma_f_2",
    "lemma",
    "descent in function value",
    source("Lemma F.2", "18"),
    Metric("E[Phi(xbar_{t+1}) - Phi(xbar_t)]", r"\mathbb{E}[\Phi(\bar x^{t+1})-\Phi(\bar x^t)]", OBJECTIVE),
    Statement(
        "printed",
        (
            Term("descent", -s.eta / 2 * s.gradient_sq),
            Term("direction", -(s.eta / 2 - s.eta**2 * L_PHI.symbol) * s.direction_sq),
            Term("drift", s.eta * CONSENSUS_COEFFICIENT * s.consensus_error),
            Term("inner", 4 * s.B_g**4 * s.L_f**2 * s.eta * s.inner_error),
            Term("variance_h", 2 * s.eta**2 * L_PHI.symbol / _at_batch * s.sigma_h**2, "variance"),
            Term("variance_g", 2 * s.eta**2 * L_PHI.symbol * s.B_f**2 / _at_batch * s.sigma_g**2, "variance"),
        ),
        derived=(L_PHI,),
        note="the drift coefficient is printed with L_F, a letter the paper never defines; read as L_f",
    ),
    composed=lambda: proof.descent(s, L_PHI),
)

LEMMA_F_3 = declare(
    "lemma_f_3",
    "lemma",
    "client drift",
    source("Lemma F.3"),
    Metric("(1/K) sum_k E||x_k - xbar||", r"\frac1K\sum_k\mathbb{E}\|x_k^t-\bar x^t\|", VARIABLE),
    Statement(
        "printed",
        (
            Term("drift", (s.I - 1) * 24 * DRIFT_COEFFICIENT * s.eta**2 * s.consensus_sum),
            Term("variance_h", (s.I - 1) * 4 / s.b * NOISE["h"] * s.elapsed * s.eta**2, "variance"),
            Term("variance_g", (s.I - 1) * 4 / s.b * NOISE["g"] * s.elapsed * s.eta**2, "variance"),
            Term("heterogeneity_h", (s.I - 1) * 12 * HETEROGENEITY["h"] * s.elapsed * s.eta**2, "heterogeneity"),
            Term("heterogeneity_g", (s.I - 1) * 12 * HETEROGENEITY["g"] * s.elapsed * s.eta**2, "heterogeneity"),
        ),
        note="the norm on the left is printed without its square",
    ),
    composed=lambda: proof.client_drift(s),
)

_old = (1 - s.beta) ** 2
LEMMA_F_4 = declare(
    "lemma_f_4",
    "lemma",
    "error of the estimate of g",
    source("Lemma F.4"),
    Metric(
        "E||ybar - (1/K) sum_k g_k(x_k)||^2", r"\mathbb{E}\|\bar y^{t+1}-\frac1K\sum_k g_k(x_k^{t+1})\|^2", INNER**2
    ),
    Statement(
        "printed",
        (
            Term("inner", _old * s.inner_error),
            Term("direction", 8 * s.eta**2 * _old * s.B_g**2 / _at_batch * s.direction_sq),
            Term("drift", s.eta**2 * _old * s.B_g**2 * 96 * DRIFT_COEFFICIENT / _at_batch * s.consensus_error),
            Term("variance_h", 4 * s.eta**2 * _old * s.B_g**2 / _at_batch * s.sigma_h**2, "variance"),
            Term(
                "variance_g",
                (2 * s.beta**2 + 4 * s.eta**2 * _old * s.B_g**2 * s.B_f**2) / _at_batch * s.sigma_g**2,
                "variance",
            ),
            Term("heterogeneity_h", 48 * s.eta**2 * _old * s.B_g**2 / _at_batch * s.Delta_h**2, "heterogeneity"),
            Term(
                "heterogeneity_g",
                48 * s.eta**2 * _old * s.B_f**2 * s.B_g**2 / _at_batch * s.Delta_g**2,
                "heterogeneity",
            ),
        ),
        note="printed with the index t on both sides; the proof has t+1 on the left and t on the right, as here",
    ),
    composed=lambda: proof.estimate(s),
)

STEP_1 = Condition(
    "step_size_direction",
    s.eta,
    "<=",
    s.b * s.K / (2 * (L_PHI.symbol * s.b * s.K + 8 * s.B_g**2)),
    "Lemma F.5, first limit",
)
STEP_2 = Condition(
    "step_size_drift",
    s.eta,
    "<=",
    s.b * s.K * CONSENSUS_COEFFICIENT / (s.B_g**2 * 96 * DRIFT_COEFFICIENT),
    "Lemma F.5, second limit",
)
STEP_3 = Condition("step_size_period", s.eta, "<=", 1 / (3 * s.I * sp.sqrt(24 * DRIFT_COEFFICIENT)), "Theorem F.6")
MOMENTUM = Condition("momentum_choice", s.beta, "==", C_BETA.symbol * s.eta)

LEMMA_F_5 = declare(
    "lemma_f_5",
    "lemma",
    "descent in the potential function",
    source("Lemma F.5", "21"),
    Metric("V_{t+1} - V_t", r"V^{t+1}-V^t", OBJECTIVE, "V is E Phi(xbar) plus the inner error"),
    Statement(
        "printed",
        (
            Term("descent", -s.eta / 2 * s.gradient_sq),
            Term("drift", s.eta * 2 * CONSENSUS_COEFFICIENT * s.consensus_error),
            Term("variance_h", (2 * L_PHI.symbol + 4 * s.B_g**2) * s.eta**2 / _at_batch * s.sigma_h**2, "variance"),
            Term(
                "variance_g",
                (2 * L_PHI.symbol * s.B_f**2 + 2 * C_BETA.symbol**2 + 4 * s.B_g**2 * s.B_f**2)
                * s.eta**2
                / _at_batch
                * s.sigma_g**2,
                "variance",
            ),
            Term("heterogeneity_h", 48 * s.eta**2 * s.B_g**2 / _at_batch * s.Delta_h**2, "heterogeneity"),
            Term("heterogeneity_g", 48 * s.eta**2 * s.B_f**2 * s.B_g**2 / _at_batch * s.Delta_g**2, "heterogeneity"),
        ),
        conditions=(STEP_1, STEP_2, MOMENTUM),
        derived=(L_PHI, C_BETA),
        schedule={"beta": C_BETA.symbol * s.eta},
        note="the two limits on eta are printed inside braces without a min",
    ),
    unit_choices=UNITS,
    composed=lambda: proof.potential(s, LEMMA_F_2, LEMMA_F_4, (STEP_1, STEP_2, MOMENTUM), CONSENSUS_COEFFICIENT),
)


def _f_6_terms(drift: dict[str, sp.Expr]) -> tuple[Term, ...]:
    """The terms of Theorem F.6; `drift` holds the four coefficients of eta^3 (I-1)^2 T."""
    long = s.eta**3 * (s.I - 1) ** 2 * s.T
    step = s.eta**2 * s.T / _at_batch
    lemma = LEMMA_F_5.statement("printed")
    once = {name: lemma.term(name).expr / s.eta**2 * _at_batch for name in drift}
    roles = {name: lemma.term(name).role for name in drift}
    return (
        Term("descent", -s.eta / 2 * s.T * s.gradient_sq),
        *(Term(name, once[name] * step + coefficient * long, roles[name]) for name, coefficient in drift.items()),
    )


_F_6_PULL = {"h": 1, "g": s.B_f**2}
THEOREM_F_6 = declare(
    "theorem_f_6",
    "lemma",
    "potential function over T steps",
    source("Theorem F.6", "22"),
    Metric("V_T - V_0", r"V^T-V^0", OBJECTIVE),
    Statement(
        "printed",
        _f_6_terms(
            {
                "variance_h": (10 * s.L_h**2 + 20 * s.B_f**2 * s.L_g**2 + 40 * s.B_g**4 * s.L_f**2)
                / s.b
                * s.sigma_h**2,
                "variance_g": (
                    10 * s.B_f**2 * s.L_h**2 + 20 * s.B_f**4 * s.L_g**2 + 40 * s.B_f**2 * s.B_g**4 * s.L_f**2
                )
                / s.b
                * s.sigma_g**2,
                "heterogeneity_h": (30 * s.L_h**2 + 60 * s.B_f**2 * s.L_g**2 + 120 * s.B_g**4 * s.L_f**2)
                * s.Delta_h**2,
                "heterogeneity_g": (
                    30 * s.B_f**2 * s.L_h**2 + 60 * s.B_f**4 * s.L_g**2 + 120 * s.B_f**2 * s.B_g**4 * s.L_f**2
                )
                * s.Delta_g**2,
            }
        ),
        conditions=(STEP_1, STEP_2, MOMENTUM, STEP_3),
        derived=(L_PHI, C_BETA),
        schedule={"beta": C_BETA.symbol * s.eta},
        note="gradient_sq is here the average over t = 0..T-1",
    ),
    unit_choices=UNITS,
    composed=lambda: proof.telescoped(s, LEMMA_F_5, LEMMA_F_3, STEP_3, DRIFT_COEFFICIENT),
)
