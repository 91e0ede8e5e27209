"""Two-point noise of the families: fair signs, none drawn where an instance has no noise."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ...kinds import Draws, Sample
from ...parts.patterns import sign_grid


@dataclass(frozen=True)
class SignPair(Sample):
    """Signs +-1, `(runs, clients, batch)`: one for a sampled inner map, one for a sampled outer function."""

    inner: Tensor
    outer: Tensor


def paired_signs(draws: Draws, batch: int, purpose: str, *, inner: bool, outer: bool) -> SignPair:
    """Independent signs for those that are noisy; without noise a batch of any size is one sample of zeros."""
    pair = silent()
    return SignPair(
        draws.signs(f"{purpose}.inner", batch) if inner else pair.inner,
        draws.signs(f"{purpose}.outer", batch) if outer else pair.outer,
    )


def paired_atoms(clients: int, is_noisy: bool) -> tuple[SignPair, Tensor]:
    """The support and its probabilities."""
    if not is_noisy:
        return silent(clients), torch.ones(1, dtype=torch.float64)
    inner, outer, weights = sign_grid(clients, "cpu")
    return SignPair(inner, outer), weights


def silent(clients: int = 1) -> SignPair:
    """The one sample of an instance without noise."""
    zero = torch.zeros(1, clients, 1, dtype=torch.float64)
    return SignPair(zero, zero)
