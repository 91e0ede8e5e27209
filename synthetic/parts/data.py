"""Classification data, generated or from one of two small real tables, spread over clients.

The tables are ones that scikit-learn ships too; the copies here make every problem run where scikit-learn is not
installed, and keep the certified constants from moving with its version. Each file names its source and licence
(UCI Machine Learning Repository, CC BY 4.0).
"""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import torch
from torch import Tensor


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

    `positives` has a meaning for tables only, `noise` for generated data only; see `generated` and `data.deal`.
    """
    if not table:
        return generated(clients, samples, dim, shift, noise, seed, device)
    features, labels, _ = deal(table, clients, samples, dim, positives, shift, seed)
    return (features * labels.unsqueeze(-1)).to(device), labels.to(device)


POSITIVE_CLASS = {"breast_cancer": 0, "wine": 2}  # malignant tumours, 212 of 569; the rarest cultivar, 48 of 178
TABLES = tuple(POSITIVE_CLASS)


@lru_cache
def read_table(name: str) -> tuple[Tensor, Tensor]:
    """Standardised columns `(rows, columns)` and labels +-1 `(rows,)`, float64.

    Raises:
        ValueError: for an unknown name.
    """
    if name not in POSITIVE_CLASS:
        raise ValueError(f"table must be one of {', '.join(TABLES)}, got {name!r}")
    lines = (files(__package__) / "tables" / f"{name}.csv").read_text(encoding="utf-8").splitlines()
    rows = [line.split(",") for line in lines if not line.startswith("#")][1:]
    values = torch.tensor([[float(entry) for entry in row] for row in rows], dtype=torch.float64)
    columns = values[:, 1:]
    columns = (columns - columns.mean(0)) / columns.std(0)
    return columns, torch.where(values[:, 0] == POSITIVE_CLASS[name], 1.0, -1.0).to(torch.float64)


def deal(
    name: str, clients: int, samples: int, dim: int, positives: float, shift: float, seed: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of a table for each client: features, labels, and one held-out column.

    Args:
        dim: size of the model: the first dim - 1 columns and a constant 1.
        positives: share of positive labels at every client; 0.5 is balanced, less is imbalanced.
        shift: 0 deals the rows of a class at random, 1 sorts them by the first column before they are cut into clients.

    Returns:
        Features `(clients, samples, dim)`, scaled together so that the longest has length 1; labels +-1 and the
        standardised last column of the table `(clients, samples)`, which is not among the features.

    Raises:
        ValueError: when the table has too few rows or columns, or a share is outside its range.
    """
    columns, labels = read_table(name)
    if min(clients, samples) < 1:
        raise ValueError(f"table: clients and samples must be positive, got {clients} and {samples}")
    if not (0 < positives < 1 and 0 <= shift <= 1):
        raise ValueError(f"table: need 0 < positives < 1 and 0 <= shift <= 1, got {positives} and {shift}")
    if not 2 <= dim <= columns.shape[1]:
        raise ValueError(f"dim must be in [2, {columns.shape[1]}] with the table {name}, got {dim}")
    generator = torch.Generator().manual_seed(seed)
    rare = max(1, round(positives * samples))
    parts = [
        _dealt(columns[:, 0], labels == sign, clients, count, shift, generator, name)
        for sign, count in ((1.0, rare), (-1.0, samples - rare))
    ]
    rows = torch.cat(parts, dim=1)
    features = torch.cat([columns[rows, : dim - 1], torch.ones(*rows.shape, 1, dtype=torch.float64)], dim=-1)
    return features / torch.linalg.vector_norm(features, dim=-1).max(), labels[rows], columns[rows, -1]


def _dealt(
    key: Tensor, wanted: Tensor, clients: int, count: int, shift: float, generator: torch.Generator, name: str
) -> Tensor:
    """`count` row numbers per client of the rows that are wanted, `(clients, count)`."""
    rows = torch.nonzero(wanted).flatten()
    if clients * count > len(rows):
        raise ValueError(f"table {name} has {len(rows)} rows of one class, but {clients} clients want {count} each")
    chosen = rows[torch.randperm(len(rows), generator=generator)[: clients * count]]
    rank = torch.argsort(torch.argsort(key[chosen])).to(torch.float64)
    order = torch.argsort(shift * rank + (1 - shift) * torch.arange(len(chosen)), stable=True)
    return chosen[order].view(clients, count)
