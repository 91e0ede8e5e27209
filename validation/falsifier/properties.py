"""Named properties that a theorem may assume: how instances are made to have them, and how it is checked that they do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...synthetic.families.piecewise import FAMILIES
from ..exact.problem import ExactProblem

NOISES = tuple(dict.fromkeys(name for family in FAMILIES.values() for names in family.SIGNS for name in names))
"""Parameters that signs multiply."""


@dataclass(frozen=True)
class Property:
    """Parameters in which all clients must agree, that must vanish, or whose mean over the clients must rise from knot to knot.

    `each`: they must rise for every client. `kinds` of problem whose instances can be made to have it: all of them without it.
    """

    equal: tuple[str, ...] = ()
    zero: tuple[str, ...] = ()
    rising: tuple[str, ...] = ()
    each: bool = False
    kinds: tuple[str, ...] | None = None

    def imposed(self, parameters: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Arrays `(count, clients, ...)` changed so that the property holds."""
        equal = {
            n: np.repeat(parameters[n][:, :1], parameters[n].shape[1], axis=1) for n in self.equal if n in parameters
        }
        zero = {n: np.zeros_like(parameters[n]) for n in self.zero if n in parameters}
        rising = {n: np.sort(parameters[n], axis=-1) if self.each else sorted_mean(parameters[n]) for n in self.rising}
        return {**parameters, **equal, **zero, **rising}

    def holds(self, problem: ExactProblem) -> bool:
        """Whether an instance in exact numbers has it."""
        parameters = problem.parameters
        if self.kinds is not None and problem.kind not in self.kinds:
            return False
        if self.rising and not (problem.has_convex_clients if self.each else problem.is_convex):
            return False
        rows = [parameters[name] for name in self.equal if name in parameters]
        gone = [number for name in self.zero if name in parameters for number in _flat(parameters[name])]
        return all(row == listed[0] for listed in rows for row in listed) and not any(gone)


def sorted_mean(values: np.ndarray) -> np.ndarray:
    """Values of clients with the same knots, `(count, clients, knots)`: their differences stay."""
    mean = values.mean(axis=1, keepdims=True)
    sorted_values: np.ndarray = values - mean + np.sort(mean, axis=-1)
    return sorted_values


def _flat(value: Any) -> list[Any]:
    return [number for part in value for number in _flat(part)] if isinstance(value, list) else [value]


_COMPOSITE = ("local_composite", "shared_composite", "conditional")
PROPERTIES: Mapping[str, Property] = {
    "equal_inner_maps": Property(equal=("inner_slope", "inner_offset"), kinds=_COMPOSITE),
    "equal_outer_functions": Property(equal=("knots", "slopes"), kinds=_COMPOSITE),
    "one_outer_function": Property(equal=("knots", "slopes"), zero=("gradient_noise",), kinds=_COMPOSITE),
    "no_extra_term": Property(zero=("extra_slopes",), kinds=_COMPOSITE),
    "independent_clients": Property(),
    "deterministic": Property(zero=NOISES),
    "convex": Property(rising=("slopes",), kinds=("federated",)),
    "convex_clients": Property(rising=("slopes",), each=True, kinds=("federated",)),
}
"""Name -> what it says of the parameters of a family. Draws are independent over the clients in every family."""


def imposing(names: tuple[str, ...]) -> Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]:
    """A function that gives instances all of these properties."""

    def impose(parameters: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        for name in names:
            parameters = PROPERTIES[name].imposed(parameters)
        return parameters

    return impose
