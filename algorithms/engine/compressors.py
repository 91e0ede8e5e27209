"""What a client may send of a vector in the place of all of it."""

from __future__ import annotations

from math import ceil

import torch
from torch import Tensor

from ...errors import InputError
from .draws import Draws
from .schedule import Scalar


def sparsified(v: Tensor, draws: Draws, ratio: int, purpose: str = "kept") -> Tensor:
    """Each coordinate with probability 1 / ratio, `ratio` times as large, else 0: unbiased, (runs, clients, n) -> same.

    E|C(v) - v|^2 = (ratio - 1) |v|^2. Clients and coordinates are independent. Drawn as log2(ratio) fair signs each, so
    that the law is exact.

    Raises:
        ValueError: the ratio is no power of 2.
    """
    if ratio & (ratio - 1):
        raise InputError(f"ratio must be a power of 2; got {ratio}")
    for j in range(ratio.bit_length() - 1):
        v = v * (1 + draws.signs(f"{purpose} {j}", v.shape[-1]))
    return v


def entries(share: Scalar, n: int) -> int | Tensor:
    """The least k >= 1 with k / n >= share, for a share in [0, 1]; of a tensor for each of its values."""
    if n == 1:
        return 1
    if isinstance(share, Tensor):
        k = torch.ceil(share * n)
        return torch.where((k - 1) / n >= share, k - 1, k).clamp(min=1)
    least = ceil(share * n)
    return max(1, least - ((least - 1) / n >= share))


def largest_entries(v: Tensor, k: int | Tensor) -> Tensor:
    """The k coordinates of largest absolute value, the first of equal ones, and 0 for the others; at most all of them.

    |C(v) - v|^2 <= (1 - k / n) |v|^2. Shape (runs, clients, n); k is a number, or one for each run, (runs, 1, 1).
    """
    if not isinstance(k, Tensor) and k >= v.shape[-1]:
        return v
    rank = v.abs().argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
    return torch.where(rank < k, v, 0.0)
