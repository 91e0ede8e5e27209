"""What the conformance suite asks of a kind of problem."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from torch import Tensor

from ..kinds import AbstractProblem
from .inequalities import Inequality, Problem
from .oracle_checks import Oracle, check_bits, check_sampling, check_unbiased

Failures = Iterator[tuple[str, Iterable[str]]]
Oracles = Callable[[Problem, int], dict[str, tuple[Tensor, Oracle]]]
Check = Callable[[Problem, int], Iterator[str]]


@dataclass(frozen=True)
class Kind:
    """The certificates that a problem of this kind must have, what they claim, and the checks of its own oracles."""

    required: tuple[str, ...]
    inequalities: Mapping[str, Inequality]
    checks: Callable[[AbstractProblem, int], Failures]


def sampled(oracles: Oracles, exact: Oracles | None = None, **own: Check) -> Callable[[AbstractProblem, int], Failures]:
    """The checks of a kind with one sample: its own by name, and that its oracles are unbiased, keep their bits and draw their atoms.

    Args:
        oracles: each stochastic oracle by name, as a function of (point, sample), with a point to try it at.
        exact: oracles that take no sample, of which only the bits are checked.
    """
    return partial(_sampled, oracles, exact, own)


def _sampled(
    oracles: Oracles, exact: Oracles | None, own: Mapping[str, Check], problem: Problem, seed: int
) -> Failures:
    stochastic = oracles(problem, seed)
    for name, check in own.items():
        yield name.replace("_", " "), check(problem, seed)
    yield "unbiased", check_unbiased(problem, stochastic)
    yield "bits", check_bits(problem, {**stochastic, **(exact(problem, seed) if exact else {})})
    yield "sampling", check_sampling(problem, seed)
