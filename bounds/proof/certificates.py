"""Exact certificates of inequalities between expressions in positive symbols, and exact counterexamples.

An inequality that holds on a whole region is proved by substituting the region away (eta <= c becomes eta = c/(1+u) with
u >= 0) and looking at the coefficients: a polynomial with no negative coefficient is nonnegative for nonnegative symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import sympy as sp

from ..evaluation.evaluate import holds
from ..language.theorem import Condition


@dataclass(frozen=True)
class Certificate:
    """`claim >= 0` because numerator and denominator, after the substitution, have no negative coefficient."""

    claim: str
    substitution: tuple[tuple[str, str], ...]
    symbols: tuple[str, ...]
    numerator: tuple[tuple[tuple[int, ...], Fraction], ...]
    denominator: tuple[tuple[tuple[int, ...], Fraction], ...]

    def recheck(self) -> bool:
        """The argument again, from the stored coefficients alone."""
        return all(c >= 0 for _, c in self.numerator) and all(c > 0 for _, c in self.denominator)


def prove_nonnegative(expr: sp.Expr, substitution: Mapping[sp.Symbol, sp.Expr] | None = None) -> Certificate | None:
    """A certificate that `expr >= 0` for all nonnegative values of its symbols, or None where this method finds none.

    Args:
        expr: algebraic in nonnegative symbols.
        substitution: symbol -> expression in slack symbols that sweeps the region; applied in order.
    """
    replaced = sp.sympify(expr)
    for symbol, value in (substitution or {}).items():
        replaced = replaced.xreplace({symbol: value})
    if replaced.atoms(sp.Function):  # such as a recursion in a symbolic number of steps: no polynomial
        return None
    replaced, roots = _without_roots(replaced)
    numerator, denominator = sp.fraction(sp.together(replaced))
    top, bottom = _coefficients(numerator), _coefficients(denominator)
    if top is None or bottom is None:
        return None
    if all(c <= 0 for _, c in bottom):
        top, bottom = [(m, -c) for m, c in top], [(m, -c) for m, c in bottom]
    if any(c < 0 for _, c in top) or any(c <= 0 for _, c in bottom):
        return None
    names = tuple(str(symbol) for symbol in sorted(replaced.free_symbols, key=str))
    steps = tuple((str(symbol), str(value)) for symbol, value in (substitution or {}).items())
    return Certificate(f"{expr} >= 0", steps + roots, names, tuple(top), tuple(bottom))


def _without_roots(expr: sp.Expr) -> tuple[sp.Expr, tuple[tuple[str, str], ...]]:
    """Replace each symbol that stands under a fractional power by a power of a new nonnegative symbol."""
    from ..language.quantities import slack_symbol

    expr = sp.powdenest(sp.expand_power_base(expr), force=True)
    needed: dict[sp.Symbol, int] = {}
    for power in expr.atoms(sp.Pow):
        base, exponent = power.as_base_exp()
        if exponent.is_Rational and not exponent.is_Integer and base.is_Symbol:
            needed[base] = int(sp.ilcm(needed.get(base, 1), exponent.q))
    table = {symbol: slack_symbol(f"root_{symbol}") ** order for symbol, order in needed.items()}
    replaced = sp.powdenest(expr.xreplace(table), force=True)
    return replaced, tuple((str(symbol), str(value)) for symbol, value in table.items())


def _coefficients(expr: sp.Expr) -> list[tuple[tuple[int, ...], Fraction]] | None:
    symbols = sorted(expr.free_symbols, key=str)
    if not symbols:
        return [((), Fraction(int(expr.p), int(expr.q)))] if expr.is_Rational else None
    try:
        polynomial = sp.Poly(sp.expand(expr), *symbols)
    except sp.PolynomialError:
        return None
    if not all(c.is_Rational for c in polynomial.coeffs()):
        return None
    return [(monomial, Fraction(int(c.p), int(c.q))) for monomial, c in polynomial.terms()]


def nonnegative_coefficients(expr: sp.Expr) -> bool:
    """Whether an expression is nonnegative because nothing is ever subtracted in it."""
    return prove_nonnegative(expr) is not None


def find_violation(
    claim: Condition, given: Iterable[Condition] = (), *, tries: int = 60_000, seed: int = 0
) -> dict[str, Fraction] | None:
    """Rational values that satisfy every given condition and violate the claim.

    Floating point proposes (a random search over many scales), exact arithmetic decides.

    Returns:
        Symbol name -> value, the plainest candidate first; or None, which proves nothing.
    """
    import numpy as np

    given = tuple(given)
    symbols = sorted({s for c in (claim, *given) for s in c.left.free_symbols | c.right.free_symbols}, key=str)
    rng = np.random.default_rng(seed)
    tables = [(_COUNTS if symbol.is_positive else _STEPS) if symbol.is_integer else _REALS for symbol in symbols]
    choices = [rng.integers(len(table), size=tries) for table in tables]
    arrays = [np.array([float(v) for v in table])[index] for table, index in zip(tables, choices, strict=True)]
    for row in _candidates(claim, given, symbols, arrays)[:40]:
        point = {s: table[index[row]] for s, table, index in zip(symbols, tables, choices, strict=True)}
        if violates(claim, given, point):
            return {str(symbol): value for symbol, value in point.items()}
    return None


_REALS = [Fraction(digit) * Fraction(10) ** power for power in range(-4, 4) for digit in (1, 2, 5)]
_COUNTS = [Fraction(n) for n in (1, 2, 3, 5, 8, 16, 100, 10**4, 10**6, 10**9)]
_STEPS = [Fraction(n) for n in (1, 2, 3, 4, 5, 8, 0)]
"""For a number of steps, which stands in exponents."""


def _candidates(
    claim: Condition, given: tuple[Condition, ...], symbols: list[sp.Symbol], arrays: list[Any]
) -> list[int]:
    """Indices at which floating point sees a violation, plainest numbers first."""
    import numpy as np

    with np.errstate(all="ignore"):
        slacks = sp.lambdify(symbols, [c.slack for c in (claim, *given)], "numpy", cse=True)(*arrays)
        bad = np.asarray(slacks[0]) < 0
        for condition, slack in zip(given, slacks[1:], strict=True):
            bad = bad & (np.asarray(slack) >= (-1e-9 if condition.relation == "==" else 0.0))
    if not symbols:
        return [0] if bool(bad) else []
    spread = np.sum([np.abs(np.log10(np.where(array > 0, array, 1.0))) for array in arrays], axis=0)
    found = np.flatnonzero(np.broadcast_to(bad, spread.shape))
    return [int(i) for i in found[np.argsort(spread[found], kind="stable")]]


def violates(claim: Condition, given: Iterable[Condition], point: Mapping[sp.Symbol, Fraction]) -> bool:
    """Whether a point satisfies all given conditions and violates the claim, decided exactly."""
    table = {symbol: sp.Rational(value.numerator, value.denominator) for symbol, value in point.items()}

    def at(condition: Condition) -> bool:
        left, right = condition.left.xreplace(table), condition.right.xreplace(table)
        return holds(Condition(condition.name, left, condition.relation, right))

    return all(at(condition) for condition in given) and not at(claim)
