"""What is known of a statement, computed from the derivations and the refutations; nobody types it."""

from __future__ import annotations

from ..language.theorem import Theorem
from ..registry import get_paper, is_paper
from .derivations import derivation
from .kernel import check

PROVED, DERIVED, REFUTED, OPEN = "proved", "derived", "refuted", "open"


def status(theorem: Theorem, label: str) -> str:
    """`proved`: the kernel accepts a derivation; `derived`: corrected by pen, no derivation that checks; `refuted`: an exact
    instance breaks it; otherwise `open`.

    Raises:
        InputError: the theorem has no such statement.
    """
    theorem.statement(label)
    if refuted_by(theorem, label):
        return REFUTED
    found = derivation(theorem, label)
    if found is not None and check(found, theorem, label).checked:
        return PROVED
    return DERIVED if label == "corrected" else OPEN


def refuted_by(theorem: Theorem, label: str) -> tuple[str, ...]:
    """Names of the exact instances that break the statement; each is rebuilt by `fedco replay`."""
    key = theorem.id.partition(".")[0]
    if not is_paper(key):
        return ()
    known = get_paper(key).counterexamples.values()
    return tuple(item.name for item in known if item.claim == theorem.id and item.statement == label)
