"""Losses of one number: crude bounds above derivatives, suprema that are enclosed, continuations."""

import math

import numpy as np
import pytest
import torch
from fedco.synthetic.parts import scalar
from fedco.synthetic.parts.outer import Exponential

LINE = torch.linspace(-30.0, 30.0, 60_001, dtype=torch.float64)


def derivatives(function):
    """The largest sizes of the first three, by differences."""
    found, values = [], function(LINE).numpy()
    for _ in range(3):
        values = np.gradient(values, float(LINE[1] - LINE[0]))[1:-1]
        found.append(np.abs(values).max())
    return found


@pytest.mark.parametrize("loss", [scalar.Sigmoid(1.7), scalar.SaturatedLogistic(0.9), scalar.SaturatedLogistic(2.6)])
def test_crude_bounds_are_above_the_derivatives(loss):
    first, second, third = derivatives(loss.value)
    for bound, value in zip(loss.crude, (first, second, third), strict=True):
        assert value <= bound
    assert loss.steepest == pytest.approx(first, rel=1e-4) and loss.steepest >= first
    assert pytest.approx(float(loss.value(-LINE[-1:])), rel=1e-9) == loss.M
    assert loss.smallest == pytest.approx(float(loss.value(LINE[-1:])), abs=1e-9)
    for derivative in (loss.slope, loss.curvature):
        edges = derivative(torch.tensor([loss.reach, -loss.reach], dtype=torch.float64))
        assert float(edges.abs().max()) < 10 * math.exp(-40) * max(1, loss.M) * 10


def test_crude_bounds_of_a_function_of_a_loss_by_the_chain_rule():
    """u'' l'^2 + u' l'', and u''' l'^3 + 3 u'' l' l'' + u' l''', each factor at its bound."""

    class Loss:
        crude = (2.0, 3.0, 5.0)

    made = scalar.OfLoss(Loss(), None, None, None, (7.0, 11.0, 13.0))
    assert made.crude_curvature == 11 * 2**2 + 7 * 3
    assert made.crude_third == 13 * 2**3 + 3 * 11 * 2 * 3 + 7 * 5


@pytest.mark.parametrize(
    ("made", "u"),
    [
        (scalar.exponential_of(scalar.Sigmoid(1.5), 0.6), lambda v: torch.exp(v / 0.6)),
        (scalar.loss_and_half_square(scalar.Sigmoid(1.5), 2.4), lambda v: v + v**2 / 4.8),
        (scalar.identity_of(scalar.Sigmoid(1.5)), lambda v: v),
    ],
)
def test_bounds_of_u_hold_on_the_range_of_the_loss(made, u):
    v = torch.linspace(0.0, 1.5, 2001, dtype=torch.float64, requires_grad=True)
    values, found = u(v), []
    for _ in range(3):
        (values,) = torch.autograd.grad(values.sum() + 0 * (v**2).sum(), v, create_graph=True)
        found.append(float(values.detach().abs().max()))
    assert made.crude == pytest.approx(found, rel=1e-9, abs=1e-12)
    plain = v.detach()
    assert torch.allclose(made.outer(plain), u(plain)) and made.range == pytest.approx(
        (float(u(plain[:1])), float(u(plain[-1:])))
    )


def test_the_enclosure_is_above_the_supremum_of_a_spike():
    """A bump of width 1/500 between the first points: only the crude bound knows of it."""

    class Loss:
        reach = 40.0

    made = scalar.OfLoss(Loss(), None, None, None, (0.0, 0.0, 0.0))
    for place in (0.013, -17.77, 39.9, 39.9999, -39.9999, 40.0, -40.0):  # also in the last cells
        bump = lambda t, at=place: 3.0 / (1 + (500 * (t - at)) ** 2)  # noqa: E731
        crude = 3.0 * 500 * 3 * math.sqrt(3) / 8
        assert 3.0 <= made.enclosed(bump, crude) <= 3.0 * (1 + 5e-5)
    assert 0 < made.enclosed(lambda t: 0 * t, 1e-14) < 1e-14
    flat = made.enclosed(torch.ones_like, 0.0)
    assert 1.0 < flat <= 1 + 5e-5


def test_an_exponential_is_continued_on_both_sides():
    made = Exponential(0.7, 1.4)
    y = torch.tensor([-0.35, 0.0, 0.7, 1.4, 2.1], dtype=torch.float64)
    e = math.e
    assert made.value(y).tolist() == pytest.approx([1 - 0.5, 1.0, e, e**2, e**2 * 2])
    assert made.slope(y).tolist() == pytest.approx([1 / 0.7, 1 / 0.7, e / 0.7, e**2 / 0.7, e**2 / 0.7])
