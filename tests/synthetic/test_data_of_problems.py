"""Data of the applications step by step: how they are generated and dealt out, scores, pairs and laws of noise."""

import math

import numpy as np
import pytest
import torch
from fedco.synthetic.applications.user import all_pairs, checked_data
from fedco.synthetic.families.auprc import AveragePrecision
from fedco.synthetic.families.dro import ClientKL, RobustLoss
from fedco.synthetic.families.fairness import FairClassifier
from fedco.synthetic.families.federated_logistic import FederatedLogistic
from fedco.synthetic.families.invariant import InvariantLogistic
from fedco.synthetic.kinds.predictions import of_margins, only_training_data
from fedco.synthetic.parts.data import TABLES, deal, generated, margins_of, read_table
from fedco.synthetic.parts.noise import Kurtosis


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


@pytest.mark.parametrize("wrong", [(0, 8, 2, 0.5, 0.4), (3, 0, 2, 0.5, 0.4), (3, 8, 0, 0.5, 0.4), (3, 8, 2, -0.1, 0.4),
                                   (3, 8, 2, 1.1, 0.4), (3, 8, 2, 0.5, -0.1)])  # fmt: skip
def test_data_that_cannot_be_are_refused(wrong):
    with pytest.raises(ValueError, match="data: need 0 <= shift <= 1, noise >= 0 and positive sizes"):
        generated(*wrong, seed=0)
    assert generated(1, 1, 1, 1.0, 0.0, seed=0)[0].shape == generated(1, 1, 1, 0.0, 0.0, seed=0)[0].shape == (1, 1, 1)


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
    for dims in (2, 13):
        assert deal("wine", 2, 3, dims, 0.5, 0.0, seed=0)[0].shape == (2, 3, dims)
    for wrong in ((0.5, -0.1), (1.0, 0.5), (0.5, 1.1)):
        with pytest.raises(ValueError, match="need 0 < positives < 1 and 0 <= shift <= 1"):
            deal("wine", 2, 4, 3, *wrong, seed=0)
    with pytest.raises(ValueError, match=r"dim must be in \[2, 13\]"):
        deal("wine", 2, 4, 1, 0.5, 0.5, seed=0)
    assert deal("wine", 4, 24, 3, 0.5, 0.5, seed=0)[0].shape == (4, 24, 3)  # all 48 rows of the rare class


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


@pytest.mark.parametrize("wrong", [0, -1, 2.0, None])
def test_a_law_that_is_none_is_refused(wrong):
    with pytest.raises(ValueError, match="kurtosis must be a positive integer"):
        Kurtosis(wrong)


# --- the shipped tables: the rows of scikit-learn, dealt out as asked, and the problems on them


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


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("iris", 2, 4, 3, 0.5, 0.0, 0), "table must be one of"),
        (("wine", 2, 4, 14, 0.5, 0.0, 0), r"dim must be in \[2, 13\]"),
        (("wine", 20, 16, 3, 0.5, 0.0, 0), "has 48 rows of one class"),
    ],
)
def test_dealing_refuses(arguments, complaint):
    with pytest.raises(ValueError, match=complaint):
        deal(*arguments)


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
