"""Terms of a bound that its conditions hold to a multiple of another one: A <= c B wherever the statement speaks.

Every condition that can be written as a sum of products of powers that is at most 1 makes each of these products at most 1. A product
of A over one of B that is a constant times such products, to nonnegative powers, is at most that constant. A linear program finds the
powers; what is answered rests on fractions alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from itertools import chain, combinations
from math import ceil, floor, lcm, log, log10
from operator import mul

import sympy as sp

from ..evaluation.enclosure import root_near
from ..evaluation.evaluate import fraction_of
from ..language.theorem import Statement

_LARGEST_DENOMINATOR = 48
"""Largest denominator of the powers of a solution; exponents in a bound are small fractions."""
_GRID = 10**12
"""Roots that are no fractions are rounded up to multiples of one over this."""


@dataclass(frozen=True)
class Monomial:
    """A positive coefficient times a product of powers of symbols that are not negative."""

    factor: Fraction
    powers: Mapping[sp.Expr, Fraction]

    def over(self, other: Monomial) -> Monomial:
        symbols = self.powers.keys() | other.powers.keys()
        left = {s: self.powers.get(s, Fraction(0)) - other.powers.get(s, Fraction(0)) for s in symbols}
        return Monomial(self.factor / other.factor, {s: power for s, power in left.items() if power})


@dataclass(frozen=True)
class Domination:
    """`term <= factor * sum of others` at every point that satisfies the conditions of the statement."""

    term: str
    others: tuple[str, ...]
    factor: Fraction

    def __str__(self) -> str:
        factor = f"{float(self.factor):.3g}"
        named = " + ".join(self.others)
        return f"under the conditions it is at most {factor} times {named}"


def dominated(statement: Statement, name: str, among: Collection[str] | None = None) -> Domination | None:
    """By which other term a term is held, with the least factor that is found; by two of them where no single one does it.

    Args:
        among: the other terms that may hold it; all without it.

    Returns:
        None where nothing is found, which proves nothing.
    """
    signs = _Signs()
    mine = signs.monomials(statement.term(name).expr)
    asked = [term for term in statement.terms if term.name != name and (among is None or term.name in among)]
    others = {term.name: found for term in asked if (found := signs.monomials(term.expr))}
    if mine is None:
        return None
    small = [*_at_most_one(statement, signs), *signs.limits()]
    held = {other: [[_largest(a.over(b), small) for b in found] for a in mine] for other, found in others.items()}
    for choices in (combinations(held, 1), combinations(held, 2)):
        factors = {
            names: _factor([[*chain(*(held[n][i] for n in names))] for i in range(len(mine))]) for names in choices
        }
        holding = [(factor, names) for names, factor in factors.items() if factor is not None]
        if holding:
            least, by = min(holding)
            return Domination(name, by, least)
    return None


def _factor(limits: Sequence[Sequence[Fraction | None]]) -> Fraction | None:
    """A c with sum_i a_i <= c sum_j b_j, where a_i <= limits[i][j] b_j: the b_j carry shares of the a_i."""
    from scipy.optimize import linprog

    known = [(i, j, limit) for i, row in enumerate(limits) for j, limit in enumerate(row) if limit is not None]
    mine, others = range(len(limits)), range(len(limits[0]))
    if {i for i, _, _ in known} != set(mine):
        return None
    rows = [[float(limit) * (j == k) for _, j, limit in known] + [-1.0] for k in others]
    sums = [[float(i == k) for i, _, _ in known] + [0.0] for k in mine]
    cost = [0.0] * len(known) + [1.0]
    solved = linprog(cost, A_ub=rows, b_ub=[0.0] * len(others), A_eq=sums, b_eq=[1.0] * len(mine), bounds=(0, None))
    if not solved.success:
        return None
    shares = [Fraction(max(x, 0.0)).limit_denominator(10**6) for x in solved.x[:-1]]
    whole = {k: sum(s for s, (i, _, _) in zip(shares, known, strict=True) if i == k) for k in mine}
    carried = dict.fromkeys(others, Fraction(0))
    for share, (i, j, limit) in zip(shares, known, strict=True):
        carried[j] += share / whole[i] * limit
    return _rounded_up(max(carried.values()))


def _largest(ratio: Monomial, small: Sequence[Monomial]) -> Fraction | None:
    """An upper limit of a product of powers, where products that are at most 1 limit it."""
    from scipy.optimize import linprog

    symbols = sorted({s for m in (ratio, *small) for s in m.powers}, key=str)
    if any(all(s not in m.powers for m in small) for s in ratio.powers):
        return None
    powers = [[float(m.powers.get(s, 0)) for m in small] for s in symbols]
    wanted = [float(ratio.powers.get(s, 0)) for s in symbols]
    cost = [-log(m.factor) + 1e-9 for m in small]
    solved = linprog(cost, A_eq=powers, b_eq=wanted, bounds=(0, None)) if small else None
    if solved is None or not solved.success:
        return None
    used = [(Fraction(x).limit_denominator(_LARGEST_DENOMINATOR), m) for x, m in zip(solved.x, small, strict=True)]
    used = [(power, m) for power, m in used if power > 0]
    made = {s: sum((power * m.powers.get(s, Fraction(0)) for power, m in used), Fraction(0)) for s in symbols}
    if any(made[s] != ratio.powers.get(s, 0) for s in symbols):
        return None
    common = reduce(lcm, (power.denominator for power, _ in used), 1)
    exact = reduce(mul, (m.factor ** -int(power * common) for power, m in used), ratio.factor**common)
    return root_near(exact, _GRID, order=common)


def _rounded_up(value: Fraction) -> Fraction:
    """To three digits, upward."""
    digits = Fraction(10) ** (2 - floor(log10(value)))
    return ceil(value * digits) / digits


class _Signs:
    """Products of powers, and what stands for `m - 1` where m >= 1, and for functions, whose values are not negative."""

    def __init__(self) -> None:
        self.less: dict[sp.Expr, sp.Dummy] = {}
        self.seen: set[sp.Symbol] = set()

    def monomials(self, expr: sp.Expr) -> list[Monomial] | None:
        """The sum of products that an expression is, None where it is none."""
        plain = self._without_minus(sp.sympify(expr))
        found = []
        for part in sp.Add.make_args(sp.expand(sp.expand_power_base(plain, force=True))):
            monomial = _monomial(part)
            if monomial is None:
                return None
            self.seen |= {s for s in monomial.powers if isinstance(s, sp.Symbol)}
            found.append(monomial)
        return found

    def limits(self) -> Iterator[Monomial]:
        """What whole numbers, and the signs themselves, are at most."""
        for large, less in self.less.items():
            base = _monomial(large)
            if base is not None:
                yield Monomial(Fraction(1), {less: Fraction(1)}).over(base)
        for symbol in sorted(self.seen, key=str):
            if symbol.is_integer and symbol.is_positive:
                yield Monomial(Fraction(1), {symbol: Fraction(-1)})

    def _without_minus(self, expr: sp.Expr) -> sp.Expr:
        """a m + b with b < 0 <= a + b, as (a + b) m + (-b) (m - 1), in numerators and denominators."""
        if expr.is_Atom or not expr.args:
            return expr
        if expr.is_Add and any(part.could_extract_minus_sign() for part in expr.args):
            return self._difference(expr)
        return expr.func(*map(self._without_minus, expr.args)) if expr.is_Add or expr.is_Mul or expr.is_Pow else expr

    def _difference(self, expr: sp.Expr) -> sp.Expr:
        top, bottom = sp.fraction(sp.together(expr))
        number, rest = sp.expand(top).as_coeff_Add()
        large_factor, large = rest.as_coeff_Mul()
        base, power = large.as_base_exp()
        fits = number < 0 <= large_factor + number and base.is_Symbol and base.is_integer and base.is_positive
        if not fits or not power.is_Rational or power < 0:
            return expr
        less = self.less.setdefault(large, sp.Dummy(f"{large} - 1", nonnegative=True))
        return ((large_factor + number) * large - number * less) / bottom


def _monomial(expr: sp.Expr) -> Monomial | None:
    factor = Fraction(1)
    powers: dict[sp.Expr, Fraction] = {}
    for part in sp.Mul.make_args(expr):
        if part.is_Rational:
            factor *= fraction_of(part)
            continue
        base, power = part.as_base_exp()
        if not power.is_Rational or base.is_Add or base.is_number:
            return None
        powers[base] = powers.get(base, Fraction(0)) + fraction_of(power)
    return Monomial(factor, {s: power for s, power in powers.items() if power}) if factor > 0 else None


def _at_most_one(statement: Statement, signs: _Signs) -> Iterator[Monomial]:
    """The products that the conditions, the domains and the derived constants say to be at most 1."""
    for condition in (*statement.conditions, *statement.method_range):
        left, right = condition.left, condition.right
        if condition.relation in ("<", "<=", "=="):
            yield from _parts(left / right, signs)
        if condition.relation in (">", ">=", "=="):
            yield from _parts(right / left, signs)
    for binding in statement.symbols.values():
        most = binding.quantity.numbers.most
        if most is not None:
            yield from _parts(binding.symbol / most, signs)
    for constant in statement.derived:
        ratio = sp.sympify(constant.expr) / constant.symbol
        yield from _parts(ratio, signs)
        if not ratio.is_Add and not sp.expand(ratio).is_Add:
            yield from _parts(1 / ratio, signs)


def _parts(ratio: sp.Expr, signs: _Signs) -> Iterator[Monomial]:
    """Of a sum of products that is at most 1, to the power that clears its root; nothing where it is no such sum."""
    sums = [p.as_base_exp()[1] for p in sp.Mul.make_args(sp.powdenest(ratio, force=True)) if p.as_base_exp()[0].is_Add]
    power = sums[0] if len(sums) == 1 else sp.Integer(1)
    if not power.is_Rational or power <= 0:
        return
    cleared = _denested(ratio ** (1 / power if power < 1 else 1))
    roots = [p.as_base_exp()[1] for p in sp.Mul.make_args(cleared) if p.is_number and not p.is_Rational]
    order = reduce(lcm, (int(root.q) for root in roots if root.is_Rational), 1)
    yield from signs.monomials(cleared if sums else _denested(cleared**order)) or ()


def _denested(expr: sp.Expr) -> sp.Expr:
    return sp.powdenest(sp.expand_power_base(expr, force=True), force=True)
