"""Instances with noise in the Jacobians of their inner maps, which is multiplied by the slope of an outer function.

Where that slope is the same wherever a run comes, the run is affine in its signs (`level`). Elsewhere a product of two random
numbers is not, and every path is followed (`bowls`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from .noisy_quadratics import clients_around, every_other, sometimes
from .unit_cube import UnitCube

Array = np.ndarray
Parameters = dict[str, Array]
_SILENT = 0.7
"""Part of a coordinate on which the second client's Jacobian has the noise of the first one's, or none."""
_BESIDE = 1e-6
"""How far beside the minimiser long runs start, in units of how far they may come: the gap of the objective is more than rounding."""


def level(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """Outer functions that are straight lines around the start, flat far away on the side to which they fall."""
    steep = clients_around(cube.clipped(-1, 1), sometimes(cube) * cube.clipped(-1, 1), clients)
    made = _inner_maps(cube, clients)
    knots, slopes = _straight(cube, steep)
    made |= {
        "knots": knots,
        "slopes": slopes,
        "gradient_noise": sometimes(cube)[:, None] * cube.log(-4, 1)[:, None] * np.ones_like(steep),
        "start": sometimes(cube) * cube.clipped(-1, 1) * made["noise_reach"],
    }
    wide, tall = cube.unit(3), cube.unit(3)
    return _in_units(made, wide, tall)


def level_shared(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """One such outer function behind the mean of inner maps, bowls of the clients or nothing else, an estimate that is right or not."""
    made = _inner_maps(cube, clients)
    knots, slopes = _straight(cube, cube.clipped(-1, 1)[:, None])
    width = cube.log(-1, 3)
    centre = clients_around(np.zeros(len(width)), sometimes(cube) * cube.log(-3, 0), clients)
    ends = np.broadcast_to(width[:, None], centre.shape)
    steep = sometimes(cube) * cube.log(-3, 1)
    made |= {
        "knots": knots,
        "slopes": slopes,
        "extra_knots": np.stack([centre - ends, centre + ends], axis=-1),
        "extra_slopes": np.stack([-ends, ends], axis=-1) * (steep / width)[:, None, None],
        "gradient_noise": sometimes(cube)[:, None] * cube.log(-4, 1)[:, None] * np.ones_like(centre),
        "start": sometimes(cube) * cube.clipped(-1, 1) * made["noise_reach"],
    }
    wide, tall = cube.unit(3), cube.unit(3)
    off = np.maximum(cube.clipped(-1, 1), 0.0) * cube.log(-2, 1)
    made["estimate"] = made["inner_slope"].mean(1) * made["start"] + made["inner_offset"].mean(1) + off
    return _in_units(made, wide, tall)


def lasting_shared(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """Clients that drift apart behind one inner map, in front of a Huber function about as wide as the noise can lead.

    With beta = B_g^2 L_f eta the error of y is at most about twice the noise times the drift over the rate of f', which is 1 here.
    """
    noise, wide, tall = cube.log(-3.5, -0.3), cube.unit(3), cube.unit(3)
    reach = 2 * noise * cube.log(-0.5, 1.5)
    end = 2 * reach * cube.log(-0.3, 0.5)
    ones, none = np.ones((len(noise), clients)), np.zeros((len(noise), clients))
    drift = clients_around(0 * noise, np.ones_like(noise), clients)
    far = 10 * np.maximum(reach, end)[:, None, None]
    around = np.array([-1.0, 1.0])
    made = {
        "inner_slope": ones,
        "inner_offset": none,
        "value_noise": none,
        "jacobian_noise": noise[:, None] * ones,
        "noise_reach": reach,
        "knots": end[:, None, None] * around,
        "slopes": end[:, None, None] * around,
        "extra_knots": far * around * ones[..., None],
        "extra_slopes": np.repeat(drift[..., None], 2, axis=-1),
        "gradient_noise": none,
        "start": _BESIDE * reach,
        "estimate": _BESIDE * reach,
    }
    return _in_units(made, wide, tall)


def with_inner_noise(decode: Callable[[UnitCube, int], Parameters]) -> Callable[..., Parameters]:
    """The instances of a decoder with noise in their Jacobians and, on the same sign, in their inner values or not."""

    def made(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
        parameters = decode(cube, clients)
        reach = np.ptp(parameters["knots"], axis=-1).max(axis=1)
        of_value, of_jacobian = sometimes(cube) * reach * cube.log(-4, 0), reach * cube.log(-4, 1)
        return {
            **parameters,
            "value_noise": of_value[:, None] * np.ones_like(parameters["inner_slope"]),
            "jacobian_noise": of_jacobian[:, None] * _per_client(cube, clients),
            "noise_reach": cube.log(-2, 2),
        }

    return made


def _inner_maps(cube: UnitCube, clients: int) -> Parameters:
    slope = clients_around(cube.clipped(-1, 1), sometimes(cube) * cube.clipped(-1, 1), clients)
    noise = cube.log(-3, 1)[:, None] * _per_client(cube, clients)
    return {
        "inner_slope": slope,
        "inner_offset": clients_around(np.zeros(len(slope)), sometimes(cube) * cube.log(-2, 0), clients),
        "value_noise": sometimes(cube)[:, None] * cube.log(-4, 0)[:, None] * np.ones_like(slope),
        "jacobian_noise": noise,
        "noise_reach": cube.log(-3, 3),
    }


def _per_client(cube: UnitCube, clients: int) -> Array:
    return every_other(np.clip(cube.take() / _SILENT, 0.0, 1.0), clients)


def _straight(cube: UnitCube, steep: Array) -> tuple[Array, Array]:
    """Knots and values of slopes that are `steep`, `(count, clients)`, around 0, and 0 far away where the function falls."""
    far = cube.log(0.3, 4)
    fall = far * cube.log(-1, 3)
    knots = np.stack([-far - fall, -far, far, far + fall], axis=-1)[:, None]
    values = np.stack([np.minimum(steep, 0.0), steep, steep, np.maximum(steep, 0.0)], axis=-1)
    return np.broadcast_to(knots, values.shape).copy(), values


def _in_units(made: Parameters, wide: Array, tall: Array) -> Parameters:
    """The same instances with the inner value and the objective measured in other units."""
    of_inner = ("inner_slope", "inner_offset", "value_noise", "jacobian_noise", "knots", "estimate")
    factors = (
        dict.fromkeys(of_inner, wide) | dict.fromkeys(("slopes",), tall / wide) | dict.fromkeys(("extra_slopes",), tall)
    )
    factors["gradient_noise"] = tall if "extra_slopes" in made else tall / wide
    return {
        name: array * factors[name].reshape(-1, *[1] * (array.ndim - 1)) if name in factors else array
        for name, array in made.items()
    }
