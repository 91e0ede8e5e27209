"""The shipped tables: the rows of scikit-learn, dealt out as asked, and the problems on them."""

import pytest
import torch
from fedco.synthetic.applications.fairness import FairClassifier
from fedco.synthetic.parts.data import TABLES, deal, read_table


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
