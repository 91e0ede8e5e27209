"""Which statements have a derivation, and what the kernel says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec

from ..language.reading import InputError
from ..language.theorem import Theorem
from .kernel import Derivation, Reader, Verdict, check

LABEL = "corrected"


def builders(paper: str) -> Mapping[str, Callable[[Reader], Derivation]]:
    """Name of a theorem -> its derivation as a function of the symbols; from the file `derivation.py` of the paper."""
    from ..registry import PAPERS

    package = f"{__package__.rpartition('.')[0]}.papers.{paper}"
    if paper not in PAPERS or find_spec(f"{package}.derivation") is None:
        return {}
    found: Mapping[str, Callable[[Reader], Derivation]] = import_module(f"{package}.derivation").DERIVATIONS
    return found


def derivation(theorem: Theorem, label: str = LABEL) -> Derivation | None:
    """The derivation of a statement as data, or None where there is none."""
    paper, _, name = theorem.id.partition(".")
    builder = builders(paper).get(name) if label == LABEL and label in theorem.labels else None
    return builder(Reader(theorem, theorem.statement(label))) if builder else None


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
    from ..registry import PAPERS

    return tuple(f"{paper}.{name}" for paper in PAPERS for name in builders(paper))
