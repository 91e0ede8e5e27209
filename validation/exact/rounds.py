"""Endless runs whose rounds are random: which clients take part. Second moments in closed form where a round is affine.

Given its choice j of clients, a round takes v to a_j v + b_j and passes gradients d_jt + e_jt v on the way. The choices are
independent, so that E v and E v^2 go to the solutions of

    m = E a m + E b,    S = E a^2 S + 2 E ab m + E b^2,

and the mean of the squared gradients to that of E d^2 + 2 E de m + E e^2 S. The same functions serve arrays of doubles
and of fractions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import torch

from ...algorithms import Method
from .draws import Chosen, choices
from .interval import Ends
from .noise import Noisy
from .problem import ExactProblem
from .run import CannotReplay, Walk, keeps_models_only, require_equal_rounds

Array = np.ndarray
Q = Fraction
_WIDENED = Q(1, 1000)
"""Share of its length by which an interval is made longer."""
_NARROW = Q(1, 2**60)
"""Share of the least distance between knots: how far around the start a round is looked at to see where it leads."""


@dataclass(frozen=True)
class RandomRound:
    """A round by choice, all choices equally likely: `a`, `b` are `(choices, ...)`, `d`, `e` are `(choices, steps, ...)`."""

    a: Array
    b: Array
    d: Array
    e: Array

    def mean_square(self) -> tuple[Any, Any]:
        """The mean of the squared gradients over infinitely many rounds, and K times how far that over K rounds is off.

        The second holds for starts in [-1, 1], where every choice keeps this interval.
        """
        a, b = _mean(self.a), _mean(self.b)
        aa, ab, bb = _mean(self.a * self.a), _mean(self.a * self.b), _mean(self.b * self.b)
        first = b / (1 - a)
        second = (bb + 2 * ab * first) / (1 - aa)
        dd, de, ee = (_mean(_mean(part, 1)) for part in (self.d * self.d, self.d * self.e, self.e * self.e))
        off = 2 / (1 - abs(a))
        off_second = (1 + 2 * abs(ab) * off) / (1 - aa)
        return dd + 2 * de * first + ee * second, 2 * abs(de) * off + ee * off_second


def _mean(values: Array, axis: int = 0) -> Array:
    found: Array = values.sum(axis=axis) / values.shape[axis]
    return found


def random_round(
    method: Method, problem: ExactProblem, period: int, interval: Ends, size: int, every: int
) -> RandomRound:
    """A round for every start of an interval, in units in which the interval is [-1, 1].

    Raises:
        CannotReplay: a round does not keep the interval, or the method keeps more than models.
        Bends: a round is not affine on it.
    """
    require_equal_rounds(method)
    low, high = interval
    centre, reach = (low + high) / 2, (high - low) / 2
    if not reach > 0:
        raise CannotReplay("wanted an interval with two ends")
    a, b, d, e = [], [], [], []
    for end, passed in _by_choice(method, problem, period, Noisy.around(centre, reach), size, every):
        a.append(end.rate() / reach)
        b.append((end.centre - centre) / reach)
        d.append([gradient.centre for gradient in passed])
        e.append([gradient.rate() for gradient in passed])
    if not all(abs(slope) + abs(moved) <= 1 and abs(slope) < 1 for slope, moved in zip(a, b, strict=True)):
        raise CannotReplay("a round leaves the interval")
    return RandomRound(*(np.array(part, dtype=object) for part in (a, b, d, e)))


def _by_choice(
    method: Method, problem: ExactProblem, period: int, start: Noisy, size: int, every: int
) -> Iterator[tuple[Noisy, list[Noisy]]]:
    """Where a round ends, and the gradients on its way, for every choice of clients."""
    for mask in choices(problem.clients, size):
        run = Walk(method, problem, start, Chosen(torch.tensor([mask], dtype=torch.float64)))
        if not keeps_models_only(run.state):
            raise CannotReplay(f"{method.name} keeps more than models: a round is no map of the start alone")
        passed = []
        for t in range(period):
            if t % every == 0:
                passed.append(Noisy(Q(0), {}) + problem.gradient_at(run.average))
            run.step()
        yield Noisy(Q(0), {}) + run.average, passed


def kept_interval(method: Method, problem: ExactProblem, period: int, size: int) -> Ends:
    """The interval between the fixed points of the choices, a little wider: rounds that contract keep it.

    Raises:
        CannotReplay: a round does not contract, or all choices have one fixed point.
    """
    start, tiny = problem.start, problem.least_gap * _NARROW
    rests = []
    for end, _ in _by_choice(method, problem, period, Noisy.around(start, tiny), size, period):
        a = end.rate() / tiny
        if not 0 <= a < 1:
            raise CannotReplay("a round does not contract")
        rests.append((end.centre - a * start) / (1 - a))
    low, high = min(rests), max(rests)
    if low == high:
        raise CannotReplay("every choice of clients leads to one point")
    slack = _WIDENED * (high - low)
    return _short(low - slack, slack), _short(high + slack, slack)


def _short(number: Fraction, within: Fraction) -> Fraction:
    """The nearest fraction whose denominator is short enough to be at most `within` / 2 off."""
    return number.limit_denominator(max(1, ceil(1 / within)))
