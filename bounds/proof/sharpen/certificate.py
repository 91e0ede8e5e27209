"""A sharpened proof as a file of data, and what the kernel says of it.

The file names a statement, values of its symbols, a number, and steps: which of the derivation of the statement, and combinations and
sums after them. Everything else (axioms, metric, period, horizon, update equations) is read off the statement and its derivation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ....storage import DamagedError, read_json, sealed, write_json
from ....user_files import name_in_data
from ...language.reading import InputError
from ...language.theorem import Theorem
from ..derivations import verdict
from ..kernel import Alternatives, AtNumbers, Derivation, ProofError, Reader, Step, Verdict, signomial
from .codec import Reading, Writer, fraction
from .sharpening import Sharpened, Sharper, proof_of

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
        for (key, made), (_, before) in zip(_cases(found.plan), _cases(own), strict=True)
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


def _cases(plan: Sharper) -> tuple[tuple[str, Derivation], ...]:
    return plan.cases if isinstance(plan, Alternatives) else (("", plan),)


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
        made = [(key, _read(data["cases"][key], case, reading)) for key, case in _cases(own)]
        plan = replace(own, cases=tuple(made)) if isinstance(own, Alternatives) else made[0][1]
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


__all__ = ["FORMAT", "Checked", "of_data", "recheck", "save", "to_data"]
