"""Who differs from whom, and along which direction: signs and unit vectors that clients are built from."""

from __future__ import annotations

import torch
from torch import Tensor


def pair_signs(clients: int) -> Tensor:
    """+1, -1, +1, -1, ... and 0 for an odd client left over: the sum is exactly zero. Shape `(clients,)`."""
    signs = torch.tensor([1.0, -1.0], dtype=torch.float64).repeat((clients + 1) // 2)[:clients]
    if clients % 2 == 1:
        signs[-1] = 0.0
    return signs


def pair_index(clients: int) -> Tensor:
    """0, 0, 1, 1, 2, 2, ...: both members of a pair share a direction, so that opposite signs cancel."""
    return torch.arange(clients) // 2


def triple_signs(clients: int) -> Tensor:
    """+1, -1/2, -1/2, +1, ... and 0 for clients left over: the sum is exactly zero, and no symmetry. Shape `(clients,)`."""
    signs = torch.tensor([1.0, -0.5, -0.5], dtype=torch.float64).repeat(clients // 3)
    return torch.cat([signs, torch.zeros(clients % 3, dtype=torch.float64)])


def walsh_directions(indices: Tensor, size: int, device: str = "cpu") -> Tensor:
    """Unit vectors with entries +-1/sqrt(size): row i has the signs of the Walsh function `indices[i]`.

    Index 0 is the all-ones direction. Shape `(len(indices), size)`.
    """
    shared_bits = indices[:, None] & torch.arange(size)
    parity = torch.zeros_like(shared_bits)
    while bool(shared_bits.any()):
        parity ^= shared_bits & 1
        shared_bits = shared_bits >> 1
    return ((1.0 - 2.0 * parity.to(torch.float64)) / size**0.5).to(device)


def one_hot(positions: Tensor, size: int, device: str = "cpu") -> Tensor:
    """Rows with a single 1.0 at `positions`. Shape `(len(positions), size)`, float64."""
    return torch.nn.functional.one_hot(positions, size).to(device=device, dtype=torch.float64)


def first_axis(size: int, device: str | torch.device = "cpu") -> Tensor:
    """The first unit vector, `(size,)`."""
    return torch.eye(size, dtype=torch.float64, device=device)[0]


def rows_of(table: Tensor, rows: Tensor) -> Tensor:
    """`table[rows]` for row numbers of any shape, in half the time of that."""
    return table.index_select(0, rows.flatten()).unflatten(0, rows.shape)


def uneven_direction(size: int, device: str = "cpu") -> Tensor:
    """A unit vector with all entries positive and no two alike: a start that no symmetry of the problem keeps."""
    weights = 1.0 + 0.5 * torch.cos(torch.arange(1, size + 1, dtype=torch.float64))
    return (weights / weights.norm()).to(device)


def start_beyond(target: float, distance: float, size: int, device: str = "cpu") -> Tensor:
    """The start at this distance from 0, on the far side of `target` (on the diagonal), along the uneven direction."""
    side = -1.0 if target >= 0 else 1.0
    return side * distance * uneven_direction(size, device)


def sign_grid(clients: int, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """The four pairs of signs, `(1, clients, 4)` each, and their probabilities."""
    pairs = torch.tensor([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 1.0, -1.0]], dtype=torch.float64, device=device)
    first, second = (signs.expand(1, clients, 4) for signs in pairs)
    return first, second, equal_weights(4, device)


def equal_weights(outcomes: int, device: str | torch.device) -> Tensor:
    """The probabilities of so many equally likely outcomes, `(outcomes,)`."""
    return torch.full((outcomes,), 1.0 / outcomes, dtype=torch.float64, device=device)
