"""Powers with symbols in the exponent, such as (1 - mu*eta)**T, and exp: a sympy function of our own.

A `sp.Pow` of numbers is worked out at once, and (1/2)**(10**9) has a billion digits. `Power` becomes one only where the result is
short; elsewhere it stays an exact function of numbers that is evaluated to any precision asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp
from sympy.printing.precedence import PRECEDENCE

from .reading import InputError

MAX_POWER = 64
"""Largest numerator and denominator of an exponent for which a power of symbols is a `sp.Pow`."""
_LONGEST = 2048
"""Most bits of a rational number that is worked out."""
_LARGEST = 10**30
"""Largest logarithm of a power that is evaluated."""
_GUARD_BITS = 40


class Power(sp.Function):
    """base**exponent; exp(x) is Power(E, x)."""

    nargs = 2
    precedence = PRECEDENCE["Pow"]

    @classmethod
    def eval(cls, base: sp.Expr, exponent: sp.Expr) -> sp.Expr | None:
        if exponent.is_zero or base == 1:
            return sp.S.One
        if not exponent.is_Rational:
            return None
        if base == sp.E:
            return sp.exp(exponent) if abs(exponent) < _LARGEST else None
        if base.is_Rational:
            bits = max(abs(base.p).bit_length(), base.q.bit_length())
            return base**exponent if bits * max(abs(exponent), 1) <= _LONGEST else None
        return base**exponent if max(abs(exponent.p), exponent.q) <= MAX_POWER else None

    def _eval_is_positive(self) -> bool | None:
        return True if self.args[0].is_positive else None

    def _eval_is_nonnegative(self) -> bool | None:
        return True if self.args[0].is_nonnegative or self.args[1].is_even else None

    def _eval_is_extended_real(self) -> bool | None:
        base, exponent = self.args
        return (
            True if base.is_nonnegative or (base.is_real and exponent.is_integer and exponent.is_nonnegative) else None
        )

    def fdiff(self, argindex: int = 1) -> sp.Expr:
        base, exponent = self.args
        return exponent * Power(base, exponent - 1) if argindex == 1 else self * sp.log(base)

    def _eval_evalf(self, prec: int) -> sp.Expr | None:
        import mpmath

        base, exponent = self.args
        if self.free_symbols:
            return None
        with mpmath.workprec(prec + _GUARD_BITS):
            size = abs(mpmath.mpf(exponent._to_mpmath(prec))) + 1
            logarithm = abs(mpmath.log(abs(mpmath.mpf(base._to_mpmath(prec))) or 1))
            if not size * (logarithm + 1) < _LARGEST:
                raise InputError(f"{str(self)[:60]}: a power beyond exp(10**30)")
        bits = prec + _GUARD_BITS + 2 * int(mpmath.log(size + 1, 2)) + 2
        with mpmath.workprec(bits):
            value = mpmath.power(base._to_mpmath(bits), exponent._to_mpmath(bits))
            return sp.Float._new(value._mpf_, prec) if isinstance(value, mpmath.mpf) else sp.sympify(value)

    @staticmethod
    def _imp_(base: Any, exponent: Any) -> Any:
        import numpy as np

        with np.errstate(over="ignore"):  # infinite
            return np.power(np.asarray(base, dtype=float), exponent)

    def _sympystr(self, printer: Any) -> str:
        base, exponent = self.args
        if base == sp.E:
            return f"exp({printer._print(exponent)})"
        return f"{printer.parenthesize(base, self.precedence)}**{printer.parenthesize(exponent, self.precedence)}"

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        base, exponent = self.args
        letter = printer._print(base)
        text = f"{letter if base.is_Symbol or base == sp.E else rf'({letter})'}^{{{printer._print(exponent)}}}"
        return rf"\left({text}\right)^{{{exp}}}" if exp else text


def undefined(expr: sp.Expr, at: Callable[[sp.Expr], sp.Expr]) -> str:
    """Which logarithm or power of an expression has no real value where `at` evaluates; empty where all have one."""
    for item in sorted(expr.atoms(sp.log, Power), key=sp.count_ops):
        inside = at(item.args[0])
        is_log = isinstance(item, sp.log)
        wrong = inside.is_positive is False if is_log else inside.is_negative and at(item.args[1]).is_integer is False
        if wrong or inside.has(sp.zoo, sp.nan):
            wanted = "a positive number" if is_log else "a base that is not negative"
            return f"{str(item)[:60]}: wanted {wanted}, got {str(inside)[:30]}"
    return ""


def logarithms(expr: sp.Expr) -> tuple[sp.Expr, ...]:
    """What logarithms are taken of, and the bases of powers whose exponent need not be whole: no value where they are negative."""
    inside = [item.args[0] for item in expr.atoms(sp.log)]
    return (*inside, *(item.args[0] for item in expr.atoms(Power) if not item.args[1].is_integer))
