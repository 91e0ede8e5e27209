"""Notation of Local-SCGDM (Gao, Li, Huang): symbols, assumptions, the four conditions and the metric of Theorem 3.4.

Problem (1): F(x) = (1/K) sum_k f_k(g_k(x)). What a lemma prints as a sum over the clients stands here divided by K,
and Lemma 4.3 also by T. beta carries the unit [x]^2/[f] of a step size; eta, alpha and gamma are pure numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from ...language.bounding import DIFFERENTIABLE, EITHER, EQUAL_INNER, FRESH, MEAN_MODEL, SEPARATE, STARTS
from ...language.dimension import INNER, OBJECTIVE, VARIABLE, Dimension
from ...language.notation import Notation
from ...language.quantities import NONNEGATIVE, Quantity
from ...language.theorem import Assumption, Condition, Derived, Metric, Source, Statement, Theorem
from .costs import costs

GRADIENT_SQ = (OBJECTIVE / VARIABLE) ** 2


def _observable(name: str, meaning: str, dimension: Dimension) -> Quantity:
    return Quantity(name, meaning, dimension, NONNEGATIVE, "observable")


_EXTRA = (
    _observable("momentum_sq", "(1/K) sum_k E||m_k||^2 of the momentum that makes the step", GRADIENT_SQ),
    _observable("momentum_error", "(1/K) sum_k E||m_k - grad F_k(x_k)||^2", GRADIENT_SQ),
    _observable("momentum_deviation", "(1/K) sum_k E||grad F_k(xbar) - m_k||^2", GRADIENT_SQ),
    _observable("move_sq", "(1/K) sum_k E||x_t - x_{t-1}||^2 of the clients' models", VARIABLE**2),
    _observable("client_inner_error", "(1/K) sum_k E||u_k - g_k(x_k)||^2, one step earlier", INNER**2),
    _observable("next_client_inner_error", "(1/K) sum_k E||u_k - g_k(x_k)||^2", INNER**2),
    _observable("inner_consensus", "(1/K) sum_k E||u_k - ubar||^2", INNER**2),
    _observable("start_momentum_error", "(1/K) sum_k E||m_1 - grad F_k(x_0)||^2", GRADIENT_SQ),
    _observable("start_inner_error", "(1/K) sum_k E||u_1 - g_k(x_0)||^2", INNER**2),
)
_MEAN = r"\frac1K\sum_k\mathbb{E}"

NOTATION = Notation(
    "local_scgdm",
    (
        ("C_f", "C_f", "outer_mean_square_lipschitz"),
        ("C_g", "C_g", "inner_jacobian_mean_square"),
        ("L_f", "L_f", "outer_smoothness"),
        ("L_g", "L_g", "inner_smoothness"),
        ("sigma_f", r"\sigma_f", "outer_gradient_noise"),
        ("sigma_g", r"\sigma_g", "inner_jacobian_noise"),
        ("delta_g", r"\delta_g", "inner_value_noise"),
        ("F_gap", r"(F(x_0)-F_*)", "objective_gap"),
        ("alpha", r"\alpha", "gradient_momentum", "alpha*eta is the weight of a new gradient"),
        ("beta", r"\beta", "step_size", "in units of eta: the models move by beta*eta"),
        ("gamma", r"\gamma", "inner_momentum", "gamma*eta is the weight of a new inner value"),
        ("eta", r"\eta", "step_scale", "it multiplies beta (the step size), alpha and gamma (the two weights)"),
        ("p", "p", "communication_period"),
        ("T", "T", "iterations"),
        ("L_1", "L_1", "local_smoothness"),
        ("L_2", "L_2", "local_hessian_lipschitz"),
        ("sigma_1", r"\sigma_1", "local_gradient_noise"),
        ("sigma_2", r"\sigma_2", "local_hessian_noise"),
        ("G", "G", "local_gradient_bound"),
        ("lam", r"\lambda", "fine_tuning_step_size"),
        ("gradient_sq", r"\mathbb{E}\|\nabla F(\bar x_t)\|^2", "gradient_sq"),
        ("momentum_sq", _MEAN + r"\|m^{(k)}\|^2", "momentum_sq"),
        ("momentum_error", _MEAN + r"\|m^{(k)}-\nabla F^{(k)}(x^{(k)})\|^2", "momentum_error"),
        ("momentum_deviation", _MEAN + r"\|\nabla F^{(k)}(\bar x)-m^{(k)}\|^2", "momentum_deviation"),
        ("move_sq", _MEAN + r"\|x_t^{(k)}-x_{t-1}^{(k)}\|^2", "move_sq"),
        ("inner_error", _MEAN + r"\|u_t^{(k)}-g^{(k)}(x_{t-1}^{(k)})\|^2", "client_inner_error"),
        ("next_inner_error", _MEAN + r"\|u_{t+1}^{(k)}-g^{(k)}(x_t^{(k)})\|^2", "next_client_inner_error"),
        ("inner_consensus", _MEAN + r"\|u^{(k)}-\bar u\|^2", "inner_consensus"),
        ("consensus_error", _MEAN + r"\|x_t^{(k)}-\bar x_t\|^2", "consensus_error"),
        ("consensus_sum", r"\sum_{t'=s_tp}^{t-1}" + _MEAN + r"\|x_{t'}^{(k)}-\bar x_{t'}\|^2", "consensus_sum"),
        ("start_momentum_error", _MEAN + r"\|m_1^{(k)}-\nabla F^{(k)}(x_0)\|^2", "start_momentum_error"),
        ("start_inner_error", _MEAN + r"\|u_1^{(k)}-g^{(k)}(x_0)\|^2", "start_inner_error"),
    ),
    extra=_EXTRA,
)
s = NOTATION.namespace()

L_F = Derived("L_F", s.C_g**2 * s.L_f + s.C_f * s.L_g, "L_F", "Lipschitz constant of grad F, after (5)")
_COUPLED = s.C_g**4 * s.L_f**2
_BRACKET = _COUPLED / s.gamma**2 + _COUPLED / s.gamma + L_F.symbol**2 / s.alpha**2

MOMENTUM_RANGE = Condition("momentum_range", s.alpha, "<", 1 / s.eta)
INNER_RANGE = Condition("inner_momentum_range", s.gamma, "<", 1 / s.eta)
STEP = Condition("step_size", s.beta, "<=", sp.sqrt(sp.Rational(1, 8) / _BRACKET), "the momentum is absorbed, (41)")
SCALE = Condition("step_scale", s.eta, "<=", sp.Integer(1))
DESCENT_STEP = Condition("step_scale_descent", s.eta, "<=", 1 / (2 * s.beta * L_F.symbol), "descent, (38)")
PERIOD = Condition(
    "period",
    s.p,
    "<=",
    1 / (4 * s.beta * s.eta * sp.sqrt(6 * s.C_f**2 * s.L_g**2 + 16 * _COUPLED)),
    "Lemma 4.3",
)
COMMUNICATES = Condition("period_above_one", s.p, ">=", sp.Integer(2), "input of Algorithm 1, p > 1 for a whole number")

STATIONARITY = Metric(
    "(1/T) sum_t E||grad F(xbar_t)||^2",
    r"\frac1T\sum_{t=0}^{T-1}\mathbb{E}\|\nabla F(\bar x_t)\|^2",
    GRADIENT_SQ,
    "average over t = 0..T-1 at the mean of the clients' models",
    MEAN_MODEL,
)
ASSUMPTIONS = (
    Assumption(
        "3.1", "every grad f_k is L_f-Lipschitz and every grad g_k L_g-Lipschitz (mean functions)", ("L_f", "L_g")
    ),
    Assumption(
        "3.2",
        "f_k is C_f-Lipschitz, g_k is C_g-Lipschitz; E||grad f_k||^2 <= C_f^2, E||grad g_k||^2 <= C_g^2",
        ("C_f", "C_g"),
    ),
    Assumption(
        "3.3",
        "variances at most sigma_f^2 (grad f_k), sigma_g^2 (grad g_k) and delta_g^2 (g_k)",
        ("sigma_f", "sigma_g", "delta_g"),
    ),
    Assumption(
        "not stated: samples",
        "unbiased, fresh at every step; the sample of f_k is independent of that of g_k",
        says=(FRESH, SEPARATE),
    ),
    Assumption(
        "not stated: start", "all clients start from one model, and F is bounded below by F_*", ("F_gap",), (STARTS,)
    ),
    Assumption(
        "not stated: chain rule",
        "F is differentiable, with the gradient (1/K) sum_k (grad g_k)^T grad f_k(g_k)",
        says=(DIFFERENTIABLE,),
    ),
    Assumption(
        "not stated: clients",
        "for `corrected`: the g_k are equal (the f_k are free), or line 13 of Algorithm 1 is deleted; "
        "`printed` and `composed` are false for clients that differ (finding local_scgdm.heterogeneity)",
        says=(EQUAL_INNER, EITHER),
        only="corrected",
    ),
)
IDENTICAL = Assumption(
    "not stated: identical clients", "for `corrected`: f_k = f and g_k = g for all clients", only="corrected"
)
META = (
    Assumption("3.8", "gradients L_1-, Hessians L_2-Lipschitz, variances sigma_1^2 and sigma_2^2, gradients at most G"),
)

Made = Statement | Callable[[], Statement]

VALUE = s.C_g**2 * s.L_f**2 * s.delta_g**2
OUTER = s.C_g**2 * s.sigma_f**2
JACOBIAN = s.C_f**2 * s.sigma_g**2
"""The three noises, as they enter a squared gradient."""
PERIOD_SQ = s.p**2 * s.beta**2 * s.eta**2


def declare(
    name: str,
    kind: str,
    title: str,
    where: tuple[str, str],
    metric: Metric,
    printed: Made,
    **more: object,
) -> Theorem:
    """A theorem of this paper; `composed` and `corrected` are statements or functions that compose them."""
    labelled = {"printed": printed, "composed": more.pop("composed", None), "corrected": more.pop("corrected", None)}
    return Theorem(
        f"local_scgdm.{name}",
        kind,
        title,
        Source("local_scgdm", *where),
        NOTATION,
        metric,
        {label: statement for label, statement in labelled.items() if statement is not None},  # type: ignore[misc]
        more.pop("assumptions", ASSUMPTIONS),  # type: ignore[arg-type]
        problem="local_composite",
        costs=costs,
        **more,  # type: ignore[arg-type]
    )
