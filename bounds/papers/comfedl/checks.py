"""Re-checks of the findings on ComFedL, each from scratch and exact.

An exponential enters as a rational number that stands for its value (a = exp(f/gamma)), so that nothing is rounded. The missing sign of
Theorem 1 is found by the audit itself (homogeneity and terms of comfedl.theorem_1); the first finding shows that it matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction as Q
from itertools import product
from math import ceil, factorial
from typing import Any

import sympy as sp

from ...audit.checks import compare_expressions
from ...audit.exactly import clip, less, total
from ...audit.findings import Evidence, confirm, read_findings
from ...audit.instance import Curve
from ...audit.refuted import kept
from ...evaluation.evaluate import exact
from ...language.dimension import INNER, OBJECTIVE
from ...language.notation import slack_symbol
from ...proof.certificates import prove_nonnegative
from ...registry import get_theorem as find
from . import PAPER

NOTATION, s = PAPER.written.notation, PAPER.written.s
THEOREM_1, THEOREM_2 = "comfedl.theorem_1", "comfedl.theorem_2"
EVERY_FORM = ((THEOREM_1, "printed"), (THEOREM_1, "composed"), (THEOREM_1, "corrected"), (THEOREM_2, "printed"))


TINY = Q(1, 10**6)
"""A positive bound of what is 0: the noise, and the curvature of a linear map."""
SWAPPED = {"G_f": "G_g", "G_g": "G_f", "L_f": "L_g", "L_g": "L_f"}
"""The constants of the same clients put into the inner maps of the problem with one outer function g(y) = y."""


def shown(value: sp.Expr) -> str:
    return f"{float(value):.4g}"


# --- the theorems ---------------------------------------------------------------------------------------------------


def theorem_1_false() -> Evidence:
    """Two noiseless clients stay where |F'|^2 = 1/100; the printed bound is three times smaller, that with + is not."""
    case, (left, _), _ = kept(THEOREM_1)
    values = case.values
    printed, composed, right = (total(THEOREM_1, label, **values) for label in ("printed", "composed", "corrected"))
    cap = (values["G_f"] * values["G_g"]) ** 2
    special = {**values, **{name: values[other] for name, other in SWAPPED.items()}}
    larger = kept(f"{THEOREM_1}.eight_steps")
    level, small = larger.left[0], larger.case.values
    facts = (
        left == Q(1, 100) and less(printed, Q(34, 10**4)),
        less(left, composed) and less(left, right) and less(composed, cap),
        less(total(THEOREM_1, **special), left) and less(left, total(THEOREM_2, **special)),
        less(100 * total(THEOREM_1, **small), level) and less(level, total(THEOREM_1, "composed", **small)),
    )
    return confirm(
        all(facts),
        average_squared_gradient=str(left),
        printed=shown(printed),
        with_plus=shown(composed),
        corrected=shown(right),
        trivial_cap=shown(exact(cap)),
        tau_8=f"{float(level):.4g} > {shown(total(THEOREM_1, **small))}",
    )


def client_sampling() -> Evidence:
    """The first client is sampled in every round and never moves; |F'|^2 = 1/4, every form of the bound < 1/100."""
    first, second = Curve.with_slope([(0, -1), (2, 1)]), Curve.with_slope([(-2, -1), (0, 1)])
    whole, start = Q(1, 2) * (first + second), Q(1)
    shape = {"G_f": 1, "G_g": 1, "L_f": TINY, "L_g": 1, "L": Q(1, 2)}
    bends = all(law.derivative.derivative.squared.is_at_most(1) for law in (first, second))
    bends = bends and whole.derivative.derivative.squared.is_at_most(Q(1, 4))
    steep = all(law.derivative.squared.is_at_most(1) for law in (first, second))
    gap = Q(str(whole.at(start) - whole.at(0)))
    least = ((-1) * whole).is_at_most(-whole.at(0))
    values = {**shape, "sigma": TINY, "F_gap": gap, "eta": Q(1, 10**4), "tau": 1, "b": 1, "b_1": 1, "T": 10**7}
    totals = [total(name, label, **values) for name, label in EVERY_FORM]
    stays, left = first.derivative.at(start) == 0, Q(str(whole.derivative.at(start))) ** 2
    return confirm(
        bends and steep and least and stays and left == Q(1, 4) and all(less(total, Q(1, 100)) for total in totals),
        average_squared_gradient=str(left),
        largest_bound=shown(max(totals)),
    )


def sigma_mixes_dimensions() -> Evidence:
    """A unit of y a million times larger changes neither F nor the algorithm; the printed noise terms explode."""
    theorem = find(THEOREM_1)
    composed, corrected = theorem.statement("composed"), theorem.statement("corrected")
    dimensions = NOTATION["sigma"].quantity.dimensions
    unit = Q(1, 10**6)
    noises = {"outer_noise": 1 / unit, "inner_jacobian_noise": unit, "inner_value_noise": unit}
    parts = {"G_f": unit, "L_f": unit, "G_g": 1 / unit, "L_g": 1 / unit**2}

    def terms(statement: Any, names: tuple[str, ...], values: Mapping[str, Q]) -> sp.Expr:
        table = {binding.symbol: exact(values.get(binding.name, Q(1))) for binding in NOTATION}
        return sp.Add(*(statement.term(name).expr for name in names)).xreplace(table)

    before = terms(composed, tuple(noises), {})
    after = terms(composed, tuple(noises), {**parts, "sigma": max(noises.values())})
    own = {name: terms(composed, (name,), {**parts, "sigma": sigma}) for name, sigma in noises.items()}
    invariant = all(own[name] == terms(composed, (name,), {}) for name in noises)
    value = [terms(corrected, ("inner_value_noise",), v) for v in ({}, {**parts, "sigma": noises["inner_value_noise"]})]
    return confirm(
        len(dimensions) == 3 and invariant and value[0] == value[1] and less(10**6 * before, after),
        dimensions=[str(each) for each in dimensions],
        noise_terms_before=shown(before),
        noise_terms_after=shown(after),
    )


def equal_batches_unused() -> Evidence:
    """b and b_1 stand in different terms of the composed bound: nothing in the proof relates them."""
    composed = find(THEOREM_1).statement("composed")
    both = [term.name for term in composed.terms if {s.b, s.b_1} <= term.expr.free_symbols]
    conditions = [c.name for c in composed.conditions if {s.b, s.b_1} & (c.left.free_symbols | c.right.free_symbols)]
    return confirm(not both and not conditions, terms_with_both=both, conditions_on_batches=conditions)


def output_is_last() -> Evidence:
    """One client, tau = 1: the last iterate has |F'|^2 = 1, every form of the bound on the average is below 1/10."""
    eta, steps = Q(1, 100), 2000
    force = Curve.with_slope([(0, 0), (1, -1), (2, 0)]).derivative  # F' falls to -1 at 1 and rises to 0 at 2
    start = (1 + eta) ** -steps
    path = {j: start * (1 + eta) ** j for j in (0, 1, steps // 2, steps - 1)}
    grows = all(0 < w <= 1 and w - eta * -w == start * (1 + eta) ** (j + 1) for j, w in path.items())
    grows = grows and all(force.at(w) == -exact(w) for w in (Q(0), Q(1, 2), Q(1)))
    last = start * (1 + eta) ** steps
    gap = Q(ceil((1 - start**2 / 2) * 10**12), 10**12)  # the area under -F'; rounded up: each bound grows with it
    shape = {"G_f": 1, "G_g": 1, "L_f": TINY, "L_g": 1, "L": 1}
    values = {**shape, "sigma": TINY, "F_gap": gap, "eta": eta, "tau": 1, "b": 1, "b_1": 1, "T": steps}
    totals = [total(name, label, **values) for name, label in EVERY_FORM]
    return confirm(
        grows and force.at(last) ** 2 == 1 and all(less(total, Q(1, 10)) for total in totals),
        squared_gradient_at_the_output=1,
        largest_bound=shown(max(totals)),
    )


# --- lines of the proofs --------------------------------------------------------------------------------------------


def lemma_2_observable() -> Evidence:
    """Slopes 1 and -1: the mean does not drift at all, the clients drift by t eta each."""
    eta, t = Q(1, 10), 3
    ends = (-eta * t, eta * t)
    mean_drift, client_drift = (sum(ends) / 2) ** 2, sum(end * end for end in ends) / 2
    needed = find("comfedl.lemma_3_step").statement("printed").total.has(s.client_drift_sq)
    return confirm(
        needed and mean_drift == 0 and client_drift == (t * eta) ** 2,
        mean_model=str(mean_drift),
        clients=str(client_drift),
    )


def spectral_variance() -> Evidence:
    """d = p = 2, b = 2, f(w; xi) = xi a (1 + sin(w/a)) entry by entry, xi uniform in {-1,1}^2, g Huber in |y|.

    At w = 0 the Jacobian is diag(xi), its mean 0; grad g at the batch mean a m is m/|m|, for |a m| >= a.
    """
    radius = Q(1, 4)
    sigma_1_sq, sigma_2_sq = Q(1), 2 * (2 * radius) ** 2
    draws = list(product(product((-1, 1), repeat=2), repeat=2))
    means = [tuple(Q(x[i] + y[i], 2) for i in (0, 1)) for x, y in draws]
    line = sum((m[0] ** 4 + m[1] ** 4) / (m[0] ** 2 + m[1] ** 2) for m in means if any(m)) / len(draws)
    beyond = all(m[0] ** 2 + m[1] ** 2 >= 1 for m in means if any(m))
    claimed = max(sigma_1_sq, sigma_2_sq) / 2
    return confirm(
        beyond and line == Q(3, 4) and claimed == Q(1, 2),
        left_of_the_line=str(line),
        G_g_sq_sigma_sq_over_b=str(claimed),
    )


def outer_independence() -> Evidence:
    """The same draw in {0, 1, 2} serves f(w; i) = w + i/2 and grad g(y; i), a tent of half-width 1/4 at i/2; w =
    0, b = b_1 = 1.
    """
    places = [Q(i, 2) for i in range(3)]

    def tent(y: Q, i: int) -> Q:
        return max(Q(0), 1 - 4 * abs(y - places[i]))

    def mean(y: Q) -> Q:
        return sum((tent(y, i) for i in range(3)), Q(0)) / 3

    def variance(y: Q) -> Q:
        return sum(((tent(y, i) - mean(y)) ** 2 for i in range(3)), Q(0)) / 3

    disjoint = all(abs(p - q) >= Q(1, 2) for p in places for q in places if p != q)
    outer_sq = max(variance(place) for place in places)  # tents are disjoint: at height h the variance is 2 h^2 / 9
    inner_sq = sum(p * p for p in places) / 3 - (sum(places) / 3) ** 2
    line = sum((tent(place, i) - mean(place)) ** 2 for i, place in enumerate(places)) / 3
    return confirm(
        disjoint and (line, outer_sq, inner_sq) == (Q(4, 9), Q(2, 9), Q(1, 6)),
        left_of_the_line=str(line),
        G_f_sq_sigma_sq_over_b_1=str(max(outer_sq, inner_sq)),
    )


def multiplier() -> Evidence:
    """Three losses with exp(f/gamma) = 1, 2, 3: the printed multiplier leaves a residual of -gamma (1 - 1/n) in
    every component.
    """
    values, gamma = (1, 2, 3), sp.Integer(2)
    level = sp.Rational(sum(values), 3)
    lemma = find("comfedl.lemma_1")
    table = {s.gamma: gamma, s.n: sp.Integer(3), s.mean_exp: level}
    residuals = {}
    for label in ("printed", "corrected"):
        lam = lemma.statement(label).constant("lam").expr.xreplace(table)
        weights = [sp.Rational(a, sum(values)) for a in values]
        exact_ones = (
            gamma * sp.log(a) - gamma * sp.log(3 * r) - gamma + lam for a, r in zip(values, weights, strict=True)
        )
        residuals[label] = {sp.nsimplify(sp.simplify(sp.expand_log(value))) for value in exact_ones}
    expected = {"printed": {-gamma * sp.Rational(2, 3)}, "corrected": {sp.Integer(0)}}
    values_agree = lemma.statement("printed").constant("J").expr == lemma.statement("corrected").constant("J").expr
    return confirm(residuals == expected and values_agree, residuals={k: str(v) for k, v in residuals.items()})


# --- looseness ------------------------------------------------------------------------------------------------------


def superfluous_noise() -> Evidence:
    """The conditional mean of the direction sees neither the outer noise nor the Jacobian noise, only a bias.

    f(w; x, z) = w + x + z (w - 1/2) at w = 1/2, x = +-3/2, z = +-jacobian; g Huber, slope noise +-outer; b = b_1 = 2.
    """
    w, spread = Q(1, 2), (Q(-3, 2), Q(3, 2))

    def conditional_mean(outer: Q, jacobian: Q) -> Q:
        supports = (spread, (-jacobian, jacobian), (-outer, outer))
        draws = product(*(product(support, repeat=2) for support in supports))
        halves = [[sum(pair, Q(0)) / 2 for pair in draw] for draw in draws]
        return sum(((clip(w + x) + v) * (1 + z) for x, z, v in halves), Q(0)) / len(halves)

    small, large = conditional_mean(Q(1), Q(1, 2)), conditional_mean(Q(100), Q(10))
    bias = abs(small - clip(w))
    bound_sq = Q(9, 4) / 2  # (L_g G_f sigma_2)^2 / b with L_g = 1, sigma_2 = 3/2, b = 2; G_f >= 1 only enlarges it
    return confirm(small == large and 0 < bias**2 <= bound_sq, bias=str(bias), bound_squared=str(bound_sq))


def drift_without_local_steps() -> Evidence:
    """At tau = 1 no client moves before it communicates: the drift terms of the repair vanish, those printed stay."""
    left = {
        f"{name} {label}": [
            term.name
            for term in find(name).statement(label).terms
            if term.role == "drift" and term.expr.xreplace({s.tau: sp.Integer(1)}) != 0
        ]
        for name, label in EVERY_FORM[1:]
    }
    return confirm([bool(found) for found in left.values()] == [True, False, True], drift_terms_at_tau_1=left)


DRIFT_COEFFICIENT = PAPER.written.derived["H"].expr ** 2


def _order(expr: sp.Expr) -> sp.Expr:
    """The exponent of T of the slowest summand; every summand must be a monomial in T."""
    return max(sp.simplify(s.T * sp.diff(part, s.T) / part) for part in sp.Add.make_args(sp.expand(expr)))


# --- rates ----------------------------------------------------------------------------------------------------------


def remark_batches() -> Evidence:
    """With b = 1/T the noise terms grow like sqrt(T) and a batch has less than one sample; with b = T the rate is
    T^(-1/2).
    """
    orders = {}
    for name, sizes in (("remark_1", (s.b, s.b_1)), ("remark_2", (s.b,))):
        claim = find(f"comfedl.{name}").statement("printed")
        step = {s.eta: claim.schedule["eta"]}
        for case, size in (("as printed", claim.schedule["b"]), ("b = T", s.T)):
            orders[f"{name}, {case}"] = _order(claim.total.xreplace({**step, **dict.fromkeys(sizes, size)}))
    expected = [sp.Rational(1, 2), -sp.Rational(1, 2)] * 2
    return confirm(list(orders.values()) == expected, exponent_of_T={k: str(v) for k, v in orders.items()})


def optimal_rate() -> Evidence:
    """Batches b = b_1 = T as in Remark 1, eta = 1/(4L), tau = 1, all clients: 1/T, eps^-2 samples instead of eps^-4.

    F(w+) <= F(w) - eta (1/2 - L eta)|v|^2 + eta (1/2 + L eta)|u - v|^2 with v = grad F(w); Lemma 3 without drift bounds
    E|u - v|^2.
    """
    eta = 1 / (4 * s.L)
    gain, loss = (sp.Rational(1, 2) + sign_ * s.L * eta for sign_ in (-1, 1))
    lemma = find("comfedl.lemma_3_step").statement("printed").total
    error = lemma.xreplace({s.client_drift_sq: sp.Integer(0), s.b: s.T, s.b_1: s.T})
    constant_step = _order((s.F_gap / (s.T * eta) + loss * error) / gain)
    claim = find("comfedl.remark_1").statement("printed")
    paper = _order(claim.total.xreplace({s.eta: claim.schedule["eta"], s.b: s.T, s.b_1: s.T}))
    samples = {
        "paper": 2 / -paper,
        "constant step": 2 / -constant_step,
    }  # T steps of T samples at accuracy eps = T^order
    facts = (gain, loss, paper, constant_step) == (sp.Rational(1, 4), sp.Rational(3, 4), -sp.Rational(1, 2), -1)
    return confirm(
        facts and samples == {"paper": 4, "constant step": 2},
        exponent_of_T={"paper": str(paper), "constant step": str(constant_step)},
        samples_per_client={name: f"eps^-{power}" for name, power in samples.items()},
    )


def exponent_one() -> Evidence:
    """eta = 1/T on a Huber function: T steps move from 3 to 2, where the slope is still 1, however large T is."""
    ends = {}
    for steps in (10, 100, 1000):
        w, slopes = Q(3), set()
        for _ in range(steps):
            slopes.add(clip(w))
            w -= Q(1, steps) * clip(w)
        ends[steps] = (w, slopes)
    return confirm(all(end == (2, {1}) for end in ends.values()), end_points={k: str(w) for k, (w, _) in ends.items()})


def no_communication_saving() -> Evidence:
    """At S = T/tau rounds the best value over eta is 2 sqrt(F_gap a(tau)/(S tau)), a(tau) the coefficient of eta.

    a(tau)/tau falls from tau = 1 to infinity by (c H + 3L/2)/(c H + L), which grows with L/H. L = G_g L_f + L_g G_f^2
    always works and is at most sqrt(2) H, with equality for equal parts: the worst case, evaluated here.
    """
    gains = {}
    for name in (THEOREM_1, THEOREM_2):
        composed = find(name).statement("composed")
        slope = sp.diff(composed.expand(composed.total).xreplace({s.F_gap: sp.Integer(0)}), s.eta)
        per_step = sp.expand(slope / s.tau)
        worst = dict.fromkeys((s.G_f, s.G_g, s.L_f, s.L_g), sp.Integer(1)) | {s.L: sp.Integer(2)}
        one = per_step.xreplace({s.tau: sp.Integer(1)}).xreplace(worst)
        gains[name] = one / sp.limit(per_step, s.tau, sp.oo).xreplace(worst)
    small = all(less(gain, Q(121, 100)) for gain in gains.values())
    square = sp.factor(sp.expand(2 * DRIFT_COEFFICIENT - (s.G_g * s.L_f + s.L_g * s.G_f**2) ** 2))
    return confirm(
        small and square == (s.G_f**2 * s.L_g - s.G_g * s.L_f) ** 2,
        largest_improvement={name: shown(sp.sqrt(gain)) for name, gain in gains.items()},
    )


# --- reformulations -------------------------------------------------------------------------------------------------


def simplex_sum() -> Evidence:
    """Nonnegative numbers that sum to 0 are all 0: among the fractions of denominator 4 only (0, 0, 0) qualifies,
    its objective is 0.
    """
    grid = [Q(i, 4) for i in range(5)]
    printed = [p for p in product(grid, repeat=3) if sum(p) == 0]
    right = [p for p in product(grid, repeat=3) if sum(p) == 1]
    return confirm(
        printed == [(0, 0, 0)] and len(right) == 15, feasible_with_0=len(printed), feasible_with_1=len(right)
    )


def problem_10() -> Evidence:
    """Two samples at one y with (exp f, f') = (4, 1) and (1, -1), gamma = 1: exp of the mean is stationary, the
    oracles are not.
    """
    samples = ((Q(4), Q(1)), (Q(1), Q(-1)))
    root = {(4, 4): Q(4), (4, 1): Q(2), (1, 4): Q(2), (1, 1): Q(1)}  # exp of the mean of two losses: geometric means
    true = root[4, 1] * sum(slope for _, slope in samples) / 2
    per_sample = sum(value * slope for value, slope in samples) / 2
    batch = sum(root[int(a), int(c)] * (u + v) / 2 for (a, u), (c, v) in product(samples, repeat=2)) / 4
    squares = all(value**2 == a * c for (a, c), value in root.items())
    return confirm(
        squares and (true, per_sample, batch) == (0, Q(3, 2), Q(3, 4)),
        gradient=str(true),
        mean_of_sample_exponentials=str(per_sample),
        mean_over_batches_of_two=str(batch),
    )


def other_monotone() -> Evidence:
    """f^1 = w^2, f^2 = 2(w - 1)^2, gamma = 1: at 2/3, the minimiser of the sum, the larger loss still grows, so
    (5) has positive slope.
    """
    w = Q(2, 3)
    losses, slopes = (w**2, 2 * (w - 1) ** 2), (2 * w, 4 * (w - 1))
    tilted = losses[0] > losses[1] and slopes[0] > 0
    return confirm(
        sum(slopes) == 0 and tilted,
        losses=[str(v) for v in losses],
        slopes=[str(v) for v in slopes],
        slope_of_5="exp(4/9) - exp(2/9) > 0, times 4/3 and a positive factor",
    )


def dro_gradient() -> Evidence:
    """Shift every loss by -M: with q = exp(-M/gamma), |grad Phi|^2 is multiplied by q^2 and the gradient of (5)
    does not change.
    """
    gamma, weights, slopes, q = Q(2), (Q(3), Q(5)), (Q(1), Q(2)), Q(1, 1000)

    def gradients(scale: Q) -> tuple[Q, Q]:
        scaled = [scale * a for a in weights]
        tilt = sum((a * d for a, d in zip(scaled, slopes, strict=True)), Q(0))
        return tilt / (2 * gamma), tilt / sum(scaled)

    (phi, objective), (phi_shifted, objective_shifted) = gradients(Q(1)), gradients(q)
    repaired = all(a >= 1 for a in weights) and objective <= gamma * phi
    return confirm(
        phi_shifted**2 == q**2 * phi**2
        and objective_shifted == objective
        and repaired
        and objective > gamma * phi_shifted,
        squared_gradient_of_Phi=[str(phi**2), str(phi_shifted**2)],
        gradient_of_5=[str(objective), str(objective_shifted)],
    )


def _exp_less(x: int) -> Q:
    """A partial sum of exp(x), x >= 0."""
    return sum((Q(x**k, factorial(k)) for k in range(40)), Q(0))


def exp_assumptions() -> Evidence:
    """exp(k + 1) - exp(k) > exp(k) > 2^k: no Lipschitz constant, for exp or its gradient. On [0, 1] the range is tiny.

    The bound is below the trivial (G_f G_g)^2 only if 2 H tau eta < 1. With gamma = 1/10, G_f = 1 and losses in [0, 1],
    H >= G_f^2 L_g = 100 exp(10), so that eta < 3e-7.
    """
    limit = 1 / (2 * _exp_less(10) * 100)
    printed = find(THEOREM_2).statement("printed")
    share = 2 * printed.constant("H").symbol * s.eta * s.tau
    named = printed.term("estimator_drift").expr == share * s.G_f**2 * s.G_g**2
    unbounded = _exp_less(1) > 2 and all(_exp_less(k) > 2**k for k in (1, 10, 20))
    return confirm(named and unbounded and limit < Q(3, 10**7), largest_step=f"{float(limit):.3g}")


def typography() -> Evidence:
    """Three averages of section 3 have the dimension of something else; S + 1 server models have no index T = S tau."""
    jacobian, gradient = NOTATION["G_f"].quantity.dimension, NOTATION["G_g"].quantity.dimension
    misfits = {
        "f_B as a mean of grad f^i": (jacobian, INNER),
        "grad g_B as a mean of g^i": (OBJECTIVE, gradient),
        "g^i(y) as a mean of f^i(y; zeta)": (INNER, OBJECTIVE),
    }
    rounds, tau = 5, 3
    missing = rounds * tau not in range(rounds + 1)
    return confirm(
        missing and all(got != wanted for got, wanted in misfits.values()),
        dimensions={what: f"{got}, wanted {wanted}" for what, (got, wanted) in misfits.items()},
    )


# --- printed claims that hold: the docstring is the argument, and the function checks it ---


def theorem_2() -> Evidence:
    """Term by term at least the corrected statement; for the drift of the estimator by squares, with (a + b)^2 <= 2 (a^2 + b^2)
    for a = G_f^2 L_g and b = G_g L_f."""
    theorem = find("comfedl.theorem_2")
    printed, corrected = theorem.statement("printed"), theorem.statement("corrected")

    def sides(name: str) -> tuple[sp.Expr, sp.Expr]:
        return printed.expand(printed.term(name).expr), corrected.expand(corrected.term(name).expr)

    others = [term.name for term in corrected.terms if term.name != "estimator_drift"]
    compared = {name: compare_expressions(*sides(name))[0] for name in others}
    left, right = sides("estimator_drift")
    a, b, common = s.G_f**2 * s.L_g, s.G_g * s.L_f, (s.G_f**2 * s.G_g**2 * s.eta) ** 2
    weight = 4 * s.tau**2 - (s.tau - 1) ** 2 / 2
    squares = common * (weight * (a**2 + b**2) + (s.tau - 1) ** 2 * (a - b) ** 2 / 4)
    identity = sp.expand(left**2 - right**2 - squares) == 0
    longer = prove_nonnegative(weight, {s.tau: 1 + slack_symbol("more")}) is not None
    known = set(compared.values()) <= {"equal", "larger"} and printed.conditions == corrected.conditions
    return confirm(known and identity and longer, terms=compared)


HOLDS = (("theorem_2", "printed", theorem_2),)

FINDINGS, SECOND_READING = read_findings(vars())
