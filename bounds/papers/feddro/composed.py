"""FedDRO: `composed` statements composed from the printed lemmas, and the corrected Theorem 5.1 (docs/theory/feddro.md)."""

from __future__ import annotations

from types import SimpleNamespace

import sympy as sp

from ...language.constants import Smooth
from ...language.notation import slack_symbol
from ...language.theorem import Condition, Derived, Statement, Term, Theorem
from ...proof.compose import Chain, split

_U = slack_symbol("u")


def momentum_at_most_one(s: SimpleNamespace) -> Condition:
    """Used when (1-beta)^2 is bounded by 1-beta; no printed condition of Theorem 5.1 implies it."""
    return Condition("momentum_range", s.beta, "<=", sp.Integer(1), "(1-beta)^2 <= 1-beta is used")


def sorted_terms(
    s: SimpleNamespace, expr: sp.Expr, rest: str = "initialisation", **observables: sp.Symbol
) -> tuple[Term, ...]:
    """The summands of a bound by the observable, the noise or the heterogeneity that they contain; I - 1 and
    1 - beta stay whole."""
    gap, rest_of_momentum = slack_symbol("local_steps"), slack_symbol("kept")
    groups = {name: (symbol,) for name, symbol in observables.items()}
    groups |= {"variance_h": (s.sigma_h,), "variance_g": (s.sigma_g,)}
    groups |= {"heterogeneity_h": (s.Delta_h,), "heterogeneity_g": (s.Delta_g,)}
    found = split(expr.xreplace({s.I: gap + 1, 1 - s.beta: rest_of_momentum}), groups, rest)
    back = {gap: s.I - 1, rest_of_momentum: 1 - s.beta}
    return tuple(Term(t.name, t.expr.xreplace(back), t.name.removesuffix("_h").removesuffix("_g")) for t in found)


def smoothness(s: SimpleNamespace) -> Statement:
    """Lemma 3.1: h plus f after g; the mean of maps that are mean-square Lipschitz is Lipschitz with the same constant."""
    outer, inner, plain = Smooth(s.B_f, s.L_f), Smooth(s.B_g, s.L_g), Smooth(sp.Integer(0), s.L_h)
    whole = (plain + outer.of(inner)).smoothness
    return Statement("composed", (), derived=(Derived("L_Phi", whole, r"L_\Phi", "Lipschitz constant of grad Phi"),))


def _terms_ix_and_x(s: SimpleNamespace, drift: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Terms IX and X, averaged over the clients: own drift, mean drift and heterogeneity, three squares each."""

    def apart(smooth: sp.Symbol, heterogeneity: sp.Symbol) -> sp.Expr:
        return 3 * smooth**2 * drift + 3 * smooth**2 * drift + 3 * heterogeneity**2

    return apart(s.L_h, s.Delta_h), apart(s.L_g, s.Delta_g)


def client_drift(s: SimpleNamespace) -> Statement:
    """Lemma F.3: Terms IX and X into VII and VIII, those into VI, and VI summed over the steps since the communication."""
    nine, ten = _terms_ix_and_x(s, s.consensus_error)
    seven, eight = 2 * s.sigma_h**2 / s.b + 2 * nine, 2 * s.sigma_g**2 / s.b + 2 * ten
    six = sp.expand(2 * seven + 2 * s.B_f**2 * eight)
    drift = six.coeff(s.consensus_error)
    steady = six - drift * s.consensus_error
    four = (s.I - 1) * s.eta**2 * (drift * s.consensus_sum + steady * s.elapsed)
    return Statement(
        "composed",
        sorted_terms(s, four, "rest", drift=s.consensus_sum),
        note="bounds the square that the printed norm lacks",
    )


def estimate(s: SimpleNamespace) -> Statement:
    """Lemma F.4: Terms IX and X into XII, XII into XI, XI into V, as the proof has them: between communications only."""
    nine, ten = _terms_ix_and_x(s, s.consensus_error)
    twelve = 2 * nine + 2 * s.B_f**2 * ten
    eleven = 2 * (s.sigma_h**2 + s.B_f**2 * s.sigma_g**2) / s.b + 4 * twelve + 4 * s.direction_sq
    old, at_batch = (1 - s.beta) ** 2, s.b * s.K
    five = old * s.inner_error + (2 * s.beta**2 * s.sigma_g**2 + 2 * old * s.B_g**2 * s.eta**2 * eleven) / at_batch
    return Statement(
        "composed",
        sorted_terms(s, five, "rest", inner=s.inner_error, direction=s.direction_sq, drift=s.consensus_error),
        note="holds between communications: at one, the model also jumps by its drift (feddro.estimate_jumps_at_communication)",
    )


def first_two_steps(level: sp.Rational) -> tuple[sp.Expr, sp.Expr]:
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


def short_rounds(s: SimpleNamespace, main: Theorem, limit: Condition) -> Statement:
    """Corollary 1: Theorem 5.1 as proved, at its schedule, with (I-1)^2 raised to the square of the limit on I."""
    composed = main.statement("composed")
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


def complexities(main: Theorem, printed: Statement) -> Statement:
    """Corollary 2 under the conditions that the proof of Theorem 5.1 uses."""
    composed = main.statement("composed")
    costs = tuple(
        item for item in printed.derived if item.name in ("samples_per_client", "rounds", "embedding_messages")
    )
    schedule = {**printed.schedule, **composed.schedule}
    return Statement("composed", (), composed.conditions, (*composed.derived, *costs), schedule)


def kl_maximum(s: SimpleNamespace) -> Statement:
    """(3) with the KL divergence: the weights are proportional to exp(loss / lam), and sum to 1."""
    multiplier, scale = slack_symbol("nu"), s.lam
    log_of_sum = sp.log(s.mean_exp) - multiplier / scale - 1  # of sum_i p_i, from loss - lam (log(m p) + 1) - nu = 0
    at_one = multiplier - log_of_sum / sp.diff(log_of_sum, multiplier)  # linear in nu: one Newton step is exact
    value = sp.expand(at_one + scale)  # sum_i p_i (loss_i - lam log(m p_i)) = nu + lam
    return Statement("corrected", (), derived=(Derived("objective", value, "", "objective of (4)"),))


def chi_square_maximum(s: SimpleNamespace) -> Statement:
    """(3) with the chi-square divergence, where no weight is pushed to 0: p_i = 1/m + (loss_i - mean) / (lam m)."""
    loss, m = slack_symbol("loss"), slack_symbol("m")
    weight = 1 / m + (loss - s.mean_loss) / (s.lam * m)
    summand = sp.Poly(sp.expand(weight * loss - s.lam * m / 2 * (weight - 1 / m) ** 2), loss)
    moments = (sp.Integer(1), s.mean_loss, s.mean_square_loss)
    value = sp.expand(sum(m * c * moments[power] for (power,), c in summand.terms()))
    inside = Condition("interior", s.min_loss, ">=", s.mean_loss - s.lam, "else a weight is negative and is 0 instead")
    return Statement("corrected", (), (inside,), (Derived("objective", value, "", "objective of (5)"),))


def descent(s: SimpleNamespace, l_phi: Derived) -> Statement:
    """Lemma F.2 from its own Terms I to III: (eta/2) I + eta^2 L_Phi II, with Term III inserted into Term I."""
    term_3 = 2 * s.inner_error + 2 * s.B_g**2 * s.consensus_error
    term_1 = (2 * s.L_h**2 + 4 * s.B_f**2 * s.L_g**2) * s.consensus_error + 4 * s.B_g**2 * s.L_f**2 * term_3
    half = sp.expand(s.eta / 2 * term_1)
    smooth = s.eta**2 * l_phi.symbol
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
        derived=(l_phi,),
        note="from the bounds of Terms I, II and III as the proof of Lemma F.2 states them",
    )


def potential(
    s: SimpleNamespace, f_2: Theorem, f_4: Theorem, conditions: tuple[Condition, ...], consensus: sp.Expr
) -> Statement:
    """Lemma F.5 = Lemma F.2 + Lemma F.4 - inner error, with both lemmas as printed."""
    first, second = f_2.statement("printed"), f_4.statement("printed")
    step_1, step_2, momentum = conditions
    c_beta = Derived("c_beta", 4 * s.B_g**4 * s.L_f**2, r"c_\beta")
    at_most_one = momentum_at_most_one(s)
    chain = (
        Chain(first.total)
        .plus(second.total - s.inner_error, "Lemma F.2 + Lemma F.4 - inner error")
        .limit(
            s.inner_error,
            sp.Integer(0),
            "the inner error has a nonpositive coefficient",
            (momentum, at_most_one),
            {s.beta: c_beta.expr * s.eta, s.eta: 1 / (c_beta.expr * (1 + _U))},
        )
        .at_most((1 - s.beta) ** 2, sp.Integer(1), "(1-beta)^2 <= 1", at_most_one, substitution={s.beta: 1 / (1 + _U)})
        .limit(
            s.direction_sq,
            sp.Integer(0),
            "the direction has a nonpositive coefficient",
            (step_1,),
            {s.eta: step_1.right / (1 + _U)},
        )
        .limit(
            s.consensus_error,
            2 * s.eta * consensus,
            "the drift of Lemma F.4 is at most that of Lemma F.2",
            (step_2,),
            {s.eta: step_2.right / (1 + _U)},
        )
    )
    return Statement(
        "composed",
        sorted_terms(
            s, chain.expr.xreplace({s.beta: c_beta.symbol * s.eta}), descent=s.gradient_sq, drift=s.consensus_error
        ),
        chain.conditions,
        (first.constant("L_Phi"), c_beta),
        {"beta": c_beta.symbol * s.eta},
        note="; ".join(chain.steps),
    )


def telescoped(
    s: SimpleNamespace, f_5: Theorem, f_3: Theorem, step_3: Condition, drift_coefficient: sp.Expr
) -> Statement:
    """Theorem F.6: T times Lemma F.5 with the average consensus error that Lemma F.3 gives.

    Averaging Lemma F.3 over a round: at most I - 1 steps have elapsed, and the sums over the steps so far add up to at most
    I times the average. The average A then satisfies A <= a A + c with a <= 1/9, hence A <= (9/8) c.
    """
    drift = f_3.statement("printed")
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
        sorted_terms(s, total.expr, descent=s.gradient_sq),
        (*lemma.conditions, *chain.conditions),
        lemma.derived,
        lemma.schedule,
        note="; ".join((*chain.steps, *total.steps)),
    )


def theorem(s: SimpleNamespace, f_6: Theorem) -> Statement:
    """Theorem 5.1 from Theorem F.6 as printed: V_T >= Phi_*, V_0 = Phi(x_0) + y_err^2, times 2/(eta T); eta stays free."""
    lemma = f_6.statement("printed")
    rest = lemma.total.xreplace({s.gradient_sq: sp.Integer(0)}) + s.Phi_gap + s.y_err**2
    c_beta = lemma.constant("c_beta")
    used = (*lemma.conditions, momentum_at_most_one(s))
    return Statement(
        "composed",
        sorted_terms(s, rest * 2 / (s.eta * s.T)),
        used,
        lemma.derived,
        {"eta": sp.sqrt(s.b * s.K / s.T), "beta": c_beta.symbol * s.eta},
        note="any step size that the lemmas admit; without one, the paper's eta = sqrt(|b| K / T)",
    )


def noiseless(s: SimpleNamespace, main: Theorem) -> Statement:
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


def modified_fedavg(s: SimpleNamespace) -> Statement:
    """Theorem 4.2 with a rate, derived for the method itself: ybar = mean g_k(x_k) exactly (docs/theory/feddro.md)."""
    smooth = Derived("L_Phi", s.B_f * s.L_g + s.B_g**2 * s.L_f, r"L_\Phi", "with h = 0")
    consensus = s.B_f**2 * s.L_g**2 + s.B_g**4 * s.L_f**2
    terms = (
        Term("initialisation", 2 * s.Phi_gap / (s.eta * s.T)),
        Term("heterogeneity", sp.Rational(27, 4) * consensus * s.B_f**2 * s.Delta_g**2 * s.eta**2 * (s.I - 1) ** 2),
    )
    conditions = (
        Condition("step_size_descent", s.eta, "<=", 1 / smooth.symbol),
        Condition("step_size_period", 54 * s.B_f**2 * s.L_g**2 * s.eta**2 * s.I**2, "<=", sp.Integer(1)),
    )
    return Statement("corrected", terms, conditions, (smooth,), note="derivation: docs/theory/feddro.md")


def corrected(s: SimpleNamespace, l_phi: Derived, drift_coefficient: sp.Expr) -> Statement:
    """Theorem 5.1 with every step right; the derivation is docs/theory/feddro.md, its steps are named as there.

    eta and beta are free. The average is over t = 0..T-1; delta_g bounds the noise of the inner value (the paper uses
    sigma_g for both, which has two dimensions), the Jacobian noise is measured in the Frobenius norm.
    """
    at_batch = s.b * s.K
    n_value, heterogeneity, variance, feedback, weight = _corrected_constants(s, l_phi, at_batch)
    period = (s.I - 1) ** 2
    jump = 1 + period / s.I
    consensus = 2 * (s.L_h**2 + s.B_f**2 * s.L_g**2 + 2 * s.B_g**4 * s.L_f**2)
    drift = sp.Rational(9, 4) * consensus * s.eta**2 * period
    embedding = 2 / s.eta * weight * feedback * s.eta**2
    terms = (
        Term("initialisation", 2 * s.Phi_gap / (s.eta * s.T)),
        Term("inner_initialisation", 8 * s.B_g**2 * s.L_f**2 * s.y_err**2 / (s.beta * s.T), "initialisation"),
        Term("variance", 6 * s.eta * l_phi.symbol * variance / at_batch),
        Term("inner_noise", 2 / s.eta * weight * n_value, "variance"),
        Term(
            "inner_variance",
            embedding * (6 * variance / at_batch + sp.Rational(9, 2) * variance / s.b * jump),
            "variance",
        ),
        Term("inner_heterogeneity", embedding * sp.Rational(27, 2) * heterogeneity * jump, "heterogeneity"),
        Term("drift_variance", drift * 4 * variance / s.b, "variance"),
        Term("drift_heterogeneity", drift * 12 * heterogeneity, "heterogeneity"),
    )
    conditions = (
        momentum_at_most_one(s),
        Condition(
            "step_size_period",
            s.eta,
            "<=",
            1 / (3 * s.I * sp.sqrt(24 * drift_coefficient)),
            "average drift is at most 9/8 forcing",
        ),
        Condition(
            "step_size_embedding",
            24 * s.B_g**4 * s.L_f**2 * s.eta**2,
            "<=",
            at_batch,
            "innovation feeds back less than half",
        ),
        Condition(
            "step_size_direction",
            s.eta * l_phi.symbol + 2 * feedback * s.eta * weight,
            "<=",
            sp.Rational(1, 2),
            "the direction has a nonpositive coefficient",
        ),
    )
    schedule = {"eta": sp.sqrt(at_batch / s.T) / l_phi.symbol, "beta": s.B_g**2 * s.L_f * s.eta}
    return Statement("corrected", terms, conditions, (l_phi,), schedule, note="derivation: docs/theory/feddro.md")


def _corrected_constants(s: SimpleNamespace, l_phi: Derived, at_batch: sp.Expr) -> tuple[sp.Expr, ...]:
    """(value noise of the innovation, heterogeneity, variance, feedback, weight W) in the words of docs/theory/feddro.md."""
    variance = s.sigma_h**2 + s.B_f**2 * s.sigma_g**2
    heterogeneity = s.Delta_h**2 + s.B_f**2 * s.Delta_g**2
    feedback = 4 * s.B_g**2 / at_batch
    weight = s.eta * (
        4 * s.B_g**2 * s.L_f**2 / s.beta
        + 2 * s.sigma_g**2 * s.L_f**2 / at_batch
        + 3 * s.eta * l_phi.symbol * s.B_g**2 * s.L_f**2
    )
    return 4 * s.beta**2 * s.delta_g**2 / at_batch, heterogeneity, variance, feedback, weight
