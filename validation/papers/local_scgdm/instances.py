"""Local-SCGDM: its method, and the instances on which its statements are validated."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ....algorithms import LocalSCGDM, Method
from ...runs.instance import Instance, on_schedule
from ...runs.parameters import LOCAL_NOISE, NEAR, NOISY_AT_REST, powers
from ...runs.recipe import Recipe

R = Fraction


def local_scgdm(values: Mapping[str, float]) -> Method:
    """One sample per step, as in the box of Algorithm 1; the theorem has no batch size."""
    eta, alpha, beta, gamma = (values[name] for name in ("eta", "alpha", "beta", "gamma"))
    return LocalSCGDM(eta=eta, alpha=alpha, beta=beta, gamma=gamma, p=int(values["p"]))


def _theorem_3_4() -> Recipe:
    """alpha and gamma are per unit of eta. Heterogeneity is that of the outer functions alone.

    For inner maps that differ the corrected theorem does not hold and the printed one is false (see
    bounds/papers/local_scgdm/refutations): `local_heterogeneous` has equal inner maps here (Delta_g = 0).
    """
    noisy = {**NEAR, **LOCAL_NOISE, "sigma_f": 0.3}
    rates = {"alpha": 5, "gamma": 5}
    return Recipe(
        local_scgdm,
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
            *_tuned_edge_and_stress(),
        ),
    )


def _tuned_edge_and_stress() -> tuple[Instance, ...]:
    rates = {"alpha": 5, "gamma": 5}
    return (
        Instance(
            "local_noisy",
            {"eta": R(1), "alpha": R(96, 1000), "beta": R(7, 100), "gamma": R(22, 100), "p": 2},
            "least bound for rounds of 2",
            {**NEAR, **LOCAL_NOISE, "sigma_f": 0.3},
            (600, 1000),
            "tuned",
        ),
        Instance(
            "local_homogeneous",
            {"eta": R(1, 15), "beta": R(2), **rates, "p": 2},
            "eta at 98% of its largest value",
            NEAR,
            (200, 400),
            "edge",
        ),
        Instance(
            "local_noisy",
            {"eta": R(1, 50), "beta": R(3, 2), **rates, "p": 2},
            "start at rest: the three noises make the bound",
            NOISY_AT_REST,
            (300, 600),
            "stress",
        ),
    )


def _corollary_3_5() -> Recipe:
    """The schedule eta = T^(-1/2), p = T^(1/4) needs fourth powers; for the heterogeneity see Theorem 3.4."""
    chosen: dict[str, int | Fraction] = {"alpha": 5, "gamma": 5, "beta": R(3, 2)}
    horizons = powers(4, (4, 5))
    return Recipe(
        local_scgdm,
        (
            *on_schedule(
                Instance("local_homogeneous", chosen, "equal clients", NEAR, horizons),
                Instance("local_heterogeneous", chosen, "outer functions differ", {**NEAR, "Delta_g": 0.0}, horizons),
                Instance("local_noisy", chosen, "all oracles noisy", {**NEAR, **LOCAL_NOISE, "sigma_f": 0.3}, horizons),
            ),
            *_stress(),
        ),
    )


def _stress() -> tuple[Instance, ...]:
    chosen: dict[str, int | Fraction] = {"alpha": 5, "gamma": 5, "beta": R(3, 2)}
    return (Instance("local_noisy", chosen, "start at rest: noise and drift", NOISY_AT_REST, (625, 1296), "stress"),)


RECIPES = {
    "local_scgdm.theorem_3_4": _theorem_3_4(),
    "local_scgdm.corollary_3_5": _corollary_3_5(),
}
