"""What a rule of inference is."""

from __future__ import annotations

from ..facts import Fact, State
from ..signomial import Signomial

Weights = tuple[tuple[Signomial, str], ...]


class Rule:
    """Base of the rules; `title` is what a reader sees."""

    title = ""

    def apply(self, state: State) -> Fact:
        raise NotImplementedError

    @property
    def uses(self) -> tuple[str, ...]:
        """Names of the steps that it refers to."""
        return ()


def all_uses(facts) -> frozenset[str]:
    return frozenset().union(*(fact.uses for fact in facts))
