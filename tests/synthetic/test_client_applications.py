"""DRO over clients, distribution-agnostic MAML and the AUPRC surrogate: their formulas, rebuilt independently."""

import pytest
import torch
from fedco.synthetic.applications.agnostic_maml import AgnosticMAML
from fedco.synthetic.applications.auprc import AveragePrecision, RatioContinued
from fedco.synthetic.applications.maml import FederatedMAML
from fedco.synthetic.parts import scalar


def test_agnostic_maml_without_noise_is_the_papers_problem():
    """(10) with the exact fine-tuning step, from the pieces of `FederatedMAML`."""
    parameters = dict(clients=4, dim=3, lam=0.2, Delta=0.3, G=1.0, L_1=0.4, sigma_1=0.0, sigma_2=0.0)
    instance, tasks = AgnosticMAML(gamma=1.5, top=50.0, **parameters), FederatedMAML(**parameters)
    x = torch.randn(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    spread = x.unsqueeze(1).expand(-1, 4, -1)
    losses = tasks.outer(tasks.inner(spread))
    assert float(losses.min()) > 0 or float(losses.max()) < 50
    wanted = torch.exp(losses / 1.5).mean(-1)
    inside = (losses >= 0).all(-1)
    assert int(inside.sum()) > 1
    assert torch.allclose(instance.objective(x)[inside], wanted[inside], rtol=1e-12)


def test_agnostic_maml_with_noise_expects_over_the_fine_tuning_step():
    instance = AgnosticMAML(clients=2, dim=2, sigma_1=0.4, sigma_2=0.3, kurtosis=2)
    x = torch.tensor([[1.0, -0.5]], dtype=torch.float64).expand(1, 2, -1)
    values, weights = instance.law.support()
    tuned = [x - instance.lam * instance.bowl.gradient(x, z.expand(1, 2)) for z in values]
    wanted = sum(w * instance.bowl.value(point) for w, point in zip(weights, tuned, strict=True))
    assert torch.allclose(instance.inner(x)[..., 0], wanted, atol=1e-14)
    losses = torch.stack([instance.bowl.value(point) for point in tuned])
    assert float(losses.std(0).min()) > 1e-3


def test_the_auprc_surrogate_is_the_papers():
    """Equation (6) with its squared hinge, by loops over the rows of one client after the other."""
    instance = AveragePrecision(clients=2, samples=6, dim=3, positives=0.34)
    x = torch.tensor([[0.3, -0.2, 0.4]], dtype=torch.float64)
    features, labels = instance.data
    total, count = 0.0, 0
    for rows, ys in zip(features, labels, strict=True):
        scores = instance.saturation * torch.tanh(rows @ x[0] / instance.saturation)
        for own in scores[ys > 0]:
            losses = torch.clamp(instance.margin - own + scores, min=0.0) ** 2
            total, count = total + float((losses * ys).mean() / losses.mean()), count + 1
    assert count == 4
    assert float(instance.average_precision(x)) == pytest.approx(total / count, rel=1e-12)
    assert float(instance.objective(x)) == -float(instance.average_precision(x))


def test_the_ratio_is_the_papers_on_the_range_and_smooth_beyond():
    outer = RatioContinued(0.25, 2.0)
    inside = torch.tensor([[0.0, 0.25], [1.0, 1.0], [2.0, 2.0], [0.3, 5.0]], dtype=torch.float64)
    assert torch.allclose(outer.value(inside), -inside[:, 0] / inside[:, 1], rtol=1e-15)
    grid = torch.cartesian_prod(*(2 * [torch.linspace(-6.0, 6.0, 241, dtype=torch.float64) + 1e-3])).requires_grad_()
    (expected,) = torch.autograd.grad(outer.value(grid).sum(), grid)
    gradient = outer.gradient(grid.detach())
    assert torch.allclose(gradient, expected, atol=1e-12)
    assert 0.5 * outer.lipschitz < float(torch.linalg.vector_norm(gradient, dim=-1).max()) <= outer.lipschitz
    for joint in (0.0, 2.0, -2.0, 4.0):
        sides = torch.tensor([[joint - 1e-9, 0.7], [joint + 1e-9, 0.7]], dtype=torch.float64)
        assert torch.allclose(*outer.gradient(sides), atol=1e-7)
    for joint in (0.25, 0.125):
        sides = torch.tensor([[0.7, joint - 1e-9], [0.7, joint + 1e-9]], dtype=torch.float64)
        assert torch.allclose(*outer.gradient(sides), atol=1e-5)


@pytest.mark.parametrize(
    ("ours", "theirs"), [(scalar.sigmoid, torch.sigmoid), (scalar.softplus, torch.nn.functional.softplus)]
)
def test_scalar_functions_keep_their_bits_at_every_position(ours, theirs):
    t = 10 * torch.randn(1003, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    whole = ours(t)
    assert torch.allclose(whole, theirs(t), atol=1e-15)
    for start in range(0, 1003, 97):
        for size in (1, 2, 3, 5, 8):
            assert torch.equal(ours(t[start : start + size].clone()), whole[start : start + size])
