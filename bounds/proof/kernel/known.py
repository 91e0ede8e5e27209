"""What is known: a set of independent sources of randomness, which stands for the sigma-algebra that they generate.

A source is a named family of samples (over clients, batch, ...), drawn afresh at every step. For each name a set holds all
steps before t + level, and finitely many others. Since all (name, step) are independent, conditional expectations
given two such sets commute, and E[E[. | A] | B] = E[. | A meet B].
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import total_ordering


@total_ordering
@dataclass(frozen=True, repr=False)
class Averaged:
    """The step of a sample that is averaged away inside a conditional expectation: later than all others, and no step that can be written.

    Which step it was of does not matter; those of different steps have different ranks.
    """

    rank: int

    def __lt__(self, other: object) -> bool:
        return isinstance(other, Averaged) and self.rank < other.rank

    def __add__(self, by: int) -> Averaged:
        return self

    def __repr__(self) -> str:
        return f"~{self.rank}"


When = int | Averaged
Entry = tuple[int | None, frozenset[When]]
"""(every step before t + this, single steps)."""


@dataclass(frozen=True, repr=False)
class Known:
    """Source name -> (level, single steps), as a sorted tuple in lowest terms."""

    entries: tuple[tuple[str, int | None, frozenset[When]], ...] = ()

    @classmethod
    def of(cls, table: dict[str, Entry]) -> Known:
        rows = []
        for name, (level, single) in sorted(table.items()):
            while level is not None and level in single:
                level += 1
            kept = frozenset(s for s in single if level is None or s >= level)
            if level is not None or kept:
                rows.append((name, level, kept))
        return cls(tuple(rows))

    @classmethod
    def before(cls, names: Iterable[str], level: int = 0) -> Known:
        """Every sample of the steps before t + level."""
        return cls.of({name: (level, frozenset()) for name in names})

    @classmethod
    def sample(cls, name: str, step: When = 0) -> Known:
        return cls.of({name: (None, frozenset({step}))})

    @property
    def table(self) -> dict[str, Entry]:
        return {name: (level, single) for name, level, single in self.entries}

    def has(self, name: str, step: When) -> bool:
        level, single = self.table.get(name, (None, frozenset()))
        return step in single or (level is not None and step < level)

    def __and__(self, other: Known) -> Known:
        mine, theirs = self.table, other.table
        return Known.of({name: _meet(mine[name], theirs[name]) for name in mine.keys() & theirs.keys()})

    def __or__(self, other: Known) -> Known:
        mine, theirs = self.table, other.table
        return Known.of({name: _join(mine.get(name), theirs.get(name)) for name in mine.keys() | theirs.keys()})

    def __le__(self, other: Known) -> bool:
        return self.entries == other.entries or self & other == self

    def later(self, by: int) -> Known:
        rows = (
            (n, None if level is None else level + by, frozenset(s + by for s in k)) for n, level, k in self.entries
        )
        return Known(tuple(rows))

    def __repr__(self) -> str:
        levels = {level for _, level, _ in self.entries}
        past = [] if levels <= {None} else ["past" if levels == {0} else f"before{sorted(levels, key=str)}"]
        return ", ".join(past + [f"{n}{[*sorted(k)]}" for n, _, k in self.entries if k]) or "nothing"


def _in(entry: Entry, step: When) -> bool:
    return step in entry[1] or (entry[0] is not None and step < entry[0])


def _meet(left: Entry, right: Entry) -> Entry:
    levels = [level for level in (left[0], right[0]) if level is not None]
    single = frozenset(step for step in left[1] | right[1] if _in(left, step) and _in(right, step))
    return (min(levels) if len(levels) == 2 else None, single)


def _join(left: Entry | None, right: Entry | None) -> Entry:
    if left is None or right is None:
        return left or right or (None, frozenset())
    levels = [level for level in (left[0], right[0]) if level is not None]
    return (max(levels) if levels else None, left[1] | right[1])
