"""Three lemmas with exact proofs that reach much further than the paper's constants; their arguments are in docs.

- `LOCAL_STEP`: a local step of either client keeps x_k >= 1/2 for every 0 < eta <= sqrt(2)/4. So case I holds for every
  number of local steps and every sequence of step sizes in that range (the paper: I = 2, constant eta < 1/8).
- `AFTER_THE_SHARED_STEP`: in case II both clients are back at or above 1/2 after the second local step if its step size
  is at least `ratio` times the first; so case II holds for every I >= 2 (the paper: I = 2, constant eta < 1/22).
- `LARGE_STEP`: case II, I = 2, one step size per round, every eta >= 1. With boxes on (0, 1]: every eta > 0.

Each lemma comes down to facts `p(v) >= 0 for v >= 0` about polynomials with rational coefficients, proved by
p = (v - root)^2 q with every coefficient of q nonnegative (q = p where no root is given): a few lines of `Fraction`.

Source: feddro, Theorem 4.1; docs/theory/counterexample.md for the reduction to polynomials.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from .instance import PAPER, PAPER_LEVEL, Instance

Polynomial = tuple[Fraction, ...]

#: (sqrt(2)/4)^2: the square of the largest step size of `LOCAL_STEP`, attained at x = 3/2 by client 1.
ETA_SQUARED = Fraction(1, 8)


@dataclass(frozen=True)
class Fact:
    """sum_i coefficients[i] v^i >= 0 for every v >= 0, being (v - root)^2 times a polynomial without negative ones."""

    statement: str
    coefficients: Polynomial
    root: Fraction | None = None

    @property
    def holds(self) -> bool:
        quotient = self.coefficients
        for _ in range(0 if self.root is None else 2):
            quotient, remainder = _divide(quotient, self.root or Fraction(0))
            if remainder != 0:
                return False
        return all(c >= 0 for c in quotient)


@dataclass(frozen=True)
class Lemma:
    """A statement and the polynomial facts that its argument rests on."""

    name: str
    statement: str
    facts: tuple[Fact, ...]

    @property
    def holds(self) -> bool:
        return bool(self.facts) and all(fact.holds for fact in self.facts)


def polynomial(*coefficients: Fraction | int) -> Polynomial:
    return tuple(Fraction(c) for c in coefficients)


def times(p: Polynomial, q: Polynomial) -> Polynomial:
    product = [Fraction(0)] * (len(p) + len(q) - 1)
    for i, a in enumerate(p):
        for j, b in enumerate(q):
            product[i + j] += a * b
    return tuple(product)


def plus(p: Polynomial, q: Polynomial) -> Polynomial:
    length = max(len(p), len(q))
    return tuple((p[i] if i < len(p) else Fraction(0)) + (q[i] if i < len(q) else Fraction(0)) for i in range(length))


def scaled(p: Polynomial, factor: Fraction | int) -> Polynomial:
    return tuple(factor * c for c in p)


def shifted(p: Polynomial, by: Fraction | int) -> Polynomial:
    """The polynomial v -> p(by + v)."""
    result = polynomial(0)
    for c in reversed(p):
        result = plus(times(result, polynomial(by, 1)), polynomial(c))
    return result


def local_step_polynomial(
    client: int, eta_squared: Fraction = ETA_SQUARED, threshold: Fraction = PAPER_LEVEL, instance: Instance = PAPER
) -> Polynomial:
    """p(v) = (v + z - threshold)^2 (a^2 v^2 + 4) - eta^2 a^4 v^2, with z = -c/a the client's own optimum and x = z + v.

    From x = z + v, v > 0, the step back is eta |a| s(|a| v) = eta a^2 v / sqrt(a^2 v^2 + 4), so p >= 0 says that it
    ends at or above the threshold; from x <= z the step goes up.
    """
    a, c = instance.slopes[client], instance.offsets[client]
    room = polynomial(Fraction(-c, a) - threshold, 1)
    return plus(times(times(room, room), polynomial(4, 0, a * a)), polynomial(0, 0, -eta_squared * a**4))


def _ratio_fact(ratio: Fraction, eta_text: str, speed: Fraction) -> Fact:
    """4 r^2 >= (1/2 + speed r)^2 (2 - r^2), where speed >= 2 sqrt(2) eta_max: see docs, `After the shared step`."""
    room = PAPER_LEVEL + speed * ratio
    statement = f"second step >= {ratio} of the first, steps up to {eta_text}: s(2) pays for s(x) wherever x_1 < 1/2"
    return Fact(statement, polynomial(4 * ratio**2 - room**2 * (2 - ratio**2)))


LOCAL_STEP = Lemma(
    "local_step",
    "x_k >= 1/2 implies x_k - eta a_k s(g_k(x_k)) >= 1/2 for k = 1, 2 and every 0 < eta <= sqrt(2)/4",
    (
        Fact("client 1, x = 1 + v", local_step_polynomial(0), root=Fraction(1, 2)),
        Fact("client 2, x = 2 + v", local_step_polynomial(1)),
    ),
)

#: (ratio, printed bound of the steps, a rational bound of 2 sqrt(2) eta_max from above).
STEP_RATIOS = ((Fraction(3, 4), "sqrt(2)/4", Fraction(1)), (Fraction(2, 5), "1/22", Fraction(3, 22)))

AFTER_THE_SHARED_STEP = Lemma(
    "after_the_shared_step",
    "case II, every I >= 2: both clients are >= 1/2 from the second local step on, for steps in (0, sqrt(2)/4] with "
    "second >= 3/4 first, and for steps in (0, 1/22] with second >= 2/5 first; later steps of the round are free",
    tuple(_ratio_fact(*entry) for entry in STEP_RATIOS),
)

LARGE_STEP = Lemma(
    "large_step",
    "case II, I = 2, one step size per round: x >= 1/2 implies xbar >= 1/2 after the round, for every eta >= 1",
    (
        Fact("x_1 > 1 after the shared step: 16 eta^2 - 4 >= 12 eta", shifted(polynomial(-4, -12, 16), 1)),
        Fact("0 < x_1 <= 1: 9 (4 eta^2 - 1) >= 4 (eta + 1/2)^2", shifted(polynomial(-10, -4, 32), 1)),
        Fact(
            "x_1 <= 0, x <= 5/2: 4/sqrt(5) - 1 >= 5/sqrt(41), as (1 + 25/32)^2 <= 16/5 and (5/(25/32))^2 <= 41",
            polynomial(min(Fraction(16, 5) - Fraction(57, 32) ** 2, 41 - Fraction(32, 5) ** 2)),
        ),
        Fact("x_1 <= 0, x > 5/2, sqrt(x^2+4) <= 3 eta: s(5/2) >= 3/4", polynomial(25 * 16 - 9 * 41)),
        Fact("and then 2 (4 + 3 eta)^2 >= 4 eta", shifted(polynomial(32, 44, 18), 1)),
        Fact("x_1 <= 0, x > 5/2, sqrt(x^2+4) > 3 eta: 4/sqrt(5) >= 7/4", polynomial(16 * 16 - 5 * 49)),
        Fact(
            "and then 9 eta^2 - 4 >= (1/2 + eta/4)^2",
            shifted(polynomial(Fraction(-17, 4), Fraction(-1, 4), Fraction(143, 16)), 1),
        ),
    ),
)

LEMMAS = (LOCAL_STEP, AFTER_THE_SHARED_STEP, LARGE_STEP)


def _divide(p: Polynomial, root: Fraction) -> tuple[Polynomial, Fraction]:
    """Quotient and remainder of p by (v - root)."""
    carry, quotient = Fraction(0), []
    for c in reversed(p):
        carry = c + carry * root
        quotient.append(carry)
    return tuple(reversed(quotient[:-1])), quotient[-1]
