"""A theorem with other formulas, to see what the kernel and the instances make of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fedco.bounds.language.change import with_statement
from fedco.bounds.language.formula import read_formula, read_relation
from fedco.bounds.language.metrics import with_weights
from fedco.bounds.language.notation import STEP
from fedco.bounds.language.theorem import Theorem


def rewritten(theorem: Theorem, formulas: Mapping[str, str]) -> Theorem:
    """The theorem whose default statement has these formulas for terms and derived constants, and these relations for conditions.

    A condition with an empty relation is left out.
    """
    statement = theorem.statement()
    names = {b.name: b.symbol for b in theorem.notation}
    own = names | {d.name: d.symbol for d in statement.derived}
    assert formulas.keys() <= {each.name for each in (*statement.terms, *statement.derived, *statement.conditions)}

    def read(each: Any, known: Mapping[str, Any]) -> Any:
        return replace(each, expr=read_formula(formulas[each.name], known)) if each.name in formulas else each

    conditions = []
    for condition in statement.conditions:
        relation = formulas.get(condition.name)
        if relation:
            parts = dict(zip(("left", "relation", "right"), read_relation(relation, own), strict=True))
            conditions.append(replace(condition, **parts))
        elif relation is None:
            conditions.append(condition)
    changed = {
        "terms": tuple(read(term, own) for term in statement.terms),
        "derived": tuple(read(constant, names) for constant in statement.derived),
        "conditions": tuple(conditions),
    }
    return with_statement(theorem, replace(statement, **changed))


def weighing(theorem: Theorem, formula: str) -> Theorem:
    """The theorem whose metric has other weights, a formula in t."""
    names = {b.name: b.symbol for b in theorem.notation} | {"t": STEP}
    return replace(theorem, metric=with_weights(theorem.metric, read_formula(formula, names), ""))
