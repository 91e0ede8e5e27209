"""Intervals of one variable on which all conditions hold: exact end points, and the conditions that bind there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import groupby, pairwise
from math import ceil, inf, nextafter
from typing import Any

import sympy as sp

from ..evaluation.evaluate import RELATED, exact
from ..language.quantities import MAX_STEPS
from ..language.result import rounded_down, rounded_up, tex_number
from ..language.theorem import Condition, Statement, put_in
from .conditions import minimal, reduced
from .roots import ROUNDED, Bracket, bases, crossings, decided_sign, is_transcendental, poles

_STEP = Fraction(1, 10**12)
"""Relative distance outside an end point at which the binding condition is looked for."""
HALVING = "ends by halving intervals in ball arithmetic, over all positive floats"
AT_JUMPS = "; where floor or ceil jumps the point itself is left out, admissible or not"
_NO_NUMBER = (sp.zoo, sp.nan, sp.oo, -sp.oo)


@dataclass(frozen=True)
class Interval:
    """An admissible interval; `binding` names the condition at each end (None where the domain ends).

    The ends are floats on the safe side: every float that `contains` accepts satisfies the conditions. `enclosure` has
    the exact ends as rational intervals (a rational end twice, an irrational one to a relative 1e-18).
    """

    lower: float
    upper: float | None
    lower_closed: bool
    upper_closed: bool
    binding: dict[str, str | None]
    enclosure: dict[str, Bracket | None] = field(default_factory=dict, repr=False, compare=False)

    def contains(self, value: float) -> bool:
        above = value > self.lower or (self.lower_closed and value == self.lower)
        below = self.upper is None or value < self.upper or (self.upper_closed and value == self.upper)
        return above and below

    def to_dict(self) -> dict[str, Any]:
        names = ("lower", "upper", "lower_closed", "upper_closed", "binding")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        left, right = "[" if self.lower_closed else "(", "]" if self.upper_closed else ")"
        upper = "inf" if self.upper is None else f"{self.upper:.10g}"
        return f"{left}{self.lower:.10g}, {upper}{right}"

    def markdown(self) -> str:
        return f"`{self}` (binding: {self.binding['lower'] or '-'} / {self.binding['upper'] or '-'})"

    def latex(self) -> str:
        """The interval for a paper, as a LaTeX fragment; its ends are rounded to the inside."""
        left, right = "[" if self.lower_closed else "(", "]" if self.upper_closed else ")"
        upper = r"\infty" if self.upper is None else tex_number(rounded_down(self.upper))
        return rf"\left{left}{tex_number(rounded_up(self.lower))}, {upper}\right{right}"


@dataclass(frozen=True)
class End:
    """An end point as a rational enclosure (both ends equal when exact)."""

    low: Fraction
    high: Fraction

    @property
    def is_exact(self) -> bool:
        return self.low == self.high

    @property
    def enclosure(self) -> Bracket:
        return self.low, self.high

    def meets(self, bracket: Bracket) -> bool:
        return bracket[0] <= self.high and self.low <= bracket[1]


@dataclass(frozen=True)
class Found:
    """What one or several hyperparameters may be; the fields are those of `Admissible`. Without intervals nothing is admissible."""

    intervals: dict[str, Interval]
    conflict: tuple[str, ...] = ()
    pieces: dict[str, tuple[Interval, ...]] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    interior: dict[str, str] = field(default_factory=dict)
    note: str = ""


def intersect(conditions: list[Condition], variable: sp.Symbol) -> list[Interval]:
    """The maximal intervals of positive values on which all conditions hold, of nonnegative ones where the variable may be 0; whole
    numbers for a count, from 0 for steps."""
    if variable.is_integer and not variable.is_positive:
        return _listed_pieces(conditions, variable)
    ends = sorted(
        (End(*pair) for c in conditions for pair in crossings(c.left, c.right, variable)),
        key=lambda end: end.enclosure,
    )
    if variable.is_integer:
        return _integer_pieces(conditions, variable, ends)
    return _real_pieces(conditions, variable, ends)


def longest(pieces: Sequence[Interval]) -> Interval:
    return max(pieces, key=lambda piece: inf if piece.upper is None else piece.upper - piece.lower)


def failing(conditions: list[Condition], variable: sp.Symbol, value: Fraction) -> list[str]:
    """Names of the conditions that fail at a value, decided exactly."""
    return names_of(c for c in conditions if not _holds(c.left, c.relation, c.right, variable, value))


def names_of(conditions: Iterable[Condition]) -> list[str]:
    """The names that the statement has for them, each once: without the index of a part of an extremum."""
    return list(dict.fromkeys(c.name.partition("[")[0] for c in conditions))


@lru_cache(maxsize=4096)
def _holds(left: sp.Expr, relation: str, right: sp.Expr, variable: sp.Symbol, value: Fraction) -> bool:
    """Kept, as the search for a smallest conflict asks the same of one subset of the conditions after the other."""
    table = {variable: exact(value)}
    for base in bases(left, right, variable):
        inside = put_in(base, table)
        if inside.has(*_NO_NUMBER) or decided_sign(inside) < 0:
            return False  # a root has no real value
    low, high = put_in(left, table), put_in(right, table)
    try:
        difference = low - high
    except (ValueError, OverflowError):  # as in `put_in`
        with sp.evaluate(False):
            difference = low - high
    if difference.has(*_NO_NUMBER):
        return False  # at a pole a side has no value
    return RELATED[relation](decided_sign(difference), 0)


def _all_hold(conditions: list[Condition], variable: sp.Symbol, value: Fraction) -> bool:
    return not failing(conditions, variable, value)


# --- real variables --------------------------------------------------------------------------------------------------


def _real_pieces(conditions: list[Condition], variable: sp.Symbol, ends: list[End]) -> list[Interval]:
    """Alternate end points and the open gaps between them; join what holds."""
    borders: list[End | None] = [None, *_merge(ends), None]
    cells: list[tuple[End | None, End | None, bool]] = []
    if variable.is_nonnegative and not variable.is_positive:
        zero = borders[0] = End(Fraction(0), Fraction(0))
        cells.append((zero, zero, _all_hold(conditions, variable, Fraction(0))))
    for before, after in pairwise(borders):
        cells.append((before, after, _all_hold(conditions, variable, _between(before, after))))
        if after is not None:
            cells.append((after, after, _holds_at(conditions, variable, after)))
    return [_interval(conditions, variable, run) for run in _runs(cells, lambda cell: cell[2])]


def _runs(cells: Iterable[Any], holds: Callable[[Any], bool]) -> list[list[Any]]:
    """The longest runs of neighbours that hold."""
    return [list(run) for is_held, run in groupby(cells, holds) if is_held]


def _merge(ends: list[End]) -> list[End]:
    """Sorted ends, of which overlapping enclosures become one end point (what binds there is settled by testing, see `_binding`)."""
    merged: list[End] = []
    for end in ends:
        if merged and end.low <= merged[-1].high:
            previous = merged.pop()
            end = End(previous.low, max(previous.high, end.high))
        merged.append(end)
    return merged


def _between(before: End | None, after: End | None) -> Fraction:
    if after is None:
        return Fraction(1) if before is None else before.high * 2 or Fraction(1)
    return after.low / 2 if before is None else (before.high + after.low) / 2


def _holds_at(conditions: list[Condition], variable: sp.Symbol, end: End) -> bool:
    """Whether all conditions hold at the end point: exactly if it is rational, else by strictness and continuity."""
    if end.is_exact:
        return _all_hold(conditions, variable, end.low)
    for condition in conditions:
        sides = condition.left, condition.right, variable
        touches = any(map(end.meets, crossings(*sides)))
        if touches and (condition.relation in ("<", ">") or any(map(end.meets, poles(*sides)))):
            return False
        if not touches and not _all_hold([condition], variable, (end.low + end.high) / 2):
            return False
    return True


def _interval(
    conditions: list[Condition], variable: sp.Symbol, run: list[tuple[End | None, End | None, bool]]
) -> Interval:
    """The interval that a run of consecutive cells covers."""
    start, stop = run[0][0], run[-1][1]
    low_closed = start is not None and run[0][1] is start
    high_closed = stop is not None and run[-1][0] is stop
    binding = {"lower": _binding(conditions, variable, start, -1), "upper": _binding(conditions, variable, stop, +1)}
    ends = {"lower": start.enclosure if start else None, "upper": stop.enclosure if stop else None}
    if start is not None and start is stop:
        value = float((start.low + start.high) / 2)
        return Interval(value, value, True, True, binding, ends)
    lower = 0.0 if start is None else _safe_float(start.high, up=True)
    upper = None if stop is None else _safe_float(stop.low, up=False)
    return Interval(lower, upper, low_closed, high_closed, binding, ends)


def _binding(conditions: list[Condition], variable: sp.Symbol, end: End | None, side: int) -> str | None:
    """The conditions that fail just outside an end point, or those that leave out the end point alone."""
    if end is None:
        return None
    step = max(end.high - end.low, end.high * _STEP)
    outside = end.high + step if side > 0 else end.low - step
    names = failing(conditions, variable, outside) if outside > 0 else []
    names = names or names_of(c for c in conditions if not _holds_at([c], variable, end))
    return ", ".join(names) or None


def _safe_float(value: Fraction, *, up: bool) -> float:
    """The nearest float on the safe (inner) side."""
    number = float(value)
    if up and Fraction(number) < value:
        return nextafter(number, inf)
    if not up and Fraction(number) > value:
        return nextafter(number, -inf)
    return number


# --- whole numbers ---------------------------------------------------------------------------------------------------


def _integer_pieces(conditions: list[Condition], variable: sp.Symbol, ends: list[End]) -> list[Interval]:
    """Runs of positive integers on which all conditions hold; between two end points one integer decides for all."""
    marks = sorted({1, *(max(1, ceil(value)) for end in ends for value in end.enclosure)})
    cells: list[tuple[int, int | None]] = []
    for mark, following in zip(marks, [*marks[1:], None], strict=True):
        cells.append((mark, mark))
        if following is None or following > mark + 1:
            cells.append((mark + 1, None if following is None else following - 1))
    runs = _runs(cells, lambda cell: _all_hold(conditions, variable, Fraction(cell[0])))
    return [_count_interval(conditions, variable, run[0][0], run[-1][1]) for run in runs]


def _listed_pieces(conditions: list[Condition], variable: sp.Symbol) -> list[Interval]:
    """Runs of whole numbers from 0 to MAX_STEPS, tried one by one: a recursion has no roots to isolate."""
    runs = _runs(range(MAX_STEPS + 1), lambda n: _all_hold(conditions, variable, Fraction(n)))
    return [_count_interval(conditions, variable, run[0], run[-1], lowest=0, highest=MAX_STEPS) for run in runs]


def _count_interval(
    conditions: list[Condition],
    variable: sp.Symbol,
    low: int,
    high: int | None,
    lowest: int = 1,
    highest: int | None = None,
) -> Interval:
    below = failing(conditions, variable, Fraction(low - 1)) if low > lowest else []
    above = failing(conditions, variable, Fraction(high + 1)) if high is not None and high != highest else []
    binding = {"lower": ", ".join(below) or None, "upper": ", ".join(above) or None}
    ends: dict[str, Bracket | None] = {
        "lower": (Fraction(low), Fraction(low)),
        "upper": None if high is None else (Fraction(high), Fraction(high)),
    }
    return Interval(low, high, True, high is not None, binding, ends)


def minimal_conflict(conditions: list[Condition], variable: sp.Symbol) -> tuple[str, ...]:
    """A minimal set of conditions that no value satisfies; all parts of an extremum are one."""

    def excluded(names: list[str]) -> bool:
        return not intersect([c for c in conditions if names_of([c])[0] in names], variable)

    return tuple(minimal(names_of(conditions), excluded))


def of_one(statement: Statement, name: str, values: Mapping[str, Any]) -> Found:
    """What one hyperparameter may be, everything else replaced by exact numbers.

    A symbol that is neither given nor solved for comes from the schedule; if the schedule determines the solved
    symbol from a missing one (eta = sqrt(b K / T) with T missing), the equality is solved for the missing one
    instead, as a real number.
    """
    conditions, variable = reduced(statement, (name,), values), statement.symbols[name].symbol
    pieces = intersect(conditions, variable)
    halved = any(is_transcendental(c.left - c.right, variable) for c in conditions)
    jumps = any(variable in item.free_symbols for c in conditions for item in (c.left - c.right).atoms(*ROUNDED))
    note = (HALVING if halved else "") + (AT_JUMPS if jumps else "")
    if not pieces:
        return Found({}, minimal_conflict(conditions, variable), note=note)
    return Found({name: longest(pieces)}, pieces={name: tuple(pieces)} if len(pieces) > 1 else {}, note=note)
