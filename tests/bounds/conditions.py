"""The conditions of all statements of a paper, beside what a test says of them from the paper's text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp
from fedco.bounds import paper_theorems

Values = Mapping[str, Fraction]
Side = Callable[[Values], tuple[Any, str, Any]]


def at_point(statement: Any, expr: sp.Expr, v: Values) -> float:
    """The value of a formula of a statement, with its constants put in."""
    table = {statement.symbols[name].symbol: x for name, x in v.items() if name in statement.symbols}
    return float(
        statement.expand(expr).xreplace({s: sp.Rational(x.numerator, x.denominator) for s, x in table.items()})
    )


def compare_conditions(
    paper: str, wanted: Mapping[tuple[str, str], Mapping[str, Side]], values: Callable[[Any, str], Values]
) -> None:
    """Every statement has the conditions of the table and no other ones: the relation, and the ratio of both sides at a point.

    `wanted` gives (left, relation, right) for each name; the two sides may be multiplied by a positive number.
    """
    for theorem in paper_theorems(paper).values():
        for label in theorem.labels:
            statement, expected = theorem.statement(label), wanted.get((theorem.id, label), {})
            assert {c.name for c in statement.conditions} == set(expected), (theorem.id, label)
            v = values(theorem, label)
            for condition in statement.conditions:
                left, relation, right = expected[condition.name](v)
                assert condition.relation == relation, (theorem.id, label, condition.name)
                ratio = at_point(statement, condition.left, v) / at_point(statement, condition.right, v)
                assert ratio == pytest.approx(float(left) / float(right), rel=1e-12), (
                    theorem.id,
                    label,
                    condition.name,
                )
