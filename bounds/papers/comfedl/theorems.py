"""ComFedL (Huang, Li, Huang): Theorems 1 and 2, Lemmas 1 to 4, the remarks, and the lines that their proofs compose.

Problem: F(w) = (1/n) sum_i g^i(f^i(w)). In this paper f is the INNER map and g the OUTER function: G_f and L_f belong
to the inner map, G_g and L_g to the outer one, and all four hold for every sample. sigma is one number for three noises
of different dimension; it gets that of an inner value here, and the audit reports what does not fit.
"""

import sympy as sp

from ...language import bounding
from ...language.bounding import (
    DIFFERENTIABLE,
    FRESH,
    INDEPENDENT,
    ONE_LAW,
    SEPARATE,
    SERVER_MODEL,
    STARTS,
    UNIFORM_SET,
)
from ...language.dimension import OBJECTIVE, ONE, VARIABLE
from ...language.notation import Notation
from ...language.quantities import NONNEGATIVE, Quantity
from ...language.theorem import Assumption, Condition, Derived, Metric, Source, Statement, Term, Theorem, multiple_of
from . import composed as proof
from .costs import costs

GRADIENT = OBJECTIVE / VARIABLE

NOTATION = Notation(
    "comfedl",
    (
        ("G_f", "G_f", "inner_sample_lipschitz"),
        ("G_g", "G_g", "outer_sample_lipschitz"),
        ("L_f", "L_f", "inner_sample_smoothness"),
        ("L_g", "L_g", "outer_sample_smoothness"),
        ("L", "L", "objective_smoothness"),
        ("sigma", r"\sigma", "composite_noise"),
        ("F_gap", r"F(\bar w_0)-F^*", "objective_gap"),
        ("eta", r"\eta", "step_size"),
        ("tau", r"\tau", "communication_period"),
        ("b", "b", "batch_size"),
        ("b_1", "b_1", "outer_batch_size"),
        ("T", "T", "iterations"),
        ("gradient_sq", r"\mathbb{E}\|\nabla F(\bar w_s)\|^2", "gradient_sq"),
        ("client_drift_sq", r"\frac1m\sum_{i\in C_s}\mathbb{E}\|w^i_{s,t}-\bar w_s\|^2", "client_drift_sq"),
        ("mean_drift_sq", r"\mathbb{E}\|\bar w_{s,t}-\bar w_s\|^2", "mean_drift_sq"),
        ("mean_drift", r"\mathbb{E}\|\bar w_{s,t}-\bar w_s\|", "mean_drift"),
        ("estimator_error", r"\mathbb{E}\|\bar u_{s,t}-U_{s,0}\|", "estimator_error"),
        ("step_sq", r"\mathbb{E}\|u^i_{s,t}\|^2", "step_sq"),
        ("t", "t", "step_in_round"),
        ("gamma", r"\gamma", "divergence_weight"),
        ("n", "n", "clients"),
        ("mean_exp", r"\frac1n\sum_i\exp(f^i(w)/\gamma)", "mean_exponential"),
    ),
    extra=(
        Quantity("step_in_round", "local steps since the round began", ONE, NONNEGATIVE, "observable"),
        Quantity(
            "client_drift_sq", "mean square distance of a client to its start", VARIABLE**2, NONNEGATIVE, "observable"
        ),
        Quantity(
            "mean_drift_sq",
            "E of the squared distance of the mean to its start",
            VARIABLE**2,
            NONNEGATIVE,
            "observable",
        ),
        Quantity("mean_drift", "E of the distance of the mean model to its start", VARIABLE, NONNEGATIVE, "observable"),
        Quantity("estimator_error", "E||mean direction - gradient at the start||", GRADIENT, NONNEGATIVE, "observable"),
        Quantity("step_sq", "E of the squared norm of one client's direction", GRADIENT**2, NONNEGATIVE, "observable"),
    ),
)
s = NOTATION.namespace()
R5 = sp.sqrt(5)

STATIONARITY = Metric(
    "(1/S) sum_s E||grad F(wbar_s)||^2",
    r"\frac1S\sum_{s=0}^{S-1}\mathbb{E}\|\nabla F(\bar w_s)\|^2",
    GRADIENT**2,
    "mean over the S = T/tau server models before each round, the last one excluded",
    SERVER_MODEL,
)
ESTIMATOR_ERROR = Metric("E||ubar_{s,t} - U_{s,0}||^2", r"\mathbb{E}\|\bar u_{s,t}-U_{s,0}\|^2", GRADIENT**2)
ASSUMPTIONS = (
    Assumption(
        "1",
        "the Jacobian of every sample of f^i is L_f-Lipschitz, the gradient of every sample of g^i L_g-Lipschitz, "
        "grad F L-Lipschitz",
        ("L_f", "L_g", "L"),
    ),
    Assumption(
        "2", "every sample has ||grad f^i|| <= G_f (spectral norm) and ||grad g^i|| <= G_g, everywhere", ("G_f", "G_g")
    ),
    Assumption("3", "the noises of grad f^i, f^i and grad g^i have standard deviations of at most sigma", ("sigma",)),
    Assumption("4", "F is bounded below", ("F_gap",)),
    Assumption(
        "11",
        "grad F^i(w) = (grad f^i(w))^T grad g^i(f^i(w)), and grad F is the mean over the clients",
        says=(DIFFERENTIABLE,),
    ),
    Assumption("not stated: start", "all sampled clients start a round from the server's model", says=(STARTS,)),
    Assumption(
        "not stated: clients",
        "C_s is drawn uniformly among the sets of m clients, independently of the past; the first one before the start",
        says=(UNIFORM_SET, ONE_LAW, STARTS),
    ),
    Assumption(
        "not stated: batches",
        "batches are unbiased and fresh at every step, their samples independent with one law; "
        "the outer batch is independent of the inner one",
        says=(FRESH, INDEPENDENT, SEPARATE, ONE_LAW),
    ),
    Assumption(
        "not stated: whole rounds", "T is a multiple of tau: there are S = T/tau rounds", says=(bounding.WHOLE_ROUNDS,)
    ),
)
ONE_OUTER = (*ASSUMPTIONS, Assumption("special problem", "all g^i are one deterministic function g"))
STEP_UNIT = VARIABLE**2 / OBJECTIVE
"""Remarks 1 and 2 give the step size as a pure number."""

H = Derived("H", sp.sqrt(s.G_g**2 * s.L_f**2 + s.G_f**4 * s.L_g**2), "H")
DRIFT_COEFFICIENT = s.G_g**2 * s.L_f**2 + s.G_f**4 * s.L_g**2
WHOLE_ROUNDS = Condition("whole_rounds", s.T, ">=", s.tau, "T = S tau with at least one round")
MULTIPLE = multiple_of("multiple_of_period", s.T, s.tau, "T = S tau for a whole number S of rounds")


def _source(where: str, equation: str = "") -> Source:
    return Source("comfedl", where, equation)


def _theorem(
    name: str, kind: str, title: str, source: Source, metric: Metric, printed: object, **more: object
) -> Theorem:
    assumptions = more.pop("assumptions", ASSUMPTIONS)
    labelled = {"printed": printed, "composed": more.pop("composed", None), "corrected": more.pop("corrected", None)}
    return Theorem(
        f"comfedl.{name}",
        kind,
        title,
        source,
        NOTATION,
        metric,
        {label: statement for label, statement in labelled.items() if statement is not None},  # type: ignore[misc]
        assumptions,  # type: ignore[arg-type]
        problem="local_composite",
        costs=costs,
        multiples=(MULTIPLE,) if metric is STATIONARITY else (),
        **more,  # type: ignore[arg-type]
    )


# --- Lemma 1: the KL-regularised minimax problem --------------------------------------------------------------------

LEMMA_1 = _theorem(
    "lemma_1",
    "lemma",
    "KL-regularised minimax problem as a composition",
    _source("Lemma 1", "14-24"),
    Metric(
        "max_r sum_i r_i f^i - gamma sum_i r_i log(n r_i)",
        r"\max_{r\in\Lambda_n}\sum_i r_if^i(w)-\gamma\sum_i r_i\log(nr_i)",
        OBJECTIVE,
        "the inner maximum of (14); J is its value, lam the multiplier of sum r = 1",
    ),
    Statement(
        "printed",
        (),
        derived=(
            Derived("J", s.gamma * sp.log(s.mean_exp), "J", "objective of (5)"),
            Derived("lam", s.gamma / s.n - s.gamma * sp.log(s.mean_exp), r"\lambda", "multiplier, from (23)"),
        ),
    ),
    composed=lambda: proof.kl_maximum(s, "composed", 1 / s.n, "(18) as printed, solved for lambda; then (24)"),
    corrected=lambda: proof.kl_maximum(s, "corrected", proof.entropy_slope(), "with the derivative of r log(n r)"),
    assumptions=(),
)

# --- Lemmas 2 to 4 and the lines that they rest on ------------------------------------------------------------------

LEMMA_2_STEP = _theorem(
    "lemma_2_step",
    "lemma",
    "drift of the clients",
    _source("proof of Lemma 2", "28"),
    Metric(
        "(1/m) sum_i E||w^i_{s,t} - wbar_s||^2",
        r"\frac1m\sum_{i\in C_s}\mathbb{E}\|w^i_{s,t}-\bar w_s\|^2",
        VARIABLE**2,
    ),
    Statement("printed", (Term("drift", s.t**2 * s.eta**2 * s.G_g**2 * s.G_f**2),)),
    composed=lambda: proof.client_drift(s),
    note="Lemmas 3 and 4 need this average over clients, which the chain (28) passes through",
)
LEMMA_2 = _theorem(
    "lemma_2",
    "lemma",
    "drift of the mean model",
    _source("Lemma 2", "28"),
    Metric("E||wbar_{s,t} - wbar_s||^2", r"\mathbb{E}\|\bar w_{s,t}-\bar w_s\|^2", VARIABLE**2),
    Statement("printed", (Term("drift", s.tau**2 * s.eta**2 * s.G_g**2 * s.G_f**2),)),
    composed=lambda: proof.drift_in_round(s, LEMMA_2_STEP),
)

_value = s.L_g**2 * s.G_f**2 * s.sigma**2
LEMMA_3_STEP = _theorem(
    "lemma_3_step",
    "lemma",
    "estimator error by the drift of the clients, general problem",
    _source("proof of Lemma 3", "30"),
    ESTIMATOR_ERROR,
    Statement(
        "printed",
        (
            Term("drift", 5 * DRIFT_COEFFICIENT * s.client_drift_sq),
            Term("outer_noise", 5 * s.G_f**2 * s.sigma**2 / s.b_1, "variance"),
            Term("inner_jacobian_noise", 5 * s.G_g**2 * s.sigma**2 / s.b, "variance"),
            Term("inner_value_noise", 5 * _value / s.b, "variance"),
        ),
        note="the end of (30) is damaged in our copy of the paper; read from (29) and the intact proof of Lemma 4",
    ),
    composed=lambda: proof.estimator_error(s, outer_noise=True),
)
LEMMA_3 = _theorem(
    "lemma_3",
    "lemma",
    "estimator error, general problem",
    _source("Lemma 3", "29"),
    ESTIMATOR_ERROR,
    Statement(
        "printed",
        (
            Term("drift", 5 * DRIFT_COEFFICIENT * s.tau**2 * s.eta**2 * s.G_g**2 * s.G_f**2),
            Term("outer_noise", 5 * s.G_f**2 * s.sigma**2 / s.b_1, "variance"),
            Term("inner_jacobian_noise", 5 * s.G_g**2 * s.sigma**2 / s.b, "variance"),
            Term("inner_value_noise", 5 * _value / s.b, "variance"),
        ),
    ),
    composed=lambda: proof.estimator_error_in_round(s, LEMMA_3_STEP, LEMMA_2_STEP),
)
LEMMA_4_STEP = _theorem(
    "lemma_4_step",
    "lemma",
    "estimator error by the drift of the clients, one deterministic outer function",
    _source("proof of Lemma 4"),
    ESTIMATOR_ERROR,
    Statement(
        "printed",
        (
            Term("drift", 4 * DRIFT_COEFFICIENT * s.client_drift_sq),
            Term("inner_jacobian_noise", 4 * s.G_g**2 * s.sigma**2 / s.b, "variance"),
            Term("inner_value_noise", 4 * _value / s.b, "variance"),
        ),
    ),
    composed=lambda: proof.estimator_error(s, outer_noise=False),
    assumptions=ONE_OUTER,
    assume=("one_outer_function",),
)
LEMMA_4 = _theorem(
    "lemma_4",
    "lemma",
    "estimator error, one deterministic outer function",
    _source("Lemma 4", "37"),
    ESTIMATOR_ERROR,
    Statement(
        "printed",
        (
            Term("drift", 4 * DRIFT_COEFFICIENT * s.tau**2 * s.eta**2 * s.G_g**2 * s.G_f**2),
            Term("inner_jacobian_noise", 4 * s.G_g**2 * s.sigma**2 / s.b, "variance"),
            Term("inner_value_noise", 4 * _value / s.b, "variance"),
        ),
    ),
    composed=lambda: proof.estimator_error_in_round(s, LEMMA_4_STEP, LEMMA_2_STEP),
    assumptions=ONE_OUTER,
    assume=("one_outer_function",),
)

_G = s.G_f * s.G_g
DESCENT = _theorem(
    "descent",
    "lemma",
    "descent of one step",
    _source("proof of Theorem 3", "32"),
    Metric("E[F(wbar_{s,t+1}) - F(wbar_{s,t})]", r"\mathbb{E}[F(\bar w_{s,t+1})-F(\bar w_{s,t})]", OBJECTIVE),
    Statement(
        "printed",
        (
            Term("descent", -s.eta * s.gradient_sq),
            Term("estimator", s.eta * _G * s.estimator_error),
            Term("mean_drift", s.eta * s.L * _G * s.mean_drift, "drift"),
            Term("second_order", s.L * s.eta**2 / 2 * s.G_f**2 * s.G_g**2),
        ),
        note="the third inequality of (32), before the roots",
    ),
    composed=lambda: proof.descent(s),
)

# --- Theorems 1 and 2, restated as Theorems 3 and 4 in the appendix -------------------------------------------------

_START = Term("initialisation", s.F_gap / (s.T * s.eta))
_END = (
    Term("mean_drift", s.L * s.tau * s.eta * s.G_g**2 * s.G_f**2, "drift"),
    Term("second_order", s.L * s.eta / 2 * s.G_f**2 * s.G_g**2),
)
THEOREM_1 = _theorem(
    "theorem_1",
    "theorem",
    "convergence of ComFedL, general problem",
    _source("Theorem 1", "12"),
    STATIONARITY,
    Statement(
        "printed",
        (
            _START,
            Term(
                "drift_times_outer_noise",
                _G * R5 * H.symbol * s.tau * s.G_g * s.G_f * s.eta * R5 * s.G_f * s.sigma / sp.sqrt(s.b_1),
                "drift",
            ),
            Term("inner_jacobian_noise", _G * R5 * s.G_g * s.sigma / sp.sqrt(s.b), "variance"),
            Term("inner_value_noise", _G * R5 * s.L_g * s.G_f * s.sigma / sp.sqrt(s.b), "variance"),
            *_END,
        ),
        conditions=(Condition("equal_batches", s.b, "==", s.b_1), WHOLE_ROUNDS),
        derived=(H,),
        note="Theorem 3, (31), is the same; the drift and the outer noise stand side by side with no sign between them",
    ),
    composed=lambda: proof.theorem(s, DESCENT, LEMMA_3, LEMMA_2, H, WHOLE_ROUNDS),
    corrected=lambda: proof.corrected(s, DESCENT, WHOLE_ROUNDS),
    note="the refuting instance is in bounds/papers/comfedl/instances.py",
)
THEOREM_2 = _theorem(
    "theorem_2",
    "theorem",
    "convergence of ComFedL, one deterministic outer function",
    _source("Theorem 2", "13"),
    STATIONARITY,
    Statement(
        "printed",
        (
            _START,
            Term("estimator_drift", _G * 2 * H.symbol * s.tau * s.eta * s.G_g * s.G_f, "drift"),
            Term("inner_jacobian_noise", _G * 2 * s.G_g * s.sigma / sp.sqrt(s.b), "variance"),
            Term("inner_value_noise", _G * 2 * s.L_g * s.G_f * s.sigma / sp.sqrt(s.b), "variance"),
            *_END,
        ),
        conditions=(WHOLE_ROUNDS,),
        derived=(H,),
        note="Theorem 4, (38), is the same",
    ),
    composed=lambda: proof.theorem(s, DESCENT, LEMMA_4, LEMMA_2, H, WHOLE_ROUNDS),
    assumptions=ONE_OUTER,
    assume=("one_outer_function",),
    corrected=lambda: proof.corrected(s, DESCENT, WHOLE_ROUNDS),
)

_EMPTY_BATCHES = "printed already is what the lemmas give at the remark's batches, which hold 1/T samples"
REMARK_1 = _theorem(
    "remark_1",
    "claim",
    "rate 1/sqrt(T) of Theorem 1",
    _source("Remark 1"),
    STATIONARITY,
    lambda: proof.remark(s, THEOREM_1, ("b", "b_1"), WHOLE_ROUNDS),
    not_composed=_EMPTY_BATCHES,
    unit_choices=(STEP_UNIT,),
)
REMARK_2 = _theorem(
    "remark_2",
    "claim",
    "rate 1/sqrt(T) of Theorem 2",
    _source("Remark 2"),
    STATIONARITY,
    lambda: proof.remark(s, THEOREM_2, ("b",), WHOLE_ROUNDS),
    not_composed=_EMPTY_BATCHES,
    assumptions=ONE_OUTER,
    assume=("one_outer_function",),
    unit_choices=(STEP_UNIT,),
)

THEOREMS = (
    LEMMA_1,
    THEOREM_1,
    THEOREM_2,
    REMARK_1,
    REMARK_2,
    LEMMA_2,
    LEMMA_3,
    LEMMA_4,
    LEMMA_2_STEP,
    LEMMA_3_STEP,
    LEMMA_4_STEP,
    DESCENT,
)
