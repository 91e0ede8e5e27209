"""Short ways to write the vectors and the squares of a derivation. Nothing here need be trusted: the kernel expands them again."""

from __future__ import annotations

from collections.abc import Callable

from .kernel import ONE, App, Mean, Signomial, Term

Squares = tuple[tuple[Signomial, Term], ...]
Written = Callable[[Term], Term]


def mean_over(index: str) -> Written:
    """The mean of a vector over an index, as a function of the vector."""
    return lambda term: Mean(index, term)


def at_point(name: str, *samples: int | None) -> Written:
    """A declared function of a point; None stands for the mean over a sample, a number for the sample of that step."""
    return lambda point: App(name, point, samples)


def deviation(index: str, *terms: Term, weight: Signomial = ONE) -> Squares:
    """||v||^2 - ||mean v||^2 for each of the terms, times the weight."""
    return tuple((weight, term - Mean(index, term)) for term in terms)
