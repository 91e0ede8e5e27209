"""A lemma at the steps of a run: both sides from the statistics that its chain declares, in doubles or in exact numbers.

A lemma bounds one step, one round or a whole run by quantities of the run itself. The chain of its proof says which; a run
of the method gives them, on a batch of instances in doubles or on one instance in exact numbers, by the same functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...algorithms import Method, Start
from ..exact.tensor import ExactTensor
from ..lemmas.link import LemmaChain, Link
from ..lemmas.trace import Step, StepMetric, Trace, walk

Array = np.ndarray
_EPSILON = 1e-13


@dataclass(frozen=True)
class Place:
    """Where a lemma is compared: a row of its left side, in a run of so many steps."""

    row: int
    steps: int


class _Recorded(Mapping[str, Array]):
    """name -> (steps, runs), each statistic taken when it is first asked for."""

    def __init__(
        self, metrics: Mapping[str, StepMetric], steps: Sequence[Step], expectation: Callable[[Array], Array] | None
    ) -> None:
        self._metrics, self._steps, self._expectation = metrics, steps, expectation
        self._known: dict[str, Array] = {}
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> Array:
        self.asked.add(name)
        if name not in self._known:
            taken = np.stack([_numbers(self._metrics[name](step)) for step in self._steps])
            self._known[name] = taken if self._expectation is None else self._expectation(taken)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._metrics)

    def __len__(self) -> int:
        return len(self._metrics)


def _numbers(values: Any) -> Array:
    found: Array = values.numbers if isinstance(values, ExactTensor) else values.numpy()
    return found


def trace_of(
    chain: LemmaChain,
    method: Method,
    problem: Any,
    steps: int,
    start: Start,
    numbers: Mapping[str, Any],
    draws: Any = None,
    expectation: Callable[[Array], Array] | None = None,
) -> Trace:
    """The run of one method on one problem, with what the chain declares of it; a batch of instances is one such problem.

    `expectation` takes every statistic from the lanes of a noisy run to the instances.
    """
    period, total = chain.round_of(numbers), steps + chain.extra_steps
    walked = list(walk(method, problem, total, 1, start=start, period=period, draws=draws))
    return Trace(_Recorded(chain.metrics(problem, numbers), walked, expectation), numbers, period, steps)


def rows_of(link: Link, label: str, trace: Trace) -> tuple[Array, dict[str, Array], Array]:
    """The left side `(rows, runs)`, the observables by symbol, and the rows that the statement speaks of.

    A statement about the steps between communications speaks of those that neither end nor follow one.
    """
    left = np.atleast_2d(link.left(trace))
    seen = {name: np.atleast_2d(side(trace)) for name, side in link.observables.items()}
    keep = np.ones(len(left), bool) if link.keeps is None else np.asarray(link.keeps(trace, len(left)))
    if label in link.between and link.ends_round is not None:
        ends = np.asarray(link.ends_round(trace, len(left)))
        follows = np.concatenate([[trace.period == 1], ends[:-1]]) if len(ends) else ends
        keep = keep & ~ends & ~follows
    return left, seen, keep


def rounding_of(link: Link, trace: Trace) -> Array:
    """How much the left side may be off in doubles, `(runs,)`: it may be a small difference of large statistics."""
    recorded = trace.values
    assert isinstance(recorded, _Recorded)
    recorded.asked.clear()
    link.left(trace)
    found = _EPSILON * sum((np.abs(recorded[name]).max(axis=0) for name in tuple(recorded.asked)), np.zeros(1))
    return found if link.difference_of is None else found + _EPSILON**2 * link.difference_of(trace).max(axis=0)


def balanced(left: Any, terms: Sequence[Any], larger: Any = np.maximum) -> tuple[Any, Any]:
    """Both sides with every negative part moved to the other one, so that their ratio means something.

    The left side exceeds the sum of the terms exactly if the first exceeds the second.
    """
    lower, upper = larger(left, 0), larger(-left, 0)
    for term in terms:
        lower, upper = lower + larger(-term, 0), upper + larger(term, 0)
    return lower, upper


def unseen(symbols: Mapping[str, Any]) -> dict[str, Fraction]:
    """A value for every observable before there is a run: what is decided without it does not depend on it."""
    return {
        name: Fraction(not binding.quantity.numbers.zero)
        for name, binding in symbols.items()
        if binding.quantity.role == "observable"
    }
