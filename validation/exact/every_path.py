"""Infinitely many clients, whose noise is independent: of each of them every path of signs within a round is followed by an equal part.

The average over the clients is then no longer random, and what one client's noise does to it, where a function bends, is seen by
itself. A statement is about a finite number N of them; the exact check says how far that can be from this limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .columns import SignDraws

Array = np.ndarray


class EveryPath(SignDraws):
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
    ) -> None:
        super().__init__(clients * 2**bits, runs, drawn=1)
        self.groups, self.bits, self.wrap, self.turned = clients, bits, wrap, turned

    def taken(self, first: int, size: int, tail: tuple[int, ...]) -> Any:
        if first + size > self.bits:
            raise ValueError(f"a client asks for more than {self.bits} signs in a round")
        paths = torch.arange(2**self.bits).unsqueeze(1) >> (first + torch.arange(size))
        table = ((paths & 1).double() * 2 - 1).repeat(self.groups, 1)
        if self.turned is not None:
            table[self.turned] = -table[self.turned]
        return self.wrap(table.reshape(1, self.clients, *tail).expand(self.runs, -1, *tail))


def laid_out(parameters: Mapping[str, Array], shapes: Mapping[str, str], bits: int) -> dict[str, Array]:
    """Arrays `(count, clients, ...)` with every client as often as it has paths."""
    return {
        name: np.repeat(array, 2**bits, axis=1) if shapes[name] in ("client", "knots") else array
        for name, array in parameters.items()
    }
