"""The schedules along which costs are measured: every hyperparameter moves with T as the paper's complexity remark says.

FCSG's family asks for an inner batch m ~ 1/eps, which its corollaries leave free, and ComFedL and meta FL state their
complexity for a schedule that stands in no theorem; these sweeps are here. The others follow their corollary, so that the
sweep over T of `sweep_table` is the one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from .recipes.cells import NEAR, NOISE
from .recipes.recipe import Instance
from .runs.sweeps import Sweep, along
from .sweep_table import sweep_for

R = Fraction


def _root(T: int, power: int) -> int:
    """n with n^power = T.

    Raises:
        ValueError: T is no such power; the schedule would not hold.
    """
    n = round(T ** (1 / power))
    if n**power != T:
        raise ValueError(f"T={T}: wanted n^{power}, for which the schedule gives whole numbers")
    return n


def _powers(power: int, roots: Sequence[int]) -> tuple[int, ...]:
    return tuple(n**power for n in roots)


def _conditional(theorem_id: str, power: int, roots: Sequence[int], **more: int) -> Sweep:
    """T = n^power, q = n and eps ~ n^-2 with one client, so m = n^2/4 is of order 1/eps."""
    base = Instance("conditional_noisy", {"b": 1, **more}, "", {"start": 0.5, "dim": 8, "clients": 1})

    def inner_batch(T: Any) -> dict[str, int]:
        return {"m": max(1, _root(int(T), power) ** 2 // 4)}

    why = "step sizes and periods of the corollary, m of order 1/eps, one client, large inner noise"
    return along(theorem_id, "T", base, 0, _powers(power, roots), why, hyper=inner_batch)


def _comfedl() -> Sweep:
    """eta = 1/(2 sqrt T) and b = b_1 = T/25, tau = 1: no term of the bound is of a larger order than 1/sqrt T."""
    base = Instance("local_noisy", {"tau": 1}, "", {**NEAR, **NOISE, "start": 4.0, "sigma_f": 0.3})

    def chosen(T: Any) -> dict[str, int | Fraction]:
        return {"eta": R(1, 2 * _root(int(T), 2)), "b": int(T) // 25, "b_1": int(T) // 25}

    why = "far start, eta ~ T^(-1/2), batches ~ T, tau = 1"
    return along("comfedl.theorem_1", "T", base, 0, (400, 900, 1600), why, hyper=chosen)


def _meta() -> Sweep:
    """K = n^3, tau = n, beta = 1/n^2 and batches n^2/4: every term of the bound is of order 1/n^2 = eps."""
    base = Instance("meta_homogeneous", {"c": 10, "r": R(1)}, "", {"start": 5.0})

    def chosen(K: Any) -> dict[str, int | Fraction]:
        n = _root(int(K), 3)
        return {"tau": n, "beta": R(1, n * n), "D": n * n // 4, "D_H": n * n // 4}

    why = "far start, tau = K^(1/3), beta ~ 1/tau^2, batches ~ tau^2, all clients"
    return along("meta_fl.theorem_8", "K", base, 0, _powers(3, (4, 6, 8)), why, hyper=chosen)


COMPLEXITIES: dict[str, Sweep] = {
    sweep.theorem: sweep
    for sweep in (
        sweep_for("feddro.corollary_1", "T"),
        _conditional("fcsg.corollary_4_2", 4, (6, 8, 10)),
        _conditional("fcsg_m.corollary_4_5", 4, (6, 8, 10), B=1),
        _conditional("acc_fcsg_m.corollary_4_8", 3, (8, 10, 14)),
        sweep_for("local_scgdm.corollary_3_5", "T"),
        _comfedl(),
        _meta(),
    )
}
"""By statement of a claim in `bounds.claims`: the sweep along which its costs are measured."""
