"""Functions that a fair sign multiplies: noise that depends on the point. Given as data, evaluated with their derivative.

{"slope": knots}                    0 at 0; its derivative is linear through the knots (position, value) and constant outside
{"rational": [top, bottom]}         a quotient of polynomials, coefficients from the constant on
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .curve import Curve
from .interval import Bends
from .noise import Noisy

Q = Fraction


class Function(ABC):
    """A function of one number."""

    @abstractmethod
    def at(self, t: Any) -> Any:
        """Its value."""

    @abstractmethod
    def slope(self, t: Any) -> Any:
        """Its derivative."""


@dataclass(frozen=True)
class Straight(Function):
    """offset + steepness t, at random numbers too."""

    offset: Fraction
    steepness: Fraction

    def at(self, t: Any) -> Any:
        return self.offset + self.steepness * t if self.steepness else self.offset

    def slope(self, t: Any) -> Fraction:
        return self.steepness


@dataclass(frozen=True)
class WithSlope(Function):
    """0 at 0, with a piecewise linear derivative; of a number that is random only where it is a straight line over all its values."""

    curve: Curve

    def at(self, t: Any) -> Any:
        if isinstance(t, Noisy) and t.reach:
            slope = self.slope(t)
            if isinstance(slope, Noisy):
                raise Bends("noise that bends within reach")
            return Noisy(self.at(t.centre), {index: slope * part for index, part in t.parts.items()})
        return self.curve.integral(_plain(t)) - self.curve.integral(Q(0))

    def slope(self, t: Any) -> Any:
        if isinstance(t, Noisy) and t.reach:
            low, high = self.curve.range(t.centre - t.reach, t.centre + t.reach)
            return low if low == high else t.at(self.curve)
        return self.curve(_plain(t))


@dataclass(frozen=True)
class Joined(Function):
    """The sum of two functions."""

    first: Function
    second: Function

    def at(self, t: Any) -> Any:
        return self.first.at(t) + self.second.at(t)

    def slope(self, t: Any) -> Any:
        return self.first.slope(t) + self.second.slope(t)


@dataclass(frozen=True)
class Rational(Function):
    """top / bottom, of numbers that are not random."""

    top: tuple[Fraction, ...]
    bottom: tuple[Fraction, ...]

    def at(self, t: Any) -> Fraction:
        point = _plain(t)
        return _polynomial(self.top, point) / _polynomial(self.bottom, point)

    def slope(self, t: Any) -> Fraction:
        point = _plain(t)
        below = _polynomial(self.bottom, point)
        moved = _polynomial(_derivative(self.top), point) * below
        return (moved - _polynomial(self.top, point) * _polynomial(_derivative(self.bottom), point)) / below**2


def function_of(data: Mapping[str, Any]) -> Function:
    """A function from data whose numbers are fractions.

    Raises:
        ValueError: another form of data.
    """
    if set(data) == {"slope"}:
        return WithSlope(Curve(tuple((position, value) for position, value in data["slope"])))
    if set(data) == {"rational"}:
        top, bottom = data["rational"]
        return Rational(tuple(top), tuple(bottom))
    raise ValueError(f"function: wanted slope or rational, got {sorted(data)}")


def _plain(t: Any) -> Fraction:
    if isinstance(t, Noisy) and not t.reach:
        return t.centre
    if not isinstance(t, (int, Fraction)):
        raise Bends("noise that depends on a random point")
    return Q(t)


def _polynomial(coefficients: Sequence[Fraction], t: Fraction) -> Fraction:
    value = Q(0)
    for coefficient in reversed(coefficients):
        value = value * t + coefficient
    return value


def _derivative(coefficients: Sequence[Fraction]) -> tuple[Fraction, ...]:
    return tuple(power * coefficient for power, coefficient in enumerate(coefficients))[1:]
