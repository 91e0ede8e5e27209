"""Instances that refute lines of ComFedL, as data: one-dimensional, without noise, every number an exact fraction.

A client is the derivative of F^i as knots (position, value): linear between the knots, constant outside. Its bound, its
Lipschitz constant and the infimum of F are read off the knots, and a round of Algorithm 1 is a few additions: nothing
is estimated.
In the general problem f^i(w) = w and g^i = F^i; in the special problem f^i = F^i and g(y) = y.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

Q = Fraction
TINY = Q(1, 10**6)
"""A positive bound of what is 0 here: the noise, and the curvature of a linear map. The paper asks for positive
bounds.
"""


@dataclass(frozen=True)
class Slope:
    """A continuous, piecewise linear derivative, constant outside its knots."""

    knots: tuple[tuple[Fraction, Fraction], ...]

    def __post_init__(self) -> None:
        positions = [position for position, _ in self.knots]
        if positions != sorted(set(positions)):
            raise ValueError(f"knots must have increasing positions, got {positions}")

    @property
    def pieces(self) -> list[tuple[Fraction, Fraction, Fraction, Fraction]]:
        return [(a, u, b, v) for (a, u), (b, v) in pairwise(self.knots)]

    def __call__(self, w: Fraction) -> Fraction:
        if w <= self.knots[0][0]:
            return self.knots[0][1]
        for a, u, b, v in self.pieces:
            if w <= b:
                return u + (v - u) * (w - a) / (b - a)
        return self.knots[-1][1]

    def lipschitz(self) -> Fraction:
        return max(abs((v - u) / (b - a)) for a, u, b, v in self.pieces)

    def bound(self) -> Fraction:
        return max(abs(value) for _, value in self.knots)

    def integral(self, w: Fraction) -> Fraction:
        """The integral from the first knot to w."""
        first = self.knots[0][0]
        if w <= first:
            return (w - first) * self(first)
        points = [position for position, _ in self.knots if position < w] + [w]
        return sum(((self(a) + self(b)) / 2 * (b - a) for a, b in pairwise(points)), Q(0))

    def gap(self, w: Fraction) -> Fraction:
        """The function at w minus its infimum.

        Raises:
            ValueError: the function is not bounded below.
        """
        if not self.knots[0][1] <= 0 <= self.knots[-1][1]:
            raise ValueError(f"unbounded below: slopes {self.knots[0][1]} and {self.knots[-1][1]} outside the knots")
        zeros = [a - u * (b - a) / (v - u) for a, u, b, v in self.pieces if u * v < 0]
        candidates = [position for position, _ in self.knots] + zeros
        return self.integral(w) - min(self.integral(point) for point in candidates)


def slope(*knots: tuple[str | Fraction | int, str | Fraction | int]) -> Slope:
    return Slope(tuple((Q(position), Q(value)) for position, value in knots))


def mean(slopes: Iterable[Slope]) -> Slope:
    """The derivative of the average function."""
    parts = list(slopes)
    positions = sorted({position for part in parts for position, _ in part.knots})
    return Slope(tuple((w, sum((part(w) for part in parts), Q(0)) / len(parts)) for w in positions))


@dataclass(frozen=True)
class Instance:
    """Clients, a start and a step size; `sampled` are the clients that take part in every round."""

    clients: tuple[Slope, ...]
    start: Fraction
    eta: Fraction
    tau: int
    T: int
    sampled: tuple[int, ...]

    @property
    def gradient(self) -> Slope:
        return mean(self.clients)

    def round(self, w: Fraction) -> Fraction:
        """One round of Algorithm 1: tau local steps of each sampled client, then their mean."""
        ends = []
        for index in self.sampled:
            x = w
            for _ in range(self.tau):
                x -= self.eta * self.clients[index](x)
            ends.append(x)
        return sum(ends, Q(0)) / len(ends)

    def constants(self, *, special: bool = False) -> dict[str, Fraction | int]:
        """Values of the symbols of Theorems 1 and 2, each certified by the knots.

        Args:
            special: put the clients into the inner maps of the problem with one outer function g(y) = y.
        """
        steep, curved = max(c.bound() for c in self.clients), max(c.lipschitz() for c in self.clients)
        parts = (
            {"G_f": steep, "G_g": Q(1), "L_f": curved, "L_g": TINY}
            if special
            else {"G_f": Q(1), "G_g": steep, "L_f": TINY, "L_g": curved}
        )
        whole = {"L": self.gradient.lipschitz(), "sigma": TINY, "F_gap": self.gradient.gap(self.start)}
        return {**parts, **whole, "eta": self.eta, "tau": self.tau, "b": 1, "b_1": 1, "T": self.T}


THEOREM_1 = Instance(
    clients=(
        slope(("-5011/50", "17/25"), ("-11/50", "22/25"), ("9/50", "32/25")),
        slope(("-5011/50", "-22/25"), ("-11/50", "-17/25"), ("9/50", "-27/25")),
    ),
    start=Q(0),
    eta=Q(1, 5),
    tau=2,
    T=8000,
    sampled=(0, 1),
)
"""Refutes Theorem 1 as printed. A round takes client 0 from 0 to -11/50 to -99/250, client 1 from 0 to 9/50 to 99/250:
the mean is 0 again, for ever, where the squared gradient is 1/100; the printed bound is below 34/10000."""

THEOREM_1_CONSTANTS: dict[str, Fraction | int] = {
    "G_f": Q(1),
    "G_g": Q(32, 25),
    "L_f": TINY,
    "L_g": Q(1),
    "L": Q(1, 500),
    "sigma": TINY,
    "F_gap": Q(1261, 500),
    "eta": Q(1, 5),
    "tau": 2,
    "b": 1,
    "b_1": 1,
    "T": 8000,
}


def theorem_1_family(eta: Fraction, tau: int, L: Fraction, rounds: int) -> Instance:
    """Two clients F' + q and F' - q, q(w) = 1 + w near 0, for which 0 is a fixed point of a round of tau steps.

    With A = (1 + eta)^tau - 1 and B = 1 - (1 - eta)^tau, F'(0) = (A - B)/(A + B), whatever the horizon and L are.
    """
    up, down = (1 + eta) ** tau - 1, 1 - (1 - eta) ** tau
    level = (up - down) / (up + down)
    left = (1 - (1 - eta) ** (tau - 1)) * (1 + level)
    right = ((1 + eta) ** (tau - 1) - 1) * (1 - level)
    far = -left - 2 * level / L
    pull = Slope(((far, 1 - left), (-left, 1 - left), (right, 1 + right)))
    push = Slope(tuple((w, -value) for w, value in pull.knots))
    whole = Slope(((far, -level), (-left, level), (right, level)))
    clients = tuple(Slope(tuple((w, whole(w) + part(w)) for w, _ in pull.knots)) for part in (pull, push))
    return Instance(clients, Q(0), eta, tau, tau * rounds, (0, 1))


ONE_CLIENT_SAMPLED = Instance(
    clients=(slope((0, -1), (2, 1)), slope((-2, -1), (0, 1))),
    start=Q(1),
    eta=Q(1, 10**4),
    tau=1,
    T=10**7,
    sampled=(0,),
)
"""Only the first client is ever sampled; it is at its minimum, F is not."""

LAST_ITERATE = slope((0, 0), (1, -1), (2, 0))
"""F' falls to -1 at 1 and rises to 0 at 2: from (1 + eta)^-T the last of T steps arrives at the steepest point."""

HUBER = slope((-1, -1), (1, 1))
