"""Exact expectations over nested noise: atoms, batches and constants of a conditional problem by hand."""

from __future__ import annotations

from fractions import Fraction as Q
from itertools import product

import pytest
import torch
from fedco.validation.exact.base import Instance
from fedco.validation.exact.problem import exact_problem
from fedco.validation.exact.tensor import ExactTensor


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
    assert found["inner_lipschitz"] == 3 and found["inner_value_noise"] == 2
    assert found["composite_noise"] == 6  # it bounds the noise of outer gradients too
    assert found["inner_jacobian_heterogeneity"] == 1 and found["inner_smoothness"] == 0
    assert found["objective_smoothness"] == (1 + 9 * Q(1, 2)) / 2  # F' = (x + 3 (3 x - 1) / 2) / 2
    still = nested(Q(0), Q(0)).constants()
    assert still["outer_mean_square_lipschitz"] == still["outer_sample_lipschitz"] == 8
    assert still["outer_gradient_noise"] == still["inner_noise"] == 0
