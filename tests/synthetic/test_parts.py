"""Certificates that prove nothing, and the counterexample."""

import math
from fractions import Fraction

import pytest
import torch
from fedco.synthetic import Certificate, problem


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
