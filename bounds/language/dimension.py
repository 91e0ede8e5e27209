"""Dimensions in powers of [f] (objective), [y] (inner value) and [x] (variable): exact, and without sympy."""

from __future__ import annotations

import re
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
        return " ".join(_power(f"[{unit}]", p) for unit, p in vars(self).items() if p) or "1"

    @property
    def written(self) -> str:
        """As `read_dimension` reads it: `f*x^-2`."""
        return (
            "*".join(_power(unit, f"({p})" if p.denominator > 1 else p) for unit, p in vars(self).items() if p) or "1"
        )


def _power(unit: str, power: Fraction | str) -> str:
    return unit if power == 1 else f"{unit}^{power}"


MAX_POWER = 20
_POWER = r"(?:(?:\^|\*\*)(?P<power>-?[0-9]{1,2}|\(-?[0-9]{1,2}(?:/[1-9][0-9]?)?\)))?"
_FACTOR = re.compile(rf"\s*(?P<mark>[*/]?)\s*(?:1|(?:(?P<unit>\[[fyx]\]|[fyx])|\((?P<inside>[^()]+)\)){_POWER})\s*")


def read_dimension(text: str) -> Dimension:
    """The dimension that a text such as `f/x^2`, `f x^-1`, `(f/x)^2`, `f^(1/2)` or `1` writes down, with or without the brackets of `[f]`.

    Raises:
        ValueError: the text writes down none.
    """
    found, at = Dimension(), 0
    while match := _FACTOR.match(text, at):
        starts_with_mark = at == 0 and match["mark"] == "*"
        power = Fraction((match["power"] or "1").strip("()")) * (-1 if match["mark"] == "/" else 1)
        if starts_with_mark or abs(power) > MAX_POWER:
            break
        factor = read_dimension(match["inside"]) if match["inside"] else Dimension()
        if match["unit"]:
            factor = Dimension(**{match["unit"].strip("[]"): Fraction(1)})
        found, at = found * factor**power, match.end()
    if at == 0 or at < len(text):
        raise ValueError(f"wanted powers of f, y and x such as f/x^2, or 1, got {text[:40]!r}")
    return found


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
