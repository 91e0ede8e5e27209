"""Functions of the clients with the noise of a fair sign, and what bounds them, read off the rows of the vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from ...bounds.evaluation.enclosure import root_near
from ...bounds.language.bounding import AT_POINTS, LIPSCHITZ, MEAN, NOISE, NOISE_SIZE, SIZE, UNLIKE, Form, squares
from ...bounds.language.quantities import QUANTITIES
from .curve import Curve

Q = Fraction
Row = Sequence[Fraction]


@dataclass(frozen=True)
class Sampled:
    """A function of each client, where it and its distances from the others' mean are largest, and where it is steepest.

    Args:
        values, noise: at such points, a number for each client and what a fair sign multiplies.
        rates, noise_rates: the derivatives of both at points, or between neighbours, where one of them is steepest; of the noise last those
            far away.
        beyond: the rate of each far away.
    """

    values: Sequence[Row]
    rates: Sequence[Row]
    noise: Sequence[Row]
    noise_rates: Sequence[Row]
    beyond: Row

    @staticmethod
    def of(curves: Sequence[Curve], noise: Sequence[Curve | Fraction] | None = None) -> Sampled:
        """Of piecewise linear functions with piecewise linear noise; without noise where none is given."""
        jolts = [n if isinstance(n, Curve) else Curve(((Q(0), n),)) for n in noise or [Q(0)] * len(curves)]
        bent = [jolt for jolt in jolts if len(jolt.knots) > 1]
        positions = sorted({position for curve in (*curves, *bent) for position in curve.positions})

        def rates(of: Sequence[Curve], values: Sequence[Row]) -> list[Row]:
            steps = zip(pairwise(positions), pairwise(values), strict=True)
            between = [[(v - u) / (b - a) for u, v in zip(*rows, strict=True)] for (a, b), rows in steps]
            return [*between, [curve.beyond for curve in of]]

        values, jolted = ([[curve(t) for curve in of] for t in positions] for of in (curves, jolts))
        beyond = [curve.beyond for curve in curves]
        return Sampled(values, rates(curves, values), jolted, rates(jolts, jolted), beyond)

    @staticmethod
    def with_even_noise(values: Sequence[Row], rates: Sequence[Row], noise: Row, beyond: Row) -> Sampled:
        """Of functions whose noise is the same everywhere; `beyond` is the rate of each far away."""
        silent = [Q(0)] * len(noise)
        return Sampled(values, rates, [noise] * len(values), [silent] * len(rates), beyond)

    @staticmethod
    def of_lines(slopes: Row, offsets: Row, noise: Row, noise_slopes: Sequence[Curve]) -> Sampled:
        """Of straight lines with these slopes and these values at 0; likewise their noise, whose slope vanishes far away and has one sign.

        Noise is then monotone, and largest far away; it is steepest at a knot of its slope.
        """
        positions = sorted({Q(0), *(position for curve in noise_slopes for position in curve.positions)})
        return Sampled(
            [[slope * t + offset for slope, offset in zip(slopes, offsets, strict=True)] for t in positions],
            [slopes] * (len(positions) + 1),
            [
                [
                    at_zero + curve.integral(t) - curve.integral(Q(0))
                    for at_zero, curve in zip(noise, noise_slopes, strict=True)
                ]
                for t in positions
            ],
            [*([curve(t) for curve in noise_slopes] for t in positions), [Q(0)] * len(slopes)],
            slopes,
        )

    def is_bounded(self, form: Form) -> bool:
        """Whether some number bounds what a form says."""
        far, is_noise_bounded = set(self.beyond), not any(self.noise_rates[-1])
        if form.kind == UNLIKE:
            return len(far) == 1
        if form.kind in (NOISE, NOISE_SIZE):
            return is_noise_bounded
        if form.kind == SIZE:
            return far == {0} and (form.per == MEAN or is_noise_bounded)
        return form.kind in AT_POINTS

    def largest_square(self, form: Form) -> Fraction:
        """The square of the smallest number of which a form is true."""
        is_rate = form.kind == LIPSCHITZ
        rows = zip(*((self.rates, self.noise_rates) if is_rate else (self.values, self.noise)), strict=True)
        found: list[Fraction] = []
        for row, jolts in rows:
            both = zip(row, jolts, strict=True)
            laws = [[(Q(1, 2), v + n), (Q(1, 2), v - n)] if n else [(Q(1), v)] for v, n in both]
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
    return root_near(square, 2**120)
