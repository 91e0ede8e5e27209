"""Steps as JSON: data only, read with a fixed table of kinds. Nothing here need be trusted: the kernel checks what is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any, cast

from ..kernel import (
    Act,
    App,
    AtStart,
    Combine,
    Given,
    Known,
    Mean,
    Pair,
    Param,
    ProofError,
    Scalar,
    Signomial,
    SumOver,
    signomial,
)
from ..kernel.rules.base import Rule
from ..kernel.scalars import At, Inner, Named, One, Total, Value
from ..kernel.signomial import ZERO
from ..kernel.terms import Proj, Sum, Term, Var

KINDS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        *(Combine, SumOver, AtStart),
        *(Scalar, Inner, Named, Total, At, One, Value),
        *(Sum, Var, App, Mean, Given, Act, Pair, Proj, Known),
    )
}
"""All that may stand in a file."""
DEPTH = 60


class Writer:
    """Objects as lists, texts and numbers; each vector is written once, in `terms`, and then referred to by its place."""

    def __init__(self) -> None:
        self.terms: list[Any] = []
        self.places: dict[Term, int] = {}

    def written(self, value: Any) -> Any:
        """
        Raises:
            TypeError: it holds something that no file may hold.
        """
        if isinstance(value, Term):
            if value not in self.places:
                data = self._fields(value)
                self.places[value] = len(self.terms)
                self.terms.append(data)
            return {"term": self.places[value]}
        if isinstance(value, Signomial):
            return {"number": [[str(c), {p.name: str(e) for p, e in monomial}] for monomial, c in value.terms]}
        if isinstance(value, tuple):
            return [self.written(part) for part in value]
        if isinstance(value, frozenset):
            return {"set": [self.written(part) for part in sorted(value, key=repr)]}
        if value is None or isinstance(value, bool | int | str):
            return value
        return self._fields(value)

    def _fields(self, value: object) -> Any:
        name = type(value).__name__
        if KINDS.get(name) is not type(value):
            raise TypeError(f"{value!r} is nothing that a file may hold")
        return {name: [self.written(getattr(value, item.name)) for item in fields(cast(Any, value))]}


class Reading:
    """What `Writer` wrote, with the parameters of a statement."""

    def __init__(self, params: Mapping[str, Param], terms: list[Any]):
        self.params = params
        self.terms: list[Any] = []
        for data in terms:
            self.terms.append(self.read(data))

    def rule(self, data: Any) -> Rule:
        """
        Raises:
            ProofError: it is no step of a kind that a file may hold.
        """
        found = self.read(data)
        if not isinstance(found, Rule):
            raise ProofError("wanted a rule of inference")
        return found

    def read(self, data: Any, depth: int = 0) -> Any:
        if depth > DEPTH:
            raise ProofError("nested too deeply")
        if data is None or isinstance(data, bool | int | str):
            return data
        if isinstance(data, list):
            return tuple(self.read(part, depth + 1) for part in data)
        if not isinstance(data, dict) or len(data) != 1:
            raise ProofError(f"wanted one kind of thing, got {str(data)[:60]}")
        ((kind, inner),) = data.items()
        if kind == "term":
            if not isinstance(inner, int) or not 0 <= inner < len(self.terms):
                raise ProofError(f"no vector {inner!r} before this one")
            return self.terms[inner]
        if kind == "number":
            return self.number(inner)
        if not isinstance(inner, list):
            raise ProofError(f"{kind}: wanted a list")
        if kind == "set":
            return frozenset(self.read(part, depth + 1) for part in inner)
        if kind not in KINDS or len(inner) != len(fields(KINDS[kind])):
            raise ProofError(f"{str(kind)[:30]!r} with {len(inner)} parts is nothing that a file may hold")
        parts = [self.read(part, depth + 1) for part in inner]
        if kind == "Known":  # in lowest terms
            return Known.of({name: (level, single) for name, level, single in parts[0]})
        return KINDS[kind](*parts)

    def number(self, data: Any) -> Signomial:
        total = ZERO
        for c, monomial in data:
            product = signomial(fraction(c))
            for name, exponent in monomial.items():
                if name not in self.params:
                    raise ProofError(f"{name}: no symbol of the statement")
                product = product * self.params[name].number ** fraction(exponent)
            total = total + product
        return total


def fraction(text: Any) -> Fraction:
    """
    Raises:
        ProofError: it is no text of a fraction.
    """
    parts = text.split("/") if isinstance(text, str) and len(text) < _LONGEST else []
    if not 1 <= len(parts) <= 2 or not all(part.removeprefix("-").isdecimal() for part in parts):
        raise ProofError(f"wanted a fraction, got {str(text)[:40]!r}")
    if len(parts) == 2 and int(parts[1]) == 0:
        raise ProofError("a fraction over 0")
    return Fraction(*map(int, parts))


_LONGEST = 4000
