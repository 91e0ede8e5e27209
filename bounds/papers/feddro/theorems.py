"""FedDRO (Khanduri et al.): Theorems 4.1, 4.2 and 5.1 with the corollaries.

Problem: Phi(x) = h(x) + f(g(x)) with h and g averages over K clients. `printed` is what the paper prints; where a line uses
a letter that the paper never defines (L_F in Lemma F.2 and after) it is read as L_f, and the audit says so.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy as sp

from ...language.bounding import MEAN_MODEL
from ...language.dimension import ONE
from ...language.notation import Notation
from ...language.quantities import Quantity
from ...language.theorem import Condition, Derived, Metric, Statement, Term, Theorem
from . import composed as proof
from . import corrected as corollaries
from .dro import REFORMULATION_CHI2, REFORMULATION_KL
from .lemmas import LEMMA_3_1, LEMMA_F_2, LEMMA_F_3, LEMMA_F_4, LEMMA_F_5, THEOREM_F_6
from .notation import (
    ASSUMPTIONS,
    C_BETA,
    DRIFT_COEFFICIENT,
    FOLLOWS_SCHEDULE,
    GRADIENT_SQ,
    L_PHI,
    LONG_ENOUGH,
    SCHEDULE,
    STATIONARITY,
    T_TH,
    R,
    declare,
    s,
    source,
)

# --- Theorem 5.1 and its corollaries ---------------------------------------------------------------------------------

LBAR_PRINTED = Derived(
    "Lbar_fg",
    10 * s.L_h**2 + s.B_f**2 * s.L_g**2 + 40 * s.B_g**4 * s.L_f**2,
    r"\bar L_{f,g}",
    "as defined in the proof of Theorem 5.1; Theorem F.6 has 20 in front of the middle term",
)
_l = LBAR_PRINTED.symbol
C_SIGMA_H = Derived("C_sigma_h", 2 * _l + 4 * L_PHI.symbol + 8 * s.B_g**2, r"C_{\sigma_h}")
C_SIGMA_G = Derived(
    "C_sigma_g",
    2 * s.B_f**2 * _l + 4 * L_PHI.symbol * s.B_f**2 + 4 * C_BETA.symbol**2 + 8 * s.B_f**2 * s.B_g**2,
    r"C_{\sigma_g}",
)
C_DELTA_H = Derived("C_Delta_h", 6 * _l + 96 * s.B_g**2, r"C_{\Delta_h}", "printed as C with index Delta_f")
C_DELTA_G = Derived("C_Delta_g", 6 * s.B_f**2 * _l + 96 * s.B_f**2 * s.B_g**2, r"C_{\Delta_g}")
CONSTANTS = (L_PHI, C_BETA, LBAR_PRINTED, C_SIGMA_H, C_SIGMA_G, C_DELTA_H, C_DELTA_G, T_TH)
STATISTICAL_RATE = 1 / sp.sqrt(s.b * s.K * s.T)
DRIFT_RATE = s.b * s.K * (s.I - 1) ** 2 / s.T


def _headline(factor: sp.Expr) -> tuple[Term, ...]:
    """Initialisation plus `factor` times the four constants."""
    return (
        Term("initialisation", 2 * (s.Phi_gap + s.y_err**2) * STATISTICAL_RATE),
        Term("variance_h", factor * C_SIGMA_H.symbol * s.sigma_h**2, "variance"),
        Term("variance_g", factor * C_SIGMA_G.symbol * s.sigma_g**2, "variance"),
        Term("heterogeneity_h", factor * C_DELTA_H.symbol * s.Delta_h**2, "heterogeneity"),
        Term("heterogeneity_g", factor * C_DELTA_G.symbol * s.Delta_g**2, "heterogeneity"),
    )


THEOREM_5_1 = declare(
    "theorem_5_1",
    "theorem",
    "convergence of FedDRO",
    source("Theorem 5.1"),
    STATIONARITY,
    Statement(
        "printed",
        _headline(sp.Max(DRIFT_RATE, STATISTICAL_RATE, evaluate=False)),
        conditions=(*FOLLOWS_SCHEDULE, LONG_ENOUGH),
        derived=CONSTANTS,
        schedule=SCHEDULE,
        note="T_th, the constants and c_beta as defined in appendix F",
    ),
    composed=lambda: proof.theorem(s, THEOREM_F_6),
    corrected=lambda: proof.corrected(s, L_PHI, DRIFT_COEFFICIENT),
)

_F_1_L = LBAR_PRINTED.symbol
THEOREM_F_1 = declare(
    "theorem_f_1",
    "theorem",
    "convergence of FedDRO, detailed form",
    source("Theorem F.1"),
    STATIONARITY,
    Statement(
        "printed",
        (
            Term("initialisation", 2 * (s.Phi_gap + s.y_err**2) * STATISTICAL_RATE),
            Term(
                "variance_h",
                (s.K * (s.I - 1) ** 2 / s.T * 2 * _F_1_L + STATISTICAL_RATE * (4 * L_PHI.symbol + 8 * s.B_g**2))
                * s.sigma_h**2,
                "variance",
            ),
            Term(
                "variance_g",
                (
                    s.K * (s.I - 1) ** 2 / s.T * 2 * s.B_f**2 * _F_1_L
                    + STATISTICAL_RATE * (4 * L_PHI.symbol * s.B_f**2 + 4 * C_BETA.symbol**2 + 8 * s.B_f**2 * s.B_g**2)
                )
                * s.sigma_g**2,
                "variance",
            ),
            Term(
                "heterogeneity_h",
                (DRIFT_RATE * 6 * _F_1_L + STATISTICAL_RATE * 96 * s.B_g**2) * s.Delta_h**2,
                "heterogeneity",
            ),
            Term(
                "heterogeneity_g",
                (DRIFT_RATE * 6 * s.B_f**2 * _F_1_L + STATISTICAL_RATE * 96 * s.B_f**2 * s.B_g**2) * s.Delta_g**2,
                "heterogeneity",
            ),
        ),
        conditions=(*FOLLOWS_SCHEDULE, LONG_ENOUGH),
        derived=(L_PHI, C_BETA, LBAR_PRINTED, T_TH),
        schedule=SCHEDULE,
    ),
    composed=lambda: proof.theorem(s, THEOREM_F_6),
)

SHORT_ROUNDS = Condition("local_updates", s.I, "<=", s.T ** R(1, 4) / (s.b * s.K) ** R(3, 4), "its O(.) read as 1")
COROLLARY_1 = declare(
    "corollary_1",
    "corollary",
    "number of local updates",
    source("Corollary 1"),
    STATIONARITY,
    Statement(
        "printed",
        _headline(STATISTICAL_RATE),
        conditions=(*FOLLOWS_SCHEDULE, LONG_ENOUGH, SHORT_ROUNDS),
        derived=CONSTANTS,
        schedule=SCHEDULE,
    ),
    follows_from=(THEOREM_5_1, {"I": SHORT_ROUNDS.right}),
    composed=lambda: proof.short_rounds(s, THEOREM_5_1, SHORT_ROUNDS),
    corrected=lambda: corollaries.short_rounds(s, THEOREM_5_1),
)

_COSTS = Statement(
    "printed",
    (),
    conditions=(*FOLLOWS_SCHEDULE, LONG_ENOUGH),
    derived=(
        L_PHI,
        C_BETA,
        T_TH,
        Derived("samples_per_client", s.b * s.T, "|b|T", "claimed O(1/(K eps^2))"),
        Derived("rounds", s.T / s.I, "T/I", "model-sized messages per client; claimed O(eps^(-3/2))"),
        Derived("embedding_messages", s.T, "T", "embedding-sized messages per client; claimed O(1/(K eps^2))"),
    ),
    schedule={**SCHEDULE, "I": sp.Max(1, sp.floor(SHORT_ROUNDS.right), evaluate=False)},
    note="the orders are checked as limits of the exact schedule",
)
COROLLARY_2 = declare(
    "corollary_2",
    "corollary",
    "sample and communication complexities",
    source("Corollary 2"),
    STATIONARITY,
    _COSTS,
    composed=lambda: proof.complexities(THEOREM_5_1, _COSTS),
    corrected=lambda: corollaries.complexities(s, THEOREM_5_1),
)

# --- Theorems 4.1 and 4.2 --------------------------------------------------------------------------------------------

INSTANCE_STEP = Quantity(
    "instance_step_size", "step size on the counterexample, a pure number", ONE, role="hyperparameter"
)
INSTANCE_NOTATION = Notation("feddro counterexample", (("eta", r"\eta", "instance_step_size"),), extra=(INSTANCE_STEP,))
_eta = INSTANCE_NOTATION["eta"].symbol


def _limits(case_1: sp.Expr, case_2: sp.Expr, relation: str) -> dict[str, Any]:
    c_1, c_2 = Derived("C_eta_I", case_1, r"C_\eta^{I}"), Derived("C_eta_II", case_2, r"C_\eta^{II}")
    conditions = (
        Condition("case_I", _eta, relation, c_1.symbol),
        Condition("case_II", _eta, relation, c_2.symbol),
    )
    lowest = Derived(
        "xbar_lower", R(1, 2), r"\inf_t \bar x^t", "lower bound of xbar at every communication; the minimiser is 0"
    )
    return {"conditions": conditions, "derived": (c_1, c_2, lowest)}


THEOREM_4_1 = Theorem(
    "feddro.theorem_4_1",
    "theorem",
    "vanilla FedAvg does not converge",
    source("Theorem 4.1", "10"),
    INSTANCE_NOTATION,
    Metric("xbar_t at communications", r"\bar x^t", ONE, "on g_1 = 4x-4, g_2 = -2x+4, f = sqrt(y^2+4), x_0 = 1/2"),
    {
        "printed": Statement("printed", (), **_limits(R(1, 8), R(1, 22), "<"), note="proved by the paper for I = 2"),
        "composed": lambda: Statement(
            "composed",
            (),
            **_limits(*proof.first_two_steps(level=R(1, 2)), "<="),
            note="for I = 2, one step size in both steps, and with the cases that the paper leaves to the reader",
        ),
        "corrected": Statement(
            "corrected",
            (),
            **_limits(sp.sqrt(2) / 4, sp.sqrt(2) / 4, "<="),
            note="every I >= 1 (case I) or I >= 2 (case II, one step size within each round): docs/theory/counterexample.md",
        ),
    },
    tuple(replace(item, bounds=()) for item in ASSUMPTIONS),
)

PERIOD_LIMIT = Condition("local_updates", s.I, "<=", s.T ** R(1, 4), "its O(.) read as 1")
THEOREM_4_2 = declare(
    "theorem_4_2",
    "theorem",
    "modified FedAvg converges",
    source("Theorem 4.2"),
    Metric("(1/T) sum ||grad Phi(xbar_t)||^2", r"\frac1T\sum_t\|\nabla\Phi(\bar x^t)\|^2", GRADIENT_SQ, at=MEAN_MODEL),
    Statement("printed", (), conditions=(PERIOD_LIMIT,), note="asserts convergence for some step size, without a rate"),
    composed=lambda: proof.noiseless(s, THEOREM_5_1),
    corrected=lambda: proof.modified_fedavg(s),
    assume=("no_extra_term",),
)

THEOREMS = (
    LEMMA_3_1,
    THEOREM_4_1,
    THEOREM_4_2,
    THEOREM_5_1,
    COROLLARY_1,
    COROLLARY_2,
    THEOREM_F_1,
    LEMMA_F_2,
    LEMMA_F_3,
    LEMMA_F_4,
    LEMMA_F_5,
    THEOREM_F_6,
    REFORMULATION_KL,
    REFORMULATION_CHI2,
)
