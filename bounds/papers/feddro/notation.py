"""FedDRO: its symbols, assumptions, constants and schedule; the audit says what is wrong with some of them."""

from typing import Any

import sympy as sp

from ...language.bounding import (
    DIFFERENTIABLE,
    FRESH,
    INDEPENDENT,
    INDEPENDENT_CLIENTS,
    MEAN_MODEL,
    ONE_LAW,
    STARTS,
)
from ...language.dimension import INNER, OBJECTIVE, ONE, VARIABLE
from ...language.notation import Notation
from ...language.quantities import Quantity
from ...language.theorem import Assumption, Condition, Derived, Metric, Source, Statement, Theorem
from .costs import costs

ELAPSED = Quantity(
    "elapsed_steps", "local steps since the last communication, t - t_s", ONE, "nonnegative real", "observable"
)

NOTATION = Notation(
    "feddro",
    (
        ("L_h", "L_h", "noncompositional_smoothness"),
        ("L_f", "L_f", "outer_smoothness"),
        ("L_g", "L_g", "inner_smoothness"),
        ("B_f", "B_f", "outer_lipschitz"),
        ("B_g", "B_g", "inner_mean_square_lipschitz"),
        ("sigma_h", r"\sigma_h", "noncompositional_gradient_noise"),
        ("sigma_g", r"\sigma_g", "inner_noise"),
        ("delta_g", r"\delta_g", "inner_value_noise"),
        ("Delta_h", r"\Delta_h", "noncompositional_heterogeneity"),
        ("Delta_g", r"\Delta_g", "inner_jacobian_heterogeneity"),
        ("Phi_gap", r"\left(\Phi(\bar x^0)-\Phi_*\right)", "objective_gap"),
        ("y_err", r"\|\bar y^0-g(\bar x^0)\|", "initial_inner_error"),
        ("eta", r"\eta", "step_size"),
        ("beta", r"\beta", "momentum"),
        ("I", "I", "communication_period"),
        ("K", "K", "clients"),
        ("b", "|b|", "batch_size"),
        ("T", "T", "iterations"),
        ("gradient_sq", r"\mathbb{E}\|\nabla\Phi(\bar x^t)\|^2", "gradient_sq"),
        ("direction_sq", r"\mathbb{E}\|\mathbb{E}[\bar d^t|\mathcal{F}^t]\|^2", "mean_direction_sq"),
        ("consensus_error", r"\frac1K\sum_k\mathbb{E}\|x_k^t-\bar x^t\|^2", "consensus_error"),
        ("consensus_sum", r"\sum_{\ell=t_s}^{t-1}\frac1K\sum_k\mathbb{E}\|x_k^\ell-\bar x^\ell\|^2", "consensus_sum"),
        ("inner_error", r"\mathbb{E}\|\bar y^t-\frac1K\sum_k g_k(x_k^t)\|^2", "inner_error"),
        ("elapsed", r"(t-t_s)", "elapsed_steps"),
    ),
    extra=(ELAPSED,),
)
s = NOTATION.namespace()
R = sp.Rational

GRADIENT_SQ = (OBJECTIVE / VARIABLE) ** 2
STATIONARITY = Metric(
    "E||grad Phi(xbar_a(T))||^2",
    r"\mathbb{E}\|\nabla\Phi(\bar x^{a(T)})\|^2",
    GRADIENT_SQ,
    "expected squared gradient norm at an iterate drawn uniformly from 1..T; the corrected bound holds for 0..T-1 too",
    MEAN_MODEL,
)
ASSUMPTIONS = (
    Assumption(
        "1 (smoothness)",
        "f, h_k and g_k are differentiable with L_f-, L_h- and L_g-Lipschitz derivatives",
        ("L_f", "L_h", "L_g"),
    ),
    Assumption(
        "1 (Lipschitz)",
        "f is B_f-Lipschitz; g_k is mean-square Lipschitz with constant B_g",
        ("B_f", ("B_g", "inner_value")),
    ),
    Assumption(
        "2",
        "unbiased oracles; variance of grad h_k at most sigma_h^2, of grad g_k at most sigma_g^2, and in `printed` of g_k too",
        ("sigma_h", "sigma_g"),
    ),
    Assumption(
        "3",
        "||grad h_k - grad h|| <= Delta_h and ||grad g_k - grad g|| <= Delta_g for every client and x",
        ("Delta_h", "Delta_g"),
    ),
    Assumption(
        "2 (value noise)",
        "the variance of g_k(x; zeta) is at most delta_g^2; the paper bounds it by sigma_g^2 as well: one letter, two bounds",
        ("delta_g",),
    ),
    Assumption(
        "not stated: independence over time",
        "the samples of a step are independent of those of all other steps",
        says=(FRESH,),
    ),
    Assumption(
        "not stated: independence of samples",
        "samples are independent across the clients and within a batch, where they have one law",
        says=(INDEPENDENT, INDEPENDENT_CLIENTS, ONE_LAW),
    ),
    Assumption(
        "not stated: mean map",
        "||grad g_k|| <= B_g, as g_k is the mean of a map that is B_g-Lipschitz in mean square",
        (("B_g", "inner_jacobian"),),
    ),
    Assumption(
        "not stated: chain rule",
        "Phi is differentiable with grad Phi = grad h + (grad g)^T grad f(g)",
        says=(DIFFERENTIABLE,),
    ),
    Assumption(
        "Algorithm 2, line 2", "x^{-1} = x^0 is the same for all clients, and ybar^0 is given", ("y_err",), (STARTS,)
    ),
    Assumption(
        "not stated: lower bound", "Phi is at least Phi_* everywhere, and Phi_gap = Phi(x^0) - Phi_*", ("Phi_gap",)
    ),
)

L_PHI = Derived("L_Phi", s.L_h + s.B_f * s.L_g + s.B_g**2 * s.L_f, r"L_\Phi", "Lipschitz constant of grad Phi")
C_BETA = Derived("c_beta", 4 * s.B_g**4 * s.L_f**2, r"c_\beta", "momentum per step size, beta = c_beta eta")
DRIFT_COEFFICIENT = s.L_h**2 + s.B_f**2 * s.L_g**2
"""L_h^2 + B_f^2 L_g^2, which the drift of one client depends on."""
CONSENSUS_COEFFICIENT = s.L_h**2 + 2 * s.B_f**2 * s.L_g**2 + 4 * s.B_g**4 * s.L_f**2
"""Coefficient of the consensus error in the descent lemma."""
NOISE = {"h": s.sigma_h**2, "g": s.B_f**2 * s.sigma_g**2}
HETEROGENEITY = {"h": s.Delta_h**2, "g": s.B_f**2 * s.Delta_g**2}

SCHEDULE = {"eta": sp.sqrt(s.b * s.K / s.T), "beta": C_BETA.symbol * s.eta}
FOLLOWS_SCHEDULE = (
    Condition("step_size_choice", s.eta, "==", sp.sqrt(s.b * s.K / s.T)),
    Condition("momentum_choice", s.beta, "==", C_BETA.symbol * s.eta),
)
THRESHOLDS = (
    4 * (L_PHI.symbol * s.b * s.K + 8 * s.B_g**2) ** 2 / (s.b * s.K),
    s.B_g**4 * (96 * s.L_h**2 + 96 * s.B_f**2 * s.L_g**2) ** 2 / (s.b * s.K * CONSENSUS_COEFFICIENT**2),
    (216 * s.L_h**2 + 216 * s.B_f**2 * s.L_g**2) * s.I**2 * s.b * s.K,
)
T_TH = Derived(
    "T_th", sp.Max(*THRESHOLDS, evaluate=False), r"T_{\mathrm{th}}", "smallest horizon that the theorem admits"
)
LONG_ENOUGH = Condition("horizon", s.T, ">=", T_TH.symbol)


POTENTIAL_WEIGHT = OBJECTIVE / INNER**2
"""The potential adds Phi and the squared inner error: a weight of one [f]/[y]^2 is set to 1."""
STEP_UNIT = VARIABLE**2 / OBJECTIVE
"""The step size is given as a pure number: one [x]^2/[f] is set to 1."""
UNITS = (POTENTIAL_WEIGHT, STEP_UNIT)


def source(where: str, equation: str = "") -> Source:
    return Source("feddro", where, equation)


def declare(
    name: str, kind: str, title: str, source: Source, metric: Metric, printed: Statement, **more: Any
) -> Theorem:
    composed, corrected = more.pop("composed", None), more.pop("corrected", None)
    statements = {"printed": printed, "composed": composed, "corrected": corrected}
    more.setdefault("unit_choices", () if kind == "lemma" else UNITS)
    return Theorem(
        f"feddro.{name}",
        kind,
        title,
        source,
        NOTATION,
        metric,
        {label: statement for label, statement in statements.items() if statement is not None},
        ASSUMPTIONS,
        problem="shared_composite",
        costs=costs,
        **more,
    )
