"""Local-SCGDM: `composed` statements, composed from the paper's own lines; see docs/theory/local_scgdm.md.

They say what the lemmas give, and inherit what is wrong in them: at communications Lemmas 4.1 and 4.2 fail for clients
that differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import sympy as sp

from ...language.notation import slack_symbol
from ...language.theorem import Condition, Derived, Statement, Term, Theorem
from ...proof.compose import IDENTITY, Chain, Smooth, root_mean_square, split
from . import PAPER

s = PAPER.written.s
L_F = PAPER.written.derived["L_F"]
CONDITIONS = PAPER.written.conditions
_U, _V = slack_symbol("u"), slack_symbol("v")


def _at_most(count: int, *parts: sp.Expr) -> sp.Expr:
    """||a_1 + ... + a_k||^2 <= k (||a_1||^2 + ... + ||a_k||^2), the number of vectors being checked."""
    if len(parts) != count:
        raise ValueError(f"wanted {count} squares, got {len(parts)}")
    return count * sp.Add(*parts)


def meta(of: Theorem) -> Statement:
    """Lemma 3.9: g = x - lam grad L and f = L, as (18) to (24) combine their constants."""
    m = of.notation.namespace()
    gradient = Smooth(m.L_1, m.L_2)
    inner, outer = IDENTITY + gradient.scaled(m.lam), Smooth(m.G, m.L_1)
    noise_f, noise_g = m.sigma_1, m.lam * m.sigma_2
    return Statement(
        "composed",
        (),
        derived=(
            Derived("L_f", outer.smoothness, "L_f", "(19)"),
            Derived("L_g", inner.smoothness, "L_g", "(18)"),
            Derived("C_f", root_mean_square(outer.lipschitz, noise_f), "C_f", "(22)"),
            Derived("C_g", root_mean_square(inner.lipschitz, noise_g), "C_g", "(21)"),
            Derived("sigma_f", noise_f, r"\sigma_f", "(23)"),
            Derived("sigma_g", noise_g, r"\sigma_g", "(23)"),
            Derived("delta_g", m.lam * m.sigma_1, r"\delta_g", "(23)"),
            Derived("L_F", outer.of(inner).smoothness, "L_F", "(24)"),
        ),
        note="the cross term that (21) drops vanishes in a norm with an inner product; one task per device",
    )


# --- Lemmas 4.1 and 4.2 ----------------------------------------------------------------------------------------------


def momentum_error() -> Statement:
    """(25) from its fifth line on: Young with a = c/(1-c), c = alpha eta; then ||b_1 + b_2||^2 <= 2 (...)."""
    c, in_range = s.alpha * s.eta, CONDITIONS["momentum_range"]
    a = c / (1 - c)
    moved = L_F.symbol**2 * s.move_sq
    inner = s.C_g**2 * s.L_f**2 * s.next_inner_error
    old = sp.cancel((1 + a) * (1 - c) ** 2) * s.momentum_error
    shrink = slack_symbol("shrink")  # (1 - c)^2, until it is bounded by 1
    new = sp.cancel(1 + 1 / a) * _at_most(2, shrink * moved, c**2 * inner)
    noise = c**2 * _at_most(2, s.C_g**2 * s.sigma_f**2, s.C_f**2 * s.sigma_g**2)
    chain = (
        Chain(old + new + noise)
        .at_most(
            shrink,
            sp.Integer(1),
            "(1 - alpha eta)^2 <= 1",
            in_range,
            substitution={shrink: (1 - c) ** 2, s.alpha: 1 / (s.eta * (1 + _U))},
        )
        .insert(s.move_sq, s.beta**2 * s.eta**2 * s.momentum_sq, "x_t - x_{t-1} = -beta eta m_t")
    )
    part = sp.expand(chain.expr.xreplace({s.momentum_error: sp.Integer(0)}))
    terms = (
        Term("momentum_error", old),
        Term("inner_error", part.coeff(s.next_inner_error) * s.next_inner_error),
        Term("momentum", part.coeff(s.momentum_sq) * s.momentum_sq),
        Term("gradient_noise", noise, "variance"),
    )
    return chain.statement(terms, (L_F,))


def inner_error() -> Statement:
    """(26): Young with a = (1-w)/w, w = gamma eta."""
    w, in_range = s.gamma * s.eta, CONDITIONS["inner_momentum_range"]
    a = (1 - w) / w
    shrink = slack_symbol("shrink")
    old = sp.cancel((1 - w) ** 2 * (1 + 1 / a)) * s.inner_error
    chain = (
        Chain(old + shrink * sp.cancel(1 + a) * s.C_g**2 * s.move_sq + w**2 * s.delta_g**2)
        .at_most(
            shrink,
            sp.Integer(1),
            "(1 - gamma eta)^2 <= 1",
            in_range,
            substitution={shrink: (1 - w) ** 2, s.gamma: 1 / (s.eta * (1 + _U))},
        )
        .insert(s.move_sq, s.beta**2 * s.eta**2 * s.momentum_sq, "x_t - x_{t-1} = -beta eta m_t")
    )
    terms = (
        Term("momentum", sp.cancel(chain.coefficient(s.momentum_sq)) * s.momentum_sq),
        Term("inner_noise", w**2 * s.delta_g**2, "variance"),
        Term("inner_error", old),
    )
    return chain.statement(terms)


# --- Lemmas A.1 and 4.3 ----------------------------------------------------------------------------------------------


def inner_spread() -> Statement:
    """(30) to (32): four differences, two of noise and two of drift, over at most p steps with weights of sum <= 1."""
    steps = slack_symbol("steps")
    moved = s.C_g**2 * s.consensus_sum
    noise = steps * s.delta_g**2
    chain = Chain(_at_most(4, noise, moved, moved, noise), (CONDITIONS["inner_momentum_range"],)).insert(
        steps, s.p, "at most p steps since the last communication"
    )
    parts = sp.expand(chain.expr)
    drift = parts.coeff(s.consensus_sum) * s.consensus_sum
    terms = (Term("inner_noise", sp.expand(parts - drift), "variance"), Term("drift", drift))
    return chain.statement(terms)


def drift_step(a_1: Theorem, a_2: Theorem) -> Statement:
    """(35) and (36): p beta^2 eta^2 times Lemma A.2 over a period; the p sums over a period add up to p times all."""
    spread = a_2.statement("printed")
    inner = a_1.statement("printed")
    chain = (
        Chain(spread.total, (CONDITIONS["momentum_range"], *inner.conditions))
        .insert(s.inner_consensus, inner.total / s.p, "Lemma A.1, as a mean over the period")
        .insert(s.consensus_sum, s.p * s.consensus_error, "sum over the period as a mean")
        .scale(s.p**2 * s.beta**2 * s.eta**2, "p^2 beta^2 eta^2: weights alpha eta sum (1 - alpha eta)^j <= 1")
    )
    return chain.statement(_drift_terms(chain.expr))


def _drift_terms(expr: sp.Expr) -> tuple[Term, ...]:
    groups = {
        "drift": (s.consensus_error,),
        "inner_noise": (s.delta_g,),
        "outer_noise": (s.sigma_f,),
        "jacobian_noise": (s.sigma_g,),
    }
    found = split(expr, groups, "jacobian_noise")
    return tuple(Term(t.name, t.expr, "drift" if t.name == "drift" else "variance") for t in found)


def drift(step: Theorem) -> Statement:
    """(37): X <= a X + b with a <= 1/2, hence X <= 2 b."""
    line, period = step.statement("printed"), CONDITIONS["period"]
    forcing = sp.expand(line.total.xreplace({s.consensus_error: sp.Integer(0)}))
    chain = Chain(line.term("drift").expr, line.conditions).limit(
        s.consensus_error,
        sp.Rational(1, 2),
        "the drift feeds back at most one half",
        (period,),
        {s.p: period.right / (1 + _U)},
    )
    chain = Chain(forcing, chain.conditions, chain.steps).scale(1 / (1 - sp.Rational(1, 2)), "solved")
    return chain.statement(_drift_terms(chain.expr))


# --- the potential ---------------------------------------------------------------------------------------------------


def descent() -> Statement:
    """(38): smoothness, the polarisation identity with the clients' own gradients, and a split into two squares."""
    step, small = s.beta * s.eta, CONDITIONS["step_scale_descent"]
    start = -step / 2 * s.gradient_sq - step / 2 * s.momentum_sq + step**2 * L_F.symbol / 2 * s.momentum_sq
    split_in_two = _at_most(2, L_F.symbol**2 * s.consensus_error, s.momentum_error)
    chain = (
        Chain(start + step / 2 * s.momentum_deviation)
        .limit(s.momentum_sq, -step / 4, "half of the momentum is kept", (small,), {s.eta: small.right / (1 + _U)})
        .insert(s.momentum_deviation, split_in_two, "Lipschitz gradients")
    )
    expr = sp.expand(chain.expr)
    names = {"descent": s.gradient_sq, "momentum": s.momentum_sq, "momentum_error": s.momentum_error}
    terms = [Term(name, expr.coeff(o) * o) for name, o in {**names, "drift": s.consensus_error}.items()]
    return chain.statement(tuple(terms), (L_F,))


def potential_weights(at: Any = s) -> tuple[Any, Any]:
    """What the momentum error and the inner error weigh in the potential (14) = (39); `at` has the symbols, or numbers for them."""
    return at.beta / at.alpha, 2 * at.beta * at.C_g**2 * at.L_f**2 / at.gamma


def potential_chain(first: Theorem, outer: Theorem, inner: Theorem) -> Chain:
    """(40): (15) + (beta/alpha) Lemma 4.1 + (2 beta C_g^2 L_f^2/gamma) Lemma 4.2; 4.2 also enters 4.1."""
    weight_m, weight_u = potential_weights()
    base, m, u = first.statement("printed"), outer.statement("composed"), inner.statement("printed")
    chain = (
        Chain(base.total)
        .plus(weight_m * (m.total - s.momentum_error), "beta/alpha times Lemma 4.1 as in (25)")
        .plus(weight_u * (s.next_inner_error - s.inner_error), "2 beta C_g^2 L_f^2/gamma times the inner error")
        .insert(s.next_inner_error, u.total, "Lemma 4.2")
        .require(*base.conditions, *m.conditions, *u.conditions)
    )
    chain = Chain(sp.expand(chain.expr), chain.conditions, chain.steps)
    if chain.coefficient(s.momentum_error) != 0:
        raise ValueError("the weight beta/alpha does not cancel the momentum error")
    return chain.limit(s.inner_error, sp.Integer(0), "the inner error has a nonpositive coefficient")


def _noise(expr: sp.Expr) -> tuple[Term, ...]:
    """The noise terms, told apart by alpha and gamma^2."""
    groups = {"gradient_noise": (s.alpha,), "inner_noise_second": (s.gamma**2,)}
    by_name = {t.name: t.expr for t in split(expr, groups, "inner_noise")}
    names = ("inner_noise", "gradient_noise", "inner_noise_second")
    return tuple(Term(name, by_name[name], "variance") for name in names)


def potential_step(first: Theorem, outer: Theorem, inner: Theorem) -> Statement:
    """(40), the momentum kept."""
    chain = potential_chain(first, outer, inner)
    expr = sp.expand(chain.expr)
    observables = {s.gradient_sq: "descent", s.consensus_error: "drift"}
    rest = expr.xreplace({o: sp.Integer(0) for o in (*observables, s.momentum_sq)})
    bracket = expr.coeff(s.momentum_sq)
    from_inner = sp.Add(*(part for part in sp.Add.make_args(bracket) if part.has(s.gamma)))
    terms = (
        *(Term(name, expr.coeff(o) * o) for o, name in observables.items()),
        Term("momentum_inner", from_inner * s.momentum_sq, "momentum"),
        Term("momentum", (bracket - from_inner) * s.momentum_sq),
        *_noise(rest),
    )
    return chain.statement(terms, first.statement("printed").derived)


def step_used() -> Condition:
    """What the proof needs of beta: the printed condition with eta in the second summand (the paper uses eta <= 1)."""
    coupled = s.C_g**4 * s.L_f**2
    bracket = coupled / s.gamma**2 + s.eta * coupled / s.gamma + L_F.symbol**2 / s.alpha**2
    return Condition("step_size", 8 * s.beta**2 * bracket, "<=", sp.Integer(1), "the momentum is absorbed, (41)")


def _without_momentum(line: Statement, conditions: tuple[Condition, ...], sweep: Mapping) -> Chain:
    """(40) divided by beta eta, so that only beta^2 is left beside the momentum, without the momentum."""
    chain = Chain(line.total, line.conditions).scale(1 / (s.beta * s.eta), "divided by beta eta")
    return chain.limit(s.momentum_sq, sp.Integer(0), "the momentum has a nonpositive coefficient", conditions, sweep)


def potential(step: Theorem) -> Statement:
    """(17) = (41) from (40), with the printed conditions on beta and eta."""
    line, small, scale = step.statement("composed"), CONDITIONS["step_size"], CONDITIONS["step_scale"]
    sweep = {s.beta: small.right / (1 + _U), s.eta: 1 / (1 + _V)}
    chain = _without_momentum(line, (small, scale), sweep).scale(s.beta * s.eta, "times beta eta")
    expr = sp.expand(chain.expr)
    rest = expr.xreplace({s.gradient_sq: sp.Integer(0), s.consensus_error: sp.Integer(0)})
    terms = (
        Term("descent", expr.coeff(s.gradient_sq) * s.gradient_sq),
        Term("drift", expr.coeff(s.consensus_error) * s.consensus_error),
        *_noise(rest),
    )
    return chain.statement(terms, line.derived)


# --- Theorem 3.4 -----------------------------------------------------------------------------------------------------


def start_momentum() -> Statement:
    """(43): three differences."""
    parts = (s.C_g**2 * s.sigma_f**2, s.C_g**2 * s.L_f**2 * s.delta_g**2, s.C_f**2 * s.sigma_g**2)
    total = sp.expand(_at_most(3, *parts))
    names = {"outer_noise": s.sigma_f, "inner_noise": s.delta_g, "jacobian_noise": s.sigma_g}
    terms = tuple(Term(name, total.coeff(x, 2) * x**2, "variance") for name, x in names.items())
    return Statement("composed", terms, note="three differences")


def potential_at_start() -> sp.Expr:
    """P_0 - F(x_0) by (39)."""
    weight_m, weight_u = potential_weights()
    return weight_m * s.start_momentum_error + weight_u * s.start_inner_error


def start(momentum: Theorem, inner: Theorem) -> Statement:
    """(45) from (39), (43) and (44)."""
    chain = (
        Chain(potential_at_start())
        .insert(s.start_momentum_error, momentum.statement("printed").total, "(43)")
        .insert(s.start_inner_error, inner.statement("printed").total, "(44)")
    )
    return chain.statement(split(chain.expr, {"initial_momentum": (s.alpha,)}, "initial_inner"))


def summed(step: Theorem, lemma: Theorem) -> Statement:
    """(42): the sum of (41) over T steps divided by beta eta T/2, P_T >= F_*, Lemma 4.3."""
    line = step.statement("composed")
    used = step_used()
    bracket = used.left / s.beta**2
    averaged = _without_momentum(line, (used,), {s.beta: 1 / sp.sqrt(bracket) / (1 + _U)})
    gradient = averaged.coefficient(s.gradient_sq)
    consensus = lemma.statement("printed")
    first = sp.expand((s.F_gap + potential_at_start()) / (s.beta * s.eta * s.T))
    chain = (
        averaged.plus(first, "P_0 - P_T <= F_gap + the initial errors")
        .insert(s.consensus_error, consensus.total, "Lemma 4.3")
        .require(*consensus.conditions)
        .scale(-1 / gradient, "divided by the coefficient of the gradient")
    )
    groups = {
        "initial_gap": (s.F_gap,),
        "initial_momentum": (s.start_momentum_error,),
        "initial_inner": (s.start_inner_error,),
        "drift": (s.p,),
    }
    rest = sp.expand(chain.expr + s.gradient_sq)
    noise = sp.Add(*(part for part in sp.Add.make_args(rest) if not any(part.has(*m) for m in groups.values())))
    found = split(rest - noise, groups, "drift")
    roles = {name: "initialisation" for name in groups if name.startswith("initial")}
    head = tuple(Term(t.name, t.expr, roles.get(t.name, "")) for t in found)
    return chain.statement((*head[:3], *_noise(noise), *head[3:]), line.derived)


def theorem(line: Theorem, momentum: Theorem, inner: Theorem) -> Statement:
    """Theorem 3.4: `summed` with (43) and (44)."""
    statement = line.statement("composed")
    table = {
        s.start_momentum_error: momentum.statement("printed").total,
        s.start_inner_error: inner.statement("printed").total,
    }
    terms = tuple(Term(t.name, t.expr.xreplace(table), t.role) for t in statement.terms)
    return Statement("composed", terms, statement.conditions, statement.derived, note=statement.note)


def at_schedule(main: Theorem, own: Theorem) -> Statement:
    """Corollary 3.5: Theorem 3.4 as composed with the printed schedule put in; the choices become conditions."""
    return _scheduled(main, own, "composed", "==")


def with_shorter_rounds(main: Theorem, own: Theorem) -> Statement:
    """Corollary 3.5 from the corrected Theorem 3.4, for rounds of at most T^(1/4) steps."""
    return _scheduled(main, own, "corrected", "<=")


def _scheduled(main: Theorem, own: Theorem, label: str, rounds: str) -> Statement:
    base, printed = main.statement(label), own.statement("printed")
    table = {getattr(s, name): value for name, value in printed.schedule.items()}
    terms = tuple(Term(t.name, t.expr.xreplace(table), t.role) for t in base.terms)
    eta_choice, p_choice = printed.conditions
    conditions = (eta_choice, replace(p_choice, relation=rounds), *(c.at(table) for c in base.conditions))
    note = f"{main.id} ({label}) with the schedule put in"
    return Statement(label, terms, conditions, base.derived, dict(printed.schedule), note=note, assume=base.assume)


def largest_step() -> Statement:
    """Remark 3.6: the printed limit on beta at alpha = gamma = 1."""
    at_one = CONDITIONS["step_size"].right.xreplace({s.alpha: sp.Integer(1), s.gamma: sp.Integer(1)})
    limit = Term("limit", 1 / sp.sqrt(sp.expand(1 / at_one**2)))
    return Statement("composed", (limit,), derived=(L_F,), note="from the condition on beta")


def rounds(corollary: Theorem) -> Statement:
    """Remark 3.7: T/p at the schedule that Corollary 3.5 prints."""
    period = corollary.statement("printed").schedule["p"]
    return Statement("composed", (Term("rounds", s.T / period),), note="T/p at the schedule")
