"""What the families of compositions have in common: inner maps with ripples, and samples that are two independent fair signs."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from torch import Tensor

from ..kinds import AbstractComposite, Draws, Sample, batch_mean
from .inner_map import RippledMap
from .outer import CenteredOuter
from .patterns import sign_grid, start_beyond


@dataclass(frozen=True)
class SignPair(Sample):
    """Signs +-1, `(runs, clients, batch)`: one for a sampled inner map, one for another sampled function of the client."""

    inner: Tensor
    other: Tensor


def mean_sign(sample: Sample | None, which: str = "inner") -> Tensor | None:
    """The mean of one of the signs over a batch, `(runs, clients)`; None for the exact oracle."""
    return batch_mean(getattr(sample, which)) if isinstance(sample, SignPair) else None


class AbstractRippled(AbstractComposite):
    """g_k a `RippledMap`, f_k a `CenteredOuter`; the start is on the far side of the target."""

    OTHER: ClassVar[str]
    """What the second sign of a sample acts on: the name under which it is drawn."""
    target: float
    start: float
    device: str

    @property
    @abstractmethod
    def inner_map(self) -> RippledMap: ...

    @property
    @abstractmethod
    def _outer(self) -> CenteredOuter: ...

    @cached_property
    def initial_point(self) -> Tensor:
        return start_beyond(self.target, self.start, self.dim, self.device)

    def inner(self, x: Tensor, sample: Sample | None = None) -> Tensor:
        return self.inner_map.value(x, mean_sign(sample))

    def inner_vjp(self, x: Tensor, v: Tensor, sample: Sample | None = None) -> Tensor:
        return self.inner_map.vjp(x, v, mean_sign(sample))

    def outer(self, y: Tensor) -> Tensor:
        return self._outer.value(y)

    def sample(self, draws: Draws, batch: int, purpose: str = "sample") -> SignPair:
        return SignPair(draws.signs(f"{purpose}.inner", batch), draws.signs(f"{purpose}.{self.OTHER}", batch))

    def atoms(self) -> tuple[SignPair, Tensor]:
        inner, other, weights = sign_grid(self.clients, self.device)
        return SignPair(inner, other), weights
