"""The admissible set of one hyperparameter: exact end points, the conditions that bind there, and a check on both sides.

Each condition, with everything else fixed at exact numbers, becomes a comparison of two functions of one positive variable.
Its sign can change only at roots of a generalised polynomial (rational exponents), which are isolated and enclosed by rational
numbers; the sign between two roots is decided exactly at a rational point. Nothing relies on a solver's idea of positivity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from math import ceil, floor, inf, nextafter
from typing import Any

import sympy as sp

from .evaluate import exact, holds, sign
from .quantities import slack_symbol
from .reading import InputError, read_values
from .theorem import Condition, Statement, Theorem

_WIDTH = Fraction(1, 10**18)


@dataclass(frozen=True)
class Interval:
    """An admissible interval; `binding` names the condition at each end (None where the domain ends)."""

    lower: float
    upper: float | None
    lower_closed: bool
    upper_closed: bool
    binding: dict[str, str | None]

    def contains(self, value: float) -> bool:
        above = value > self.lower or (self.lower_closed and value == self.lower)
        below = self.upper is None or value < self.upper or (self.upper_closed and value == self.upper)
        return above and below

    def __str__(self) -> str:
        left, right = "[" if self.lower_closed else "(", "]" if self.upper_closed else ")"
        upper = "inf" if self.upper is None else f"{self.upper:.10g}"
        return f"{left}{self.lower:.10g}, {upper}{right}"

    def markdown(self) -> str:
        return f"`{self}` (binding: {self.binding['lower'] or '-'} / {self.binding['upper'] or '-'})"


@dataclass(frozen=True)
class Admissible:
    """Admissible intervals of the solved hyperparameters; `conflict` is a minimal set of conditions that exclude each other."""

    theorem: str
    statement: str
    feasible: bool
    intervals: dict[str, Interval]
    conflict: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        if not self.feasible:
            return f"{self.theorem} ({self.statement}): infeasible; conflicting conditions: {', '.join(self.conflict)}"
        rows = [f"  {name} in {interval.markdown()}" for name, interval in self.intervals.items()]
        return "\n".join([f"{self.theorem} ({self.statement}):", *rows])


@dataclass(frozen=True)
class _End:
    """An end point as a rational enclosure [low, high] (low == high when exact) and the condition that causes it."""

    low: Fraction
    high: Fraction
    name: str


def admissible(
    theorem: Theorem, solve: str | tuple[str, ...], values: Mapping[str, Any], *, statement: str = "printed"
) -> Admissible:
    """The admissible set of `solve` with everything else fixed.

    With several names, each is the projection that remains when the others are solved for too (see `_solve_jointly`).

    Raises:
        InputError: unknown symbol, bad value, or something else than the solved hyperparameters is missing.
    """
    names = (solve,) if isinstance(solve, str) else tuple(solve)
    if len(names) != 1:
        from .joint import admissible_jointly

        return admissible_jointly(theorem, names, values, statement=statement)
    name = names[0]
    chosen = theorem.statement(statement)
    variable, conditions = univariate(theorem, chosen, name, values)
    pieces = intersect(conditions, variable)
    if not pieces:
        return Admissible(theorem.id, statement, False, {}, minimal_conflict(conditions, variable))
    return Admissible(theorem.id, statement, True, {name: pieces[-1] if len(pieces) == 1 else _largest(pieces)})


def univariate(
    theorem: Theorem, statement: Statement, name: str, values: Mapping[str, Any]
) -> tuple[sp.Symbol, list[Condition]]:
    """The conditions as functions of one symbol, everything else replaced by exact numbers.

    A symbol that is neither given nor solved for comes from the schedule; if the schedule determines the solved symbol from
    a missing one (eta = sqrt(b K / T) with T missing), the equality is solved for the missing one instead.
    """
    bindings = theorem.symbols(statement.label)
    if name not in bindings:
        raise InputError(f"{name[:30]}: not a symbol of {theorem.id} ({statement.label}); wanted one of {' '.join(bindings)}")
    if bindings[name].quantity.role != "hyperparameter":
        raise InputError(f"{name}: is a {bindings[name].quantity.role}, wanted a hyperparameter to solve for")
    given = {key: value for key, value in values.items() if key != name}
    numbers = read_values(bindings, given, f"{theorem.id} ({statement.label})")
    point = {bindings[key].symbol: exact(value) for key, value in numbers.items()}
    conditions = [
        Condition(c.name, statement.expand(c.left), c.relation, statement.expand(c.right)) for c in statement.conditions
    ]
    conditions, point = _eliminate(statement, bindings, name, conditions, point)
    variable = bindings[name].symbol
    left_over = {s for c in conditions for s in (c.left.free_symbols | c.right.free_symbols)} - {variable} - set(point)
    if left_over:
        missing = ", ".join(sorted(map(str, left_over)))
        raise InputError(f"{sorted(map(str, left_over))[0]}: wanted a number, got nothing; missing: {missing}")
    fixed = [Condition(c.name, c.left.xreplace(point), c.relation, c.right.xreplace(point)) for c in conditions]
    return variable, split_extrema(fixed)


def _eliminate(
    statement: Statement, bindings: Mapping[str, Any], name: str, conditions: list[Condition], point: dict[sp.Symbol, sp.Expr]
) -> tuple[list[Condition], dict[sp.Symbol, sp.Expr]]:
    """Remove unknown symbols through the schedule, or through an equality condition solved for them."""
    variable = bindings[name].symbol
    for _ in range(len(bindings)):
        used = {s for c in conditions for s in (c.left.free_symbols | c.right.free_symbols)}
        unknown = sorted(used - {variable} - set(point), key=str)
        if not unknown:
            break
        for symbol in unknown:
            formula = _formula_for(statement, conditions, symbol, variable, point)
            if formula is not None:
                table = {symbol: formula}
                conditions = [
                    Condition(c.name, c.left.xreplace(table), c.relation, c.right.xreplace(table)) for c in conditions
                ]
                break
        else:
            break
    return [c for c in conditions if not (c.relation == "==" and c.left == c.right)], point


def _formula_for(
    statement: Statement, conditions: list[Condition], symbol: sp.Symbol, variable: sp.Symbol, point: Mapping[sp.Symbol, Any]
) -> sp.Expr | None:
    known = {variable} | set(point)
    scheduled = statement.schedule.get(str(symbol))
    if scheduled is not None:
        formula = statement.expand(scheduled)
        if symbol not in formula.free_symbols:
            return formula
    for condition in conditions:
        sides = condition.left.free_symbols | condition.right.free_symbols
        if condition.relation == "==" and symbol in sides and sides - {symbol} <= known:
            solutions = sp.solve(condition.left**2 - condition.right**2, symbol, dict=False)
            positive = [value for value in solutions if value.is_positive]
            if positive:
                return positive[0]
    return None


def split_extrema(conditions: list[Condition]) -> list[Condition]:
    """`x <= Min(a, b)` becomes two conditions, `x >= Max(a, b)` likewise; names get an index."""
    result: list[Condition] = []
    for c in conditions:
        small, large = (c.right, c.left) if c.relation in (">", ">=") else (c.left, c.right)
        upper = isinstance(large, sp.Min)
        lower = isinstance(small, sp.Max)
        if c.relation == "==" or not (upper or lower):
            result.append(c)
            continue
        relation = "<" if c.relation in ("<", ">") else "<="
        pairs = [(small, part) for part in large.args] if upper else [(part, large) for part in small.args]
        split = [Condition(f"{c.name}[{i}]", a, relation, b) for i, (a, b) in enumerate(pairs, start=1)]
        result += split_extrema(split)
    return result


def intersect(conditions: list[Condition], variable: sp.Symbol) -> list[Interval]:
    """The maximal intervals of positive values (integers for a count) on which all conditions hold."""
    ends: list[_End] = []
    for condition in conditions:
        ends += [_End(low, high, condition.name) for low, high in crossings(condition, variable)]
    ends.sort(key=lambda end: (end.low, end.high))
    if variable.is_integer:
        return _integer_pieces(conditions, variable, ends)
    return _real_pieces(conditions, variable, ends)


def crossings(condition: Condition, variable: sp.Symbol) -> list[tuple[Fraction, Fraction]]:
    """Enclosures of the positive values at which the two sides are equal or one of them has a pole."""
    left, right = _clear_root(condition.left, condition.right, variable)
    if variable not in (left - right).free_symbols:
        return []
    numerator, denominator = sp.fraction(sp.together(sp.powsimp(left - right)))
    found: list[tuple[Fraction, Fraction]] = []
    for part in (numerator, denominator):
        found += _positive_roots(part, variable)
    return found


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
    return sp.expand_power_base(left**order, force=True), sp.expand_power_base(right**order, force=True)


def _positive_roots(expr: sp.Expr, variable: sp.Symbol) -> list[tuple[Fraction, Fraction]]:
    """Rational enclosures of the positive roots of a generalised polynomial."""
    terms = sp.collect(sp.expand(sp.expand_power_base(expr, force=True)), variable, evaluate=False)
    exponents = {}
    for power, coefficient in terms.items():
        base, exponent = power.as_base_exp() if power != 1 else (variable, sp.Integer(0))
        if base != variable or not exponent.is_Rational or variable in coefficient.free_symbols:
            raise InputError(f"cannot solve for {variable}: not a sum of powers in {sp.sstr(expr)[:80]}")
        exponents[exponent] = coefficient
    order = int(sp.ilcm(1, *(e.q for e in exponents)))
    shift = min(exponents) if exponents else sp.Integer(0)
    powers = {int((e - shift) * order): c for e, c in exponents.items() if sign(c) != 0}
    if len(powers) < 2:
        return []
    roots = _isolate(powers)
    return [(low**order, high**order) for low, high in roots]


def _isolate(powers: Mapping[int, sp.Expr]) -> list[tuple[Fraction, Fraction]]:
    """Enclosures of the positive roots of a polynomial given by exponent -> exact coefficient."""
    degrees = sorted(powers)
    signs = [sign(powers[d]) for d in degrees]
    changes = sum(a != b for a, b in zip(signs, signs[1:], strict=False))
    if changes == 0:
        return []
    if all(c.is_Rational for c in powers.values()):
        polynomial = sp.Poly.from_dict({(d,): c for d, c in powers.items()}, slack_symbol("w"), domain="QQ")
        return _rational_roots(polynomial)
    if changes == 1:
        return [_bisect(powers)]
    raise InputError("cannot isolate the roots of a condition with irrational coefficients and several sign changes")


def _rational_roots(polynomial: sp.Poly) -> list[tuple[Fraction, Fraction]]:
    eps = sp.Rational(1, 10**40)
    found = []
    for (low, high), _ in polynomial.intervals(inf=0, eps=None):
        if high <= 0:
            continue
        low, high = polynomial.refine_root(max(low, 0), high, eps=_relative(low, high) * eps) if low != high else (low, high)
        if high > 0:
            found.append((Fraction(int(low.p), int(low.q)), Fraction(int(high.p), int(high.q))))
    return found


def _relative(low: sp.Rational, high: sp.Rational) -> sp.Rational:
    scale = high if low <= 0 else low
    return sp.Rational(1, 2) ** max(0, -int(sp.floor(sp.log(scale, 2)))) if scale < 1 else sp.Integer(1)


def _bisect(powers: Mapping[int, sp.Expr]) -> tuple[Fraction, Fraction]:
    """The only positive root (one sign change), by bisection with exact signs, to a relative width of 1e-18."""

    def value_sign(at: Fraction) -> int:
        return sign(sp.Add(*(c * exact(at) ** d for d, c in powers.items())))

    at_zero = sign(powers[min(powers)])
    low, high = Fraction(1), Fraction(1)
    while value_sign(low) != at_zero:
        low /= 4
    while value_sign(high) == at_zero:
        high *= 4
    while high - low > _WIDTH * low:
        middle = ((low + high) / 2).limit_denominator(10**40)
        here = value_sign(middle)
        if here == 0:
            return middle, middle
        low, high = (middle, high) if here == at_zero else (low, middle)
    return low, high


def _all_hold(conditions: list[Condition], variable: sp.Symbol, value: Fraction) -> bool:
    return not failing(conditions, variable, value)


def failing(conditions: list[Condition], variable: sp.Symbol, value: Fraction) -> list[str]:
    """Names of the conditions that fail at a value, decided exactly."""
    table = {variable: exact(value)}

    def at(c: Condition) -> Condition:
        return Condition(c.name, c.left.xreplace(table), c.relation, c.right.xreplace(table))

    return [c.name for c in conditions if not holds(at(c))]


def _real_pieces(conditions: list[Condition], variable: sp.Symbol, ends: list[_End]) -> list[Interval]:
    """Alternate end points and the open gaps between them; join what holds."""
    cells: list[tuple[_End | None, _End | None, bool]] = []
    merged = _merge(ends)
    borders: list[_End | None] = [None, *merged, None]
    for before, after in zip(borders, borders[1:], strict=False):
        cells.append((before, after, _all_hold(conditions, variable, _between(before, after))))
        if after is not None:
            cells.append((after, after, _holds_at(conditions, variable, after)))
    pieces: list[Interval] = []
    start: _End | None | str = "none"
    closed = False
    for index, (before, after, good) in enumerate(cells):
        is_point = before is after and before is not None
        if good and start == "none":
            start, closed = before, is_point
        last = index + 1 == len(cells) or not cells[index + 1][2]
        if good and last and start != "none":
            pieces.append(_interval(conditions, variable, start, after, closed, is_point))  # type: ignore[arg-type]
            start = "none"
    return pieces


def _merge(ends: list[_End]) -> list[_End]:
    """Overlapping enclosures become one end point (its name is settled by testing, see `_interval`)."""
    merged: list[_End] = []
    for end in ends:
        if merged and end.low <= merged[-1].high:
            previous = merged.pop()
            end = _End(min(previous.low, end.low), max(previous.high, end.high), previous.name)
        if end.high > 0:
            merged.append(end)
    return merged


def _between(before: _End | None, after: _End | None) -> Fraction:
    if before is None and after is None:
        return Fraction(1)
    if after is None:
        return before.high * 2  # type: ignore[union-attr]
    return after.low / 2 if before is None else (before.high + after.low) / 2


def _holds_at(conditions: list[Condition], variable: sp.Symbol, end: _End) -> bool:
    """Whether all conditions hold at the end point itself: exactly if it is rational, else by strictness and continuity."""
    if end.low == end.high:
        return _all_hold(conditions, variable, end.low)
    for condition in conditions:
        touches = any(low <= end.high and end.low <= high for low, high in crossings(condition, variable))
        if touches and condition.relation in ("<", ">"):
            return False
        if not touches and not _all_hold([condition], variable, (end.low + end.high) / 2):
            return False
    return True


def _interval(
    conditions: list[Condition], variable: sp.Symbol, start: _End | None, stop: _End | None, low_closed: bool, high_closed: bool
) -> Interval:
    binding = {
        "lower": _binding(conditions, variable, start, -1),
        "upper": _binding(conditions, variable, stop, +1),
    }
    lower = 0.0 if start is None else _safe_float(start.high if start.low != start.high else start.low, up=True)
    upper = None if stop is None else _safe_float(stop.low if stop.low != stop.high else stop.high, up=False)
    return Interval(lower, upper, low_closed and start is not None, high_closed and stop is not None, binding)


def _binding(conditions: list[Condition], variable: sp.Symbol, end: _End | None, side: int) -> str | None:
    """The condition that fails just outside an end point."""
    if end is None:
        return None
    step = max(end.high - end.low, end.high * Fraction(1, 10**12))
    outside = end.high + step if side > 0 else end.low - step
    names = failing(conditions, variable, outside) if outside > 0 else []
    return ", ".join(names) or None


def _safe_float(value: Fraction, *, up: bool) -> float:
    """The nearest float on the safe (inner) side."""
    number = float(value)
    if up and Fraction(number) < value:
        return nextafter(number, inf)
    if not up and Fraction(number) > value:
        return nextafter(number, -inf)
    return number


def _integer_pieces(conditions: list[Condition], variable: sp.Symbol, ends: list[_End]) -> list[Interval]:
    """Runs of positive integers between consecutive end points on which all conditions hold."""
    marks = sorted({1, *(max(1, v) for end in ends for v in (floor(end.low), ceil(end.low), floor(end.high), ceil(end.high)))})
    pieces: list[Interval] = []
    start: int | None = None
    for index, mark in enumerate(marks):
        following = marks[index + 1] if index + 1 < len(marks) else None
        good_here = _all_hold(conditions, variable, Fraction(mark))
        inner = mark + 1
        good_gap = (following is None or inner < following) and _all_hold(conditions, variable, Fraction(inner))
        has_gap = following is None or inner < following
        if good_here and start is None:
            start = mark
        if not good_here and start is not None:
            pieces.append(_count_interval(conditions, variable, start, mark - 1))
            start = None
        if has_gap and good_gap and start is None:
            start = inner
        if has_gap and not good_gap and start is not None:
            pieces.append(_count_interval(conditions, variable, start, mark))
            start = None
    if start is not None:
        pieces.append(_count_interval(conditions, variable, start, None))
    return pieces


def _count_interval(conditions: list[Condition], variable: sp.Symbol, low: int, high: int | None) -> Interval:
    below = failing(conditions, variable, Fraction(low - 1)) if low > 1 else []
    above = failing(conditions, variable, Fraction(high + 1)) if high is not None else []
    binding = {"lower": ", ".join(below) or None, "upper": ", ".join(above) or None}
    return Interval(low, high, True, high is not None, binding)


def _largest(pieces: list[Interval]) -> Interval:
    return max(pieces, key=lambda piece: float("inf") if piece.upper is None else piece.upper - piece.lower)


def minimal_conflict(conditions: list[Condition], variable: sp.Symbol) -> tuple[str, ...]:
    """A minimal set of conditions that no value satisfies: drop each one that is not needed."""
    kept = list(conditions)
    for condition in conditions:
        trial = [c for c in kept if c is not condition]
        if not intersect(trial, variable):
            kept = trial
    return tuple(c.name for c in kept)
