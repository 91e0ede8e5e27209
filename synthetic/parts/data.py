"""Classification data, generated or from a real table, spread over clients."""

from __future__ import annotations

import torch
from torch import Tensor

from .tables import deal


def generated(
    clients: int, samples: int, dim: int, shift: float, noise: float, seed: int, device: str = "cpu"
) -> tuple[Tensor, Tensor]:
    """Features times labels of two classes `(clients, samples, dim)`, each of length at most 1, and the labels +-1.

    A class has mean +-e_1 plus a shift of its client's own, and the labels of client k are imbalanced: the share of
    positive ones goes from 1/2 to 1/2 + shift/4 over the clients.

    Args:
        shift: 0 for clients with one law; larger for clients that differ more, at most 1.
        noise: standard deviation of a feature about its mean.

    Raises:
        ValueError: unless 0 <= shift <= 1, noise >= 0 and the sizes are positive.
    """
    if not (0 <= shift <= 1 and noise >= 0 and min(clients, samples, dim) >= 1):
        raise ValueError(
            f"data: need 0 <= shift <= 1, noise >= 0 and positive sizes, "
            f"got {shift}, {noise}, {(clients, samples, dim)}"
        )
    generator = torch.Generator().manual_seed(seed)
    share = 0.5 + 0.25 * shift * torch.linspace(0.0, 1.0, clients, dtype=torch.float64)
    positions = (torch.arange(samples, dtype=torch.float64) + 0.5) / samples
    labels = torch.where(positions < share.unsqueeze(-1), 1.0, -1.0)
    mean = torch.zeros(dim, dtype=torch.float64)
    mean[0] = 1.0
    own = shift * torch.randn(clients, 1, dim, generator=generator, dtype=torch.float64) / dim**0.5
    features = mean * labels.unsqueeze(-1) + own
    features = features + noise * torch.randn(clients, samples, dim, generator=generator, dtype=torch.float64)
    margins = features * labels.unsqueeze(-1)
    return (margins / torch.linalg.vector_norm(margins, dim=-1).max()).to(device), labels.to(device)


def margins_of(
    table: str,
    clients: int,
    samples: int,
    dim: int,
    positives: float,
    shift: float,
    noise: float,
    seed: int,
    device: str = "cpu",
) -> tuple[Tensor, Tensor]:
    """Features times labels `(clients, samples, dim)`, and labels +-1: generated for `table=""`, else of a real table.

    `positives` has a meaning for tables only, `noise` for generated data only; see `generated` and `tables.deal`.
    """
    if not table:
        return generated(clients, samples, dim, shift, noise, seed, device)
    features, labels, _ = deal(table, clients, samples, dim, positives, shift, seed)
    return (features * labels.unsqueeze(-1)).to(device), labels.to(device)
