"""Notation shared by FCSG, FCSG-M and Acc-FCSG-M (Wu et al.): one paper, three algorithms, one problem.

Problem: F(x) = (1/N) sum_n E_xi f^n_xi(E_{eta|xi} g^n_eta(x, xi)). Fhat^n is the same with the inner expectation
replaced by a mean of m samples. Assumptions 3.1 and 3.2 are displayed as expectations over xi at fixed points; they are
read here as in the words before them, for every sample, because the theorems are false otherwise (findings
`expected_smoothness`).
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from ...language.bounding import DIFFERENTIABLE, FRESH, INDEPENDENT, INDEPENDENT_CLIENTS, MEAN_MODEL, ONE_LAW, STARTS
from ...language.dimension import OBJECTIVE, ONE, VARIABLE
from ...language.notation import Notation
from ...language.quantities import NONNEGATIVE, Quantity
from ...language.theorem import Assumption, Condition, Derived, Metric, Source, Statement, Theorem
from .costs import costs, with_momentum

GRADIENT_SQ = (OBJECTIVE / VARIABLE) ** 2


def _observable(name: str, meaning: str) -> Quantity:
    return Quantity(name, meaning, GRADIENT_SQ, NONNEGATIVE, "observable")


_EXTRA = (
    _observable("update_sq", "E||ubar||^2 of the averaged estimate that makes the next step"),
    _observable("update_dispersion", "(1/N) sum_n E||u_n - ubar||^2 of the estimates as used"),
    _observable("estimate_error", "E||ubar - its target||^2"),
    _observable("initial_estimate_error", "E||ubar_1 - its target||^2"),
    Quantity("client_deviation", "E||x_n - xbar||^2 of one client n", VARIABLE**2, NONNEGATIVE, "observable"),
    Quantity("previous_consensus", "consensus error one step earlier", VARIABLE**2, NONNEGATIVE, "observable"),
)

_INNER_LIPSCHITZ = {
    "fcsg": "inner_jacobian_mean_square",
    "fcsg_m": "inner_jacobian_mean_square",
    "acc_fcsg_m": "inner_sample_lipschitz",
}
"""A second moment is enough for the first two algorithms; variance reduction needs every sample (finding
acc_fcsg_m.mean_square_smoothness)."""


def _notation(paper: str) -> Notation:
    return Notation(
        paper,
        (
            ("L_f", "L_f", "outer_sample_lipschitz"),
            ("L_g", "L_g", _INNER_LIPSCHITZ[paper]),
            ("S_f", "S_f", "outer_sample_smoothness"),
            ("S_g", "S_g", "inner_sample_smoothness"),
            ("sigma_g", r"\sigma_g", "inner_value_noise"),
            ("F_gap", r"(F(\bar x_0)-F_*)", "objective_gap"),
            ("alpha", r"\alpha", "step_size", "alpha is the step size here, not a momentum"),
            ("beta", r"\beta", "momentum", "beta is the momentum here, not a step size"),
            ("q", "q", "communication_period"),
            ("m", "m", "inner_batch_size"),
            ("b", "b", "batch_size"),
            ("B", "B", "initial_batch_size"),
            ("N", "N", "clients"),
            ("T", "T", "iterations"),
            ("gradient_sq", r"\mathbb{E}\|\nabla F(\bar x_t)\|^2", "gradient_sq"),
            ("direction_sq", r"\mathbb{E}\|\frac1N\sum_n\nabla\hat F^n(x_t^n)\|^2", "mean_direction_sq"),
            ("consensus_error", r"\frac1N\sum_n\mathbb{E}\|x_t^n-\bar x_t\|^2", "consensus_error"),
            ("previous_consensus", r"\frac1N\sum_n\mathbb{E}\|x_{t-1}^n-\bar x_{t-1}\|^2", "previous_consensus"),
            ("client_deviation_sq", r"\mathbb{E}\|x_t^n-\bar x_t\|^2", "client_deviation"),
            ("update_sq", r"\mathbb{E}\|\bar u\|^2", "update_sq"),
            ("dispersion_sq", r"\frac1N\sum_n\mathbb{E}\|u^n-\bar u\|^2", "update_dispersion"),
            ("error_sq", r"\mathbb{E}\|\bar u-\nabla\hat F\|^2", "estimate_error"),
            ("start_error_sq", r"\mathbb{E}\|\bar u_1-\nabla\hat F(\bar x_0)\|^2", "initial_estimate_error"),
        ),
        extra=_EXTRA,
    )


NOTATION = {paper: _notation(paper) for paper in _INNER_LIPSCHITZ}
s = NOTATION["fcsg"].namespace()
R = sp.Rational

S_F = Derived(
    "S_F", s.S_g * s.L_f + s.S_f * s.L_g**2, "S_F", "Lipschitz constant of grad F and of grad Fhat (Lemma A.2(b))"
)
C = Derived("c", 30 * S_F.symbol**2 / (s.b * s.N), "c", "momentum per squared step size, beta = c alpha^2")
PRODUCT = s.L_f**2 * s.L_g**2
"""L_f^2 L_g^2 bounds the second moment of a stochastic gradient."""
BIAS = s.L_g**2 * s.S_f**2 * s.sigma_g**2 / s.m
"""Lemma A.2(a): squared bias of the plug-in gradient."""

STATIONARITY = Metric(
    "(1/T) sum_t E||grad F(xbar_t)||^2",
    r"\frac1T\sum_{t=0}^{T-1}\mathbb{E}\|\nabla F(\bar x_t)\|^2",
    GRADIENT_SQ,
    "average over t = 0..T-1; F(xbar_0) - F(xbar_T) of the paper is weakened to F_gap",
    MEAN_MODEL,
)
ROUNDS = Metric("T/q", r"T/q", ONE, "number of communication rounds")

ASSUMPTIONS = (
    Assumption(
        "3.1",
        "every f_xi has an S_f-Lipschitz gradient and every g_eta(., xi) an S_g-Lipschitz Jacobian",
        ("S_f", "S_g"),
    ),
    Assumption(
        "3.2",
        "every f_xi has ||grad f_xi|| <= L_f; E||grad g_eta||^2 <= L_g^2 (every sample for Acc-FCSG-M)",
        ("L_f", "L_g"),
    ),
    Assumption(
        "3.3", "given xi, the variance of the inner value is at most sigma_g^2, for every xi and x", ("sigma_g",)
    ),
    Assumption("not stated: domain", "X is the whole space: no algorithm of the paper projects"),
    Assumption(
        "not stated: independence over time",
        "the samples of a step are independent of those of all other steps",
        says=(FRESH,),
    ),
    Assumption(
        "not stated: independence of outer samples",
        "xi is drawn independently for every client and batch entry, with one law for all entries",
        says=(INDEPENDENT, INDEPENDENT_CLIENTS, ONE_LAW),
    ),
    Assumption(
        "not stated: independence of inner samples",
        "given xi, eta is drawn independently for every inner entry, with one law for all of them",
        says=(INDEPENDENT, INDEPENDENT_CLIENTS, ONE_LAW),
    ),
    Assumption(
        "7",
        "grad F^n(x) = E[grad g(x, xi)^T grad f_xi(g(x, xi))] with g(x, xi) = E[g_eta(x, xi) | xi]",
        says=(DIFFERENTIABLE,),
    ),
    Assumption("Algorithm 1, line 2", "all clients start at the same point", says=(STARTS,)),
    Assumption("not stated: lower bound", "F is at least F_* everywhere, and F_gap = F(x_0) - F_*", ("F_gap",)),
)

STEP = Condition("step_size", s.alpha, "<=", 1 / (6 * s.q * S_F.symbol))
SHORT_STEP = Condition(
    "step_size", s.alpha, "<=", 1 / (12 * s.q * S_F.symbol), "Lemma D.3 and the proof of Theorem 4.7"
)
MOMENTUM_RANGE = Condition("momentum_range", s.beta, "<=", sp.Integer(1), "the estimate is a convex combination")
ROOT_SCHEDULE = {"alpha": sp.sqrt(s.N / s.T) / (6 * S_F.symbol), "q": (s.T / s.N**3) ** R(1, 4)}
"""Corollaries 4.2 and 4.5."""
WHOLE_PERIOD = Condition("whole_period", s.q, ">=", sp.Integer(1), "a communication period is at least one step")


def follows(schedule: dict[str, sp.Expr], at_most: tuple[str, ...] = ()) -> tuple[Condition, ...]:
    """`alpha == ...` and so on, for the choices of a corollary; those of `at_most` may also be smaller."""
    return tuple(
        Condition(f"{name}_choice", getattr(s, name), "<=" if name in at_most else "==", value)
        for name, value in schedule.items()
    )


def declare(
    paper: str,
    name: str,
    kind: str,
    title: str,
    source: tuple[str, str],
    metric: Metric,
    printed: Statement,
    *,
    composed: Callable[[], Statement] | None = None,
    corrected: Statement | None = None,
    follows_from: tuple[Theorem, dict[str, sp.Expr]] | None = None,
    not_composed: str = "",
) -> Theorem:
    """A theorem of this paper; `source` is (where, equation)."""
    statements = {"printed": printed, "composed": composed, "corrected": corrected}
    return Theorem(
        f"{paper}.{name}",
        kind,
        title,
        Source(paper, *source),
        NOTATION[paper],
        metric,
        {label: statement for label, statement in statements.items() if statement is not None},
        ASSUMPTIONS,
        follows_from=follows_from,
        not_composed=not_composed,
        problem="conditional",
        costs=costs if paper == "fcsg" else with_momentum,
    )
