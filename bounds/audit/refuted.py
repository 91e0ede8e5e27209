"""Which exact refutations the papers declare; nothing is rebuilt here."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from ..language.theorem import Statement
from ..registry import all_papers, paper_of

if TYPE_CHECKING:
    from .refutation import Refutation


@cache
def refutations() -> dict[str, Refutation]:
    """Every declared refutation by name, in the order of the papers."""
    return {name: item for paper in all_papers() for name, item in paper.counterexamples.items()}


def refuted_by(statement: Statement) -> tuple[str, ...]:
    """Names of the refutations that the statement's own paper declares for it."""
    paper = paper_of(statement.theorem)
    known = () if paper is None else paper.counterexamples.values()
    about = statement.theorem.id, statement.label
    return tuple(item.name for item in known if (item.claim, item.statement) == about)


@cache
def causes() -> dict[str, str]:
    """Id of a finding -> id of the one that names the slip which is seen again in it."""
    return {again: item.id for paper in all_papers() for item in paper.repeated for again in item.seen_in}


def gravest(names: Iterable[str]) -> tuple[Refutation, ...]:
    """Of these refutations, those of the gravest grade: one without a reading decides, whatever else there is."""
    found = [refutations()[name] for name in names]
    least = min((item.weight for item in found), default=0)
    return tuple(item for item in found if item.weight == least)


def bundles_of(finding: str) -> tuple[str, ...]:
    """Names of the refutations that a finding of the audit rests on."""
    return tuple(name for name, item in refutations().items() if finding in item.findings)
