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


def paired_signs(draws: Draws, batch: int, purpose: str, noisy: tuple[bool, bool]) -> SignPair:
    """Independent signs for those that are noisy, zeros for the other; without noise any batch is one sample of zeros."""
    if not any(noisy):
        return silent()
    pair = [draws.signs(f"{purpose}.{which}", batch) for which, on in zip(("inner", "outer"), noisy, strict=True) if on]
    still = torch.zeros_like(pair[0])
    return SignPair(pair[0] if noisy[0] else still, pair[-1] if noisy[1] else still)


def paired_atoms(clients: int, noisy: tuple[bool, bool]) -> tuple[SignPair, Tensor]:
    """The support and its probabilities."""
    if not any(noisy):
        return silent(clients), torch.ones(1, dtype=torch.float64)
    inner, outer, weights = sign_grid(clients, "cpu")
    return SignPair(inner * noisy[0], outer * noisy[1]), weights


def silent(clients: int = 1) -> SignPair:
    """The one sample of an instance without noise."""
    zero = torch.zeros(1, clients, 1, dtype=torch.float64)
    return SignPair(zero, zero)
