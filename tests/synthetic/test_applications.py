"""DRO, invariant logistic regression and users' own problems."""

import math

import pytest
import torch
from fedco.synthetic.applications.user import LocalFromFunctions, SharedFromFunctions
from fedco.synthetic.conformance.suite import Budget, ConformanceError, check_problem
from fedco.synthetic.families.auprc import AveragePrecision, RatioContinued
from fedco.synthetic.families.bowls import AgnosticMAML, FederatedMAML
from fedco.synthetic.families.dro import ClientChi2, ClientKL, RobustLoss
from fedco.synthetic.families.invariant import InvariantLogistic
from fedco.synthetic.parts import scalar

GLANCE = Budget(lanes=3, steps=3, farthest=10.0)


def losses_of(instance, x):
    """Of every sample, or for each client the mean of its own."""
    losses = instance.M * torch.sigmoid(-(instance.data.features * x).sum(-1))
    return losses.flatten() if isinstance(instance, RobustLoss) else losses.mean(-1)


def divergence(penalty, p):
    m = p.shape[-1]
    if penalty == "kl":
        return (p * torch.log((p * m).clamp_min(1e-300))).sum(-1)
    return 0.5 * m * ((p - 1 / m) ** 2).sum(-1)


DATA = dict(clients=4, samples=5, dim=3, shift=0.8)


@pytest.mark.parametrize(
    ("instance", "penalty", "weight"),
    [
        (RobustLoss(**DATA, penalty="kl", weight=1.2), "kl", 1.2),
        (RobustLoss(**DATA, penalty="chi2", weight=1.2), "chi2", 1.2),
        (ClientKL(**DATA, gamma=1.1), "kl", 1.1),
        (ClientChi2(**DATA, gamma=1.1), "chi2", 1.1),
    ],
    ids=["KL over samples", "chi-square over samples", "KL over clients", "chi-square over clients"],
)
def test_the_objective_is_the_penalised_worst_case(instance, penalty, weight):
    """At the stated maximiser the payoff is the objective, and no other weights (2000 random ones) pay more."""
    generator = torch.Generator().manual_seed(3)
    for _ in range(3):
        x = 3 * torch.randn(1, 3, generator=generator, dtype=torch.float64)
        losses = losses_of(instance, x)
        m = len(losses)
        best = torch.softmax(losses / weight, 0) if penalty == "kl" else (1 + (losses - losses.mean()) / weight) / m
        assert float(best.min()) >= 0 and float(best.sum()) == pytest.approx(1)
        payoff = float((best * losses).sum() - weight * divergence(penalty, best))
        value = float(instance.objective(x))
        assert payoff == pytest.approx(weight * math.log(value) if isinstance(instance, ClientKL) else value, rel=1e-12)
        others = torch.distributions.Dirichlet(torch.full((m,), 0.7, dtype=torch.float64)).sample((2000,))
        assert float(((others * losses).sum(-1) - weight * divergence(penalty, others)).max()) <= payoff + 1e-12


def test_invariant_noise_has_the_papers_covariance_and_a_large_saturation_gives_its_loss():
    instance = InvariantLogistic(sigma_2=0.4, saturation=1e6, reg=0.0)
    steps = instance.steps
    assert torch.allclose(steps.T @ steps / len(steps), 0.16 * torch.eye(instance.dim, dtype=torch.float64))
    x = torch.randn(3, instance.dim, dtype=torch.float64)
    a, b = instance.data
    margins = b * (a * x[:, None, None]).sum(-1)
    assert torch.allclose(instance.objective(x), torch.nn.functional.softplus(-margins).flatten(1).mean(-1), atol=1e-9)


def wrapped(instance):
    """chi-square DRO once more, from plain functions and data."""

    def loss(x, row):
        return torch.sigmoid(-(row * x).sum())

    return SharedFromFunctions(
        lambda x, row: loss(x, row).unsqueeze(0),
        lambda y, _: -(y * y).sum() / 2,
        instance.data.features,
        lambda x, row: loss(x, row) + loss(x, row) ** 2 / 2,
        start=instance.initial_point,
        factor=1.5,
        budget=GLANCE,
    )


@pytest.fixture(scope="module")
def original():
    return RobustLoss(penalty="chi2", clients=3, samples=5, dim=3, shift=0.5)


def test_a_wrapped_function_is_the_analytic_problem(original):
    x = torch.randn(4, 3, dtype=torch.float64)
    user = wrapped(original)
    assert torch.allclose(user.objective(x), original.objective(x), atol=1e-14)
    assert torch.allclose(user.gradient(x), original.gradient(x), atol=1e-14)


def test_a_users_problem_conforms_and_all_its_constants_are_estimates(original):
    user = wrapped(original)
    check_problem(user, GLANCE, skip=("bits", "objective bits"))
    assert {certificate.kind for certificate in user.certificates.values()} == {"estimated"}
    for quantity, certificate in user.certificates.items():
        certified = original.certificates[quantity]
        inside_its_range = quantity != "outer_lipschitz"  # -y^2/2 is not Lipschitz outside the range of g
        assert not inside_its_range or float(certificate.value) <= 1.5 * float(certified.value) * (1 + 1e-9), quantity


def test_a_wrong_gradient_of_a_user_is_caught(original):
    user = wrapped(original)
    user.__dict__["gradient"] = lambda x: 1.01 * SharedFromFunctions.gradient(user, x)
    with pytest.raises(ConformanceError, match="gradient differs from autograd"):
        check_problem(user, GLANCE, skip=("bits", "objective bits"))


def test_users_are_told_what_is_wrong():
    def inner(x, row):
        return x * row

    data = torch.ones(2, 3, 4, dtype=torch.float64)
    start = torch.zeros(4, dtype=torch.float64)
    for keywords, complaint in (
        (dict(data=data.float(), start=start), "data must be"),
        (dict(data=data[0, 0], start=start), "data must be"),
        (dict(data=data, start=start[None]), "start must be"),
        (dict(data=data, start=start, outer_data=data[:1]), "one row per client"),
    ):
        with pytest.raises(ValueError, match=complaint):
            LocalFromFunctions(inner, lambda y, row: y.sum(), **keywords)
    big = torch.ones(2, 100, 4, dtype=torch.float64)
    with pytest.raises(ValueError, match="at most 4096"):
        LocalFromFunctions(inner, lambda y, row: y.sum(), big, big, start).atoms()
    with pytest.raises(ValueError, match="safety factor must be at least 1"):
        _ = LocalFromFunctions(inner, lambda y, row: y.sum(), data, None, start, factor=0.5).certificates


# --- DRO over clients, distribution-agnostic MAML and the AUPRC surrogate: their formulas, rebuilt independently


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
