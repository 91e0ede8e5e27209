"""DRO over clients, distribution-agnostic MAML and the AUPRC surrogate: their formulas, rebuilt independently."""

import math

import pytest
import torch
from fedco.algorithms import ComFedL, drive
from fedco.algorithms.engine import metrics
from fedco.bounds.registry import get_theorem
from fedco.synthetic import problem
from fedco.synthetic.applications.agnostic_maml import AgnosticMAML
from fedco.synthetic.applications.auprc import AveragePrecision, RatioContinued
from fedco.synthetic.applications.maml import FederatedMAML
from fedco.synthetic.parts import scalar
from fedco.validation.runs.fit import fits


@pytest.mark.parametrize(
    ("over_clients", "over_samples"), [("kl_dro_clients", "kl_dro"), ("chi2_dro_clients", "chi2_dro")]
)
def test_weighing_clients_is_not_weighing_samples(over_clients, over_samples):
    """On the same data the worst case over samples is larger: any client weights are sample weights."""
    clients = problem(over_clients, samples=5)
    samples = problem(over_samples, samples=5)
    x = clients.initial_point.unsqueeze(0)
    value = float(clients.objective(x))
    value = clients.gamma * math.log(value) if over_clients.startswith("kl") else value
    assert value < float(samples.objective(x)) - 1e-6


@pytest.mark.parametrize("name", ["kl_dro_clients", "agnostic_maml"])
def test_comfedl_runs_its_special_form(name):
    instance = problem(name)
    assert fits(get_theorem("comfedl.theorem_2"), instance)
    method = ComFedL(eta=0.3, tau=2, b=2, m=3, problem_form="special")
    result = drive(
        method,
        instance,
        steps=150,
        seeds=3,
        record={"F": lambda p, state, t: p.objective(state.average), "gradient": metrics.gradient_norm_squared},
        every=150,
    )
    first, last = result.values["F"][0], result.values["F"][-1]
    assert bool((last < first - 0.2 * float(instance.certificates["objective_gap"].value)).all())
    assert bool((result.values["gradient"] <= float(instance.certificates["gradient_cap"].value) ** 2).all())


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


def test_a_better_ranking_has_a_smaller_objective():
    """Towards the positive rows and away from them, by the same length."""
    instance = problem("average_precision")
    wrong = instance.initial_point.unsqueeze(0)
    assert 0 < float(instance.average_precision(wrong)) < float(instance.average_precision(-wrong)) < 1


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


def test_the_saturated_logistic_loss_is_the_logistic_loss_of_small_margins():
    loss = scalar.SaturatedLogistic(2.0)
    t = torch.linspace(-1.5, 1.5, 101, dtype=torch.float64)
    plain = torch.nn.functional.softplus(-t)
    assert bool(((loss.value(t) - plain).abs() <= t.abs() ** 3 / (3 * loss.saturation**2) + 1e-15).all())
    far = torch.tensor([-1e3, 1e3], dtype=torch.float64)
    assert loss.value(far).tolist() == pytest.approx([loss.M, loss.smallest], rel=1e-14)
    assert loss.M == 2.0


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
