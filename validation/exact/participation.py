"""Endless runs whose rounds are random: which clients take part. Second moments in closed form where a round is affine.

Given its choice j of clients, a round takes v to a_j v + b_j and passes gradients d_jt + e_jt v on the way. The choices are
independent, so that E v and E v^2 go to the solutions of

    m = E a m + E b,    S = E a^2 S + 2 E ab m + E b^2,

and the mean of the squared gradients to that of E d^2 + 2 E de m + E e^2 S. The same functions serve arrays of doubles
and of fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import torch
from torch import Tensor

Array = np.ndarray


@dataclass(frozen=True)
class RandomRound:
    """A round by choice, all choices equally likely: `a`, `b` are `(choices, ...)`, `d`, `e` are `(choices, steps, ...)`."""

    a: Array
    b: Array
    d: Array
    e: Array

    def mean_square(self) -> tuple[Any, Any]:
        """The mean of the squared gradients over infinitely many rounds, and K times how far that over K rounds is off.

        The second holds for starts in [-1, 1], where every choice keeps this interval.
        """
        a, b = _mean(self.a), _mean(self.b)
        aa, ab, bb = _mean(self.a * self.a), _mean(self.a * self.b), _mean(self.b * self.b)
        first = b / (1 - a)
        second = (bb + 2 * ab * first) / (1 - aa)
        dd, de, ee = (_mean(_mean(part, 1)) for part in (self.d * self.d, self.d * self.e, self.e * self.e))
        off = 2 / (1 - abs(a))
        off_second = (1 + 2 * abs(ab) * off) / (1 - aa)
        return dd + 2 * de * first + ee * second, 2 * abs(de) * off + ee * off_second


def _mean(values: Array, axis: int = 0) -> Array:
    found: Array = values.sum(axis=axis) / values.shape[axis]
    return found


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
