"""Dimensions in powers of [f] (objective), [y] (inner value) and [x] (variable), and the homogeneity of an expression."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import sympy as sp


class InhomogeneousError(ValueError):
    """Two quantities of different dimension are added or compared."""


@dataclass(frozen=True)
class Dimension:
    """A product of powers [f]^f [y]^y [x]^x; the three base units may be rescaled independently."""

    f: Fraction = Fraction(0)
    y: Fraction = Fraction(0)
    x: Fraction = Fraction(0)

    def __mul__(self, other: Dimension) -> Dimension:
        return Dimension(self.f + other.f, self.y + other.y, self.x + other.x)

    def __pow__(self, power: Fraction | int) -> Dimension:
        return Dimension(self.f * power, self.y * power, self.x * power)

    def __truediv__(self, other: Dimension) -> Dimension:
        return self * other**-1

    def __str__(self) -> str:
        parts = [_power(unit, p) for unit, p in (("f", self.f), ("y", self.y), ("x", self.x)) if p]
        return " ".join(parts) or "1"


def _power(unit: str, power: Fraction) -> str:
    return f"[{unit}]" if power == 1 else f"[{unit}]^{power}"


ONE = Dimension()
OBJECTIVE = Dimension(f=Fraction(1))
INNER = Dimension(y=Fraction(1))
VARIABLE = Dimension(x=Fraction(1))


def modulo(dimension: Dimension, units: tuple[Dimension, ...]) -> Dimension:
    """The dimension once each of `units` is declared to be 1 (a paper that adds f to y^2 sets a unit [f]/[y]^2 = 1)."""
    rows = sp.Matrix([[u.f, u.y, u.x] for u in units]).rref()[0].tolist() if units else []
    vector = [sp.Rational(dimension.f), sp.Rational(dimension.y), sp.Rational(dimension.x)]
    for row in rows:
        pivot = next((i for i, entry in enumerate(row) if entry), None)
        if pivot is not None:
            factor = vector[pivot]
            vector = [v - factor * entry for v, entry in zip(vector, row, strict=True)]
    return Dimension(*(Fraction(int(v.p), int(v.q)) for v in vector))


def dimension_of(expr: sp.Expr, known: Mapping[sp.Symbol, Dimension]) -> Dimension:
    """The dimension of `expr`, given that of its symbols.

    Raises:
        InhomogeneousError: if a sum, a maximum or a comparison mixes dimensions, or an exponent is not a number.
    """
    if expr.is_Symbol:
        return known[expr]
    if expr.is_number:
        return ONE
    if expr.is_Mul:
        return _product([dimension_of(arg, known) for arg in expr.args])
    if expr.is_Pow:
        return _dimension_of_power(expr, known)
    if expr.is_Add or isinstance(expr, (sp.Max, sp.Min)):
        return _common(expr, known)
    if hasattr(expr, "unrolled"):  # a recursion in a symbolic number of steps: that of its first unrollings
        return _common(sp.Tuple(*expr.unrolled()), known)
    arguments = [dimension_of(arg, known) for arg in expr.args]
    if any(argument != ONE for argument in arguments):
        raise InhomogeneousError(f"{expr.func.__name__} of a quantity with a dimension in {expr}")
    return ONE


def _product(factors: list[Dimension]) -> Dimension:
    result = ONE
    for factor in factors:
        result = result * factor
    return result


def _dimension_of_power(expr: sp.Expr, known: Mapping[sp.Symbol, Dimension]) -> Dimension:
    base, exponent = expr.as_base_exp()
    dimension = dimension_of(base, known)
    if exponent.is_Rational:
        return dimension ** Fraction(int(exponent.p), int(exponent.q))
    if dimension == ONE and dimension_of(exponent, known) == ONE:
        return ONE
    raise InhomogeneousError(f"exponent {exponent} of a quantity of dimension {dimension}")


def _common(expr: sp.Expr, known: Mapping[sp.Symbol, Dimension]) -> Dimension:
    """The one dimension of all arguments; the number 0 fits any dimension, other bare numbers are dimensionless."""
    found = {arg: dimension_of(arg, known) for arg in expr.args if arg != 0}
    distinct = set(found.values())
    if len(distinct) > 1:
        listed = ", ".join(f"{arg} is {dim}" for arg, dim in found.items())
        raise InhomogeneousError(f"mixed dimensions: {listed}")
    return distinct.pop() if distinct else ONE
