"""What a search finds, as `falsify` does before it makes the violation simpler and explains it: that takes far longer."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from typing import Any

from fedco.bounds.language.change import Change
from fedco.bounds.language.theorem import Theorem
from fedco.bounds.registry import get_theorem
from fedco.validation.falsifier.bundle import bundle_of, recompute
from fedco.validation.falsifier.confirm import Confirmed
from fedco.validation.falsifier.declared import Target, formula_of, target_of
from fedco.validation.falsifier.search import search
from fedco.validation.runs.bundle import Bundle


def violation_of(
    theorem: Theorem | str, label: str = "printed", *, change: Change | None = None, seconds: float = 40.0, **more: Any
) -> tuple[Target, Confirmed]:
    """The statement that was searched, and the violation; `more` are further properties and conditions, as `target_of` has them.

    By processor time, so that a busy machine changes nothing.
    """
    declared = get_theorem(theorem) if isinstance(theorem, str) else theorem
    target = target_of(declared, label, change, **more)
    found = search(target, formula_of(target), seconds=seconds, clock=time.process_time)
    assert found.violation is not None and found.violation.ratio > 1, found
    return target, found.violation


def replayed(target: Target, violation: Confirmed) -> Bundle:
    """The bundle of a violation, both sides of which are found again from its data alone."""
    bundle = bundle_of(target, violation)
    assert recompute(bundle)[:2] == (bundle.values, bundle.bound)
    return bundle


def ticking() -> Callable[[], float]:
    """A clock that is a second later each time it is read: a search by it ends after so many readings, however fast the machine is."""
    return map(float, itertools.count()).__next__
