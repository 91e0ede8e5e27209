"""Which exact refutations the papers declare; nothing is rebuilt here."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from ..language.theorem import Statement
from ..registry import all_papers, paper_of

if TYPE_CHECKING:
    from ..language.paper import Paper
    from .refutation import Case, Ends, Refutation


class Kept(NamedTuple):
    """An exact instance, with enclosures of both sides."""

    case: Case
    left: Ends
    right: Ends


@cache
def refutations() -> dict[str, Refutation]:
    """Every declared refutation by name, in the order of the papers."""
    return {name: item for paper in all_papers() for name, item in of_paper(paper).items()}


@cache
def of_paper(paper: Paper) -> dict[str, Refutation]:
    """The refutations of a paper by name: the bundles in its folder, and those that its code builds."""
    claims = list(paper.theorems)
    found = sorted(_bundles(paper), key=lambda item: (item.order, claims.index(item.claim), item.weight))
    return {item.name: item for item in (*found, *paper.counterexamples.values()) if not item.is_evidence}


@cache
def evidence() -> dict[str, Refutation]:
    """Those by name that stand behind a finding only: others refute the claim, or it is true of other instances; no list has them."""
    return {
        item.name: item
        for paper in all_papers()
        for item in (*_bundles(paper), *paper.counterexamples.values())
        if item.is_evidence
    }


@cache
def exact_instances() -> dict[str, Refutation]:
    """Every refutation, and everything that is only evidence, by name."""
    return {**refutations(), **evidence()}


@cache
def _bundles(paper: Paper) -> tuple[Refutation, ...]:
    """Its bundles, read when they are asked for, as its code is: what evaluates a statement also says whether it is refuted."""
    reader = import_module(f"{__package__}.bundled")
    return () if paper.file is None else tuple(reader.bundles_in(paper.file.folder / reader.FOLDER))


@cache
def kept(name: str) -> Kept:
    """A refutation with both sides: the left one as the last replay found it, the right one evaluated now.

    Raises:
        InadmissibleError: a printed condition does not hold.
    """
    item = exact_instances()[name]
    case = item.case()
    return Kept(case, *item.sides(case))


def refuted_by(statement: Statement) -> tuple[str, ...]:
    """Names of the refutations that the statement's own paper declares for it."""
    paper = paper_of(statement.theorem)
    known = () if paper is None else of_paper(paper).values()
    about = statement.theorem.id, statement.label
    return tuple(item.name for item in known if (item.claim, item.statement) == about)


@cache
def causes() -> dict[str, tuple[str, ...]]:
    """Id of a finding -> ids of those that name the slips which are seen again in it."""
    found: dict[str, tuple[str, ...]] = {}
    for item in (item for paper in all_papers() for item in paper.repeated):
        found |= {again: (*found.get(again, ()), item.id) for again in item.seen_in}
    return found


@cache
def stands(name: str) -> bool:
    """Whether a declared refutation stands, by its name; found once in a process."""
    return refutations()[name].stands


def gravest(names: Iterable[str]) -> tuple[Refutation, ...]:
    """Of these refutations that stand, those of the gravest grade: one without a reading decides, whatever else there is."""
    found = [refutations()[name] for name in names if stands(name)]
    least = min((item.weight for item in found), default=0)
    return tuple(item for item in found if item.weight == least)


def bundles_of(finding: str) -> tuple[str, ...]:
    """Names of the exact instances that a finding of the audit rests on."""
    return tuple(name for name, item in exact_instances().items() if finding in item.findings)
