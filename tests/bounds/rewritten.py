"""A theorem with another formula for one of its terms or conditions, to see what the kernel makes of it."""

from __future__ import annotations

from dataclasses import replace

from fedco.bounds.language.formula import read_formula, read_relation
from fedco.bounds.language.theorem import Theorem
from fedco.bounds.proof.mutation import with_statement


def rewritten(theorem: Theorem, part: str, formula: str) -> Theorem:
    """The theorem whose default statement has this formula for the term, or this relation for the condition, of the name."""
    statement = theorem.statement()
    names = {b.name: b.symbol for b in theorem.notation} | {d.name: d.symbol for d in statement.derived}
    assert part in {each.name for each in (*statement.terms, *statement.conditions)}
    if any(condition.name == part for condition in statement.conditions):
        left, relation, right = read_relation(formula, names)
        new = {"left": left, "relation": relation, "right": right}
        conditions = tuple(replace(c, **new) if c.name == part else c for c in statement.conditions)
        return with_statement(theorem, replace(statement, conditions=conditions))
    terms = tuple(replace(t, expr=read_formula(formula, names)) if t.name == part else t for t in statement.terms)
    return with_statement(theorem, replace(statement, terms=terms))
