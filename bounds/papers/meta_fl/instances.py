"""Small exact instances for the re-checks of meta_fl: scalar clients whose constants are certified, and the
algorithm run on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil
from typing import Any

import sympy as sp

from ...evaluation.evaluate import complete, exact, holds, sign
from ...registry import get_theorem as find

Q = Fraction
HALF = Q(1, 2)


def values_of(name: str, label: str, values: Mapping[str, Any]) -> dict[str, sp.Expr]:
    """The derived constants and the total of a registered statement, exactly; symbols it does not have are ignored.

    Raises:
        ValueError: a condition of the statement fails.
    """
    theorem = find(f"meta_fl.{name}")
    statement = theorem.statement(label)
    point = complete(
        theorem.statement(label), {key: value for key, value in values.items() if key in theorem.symbols(label)}
    )
    for condition in statement.conditions:
        if not holds(condition.each_side(lambda side: statement.at(side, point))):
            raise ValueError(f"{name} ({label}): {condition} fails at {dict(values)}")
    found = {constant.name: statement.at(constant.expr, point) for constant in statement.derived}
    found["total"] = sp.Add(*(statement.at(term.expr, point) for term in statement.terms))
    return found


def fraction(value: sp.Expr) -> Fraction:
    """A rational sympy number as a fraction."""
    return Q(int(value.p), int(value.q))


def less(left: Fraction | sp.Expr, right: Fraction | sp.Expr) -> bool:
    """left < right, decided exactly."""
    left, right = (exact(side) if isinstance(side, Fraction) else sp.sympify(side) for side in (left, right))
    return sign(left - right) < 0


@dataclass(frozen=True)
class Spline:
    """A C^2 function of one variable: f'' is piecewise linear through the knots and 0 outside; f'(0) = slope."""

    knots: tuple[tuple[Fraction, Fraction], ...]
    slope: Fraction

    def f2(self, x: Fraction) -> Fraction:
        for (x0, y0), (x1, y1) in zip(self.knots, self.knots[1:], strict=False):
            if x0 <= x <= x1:
                return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
        return Q(0)

    def f1(self, x: Fraction) -> Fraction:
        return self.slope + self._integral(Q(x)) - self._integral(Q(0))

    def _integral(self, x: Fraction) -> Fraction:
        total = Q(0)
        for (x0, y0), (x1, y1) in zip(self.knots, self.knots[1:], strict=False):
            end = min(x, x1)
            if end > x0:
                height = y0 + (y1 - y0) * (end - x0) / (x1 - x0)
                total += (y0 + height) / 2 * (end - x0)
        return total

    def bounds(self) -> dict[str, Fraction]:
        """Exact suprema of |f''|, |f'| and of the slope of f'', and the limits of f' at both ends."""
        pieces = list(zip(self.knots, self.knots[1:], strict=False))
        turning = [x0 - y0 * (x1 - x0) / (y1 - y0) for (x0, y0), (x1, y1) in pieces if y0 * y1 < 0]
        where = [x for x, _ in self.knots] + turning
        return {
            "L": max(abs(y) for _, y in self.knots),
            "rho": max(abs((y1 - y0) / (x1 - x0)) for (x0, y0), (x1, y1) in pieces),
            "B": max(abs(self.f1(x)) for x in where),
            "left": self.f1(self.knots[0][0]),
            "right": self.f1(self.knots[-1][0]),
        }


def spline(*knots: tuple[Any, Any], slope: Any = 0) -> Spline:
    return Spline(tuple(sorted((Q(x), Q(y)) for x, y in knots)), Q(slope))


def convex(radius: Any, rho: Any) -> Spline:
    """f'' = 1 on |x| <= radius, then down to 0 with slope rho; f'(0) = 0."""
    width = 1 / Q(rho)
    return spline((-radius - width, 0), (-radius, 1), (radius, 1), (radius + width, 0))


def concave(radius: Any) -> Spline:
    """f'' = -1 on |x| <= radius, +1 further out, rho = 1; f'(0) = 0."""
    right = [(radius, -1), (radius + 2, 1), (2 * radius + 3, 1), (2 * radius + 4, 0)]
    return spline(*[(-x, y) for x, y in right], *right)


@dataclass(frozen=True)
class Client:
    """f_i(w) = phi(w) + shift w: all clients have the same Hessian, so gamma_H = 0 and gradients differ by
    constants.
    """

    phi: Spline
    shift: Fraction

    def f1(self, w: Fraction) -> Fraction:
        return self.phi.f1(w) + self.shift

    def path(self, w: Fraction, nu: int, alpha: Fraction) -> list[Fraction]:
        points = [Q(w)]
        for _ in range(nu):
            points.append(points[-1] - alpha * self.f1(points[-1]))
        return points

    def meta_gradient(self, w: Fraction, nu: int, alpha: Fraction) -> Fraction:
        *before, last = self.path(w, nu, alpha)
        value = self.f1(last)
        for point in before:
            value *= 1 - alpha * self.phi.f2(point)
        return value


def clients(phi: Spline, *shifts: Any) -> list[Client]:
    return [Client(phi, Q(shift)) for shift in shifts]


def opposed(phi: Spline, shift: Any) -> list[Client]:
    """phi +- shift w."""
    return clients(phi, shift, -shift)


def certificate(group: Sequence[Client]) -> dict[str, Fraction]:
    """B, L, rho, gamma_G^2 and gamma_H of clients that share phi, all exact; every f_i must be bounded below.

    Raises:
        ValueError: a client is not bounded below.
    """
    found = group[0].phi.bounds()
    shifts = [client.shift for client in group]
    mean = sum(shifts, Q(0)) / len(shifts)
    if not all(found["left"] + shift < 0 < found["right"] + shift for shift in shifts):
        raise ValueError("a client is not bounded below")
    return {
        "L": found["L"],
        "rho": found["rho"],
        "B": found["B"] + max(map(abs, shifts)),
        "gamma_G_sq": sum(((shift - mean) ** 2 for shift in shifts), Q(0)) / len(shifts),
    }


def spread(group: Sequence[Client], w: Fraction, nu: int, alpha: Fraction) -> Fraction:
    """(1/N) sum ||grad F_i(w) - grad F(w)||^2."""
    values = [client.meta_gradient(w, nu, alpha) for client in group]
    mean = sum(values, Q(0)) / len(values)
    return sum(((value - mean) ** 2 for value in values), Q(0)) / len(values)


def wiggle(eps: Fraction, alpha: Fraction) -> list[Client]:
    """Two clients phi +- eps w with phi''(0) = -1, whose phi'' goes from -1 to 1 between the points that they reach
    in one step.
    """
    e, a = alpha * eps, alpha
    far = [(-7, 0), (-6, 1), (-5 + e / 2, 1), (-4 + e / 2, 0)]
    near = [(-a - 2 * e, 0), (-a - e, -1), (-a + e, 1), (-a + 2 * e, 0), (-e, 0), (0, -1), (e, 0)]
    return opposed(spline(*far, *near, slope=1), eps)


@dataclass(frozen=True)
class TwoSided:
    """Two clients phi -+ shift w, phi'' = 1 around 0, no noise: on [-shift, shift] F_i is curvature (w - s_i)^2 / 2.

    Participation is one client in two. Started at w_0 = 0, where F is least, so that F_gap = 0.
    """

    nu: int
    alpha: Fraction
    shift: Fraction
    curvature: Fraction
    constants: dict[str, Any]
    phi: Spline

    def starts_at_the_minimum(self) -> bool:
        """Whether F is least at w_0 = 0.

        On [-shift, shift] F is the stated quadratic. Beyond, a step u - alpha f_i'(u) goes up with u as 0 <= phi'' <= 1/alpha, and
        keeps the zero of f_i' at -+shift, so that every path stays on its side of it, where F_i' has the sign of w; phi is even.
        """
        f2 = [y for _, y in self.phi.knots]
        even = {(-x, y) for x, y in self.phi.knots} == set(self.phi.knots) and self.phi.slope == 0
        zero = self.phi.f1(self.shift) == self.shift
        return even and zero and all(0 <= y <= 1 / self.alpha for y in f2)

    def low(self, beta: Fraction, tau: int) -> tuple[Fraction, int]:
        """A lower bound of Theorem 8's average and the number of rounds from which it holds.

        w_{k+1} = q w_k + (1 - q) s_i with q = (1 - beta a)^tau >= 1 - x, x = tau beta a; in the mean square limit
        w^2 = shift^2 (1 - q)/(1 + q), half of which is reached on average after K >= 2 (1 + x)/x rounds.
        """
        x = tau * beta * self.curvature
        return self.curvature**2 * self.shift**2 * (1 - x) ** 2 * x / (4 * (1 + x)), ceil(2 * (1 + x) / x)

    @property
    def smoothness(self) -> Fraction:
        """L_F as printed."""
        return fraction(values_of("lemma_4", "printed", self.constants)["L_F"])

    def long_rounds(self, c: int) -> tuple[Fraction, int, int]:
        """beta, tau and K at which 1000 c local steps of a round add up, so that c in the place of O(1) is not enough."""
        tau = 1000 * c
        beta = 1 / (Q(tau) ** 2 * self.smoothness)
        return beta, tau, self.low(beta, tau)[1]

    def average(self, beta: Fraction, tau: int, rounds: int) -> float:
        """Theorem 8's average itself in floating point, by the second-moment recursion."""
        a, s, b = float(self.curvature), float(self.shift), float(beta)
        powers = [(1 - b * a) ** t for t in range(tau)]
        kept, added = sum(p * p for p in powers), sum((1 - p) ** 2 for p in powers)
        q, square, total = (1 - b * a) ** tau, 0.0, 0.0
        for _ in range(rounds):
            total += kept * square + added * s * s
            square = q * q * square + (1 - q) ** 2 * s * s
        return a * a * total / (tau * rounds)

    def run(self, beta: Fraction, tau: int, rounds: int) -> Fraction:
        """The same by Algorithm 1 itself, over all sequences of participating clients."""
        group = clients(convex(1, 1), -self.shift, self.shift)
        total = Q(0)
        for chosen in product(group, repeat=rounds):
            w = Q(0)
            for client in chosen:
                for _ in range(tau):
                    mean = sum(c.meta_gradient(w, self.nu, self.alpha) for c in group) / 2
                    total += mean**2 / (tau * rounds * 2**rounds)
                    w -= beta * client.meta_gradient(w, self.nu, self.alpha)
        return total


def two_sided(nu: int, alpha: Fraction, shift: Fraction = HALF, radius: Any = 1, rho: Any = 1) -> TwoSided:
    """The instance with its constants certified.

    Raises:
        ValueError: the meta functions are not the stated quadratics, or an assumption fails.
    """
    group = clients(convex(radius, rho), -shift, shift)
    known = certificate(group)
    curvature = (1 - alpha) ** (2 * nu)
    for w in (-shift, Q(0), shift / 3, shift):
        for client, centre in zip(group, (shift, -shift), strict=True):
            if client.meta_gradient(w, nu, alpha) != curvature * (w - centre):
                raise ValueError(f"the meta function is not the stated quadratic at {w}")
    if known["L"] != 1 or known["gamma_G_sq"] != shift**2:
        raise ValueError("the certificate is not the stated one")
    zeros = dict.fromkeys(("sigma_G", "sigma_H", "kappa_G", "kappa_H", "gamma_H"), 0)
    constants = {"B": known["B"], "L": 1, "rho": known["rho"], "gamma_G": shift, "alpha": alpha, "nu": nu, **zeros}
    return TwoSided(
        nu, alpha, shift, curvature, {**constants, "D": 1, "D_H": 1, "delta": 1, "r": Q(1, 2), "n": 2}, group[0].phi
    )


def far_apart(x: int) -> tuple[TwoSided, Fraction, int, Fraction]:
    """Two clients far from each other, alpha L = x and nu = 2; beta and K for tau = 1, and F_gap, which K makes small beside the bound."""
    radius = 2 * Q(x) ** 2 + 1
    case = two_sided(2, Q(x), Q(1), radius, 1 / radius)
    spread = fraction(values_of("lemma_7", "printed", case.constants)["total"])
    beta, gap = 1 / (10 * case.smoothness), case.curvature / 2  # F(0) - mean of the minima of f_i
    rounds = max(case.low(beta, 1)[1], ceil(400 * gap / (beta**2 * spread * case.smoothness)))
    return case, beta, rounds, gap


def signs(count: int) -> Iterator[tuple[Fraction, ...]]:
    """All values of `count` independent signs."""
    return product((Q(1), Q(-1)), repeat=count)
