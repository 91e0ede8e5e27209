"""Exact numbers by their definitions: every operation beside torch's, ends that are attained, guards that refuse."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from fedco.algorithms import GossipSGD, LocalSGD, Schedule
from fedco.bounds.registry import get_theorem
from fedco.validation.exact import infinite_clients, interval, long_run, noise, run
from fedco.validation.exact.base import Instance, as_fractions, root_above
from fedco.validation.exact.curve import Curve, composed, infimum_gap, mean
from fedco.validation.exact.interval import Bends, Interval, outward
from fedco.validation.exact.noise import AffineSigns, AllPaths, Mean, Noisy, expectation
from fedco.validation.exact.problem import exact_problem
from fedco.validation.exact.run import (
    CannotReplay,
    NoNoise,
    endless,
    refined_start,
    scalar,
    stepped,
)
from fedco.validation.exact.statistic import Statistic
from fedco.validation.exact.tensor import ExactTensor, InexactError
from fedco.validation.falsifier.confirm import Claimed, NotConfirmed, _check_shape, sides
from fedco.validation.falsifier.declared import target_of
from fedco.validation.falsifier.formula import Formula
from fedco.validation.falsifier.laws import MOMENTS, PARTIAL, PATHS, POWERS
from fedco.validation.falsifier.rounding import drafts, settle
from fedco.validation.falsifier.search_space import SearchSpace
from fedco.validation.falsifier.spaces import SPACES

# --- tensors -------------------------------------------------------------------------------------------------------------

A = [[[0.5, -2.0, 3.0], [1.0, 0.25, -8.0]]]
B = [[[4.0, 2.0, 1.0], [0.5, -1.0, 2.0]]]
OPERATIONS = {
    "a + b": lambda a, b: a + b,
    "1 + a": lambda a, b: 1 + a,
    "a - b": lambda a, b: a - b,
    "1 - a": lambda a, b: 1 - a,
    "rsub": lambda a, b: torch.rsub(a, b),
    "a * b": lambda a, b: a * b,
    "2 * a": lambda a, b: 2 * a,
    "a / b": lambda a, b: a / b,
    "a / 4": lambda a, b: a / 4,
    "1 / b": lambda a, b: 1 / b,
    "reciprocal": lambda a, b: b.reciprocal(),
    "-a": lambda a, b: -a,
    "sqrt": lambda a, b: (a * a).sqrt(),
    "square": lambda a, b: a.square(),
    "lerp": lambda a, b: torch.lerp(a, b, 0.25),
    "addcmul": lambda a, b: torch.addcmul(a, b, a, value=2),
    "sum": lambda a, b: a.sum(),
    "sum of an axis": lambda a, b: a.sum(-1),
    "sum of axes": lambda a, b: a.sum(dim=[0, 2], keepdim=True),
    "mean": lambda a, b: b.sum(0).mean(0),
    "mean of all": lambda a, b: (4 * a[..., :2]).mean(),
    "mean kept": lambda a, b: b.mean(1, keepdim=True),
    "where": lambda a, b: torch.where(a > 0, a, b),
    "transpose": lambda a, b: a.transpose(1, 2),
    "contiguous": lambda a, b: a.contiguous().clone(),
    "expand": lambda a, b: a.expand(2, -1, -1),
    "expand to more axes": lambda a, b: a.expand((2, 1, 2, 3)),
    "view": lambda a, b: a.view(3, 2),
    "reshape": lambda a, b: a.reshape((6,)),
    "unsqueeze": lambda a, b: a.unsqueeze(1),
    "squeeze": lambda a, b: a.squeeze(0),
    "squeeze nothing": lambda a, b: a.squeeze(1),
    "repeat": lambda a, b: a.reshape((6,)).repeat_interleave(2),
    "zeros": lambda a, b: a.new_zeros(2, 3),
    "zeros of a shape": lambda a, b: a.new_zeros((4,)),
    "zeros like": lambda a, b: torch.zeros_like(a),
    "a >= b": lambda a, b: a >= b / 2,
    "a > b": lambda a, b: a > b,
    "a <= b": lambda a, b: a <= b,
    "a < b": lambda a, b: a < b,
    "equal": lambda a, b: torch.stack([a >= a.clone(), a > a.clone(), a <= a.clone(), a < a.clone()]),
    "is finite": lambda a, b: a.isfinite(),
    "an entry": lambda a, b: a[:, 1, 1:],
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_torchs_in_exact_numbers(name):
    doubles = [torch.tensor(v, dtype=torch.float64) for v in (A, B)]
    exact = [ExactTensor.of(np.vectorize(Q, otypes=[object])(np.array(v))) for v in (A, B)]
    wanted, found = OPERATIONS[name](*doubles), OPERATIONS[name](*exact)
    if isinstance(found, ExactTensor):
        assert all(isinstance(number, (Q, int)) for number in found.numbers.flatten())
        found = torch.tensor(found.numbers.astype(float), dtype=torch.float64)
    assert found.shape == wanted.shape and torch.equal(found, wanted)


def test_what_is_no_short_dyadic_fraction_is_refused():
    x = ExactTensor.of([Q(1, 3)])
    assert (x * 2.0**-20).numbers[0] == Q(1, 3 * 2**20)
    with pytest.raises(InexactError, match="rounded number"):
        x * 2.0**-21
    assert (x + torch.tensor([0.5], dtype=torch.float64)).numbers[0] == Q(5, 6)
    with pytest.raises(InexactError, match="irrational"):
        ExactTensor.of([Q(2, 9)]).sqrt()
    assert ExactTensor.of([Q(4, 9)]).sqrt().numbers[0] == Q(2, 3)
    with pytest.raises(InexactError, match="random number"):
        ExactTensor.of([Noisy.sign(0)]).sqrt()


def test_nothing_reaches_the_arithmetic_of_doubles():
    x = ExactTensor.of([Q(1, 3)])
    with torch._C.DisableTorchFunctionSubclass(), pytest.raises(InexactError, match="which rounds"):
        torch.add(x, x)
    with pytest.raises(InexactError, match="sin: no exact counterpart"):
        x.sin()


def test_data_that_are_no_instance_are_refused():
    assert as_fractions([1, [Q(1, 2)], (3,)]) == [Q(1), [Q(1, 2)], [Q(3)]] and isinstance(as_fractions(1), Q)
    for bad in (True, 0.5, "1", [1, 0.5]):
        with pytest.raises(ValueError, match="exact numbers"):
            as_fractions(bad)
    data = {"kind": "x", "parameters": {"a": [1, 2]}, "settings": {"nu": Q(2)}}
    made = Instance.from_dict(data)
    assert (
        made.parameters == {"a": [Q(1), Q(2)]}
        and made.settings == {"nu": 2}
        and Instance.from_dict(made.to_dict()) == made
    )
    with pytest.raises(ValueError, match="wanted kind, parameters and settings"):
        Instance.from_dict({"kind": "x", "parameters": {}})
    with pytest.raises(ValueError, match="wanted the parameters"):
        exact_problem(Instance("federated", {"knots": [[Q(0), Q(1)]]}))


def test_a_root_is_exact_or_just_above():
    assert root_above(Q(4, 9)) == Q(2, 3) and root_above(Q(0)) == 0
    for square in (Q(2), Q(1, 3), Q(10**9 + 1, 7)):
        found = root_above(square)
        assert square < found**2 < square * (1 + Q(1, 2**100))


# --- curves --------------------------------------------------------------------------------------------------------------

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


def test_a_gap_is_zero_at_a_minimiser_and_unbounded_functions_are_refused():
    well = Curve(((Q(-1), Q(-1)), (Q(1), Q(1))))
    assert infimum_gap(well, Q(0)) == 0 and infimum_gap(well, Q(2)) == Q(1, 2) + 1 == infimum_gap(well, Q(-2))
    for ends in ((Q(1), Q(1)), (Q(-1), Q(-1))):
        with pytest.raises(ValueError, match="unbounded below"):
            infimum_gap(Curve(((Q(0), ends[0]), (Q(1), ends[1]))), Q(0))
    assert infimum_gap(Curve(((Q(0), Q(0)), (Q(1), Q(0)))), Q(0)) == 0


# --- intervals -------------------------------------------------------------------------------------------------------------


def test_the_ends_of_an_interval_are_attained():
    """Where nothing depends on itself twice, and where the mean value theorem is exact."""
    x = Interval.variable(Q(-1), Q(3))
    assert (x.values, x.derivative, x.middle, x.radius) == ((-1, 3), (1, 1), (1, 1), 2)
    for made, values, slopes in (
        (x + 2, (1, 5), (1, 1)),
        (2 - x, (-1, 3), (-1, -1)),
        (x - 2, (-3, 1), (1, 1)),
        (-x, (-3, 1), (-1, -1)),
        (x * -3, (-9, 3), (-3, -3)),
        (x / 4, (Q(-1, 4), Q(3, 4)), (Q(1, 4), Q(1, 4))),
        (x - x, (0, 0), (0, 0)),
        (x * x, (-3, 9), (-2, 6)),
        (x**2, (-3, 9), (-2, 6)),
        (x**0, (1, 1), (0, 0)),
        (1 + x * 2 - x, (0, 4), (1, 1)),
    ):
        assert (made.values, made.derivative) == (values, slopes) and made.middle[0] <= made.middle[1]
    assert x.squared() == (0, 9) and (x + 2).squared() == (1, 25) and (x - 5).squared() == (4, 36)
    with pytest.raises(interval.Bends, match="meets an enclosure"):
        x + Noisy.sign(0)


def test_an_interval_is_certainly_above_or_below():
    x = Interval.variable(Q(1), Q(3))
    assert [x >= 1, x > 1, x >= 2, x > 0, x <= 3, x < 3, x <= 2, x < 4] == [
        True,
        False,
        False,
        True,
        True,
        False,
        False,
        True,
    ]


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


def test_ends_are_rounded_outward_and_short():
    third = Q(1, 3) + Q(1, 3**400)
    low, high = outward(third, third)
    assert (
        low < third < high
        and high - low <= Q(1, 2**318)
        and max(x.denominator.bit_length() for x in (low, high)) <= 330
    )
    below, above = outward(-third, -third)
    assert (below, above) == (-high, -low) and outward(Q(1, 3), Q(2, 3)) == (Q(1, 3), Q(2, 3))
    large = Q(3**300, 2)
    assert outward(large, large)[0] <= large <= outward(large, large)[1]


# --- numbers with signs ------------------------------------------------------------------------------------------------------


def test_numbers_that_are_affine_in_signs_are_the_numbers_at_every_sign():
    x, y = Noisy(Q(2), {0: Q(1), 1: Q(-3)}), Noisy(Q(-1), {1: Q(2)})
    for s, t in product((-1, 1), repeat=2):

        def at(found, s=s, t=t):
            return found.centre + sum(part * {0: s, 1: t}[j] for j, part in found.parts.items())

        a, b = 2 + s - 3 * t, -1 + 2 * t
        assert [at(x + y), at(x - y), at(-x), at(3 - x), at(x * 5), at(x / 4), at(x + 1)] == [
            a + b, a - b, -a, 3 - a, 5 * a, Q(a, 4), a + 1,
        ]  # fmt: skip
    assert x.reach == 4 and expectation(x) == 2 and expectation(Mean(Q(7))) == 7 and expectation(3) == 3
    assert (x * y).value == -2 - 6 and (x * x).value == 4 + 1 + 9
    assert x * Noisy(Q(3), {}) == x * 3 and Noisy(Q(3), {}) * x == x * 3 and (x * 0).parts == {}
    assert (
        (Mean(Q(2)) + x).value == 4
        and (Mean(Q(2)) - x).value == 0
        and (x - Mean(Q(5))).value == -3
        and (1 - Mean(Q(3))).value == -2
    )
    assert (Mean(Q(2)) * 3).value == 6 and (Mean(Q(2)) / 4).value == Q(1, 2) and (-Mean(Q(2))).value == -2
    with pytest.raises(InexactError, match="no second moment"):
        x * Mean(Q(1))
    with pytest.raises(InexactError, match="no expectation"):
        Mean(Q(1)) ** 2


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


def test_draws_of_all_paths_and_of_affine_signs():
    every = AllPaths(3, 1)
    first, second = every.at(0).signs("a").numbers, every.at(1).signs("a", 2).numbers
    assert {*zip(first[:, 0].tolist(), *second[:, 0].T.tolist(), strict=True)} == {*product((-1, 1), repeat=3)} and len(
        first
    ) == 8
    with pytest.raises(InexactError, match="more than 3 signs"):
        every.at(2).signs("a")
    counting = AllPaths(0, 2)
    counting.is_counting = True
    assert counting.at(5).signs("a", 3).numbers.shape == (1, 2, 3) and counting.columns.count == 6
    affine = AffineSigns(2)
    assert [n.parts for n in affine.at(0).signs("a").numbers.flatten()] == [{0: 1}, {1: 1}]
    assert [n.parts for n in affine.at(1).signs("a").numbers.flatten()] == [{2: 1}, {3: 1}]
    for draws in (every, affine):
        with pytest.raises(InexactError, match="clients take part"):
            draws.subset("x", 7)
    with pytest.raises(CannotReplay, match="1 of 2 clients"):
        NoNoise(2).subset("x", 1)


def test_numbers_around_a_centre_refuse_what_bends():
    around = Noisy.around
    assert around(Q(1), Q(2)) / 4 == around(Q(1, 4), Q(1, 2)) and 1 - around(Q(1), Q(2)) == around(Q(0), Q(-2))
    flat = around(Q(5), Q(1)).at(CURVE)
    assert (flat.centre, flat.rate()) == (3, 0) and around(Q(0), Q(0)).at(CURVE) == around(Q(-1), Q(0))
    assert around(Q(5), Q(1)).integral(CURVE) == around(CURVE.integral(Q(5)), Q(3))


def test_the_product_of_two_numbers_that_are_no_signs_is_no_expectation():
    """Only of signs is it known that they are independent, fair and of square 1."""
    free, sign = Noisy.around(Q(1), Q(1, 2)), Noisy.sign(0)
    for bent in (lambda: free * free, lambda: free * sign, lambda: (free + sign) * sign):
        with pytest.raises(Bends):
            bent()
    assert sign * sign == Mean(Q(1)) and free * 2 == Noisy.around(Q(2), Q(1))


# --- runs --------------------------------------------------------------------------------------------------------------------

WELL = {"knots": [[Q(-8), Q(8)]], "slopes": [[Q(-8), Q(8)]], "gradient_noise": [Q(0)]}


def well(start: Q = Q(2), **changes):
    """F' = x within 8 of 0, which a step of 1/2 halves."""
    return exact_problem(Instance("federated", {**WELL, "start": start, **changes}))


def halving(period: int = 2) -> LocalSGD:
    return LocalSGD(eta=scalar(Q(1, 2)), tau=period)


def test_squares_along_a_run_by_hand():
    """2, 1, 1/2, 1/4, 1/8."""
    assert stepped(halving(), well(), 4) == ((4 + 1 + Q(1, 4) + Q(1, 16)) / 4,) * 2
    assert stepped(halving(), well(), 4, Statistic(after=True)) == ((1 + Q(1, 4) + Q(1, 16) + Q(1, 64)) / 4,) * 2
    assert stepped(halving(), well(), 4, Statistic(every=2)) == ((4 + Q(1, 4)) / 2,) * 2
    assert stepped(halving(), well(), 4, Statistic(every=2, after=True)) == ((Q(1, 4) + Q(1, 64)) / 2,) * 2
    with pytest.raises(CannotReplay, match="wanted at most 4096"):
        stepped(halving(), well(), 4097)


def test_a_run_with_noise_is_its_expectation():
    """One step of 1/2 from 2 with noise 3: 4, then E(1 - 3 s / 2)^2 = 1 + 9/4."""
    noisy = well(gradient_noise=[Q(3)])
    assert stepped(halving(), noisy, 2) == ((4 + 1 + Q(9, 4)) / 2,) * 2


def test_an_endless_run_from_a_fixed_point_and_from_an_interval():
    assert (
        run.invariant_interval(halving(), well(Q(0)), 2)
        == (0, 0)
        == run.invariant_interval(halving(), well(Q(1, 3)), 2)
    )
    assert endless(halving(), well(Q(0)), 2, (Q(0), Q(0))) == (0, 0)
    low, high = endless(halving(), well(Q(1)), 2, (Q(1, 2) - 1, Q(1)))
    assert low == 0 and high == (1 + Q(1, 4)) / 2
    with pytest.raises(CannotReplay, match="leaves the interval"):
        endless(halving(), well(Q(1)), 2, (Q(1, 2), Q(1)))
    assert abs(refined_start(halving(), well(Q(1, 7)), 2, Q(1))) < Q(1, 2**200)
    with pytest.raises(CannotReplay, match="inwards"):
        refined_start(halving(), well(Q(3)), 2, Q(1))


def resting(at: Q, start: Q, size: Q = Q(8)):
    """F' = x - at to the left of `at` and half of that to the right: a kink at the rest."""
    return well(start, knots=[[at - size, at, at + size]], slopes=[[-size, Q(0), size / 2]])


def test_an_interval_that_a_round_keeps_is_looked_for_on_four_scales():
    """2^-200, 2^-184, 2^-168 and 2^-152, of the start where that is above 1: the first that reaches the rest beside the start."""
    for away, radius in ((2**190, Q(1, 2**184)), (2**170, Q(1, 2**168)), (2**153, Q(1, 2**152))):
        start = -Q(1, away)
        assert run.invariant_interval(halving(), resting(Q(0), start), 2) == (start - radius, start + radius)
    with pytest.raises(CannotReplay, match="no interval around the start"):
        run.invariant_interval(halving(), resting(Q(0), -Q(1, 2**151)), 2)
    far = 4096 - Q(1, 2**175)
    low, high = run.invariant_interval(halving(), resting(Q(4096), far), 2)
    assert low < far < high and (high - low) / 2 == Q(1, 2**172) * far / 4096


PULLED = {
    "knots": [[Q(-8), Q(8)]] * 4,
    "slopes": [[Q(-9), Q(7)], [Q(-7), Q(9)], [Q(-12), Q(4)], [Q(-4), Q(12)]],
    "gradient_noise": [Q(0)] * 4,
    "start": Q(0),
}
"""Four clients whose pulls cancel at 0."""


def test_a_round_that_leaves_the_models_apart_is_not_repeated():
    """From 0 everywhere the mean stays at 0 for one exchange on a ring, and the models are apart after it."""
    gossip, both = GossipSGD(eta=scalar(Q(1, 2)), tau=2), exact_problem(Instance("federated", PULLED))
    for ask in (lambda m: run.invariant_interval(m, both, 2), lambda m: endless(m, both, 2, (Q(0), Q(0)))):
        with pytest.raises(CannotReplay, match="gossip_sgd does not average the models at the end of a round"):
            ask(gossip)
        ask(halving())
        ask(GossipSGD(eta=scalar(Q(1, 2)), tau=2, topology="complete"))


@pytest.mark.parametrize("every", [1, 64])
def test_rounds_with_steps_of_their_own_are_not_repeated(every):
    """A schedule that changes late does the same in the rounds that are compared."""
    method = LocalSGD(eta=Schedule(scalar(Q(1, 2)), scalar(Q(1)), every=every), tau=2)
    noisy = well(gradient_noise=[Q(1)])
    for ask in (
        lambda: run.invariant_interval(method, well(), 2),
        lambda: endless(method, well(), 2, (Q(0), Q(0))),
        lambda: long_run.in_powers(method, noisy, 20, 2),
        lambda: infinite_clients.InfiniteClients(method, noisy, 2, 2),
    ):
        with pytest.raises(CannotReplay, match="local_sgd has a schedule in t: no round is like another"):
            ask()
    first, second = (Q(1, 2), Q(1, 4)) if every == 1 else (Q(1, 2), Q(1, 2))
    end = 2 * (1 - first)
    assert stepped(method, well(), 3)[0] == (4 + end**2 + (end * (1 - second)) ** 2) / 3


def test_a_fixed_point_at_which_clients_pull_has_one_square():
    """F_1' = x - 1, F_2' = (x + 1) / 2: a round of two halves ends at (13 x + 5) / 32, F' = (3 x - 1) / 4 at 5/19 and 11/38."""
    parameters = {
        "knots": [[Q(-8), Q(8)]] * 2,
        "slopes": [[Q(-9), Q(7)], [Q(-7, 2), Q(9, 2)]],
        "gradient_noise": [Q(0)] * 2,
        "start": Q(5, 19),
    }
    both = exact_problem(Instance("federated", parameters))
    assert run.invariant_interval(halving(), both, 2) == (Q(5, 19), Q(5, 19))
    first, second = Q(1, 19) ** 2, Q(5, 152) ** 2
    assert endless(halving(), both, 2, (Q(5, 19),) * 2) == ((first + second) / 2,) * 2
    assert endless(halving(), both, 2, (Q(5, 19),) * 2, Statistic(every=2)) == (first, first)


def test_a_fixed_point_is_found_however_near_a_kink_is():
    """F' = x - 1/1000 up to 1/500, and half as steep beyond: a round is affine on a short interval only."""
    rest, kink = Q(1, 1000), Q(1, 500)
    bent = well(Q(0), knots=[[Q(-8), kink, Q(8)]], slopes=[[-8 - rest, kink - rest, kink - rest + (8 - kink) / 2]])
    assert run.invariant_interval(halving(), bent, 2) == (rest, rest)


def test_a_long_run_is_the_run_step_by_step():
    noisy = well(gradient_noise=[Q(1)], knots=[[Q(-64), Q(64)]], slopes=[[Q(-64), Q(64)]])
    for every, after in product((1, 2), (False, True)):
        low, high = long_run.in_powers(halving(), noisy, 8, 2, Statistic(every=every, after=after))
        exact, _ = stepped(halving(), noisy, 8, Statistic(every=every, after=after))
        assert low <= exact <= high and high - low < Q(1, 2**900)
    for steps, period, every in ((7, 2, 1), (8, 4, 3), (2, 2, 1)):
        with pytest.raises(CannotReplay, match="whole rounds"):
            long_run.in_powers(halving(), noisy, steps, period, Statistic(every=every))


def test_a_long_run_has_two_rounds_and_up_to_two_to_the_sixtieth_after_the_first():
    """From 2 without noise the squares add up to (4 + 1) (1 + 1/16 + ...) = 16/3, over 2 gradients of each round."""
    short, _ = long_run.in_powers(halving(), well(), 4, 2), None
    assert short[0] <= (4 + 1 + Q(1, 4) + Q(1, 16)) / 4 <= short[1]
    rounds = 2**60 + 1
    low, high = long_run.in_powers(halving(), well(), 2 * rounds, 2)
    assert low <= Q(16, 3) / (2 * rounds) * (1 + Q(1, 2**100)) and Q(16, 3) / (2 * rounds) * (1 - Q(1, 2**100)) <= high
    assert high - low < Q(1, 2**300)
    with pytest.raises(CannotReplay, match="at least two"):
        long_run.in_powers(halving(), well(), 2 * (rounds + 1), 2)


def test_a_long_run_is_refused_where_it_reaches_a_kink_only_in_the_end():
    """The noise is 1 after one round and adds up to 2 by and by: an edge between them is met, one far beyond is not."""
    for edge, is_met in ((Q(9, 5), True), (Q(4), False)):
        made = well(Q(0), gradient_noise=[Q(2)], knots=[[-edge, edge]], slopes=[[-edge, edge]])
        if is_met:
            with pytest.raises(noise.Bends):
                long_run.in_powers(halving(1), made, 40, 1)
        else:
            low, high = long_run.in_powers(halving(1), made, 40, 1)
            assert low <= stepped(halving(1), made, 40)[0] <= high


@pytest.mark.parametrize("when", [1, 2, 5])
def test_a_method_that_does_something_else_in_a_round_is_not_run_by_powers(when):
    """The rounds after the first that are compared are those of the times 1, 2 and 5."""

    class Twice(LocalSGD):
        def local_step(self, problem, state, draws, t):
            moved = super().local_step(problem, state, draws, t)
            return super().local_step(problem, moved, draws, t) if t == when else moved

    with pytest.raises(CannotReplay, match="not do the same in every round"):
        long_run.in_powers(Twice(eta=scalar(Q(1, 2)), tau=1), well(), 40, 1)


def test_a_run_over_all_paths_is_the_mean_over_them():
    """A kink at 0, noise 2, steps of 1/2: from 0 to -+1, then to -1/4, 7/4, 1/2 and -3/2, where slopes are 1/2 and 1."""
    bent = well(Q(0), gradient_noise=[Q(2)], knots=[[Q(-8), Q(0), Q(8)]], slopes=[[Q(-8), Q(0), Q(4)]])
    first, second = (Q(1, 4) + 1) / 2, (Q(1, 16) + Q(49, 64) + Q(1, 16) + Q(9, 4)) / 4
    assert stepped(halving(1), bent, 3) == ((first + second) / 3,) * 2
    assert stepped(halving(1), bent, 2, Statistic(after=True)) == ((first + second) / 2,) * 2


def test_a_crowd_of_quadratics_by_hand(monkeypatch):
    """Noise 1 and steps of 1/2 from [-1, 1]: a round of two ends in [-1/4, 1/4], 3/4 within, its models in [-1, 1]."""
    noisy = well(Q(0), gradient_noise=[Q(1)])
    made = infinite_clients.InfiniteClients(halving(), noisy, infinite_clients.bits_of(halving(), noisy, 2), 2)
    assert made.bits == 2 and made._margin(Q(-1), Q(1)) == Q(3, 4) and made.end(Q(1)) == Q(1, 4)
    passed = made.models(Q(1))
    assert [sorted(set(models)) for models in passed] == [[1], [0, 1], [Q(-1, 2), 0, Q(1, 2), 1], [Q(1, 4)]]
    asked = []
    monkeypatch.setattr(infinite_clients, "_tail", lambda *given: asked.append(given) or Q(1, 100))
    low, high = made.average((Q(-1), Q(1)), 50, 3)
    assert asked == [(50, Q(3, 4), Q(2))]
    missed = 3 * 3 * Q(1, 100)
    # at t = 0 the average is within 3/4 of [-1, 1], at t = 1 within 3/4 of [-1/2, 1/2]
    assert low == 0 and high == ((1 + Q(3, 4)) ** 2 + (Q(1, 2) + Q(3, 4)) ** 2) / 2 + missed * 64
    only, _ = made.average((Q(-1), Q(1)), 50, 3, Statistic(every=2)), None
    assert only[1] == (1 + Q(3, 4)) ** 2 + missed * 64
    with pytest.raises(CannotReplay, match="too few clients"):
        made.average((Q(-1), Q(1)), 50, 34)
    asked.clear()
    loud = well(Q(0), gradient_noise=[Q(2)])  # the second step leads to x / 4 -+ 1/2 -+ 1, within 7/4 of 0
    infinite_clients.InfiniteClients(halving(), loud, infinite_clients.bits_of(halving(), loud, 2), 2).average(
        (Q(-1), Q(1)), 50, 3
    )
    assert asked == [(50, Q(3, 4), Q(7, 2))]


def test_the_chance_to_miss_a_mean_is_that_of_hoeffding():
    assert infinite_clients._tail(8, Q(1, 2), Q(2)) == 2 * Q(1, 2 ** int(2 * 8 * Q(1, 16))) == 1
    assert infinite_clients._tail(32, Q(1, 2), Q(2)) == 2 * Q(1, 16) and infinite_clients._tail(
        10**9, Q(1), Q(1)
    ) == 2 * Q(1, 2**4096)


@pytest.mark.parametrize("when", [0, 1])
def test_a_method_that_exchanges_models_within_a_round_has_no_crowd(when):
    class Early(LocalSGD):
        def communicate(self, problem, state, t):
            return LocalSGD(eta=self.eta, tau=1).communicate(problem, state, t) if t in (when, 2) else state

    noisy = well(Q(0), gradient_noise=[Q(1)])
    with pytest.raises(CannotReplay, match="exchanges models within a round"):
        infinite_clients.InfiniteClients(Early(eta=scalar(Q(1, 2)), tau=3), noisy, 3, 3)
    assert len(infinite_clients.InfiniteClients(halving(3), noisy, 3, 3).models(Q(1))) == 5


def test_too_many_signs_of_a_client_are_refused():
    noisy = well(Q(0), gradient_noise=[Q(1)])
    assert infinite_clients.bits_of(halving(6), noisy, 6) == 6
    with pytest.raises(CannotReplay, match="7 signs"):
        infinite_clients.bits_of(halving(7), noisy, 7)


def test_which_states_are_models_only():
    assert run.keeps_models_only(SimpleNamespace(x=1, active=2)) and not run.keeps_models_only(
        SimpleNamespace(x=1, u=2)
    )
    assert run.constant((Q(1), Q(1))) == 1 and run.constant((Q(1), Q(2))).values == (1, 2)


# --- a search in doubles and the exact check --------------------------------------------------------------------------------------

SEARCHED = {
    "a run": ("baselines.local_sgd", SPACES["federated"].silent[0], 2, 2, 8, {}),
    "a run of bowls": ("baselines.local_sgd_heterogeneity", SPACES["federated"].silent[1], 2, 3, 6, {}),
    "a run with an inner estimate": ("baselines.scgd", SPACES["local_composite"].silent[0], 2, 1, 8, {}),
    "a run with momentum": ("local_scgdm.theorem_3_4", SPACES["local_composite"].silent[3], 2, 2, 4, {}),
    "an endless run": ("baselines.local_sgd", SPACES["federated"].silent[0], 2, 2, 16, {"stays": True}),
    "moments": ("baselines.local_sgd", SPACES["federated"].affine[0], 2, 2, 4, {"law": MOMENTS}),
    "moments behind inner maps": ("baselines.scgd", SPACES["local_composite"].affine[0], 1, 1, 4, {"law": MOMENTS}),
    "powers": ("baselines.local_sgd", SPACES["federated"].affine[0], 1, 2, 2 * (1 + 2**9), {"law": POWERS}),
    "paths": ("baselines.local_sgd", SPACES["federated"].silent[0], 1, 2, 4, {"law": PATHS}),
    "rounds": ("meta_fl.theorem_8", SPACES["meta"].partial[0], 2, 2, 16, {"law": PARTIAL, "stays": True, "settings": {"nu": 1}}),
}  # fmt: skip


@pytest.mark.parametrize("kind", SEARCHED)
def test_a_search_scores_what_the_exact_check_finds(kind):
    """Left side over bound of an instance at random, in doubles and in fractions, the step just below its limit in both."""
    name, space, clients, period, horizon, more = SEARCHED[kind]
    target = target_of(get_theorem(name), "printed")
    search_space = SearchSpace(target, Formula(target.theorem, "printed"), space, clients, period, horizon, **more)
    points = np.random.default_rng(0).random((48, search_space.size))
    scores = search_space.score(points)
    order = np.argsort(-np.where(scores < -0.05, scores, -np.inf))
    for k in order[:6]:
        candidate = search_space.candidate(points[k])
        made = replace(
            list(drafts(target, search_space.formula, candidate, search_space.settings))[1], play=Q(999999, 1000000)
        )
        try:
            found = sides(target, settle(target, search_space.formula, made))
        except NotConfirmed:  # an enclosure where the exact run needs a number, or an interval that is not kept
            continue
        assert candidate.score > -8 and 10**candidate.score == pytest.approx(found.ratio, rel=1e-4)
        return
    raise AssertionError("nothing to compare")


def test_what_a_check_says_of_clients_that_stand_for_many():
    """A group of equal clients moves as one without noise; with noise an endless run is about an average of very many."""
    target = target_of(get_theorem("baselines.local_sgd"), "printed")
    for noisy, ends, said in (
        (False, None, "moves as one"),
        (False, (Q(0), Q(1)), "moves as one"),
        (True, None, "moves as one"),
        (True, (Q(0), Q(1)), "whose noise is independent"),
    ):
        made = well(gradient_noise=[Q(int(noisy))])
        (line,) = _check_shape(target, Claimed(SimpleNamespace(parameters={}), {}, {}, ends), made)  # type: ignore[arg-type]
        assert said in line
    groups, very_many, one = "whose noise is the mean of theirs", "whose noise is independent", "moves as one"
    for ends, given, said in ((None, Q(2), groups), ((Q(0), Q(1)), Q(2), very_many), (None, Q(1), one)):
        claimed = Claimed(SimpleNamespace(parameters={}), {}, {"N": given}, ends)  # type: ignore[arg-type]
        assert said in _check_shape(target, claimed, well(gradient_noise=[Q(1)]))[0]
    lemma = replace(target, link=SimpleNamespace())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="noise of equal clients differs"):
        _check_shape(lemma, Claimed(SimpleNamespace(parameters={}), {}, {"N": Q(2)}), well(gradient_noise=[Q(1)]))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="wanted a multiple of 1 clients"):
        _check_shape(target, Claimed(SimpleNamespace(parameters={}), {}, {"N": Q(3, 2)}), well())  # type: ignore[arg-type]


# --- expectations over nested noise ------------------------------------------------------------------------------------------------


def nested(value: Q, slope: Q):
    """Two clients behind x and 3 x - 1, f_1' = y and f_2' = y / 2 within 8 of 0, both with noise at the first client alone."""
    parameters = {
        "inner_slope": [Q(1), Q(3)], "inner_offset": [Q(0), Q(-1)], "value_noise": [value, Q(0)], "gradient_noise": [slope, Q(0)],
        "knots": [[Q(-8), Q(8)]] * 2, "slopes": [[Q(-8), Q(8)], [Q(-4), Q(4)]], "start": Q(1),
    }  # fmt: skip
    return exact_problem(Instance("conditional", parameters))


@pytest.mark.parametrize(("value", "slope"), [*product((Q(0), Q(2)), (Q(0), Q(6)))])
def test_atoms_of_nested_noise_have_weights_that_add_up_and_the_gradient_as_mean(value, slope):
    problem = nested(value, slope)
    outer, weights = problem.outer_atoms()
    inner, within = problem.inner_atoms(outer)
    assert weights.tolist() == ([0.5, 0.5] if slope else [1.0]) and within.tolist() == ([0.5, 0.5] if value else [1.0])
    x = ExactTensor.of([[[Q(1)], [Q(1)]]])
    assert inner.eta.shape == (1, 2, len(weights), len(within))
    means = []
    for k in range(len(within)):
        one = type(inner)(inner.eta[..., k : k + 1])
        sampled = problem.sample_gradient(x, outer, one).numbers[0, :, :, 0]
        means.append([sum(row) / len(row) for row in sampled])
    assert [sum(m[c] for m in means) / len(means) for c in (0, 1)] == [1, 3 * (3 - 1) / Q(2)]
    first = [type(inner)(inner.eta[..., k : k + 1]) for k in range(len(within))]
    seen = {number for one in first for number in problem.sample_gradient(x, outer, one).numbers[0, 0, :, 0]}
    assert seen == {1 + s * value + t * slope for s in (-1, 1) for t in (-1, 1)}


def test_a_batch_without_outer_noise_is_one_sample_unless_its_inner_noise_differs():
    asked = []

    class Draws:
        def signs(self, purpose, *tail):
            asked.append((purpose, tail))
            return torch.ones(1, 2, *tail)

    draws, x = Draws(), ExactTensor.of([[[Q(1)], [Q(1)]]])
    for problem, counts, drawn in (
        (nested(Q(0), Q(0)), (1, 1), []),
        (nested(Q(2), Q(0)), (5, 5), [("inner", (5, 3))]),
        (nested(Q(2), Q(6)), (5, 5), [("outer", (5,)), ("inner", (5, 3))]),
        (nested(Q(0), Q(6)), (1, 5), [("outer", (5,))]),
    ):
        asked.clear()
        outer = problem.sample_outer(draws, 5)
        sampled = problem.sample_gradient(x, outer, problem.sample_inner(draws, outer, 3))
        assert (outer.count, sampled.shape[2]) == counts and asked == drawn


def test_constants_of_outer_noise_are_those_of_its_worst_client():
    """|f_1'| <= 8 with noise 6, |f_2'| <= 4 with none: sqrt(8^2 + 6^2) = 10 and 8 + 6 = 14."""
    found = nested(Q(2), Q(-6)).constants()
    assert found["outer_lipschitz"] == 8 and found["outer_mean_square_lipschitz"] == 10
    assert found["outer_sample_lipschitz"] == 14 and found["outer_gradient_noise"] == 6
    assert found["outer_smoothness"] == found["outer_sample_smoothness"] == 1
    assert found["inner_lipschitz"] == 3 and found["inner_value_noise"] == found["composite_noise"] == 2
    assert found["inner_jacobian_heterogeneity"] == 1 and found["inner_smoothness"] == 0
    assert found["objective_smoothness"] == (1 + 9 * Q(1, 2)) / 2  # F' = (x + 3 (3 x - 1) / 2) / 2
    still = nested(Q(0), Q(0)).constants()
    assert still["outer_mean_square_lipschitz"] == still["outer_sample_lipschitz"] == 8
    assert still["outer_gradient_noise"] == still["inner_noise"] == 0
