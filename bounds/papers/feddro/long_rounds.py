"""FedDRO: the jump of the models at a communication refutes the rates of Theorem 5.1, at the right start and for every B_g.

Two clients, b = 1, h_1 = D x, h_2 = -D x, g_k(x; z) = u (B x + s z phi(x)) with z = +-1 independent, f(y) = H(y/u) with
H(y) = y^2/4 on |y| <= 1 and |y|/2 - 1/4 beyond, started at the minimiser x^0 = y^0 = 0. The unit u of the inner value is
B_g; it changes no iterate. phi is x on |x| <= 1/2 and the paths stay there (`limits`), so second moments close. Derivation
of the limit for long rounds: docs/theory/feddro.md.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction as Q
from functools import cache
from itertools import combinations, product

from ...audit.instance import DRAWN, Clients, Curve, Law, X, exact
from ...audit.picture import Picture, affine
from ...audit.refutation import Case, refutes, right_side
from ...evaluation.enclosure import Enclosure
from ...evaluation.moments import RandomMap, Recursion

B, S, DRIFT, SLOPE = Q(24, 25), Q(7, 25), Q(1, 5), Q(1, 2)
"""B^2 + S^2 = 1; D = 1/5; SLOPE is both the smoothness and the Lipschitz constant of H."""
LEVEL = Q(1, 2)
"""phi(x) = x on |x| <= 1/2."""
TINY = Q(1, 10**9)


def phi(x: Q) -> Q:
    """Odd and differentiable: x, then with slope 3/2 - |x|, then constant 1 from |x| = 3/2 on."""
    size = min(abs(x), Q(3, 2))
    return (1 if x > 0 else -1) * (size - max(size - LEVEL, Q(0)) ** 2 / 2)


def phi_slope(x: Q) -> Q:
    return max(Q(0), min(Q(1), Q(3, 2) - abs(x)))


@dataclass(frozen=True)
class Jump:
    """The instance on the paper's schedule: eta = sqrt(K/T) and beta = 4 B_g^4 L_f^2 eta = eta, with T = 8 I^4.

    Args:
        I: local steps per round; the limit of Corollary 1 is T^{1/4}/K^{3/4} = I.
        unit: B_g, the unit in which inner values are measured.
    """

    I: int
    unit: Q = Q(1)

    @property
    def T(self) -> int:
        return 8 * self.I**4

    @property
    def eta(self) -> Q:
        return Q(1, 2 * self.I**2)

    def recursion(self, eta: Q | None = None, update_first: bool = False) -> Recursion:
        """The second moments of (x_1, x_2, their last values, y), y in the unit of the inner value.

        Args:
            eta: another step size, for another T = 2/eta^2.
            update_first: (8) is applied at t = 0 too, with x^{-1} = x^0 and the initialised value as y^{-1}.
        """
        rate = self.eta if eta is None else eta
        local = RandomMap([(Q(1, 4), _step(rate, signs)) for signs in product((1, -1), repeat=2)])
        first = RandomMap([(Q(1, 4), _step(rate, signs, keep=True)) for signs in product((1, -1), repeat=2)])
        return Recursion([Q(0)] * 5, local, RandomMap([(1, _AVERAGE)]), self.I, None if update_first else first)

    def stationarity(self, after: bool = False, update_first: bool = False) -> Enclosure:
        """(1/T) sum of E|Phi'(xbar^t)|^2 over t = 0..T-1, or with `after` over t = 1..T; Phi'(x) = B^2 x/2 on the paths."""
        return _stationarity(self.I, after, update_first)


_HALF = [Q(0), Q(1, 2), Q(1, 2), Q(0), Q(0), Q(0)]
_AVERAGE = [_HALF if i in (1, 2) else [Q(i == j) for j in range(6)] for i in range(6)]
"""x_k becomes xbar; x_k^{t-1} and y stay."""


def _step(eta: Q, signs: tuple[int, ...], keep: bool = False) -> list[list[Q | int]]:
    """Z = (1, x_1, x_2, older_1, older_2, y) after (8) with beta = eta and (7), for one pair of signs."""
    slopes = [B + S * z for z in signs]
    y: list[Q | int] = [0, *(a / 2 for a in slopes), *((eta - 1) * a / 2 for a in slopes), 1 - eta]
    if keep:
        y = [0, 0, 0, 0, 0, 1]
    models = []
    for k, pull in enumerate((DRIFT, -DRIFT)):
        row: list[Q | int] = [-eta * SLOPE * slopes[k] * v for v in y]
        row[0] = row[0] - eta * pull
        row[1 + k] = row[1 + k] + 1
        models.append(row)
    older: list[list[Q | int]] = [[int(i == j) for j in range(6)] for i in (1, 2)]
    return [[1, 0, 0, 0, 0, 0], *models, *older, y]


GRADIENT = [[0, B**2 * SLOPE / 2, B**2 * SLOPE / 2, 0, 0, 0]]


@cache
def _stationarity(I: int, after: bool, update_first: bool) -> Enclosure:
    item = Jump(I)
    return item.recursion(update_first=update_first).average(GRADIENT, item.T, after=after)


def limits(I: int) -> dict[str, Q]:
    """Bounds that hold on every path: |x_k - xbar| <= spread, |y - B xbar| <= error, |xbar| <= mean, |y| <= estimate.

    With `error` = c, |xbar| <= c/B is kept, since xbar moves by eta/2 times a slope in [B - S, B + S] times -(B xbar + e),
    so that |y| <= 2c. A round moves a client by at most eta (I - 1)(D + S c) from the mean. The error forgets at the rate
    beta = eta; its noise S |x_k^t - (1 - beta) x_k^{t-1}| sums to S (D + (B + S) c + c/B + spread), and the jump
    S spread of each communication to S spread (1 + 1/(beta I)), as 1/(1 - (1 - beta)^I) <= 1 + 1/(beta I).
    """
    c, eta = Q(2, 5), Q(1, 2 * I**2)
    spread = eta * (I - 1) * (DRIFT + S * c)
    sums = S * (DRIFT + (B + S) * c + c / B + spread) + S * spread * (1 + 1 / (eta * I))
    return {"spread": spread, "error": c, "mean": c / B, "estimate": 2 * c, "error_reached": sums}


def _stays(I: int) -> dict[str, bool]:
    """What was used: the induction closes, and where it does everything is linear."""
    at = limits(I)
    return {
        "the error of y stays below 2/5 on every path": at["error_reached"] <= at["error"],
        "then |x_k| <= 1/2, where phi(x) = x": at["mean"] + at["spread"] <= LEVEL,
        "and |y| <= 1, where H is quadratic": at["estimate"] <= 1,
        "a step moves xbar towards -y/B without passing it": Q(1, 2 * I**2) * SLOPE * (B + S) * B <= 1,
    }


@cache
def _assumptions() -> dict[str, bool]:
    """The constants, on points from both sides of every knot. They are the same for every instance here."""
    points = [Q(i, 16) for i in range(-40, 41)]
    pairs = list(combinations(points, 2))
    moved = [(x - v, B * (x - v), S * (phi(x) - phi(v))) for x, v in pairs]
    return {
        "B^2 + s^2 = 1, so that E|g(x; z) - g(v; z)|^2 <= |x - v|^2": B**2 + S**2 == 1
        and all(mean**2 + noise**2 <= gap**2 for gap, mean, noise in moved),
        "|phi| <= 1 and 0 <= phi' <= 1, so that both variances of g are at most s^2": all(
            abs(phi(x)) <= 1 and 0 <= phi_slope(x) <= 1 for x in points
        ),
        "phi' is 1-Lipschitz, so that even each sample of g is s-smooth": all(
            abs(phi_slope(x) - phi_slope(v)) <= abs(x - v) for x, v in pairs
        ),
        "phi(x) = x on |x| <= 1/2": all(phi(x) == x for x in points if abs(x) <= LEVEL),
        "the assumptions are decided on the functions of the run": all(
            PHI.at(x) == exact(phi(x)) and PHI.derivative.at(x) == exact(phi_slope(x)) for x in points
        ),
    }


PHI = Curve.with_slope([(Q(-3, 2), 0), (-LEVEL, 1), (LEVEL, 1), (Q(3, 2), 0)])
"""`phi` as a curve, on which the assumptions are decided."""


@cache
def _clients(unit: Q) -> Clients:
    outer = Law.surely(Curve.with_slope([(-unit, -SLOPE / unit), (unit, SLOPE / unit)]))
    line = Curve.whole(exact(unit * B) * X)
    inner = Law.fair(*(line + sign * unit * S * PHI for sign in (1, -1)))
    return Clients(
        Q(0),
        (outer,) * 2,
        (inner,) * 2,
        tuple(Law.surely(Curve.whole(exact(sign * DRIFT) * X)) for sign in (1, -1)),
        estimate=Q(0),
        by_construction=dict.fromkeys(
            DRAWN, "the second moments are those of signs drawn afresh for every step and client"
        ),
    )


def _constants(unit: Q) -> dict[str, tuple[Q, str]]:
    none = "the paper wants a positive bound"
    return {
        "L_h": (TINY, f"h_k is linear; {none}"),
        "L_f": (SLOPE / unit**2, "f(y) = H(y/B_g), and H' has slopes 0 and 1/2"),
        "L_g": (S * unit, "B_g s bounds the slope of every sample's derivative; that of the mean is 0"),
        "B_f": (SLOPE / unit, "|H'| <= 1/2"),
        "B_g": (unit, "B_g^2 (B^2 + s^2) = B_g^2"),
        "sigma_h": (TINY, f"h_k has no noise; {none}"),
        "sigma_g": (S * unit, "B_g s |phi| and B_g s |phi'| are at most B_g s"),
        "delta_g": (S * unit, "B_g s |phi| is at most B_g s"),
        "Delta_h": (DRIFT, "h_k' = +-1/5 and their mean is 0"),
        "Delta_g": (TINY, f"E g_k = B_g B x for both clients; {none}"),
        "Phi_gap": (Q(0), "Phi(x) = H(B x) is least at x^0 = 0"),
        "y_err": (Q(0), "y^0 = g(x^0) = 0"),
    }


READING = (
    "the index of the average is drawn from 1..T as in line 12, and the average over 0..T-1 is larger than the bound too; the "
    "same with (8) applied at t = 0; L_g bounds the smoothness of each sample, which the assumption asks of the mean only; T is a "
    "multiple of I, and one step more, so that T - 1 is (appendix F), changes nothing that is seen here"
)


def jump(name: str, statement: str = "printed", I: int = 10**6, unit: Q = Q(1)) -> Case:
    """The case against one statement. Its left side is the average over t = 1..T."""
    from ...registry import get_theorem as theorem

    symbols = theorem(name).symbols(statement)
    item = Jump(I, unit)
    left = item.stationarity(after=True)
    hyper: dict[str, Q | int] = {"eta": item.eta, "beta": item.eta, "I": I, "K": 2, "b": 1, "T": item.T}
    return Case(
        {
            "name": "two clients pulled apart, behind an inner map with noise that is proportional to the model",
            "parameters": {"B": B, "s": S, "drift": DRIFT, "start": 0, "unit": unit, "signs": [1, -1]},
        },
        {n: pair for n, pair in _constants(unit).items() if n in symbols},
        {n: v for n, v in hyper.items() if n in symbols},
        left.pair,
        {
            **_assumptions(),
            **_stays(I),
            "eta = sqrt(K/T), and beta = 4 B_g^4 L_f^2 eta = eta < 1": item.eta**2 * item.T == 2
            and 4 * unit**4 * (SLOPE / unit**2) ** 2 == 1
            and item.eta < 1,
            "I <= T^{1/4}/K^{3/4}": I**4 * 2**3 <= item.T,
            "the other readings of the average and of step 0 differ by less than 10^-5": all(
                abs(side.lower - left.upper) < left.lower / 10**5
                for after, update in product((True, False), repeat=2)
                for side in [item.stationarity(after, update)]
            ),
        },
        clients=_clients(unit),
        picture=Picture(
            tuple(affine(B**2 * SLOPE, pull) for pull in (DRIFT, -DRIFT)),
            (-LEVEL, LEVEL),
            {"start, the minimiser": 0},
        ),
        choice=READING,
    )


READINGS = {
    "the average over t = 0..T-1, which the proof bounds": "refuted",
    "(8) applied at t = 0 too": "refuted",
    "T - 1 a multiple of I, as appendix F assumes": "refuted",
    "L_g bounds the smoothness of the mean only": "refuted",
}
ORDERS = {"O(.) with any other constant: docs/theory/feddro.md": "refuted"}


@refutes("feddro.theorem_5_1", "feddro.long_rounds", variant="long_rounds", alternatives=READINGS)
def theorem_5_1() -> Case:
    """Two clients pulled apart, B_g = 1, the right start, rounds of a million steps: the clients' jump at a communication
    leaves an error in y that the bound does not count."""
    return jump("feddro.theorem_5_1")


@refutes(
    "feddro.theorem_5_1",
    "feddro.long_rounds",
    variant="long_rounds_large_inner",
    alternatives=READINGS,
)
def theorem_5_1_large() -> Case:
    """The same instance with B_g = 1000, and rounds of 10^12 steps."""
    return jump("feddro.theorem_5_1", I=10**12, unit=Q(1000))


@refutes(
    "feddro.theorem_5_1",
    "feddro.long_rounds",
    variant="long_rounds_composed",
    statement="composed",
    alternatives=READINGS,
)
def theorem_5_1_composed() -> Case:
    """The same instance on what the paper's own lemmas give."""
    return jump("feddro.theorem_5_1", "composed")


@refutes("feddro.theorem_f_1", "feddro.long_rounds", variant="long_rounds", alternatives=READINGS)
def theorem_f_1() -> Case:
    """The same instance on the detailed form of the theorem."""
    return jump("feddro.theorem_f_1")


@refutes(
    "feddro.theorem_f_1",
    "feddro.long_rounds",
    variant="long_rounds_composed",
    statement="composed",
    alternatives=READINGS,
)
def theorem_f_1_composed() -> Case:
    """The same instance on the detailed form as the paper's own lemmas give it."""
    return jump("feddro.theorem_f_1", "composed")


@refutes("feddro.corollary_1", "feddro.long_rounds", variant="long_rounds", alternatives=READINGS)
def corollary_1() -> Case:
    """The same instance: its rounds are as long as the corollary allows."""
    return jump("feddro.corollary_1")


@refutes(
    "feddro.corollary_1",
    "feddro.long_rounds",
    variant="long_rounds_composed",
    statement="composed",
    alternatives=READINGS,
)
def corollary_1_composed() -> Case:
    """The same instance on the corollary of what the paper's own lemmas give."""
    return jump("feddro.corollary_1", "composed")


HIDDEN = 1000
"""How many times the constants of Corollary 1 the O(.) of Corollary 2 may hide here."""


@refutes("feddro.corollary_2", "feddro.long_rounds_orders", alternatives=ORDERS)
def corollary_2() -> Case:
    """The same instance with rounds of 10^9 steps: the squared gradient is still above a thousand times constant/sqrt(T)."""
    return _orders("printed")


@refutes(
    "feddro.corollary_2",
    "feddro.long_rounds_orders",
    variant="composed",
    statement="composed",
    alternatives=ORDERS,
)
def corollary_2_composed() -> Case:
    """The same on what the paper's own lemmas give."""
    return _orders("composed")


def _orders(statement: str) -> Case:
    case = jump("feddro.corollary_1", statement, I=10**9)
    low, high = right_side("feddro.corollary_1", statement, case)
    growth = [Jump(I).stationarity(after=True).lower * 10**k for k, I in ((0, 10**8), (1, 10**9))]
    return replace(
        case,
        right=(HIDDEN * low, HIDDEN * high),
        facts={
            **case.facts,
            "T^{1/4} times the left side is the same at I = 10^8 and 10^9 to a relative 10^-6": abs(
                growth[0] - growth[1]
            )
            < growth[0] / 10**6,
        },
        choice=f"O(.) is read with {HIDDEN} times the constants of Corollary 1; the left side times sqrt(T) grows like T^(1/4), so "
        "that a longer round refutes any other constant (docs/theory/feddro.md)",
    )
