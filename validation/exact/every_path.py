"""Infinitely many clients, whose noise is independent: of each of them every path of signs within a round is followed by an equal part.

The average over the clients is then no longer random, and what one client's noise does to it, where a function bends, is seen by
itself. A statement is about a finite number N of them; the exact check says how far that can be from this limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .columns import Columns

Array = np.ndarray


class EveryPath:
    """The draws of one round in which each client is laid out along all paths of its signs, `clients * 2**bits` beside each other.

    Args:
        clients: of the problem, before they are laid out.
        bits: signs that a client asks for in a round.
        runs: instances.
        wrap: what makes the signs numbers of another kind.
        turned: the place of one that takes the opposite path.
    """

    def __init__(
        self,
        clients: int,
        bits: int,
        runs: int = 1,
        wrap: Callable[[Tensor], Any] = lambda signs: signs,
        turned: int | None = None,
        step: int = -1,
        columns: Columns | None = None,
    ) -> None:
        self.groups, self.bits, self.runs, self.wrap, self.turned, self.step = clients, bits, runs, wrap, turned, step
        self.clients, self.seed_indices, self.columns = clients * 2**bits, (0,), columns or Columns()

    def at(self, step: int) -> EveryPath:
        return EveryPath(self.groups, self.bits, self.runs, self.wrap, self.turned, step, self.columns)

    @property
    def per_seed(self) -> EveryPath:
        return self

    def signs(self, purpose: str, *tail: int) -> Any:
        size = prod(tail)
        first = self.columns.of((self.step, purpose, *tail), size)
        if first + size > self.bits:
            raise ValueError(f"a client asks for more than {self.bits} signs in a round")
        paths = torch.arange(2**self.bits).unsqueeze(1) >> (first + torch.arange(size))
        table = ((paths & 1).double() * 2 - 1).repeat(self.groups, 1)
        if self.turned is not None:
            table[self.turned] = -table[self.turned]
        return self.wrap(table.reshape(1, self.clients, *tail).expand(self.runs, -1, *tail))

    def subset(self, purpose: str, size: int) -> Tensor:
        if size != self.clients:
            raise ValueError(f"{size} of {self.clients} clients take part: a crowd takes part as a whole")
        return torch.ones(self.runs, self.clients, dtype=torch.float64)


def laid_out(parameters: Mapping[str, Array], shapes: Mapping[str, str], bits: int) -> dict[str, Array]:
    """Arrays `(count, clients, ...)` with every client as often as it has paths."""
    return {
        name: np.repeat(array, 2**bits, axis=1) if shapes[name] in ("client", "knots") else array
        for name, array in parameters.items()
    }
