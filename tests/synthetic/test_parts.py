"""What problems are made of: certificates, blocks, losses of one number, maps and patterns."""

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from fedco.synthetic import problem
from fedco.synthetic.conformance.oracle_checks import SeededDraws
from fedco.synthetic.families.auprc import AveragePrecision
from fedco.synthetic.families.bowls import FederatedMAML
from fedco.synthetic.families.composite import LocalComposite
from fedco.synthetic.families.dro import RobustLoss
from fedco.synthetic.families.fairness import FairClassifier
from fedco.synthetic.families.federated_logistic import FederatedLogistic
from fedco.synthetic.families.invariant import InvariantLogistic
from fedco.synthetic.parts import scalar
from fedco.synthetic.parts.blocks import Cosine, RadialPseudoHuber, Sine, short_sum
from fedco.synthetic.parts.inner_map import RippledMap, lipschitz_of_mean_square
from fedco.synthetic.parts.outer import CenteredOuter
from fedco.synthetic.parts.patterns import (
    equal_weights,
    one_hot,
    pair_index,
    pair_signs,
    rows_of,
    sign_grid,
    start_beyond,
    triple_signs,
    uneven_direction,
    walsh_directions,
)


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


# --- the building blocks


GRID = torch.linspace(-60.0, 60.0, 400_001, dtype=torch.float64)


def test_flat_waves_are_linear_or_zero():
    assert torch.equal(Sine(2.0, 0.0).value(GRID), 2.0 * GRID)
    assert torch.equal(Cosine(2.0, 0.0).value(GRID), 0.0 * GRID)


def test_values_keep_their_digits_near_the_minimum():
    tiny = torch.tensor([[1e-9]], dtype=torch.float64)
    assert math.isclose(RadialPseudoHuber(1.0, 1.0).value(tiny).item(), 0.5e-18, rel_tol=1e-9)


@pytest.mark.parametrize("size", range(1, 7))
def test_a_short_sum_is_the_sum(size):
    v = torch.randn(5, 3, size, generator=torch.Generator().manual_seed(size), dtype=torch.float64)
    torch.testing.assert_close(short_sum(v), v.sum(-1, keepdim=True), rtol=0, atol=1e-15)
    assert torch.equal(short_sum(v)[2:3, :1], short_sum(v[2:3, :1])), "a lane alone"


# --- losses of one number: crude bounds above derivatives, suprema that are enclosed, continuations


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


# --- inner maps and outer functions written out once more


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


# --- patterns of signs, directions and starts against their definitions, and parameters that are refused


def test_signs_and_indices():
    assert pair_signs(5).tolist() == [1, -1, 1, -1, 0] and pair_signs(4).tolist() == [1, -1, 1, -1]
    assert pair_signs(1).tolist() == [0]
    assert triple_signs(7).tolist() == [1, -0.5, -0.5, 1, -0.5, -0.5, 0] and triple_signs(2).tolist() == [0, 0]
    assert triple_signs(3).tolist() == [1, -0.5, -0.5]
    assert pair_index(5).tolist() == [0, 0, 1, 1, 2]
    first, second, weights = sign_grid(2, "cpu")
    assert first.tolist() == [[[1, 1, -1, -1]] * 2] and second.tolist() == [[[1, -1, 1, -1]] * 2]
    assert weights.tolist() == [0.25] * 4 and equal_weights(5, "cpu").tolist() == [0.2] * 5
    assert one_hot(torch.tensor([2, 0]), 3).tolist() == [[0, 0, 1], [1, 0, 0]]
    table = torch.arange(6.0).view(3, 2)
    assert torch.equal(rows_of(table, torch.tensor([[2, 0], [1, 1]])), table[torch.tensor([[2, 0], [1, 1]])])


@pytest.mark.parametrize("size", [1, 2, 3, 6, 8, 20])
def test_walsh_directions_are_parities_of_shared_bits(size):
    found = walsh_directions(torch.arange(7), size) * math.sqrt(size)
    wanted = [[(-1.0) ** (i & j).bit_count() for j in range(size)] for i in range(7)]
    assert torch.allclose(found, torch.tensor(wanted, dtype=torch.float64), rtol=1e-15)


def test_a_start_lies_beyond_0_as_seen_from_the_target():
    for target, side in ((2.0, -1), (0.0, -1), (-0.5, 1)):
        start = start_beyond(target, 3.0, 5)
        assert float(start.norm()) == pytest.approx(3.0) and bool((start.sign() == side).all())
    direction = uneven_direction(6)
    assert float(direction.norm()) == pytest.approx(1.0) and bool((direction > 0).all())
    assert len(direction.unique()) == 6


def test_where_runs_start():
    """On the wrong side: against the mean of the rows times labels, from the positive rows to the negative ones, or along -e_1."""
    fair = FairClassifier(clients=2, samples=6, dim=4, start=1.7)
    ranked = AveragePrecision(clients=2, samples=6, dim=3, positives=0.34, start=1.7)
    turned = InvariantLogistic(clients=2, points=5, dim=3, shift=0.5, start=1.7)
    rows, labels = (each.flatten(0, 1) for each in ranked.data)
    a, b = turned.data
    against = {
        fair: -fair.data.features.mean((0, 1)),
        ranked: rows[labels == 0].mean(0) - rows[labels == 1].mean(0),
        turned: -(a * b.unsqueeze(-1)).mean((0, 1)),
        RobustLoss(dim=3, start=1.7): torch.tensor([-1.0, 0.0, 0.0], dtype=torch.float64),
        FederatedLogistic(dim=3, start=1.7): torch.tensor([-1.0, 0.0, 0.0], dtype=torch.float64),
    }
    for instance, direction in against.items():
        assert torch.allclose(instance.initial_point, 1.7 * direction / direction.norm(), rtol=1e-12), instance.name


# --- bits in any batch


def test_inner_noise_is_conditional_on_the_outer_sample():
    """The inner error depends on xi, and exact conditional expectations differ between outcomes and between clients."""
    instance = problem("conditional_heterogeneous")
    x = instance.initial_point.expand(1, instance.clients, -1)
    outer, _ = instance.outer_atoms()
    means = instance.inner(x, outer)
    assert not torch.allclose(means[0, 0, 0], means[0, 0, 2]) and not torch.allclose(means[0, 0], means[0, 1])
    inner, _ = instance.inner_atoms(outer)
    errors = (instance.inner(x, outer, inner.only(0)) - means).norm(dim=-1)[0, 0]
    assert len({round(float(error), 9) for error in errors}) > 1


@pytest.mark.parametrize("runs", [1, 2, 5, 33])
@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (7, 1), (6, 3), (20, 4)])
def test_a_run_keeps_its_bits_in_any_batch(runs, shape):
    """More shapes than the suite tries: vector widths, tails and broadcasts all differ between them."""
    dim, inner_dim = shape
    generator = torch.Generator().manual_seed(runs)
    noise = dict(sigma_f=0.2, sigma_g=0.2, delta_g=0.3)
    for instance in (
        LocalComposite(clients=3, dim=dim, inner_dim=inner_dim, C_g=1.5, Delta_g=0.3, spread=1.0, **noise),
        FederatedMAML(clients=3, dim=dim, Delta=0.1),
    ):
        x = 5 * torch.randn(runs, 3, dim, generator=generator, dtype=torch.float64)
        v = torch.randn(runs, 3, instance.inner_dim, generator=generator, dtype=torch.float64)
        sample = instance.sample(SeededDraws(runs, 3), 2)
        whole = instance.inner_vjp(x, instance.outer_gradient(v, sample), sample)
        for run in range(runs):
            own = type(sample)(*(getattr(sample, name)[run : run + 1] for name in sample.__dataclass_fields__))
            alone = instance.inner_vjp(x[run : run + 1], instance.outer_gradient(v[run : run + 1], own), own)
            assert torch.equal(whole[run : run + 1], alone)
