"""Why no path of Acc-FCSG-M leaves the reach within which the second moments of its bundles close."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction as Q
from typing import Any


def stays(parameters: Mapping[str, Any], hyperparameters: Mapping[str, Any]) -> dict[str, bool]:
    """What shows that no path leaves the reach of a bundle, as a sentence -> whether it is true of its instance."""
    shape, reach = parameters["instance"]["parameters"], parameters["reach"]["model"]
    if len(shape["inner_slope"]) == 1:
        return _one_client(shape, reach, hyperparameters)
    options = dict(parameters.get("method", {}))
    is_averaged = options.pop("first_estimate", "own") == "averaged"
    found = _two_clients(shape, reach, hyperparameters, is_averaged)
    return {
        fact: holds and not options for fact, holds in found.items()
    }  # of x_{t-1} averaged the derivation says nothing


def _one_client(shape: Mapping[str, Any], reach: Q, values: Mapping[str, Any]) -> dict[str, bool]:
    steep = shape["inner_slope"][0]
    return {
        "one client is at rest, and f' = y + xi with xi = +-1 as far as |y| <= 1": shape["start"] == 0
        and (shape["inner_offset"], shape["gradient_noise"]) == ([0], [1])
        and shape["knots"] == shape["slopes"] == [[-1, 1]],
        "the error of its estimate is L_g times a mean of signs, of size at most 1": 0 < values["beta"] < 1,
        "a step moves L_g x towards such a mean and does not pass it": 0 < values["alpha"] * steep**2 < 1,
        "so that |L_g x| <= 1 for ever": reach * steep >= 1,
    }


def _two_clients(shape: Mapping[str, Any], R: Q, values: Mapping[str, Any], is_averaged: bool) -> dict[str, bool]:
    """f' = +-h + (mu + s xi) clip(y, R): derivation in docs/theory/fcsg.md, section 6."""
    (low, high), (_, jolt) = shape["slopes"][0], shape["gradient_noise"][0]["slope"][1]
    h, mu, s = Q(low + high, 2), Q(high - low) / (2 * R), Q(jolt) / R
    curves = [[sign * h - mu * R, sign * h + mu * R] for sign in (1, -1)]
    return {
        "two clients start at 0 with f' = +-h + (mu + s xi) clip(y, R) behind g = x, R being the reach": shape["start"]
        == 0
        and (shape["inner_slope"], shape["inner_offset"], shape["value_noise"]) == ([1, 1], [0, 0], [0, 0])
        and (shape["knots"], shape["slopes"]) == ([[-R, R]] * 2, curves)
        and shape["gradient_noise"] == [{"slope": [[-R, -s * R], [R, s * R]]}] * 2,
        "no path leaves the radius R": stays_inside(
            (h, mu, s, R), values["alpha"], values["beta"], values["q"], is_averaged
        ),
    }


def stays_inside(family: tuple[Q, Q, Q, Q], alpha: Q, beta: Q, q: int, is_averaged: bool) -> bool:
    """Whether |x_t^n| <= R on every path, for ever; derivation in docs/theory/fcsg.md, section 6.

    Args:
        family: offset h, curvature mu, noise s of the curvature, and the radius R inside which f is quadratic.
        is_averaged: u_1 is averaged before the first step.
    """
    h, mu, s, R = family
    steep, flat = mu + s, mu - s
    largest = h + steep * R
    decay = alpha * flat + beta
    if flat <= 0 or alpha * steep + beta >= 1 or alpha * q * steep >= 1:
        return False
    per_unit = alpha * q * q / (2 * (1 - alpha * q * steep))  # J <= per_unit (beta L + s alpha U)
    memory = (1 + q * decay) / (q * decay)  # 1/(1 - (1 - decay)^q) is at most this
    feedback = steep * memory * per_unit * s * alpha
    if feedback >= 1:
        return False
    U = (beta * largest / decay + steep * memory * per_unit * beta * largest) / (1 - feedback)
    J = per_unit * (beta * largest + s * alpha * U)
    E = s * R + s * alpha * U / beta + s * J * (1 + q * beta) / (q * beta)
    if not is_averaged:  # the transient of the first round, which starts from |u_1^n| = h
        drift = q * (beta * largest + s * alpha * h)
        jump = alpha * q * h
        first = drift + steep * jump
        total = first * memory / (1 - feedback)
        E += q * s * (beta * R + alpha * h) + s * jump + s * alpha * q * total + s * per_unit * s * alpha * total
        J += max(jump, per_unit * s * alpha * first / (1 - feedback))
        U += max(first / (1 - feedback), drift)
    return (U + E) / mu + J <= R
