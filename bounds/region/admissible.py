"""The admissible set of one hyperparameter or of several, as an answer that can be printed, drawn and read as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sympy as sp

from ..language.reading import InputError, read_values
from ..language.rendering import condition_latex, letter, lines_about, notes_about, status_of, symbol_table
from ..language.result import CONSTANTS, AbstractResult, Math, Sheet, Table, markdown_table
from ..language.theorem import RANGE, Condition, Statement
from .conditions import reduced
from .intervals import HALVING, Interval, of_one

if TYPE_CHECKING:
    from ...figures import Plot
    from .pictures import Window

_LONG_FORMULA = 80


@dataclass(frozen=True, repr=False)
class Admissible(AbstractResult):
    """Admissible intervals of the solved hyperparameters.

    Args:
        intervals: name -> interval; for several names, the values of each for which the others can be chosen. Where these are several
            intervals, the longest.
        pieces: name -> all intervals, of the names that have several.
        conflict: a minimal set of conditions that exclude each other, where nothing is admissible.
        conditions: for several names, what describes the joint set.
        interior: for several names, exact values strictly inside.
        note: how the ends were found, where it is not by exact isolation of roots, and whether there may be gaps between them.
    """

    theorem: str
    statement: str
    feasible: bool
    intervals: dict[str, Interval]
    conflict: tuple[str, ...]
    pieces: dict[str, tuple[Interval, ...]]
    conditions: tuple[str, ...]
    interior: dict[str, str]
    note: str
    about: Statement = field(compare=False)
    solved: tuple[str, ...]
    given: Mapping[str, Any] = field(compare=False)

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
        data["remarks"] = list(self.remarks)
        return data | status_of(self.about)

    def sheet(self) -> Sheet:
        about = self.about
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
            symbol_table(about, CONSTANTS, constants),
        )
        notes = (*notes_about(about), *((self.note,) if self.note else ()), *self.remarks)
        if not self.feasible:
            notes = (
                f"no admissible value; conflicting conditions: {'; '.join(self._explained(self.conflict))}",
                *notes,
            )
        claim = None
        if rows:
            latex = r",\quad ".join(rf"{letter(about, name).latex} \in {piece.latex()}" for name, piece in self._all())
            claim = Math(", ".join(f"{name} in {piece}" for name, piece in self._all()), latex)
        first, *others = tables
        return Sheet(f"{about.name}: admissible values", claim, (first, *(t for t in others if t.rows)), notes)

    def _reduced(self) -> list[Condition]:
        """What describes the joint set of several hyperparameters."""
        several = len(self.solved) > 1 and self.feasible
        return reduced(self.about, self.solved, self.given) if several else []

    def plot(self) -> Plot:
        """The set of two hyperparameters with its borders, or the intervals of each."""
        from .pictures import intervals_plot, region_plot

        if len(self.solved) == 2 and self.feasible:
            return region_plot(self.about, (self.solved[0], self.solved[1]), self.given, self.intervals, self.interior)
        return intervals_plot(self.about, list(self._all()))

    def markdown(self) -> str:
        """A table of the intervals."""
        rows = [
            [f"`{name}`", f"`{interval}`", interval.binding["lower"] or "", interval.binding["upper"] or ""]
            for name, interval in self._all()
        ]
        return "\n".join(markdown_table(["hyperparameter", "admissible", "binds below", "binds above"], rows))

    def latex(self) -> str:
        """The intervals as LaTeX relations, one per line."""
        return "\n".join(rf"{name} \in {interval.latex()}" for name, interval in self._all())

    def _all(self) -> Iterable[tuple[str, Interval]]:
        for name, interval in self.intervals.items():
            yield from ((name, piece) for piece in self.pieces.get(name, (interval,)))

    def __str__(self) -> str:
        if not self.feasible:
            head = f"{self.theorem} ({self.statement}): infeasible; conflicting conditions: {', '.join(self.conflict)}"
            explained = [f"  {line}" for line in (*self._explained(self.conflict), *([self.note] if self.note else []))]
            return "\n".join([head, *explained, *lines_about(self.about)])
        rows = [f"{self.theorem} ({self.statement}):"]
        rows += [f"  {name} in {interval.markdown()}" for name, interval in self._all()]
        rows += [f"  where {condition}" for condition in self.conditions]
        if self.interior:
            rows.append("  for instance " + ", ".join(f"{name} = {value}" for name, value in self.interior.items()))
        rows += [f"  {self.note}"] if self.note else []
        return "\n".join([*rows, *(f"  {line}" for line in self.remarks), *lines_about(self.about)])

    @property
    def remarks(self) -> tuple[str, ...]:
        """What an end of an interval means: that the theorem has no limit there, or that the method has one."""
        open_ended = [name for name, interval in self.intervals.items() if interval.upper is None]
        within = " within the floats" if self.note.startswith(HALVING) else ""
        remarks = [f"the theorem does not limit {', '.join(open_ended)} from above{within}"] if open_ended else []
        ends = [end for _, piece in self._all() for end in piece.binding.values() if end]
        binding = {name for end in ends for name in end.split(", ") if name.startswith(RANGE)}
        among = [str(c) for c in self.about.multiples if {str(s) for s in c.left.free_symbols} & set(self.solved)]
        return (*remarks, *(f"among these, those where {text}" for text in among), *self._explained(sorted(binding)))

    def _explained(self, names: Iterable[str]) -> list[str]:
        """The conditions with these names, as the statement has them."""
        known = {c.name: c for c in self.about.requirements}
        found = [known[name] for name in names if name in known]
        return [f"{c.name}: {str(c).replace('**', '^')}" + (f" ({c.note})" if c.note else "") for c in found]


def _as_math(condition: Condition, about: Statement) -> Math:
    """A condition with numbers in it, in few digits where they are long."""
    written = condition.each_side(lambda side: side if len(str(side)) <= _LONG_FORMULA else sp.N(side, 8))
    return Math(str(written), condition_latex(about, written))


def admissible(statement: Statement, solve: str | tuple[str, ...], values: Mapping[str, Any]) -> Admissible:
    """The admissible set of `solve` with everything else fixed.

    With several names, each interval has the values of a name for which the others can be chosen (`joint`).

    Raises:
        InputError: unknown symbol, bad value, or something else than the solved hyperparameters is missing.

    Example:
        >>> import fedco
        >>> region = fedco.theorem("fcsg.theorem_4_1").admissible("alpha", "printed", L_f=1, L_g=1, S_f=1, S_g=1, q=4)
        >>> print(region.intervals["alpha"])
        (0, 0.02083333333]
    """
    names = (solve,) if isinstance(solve, str) else tuple(solve)
    if len(names) == 1:
        found = of_one(statement, names[0], values)
    else:
        from .joint import of_several  # brings in the solver of geometric programs

        found = of_several(statement, names, values)
    about = statement.theorem.id, statement.label, bool(found.intervals)
    return Admissible(*about, **vars(found), about=statement, solved=names, given=dict(values))


def region_picture(
    statement: Statement,
    names: tuple[str, str],
    values: Mapping[str, Any],
    out: Path,
    *,
    window: Window | None = None,
) -> Admissible:
    """Draw the joint admissible set of two hyperparameters, each condition's border with its name.

    Args:
        window: ranges of the two axes (both logarithmic); chosen around the set if left out.

    Returns:
        The set that was drawn.

    Raises:
        InputError: not two names, or as for `admissible`.
    """
    from .pictures import region_plot, save_picture

    if len(names) != 2:
        raise InputError(f"a picture: wanted two hyperparameters, got {len(names)}")
    found = admissible(statement, names, values)
    save_picture(region_plot(statement, names, values, found.intervals, found.interior, window), out)
    return found
