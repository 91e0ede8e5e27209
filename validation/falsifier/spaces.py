"""How points of the unit cube become instances, one decoder for each kind of problem.

Rules: clients are a mean plus or minus a difference, each on its own log-scale; kinks lie where the method looks, at distances
on log-scales; ends of ranges are hit; the units of value, inner value and variable are free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from . import noisy_instances
from .noisy_instances import affine_inner, clients_around
from .properties import sorted_mean
from .unit_cube import UnitCube
from .units import in_units

Array = np.ndarray
Parameters = dict[str, Array]


@dataclass(frozen=True)
class Space:
    """One way to draw instances of a kind.

    Args:
        name: for people: what the instances are.
        decode: (cube, clients, settings) -> parameters of the family, `(count,)`, `(count, clients)` or
            `(count, clients, knots)`.
        own_noise: the instances have noise; else it is added where an expectation is taken.
        clients: numbers of clients to try; three of them along the run of a lemma.
        shifted: parameters and numbers in [-1, 1] -> the parameters moved; a round then moves the start to the right at -1
            and to the left at 1, or the instance is left out. Endless runs are looked for along it.
    """

    name: str
    decode: Callable[[UnitCube, int, Mapping[str, int]], Parameters]
    own_noise: bool = False
    clients: tuple[int, ...] = (2, 1, 3)
    shifted: Callable[[Parameters, Array], Parameters] | None = None


def _knots(cube: UnitCube, low: float, high: float) -> Array:
    """Four knots around 0, two on either side, their distances on log-scales. `(count, 4)`."""
    near_left, near_right, far_left, far_right = (cube.log(low, high) for _ in range(4))
    return np.stack([-near_left - far_left, -near_left, near_right, near_right + far_right], axis=-1)


def _values(cube: UnitCube, *, rising: bool) -> Array:
    """Four values with one log-scale; where `rising`, the first is at most 0 and the last at least 0."""
    values = np.stack([cube.clipped(-1, 1) for _ in range(4)], axis=-1)
    if rising:
        values[..., 0], values[..., -1] = -np.abs(values[..., 0]), np.abs(values[..., -1])
    return values * cube.log(-3, 0)[..., None]


def _zeros(like: Array) -> Array:
    return np.zeros_like(like)


def _apart(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """Inner maps of any slopes and levels, outer functions that rise at both ends."""
    slope = clients_around(cube.clipped(-1, 1), cube.clipped(-1, 1), clients)
    apart, around = cube.log(-2, 1.5), _knots(cube, -2, 2)
    level = clients_around(_zeros(apart), apart, clients)
    around = clients_around(around, _zeros(around), clients)
    values = clients_around(_values(cube, rising=True), _values(cube, rising=False), clients)
    values[..., 0], values[..., -1] = -np.abs(values[..., 0]), np.abs(values[..., -1])
    return _composed(cube, slope, level, level[..., None] + around, values)


def _together(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """The identity as inner map; outer functions whose mean rises at both ends and whose difference is free."""
    mean, difference = _values(cube, rising=True), _values(cube, rising=False)
    around = _knots(cube, -3, 3)
    slope = np.ones((len(mean), clients))
    values = clients_around(mean, difference, clients)
    return _composed(cube, slope, _zeros(slope), clients_around(around, _zeros(around), clients), values)


def _centred(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """The same with a start at which the mean slope vanishes: neither a gap nor a first gradient hides what a round does."""
    made = _together(cube, clients, settings)
    knots, slopes = made["knots"], made["slopes"]
    left, right = slopes[..., 1], slopes[..., 2]
    part = -knots[..., 1] / (knots[..., 2] - knots[..., 1])
    level = (left + part * (right - left)).mean(1)[:, None, None]
    return {**made, "slopes": slopes - level}


def _huber(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """Equal Huber functions behind inner maps of any slopes, levels apart."""
    slope = clients_around(cube.clipped(-1, 1), cube.clipped(-1, 1), clients)
    level = clients_around(cube.clipped(-3, 3) * cube.log(-1, 1), cube.log(-1, 1.5), clients)
    one = np.broadcast_to(np.array([-1.0, 1.0]), (*slope.shape, 2))
    return _composed(cube, slope, level, one.copy(), one.copy())


def _tent(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """f' rises to a start and falls beyond it, and the noise of the inner value leads to the feet: no step is ever made.

    What the plug-in gradient expects there is 0, and the gradient is not: the bias of a nonlinear outer function, by itself.
    """
    foot, around = cube.clipped(0.5, 1.5), np.array([-1.0, 0.0, 1.0])
    slope = np.ones((len(foot), clients))
    knots = np.broadcast_to(around, (*slope.shape, 3)) * foot[:, None, None]
    heights = np.broadcast_to(np.array([0.0, 1.0, 0.0]), (*slope.shape, 3))
    made = _composed(cube, slope, _zeros(slope), knots, heights)
    return {**made, "value_noise": np.ptp(made["knots"], axis=-1) / 2}


def _composed(cube: UnitCube, slope: Array, level: Array, knots: Array, values: Array) -> Parameters:
    """Outer functions behind inner maps, without noise, in any units of the inner value and of the objective; the start at 0."""
    inner, objective = cube.unit(3), cube.unit(3)
    made = {**affine_inner(slope, level), "knots": knots, "slopes": values, "start": _zeros(inner)}
    return in_units("local_composite", made, f=objective, y=inner)


def _federated(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """Clients whose mean slope rises at both ends and whose difference is free."""
    parameters = _together(cube, clients, settings)
    return {name: parameters[name] for name in ("gradient_noise", "knots", "slopes", "start")}


def _curved(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """Clients that differ, with a curvature that they share: the mean slope rises for half of the coordinate, and is free for the other."""
    made = _federated(cube, clients, settings)
    slopes, rises = made["slopes"], (cube.take() > 0.5)[:, None, None]
    steepest = np.abs(slopes.mean(1)).max(-1) / np.ptp(made["knots"][:, 0], axis=-1)
    curvature = (steepest + 1e-300) * cube.log(-3, 2)
    return {**made, "slopes": np.where(rises, sorted_mean(slopes), slopes), "curvature": curvature}


def _saddle(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """Clients with piecewise linear slopes in x, and a saddle that they share."""
    return noisy_instances.coupled(cube, _federated(cube, clients, settings))


def _two_levels(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """Clients with piecewise linear slopes in x and in y, and a lower level that they share."""
    made, mean, difference = _saddle(cube, clients, settings), _values(cube, rising=True), _values(cube, rising=False)
    around = _knots(cube, -2, 2)
    values = clients_around(mean, difference, clients)
    return noisy_instances.with_upper(cube, made, clients_around(around, _zeros(around), clients), values)


def _shared(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """One outer function behind affine inner maps, an extra function per client, a free initial estimate."""
    slope = clients_around(cube.clipped(-1, 1), cube.clipped(-1, 1) * cube.log(-3, 0), clients)
    level = clients_around(cube.clipped(-1, 1), cube.clipped(-1, 1) * cube.log(-2, 1), clients)
    knots, values = _knots(cube, -2, 2), _values(cube, rising=True)
    around, mean, difference = _knots(cube, -2, 2), _values(cube, rising=True), _values(cube, rising=False)
    weight = (cube.take() > 0.5).astype(float)[:, None]
    inner, objective = cube.unit(3), cube.unit(3)
    made = {
        **affine_inner(slope, level),
        "knots": knots[:, None, :],
        "slopes": values[:, None, :],
        "extra_knots": clients_around(around, _zeros(around), clients),
        "extra_slopes": clients_around(weight * mean, weight * difference, clients),
        "start": _zeros(inner),
        "estimate": level.mean(1) + cube.clipped(-1, 1) * cube.log(-2, 2),
    }
    return in_units("shared_composite", made, f=objective, y=inner)


def _coarse(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """Splines whose clients differ visibly."""
    return _spline(cube, cube.log(-5, -0.5), clients)


def _fine(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """Splines whose clients hardly differ."""
    return _spline(cube, cube.log(-9, -5), clients)


def _short(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """Splines whose fine-tuning steps are short against the scale on which the Hessian is 1."""
    return _spline(cube, cube.log(-5, -0.5), clients, cube.log(-4, -0.7))


def _spline(cube: UnitCube, gap: Array, clients: int, alpha: Array | None = None) -> Parameters:
    """A Hessian with a kink where one fine-tuning step leads, in widths of the clients' difference; far hills that bound f.

    With slope 1 at the start 0 the first step leads to -alpha, and to -alpha (1 +- gap) for the two clients.
    """
    alpha = cube.log(-0.7, 1.2) if alpha is None else alpha
    width = alpha * gap
    curvatures = np.stack([cube.clipped(-1, 1) for _ in range(2)], axis=-1)
    at_start = cube.clipped(-1, 1) * (cube.take() > 0.5)
    steps = [width * cube.log(-0.5, 1) for _ in range(4)]
    return _laid_out(alpha, gap, curvatures, at_start, steps, clients)


def _laid_out(
    alpha: Array, gap: Array, curvatures: Array, at_start: Array, steps: list[Array], clients: int
) -> Parameters:
    """Knots from left to right: a bowl beyond the second step, where f_i' falls below 0, the kink at -alpha, a plateau around 0.

    To the right f_i' stays positive, so that every f_i has a minimum, and its derivative is at most about 2.
    """
    near = np.minimum(alpha / 8, 0.3)
    kink = [-alpha - steps[0] - steps[1], -alpha - steps[0], -alpha + steps[2], -alpha + steps[2] + steps[3]]
    plateau = [-2 * near, -near, near, 2 * near]
    left = kink[0] - 1.5 * alpha - 1.0
    reach = 2.0 + sum(steps, 2 * near + 2 * gap)
    knots = np.stack([left - reach - 1, left - reach, left - 1, left, *kink, *plateau], axis=-1)
    zero, one = np.zeros_like(alpha), np.ones_like(alpha)
    inner = [zero, curvatures[:, 0], curvatures[:, 1], zero]
    heights = np.stack([zero, one, one, zero, *inner, zero, at_start, at_start, zero], axis=-1)
    slope = 1.0 - _area_until_zero(knots, heights)
    tilt = clients_around(slope, gap, clients)
    return {
        "knots": knots[:, None, :],
        "curvatures": heights[:, None, :],
        "tilt": tilt,
        "gradient_noise": np.zeros_like(tilt),
        "alpha": alpha,
        "start": zero,
    }


def _area_until_zero(knots: Array, heights: Array) -> Array:
    """The integral of the Hessian from its first knot to 0."""
    widths = np.diff(knots, axis=-1)
    rates = np.diff(heights, axis=-1) / widths
    inside = np.clip(-knots[:, :-1], 0.0, widths)
    result: Array = (heights[:, :-1] * inside + rates * inside**2 / 2).sum(-1)
    return result


def _bent(cube: UnitCube, clients: int, settings: Mapping[str, int]) -> Parameters:
    """Convex losses whose Hessian changes around their minimisers, flat far away; fine-tuning steps of at most 1 / L."""
    around, alpha = _knots(cube, -1.5, 1.5), cube.log(-1.5, 0)
    heights = np.stack([cube.clipped(0, 1) for _ in range(4)], axis=-1)
    left, right = around[:, 0] - cube.log(0, 2), around[:, 3] + cube.log(0, 2)
    knots = np.concatenate([left[:, None], around, right[:, None]], axis=-1)
    curvatures = np.concatenate([0 * heights[:, :1], heights, 0 * heights[:, :1]], axis=-1)
    return {
        "knots": knots[:, None, :],
        "curvatures": curvatures[:, None, :],
        "tilt": clients_around(-_area_until_zero(knots, curvatures), cube.log(-3, 0), clients),
        "gradient_noise": np.zeros((len(alpha), clients)),
        "alpha": alpha,
        "start": _zeros(alpha),
    }


def start_anywhere(parameters: Parameters, shift: Array) -> Parameters:
    """The start moves from the first knot to the last one."""
    low, high = (of(parameters["knots"], axis=(1, 2)) for of in (np.min, np.max))
    return {**parameters, "start": (low + high) / 2 + shift * (high - low) / 2}


def levelled(parameters: Parameters, shift: Array) -> Parameters:
    """The mean slope is one level around the start, and rises to it, or from it, far away; differences stay."""
    slopes = parameters["slopes"]
    difference = slopes - slopes.mean(axis=1, keepdims=True)
    level = shift * np.abs(difference).max(axis=(1, 2))
    mean = np.stack([-np.abs(level), level, level, np.abs(level)], axis=-1)
    return {**parameters, "slopes": difference + mean[:, None, :]}


def start_apart(parameters: Parameters, shift: Array) -> Parameters:
    """The start moves within the clients' difference after one fine-tuning step."""
    reach = parameters["alpha"] * np.ptp(parameters["tilt"], axis=-1) / 2
    return {**parameters, "start": shift * reach}


_BOWL, SILENT_BOWL = "bowls with noise", "bowls"
_FEET = Space("a tent as slope, noise that leads to its feet", _tent, own_noise=True)


@dataclass(frozen=True)
class KindSpaces:
    """The spaces of a kind of problem, by what is run on them.

    Args:
        silent: searched in turn, without noise.
        affine: runs are affine in their noise.
        bent: noise lies where functions bend: runs over all paths, or long ones that stay where they are.
        partial: rounds in which a part of the clients takes part are affine.
        crowded: infinitely many clients are run with noise.
        level: noise lies in Jacobians, and runs are affine in it as long as they stay where outer functions are straight.
        multiplied: noise lies in Jacobians, and what it multiplies is random too: runs over all paths.
        lasting: the same on straight lines that no path leaves: long runs in closed moments.
    """

    silent: tuple[Space, ...] = ()
    affine: tuple[Space, ...] = ()
    bent: tuple[Space, ...] = ()
    partial: tuple[Space, ...] = ()
    crowded: tuple[Space, ...] = ()
    level: tuple[Space, ...] = ()
    multiplied: tuple[Space, ...] = ()
    lasting: tuple[Space, ...] = ()


def _bowls(decode: Callable[..., Parameters]) -> tuple[Space, Space]:
    """Without noise and with it."""
    return Space(SILENT_BOWL, noisy_instances.silent(decode)), Space(_BOWL, decode)


_FEDERATED, _COMPOSITE, _SHARED, _MINIMAX, _BILEVEL = map(
    _bowls,
    (
        noisy_instances.federated,
        noisy_instances.local_composite,
        noisy_instances.shared_composite,
        noisy_instances.minimax,
        noisy_instances.bilevel,
    ),
)
_DIFFER = "clients with piecewise linear slopes that differ"
_ONE_INNER = Space("one inner map, outer functions that differ", _together, shifted=levelled)
_TWO_INNER = Space("inner maps and outer functions that differ", _apart)


_STRAIGHT = "straight outer functions, noise in the Jacobians"


def _multiplied(decode: Callable[[UnitCube, int], Parameters]) -> tuple[Space]:
    """Bowls with noise in the inner maps alone: gradients with a sign of their own would make paths twice as long."""
    return (Space("bowls with noise in inner maps", noisy_instances.with_inner_noise(decode), own_noise=True),)


def _kinked(decode: Callable[..., Parameters], kink: str) -> Space:
    """Fine-tuned losses."""
    return Space(f"one spline, tilted by client, with a {kink} leads", decode, clients=(2,), shifted=start_apart)


SPACES: Mapping[str, KindSpaces] = {
    "federated": KindSpaces(
        silent=(Space(_DIFFER, _federated, shifted=levelled), _FEDERATED[0]),
        affine=(_FEDERATED[1],),
        crowded=(Space(_DIFFER, _federated, shifted=start_anywhere),),
    ),
    "local_composite": KindSpaces(
        silent=(
            Space("Huber functions behind inner maps that differ", _huber),
            _ONE_INNER,
            Space("one inner map, outer functions that differ, a stationary start", _centred, clients=(2,)),
            _TWO_INNER,
            _COMPOSITE[0],
        ),
        affine=(_COMPOSITE[1],),
        bent=(_FEET,),
        level=(Space(_STRAIGHT, noisy_instances.level, own_noise=True),),
        multiplied=_multiplied(noisy_instances.silent_composite),
    ),
    "shared_composite": KindSpaces(
        silent=(Space("one outer function, a free initial estimate", _shared), _SHARED[0]),
        affine=(_SHARED[1],),
        level=(Space(_STRAIGHT, noisy_instances.level_shared, own_noise=True),),
        multiplied=_multiplied(noisy_instances.silent_shared),
        lasting=(
            Space("clients that drift apart, noise in the Jacobians", noisy_instances.lasting_shared, own_noise=True),
        ),
    ),
    "conditional": KindSpaces(silent=(_ONE_INNER, _TWO_INNER, _COMPOSITE[0]), affine=(_COMPOSITE[1],), bent=(_FEET,)),
    "minimax": KindSpaces(
        silent=(Space("clients with piecewise linear slopes in x that differ, a saddle", _saddle), _MINIMAX[0]),
        affine=(_MINIMAX[1],),
    ),
    "bilevel": KindSpaces(
        silent=(
            Space("clients with piecewise linear slopes in x and in y that differ, a lower level", _two_levels),
            _BILEVEL[0],
        ),
        affine=(_BILEVEL[1],),
    ),
    "meta": KindSpaces(
        silent=(
            _kinked(_fine, "fine kink where a fine-tuning step"),
            _kinked(_coarse, "kink where a fine-tuning step"),
            _kinked(_short, "kink where a short fine-tuning step"),
        ),
        affine=(Space(_BOWL, noisy_instances.fine_tuned),),
        partial=(
            Space("quadratic losses, tilted by client", noisy_instances.meta, clients=(2,)),
            Space(
                "quadratic losses, tilted by client, short fine-tuning steps", noisy_instances.meta_short, clients=(2,)
            ),
        ),
        crowded=(Space("convex losses with a bent Hessian", _bent, shifted=start_anywhere),),
    ),
}
"""What is searched for each kind of problem."""
_CURVED_BOWLS = _bowls(noisy_instances.curved)
CURVED: Mapping[str, KindSpaces] = {
    "federated": KindSpaces(
        silent=(
            Space("clients with piecewise linear slopes that differ, and a curvature", _curved, shifted=levelled),
            _CURVED_BOWLS[0],
        ),
        affine=(_CURVED_BOWLS[1],),
    ),
}
"""The same where the objective has to grow as a square does."""
