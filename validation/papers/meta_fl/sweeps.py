"""Meta FL: the symbols along which Theorem 8 is measured, and the schedule of its complexity."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any

from ...runs.instance import Instance
from ...runs.parameters import LADDER, LEVELS, powers, root
from ...runs.sweep import Sweep, along, start_from

R = Fraction


def _theorem_8(theorem_id: str, label: str = "printed", **more: int | Fraction) -> tuple[Sweep, ...]:
    chosen: dict[str, int | Fraction] = {"beta": R(1, 20), "tau": 2, "r": R(1, 4), "D": 4, **more}
    far = start_from("meta_homogeneous", {**chosen, "r": R(1)}, {"start": 5.0})
    rest = start_from("meta_noisy", chosen, {"start": 0.0})
    differ = start_from("meta_heterogeneous", chosen, {"start": 0.0, "nu": 1, "B": 1.6})
    over = partial(along, theorem_id, label=label)
    return (
        over("K", far, 0, (50, 100, 200), "far start, step size fixed"),
        over(
            "n",
            rest,
            100,
            LADDER,
            "start at rest, 2 clients take part in every round",
            hyper=lambda n: {"r": R(2, n)},
        ),
        over("r", rest, 100, (R(1, 16), R(1, 8), R(1, 4), R(1, 2)), "start at rest, 16 clients"),
        over("tau", rest, 100, (1, 2, 4), "start at rest"),
        over(
            "D",
            rest,
            100,
            LADDER,
            "start at rest; every batch moves along",
            hyper=(lambda D: {"D_H": D}) if "D_H" in more else None,
        ),
        over("nu", rest, 100, (1, 2, 4), "start at rest, more fine-tuning steps"),
        over(
            "sigma_G",
            rest,
            100,
            LEVELS[1:],
            "start at rest; the noise of the Hessian moves along",
            parameters=lambda v: {"sigma_G": v, "sigma_H": v / 2},
        ),
        over(
            "gamma_G",
            differ,
            100,
            (0.1, 0.2, 0.4),
            "start at rest, tasks differ, 2 of 8 clients in a round",
            parameters=lambda v: {"Delta": v},
        ),
    )


def _complexity() -> Sweep:
    """K = n^3, tau = n, beta = 1/n^2 and batches n^2/4: every term of the bound is of order 1/n^2 = eps."""
    base = Instance("meta_homogeneous", {"c": 10, "r": R(1)}, "", {"start": 5.0})

    def chosen(K: Any) -> dict[str, int | Fraction]:
        n = root(int(K), 3)
        return {"tau": n, "beta": R(1, n * n), "D": n * n // 4, "D_H": n * n // 4}

    why = "far start, tau = K^(1/3), beta ~ 1/tau^2, batches ~ tau^2, all clients"
    return along("meta_fl.theorem_8", "K", base, 0, powers(3, (4, 6, 8)), why, hyper=chosen)


SWEEPS = {
    "meta_fl.theorem_8": _theorem_8("meta_fl.theorem_8", c=10, D_H=4),
    "meta_fl.theorem_8_FO": _theorem_8("meta_fl.theorem_8_FO", "corrected"),
    "meta_fl.theorem_8_HF": _theorem_8("meta_fl.theorem_8_HF", "corrected", D_H=4, delta=R(1, 10)),
}
COMPLEXITIES = {"meta_fl.theorem_8": _complexity()}
