"""FCSG: the symbols along which its statements are measured; the papers with momentum have the same ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from ...runs.instance import Instance
from ...runs.parameters import AT_REST, LADDER, LEVELS, NEAR, powers, root
from ...runs.sweep import Sweep, along, start_from

R = Fraction
ONE = {"m": 2, "b": 1}


def of_theorem(
    theorem_id: str,
    hyper: Mapping[str, int | Fraction],
    batches: Sequence[str],
    steps: tuple[Fraction, tuple[int, ...]],
) -> tuple[Sweep, ...]:
    """T, N, q, m, sigma_g and the outer batches of FCSG's family; `steps` are alpha and the horizons of the sweep over T.

    At rest the laws differ only in the centres of f_xi (Delta = 0): their pulls cancel, so the start is stationary.
    """
    far = start_from("conditional_homogeneous", {**hyper, "alpha": steps[0]}, NEAR)
    rest = start_from("conditional_noisy", hyper, {**AT_REST, "Delta": 0.0})
    spread = start_from("conditional_noisy", hyper, {**AT_REST, "Delta": 0.0, "spread": 2.0})
    made = [
        along(theorem_id, "T", far, 0, steps[1], "far start, step size fixed"),
        along(theorem_id, "N", spread, 400, LADDER, "start at rest, step size fixed: variance falls with N"),
        along(theorem_id, "q", spread, 240, (1, 2, 4, 8), "start at rest: drift"),
        along(theorem_id, "m", rest, 200, (1, 2, 4, 8), "start at rest: bias of the inner batch", claimed=-1),
        along(
            theorem_id,
            "sigma_g",
            rest,
            200,
            LEVELS,
            "start at rest: bias; the noise of the Jacobian moves along",
            claimed=2,
            parameters=lambda v: {"sigma_g": v, "jacobian_noise": 0.375 * v},
        ),
    ]
    made += [along(theorem_id, name, spread, 200, (1, 2, 4, 8), "start at rest: variance") for name in batches]
    return tuple(made)


def of_corollary(
    theorem_id: str, hyper: Mapping[str, int | Fraction], *horizons: int, claimed: float = -0.5
) -> tuple[Sweep, ...]:
    base = start_from("conditional_homogeneous", hyper, {"start": 0.5, "dim": 8, "clients": 1})
    why = "the paper's schedule, 1 client, start at distance 0.5 beyond 0"
    return (along(theorem_id, "T", base, 0, horizons, why, claimed=claimed),)


def of_complexity(theorem_id: str, power: int, roots: Sequence[int], **more: int) -> Sweep:
    """T = n^power, q = n and eps ~ n^-2 with one client, so m = n^2/4 is of order 1/eps."""
    base = Instance("conditional_noisy", {"b": 1, **more}, "", {"start": 0.5, "dim": 8, "clients": 1})

    def inner_batch(T: Any) -> dict[str, int]:
        return {"m": max(1, root(int(T), power) ** 2 // 4)}

    why = "step sizes and periods of the corollary, m of order 1/eps, one client, large inner noise"
    return along(theorem_id, "T", base, 0, powers(power, roots), why, hyper=inner_batch)


SWEEPS = {
    "fcsg.theorem_4_1": of_theorem(
        "fcsg.theorem_4_1", {"alpha": R(1, 50), "q": 1, **ONE}, (), (R(1, 5), (75, 150, 300))
    ),
    "fcsg.corollary_4_2": of_corollary("fcsg.corollary_4_2", ONE, 625, 1296, 2401),
}
COMPLEXITIES = {"fcsg.corollary_4_2": of_complexity("fcsg.corollary_4_2", 4, (6, 8, 10))}
