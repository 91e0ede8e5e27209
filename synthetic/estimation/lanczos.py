"""Extreme eigenvalues of symmetric matrices that are known by their products, many at once.

k steps of Lanczos from a random start miss the largest eigenvalue of a positive semidefinite d x d matrix by more than a
share e with probability at most 1.648 sqrt(d) exp(-sqrt(e) (2k - 1)) (Kuczynski and Wozniakowski, SIAM J. Matrix Anal.
Appl. 13, 1992, Theorem 4.2). Shifted by its least eigenvalue every symmetric matrix is such; with the ends m <= M that are
found, the true norm is then at most max(|m|, |M|) + e/(1 - 2e) (M - m).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

_TINY = 1e-30


def share_missed(dim: int, steps: int, failure: float) -> float:
    """e for which the probability above is `failure`; 0 where Lanczos is exact, capped at 1/4."""
    if steps >= dim:
        return 0.0
    return min(0.25, (math.log(1.648 * math.sqrt(dim) / failure) / (2 * steps - 1)) ** 2)


def spectral_norm(
    product: Callable[[Tensor], Tensor], shape: tuple[int, ...], steps: int, failure: float, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Upper estimates of ||A|| and the norms found, `shape[:-1]`, of symmetric A known by v -> A v on vectors of `shape`."""
    dim = shape[-1]
    steps = min(steps, dim)
    values = torch.linalg.eigvalsh(_projected(product, shape, steps, seed)[0])
    low, high = values[..., 0], values[..., -1]
    found = torch.maximum(low.abs(), high.abs())
    missed = share_missed(dim, steps, failure)
    return found + missed / (1 - 2 * missed) * (high - low), found


def stretched_most(
    product: Callable[[Tensor], Tensor], shape: tuple[int, ...], steps: int = 20, seed: int = 0
) -> Tensor:
    """The unit vectors of `shape` that symmetric A stretch most, as far as Lanczos finds them; 0 where A is 0."""
    matrix, basis = _projected(product, shape, min(steps, shape[-1]), seed)
    values, vectors = torch.linalg.eigh(matrix)
    top = values.abs().argmax(-1).view(*shape[:-1], 1, 1).expand(*vectors.shape[:-1], 1)
    v = (torch.stack(basis, dim=-1) @ vectors.gather(-1, top)).squeeze(-1)
    return v / torch.linalg.vector_norm(v, dim=-1, keepdim=True).clamp_min(_TINY)


def _projected(
    product: Callable[[Tensor], Tensor], shape: tuple[int, ...], steps: int, seed: int
) -> tuple[Tensor, list[Tensor]]:
    """A in an orthonormal basis of its Krylov space, `(..., steps, steps)`, with full orthogonalisation; and the basis."""
    v = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    v = v / torch.linalg.vector_norm(v, dim=-1, keepdim=True)
    basis, diagonal, beside = [v], [], []
    for step in range(steps):
        w = product(basis[-1])
        diagonal.append((w * basis[-1]).sum(-1))
        for _ in range(2):
            for old in basis:
                w = w - (w * old).sum(-1, keepdim=True) * old
        size = torch.linalg.vector_norm(w, dim=-1)
        if step + 1 < steps:
            scale = diagonal[0].abs() + _TINY
            ended = size <= 1e-10 * scale
            beside.append(torch.where(ended, 0.0, size))
            basis.append(torch.where(ended.unsqueeze(-1), 0.0, w / size.clamp_min(_TINY).unsqueeze(-1)))
    matrix = torch.diag_embed(torch.stack(diagonal, dim=-1))
    if beside:
        off = torch.diag_embed(torch.stack(beside, dim=-1), offset=1)
        matrix = matrix + off + off.transpose(-1, -2)
    return matrix, basis
