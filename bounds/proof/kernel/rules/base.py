"""What a rule of inference is."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ..facts import Fact, State
from ..signomial import Signomial

Weights = tuple[tuple[Signomial, str], ...]


class Rule(ABC):
    """Base of the rules; `title` is what a reader sees."""

    title = ""

    @abstractmethod
    def apply(self, state: State) -> Fact:
        """The new fact.

        Raises:
            ProofError: a premise is missing or does not say what the rule needs.
        """

    @property
    def uses(self) -> tuple[str, ...]:
        """Names of the steps that it refers to."""
        return ()


def all_uses(facts) -> frozenset[str]:
    return frozenset().union(*(fact.uses for fact in facts))
