"""Exact runs of Algorithms 1 and 2 of Wu et al. on small instances, and the declared statements at exact numbers.

The scalar family (d = d' = 1): g_eta(x, xi) = x without inner noise, f^n_xi(y) = a_n y + (mu_n + s xi) H_R(y) with
xi = +-1 and H_R'(y) = clip(y, -R, R). Then |f'| <= |a_n| + (mu_n + s) R and |f''| <= mu_n + s for EVERY xi, the
strongest reading of Assumptions 3.1 to 3.3. S_g and sigma_g are 0 here; the paper asks for positive bounds, so they get
a tiny one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from ...evaluation.evaluate import exact, holds
from ...registry import get_theorem as find

Q = Fraction
TINY = Q(1, 10**9)
Slope = Callable[[Fraction], Fraction]


def clip(value: Fraction, radius: Fraction) -> Fraction:
    return max(-radius, min(radius, value))


def huber(value: Fraction, radius: Fraction) -> Fraction:
    """The primitive of clip that vanishes at 0."""
    return value * value / 2 if abs(value) <= radius else radius * abs(value) - radius * radius / 2


def constants(L_f: Fraction | int, L_g: Fraction | int, S_f: Fraction | int, **more: Fraction) -> dict[str, Any]:
    return {"L_f": Q(L_f), "L_g": Q(L_g), "S_f": Q(S_f), "S_g": TINY, "sigma_g": TINY, **more}


def smoothness(known: Mapping[str, Any]) -> Fraction:
    """S_F = S_g L_f + S_f L_g^2."""
    return known["S_g"] * known["L_f"] + known["S_f"] * known["L_g"] ** 2


def proof_parameters(
    known: Mapping[str, Any], q: int, b: int, N: int, limit: int = 12
) -> tuple[Fraction, Fraction, Fraction]:
    """(alpha, beta, c) of the proof of Theorem 4.7: alpha = 1/(12 q S_F), beta = c alpha^2, c = 30 S_F^2/(bN)."""
    size = smoothness(known)
    alpha, c = 1 / (limit * q * size), 30 * size**2 / (b * N)
    return alpha, c * alpha**2, c


# --- declared statements at exact numbers ----------


def _table(name: str, values: Mapping[str, Any]) -> dict[sp.Symbol, sp.Expr]:
    notation = find(name).notation
    return {notation[key].symbol: exact(Q(value)) for key, value in values.items()}


def value(name: str, label: str = "printed", only: str = "", **values: Any) -> Fraction:
    """The total (or one term) of a declared statement; F_gap may be negative, to stand for F(x_0) - F(x_T)."""
    statement = find(name).statement(label)
    expr = statement.term(only).expr if only else statement.total
    number = sp.simplify(statement.expand(expr).xreplace(_table(name, values)))
    return Q(int(number.p), int(number.q))


def admitted(name: str, label: str = "printed", **values: Any) -> bool:
    """Whether the values satisfy every condition of a declared statement, decided exactly."""
    statement, table = find(name).statement(label), _table(name, values)
    return all(holds(c.each_side(lambda side: statement.expand(side).xreplace(table))) for c in statement.conditions)


# --- the algorithms ----------


@dataclass(frozen=True)
class Run:
    """One noiseless run: xbar_0..xbar_T, and for each t the models, the estimates as used and the new estimates."""

    means: tuple[Fraction, ...]
    models: tuple[tuple[Fraction, ...], ...]
    used: tuple[tuple[Fraction, ...], ...]
    fresh: tuple[tuple[Fraction, ...], ...]

    def average(self, slope: Slope) -> Fraction:
        """(1/T) sum_{t<T} slope(xbar_t)^2."""
        before_last = self.means[:-1]
        return sum((slope(x) ** 2 for x in before_last), Q(0)) / len(before_last)


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Q(0)) / len(values)


def run(
    method: str,
    slopes: Sequence[Slope],
    alpha: Fraction,
    beta: Fraction,
    q: int,
    T: int,
    start: Fraction,
    averaged: bool = False,
) -> Run:
    """Algorithm 1 ("fcsg", "fcsg_m") or 2 ("acc_fcsg_m") line by line, without noise.

    Args:
        slopes: f_n' of each client (or of each of several equally large groups of equal clients).
        averaged: average u_1 before the first step, which line 2 does not do.
    """
    x = (Q(start),) * len(slopes)
    u = tuple(slope(a) for slope, a in zip(slopes, x, strict=True))
    if averaged:
        u = (mean(u),) * len(u)
    means, models, used, fresh = [mean(x)], [x], [u], [u]
    for t in range(1, T + 1):
        before = x
        if t % q == 0:
            u = (mean(u),) * len(u)
            x = (mean(before) - alpha * u[0],) * len(x)
        else:
            x = tuple(a - alpha * v for a, v in zip(x, u, strict=True))
        used.append(u)
        u = tuple(
            _estimate(method, slope, beta, v, a, old) for slope, v, a, old in zip(slopes, u, x, before, strict=True)
        )
        means.append(mean(x))
        models.append(x)
        fresh.append(u)
    return Run(tuple(means), tuple(models), tuple(used), tuple(fresh))


def _estimate(method: str, slope: Slope, beta: Fraction, u: Fraction, x: Fraction, before: Fraction) -> Fraction:
    if method == "fcsg":
        return slope(x)
    if method == "fcsg_m":
        return (1 - beta) * u + beta * slope(x)
    return slope(x) + (1 - beta) * (u - slope(before))


def dispersion(values: Sequence[Fraction]) -> Fraction:
    center = mean(values)
    return mean([(v - center) ** 2 for v in values])


# --- expected smoothness is not enough ----------

WIDTH = Q(1, 10**9)


def window_slope(x: Fraction) -> Fraction:
    """phi'(x) = clip(x - 1, w): what every stochastic gradient of the window instance equals."""
    return clip(x - 1, WIDTH)


def window_height(x: Fraction) -> Fraction:
    return huber(x - 1, WIDTH)


def window_curvature() -> Fraction:
    """The curvature of f_0, whose c_0 is 1, between the ends of its window: what Assumption 3.1 bounds for every sample."""
    return (window_slope(1 + WIDTH) - window_slope(1 - WIDTH)) / (2 * WIDTH)


def windows(count: int) -> dict[str, Any]:
    """Constants of the window instance, under the displayed Assumptions 3.1 and 3.2.

    `count` equally likely xi: f_i(y) = phi(y/c_i), g(x, i) = c_i x, c_i = 1 + 3 w i. Every stochastic gradient is
    phi'(x): no noise at all. At a fixed y the windows |y/c_i - 1| <= w, where f_i is curved, are disjoint, so that
    E|f'(y_1) - f'(y_2)| <= |y_1 - y_2|/count while F'' = 1.
    """
    for i in (0, count - 2):  # the gap between neighbouring windows is linear in i
        if (1 + 3 * WIDTH * i) * (1 + WIDTH) > (1 + 3 * WIDTH * (i + 1)) * (1 - WIDTH):
            raise ValueError("the windows overlap")
    steepest = 1 + 3 * WIDTH * count
    return constants(WIDTH, steepest, Q(1, count), sigma_g=TINY * WIDTH)
