"""What the left side of a statement takes of a run: a measure of the averaged model, over some of its times.

A metric of `bounds.language.metrics` has its exact evaluation here, one row for each measure; a search in doubles reads the same
statistic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...bounds.evaluation.weights import StepWeights
from ...bounds.language.metrics import AVERAGED, DISTANCE_SQ, GAP, GRADIENT, GRADIENT_SQ, LAST, MEAN, MINIMUM, WEIGHTED
from ...bounds.language.reading import InputError
from .base import ExactProblem
from .interval import Bends, Ends, Interval
from .noise import Noisy, expectation
from .tensor import InexactError

Q = Fraction


@dataclass(frozen=True)
class Measure:
    """What is measured at a model, in exact numbers.

    Args:
        at: an enclosure of it, of its expectation at a model that is affine in signs.
        root: a number that is affine in such a model, whose square times `scale` it is.
    """

    at: Callable[[ExactProblem, Any], Ends]
    root: Callable[[ExactProblem, Any], Any]
    scale: Callable[[ExactProblem], Fraction] = lambda problem: Q(1)


def _square(number: Any) -> Ends:
    if isinstance(number, Noisy):
        return expectation(number * number), expectation(number * number)
    return number.squared() if isinstance(number, Interval) else (number**2, number**2)


def _norm(number: Any) -> Ends:
    """|number|, which is all of a norm in one dimension.

    Raises:
        Bends: of a number that is affine in signs it is no square, and every path is wanted.
    """
    if isinstance(number, Noisy):
        raise Bends("a norm is no quadratic function of the noise")
    if isinstance(number, Interval):
        low, high = number.values
        return max(low, -high, Q(0)), max(-low, high)
    return abs(number), abs(number)


def _no_square(problem: ExactProblem, x: Any) -> Any:
    raise Bends("a norm is no square of a number that is affine in the noise")


def _gap(problem: ExactProblem, x: Any) -> Ends:
    found = problem.objective_at(x) - problem.objective_at(problem.minimiser)
    if isinstance(found, Interval):
        return max(found.values[0], Q(0)), found.values[1]
    return expectation(found), expectation(found)


def _root_of_gap(problem: ExactProblem, x: Any) -> Any:
    """The gradient, where it is the rate at the minimiser times the distance from there.

    Raises:
        Bends: it is not.
    """
    found, centre = problem.gradient_at(x), x.centre if isinstance(x, Noisy) else x
    slope = found.centre if isinstance(found, Noisy) else found
    if slope != problem.rate_at_minimiser * (centre - problem.minimiser):
        raise Bends("the noise reaches over a kink between it and the minimiser")
    return found


MEASURED: Mapping[str, Measure] = {
    GRADIENT_SQ: Measure(lambda problem, x: _square(problem.gradient_at(x)), lambda problem, x: problem.gradient_at(x)),
    GRADIENT: Measure(lambda problem, x: _norm(problem.gradient_at(x)), _no_square),
    DISTANCE_SQ: Measure(lambda problem, x: _square(x - problem.minimiser), lambda problem, x: x - problem.minimiser),
    GAP: Measure(_gap, _root_of_gap, lambda problem: 1 / (2 * problem.rate_at_minimiser)),
}
"""Measure of a metric -> its exact evaluation."""
SQUARES_OF_AFFINE = frozenset(MEASURED) - {GRADIENT}
"""Those that second moments of the noise determine."""


@dataclass(frozen=True)
class Statistic:
    """A measure over some times of a run.

    Args:
        of: one of `MEASURED`.
        over: the mean or the least of its expectations, or the last one.
        every, after: of a mean or a least: over t = 0, every, ... < steps, or over t = every, ..., steps.
        weights: of these times, in a weighted mean or at an averaged model; all alike without any.
        failure: instead of an expectation, the least number that a run exceeds with at most this probability.
    """

    of: str = GRADIENT_SQ
    over: str = MEAN
    every: int = 1
    after: bool = False
    failure: Fraction | None = None
    weights: StepWeights | None = None

    @property
    def measure(self) -> Measure:
        """Its row."""
        return MEASURED[self.of]

    @property
    def is_last(self) -> bool:
        return self.over == LAST

    def counts(self, t: int, steps: int) -> bool:
        """Whether the time t of a run, or of a round, of so many steps counts."""
        if self.is_last:
            return t == steps
        return t % self.every == 0 and (0 < t <= steps if self.after else 0 <= t < steps)

    def of_path(self, problem: ExactProblem, path: Sequence[tuple[int, Sequence[Any]]]) -> Ends:
        """From the averaged models of every lane at the times that count.

        Raises:
            InexactError: a weight is negative or no rational number, or all are 0.
        """
        shares = self._shares([t for t, _ in path])
        if self.over != AVERAGED:
            return self.of_run([[self.measure.at(problem, x) for x in lanes] for _, lanes in path], shares)
        lanes = zip(*(lanes for _, lanes in path), strict=True)
        averages = [_sum(x * share for x, share in zip(models, shares, strict=True)) for models in lanes]
        return self.of_run([[self.measure.at(problem, x) for x in averages]])

    def _shares(self, times: Sequence[int]) -> list[Fraction]:
        """The weights of these times over their sum."""
        if self.weights is None:
            return [Q(1, len(times))] * len(times)
        try:
            return self.weights.exact_shares(times)
        except InputError as error:
            raise InexactError(str(error)) from error

    def of_run(self, rows: Sequence[Sequence[Ends]], shares: Sequence[Fraction] | None = None) -> Ends:
        """From what is measured at the times that count, `(times, lanes)`, and the shares of these times in a mean."""
        if self.failure is None:
            return self._over([_mean(lanes) for lanes in rows], shares)
        each = [self._over(lane, shares) for lane in zip(*rows, strict=True)]
        place = int(self.failure * len(each))
        return tuple(sorted((ends[side] for ends in each), reverse=True)[place] for side in (0, 1))  # type: ignore[return-value]

    def _over(self, times: Sequence[Ends], shares: Sequence[Fraction] | None) -> Ends:
        if self.over == MINIMUM:
            return min(low for low, _ in times), min(high for _, high in times)
        if self.over != WEIGHTED or shares is None:
            return _mean(times)
        rows = list(zip(times, shares, strict=True))
        return sum((low * share for (low, _), share in rows), Q(0)), sum(
            (high * share for (_, high), share in rows), Q(0)
        )


def _sum(numbers: Iterable[Any]) -> Any:
    first, *others = numbers
    for number in others:
        first = first + number
    return first


def _mean(rows: Sequence[Ends]) -> Ends:
    return sum((low for low, _ in rows), Q(0)) / len(rows), sum((high for _, high in rows), Q(0)) / len(rows)
