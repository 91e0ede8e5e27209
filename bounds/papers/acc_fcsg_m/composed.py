"""Acc-FCSG-M: `composed` statements composed from the printed lemmas; each inequality of the text is certified."""

from __future__ import annotations

from dataclasses import replace

import sympy as sp

from ...language.notation import slack_symbol
from ...language.theorem import DeclarationError, Statement, Theorem
from ...proof.compose import Chain
from ..fcsg.composed import (
    LONGER_PERIOD,
    MOMENTUM_RANGE,
    PRODUCT,
    S_F,
    P,
    absorbed,
    descent_in_pieces,
    named,
    rounds,
    s,
    scheduled,
    summed,
    telescoped,
    total,
)
from . import PAPER

_U = slack_symbol("u")
_SMOOTH = S_F.symbol
C = PAPER.written.derived["c"]
_c = C.symbol
MOMENTUM = {"beta": _c * s.alpha**2}
SHORT_STEP = replace(PAPER.written.conditions["short_step"], name="step_size")
MOMENTUM_CHOICE = PAPER.written.conditions["momentum_choice"]
AT_STEP = {
    s.beta: MOMENTUM["beta"],
    _c: C.expr,
    s.alpha: SHORT_STEP.right / (1 + _U),
    **LONGER_PERIOD,
    s.b: 1 + slack_symbol("batch"),
    s.N: 1 + slack_symbol("clients"),
}
"""Sweeps alpha <= 1/(12 q S_F), beta = c alpha^2, c = 30 S_F^2/(bN) and q, b, N >= 1; P is q - 1 inside a chain."""
PROOF = (SHORT_STEP, MOMENTUM_CHOICE)
SHARE = sp.Rational(101, 120)
"""The paper keeps at least 2 * 101/240 of the dispersion in (46), and needs at most that in (51)."""


def descent() -> Statement:
    """Lemma D.1: the consensus error with its sum over the clients."""
    return descent_in_pieces(3, _SMOOTH**2 * s.consensus_error, "(33) to (35)")


def growth_over_a_round() -> int:
    """(1 + 19/(18 q))^q <= e^(19/18) <= 3."""
    if not sp.exp(sp.Rational(19, 18)) < 3:
        raise DeclarationError("e^(19/18) is not below 3")
    return 3


def dispersion() -> Statement:
    """Lemma D.3 as its proof ends, (46): the recursion (43) unrolled over a round and summed.

    With gamma = 1/q a step adds 4 S_F^2 (1+q) alpha^2 ||ubar||^2 + 52 (1+q) beta^2 L_f^2 L_g^2 and, for the
    dispersion so far, 24 S_F^2 (1+q)(q-1) beta^2 alpha^2; every summand is counted at most q times and grows at
    most threefold.
    """
    product = slack_symbol("product")
    repeated = growth_over_a_round() * (P + 1)
    step = (P + 2) * (4 * _SMOOTH**2 * s.alpha**2 * s.update_sq + 52 * s.beta**2 * product)
    so_far = 24 * _SMOOTH**2 * (P + 2) * P * s.beta**2 * s.alpha**2 * (P + 1) * s.dispersion_sq
    chain = (
        Chain(repeated * (step + so_far), steps=("(43) unrolled over a round",))
        .limit(s.update_sq, sp.Rational(1, 6), "(45), first summand", PROOF, AT_STEP)
        .limit(product, sp.Rational(13, 6) * _c**2 * s.alpha**2 / _SMOOTH**2, "(45), second summand", PROOF, AT_STEP)
    )
    solved = absorbed(chain, s.dispersion_sq, 1 - SHARE, "(46)", PROOF, AT_STEP)
    terms = named(solved.expr.xreplace({product: PRODUCT}), {"direction": (s.update_sq,)}, "heterogeneity")
    return solved.statement(terms, (S_F, C), MOMENTUM)


def _error(d_2: Theorem) -> Chain:
    """Average of Lemma D.2 over the steps, after (47)."""
    momentum = {s.beta: 1 / (1 + _U)}
    one_step = (
        Chain(total(d_2))
        .limit(s.error_sq, 1 - s.beta, "(1-beta)^2 <= 1-beta", (MOMENTUM_RANGE,), momentum)
        .limit(
            s.dispersion_sq,
            8 * _SMOOTH**2 * s.alpha**2 / (s.N * s.b),
            "(47)",
            (MOMENTUM_RANGE,),
            {**momentum, **LONGER_PERIOD},
        )
        .limit(s.update_sq, 4 * _SMOOTH**2 * s.alpha**2 / (s.N * s.b), "(47)", (MOMENTUM_RANGE,), momentum)
    )
    return summed(one_step, s.error_sq, s.start_error_sq)


def theorem(d_1: Theorem, d_2: Theorem, d_3: Theorem, a_3_variance: Theorem) -> Statement:
    """Theorem 4.7: D.1 (with its sum), D.2 as printed, (17) for the consensus error, and (46) for the dispersion."""
    error = _error(d_2)
    within_a_round = (P + 1) * P * s.alpha**2 * s.dispersion_sq
    first_batch = total(a_3_variance).xreplace({s.b: s.B}) / s.N
    chain = (
        telescoped(d_1, "composed")
        .insert(s.error_sq, error.expr, "Lemma D.2 through the potential (48)")
        .insert(s.consensus_error, within_a_round, "(50), with (17)")
        .require(*error.conditions)
        .limit(s.dispersion_sq, SHARE, "(51)", PROOF, AT_STEP)
        .insert(s.dispersion_sq, total(d_3, "composed"), "(46)")
        .insert(s.start_error_sq, first_batch, "Lemma A.3 for the first batch of every client")
        .limit(s.update_sq, sp.Integer(0), "drop the averaged estimate", PROOF, AT_STEP)
    )
    groups = {
        "initialisation": (s.F_gap,),
        "bias": (s.sigma_g,),
        "start": (s.B,),
        "drift": (_c,),
    }
    return chain.statement(named(chain.expr, groups), (S_F, C), MOMENTUM)


def corollary(main: Theorem, own: Theorem) -> Statement:
    """Corollary 4.8."""
    return scheduled(main, own, s.N**2 * s.q**3)


def remark(own: Theorem) -> Statement:
    """Remark 4.9."""
    return rounds(own)
