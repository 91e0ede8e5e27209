"""Partial participation: a round is run by m clients, drawn uniformly without replacement."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

from torch import Tensor

from .draws import Draws
from .method import State

AnyState = TypeVar("AnyState", bound=State)


def participants(draws: Draws, m: int | None, purpose: str = "clients") -> Tensor | None:
    """The clients of a round as a 0/1 mask (runs, clients); None when all take part."""
    return None if m is None else draws.subset(purpose, m)


def at_round_start(
    state: AnyState, draws: Draws, t: int, period: int, m: int | None, purpose: str = "clients"
) -> AnyState:
    """The state with the clients of a new round, when step t begins one."""
    if m is None or t % period:
        return state
    return replace(state, active=participants(draws, m, purpose))


def fraction(problem: Any, m: int | None) -> int | Fraction:
    """The share of the rounds that one client takes part in, as a mean over clients."""
    return 1 if m is None else Fraction(m, problem.clients)
