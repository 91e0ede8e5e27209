"""What a problem that classifies says of its data at a model, for accuracies; a problem offers `predict` where it can."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Predictions:
    """Scores of every example of every client.

    Args:
        scores: `(runs, clients, samples, outputs)`; with one output class 1 is predicted where it is above 0, else the
            class of the largest score.
        labels: int64 `(clients, samples)`, the classes 0, 1, …; real numbers where the targets are no classes.
        weights: float64 `(clients, samples)`, 0 where a client has fewer examples; None where all count.

    A problem's `predict(x, split="train")`, x `(runs, dim)`, returns these for its training data or, with "test", for
    data that no oracle sees; a problem without such data refuses "test" with a ValueError. A problem that fine-tunes a
    model at each client does so first.
    """

    scores: Tensor
    labels: Tensor
    weights: Tensor | None = None


def of_margins(margins: Tensor, labels: Tensor) -> Predictions:
    """From the margins label * score `(runs, clients, samples)` and the labels +-1 `(clients, samples)`."""
    return Predictions((margins * labels).unsqueeze(-1), (labels > 0).long())


def only_training_data(name: str, split: str) -> None:
    """Refuse anything else, for a problem that has none.

    Raises:
        ValueError: for another split.
    """
    if split != "train":
        raise ValueError(f"{name} has no {split} data")
