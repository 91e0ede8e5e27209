"""Declared statements at exact numbers, for the checks of findings."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import sympy as sp

from ..evaluation.evaluate import exact, fraction_of, holds, sign
from ..registry import get_theorem


def total(claim: str, label: str = "printed", only: str = "", **values: Any) -> sp.Expr:
    """The total of a statement, or one of its terms; a value may lie outside its domain, so that F_gap can stand for F(x_0) - F(x_T)."""
    statement = get_theorem(claim).statement(label)
    expr = statement.term(only).expr if only else statement.total
    return statement.expand(expr).xreplace(_table(claim, values))


def value(claim: str, label: str = "printed", only: str = "", **values: Any) -> Fraction:
    """The same, where it is rational."""
    number = sp.simplify(total(claim, label, only, **values))
    return fraction_of(number)


def less(left: Fraction | sp.Expr, right: Fraction | sp.Expr) -> bool:
    """left < right, decided exactly."""
    left, right = (exact(side) if isinstance(side, Fraction) else sp.sympify(side) for side in (left, right))
    return sign(left - right) < 0


def admitted(claim: str, label: str = "printed", **values: Any) -> bool:
    """Whether the values satisfy every condition of a statement, decided exactly."""
    statement, table = get_theorem(claim).statement(label), _table(claim, values)
    return all(holds(c.each_side(lambda side: statement.expand(side).xreplace(table))) for c in statement.conditions)


def _table(claim: str, values: Mapping[str, Any]) -> dict[sp.Symbol, sp.Expr]:
    notation = get_theorem(claim).notation
    return {
        notation[name].symbol: exact(Fraction(number)) for name, number in values.items() if name in notation.bindings
    }


def clip(y: Fraction | int, radius: Fraction | int = 1) -> Fraction:
    """The derivative of Huber's function: 1-Lipschitz, at most the radius."""
    return Fraction(max(-radius, min(radius, y)))


def huber(y: Fraction | int, radius: Fraction | int = 1) -> Fraction:
    """The primitive of `clip` that vanishes at 0."""
    size, end = abs(Fraction(y)), Fraction(radius)
    return size**2 / 2 if size <= end else end * size - end**2 / 2
