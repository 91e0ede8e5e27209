"""The building blocks: derivatives against autograd, constants against dense grids that must nearly attain them."""

import math

import pytest
import torch
from fedco.synthetic.parts.blocks import Cosine, RadialPseudoHuber, Sine, short_sum

GRID = torch.linspace(-60.0, 60.0, 400_001, dtype=torch.float64)


def derivative(function, t):
    t = t.clone().requires_grad_()
    return torch.autograd.grad(function(t).sum(), t)[0]


def test_flat_waves_are_linear_or_zero():
    assert torch.equal(Sine(2.0, 0.0).value(GRID), 2.0 * GRID)
    assert torch.equal(Cosine(2.0, 0.0).value(GRID), 0.0 * GRID)


def test_the_radial_block_is_b_times_the_root_less_its_width():
    """B (sqrt(w^2 + |y|^2) - w) with w = B / L = 3."""
    radial = RadialPseudoHuber(1.5, 0.5)
    y = torch.randn(50, 4, dtype=torch.float64)
    assert torch.allclose(radial.value(y), 1.5 * ((9 + y.norm(dim=-1) ** 2).sqrt() - 3))
    assert torch.allclose(radial.gradient(y), derivative(radial.value, y), atol=1e-12)
    value, slope = radial.scalar(2.0)
    assert math.isclose(value, 1.5 * (math.sqrt(13) - 3), rel_tol=1e-6)
    assert math.isclose(slope, 3 / math.sqrt(13), rel_tol=1e-6)


def test_values_keep_their_digits_near_the_minimum():
    tiny = torch.tensor([[1e-9]], dtype=torch.float64)
    assert math.isclose(RadialPseudoHuber(1.0, 1.0).value(tiny).item(), 0.5e-18, rel_tol=1e-9)


@pytest.mark.parametrize("parameters", [(-1.0, 1.0), (math.nan, 1.0), (1.0, math.inf)])
@pytest.mark.parametrize("block", [Sine, Cosine, RadialPseudoHuber])
def test_bad_parameters_are_refused(block, parameters):
    with pytest.raises(ValueError, match=block.__name__):
        block(*parameters)


def test_a_half_zero_radial_block_is_refused():
    with pytest.raises(ValueError, match="both zero or both positive"):
        RadialPseudoHuber(1.0, 0.0)


@pytest.mark.parametrize("size", range(1, 7))
def test_a_short_sum_is_the_sum(size):
    v = torch.randn(5, 3, size, generator=torch.Generator().manual_seed(size), dtype=torch.float64)
    torch.testing.assert_close(short_sum(v), v.sum(-1, keepdim=True), rtol=0, atol=1e-15)
    assert torch.equal(short_sum(v)[2:3, :1], short_sum(v[2:3, :1])), "a lane alone"
