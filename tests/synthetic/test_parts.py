"""Certificates, the counterexample, patterns and the one-dimensional convex minimum."""

import math
from fractions import Fraction

import pytest
import torch
from fedco.synthetic import Certificate, problem
from fedco.synthetic.parts.convex import convex_minimum
from fedco.synthetic.parts.patterns import pair_index, pair_signs, uneven_direction, walsh_directions


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("speed", 1.0, "upper", "proof"), "not a quantity"),
        (("inner_noise", -1.0, "upper", "proof"), "at least 0"),
        (("inner_noise", math.nan, "upper", "proof"), "finite"),
        (("inner_noise", math.inf, "upper", "proof"), "finite"),
        (("inner_noise", 1.0, "guess", "proof"), "kind must be in"),
        (("inner_noise", 1.0, "upper", " "), "argument is missing"),
        (("inner_noise", 1.0, "upper", "proof", "all", 1.5), "witness must be in"),
        (("inner_noise", 1.0, "exact", "proof"), "exact needs points"),
        (("inner_noise", 1.0, "exact", "proof", "all", 0.98, ((0.0,),)), "exact needs points"),
    ],
)
def test_a_certificate_that_proves_nothing_cannot_exist(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        Certificate(*arguments)


def test_counterexample_is_the_papers():
    p = problem("feddro_counterexample")
    x = torch.tensor([[[0.5], [0.5]]], dtype=torch.float64)
    assert p.inner(x).flatten().tolist() == [-2.0, 3.0]
    assert p.inner_vjp(x, torch.ones_like(x)).flatten().tolist() == [4.0, -2.0]
    assert p.initial_point.tolist() == [0.5]
    assert p.objective(torch.tensor([[1.5]], dtype=torch.float64)).item() == 2.5
    exact = {q: c.value for q, c in p.certificates.items() if isinstance(c.value, Fraction)}
    assert exact["inner_jacobian_heterogeneity"] == 3 and exact["outer_smoothness"] == Fraction(1, 2)
    assert float(exact["objective_gap"]) == pytest.approx(math.sqrt(4.25) - 2.0, rel=1e-15)


@pytest.mark.parametrize("clients", range(1, 8))
def test_signs_cancel_and_reach_one(clients):
    signs = pair_signs(clients)
    assert signs.sum() == 0 and signs.shape == (clients,)
    assert clients == 1 or signs[0] == 1


@pytest.mark.parametrize("size", [1, 3, 8, 20])
def test_directions_are_unit_vectors_shared_by_pairs(size):
    directions = walsh_directions(pair_index(6), size)
    assert torch.allclose(directions.norm(dim=-1), torch.ones(6, dtype=torch.float64))
    assert torch.equal(directions[0], directions[1]) and bool((directions[0] > 0).all())
    assert size == 1 or not torch.equal(directions[0], directions[2])
    assert math.isclose(uneven_direction(size).norm().item(), 1.0)


def test_convex_minimum_is_below_and_close():
    def shifted(r):
        return math.cosh(r - 0.3), math.sinh(r - 0.3)

    for low, high, minimum in ((0.0, 2.0, 1.0), (1.0, 2.0, math.cosh(0.7)), (-2.0, 0.0, math.cosh(0.3))):
        bound = convex_minimum(shifted, low, high)
        assert minimum - 1e-10 <= bound <= minimum
    with pytest.raises(ValueError, match="low must not exceed high"):
        convex_minimum(shifted, 1.0, 0.0)
