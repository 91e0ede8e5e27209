"""Rigorous enclosures: an expression evaluated in ball arithmetic, with ends that are exact rationals rounded outward.

Every operation of python-flint's `arb` returns a ball that contains the true result. A ball that is not finite says
nothing, and is an error here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import sympy as sp

from ..language.power import Power
from ..language.power_sum import PowerSum, is_whole, polynomial
from ..language.theorem import Statement
from .evaluate import complete, fraction_of

BITS = 128
_NARROW_BITS = 30
"""Relative accuracy from which a power of a ball is as narrow as a ball's radius lets it be."""
_MOST_BITS = 1_000_000
"""Most bits of an end that is written out; moments of a run that diverges have billions."""


class EnclosureError(ArithmeticError):
    """The ball arithmetic has no finite answer: a vanishing denominator, a root of a negative number."""


@dataclass(frozen=True)
class Enclosure:
    """A closed interval with exact rational ends that contains the true value."""

    lower: Fraction
    upper: Fraction

    def contains(self, value: Fraction | int | float) -> bool:
        return self.lower <= Fraction(value) <= self.upper

    @property
    def pair(self) -> tuple[Fraction, Fraction]:
        return self.lower, self.upper

    @property
    def width(self) -> Fraction:
        return self.upper - self.lower

    @property
    def sign(self) -> int | None:
        """1, -1, or 0 for exactly zero; None where the enclosure does not decide."""
        if self.lower > 0:
            return 1
        if self.upper < 0:
            return -1
        return 0 if self.lower == self.upper else None

    def floats(self) -> tuple[float, float]:
        """Ends in double precision, rounded outward."""
        low, high = float(self.lower), float(self.upper)
        low = nextafter(low, -inf) if Fraction(low) > self.lower else low
        high = nextafter(high, inf) if Fraction(high) < self.upper else high
        return low, high


def enclose(expr: sp.Expr, point: Mapping[sp.Symbol, sp.Expr] | None = None, *, bits: int = BITS) -> Enclosure:
    """An interval that contains `expr` at a point.

    Args:
        expr: algebraic, with exp, log, Max, Min, Abs, floor and ceiling.
        point: symbol -> exact number (a rational, or an expression without symbols such as sqrt(2)/3).
        bits: working precision.

    Raises:
        EnclosureError: no finite enclosure.
    """
    with precision(bits):
        return ends(_Evaluator(point or {}).ball(sp.sympify(expr)))


def enclose_bound(statement: Statement, values: Mapping[str, Any], *, bits: int = BITS) -> dict[str, Enclosure]:
    """Every derived constant and term of a statement, and `total` where it has terms, enclosed at one point.

    Raises:
        InputError: unknown, missing or out-of-domain values.
        EnclosureError: no finite enclosure.
    """
    with precision(bits):
        evaluator = _Evaluator(complete(statement, values))
        for item in statement.derived:
            evaluator.known[item.symbol] = evaluator.ball(sp.sympify(item.expr))
        found = {item.name: ends(evaluator.known[item.symbol]) for item in statement.derived}
        found |= {term.name: ends(evaluator.ball(term.expr)) for term in statement.terms}
        if statement.terms:
            found["total"] = ends(evaluator.ball(statement.total))
        return found


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Ball arithmetic with so many bits."""
    from flint import ctx

    saved, ctx.prec = ctx.prec, bits
    try:
        yield
    finally:
        ctx.prec = saved


def values_on(ball: Any, variable: sp.Symbol, first: sp.Expr, others: Iterable[sp.Expr]) -> tuple[Any, list[Any]]:
    """A ball of the first expression where the variable is in a ball, and balls of the others; at the precision that is set."""
    evaluator = _Evaluator({})
    evaluator.known[variable] = ball
    return evaluator.ball(sp.sympify(first)), [evaluator.ball(part) for part in others]


def fmpq_of(number: Fraction) -> Any:
    """A rational number of python-flint."""
    from flint import fmpq

    return fmpq(number.numerator, number.denominator)


def root_near(number: Any, grid: int, *, order: int = 2, up: bool = True) -> Fraction:
    """The root of an order where it is rational, or else the nearest multiple of 1/grid above it, or below.

    Args:
        number: not negative; a fraction, or a rational number of python-flint.
    """
    top, bottom = int(number.numerator), int(number.denominator)
    (above, top_is_power), (below, bottom_is_power) = (sp.integer_nthroot(part, order) for part in (top, bottom))
    if top_is_power and bottom_is_power:
        return Fraction(above, below)
    whole, _ = sp.integer_nthroot(top * grid**order // bottom, order)
    return Fraction(whole + up, grid)


def ball_of(value: Fraction | int | Any) -> Any:
    """A rational number as a ball, rounded to the precision that is set; a ball is one already."""
    from flint import arb

    return value if isinstance(value, arb) else arb(fmpq_of(Fraction(value)))


def ends(ball: Any) -> Enclosure:
    """The ends of a ball; arithmetic on the ball itself would round to the precision that is set elsewhere.

    What is nearer to 0 than 2^-1000000 is enclosed between 0 and that.

    Raises:
        EnclosureError: the ball is not finite, or reaches beyond 2^1000000: its ends would fill the memory.
    """
    if not ball.is_finite():
        raise EnclosureError(f"no finite enclosure: {ball}")
    middle, radius = _dyadic(ball.mid()), _dyadic(ball.rad())
    return Enclosure(middle.lower - radius.upper, middle.upper + radius.upper)


def _dyadic(number: Any) -> Enclosure:
    """The value of a ball of radius zero, exactly unless it is tiny."""
    mantissa, exponent = (int(part) for part in number.man_exp())
    size = exponent + mantissa.bit_length()
    if mantissa and size > _MOST_BITS:
        raise EnclosureError(f"no enclosure is written out of a number of about 2^{size}")
    if mantissa and size < -_MOST_BITS:
        tiny = Fraction(1, 2**_MOST_BITS)
        return Enclosure(Fraction(0), tiny) if mantissa > 0 else Enclosure(-tiny, Fraction(0))
    exact = Fraction(mantissa) * Fraction(2) ** exponent
    return Enclosure(exact, exact)


class _Evaluator:
    """Balls of expressions at one point; `known` holds those of its symbols and remembers those of every part."""

    def __init__(self, point: Mapping[sp.Symbol, sp.Expr]) -> None:
        self.exact = {symbol: sp.sympify(value) for symbol, value in point.items()}
        self.known: dict[sp.Expr, Any] = {}
        self.known |= {symbol: self.ball(value) for symbol, value in self.exact.items()}

    def ball(self, expr: sp.Expr) -> Any:
        if expr not in self.known:
            self.known[expr] = self._new(expr)
        return self.known[expr]

    def _new(self, expr: sp.Expr) -> Any:
        if expr.is_Rational:
            return ball_of(fraction_of(expr))
        if expr.is_Symbol:
            raise EnclosureError(f"{expr}: wanted a value, got nothing")
        if expr.is_Pow or isinstance(expr, Power):
            return self._power(*expr.args)
        if hasattr(expr, "unrolled"):  # a recursion: its rule is plain arithmetic
            return self._unroll(expr)
        balls = [self.ball(part) for part in expr.args]
        if expr.is_Add or expr.is_Mul:
            result = balls[0]
            for ball in balls[1:]:
                result = result + ball if expr.is_Add else result * ball
            return result
        return self._function(expr, balls)

    def _power(self, base: sp.Expr, exponent: sp.Expr) -> Any:
        ball = self.ball(base)
        if exponent.is_Integer:
            return _whole_power(ball, int(exponent))
        if exponent.is_Rational:
            root = ball.sqrt() if exponent.q == 2 else ball.root(int(exponent.q))
            return _whole_power(root, int(exponent.p))
        power = self.ball(exponent)
        whole = power.unique_fmpz() if power.is_exact() else None
        return _whole_power(ball, int(whole)) if whole is not None else (ball.log() * power).exp()

    def _unroll(self, expr: sp.Expr) -> Any:
        from ..language.recursion import checked

        steps = self.ball(expr.args[0]).unique_fmpz()
        if steps is None:
            raise EnclosureError(f"{expr.func.__name__}: wanted a whole number of steps, got {expr.args[0]}")

        def ordered(argument: sp.Basic) -> Any:
            is_list = isinstance(argument, sp.Tuple)
            return [_Ordered(self.ball(part)) for part in argument] if is_list else _Ordered(self.ball(argument))

        return _Ordered.ball_of(type(expr).rule(checked(int(steps)), *map(ordered, expr.args[1:])))

    def _function(self, expr: sp.Expr, balls: list[Any]) -> Any:
        from flint import arb

        if isinstance(expr, (sp.Max, sp.Min)):
            result = balls[0]
            for ball in balls[1:]:
                result = result.max(ball) if isinstance(expr, sp.Max) else result.min(ball)
            return result
        if isinstance(expr, PowerSum):
            first, count, power = expr.args
            if is_whole(power):
                return self.ball(polynomial(first, sp.Max(count, 0), power))
            return self._power_sum(*balls)
        constants = {sp.pi: arb.pi, sp.E: arb.const_e}
        if expr in constants:
            return constants[expr]()
        if isinstance(expr, (sp.floor, sp.ceiling)) and (inner := expr.args[0].xreplace(self.exact)).is_Rational:
            return self.ball(expr.func(inner))  # a ball around a whole number has no rounded value
        methods = {sp.exp: "exp", sp.log: "log", sp.Abs: "__abs__", sp.floor: "floor", sp.ceiling: "ceil"}
        if expr.func in methods:
            return getattr(balls[0], methods[expr.func])()
        at_point = expr.xreplace(self.exact)  # a function of the statement's own, which evaluates at numbers
        if isinstance(at_point, expr.func) or at_point.free_symbols:
            raise EnclosureError(f"no ball arithmetic for {expr.func.__name__}")
        return self.ball(at_point)

    @staticmethod
    def _power_sum(first: Any, count: Any, power: Any) -> Any:
        """By the Hurwitz zeta function, of which the terms of the sum are the differences."""
        from flint import arb

        if not first > 0:
            raise EnclosureError(f"a sum of powers: wanted positive numbers under the powers, got {first}")
        count = count.max(0)
        if power == -1:
            return (first + count).digamma() - first.digamma()
        return (arb(0) - power).zeta(first) - (arb(0) - power).zeta(first + count)


def _whole_power(ball: Any, power: int) -> Any:
    """A power of a ball; of a wide one on one side of 0 between the powers of its ends, where products of balls are much wider."""
    if power > 0 and ball.mid() == 0:  # of which `arb` gives no power
        end = ball.upper() ** power
        return end.union(-end if power % 2 else 0)
    if ball.rel_accuracy_bits() > _NARROW_BITS or ball.contains(0):
        return ball**power
    return (ball.lower() ** power).union(ball.upper() ** power)


class _Ordered:
    """A ball inside the rule of a recursion: comparing two balls that overlap is an error, never a guess."""

    def __init__(self, ball: Any) -> None:
        self.ball = ball

    @staticmethod
    def ball_of(value: Any) -> Any:
        return value.ball if isinstance(value, _Ordered) else ball_of(value)

    def sqrt(self) -> _Ordered:
        return _Ordered(self.ball.sqrt())

    def __pow__(self, power: int) -> _Ordered:
        return _Ordered(self.ball**power)

    def __add__(self, other: Any) -> _Ordered:
        return _Ordered(self.ball + self.ball_of(other))

    def __mul__(self, other: Any) -> _Ordered:
        return _Ordered(self.ball * self.ball_of(other))

    def __sub__(self, other: Any) -> _Ordered:
        return _Ordered(self.ball - self.ball_of(other))

    def __rsub__(self, other: Any) -> _Ordered:
        return _Ordered(self.ball_of(other) - self.ball)

    def __truediv__(self, other: Any) -> _Ordered:
        return _Ordered(self.ball / self.ball_of(other))

    def __rtruediv__(self, other: Any) -> _Ordered:
        return _Ordered(self.ball_of(other) / self.ball)

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: Any) -> bool:
        right = self.ball_of(other)
        if self.ball < right:
            return True
        if self.ball >= right:
            return False
        raise EnclosureError(f"cannot tell which is smaller: {self.ball} or {right}")
