"""Intervals with the range of their derivative: enough to prove that a round of a method maps an interval into itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Q = Fraction


class Bends(ArithmeticError):
    """A run is not affine in its signs with rational coefficients: one reaches over a kink, or meets an enclosure."""


Ends = tuple[Fraction, Fraction]
_BITS = 320
"""Ends are rounded outward to so many bits after the leading one."""


def ends_of(number: Any) -> Ends:
    """The ends of an enclosure; of a number itself."""
    return number.values if isinstance(number, Interval) else (number, number)


def outward(low: Fraction, high: Fraction) -> Ends:
    """The interval with short ends, rounded outward."""
    return _rounded(low, up=False), _rounded(high, up=True)


def _rounded(number: Fraction, *, up: bool) -> Fraction:
    top, bottom = number.numerator, number.denominator
    if bottom.bit_length() <= _BITS and top.bit_length() <= _BITS:
        return number
    shift = max(0, _BITS - top.bit_length() + bottom.bit_length())
    whole = -((-top << shift) // bottom) if up else (top << shift) // bottom
    return Q(whole, 1 << shift)


def _times(a: Ends, b: Ends) -> Ends:
    products = [x * y for x in _different(a) for y in _different(b)]
    return outward(min(products), max(products))


def _different(ends: Ends) -> tuple[Fraction, ...]:
    """The ends, or one of them where they are the same number: most numbers of a run are constants."""
    return ends[:1] if ends[0] == ends[1] else ends


def _plus(a: Ends, b: Ends) -> Ends:
    return outward(a[0] + b[0], a[1] + b[1])


@dataclass(frozen=True)
class Interval:
    """Every value of a function on an interval, and every value of its derivative there.

    `middle` encloses the function at the midpoint, so that `values` can be tightened by the mean value theorem.
    """

    values: Ends
    derivative: Ends
    middle: Ends
    radius: Fraction

    @staticmethod
    def variable(low: Fraction, high: Fraction) -> Interval:
        """The identity on [low, high]."""
        centre = (low + high) / 2
        return Interval((low, high), (Q(1), Q(1)), (centre, centre), (high - low) / 2)

    def _made(self, values: Ends, derivative: Ends, middle: Ends) -> Interval:
        slack = max(abs(derivative[0]), abs(derivative[1])) * self.radius
        by_mean_value = outward(middle[0] - slack, middle[1] + slack)
        tight = (max(values[0], by_mean_value[0]), min(values[1], by_mean_value[1]))
        return Interval(tight, derivative, middle, self.radius)

    def _constant(self, number: Any) -> Interval:
        if not isinstance(number, (int, Fraction)):
            raise Bends(f"{type(number).__name__}: a random number meets an enclosure")
        value = Q(number)
        return Interval((value, value), (Q(0), Q(0)), (value, value), self.radius)

    def _other(self, other: Any) -> Interval:
        return other if isinstance(other, Interval) else self._constant(other)

    def __add__(self, other: Any) -> Interval:
        b = self._other(other)
        return self._made(
            _plus(self.values, b.values), _plus(self.derivative, b.derivative), _plus(self.middle, b.middle)
        )

    __radd__ = __add__

    def __neg__(self) -> Interval:
        return self * -1

    def __sub__(self, other: Any) -> Interval:
        return self + (-other if isinstance(other, Interval) else -Q(other))

    def __rsub__(self, other: Any) -> Interval:
        return -self + other

    def __mul__(self, other: Any) -> Interval:
        b = self._other(other)
        slope = _times(self.derivative, b.values)
        if any(b.derivative):
            slope = _plus(slope, _times(self.values, b.derivative))
        return self._made(_times(self.values, b.values), slope, _times(self.middle, b.middle))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Interval:
        return self * (1 / Q(other))

    def __pow__(self, power: int) -> Interval:
        found: Interval = self._constant(1)
        for _ in range(power):
            found = found * self
        return found

    def __ge__(self, other: Any) -> bool:
        """Certainly at least a number."""
        return self.values[0] >= Q(other)

    def __gt__(self, other: Any) -> bool:
        """Certainly more than a number."""
        return self.values[0] > Q(other)

    def __le__(self, other: Any) -> bool:
        """Certainly at most a number."""
        return self.values[1] <= Q(other)

    def __lt__(self, other: Any) -> bool:
        """Certainly less than a number."""
        return self.values[1] < Q(other)

    def through(
        self,
        function_range: Callable[[Fraction, Fraction], Ends] | None,
        slope_range: Callable[[Fraction, Fraction], Ends],
        function: Callable[[Fraction], Fraction],
    ) -> Interval:
        """A function of one variable: its range on an interval (None where the mean value theorem does), its slopes."""
        slopes = slope_range(*self.values)
        steepest = max(map(abs, slopes))

        def around_centre(low: Fraction, high: Fraction) -> Ends:
            """By the mean value theorem."""
            centre, half = function((low + high) / 2), steepest * (high - low) / 2
            return outward(centre - half, centre + half)

        values = around_centre(*self.values) if function_range is None else outward(*function_range(*self.values))
        return self._made(values, _times(slopes, self.derivative), around_centre(*self.middle))

    def squared(self) -> Ends:
        """The range of the square."""
        low, high = self.values
        least = Q(0) if low <= 0 <= high else min(low**2, high**2)
        return least, max(low**2, high**2)
