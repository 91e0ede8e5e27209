"""What a client may send of a vector in the place of all of it."""

from __future__ import annotations

import torch
from torch import Tensor

from .draws import Draws


def sparsified(v: Tensor, draws: Draws, ratio: int, purpose: str = "kept") -> Tensor:
    """Each coordinate with probability 1 / ratio, `ratio` times as large, else 0: unbiased, (runs, clients, n) -> same.

    E|C(v) - v|^2 = (ratio - 1) |v|^2. Clients and coordinates are independent. Drawn as log2(ratio) fair signs each, so
    that the law is exact.

    Raises:
        ValueError: the ratio is no power of 2.
    """
    if ratio & (ratio - 1):
        raise ValueError(f"ratio must be a power of 2; got {ratio}")
    for j in range(ratio.bit_length() - 1):
        v = v * (1 + draws.signs(f"{purpose} {j}", v.shape[-1]))
    return v


def largest_entries(v: Tensor, k: int) -> Tensor:
    """The k coordinates of largest absolute value, the first of equal ones, and 0 for the others; at most all of them.

    |C(v) - v|^2 <= (1 - k / n) |v|^2. Shape (runs, clients, n).
    """
    if k >= v.shape[-1]:
        return v
    place = v.abs().argsort(dim=-1, descending=True, stable=True)[..., :k]
    return torch.zeros_like(v).scatter(-1, place, v.gather(-1, place))
