"""The dimension of an expression, and what is not homogeneous in it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product

import sympy as sp

from .clients import OverClients
from .dimension import ONE, Dimension, modulo
from .power import Power
from .power_sum import PowerSum


class InhomogeneousError(ValueError):
    """Two quantities of different dimension are added or compared."""


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
    if expr.is_Pow or isinstance(expr, Power):
        return _dimension_of_power(expr, known)
    if expr.is_Add or isinstance(expr, (sp.Max, sp.Min)):
        return _common(expr, known)
    if isinstance(expr, OverClients):
        return dimension_of(expr.args[0], known)
    if hasattr(expr, "unrolled"):  # a recursion in a symbolic number of steps: that of its first unrollings
        return _common(sp.Tuple(*expr.unrolled()), known)
    arguments = [dimension_of(arg, known) for arg in expr.args]
    if any(argument != ONE for argument in arguments):
        what = "sum over" if isinstance(expr, PowerSum) else f"{expr.func.__name__} of"
        raise InhomogeneousError(f"{what} a quantity with a dimension in {expr}")
    return ONE


def is_homogeneous(expr: sp.Expr, known: Mapping[sp.Symbol, Dimension]) -> bool:
    """Whether the expression has one dimension."""
    try:
        dimension_of(expr, known)
    except InhomogeneousError:
        return False
    return True


def fits_somehow(
    expr: sp.Expr,
    wanted: Dimension,
    known: Mapping[sp.Symbol, Dimension],
    several: Mapping[sp.Symbol, tuple[Dimension, ...]],
    units: tuple[Dimension, ...] = (),
) -> bool:
    """Whether a summand has the wanted dimension for one of the dimensions of each letter that bounds several quantities."""
    letters = [symbol for symbol in several if symbol in expr.free_symbols]
    for chosen in product(*(several[letter] for letter in letters)):
        own = {**known, **dict(zip(letters, chosen, strict=True))}
        if is_homogeneous(expr, own) and modulo(dimension_of(expr, own), units) == wanted:
            return True
    return False


def _product(factors: list[Dimension]) -> Dimension:
    result = ONE
    for factor in factors:
        result = result * factor
    return result


def _dimension_of_power(expr: sp.Expr, known: Mapping[sp.Symbol, Dimension]) -> Dimension:
    base, exponent = expr.args
    dimension, of_exponent = dimension_of(base, known), dimension_of(exponent, known)
    if exponent.is_Rational:
        return dimension ** Fraction(int(exponent.p), int(exponent.q))
    if of_exponent != ONE:
        raise InhomogeneousError(f"exponent {exponent} of dimension {of_exponent} in {expr}")
    if dimension == ONE:
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
