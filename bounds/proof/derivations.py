"""Which statements have a derivation, and what the kernel says of it."""

from __future__ import annotations

from ..language.reading import InputError
from ..language.theorem import Theorem
from ..registry import all_papers, get_paper, is_paper
from .kernel import Derivation, Reader, Verdict, check

LABEL = "corrected"


def derivation(theorem: Theorem, label: str = LABEL) -> Derivation | None:
    """The derivation of a statement as data, or None where there is none."""
    key = theorem.id.partition(".")[0]
    if label != LABEL or label not in theorem.labels or not is_paper(key):
        return None
    build = get_paper(key).derivations.get(theorem.id)
    return build(Reader(theorem, theorem.statement(label))) if build else None


def prove(theorem: Theorem, label: str = LABEL) -> Verdict:
    """Re-check the derivation of a statement.

    Raises:
        InputError: the statement has none.
    """
    found = derivation(theorem, label)
    if found is None:
        raise InputError(
            f"{theorem.id}: no derivation of the {label} statement; wanted one of {', '.join(derived_ids())}"
        )
    return check(found, theorem, label)


def derived_ids() -> tuple[str, ...]:
    """Ids of the theorems that have a derivation, whether or not it checks."""
    return tuple(name for paper in all_papers() for name in paper.derivations)
