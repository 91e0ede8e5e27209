"""What searches find, as `falsify` does before it makes a violation simpler and explains it: that takes far longer.

Searches here end after so many evaluations, and not by the clock: a busy or slow machine finds what any other does.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from fedco.bounds.language.change import Change
from fedco.bounds.language.theorem import Theorem
from fedco.bounds.registry import get_theorem
from fedco.validation.falsifier.attack import Falsified, falsify
from fedco.validation.falsifier.bundle import bundle_of, recompute
from fedco.validation.falsifier.confirm import Confirmed
from fedco.validation.falsifier.declared import Target, formula_of, target_of
from fedco.validation.falsifier.formula import Formula
from fedco.validation.falsifier.search import Claim, Found, Search, search, search_together
from fedco.validation.falsifier.search_space import SearchSpace
from fedco.validation.falsifier.search_spaces import search_spaces
from fedco.validation.runs.bundle import Bundle

Clock = Callable[[], float]


@contextmanager
def effort() -> Iterator[Clock]:
    """A clock of the seconds that batches of instances take on the machine that they were measured on (`SearchSpace.effort`)."""
    taken, judged = 0.0, SearchSpace.judged

    def counted(space: SearchSpace, *given: Any) -> Any:
        nonlocal taken
        taken += space.effort(len(given[0]))
        return judged(space, *given)

    with patch.object(SearchSpace, "judged", counted):
        yield lambda: taken


def ticking() -> Clock:
    """A clock that is a second later each time it is read."""
    return map(float, itertools.count()).__next__


def targeted(
    theorem: Theorem | str, label: str = "printed", change: Change | None = None, **more: Any
) -> tuple[Target, Formula]:
    """A statement as it is searched; `more` are further properties and conditions, as `target_of` has them."""
    target = target_of(get_theorem(theorem) if isinstance(theorem, str) else theorem, label, change, **more)
    return target, formula_of(target)


def spaces_of(theorem: Theorem | str, label: str = "printed", **more: Any) -> list[SearchSpace]:
    """The search spaces of a statement."""
    return search_spaces(*targeted(theorem, label, **more))


def visited(target: Target, formula: Formula, **asked: Any) -> Found:
    """What the visits of a search find; it is not asked what could have been evaluated exactly, which takes far longer."""
    claim = Claim(target)
    search_together(target, formula, [claim], **asked)
    return claim.found


def attacked(target: Target, formula: Formula, *, seconds: float = 40.0) -> Found:
    """What a search of so many seconds of `effort` finds."""
    with effort() as clock:
        return search(target, formula, seconds=seconds, clock=clock)


def falsified(theorem: Theorem | str, label: str = "printed", *, seconds: float, **more: Any) -> Falsified:
    """The same with all that follows a search."""
    with effort() as clock:
        return falsify(theorem, label, seconds=seconds, clock=clock, **more)


def violation_of(
    theorem: Theorem | str, label: str = "printed", *, change: Change | None = None, **more: Any
) -> tuple[Target, Confirmed]:
    """The statement that was searched, and the violation."""
    target, formula = targeted(theorem, label, change, **more)
    found = attacked(target, formula)
    assert found.violation is not None and found.violation.ratio > 1, found
    return target, found.violation


def claims_on(spaces: list[SearchSpace], *changes: Change | None, evolve: bool = True) -> list[Claim]:
    """The statement of some search spaces with each of the changes, after a search of these spaces, or after the first sample."""
    formula, of = spaces[0].formula, spaces[0].target
    claims = [Claim(of if change is None else target_of(of.declared, of.label, change), change) for change in changes]
    with effort() as clock:
        run = Search(spaces, formula, claims, 0, 30.0, None, clock)
        run.sample()
        if evolve:
            run.evolve()
    return claims


def replayed(target: Target, violation: Confirmed) -> Bundle:
    """The bundle of a violation, both sides of which are found again from its data alone."""
    bundle = bundle_of(target, violation)
    assert recompute(bundle)[:2] == (bundle.values, bundle.bound)
    return bundle
