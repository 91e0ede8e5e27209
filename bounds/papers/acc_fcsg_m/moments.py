"""Exact second moments of Acc-FCSG-M on two clients with multiplicative noise, over any number of rounds.

f^n_xi(y) = a_n y + (mu + s xi) H_R(y), a = (h, -h), xi = +-1, g(x) = x, b = 1, x_0 = 0 (the minimiser of F = mu H_R).
While |x_t^n| <= R, proved for ever by `stays_inside`, the recursion is linear in z = (1, x_1, x_2, u_1, u_2) with noise
linear in z, so that E z z^T closes: 15 numbers, and one more that adds up the metric. A round is a matrix, many rounds
are its power.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

Q = Fraction
Coefficients = list[Fraction]
PAIRS = [(i, j) for i in range(5) for j in range(i, 5)]
PLACE = {pair: k for k, pair in enumerate(PAIRS)}
_PRECISION = 1200


@dataclass(frozen=True)
class Family:
    """The instance: offset h, curvature mu, noise s of the curvature, and the radius R inside which f is quadratic."""

    h: Fraction
    mu: Fraction
    s: Fraction
    R: Fraction

    @property
    def L_f(self) -> Fraction:
        return self.h + (self.mu + self.s) * self.R

    @property
    def S_f(self) -> Fraction:
        return self.mu + self.s


def ball(value: Fraction | int) -> Any:
    from flint import arb, fmpq

    value = Q(value)
    return arb(fmpq(value.numerator, value.denominator))


def _one_step(family: Family, alpha: Fraction, beta: Fraction, communicate: bool) -> list[Coefficients]:
    """E z z^T after one step, as a matrix on the 15 products."""
    zero = [Q(0)] * 5
    mean: list[Coefficients] = [[Q(1), Q(0), Q(0), Q(0), Q(0)]]
    for n in (1, 2):
        model = zero[:]
        if communicate:
            model[1] = model[2] = Q(1, 2)
            model[3] = model[4] = -alpha / 2
        else:
            model[n], model[n + 2] = Q(1), -alpha
        mean.append(model)
    noise: dict[int, Coefficients] = {}
    for n, sign in ((1, 1), (2, -1)):
        moved = mean[n][:]
        moved[n] -= 1 - beta  # x_t - (1-beta) x_{t-1}, which the fresh curvature mu + s xi multiplies
        estimate = [family.mu * v for v in moved]
        estimate[0] += beta * sign * family.h
        for k in (3, 4) if communicate else (n + 2,):
            estimate[k] += (1 - beta) / 2 if communicate else 1 - beta
        mean.append(estimate)
        noise[n + 2] = moved
    return _lift(mean, noise, family.s**2)


def _lift(mean: Sequence[Coefficients], noise: dict[int, Coefficients], variance: Fraction) -> list[Coefficients]:
    lifted = [[Q(0)] * 15 for _ in range(15)]
    for row, (i, j) in enumerate(PAIRS):
        for a in range(5):
            for c in range(5):
                weight = mean[i][a] * mean[j][c]
                if i == j and i in noise:
                    weight += variance * noise[i][a] * noise[i][c]
                lifted[row][PLACE[(min(a, c), max(a, c))]] += weight
    return lifted


@lru_cache(maxsize=16)
def metric_sum(family: Family, alpha: Fraction, beta: Fraction, q: int, rounds: int, averaged: bool) -> Any:
    """sum_{t < q rounds} E||grad F(xbar_t)||^2 in ball arithmetic.

    Args:
        averaged: average u_1 before the first step.
    """
    from flint import arb, arb_mat, ctx

    saved, ctx.prec = ctx.prec, _PRECISION
    try:
        metric = [Q(0)] * 15
        metric[PLACE[(1, 1)]] = metric[PLACE[(2, 2)]] = family.mu**2 / 4
        metric[PLACE[(1, 2)]] = family.mu**2 / 2

        def matrix(communicate: bool) -> Any:
            rows = [[*map(ball, row), arb(0)] for row in _one_step(family, alpha, beta, communicate)]
            return arb_mat([*rows, [*map(ball, metric), arb(1)]])

        whole = _power(matrix(True) * _power(matrix(False), q - 1), rounds)
        start = [Q(1), Q(0), Q(0), *((Q(0), Q(0)) if averaged else (family.h, -family.h))]
        state = arb_mat([[ball(start[i] * start[j])] for i, j in PAIRS] + [[arb(0)]])
        return (whole * state)[15, 0]
    finally:
        ctx.prec = saved


def _power(matrix: Any, exponent: int) -> Any:
    from flint import arb, arb_mat

    result = arb_mat([[arb(int(i == j)) for j in range(16)] for i in range(16)])
    while exponent:
        if exponent & 1:
            result = result * matrix
        matrix = matrix * matrix
        exponent >>= 1
    return result


def stays_inside(family: Family, alpha: Fraction, beta: Fraction, q: int, averaged: bool) -> bool:
    """Whether |x_t^n| <= R on every path, for ever; derivation in docs/theory/fcsg.md, section 6."""
    h, mu, s, R = family.h, family.mu, family.s, family.R
    steep, flat = mu + s, mu - s
    largest = h + steep * R
    decay = alpha * flat + beta
    if flat <= 0 or alpha * steep + beta >= 1 or alpha * q * steep >= 1:
        return False
    per_unit = alpha * q * q / (2 * (1 - alpha * q * steep))  # J <= per_unit (beta L + s alpha U)
    memory = (1 + q * decay) / (q * decay)  # 1/(1 - (1 - decay)^q) is at most this
    feedback = steep * memory * per_unit * s * alpha
    if feedback >= 1:
        return False
    U = (beta * largest / decay + steep * memory * per_unit * beta * largest) / (1 - feedback)
    J = per_unit * (beta * largest + s * alpha * U)
    E = s * R + s * alpha * U / beta + s * J * (1 + q * beta) / (q * beta)
    if not averaged:  # the transient of the first round, which starts from |u_1^n| = h
        drift = q * (beta * largest + s * alpha * h)
        jump = alpha * q * h
        first = drift + steep * jump
        total = first * memory / (1 - feedback)
        E += q * s * (beta * R + alpha * h) + s * jump + s * alpha * q * total + s * per_unit * s * alpha * total
        J += max(jump, per_unit * s * alpha * first / (1 - feedback))
        U += max(first / (1 - feedback), drift)
    return (U + E) / mu + J <= R
