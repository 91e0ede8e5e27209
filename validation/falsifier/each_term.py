"""Which terms and conditions of a statement are necessary: each taken away or weakened, and the weakened statement attacked.

A refuted weakening shows that the part is necessary, by a bundle. The instance says more than that: how large the term would
have to be there, which is a lower bound of any coefficient that is right. All changes of terms share one search.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...bounds.language.change import Change, weakenings
from ...bounds.language.theorem import Theorem
from ...bounds.registry import get_theorem
from ..runs.bundle import Bundle
from .attack import Falsified, falsify, falsify_changes

NECESSARY, NOT_SHOWN, REFUTED = "necessary", "not shown", "refuted"
WHOLE = "statement"


@dataclass(frozen=True)
class Part:
    """What is known of one term or condition; or that the statement is refuted as it stands (`kind` is then "statement").

    Args:
        change: the weakening that was tried first, in words.
        verdict: "necessary" where the weakened statement is refuted, else "not shown"; "refuted" of the statement itself.
        ratio: left side over the weakened bound: confirmed where refuted, else the largest found.
        seconds: for a term, its share of the search of all terms.
        least: for a term, the part of its coefficient below which the statement is refuted; 0 where nothing is known.
        relaxed: for a condition, the factor by which relaxing it is refuted.
        bundle: file of the refutation.
        found: the refutation; of a term, that which needs the largest part of its coefficient.
    """

    part: str
    kind: str
    change: str
    verdict: str
    ratio: float
    least: float = 0.0
    relaxed: float | None = None
    evaluations: int = 0
    seconds: float = 0.0
    bundle: str | None = None
    found: Bundle | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """As the command prints it."""
        return {name: value for name, value in vars(self).items() if name != "found"}

    @property
    def between(self) -> str:
        """What is known of the coefficient or of the condition, for people."""
        if self.kind == WHOLE:
            return "false as stated: its parts are not tried"
        if self.kind == "condition":
            return f"relaxing it by {self.relaxed:g} is refuted" if self.relaxed else "relaxing it by 4 is not refuted"
        return f"coefficient between {self.least:.3g} and 1 of the stated one" if self.least else "could be 0"


def each_term(
    theorem: Theorem | str,
    statement: str = "printed",
    *,
    seconds: float = 60.0,
    **more: Any,
) -> Iterator[Part]:
    """Every term dropped and every condition relaxed by 4, one after the other; of a statement that is refuted as it stands only that.

    Where a statement is false, the lack of one term is made up for by any other, so that its parts would say nothing.

    Args:
        seconds: for the statement itself and for each part, by the clock. The terms share one search of so many seconds for each of
            them, in which a term that is necessary is given back in growing parts, as long as an instance shows that the part does not
            suffice.
        more: seed, hidden, clock, out and progress, as for `falsify`.

    Raises:
        InputError: there is no such theorem or statement.
    """
    declared = get_theorem(theorem) if isinstance(theorem, str) else theorem
    whole = falsify(declared, statement, seconds=seconds, **more)
    if whole.refuted:
        yield _part(None, WHOLE, whole)
        return
    listed = list(weakenings(declared.statement(statement)))
    dropped = [change for change in listed if change.way == "dropped"]
    if dropped:
        began = time.perf_counter()
        found = falsify_changes(declared, statement, dropped, seconds=seconds * len(dropped), climb=True, **more)
        for change in dropped:
            of_it = [result for other, result in found.items() if other.part == change.part]
            yield _term(change, found[change], of_it, (time.perf_counter() - began) / len(dropped))
    for change in listed:
        if change.way == "relaxed":
            yield relaxed_part(change, falsify(declared, statement, seconds=seconds, change=change, **more))


def relaxed_part(change: Change, found: Falsified) -> Part:
    return _part(change, "condition", found, relaxed=float(change.factor) if found.refuted else None)


def _term(change: Change, found: Falsified, less: Sequence[Falsified], seconds: float) -> Part:
    """`less` are the searches of all changes of the term: each refuted one says what part of it its instance needs."""
    most = max((result for result in less if result.refuted), key=lambda result: result.needed, default=found)
    least = min(max(result.needed for result in less), 1.0)
    return _part(change, "term", found, least=least, seconds=seconds, found=most.found)


def _part(change: Change | None, kind: str, result: Falsified, **more: Any) -> Part:
    """What a search with this change came to; without one, what it came to of the statement itself."""
    about, words, shown = (
        (result.statement, "as stated", REFUTED) if change is None else (change.part, str(change), NECESSARY)
    )
    bundle = str(result.path) if result.path else None
    known = {"evaluations": result.evaluations, "seconds": result.seconds, "bundle": bundle, "found": result.found}
    return Part(about, kind, words, shown if result.refuted else NOT_SHOWN, result.ratio, **{**known, **more})


def as_table(parts: list[Part]) -> str:
    """For people: one line for each part."""
    head = ("kind", "change", "verdict", "ratio", "what is known")
    rows = [head, *((p.kind, p.change, p.verdict, f"{p.ratio:.4g}", p.between) for p in parts)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
