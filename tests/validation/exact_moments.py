"""Exact expectations of quadratic statistics of a method, at every step, in rational arithmetic: no statistics at all.

On a linear-quadratic problem with noise of finite support one step of a method is affine in its state for every outcome
w of the noise, z -> A_w z + b_w, though products of noise and state occur. With Z = (1, z) it is linear, Z -> M_w Z, and

    E[Z_{t+1} Z_{t+1}^T] = sum_w P(w) M_w E[Z_t Z_t^T] M_w^T,

because the noise of step t is independent of Z_t. Means are in the first row, and every quadratic statistic |G Z|^2 has
the exact expectation trace(G E[Z Z^T] G^T). The maps are found by evaluating the step at the basis states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fedco.validation.statistics.evalues import log_e_refute, log_e_support
from flint import fmpq, fmpq_mat

Vector = Sequence[Fraction]
Matrix = Sequence[Vector]
Step = Callable[[Vector, Any, int], Vector]  # (state z, outcome of the noise, t) -> next state


class NotAffine(ValueError):
    """A step that is not affine in the state: no recursion of second moments covers it."""


def affine_map(step: Callable[[Sequence[Fraction]], Sequence[Fraction]], size: int) -> list[list[Fraction]]:
    """The matrix M of one step on Z = (1, z), found by evaluating it at 0 and at the unit vectors.

    Args:
        step: the next state for one outcome of the noise, in exact arithmetic.
        size: entries of z.

    Raises:
        NotAffine: another point does not map as M says.
    """
    at_zero = list(step([Fraction(0)] * size))
    columns = [step([Fraction(i == j) for j in range(size)]) for i in range(size)]
    rows = [[at_zero[i], *(column[i] - at_zero[i] for column in columns)] for i in range(size)]
    probe = [Fraction((-1) ** j * (j + 2), 3) for j in range(size)]
    mapped = [row[0] + sum((a * v for a, v in zip(row[1:], probe, strict=True)), Fraction(0)) for row in rows]
    if mapped != list(step(probe)):
        raise NotAffine("the step is not affine in the state")
    return [[Fraction(1), *[Fraction(0)] * size], *rows]


@dataclass(frozen=True)
class Chain:
    """A method on a problem: a Markov chain driven by independent noise of finite support.

    Args:
        start: z_0.
        step: the next state for one outcome of the noise, in exact arithmetic.
        atoms: (outcome, probability) of the noise of one step, all clients together.
        phase: what the step looks at of t (first step, end of a round); equal phases have equal maps.
    """

    start: Vector
    step: Step
    atoms: Sequence[tuple[Any, Fraction]]
    phase: Callable[[int], Hashable]
    _known: dict[Hashable, list[tuple[Fraction, list[list[Fraction]]]]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if (total := sum((weight for _, weight in self.atoms), Fraction(0))) != 1:
            raise ValueError(f"atoms: wanted probabilities that add up to 1, got {total}")

    def maps(self, t: int) -> list[tuple[Fraction, list[list[Fraction]]]]:
        """(probability, M_w) for the step t. Raises NotAffine when the step is not affine in the state."""
        if self.phase(t) not in self._known:
            self._known[self.phase(t)] = [(weight, self._map(outcome, t)) for outcome, weight in self.atoms]
        return self._known[self.phase(t)]

    def _map(self, outcome: Any, t: int) -> list[list[Fraction]]:
        try:
            return affine_map(lambda z: self.step(z, outcome, t), len(self.start))
        except NotAffine:
            raise NotAffine(f"the step at t={t} with noise {outcome} is not affine in the state") from None

    def second_moments(self, steps: int) -> Iterator[fmpq_mat]:
        """E[Z_t Z_t^T] for t = 0, …, steps, each (1 + size, 1 + size)."""
        Z = _exact([[Fraction(1)], *[[v] for v in self.start]])
        moment = Z * Z.transpose()
        yield moment
        for t in range(steps):
            moment = self._advanced(moment, t)
            yield moment

    def _advanced(self, moment: fmpq_mat, t: int) -> fmpq_mat:
        total = moment * fmpq(0)
        for weight, rows in self.maps(t):
            M = _exact(rows)
            total += M * moment * M.transpose() * fmpq(weight.numerator, weight.denominator)
        return total

    def mean_square(self, G: Matrix, steps: int) -> list[Fraction]:
        """E|G Z_t|^2 for t = 0, …, steps; G has one row per component, its first column multiplies the 1 in Z."""
        statistic = _exact(G)
        squares = (statistic * moment * statistic.transpose() for moment in self.second_moments(steps))
        return [sum((_fraction(square[i, i]) for i in range(len(G))), Fraction(0)) for square in squares]

    def cap(self, G: Matrix, steps: int) -> Fraction:
        """An almost-sure upper bound of |G Z_steps|^2: the largest sizes of the components, step by step."""
        size = [Fraction(1), *(abs(v) for v in self.start)]
        for t in range(steps):
            reached = [_apply([[abs(v) for v in row] for row in rows], size) for _, rows in self.maps(t)]
            size = [max(of_one) for of_one in zip(*reached, strict=True)]
        return sum((v * v for v in _apply([[abs(v) for v in row] for row in G], size)), Fraction(0))

    def enumerated_mean_square(self, G: Matrix, steps: int) -> Fraction:
        """E|G Z_steps|^2 by going through every sequence of noise: `mean_square` without its algebra, for few steps."""

        def expected(z: Vector, t: int) -> Fraction:
            if t == steps:
                return sum((v * v for v in _apply(G, [Fraction(1), *z])), Fraction(0))
            return sum(
                (weight * expected(self.step(z, outcome, t), t + 1) for outcome, weight in self.atoms), Fraction(0)
            )

        return expected(self.start, 0)


def contradicts(values: Any, mean: Fraction, cap: Fraction, alpha: Fraction) -> str | None:
    """Whether independent values in [0, cap] contradict the expectation `mean`: "above", "below", or None.

    Each side is an e-value test at level alpha / 2, so a true expectation is contradicted with probability at most
    alpha.

    Args:
        values: `(seeds,)`, one statistic per seed.
    """
    wanted = math.log(2 / alpha)
    if float(log_e_refute(values, mean)) >= wanted:
        return "above"
    return "below" if float(log_e_support(values, mean, cap)) >= wanted else None


def _apply(rows: Matrix, v: Vector) -> list[Fraction]:
    return [sum((a * b for a, b in zip(row, v, strict=True)), Fraction(0)) for row in rows]


def _exact(rows: Matrix) -> fmpq_mat:
    flat = [fmpq(v.numerator, v.denominator) for row in rows for v in row]
    return fmpq_mat(len(rows), len(rows[0]), flat)


def _fraction(v: fmpq) -> Fraction:
    return Fraction(int(v.p), int(v.q))
