"""Inner maps and outer functions written out once more."""

import math

import pytest
import torch
from fedco.synthetic.parts.inner_map import RippledMap, lipschitz_of_mean_square
from fedco.synthetic.parts.outer import CenteredOuter


@pytest.mark.parametrize("inner_dim", [1, 2, 3])
@pytest.mark.parametrize("noise", [0.0, 0.3, 1.4])
def test_the_second_moment_of_a_noisy_jacobian(inner_dim, noise):
    """E over z = +-1 of the largest row squared: the noisy row is P +- sigma, the quiet ones are P - Delta."""
    P, delta = 1.1, 0.2
    made = RippledMap(2, 2 * inner_dim, inner_dim, P, 0.3, noise, delta)
    rows = [[abs(P + z * noise), *([P - delta] * (inner_dim - 1))] for z in (1, -1)]
    wanted = math.sqrt(sum(max(each) ** 2 for each in rows) / 2)
    assert made.jacobian_mean_square == pytest.approx(wanted)
    assert lipschitz_of_mean_square(wanted, noise, delta, inner_dim) == pytest.approx(P, rel=1e-9)
    assert (
        made.value_noise == noise
        and RippledMap(2, 2, 1, P, 0.3, noise, delta, noise_wavenumber=4.0).value_noise == noise / 4
    )


def double_of(point):
    return torch.tensor([point], dtype=torch.float64)


def test_an_inner_map_written_out():
    """c (x + ripple sin(q x)/q) summed over a group, plus Delta s sin(w u.x)/w + sigma z sin(p u.x)/p in one component."""
    made = RippledMap(3, 4, 2, 1.5, 0.6, 0.4, 0.3, 0.8, 1.7)
    slope = 1.2 / (1.8 * math.sqrt(2))
    q = 0.6 / (0.8 * slope + 0.3 / math.sqrt(2))
    assert made.wavenumber == pytest.approx(q)
    x, z = (
        torch.tensor([0.7, -1.1, 2.3, 0.4], dtype=torch.float64),
        torch.tensor([[0.5, -1.0, 1.0]], dtype=torch.float64),
    )
    found = made.value(x.expand(1, 3, -1), z)[0]
    for k, (component, sign) in enumerate([(0, 1.0), (0, -1.0), (1, 0.0)]):
        group = [x[:2], x[2:]]
        u = torch.tensor([1.0, 1.0 if k < 2 else -1.0], dtype=torch.float64) / math.sqrt(2)
        for j in range(2):
            wanted = float(sum(slope * (t + 0.8 * math.sin(q * t) / q) for t in group[j].tolist()))
            if j == component:
                along, w = float(u @ group[j]), q / math.sqrt(2)
                wanted += 0.3 * sign * math.sin(w * along) / w + 0.4 * float(z[0, k]) * math.sin(1.7 * along) / 1.7
            assert float(found[k, j]) == pytest.approx(wanted, rel=1e-12)
    mean = made.value(x.expand(1, 2, -1).expand(1, 2, -1)[:, :2].repeat(1, 2, 1)[:, :3])[0].mean(0)
    assert torch.allclose(made.mean_value(x[None])[0], mean, atol=1e-12)
    for target in (3.0, -0.4, 0.0):
        back = torch.tensor(made.preimage(target), dtype=torch.float64)
        assert torch.allclose(made.mean_value(back[None]), torch.full((1, 2), target, dtype=torch.float64), atol=1e-9)
    for smoothness in (0.01, 0.2):  # long waves
        wide = RippledMap(1, 4, 2, 1.5, smoothness, ripple=1.0)
        for target in (3.0, -0.4, 13.0, -13.0):
            back = double_of(wide.preimage(target))
            assert wide.wavenumber < 1 and torch.allclose(
                wide.mean_value(back), torch.full_like(back[:, :2], target), atol=1e-9
            )
    for lipschitz in (0.3, 1.5):
        straight = RippledMap(1, 2, 1, lipschitz, 0.0, ripple=0.0)
        back = double_of(straight.preimage(2.0))
        assert straight.wavenumber == 0 and torch.allclose(straight.mean_value(back), torch.full_like(back[:, :1], 2.0))


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (dict(clients=0), "must be positive"),
        (dict(dim=0), "must be positive"),
        (dict(inner_dim=3), "must divide dim"),
        (dict(noise_wavenumber=0.0), "noise wavenumber"),
        (dict(noise_wavenumber=1000.1), "noise wavenumber"),
        (dict(heterogeneity=1.5), "must exceed the heterogeneity"),
        (dict(lipschitz=math.inf), "must exceed the heterogeneity"),
        (dict(clients=1), "at least 2 clients"),
        (dict(heterogeneity=0.0, ripple=0.0), "affine"),
        (dict(smoothness=1e6), "too large for ripple"),
        (dict(noise=-0.1), "noise must be"),
    ],
)
def test_an_inner_map_refuses(changes, complaint):
    usual = dict(clients=2, dim=4, inner_dim=2, lipschitz=1.5, smoothness=0.6, noise=0.4, heterogeneity=0.3, ripple=0.8)
    RippledMap(**usual)
    RippledMap(**usual, noise_wavenumber=1000.0)
    RippledMap(**{**usual, "ripple": 0.0})
    RippledMap(**{**usual, "heterogeneity": 0.0, "clients": 1})
    with pytest.raises(ValueError, match=f"inner map: .*{complaint}|{complaint}"):
        RippledMap(**{**usual, **changes})


def test_an_outer_function_written_out():
    made = CenteredOuter(3, 2, 1.3, 0.4, noise=0.6, target=0.7, spread=0.5)
    y, s = torch.tensor([0.4, -1.9], dtype=torch.float64), torch.tensor([[1.0, -0.5, 0.25]], dtype=torch.float64)
    values, slopes = made.value(y.expand(1, 3, -1))[0], made.gradient(y.expand(1, 3, -1), s)[0]
    w = 1.3 / 0.4
    for k, center in enumerate((1.2, 0.2, 0.7)):
        r = y - center
        root = math.sqrt(1 + float(r @ r) / w**2)
        assert float(values[k]) == pytest.approx(1.3 * w * (root - 1), rel=1e-12)
        noise = 0.6 * float(s[0, k]) * math.cos(float(y.sum()) / math.sqrt(2)) / math.sqrt(2)
        assert torch.allclose(slopes[k], 0.4 * r / root + noise, rtol=1e-12)
