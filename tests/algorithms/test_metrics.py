"""Metrics of a state by their definitions, in plain numbers."""

from types import SimpleNamespace

import pytest
import torch
from fedco.algorithms.engine import metrics
from fedco.algorithms.engine.method import State
from fedco.errors import InputError
from fedco.synthetic.kinds import Predictions


def tensor(*rows):
    return torch.tensor(rows, dtype=torch.float64)


SCORES = tensor(  # (runs, clients, samples), one score each: 1 is predicted where it is above 0
    [[0.9, -0.4, 0.0, 0.3], [-0.1, 0.2, 0.2, 7.0]],
    [[-0.9, 0.4, 0.7, -0.3], [0.1, -0.2, -0.5, -7.0]],
)


LABELS = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 0]])


WEIGHTS = tensor([1, 1, 1, 1], [1, 1, 1, 0])  # the second client has three examples


class Classified:
    """A problem that knows its predictions: the same on both parts, but for the sign."""

    has_test_data = True

    def __init__(self, scores, weights=WEIGHTS, labels=LABELS):
        self.found = Predictions(scores, labels, weights)

    def predict(self, x, split="train"):
        sign = 1 if split == "train" else -1
        return Predictions(sign * self.found.scores, self.found.labels, self.found.weights)


def on_training_data(metric):
    def measured(problem):
        problem.has_test_data = False
        return metric(problem, State(x=torch.zeros(2, 2, 1, dtype=torch.float64)), 0)

    return measured


def test_test_data_are_taken_where_there_are_some():
    problem, state = Classified(SCORES.unsqueeze(-1)), State(x=torch.zeros(2, 2, 1, dtype=torch.float64))
    assert metrics.accuracy(problem, state, 0).tolist() == pytest.approx([2 / 7, 4 / 7])  # a score of 0 is class 0
    assert metrics.mean_client_accuracy(problem, state, 0).tolist() == pytest.approx([(1 / 4 + 1 / 3) / 2, 7 / 12])
    assert metrics.worst_client_accuracy(problem, state, 0).tolist() == pytest.approx([1 / 4, 1 / 2])
    problem.has_test_data = False
    assert metrics.accuracy(problem, state, 0).tolist() == pytest.approx([4 / 7, 3 / 7])


def test_average_precision_is_the_sum_over_thresholds():
    """At each distinct score: the precision of all examples at least as large, times the new share of class 1."""
    with pytest.raises(InputError, match="wanted two classes with one score, got 3 scores"):
        on_training_data(metrics.average_precision)(Classified(torch.zeros(1, 2, 2, 3), None, torch.zeros(2, 2).long()))
    problem = Classified(SCORES.unsqueeze(-1))
    found = on_training_data(metrics.average_precision)(problem)
    counted = WEIGHTS > 0
    for run in range(2):
        pairs = list(zip(SCORES[run][counted].tolist(), LABELS[counted].tolist(), strict=True))
        wanted, before, positives = 0.0, 0.0, sum(label for _, label in pairs)
        for threshold in sorted({score for score, _ in pairs}, reverse=True):
            chosen = [label for score, label in pairs if score >= threshold]
            recall = sum(chosen) / positives
            wanted += (recall - before) * sum(chosen) / len(chosen)
            before = recall
        assert float(found[run]) == pytest.approx(wanted, rel=1e-14)


def test_metrics_of_the_models():
    """Two clients at (0, 0) and (4, 2): the mean is (2, 1), each is 5 from it, squared."""
    x = torch.tensor([[[0.0, 0.0], [4.0, 2.0]]], dtype=torch.float64)
    made = SimpleNamespace(
        gradient=lambda v: 3 * v,
        objective=lambda v: v.sum(-1),
        minimiser=torch.tensor([2.0, -3.0], dtype=torch.float64),
        data_loss=lambda v, split: v.sum(-1) + {"train": 10, "test": 20}[split],
    )
    wanted = {
        "objective": 3.0,
        "gradient_sq": 9 * 5.0,
        "distance": 4.0,
        "train_loss": 13.0,
        "test_loss": 23.0,
        "consensus_error": 5.0,
    }
    found = {name: metrics.METRICS[name].function(made, State(x=x), 0).tolist() for name in wanted}
    assert found == {name: [value] for name, value in wanted.items()}
    once = State(x=x, active=torch.tensor([[0.0, 1.0]], dtype=torch.float64))
    assert metrics.consensus_error(made, once, 0).tolist() == [0.0] and metrics.objective(made, once, 0).tolist() == [6]


def test_a_problem_offers_the_metrics_whose_needs_it_has():
    bare, full = SimpleNamespace(), SimpleNamespace(minimiser=0, data_loss=1, has_test_data=True, predict=print)
    assert metrics.metrics_of(bare) == ("objective", "gradient_norm", "gradient_sq", "consensus_error")
    assert metrics.metrics_of(full) == tuple(metrics.METRICS)
    full.has_test_data, full.minimiser = False, None
    assert set(metrics.METRICS) - set(metrics.metrics_of(full)) == {"test_loss", "distance", "gap"}


def test_accuracies_are_those_of_plain_python():
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(2, 3, 5, 4, generator=generator, dtype=torch.float64)
    labels = torch.randint(4, (3, 5), generator=generator)
    weights = torch.ones(3, 5, dtype=torch.float64)
    weights[1, 2:] = 0.0

    splits = []

    class Told:
        name, has_test_data = "told", True

        def predict(self, x, split):
            splits.append(split)
            return Predictions(scores, labels, weights)

    class State:
        average = torch.zeros(2, 1)

    for run in range(2):
        rows = [
            (k, int(labels[k, i]), int(scores[run, k, i].argmax())) for k in range(3) for i in range(2 if k == 1 else 5)
        ]
        share = lambda kept: sum(a == b for _, a, b in kept) / len(kept)  # noqa: E731
        by_client = [share([row for row in rows if row[0] == k]) for k in range(3)]
        by_class = [share([row for row in rows if row[1] == c]) for c in {row[1] for row in rows}]
        found = {
            name: metrics.METRICS[name].function(Told(), State(), 0)[run].item()
            for name in metrics.METRICS
            if "acc" in name
        }
        assert found["accuracy"] == pytest.approx(share(rows))
        assert found["mean_client_accuracy"] == pytest.approx(sum(by_client) / 3)
        assert found["worst_client_accuracy"] == pytest.approx(min(by_client))
        for name in ("accuracy", "mean_client_accuracy", "worst_client_accuracy"):
            assert found[name.replace("accuracy", "train_accuracy")] == found[name]
        assert found["worst_class_accuracy"] == pytest.approx(min(by_class))
    assert splits == 2 * ["test", "test", "test", "test", "train", "train", "train"]
