"""The mean of r tanh(eta.x / r) over draws of eta, and its gradient: what invariant logistic regression spends its time on.

eta is a + shake e_i or a - shake e_i. One draw is formed; of several draws only a.x and the coordinates of x that were
drawn are needed; and very many are counted, so that their cost no longer grows. Shapes: `grid` or `seeds` of a sample
may be 1, as all grid points of a seed share it. What `saturation` is called is r, and eta, a, shake and push are given
times 2 / r: then eta.x is the argument of the exponential that all are computed from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor


def below(twice: Tensor) -> Tensor:
    """(1 - tanh(t)) / 2 = 1 / (1 + exp(2 t)) from 2 t, which is written over; exp costs a third of tanh."""
    exponential = twice.exp_()
    shifted = exponential.add(1.0) if exponential.requires_grad else exponential.add_(1.0)
    return shifted.reciprocal_()


def _quarter_slope(below: Tensor) -> Tensor:
    """A quarter of tanh' where `below` is that of the same argument."""
    return torch.addcmul(below, below, below, value=-1)


def _plus_product(onto: Tensor, one: Tensor, other: Tensor, scale: float) -> Tensor:
    """onto + scale * one * other, over `onto` where that has all rows of `other`: it has not in a batch of several."""
    if onto.shape[:-1] == other.shape[:-1]:
        return onto.addcmul_(one, other, value=scale)
    return torch.addcmul(onto, one, other, value=scale)


class AbstractMargins(ABC):
    """The margins of x `(grid, seeds, clients, 1, dim)` at the draws of eta for each outer sample."""

    saturation: float

    @property
    @abstractmethod
    def _below(self) -> Tensor:
        """The mean of `below` over the draws, `(grid, seeds, clients, batch, 1)`."""

    @property
    def mean(self) -> Tensor:
        """The mean margin, `(grid, seeds, clients, batch, 1)`."""
        return torch.rsub(self._below, self.saturation, alpha=2 * self.saturation)

    @abstractmethod
    def pull(self, v: Tensor, onto: Tensor, sign: float = 1.0) -> Tensor:
        """`onto`, which may be written over, + sign * v * gradient of the mean margin, `(…, clients, batch, dim)`."""


@dataclass(frozen=True, eq=False)
class OneDraw(AbstractMargins):
    """One draw for each outer sample: eta `(…, batch, dim)`, and `below` there `(…, batch, 1)`."""

    saturation: float
    eta: Tensor
    there: Tensor

    @staticmethod
    def of(x: Tensor, eta: Tensor, saturation: float) -> OneDraw:
        return OneDraw(saturation, eta, below((eta * x).sum(-1, keepdim=True)))

    @property
    def _below(self) -> Tensor:
        return self.there

    def pull(self, v: Tensor, onto: Tensor, sign: float = 1.0) -> Tensor:
        return _plus_product(onto, self.eta, _quarter_slope(self.there).mul_(v), sign * 2 * self.saturation)


@dataclass(frozen=True, eq=False)
class Listed(AbstractMargins):
    """m draws a + push e_axis for each outer sample: axis, push and `below` there are `(…, batch, m)`."""

    saturation: float
    a: Tensor
    axis: Tensor
    push: Tensor
    there: Tensor

    @staticmethod
    def of(x: Tensor, a: Tensor, axis: Tensor, push: Tensor, saturation: float) -> Listed:
        shape = tuple(map(max, x.shape[:-1], axis.shape[:-1]))
        axis = axis.expand(*shape, -1)
        drawn = x.expand(*shape, -1).gather(-1, axis)
        return Listed(saturation, a, axis, push, below(torch.addcmul((a * x).sum(-1, keepdim=True), drawn, push)))

    @property
    def _below(self) -> Tensor:
        return self.there.sum(-1, keepdim=True) / self.there.shape[-1]

    def pull(self, v: Tensor, onto: Tensor, sign: float = 1.0) -> Tensor:
        slopes, scale = _quarter_slope(self.there).mul_(v), sign * 2 * self.saturation / self.there.shape[-1]
        pulled = _plus_product(onto, self.a, slopes.sum(-1, keepdim=True), scale)
        return pulled.scatter_add_(-1, self.axis, slopes.mul_(scale * self.push))


@dataclass(frozen=True, eq=False)
class Counted(AbstractMargins):
    """All 2 dim outcomes: `below` at a + shake e_i and at a - shake e_i, `(…, batch, dim)`, and how much each counts."""

    saturation: float
    a: Tensor
    shake: float
    up: Tensor
    down: Tensor
    shares: tuple[Tensor, Tensor]

    @staticmethod
    def of(x: Tensor, a: Tensor, shake: float, shares: tuple[Tensor, Tensor], saturation: float) -> Counted:
        along = (a * x).sum(-1, keepdim=True)
        up, down = torch.add(along, x, alpha=shake), torch.sub(along, x, alpha=shake)
        return Counted(saturation, a, shake, below(up), below(down), shares)

    @property
    def _below(self) -> Tensor:
        return (self.up * self.shares[0]).addcmul_(self.down, self.shares[1]).sum(-1, keepdim=True)

    def pull(self, v: Tensor, onto: Tensor, sign: float = 1.0) -> Tensor:
        up, down = _quarter_slope(self.up).mul_(self.shares[0]), _quarter_slope(self.down).mul_(self.shares[1])
        scale = sign * 2 * self.saturation
        pulled = _plus_product(onto, up - down, v, scale * self.shake)
        return pulled.addcmul_(self.a, up.add_(down).sum(-1, keepdim=True).mul_(v), value=scale)
