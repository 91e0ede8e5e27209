"""Local-SCGDM: the symbols along which its statements are measured."""

from __future__ import annotations

from fractions import Fraction

from ...runs.parameters import LEVELS, LOCAL_NOISE, NEAR, NOISY_AT_REST
from ...runs.sweep import Sweep, along, start_from

R = Fraction


def _theorem_3_4() -> tuple[Sweep, ...]:
    theorem_id = "local_scgdm.theorem_3_4"
    rates: dict[str, int | Fraction] = {"eta": R(1, 50), "beta": R(3, 2), "alpha": 5, "gamma": 5, "p": 2}
    far, rest = (
        start_from("local_noisy", rates, {**NEAR, **LOCAL_NOISE, "sigma_f": 0.3}),
        start_from("local_noisy", rates, NOISY_AT_REST),
    )
    return (
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
            parameters=lambda v: {"sigma_g": v, "delta_g": v},
        ),
    )


def _corollary_3_5() -> tuple[Sweep, ...]:
    base = start_from("local_homogeneous", {"alpha": 5, "gamma": 5, "beta": R(3, 2)}, NEAR)
    return (
        along(
            "local_scgdm.corollary_3_5", "T", base, 0, (256, 625, 1296), "far start, the paper's schedule", claimed=-0.5
        ),
    )


SWEEPS = {
    "local_scgdm.theorem_3_4": _theorem_3_4(),
    "local_scgdm.corollary_3_5": _corollary_3_5(),
}
COMPLEXITIES = {"local_scgdm.corollary_3_5": SWEEPS["local_scgdm.corollary_3_5"][0]}
