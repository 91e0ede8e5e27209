"""Lower bounds of objectives are below, by their margins and no more."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from fedco.synthetic.applications.federated_logistic import FederatedLogistic, dual_bound, minimiser_of
from fedco.synthetic.parts import scalar
from fedco.synthetic.parts.bowl import RippledBowl
from fedco.synthetic.parts.composition import convex_minimum
from fedco.synthetic.parts.loss import infimum_of_losses


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
    from fedco.synthetic.applications import federated_logistic

    p = FederatedLogistic(clients=2, samples=5, dim=3, ridge=0.3)
    off = torch.tensor([2.5, -1.1, 0.2], dtype=torch.float64)
    monkeypatch.setattr(federated_logistic, "minimiser_of", lambda rows, ridge: off)
    start, least = (float(p.objective(x[None])) for x in (p.initial_point, off))
    square = float(p.gradient(off[None]).square().sum())
    gap = p.certificates["objective_gap"]
    assert float(gap.value) == pytest.approx(start - least + square / 0.6, rel=1e-9)
    assert gap.witness == pytest.approx((start - least) / float(gap.value)) and gap.kind == "upper"
