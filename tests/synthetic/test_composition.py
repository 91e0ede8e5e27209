"""Composition rules against direct certificates of the whole: never below, and equal where the rule is exact."""

import pytest
import torch
from fedco.synthetic.applications.client_dro import ClientKL
from fedco.synthetic.certificate import Certificate
from fedco.synthetic.families.local_composite import LocalComposite
from fedco.synthetic.parts.blocks import RadialPseudoHuber
from fedco.synthetic.parts.composition import (
    composite_smoothness,
    heterogeneity_of_average,
)
from fedco.synthetic.parts.scalar import exponential_of
from flint import arb, ctx


def one_datum(gamma=0.7, M=1.5):
    """One client, one datum, one coordinate: F(x) = exp(sigmoid loss(a x) / gamma), whose suprema are enclosed."""
    instance = ClientKL(clients=1, samples=1, dim=1, gamma=gamma, M=M, shift=0.0)
    return instance, exponential_of(instance.loss_function, gamma), float(instance.data.spectrum.longest)


def without(instance, forgotten):
    parts = {**instance.certificates, forgotten: Certificate(forgotten, 0.0, "upper", "A term is dropped.")}
    return composite_smoothness(parts).value


def test_a_composition_that_forgets_the_inner_curvature_is_below_the_whole():
    instance, whole, length = one_datum(gamma=50.0, M=1.0)
    direct = whole.smoothness * length**2
    assert without(instance, "inner_smoothness") < 0.1 * direct
    assert direct <= composite_smoothness(instance.certificates).value


def test_with_an_affine_inner_map_the_rule_is_exact():
    """F(x) = f(c x): the curvature at the centre of f is c^2 L_f, seen by a second difference."""
    instance = LocalComposite(clients=1, dim=1, C_g=1.5, L_g=0.0, ripple=0.0, L_f=0.4, target=1.0)
    rule, step = composite_smoothness(instance.certificates).value, 1e-3
    centre = torch.tensor([[1.0 / 1.5]], dtype=torch.float64)
    direct = float(((instance.gradient(centre + step) - instance.gradient(centre - step)) / (2 * step)).abs())
    assert rule == pytest.approx(1.5**2 * 0.4, rel=1e-12) == pytest.approx(direct, rel=1e-5)
    assert without(instance, "outer_smoothness") == 0.0 < direct


def test_composite_smoothness_holds_on_every_ball_of_a_line():
    """Ball arithmetic: |F''| of one client in one dimension, enclosed on 20000 balls that cover [-40, 40]."""
    instance = LocalComposite(clients=1, dim=1, C_g=1.0, L_g=0.3, L_f=0.4, ripple=0.8, target=1.0)
    map_, radial = instance.inner_map, RadialPseudoHuber(instance.C_f, instance.L_f)
    ctx.prec = 64
    slope, q = arb(map_.mean_lipschitz) / ((1 + arb(map_.ripple)) * arb(map_.group).sqrt()), arb(map_.wavenumber)
    wave, target = arb(map_.ripple) * slope, arb(instance.target)
    lipschitz, width = arb(radial.lipschitz), arb(radial.width)
    radius = arb(0, 0.002)
    allowed, seen = arb(float(instance.certificates["objective_smoothness"].value)), 0.0
    for i in range(-10_000, 10_000):
        x = arb(i) * arb("0.004") + arb("0.002") + radius
        angle = q * x
        g = slope * x + wave * angle.sin() / q - target
        first, second = slope + wave * angle.cos(), -wave * q * angle.sin()
        root = (width * width + g * g).sqrt()
        curvature = abs(lipschitz * width * width / root**3 * first * first + lipschitz * g / root * second)
        assert curvature < allowed * arb("1.000001")
        seen = max(seen, float(curvature.lower()))
    assert seen > 0.5 * float(allowed)


def test_heterogeneity_of_an_average_against_matrices():
    generator = torch.Generator().manual_seed(0)
    for clients in (1, 2, 3, 7):
        for _ in range(50):
            maps = torch.randn(clients, 2, 3, generator=generator, dtype=torch.float64)
            bounds = torch.linalg.matrix_norm(maps).tolist()
            direct = float(torch.linalg.matrix_norm(maps - maps.mean(0)).max())
            assert direct <= heterogeneity_of_average(bounds) * (1 + 1e-12) + 1e-12
    assert heterogeneity_of_average((2.0, 2.0)) == 2.0  # J = +-2: both are 2 away from their mean 0
    assert heterogeneity_of_average((3.0,)) == 0.0
    assert heterogeneity_of_average((3.0, 0.0, 0.0)) == 2.0
    with pytest.raises(ValueError, match="at least one client"):
        heterogeneity_of_average(())
