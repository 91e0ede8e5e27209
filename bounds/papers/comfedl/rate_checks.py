"""Re-checks of the findings on the rates and the reformulations of ComFedL, each from scratch and exact.

An exponential enters as a rational number that stands for its value (a = exp(f/gamma)), so that nothing is rounded.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import factorial

import sympy as sp

from ...audit.findings import Evidence, confirm
from ...language.dimension import INNER, OBJECTIVE
from ...registry import get_theorem as find
from . import PAPER
from .checks import THEOREM_1, THEOREM_2, below, clip, shown

Q = Fraction

NOTATION, s = PAPER.written.notation, PAPER.written.s
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
    small = all(below(gain, Q(121, 100)) for gain in gains.values())
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

    def gradients(scale: Fraction) -> tuple[Fraction, Fraction]:
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


def _exp_below(x: int) -> Fraction:
    """A partial sum of exp(x), x >= 0."""
    return sum((Q(x**k, factorial(k)) for k in range(40)), Q(0))


def exp_assumptions() -> Evidence:
    """exp(k + 1) - exp(k) > exp(k) > 2^k: no Lipschitz constant, for exp or its gradient. On [0, 1] the range is tiny.

    The bound is below the trivial (G_f G_g)^2 only if 2 H tau eta < 1. With gamma = 1/10, G_f = 1 and losses in [0, 1],
    H >= G_f^2 L_g = 100 exp(10), so that eta < 3e-7.
    """
    limit = 1 / (2 * _exp_below(10) * 100)
    printed = find(THEOREM_2).statement("printed")
    share = 2 * printed.constant("H").symbol * s.eta * s.tau
    named = printed.term("estimator_drift").expr == share * s.G_f**2 * s.G_g**2
    unbounded = _exp_below(1) > 2 and all(_exp_below(k) > 2**k for k in (1, 10, 20))
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
