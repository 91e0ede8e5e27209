"""Numbers that are affine in one variable from [-1, 1], in fractions: what a round does to every start of an interval at once."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .curve import Curve
from .interval import Bends
from .tensor import InexactError

Q = Fraction
ZERO = Q(0)


@dataclass(frozen=True)
class Line:
    """centre + slope v, for every v in [-1, 1]."""

    centre: Fraction = ZERO
    slope: Fraction = ZERO

    @staticmethod
    def _of(other: Any) -> Line:
        if isinstance(other, Line):
            return other
        if isinstance(other, (int, Fraction)):
            return Line(Q(other))
        raise InexactError(f"{type(other).__name__}: wanted a number")

    def __add__(self, other: Any) -> Line:
        b = self._of(other)
        return Line(self.centre + b.centre, self.slope + b.slope)

    __radd__ = __add__

    def __neg__(self) -> Line:
        return Line(-self.centre, -self.slope)

    def __sub__(self, other: Any) -> Line:
        return self + -self._of(other)

    def __rsub__(self, other: Any) -> Line:
        return -self + other

    def __mul__(self, other: Any) -> Line:
        b = self._of(other)
        if self.slope and b.slope:
            raise Bends("a product of two numbers that change with the start")
        return Line(self.centre * b.centre, self.centre * b.slope + self.slope * b.centre)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Line:
        return self * (1 / Q(other))

    def _rate(self, curve: Curve) -> Fraction:
        reach = abs(self.slope)
        low, high = curve.rates(self.centre - reach, self.centre + reach)
        if low != high:
            raise Bends("a kink within reach")
        return low

    def at(self, curve: Curve) -> Line:
        """The curve at it, where one piece covers every value."""
        return Line(curve(self.centre), self._rate(curve) * self.slope if self.slope else Q(0))

    def integral(self, curve: Curve) -> Line:
        """The curve's integral up to it, where the curve is constant."""
        if self.slope and self._rate(curve):
            raise Bends("the integral is no affine function of the start")
        return Line(curve.integral(self.centre), curve(self.centre) * self.slope)
