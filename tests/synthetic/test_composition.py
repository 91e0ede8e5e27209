"""Composition rules against direct certificates of the whole: never below, and equal where the rule is exact."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
import torch
from fedco.synthetic.catalogue import problem
from fedco.synthetic.certificate import WORDS, Formula, hypotenuse, largest, root, upper
from fedco.synthetic.families.composite import LocalComposite
from fedco.synthetic.families.federated_logistic import FederatedLogistic, dual_bound, minimiser_of
from fedco.synthetic.parts import scalar
from fedco.synthetic.parts.blocks import RadialPseudoHuber
from fedco.synthetic.parts.bowl import RippledBowl, infimum_of_losses
from fedco.synthetic.parts.composition import (
    chain_rule,
    composite_smoothness,
    convex_minimum,
    fine_tuned_smoothness,
    heterogeneity_of_average,
    shaken_mean_square,
)
from flint import arb, ctx


def evaluated(text, known):
    """A formula in names of other constants and of parameters; None where it has other words."""
    names = set(re.findall(r"[A-Za-z_]\w*", text)) - {"sqrt", "max"}
    if not names or not names <= known.keys() or "|" in text:
        return None
    code = re.sub(r"(?<=[\w)]) (?=[\w(])", "*", text).replace("^", "**")
    return eval(code, {"sqrt": math.sqrt, "max": max, "__builtins__": {}}, known)


def test_formulas_that_certificates_show_are_what_their_values_are():
    """A reader who puts in the other constants and the parameters gets the value."""
    seen = set()
    for name in ("feddro_noisy", "local_noisy", "conditional_noisy", "meta_noisy", "federated_noisy", "maml_noisy", "agnostic_maml",
                 "kl_dro", "chi2_dro_clients", "average_precision", "minimax_noisy", "bilevel_heterogeneous"):  # fmt: skip
        made = problem(name)
        numbers = {key: value for key, value in vars(made).items() if isinstance(value, (int, float))}
        known = numbers | {quantity: float(one.value) for quantity, one in made.certificates.items()}
        for quantity, one in made.certificates.items():
            found = evaluated(one.argument.split(". ")[0].rstrip("."), known)
            if found is not None:
                assert found == pytest.approx(known[quantity], rel=1e-14), (name, quantity)
                seen.add(quantity)
    assert len(seen) >= 23


def test_arithmetic_with_formulas_is_that_of_their_numbers():
    a, b, c = Formula(3.0, "a"), Formula(0.7, "b"), Formula(-0.2, "c d", WORDS)
    known = {"a": 3.0, "b": 0.7, "c": -0.2, "d": 1.0}
    made = [
        a + b * c,
        (a + b) * c,
        a * (b + c) / (a - b),
        (a / b) ** 2 - (b - c),
        2 * a / (b / c),
        1 + 0 * a + b**0,
        a**1 * 1,
    ]
    made += [root(a + b) * a**2, hypotenuse(a, b) * 0.1, largest(a, b, a * b) + (a + b) ** 3]
    for one in made:
        assert evaluated(one.text, known) == pytest.approx(one.value, rel=1e-14), one.text
    assert [one.text for one in made[:4]] == [
        "a + b c d",
        "(a + b) c d",
        "a (b + c d) / (a - b)",
        "(a / b)^2 - (b - c d)",
    ]
    assert hypotenuse(3.0, 4.0) == 5.0 and upper("inner_noise", a + b).argument == "a + b."


def test_with_an_affine_inner_map_the_rule_is_exact():
    """F(x) = f(c x): the curvature at the centre of f is c^2 L_f, seen by a second difference."""
    instance = LocalComposite(clients=1, dim=1, C_g=1.5, L_g=0.0, ripple=0.0, L_f=0.4, target=1.0)
    rule, step = composite_smoothness(instance.certificates).value, 1e-3
    centre = torch.tensor([[1.0 / 1.5]], dtype=torch.float64)
    direct = float(((instance.gradient(centre + step) - instance.gradient(centre - step)) / (2 * step)).abs())
    assert rule == pytest.approx(1.5**2 * 0.4, rel=1e-12) == pytest.approx(direct, rel=1e-5)


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


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
@pytest.mark.parametrize("rate", [0.05, 0.7])
def test_smoothness_after_fine_tuning_is_above_that_of_a_cosine(rate, steps):
    """f(t) = 3 (1 - cos(t / 2)): its derivatives are at most 3/2, 3/4 and 3/8, each attained. F'' by autograd on a line of two periods."""
    at = torch.linspace(-13.0, 13.0, 20_001, dtype=torch.float64, requires_grad=True)
    w = at
    for _ in range(steps):
        w = w - rate * 1.5 * torch.sin(w / 2)
    (slope,) = torch.autograd.grad((3 * (1 - torch.cos(w / 2))).sum(), at, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), at)
    rule, direct = fine_tuned_smoothness(1.5, 0.75, 0.375, rate, steps), float(curvature.abs().max())
    assert max(0.65, (steps == 0) - 1e-6) * rule < direct <= rule * (1 + 1e-9)
    assert steps != 1 or rule == pytest.approx(chain_rule(1 + 0.75 * rate, 0.75, 1.5, 0.375 * rate), rel=1e-14)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_a_shaken_spectral_norm_has_its_cross_term(k):
    """s I + z d diag(1, -1) has the norm s + d |z| for both signs of z, and z = +-sqrt(k) with probability 1/(2k) each, else 0."""
    steady, shake, most = 1.7, 0.4, math.sqrt(k)
    norms = [np.linalg.norm(steady * np.eye(2) + z * shake * np.diag([1.0, -1.0]), 2) for z in (most, -most, 0.0)]
    direct = (norms[0] ** 2 + norms[1] ** 2) / (2 * k) + (1 - 1 / k) * norms[2] ** 2
    assert shaken_mean_square(steady, shake, most) == pytest.approx(direct, rel=1e-12)


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


# --- lower bounds of objectives are below, by their margins and no more


def test_a_bound_of_the_losses_is_below_in_exact_arithmetic():
    """The formula in rationals where the roots are rational; the margin of 1e-12 is on the side of less."""
    made = RippledBowl(clients=3, dim=1, lipschitz=1.0, smoothness=1.0, heterogeneity=0.48, tilt=True)
    A, w, delta = (Fraction(v) for v in (made.radial.lipschitz, made.radial.width, made.heterogeneity))
    square = (A - delta) * (A + delta)
    root = Fraction(math.isqrt(int(square * 10**40)), 10**20)  # from below, within 1e-20
    exact = w * (root - A) * Fraction(2, 3)
    found = Fraction(infimum_of_losses(made))
    assert exact * (1 + Fraction(2, 10**12)) < found < exact * (1 + Fraction(1, 10**13))
    steep = RippledBowl(clients=2, dim=1, lipschitz=0.5, smoothness=1.0, heterogeneity=0.7, tilt=True)
    flat = -Fraction(0.7) / Fraction(steep.client_wavenumber)
    assert flat * (1 + Fraction(2, 10**12)) < Fraction(infimum_of_losses(steep)) < flat * (1 + Fraction(1, 10**13))
    assert infimum_of_losses(RippledBowl(clients=2, dim=1, lipschitz=1.0, smoothness=1.0)) == 0.0


def test_a_convex_minimum_is_bounded_from_below_in_exact_arithmetic():
    """min of (r - 1/3)^2 + 1/7 is 1/7 at a point that no double is; at an end of the interval the bound is the value less its margin."""

    def square(r):
        return (r - 1 / 3) ** 2 + 1 / 7, 2 * (r - 1 / 3)

    found = convex_minimum(square, 0.0, 2.0)
    assert Fraction(found) < Fraction(1, 7) and found == pytest.approx(1 / 7, abs=3e-12)
    for low, high in ((1.0, 2.0), (-3.0, -1.0)):
        end = min(square(low)[0], square(high)[0])
        assert end - 2e-12 * (1 + end) < convex_minimum(square, low, high) < end
    assert convex_minimum(square, 1.0, 1.0) == pytest.approx(4 / 9 + 1 / 7, abs=3e-12)
    with pytest.raises(ValueError, match="low must not exceed high"):
        convex_minimum(square, 1.0, 0.0)
    for size in (1e9, -1e9):  # the margin grows with the value, of which rounding errors are a share
        found = convex_minimum(lambda r, size=size: (r * r + size, 2 * r), -1.0, 1.0)
        assert size - 2e-3 < found < size - 0.5e-3


def test_the_gap_of_logistic_losses_by_newton_in_numpy():
    """With a ridge F >= F(x) - |grad F(x)|^2 / (2 ridge); without, the mean entropy of p with sum p_i m_i = 0."""
    p = FederatedLogistic(clients=3, samples=7, dim=4, shift=0.7, seed=2, start=2.5, ridge=0.3)
    rows = p.data.features.flatten(0, 1).numpy()

    def value(x, ridge):
        return np.log1p(np.exp(-rows @ x)).mean() + ridge / 2 * x @ x

    def newton(ridge):
        x = np.zeros(4)
        for _ in range(50):
            s = 1 / (1 + np.exp(rows @ x))
            gradient = ridge * x - (s[:, None] * rows).mean(0)
            hessian = (rows * (s * (1 - s))[:, None]).T @ rows / len(rows) + ridge * np.eye(4)
            x = x - np.linalg.solve(hessian, gradient)
        return x

    start = value(p.initial_point.numpy(), 0.3)
    assert float(p.certificates["objective_gap"].value) == pytest.approx(start - value(newton(0.3), 0.3), rel=1e-9)
    np.testing.assert_allclose(minimiser_of(p.data.features.flatten(0, 1), 0.3).numpy(), newton(0.3), rtol=1e-8)
    away = torch.tensor([0.3, -0.2, 0.1, 0.4], dtype=torch.float64)
    plain = FederatedLogistic(clients=3, samples=7, dim=4, shift=0.7, seed=2, noise=1.5)
    features = plain.data.features.flatten(0, 1)
    best = minimiser_of(features, 0.0)
    least = float(torch.log1p(torch.exp(-(features @ best))).mean())
    assert dual_bound(features, best) == pytest.approx(least, rel=1e-10) and dual_bound(features, best) < least
    assert dual_bound(features, best + 0.1 * away) < least * (1 - 1e-6)
    assert dual_bound(features, 100 * away) == 0.0  # no weights in [0, 1]


def test_weights_of_just_0_or_1_give_no_bound():
    """Margins so large that a sigmoid is exactly 0 or 1, while the weights are as they should be: 0 log 0 is not computed."""
    zero = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    at = torch.tensor([0.0, 2000.0], dtype=torch.float64)
    assert scalar.sigmoid(-(zero @ at)).tolist() == [0.5, 0.5, 0.0] and dual_bound(zero, at) == 0.0
    low, high = 0.0, 1.2  # 256 rows u with u sigmoid(-u) = 40/256, to the last bit, outweigh one of -40
    for _ in range(100):
        u = (low + high) / 2
        low, high = (
            (u, high) if u * float(scalar.sigmoid(torch.tensor(-u, dtype=torch.float64))) < 40 / 256 else (low, u)
        )
    one = torch.tensor([[-40.0], *[[high]] * 256], dtype=torch.float64)
    at = torch.ones(1, dtype=torch.float64)
    p = scalar.sigmoid(-(one @ at))
    assert p[0] == 1.0 and float((one[:, 0] * p).sum()) == 0.0 == dual_bound(one, at)
    assert dual_bound(one[1:], at) == 0.0 and dual_bound(torch.cat([one[1:], -one[1:]]), 0 * at) == pytest.approx(
        math.log(2)
    )


def test_a_gap_without_a_minimiser_uses_strong_convexity(monkeypatch):
    """At a point that is no minimiser the bound is lower by the squared gradient over 2 ridge."""
    from fedco.synthetic.families import federated_logistic

    p = FederatedLogistic(clients=2, samples=5, dim=3, ridge=0.3)
    off = torch.tensor([2.5, -1.1, 0.2], dtype=torch.float64)
    monkeypatch.setattr(federated_logistic, "minimiser_of", lambda rows, ridge: off)
    start, least = (float(p.objective(x[None])) for x in (p.initial_point, off))
    square = float(p.gradient(off[None]).square().sum())
    gap = p.certificates["objective_gap"]
    assert float(gap.value) == pytest.approx(start - least + square / 0.6, rel=1e-9)
    assert gap.witness == pytest.approx((start - least) / float(gap.value)) and gap.kind == "upper"
