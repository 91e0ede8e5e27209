"""What is known of a statement, such as that an exact instance refutes it, and what has to be said beside its numbers.

A paper's audit keeps the status of each of its statements (`decide.py` says how it is found). It is read while the sources of the audit
are unchanged, so that a bound says what is known of its statement without comparing formulas or checking derivations or bundles.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, NamedTuple

from ..language.theorem import Statement, Theorem
from ..registry import paper_of
from . import audit_cache


class Outcome(NamedTuple):
    """What can be known of a statement: a sign for it, the word, and what it means."""

    sign: str
    word: str
    meaning: str


OUTCOMES = {
    "refuted": Outcome("✗", "refuted", "an exact instance satisfies its conditions and breaks it"),
    "reading": Outcome(
        "△", "refuted under a reading", "an exact instance breaks it under one reading of the paper, not under another"
    ),
    "slip": Outcome("·", "slip", "an exact instance breaks it; a letter, a sign or a factor repairs it"),
    "open": Outcome("○", "open", "neither derived nor refuted"),
    "composed": Outcome(
        "◇",
        "composed",
        "put together by code from the paper's lemmas as printed; it has their faults and is no promise",
    ),
    "derived": Outcome(
        "◆", "derived", "follows by a derivation that was read and tested, of which the kernel has not checked all"
    ),
    "proved": Outcome("✓", "proved", "the kernel checks its derivation, and every step holds on exact instances"),
}
"""By name, worst first."""


@dataclass(frozen=True)
class Status:
    """
    Args:
        outcome: one of `OUTCOMES`.
        why: what shows it.
        given: conditions of the corrected statement that this one does not state; it is derived where they hold.
        bundles: names of the refutations that decide.
        word: the outcome with the reading under which it is refuted, or with what was meant.
        warning: what has to be said beside a number of the statement; empty where that is nothing.
    """

    outcome: str
    why: str
    given: tuple[str, ...] = ()
    bundles: tuple[str, ...] = ()
    word: str = ""
    warning: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "word", self.word or self.outcome)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Status:
        """The one that `to_dict` made this of."""
        return cls(**{**kept, "given": tuple(kept["given"]), "bundles": tuple(kept["bundles"])})

    def to_dict(self) -> dict[str, Any]:
        """As a kept audit holds it."""
        return {**asdict(self), "given": list(self.given), "bundles": list(self.bundles)}

    def __str__(self) -> str:
        return f"{self.word}: {self.reason}"

    @property
    def said(self) -> dict[str, Any]:
        """As answers have it in JSON."""
        return {"status": self.word, "refuted_by": list(self.bundles)}

    @property
    def reason(self) -> str:
        """What shows it, and where."""
        return self.why + (f" where {'; '.join(self.given)}" if self.given else "")


def status(theorem: Theorem, label: str = "") -> Status:
    """What is known of one statement of a theorem; of the first one without a label.

    Raises:
        InputError: no such statement.
        RecheckError: a declared argument does not pass its own check.
    """
    statement = theorem.statement(label or theorem.first)
    known = _kept(statement)
    kept = known.statuses.get(f"{theorem.id} {statement.label}") if known else None
    if kept is not None:
        return Status.from_dict(kept)
    # Loaded only here: what evaluates a statement says its status beside the number, and `decide` evaluates statements.
    decided: Status = import_module(f"{__package__}.decide").decide(theorem, statement.label, proved_on(statement))
    return decided


def known_of(statement: Statement) -> Status:
    """The same for a statement."""
    return status(statement.theorem, statement.label)


def proved_on(statement: Statement) -> str:
    """The day on which both locks of `fedco prove` held for the statement, if its paper is unchanged since; else nothing."""
    known = _kept(statement)
    return known.checked if known and f"{statement.theorem.id} {statement.label}" in known.proved else ""


def _kept(statement: Statement) -> audit_cache.AuditCache | None:
    """The kept audit of the paper that declares the statement's theorem."""
    paper = paper_of(statement.theorem)
    return None if paper is None else audit_cache.read(paper.key)


def has_derivation(statement: Statement) -> bool:
    """Whether the paper declares a derivation of the statement as data, which `fedco prove` checks; nothing is checked here."""
    theorem, paper = statement.theorem, paper_of(statement.theorem)
    return paper is not None and paper.derivation_of(theorem, statement.label) is not None


def rests_on(statement: Statement) -> tuple[str, ...]:
    """The lemmas without a derivation as data on which that of the statement rests; none for a statement that has none."""
    paper = paper_of(statement.theorem)
    return paper.unchecked(statement.theorem.id) if paper is not None and has_derivation(statement) else ()


def standing(statement: Statement) -> str:
    """The status in words, with what stands behind it and the command that checks it."""
    known = known_of(statement)
    if known.bundles:
        return f"{known.word} by {', '.join(known.bundles)}"
    if has_derivation(statement) and not rests_on(statement):
        which = "" if statement.label == statement.theorem.default else f" --statement {statement.label}"
        return f"has a derivation that a kernel checks: fedco prove {statement.theorem.id}{which}"
    if has_derivation(statement):
        return f"{known.warning}: fedco prove {statement.theorem.id}"
    return known.warning or str(known)


def table(theorems: Iterable[Theorem]) -> str:
    """Where each theorem and corollary stands, as a table; lemmas are steps of proofs and are left out."""
    rows = ["## Where each theorem stands", "", "| theorem | as printed | |", "|---|---|---|"]
    for item in theorems:
        if item.kind in ("theorem", "corollary"):
            found = status(item)
            why = ", ".join(f"[{name}](refutations/{name}.json)" for name in found.bundles) or found.reason
            rows.append(f"| {item.id} | {found.word} | {why} |".replace("||", r"\|\|"))
    return "\n".join([*rows, ""])
