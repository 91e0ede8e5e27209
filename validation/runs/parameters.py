"""Parameters of the certified families that the instances of several papers share.

From far away every bound is mostly its initialisation term. A start at a stationary point (`AT_REST`: target 0, so that
the objective has no slope at the start) leaves noise, drift and bias alone, and shows what those terms are worth.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NEAR: Mapping[str, Any] = {"start": 8.0, "dim": 8}
"""Parameters for shorter runs: the bounds need T in proportion to the objective gap, which `start` sets."""
AT_REST: Mapping[str, Any] = {"start": 0.0, "target": 0.0, "dim": 8}
LOCAL_NOISE: Mapping[str, Any] = {"clients": 4, "inner_dim": 1, "sigma_g": 0.3, "delta_g": 0.3}
"""Local composite problems with large inner noise."""
NOISY_AT_REST: Mapping[str, Any] = {**AT_REST, **LOCAL_NOISE, "sigma_f": 0.3}
WITHOUT_NOISE: Mapping[str, Any] = {"sigma": 0.0}
"""Parameters for statements about exact gradients."""
SETS: Mapping[str, Mapping[str, Any]] = {
    "near": NEAR,
    "at_rest": AT_REST,
    "local_noise": LOCAL_NOISE,
    "noisy_at_rest": NOISY_AT_REST,
}
"""The sets of parameters, by the names that the tables of the papers' runs use."""
