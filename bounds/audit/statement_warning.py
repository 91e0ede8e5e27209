"""What has to be said beside a number: that its statement is refuted, that nobody promises it, or that no kernel checked it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from ..language.theorem import Statement
from ..registry import paper_of
from . import audit_cache
from .refuted import gravest, refuted_by


@dataclass(frozen=True)
class StatementWarning:
    """`status` is refuted, refuted under the reading that follows, slip with what was meant, proved, composed, derived or open.

    `proved` is what the kept audit of the paper says, of the day on which both locks held; `fedco prove` tries them again.

    Args:
        bundles: names of the refutations that decide.
        outcome: the status without its reading.
    """

    status: str
    text: str = ""
    bundles: tuple[str, ...] = ()
    outcome: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcome", self.outcome or self.status)

    def to_dict(self) -> dict[str, Any]:
        """As a kept audit holds it."""
        return {**asdict(self), "bundles": list(self.bundles)}


def statement_warning(statement: Statement) -> StatementWarning:
    """What a user of a statement has to know, without running a check: from its paper's kept audit, which needs neither derivations nor
    refutations, else computed."""
    known = _kept(statement)
    kept = known.warnings.get(f"{statement.theorem.id} {statement.label}") if known else None
    if kept is not None:
        return StatementWarning(kept["status"], kept["text"], tuple(kept["bundles"]), kept["outcome"])
    return computed(statement, bool(proved_on(statement)))


def computed(statement: Statement, proved: bool) -> StatementWarning:
    """The same, read off the paper's declarations; `proved` is whether both locks of `fedco prove` hold."""
    theorem, label = statement.theorem, statement.label
    broken = gravest(refuted_by(statement))
    instead = "" if label == "corrected" or "corrected" not in theorem.labels else "; --statement corrected holds"
    if broken:
        first, names = broken[0], tuple(item.name for item in broken)
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        loud = first.word.upper() if first.grade == "refuted" else first.word[0].upper() + first.word[1:]
        text = f"{loud}: an exact instance breaks this statement: fedco replay docs/refutations/{names[0]}.json{more}"
        return StatementWarning(first.word, text + instead, names, first.grade)
    if proved:
        return StatementWarning("proved")
    if label == "composed":
        text = "composed from the paper's lemmas as printed: it inherits their faults and is no promise"
        return StatementWarning("composed", text + instead)
    if (label == "sharpened" and has_derivation(statement)) or _has_argument(statement):
        return StatementWarning("derived")
    return StatementWarning("derived", _unchecked(statement)) if label == "corrected" else StatementWarning("open")


def _unchecked(statement: Statement) -> str:
    """What is said of a corrected statement without a derivation as data; nothing where it has one that `fedco prove` checks."""
    paper = paper_of(statement.theorem)
    if paper is None:
        return "derived by its author, not checked by the kernel"
    derived = f"derived in docs/theory ({paper.key}), not checked by the kernel"
    if lemmas := rests_on(statement):
        return f"the kernel checks its derivation given {', '.join(lemmas)}: {derived}"
    return "" if has_derivation(statement) else derived


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


def _has_argument(statement: Statement) -> bool:
    """Whether the paper declares a check that shows the statement; nothing is checked here."""
    paper = paper_of(statement.theorem)
    return paper is not None and (statement.theorem.id, statement.label) in paper.holds


def rests_on(statement: Statement) -> tuple[str, ...]:
    """The lemmas without a derivation as data on which that of the statement rests; none for a statement that has none."""
    paper = paper_of(statement.theorem)
    return paper.unchecked(statement.theorem.id) if paper is not None and has_derivation(statement) else ()


def standing(statement: Statement) -> str:
    """The status in words, with what stands behind it."""
    known = statement_warning(statement)
    if known.bundles:
        return f"{known.status} by {', '.join(known.bundles)}"
    if has_derivation(statement) and not rests_on(statement):
        which = "" if statement.label == statement.theorem.default else f" --statement {statement.label}"
        return f"has a derivation that a kernel checks: fedco prove {statement.theorem.id}{which}"
    if has_derivation(statement):
        return f"{known.text}: fedco prove {statement.theorem.id}"
    return known.text or known.status if known.status == "derived" else known.status
