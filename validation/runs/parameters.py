"""Parameters of the certified families that the instances of several papers share.

From far away every bound is mostly its initialisation term. A start at a stationary point (`AT_REST`: target 0, so that
the objective has no slope at the start) leaves noise, drift and bias alone, and shows what those terms are worth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

NEAR: Mapping[str, Any] = {"start": 8.0, "dim": 8}
"""A shorter run: the bounds need T in proportion to the objective gap, which `start` sets."""
AT_REST: Mapping[str, Any] = {"start": 0.0, "target": 0.0, "dim": 8}
LOCAL_NOISE: Mapping[str, Any] = {"clients": 4, "inner_dim": 1, "sigma_g": 0.3, "delta_g": 0.3}
"""Local composite problems with large inner noise."""
NOISY_AT_REST: Mapping[str, Any] = {**AT_REST, **LOCAL_NOISE, "sigma_f": 0.3}
LADDER = (2, 4, 8, 16)
"""Numbers of clients, or sizes of a batch, along a sweep."""
LEVELS = (0.1, 0.2, 0.4, 0.8)
"""Noises along a sweep."""


def powers(power: int, roots: Sequence[int], factor: int = 1) -> tuple[int, ...]:
    """Horizons T = factor n^power, for which a schedule with roots of T gives whole numbers."""
    return tuple(factor * n**power for n in roots)


def root(T: int, power: int) -> int:
    """n with n^power = T.

    Raises:
        ValueError: T is no such power; the schedule would not hold.
    """
    n = round(T ** (1 / power))
    if n**power != T:
        raise ValueError(f"T={T}: wanted n^{power}, for which the schedule gives whole numbers")
    return n
