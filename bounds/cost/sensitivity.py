"""How a bound reacts: elasticities in every symbol, and rounds against samples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sympy as sp

from ..evaluation.evaluate import complete, exact, fill_schedule, refuse_undefined
from ..language.reading import InputError, read_values
from ..language.rendering import OfStatement, letter, lines_about, notes_about, titled
from ..language.result import AbstractResult, Sheet, Table, relative
from ..language.theorem import Statement
from ..optimum.tuning import Tuned, tune

if TYPE_CHECKING:
    from ...figures import Plot

RELATIVE_STEP = Fraction(1, 10**6)
_PERCENT = sp.Rational(1, 100)
_SMOOTH = 1e-3
"""Largest difference of the slopes to both sides where there is no kink."""


@dataclass(frozen=True, repr=False)
class Elasticities(OfStatement, AbstractResult):
    """Percent change of the total per percent change of a symbol, one at a time; scheduled hyperparameters follow."""

    total: float
    values: dict[str, float]
    about: Statement = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "theorem": self.theorem,
            "statement": self.statement,
            "total": self.total,
            "elasticities": dict(self.values),
        }

    def __float__(self) -> float:
        return self.total

    def sheet(self) -> Sheet:
        rows = tuple((letter(self.about, name), value) for name, value in self._ordered())
        table = Table(
            "sensitivity", ("symbol", "percent per percent"), rows, relative(value for _, value in self._ordered())
        )
        title = f"{self.about.name}: sensitivity of the bound {self.total:.6g}"
        return Sheet(title, None, (table,), notes_about(self.about))

    def plot(self) -> Plot:
        """Percent change of the bound per percent of each symbol."""
        from ...figures import Axis, bar_plot

        axis = Axis("percent change of the bound per percent", "1")
        return bar_plot({"sensitivity": dict(self._ordered())}, title=f"{titled(self.about)}: sensitivity", axis=axis)

    def _ordered(self) -> list[tuple[str, float]]:
        return sorted(self.values.items(), key=lambda item: -abs(item[1]))

    def __str__(self) -> str:
        rows = [f"{self.about.name} = {self.total:.6g}; 1% more of"]
        return "\n".join(
            [
                *rows,
                *(f"  {name:<12} changes it by {value:+.3f}%" for name, value in self._ordered()),
                *lines_about(self.about),
            ]
        )


def elasticities(statement: Statement, values: Mapping[str, Any]) -> Elasticities:
    """Logarithmic derivatives of the bound, by exact central differences of relative width 1e-6; where it has a kink or a jump, such as of
    a minimum or of what is rounded, the change for 1% more.

    Raises:
        InputError: unknown, missing or out-of-domain values, or a statement without terms.
    """
    if not statement.terms:
        raise InputError(f"{statement.name}: bounds nothing (it has no terms)")
    bindings = statement.symbols
    point = complete(statement, values)
    refuse_undefined(statement, point)
    given = {bindings[name].symbol: exact(v) for name, v in read_values(bindings, values, statement.theorem.id).items()}

    def total(at: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
        full = dict(at)
        fill_schedule(statement, full)
        return sp.N(sp.Add(*(statement.at(term.expr, full) for term in statement.terms)), 30)

    def times(left: sp.Expr, right: sp.Expr) -> float:
        """log(left/right), which may be beyond the doubles."""
        return float(sp.log(left / right))

    here = total(given)

    def change(symbol: sp.Symbol, value: sp.Expr) -> float:
        up, down = (total({**given, symbol: value * (1 + side * exact(RELATIVE_STEP))}) for side in (1, -1))
        if not all(each.is_real and each > 0 for each in (up, here, down)):  # or a power of a negative number
            return 0.0
        slopes = times(up, here) / log(1 + RELATIVE_STEP), times(down, here) / log(1 - RELATIVE_STEP)
        more = total({**given, symbol: value * (1 + _PERCENT)})
        if abs(slopes[0] - slopes[1]) <= _SMOOTH * (1 + abs(slopes[0])) or not more.is_real:
            return times(up, down) / log((1 + RELATIVE_STEP) / (1 - RELATIVE_STEP))
        return 100 * float(more / here - 1)

    found = {
        str(symbol): change(symbol, value)
        for symbol, value in given.items()
        if value > 0 and not (symbol.is_integer and not symbol.is_positive)
    }
    whole = float(sp.N(sp.Add(*(statement.at(term.expr, point) for term in statement.terms)), 25))
    return Elasticities(whole, found, statement)


def pareto(
    statement: Statement,
    values: Mapping[str, Any],
    eps: Any,
    *,
    points: int = 8,
    figure: Path | None = None,
) -> list[Tuned]:
    """Cheapest schedules between the fewest samples and the fewest rounds that reach eps.

    Raises:
        InputError: as `tune`, or a statement without samples and rounds.
    """
    samples = tune(statement, values, eps=eps, cost="samples")
    rounds = tune(statement, values, eps=eps, cost="rounds")
    found = [samples, rounds]
    trade = samples.cost["samples"] / samples.cost["rounds"]
    for step in range(1, points - 1):
        weight = Fraction(trade * 10 ** (3 * step / (points - 1) - 1))
        found.append(tune(statement, values, eps=eps, cost={"samples": 1, "rounds": weight}))
    front = _undominated(found)
    if figure is not None:
        from ...figures import Axis
        from ..region.pictures import lines_picture

        curve = ([t.cost["rounds"] for t in front], [t.cost["samples"] for t in front])
        axes = Axis("communication rounds", "1"), Axis("samples per client", "1")
        lines_picture(figure, {statement.name: curve}, *axes, f"Rounds against samples for a bound of at most {eps}")
    return front


def _undominated(found: list[Tuned]) -> list[Tuned]:
    """Fewest rounds first; each further point has fewer samples."""
    ordered = sorted(found, key=lambda t: (t.cost["rounds"], t.cost["samples"]))
    front: list[Tuned] = []
    for item in ordered:
        if not front or item.cost["samples"] < front[-1].cost["samples"]:
            front.append(item)
    return front
