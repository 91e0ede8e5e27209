"""The admissible set of several hyperparameters: its conditions, a point inside, and its projection on each variable.

A projection is exact where the other variables can be eliminated one by one: an equality is solved; a variable in
which every condition is monotone in the same direction goes to its best value (1 for a count, a limit for a real
number); a real variable that is limited on one side by products only goes to each of these limits. Elsewhere the ends
are optima of geometric programs, moved inwards by a relative 1e-9, but not past the point inside, which is exact; between
them there may be gaps where another variable is a whole number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor, inf, nextafter
from typing import Any

import sympy as sp

from ..language.notation import slack_symbol
from ..language.reading import InputError
from ..language.theorem import Condition, Statement
from ..optimum.posynomial import (
    Converter,
    EmptyBoxError,
    NotPosynomialError,
    Posynomial,
    condition_limits,
    condition_parts,
    direction,
    signed_parts,
)
from ..optimum.program import solve
from ..optimum.search import Box, Maker, minimise, program
from .conditions import first_solved, minimal, ordered, reduced, solved_for, split_extrema, symbols_of
from .intervals import Found, Interval, failing, intersect, longest, minimal_conflict
from .roots import poles

_MARGIN = 1e-9
_LARGEST_GAP = 1e-6
"""Largest relative distance between an end and what is proved of it."""
_VANISHED = 1e-18
"""What a symbol, or its inverse, is below where it runs to 0."""
_NODES = 20
"""Boxes that are searched for a point, or excluded."""
BROKEN = "not whole inside: an equality fixes it, and an equality between counts is read over the real numbers"
OVER_REALS = "fixed by an equality that is read over the real numbers: an end need not be possible for whole numbers"
NUMERICAL = "ends by geometric programming, moved inwards by a relative 1e-9"
GAPS = "between two ends there may be values for which the others cannot be chosen"


@dataclass(frozen=True)
class Joint:
    """Conditions in several symbols, equalities solved away; `determined` says what they fix."""

    symbols: tuple[sp.Symbol, ...]
    conditions: tuple[Condition, ...]
    determined: Mapping[sp.Symbol, sp.Expr]

    @property
    def whole(self) -> tuple[str, ...]:
        return tuple(str(symbol) for symbol in self.symbols if symbol.is_integer)

    def box(self) -> Box:
        return {str(symbol): (1.0 if symbol.is_integer else 0.0, inf) for symbol in self.symbols}

    def limits(self, converter: Converter) -> list[tuple[str, Posynomial]]:
        return [(name.partition("[")[0], part) for name, part in condition_limits(self.conditions, converter)]

    def make(self, objective: sp.Expr) -> Maker:
        return lambda converter: (converter.convert(objective), self.limits(converter))


def of_several(statement: Statement, names: tuple[str, ...], values: Mapping[str, Any]) -> Found:
    """The joint admissible set of several hyperparameters with everything else fixed.

    Raises:
        InputError: no or repeated names, unknown symbols, bad or missing values, or conditions that have no
        posynomial form.
    """
    if not names or len(set(names)) != len(names):
        raise InputError(f"solve: wanted different hyperparameters, got {', '.join(names) or 'none'}")
    conditions = reduced(statement, names, values)
    symbols = tuple(statement.symbols[name].symbol for name in names)
    try:
        whole = without_equalities(symbols, conditions)
        make = whole.make(sp.Integer(1))
        found_one = minimise(make, whole.box(), whole.whole, nodes=_NODES)
        if found_one.value == inf:
            if found_one.lower < inf:
                raise InputError(
                    f"{', '.join(names)}: cannot be described together: no admissible values were found, and it is not proved that there "
                    "are none, as differences were replaced by what they subtract from; solve for one at a time"
                )
            return Found({}, conflict_of(make, whole.box(), {}, whole.whole))
        pieces: dict[str, tuple[Interval, ...]] = {}
        notes: list[str] = []
        for symbol in symbols:
            found, said = projection(symbols, conditions, symbol)
            if not found:
                return Found({}, said)
            pieces[str(symbol)] = found
            notes += said
        intervals = {name: longest(found) for name, found in pieces.items()}
        point = interior(whole, intervals)
    except NotPosynomialError as reason:
        raise InputError(f"cannot describe {', '.join(names)} together: {reason}; solve for one at a time") from None
    shown = tuple(f"{c.name}: {_text(c.left)} {c.relation} {_text(c.right)}" for c in conditions)
    broken = [str(symbol) for symbol, value in point.items() if symbol.is_integer and not value.is_Integer]
    notes += [f"{', '.join(broken)} {BROKEN}"] if broken else []
    rounded = [
        str(s) for s, f in whole.determined.items() if s.is_integer and not f.is_integer and str(s) not in broken
    ]
    notes += [f"{', '.join(rounded)} {OVER_REALS}"] if rounded else []
    notes += [] if point else ["no point with room in every condition"]
    inside = {str(symbol): str(value) for symbol, value in point.items()}
    single = {name: found for name, found in pieces.items() if len(found) == 1}
    real = {str(s): float(value) for s, value in point.items() if not s.is_integer and str(s) in single}
    intervals |= {name: reaching(intervals[name], value) for name, value in real.items()}
    several = {name: found for name, found in pieces.items() if name not in single}
    return Found(intervals, pieces=several, conditions=shown, interior=inside, note="; ".join(dict.fromkeys(notes)))


def without_equalities(
    symbols: tuple[sp.Symbol, ...], conditions: list[Condition], keep: sp.Symbol | None = None
) -> Joint:
    """Solve each equality for a symbol other than `keep`, a real one if there is a choice."""
    free, rest, determined = list(symbols), list(conditions), dict[sp.Symbol, sp.Expr]()
    while equality := next((c for c in rest if c.relation == "=="), None):
        inside = [s for s in free if s in symbols_of(equality) and s != keep]
        found = first_solved(equality, sorted(inside, key=lambda s: bool(s.is_integer)))
        if found is None:
            break
        symbol, formula = found
        table = {symbol: formula}
        rest = [c.at(table) for c in rest if c is not equality]
        if symbol.is_integer:
            rest.append(Condition(f"{symbol}_count", formula, ">=", sp.Integer(1)))
        determined = {s: f.xreplace(table) for s, f in determined.items()} | table
        free.remove(symbol)
    return Joint(tuple(free), tuple(split_extrema(rest)), determined)


def projection(
    symbols: tuple[sp.Symbol, ...], conditions: list[Condition], on: sp.Symbol
) -> tuple[tuple[Interval, ...], tuple[str, ...]]:
    """The values of one symbol for which the others can be chosen.

    Returns:
        The intervals of such values, and what has to be said of them: nothing where the ends are exact and all between them serves; or
        no interval, and a minimal set of conditions that exclude every value.
    """
    joint = without_equalities(symbols, conditions, keep=on)
    rest = list(joint.conditions)
    for symbol in joint.symbols:
        if symbol == on:
            continue
        eliminated = _eliminated(rest, symbol)
        if eliminated is None:
            holes = any(other.is_integer for other in joint.symbols if other != on)
            found, unproved = _numerical(joint, on)
            notes = (NUMERICAL, GAPS) if holes else (NUMERICAL,)
            return (found,), (*notes, unproved) if unproved else notes
        rest = eliminated
    pieces = intersect(rest, on)
    for point in map(float, _without_limit(rest, on)):
        if not any(piece.contains(point) for piece in pieces) and _possible_at(point, symbols, conditions, on):
            pieces.append(Interval(point, point, True, True, {"lower": None, "upper": None}))
    if not pieces:
        return (), minimal_conflict(rest, on)
    return _joined(pieces, bool(on.is_integer)), ()


def _joined(pieces: list[Interval], whole: bool) -> tuple[Interval, ...]:
    """The pieces in their order, those that follow each other as one."""
    found: list[Interval] = []
    for piece in sorted(pieces, key=lambda piece: piece.lower):
        before = found[-1] if found else None
        follows = before is not None and before.upper is not None and piece.lower <= before.upper + (1 if whole else 0)
        if before is not None and follows and (whole or before.upper_closed or piece.lower_closed):
            first = found.pop()
            binding = {"lower": first.binding["lower"], "upper": piece.binding["upper"]}
            enclosure = {"lower": first.enclosure.get("lower"), "upper": piece.enclosure.get("upper")}
            piece = Interval(first.lower, piece.upper, first.lower_closed, piece.upper_closed, binding, enclosure)
        found.append(piece)
    return tuple(found)


def _without_limit(conditions: list[Condition], on: sp.Symbol) -> list[Fraction]:
    """Values at which a denominator that elimination made is 0, such as p = 1 of eta <= 1/(p (p - 1)): there nothing limits eta."""
    found = [bracket for c in conditions if on in symbols_of(c) for bracket in poles(c.left, c.right, on)]
    if on.is_integer:
        return [Fraction(n) for low, high in found for n in range(max(ceil(low), 1), floor(high) + 1)]
    return [low for low, high in found if low == high > 0]


def _possible_at(value: float, symbols: tuple[sp.Symbol, ...], conditions: list[Condition], on: sp.Symbol) -> bool:
    """Whether the others can be chosen where one symbol has this value, decided on the conditions as they are stated."""
    at = [c.at({on: sp.Rational(value)}) for c in conditions]
    if any(side.has(sp.zoo, sp.nan, sp.oo) for c in at for side in (c.left, c.right)):
        return False
    others = tuple(symbol for symbol in symbols if symbol != on)
    fixed = [c for c in at if not symbols_of(c)]
    rest = [c for c in at if symbols_of(c)]
    return holds_at(tuple(fixed), {}) and (not others or bool(projection(others, rest, others[0])[0]))


def _eliminated(conditions: list[Condition], symbol: sp.Symbol) -> list[Condition] | None:
    """The conditions on the rest when a symbol takes its best value, or None where they pull it both ways."""
    converter = Converter({})
    touched = {c: condition_parts(*ordered(c), converter) for c in conditions if symbol in symbols_of(c)}
    others = [c for c in conditions if c not in touched]
    powers = {c: part.exponent(str(symbol)) or {0} for c, part in touched.items()}
    if not all(map(_rises_from_0, _differences(touched, converter))):
        return None
    if converter.sides or any(min(found) < 0 < max(found) for found in powers.values()):
        return None
    rising = [c for c, found in powers.items() if max(found) > 0]
    falling = [c for c, found in powers.items() if min(found) < 0]
    if rising and falling:
        return None if symbol.is_integer else _combined(touched, rising, falling, others, symbol)
    if rising and symbol.is_integer:
        return others + [c.at({symbol: sp.Integer(1)}) for c in rising]
    return others + [made for c in touched if (made := _in_the_limit(c, symbol)) is not None]


def _differences(conditions: Iterable[Condition], converter: Converter) -> list[sp.Expr]:
    """The differences and minima of some conditions in whose place a converter puts what bounds them."""
    sides = [side for c in conditions for side in ordered(c)]
    known = {str(part): part for side in sides for part in side.atoms(sp.Add, sp.Min)}
    return [known[text] for text in converter.replacements if text in known]


def _rises_from_0(difference: sp.Expr) -> bool:
    """Whether a difference is a power of a whole number less a number and is nonnegative at 1, as `q - 1` is: only then may it be read as
    what it subtracts from when the best value of a symbol is sought."""
    symbols = list(difference.free_symbols)
    is_power = difference.is_Add and not any(each.free_symbols for each in signed_parts(difference)[1])
    if not is_power or len(symbols) != 1 or not symbols[0].is_integer or direction(difference, symbols[0]) != 1:
        return False
    return bool(difference.xreplace({symbols[0]: sp.Integer(1)}) >= 0)


def _combined(
    touched: Mapping[Condition, Posynomial],
    rising: list[Condition],
    falling: list[Condition],
    others: list[Condition],
    symbol: sp.Symbol,
) -> list[Condition] | None:
    """Every pair of an upper and a lower limit of a real symbol, where one side consists of products only."""
    for limits, rest in ((rising, falling), (falling, rising)):
        if not all(touched[c].is_monomial for c in limits):
            continue
        made = list(others)
        for limit in limits:
            value = solved_for(Condition(limit.name, *_equal(limit)), symbol)
            if value is None:
                return None
            for c in rest:
                small, large = (side.xreplace({symbol: value}) for side in ordered(c))
                strict = any(x.relation in ("<", ">") for x in (c, limit))
                made.append(Condition(f"{c.name}, {limit.name}", small, "<" if strict else "<=", large))
        return made
    return None


def _equal(c: Condition) -> tuple[sp.Expr, str, sp.Expr]:
    return c.left, "==", c.right


def _in_the_limit(c: Condition, symbol: sp.Symbol) -> Condition | None:
    """What a condition says when the terms with a symbol become as small as one likes (but stay positive)."""
    small, large = ordered(c)
    parts = sp.Add.make_args(sp.expand(small / large))
    kept = [part for part in parts if symbol not in part.free_symbols]
    return Condition(c.name, sp.Add(*kept), "<", sp.Integer(1)) if kept else None


def _numerical(joint: Joint, on: sp.Symbol) -> tuple[Interval, str]:
    """Smallest and largest value of a symbol over the joint set, by two geometric programs, and which of them is not proved."""
    name, unproved = str(on), list[str]()
    ends: dict[str, float | None] = {}
    binding: dict[str, str | None] = {}
    for side, power in (("lower", 1), ("upper", -1)):
        found = minimise(joint.make(on**power), joint.box(), joint.whole)
        if found.value == inf and (name in found.escapes or not found.escapes):
            raise NotPosynomialError(f"the {side} end of {name} was not found")
        free_end = found.value == inf or (name in found.escapes and found.value < _VANISHED)
        if found.value == inf or (found.gap > _LARGEST_GAP and not free_end):
            unproved.append(side)
        ends[side] = None if free_end else found.point[name]
        binding[side] = None if free_end else _binding_at(joint, on**power)
    if on.is_integer:
        lower = 1.0 if ends["lower"] is None else float(round(ends["lower"]))
        upper = None if ends["upper"] is None else float(round(ends["upper"]))
        return Interval(lower, upper, True, upper is not None, binding), _unproved(name, unproved)
    lower = 0.0 if ends["lower"] is None else ends["lower"] * (1 + _MARGIN)
    upper = None if ends["upper"] is None else ends["upper"] * (1 - _MARGIN)
    return Interval(lower, upper, ends["lower"] is not None, upper is not None, binding), _unproved(name, unproved)


def _unproved(name: str, sides: list[str]) -> str:
    return (
        f"the {' and the '.join(sides)} end of {name} {'is' if len(sides) == 1 else 'are'} not proved" if sides else ""
    )


def reaching(interval: Interval, inside: float) -> Interval:
    """The interval with ends that lost the point inside to the margin moved out again to it, on the safe side."""
    lower, upper = interval.lower, interval.upper
    if upper is not None and upper < inside:
        upper = nextafter(inside, 0.0)
    if inside < lower:
        lower = nextafter(inside, inf)
    if upper is not None and lower > upper:
        lower = upper = inside
    return replace(interval, lower=lower, upper=upper)


def _binding_at(joint: Joint, objective: sp.Expr) -> str | None:
    """The conditions with a price where an objective is smallest."""
    answer = solve(program(joint.make(objective), joint.box(), upper=True)[0])
    prices = answer.prices if answer else {}
    return ", ".join(dict.fromkeys(n for n, price in prices.items() if price > 1e-5 and " at " not in n)) or None


# --- a point inside, and conflicts -----------------------------------------------------------------------------------


def interior(joint: Joint, near: Mapping[str, Interval]) -> dict[sp.Symbol, sp.Expr]:
    """Exact values with room in every condition (a factor 2 where there is as much), near the given intervals' ends.

    Empty where no such point with finitely many digits was found.
    """
    if not joint.symbols:
        return dict(joint.determined)
    room = minimise(_with_room(joint, slack_symbol("room"), "slack_room"), joint.box(), joint.whole).value
    if room == inf:
        return {}
    shares = [symbol / sp.Float(centre(near[str(symbol)])) for symbol in joint.symbols]
    objective = sp.Add(*(share**power for share in shares for power in (1, -1)))
    allowed = Posynomial.number(1 / min(1.0, max(room * 1.01, 0.5)))
    found = minimise(_with_room(joint, objective, allowed), joint.box(), joint.whole)
    for digits in (2, 4, 8, 14):
        point = {s: _decimal(found.point.get(str(s), 1.0), digits, bool(s.is_integer)) for s in joint.symbols}
        if holds_at(joint.conditions, point):
            return point | {s: sp.sympify(f).xreplace(point) for s, f in joint.determined.items()}
    return {}


def _with_room(joint: Joint, objective: sp.Expr, allowed: Posynomial | str) -> Maker:
    """The conditions as `posynomial <= 1/allowed`; with a name, that variable is the least room, at least 1/2."""

    def make(converter: Converter) -> tuple[Posynomial, list[tuple[str, Posynomial]]]:
        factor = allowed if isinstance(allowed, Posynomial) else Posynomial.variable(allowed, -1)
        eased = [(name, part * factor) for name, part in joint.limits(converter)]
        return converter.convert(objective), eased if isinstance(allowed, Posynomial) else [
            *eased,
            ("enough", Posynomial.number(0.5) * factor),
        ]

    return make


def centre(interval: Interval) -> float:
    low, high = interval.lower, interval.upper
    if high is None:
        return 2 * low if low > 0 else 1.0
    return (low * high) ** 0.5 if low > 0 else high / 2


def _decimal(value: float, digits: int, whole: bool) -> sp.Rational:
    return sp.Rational(round(value)) if whole else sp.Rational(f"{value:.{digits}g}")


def holds_at(conditions: tuple[Condition, ...], point: Mapping[sp.Symbol, sp.Expr]) -> bool:
    """Whether all conditions hold at a point, decided exactly."""
    return not failing([c.at(point) for c in conditions], sp.Dummy(), Fraction(1))


def conflict_of(make: Maker, box: Box, without_ranges: Box, whole: tuple[str, ...]) -> tuple[str, ...]:
    """A minimal set of constraints and ranges that are proved to exclude each other: each one is dropped if the rest still do.

    Args:
        without_ranges: where each variable that has a range may be without it.
    """

    def named(part: str) -> str:
        return part.partition("[")[0]

    def possible(names: list[str], box: Box) -> bool:
        def only(converter: Converter) -> tuple[Posynomial, list[tuple[str, Posynomial]]]:
            return Posynomial.number(1.0), [pair for pair in make(converter)[1] if named(pair[0]) in names]

        try:
            return minimise(only, box, whole, nodes=_NODES).lower < inf
        except EmptyBoxError:
            return False
        except NotPosynomialError:  # without a range, and nothing is known there
            return True

    try:
        names = list(dict.fromkeys(named(name) for name, _ in make(Converter(box, upper=True))[1]))
        kept = minimal(names, lambda rest: not possible(rest, box))
    except EmptyBoxError as failed:  # a condition that excludes the ranges by itself
        kept = [str(failed)]
    ranges = []
    for name, ends in without_ranges.items():
        if possible(kept, wider := {**box, name: ends}):
            ranges.append(f"range of {name}")
        else:
            box = wider
    return (*kept, *ranges)


def _text(expr: sp.Expr) -> str:
    shown = sp.sstr(expr)
    return shown if len(shown) <= 80 else sp.sstr(sp.N(expr, 8))
