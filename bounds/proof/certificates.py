"""Exact certificates of inequalities between expressions in positive symbols, and exact counterexamples.

An inequality that holds on a whole region is proved by substituting the region away (eta <= c becomes eta = c/(1+u) with
u >= 0) and looking at the coefficients: a polynomial with no negative coefficient is nonnegative for nonnegative symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any

import sympy as sp

from ..evaluation.enclosure import fraction_of
from ..evaluation.evaluate import holds
from ..language.theorem import Condition


@dataclass(frozen=True)
class PolynomialCertificate:
    """`expr >= 0` because numerator and denominator, after the substitution, have no negative coefficient.

    Args:
        expr: what is claimed to be nonnegative.
        substitution: (symbol, expression in other symbols), applied in order; it sweeps the region.
        symbols: what is left, nonnegative; the monomials count their powers in this order.
        numerator, denominator: ((powers, coefficient), ...).
    """

    expr: sp.Expr
    substitution: tuple[tuple[sp.Symbol, sp.Expr], ...]
    symbols: tuple[sp.Symbol, ...]
    numerator: tuple[tuple[tuple[int, ...], Fraction], ...]
    denominator: tuple[tuple[tuple[int, ...], Fraction], ...]

    @property
    def claim(self) -> str:
        return f"{self.expr} >= 0"

    def recheck(self) -> bool:
        """Whether no coefficient is negative, and the quotient is the claim's expression at as many points as it has monomials,
        and ten more: exact evaluations of the claim with its substitution, without the algebra that found the quotient.
        """
        signs = all(c >= 0 for _, c in self.numerator) and all(c > 0 for _, c in self.denominator)
        if not signs or not self.denominator:
            return False
        count = len(self.numerator) + len(self.denominator) + 10
        return all(
            self._agrees_at([Fraction(2 + (7 * k + 5 * i * i) % 97, 1 + k % 13) for i in range(len(self.symbols))])
            for k in range(count)
        )

    def _agrees_at(self, values: list[Fraction]) -> bool:
        expr = self.expr
        for symbol, value in self.substitution:
            expr = expr.xreplace({symbol: value})
        point = {s: sp.Rational(v.numerator, v.denominator) for s, v in zip(self.symbols, values, strict=True)}
        top, bottom = (_value(part, values) for part in (self.numerator, self.denominator))
        return bool(
            sp.simplify(expr.xreplace(point) - sp.Rational((top / bottom).numerator, (top / bottom).denominator)) == 0
        )


def _value(polynomial: tuple[tuple[tuple[int, ...], Fraction], ...], values: list[Fraction]) -> Fraction:
    return sum((c * prod(v**n for v, n in zip(values, powers, strict=True)) for powers, c in polynomial), Fraction(0))


def prove_nonnegative(
    expr: sp.Expr, substitution: Mapping[sp.Symbol, sp.Expr] | None = None
) -> PolynomialCertificate | None:
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
    both = tuple(sorted(numerator.free_symbols | denominator.free_symbols, key=str))
    steps = tuple((substitution or {}).items())
    return PolynomialCertificate(
        expr,
        (*steps, *roots),
        both,
        *(_over(both, part, found) for part, found in ((numerator, top), (denominator, bottom))),
    )


def _over(
    symbols: tuple[sp.Symbol, ...], expr: sp.Expr, found: list[tuple[tuple[int, ...], Fraction]]
) -> tuple[tuple[tuple[int, ...], Fraction], ...]:
    """Monomials in the symbols of one polynomial, as monomials in the symbols of both."""
    own = sorted(expr.free_symbols, key=str)
    return tuple((tuple(dict(zip(own, powers, strict=True)).get(s, 0) for s in symbols), c) for powers, c in found)


def _without_roots(expr: sp.Expr) -> tuple[sp.Expr, tuple[tuple[sp.Symbol, sp.Expr], ...]]:
    """Replace each symbol that stands under a fractional power by a power of a new nonnegative symbol."""
    from ..language.notation import slack_symbol

    if all(power.exp.is_Integer for power in expr.atoms(sp.Pow)):
        return expr, ()
    expr = sp.powdenest(sp.expand_power_base(expr), force=True)
    needed: dict[sp.Symbol, int] = {}
    for power in expr.atoms(sp.Pow):
        base, exponent = power.as_base_exp()
        if exponent.is_Rational and not exponent.is_Integer and base.is_Symbol:
            needed[base] = int(sp.ilcm(needed.get(base, 1), exponent.q))
    table = {symbol: slack_symbol(f"root_{symbol}") ** order for symbol, order in needed.items()}
    replaced = sp.powdenest(expr.xreplace(table), force=True)
    return replaced, tuple(table.items())


def _coefficients(expr: sp.Expr) -> list[tuple[tuple[int, ...], Fraction]] | None:
    symbols = sorted(expr.free_symbols, key=str)
    if not symbols:
        return [((), fraction_of(expr))] if expr.is_Rational else None
    try:
        polynomial = sp.Poly(sp.expand(expr), *symbols)
    except sp.PolynomialError:
        return None
    if not all(c.is_Rational for c in polynomial.coeffs()):
        return None
    return [(monomial, fraction_of(c)) for monomial, c in polynomial.terms()]


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
"""Values that are tried for a number of steps, which stands in exponents."""


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
        return holds(condition.each_side(lambda side: side.xreplace(table)))

    return all(at(condition) for condition in given) and not at(claim)
