"""Which method a theorem is about, what its statistic averages, and on which instances it is validated.

A new theorem is one line in `RECIPES`. The cells that stress noise, drift and the edge of the region are in `cells`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ...algorithms import FCSGM, AccFCSGM, Method
from ...bounds.language.reading import InputError
from . import methods as build
from .cells import CELLS_OF
from .recipe import Instance, Recipe
from .without import WITHOUT_RECIPE


def square(clients: int, *roots: int) -> tuple[int, ...]:
    """Horizons T = K n^2, for which FedDRO's step size sqrt(K/T) = 1/n is rational."""
    return tuple(clients * n * n for n in roots)


def fourth_powers(factor: int, *roots: int) -> tuple[int, ...]:
    """Horizons T = factor n^4, for which FCSG (factor N^3) and Local-SCGDM (factor 1) communicate every n steps."""
    return tuple(factor * n**4 for n in roots)


def cubes(factor: int, *roots: int) -> tuple[int, ...]:
    """Horizons T = factor n^3, for which Acc-FCSG-M (factor N^2) communicates every n steps."""
    return tuple(factor * n**3 for n in roots)


NEAR = {"start": 8.0, "dim": 8}
"""Dials of a shorter run: the bounds need T in proportion to the objective gap, which `start` sets."""
ONE_OUTER = {**NEAR, "sigma_f": 0.0, "spread": 0.0}
"""Local composite problems with one deterministic outer function, which ComFedL's Theorem 2 asks for."""
EQUAL = {**NEAR, "clients": 4, "B_g": 1.1, "Delta_g": 0.0}
NOISE = {"clients": 4, "inner_dim": 1, "sigma_g": 0.3, "delta_g": 0.3}
R = Fraction


def _feddro_5_1() -> Recipe:
    equal, differ, noise = square(4, 8, 16, 24), square(8, 16, 20, 24), square(16, 8, 10, 12)
    return Recipe(
        build.feddro,
        (
            Instance("feddro_homogeneous", {"I": 1, "b": 1}, "equal clients, one local step", horizons=equal),
            Instance("feddro_heterogeneous", {"I": 4, "b": 1}, "clients differ, rounds of 4", horizons=differ),
            Instance("feddro_noisy", {"I": 2, "b": 1}, "noise as large as the signal", horizons=noise),
        ),
        average="after",
    )


def _feddro_4_2() -> Recipe:
    """Printed without a rate, so the corrected statement is judged. The method has no noise: every seed is the same."""
    name = "feddro_without_h"
    return Recipe(
        build.modified_fedavg,
        (
            Instance(name, {"eta": R(1, 5), "I": 1}, "equal clients, one local step", EQUAL, (100, 200)),
            Instance(name, {"eta": R(1, 5), "I": 4}, "clients differ, rounds of 4", NEAR, (150, 300)),
            Instance(name, {"eta": R(1, 16), "I": 16}, "clients differ, long rounds of 16", NEAR, (320, 640)),
        ),
        label="corrected",
    )


def _conditional(
    method: Callable[[Mapping[str, float]], Method],
    homogeneous: tuple[Mapping[str, int | Fraction], tuple[int, ...]],
    heterogeneous: tuple[Mapping[str, int | Fraction], tuple[int, ...]],
    noisy: tuple[Mapping[str, int | Fraction], tuple[int, ...]],
    limit_exponent: float = -0.5,
    dials: Mapping[str, Any] = NEAR,
) -> Recipe:
    """The three problems of FCSG, FCSG-M and Acc-FCSG-M; per problem hyperparameters and horizons."""
    chosen = (
        ("conditional_homogeneous", "one law, communication at every step", homogeneous),
        ("conditional_heterogeneous", "every client has outcomes of its own, local steps", heterogeneous),
        ("conditional_noisy", "inner noise of half the signal, small inner batch", noisy),
    )
    instances = tuple(Instance(name, hyper, why, dials, horizons) for name, why, (hyper, horizons) in chosen)
    return Recipe(method, instances, limit_exponent=limit_exponent)


def _comfedl_2() -> Recipe:
    noisy = {**ONE_OUTER, **NOISE}
    return Recipe(
        build.comfedl("special"),
        (
            Instance("local_homogeneous", {"eta": R(1, 25), "tau": 1, "b": 16}, "equal clients", ONE_OUTER, (200, 400)),
            Instance(
                "local_heterogeneous",
                {"eta": R(1, 50), "tau": 2, "b": 16, "m": 4},
                "inner maps differ, 4 of 8 clients in a round",
                ONE_OUTER,
                (400, 800),
            ),
            Instance("local_noisy", {"eta": R(1, 50), "tau": 2, "b": 64}, "large inner noise", noisy, (400, 800)),
        ),
        every=_period,
    )


def _comfedl_1() -> Recipe:
    noisy = {**NEAR, **NOISE, "sigma_f": 0.3}
    return Recipe(
        build.comfedl("general"),
        (
            Instance(
                "local_homogeneous", {"eta": R(1, 25), "tau": 1, "b": 16, "b_1": 16}, "equal clients", NEAR, (200, 400)
            ),
            Instance(
                "local_heterogeneous",
                {"eta": R(1, 50), "tau": 2, "b": 16, "b_1": 16, "m": 4},
                "inner and outer functions differ, 4 of 8 clients in a round",
                NEAR,
                (400, 800),
            ),
            Instance(
                "local_noisy", {"eta": R(1, 50), "tau": 2, "b": 64, "b_1": 64}, "all oracles noisy", noisy, (500, 1000)
            ),
        ),
        every=_period,
    )


def _period(values: Mapping[str, float]) -> int:
    """ComFedL's theorems average over the server models that begin a round."""
    return int(values["tau"])


def _local_scgdm_3_4() -> Recipe:
    """alpha and gamma are per unit of eta. Heterogeneity is that of the outer functions alone.

    For inner maps that differ the corrected theorem does not hold and the printed one is false (see
    bounds/papers/local_scgdm/instances.py): `local_heterogeneous` has equal inner maps here (Delta_g = 0).
    """
    noisy = {**NEAR, **NOISE, "sigma_f": 0.3}
    rates = {"alpha": 5, "gamma": 5}
    return Recipe(
        build.local_scgdm,
        (
            Instance(
                "local_homogeneous",
                {"eta": R(1, 20), "beta": R(2), **rates, "p": 2},
                "equal clients, rounds of 2",
                NEAR,
                (200, 400),
            ),
            Instance(
                "local_heterogeneous",
                {"eta": R(1, 20), "beta": R(1), **rates, "p": 3},
                "outer functions differ, rounds of 3",
                {**NEAR, "Delta_g": 0.0},
                (300, 600),
            ),
            Instance(
                "local_noisy",
                {"eta": R(1, 50), "beta": R(3, 2), **rates, "p": 2},
                "all oracles noisy",
                noisy,
                (600, 1000),
            ),
        ),
    )


def _local_scgdm_3_5() -> Recipe:
    """The schedule eta = T^(-1/2), p = T^(1/4) needs fourth powers; for the heterogeneity see Theorem 3.4."""
    chosen: dict[str, int | Fraction] = {"alpha": 5, "gamma": 5, "beta": R(3, 2)}
    horizons = fourth_powers(1, 4, 5)
    return Recipe(
        build.local_scgdm,
        (
            Instance("local_homogeneous", chosen, "equal clients", NEAR, horizons),
            Instance("local_heterogeneous", chosen, "outer functions differ", {**NEAR, "Delta_g": 0.0}, horizons),
            Instance("local_noisy", chosen, "all oracles noisy", {**NEAR, **NOISE, "sigma_f": 0.3}, horizons),
        ),
    )


def _meta_fl_8(variant: str, label: str = "printed", **more: int | Fraction) -> Recipe:
    """Horizons count rounds. c = 10 is the constant that the proof in docs/theory/meta_fl.md gives; the paper hides it.

    alpha and nu are the problem's. r n clients take part; the average is that of their models, at every local step. With
    first-order gradients the printed bias alone is far above the cap, and with Hessian-free ones the printed bound is
    above it on `meta_noisy`: there the corrected statement is judged.
    """
    dials = {"start": 5.0}
    small, large = {"c": 10, "D": 2, "D_H": 2, **more}, {"c": 10, "D": 16, "D_H": 16, **more}
    return Recipe(
        build.meta_fl(variant),
        (
            Instance(
                "meta_homogeneous",
                {"beta": R(1, 5), "tau": 1, "r": R(1), **small},
                "one task, everybody takes part",
                dials,
                (100, 200),
            ),
            Instance(
                "meta_heterogeneous",
                {"beta": R(1, 20), "tau": 2, "r": R(1, 2), **small},
                "tasks differ, 3 fine-tuning steps, half of the clients in a round",
                dials,
                (100, 200),
            ),
            Instance(
                "meta_noisy",
                {"beta": R(1, 10), "tau": 2, "r": R(1, 4), **large},
                "noise of kurtosis 3, a quarter of the clients in a round",
                dials,
                (150, 300),
            ),
        ),
        label=label,
        steps=lambda values: int(values["tau"]) * int(values["K"]),
    )


def _feddro_corollary_1() -> Recipe:
    """I is at most T^(1/4) / K^(3/4), with the O(.) of the corollary read as 1."""
    return Recipe(
        build.feddro,
        (
            Instance(
                "feddro_homogeneous", {"I": 1, "b": 1}, "equal clients", {"start": 8.0, "dim": 8}, square(4, 8, 16)
            ),
            Instance(
                "feddro_heterogeneous", {"I": 2, "b": 1}, "clients differ", {**NEAR, "clients": 4}, square(4, 24, 32)
            ),
            Instance("feddro_noisy", {"I": 2, "b": 1}, "large noise", {**NEAR, "clients": 4}, square(4, 16, 24)),
        ),
        average="after",
    )


BASE: dict[str, Recipe] = {
    "feddro.theorem_5_1": _feddro_5_1(),
    "feddro.theorem_f_1": _feddro_5_1(),
    "feddro.corollary_1": _feddro_corollary_1(),
    "feddro.theorem_4_2": _feddro_4_2(),
    "fcsg.theorem_4_1": _conditional(
        build.fcsg,
        ({"alpha": R(1, 5), "q": 1, "m": 1, "b": 1}, (75, 150, 225)),
        ({"alpha": R(1, 25), "q": 3, "m": 2, "b": 1}, (300, 600)),
        ({"alpha": R(1, 20), "q": 2, "m": 2, "b": 1}, (350, 700)),
    ),
    "fcsg.corollary_4_2": _conditional(
        build.fcsg,
        ({"m": 2, "b": 1}, fourth_powers(8, 3, 4)),
        ({"m": 2, "b": 1}, fourth_powers(8, 3, 4)),
        ({"m": 2, "b": 1}, fourth_powers(8, 3, 4)),
        dials={**NEAR, "clients": 2},
    ),
    "fcsg_m.corollary_4_5": _conditional(
        build.with_momentum(FCSGM),
        ({"m": 2, "b": 1, "B": 1}, fourth_powers(8, 5, 6)),
        ({"m": 2, "b": 1, "B": 1}, fourth_powers(8, 5, 6)),
        ({"m": 4, "b": 1, "B": 1}, fourth_powers(8, 5, 6)),
        dials={"start": 2.0, "dim": 8, "clients": 2},
    ),
    "acc_fcsg_m.corollary_4_8": _conditional(
        build.with_momentum(AccFCSGM),
        ({"m": 2, "b": 1}, cubes(64, 2, 3)),
        ({"m": 2, "b": 1}, cubes(64, 3, 4)),
        ({"m": 2, "b": 1}, cubes(64, 3, 4)),
        limit_exponent=-2 / 3,
        dials={**NEAR, "clients": 8},
    ),
    "fcsg_m.theorem_4_4": _conditional(
        build.with_momentum(FCSGM),
        ({"alpha": R(1, 20), "q": 1, "m": 2, "b": 1, "B": 4}, (400, 800)),
        ({"alpha": R(1, 40), "q": 2, "m": 2, "b": 1, "B": 4}, (500, 1000)),
        ({"alpha": R(1, 40), "q": 2, "m": 4, "b": 1, "B": 4}, (750, 1250)),
    ),
    "comfedl.theorem_2": _comfedl_2(),
    "comfedl.theorem_1": _comfedl_1(),
    "meta_fl.theorem_8": _meta_fl_8("exact"),
    "meta_fl.theorem_8_FO": _meta_fl_8("first_order", "corrected"),
    "meta_fl.theorem_8_HF": _meta_fl_8("hessian_free", "corrected", delta=R(1, 10)),
    "acc_fcsg_m.theorem_4_7": _conditional(
        build.with_momentum(AccFCSGM),
        ({"alpha": R(1, 20), "q": 1, "m": 2, "b": 2, "B": 4}, (250, 500)),
        ({"alpha": R(1, 25), "q": 2, "m": 2, "b": 1, "B": 4}, (300, 600)),
        ({"alpha": R(1, 25), "q": 2, "m": 2, "b": 1, "B": 4}, (450, 750)),
        limit_exponent=-2 / 3,
    ),
    "local_scgdm.theorem_3_4": _local_scgdm_3_4(),
    "local_scgdm.corollary_3_5": _local_scgdm_3_5(),
}


SCHEDULED = (
    "feddro.theorem_5_1",
    "feddro.theorem_f_1",
    "feddro.corollary_1",
    "fcsg.corollary_4_2",
    "fcsg_m.corollary_4_5",
    "acc_fcsg_m.corollary_4_8",
    "local_scgdm.corollary_3_5",
)
"""Statements that prescribe their own steps: the instances of `BASE` follow that schedule."""


def _complete(theorem_id: str, base: Recipe) -> Recipe:
    """The recipe with its schedule cells marked and the further cells of `cells`."""
    cell = "schedule" if theorem_id in SCHEDULED else "interior"
    marked = (replace(instance, cell=cell) for instance in base.instances)
    return replace(base, instances=(*marked, *CELLS_OF[theorem_id]))


RECIPES: dict[str, Recipe] = {theorem_id: _complete(theorem_id, base) for theorem_id, base in BASE.items()}


def recipe_for(theorem_id: str) -> Recipe:
    """The recipe of a theorem.

    Raises:
        InputError: none is registered; it says why, where a statement cannot be compared with a run.
    """
    if theorem_id in WITHOUT_RECIPE:
        raise InputError(f"{theorem_id}: cannot be validated: {WITHOUT_RECIPE[theorem_id]}")
    if theorem_id not in RECIPES:
        raise InputError(f"{theorem_id}: no recipe to validate it; wanted one of {' '.join(RECIPES)}")
    return RECIPES[theorem_id]
