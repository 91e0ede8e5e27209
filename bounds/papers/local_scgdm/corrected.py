"""Local-SCGDM: `corrected` statements; the numbered steps are those of docs/theory/local_scgdm.md."""

from __future__ import annotations

from types import SimpleNamespace

import sympy as sp

from ...language.notation import slack_symbol
from ...language.theorem import Condition, DeclarationError, Derived, Statement, Term, Theorem
from ...proof.certificates import prove_nonnegative
from ...proof.compose import Chain

_U, _V, _W = slack_symbol("u"), slack_symbol("v"), slack_symbol("w")
_NOTE = "derivation: docs/theory/local_scgdm.md"
R = sp.Rational


def meta(s: SimpleNamespace, lemma: Theorem) -> Statement:
    """Lemma 3.9 with the two constants that (21) and (23) miss."""
    changed = {
        "C_g": Derived("C_g", 1 + s.lam * (s.L_1 + s.sigma_2), "C_g", "triangle inequality in mean square"),
        "sigma_f": Derived("sigma_f", sp.sqrt(s.sigma_1**2 + s.G**2), r"\sigma_f", "f averages over tasks"),
    }
    printed = lemma.statement("printed").derived
    made = tuple(changed.get(item.name, item) for item in printed)
    note = "one inner map per device; with one task per device sigma_f = sigma_1 is right. " + _NOTE
    return Statement("corrected", (), derived=made, note=note)


def momentum_error_between(s: SimpleNamespace, l_f: Derived, in_range: Condition) -> Statement:
    """Lemma 4.1 between communications: Young theta = 1 - c, and E||n||^2 = E||z - grad F||^2 - ||d||^2 (section 5).

    With d^2 <= U = C_g^2 L_f^2 times the inner error: c (1 + theta) d^2 + c^2 (2 U - d^2) <= 2 c U.
    """
    c = s.alpha * s.eta
    bias, inner = slack_symbol("bias_sq"), s.C_g**2 * s.L_f**2 * s.next_inner_error
    theta = 1 - c
    moved = sp.cancel((1 + 1 / theta) * (1 - c) ** 2 / c) * l_f.symbol**2 * s.beta**2 * s.eta**2 * s.momentum_sq
    noise = s.C_g**2 * s.sigma_f**2 + 2 * s.C_f**2 * s.sigma_g**2
    sweep = {s.alpha: 1 / (s.eta * (1 + _U))}
    rest = slack_symbol("rest")
    whole = Chain(moved + c * (1 + theta) * bias + c**2 * (2 * (bias + rest) - bias))
    if sp.cancel(whole.coefficient(bias) - 2 * c) != 0:
        raise DeclarationError("the weights of the bias do not add up to 2 alpha eta")
    chain = (
        whole.limit(bias, 2 * c, "the bias costs at most 2 alpha eta", (in_range,), sweep)
        .limit(rest, 2 * c, "what the inner error exceeds the bias by", (in_range,), sweep)
        .limit(s.momentum_sq, 2 * s.eta * s.beta**2 * l_f.symbol**2 / s.alpha, "the move", (in_range,), sweep)
    )
    terms = (
        Term("momentum_error", (1 - c) * s.momentum_error),
        Term("inner_error", chain.coefficient(bias) * inner),
        Term("momentum", chain.coefficient(s.momentum_sq) * s.momentum_sq),
        Term("gradient_noise", c**2 * noise, "variance"),
    )
    note = "for t that does not follow a communication, the sample of f independent of that of g. " + _NOTE
    return Statement("corrected", terms, chain.conditions, (l_f,), note=note)


def gradient_spread(s: SimpleNamespace) -> Statement:
    """Lemma A.2 for identical clients, in expectation, with the inner estimate that z uses: four differences."""
    parts = {
        "drift": s.C_f**2 * s.L_g**2 * s.consensus_error,
        "inner_consensus": s.C_g**2 * s.L_f**2 * s.inner_consensus,
        "outer_noise": s.C_g**2 * s.sigma_f**2,
        "jacobian_noise": s.C_f**2 * s.sigma_g**2,
    }
    roles = {"outer_noise": "variance", "jacobian_noise": "variance"}
    terms = tuple(Term(name, len(parts) * part, roles.get(name, "")) for name, part in parts.items())
    note = "f_k = f and g_k = g; u of the step after, as in line 8. " + _NOTE
    return Statement("corrected", terms, note=note, assume=("equal_inner_maps", "equal_outer_functions"))


def length(s: SimpleNamespace) -> sp.Expr:
    """Step 5: at most p - 1 local steps, each of mean square length at most (beta eta C_f C_g)^2."""
    return (s.p - 1) ** 2 * s.beta**2 * s.eta**2 * s.C_f**2 * s.C_g**2


def drift_by_length(s: SimpleNamespace) -> Statement:
    """Lemma 4.3 for all clients, with no condition on p."""
    return Statement("corrected", (Term("drift", length(s)),), note="step 5; needs alpha eta < 1 only. " + _NOTE)


def start_momentum_reordered(s: SimpleNamespace) -> Statement:
    """(43) in the order of step 1 with u_1 = g(x_0; xi_0): nothing is used but second moments."""
    terms = (
        Term("outer_noise", s.C_g**2 * s.sigma_f**2, "variance"),
        Term("inner_noise", 2 * s.C_g**2 * s.L_f**2 * s.delta_g**2, "variance"),
        Term("jacobian_noise", 2 * s.C_f**2 * s.sigma_g**2, "variance"),
    )
    return Statement("corrected", terms, note="the sample of f is independent of that of g. " + _NOTE)


def _check_descent(s: SimpleNamespace, smooth: sp.Symbol, sweep: dict[sp.Symbol, sp.Expr]) -> None:
    """2 beta eta L_F <= 1 needs no condition of its own: its square is at most 1/2."""
    if prove_nonnegative(R(1, 2) - (2 * s.beta * s.eta * smooth) ** 2, sweep) is None:
        raise DeclarationError("the conditions do not imply 2 beta eta L_F <= 1")


def corrected(s: SimpleNamespace, l_f: Derived, conditions: tuple[Condition, ...]) -> Statement:
    """Theorem 3.4 for Algorithm 1 with equal g_k, and for any g_k once line 13 is deleted; steps 1 to 7.

    Everything is compared at xbar: E is the error of the mean momentum, M its square, U the error of the mean inner
    estimate, Y the spread of the inner estimates, X the consensus error; observables that no statement shows.
    """
    names = ("mean_error", "mean_momentum", "mean_inner", "next_mean_inner", "bias", "spread", "fresh")
    error, momentum, inner, next_inner, bias, spread, fresh = map(slack_symbol, names)
    in_range, _, small, scale = conditions
    smooth = l_f.symbol
    sweep = {s.beta: small.right / (1 + _U), s.alpha: 1 / (s.eta * (1 + _V)), s.eta: 1 / (1 + _W)}
    _check_descent(s, smooth, sweep)
    c, w, step = s.alpha * s.eta, s.gamma * s.eta, s.beta * s.eta
    lipschitz = s.C_g**2 * s.L_f**2
    weight_e, full_u = s.beta / (2 * s.alpha), R(4, 3) * s.beta * lipschitz / s.gamma
    weight_u = full_u * (1 - w)  # with the share of step 2 it cancels the inner error

    noise = s.C_g**2 * s.sigma_f**2 + 2 * s.C_f**2 * s.sigma_g**2  # step 1
    mean_bias = R(4, 3) * lipschitz * (next_inner + spread) + 4 * s.C_f**2 * s.L_g**2 * s.consensus_error  # step 2
    step_3 = (1 - c) * error + 2 * c * bias + 2 * s.eta * s.beta**2 * smooth**2 / s.alpha * momentum
    step_3 += c**2 * (noise + 2 * lipschitz * fresh)
    step_4 = (1 - w) * inner + R(3, 2) * s.eta * s.beta**2 * s.C_g**2 / s.gamma * momentum
    step_4 += 3 * w * s.C_g**2 * s.consensus_error + w**2 * s.delta_g**2
    at_start = s.delta_g**2 / (w * s.T)  # the first block, averaged over T steps
    step_4_spread = s.C_g**2 * s.consensus_error + s.p * w**2 * s.delta_g**2 + at_start
    start_e = noise + 2 * lipschitz * s.delta_g**2

    chain = Chain(-step / 2 * s.gradient_sq - step / 4 * momentum + step / 2 * error)  # step 6
    chain = (
        chain.plus(weight_e * (step_3 - error) + weight_u * (next_inner - inner), "the potential of step 7")
        .insert(bias, mean_bias, "step 2")
        .insert(next_inner, step_4, "step 4")
        .scale(2 / step, "divided by beta eta/2")
    )
    if sp.cancel(chain.coefficient(error)) != 0:
        raise DeclarationError("the weight beta/(2 alpha) does not cancel the momentum error")
    if sp.cancel(chain.coefficient(inner)) != 0:
        raise DeclarationError("the weight of the inner error does not cancel it")
    drop = {s.beta: sweep[s.beta], s.eta: 1 / (1 + _V)}
    first = (s.F_gap + weight_e * start_e + full_u * s.delta_g**2) * 2 / (step * s.T)
    chain = (
        chain.limit(momentum, sp.Integer(0), "the momentum has a nonpositive coefficient", (small, scale), drop)
        .limit(fresh, 2 * lipschitz, "alpha eta < 1", (in_range,), {s.alpha: 1 / (s.eta * (1 + _U))})
        .insert(fresh, w**2 * s.delta_g**2, "the fresh part of the inner estimate")
        .insert(spread, step_4_spread, "step 4, Y")
        .plus(first, "the start")
    )
    drift = chain.coefficient(s.consensus_error)
    rest = sp.expand(chain.expr.xreplace({s.consensus_error: sp.Integer(0)}) + s.gradient_sq)
    terms = (*_sorted(s, rest), Term("drift", sp.factor_terms(drift) * length(s)))
    note = "; ".join((*chain.steps, _NOTE))
    return Statement("corrected", terms, conditions, (l_f,), note=note, assume=("equal_inner_maps",))


def _sorted(s: SimpleNamespace, expr: sp.Expr) -> tuple[Term, ...]:
    """The summands by what they contain, in the order of the printed statement."""
    initial, variance = "initialisation", "variance"
    roles = {
        "initial_gap": initial,
        "initial_momentum": initial,
        "initial_inner": initial,
        "inner_noise": variance,
        "gradient_noise": variance,
        "inner_noise_second": variance,
        "inner_disagreement": variance,
    }
    found = dict.fromkeys(roles, sp.Integer(0))
    for part in sp.Add.make_args(expr):
        if part.has(s.T):
            name = "initial_gap" if part.has(s.F_gap) else f"initial_{'momentum' if part.has(s.alpha) else 'inner'}"
        elif part.has(s.p):
            name = "inner_disagreement"
        elif part.has(s.alpha):
            name = "gradient_noise"
        else:
            name = "inner_noise_second" if part.has(s.gamma**2) else "inner_noise"
        found[name] += part
    return tuple(Term(name, sp.factor_terms(part), roles[name]) for name, part in found.items())
