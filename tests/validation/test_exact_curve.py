"""Piecewise linear curves in exact numbers: integrals, ranges, compositions, and what becomes of random numbers and intervals."""

from __future__ import annotations

from fractions import Fraction as Q
from itertools import pairwise, product

import pytest
from fedco.validation.exact import noise
from fedco.validation.exact.curve import Curve, composed, infimum_gap, mean, tilted, total
from fedco.validation.exact.interval import Interval
from fedco.validation.exact.noise import Noisy

CURVE = Curve(((Q(-1), Q(2)), (Q(0), Q(-1)), (Q(2), Q(3))))


def test_a_curve_and_its_integrals_by_hand():
    """2 up to -1, then down to -1 at 0, up to 3 at 2 and 3 from there."""
    assert [CURVE(Q(t)) for t in (-5, -1, 0, 1, 2, 9)] == [2, 2, -1, 1, 3, 3] and CURVE(Q(-1, 2)) == Q(1, 2)
    assert [CURVE.integral(Q(t)) for t in (-2, -1, 0, 1, 2, 3)] == [-2, 0, Q(1, 2), Q(1, 2), Q(5, 2), Q(11, 2)]
    assert CURVE.bound() == 3 and CURVE.lipschitz() == 3 and CURVE.zeros() == [Q(-1, 3), Q(1, 2)]
    for t in (Q(-3), Q(-1, 2), Q(1), Q(2), Q(5)):  # Simpson's rule is exact for the quadratic between knots
        parts = sorted({Q(-1), t, *(p for p in CURVE.positions if min(t, Q(-1)) < p < max(t, Q(-1)))})
        area = sum(
            (
                (b - a) / 6 * (CURVE.integral(a) + 4 * CURVE.integral((a + b) / 2) + CURVE.integral(b))
                for a, b in pairwise(parts)
            ),
            Q(0),
        )
        assert CURVE.second_integral(t) == (area if t > -1 else -area)


def test_ranges_and_rates_of_a_curve_on_intervals():
    for (low, high), values, rates in (
        ((Q(-1, 2), Q(1)), (-1, 1), (-3, 2)),
        ((Q(-5), Q(-2)), (2, 2), (0, 0)),
        ((Q(1, 4), Q(3, 4)), (Q(-1, 2), Q(1, 2)), (2, 2)),
        ((Q(3), Q(4)), (3, 3), (0, 0)),
        ((Q(-3), Q(3)), (-1, 3), (-3, 2)),
        ((Q(-1), Q(-1, 2)), (Q(1, 2), 2), (-3, 0)),
        ((Q(-1, 2), Q(0)), (-1, Q(1, 2)), (-3, 2)),
    ):
        assert CURVE.range(low, high) == values and CURVE.rates(low, high) == rates, (low, high)
    for bad in ((), ((Q(0), Q(1)), (Q(0), Q(2)))):
        with pytest.raises(ValueError, match="increasing positions"):
            Curve(bad)


def test_means_and_compositions_of_curves():
    other = Curve(((Q(-3), Q(0)), (Q(1), Q(4))))
    both, inside = mean([CURVE, other]), composed(CURVE, Q(-2), Q(1))
    for t in (Q(-4), Q(-1), Q(1, 3), Q(1), Q(5)):
        assert both(t) == (CURVE(t) + other(t)) / 2 and inside(t) == -2 * CURVE(-2 * t + 1)
    assert composed(CURVE, Q(0), Q(1))(Q(7)) == 0


def test_sums_means_and_straight_lines_on_top_beyond_the_knots():
    steep = Curve(((Q(0), Q(0)), (Q(1), Q(2))), Q(3))
    whole, half, line = total([CURVE, steep]), mean([CURVE, steep]), tilted(steep, Q(-2), Q(5))
    for t in (Q(-9), Q(-1), Q(1, 3), Q(7)):
        assert whole(t) == CURVE(t) + steep(t) == 2 * half(t) and line(t) == steep(t) - 2 * t + 5


def test_a_gap_is_zero_at_a_minimiser_and_unbounded_functions_are_refused():
    well = Curve(((Q(-1), Q(-1)), (Q(1), Q(1))))
    assert infimum_gap(well, Q(0)) == 0 and infimum_gap(well, Q(2)) == Q(1, 2) + 1 == infimum_gap(well, Q(-2))
    for ends in ((Q(1), Q(1)), (Q(-1), Q(-1))):
        with pytest.raises(ValueError, match="unbounded below"):
            infimum_gap(Curve(((Q(0), ends[0]), (Q(1), ends[1]))), Q(0))
    assert infimum_gap(Curve(((Q(0), Q(0)), (Q(1), Q(0)))), Q(0)) == 0


def test_a_curve_through_an_interval_is_tight_where_it_is_monotone():
    x = Interval.variable(Q(0), Q(2))
    made = x.through(CURVE.range, CURVE.rates, CURVE)
    assert made.values == (-1, 3) and made.middle == (1, 1)
    deep = Interval.variable(Q(1), Q(2)).through(None, CURVE.range, CURVE.integral)
    centre = CURVE.integral(Q(3, 2))
    assert deep.derivative == (1, 3) and deep.middle == (centre, centre)
    assert deep.values == (centre - Q(3, 2), centre + Q(3, 2))
    wide = (Interval.variable(Q(0), Q(2)) * Interval.variable(Q(0), Q(2))).through(CURVE.range, CURVE.rates, CURVE)
    assert wide.values[1] == 3 and wide.derivative[1] >= 8


def test_a_curve_through_an_interval_whose_middle_is_none():
    """The function at the centre of what encloses the middle, and what its steepest piece adds over half of that."""
    x = Interval((Q(0), Q(1)), (Q(-5), Q(5)), (Q(0), Q(1, 2)), Q(1))
    made = x.through(CURVE.range, CURVE.rates, CURVE)  # on [0, 1] from -1 to 1, with slope 2
    assert made.middle == (CURVE(Q(1, 4)) - Q(1, 2), CURVE(Q(1, 4)) + Q(1, 2)) == (-1, 0)
    assert (made.values, made.derivative) == ((-1, 1), (-10, 10))
    deep = x.through(None, CURVE.range, CURVE.integral)  # whose slope is at most 1
    centre, quarter = CURVE.integral(Q(1, 2)), CURVE.integral(Q(1, 4))
    assert deep.values == (centre - Q(1, 2), centre + Q(1, 2))
    assert deep.middle == (quarter - Q(1, 4), quarter + Q(1, 4))


def test_a_curve_at_random_numbers():
    """One sign may bend, as two values are affine in it; more may not, unless one piece covers them."""
    one = Noisy(Q(0), {0: Q(1)})
    assert one.at(CURVE) == Noisy(Q(3, 2), {0: Q(-1, 2)}) and Noisy(Q(0), {}).at(CURVE) == Noisy(Q(-1), {})
    inside = Noisy(Q(1), {0: Q(1, 2), 1: Q(1, 4)})
    assert inside.at(CURVE) == Noisy(Q(1), {0: Q(1), 1: Q(1, 2)})
    anywhere = Noisy(Q(0), {-1: Q(1)})  # any number from -1 to 1
    for bent in (anywhere, Noisy(Q(0), {0: Q(1, 4), 1: Q(1, 4)})):
        with pytest.raises(noise.Bends, match="kink"):
            bent.at(CURVE)
    assert one.antiderivative(CURVE) == Noisy(Q(1, 4), {0: Q(1, 4)})
    flat = Noisy(Q(9), {0: Q(1), 1: Q(2)})
    assert flat.antiderivative(CURVE) == Noisy(CURVE.integral(Q(9)), {0: Q(3), 1: Q(6)})
    with pytest.raises(noise.Bends, match="slope of the Hessian"):
        inside.antiderivative(CURVE)
    squares = [CURVE.integral(1 + Q(s, 2) + Q(t, 4)) for s, t in product((-1, 1), repeat=2)]
    assert inside.integral(CURVE).value == sum(squares) / 4


def test_numbers_around_a_centre_refuse_what_bends():
    around = Noisy.around
    assert around(Q(1), Q(2)) / 4 == around(Q(1, 4), Q(1, 2)) and 1 - around(Q(1), Q(2)) == around(Q(0), Q(-2))
    flat = around(Q(5), Q(1)).at(CURVE)
    assert (flat.centre, flat.rate()) == (3, 0) and around(Q(0), Q(0)).at(CURVE) == around(Q(-1), Q(0))
    assert around(Q(5), Q(1)).integral(CURVE) == around(CURVE.integral(Q(5)), Q(3))
    assert around(Q(1), Q(1, 2)).at(CURVE) == around(Q(1), Q(1))
    for bent in (
        lambda line: line.at(CURVE),
        lambda line: line.integral(CURVE),
        lambda line: (line - 1).integral(CURVE),
    ):
        with pytest.raises(noise.Bends):
            bent(around(Q(3, 2), Q(3, 4)))
