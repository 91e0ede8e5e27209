"""The sweeps of every theorem: one line per dial that the theorem speaks of.

A linear speed-up, or the price of noise and of long rounds, is read off a start at rest (`AT_REST`: no objective gap), where
nothing else is left; how a horizon helps is read off a start far away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any

from ..bounds.language.reading import InputError
from .recipes.cells import AT_REST, LOUD, NEAR, NOISE, ONE_OUTER
from .recipes.recipe import Instance
from .runs.sweeps import Sweep, along

R = Fraction
LADDER = (2, 4, 8, 16)
LEVELS = (0.1, 0.2, 0.4, 0.8)


def _instance(problem: str, hyper: Mapping[str, int | Fraction], dials: Mapping[str, Any]) -> Instance:
    return Instance(problem, hyper, "sweep", dials)


def _feddro(theorem_id: str) -> list[Sweep]:
    far = _instance("feddro_homogeneous", {"I": 1, "b": 1}, NEAR)
    rest = {**AT_REST, "clients": 4, "inner_dim": 1}
    noisy = _instance("feddro_noisy", {"I": 1, "b": 1}, rest)
    differ = _instance("feddro_heterogeneous", {"I": 4, "b": 1}, {**rest, "clients": 2, "start": 0.5})
    still = {"sigma_g": 0.0, "sigma_h": 0.0}
    return [
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
            dials=lambda v: {"sigma_h": v, "sigma_g": 0.0},
        ),
        along(
            theorem_id,
            "sigma_g",
            noisy,
            484,
            LEVELS,
            "start near rest, the only noise is that of g; B_g is fixed",
            claimed=2,
            dials=lambda v: {"sigma_g": v, "sigma_h": 0.0, "start": 0.5},
        ),
        along(
            theorem_id,
            "Delta_h",
            differ,
            800,
            (0.05, 0.1, 0.2),
            "start near rest, no noise, rounds of 4",
            claimed=2,
            dials=lambda v: {"Delta_h": v, "Delta_g": 0.0, **still},
        ),
        along(
            theorem_id,
            "Delta_g",
            differ,
            800,
            (0.05, 0.1, 0.2),
            "start near rest, no noise, rounds of 4",
            claimed=2,
            dials=lambda v: {"Delta_g": v, "Delta_h": 0.0, **still},
        ),
    ]


def _feddro_corollary() -> list[Sweep]:
    """One client, so that I = T^(1/4) is a whole number: the schedule of Corollaries 1 and 2."""
    base = _instance("feddro_homogeneous", {"b": 1}, {**NEAR, "clients": 1})
    return [
        along(
            "feddro.corollary_1",
            "T",
            base,
            0,
            (625, 1296, 2401),
            "far start, I = T^(1/4), one client",
            claimed=-0.5,
            hyper=lambda T: {"I": floor(T**0.25 + 1e-9)},
        )
    ]


def _feddro_4_2() -> list[Sweep]:
    name = "feddro_without_h"
    far = _instance(name, {"eta": R(1, 5), "I": 4}, NEAR)
    near = _instance(name, {"eta": R(1, 20), "I": 4}, {**NEAR, "start": 0.1, "target": 0.0})
    return [
        along("feddro.theorem_4_2", "T", far, 0, (100, 200, 400), "far start, rounds of 4, eta fixed"),
        along(
            "feddro.theorem_4_2",
            "eta",
            far,
            200,
            (R(1, 20), R(1, 10), R(1, 5), R(3, 10)),
            "far start, rounds of 4",
        ),
        along("feddro.theorem_4_2", "I", near, 64, (2, 4, 8, 16), "start near rest: drift makes the bound"),
        along(
            "feddro.theorem_4_2",
            "Delta_g",
            near,
            64,
            LEVELS[:3],
            "start near rest, rounds of 4; B_g is fixed",
            claimed=2,
        ),
    ]


def _conditional(
    theorem_id: str,
    hyper: Mapping[str, int | Fraction],
    batches: Sequence[str],
    steps: tuple[Fraction, tuple[int, ...]],
) -> list[Sweep]:
    """T, N, q, m, sigma_g and the outer batches of FCSG's family; `steps` are alpha and the horizons of the sweep over T.

    At rest the laws differ only in the centres of f_xi (Delta = 0): their pulls cancel, so the start is stationary.
    """
    far = _instance("conditional_homogeneous", {**hyper, "alpha": steps[0]}, NEAR)
    rest = _instance("conditional_noisy", hyper, {**AT_REST, "Delta": 0.0})
    spread = _instance("conditional_noisy", hyper, {**AT_REST, "Delta": 0.0, "spread": 2.0})
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
            dials=lambda v: {"sigma_g": v, "jacobian_noise": 0.375 * v},
        ),
    ]
    return made + [along(theorem_id, name, spread, 200, (1, 2, 4, 8), "start at rest: variance") for name in batches]


def _by_schedule(theorem_id: str, hyper: Mapping[str, int | Fraction], clients: int, *horizons: int) -> list[Sweep]:
    base = _instance("conditional_homogeneous", hyper, {"start": 0.5, "dim": 8, "clients": clients})
    exponent = -2 / 3 if theorem_id.startswith("acc") else -0.5
    why = f"the paper's schedule, {clients} client, start at distance 0.5 beyond 0"
    return [along(theorem_id, "T", base, 0, horizons, why, claimed=exponent)]


def _comfedl(theorem_id: str) -> list[Sweep]:
    outer = theorem_id.endswith("_1")
    extra = {"b_1": 16} if outer else {}
    far = _instance(
        "local_noisy", {"eta": R(1, 50), "tau": 2, "b": 16, **extra}, {**NEAR, **NOISE, **({} if outer else ONE_OUTER)}
    )
    rest = replace(far, dials=LOUD if outer else {**AT_REST, **NOISE, **ONE_OUTER, "start": 0.5})
    return [
        along(theorem_id, "T", far, 0, (200, 400, 800), "far start, step size fixed"),
        along(theorem_id, "tau", rest, 320, (2, 4, 8, 16), "start near rest: drift"),
        along(
            theorem_id,
            "b",
            rest,
            200,
            (4, 16, 64),
            "start near rest: noise",
            claimed=-0.5,
            hyper=(lambda b: {"b_1": b}) if outer else None,
        ),
        along(
            theorem_id,
            "sigma",
            rest,
            200,
            LEVELS[:3],
            "start near rest: all noises at one level",
            claimed=1,
            dials=lambda v: {"sigma_g": v, "delta_g": v, **({"sigma_f": v} if outer else {})},
        ),
    ]


def _local_scgdm() -> list[Sweep]:
    theorem_id = "local_scgdm.theorem_3_4"
    rates: dict[str, int | Fraction] = {"eta": R(1, 50), "beta": R(3, 2), "alpha": 5, "gamma": 5, "p": 2}
    far, rest = (
        _instance("local_noisy", rates, {**NEAR, **NOISE, "sigma_f": 0.3}),
        _instance("local_noisy", rates, LOUD),
    )
    return [
        along(theorem_id, "T", far, 0, (200, 400, 800), "far start, step size fixed"),
        along(theorem_id, "eta", far, 400, (R(1, 100), R(1, 50), R(1, 25)), "far start"),
        along(theorem_id, "p", rest, 240, (2, 3, 4), "start at rest: drift"),
        along(theorem_id, "sigma_f", rest, 200, LEVELS[:3], "start at rest; the other noises stay"),
        along(
            theorem_id,
            "sigma_g",
            rest,
            200,
            LEVELS[:3],
            "start at rest; the noise of the inner value moves along",
            dials=lambda v: {"sigma_g": v, "delta_g": v},
        ),
    ]


def _local_scgdm_corollary() -> list[Sweep]:
    base = _instance("local_homogeneous", {"alpha": 5, "gamma": 5, "beta": R(3, 2)}, NEAR)
    return [
        along(
            "local_scgdm.corollary_3_5", "T", base, 0, (256, 625, 1296), "far start, the paper's schedule", claimed=-0.5
        )
    ]


def _meta(theorem_id: str, **more: int | Fraction) -> list[Sweep]:
    chosen: dict[str, int | Fraction] = {"beta": R(1, 20), "tau": 2, "r": R(1, 4), "D": 4, **more}
    far = _instance("meta_homogeneous", {**chosen, "r": R(1)}, {"start": 5.0})
    rest = _instance("meta_noisy", chosen, {"start": 0.0})
    differ = _instance("meta_heterogeneous", chosen, {"start": 0.0, "nu": 1, "B": 1.6})
    return [
        along(theorem_id, "K", far, 0, (50, 100, 200), "far start, step size fixed"),
        along(
            theorem_id,
            "n",
            rest,
            100,
            LADDER,
            "start at rest, 2 clients take part in every round",
            hyper=lambda n: {"r": R(2, n)},
        ),
        along(theorem_id, "r", rest, 100, (R(1, 16), R(1, 8), R(1, 4), R(1, 2)), "start at rest, 16 clients"),
        along(theorem_id, "tau", rest, 100, (1, 2, 4), "start at rest"),
        along(
            theorem_id,
            "D",
            rest,
            100,
            LADDER,
            "start at rest; every batch moves along",
            hyper=(lambda D: {"D_H": D}) if "D_H" in more else None,
        ),
        along(theorem_id, "nu", rest, 100, (1, 2, 4), "start at rest, more fine-tuning steps"),
        along(
            theorem_id,
            "sigma_G",
            rest,
            100,
            LEVELS[1:],
            "start at rest; the noise of the Hessian moves along",
            dials=lambda v: {"sigma_G": v, "sigma_H": v / 2},
        ),
        along(
            theorem_id,
            "gamma_G",
            differ,
            100,
            (0.1, 0.2, 0.4),
            "start at rest, tasks differ, 2 of 8 clients in a round",
            dials=lambda v: {"Delta": v},
        ),
    ]


def _build() -> dict[str, tuple[Sweep, ...]]:
    one = {"m": 2, "b": 1}
    made: dict[str, list[Sweep]] = {
        "feddro.theorem_5_1": _feddro("feddro.theorem_5_1"),
        "feddro.theorem_f_1": _feddro("feddro.theorem_f_1"),
        "feddro.corollary_1": _feddro_corollary(),
        "feddro.theorem_4_2": _feddro_4_2(),
        "fcsg.theorem_4_1": _conditional(
            "fcsg.theorem_4_1", {"alpha": R(1, 50), "q": 1, **one}, (), (R(1, 5), (75, 150, 300))
        ),
        "fcsg.corollary_4_2": _by_schedule("fcsg.corollary_4_2", one, 1, 625, 1296, 2401),
        "fcsg_m.theorem_4_4": _conditional(
            "fcsg_m.theorem_4_4",
            {"alpha": R(1, 100), "q": 1, "B": 4, **one},
            ("B",),
            (R(1, 20), (400, 800, 1600)),
        ),
        "fcsg_m.corollary_4_5": _by_schedule("fcsg_m.corollary_4_5", {**one, "B": 1}, 1, 625, 1296, 2401),
        "acc_fcsg_m.theorem_4_7": _conditional(
            "acc_fcsg_m.theorem_4_7",
            {"alpha": R(1, 50), "q": 1, "B": 4, **one},
            ("b", "B"),
            (R(1, 20), (250, 500, 1000)),
        ),
        "acc_fcsg_m.corollary_4_8": _by_schedule("acc_fcsg_m.corollary_4_8", one, 1, 512, 1000, 1728),
        "comfedl.theorem_1": _comfedl("comfedl.theorem_1"),
        "comfedl.theorem_2": _comfedl("comfedl.theorem_2"),
        "local_scgdm.theorem_3_4": _local_scgdm(),
        "local_scgdm.corollary_3_5": _local_scgdm_corollary(),
        "meta_fl.theorem_8": _meta("meta_fl.theorem_8", c=10, D_H=4),
        "meta_fl.theorem_8_FO": _meta("meta_fl.theorem_8_FO"),
        "meta_fl.theorem_8_HF": _meta("meta_fl.theorem_8_HF", D_H=4, delta=R(1, 10)),
    }
    return {name: tuple(sweeps) for name, sweeps in made.items()}


SWEEPS = _build()


def sweep_for(theorem_id: str, dial: str) -> Sweep:
    """The sweep of a theorem over one of its symbols.

    Raises:
        InputError: none is registered.
    """
    sweeps = SWEEPS.get(theorem_id, ())
    for sweep in sweeps:
        if sweep.dial == dial:
            return sweep
    known = " ".join(sweep.dial for sweep in sweeps) or "none"
    raise InputError(f"--dial {dial[:30]}: no sweep of {theorem_id} over it; there are sweeps over {known}")
