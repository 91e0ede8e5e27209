"""Local-SCGDM: Algorithm 1 in exact rationals, and the instances that refute Theorem 3.4 as data to recompute.

FROZEN: two clients with different inner functions; LEAVES: the same at the optimum; OUTER: equal inner functions and
T = 3; NOISY_START: one client, the L_g of the initial term; SAME_SAMPLE: one sample for the inner and the outer function.
Noise-free instances get the noise TINY: the paper wants positive constants, and a bound of 0 is bounded by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction as Q

Scalar = Callable[[Q], Q]
TINY = Q(1, 10**9)
ONE = Q(1)


def clip(y: Q) -> Q:
    """Derivative of `huber`: 1-Lipschitz, at most 1."""
    return max(-ONE, min(ONE, y))


def huber(y: Q) -> Q:
    return y * y / 2 if abs(y) <= 1 else abs(y) - Q(1, 2)


def constant(value: Q) -> Scalar:
    return lambda _: value


def line(slope: Q, at_zero: Q) -> Scalar:
    return lambda x: slope * x + at_zero


@dataclass(frozen=True)
class Client:
    """f(g(x)) in one dimension without noise: g, its derivative, f and its derivative."""

    inner: Scalar
    inner_slope: Scalar
    outer: Scalar
    outer_slope: Scalar


@dataclass(frozen=True)
class Instance:
    """Noise-free clients, a start, hyperparameters and the constants of the assumptions."""

    clients: tuple[Client, ...]
    start: Q
    minimiser: Q
    hyper: Mapping[str, Q | int]
    constants: Mapping[str, Q]
    T: int

    def objective(self, x: Q) -> Q:
        return sum((c.outer(c.inner(x)) for c in self.clients), Q(0)) / len(self.clients)

    def gradient(self, x: Q) -> Q:
        return sum((c.inner_slope(x) * c.outer_slope(c.inner(x)) for c in self.clients), Q(0)) / len(self.clients)

    def values(self) -> dict[str, Q | int]:
        """Everything that Theorem 3.4 asks for."""
        noise = dict.fromkeys(("sigma_f", "sigma_g", "delta_g"), TINY)
        gap = self.objective(self.start) - self.objective(self.minimiser)
        return {**self.constants, **noise, **self.hyper, "T": self.T, "F_gap": gap}

    def run(self, steps: int, bits: int | None = None) -> list[list[Q]]:
        """The clients' models at t = 0..steps; `bits` rounds every number to 2^-bits."""
        return [x for x, _, _ in self.trace(steps, bits)]

    def trace(self, steps: int, bits: int | None = None) -> list[tuple[list[Q], list[Q], list[Q]]]:
        """(x_t, u_t, m_t) of the clients at t = 0..steps, Algorithm 1 line by line."""
        alpha, beta, gamma, eta, p = (Q(self.hyper[name]) for name in ("alpha", "beta", "gamma", "eta", "p"))

        def kept(value: Q) -> Q:
            return value if bits is None else Q(round(value * 2**bits), 2**bits)

        count = len(self.clients)
        x, u, m = [self.start] * count, [Q(0)] * count, [Q(0)] * count
        path = [(list(x), list(u), list(m))]
        for t in range(steps):
            w, c = (ONE, ONE) if t == 0 else (gamma * eta, alpha * eta)
            for k, client in enumerate(self.clients):
                u[k] = kept((1 - w) * u[k] + w * client.inner(x[k]))
                m[k] = kept((1 - c) * m[k] + c * client.inner_slope(x[k]) * client.outer_slope(u[k]))
                x[k] = kept(x[k] - beta * eta * m[k])
            if (t + 1) % p == 0:
                u, m, x = ([kept(sum(v, Q(0)) / count)] * count for v in (u, m, x))
            path.append((list(x), list(u), list(m)))
        return path

    def left(self, bits: int | None = None) -> Q:
        """The average squared gradient at xbar_0, ..., xbar_{T-1}."""
        means = (sum(x, Q(0)) / len(x) for x in self.run(self.T - 1, bits))
        return sum((self.gradient(mean) ** 2 for mean in means), Q(0)) / self.T


def frozen(n: int = 4) -> Instance:
    """f = Huber twice, g_1 = x + 8, g_2 = -x; the schedule of Corollary 3.5 with T = n^4. grad F(xbar_t) = 1 for every t.

    F is convex with derivative 0 at -4; affine g_k are L_g-smooth for every L_g > 0.
    """
    clients = (
        Client(line(ONE, Q(8)), constant(ONE), huber, clip),
        Client(line(-ONE, Q(0)), constant(-ONE), huber, clip),
    )
    hyper = {"alpha": ONE, "beta": Q(1, 5), "gamma": ONE, "eta": Q(1, n * n), "p": n}
    constants = {"C_f": ONE, "C_g": ONE, "L_f": ONE, "L_g": Q(1, 1000)}
    return Instance(clients, Q(5, 4), Q(-4), hyper, constants, n**4)


def floor_of_frozen(case: Instance) -> Q:
    """A lower bound of xbar_t for every t and n >= 4, derived in docs/theory/local_scgdm.md."""
    h = case.hyper
    return case.start - (h["p"] - 1) * h["beta"] * h["eta"] - Q(h["beta"]) / h["alpha"]


def leaves(n: int = 6) -> Instance:
    """Starts at the minimiser and leaves it: g_1 = x + 4, g_2 = -x/2, f = Huber twice."""
    clients = (
        Client(line(ONE, Q(4)), constant(ONE), huber, clip),
        Client(line(Q(-1, 2), Q(0)), constant(Q(-1, 2)), huber, clip),
    )
    case = frozen(n)
    return Instance(clients, Q(-7, 2), Q(-7, 2), case.hyper, case.constants, n**4)


def outer(start: Q = Q(1, 10**7)) -> Instance:
    """Equal inner functions: g = identity, f_1 = Huber(y - 1/2), f_2 = Huber(y + 2)/2, minimiser 0, T = 3."""
    clients = (
        Client(line(ONE, Q(0)), constant(ONE), lambda y: huber(y - Q(1, 2)), lambda y: clip(y - Q(1, 2))),
        Client(line(ONE, Q(0)), constant(ONE), lambda y: huber(y + 2) / 2, lambda y: clip(y + 2) / 2),
    )
    hyper = {"alpha": Q(9, 5), "beta": Q(1, 17), "gamma": Q(9, 5), "eta": Q(1, 2), "p": 2}
    return Instance(clients, start, Q(0), hyper, frozen().constants, 3)


FROZEN, LEAVES, OUTER = frozen(), leaves(), outer()
OPPOSED = Instance(
    (
        Client(line(ONE, Q(0)), constant(ONE), line(ONE, Q(0)), constant(ONE)),
        Client(line(ONE, Q(0)), constant(ONE), line(-ONE, Q(0)), constant(-ONE)),
    ),
    Q(0),
    Q(0),
    {"alpha": ONE, "beta": Q(1, 100), "gamma": ONE, "eta": Q(1, 2), "p": 2},
    {"C_f": ONE, "C_g": ONE, "L_f": Q(1, 1000), "L_g": Q(1, 1000)},
    2,
)
"""f_1 = y and f_2 = -y behind the identity: F = 0, while the clients go apart."""


@dataclass(frozen=True)
class NoisyStart:
    """One client, g(x; xi) = x + delta xi, xi = +-1, f = Huber in its quadratic zone, x_0 the minimiser."""

    hyper: Mapping[str, Q | int]
    constants: Mapping[str, Q]
    delta: Q
    T: int
    bits: int = 240

    def values(self) -> dict[str, Q | int]:
        noise = {"sigma_f": TINY, "sigma_g": TINY, "delta_g": self.delta}
        return {**self.constants, **noise, **self.hyper, "T": self.T, "F_gap": TINY}

    def responses(self, initial: bool) -> tuple[list[int], list[int]]:
        """Effect of one unit of noise on the models and inner estimates after it, in units of 2^-bits (truncated)."""
        unit = 2**self.bits
        w, c, step = (Q(self.hyper[name]) * Q(self.hyper["eta"]) for name in ("gamma", "alpha", "beta"))

        def mean(weight: Q, new: int, old: int) -> int:
            return (weight.numerator * new + (weight.denominator - weight.numerator) * old) // weight.denominator

        u, m = (unit, unit) if initial else (int(w * unit), int(c * w * unit))
        x = -step.numerator * m // step.denominator
        xs, us = [x], [u]
        for _ in range(self.T - 1):
            u = mean(w, x, u)
            m = mean(c, u, m)
            x -= step.numerator * m // step.denominator
            xs.append(x)
            us.append(u)
        return xs, us

    def left(self) -> tuple[Q, Q]:
        """(average E x_t^2 = average E||grad F||^2, sup of |u_t| over every path, at most 1 in the quadratic zone)."""
        (first, u_first), (later, u_later) = self.responses(True), self.responses(False)
        tail, total = 0, 0
        for t in range(1, self.T):
            total += first[t - 1] ** 2 + tail
            tail += later[t - 1] ** 2
        largest = max(map(abs, u_first)) + sum(map(abs, u_later))
        return self.delta**2 * Q(total, self.T * 4**self.bits), self.delta * Q(largest, 2**self.bits)


NOISY_START = NoisyStart(
    {"alpha": Q(15, 16), "beta": Q(22, 2**14), "gamma": Q(1, 256), "eta": ONE, "p": 2},
    {"C_f": ONE, "C_g": ONE, "L_f": ONE, "L_g": Q(1, 2**12)},
    Q(1, 8),
    896,
)


@dataclass(frozen=True)
class SameSample:
    """zeta = +-1 for all of line 4: g(x; zeta) = x + zeta h(x), h(x) = r/(1 + (r/width)^2), r = x - start, and
    f(y; zeta) = (1 - zeta) Huber(y). At the start every stochastic gradient is (1 + zeta)(1 - zeta) f' = 0.

    E||grad g||^2 = 1 + h'^2 <= 2, E||grad f||^2 <= 2, both variances at most 1, |h| <= width/2.
    """

    start: Q
    width: Q
    hyper: Mapping[str, Q | int]
    T: int

    def bump(self, r: Q) -> Q:
        return r / (1 + (r / self.width) ** 2)

    def bump_slope(self, r: Q) -> Q:
        square = (r / self.width) ** 2
        return (1 - square) / (1 + square) ** 2

    def directions(self) -> tuple[Q, ...]:
        """z at the start for both samples, with u = g(start; zeta) as it stays as long as x does."""
        value = self.start + self.bump(Q(0))
        return tuple((1 + z * self.bump_slope(Q(0))) * (1 - z) * clip(value) for z in (1, -1))

    def values(self) -> dict[str, Q | int]:
        constants = {"C_f": Q(17, 12), "C_g": Q(17, 12), "L_f": ONE, "L_g": Q(1, 10**4)}
        noise = {"sigma_f": ONE, "sigma_g": ONE, "delta_g": self.width / 2}
        return {**constants, **noise, **self.hyper, "T": self.T, "F_gap": huber(self.start)}

    def left(self) -> Q:
        """||grad F||^2 at the start, where every path stays."""
        return clip(self.start) ** 2


SAME_SAMPLE = SameSample(
    ONE, Q(1, 50), {"alpha": Q(1, 25), "beta": Q(1, 240), "gamma": Q(1, 2), "eta": ONE, "p": 2}, 1500
)
SAME_SAMPLE_SCHEDULE = SameSample(
    ONE, Q(1, 50), {"alpha": ONE, "beta": Q(1, 11), "gamma": ONE, "eta": Q(1, 400), "p": 20}, 20**4
)
