"""Dimensions in powers of [f] (objective), [y] (inner value) and [x] (variable): exact, and without sympy."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Dimension:
    """A product of powers [f]^f [y]^y [x]^x; the three base units may be rescaled independently."""

    f: Fraction = Fraction(0)
    y: Fraction = Fraction(0)
    x: Fraction = Fraction(0)

    def __mul__(self, other: Dimension) -> Dimension:
        return Dimension(self.f + other.f, self.y + other.y, self.x + other.x)

    def __pow__(self, power: Fraction | int) -> Dimension:
        return Dimension(self.f * power, self.y * power, self.x * power)

    def __truediv__(self, other: Dimension) -> Dimension:
        return self * other**-1

    def __str__(self) -> str:
        parts = [_power(unit, p) for unit, p in (("f", self.f), ("y", self.y), ("x", self.x)) if p]
        return " ".join(parts) or "1"


def _power(unit: str, power: Fraction) -> str:
    return f"[{unit}]" if power == 1 else f"[{unit}]^{power}"


ONE = Dimension()
OBJECTIVE = Dimension(f=Fraction(1))
INNER = Dimension(y=Fraction(1))
VARIABLE = Dimension(x=Fraction(1))


def modulo(dimension: Dimension, units: tuple[Dimension, ...]) -> Dimension:
    """The dimension once each of `units` is declared to be 1 (a paper that adds f to y^2 sets a unit [f]/[y]^2 = 1).

    Gaussian elimination on the powers: f goes first, then y, then x, so the result does not depend on the order of `units`.
    """
    left = [dimension, *units]
    for base in ("f", "y", "x"):
        pivot = next((unit for unit in left[1:] if getattr(unit, base)), None)
        if pivot is not None:
            left = [each / pivot ** (getattr(each, base) / getattr(pivot, base)) for each in left]
    return left[0]
