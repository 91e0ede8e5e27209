"""Every constant of a `RippledMap`, with the points that attain it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import torch

from ..certificate import Certificate, as_point, exact, upper
from ..kinds import AbstractProblem
from .inner_map import RippledMap
from .outer import CenteredOuter

_NEARLY_ALL = 0.9999  # attained by the pairs below: sin(a)/a = 0.99998 at a = 0.01
_HALF_ANGLE = 0.01

Points = tuple[tuple[float, ...], ...]


def inner_certificates(map_: RippledMap) -> Iterator[Certificate]:
    """The certificates of the Lipschitz, smoothness, heterogeneity and noise constants of g_k and of its samples."""
    yield from _lipschitz_certificates(map_)
    yield from _smoothness_certificates(map_)
    yield from _noise_certificates(map_)
    yield exact(
        "inner_jacobian_heterogeneity",
        map_.heterogeneity,
        "J_k - J = Delta s_k cos(w u_k.x) e u_k^T: rank one, norm at most Delta, attained at 0.",
        _origin(map_),
    )


def gap_of_compositions(
    problem: AbstractProblem, map_: RippledMap, outer: CenteredOuter, functions: str
) -> Certificate:
    """F(start) less the infimum of a mean of outer functions of these maps; it is known where all of them are alike."""
    start = problem.objective(problem.initial_point.unsqueeze(0)).item()
    if map_.heterogeneity == 0 and outer.spread == 0:
        return onto_gap(start, map_, outer.target)
    return upper("objective_gap", start, f"Every {functions} is nonnegative.")


def onto_gap(start: float, map_: RippledMap, target: float) -> Certificate:
    """The gap from the value `start` where nonnegative outer functions vanish at (target, ..., target), for all clients."""
    return exact(
        "objective_gap",
        start,
        "f >= 0, and g is onto so that f(g(x)) = 0 at some x.",
        (map_.preimage(target),),
        attains=1.0 - 1e-9,
    )


def _lipschitz_certificates(map_: RippledMap) -> Iterator[Certificate]:
    steepest, sigma = map_.lipschitz, map_.noise
    rows = "Jacobian rows have disjoint supports, so the norm is the largest row: at most mean_lipschitz + Delta"
    yield exact(
        "inner_lipschitz",
        steepest,
        f"{rows}, and at 0 client 0 has both along u_0.",
        _steep_pair(map_),
        attains=_NEARLY_ALL,
    )
    yield exact(
        "inner_mean_square_lipschitz",
        math.hypot(steepest, sigma),
        "As a map into L^2(z), g_k has E||J(z) v||^2 = ||J v||^2 + sigma^2 cos^2(p u.x) (u.v)^2: both are largest "
        "for client 0 at 0 and v = u_0.",
        _steep_pair(map_),
        attains=_NEARLY_ALL,
    )
    yield exact(
        "inner_jacobian_mean_square",
        map_.jacobian_mean_square,
        "E_z of the largest squared row is convex in the mean row and the noise amplitude, and even in the cosine of "
        "their angle, so it is largest at full lengths, aligned: client 0 at 0.",
        _origin(map_),
        attains=_NEARLY_ALL,
    )
    yield exact(
        "inner_sample_lipschitz",
        steepest + sigma,
        f"{rows} + sigma, and at 0 with z = +1 client 0 has all three along u_0.",
        _origin(map_),
    )


def _smoothness_certificates(map_: RippledMap) -> Iterator[Certificate]:
    flat = exact(
        "inner_smoothness",
        map_.smoothness,
        "The ripples move J by at most ripple c q ||x - y|| (entry by entry), the client term by Delta w |u.(x - y)|; "
        "for client 0 both are attained along u_0 about q x_i = pi/2.",
        _curved_pair(map_) if map_.smoothness > 0 else (),
        attains=_NEARLY_ALL,
    )
    yield flat
    if map_.noise == 0:
        yield replace(flat, quantity="inner_sample_smoothness")
        return
    yield upper(
        "inner_sample_smoothness",
        map_.smoothness + map_.noise * map_.noise_wavenumber,
        "A sample adds the Jacobian sigma z cos(p u.x) e u^T, which is sigma p-Lipschitz.",
    )


def _noise_certificates(map_: RippledMap) -> Iterator[Certificate]:
    of_value, of_jacobian = map_.value_noise, map_.noise
    crest = (_point(map_, math.pi / 2 / map_.noise_wavenumber),)
    both = "The value error is sigma z sin(p u.x)/p e, the Jacobian error sigma z cos(p u.x) e u^T, |e| = |u| = 1"
    yield exact(
        "inner_noise",
        max(of_value, of_jacobian),
        f"{both}: sigma/p at a crest, sigma at 0.",
        _origin(map_) if of_jacobian >= of_value else crest,
    )
    yield exact("inner_jacobian_noise", of_jacobian, f"{both}: the second is largest at 0.", _origin(map_))
    yield exact("inner_value_noise", of_value, f"{both}: the first is largest at p u.x = pi/2.", crest)


def _point(map_: RippledMap, multiple: float) -> tuple[float, ...]:
    """multiple * u_0, padded with zeros outside group 0."""
    point = torch.zeros(map_.dim, dtype=torch.float64)
    point[: map_.group] = multiple / math.sqrt(map_.group)
    return as_point(point)


def _origin(map_: RippledMap) -> Points:
    return (_point(map_, 0.0),)


def _steep_pair(map_: RippledMap) -> Points:
    """Two points about 0, along u_0, within the shortest wave length that matters."""
    reach = _HALF_ANGLE / max(map_.noise_wavenumber, map_.wavenumber)
    return _point(map_, -reach), _point(map_, reach)


def _curved_pair(map_: RippledMap) -> Points:
    """Two points about q x_i = pi/2 on group 0, along u_0."""
    unit = math.sqrt(map_.group) / map_.wavenumber
    return _point(map_, (math.pi / 2 - _HALF_ANGLE) * unit), _point(map_, (math.pi / 2 + _HALF_ANGLE) * unit)
