"""Instances in other units: what is not homogeneous in a statement is made as small as one likes beside what is.

A statement that is homogeneous says the same in all units. One that has sigma where it should have sigma^2 does not: an instance on which
the term cannot be missed shows it, in units in which sigma is large.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np

from ...bounds.language.dimension import INNER, OBJECTIVE, ONE, VARIABLE, Dimension
from ...bounds.language.theorem import Theorem
from .unit_cube import UnitCube

Array = np.ndarray
_SLOPE, _OUTER, _CURVATURE = OBJECTIVE / VARIABLE, OBJECTIVE / INNER, OBJECTIVE / VARIABLE**2
_BEHIND = {
    "inner_slope": INNER / VARIABLE,
    "inner_offset": INNER,
    "value_noise": INNER,
    "jacobian_noise": INNER / VARIABLE,
    "noise_reach": VARIABLE,
    "gradient_noise": _OUTER,
    "knots": INNER,
    "slopes": _OUTER,
    "start": VARIABLE,
}
_TWO_VARIABLES = {
    "knots": VARIABLE,
    "slopes": _SLOPE,
    "gradient_noise": _SLOPE,
    "coupling": OBJECTIVE / (VARIABLE * INNER),
    "dual_curvature": OBJECTIVE / INNER**2,
    "dual_tilt": _OUTER,
    "dual_noise": _OUTER,
    "start": VARIABLE,
    "estimate": INNER,
}
DIMENSIONS: Mapping[str, Mapping[str, Dimension]] = {
    "federated": {
        "knots": VARIABLE,
        "slopes": _SLOPE,
        "gradient_noise": _SLOPE,
        "curvature": _CURVATURE,
        "start": VARIABLE,
    },
    "local_composite": _BEHIND,
    "conditional": _BEHIND,
    "shared_composite": {
        **_BEHIND,
        "extra_knots": VARIABLE,
        "extra_slopes": _SLOPE,
        "gradient_noise": _SLOPE,
        "estimate": INNER,
    },
    "meta": {
        "knots": VARIABLE,
        "curvatures": _CURVATURE,
        "tilt": _SLOPE,
        "gradient_noise": _SLOPE,
        "alpha": ONE / _CURVATURE,
        "start": VARIABLE,
    },
    "minimax": _TWO_VARIABLES,
    "bilevel": {**_TWO_VARIABLES, "dual_knots": INNER, "dual_slopes": _OUTER, "lower_noise": _OUTER},
}
"""Kind -> the dimension of each parameter."""
_OWN_UNIT = ("meta",)
"""Kinds whose spaces choose the unit of the variable: their Hessian is 1 where a fine-tuning step begins."""


def in_unit(kind: str, parameters: dict[str, Array], cube: UnitCube) -> dict[str, Array]:
    """The same instances with the variable measured in another unit, where a kind has one that is free."""
    if kind in _OWN_UNIT:
        return parameters
    unit = cube.unit(3)
    return {name: _times(array, unit ** -int(DIMENSIONS[kind][name].x)) for name, array in parameters.items()}


def in_units(
    kind: str, parameters: dict[str, Array], *, f: Array | float = 1.0, y: Array | float = 1.0
) -> dict[str, Array]:
    """The same instances with objective and inner value measured in other units, in which they are so many times as large, `(count,)`."""

    def factor(dimension: Dimension) -> Array:
        powers = ((f, int(dimension.f)), (y, int(dimension.y)))
        above, below = (prod(unit ** (side * power) for unit, power in powers if side * power > 0) for side in (1, -1))
        return np.asarray(above / below)

    return {name: _times(array, factor(DIMENSIONS[kind][name])) for name, array in parameters.items()}


def _times(array: Array, factor: Array) -> Array:
    made: Array = array * factor.reshape(-1, *[1] * (array.ndim - 1))
    return made


@dataclass(frozen=True)
class Units:
    """Units of objective, inner value and variable in which a number is 2 to these powers as large."""

    f: int = 0
    y: int = 0
    x: int = 0

    def times(self, dimension: Dimension) -> float:
        """What a number of this dimension is multiplied by; an even power gives roots of a unit exactly too."""
        return float(2.0 ** (dimension.f * self.f + dimension.y * self.y + dimension.x * self.x))

    def of(self, kind: str, parameters: dict[str, Array]) -> dict[str, Array]:
        """The same instances in these units."""
        if self == SAME:
            return parameters
        return {name: array * self.times(DIMENSIONS[kind][name]) for name, array in parameters.items()}


SAME = Units()
_DIRECTIONS = tuple(
    Units(*(s * p for p in powers)) for powers in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 1, 1)) for s in (1, -1)
)
_POWERS, _DECLARED = (20, 40), (10, 20)
"""Exponents of 2: of the units, and of how much smaller than its largest unit a constant is declared that the instance does not have."""


def units_against(theorem: Theorem, dimension: Dimension) -> Iterator[tuple[Units, float]]:
    """Units in which a quantity is large, with the least that it is declared as there (0: as little as it is).

    Where a paper sets units to 1, those that respect it.
    """
    kept = [d for d in _DIRECTIONS if all(d.times(unit) == 1 for unit in theorem.unit_choices)]
    for direction in (d for d in kept if d.times(dimension) > 1):
        for power in _POWERS:
            units = Units(direction.f * power, direction.y * power, direction.x * power)
            yield units, 0.0
        for less in _DECLARED:
            yield units, units.times(dimension) / 2.0**less
