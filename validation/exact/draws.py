"""Draws without chance, which runs in doubles and exact runs share: numbered signs, every path of each client, choices of clients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from copy import copy
from itertools import combinations
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

Array = np.ndarray


class Columns:
    """Where the signs of each draw stand: they are numbered in the order in which they are asked for."""

    def __init__(self) -> None:
        self._first: dict[tuple[object, ...], int] = {}
        self.count = 0

    def of(self, key: tuple[object, ...], size: int) -> int:
        """The first of `size` columns that belong to a key."""
        if key not in self._first:
            self._first[key], self.count = self.count, self.count + size
        return self._first[key]


class SignDraws(ABC):
    """The draws of runs in which everybody takes part and nothing is random but fair signs.

    Args:
        clients: that draw.
        runs: lanes beside each other.
        drawn: clients whose signs are numbered together.
    """

    refusal: ClassVar[type[Exception]] = ValueError
    """What is raised where a run is random in more than signs."""

    def __init__(self, clients: int, runs: int, drawn: int | None = None) -> None:
        self.clients, self.runs, self.seed_indices, self.step = clients, runs, (0,), -1
        self.drawn, self.columns = clients if drawn is None else drawn, Columns()

    def at(self, step: int) -> Self:
        """The draws of one step, numbered with the others."""
        other = copy(self)
        other.step = step
        return other

    @property
    def per_seed(self) -> Self:
        return self

    def signs(self, purpose: str, *tail: int) -> Any:
        """`(runs, clients, *tail)`."""
        size = self.drawn * prod(tail)
        return self.taken(self.columns.of((self.step, purpose, *tail), size), size, tail)

    @abstractmethod
    def taken(self, first: int, size: int, tail: tuple[int, ...]) -> Any:
        """The signs of some columns."""

    def subset(self, purpose: str, size: int) -> Tensor:
        """Who takes part: everybody.

        Raises:
            ValueError: fewer are asked for; in exact numbers an `InexactError`.
        """
        if size != self.clients:
            raise self.refusal(f"{size} of {self.clients} clients take part: the run is random in more than signs")
        return torch.ones(self.runs, self.clients, dtype=torch.float64)


class EveryPath(SignDraws):
    """The draws of one round in which each client is laid out along all paths of its signs, `clients * 2**bits` beside each other.

    Of infinitely many clients, whose noise is independent, an equal part follows each path. The average over them is no longer random,
    and what one client's noise does to it, where a function bends, is seen by itself. A statement is about a finite number N of
    them; the exact check says how far that can be from this limit.

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


def choices(clients: int, size: int) -> list[tuple[int, ...]]:
    """The sets of so many clients, as 0/1 masks."""
    return [tuple(int(k in chosen) for k in range(clients)) for chosen in combinations(range(clients), size)]


class Chosen:
    """The draws of runs in which given clients take part, `(runs, clients)`; nothing else may be drawn."""

    def __init__(self, mask: Tensor) -> None:
        self.mask, self.runs, self.clients, self.seed_indices = mask, len(mask), mask.shape[1], (0,)

    def at(self, step: int) -> Chosen:
        return self

    @property
    def per_seed(self) -> Chosen:
        return self

    def subset(self, purpose: str, size: int) -> Tensor:
        if not bool((self.mask.sum(-1) == size).all()):
            raise ValueError(f"{size} clients are asked for, the mask has {self.mask.sum(-1).tolist()[:3]}")
        return self.mask


def masks(clients: int, size: int, repeats: int) -> Tensor:
    """Every choice for each of `repeats` runs: the choices of one run lie beside each other."""
    return torch.tensor(choices(clients, size), dtype=torch.float64).repeat(repeats, 1)
