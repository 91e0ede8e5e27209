"""Which cases of a test a quick run tries: those that between them run the same code; `slow` tries all."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def slow_but(few: Collection[str], cases: Iterable[str | tuple[str, ...]]) -> list[Any]:
    """The cases, names or tuples that begin with a name, as parameters of a test: slow, but those of a few names."""
    rows = [(case,) if isinstance(case, str) else case for case in cases]
    return [pytest.param(*row, id="-".join(row), marks=() if row[0] in few else pytest.mark.slow) for row in rows]


def slow_after(few: int, seeds: Iterable[int]) -> list[Any]:
    """Seeds as parameters of a test: slow, but the first few."""
    return [pytest.param(seed, marks=() if place < few else pytest.mark.slow) for place, seed in enumerate(seeds)]


def slowly(case: Any) -> Any:
    """One case of a test, a value or a tuple of them, that a quick run leaves out."""
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)


def slow_but_one(groups: Iterable[Iterable[Any]]) -> Iterable[tuple[int, int, Any, Any]]:
    """Group, place in it, case and marks of every case of every group; one of each group is not slow, another place from group to group.

    So a quick run has a case of each group and, where all groups list the same kinds in one order, cases of every kind.
    """
    for number, group in enumerate(groups):
        cases = list(group)
        for place, case in enumerate(cases):
            yield number, place, case, () if place == number % len(cases) else pytest.mark.slow
