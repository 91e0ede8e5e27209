"""ComFedL: the symbols along which its theorems are measured, and the schedule of its complexity."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from ...runs.instance import Instance
from ...runs.parameters import AT_REST, LEVELS, LOCAL_NOISE, NEAR, NOISY_AT_REST, root
from ...runs.sweep import Sweep, along, start_from
from .instances import ONE_OUTER

R = Fraction


def _of(theorem_id: str) -> tuple[Sweep, ...]:
    outer = theorem_id.endswith("_1")
    extra = {"b_1": 16} if outer else {}
    far = start_from(
        "local_noisy",
        {"eta": R(1, 50), "tau": 2, "b": 16, **extra},
        {**NEAR, **LOCAL_NOISE, **({} if outer else ONE_OUTER)},
    )
    rest = replace(far, parameters=NOISY_AT_REST if outer else {**AT_REST, **LOCAL_NOISE, **ONE_OUTER, "start": 0.5})
    return (
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
            parameters=lambda v: {"sigma_g": v, "delta_g": v, **({"sigma_f": v} if outer else {})},
        ),
    )


def _complexity() -> Sweep:
    """eta = 1/(2 sqrt T) and b = b_1 = T/25, tau = 1: no term of the bound is of a larger order than 1/sqrt T."""
    base = Instance("local_noisy", {"tau": 1}, "", {**NEAR, **LOCAL_NOISE, "start": 4.0, "sigma_f": 0.3})

    def chosen(T: Any) -> dict[str, int | Fraction]:
        return {"eta": R(1, 2 * root(int(T), 2)), "b": int(T) // 25, "b_1": int(T) // 25}

    why = "far start, eta ~ T^(-1/2), batches ~ T, tau = 1"
    return along("comfedl.theorem_1", "T", base, 0, (400, 900, 1600), why, hyper=chosen)


SWEEPS = {name: _of(name) for name in ("comfedl.theorem_1", "comfedl.theorem_2")}
COMPLEXITIES = {"comfedl.theorem_1": _complexity()}
