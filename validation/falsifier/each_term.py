"""Which terms and conditions of a statement are necessary: each taken away or weakened, and the weakened statement attacked.

A refuted weakening shows that the part is necessary, by a bundle. The instance says more than that: how large the term would
have to be there, which is a lower bound of any coefficient that is right.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from ...bounds.language.change import Change, weakenings
from ...bounds.language.theorem import Theorem
from ...bounds.registry import get_theorem
from .attack import Falsified, falsify
from .search import Progress

NECESSARY, NOT_SHOWN = "necessary", "not shown"


@dataclass(frozen=True)
class Part:
    """What is known of one term or condition.

    Args:
        change: the weakening that was tried first, in words.
        verdict: "necessary" where the weakened statement is refuted, else "not shown".
        ratio: left side over the weakened bound: confirmed where refuted, else the largest found.
        least: for a term, the part of its coefficient below which the statement is refuted; 0 where nothing is known.
        relaxed: for a condition, the factor by which relaxing it is refuted.
        bundle: file of the refutation.
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

    def to_dict(self) -> dict[str, Any]:
        """As the command prints it."""
        return asdict(self)

    @property
    def between(self) -> str:
        """What is known of the coefficient or of the condition, for people."""
        if self.kind == "condition":
            return f"relaxing it by {self.relaxed:g} is refuted" if self.relaxed else "relaxing it by 4 is not refuted"
        return f"coefficient between {self.least:.3g} and 1 of the stated one" if self.least else "could be 0"


def each_term(
    theorem: Theorem | str,
    statement: str = "printed",
    *,
    seconds: float = 60.0,
    seed: int = 0,
    hidden: float = 1.0,
    clock: Callable[[], float] = time.perf_counter,
    out: Path | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Iterator[Part]:
    """Every term dropped and every condition relaxed by 4, one after the other.

    Args:
        seconds: of each search, by the clock. A term that is necessary gets a second search of the same length, for a larger
            part of its coefficient that does not suffice either.

    Raises:
        InputError: there is no such theorem or statement.
    """
    declared = get_theorem(theorem) if isinstance(theorem, str) else theorem

    def attack(change: Change) -> Falsified:
        return falsify(
            declared,
            statement,
            seconds=seconds,
            seed=seed,
            hidden=hidden,
            change=change,
            clock=clock,
            out=out,
            progress=progress,
        )

    for change in weakenings(declared.statement(statement)):
        found = attack(change)
        yield _term(change, found, attack) if change.way == "dropped" else _condition(change, found)


def _condition(change: Change, found: Falsified) -> Part:
    relaxed = float(change.factor) if found.refuted else None
    return Part(
        change.part,
        "condition",
        str(change),
        NECESSARY if found.refuted else NOT_SHOWN,
        found.ratio,
        relaxed=relaxed,
        evaluations=found.evaluations,
        seconds=found.seconds,
        bundle=str(found.path) if found.path else None,
    )


def _term(change: Change, found: Falsified, attack: Callable[[Change], Falsified]) -> Part:
    least, evaluations, seconds = found.needed, found.evaluations, found.seconds
    if found.refuted and 0 <= least < _CLOSE:
        kept = math.sqrt(max(least, _FLOOR))  # halfway on a log scale between what was refuted and what is stated
        more = attack(Change(change.part, "divided", Fraction(1 / kept).limit_denominator(10**6)))
        evaluations, seconds = evaluations + more.evaluations, seconds + more.seconds
        least = max(least, more.needed if more.refuted else 0.0)
    return Part(
        change.part,
        "term",
        str(change),
        NECESSARY if found.refuted else NOT_SHOWN,
        found.ratio,
        least=min(least, 1.0),
        evaluations=evaluations,
        seconds=seconds,
        bundle=str(found.path) if found.path else None,
    )


_CLOSE, _FLOOR = 0.5, 1e-4


def as_table(parts: list[Part]) -> str:
    """For people: one line for each part."""
    head = ("kind", "change", "verdict", "ratio", "what is known")
    rows = [head, *((p.kind, p.change, p.verdict, f"{p.ratio:.4g}", p.between) for p in parts)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
