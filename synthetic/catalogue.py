"""The registered problems: a name, the family that builds it, and its dials.

The FedDRO presets are tuned for Theorem 5.1 with eta = sqrt(bK/T): at the horizons in the comments the printed bound is
well below gradient_cap^2, so that a verdict can support it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from .counterexample import FedAvgCounterexample
from .problem import AbstractProblem
from .shared_composite import SharedComposite


@dataclass(frozen=True)
class Preset:
    """How to build a problem: `family(name=..., **dials)`."""

    family: Callable[..., AbstractProblem]
    summary: str
    dials: Mapping[str, Any] = field(default_factory=dict)


_FEDDRO = {"B_f": 1.0, "L_f": 0.2, "L_g": 0.1, "B_h": 0.3, "L_h": 0.1, "ripple": 0.8, "target": 2.0, "start": 20.0}

PRESETS: dict[str, Preset] = {
    "feddro_homogeneous": Preset(
        SharedComposite, "4 equal clients, little noise",
        _FEDDRO | {"clients": 4, "B_g": 1.05, "sigma_g": 0.1, "sigma_h": 0.1}),
    "feddro_heterogeneous": Preset(
        SharedComposite, "8 clients whose Jacobians and gradients differ as much as they turn",
        _FEDDRO | {"clients": 8, "inner_dim": 2, "B_g": 1.35, "sigma_g": 0.1, "sigma_h": 0.1,
                   "Delta_g": 0.35, "Delta_h": 0.25}),
    "feddro_noisy": Preset(
        SharedComposite, "16 equal clients with noise nearly as large as the signal",
        _FEDDRO | {"clients": 16, "inner_dim": 4, "B_g": 1.3, "sigma_g": 0.8, "sigma_h": 0.8}),
    "feddro_without_h": Preset(
        SharedComposite, "8 clients and h = 0, for Theorem 4.2",
        _FEDDRO | {"clients": 8, "inner_dim": 2, "B_h": 0.0, "L_h": 0.0, "B_g": 1.35, "Delta_g": 0.35, "sigma_g": 0.1}),
    "feddro_counterexample": Preset(FedAvgCounterexample, "the paper's two clients on which vanilla FedAvg fails"),
}


def problems() -> tuple[str, ...]:
    """The names of the registered problems."""
    return tuple(PRESETS)


def problem(name: str, **dials: Any) -> AbstractProblem:
    """A registered problem; `dials` override those of the preset.

    Raises:
        ValueError: for an unknown name or dial.

    Example:
        >>> problem("feddro_noisy", clients=4).clients
        4
    """
    if name not in PRESETS:
        raise ValueError(f"unknown problem {name!r}; known are {', '.join(PRESETS)}")
    preset = PRESETS[name]
    known = set(signature(preset.family).parameters)
    if not dials.keys() <= known:
        raise ValueError(f"problem {name} has no dial {sorted(dials.keys() - known)}; it has {sorted(known)}")
    return preset.family(**{"name": name, **preset.dials, **dials})
