"""A sharpened proof as a file of data, and what the kernel says of it.

The file names a statement, values of its symbols, a number, and steps: which of the derivation of the statement, and combinations and
sums after them. Everything else (axioms, metric, period, horizon, update equations) is read off the statement and its derivation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from ....storage import DamagedError, read_json, sealed, write_json
from ....user_files import name_in_data
from ...language.reading import InputError
from ...language.theorem import Theorem
from ..derivations import verdict
from ..kernel import (
    Act,
    App,
    AtNumbers,
    AtStart,
    Combine,
    Derivation,
    Given,
    Known,
    Mean,
    Pair,
    Param,
    ProofError,
    Reader,
    Scalar,
    Signomial,
    Step,
    SumOver,
    Verdict,
    cases_of,
    signomial,
    with_cases,
)
from ..kernel.rules.base import Rule
from ..kernel.scalars import At, Inner, Named, One, Total, Value
from ..kernel.signomial import ZERO
from ..kernel.terms import Proj, Sum, Term, Var
from .sharpening import Sharpened, proof_of

FORMAT = "fedco-sharpened/1"


def to_data(found: Sharpened, name: str = "") -> dict[str, Any]:
    """The certificate as JSON.

    Args:
        name: how the theorem is named to whoever reads it: its id (the default), or a file.
    """
    assert found.plan is not None and found.bound is not None
    own = proof_of(found.theorem, found.statement)
    writer = Writer()
    cases = {
        key: _case(made, before, writer)
        for (key, made), (_, before) in zip(cases_of(found.plan), cases_of(own), strict=True)
    }
    return {
        "format": FORMAT,
        "theorem": name or found.theorem.id,
        "statement": found.statement,
        "at": {key: str(value) for key, value in found.at.items()},
        "bound": str(found.bound),
        "terms": writer.terms,
        "cases": cases,
    }


def _case(made: Derivation, own: Derivation, writer: Writer) -> dict[str, Any]:
    kept = {step.name for step in own.steps if step in made.steps}
    return {
        "kept": [step.name for step in made.steps if step.name in kept],
        "steps": [[step.name, writer.written(step.rule)] for step in made.steps if step.name not in kept],
        "conclusion": [[str(factor.at({})), name] for factor, name in made.conclusion],
    }


@dataclass(frozen=True)
class Checked:
    """What the kernel says of a certificate."""

    verdict: Verdict

    @property
    def accepted(self) -> bool:
        return self.verdict.checked

    def to_dict(self) -> dict[str, Any]:
        return {**self.verdict.to_dict(), "checked": self.accepted, "rules": self.verdict.accepted, "instances": None}

    def __str__(self) -> str:
        return f"{self.verdict}\nby the rules, at these numbers only; no instance was tried"


def recheck(path: str, theorem_named: Callable[[str], Theorem]) -> Checked:
    """What the kernel says of the certificate in a file.

    Raises:
        InputError: it is no such file, is about no statement that has a derivation, or names code that is not trusted.
    """
    try:
        data = read_json(path, FORMAT)
    except DamagedError as error:
        raise InputError(f"{path}: no sharpened proof: {error}") from error
    try:
        theorem = theorem_named(name_in_data(str(data["theorem"])))
        label = str(data["statement"])
        if label != theorem.default:
            raise InputError(f"{path}: wanted a certificate of the {theorem.default} statement, got {label[:20]!r}")
        return Checked(of_data(data, theorem, label))
    except (KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise InputError(f"{path}: not a whole certificate: {type(error).__name__}: {error}") from error


def of_data(data: dict[str, Any], theorem: Theorem, label: str) -> Verdict:
    """What the kernel says of the steps in a certificate."""
    own = proof_of(theorem, label)
    try:
        numbers = AtNumbers({name: fraction(text) for name, text in data["at"].items()}, fraction(data["bound"]))
        reading = Reading(Reader(theorem, theorem.statement(label)).params, data["terms"])
        plan = with_cases(own, ((key, _read(data["cases"][key], case, reading)) for key, case in cases_of(own)))
    except ProofError as error:
        return Verdict(theorem.id, label, False, (), failure=str(error))
    return verdict(plan, theorem, label, numbers)


def _read(data: dict[str, Any], own: Derivation, reading: Reading) -> Derivation:
    kept = set(data["kept"])
    steps = [step for step in own.steps if step.name in kept]
    steps += [Step(str(name), reading.rule(rule)) for name, rule in data["steps"]]
    weights = tuple((signomial(fraction(factor)), str(name)) for factor, name in data["conclusion"])
    return replace(own, steps=tuple(steps), conclusion=weights)


def save(found: Sharpened, path: Path, name: str = "") -> None:
    """Write the certificate."""
    write_json(path, sealed(to_data(found, name)), indent=None)


# --- steps as JSON: data only, read with a fixed table of kinds ---------------------------------------------------------

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


__all__ = ["FORMAT", "Checked", "of_data", "recheck", "save", "to_data"]
