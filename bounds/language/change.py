"""One change of a statement, as data: a term dropped or divided, a power or a symbol in it lowered, a condition relaxed.

And a statement with further conditions: what it says of a part of its region.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import sympy as sp

from .formula import read_relation
from .reading import InputError
from .theorem import Condition, Statement, Term, Theorem

WAYS = ("dropped", "divided", "relaxed", "power", "lowered")


@dataclass(frozen=True)
class Change:
    """What is changed, and how.

    Args:
        part: name of a term, or of a condition where the way is "relaxed".
        way: "dropped"; "divided" by `factor`; "relaxed" by `factor` (the bound of a condition moves so far outwards);
            "power", the term times `symbol` to the power `factor`; "lowered", `symbol` less 1 in its place.

    Example:
        >>> str(Change("drift", "divided", Fraction(4)))
        'drift: divided by 4'
    """

    part: str
    way: str
    factor: Fraction = Fraction(1)
    symbol: str = ""

    def __post_init__(self) -> None:
        if self.way not in WAYS:
            raise InputError(f"{self.way[:20]}: wanted one of {' '.join(WAYS)}")

    def __str__(self) -> str:
        text = {
            "dropped": "dropped",
            "divided": f"divided by {self.factor}",
            "relaxed": f"relaxed by a factor of {self.factor}",
            "power": f"times {self.symbol}^({self.factor})",
            "lowered": f"{self.symbol} - 1 for {self.symbol}",
        }
        return f"{self.part}: {text[self.way]}"

    def to_dict(self) -> dict[str, Any]:
        """As data that a bundle can hold."""
        return {"part": self.part, "way": self.way, "factor": self.factor, "symbol": self.symbol}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Change:
        return Change(str(data["part"]), str(data["way"]), Fraction(data["factor"]), str(data["symbol"]))

    def of(self, statement: Statement) -> Statement:
        """The statement with this change.

        Raises:
            InputError: it has no such part, or the part cannot be changed like this.
        """
        if self.way == "relaxed":
            found = _place(self.part, [condition.name for condition in statement.conditions])
            changed = self._relaxed(statement.conditions[found])
            return replace(statement, conditions=_with(statement.conditions, found, changed))
        found = _place(self.part, [term.name for term in statement.terms])
        term = statement.terms[found]
        if self.way == "dropped":
            return replace(statement, terms=_with(statement.terms, found))
        return replace(
            statement, terms=_with(statement.terms, found, replace(term, expr=self._changed(term, statement)))
        )

    def _relaxed(self, condition: Condition) -> Condition:
        if condition.relation == "==":
            raise InputError(f"{self.part}: an equality is a choice and cannot be relaxed")
        factor = sp.Rational(self.factor)
        outwards = factor if condition.relation in ("<", "<=") else 1 / factor
        return replace(condition, right=condition.right * outwards)

    def _changed(self, term: Term, statement: Statement) -> sp.Expr:
        factor = sp.Rational(self.factor)
        if self.way == "divided":
            return term.expr / factor
        symbol = statement.theorem.notation[self.symbol].symbol
        if self.way == "power":
            return term.expr * symbol**factor
        return term.expr.xreplace({symbol: symbol - 1})


def _place(name: str, names: list[str]) -> int:
    if name not in names:
        raise InputError(f"{name[:40]}: no such part; wanted one of {' '.join(names)}")
    return names.index(name)


def _with(items: tuple[Any, ...], place: int, *new: Any) -> tuple[Any, ...]:
    return (*items[:place], *new, *items[place + 1 :])


def changed(theorem: Theorem, label: str, change: Change) -> Theorem:
    """The theorem with one statement changed; the change is not checked for dimensions, which it may break."""
    return with_statement(theorem, change.of(theorem.statement(label)))


def with_statement(theorem: Theorem, statement: Statement) -> Theorem:
    """The theorem with this statement in the place of the one with its label; nothing about it is checked, its dimensions included."""
    other = replace(theorem, statements={**theorem.statements, statement.label: lambda: statement})
    other._cache.update(theorem._cache)
    other._cache[statement.label] = statement.of(other)
    return other


def narrowed(theorem: Theorem, label: str, conditions: Sequence[str]) -> Theorem:
    """The theorem with further conditions on one statement, which is true wherever the statement is.

    Args:
        conditions: relations in the names of the theorem, such as `nu == 3` (or `nu = 3`) and `alpha <= 1/(100*L)`.

    Raises:
        InputError: one cannot be read, or has a name that the theorem does not have.
    """
    statement = theorem.statement(label)
    names = {name: binding.symbol for name, binding in theorem.notation.bindings.items()}
    names |= {constant.name: constant.symbol for constant in statement.derived}
    more = []
    for number, text in enumerate(conditions, 1):
        try:
            left, relation, right = read_relation(_ALONE.sub("==", text), names)
        except InputError as error:
            raise InputError(f"condition {text[:60]!r}: {error}") from None
        if relation == "==" and right.is_Symbol and not left.is_Symbol:
            left, right = right, left
        more.append(Condition(f"where_{number}", left, relation, right, "chosen by the user"))
    return with_statement(theorem, replace(statement, conditions=(*statement.conditions, *more)))


_ALONE = re.compile(r"(?<![<>=!])=(?!=)")
"""An equals sign as people type it."""


def weakenings(statement: Statement) -> Iterator[Change]:
    """Each term dropped, and each condition that is no choice relaxed by 4."""
    for term in statement.terms:
        if len(statement.terms) > 1:
            yield Change(term.name, "dropped")
    for condition in statement.conditions:
        if condition.relation != "==":
            yield Change(condition.name, "relaxed", Fraction(4))
