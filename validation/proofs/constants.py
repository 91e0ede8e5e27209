"""What the method of a file says of its compressor and of its mixing, measured in doubles with the engine's own random numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import torch
from torch import Tensor

from ...algorithms import Start
from ...algorithms.engine.draws import Draws
from ...bounds.language.reading import InputError
from ..lemmas.trace import walk

DIMENSIONS = (2, 5, 17)
SCALES = (1e-6, 1.0, 1e6)
CLIENTS = (2, 3, 5, 12, 30)
ACCURACIES = (0.1, 0.36, 0.5, 0.75, 0.9, 1.0)
VARIANCES = (0.5, 1, 1.5, 2, 3, 3.5, 4, 7, 7.5, 8, 15, 16)
"""Variances of a compressor, such as those of a ratio of 2, 4, 8 or 16; those for which the method can be built are tried."""
LEAST = 3
"""So many of them have to be among those."""
SEEDS = 8192
ERRORS = 6
"""A mean over the seeds differs from the expectation by more standard errors than this in none of a million cases."""
ROUNDING = 1e-9

Build = Callable[[Mapping[str, float]], Any]


def accuracy(build: Build, values: Mapping[str, float], symbol: str) -> Iterator[str]:
    """Where a method leaves out more of a vector than its accuracy says."""
    for theta in ACCURACIES:
        method = build({**values, symbol: theta})
        for v in vectors():
            left_out, whole = (float((part * part).sum()) for part in (method.sent(v) - v, v))
            if left_out > (1 - theta + ROUNDING) * whole:
                where = f"{symbol} = {theta:g}, {v.shape[-1]} dimensions"
                yield f"{where}: {method.name} leaves out {left_out / whole:.6g} of |v|^2, the symbol allows {1 - theta:.6g}"
                return


def vectors() -> Iterator[Tensor]:
    """(1, 1, dim): one entry, equal entries, declining ones, and random ones, of several lengths."""
    generator = torch.Generator().manual_seed(0)
    for dim in DIMENSIONS:
        entry = torch.arange(dim, dtype=torch.float64)
        kinds = [(entry == dim - 1).double(), torch.ones(dim).double(), 0.7**entry]
        kinds += [torch.randn(dim, dtype=torch.float64, generator=generator) for _ in range(8)]
        yield from (scale * kind.view(1, 1, dim) for kind in kinds for scale in SCALES)


class Slope:
    """A plain loss with one gradient everywhere, without noise; (runs, clients, dim)."""

    kind, name, clients = "federated", "slope", 1

    def __init__(self, gradient: Tensor):
        self.vector, self.dim = gradient, gradient.shape[-1]
        self.initial_point = torch.zeros(self.dim, dtype=torch.float64)

    def sample(self, draws: Any, batch: int, purpose: str = "sample") -> None:
        return None

    def local_gradient(self, x: Tensor, sample: None = None) -> Tensor:
        return self.vector.expand_as(x)


def variance(build: Build, values: Mapping[str, float], symbol: str, step: str) -> Iterator[str]:
    """Where the first step of a method along one gradient v is not -eta C(v) with an unbiased C of the variance that it says.

    Raises:
        InputError: it can be built for too few variances.
    """
    tried = 0
    for omega in VARIANCES:
        try:
            method = build({**values, symbol: omega})
            found = next(filter(None, (_biased_or_wide(method, v, values[step], omega) for v in vectors())), "")
        except ValueError:  # no compressor has this variance
            continue
        tried += 1
        if found:
            yield f"{symbol} = {omega:g}: {method.name}: {found}"
            return
    if tried < LEAST:
        raise InputError(f"{symbol}: the method can be built for {tried} of the variances {VARIANCES}, wanted {LEAST}")


def _biased_or_wide(method: Any, v: Tensor, eta: float, omega: float) -> str:
    draws = Draws(0, SEEDS, 1, 1)
    (step,) = walk(
        method, Slope(v), 1, SEEDS, start=Start(x=torch.zeros(v.shape[-1], dtype=torch.float64)), draws=draws
    )
    apart = (-step.after.x / eta - v)[:, 0] / v.norm()
    squares = (apart * apart).sum(-1)
    if float(apart.mean(0).abs().max()) > ERRORS * float(apart.std(0).max()) / SEEDS**0.5 + ROUNDING:
        return f"what it sends of v in {v.shape[-1]} dimensions is not v in the mean"
    least = float(squares.mean() - ERRORS * squares.std() / SEEDS**0.5)
    return (
        f"E|C(v) - v|^2 is at least {least:.4g} |v|^2 in {v.shape[-1]} dimensions" if least > omega + ROUNDING else ""
    )


def contraction(rows: Sequence[Sequence[Fraction]]) -> float | None:
    """What a matrix leaves of a distance from the mean over the clients; None where it does not keep the mean."""
    if any(sum(column) != 1 for column in zip(*rows, strict=True)):
        return None
    W = torch.tensor([[float(weight) for weight in row] for row in rows], dtype=torch.float64)
    return float(torch.linalg.matrix_norm(W - 1 / len(W), 2))


def mixing(method: Any) -> Iterator[str]:
    """Where the matrix of a method does not do what it says for some number of clients."""
    for clients in CLIENTS:
        left = contraction(method.mixing(clients))
        if left is None:
            yield f"{clients} clients: the matrix of {method.name} does not keep the mean"
            return
        said, beyond = method.measure(clients), left - 1e-6
        for quantity, value, true, says_more in (
            ("mixing_contraction", beyond, left, said.get("mixing_contraction", 1) < left - ROUNDING),
            ("spectral_gap", 1 - beyond, 1 - left, said.get("spectral_gap", 0) > 1 - left + ROUNDING),
        ):
            if says_more or (left > 1e-3 and method.attains(quantity, value, clients)):
                yield f"{clients} clients: {method.name} says that its {quantity} is better than {true:.6g}, which it is"
                return
