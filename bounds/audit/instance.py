"""Functions of one variable in exact arithmetic, clients made of them, and which stated assumptions they satisfy.

A curve is rational on each of finitely many pieces. Whether a bound of a curve holds on the whole line is decided exactly, by the
roots of polynomials; no grid and no rounding. The bounds are read off what the quantities of a statement formally bound
(`language.bounding`), so that an assumption that `fedco show` prints is checked as it is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce
from itertools import pairwise

import sympy as sp

from ..language import bounding
from ..language.bounding import Form
from ..language.theorem import Assumption, Statement

Number = Fraction | int
X = sp.Symbol("x", real=True)
DRAWN = (bounding.FRESH, bounding.INDEPENDENT, bounding.INDEPENDENT_CLIENTS, bounding.SEPARATE, bounding.ONE_LAW)
"""Sayings about samples, which hold where nothing is random."""
_DIFFERENTIABLE = (bounding.DIFFERENTIABLE, bounding.SMOOTH_FUNCTIONS, bounding.SMOOTH_SAMPLES)


def exact(value: Number | sp.Expr) -> sp.Expr:
    """A rational number for sympy."""
    return sp.Rational(value.numerator, value.denominator) if isinstance(value, Fraction) else sp.sympify(value)


@dataclass(frozen=True)
class Curve:
    """A function of one variable: (from, to, expression in x) for neighbouring pieces that cover the line.

    Raises:
        ValueError: the pieces leave a gap.
    """

    pieces: tuple[tuple[sp.Expr, sp.Expr, sp.Expr], ...]

    def __post_init__(self) -> None:
        ends = [-sp.oo, *(high for _, high, _ in self.pieces)]
        if [low for low, _, _ in self.pieces] != ends[:-1] or ends[-1] != sp.oo:
            raise ValueError("the pieces of a curve cover the line, in order")

    @classmethod
    def whole(cls, expression: Number | sp.Expr) -> Curve:
        """One formula on the whole line."""
        return cls(((-sp.oo, sp.oo, exact(expression)),))

    @classmethod
    def with_slope(cls, knots: Sequence[tuple[Number, Number]]) -> Curve:
        """The curve with value 0 at 0 whose derivative is piecewise linear through the knots and constant outside."""
        return cls._joined(knots).integral(0)

    @classmethod
    def _joined(cls, knots: Sequence[tuple[Number, Number]]) -> Curve:
        points = sorted((exact(x), exact(y)) for x, y in knots)
        rows = [(-sp.oo, points[0][0], points[0][1])]
        for (x0, y0), (x1, y1) in pairwise(points):
            rows.append((x0, x1, y0 + (y1 - y0) * (X - x0) / (x1 - x0)))
        return cls((*rows, (points[-1][0], sp.oo, points[-1][1])))

    @classmethod
    def with_curvature(cls, knots: Sequence[tuple[Number, Number]], slope: Number = 0) -> Curve:
        """The curve with value 0 and this slope at 0 whose second derivative is piecewise linear through the knots and 0 outside."""
        return cls._joined(knots).integral(slope).integral(0)

    def integral(self, at_zero: Number) -> Curve:
        """The continuous antiderivative with this value at 0."""
        rows: list[tuple[sp.Expr, sp.Expr, sp.Expr]] = []
        for low, high, expr in self.pieces:
            found = sp.integrate(expr, X)
            before = rows[-1][2].subs(X, low) if rows else found
            rows.append((low, high, found if not rows else found - found.subs(X, low) + before))
        shift = exact(at_zero) - Curve(tuple(rows)).at(0)
        return Curve(tuple((low, high, sp.expand(expr + shift)) for low, high, expr in rows))

    def at(self, x: Number | sp.Expr) -> sp.Expr:
        value = exact(x)
        return next(expr.subs(X, value) for _, high, expr in self.pieces if value <= high)

    @cached_property
    def derivative(self) -> Curve:
        return self.each(lambda expr: sp.diff(expr, X))

    def each(self, change: Callable[[sp.Expr], sp.Expr]) -> Curve:
        return Curve(tuple((low, high, change(expr)) for low, high, expr in self.pieces))

    def with_(self, other: Curve, join: Callable[[sp.Expr, sp.Expr], sp.Expr]) -> Curve:
        """join(self, other), piece by piece."""
        ends = sorted({high for _, high, _ in (*self.pieces, *other.pieces)}, key=lambda end: (end == sp.oo, end))
        lows = [-sp.oo, *ends[:-1]]
        spans = list(zip(lows, ends, strict=True))
        return Curve(tuple((low, high, join(self.on(low, high), other.on(low, high))) for low, high in spans))

    def on(self, _low: sp.Expr, high: sp.Expr) -> sp.Expr:
        """The expression on an interval, which lies within one piece."""
        return next(expr for _, end, expr in self.pieces if high <= end)

    def __add__(self, other: Curve) -> Curve:
        return self.with_(other, lambda a, b: a + b)

    def __sub__(self, other: Curve) -> Curve:
        return self.with_(other, lambda a, b: a - b)

    def __rmul__(self, factor: Number) -> Curve:
        return self.each(lambda expr: exact(factor) * expr)

    def __truediv__(self, divisor: int) -> Curve:
        return Fraction(1, divisor) * self

    @property
    def squared(self) -> Curve:
        return self.each(lambda expr: expr**2)

    def after(self, slope: Number, offset: Number) -> Curve:
        """x -> self(slope x + offset)."""
        a, b = exact(slope), exact(offset)
        if a == 0:
            return Curve.whole(self.at(b))
        rows = [((low - b) / a, (high - b) / a, expr.subs(X, a * X + b)) for low, high, expr in self.pieces]
        return Curve(tuple(rows if a > 0 else [(high, low, expr) for low, high, expr in reversed(rows)]))

    @property
    def line(self) -> tuple[sp.Expr, sp.Expr] | None:
        """(slope, value at 0) of a curve that is one straight line."""
        first, *more = (sp.expand(expr) for _, _, expr in self.pieces)
        if any(sp.expand(expr - first) != 0 for expr in more) or not first.is_polynomial(X) or sp.degree(first, X) > 1:
            return None
        return sp.diff(first, X), first.subs(X, 0)

    def is_at_most(self, bound: Number | sp.Expr) -> bool:
        """Whether the curve is at most a number everywhere; decided exactly."""
        return all(nonnegative(exact(bound) - expr, low, high) for low, high, expr in self.pieces)

    @property
    def is_bounded(self) -> bool:
        """Whether some number bounds its size."""
        ends = [self.pieces[0][2], self.pieces[-1][2]]
        parts = [sp.fraction(sp.together(expr)) for expr in ends]
        return all(sp.degree(sp.expand(top), X) <= sp.degree(sp.expand(low), X) for top, low in parts if top != 0)

    @property
    def is_bounded_below(self) -> bool:
        """Whether its limits at both ends are above minus infinity; there is no pole in between."""
        ends = [(self.pieces[0][2], -sp.oo), (self.pieces[-1][2], sp.oo)]
        return self.is_continuous and all(sp.limit(expr, X, end) > -sp.oo for expr, end in ends)

    @property
    def is_continuous(self) -> bool:
        inner = zip(self.pieces, self.pieces[1:], strict=False)
        return all(
            sp.simplify(before[2].subs(X, before[1]) - after[2].subs(X, before[1])) == 0 for before, after in inner
        )


def nonnegative(expr: sp.Expr, low: sp.Expr, high: sp.Expr) -> bool:
    """Whether a rational function of x is nonnegative on an interval, and has no pole there.

    Its sign changes only at roots of odd order; of these, real ones inside the interval are counted exactly.
    """
    top, below = sp.fraction(sp.together(sp.expand(expr)))
    denominator = sp.Poly(below, X, domain="QQ")
    if denominator.degree() > 0 and _roots(denominator, low, high, inside=False):
        return False
    whole = sp.Poly(sp.expand(top * below), X, domain="QQ")
    if whole.is_zero:
        return True
    odd = reduce(
        lambda a, b: a * b, (part for part, power in whole.sqf_list()[1] if power % 2), sp.Poly(1, X, domain="QQ")
    )
    return not _roots(odd, low, high, inside=True) and whole.eval(_between(whole, low, high)) >= 0


def _roots(poly: sp.Poly, low: sp.Expr, high: sp.Expr, *, inside: bool) -> int:
    """How many different real roots there are on an interval; with `inside` without its ends."""
    if poly.degree() <= 0:
        return 0
    found = int(poly.count_roots(None if low == -sp.oo else low, None if high == sp.oo else high))
    ends = {end for end in (low, high) if end.is_finite and poly.eval(end) == 0}
    return found - (len(ends) if inside else 0)


def _between(poly: sp.Poly, low: sp.Expr, high: sp.Expr) -> sp.Expr:
    """A point of an interval at which a polynomial that is not 0 is not 0."""
    start, width = (
        (low, high - low) if low.is_finite and high.is_finite else (low if low.is_finite else high, sp.Integer(1))
    )
    start, width = (sp.Integer(0), width) if not start.is_finite else (start, width if low.is_finite else -width)
    points = (start + width * sp.Rational(k, poly.degree() + 2) for k in range(1, poly.degree() + 2))
    return next(point for point in points if poly.eval(point) != 0)


@dataclass(frozen=True)
class Law:
    """The samples of one client's function, each with its probability.

    Raises:
        ValueError: the probabilities do not add up to 1.
    """

    samples: tuple[tuple[Fraction, Curve], ...]

    def __post_init__(self) -> None:
        if sum((p for p, _ in self.samples), Fraction(0)) != 1:
            raise ValueError("probabilities add up to 1")

    @classmethod
    def surely(cls, curve: Curve) -> Law:
        return cls(((Fraction(1), curve),))

    @classmethod
    def fair(cls, *curves: Curve) -> Law:
        return cls(tuple((Fraction(1, len(curves)), curve) for curve in curves))

    @cached_property
    def derivative(self) -> Law:
        return Law(tuple((p, curve.derivative) for p, curve in self.samples))

    @cached_property
    def mean(self) -> Curve:
        return _sum(p * curve for p, curve in self.samples)


def _sum(curves: Iterable[Curve]) -> Curve:
    return reduce(Curve.__add__, curves)


def _mean(curves: Sequence[Curve]) -> Curve:
    return _sum(curves) / len(curves)


@dataclass(frozen=True)
class Clients:
    """Clients in one dimension, in groups of equal size: the laws of their functions, where the method starts, and the objective.

    Args:
        outer, inner, extra: f_k, g_k and h_k of a composition. local: f_i of a plain problem or of meta-learning.
        start: of all models. estimate: of the inner value, where a method is given one.
        gap: words and a check of why the start is so near to the infimum, where the objective is not made of `outer` and `inner`.
        by_construction: what else an assumption says (`bounding.SAYINGS`, or the name of an entry) -> why it holds.
        derivatives: how often every function has to be continuously differentiable.
    """

    start: Fraction
    outer: tuple[Law, ...] = ()
    inner: tuple[Law, ...] = ()
    extra: tuple[Law, ...] = ()
    local: tuple[Law, ...] = ()
    estimate: Fraction | None = None
    gap: Callable[[Fraction], bool] | None = field(default=None, compare=False)
    by_construction: Mapping[str, str] = field(default_factory=dict, compare=False)
    derivatives: int = 1

    @property
    def laws(self) -> tuple[Law, ...]:
        return (*self.outer, *self.inner, *self.extra, *self.local)

    @property
    def is_random(self) -> bool:
        return any(len(law.samples) > 1 for law in self.laws)

    def role(self, name: str) -> tuple[Law, ...]:
        """The laws of a role of `bounding.FUNCTIONS`.

        Raises:
            ValueError: the clients have no such function.
        """
        table: dict[str, tuple[Law, ...]] = {
            "outer_gradient": tuple(law.derivative for law in self.outer),
            "inner_value": self.inner,
            "inner_jacobian": tuple(law.derivative for law in self.inner),
            "extra_gradient": tuple(law.derivative for law in self.extra),
            "local_gradient": tuple(law.derivative for law in self.local),
            "local_hessian": tuple(law.derivative.derivative for law in self.local),
        }
        if not table.get(name):
            raise ValueError(f"the instance has no {bounding.FUNCTIONS.get(name, name)}")
        return table[name]

    @cached_property
    def objective(self) -> Curve:
        """mean_k f_k(g_k(x)) + mean_k h_k(x) of the mean functions; the g_k are straight lines.

        With one outer function for all clients it is f(mean_k g_k(x)) + mean_k h_k(x); of a plain problem it is mean_i f_i(x).

        Raises:
            ValueError: an inner map is curved in the mean.
        """
        if self.local:
            return _mean([law.mean for law in self.local])
        inner = [law.mean.line for law in self.inner]
        if any(line is None for line in inner):
            raise ValueError("the objective is known for inner maps that are straight lines in the mean")
        if self.extra:
            parts = [self.outer[0].mean.after(*_mean([law.mean for law in self.inner]).line)]  # type: ignore[misc]
        else:
            parts = [law.mean.after(*line) for law, line in zip(self.outer, inner, strict=True)]  # type: ignore[misc]
        return _mean(parts) + _mean([law.mean for law in self.extra]) if self.extra else _mean(parts)

    def satisfies(self, form: Form, number: Number) -> bool:
        """Whether a number bounds what a form says of these clients, on the whole line.

        Raises:
            ValueError: nothing here says so.
        """
        square = exact(number) ** 2
        if form.kind == bounding.GAP:
            if self.gap is not None:
                return self.gap(Fraction(number))
            least = self.objective.at(self.start) - exact(number)
            return ((-1) * self.objective).is_at_most(-least)
        if form.kind == bounding.START:
            if self.estimate is None:
                raise ValueError("the instance has no first estimate")
            value = _mean([law.mean for law in self.role(form.function)]).at(self.start)
            return bool((exact(self.estimate) - value) ** 2 <= square)
        bounded = self._bounded_by(form)  # at a kink or a jump a derivative bounds nothing
        return self.is_smooth and all(curve.is_at_most(square) for curve in bounded)

    def is_bounded(self, form: Form) -> bool:
        """Whether some number bounds it, for an assumption whose constant the claim does not use."""
        if form.kind == bounding.GAP:
            return self.gap is not None or self.objective.is_bounded_below
        if form.kind == bounding.START:
            return self.estimate is not None
        return all(curve.is_bounded for curve in self._bounded_by(form))

    def _bounded_by(self, form: Form) -> list[Curve]:
        """The curves that are at most the square of a number, where the number bounds what the form says at every point."""
        laws = self.role(form.function)
        if form.kind not in bounding.AT_POINTS:
            raise ValueError(f"{form.kind}: not decided for clients of one variable")
        laws = tuple(law.derivative for law in laws) if form.kind == bounding.LIPSCHITZ else laws
        return bounding.squares(form, [law.samples for law in laws], lambda curve: curve.squared)

    @cached_property
    def is_smooth(self) -> bool:
        """Whether every sample is `derivatives` times continuously differentiable."""
        curves = [curve for law in self.laws for _, curve in law.samples]
        for _ in range(self.derivatives + 1):
            if not all(curve.is_continuous for curve in curves):
                return False
            curves = [curve.derivative for curve in curves]
        return True


@dataclass(frozen=True)
class Checked:
    """An assumption that `fedco show` prints, on an instance: whether it holds, and what was compared."""

    name: str
    holds: bool
    how: tuple[str, ...]


class NotChecked(ValueError):
    """An assumption of which the instance says nothing."""


def check(
    assumptions: Iterable[Assumption], statement: Statement, clients: Clients, constants: Mapping[str, Number]
) -> tuple[Checked, ...]:
    """Every assumption of a statement on its clients.

    Args:
        constants: symbol -> value that the instance claims.

    Raises:
        NotChecked: of an assumption neither the functions nor the construction of the instance says anything.
    """
    own = [item for item in assumptions if item.only in ("", statement.label)]
    return tuple(_checked(item, statement, clients, constants) for item in own)


def _checked(item: Assumption, statement: Statement, clients: Clients, constants: Mapping[str, Number]) -> Checked:
    found: list[tuple[bool, str]] = []
    for bound in item.bounds:
        symbol, function = (bound, "") if isinstance(bound, str) else bound
        found += _bounds(symbol, function, statement, clients, constants)
    for saying in item.says:
        found.append(_saying(saying, clients))
    if not item.bounds and not item.says:
        if item.name not in clients.by_construction:
            raise NotChecked(f"{item.name}: {item.text[:60]}: the instance does not say why it holds")
        found.append((True, clients.by_construction[item.name]))
    return Checked(item.name, all(holds for holds, _ in found), tuple(text for _, text in found))


def _bounds(
    symbol: str, function: str, statement: Statement, clients: Clients, constants: Mapping[str, Number]
) -> list[tuple[bool, str]]:
    binding = statement.theorem.notation[symbol]
    rows = [bounding.about(form, function) for form in binding.quantity.bounds]
    forms = [form for form in rows if form is not None]
    if binding.quantity.name == "participation":
        return [(True, "the set of clients is that of the method")]
    if not forms:
        raise NotChecked(f"{symbol}: nothing formal says what it bounds")
    try:
        if symbol not in constants:
            return [(clients.is_bounded(form), f"some number is such that {form.words(symbol)}") for form in forms]
        value = constants[symbol]
        return [(clients.satisfies(form, value), f"{form.words(symbol)} with {symbol} = {value}") for form in forms]
    except ValueError as error:
        raise NotChecked(f"{symbol}: {error}") from None


def _saying(saying: str, clients: Clients) -> tuple[bool, str]:
    if saying in clients.by_construction:
        return True, f"{bounding.SAYINGS[saying]}: {clients.by_construction[saying]}"
    if saying in DRAWN and not clients.is_random:
        return True, f"{bounding.SAYINGS[saying]}: nothing is random"
    if saying in _DIFFERENTIABLE:
        return clients.is_smooth, "every function is continuously differentiable at its knots"
    if saying == bounding.STARTS:
        return True, f"every client starts at {clients.start}"
    raise NotChecked(f"{saying}: the instance does not say why it holds")
