"""What a run may record: functions ``(problem, state, t) -> (runs,)`` of the state at time t, before step t.

The exact objective and its exact gradient are used, at the averaged model, as the theorems do. Some metrics need more of
a problem than its oracles: ``METRICS`` says what, and ``metrics_of`` which ones a problem offers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ...errors import InputError
from .method import State, client_mean

Metric = Callable[[Any, Any, int], Tensor]


def gradient_norm_squared(problem: Any, state: State, t: int) -> Tensor:
    """||grad F(xbar^t)||^2, the quantity whose time average the theorems bound. In [f]^2 / [x]^2."""
    return problem.gradient(state.average).square().sum(-1)


def gradient_norm(problem: Any, state: State, t: int) -> Tensor:
    """||grad F(xbar^t)||, in [f] / [x]."""
    return torch.linalg.vector_norm(problem.gradient(state.average), dim=-1)


def objective(problem: Any, state: State, t: int) -> Tensor:
    """F(xbar^t), in [f]."""
    return problem.objective(state.average)


def consensus_error(problem: Any, state: State, t: int) -> Tensor:
    """(1/K) sum_k ||x_k^t - xbar^t||^2, the client drift, in [x]^2."""
    drift = (state.x - state.average.unsqueeze(1)).square().sum(-1, keepdim=True)
    return client_mean(drift, state.active).squeeze(-1)


def gap(problem: Any, state: State, t: int) -> Tensor:
    """F(xbar^t) - F(x*), x* the problem's ``minimiser``, or that of each run, in [f]."""
    return problem.objective(state.average) - problem.objective(torch.atleast_2d(problem.minimiser))


def distance_squared(problem: Any, state: State, t: int) -> Tensor:
    """||xbar^t - x*||^2, x* the problem's ``minimiser``, in [x]^2."""
    return (state.average - problem.minimiser).square().sum(-1)


def distance(problem: Any, state: State, t: int) -> Tensor:
    """||xbar^t - x*||, x* the problem's ``minimiser``, in [x]."""
    return torch.linalg.vector_norm(state.average - problem.minimiser, dim=-1)


def loss_of(split: str) -> Callable[[Any, State, int], Tensor]:
    """The problem's ``data_loss`` on one part of its data, at the averaged model."""
    return lambda problem, state, t: problem.data_loss(state.average, split)


# --- classification: of the problem's `predict`, on its test data where it has some --------------------------------------


def _right(found: Any) -> tuple[Tensor, Tensor]:
    """Which examples are right (runs, clients, samples), and which count (clients, samples), as float64."""
    scores = found.scores
    predicted = (scores[..., 0] > 0).long() if scores.shape[-1] == 1 else scores.argmax(-1)
    weights = torch.ones(found.labels.shape, dtype=torch.float64, device=scores.device)
    return (predicted == found.labels).to(torch.float64), weights if found.weights is None else found.weights


def _shares(found: Any) -> Tensor:
    """The share of right examples of each client, (runs, clients)."""
    right, weights = _right(found)
    return (right * weights).sum(-1) / weights.sum(-1)


def _accuracy(found: Any) -> Tensor:
    right, weights = _right(found)
    return (right * weights).flatten(1).sum(-1) / weights.sum()


def _worst_class(found: Any) -> Tensor:
    right, weights = _right(found)
    shares = []
    for label in found.labels[weights > 0].unique().tolist():
        of_class = weights * (found.labels == label)
        shares.append((right * of_class).flatten(1).sum(-1) / of_class.sum())
    return torch.stack(shares).amin(0)


def _average_precision(found: Any) -> Tensor:
    """sum_n (recall_n - recall_{n-1}) precision_n over the distinct scores of class 1 in all data, largest first."""
    if found.scores.shape[-1] != 1:
        raise InputError(f"average_precision: wanted two classes with one score, got {found.scores.shape[-1]} scores")
    counted = torch.ones_like(found.labels, dtype=torch.bool) if found.weights is None else found.weights > 0
    scores, labels = found.scores[:, counted, 0], (found.labels[counted] == 1).to(torch.float64)
    ordered, order = scores.sort(dim=-1, descending=True)
    hits = labels[order].cumsum(-1)
    at_least = torch.searchsorted(-ordered, -ordered, right=True)  # how many scores are at least as large
    precision = hits.gather(-1, at_least - 1) / at_least
    return (precision * labels[order]).sum(-1) / labels.sum()


def predicted(measure: Callable[[Any], Tensor], split: str = "") -> Metric:
    """A metric of the predictions at the averaged model: on `split`, or on test data where there are some."""

    def metric(problem: Any, state: State, t: int) -> Tensor:
        usual = "test" if getattr(problem, "has_test_data", False) else "train"
        found = problem.predict(state.average, split or usual)
        if found.labels.is_floating_point():
            raise InputError("accuracy: wanted targets that are classes 0, 1, …, got real numbers")
        return measure(found)

    return metric


_OF_CLIENTS: Mapping[str, Callable[[Any], Tensor]] = {
    "accuracy": _accuracy,
    "mean_client_accuracy": lambda found: _shares(found).mean(-1),
    "worst_client_accuracy": lambda found: _shares(found).amin(-1),
}
accuracy, mean_client_accuracy, worst_client_accuracy = map(predicted, _OF_CLIENTS.values())
worst_class_accuracy = predicted(_worst_class)
average_precision = predicted(_average_precision)


@dataclass(frozen=True)
class Offered:
    """A metric, what it needs of a problem beyond the oracles, and what it is in words."""

    function: Metric
    meaning: str
    needs: str = ""


METRICS: Mapping[str, Offered] = {
    "objective": Offered(objective, "F at the averaged model"),
    "gradient_norm": Offered(gradient_norm, "norm of the exact gradient at the averaged model"),
    "gradient_sq": Offered(gradient_norm_squared, "squared norm of the exact gradient at the averaged model"),
    "gap": Offered(gap, "F at the averaged model less F at the minimiser", "minimiser"),
    "distance": Offered(distance, "distance of the averaged model from the minimiser", "minimiser"),
    "train_loss": Offered(loss_of("train"), "loss on the training data", "data_loss"),
    "test_loss": Offered(loss_of("test"), "loss on data that no oracle sees", "has_test_data"),
    "accuracy": Offered(accuracy, "share of right examples, on test data where there are some", "predict"),
    "mean_client_accuracy": Offered(
        mean_client_accuracy, "mean over the clients of their shares, however few examples one has", "predict"
    ),
    "worst_client_accuracy": Offered(worst_client_accuracy, "that share at the worst client", "predict"),
    "worst_class_accuracy": Offered(worst_class_accuracy, "that share in the worst class", "predict"),
    "average_precision": Offered(average_precision, "area under the precision-recall curve of two classes", "predict"),
    **{
        name.replace("accuracy", "train_accuracy"): Offered(
            predicted(measure, "train"), f"{name} on the training data", "predict"
        )
        for name, measure in _OF_CLIENTS.items()
    },
    "consensus_error": Offered(consensus_error, "mean squared distance of the clients' models from their mean"),
}


def metrics_of(problem: Any) -> tuple[str, ...]:
    """The names of the metrics that a problem offers."""
    return tuple(name for name, metric in METRICS.items() if not metric.needs or _has(problem, metric.needs))


def _has(problem: Any, attribute: str) -> bool:
    found = getattr(problem, attribute, None)
    return found is not None and found is not False
