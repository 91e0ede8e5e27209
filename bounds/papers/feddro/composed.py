"""FedDRO: `composed` statements composed from the printed lemmas, and section 2.1 as it holds (docs/theory/feddro.md)."""

from __future__ import annotations

import sympy as sp

from ...language.notation import slack_symbol
from ...language.theorem import Condition, Derived, Statement, Term, Theorem
from ...proof.compose import Chain, Smooth, split
from . import PAPER

WRITTEN = PAPER.written
s = WRITTEN.s
L_PHI, C_BETA = WRITTEN.derived["L_Phi"], WRITTEN.derived["c_beta"]
CONDITIONS = WRITTEN.conditions
MOMENTUM_AT_MOST_ONE = CONDITIONS["momentum_range"]
"""Used when (1-beta)^2 is bounded by 1-beta; no printed condition of Theorem 5.1 implies it."""
_U = slack_symbol("u")


def sorted_terms(expr: sp.Expr, rest: str = "initialisation", **observables: sp.Symbol) -> tuple[Term, ...]:
    """The summands of a bound by the observable, the noise or the heterogeneity that they contain; I - 1 and
    1 - beta stay whole."""
    gap, rest_of_momentum = slack_symbol("local_steps"), slack_symbol("kept")
    groups = {name: (symbol,) for name, symbol in observables.items()}
    groups |= {"variance_h": (s.sigma_h,), "variance_g": (s.sigma_g,)}
    groups |= {"heterogeneity_h": (s.Delta_h,), "heterogeneity_g": (s.Delta_g,)}
    found = split(expr.xreplace({s.I: gap + 1, 1 - s.beta: rest_of_momentum}), groups, rest)
    back = {gap: s.I - 1, rest_of_momentum: 1 - s.beta}
    return tuple(Term(t.name, t.expr.xreplace(back), t.name.removesuffix("_h").removesuffix("_g")) for t in found)


def smoothness() -> Statement:
    """Lemma 3.1: h plus f after g; the mean of maps that are mean-square Lipschitz is Lipschitz with the same constant."""
    outer, inner, plain = Smooth(s.B_f, s.L_f), Smooth(s.B_g, s.L_g), Smooth(sp.Integer(0), s.L_h)
    whole = (plain + outer.of(inner)).smoothness
    return Statement("composed", (), derived=(Derived("L_Phi", whole, r"L_\Phi", "Lipschitz constant of grad Phi"),))


def _terms_ix_and_x(drift: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Terms IX and X, averaged over the clients: own drift, mean drift and heterogeneity, three squares each."""

    def apart(smooth: sp.Symbol, heterogeneity: sp.Symbol) -> sp.Expr:
        return 3 * smooth**2 * drift + 3 * smooth**2 * drift + 3 * heterogeneity**2

    return apart(s.L_h, s.Delta_h), apart(s.L_g, s.Delta_g)


def client_drift() -> Statement:
    """Lemma F.3: Terms IX and X into VII and VIII, those into VI, and VI summed over the steps since the communication."""
    nine, ten = _terms_ix_and_x(s.consensus_error)
    seven, eight = 2 * s.sigma_h**2 / s.b + 2 * nine, 2 * s.sigma_g**2 / s.b + 2 * ten
    six = sp.expand(2 * seven + 2 * s.B_f**2 * eight)
    drift = six.coeff(s.consensus_error)
    steady = six - drift * s.consensus_error
    four = (s.I - 1) * s.eta**2 * (drift * s.consensus_sum + steady * s.elapsed)
    return Statement(
        "composed",
        sorted_terms(four, "rest", drift=s.consensus_sum),
        note="bounds the square that the printed norm lacks",
    )


def estimate() -> Statement:
    """Lemma F.4: Terms IX and X into XII, XII into XI, XI into V, as the proof has them: between communications only."""
    nine, ten = _terms_ix_and_x(s.consensus_error)
    twelve = 2 * nine + 2 * s.B_f**2 * ten
    eleven = 2 * (s.sigma_h**2 + s.B_f**2 * s.sigma_g**2) / s.b + 4 * twelve + 4 * s.direction_sq
    old, at_batch = (1 - s.beta) ** 2, s.b * s.K
    five = old * s.inner_error + (2 * s.beta**2 * s.sigma_g**2 + 2 * old * s.B_g**2 * s.eta**2 * eleven) / at_batch
    return Statement(
        "composed",
        sorted_terms(five, "rest", inner=s.inner_error, direction=s.direction_sq, drift=s.consensus_error),
        note="holds between communications: at one, the model also jumps by its drift (feddro.estimate_jumps_at_communication)",
    )


def first_two_steps() -> Statement:
    """Theorem 4.1 for I = 2 with the limits that the paper's own steps give, where xbar stays above 1/2."""
    limits = zip(("C_eta_I", "C_eta_II"), _limits_of_two_steps(sp.Rational(1, 2)), ("I", "II"), strict=True)
    derived = tuple(Derived(name, limit, rf"C_\eta^{{{case}}}") for name, limit, case in limits)
    eta = WRITTEN.theorems["feddro.theorem_4_1"].notation["eta"].symbol
    conditions = tuple(
        Condition(name, eta, "<=", item.symbol) for name, item in zip(("case_I", "case_II"), derived, strict=True)
    )
    lowest = WRITTEN.theorems["feddro.theorem_4_1"].statement("printed").constant("xbar_lower")
    note = "for I = 2, one step size in both steps, and with the cases that the paper leaves to the reader"
    return Statement("composed", (), conditions, (*derived, lowest), note=note)


def _limits_of_two_steps(level: sp.Rational) -> tuple[sp.Expr, sp.Expr]:
    """Limits on eta in cases I and II of Theorem 4.1: appendix D, I = 2, slopes 4 and -2, |f'| <= 1.

    Case I: a model beyond the optimum 1 of client 1 steps back by at most 4 eta, and has to stay above the level.
    Case II: the mean loses at most eta in the first step of a round, and gains pull_1 + pull_2 in the second.
    """
    steep, flat = sp.Integer(4), sp.Integer(2)
    case_1 = (1 - level) / steep
    back_1, back_2, lost = steep / 2, flat / 2, (steep - flat) / 2  # each over eta, in the mean of two clients
    both_back = (1 - level) / (back_1 + back_2 + lost)  # its case (1): xbar > 1 and both pulls are negative
    one_back = (1 - level) / (back_1 + lost)  # its case (2)
    furthest = sp.Rational(11, 10)  # its case (3) needs xbar <= 11/10, from xbar <= 1/(1 - 2 eta)
    forward = (1 - 1 / furthest) / flat
    return case_1, sp.Min(both_back, one_back, forward)


def short_rounds(main: Theorem) -> Statement:
    """Corollary 1: Theorem 5.1 as proved, at its schedule, with (I-1)^2 raised to the square of the limit on I."""
    composed, limit = main.statement("composed"), CONDITIONS["local_updates"]
    schedule = {s.eta: composed.schedule["eta"]}

    def raised(expr: sp.Expr) -> sp.Expr:
        gap, root = (s.I - 1) ** 2, slack_symbol("more")
        sweep = {s.T: (s.b * s.K) ** 3 * (s.I * (1 + _U)) ** 4, s.I: 1 + root}  # T^{1/4} = (bK)^{3/4} I (1 + u)
        chain = Chain(expr)
        if expr.has(gap):
            chain = chain.at_most(gap, limit.right**2, "(I-1)^2 <= I^2", limit, substitution=sweep)
        return sp.powsimp(sp.expand(chain.expr.xreplace(schedule)))

    terms = tuple(Term(t.name, raised(t.expr), t.role) for t in composed.terms)
    return Statement(
        "composed", terms, (*composed.conditions, limit), composed.derived, composed.schedule, note="at the schedule"
    )


def complexities(main: Theorem, printed_as: Theorem) -> Statement:
    """Corollary 2 under the conditions that the proof of Theorem 5.1 uses."""
    composed, printed = main.statement("composed"), printed_as.statement("printed")
    costs = tuple(
        item for item in printed.derived if item.name in ("samples_per_client", "rounds", "embedding_messages")
    )
    schedule = {**printed.schedule, **composed.schedule}
    return Statement("composed", (), composed.conditions, (*composed.derived, *costs), schedule)


def kl_maximum(of: Theorem) -> Statement:
    """(3) with the KL divergence: the weights are proportional to exp(loss / lam), and sum to 1."""
    d = of.notation.namespace()
    multiplier, scale = slack_symbol("nu"), d.lam
    log_of_sum = sp.log(d.mean_exp) - multiplier / scale - 1  # of sum_i p_i, from loss - lam (log(m p) + 1) - nu = 0
    at_one = multiplier - log_of_sum / sp.diff(log_of_sum, multiplier)  # linear in nu: one Newton step is exact
    value = sp.expand(at_one + scale)  # sum_i p_i (loss_i - lam log(m p_i)) = nu + lam
    return Statement("corrected", (), derived=(Derived("objective", value, "", "objective of (4)"),))


def chi_square_maximum(of: Theorem) -> Statement:
    """(3) with the chi-square divergence, where no weight is pushed to 0: p_i = 1/m + (loss_i - mean) / (lam m)."""
    d = of.notation.namespace()
    loss, m = slack_symbol("loss"), slack_symbol("m")
    weight = 1 / m + (loss - d.mean_loss) / (d.lam * m)
    summand = sp.Poly(sp.expand(weight * loss - d.lam * m / 2 * (weight - 1 / m) ** 2), loss)
    moments = (sp.Integer(1), d.mean_loss, d.mean_square_loss)
    value = sp.expand(sum(m * c * moments[power] for (power,), c in summand.terms()))
    inside = Condition("interior", d.min_loss, ">=", d.mean_loss - d.lam, "else a weight is negative and is 0 instead")
    return Statement("corrected", (), (inside,), (Derived("objective", value, "", "objective of (5)"),))


def descent() -> Statement:
    """Lemma F.2 from its own Terms I to III: (eta/2) I + eta^2 L_Phi II, with Term III inserted into Term I."""
    term_3 = 2 * s.inner_error + 2 * s.B_g**2 * s.consensus_error
    term_1 = (2 * s.L_h**2 + 4 * s.B_f**2 * s.L_g**2) * s.consensus_error + 4 * s.B_g**2 * s.L_f**2 * term_3
    half = sp.expand(s.eta / 2 * term_1)
    smooth = s.eta**2 * L_PHI.symbol
    return Statement(
        "composed",
        (
            Term("descent", -s.eta / 2 * s.gradient_sq),
            Term("direction", -(s.eta / 2 - smooth) * s.direction_sq),
            Term("drift", sp.factor_terms(half.coeff(s.consensus_error)) * s.consensus_error),
            Term("inner", half.coeff(s.inner_error) * s.inner_error),
            Term("variance_h", smooth * 2 * s.sigma_h**2 / (s.K * s.b), "variance"),
            Term("variance_g", smooth * 2 * s.sigma_g**2 * s.B_f**2 / (s.K * s.b), "variance"),
        ),
        derived=(L_PHI,),
        note="from the bounds of Terms I, II and III as the proof of Lemma F.2 states them",
    )


def potential(f_2: Theorem, f_4: Theorem) -> Statement:
    """Lemma F.5 = Lemma F.2 + Lemma F.4 - inner error, with both lemmas as printed."""
    first, second = f_2.statement("printed"), f_4.statement("printed")
    step_1, step_2, momentum = (
        CONDITIONS[name] for name in ("step_size_direction", "step_size_drift", "momentum_choice")
    )
    c_beta = Derived("c_beta", 4 * s.B_g**4 * s.L_f**2, r"c_\beta")
    chain = (
        Chain(first.total)
        .plus(second.total - s.inner_error, "Lemma F.2 + Lemma F.4 - inner error")
        .limit(
            s.inner_error,
            sp.Integer(0),
            "the inner error has a nonpositive coefficient",
            (momentum, MOMENTUM_AT_MOST_ONE),
            {s.beta: c_beta.expr * s.eta, s.eta: 1 / (c_beta.expr * (1 + _U))},
        )
        .at_most(
            (1 - s.beta) ** 2,
            sp.Integer(1),
            "(1-beta)^2 <= 1",
            MOMENTUM_AT_MOST_ONE,
            substitution={s.beta: 1 / (1 + _U)},
        )
        .limit(
            s.direction_sq,
            sp.Integer(0),
            "the direction has a nonpositive coefficient",
            (step_1,),
            {s.eta: step_1.right / (1 + _U)},
        )
        .limit(
            s.consensus_error,
            2 * first.term("drift").expr / s.consensus_error,
            "the drift of Lemma F.4 is at most that of Lemma F.2",
            (step_2,),
            {s.eta: step_2.right / (1 + _U)},
        )
    )
    beta = c_beta.symbol * s.eta
    terms = sorted_terms(chain.expr.xreplace({s.beta: beta}), descent=s.gradient_sq, drift=s.consensus_error)
    return chain.statement(terms, (first.constant("L_Phi"), c_beta), {"beta": beta})


def telescoped(f_5: Theorem, f_3: Theorem) -> Statement:
    """Theorem F.6: T times Lemma F.5 with the average consensus error that Lemma F.3 gives.

    Averaging Lemma F.3 over a round: at most I - 1 steps have elapsed, and the sums over the steps so far add up to at most
    I times the average. The average A then satisfies A <= a A + c with a <= 1/9, hence A <= (9/8) c.
    """
    drift, step_3 = f_3.statement("printed"), CONDITIONS["step_size_period"]
    averaged = sp.expand(drift.total.xreplace({s.elapsed: s.I - 1, s.consensus_sum: s.I * s.consensus_error}))
    feedback = averaged.coeff(s.consensus_error)
    forcing = sp.expand(averaged - feedback * s.consensus_error)
    period = slack_symbol("period")
    chain = Chain(s.consensus_error * feedback).limit(
        s.consensus_error,
        sp.Rational(1, 9),
        "eta^2 I (I-1) 24 (L_h^2 + B_f^2 L_g^2) <= 1/9",
        (step_3,),
        {s.eta: step_3.right / (1 + _U), s.I: 1 + period},
    )
    average = sp.Rational(9, 8) * sum(sp.factor(part) for part in sp.Add.make_args(sp.factor_terms(forcing)))
    lemma = f_5.statement("printed")
    total = (
        Chain(lemma.total)
        .insert(s.consensus_error, average, "Lemma F.3 averaged over a round")
        .scale(s.T, "sum over T steps")
    )
    return Statement(
        "composed",
        sorted_terms(total.expr, descent=s.gradient_sq),
        (*lemma.conditions, *chain.conditions),
        lemma.derived,
        lemma.schedule,
        note="; ".join((*chain.steps, *total.steps)),
    )


def theorem(f_6: Theorem) -> Statement:
    """Theorem 5.1 from Theorem F.6 as printed: V_T >= Phi_*, V_0 = Phi(x_0) + y_err^2, times 2/(eta T); eta stays free."""
    lemma = f_6.statement("printed")
    rest = lemma.total.xreplace({s.gradient_sq: sp.Integer(0)}) + s.Phi_gap + s.y_err**2
    c_beta = lemma.constant("c_beta")
    used = (*lemma.conditions, MOMENTUM_AT_MOST_ONE)
    return Statement(
        "composed",
        sorted_terms(rest * 2 / (s.eta * s.T)),
        used,
        lemma.derived,
        {"eta": sp.sqrt(s.b * s.K / s.T), "beta": c_beta.symbol * s.eta},
        note="any step size that the lemmas admit; without one, the paper's eta = sqrt(|b| K / T)",
    )


def noiseless(main: Theorem) -> Statement:
    """Theorem 4.2 as the paper proves it: Theorem 5.1 with h = 0, no noise, full batches (b = 1) and an exact start."""
    composed = main.statement("composed")
    nothing = (s.sigma_h, s.sigma_g, s.Delta_h, s.L_h, s.y_err)
    table = {symbol: sp.Integer(0) for symbol in nothing} | {s.b: sp.Integer(1)}

    def at(expr: sp.Expr) -> sp.Expr:
        return composed.expand(expr).xreplace(table)

    terms = tuple(Term(t.name, at(t.expr), t.role) for t in composed.terms if at(t.expr) != 0)
    conditions = tuple(c.each_side(at) for c in composed.conditions)
    schedule = {name: at(expr) for name, expr in composed.schedule.items()}
    return Statement("composed", terms, conditions, schedule=schedule, note="Theorem 5.1 without noise")
