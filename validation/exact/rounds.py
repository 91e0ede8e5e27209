"""Endless runs whose rounds are random, in fractions: see `participation.py`."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from math import ceil

import numpy as np
import torch

from ...algorithms import Method
from .interval import Ends
from .noise import Noisy
from .participation import Chosen, RandomRound, choices
from .problem import ExactProblem
from .run import CannotReplay, Walk, keeps_models_only, require_equal_rounds

Q = Fraction
_WIDENED = Q(1, 1000)
"""Share of its length by which an interval is made longer."""
_NARROW = Q(1, 2**60)
"""Share of the least distance between knots: how far around the start a round is looked at to see where it leads."""


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
