"""FCSG-M: `composed` statements composed from the printed lemmas."""

from __future__ import annotations

import sympy as sp

from ...language.notation import slack_symbol
from ...language.theorem import Condition, DeclarationError, Statement, Term, Theorem
from ...proof.certificates import prove_nonnegative
from ...proof.compose import Chain
from ..fcsg.composed import (
    AT_STEP,
    MOMENTUM_RANGE,
    S_F,
    STEP,
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
    without_batch,
)

_U, _V = slack_symbol("u"), slack_symbol("v")
_SMOOTH = S_F.symbol
MOMENTUM = {"beta": 5 * _SMOOTH * s.alpha}
DIRECTION = Condition(
    "direction",
    s.alpha * _SMOOTH + 16 * s.alpha**2 * _SMOOTH**2 / s.beta**2,
    "<=",
    sp.Integer(1),
    "the averaged estimate has a nonpositive coefficient",
)


def descent() -> Statement:
    """Lemma C.1."""
    return descent_in_pieces(4, 2 * _SMOOTH**2 * s.consensus_error, "four pieces, each bounded by Lemma A.2")


def young(share: sp.Expr, kept: sp.Expr, moved: sp.Expr, factor: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Young's weights (1 + share, 1 + 1/share), times `factor`, are certified to be at most (kept, moved)."""
    for coefficient, bound in ((factor * (1 + share), kept), (factor * (1 + 1 / share), moved)):
        if prove_nonnegative(sp.simplify(bound - coefficient), {s.beta: 1 / (1 + _U)}) is None:
            raise DeclarationError(f"{coefficient} <= {bound} does not follow from beta <= 1")
    return kept, moved


def tracking(a_3_variance: Theorem) -> Statement:
    """Lemma C.2: the estimate forgets at rate beta/2; c_1 = beta/(1 - beta) and c_2 = beta/2 as in the paper."""
    weight = s.beta / (1 - s.beta)
    old = sp.simplify((1 - s.beta) ** 2 * (1 + weight))
    new = sp.simplify(s.beta**2 * (1 + 1 / weight))
    kept, jump = young(s.beta / 2, 1 - s.beta / 2, 2 / s.beta, old)
    noise = without_batch(Chain(total(a_3_variance) / s.N))
    recursion = (
        Chain(kept * s.error_sq + jump * _SMOOTH**2 * s.alpha**2 * s.update_sq, steps=("c_1, c_2 and Lemma A.2(b)",))
        .plus(new * _SMOOTH**2 * s.consensus_error, "the clients are not at xbar_t")
        .plus(s.beta**2 * noise.expr, "fresh noise")
        .require(MOMENTUM_RANGE)
    )
    chain = summed(recursion, s.error_sq, s.start_error_sq)
    groups = {
        "start": (s.start_error_sq,),
        "direction": (s.update_sq,),
        "drift": (s.consensus_error,),
    }
    return chain.statement(named(chain.expr, groups), (S_F,))


def consensus(a_3: Theorem, a_3_variance: Theorem) -> Statement:
    """Lemma C.3: (30) and (31), with Lemma A.3 for the spread of the gradients."""
    at_one = without_batch(Chain(total(a_3_variance))).expr
    forcing = at_one * (1 + 1 / s.N) + total(a_3)
    chain = Chain(
        (P + 1) * P * s.alpha**2 * s.dispersion_sq, steps=("as (17), each step counted at most q times",)
    ).insert(s.dispersion_sq, forcing, "(30) and (31): the weights beta (1-beta)^s add up to at most 1")
    solved = absorbed(chain, s.consensus_error, sp.Rational(1, 6), "feedback at most 1/6", (STEP,), AT_STEP)
    whole = solved.require(MOMENTUM_RANGE).scale(s.T, "sum over T steps")
    terms = (Term("drift", sp.factor(whole.expr.xreplace({P: s.q - 1}))),)
    return whole.statement(terms, (S_F,))


def theorem(c_1: Theorem, c_2: Theorem, c_3: Theorem, a_3_variance: Theorem) -> Statement:
    """Theorem 4.4: Lemma C.1 telescoped, with C.2, C.3 and the first batch put in; beta stays free."""
    first_batch = total(a_3_variance).xreplace({s.b: s.B})
    # alpha S_F = 1/(1+v) and beta as large as the condition asks, times 1 + u
    region = {
        s.beta: 4 * s.alpha * _SMOOTH * (1 + _U) * sp.sqrt((1 + _V) / _V),
        s.alpha: 1 / (_SMOOTH * (1 + _V)),
    }
    chain = (
        telescoped(c_1)
        .insert(s.error_sq, total(c_2), "Lemma C.2")
        .insert(s.consensus_error, total(c_3) / s.T, "Lemma C.3")
        .insert(s.start_error_sq, first_batch, "Lemma A.3 for the first batch, without its 1/N")
        .require(*c_3.statement("printed").conditions)
        .limit(s.update_sq, sp.Integer(0), "drop the averaged estimate", (DIRECTION,), region)
    )
    groups = {"initialisation": (s.F_gap,), "drift": (s.q,), "bias": (s.sigma_g,), "start": (s.B,)}
    return chain.statement(named(chain.expr, groups), (S_F,), MOMENTUM)


def corollary(main: Theorem, own: Theorem) -> Statement:
    """Corollary 4.5; B = O(1) of Remark 4.6 is read as 1."""
    return scheduled(main, own, s.N**3 * s.q**4, {"B": sp.Integer(1)})


def remark(own: Theorem) -> Statement:
    """Remark 4.6."""
    return rounds(own)
