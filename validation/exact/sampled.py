"""Functions of the clients with the noise of a fair sign, and what bounds them, read off the rows of the vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import isqrt

from ...bounds.language.bounding import AT_POINTS, LIPSCHITZ, SIZE, UNLIKE, Form, squares
from ...bounds.language.quantities import QUANTITIES
from .curve import Curve

Q = Fraction
Row = Sequence[Fraction]


@dataclass(frozen=True)
class Sampled:
    """A function of each client, where it and its distances from the others' mean are largest, and where it is steepest.

    Args:
        values, rates: at such points, a number for each client.
        noise: what a fair sign multiplies, for each client.
        beyond: the rate of each far away.
    """

    values: Sequence[Row]
    rates: Sequence[Row]
    noise: Row
    beyond: Row

    @staticmethod
    def of(curves: Sequence[Curve], noise: Row | None = None) -> Sampled:
        """Of piecewise linear functions; without noise where none is given."""
        positions = sorted({position for curve in curves for position in curve.positions})
        values, beyond = [[curve(t) for curve in curves] for t in positions], [curve.beyond for curve in curves]
        steps = [(b - a, u, v) for (a, u), (b, v) in pairwise(zip(positions, values, strict=True))]
        rates = [[(w - v) / step for v, w in zip(low, high, strict=True)] for step, low, high in steps]
        return Sampled(values, [*rates, beyond], noise or [Q(0)] * len(curves), beyond)

    def is_bounded(self, form: Form) -> bool:
        """Whether some number bounds what a form says."""
        far = set(self.beyond)
        return form.kind in AT_POINTS and (form.kind != SIZE or far == {0}) and (form.kind != UNLIKE or len(far) == 1)

    def largest_square(self, form: Form) -> Fraction:
        """The square of the smallest number of which a form is true."""
        noise = [Q(0)] * len(self.noise) if form.kind == LIPSCHITZ else self.noise
        found: list[Fraction] = []
        for row in self.rates if form.kind == LIPSCHITZ else self.values:
            laws = [[(Q(1, 2), v + n), (Q(1, 2), v - n)] for v, n in zip(row, noise, strict=True)]
            found += squares(form, laws, lambda value: value * value)
        return max(found)


def constants_of(functions: Mapping[str, Sampled]) -> dict[str, Fraction]:
    """Quantity -> the smallest number of which its row is true, or one just above it, of all that rows say of these functions.

    Args:
        functions: by role (`bounds.language.bounding.FUNCTIONS`).
    """
    return {
        name: root_above(max(functions[form.function].largest_square(form) for form in row.bounds))
        for name, row in QUANTITIES.items()
        if row.bounds and all(f.function in functions and functions[f.function].is_bounded(f) for f in row.bounds)
    }


def root_above(square: Fraction) -> Fraction:
    """The root of a square, or a fraction just above it."""
    top, bottom = isqrt(square.numerator), isqrt(square.denominator)
    if Q(top, bottom) ** 2 == square:
        return Q(top, bottom)
    scaled = isqrt(square.numerator * 2**240 // square.denominator) + 1
    return Q(scaled, 2**120)
