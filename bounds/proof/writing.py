"""Short ways to write the squares of a derivation. Nothing here need be trusted: the kernel expands them again."""

from __future__ import annotations

from itertools import combinations

from .kernel import ONE, Mean, Signomial, Term

Squares = tuple[tuple[Signomial, Term], ...]


def apart(*parts: Term, weight: Signomial = ONE) -> Squares:
    """n (||a_1||^2 + ... + ||a_n||^2) - ||a_1 + ... + a_n||^2, times the weight."""
    return tuple((weight, a - b) for a, b in combinations(parts, 2))


def deviation(index: str, *terms: Term, weight: Signomial = ONE) -> Squares:
    """||v||^2 - ||mean v||^2 for each of the terms, times the weight."""
    return tuple((weight, term - Mean(index, term)) for term in terms)
