"""Posynomials: the form in which nearly every bound and condition of the papers can be minimised globally.

A posynomial is a sum of positive coefficients times products of powers. What is not one is bounded by one, from above
(a safe replacement such as (I - 1)^2 <= I^2) or from below, on a box of the variables; when the variable of a
replaced factor is fixed the two agree and nothing is replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import inf

import sympy as sp

from ..language.theorem import Condition
from ..region.conditions import ordered

Exponent = int | Fraction
"""An int where it is whole: exponents are hashed and added far more often than anything else here."""

Exponents = tuple[tuple[str, Exponent], ...]
Box = Mapping[str, tuple[float, float]]
MAX_MONOMIALS = 4000
MAX_POWER = 24
_ROUNDING = 1e-9
"""How far below 0 a difference may be, relatively, at the end of a box: ends are rounded."""
AUXILIARY = "aux "
"""Prefix of variables that no user can set: they stand for a maximum or for a sum under a root."""


class EmptyBoxError(ValueError):
    """No value of a box satisfies the constraints."""


class NotPosynomialError(ValueError):
    """The expression is not a posynomial, nor bounded by one with the replacements known here."""


@dataclass(frozen=True)
class Posynomial:
    """Exponents -> positive coefficient; the empty posynomial is 0."""

    terms: Mapping[Exponents, float]

    @staticmethod
    def number(value: float) -> Posynomial:
        return Posynomial({(): value} if value > 0 else {})

    @staticmethod
    def variable(name: str, power: Exponent = 1) -> Posynomial:
        return Posynomial({((name, _exponent(power)),): 1.0} if power else {(): 1.0})

    @property
    def is_monomial(self) -> bool:
        return len(self.terms) == 1

    @property
    def names(self) -> frozenset[str]:
        return frozenset(name for exponents in self.terms for name, _ in exponents)

    def __add__(self, other: Posynomial) -> Posynomial:
        terms = dict(self.terms)
        for exponents, coefficient in other.terms.items():
            terms[exponents] = terms.get(exponents, 0.0) + coefficient
        return Posynomial(terms)

    def __mul__(self, other: Posynomial) -> Posynomial:
        if len(self.terms) * len(other.terms) > MAX_MONOMIALS:
            raise NotPosynomialError("too many monomials")
        terms: dict[Exponents, float] = {}
        for left, a in self.terms.items():
            for right, b in other.terms.items():
                key = _joined(left, right)
                terms[key] = terms.get(key, 0.0) + a * b
        return Posynomial(terms)

    def power(self, exponent: Exponent) -> Posynomial:
        """A rational power of a monomial, or a small positive whole power.

        Raises:
            NotPosynomialError: any other power, or one beyond the doubles.
        """
        if not self.terms and exponent > 0:
            return self
        if self.is_monomial:
            ((exponents, coefficient),) = self.terms.items()
            raised = tuple((name, _exponent(power * exponent)) for name, power in exponents)
            try:
                return Posynomial({raised if exponent else (): coefficient ** float(exponent)})
            except OverflowError:
                raise NotPosynomialError(
                    f"the power {float(exponent):g} of {coefficient:.3g}, which is beyond the doubles"
                ) from None
        if exponent.denominator == 1 and 0 < exponent <= MAX_POWER:
            result = Posynomial.number(1.0)
            for _ in range(int(exponent)):
                result = result * self
            return result
        raise NotPosynomialError(f"power {exponent} of a sum")

    def at(self, point: Mapping[str, float]) -> float:
        """The value at a point."""
        total = 0.0
        for exponents, coefficient in self.terms.items():
            for name, power in exponents:
                coefficient *= point[name] ** float(power)
            total += coefficient
        return total

    def exponent(self, name: str) -> set[Exponent]:
        """The exponents with which a variable occurs (0 where a monomial lacks it)."""
        return {dict(exponents).get(name, 0) for exponents in self.terms}


def _exponent(value: Exponent) -> Exponent:
    return int(value) if value.denominator == 1 else value


def _joined(left: Exponents, right: Exponents) -> Exponents:
    if not left or not right:
        return left or right
    powers = dict(left)
    for name, power in right:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted((name, _exponent(power)) for name, power in powers.items() if power))


@dataclass
class Converter:
    """Turns expressions in free symbols and numbers into posynomials that bound them.

    Args:
        box: variable -> (lowest, highest) value; a variable with equal ends is put in as a number.
        upper: bound from above (safe: what is admissible for the bound is so for the expression) or from below.
        signed: a factor that may be negative has no lower bound here; else it is taken to be nonnegative, as it is in a term that is.

    `sides` collects what auxiliary variables have to satisfy (`part <= 1`), `replacements` what was replaced, in words.
    """

    box: Box
    upper: bool = True
    signed: bool = False
    sides: list[Posynomial] = field(default_factory=list)
    replacements: dict[str, frozenset[str]] = field(default_factory=dict)
    known: dict[sp.Expr, Posynomial] = field(default_factory=dict)

    def convert(self, expr: sp.Expr) -> Posynomial:
        """A posynomial bound of a nonnegative expression.

        Raises:
            NotPosynomialError: none is known.
        """
        if expr not in self.known:
            self.known[expr] = self._convert(expr)
        return self.known[expr]

    def _convert(self, expr: sp.Expr) -> Posynomial:
        if expr.is_Symbol:
            return self._symbol(expr.name)
        if expr.is_number:
            return self._number(expr)
        if expr.is_Mul:
            return self._product(expr)
        if expr.is_Pow:
            return self._power(expr)
        if expr.is_Add:
            return self._sum(expr)
        if isinstance(expr, sp.Max):
            return self._largest([self.convert(part) for part in expr.args])
        if isinstance(expr, sp.Min):
            return self._smallest(expr)
        raise NotPosynomialError(f"{str(expr)[:60]} is no product of powers")

    def _product(self, expr: sp.Mul) -> Posynomial:
        """Two factors that may both be negative make a positive product: from above their sizes stand for them, from below 0."""
        signed = [factor for factor in expr.args if self._may_be_negative(factor)]
        result = Posynomial.number(1.0)
        for factor in expr.args:
            result = result * (self._size(factor) if len(signed) > 1 and factor in signed else self.convert(factor))
        return result

    def _may_be_negative(self, factor: sp.Expr) -> bool:
        base, exponent = factor.as_base_exp()
        return bool(base.is_Add and exponent.is_Integer and exponent % 2 == 1 and not self._is_nonnegative(base))

    def _size(self, factor: sp.Expr) -> Posynomial:
        """A bound of the absolute value of an odd power of a difference."""
        base, exponent = factor.as_base_exp()
        if exponent < 0 or (self.signed and not self.upper):
            raise NotPosynomialError(f"{str(base)[:60]}, which may be negative")
        self.replacements[_text(base)] = frozenset(_names(base))
        if not self.upper:
            return Posynomial({})
        added, minus = (self.convert(sp.Add(*each)) for each in signed_parts(base))
        return (added + minus).power(int(exponent))

    def _symbol(self, name: str) -> Posynomial:
        low, high = self.box.get(name, (0.0, inf))
        return Posynomial.number(low) if low == high else Posynomial.variable(name)

    def _number(self, expr: sp.Expr) -> Posynomial:
        value = _float(expr)
        if value < 0:
            raise NotPosynomialError(f"the negative number {expr}")
        return Posynomial.number(value)

    def _power(self, expr: sp.Expr) -> Posynomial:
        base, exponent = expr.as_base_exp()
        if not exponent.is_Rational:
            raise NotPosynomialError(f"exponent {exponent}")
        power = Fraction(int(exponent.p), int(exponent.q))
        if power < 0 and base.is_Add and (self.signed or power % 2 == 0) and not self._is_nonnegative(base):
            raise NotPosynomialError(f"the difference {str(base)[:60]} in a denominator")
        if power < 0 and not base.is_Symbol:
            turned = Converter(self.box, not self.upper, self.signed, replacements=self.replacements)
            inner = turned.convert(base)
            if not inner.is_monomial or turned.sides:
                raise NotPosynomialError(f"the sum {str(base)[:60]} in a denominator")
            return inner.power(power)
        if power % 2 == 0 and base.is_Add and not self._is_nonnegative(base):
            return self._even_power(base, power)
        inner = self.convert(base)
        try:
            return inner.power(power)
        except NotPosynomialError:
            return self._largest([inner]).power(power)

    def _is_nonnegative(self, expr: sp.Expr) -> bool:
        """Whether a sum is seen to be nonnegative on the box: it subtracts nothing, or rises or falls in its one variable and is
        nonnegative at the end where it is least."""
        if not signed_parts(expr)[1]:
            return True
        if len(expr.free_symbols) != 1:
            return False
        (symbol,) = expr.free_symbols
        low, high = self.box.get(symbol.name, (0.0, inf))
        edge = {1: low, -1: high}.get(direction(expr, symbol), inf)
        least = expr.xreplace({symbol: exact_float(edge)}) if 0 < edge < inf else sp.nan
        size = sum(abs(part.xreplace({symbol: exact_float(edge)})) for part in expr.args) if 0 < edge < inf else 1
        return bool(least.is_extended_real and least >= -_ROUNDING * size)

    def _even_power(self, base: sp.Expr, power: Fraction) -> Posynomial:
        """Of a difference of either sign: from above (a - b)^n <= a^n + b^n, from below 0."""
        self.replacements[_text(base)] = frozenset(_names(base))
        if not self.upper:
            return Posynomial({})
        parts = (self.convert(sp.Add(*each)) for each in signed_parts(base))
        total = Posynomial({})
        for part in parts:
            total = total + part.power(power)
        return total

    def _sum(self, expr: sp.Expr) -> Posynomial:
        added, minus = signed_parts(expr)
        if minus:
            fixed = {s: exact_float(self.box[s.name][0]) for s in expr.free_symbols if _is_fixed(self.box, s.name)}
            if fixed:
                return self.convert(expr.xreplace(fixed))
        total, of_parts = Posynomial({}), self._of_parts()
        for part in added:
            total = total + of_parts.convert(part)
        return self._difference(expr, total, minus) if minus else total

    def _of_parts(self) -> Converter:
        """The converter of the summands: of a sum that is nonnegative a summand may be negative, which matters from below."""
        return self if self.upper or self.signed else replace(self, signed=True, known={})

    def _difference(self, expr: sp.Expr, plus: Posynomial, minus: tuple[sp.Expr, ...]) -> Posynomial:
        """`a v^p - c` or `c - a v^p` in one variable v on its box, bounded by a monomial; else the minus is dropped."""
        names, shown = _names(expr), _text(expr)
        self.replacements[shown] = frozenset(names)
        low, high = self.box.get(names[0], (0.0, inf))
        lost = minus[0]
        if len(names) == 1 and len(minus) == 1 and plus.is_monomial:
            if lost.is_number and min(plus.exponent(names[0])) > 0:
                edge = high if self.upper else low
                self._refuse_negative(shown, edge < inf and plus.at({names[0]: edge}) >= float(lost) * (1 - _ROUNDING))
                share = 1.0 if edge == inf else 0.0 if edge == 0 else 1 - float(lost) / plus.at({names[0]: edge})
                return plus * Posynomial.number(max(share, 0.0))
            grows = Converter({}).convert(lost)
            if not plus.names and min(grows.exponent(names[0])) > 0:
                edge = low if self.upper else high
                rest = -inf if edge == inf else plus.at({}) - grows.at({names[0]: edge})
                self._refuse_negative(shown, rest >= -_ROUNDING * plus.at({}))
                return Posynomial.number(max(rest, 0.0))
        if self.upper:
            return plus
        raise NotPosynomialError(f"no lower bound for {shown[:60]}")

    def _refuse_negative(self, shown: str, is_nonnegative: bool) -> None:
        if self.signed and not self.upper and not is_nonnegative:
            raise NotPosynomialError(f"{shown[:60]}, which may be negative")

    def _largest(self, parts: list[Posynomial]) -> Posynomial:
        """A new variable that is at least each part (a minimiser makes it the largest of them)."""
        parts = [part for part in parts if part.terms]
        if not parts or (len(parts) == 1 and parts[0].is_monomial):
            return parts[0] if parts else Posynomial({})
        name = f"{AUXILIARY}{len(self.sides)}"
        self.sides.extend(part * Posynomial.variable(name, -1) for part in parts)
        return Posynomial.variable(name)

    def _smallest(self, expr: sp.Min) -> Posynomial:
        """From above one of the arguments, the smallest at a reference point; from below their constant parts."""
        self.replacements[_text(expr)] = frozenset(_names(expr))
        parts = [self.convert(part) for part in expr.args]
        if self.upper:
            reference = {name: max(self.box.get(name, (0.0, inf))[0], 1e-3) for part in parts for name in part.names}
            return min(parts, key=lambda part: part.at(reference))
        least = min(part.terms.get((), 0.0) for part in parts)
        if not least:
            raise NotPosynomialError(f"no lower bound for {str(expr)[:60]}")
        return Posynomial.number(least)


@lru_cache(maxsize=4096)
def _float(expr: sp.Expr) -> float:
    return float(expr)


@lru_cache(maxsize=4096)
def _text(expr: sp.Expr) -> str:
    return str(expr)


@lru_cache(maxsize=4096)
def _names(expr: sp.Expr) -> list[str]:
    return sorted(str(symbol) for symbol in expr.free_symbols)


@lru_cache(maxsize=4096)
def signed_parts(expr: sp.Expr) -> tuple[tuple[sp.Expr, ...], tuple[sp.Expr, ...]]:
    """What a sum adds, and what it takes away."""
    is_minus = {part: part.could_extract_minus_sign() for part in expr.args}
    return tuple(p for p in expr.args if not is_minus[p]), tuple(-p for p in expr.args if is_minus[p])


def _is_fixed(box: Box, name: str) -> bool:
    return name in box and box[name][0] == box[name][1]


def direction(expr: sp.Expr, symbol: sp.Symbol) -> int:
    """1 where an expression is seen to rise with a symbol, -1 where it is seen to fall, else 0."""
    slope = sp.Add.make_args(sp.expand(sp.diff(expr, symbol)))
    falls = [part.could_extract_minus_sign() for part in slope]
    return -1 if all(falls) else 0 if any(falls) else 1


def exact_float(value: float) -> sp.Rational:
    """A float as the rational number that it is."""
    return sp.Rational(*Fraction(value).as_integer_ratio())


def condition_limits(conditions: Iterable[Condition], converter: Converter) -> list[tuple[str, Posynomial]]:
    """Conditions as `posynomial <= 1`; in a lower bound, one that has no such form is left out.

    Raises:
        NotPosynomialError: one has no such form, in an upper bound.
    """
    signed, made = replace(converter, signed=True, known={}), []
    for condition in conditions:
        try:
            made.append((condition.name, condition_parts(*ordered(condition), signed)))
        except NotPosynomialError:
            if converter.upper:
                raise
    return made


def condition_parts(left: sp.Expr, right: sp.Expr, converter: Converter) -> Posynomial:
    """`left <= right` between positive sides as `posynomial <= 1`.

    Raises:
        NotPosynomialError: the right side, denominators cleared, is not a monomial.
    """
    (left_top, left_bottom), (right_top, right_bottom) = _split(left), _split(right)
    opposite = Converter(converter.box, not converter.upper, converter.signed, replacements=converter.replacements)
    large = opposite.convert(right_top) * opposite.convert(left_bottom)
    if not large.is_monomial or opposite.sides:
        raise NotPosynomialError(f"{str(left)[:40]} <= {str(right)[:40]} is not posynomial <= monomial")
    return converter.convert(left_top) * converter.convert(right_bottom) * large.power(Fraction(-1))


@lru_cache(maxsize=4096)
def _split(expr: sp.Expr) -> tuple[sp.Expr, sp.Expr]:
    """Numerator and denominator of a product; a sum stays a numerator."""
    top, bottom = sp.Integer(1), sp.Integer(1)
    for factor in sp.Mul.make_args(expr):
        base, exponent = factor.as_base_exp()
        if exponent.is_Rational and exponent < 0:
            bottom *= base**-exponent
        else:
            top *= factor
    return top, bottom
