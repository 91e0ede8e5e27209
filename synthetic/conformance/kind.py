"""What the conformance suite asks of a kind of problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ..kinds import AbstractProblem
from .inequalities import Inequality

Failures = Iterator[tuple[str, Iterable[str]]]


@dataclass(frozen=True)
class Kind:
    """The certificates that a problem of this kind must have, what they claim, and the checks of its own oracles."""

    required: tuple[str, ...]
    inequalities: Mapping[str, Inequality]
    checks: Callable[[AbstractProblem, int], Failures]
