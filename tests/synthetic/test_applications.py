"""DRO, invariant logistic regression and users' own problems."""

import math

import numpy as np
import pytest
import torch
from fedco.synthetic.applications.user import LocalFromFunctions, SharedFromFunctions, all_pairs, checked_data
from fedco.synthetic.conformance.kinds import KINDS
from fedco.synthetic.conformance.suite import Budget, ConformanceError, check_problem
from fedco.synthetic.estimation.functions import estimated_certificates
from fedco.synthetic.families.auprc import AveragePrecision, RatioContinued
from fedco.synthetic.families.bowls import AgnosticMAML, FederatedMAML
from fedco.synthetic.families.dro import ClientChi2, ClientKL, RobustLoss
from fedco.synthetic.families.fairness import FairClassifier
from fedco.synthetic.families.federated import (
    FederatedHuber,
)
from fedco.synthetic.families.federated_logistic import FederatedLogistic
from fedco.synthetic.families.invariant import InvariantLogistic
from fedco.synthetic.kinds.predictions import of_margins, only_training_data
from fedco.synthetic.parts import scalar
from fedco.synthetic.parts.data import TABLES, deal, generated, margins_of, read_table
from fedco.synthetic.parts.noise import Kurtosis

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


@pytest.mark.parametrize(
    ("made", "f", "slope"),
    [
        (RobustLoss(clients=2, samples=4, M=1.4, weight=0.7), lambda y: 0.7 * math.log(y), lambda y: 0.7 / y),
        (RobustLoss(clients=2, samples=4, penalty="chi2", M=1.4, weight=2.3), lambda y: -y * y / 4.6, lambda y: -y / 2.3),
        (ClientChi2(clients=2, samples=4, M=1.4, gamma=2.3), lambda y: -y * y / 4.6, lambda y: -y / 2.3),
        (AgnosticMAML(clients=2, gamma=0.7, top=1.4), lambda y: math.exp(y / 0.7), lambda y: math.exp(y / 0.7) / 0.7),
        (ClientKL(clients=2, samples=4, M=1.4, gamma=0.7), lambda y: math.exp(y / 0.7), lambda y: math.exp(y / 0.7) / 0.7),
    ],
)  # fmt: skip
def test_outer_functions_are_continued_linearly(made, f, slope):
    low, high = (0.0, 1.4) if made.kind == "local_composite" else made.inner_function.range
    line = np.linspace(low - 2.0, high + 2.0, 41)
    for y in line:
        inside = min(max(y, low), high)
        at = double([[y], [y]]).view(1, 2, 1)
        assert made.outer(at).tolist() == [pytest.approx([f(inside) + slope(inside) * (y - inside)] * 2, abs=1e-12)]
        assert made.outer_gradient(at).flatten().tolist() == pytest.approx([slope(inside)] * 2)


# --- data: how they are generated and dealt out, scores, pairs and laws of noise


def test_generated_data_step_by_step():
    """Two classes about +-e_1, a shift of each client's own, and a share of positive labels from 1/2 to 1/2 + shift/4."""
    clients, samples, dim, shift, noise = 3, 8, 2, 0.9, 0.4
    generator = torch.Generator().manual_seed(6)
    own = torch.randn(clients, 1, dim, generator=generator, dtype=torch.float64)
    errors = torch.randn(clients, samples, dim, generator=generator, dtype=torch.float64)
    rows = np.zeros((clients, samples, dim))
    labels = np.zeros((clients, samples))
    for k in range(clients):
        share = 1 / 2 + shift / 4 * k / (clients - 1)
        for i in range(samples):
            labels[k, i] = 1 if (i + 1 / 2) / samples < share else -1
            feature = labels[k, i] * np.eye(dim)[0] + shift / math.sqrt(dim) * own[k, 0].numpy()
            rows[k, i] = labels[k, i] * (feature + noise * errors[k, i].numpy())
    rows /= np.sqrt((rows**2).sum(-1)).max()
    found, signs = generated(clients, samples, dim, shift, noise, seed=6)
    assert np.array_equal(signs.numpy(), labels) and (labels > 0).sum(1).tolist() == [4, 5, 6]
    np.testing.assert_allclose(found.numpy(), rows, rtol=1e-13)
    same, _ = margins_of("", clients, samples, dim, 0.1, shift, noise, 6)
    assert torch.equal(same, found)


def test_rows_of_a_table_are_dealt_in_order_where_clients_are_sorted():
    """With shift 1 each class is cut into clients by its first column; the features are columns, a constant 1, one length."""
    clients, samples, dim = 3, 7, 4
    features, labels, held_out = deal("wine", clients, samples, dim, 0.43, 1.0, seed=2)
    columns, signs = read_table("wine")
    assert (labels > 0).sum(1).tolist() == [3] * 3 and labels.tolist() == [[1, 1, 1, -1, -1, -1, -1]] * 3
    scale = float(features[0, 0, -1])
    assert float(features.norm(dim=-1).max()) == pytest.approx(1.0) and bool((features[..., -1] == scale).all())
    for k in range(clients):
        for i in range(samples):
            same = (columns[:, : dim - 1] - features[k, i, :-1] / scale).abs().amax(1) < 1e-9
            assert int(same.sum()) == 1 and signs[same].tolist() == [float(labels[k, i])]
            assert columns[same, -1].tolist() == [float(held_out[k, i])]
    for of_class in (features[:, :3, 0], features[:, 3:, 0]):
        assert bool((of_class.flatten().diff() >= 0).all())
    rare, _, _ = deal("wine", 2, 4, 3, 0.01, 0.0, seed=0)
    assert rare.shape == (2, 4, 3)  # never without a positive row


def test_predictions_of_margins():
    margins, labels = torch.tensor([[[2.0, -3.0, 0.5]]]), torch.tensor([[1.0, 1.0, -1.0]])
    found = of_margins(margins, labels)
    assert found.scores.tolist() == [[[[2.0], [-3.0], [-0.5]]]] and found.labels.tolist() == [[1, 1, 0]]
    only_training_data("p", "train")
    with pytest.raises(ValueError, match="p"):
        only_training_data("p", "test")


@pytest.mark.parametrize(
    "instance",
    [
        RobustLoss(table="wine", clients=2, samples=5, dim=4),
        FairClassifier(clients=2, samples=6, dim=4),
        FederatedLogistic(clients=2, samples=5, dim=4),
        ClientKL(clients=2, samples=5, dim=4),
    ],
)
def test_scores_of_linear_models_are_a_x(instance):
    """Features are kept times their labels: the score is that of the row itself, at each of two models."""
    x = torch.tensor([[0.3, -1.0, 0.2, 0.5], [-1.0, 0.4, 0.0, 2.0]], dtype=torch.float64)
    found = instance.predict(x)
    rows = instance.data.features * instance.data.labels.unsqueeze(-1)
    assert torch.allclose(found.scores[..., 0], torch.einsum("ksd,rd->rks", rows, x)) and found.weights is None
    assert (
        torch.equal(found.labels, (instance.data.labels > 0).long())
        and 0 < int(found.labels.sum()) < found.labels.numel()
    )
    with pytest.raises(ValueError, match=instance.name):
        instance.predict(x, "test")


def test_scores_of_the_conditional_problems():
    x = torch.tensor([[0.3, -1.0, 0.2], [-1.0, 0.4, 2.0]], dtype=torch.float64)
    p = AveragePrecision(clients=2, samples=6, dim=3, positives=0.34, saturation=0.3, margin=1.1)
    rows, labels = p.data
    found = p.predict(x)
    assert torch.allclose(found.scores[..., 0], 0.3 * torch.tanh(torch.einsum("ksd,rd->rks", rows, x) / 0.3))
    assert found.labels.tolist() == labels.tolist() == [[1, 1, 0, 0, 0, 0]] * 2
    q = InvariantLogistic(clients=2, points=5, dim=3, shift=0.5)
    found, (a, b) = q.predict(x), q.data
    assert torch.allclose(found.scores[..., 0], torch.einsum("ksd,rd->rks", a, x))
    assert torch.equal(found.labels, (b > 0).long()) and p.inner_dim == q.inner_dim == 2
    for each in (p, q):
        with pytest.raises(ValueError, match=each.name):
            each.predict(x, "test")


def test_pairs_of_data():
    pairs, weights = all_pairs(2, 3, 2, torch.device("cpu"))
    assert pairs.index.tolist() == [[[0, 0, 0, 1, 1, 1]] * 2] and pairs.second.tolist() == [[[0, 1, 2, 0, 1, 2]] * 2]
    assert weights.tolist() == [1 / 6] * 6
    assert all_pairs(64, 64, 1, torch.device("cpu"))[1].shape == (4096,)
    with pytest.raises(ValueError, match="all 4097 x 1 pairs of data, at most 4096"):
        all_pairs(4097, 1, 1, torch.device("cpu"))
    for wrong in (torch.zeros(3, dtype=torch.float64), torch.zeros(2, 3), torch.zeros(2, 0, dtype=torch.float64)):
        with pytest.raises(ValueError, match="rows must be a non-empty float64 tensor"):
            checked_data("rows", wrong)
    kept = torch.zeros(2, 3, dtype=torch.float64)
    assert checked_data("rows", kept) is kept and checked_data("rows", kept, 2) is kept
    with pytest.raises(ValueError, match="rows must have one row per client, 3, got 2"):
        checked_data("rows", kept, 3)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_law_of_the_noise(k):
    """+-sqrt(k) with probability 1/(2k) each, else 0."""
    law = Kurtosis(k)
    values, weights = (each.tolist() for each in law.support())
    root = math.sqrt(k)
    assert values == [root, -root, 0.0][: 2 if k == 1 else 3]
    assert weights == pytest.approx([1 / (2 * k), 1 / (2 * k), 1 - 1 / k][: len(values)]) and law.largest == root

    class Every:
        def integers(self, purpose, high, batch):
            assert (purpose, high, batch) == ("noise", 2 * k, 3)
            return torch.arange(high)

    drawn = law.draw(Every(), 3, "noise").tolist()
    assert drawn == [root, -root] + [0.0] * (2 * k - 2)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_that_of_scikit_learn(name):
    datasets = pytest.importorskip("sklearn.datasets")
    theirs = getattr(datasets, f"load_{name}")()
    columns, labels = read_table(name)
    data = torch.tensor(theirs.data[:, : columns.shape[1]])
    assert torch.allclose(columns, (data - data.mean(0)) / data.std(0), atol=1e-9)
    positive = {"breast_cancer": 0, "wine": 2}[name]
    assert torch.equal(labels > 0, torch.tensor(theirs.target == positive))


@pytest.mark.parametrize(
    ("name", "rows", "columns", "positives"), [("breast_cancer", 569, 10, 212), ("wine", 178, 13, 48)]
)
def test_a_table_has_its_rows_and_is_standardised(name, rows, columns, positives):
    values, labels = read_table(name)
    assert values.shape == (rows, columns) and int((labels > 0).sum()) == positives
    assert float(values.mean(0).abs().max()) < 1e-12 and torch.allclose(values.std(0), torch.ones(columns).double())


def test_dealing_gives_each_client_its_share_and_no_row_twice():
    features, labels, held_out = deal("breast_cancer", 5, 16, 6, 0.25, 0.5, seed=0)
    assert features.shape == (5, 16, 6) and held_out.shape == labels.shape == (5, 16)
    assert torch.equal((labels > 0).sum(1), torch.full((5,), 4))
    assert float(torch.linalg.vector_norm(features, dim=-1).max()) == pytest.approx(1.0)
    rows = torch.cat([features.flatten(0, 1), held_out.reshape(-1, 1)], dim=1)
    assert len(torch.unique(rows, dim=0)) == 80
    again = deal("breast_cancer", 5, 16, 6, 0.25, 0.5, seed=0)[0]
    assert torch.equal(features, again) and not torch.equal(features, deal("breast_cancer", 5, 16, 6, 0.25, 0.5, 1)[0])


def fair(**parameters):
    return FairClassifier(**{"clients": 3, "samples": 8, "dim": 4, "groups": 2, **parameters})


def test_the_inner_value_is_the_gap_of_opportunity_between_groups():
    """Rebuilt from the rows: mean loss of the positives of a group minus that of all positives."""
    instance = fair()
    features, labels, held_out = instance.dealt
    x = torch.tensor([[1.0, -2.0, 0.5, 0.3]], dtype=torch.float64)
    losses = instance.loss_function.value((features * labels.unsqueeze(-1) * x).sum(-1))
    positive, low = labels > 0, held_out <= held_out.flatten().median()
    overall = losses[positive].mean()
    wanted = torch.stack([losses[positive & low].mean() - overall, losses[positive & ~low].mean() - overall])
    assert 0 < int((positive & low).sum()) < int(positive.sum())
    assert torch.allclose(instance.inner_mean(x)[0], wanted, atol=1e-12)
    penalty = instance.rho * (torch.sqrt(instance.width**2 + (wanted**2).sum()) - instance.width)
    assert float(instance.objective(x)) == pytest.approx(float(losses.mean() + penalty), rel=1e-12)


# --- problems of functions


def double(*rows):
    return torch.tensor(rows, dtype=torch.float64)


class Counting:
    """Draws that say what they were asked for: the largest of each kind, and zeros."""

    def __init__(self):
        self.asked = {}

    def integers(self, purpose, high, *tail):
        self.asked[purpose] = (high, tail)
        return torch.full((1, 2, *tail), high - 1)


def test_samples_of_functions_are_their_data():
    """Two data sets of 3 and 4 rows at each client, one of 3, or one for both parts."""
    first, second = (
        double(*[[[float(10 * k + i)] for i in range(3)] for k in range(2)]),
        double(*[[[100.0 + i] for i in range(4)]] * 2),
    )
    start = double(1.0, 2.0)

    def inner(x, row):
        return x * row

    def outer(y, row):
        return y.sum() * (1.0 if row is None else row[0])

    both = LocalFromFunctions(inner, outer, first, second, start)
    one = LocalFromFunctions(inner, outer, first, None, start)
    shared = SharedFromFunctions(inner, lambda y, _: y.sum(), first, None, start)
    for made, asked in (
        (both, {"s.inner": (3, (5,)), "s.outer": (4, (5,))}),
        (one, {"s.inner": (3, (5,)), "s.outer": (1, (5,))}),
        (shared, {"s": (3, (5,))}),
    ):
        draws = Counting()
        made.sample(draws, 5, "s")
        assert draws.asked == asked and (made.clients, made.dim) == (2, 2)
        atoms, weights = made.atoms()
        count = {both: 12, one: 3, shared: 3}[made]
        assert weights.tolist() == pytest.approx([1 / count] * count)
        assert {tensor.shape for tensor in vars(atoms).values()} == {(1, 2, count)}
    x = start.expand(1, 2, 2)
    for k in range(2):
        assert torch.allclose(both.inner(x)[0, k], start * (10 * k + 1))
    assert (
        both.outer(x).tolist() == [[3.0 * 101.5] * 2]
        and one.outer(x).tolist() == [[3.0] * 2] == shared.outer(x).tolist()
    )
    assert shared.outer(x[:, 0]).tolist() == [3.0] and torch.equal(
        shared.outer_gradient(x[:, 0]), torch.ones(1, 2).double()
    )
    assert both.inner_dim == one.inner_dim == shared.inner_dim == 2
    assert one.properties - both.properties == {"equal_outer_functions", "one_outer_function"}
    assert "no_extra_term" in shared.properties and not shared.extra(x).any() and shared.extra_gradient(x) is None


def test_a_safety_factor_of_one_is_none():
    """Constants are then what was found; twice the factor is twice the constant, but for the gap above a known bound."""
    instance = FederatedHuber(clients=2, dim=2, L=0.7, sigma=0.3)
    one, two = (estimated_certificates(instance, Budget(lanes=2, steps=1), factor) for factor in (1.0, 2.0))
    assert all(float(two[name].value) == pytest.approx(2 * float(one[name].value)) for name in one)
    assert {name: float(one[name].value) for name in ("local_smoothness", "local_gradient_noise")} == pytest.approx(
        {"local_smoothness": 0.7, "local_gradient_noise": 0.3}
    )
    assert one.keys() == set(KINDS["federated"].required) and {each.kind for each in one.values()} == {"estimated"}
    gap = estimated_certificates(instance, Budget(lanes=2, steps=1), 2.0, lower_bound=0.0)["objective_gap"]
    assert gap.kind == "upper" and gap.value == float(instance.objective(instance.initial_point[None]))
