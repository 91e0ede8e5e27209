"""Instances with noise: one decoder for each kind, the start at the minimiser or beside it.

Most are quadratic where their runs stay: a bowl is wide against its noise on a log-scale, so that the search finds out how far the run
goes. Noise in the Jacobian of an inner map is multiplied by the slope of an outer function: where that slope is the same wherever a run
comes, the run is affine in its signs (`level`); elsewhere a product of two random numbers is not, and every path is followed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from .properties import NOISES
from .unit_cube import UnitCube
from .units import in_units

Array = np.ndarray
Parameters = dict[str, Array]
_STILL_A_BOWL = -0.9
"""The part of the curvature that a second variable adds of which the clients' own may be the negative."""
_OFF = 0.4
"""Part of a coordinate on which an ingredient is left out."""
_SILENT = 0.7
"""Part of a coordinate on which the second client's Jacobian has the noise of the first one's, or none."""
_BESIDE = 1e-6
"""How far beside the minimiser long runs start, in units of how far they may come: the gap of the objective is more than rounding."""


def with_noise(cube: UnitCube, parameters: Parameters) -> Parameters:
    """The same instances with noise on their oracles, each on a log-scale of the function that it disturbs or left out."""
    made = dict(parameters)
    for name, size in _disturbed(parameters).items():
        if name in parameters:
            level = sometimes(cube) * size * cube.log(-4, 1)
            made[name] = level[:, None] * every_other(cube.clipped(0, 1), parameters[name].shape[1])
    return made


def every_other(second: Array, clients: int) -> Array:
    """1 for the first client, this part of it for the second, and so on, `(count, clients)`."""
    return np.stack([second if k % 2 else np.ones_like(second) for k in range(clients)], axis=1)


def _disturbed(parameters: Parameters) -> dict[str, Array]:
    """The sizes of the functions that noises disturb, `(count,)`."""
    reach = np.ptp(parameters["knots"], axis=-1).max(axis=1)
    # losses that are fine-tuned have gradients of about 1 where they start
    height = np.abs(parameters["slopes"]).max(axis=(1, 2)) if "slopes" in parameters else np.ones_like(reach)
    if "extra_slopes" in parameters:
        height = np.maximum(
            height * np.abs(parameters["inner_slope"]).max(axis=1), np.abs(parameters["extra_slopes"]).max(axis=(1, 2))
        )
    if "coupling" not in parameters:
        return {"value_noise": reach, "gradient_noise": height}
    pull = np.abs(parameters["coupling"]) * reach
    if "dual_slopes" not in parameters:
        return {
            "gradient_noise": height + pull * np.abs(parameters["coupling"]) / parameters["dual_curvature"],
            "dual_noise": pull,
        }
    steep = np.abs(parameters["dual_slopes"]).max(axis=(1, 2))
    return {"gradient_noise": height, "dual_noise": steep, "lower_noise": pull}


def silent(decode: Callable[[UnitCube, int, Mapping[str, int]], Parameters]) -> Callable[..., Parameters]:
    """The bowls of a decoder without their noise: long runs cost one lane, and nothing distracts from the start."""

    def made(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
        parameters = decode(cube, clients, settings)
        return {n: np.zeros_like(array) if n in NOISES else array for n, array in parameters.items()}

    return made


def sometimes(cube: UnitCube) -> Array:
    return (cube.take() > _OFF).astype(float)


def clients_around(mean: Array, difference: Array, clients: int) -> Array:
    """mean + difference, mean - difference, mean + difference ...; `(count, clients, ...)`."""
    signs = [0.0] if clients == 1 else [1.0 - 2.0 * (k % 2) for k in range(clients)]
    return np.stack([mean + sign * difference for sign in signs], axis=1)


def _pair(low: Array, high: Array) -> Array:
    return np.stack([low, high], axis=-1)


def local_composite(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """One bowl behind inner maps that differ, the start at the minimiser or off it."""
    return with_noise(cube, silent_composite(cube, clients))


def silent_composite(cube: UnitCube, clients: int) -> Parameters:
    """The same without noise."""
    slope, level, width, tall, wide = _inner_maps(cube, clients)
    steep = np.maximum((slope**2).sum(1), 1e-300)
    start = -(slope * level).sum(1) / steep + sometimes(cube) * cube.clipped(-1, 1) * width
    ends = np.broadcast_to(width[:, None], slope.shape)
    made = {
        **affine_inner(slope, level),
        "knots": _pair(-ends, ends),
        "slopes": _pair(-np.ones_like(ends), np.ones_like(ends)),
        "start": start,
    }
    return in_units("local_composite", made, f=tall, y=wide)


def _inner_maps(cube: UnitCube, clients: int) -> tuple[Array, Array, Array, Array, Array]:
    """Slopes and levels that differ, the width of a bowl behind them, and units of the objective and of the inner value."""
    slope = clients_around(cube.clipped(-1, 1), cube.clipped(-1, 1) * cube.log(-3, 0), clients)
    level = clients_around(np.zeros(len(slope)), sometimes(cube) * cube.log(-2, 1), clients)
    return slope, level, cube.log(0, 3), cube.unit(3), cube.unit(3)


def affine_inner(slope: Array, level: Array) -> Parameters:
    """Inner maps, and no noise."""
    silence = np.zeros_like(slope)
    return {"inner_slope": slope, "inner_offset": level, "value_noise": silence, "gradient_noise": silence}


def federated(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """A bowl for each client, their minimisers apart."""
    return with_noise(cube, _bowls(cube, clients))


def _bowls(cube: UnitCube, clients: int) -> Parameters:
    apart = sometimes(cube) * cube.log(-3, 0)
    centre = clients_around(np.zeros(len(apart)), apart, clients)
    width, tall = cube.log(0, 2), cube.unit(3)
    ends = np.broadcast_to(width[:, None], centre.shape)
    return {
        "gradient_noise": np.zeros_like(centre),
        "knots": _pair(centre - ends, centre + ends),
        "slopes": _pair(-ends, ends) * tall[:, None, None],
        "start": sometimes(cube) * cube.clipped(-1, 1) * width,
    }


def curved(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """The same with a curvature that they share, and steeper up to the knots or not at all."""
    made = federated(cube, clients, settings)
    steep = sometimes(cube)[:, None, None]
    rate = (np.ptp(made["slopes"][:, 0], axis=-1) / np.ptp(made["knots"][:, 0], axis=-1)) * cube.log(-3, 1)
    apart = made["knots"].mean(-1, keepdims=True) * rate[:, None, None]
    return {**made, "slopes": made["slopes"] * steep - apart * (1 - steep), "curvature": rate}


def shared_composite(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """A bowl behind the mean of inner maps that differ, further bowls of the clients, a free initial estimate."""
    return with_noise(cube, silent_shared(cube, clients))


def silent_shared(cube: UnitCube, clients: int) -> Parameters:
    """The same without noise."""
    slope, level, width, tall, wide = _inner_maps(cube, clients)
    centre = clients_around(np.zeros(len(slope)), sometimes(cube) * cube.log(-3, 0), clients)
    weight = sometimes(cube) * cube.log(-2, 1)
    ends = np.broadcast_to(width[:, None], slope.shape)
    start = sometimes(cube) * cube.clipped(-1, 1) * width
    estimate = slope.mean(1) * start + sometimes(cube) * cube.clipped(-1, 1) * cube.log(-2, 1)
    made = {
        **affine_inner(slope, level),
        "knots": _pair(-width, width)[:, None],
        "slopes": _pair(-np.ones_like(width), np.ones_like(width))[:, None],
        "extra_knots": _pair(centre - ends, centre + ends),
        "extra_slopes": _pair(-ends, ends) * (weight / width)[:, None, None],
        "start": start,
        "estimate": estimate,
    }
    return in_units("shared_composite", made, f=tall, y=wide)


def coupled(cube: UnitCube, made: Parameters, least: float = -np.inf) -> Parameters:
    """Clients with a second variable, which follows x: their best values of it apart, its start at the best one or beside it.

    What it adds to the curvature of the objective is on a log-scale of the clients' own, which is lowered, left out or turned, down to
    `least` of what is added.
    """
    width = np.ptp(made["knots"], axis=-1).max(axis=1)
    bend = (np.abs(np.diff(made["slopes"], axis=-1)) / np.diff(made["knots"], axis=-1)).max(axis=(1, 2)) + 1e-300
    added, wide = bend * cube.log(-3, 3), cube.unit(3)
    turned = np.maximum(cube.clipped(-1, 1), least * added / bend)
    curvature = added / wide**2
    coupling = added / wide
    apart = sometimes(cube) * cube.log(-3, 1) * coupling * width
    tilt = clients_around(np.zeros_like(apart), apart, made["knots"].shape[1])
    best = (coupling * made["start"] + tilt.mean(1)) / curvature
    return {
        **made,
        "slopes": made["slopes"] * turned[:, None, None],
        "coupling": coupling,
        "dual_curvature": curvature,
        "dual_tilt": tilt,
        "dual_noise": np.zeros_like(tilt),
        "estimate": best + sometimes(cube) * cube.clipped(-1, 1) * cube.log(-3, 2) * wide * width,
    }


def minimax(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """A bowl or a hill in x for each client, and a saddle that they share and that makes bowls of both."""
    return with_noise(cube, coupled(cube, _bowls(cube, clients), _STILL_A_BOWL))


def with_upper(cube: UnitCube, made: Parameters, knots: Array, slopes: Array) -> Parameters:
    """Upper levels with slopes in y as well, from knots and slopes `(count, clients, knots)` in units of their own.

    What they add to the curvature of the objective is on a log-scale of what the second variable adds without them.
    """
    rate, width = made["coupling"] / made["dual_curvature"], np.ptp(made["knots"], axis=-1).max(axis=1)
    wide = np.abs(rate) * width * cube.log(-2, 1) / np.ptp(knots, axis=-1).max(axis=1)
    steep = np.abs(np.diff(slopes, axis=-1) / np.diff(knots, axis=-1)).max(axis=(1, 2)) + 1e-300
    tall = made["dual_curvature"] / steep * wide
    return {
        **made,
        "dual_knots": knots * wide[:, None, None],
        "dual_slopes": slopes * tall[:, None, None],
        "lower_noise": np.zeros_like(made["dual_tilt"]),
    }


def bilevel(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """A bowl in x for each client, a bowl in y, and a lower level that they share."""
    made = coupled(cube, _bowls(cube, clients), 0.0)
    apart = sometimes(cube) * cube.log(-3, 0)
    centre = clients_around(sometimes(cube) * cube.clipped(-1, 1), apart, clients)
    ends = np.ones_like(centre)
    return with_noise(cube, with_upper(cube, made, _pair(centre - ends, centre + ends), _pair(-ends, ends)))


def meta(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """One Hessian that is 1 as far as the fine-tuning steps of two tilted clients lead, and falls slowly beyond."""
    return _tilted(cube, clients, settings, cube.log(-1, 3))


def meta_short(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """The same with short fine-tuning steps, without which a bias remains."""
    return _tilted(cube, clients, settings, cube.log(-7, -1))


def _tilted(cube: UnitCube, clients: int, settings: Mapping[str, int], alpha: Array) -> Parameters:
    far = (1 + alpha) ** settings["nu"] * cube.log(0.2, 1.5)
    fall = far * cube.log(-1, 2)
    return _plateau(alpha, far, fall, clients_around(-far - fall / 2, np.ones_like(alpha), clients))


def _plateau(alpha: Array, far: Array, fall: Array, tilt: Array) -> Parameters:
    """A Hessian that is 1 up to `far` from 0 and falls to 0 over `fall`, without noise, the start at 0."""
    one, zero = np.ones_like(alpha), np.zeros_like(alpha)
    return {
        "knots": np.stack([-far - fall, -far, far, far + fall], axis=-1)[:, None, :],
        "curvatures": np.stack([zero, one, one, zero], axis=-1)[:, None, :],
        "tilt": tilt,
        "gradient_noise": np.zeros_like(tilt),
        "alpha": alpha,
        "start": zero,
    }


def fine_tuned(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """The same with noise in every gradient, the clients' minimisers together or apart, fine-tuning steps down to tiny ones."""
    alpha, far = cube.log(-5, -0.3), cube.log(0, 3)
    fall, noise = far * cube.log(-1, 2), every_other(cube.clipped(0, 1), clients)
    tilt = clients_around(-far - fall / 2, sometimes(cube) * cube.log(-3, 1), clients)
    start = sometimes(cube) * cube.clipped(-1, 1) * far / 2
    return {**_plateau(alpha, far, fall, tilt), "gradient_noise": noise, "start": start}


# --- noise in the Jacobians of inner maps ---


def level(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """Outer functions that are straight lines around the start, flat far away on the side to which they fall."""
    steep = clients_around(cube.clipped(-1, 1), sometimes(cube) * cube.clipped(-1, 1), clients)
    made = _jolted_inner_maps(cube, clients)
    knots, slopes = _straight(cube, steep)
    made |= {
        "knots": knots,
        "slopes": slopes,
        "gradient_noise": sometimes(cube)[:, None] * cube.log(-4, 1)[:, None] * np.ones_like(steep),
        "start": sometimes(cube) * cube.clipped(-1, 1) * made["noise_reach"],
    }
    wide, tall = cube.unit(3), cube.unit(3)
    return in_units("local_composite", made, f=tall, y=wide)


def level_shared(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """One such outer function behind the mean of inner maps, bowls of the clients or nothing else, an estimate that is right or not."""
    made = _jolted_inner_maps(cube, clients)
    knots, slopes = _straight(cube, cube.clipped(-1, 1)[:, None])
    width = cube.log(-1, 3)
    centre = clients_around(np.zeros(len(width)), sometimes(cube) * cube.log(-3, 0), clients)
    ends = np.broadcast_to(width[:, None], centre.shape)
    steep = sometimes(cube) * cube.log(-3, 1)
    made |= {
        "knots": knots,
        "slopes": slopes,
        "extra_knots": _pair(centre - ends, centre + ends),
        "extra_slopes": _pair(-ends, ends) * (steep / width)[:, None, None],
        "gradient_noise": sometimes(cube)[:, None] * cube.log(-4, 1)[:, None] * np.ones_like(centre),
        "start": sometimes(cube) * cube.clipped(-1, 1) * made["noise_reach"],
    }
    wide, tall = cube.unit(3), cube.unit(3)
    off = np.maximum(cube.clipped(-1, 1), 0.0) * cube.log(-2, 1)
    made["estimate"] = made["inner_slope"].mean(1) * made["start"] + made["inner_offset"].mean(1) + off
    return in_units("shared_composite", made, f=tall, y=wide)


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
    return in_units("shared_composite", made, f=tall, y=wide)


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


def _jolted_inner_maps(cube: UnitCube, clients: int) -> Parameters:
    """Inner maps with noise in their Jacobians, and in their values or not."""
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
