"""What a rule of inference is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

from ..facts import Fact, State
from ..signomial import Signomial

Weights = tuple[tuple[Signomial, str], ...]


class Rule(ABC):
    """Base of the rules; `title` is what a reader sees, `premises` are the fields that name the steps to which it refers."""

    title = ""
    premises: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def apply(self, state: State) -> Fact:
        """The new fact.

        Raises:
            ProofError: a premise is missing or does not say what the rule needs.
        """

    @property
    def uses(self) -> tuple[str, ...]:
        """Names of the steps that it refers to."""
        return tuple(name for field in self.premises for name in _names_in(getattr(self, field)))


def _names_in(value: Any) -> Iterator[str]:
    """A name, or those in a tuple, such as one of (multiplier, name)."""
    if isinstance(value, str):
        yield value
    for part in value if isinstance(value, tuple) else ():
        yield from _names_in(part)


def all_uses(facts) -> frozenset[str]:
    return frozenset().union(*(fact.uses for fact in facts))
