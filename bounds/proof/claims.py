"""Claims with reasons, in the place of combinations with multipliers, which `solve` finds. The kernel accepts none of these."""

from __future__ import annotations

from dataclasses import dataclass

from .kernel.facts import Fact, State
from .kernel.region import Certificate
from .kernel.rules import Rule
from .kernel.scalars import Scalar
from .kernel.signomial import ProofError, Signomial
from .kernel.terms import Term

Multipliers = tuple[tuple[str, Signomial], ...]
"""(step, multiplier) each."""


class Unsolved(Rule):
    """Base of the claims; its multipliers are found before the kernel sees it."""

    title = "claim"

    def apply(self, state: State) -> Fact:
        raise ProofError("the multipliers of a claim are to be found first")


@dataclass(frozen=True)
class Claim(Unsolved):
    """left <= right, or =, because of earlier steps; a `Combine` without multipliers.

    Args:
        by: names of inequalities, which get multipliers, and of equations, which are paired with the vectors at hand.
        squares: vectors whose squared norms, with multipliers, may be left out. given: the multipliers of further steps.
    """

    left: Scalar
    right: Scalar
    by: tuple[str, ...] = ()
    squares: tuple[Term, ...] = ()
    given: Multipliers = ()
    equal: bool = False
    certificates: tuple[Certificate, ...] = ()


@dataclass(frozen=True)
class Vanishes(Unsolved):
    """term = 0 because of earlier equations; a `Linear` without multipliers."""

    term: Term
    by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Conclusion:
    """The steps that add up to the statement, in the place of the same with multipliers."""

    by: tuple[str, ...]
    given: Multipliers = ()
