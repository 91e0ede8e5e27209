"""Exact numbers by their definitions: every operation beside torch's, ends that are attained, guards that refuse."""

from __future__ import annotations

from fractions import Fraction as Q
from itertools import product

import numpy as np
import pytest
import torch
from fedco.validation.exact import interval
from fedco.validation.exact.base import Instance, as_fractions
from fedco.validation.exact.interval import Bends, Interval, outward
from fedco.validation.exact.noise import AffineSigns, AllPaths, Mean, Noisy, expectation
from fedco.validation.exact.problem import exact_problem
from fedco.validation.exact.run import CannotReplay, NoNoise
from fedco.validation.exact.sampled import root_above
from fedco.validation.exact.tensor import ExactTensor, InexactError
from hypothesis import given
from hypothesis import strategies as st

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
    with pytest.raises(Bends, match="random number"):
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


NUMBERS = st.fractions(-3, 3, max_denominator=6)
AFFINE = st.builds(Noisy, NUMBERS, st.dictionaries(st.sampled_from((0, 1)), NUMBERS))


@given(x=AFFINE, y=AFFINE, free=NUMBERS, c=NUMBERS.filter(bool))
def test_numbers_that_are_affine_in_signs_are_the_numbers_at_every_sign(x, y, free, c):
    """And at every number of which no more is known than how far from a centre it is."""
    outcomes = list(product((-1, 1), (-1, 1), (-1, Q(1, 3), 1)))

    def at(found, outcome):
        return found.centre + sum(part * outcome[j] for j, part in found.parts.items())

    around = x + Noisy.around(c, free)
    for each in outcomes:
        a, b = at(around, each), at(y, each)
        assert a == at(x, each) + c + free * each[-1]
        made = (
            around + y,
            around - y,
            -around,
            3 - around,
            around * c,
            around / c,
            around + 1,
            2 - (c * around - 1) * 7,
        )
        assert [at(number, each) for number in made] == [
            a + b,
            a - b,
            -a,
            3 - a,
            a * c,
            a / c,
            a + 1,
            2 - (c * a - 1) * 7,
        ]
    values = [[at(number, each) for each in outcomes] for number in (x, y)]
    assert around.reach == sum(map(abs, x.parts.values())) + abs(free) and expectation(x) == x.centre
    assert expectation(x * y) == sum(a * b for a, b in zip(*values, strict=True)) / len(outcomes)
    assert x * Noisy(c, {}) == x * c == Noisy(c, {}) * x
    with pytest.raises(InexactError):
        x + 0.5


def test_expectations_add_up_and_scale_and_do_not_multiply():
    x = Noisy(Q(2), {0: Q(1), 1: Q(-3)})
    assert expectation(Mean(Q(7))) == 7 and expectation(3) == 3
    assert [number.value for number in (Mean(Q(2)) + x, Mean(Q(2)) - x, x - Mean(Q(5)), 1 - Mean(Q(3)))] == [
        4,
        0,
        -3,
        -2,
    ]
    assert [number.value for number in (Mean(Q(2)) * 3, Mean(Q(2)) / 4, -Mean(Q(2)))] == [6, Q(1, 2), -2]
    with pytest.raises(InexactError, match="no second moment"):
        x * Mean(Q(1))
    with pytest.raises(InexactError, match="no expectation"):
        Mean(Q(1)) ** 2


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


def test_the_product_of_two_numbers_that_are_no_signs_is_no_expectation():
    """Only of signs is it known that they are independent, fair and of square 1."""
    free, sign = Noisy.around(Q(1), Q(1, 2)), Noisy.sign(0)
    for bent in (lambda: free * free, lambda: free * sign, lambda: (free + sign) * sign):
        with pytest.raises(Bends):
            bent()
    assert sign * sign == Mean(Q(1)) and free * 2 == Noisy.around(Q(2), Q(1))
