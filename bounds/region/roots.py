"""Where two sides of a condition meet: exact enclosures of the positive roots of generalised polynomials.

With everything else fixed at exact numbers a condition compares two functions of one positive variable. Its sign can
change only at roots of a generalised polynomial (rational exponents) or of a denominator; they are isolated here and
enclosed by rational numbers. Nothing relies on a solver's idea of positivity. Where the variable stands in a logarithm, in an
exponent or is rounded, ball arithmetic decides the sign on intervals that are halved, over all positive floats.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any

import sympy as sp

from ..evaluation.enclosure import EnclosureError, ball_of, enclose, ends, precision, values_on
from ..evaluation.evaluate import fraction_of, sign
from ..language.notation import slack_symbol
from ..language.power import Power
from ..language.power_sum import PowerSum
from ..language.reading import InputError
from ..language.theorem import under_roots

Bracket = tuple[Fraction, Fraction]
_BITS = 192
_TOLERANCE = 1e-40
_FLOATS = (Fraction(2) ** -1074, Fraction(2) ** 1024)
"""Between which changes of sign are looked for: all positive floats."""
_FLOAT_BITS = 1280
"""Of the balls: so that 1 + x differs from 1 at each of them."""
_NARROW = Fraction(1, 2**64)
"""Relative width of an interval that is taken for a change of sign."""
_MOST_CELLS = 20_000
ROUNDED = (sp.floor, sp.ceiling)


def crossings(left: sp.Expr, right: sp.Expr, variable: sp.Symbol) -> tuple[Bracket, ...]:
    """Enclosures of the positive values at which the two sides of a condition are equal, or one of them has a pole or
    begins to have a value."""
    return _roots_and_poles(left, right, variable)[0] + poles(left, right, variable)


def poles(left: sp.Expr, right: sp.Expr, variable: sp.Symbol) -> tuple[Bracket, ...]:
    """Enclosures of the positive values at which a side of a condition has a pole, or beside which a root has no real
    value."""
    edges = (_roots_and_poles(base, sp.Integer(0), variable) for base in bases(left, right, variable))
    return sum((zeros + infinite for zeros, infinite in edges), _roots_and_poles(left, right, variable)[1])


@lru_cache(maxsize=1024)
def bases(left: sp.Expr, right: sp.Expr, variable: sp.Symbol) -> tuple[sp.Expr, ...]:
    """What stands under the roots of two sides and has to be nonnegative at each value of the variable, the inner ones first."""
    found = (base for side in (left, right) for base in under_roots(side))
    return tuple(dict.fromkeys(base for base in found if variable in base.free_symbols and base != variable))


@lru_cache(maxsize=1024)
def _roots_and_poles(
    left: sp.Expr, right: sp.Expr, variable: sp.Symbol
) -> tuple[tuple[Bracket, ...], tuple[Bracket, ...]]:
    left, right = _clear_root(left, right, variable)
    if variable not in (left - right).free_symbols:
        return (), ()
    if is_transcendental(left - right, variable):
        return _by_halving(left - right, variable)
    numerator, denominator = sp.fraction(sp.together(sp.powsimp(left - right)))
    return tuple(_positive_roots(numerator, variable)), tuple(_positive_roots(denominator, variable))


def is_transcendental(expr: sp.Expr, variable: sp.Symbol) -> bool:
    """Whether a variable stands in a logarithm, in a power with symbols in the exponent, or is rounded."""
    return any(variable in item.free_symbols for item in expr.atoms(sp.log, sp.exp, Power, PowerSum, *ROUNDED))


def _by_halving(expr: sp.Expr, variable: sp.Symbol) -> tuple[tuple[Bracket, ...], tuple[Bracket, ...]]:
    """Where the sign of an expression may change: where it vanishes, and where it has a pole, a jump or no value.

    Raises:
        InputError: the intervals on which the sign is not decided become too many.
    """
    inside = under_roots(expr)
    jumps = any(variable in item.free_symbols for item in expr.atoms(*ROUNDED))
    cells = [_FLOATS]
    found: list[tuple[Bracket, bool]] = []
    tried = 0
    with precision(_FLOAT_BITS):
        while cells:
            low, high = cells.pop()
            tried += 1
            ball = _between(low, high)
            value, bases = values_on(ball, variable, expr, inside)
            is_one_sign = value.is_finite() and (value == 0 or not value.contains(0))
            if is_one_sign or any(base < 0 for base in bases):
                continue
            if high - low > high * _NARROW:
                middle = _middle(low, high)
                cells += [(low, middle), (middle, high)]
                if tried > _MOST_CELLS:
                    shown = sp.sstr(expr)[:60]
                    raise InputError(
                        f"cannot solve for {variable}: not a sum of powers, and no sign of {shown} is decided near {float(low):.3g}"
                    )
                continue
            found.append(((low, high), jumps or not value.is_finite()))
    merged: list[tuple[Bracket, bool]] = []
    for (low, high), broken in sorted(found):
        if merged and low <= merged[-1][0][1]:
            (first, _), before = merged.pop()
            low, broken = first, before or broken
        merged.append(((low, high), broken))
    return tuple(b for b, broken in merged if not broken), tuple(b for b, broken in merged if broken)


def _middle(low: Fraction, high: Fraction) -> Fraction:
    """Where an interval is cut: between ends of different size at a power of 2, else at half of their sum."""
    smallest, largest = (end.numerator.bit_length() - end.denominator.bit_length() for end in (low, high))
    if largest - smallest > 1:
        return Fraction(2) ** ((smallest + largest) // 2)
    return (low + high) / 2


def _clear_root(left: sp.Expr, right: sp.Expr, variable: sp.Symbol) -> tuple[sp.Expr, sp.Expr]:
    """Raise two positive products to a common power so that the variable leaves every root that is a whole factor."""
    order = 1
    for side in (left, right):
        for factor in sp.Mul.make_args(side):
            base, exponent = factor.as_base_exp()
            composite = variable in base.free_symbols and not base.is_Symbol
            if composite and exponent.is_Rational:
                order = int(sp.ilcm(order, exponent.q))
    if order == 1:
        return left, right
    return left**order, right**order


def _positive_roots(expr: sp.Expr, variable: sp.Symbol) -> list[Bracket]:
    """Rational enclosures of the positive roots of a generalised polynomial."""
    terms = sp.collect(sp.expand(expr), variable, evaluate=False)
    exponents = {}
    for power, coefficient in terms.items():
        base, exponent = power.as_base_exp() if power != 1 else (variable, sp.Integer(0))
        if base != variable or not exponent.is_Rational or variable in coefficient.free_symbols:
            raise InputError(f"cannot solve for {variable}: not a sum of powers in {sp.sstr(expr)[:80]}")
        exponents[exponent] = coefficient
    if not exponents:  # the sides are the same function: no value is an end
        return []
    order = int(sp.ilcm(1, *(e.q for e in exponents)))
    shift = min(exponents)
    powers = {int((e - shift) * order): c for e, c in exponents.items() if decided_sign(c) != 0}
    if len(powers) < 2:
        return []
    roots = _isolate(powers)
    return [(low**order, high**order) for low, high in roots]


def _isolate(powers: Mapping[int, sp.Expr]) -> list[Bracket]:
    """Enclosures of the positive roots of a polynomial given by exponent -> exact nonzero coefficient."""
    degrees = sorted(powers)
    signs = [decided_sign(powers[d]) for d in degrees]
    if all(s == signs[0] for s in signs):
        return []
    if len(degrees) == 2:
        low, high = degrees
        return [_root_of(-powers[low] / powers[high], high - low)]
    if all(c.is_Rational for c in powers.values()):
        variable = slack_symbol("w")
        square_free = sp.Poly.from_dict({(d,): c for d, c in powers.items()}, variable, domain="QQ").sqf_part()
        _, whole = square_free.clear_denoms()  # whole numbers are balls without a radius
        powers = {monomial[0]: coefficient for monomial, coefficient in whole.terms()}
        if len(powers) == 2:
            return _isolate(powers)
    return _positive_real(powers)


def _root_of(ratio: sp.Expr, order: int) -> Bracket:
    """The positive root of x^order = ratio: exact where it is rational."""
    root = ratio ** sp.Rational(1, order)
    if root.is_Rational:
        value = fraction_of(root)
        return value, value
    found = enclose(root, bits=_BITS)
    return found.lower, found.upper


def _positive_real(powers: Mapping[int, sp.Expr]) -> list[Bracket]:
    """All complex roots in ball arithmetic; isolated balls that meet their own conjugate are real roots."""
    from flint import acb_poly

    with precision(2 * _BITS):
        balls = {d: _between(*enclose(c, bits=2 * _BITS).pair) for d, c in powers.items()}
        try:
            roots = acb_poly([balls.get(d, ball_of(0)) for d in range(max(powers) + 1)]).roots(tol=_TOLERANCE)
        except ValueError:
            raise InputError(
                "two end points of a condition coincide and cannot be separated; change a value slightly"
            ) from None
    real = [root.real for root in roots if root.imag.contains(0) and not root.real < 0]
    return sorted((max(r.lower, Fraction(0)), r.upper) for r in map(ends, real) if r.upper > 0)


def _between(low: Fraction, high: Fraction) -> Any:
    """A ball around two rationals."""
    return ball_of(low).union(ball_of(high))


def decided_sign(expr: sp.Expr) -> int:
    """The exact sign of a number; ball arithmetic decides nearly always, `evaluate.sign` the rest."""
    if not expr.is_Rational:
        try:
            found = enclose(expr).sign
        except EnclosureError:
            found = None
        if found is not None:
            return found
    return sign(expr)
