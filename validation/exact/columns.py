"""Which sign is which: the numbering that runs in doubles and exact runs share, and draws that are read off it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from math import prod
from typing import Any, ClassVar, Self

import torch
from torch import Tensor


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
