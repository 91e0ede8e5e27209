"""Piecewise linear functions of one variable and their antiderivatives, in fractions and in intervals."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise

Q = Fraction
_CONSTANT = Q(0)


@dataclass(frozen=True)
class Curve:
    """Linear through the knots (position, value), and outside with the rate `beyond`.

    Raises:
        ValueError: no knots, or positions that do not increase.
    """

    knots: tuple[tuple[Fraction, Fraction], ...]
    beyond: Fraction = _CONSTANT

    def __post_init__(self) -> None:
        if not self.knots or any(a >= b for (a, _), (b, _) in pairwise(self.knots)):
            raise ValueError(f"knots: wanted increasing positions, got {self.knots}")

    @cached_property
    def positions(self) -> tuple[Fraction, ...]:
        return tuple(position for position, _ in self.knots)

    @cached_property
    def _areas(self) -> tuple[Fraction, ...]:
        """The integral from the first knot to each knot."""
        return tuple(accumulate(((u + v) / 2 * (b - a) for (a, u), (b, v) in pairwise(self.knots)), initial=Q(0)))

    @cached_property
    def _second_areas(self) -> tuple[Fraction, ...]:
        """The integral of the integral, from the first knot to each knot."""
        steps = (
            area * (b - a) + (2 * u + v) / 6 * (b - a) ** 2
            for area, ((a, u), (b, v)) in zip(self._areas, pairwise(self.knots), strict=False)
        )
        return tuple(accumulate(steps, initial=Q(0)))

    @cached_property
    def _rates(self) -> tuple[Fraction, ...]:
        """The rate to the right of each knot."""
        return (*((v - u) / (b - a) for (a, u), (b, v) in pairwise(self.knots)), self.beyond)

    def _piece(self, t: Fraction) -> tuple[int, Fraction, Fraction, Fraction]:
        """(index of the knot to the left, its position, value there, rate to its right); index 0 left of all knots."""
        passed = bisect_right(self.positions, t)
        index = max(0, passed - 1)
        return index, *self.knots[index], self._rates[index] if passed else self.beyond

    def __call__(self, t: Fraction) -> Fraction:
        _, position, value, rate = self._piece(t)
        return value + rate * (t - position) if rate else value

    def integral(self, t: Fraction) -> Fraction:
        """The integral from the first knot to t."""
        index, position, value, rate = self._piece(t)
        step = t - position
        linear = self._areas[index] + value * step
        return linear + rate * step**2 / 2 if rate else linear

    def second_integral(self, t: Fraction) -> Fraction:
        """The integral of `integral` from the first knot to t."""
        index, position, value, rate = self._piece(t)
        step = t - position
        return self._second_areas[index] + self._areas[index] * step + value * step**2 / 2 + rate * step**3 / 6

    def bound(self) -> Fraction:
        """sup of the absolute value.

        Raises:
            ValueError: it has none.
        """
        if self.beyond:
            raise ValueError("a gradient without a bound")
        return max(abs(value) for _, value in self.knots)

    def lipschitz(self) -> Fraction:
        """The Lipschitz constant."""
        return max(map(abs, self._rates))

    def flattest(self) -> Fraction:
        """The least rate."""
        return min(self._rates)

    def zeros(self) -> list[Fraction]:
        """Where it changes sign, but for the knots."""
        (first, low), (last, high) = self.knots[0], self.knots[-1]
        outside = [
            t - v / self.beyond for t, v, side in ((first, low, 1), (last, high, -1)) if v * side * self.beyond > 0
        ]
        return [a - u * (b - a) / (v - u) for (a, u), (b, v) in pairwise(self.knots) if u * v < 0] + outside

    def range(self, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
        """Its least and largest value on an interval."""
        inside = [value for position, value in self.knots if low < position < high]
        values = [self(low), self(high), *inside]
        return min(values), max(values)

    def rates(self, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
        """The least and the largest rate of the pieces that an interval meets."""
        met = [self._piece(low)[3], self._piece(high)[3]]
        met += [self._piece(position)[3] for position in self.positions if low <= position <= high]
        met += [self._piece((a + b) / 2)[3] for a, b in pairwise(self.positions) if a < high and b > low]
        if low <= self.positions[0] or high >= self.positions[-1]:
            met.append(self.beyond)
        return min(met), max(met)

    def rates_inside(self, low: Fraction, high: Fraction) -> tuple[Fraction, Fraction]:
        """The least and the largest rate of the pieces that an interval without its ends meets."""
        ends = (low, *(t for t in self.positions if low < t < high), high)
        met = [self._piece((a + b) / 2)[3] for a, b in pairwise(ends)]
        return min(met), max(met)


def total(curves: Sequence[Curve]) -> Curve:
    """The sum of several curves, with the knots of all."""
    positions = sorted({position for curve in curves for position in curve.positions})
    beyond = sum((curve.beyond for curve in curves), Q(0))
    return Curve(tuple((t, sum((curve(t) for curve in curves), Q(0))) for t in positions), beyond)


def mean(curves: Sequence[Curve]) -> Curve:
    """The mean of several curves, with the knots of all."""
    whole, count = total(curves), len(curves)
    return Curve(tuple((t, value / count) for t, value in whole.knots), whole.beyond / count)


def tilted(curve: Curve, slope: Fraction, offset: Fraction = _CONSTANT) -> Curve:
    """The curve and a straight line on top."""
    return Curve(tuple((t, value + slope * t + offset) for t, value in curve.knots), curve.beyond + slope)


def composed(curve: Curve, slope: Fraction, offset: Fraction) -> Curve:
    """t -> slope * curve(slope * t + offset): the derivative of f(slope t + offset) where the curve is f'."""
    if slope == 0:
        return Curve(((Q(0), Q(0)),))
    moved = [((position - offset) / slope, slope * value) for position, value in curve.knots]
    return Curve(tuple(sorted(moved)), slope**2 * curve.beyond)


def minimiser(derivative: Curve) -> Fraction:
    """The first point at which the function with this derivative is least.

    Raises:
        ValueError: the function is unbounded below.
    """
    if derivative.beyond < 0 or (
        derivative.beyond == 0 and (derivative.knots[0][1] > 0 or derivative.knots[-1][1] < 0)
    ):
        raise ValueError("the objective is unbounded below")
    stationary = [*derivative.positions, *derivative.zeros()]
    return min(stationary, key=lambda point: (derivative.integral(point), point))


def infimum_gap(derivative: Curve, start: Fraction) -> Fraction:
    """The function with this derivative at `start`, minus its infimum.

    Raises:
        ValueError: the function is unbounded below.
    """
    return derivative.integral(start) - derivative.integral(minimiser(derivative))


def polyak_lojasiewicz(derivative: Curve) -> Fraction:
    """The largest c with F'(x)^2 >= 2 c (F(x) - inf F) everywhere, F being the function with this derivative; 0 where there is none.

    On a piece F'^2 / (F - inf F) is monotone, so that it is least at a knot, far away, or beside a minimiser, where it goes to
    twice the rate.

    Raises:
        ValueError: the function is unbounded below.
    """
    least = derivative.integral(minimiser(derivative))
    points = sorted({*derivative.positions, *derivative.zeros()})
    above = {point: derivative.integral(point) - least for point in points}
    found = [derivative(point) ** 2 / (2 * gap) for point, gap in above.items() if gap]
    beside = [
        (derivative(b) - derivative(a)) / (b - a) for a, b in pairwise(points) if (above[a] == 0) != (above[b] == 0)
    ]
    return max(Q(0), min([derivative.beyond, *found, *beside]))
