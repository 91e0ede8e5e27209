"""FedDRO: the symbols along which its theorems are measured."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import floor

from ...runs.parameters import AT_REST, LADDER, LEVELS, NEAR
from ...runs.sweep import Sweep, along, start_from

R = Fraction


def _theorem_5_1(theorem_id: str) -> tuple[Sweep, ...]:
    far = start_from("feddro_homogeneous", {"I": 1, "b": 1}, NEAR)
    rest = {**AT_REST, "clients": 4, "inner_dim": 1}
    noisy = start_from("feddro_noisy", {"I": 1, "b": 1}, rest)
    differ = start_from("feddro_heterogeneous", {"I": 4, "b": 1}, {**rest, "clients": 2, "start": 0.5})
    still = {"sigma_g": 0.0, "sigma_h": 0.0}
    return (
        along(theorem_id, "T", far, 0, (144, 256, 484, 900), "far start, equal clients, I = 1", claimed=-0.5),
        along(theorem_id, "K", noisy, 484, LADDER, "start at rest, noise only, I = 1: linear speed-up", claimed=-0.5),
        along(theorem_id, "b", noisy, 484, (1, 2, 4, 8), "start at rest, noise only, 4 clients", claimed=-0.5),
        along(theorem_id, "I", noisy, 1156, (1, 2, 4, 8), "start at rest, noise only, 4 clients"),
        along(
            theorem_id,
            "sigma_h",
            noisy,
            484,
            LEVELS,
            "start at rest, the only noise is that of grad h",
            claimed=2,
            parameters=lambda v: {"sigma_h": v, "sigma_g": 0.0},
        ),
        along(
            theorem_id,
            "sigma_g",
            noisy,
            484,
            LEVELS,
            "start near rest, the only noise is that of g; B_g is fixed",
            claimed=2,
            parameters=lambda v: {"sigma_g": v, "sigma_h": 0.0, "start": 0.5},
        ),
        along(
            theorem_id,
            "Delta_h",
            differ,
            800,
            (0.05, 0.1, 0.2),
            "start near rest, no noise, rounds of 4",
            claimed=2,
            parameters=lambda v: {"Delta_h": v, "Delta_g": 0.0, **still},
        ),
        along(
            theorem_id,
            "Delta_g",
            differ,
            800,
            (0.05, 0.1, 0.2),
            "start near rest, no noise, rounds of 4",
            claimed=2,
            parameters=lambda v: {"Delta_g": v, "Delta_h": 0.0, **still},
        ),
    )


def _corollary_1() -> tuple[Sweep, ...]:
    """One client, so that I = T^(1/4) is a whole number: the schedule of Corollaries 1 and 2."""
    base = start_from("feddro_homogeneous", {"b": 1}, {**NEAR, "clients": 1})
    return (
        along(
            "feddro.corollary_1",
            "T",
            base,
            0,
            (625, 1296, 2401),
            "far start, I = T^(1/4), one client",
            claimed=-0.5,
            hyper=lambda T: {"I": floor(T**0.25 + 1e-9)},
        ),
    )


def _theorem_4_2() -> tuple[Sweep, ...]:
    name, over = "feddro_without_h", partial(along, "feddro.theorem_4_2", label="corrected")
    far = start_from(name, {"eta": R(1, 5), "I": 4}, NEAR)
    near = start_from(name, {"eta": R(1, 20), "I": 4}, {**NEAR, "start": 0.1, "target": 0.0})
    return (
        over("T", far, 0, (100, 200, 400), "far start, rounds of 4, eta fixed"),
        over(
            "eta",
            far,
            200,
            (R(1, 20), R(1, 10), R(1, 5), R(3, 10)),
            "far start, rounds of 4",
        ),
        over("I", near, 64, (2, 4, 8, 16), "start near rest: drift makes the bound"),
        over(
            "Delta_g",
            near,
            64,
            LEVELS[:3],
            "start near rest, rounds of 4; B_g is fixed",
            claimed=2,
        ),
    )


SWEEPS = {
    "feddro.theorem_5_1": _theorem_5_1("feddro.theorem_5_1"),
    "feddro.theorem_f_1": _theorem_5_1("feddro.theorem_f_1"),
    "feddro.corollary_1": _corollary_1(),
    "feddro.theorem_4_2": _theorem_4_2(),
}
COMPLEXITIES = {"feddro.corollary_1": SWEEPS["feddro.corollary_1"][0]}
