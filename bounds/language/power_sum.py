"""Finite sums over t in a formula: every one of them is made of sums of powers, and those are exact, fast and enclosed for any length.

    sum(t, 0, T - 1, a/(t + t0))  =  a * PowerSum(t0, T, -1)

Where the powers are whole and not negative the sum is a polynomial, and stands as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import sympy as sp

from .notation import STEP
from .reading import InputError

LONGEST = 20_000
"""Most terms of a sum of rational numbers that is worked out; a longer one stays a function, which is exact too."""
DIRECT = 16
"""Terms that are added one by one in double precision, before the Euler-Maclaurin formula takes over."""
EULER_MACLAURIN = tuple(float(sp.bernoulli(2 * j) / sp.factorial(2 * j)) for j in range(1, 8))
"""The factors of the odd derivatives in that formula."""
_GUARD_BITS = 60


class NoSumError(InputError):
    """A summand that is no sum of powers of t plus a number."""


class PowerSum(sp.Function):
    """first**power + (first + 1)**power + ... , `count` terms, for a rational power; 0 without a term.

    `first` is positive, or the power whole and not negative.
    """

    nargs = 3

    @classmethod
    def eval(cls, first: sp.Expr, count: sp.Expr, power: sp.Expr) -> sp.Expr | None:
        if count.is_Integer and count <= 0:
            return sp.S.Zero
        if first.is_nonpositive and count.is_Integer and not is_whole(power):
            return sp.zoo
        if is_whole(power) and (count.is_nonnegative or count.is_Integer):
            return polynomial(first, count, power)
        if count == 1:
            return first**power
        if first.is_Rational and count.is_Integer and power.is_Integer and count <= LONGEST:
            return _exact(Fraction(int(first.p), int(first.q)), int(count), int(power))
        return None

    def _eval_is_nonnegative(self) -> bool | None:
        return True if self.args[0].is_nonnegative else None

    def _eval_is_positive(self) -> bool | None:
        return True if self.args[0].is_positive and self.args[1].is_positive else None

    def _eval_is_extended_real(self) -> bool | None:
        return True if self.args[0].is_positive else None

    def _eval_evalf(self, prec: int) -> sp.Expr | None:
        import mpmath

        if self.free_symbols:
            return None
        with mpmath.workprec(2 * prec + _GUARD_BITS):
            first, count, power = (mpmath.mpf(each._to_mpmath(2 * prec + _GUARD_BITS)) for each in self.args)
            if first <= 0:
                raise InputError(f"{str(self)[:60]}: wanted positive numbers under the powers, got {float(first):g}")
            value = (
                mpmath.psi(0, first + count) - mpmath.psi(0, first)
                if power == -1
                else mpmath.zeta(-power, first) - mpmath.zeta(-power, first + count)
            )
            return sp.Float._new(value._mpf_, prec)

    @staticmethod
    def _imp_(first: Any, count: Any, power: Any) -> Any:
        """In double precision, for arrays that broadcast; nan where `first` is not what it has to be."""
        import numpy as np

        first, count = np.broadcast_arrays(np.asarray(first, float), np.asarray(count, float))
        power = float(power)
        with np.errstate(all="ignore"):
            found = np.where((first > 0) | (power >= 0 and power.is_integer()), 0.0, np.nan)
            for k in range(DIRECT):
                found = found + np.where(k < count, (first + k) ** power, 0.0)
            low, high = first + DIRECT, first + np.maximum(count, DIRECT)
            return found + np.where(count > DIRECT, _euler_maclaurin(low, high, power), 0.0)

    @property
    def _term(self) -> sp.Expr:
        return (STEP + self.args[0]) ** self.args[2]

    def _sympystr(self, printer: Any) -> str:
        return f"sum(t, 0, {printer._print(self.args[1] - 1)}, {printer._print(self._term)})"

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        text = rf"\sum_{{t=0}}^{{{printer._print(self.args[1] - 1)}}} {printer._print(self._term)}"
        return rf"\left({text}\right)^{{{exp}}}" if exp else rf"\left({text}\right)"


def is_whole(power: sp.Expr) -> bool:
    """Whether the sum of such powers is a polynomial, and may begin anywhere."""
    return bool(power.is_Integer and power.is_nonnegative)


def polynomial(first: sp.Expr, count: sp.Expr, power: sp.Integer) -> sp.Expr:
    """The sum of `count >= 0` whole powers, in closed form."""
    upper, lower = (sp.bernoulli(power + 1, end) for end in (first + count, first))
    return sp.expand((upper - lower) / (power + 1))


def sum_over(index: sp.Symbol, low: sp.Expr, high: sp.Expr, summand: sp.Expr) -> sp.Expr:
    """The sum of a formula over the whole numbers from `low` to `high`, which are rounded where they need not be whole.

    Raises:
        NoSumError: the summand is no sum of products of powers of the index plus a number.

    Example:
        >>> T, t0 = sp.symbols("T t0", positive=True, integer=True)
        >>> sum_over(STEP, sp.S.Zero, T - 1, 1 / (STEP + t0) + STEP)
        T**2/2 - T/2 + sum(t, 0, T - 1, 1/(t + t0))
    """
    low, high = low if low.is_integer else sp.ceiling(low), high if high.is_integer else sp.floor(high)
    parts = []
    for each in _simple(summand, index):
        found = power_of(each, index)
        if found is None:
            wanted = f"powers such as 1/({index.name} + t0), sqrt({index.name} + 1) or {index.name}**2"
            raise NoSumError(f"wanted a sum of {wanted} times what does not depend on {index.name}")
        factor, shift, power = found
        if (low + shift).is_nonpositive and not is_whole(power):
            raise NoSumError(f"wanted a positive number under every power, got {low + shift} at {index.name} = {low}")
        parts.append(factor * PowerSum(low + shift, high - low + 1, power))
    return sp.Add(*parts)


def _simple(summand: sp.Expr, index: sp.Symbol) -> Iterator[sp.Expr]:
    """The summands of a formula, and the partial fractions of those that are no single power."""
    for part in sp.Add.make_args(summand):
        if power_of(part, index) is not None:
            yield part
        else:
            opened = sp.apart(part, index) if part.is_rational_function(index) else sp.expand_mul(part)
            yield from sp.Add.make_args(sp.expand_mul(opened))


def power_of(term: sp.Expr, index: sp.Symbol) -> tuple[sp.Expr, sp.Expr, sp.Rational] | None:
    """(c, s, e) of a product c * (index + s)**e; None where it is none."""
    factor, rest = term.as_independent(index, as_Add=False)
    if rest == 1:
        return factor, sp.S.Zero, sp.S.Zero
    base, power = rest.as_base_exp()
    if not power.is_Rational or not base.is_polynomial(index) or sp.degree(base, index) != 1:
        return None
    slope, shift = sp.Poly(base, index).all_coeffs()
    if not slope.is_positive:
        return None  # of whole powers that are not negative, the product is expanded
    return factor * slope**power, sp.cancel(shift / slope), power


def _exact(first: Fraction, count: int, power: int) -> sp.Rational:
    """The sum of rational powers, halved again and again so that the numbers that are added are of one size."""

    def between(low: int, high: int) -> Fraction:
        if high - low == 1:
            return (first + low) ** power
        middle = (low + high) // 2
        return between(low, middle) + between(middle, high)

    return sp.Rational(between(0, count))


def _euler_maclaurin(low: Any, high: Any, power: float) -> Any:
    """The sum of x**power over x = low, low + 1, ..., high - 1."""
    import numpy as np

    found = np.log(high / low) if power == -1 else (high ** (power + 1) - low ** (power + 1)) / (power + 1)
    found = found + (low**power - high**power) / 2
    slope = power
    for at, factor in enumerate(EULER_MACLAURIN):
        if not slope:
            break  # a polynomial has no further derivatives
        order = 2 * at + 1
        found = found + factor * slope * (high ** (power - order) - low ** (power - order))
        slope = slope * (power - order) * (power - order - 1)
    return found
