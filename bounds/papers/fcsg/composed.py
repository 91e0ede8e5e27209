"""FCSG: `composed` statements composed from the printed lemmas, and the moves that all three algorithms share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import sympy as sp

from ...language.notation import slack_symbol
from ...language.theorem import Condition, DeclarationError, Derived, Statement, Term, Theorem
from ...proof.certificates import prove_nonnegative
from ...proof.compose import Chain, Smooth, plug_in_bias, split
from . import PAPER

WRITTEN = PAPER.written
s = WRITTEN.s
S_F = WRITTEN.derived["S_F"]
STEP, MOMENTUM_RANGE = WRITTEN.conditions["step_size"], WRITTEN.conditions["momentum_range"]
WHOLE_PERIOD = Condition("whole_period", s.q, ">=", sp.Integer(1), "a communication period is at least one step")
PRODUCT = s.L_f**2 * s.L_g**2
"""L_f^2 L_g^2 bounds the second moment of a stochastic gradient."""
BIAS = s.L_g**2 * s.S_f**2 * s.sigma_g**2 / s.m
"""Lemma A.2(a): squared bias of the plug-in gradient."""
U = slack_symbol("u")
P = slack_symbol("period")
_SMOOTH = S_F.symbol
LONGER_PERIOD = {s.q: 1 + P}
AT_LEAST_ONE = {s.b: 1 + slack_symbol("batch")}
AT_STEP = {s.alpha: STEP.right / (1 + U), **LONGER_PERIOD}
"""Sweeps alpha <= 1/(6 q S_F), q >= 1; P stands for q - 1 inside a chain."""
DESCENT_STEP = Condition(
    "descent_step", s.alpha * _SMOOTH, "<=", sp.Rational(1, 2), "step (d) of the proof of Lemma B.2"
)
ROLES = {"start": "initialisation", "first_block": "initialisation"}


# --- moves shared by the three proofs ----------


def descent_in_pieces(pieces: int, moved: sp.Expr, why: str) -> Statement:
    """grad F(xbar) - ubar cut into so many pieces: what the clients moved, the bias, and the error of the estimate."""
    chain = Chain(
        -(s.alpha / 2 - s.alpha**2 * _SMOOTH / 2) * s.update_sq - s.alpha / 2 * s.gradient_sq,
        steps=("smoothness of F",),
    ).plus(pieces * s.alpha / 2 * (moved + BIAS + s.error_sq), why)
    groups = {
        "descent": (s.gradient_sq,),
        "direction": (s.update_sq,),
        "drift": (s.consensus_error,),
        "bias": (s.sigma_g,),
    }
    return chain.statement(named(chain.expr, groups, "estimate"), (S_F,))


def total(lemma: Theorem, label: str = "printed") -> sp.Expr:
    return lemma.statement(label).total


def without_batch(chain: Chain) -> Chain:
    """The paper drops 1/b wherever Lemma A.3 is used."""
    return (
        chain.at_most(1 / s.b, sp.Integer(1), "1/b <= 1", substitution=AT_LEAST_ONE)
        if chain.expr.has(1 / s.b)
        else chain
    )


def telescoped(lemma: Theorem, label: str = "printed") -> Chain:
    """Sum a descent inequality over t = 0..T-1 and solve it for the average of gradient_sq."""
    chain = Chain(total(lemma, label))
    rate = -chain.coefficient(s.gradient_sq)
    if prove_nonnegative(rate) is None:
        raise DeclarationError(f"{lemma.id}: the gradient does not decrease the objective")
    rest = Chain(chain.expr.xreplace({s.gradient_sq: sp.Integer(0)}))
    return rest.plus(s.F_gap / s.T, f"telescope {lemma.id}").scale(1 / rate, "divide by the decrease per step")


def absorbed(
    chain: Chain, observable: sp.Symbol, share: sp.Expr, step: str, conditions: tuple[Condition, ...], region: Mapping
) -> Chain:
    """From A <= a A + c with a <= share < 1 on the region: A <= c / (1 - share)."""
    limited = chain.limit(observable, share, step, conditions, region)
    forcing = limited.expr.xreplace({observable: sp.Integer(0)})
    return replace(limited, expr=forcing / (1 - share))


def summed(recursion: Chain, observable: sp.Symbol, start: sp.Symbol) -> Chain:
    """From A_{t+1} <= (1 - a) A_t + c_t for 1 <= t < T, with a <= 1: the average over 1..T is at most (A_1/T + c)/a."""
    contraction = 1 - recursion.coefficient(observable)
    forcing = recursion.expr.xreplace({observable: sp.Integer(0)})
    expr = sp.expand((start / s.T + forcing) / sp.simplify(contraction))
    return replace(recursion, expr=expr, steps=(*recursion.steps, "sum over the steps")).require(MOMENTUM_RANGE)


def implied(condition: Condition, region: Mapping[sp.Symbol, sp.Expr]) -> None:
    """Certify that a condition of a lemma holds on the region of the theorem, so that it need not be listed again."""
    if prove_nonnegative(condition.slack, region) is None:
        raise DeclarationError(f"{condition} does not follow from the conditions of the theorem")


def named(expr: sp.Expr, groups: Mapping[str, tuple[sp.Symbol, ...]], rest: str = "variance") -> tuple[Term, ...]:
    """The summands of a bound, by what they contain."""
    return tuple(Term(t.name, sp.factor(t.expr), ROLES.get(t.name, "")) for t in split(expr, groups, rest))


def scheduled(
    theorem: Theorem, own: Theorem, horizon: sp.Expr, defaults: Mapping[str, sp.Expr] | None = None
) -> Statement:
    """A corollary: the terms of its theorem with the schedule put in that the corollary prints.

    A condition of the theorem that the schedule satisfies for every q >= 1 (certified) is not listed again.

    Args:
        horizon: T in terms of q and N, from the choice of q.
        defaults: values of what the corollary leaves open; they are not conditions.
    """
    parent, printed = theorem.statement("composed"), own.statement("printed")
    schedule = printed.schedule
    table = {getattr(s, name): value for name, value in schedule.items()}
    terms = tuple(Term(t.name, tidy(_inner(parent, t.expr, table)), t.role) for t in parent.terms)
    region = {s.T: horizon, s.q: 1 + P, s.N: 1 + slack_symbol("clients"), s.b: 1 + slack_symbol("batch")}

    def left_open(condition: Condition) -> bool:
        left, right = (_inner(parent, side, table) for side in (condition.left, condition.right))
        if condition.relation == "==":
            return tidy(left - right) != 0
        return prove_nonnegative(right - left, region) is None

    conditions = (*printed.conditions, *filter(left_open, parent.conditions), WHOLE_PERIOD)
    expressions = [t.expr for t in terms] + [side for c in conditions for side in (c.left, c.right)]
    used = {symbol for expr in expressions for symbol in expr.free_symbols}
    return Statement(
        "composed",
        terms,
        conditions,
        tuple(constant for constant in parent.derived if constant.symbol in used),
        {**schedule, **(defaults or {})},
        note=f"{theorem.id} (composed) with the schedule put in",
    )


def _inner(parent: Statement, expr: sp.Expr, table: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
    """Put the schedule in; c is written out, S_F stays."""
    expanded = expr.xreplace({constant.symbol: constant.expr for constant in parent.derived if constant.name == "c"})
    for _ in table:
        expanded = expanded.xreplace(table)
    return expanded


def tidy(expr: sp.Expr) -> sp.Expr:
    """Collect the powers of N and T."""
    return sp.powsimp(sp.expand_power_base(sp.powdenest(expr, force=True), force=True), force=True)


def rounds(corollary: Theorem) -> Statement:
    """The claim of a remark on T/q, at the schedule that a corollary prints."""
    schedule = corollary.statement("printed").schedule
    return Statement("composed", (Term("rounds", tidy(s.T / schedule["q"])),), note="T/q at the schedule")


# --- the lemmas of FCSG ----------


def plug_in_constants() -> Statement:
    """Lemma A.2: f_xi after the batch mean of g_eta; the batch mean is off by sigma_g / sqrt(m) in the mean square."""
    outer, inner = Smooth(s.L_f, s.S_f), Smooth(s.L_g, s.S_g)
    whole = outer.of(inner)
    bias = plug_in_bias(outer, inner, s.sigma_g / sp.sqrt(s.m))
    derived = (
        Derived("S_F", whole.smoothness, "S_F", "Lipschitz constant of grad F and grad Fhat"),
        Derived("bias_F", bias, r"\|\nabla\hat F^n-\nabla F^n\|", "(a) bias"),
        Derived("sigma_F", whole.lipschitz, r"\sigma_F", "(c) second moment of a stochastic gradient"),
        Derived("zeta_F", whole.lipschitz + whole.lipschitz, r"\|\nabla\hat F^n-\nabla\hat F^k\|", "(d) heterogeneity"),
    )
    return Statement("composed", (), derived=derived)


def batch_variance(a_2: Theorem) -> Statement:
    """Lemma A.3, first part: the mean of b independent gradients, each with the deviation of Lemma A.2(c)."""
    deviation = a_2.statement("printed").constant("sigma_F").expr
    return Statement("composed", (Term("variance", deviation**2 / s.b),), note="Lemma A.2(c) and independence")


def spread(a_2: Theorem) -> Statement:
    """Lemma A.3, second part: three pieces, two of them moved to xbar_t by Lemma A.2(b), the third by A.2(d)."""
    spread_at_mean = a_2.statement("printed").constant("zeta_F").expr ** 2
    pieces = 2 * _SMOOTH**2 * s.consensus_error + spread_at_mean
    chain = Chain(3 * pieces, steps=("||a + b + c||^2 <= 3 (||a||^2 + ||b||^2 + ||c||^2)",))
    terms = named(chain.expr, {"drift": (s.consensus_error,)}, "heterogeneity")
    return chain.statement(terms, (S_F,))


def consensus(a_3: Theorem, a_3_variance: Theorem) -> Statement:
    """Lemma B.1: (17), then (18) with Lemmas A.1 and A.3, then (19)."""
    chain = (
        Chain((P + 1) * P * s.alpha**2 * s.dispersion_sq, steps=("(17), each step counted at most q times",))
        .insert(s.dispersion_sq, 2 * total(a_3_variance) + 2 * total(a_3), "(18), noise and means apart")
        .at_most(1 / s.b, sp.Integer(1), "1/b <= 1", substitution=AT_LEAST_ONE)
    )
    solved = absorbed(chain, s.consensus_error, sp.Rational(1, 3), "(19)", (STEP,), AT_STEP)
    whole = solved.scale(s.T, "sum over T steps")
    terms = (Term("drift", sp.factor(whole.expr.xreplace({P: s.q - 1}))),)
    return whole.statement(terms, (S_F,))


def descent(a_3_variance: Theorem) -> Statement:
    """Lemma B.2 from (22) to (25)."""
    distance = 2 * (_SMOOTH**2 * s.consensus_error + BIAS)
    noise = without_batch(Chain(total(a_3_variance) / s.N))
    chain = (
        Chain(-s.alpha / 2 * s.gradient_sq - (s.alpha / 2 - s.alpha**2 * _SMOOTH) * s.direction_sq)
        .plus(s.alpha / 2 * distance, "(23) and (24)")
        .plus(s.alpha**2 * _SMOOTH * noise.expr, "(25)")
        .limit(
            s.direction_sq,
            sp.Integer(0),
            "(d): alpha S_F <= 1/2",
            (DESCENT_STEP,),
            {s.alpha: 1 / (2 * _SMOOTH * (1 + U))},
        )
    )
    groups = {"descent": (s.gradient_sq,), "drift": (s.consensus_error,), "bias": (s.sigma_g,)}
    return chain.statement(named(chain.expr, groups), (S_F,))


def theorem(b_1: Theorem, b_2: Theorem) -> Statement:
    """Theorem 4.1: Lemma B.2 telescoped, Lemma B.1 for the consensus error, both as printed."""
    for condition in b_2.statement("composed").conditions:
        implied(condition, AT_STEP)
    chain = (
        telescoped(b_2)
        .insert(s.consensus_error, total(b_1) / s.T, "Lemma B.1")
        .require(*b_1.statement("printed").conditions)
    )
    terms = named(chain.expr, {"initialisation": (s.F_gap,), "bias": (s.sigma_g,), "drift": (s.q,)})
    return chain.statement(terms, (S_F,))


def corollary(main: Theorem, own: Theorem) -> Statement:
    """Corollary 4.2."""
    return scheduled(main, own, s.N**3 * s.q**4)
