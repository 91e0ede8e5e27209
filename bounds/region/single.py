"""The admissible set of hyperparameters: exact end points, the conditions that bind there, and a check on both sides.

One variable is handled here; several in `joint`, which is imported only when asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import sympy as sp

from ..evaluation.evaluate import exact
from ..language.markdown import table
from ..language.notation import Binding
from ..language.reading import InputError, read_values
from ..language.rendering import condition_latex, letter, notes_about, status_of, symbol_table
from ..language.result import AbstractResult, Math, Sheet, Table
from ..language.theorem import Condition, Statement
from .intervals import Interval, intersect, minimal_conflict

if TYPE_CHECKING:
    from ...figures import Plot

__all__ = [
    "Admissible",
    "Interval",
    "admissible",
    "check_solvable",
    "reduced",
    "solved_for",
    "split_extrema",
    "univariate",
]

_LONG_FORMULA = 80


@dataclass(frozen=True, repr=False)
class Admissible(AbstractResult):
    """Admissible intervals of the solved hyperparameters.

    Args:
        intervals: name -> interval; for several names the projection of the joint set on each.
        pieces: name -> all intervals, where one name has several (the first field then has the largest).
        conflict: a minimal set of conditions that exclude each other, where nothing is admissible.
        conditions: for several names, what describes the joint set.
        interior: for several names, exact values strictly inside.
        note: how the ends were found, where it is not by exact isolation of roots.
    """

    theorem: str
    statement: str
    feasible: bool
    intervals: dict[str, Interval]
    conflict: tuple[str, ...] = ()
    pieces: dict[str, tuple[Interval, ...]] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    interior: dict[str, str] = field(default_factory=dict)
    note: str = ""
    about: Statement | None = field(default=None, repr=False, compare=False)
    solved: tuple[str, ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {
            "theorem": self.theorem,
            "statement": self.statement,
            "feasible": self.feasible,
            "intervals": {name: interval.to_dict() for name, interval in self.intervals.items()},
            "conflict": list(self.conflict),
        }
        if self.pieces:
            data["pieces"] = {name: [piece.to_dict() for piece in found] for name, found in self.pieces.items()}
        if self.conditions:
            data |= {"conditions": list(self.conditions), "interior": dict(self.interior)}
        data |= {"note": self.note} if self.note else {}
        return data | (status_of(self.about) if self.about else {})

    def sheet(self) -> Sheet:
        about = self._statement()
        rows = tuple(
            (
                letter(about, name),
                Math(str(piece), piece.latex()),
                piece.lower,
                piece.upper,
                piece.binding["lower"],
                piece.binding["upper"],
            )
            for name, piece in self._all()
        )
        heads = ("hyperparameter", "admissible", "lower", "upper", "binds below", "binds above")
        where = tuple((c.name, _as_math(c, about)) for c in self._reduced())
        inside = tuple((letter(about, name), value) for name, value in self.interior.items())
        constants = {n: float(v) for n, v in read_values(about.symbols, self.given, about.name).items()}
        tables = (
            Table("admissible values", heads, rows),
            Table("together they satisfy", ("condition", "relation"), where),
            Table("a point inside", ("symbol", "value"), inside),
            symbol_table(about, "constants", constants),
        )
        notes = notes_about(about) + ((self.note,) if self.note else ())
        if not self.feasible:
            notes = (f"no admissible value; conflicting conditions: {', '.join(self.conflict)}", *notes)
        claim = None
        if rows:
            latex = r",\quad ".join(rf"{letter(about, name).latex} \in {piece.latex()}" for name, piece in self._all())
            claim = Math(", ".join(f"{name} in {piece}" for name, piece in self._all()), latex)
        first, *others = tables
        return Sheet(f"{about.name}: admissible values", claim, (first, *(t for t in others if t.rows)), notes)

    def _reduced(self) -> list[Condition]:
        """What describes the joint set of several hyperparameters."""
        several = len(self.solved) > 1 and self.feasible
        return reduced(self._statement(), self.solved, self.given) if several else []

    def plot(self) -> Plot:
        """The set of two hyperparameters with its borders, or the intervals of each."""
        from .pictures import intervals_plot, region_plot

        about = self._statement()
        if len(self.solved) == 2 and self.feasible:
            return region_plot(about, (self.solved[0], self.solved[1]), self.given, self)
        return intervals_plot(about, list(self._all()))

    def _statement(self) -> Statement:
        if self.about is None:
            raise ValueError(f"{self.theorem}: an answer without its statement")
        return self.about

    def markdown(self) -> str:
        """A table of the intervals."""
        rows = [
            [f"`{name}`", f"`{interval}`", interval.binding["lower"] or "", interval.binding["upper"] or ""]
            for name, interval in self._all()
        ]
        return "\n".join(table(["hyperparameter", "admissible", "binds below", "binds above"], rows))

    def latex(self) -> str:
        """The intervals as LaTeX relations, one per line."""
        return "\n".join(rf"{name} \in {interval.latex()}" for name, interval in self._all())

    def _all(self) -> Iterable[tuple[str, Interval]]:
        for name, interval in self.intervals.items():
            yield from ((name, piece) for piece in self.pieces.get(name, (interval,)))

    def __str__(self) -> str:
        if not self.feasible:
            return f"{self.theorem} ({self.statement}): infeasible; conflicting conditions: {', '.join(self.conflict)}"
        rows = [f"{self.theorem} ({self.statement}):"]
        rows += [f"  {name} in {interval.markdown()}" for name, interval in self._all()]
        rows += [f"  where {condition}" for condition in self.conditions]
        if self.interior:
            rows.append("  for instance " + ", ".join(f"{name} = {value}" for name, value in self.interior.items()))
        return "\n".join([*rows, f"  {self.note}"] if self.note else rows)


def _as_math(condition: Condition, about: Statement) -> Math:
    """A condition with numbers in it, in few digits where they are long."""
    sides = [side if len(str(side)) <= _LONG_FORMULA else sp.N(side, 8) for side in (condition.left, condition.right)]
    written = Condition(condition.name, sides[0], condition.relation, sides[1])
    return Math(str(written), condition_latex(about, written))


def admissible(statement: Statement, solve: str | tuple[str, ...], values: Mapping[str, Any]) -> Admissible:
    """The admissible set of `solve` with everything else fixed.

    With several names, each interval is what remains of a name when the others may be anything (`joint`).

    Raises:
        InputError: unknown symbol, bad value, or something else than the solved hyperparameters is missing.

    Example:
        >>> import fedco
        >>> region = fedco.theorem("fcsg.theorem_4_1").admissible("alpha", "printed", L_f=1, L_g=1, S_f=1, S_g=1, q=4)
        >>> print(region.intervals["alpha"])
        (0, 0.02083333333]
    """
    names = (solve,) if isinstance(solve, str) else tuple(solve)
    if len(names) != 1:
        from .joint import admissible_jointly

        found = admissible_jointly(statement, names, values)
    else:
        found = _of_one(statement, names[0], values)
    return replace(found, about=statement, solved=names, given=dict(values))


def _of_one(statement: Statement, name: str, values: Mapping[str, Any]) -> Admissible:
    variable, conditions = univariate(statement, name, values)
    pieces = intersect(conditions, variable)
    if not pieces:
        return Admissible(statement.theorem.id, statement.label, False, {}, minimal_conflict(conditions, variable))
    several = {name: tuple(pieces)} if len(pieces) > 1 else {}
    return Admissible(statement.theorem.id, statement.label, True, {name: _largest(pieces)}, pieces=several)


def univariate(statement: Statement, name: str, values: Mapping[str, Any]) -> tuple[sp.Symbol, list[Condition]]:
    """The conditions as functions of one symbol, everything else replaced by exact numbers.

    A symbol that is neither given nor solved for comes from the schedule; if the schedule determines the solved
    symbol from a missing one (eta = sqrt(b K / T) with T missing), the equality is solved for the missing one
    instead, as a real number.
    """
    conditions = reduced(statement, (name,), values)
    return statement.symbols[name].symbol, conditions


def check_solvable(statement: Statement, name: str) -> None:
    """Raises InputError unless the name is a hyperparameter of the statement."""
    bindings = statement.symbols
    if name not in bindings:
        raise InputError(f"{name[:30]}: not a symbol of {statement.name}; wanted one of {' '.join(bindings)}")
    if bindings[name].quantity.role != "hyperparameter":
        raise InputError(f"{name}: is a {bindings[name].quantity.role}, wanted a hyperparameter to solve for")


def reduced(statement: Statement, names: tuple[str, ...], values: Mapping[str, Any]) -> list[Condition]:
    """The conditions in the symbols of `names` only, with exact numbers for the rest."""
    bindings = statement.symbols
    for name in names:
        check_solvable(statement, name)
    given = {key: value for key, value in values.items() if key not in names}
    numbers = read_values(bindings, given, statement.name)
    point = {bindings[key].symbol: exact(value) for key, value in numbers.items()}
    conditions = [
        Condition(c.name, statement.at(c.left, point), c.relation, statement.at(c.right, point))
        for c in statement.conditions
    ]
    solved = {bindings[name].symbol for name in names}
    conditions = _eliminate(statement, bindings, solved, conditions, point)
    left_over = sorted({s for c in conditions for s in (c.left.free_symbols | c.right.free_symbols)} - solved, key=str)
    if left_over:
        missing = ", ".join(map(str, left_over))
        raise InputError(f"{left_over[0]}: wanted a number, got nothing; missing: {missing}")
    return split_extrema(conditions)


def _eliminate(
    statement: Statement,
    bindings: Mapping[str, Binding],
    solved: set[sp.Symbol],
    conditions: list[Condition],
    point: Mapping[sp.Symbol, sp.Expr],
) -> list[Condition]:
    """Remove unknown symbols through the schedule, or through an equality condition solved for them."""
    for _ in range(len(bindings)):
        used = {s for c in conditions for s in (c.left.free_symbols | c.right.free_symbols)}
        unknown = sorted(used - solved, key=str)
        found = next(
            ((s, f) for s in unknown if (f := _formula_for(statement, conditions, s, solved, point)) is not None), None
        )
        if found is None:
            break
        symbol, formula = found
        table = {symbol: formula}
        conditions = [
            Condition(c.name, c.left.xreplace(table), c.relation, c.right.xreplace(table)) for c in conditions
        ]
        if symbol.is_integer and formula.free_symbols:
            conditions.append(Condition(f"{symbol}_count", formula, ">=", sp.Integer(1), "a count is at least 1"))
    return [c for c in conditions if not (c.relation == "==" and c.left == c.right)]


def _formula_for(
    statement: Statement,
    conditions: list[Condition],
    symbol: sp.Symbol,
    solved: set[sp.Symbol],
    point: Mapping[sp.Symbol, sp.Expr],
) -> sp.Expr | None:
    scheduled = statement.schedule.get(str(symbol))
    if scheduled is not None:
        formula = statement.at(scheduled, point)
        rounds_off = bool(formula.atoms(sp.floor, sp.ceiling))
        if symbol not in formula.free_symbols and not rounds_off:
            return formula
    for condition in conditions:
        sides = condition.left.free_symbols | condition.right.free_symbols
        if condition.relation == "==" and symbol in sides and sides - {symbol} <= solved:
            return solved_for(condition, symbol)
    return None


def solved_for(equality: Condition, symbol: sp.Symbol) -> sp.Expr | None:
    """The positive value of a symbol that an equality of two products determines, or None."""
    if equality.left == symbol and not equality.right.has(symbol):
        return equality.right
    ratio = sp.powsimp(equality.left / equality.right)
    factor, power = ratio.as_independent(symbol, as_Add=False)
    base, exponent = power.as_base_exp()
    return factor ** (-1 / exponent) if base == symbol and exponent.is_Rational else None


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


def _largest(pieces: list[Interval]) -> Interval:
    return max(pieces, key=lambda piece: float("inf") if piece.upper is None else piece.upper - piece.lower)
