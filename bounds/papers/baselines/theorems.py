"""What the simplest methods achieve: Local SGD, minibatch SGD, SCGD, biased SGD. Statements and derivations of our own.

They are there to compare with: `fedco compare` says against them what composition, and what local steps, cost.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from ...language.theorem import Assumption, Condition, Derived, MethodCall, Statement, Term, Theorem
from . import costs
from .notation import (
    BOUNDED,
    COMPOSITE,
    CONDITIONAL,
    FEDERATED,
    NOTATION,
    POOLED,
    SIMILAR,
    STATIONARITY,
    s,
    source,
)

_ONE = sp.Integer(1)


def _theorem(
    name: str,
    title: str,
    section: str,
    statement: Statement,
    assumptions: tuple[Assumption, ...],
    problem: str,
    method: MethodCall,
    **more: Any,
) -> Theorem:
    return Theorem(
        f"baselines.{name}",
        "theorem",
        title,
        source(section),
        NOTATION,
        STATIONARITY,
        {"printed": statement},
        assumptions,
        not_composed="the derivation is our own: there are no printed lemmas to compose",
        problem=problem,
        method=method,
        **more,
    )


def _initialisation() -> Term:
    return Term("initialisation", 2 * s.F_gap / (s.eta * s.T))


def _variance(smoothness: sp.Expr) -> Term:
    """Of a step with the mean of N b independent stochastic gradients."""
    return Term("variance", smoothness * s.eta * s.sigma**2 / (s.N * s.b))


def _step(smoothness: sp.Expr) -> Condition:
    return Condition("step_size", s.eta, "<=", 1 / smoothness, "the descent lemma")


_ROUNDS = MethodCall("local_sgd", {"eta": s.eta, "tau": s.p, "b": s.b})

SECOND_MOMENT = Derived("M", sp.sqrt(s.G**2 + s.sigma**2 / s.b), "M", "root bound of E||stochastic gradient||^2")
LOCAL_SGD = _theorem(
    "local_sgd",
    "Local SGD, bounded second moment",
    "2",
    Statement(
        "printed",
        (
            _initialisation(),
            _variance(s.L),
            Term("drift", (s.p - 1) * (2 * s.p - 1) / 6 * s.eta**2 * s.L**2 * SECOND_MOMENT.symbol**2),
        ),
        (_step(s.L),),
        (SECOND_MOMENT,),
    ),
    (*FEDERATED, BOUNDED),
    "federated",
    _ROUNDS,
)

LOCAL_SGD_HETEROGENEITY = _theorem(
    "local_sgd_heterogeneity",
    "Local SGD, bounded heterogeneity",
    "3",
    Statement(
        "printed",
        (
            _initialisation(),
            _variance(s.L),
            Term(
                "heterogeneity",
                sp.Rational(4, 3) * (s.p - 1) * (2 * s.p - 1) * s.eta**2 * s.L**2 * s.zeta**2,
            ),
            Term("noise_drift", 4 * (s.p - 1) * (1 - 1 / s.N) * s.eta**2 * s.L**2 * s.sigma**2 / s.b, "drift"),
        ),
        (
            _step(s.L),
            Condition(
                "round_length", 2 * s.p * (s.p - 1) * s.eta**2 * s.L**2, "<=", _ONE, "the drift of a round is stable"
            ),
        ),
    ),
    (*FEDERATED, SIMILAR),
    "federated",
    _ROUNDS,
)

MINIBATCH_SGD = _theorem(
    "minibatch_sgd",
    "minibatch SGD",
    "1",
    Statement("printed", (_initialisation(), _variance(s.L_bar)), (_step(s.L_bar),)),
    POOLED,
    "federated",
    MethodCall("minibatch_sgd", {"eta": s.eta, "b": s.b}),
)

_COMPOSED = Derived("L_F", s.C_g**2 * s.L_f + s.C_f * s.L_g, "L_F", "Lipschitz constant of grad F")
_inner = s.C_g**2 * s.L_f**2
_moment = s.C_f**2 * s.C_g**2
SCGD = _theorem(
    "scgd",
    "SCGD, averaging after every step",
    "4",
    Statement(
        "printed",
        (
            _initialisation(),
            Term("inner_start", _inner * s.delta_g**2 / (s.b * s.T) * (1 + 2 / (s.N * s.gamma)), "initialisation"),
            Term("inner_noise", _inner * (s.gamma**2 + 2 * s.gamma / s.N) * s.delta_g**2 / s.b, "bias"),
            Term("inner_drift", 2 * s.eta**2 / s.gamma**2 * s.C_g**2 * _inner * _moment, "bias"),
            Term("variance", _COMPOSED.symbol * s.eta * _moment / s.N),
        ),
        (_step(_COMPOSED.symbol), Condition("momentum_range", s.gamma, "<=", _ONE, "a convex combination")),
        (_COMPOSED,),
    ),
    COMPOSITE,
    "local_composite",
    MethodCall("scgd", {"eta": s.eta, "gamma": s.gamma, "b": s.b}),
    assume=("equal_inner_maps",),
    costs=costs.scgd,
)

_CONDITIONAL = Derived("S_F", s.S_g * s.B_f + s.S_f * s.C_g**2, "S_F", "Lipschitz constant of grad F")
BIASED_SGD = _theorem(
    "biased_sgd",
    "biased SGD on a conditional problem, averaging after every step",
    "5",
    Statement(
        "printed",
        (
            _initialisation(),
            Term("bias", s.C_g**2 * s.S_f**2 * s.delta_g**2 / s.m),
            Term("variance", _CONDITIONAL.symbol * s.eta * s.B_f**2 * s.C_g**2 / (s.N * s.b)),
        ),
        (_step(_CONDITIONAL.symbol),),
        (_CONDITIONAL,),
    ),
    CONDITIONAL,
    "conditional",
    MethodCall("minibatch_sgd", {"eta": s.eta, "b": s.b, "m": s.m}),
    costs=costs.biased_sgd,
)

THEOREMS = (LOCAL_SGD, LOCAL_SGD_HETEROGENEITY, MINIBATCH_SGD, SCGD, BIASED_SGD)
