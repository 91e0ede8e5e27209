"""Re-checks of the findings on meta_fl that concern norms, missing definitions and slips; each from scratch and
exact.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy as sp

from ...audit.findings import Evidence, confirm
from ...evaluation.evaluate import bound
from ...language.reading import InputError
from ...registry import get_theorem as find
from . import constants as constants
from .instances import Q, less, signs, two_sided, values_of


def spectral_norm() -> Evidence:
    """Noise diag(+-1, +-1), two samples: 3/4 where (107) and (69) say 1/2; and two matrices orthogonal in mean
    whose squares do not add.
    """

    def mean_power(power: int) -> Fraction:
        total = Q(0)
        for a, b, c, d in signs(4):
            total += max(abs((a + c) / 2), abs((b + d) / 2)) ** power / 16
        return total

    second, fourth = mean_power(2), mean_power(4)
    claimed = values_of(
        "lemma_12", "printed", {"kappa_H": 1, "sigma_H": 1, "D_H": 2, "kappa_G": 0, "sigma_G": 0, "D": 1}
    )
    frobenius = sum(((a + c) / 2) ** 2 + ((b + d) / 2) ** 2 for a, b, c, d in signs(4)) / 16  # sigma_H^2 = 2, D' = 2
    t = Q(1, 10)
    apart = sum(max(abs(1 + side * t), abs(1 - side * t)) ** 2 for side in (1, -1)) / 2  # X = +-t diag(1, -1), Y = I
    return confirm(
        second == fourth == Q(3, 4) and claimed["kbar_H"] == sp.Rational(1, 2) and frobenius == 1 and apart > 1 + t**2,
        spectral=str(second),
        claimed="1/2",
        sum_of_squares=f"{apart} > {1 + t**2}",
    )


def assumption_5() -> Evidence:
    """f = sum f_i: four equal clients with ||grad f_i|| = B are 3 B away from it; with the mean they are at
    distance 0.
    """
    N, B = 4, Q(1)
    gradients = [B] * N
    total = sum(gradients)
    printed = sum((g - total) ** 2 for g in gradients) / N
    repaired = sum((g - total / N) ** 2 for g in gradients) / N
    return confirm(
        printed == 9 * B**2 and printed > (2 * B) ** 2 and repaired == 0, printed=str(printed), largest=str(4 * B**2)
    )


def missing_expectation() -> Evidence:
    """f_i = 0, gradient noise 10 with probability 1/101 and -1/10 otherwise (sigma_G = 1): ||.||^2 = 100, (24) is
    about 3.
    """
    p = Q(1, 101)
    mean, variance = p * 10 - (1 - p) / 10, p * 100 + (1 - p) / 100
    fourth = p * 10**4 + (1 - p) / 10**4
    at = {
        "B": 1,
        "L": 1,
        "rho": 1,
        "sigma_G": 1,
        "sigma_H": 0,
        "kappa_G": fourth,
        "kappa_H": 0,
        "D": 1,
        "D_H": 1,
        "nu": 2,
    }
    right = values_of("lemma_6", "printed", {**at, "alpha": Q(1, 1000)})["sigma_F"] ** 2
    return confirm(mean == 0 and variance == 1 and less(right, Q(100)), left=100, right=float(right))


def output() -> Evidence:
    """tau = 1, one client in two: E||grad F(w_K)||^2 of the model that is returned exceeds the average of (30), for
    K = 1..29.
    """
    case = two_sided(1, Q(1, 10))
    beta = Q(1, 20)
    q = 1 - case.curvature * beta
    square, total, worse = Q(0), Q(0), []
    for rounds in range(1, 30):
        total += square
        square = q * q * square + (1 - q) ** 2 * case.shift**2
        worse.append(square > total / rounds)
    return confirm(all(worse), rounds=len(worse), last_over_average=float(square * 29 / total))


def hessian_free_target() -> Evidence:
    """f' = 1 + w|w| near 0, nu = 1: the noiseless Hessian-free direction is not grad F, so which of them stands in
    (37) matters.
    """
    alpha, delta = Q(1, 2), Q(1, 10)

    def gradient(x: Fraction) -> Fraction:
        return 1 + x * abs(x)

    last = gradient(-alpha * gradient(Q(0)))  # and grad F(0) = last, the Hessian at 0 being 0
    free = last - alpha * (gradient(delta * last) - gradient(-delta * last)) / (2 * delta)
    covered = alpha * 2 * delta * last**2  # q_1 of (156) with rho = 2 and the gradient itself for B
    return confirm(free != last and abs(free - last) <= covered, exact_gradient=str(last), hessian_free=str(free))


def induction_hypothesis() -> Evidence:
    """(164b): d~ = +-1, d = 0, f' = w^2/2 near 0. The hypothesis (mean error 0) gives 0, the left side is delta^2/2."""
    delta = Q(1, 2)
    mean = sum(Q(side) for side in (1, -1)) / 2
    left = sum((side * delta) ** 2 / 2 for side in (1, -1)) / 2
    return confirm(mean == 0 and left == delta**2 / 2 and left > 0, left=str(left), claimed=0)


def misplaced_square() -> Evidence:
    """(124a): E|XY| <= sqrt(E X^2 (E Y)^2) fails for X = Y = 0 or 1 with equal chances; with E Y^2 it holds."""
    mean = square = Q(1, 2)
    return confirm(
        square**2 > square * mean**2 and square**2 <= square * square, left=str(square**2), right=str(square * mean**2)
    )


def no_step_yet() -> Evidence:
    """(40) at l = nu reads h'_0: (21) gives a positive number, the true value is 0 because w~_0 = w_0."""
    s = constants.at(alpha=1, L=1, sigma_G=1, D=1)
    return confirm(constants.one_h2(s, 0) == sp.Rational(1, 4) and constants.h2(s, 0) == 0, printed="1/4", true=0)


def no_steps() -> Evidence:
    """nu = 0, which the conclusion calls FedAvg: g_0 of (28) is not 0, gamma_F^2 is 12 gamma_G^2, mu_F is
    sigma_G/sqrt(D).
    """
    ones = dict.fromkeys(("alpha", "B", "L", "rho", "sigma_G", "sigma_H", "gamma_G", "gamma_H", "D", "D_H"), 1)
    s = constants.at(**{**ones, "gamma_H": 0})
    found = constants.printed(s, 0)
    corrected = {name: values_of(name, "corrected", {**ones, "nu": 0, "delta": 1}) for name in ("lemma_6", "lemma_7")}
    good = (
        constants.one_g(constants.at(**ones), 0) == sp.Rational(1, 8)
        and found["gamma_F"] ** 2 == 12
        and found["mu_F"] == 1
        and corrected["lemma_6"]["mu_F"] == 0
        and corrected["lemma_6"]["sigma_F"] == 1
        and corrected["lemma_7"]["gamma_F"] == 1
    )
    only_above_1 = find("meta_fl.lemma_6").statement("printed").condition("steps")
    return confirm(
        good and str(only_above_1) == "nu > 1", g_0="1/8", gamma_F_sq=12, mu_F=1, stated_for=str(only_above_1)
    )


def biased_path() -> Evidence:
    """f' = w^2/2 near 0, alpha = 1, noise +-1: E w~_2 - w_2 = -1/2, so w~_2 is no unbiased estimate."""
    total = Q(0)
    for first, second in signs(2):
        w_1 = -first
        total += (w_1 - (w_1**2 / 2 + second)) / 4
    return confirm(total == Q(-1, 2), bias=str(total))


def one_client() -> Evidence:
    """n = 1, r = 1: the sampling factor of (30) is 0/0; nobody is left out, so it is 0."""
    ones = dict.fromkeys(("B", "L", "rho", "nu", "D", "D_H", "tau", "F_gap", "r", "n", "c"), 1)
    zeros = dict.fromkeys(("sigma_G", "sigma_H", "kappa_G", "kappa_H", "gamma_G", "gamma_H"), 0)
    at: dict[str, Any] = {**ones, **zeros, "alpha": Q(1, 10), "beta": Q(1, 100), "K": 10}
    try:
        sampled = bound(find("meta_fl.theorem_8").statement("printed"), at)
    except InputError as error:
        total = values_of("theorem_8", "corrected", at)["total"]
        return confirm(total == 40, printed=str(error), corrected=str(total))
    return confirm(False, printed=str(sampled))


def per_fedavg() -> Evidence:
    """nu = 1: (19) equals Per-FedAvg's 4 L + alpha rho B at alpha = 1/L only, and is below it for smaller alpha;
    (27) is neither above nor below its 3 B^2 alpha^2 gamma_H^2 + 192 gamma_G^2."""
    base: dict[str, Any] = {"B": 1, "L": 1, "rho": 1, "nu": 1}
    smooth = {
        a: values_of("lemma_4", "printed", {**base, "alpha": a})["L_F"] - (4 + sp.Rational(a)) for a in (1, Q(1, 2))
    }
    hessian = values_of("lemma_7", "printed", {**base, "alpha": 1, "gamma_G": 0, "gamma_H": 1})["total"]
    gradient = values_of("lemma_7", "printed", {**base, "alpha": 1, "gamma_G": 1, "gamma_H": 0})["total"]
    good = smooth[1] == 0 and smooth[Q(1, 2)] < 0 and hessian == 15 and gradient == 48
    return confirm(good, gamma_F_sq={"gamma_H": f"{hessian} against 3", "gamma_G": f"{gradient} against 192"})


def wrong_letters() -> Evidence:
    """(105) starts from 'd_1 = 0': with d_1 of (107) in its place (103) does not give (105). (123) cites Assumption
    1, which does not bound gradients: w^2/2 is bounded below."""
    s = constants.at(alpha=1, L=1, rho=1, sigma_G=1, sigma_H=1, D=1, D_H=1)
    A, d_1 = constants.growth(s), constants.d(s, 1)
    from_d = A * d_1 + s.alpha * s.rho * A * constants.h(s, 1)
    from_0 = s.alpha * s.rho * A * constants.one_h_sum(s, 2)  # (105)
    gradient = Q(10**6)
    return confirm(
        d_1 == 1 and from_d != from_0 and constants.t(s, 2) == from_0 and gradient**2 / 2 > 0,
        from_d_1=str(from_d),
        from_0=str(from_0),
    )
