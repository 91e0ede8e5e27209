"""FedDRO: the methods of its theorems, and the instances on which they are validated."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from ....algorithms import FedDRO, Method, ModifiedFedAvg
from ...runs.instance import Instance, on_schedule
from ...runs.parameters import AT_REST, NEAR, powers
from ...runs.recipe import Recipe

R = Fraction
EQUAL = {**NEAR, "clients": 4, "B_g": 1.1, "Delta_g": 0.0}
FEW = {**AT_REST, "clients": 2, "inner_dim": 1}


def feddro(values: Mapping[str, float]) -> Method:
    return FedDRO(eta=values["eta"], beta=values["beta"], I=int(values["I"]), b=int(values["b"]))


def modified_fedavg(values: Mapping[str, float]) -> Method:
    return ModifiedFedAvg(eta=values["eta"], I=int(values["I"]))


def _theorem_5_1() -> Recipe:
    equal, differ, noise = powers(2, (8, 16, 24), 4), powers(2, (16, 20, 24), 8), powers(2, (8, 10, 12), 16)
    return Recipe(
        feddro,
        (
            *on_schedule(
                Instance("feddro_homogeneous", {"I": 1, "b": 1}, "equal clients, one local step", horizons=equal),
                Instance("feddro_heterogeneous", {"I": 4, "b": 1}, "clients differ, rounds of 4", horizons=differ),
                Instance("feddro_noisy", {"I": 2, "b": 1}, "noise as large as the signal", horizons=noise),
            ),
            *_edge_and_stress(),
        ),
        average="after",
    )


def _edge_and_stress() -> tuple[Instance, ...]:
    return (
        Instance(
            "feddro_homogeneous",
            {"I": 1, "b": 1},
            "the shortest horizons that T_th admits, so the largest steps",
            NEAR,
            (144, 196),
            "edge",
        ),
        Instance("feddro_noisy", {"I": 2, "b": 1}, "start at rest: noise only", FEW, (512, 1024), "stress"),
        Instance(
            "feddro_heterogeneous",
            {"I": 4, "b": 1},
            "rounds of 4 near rest: clients differ",
            {**FEW, "start": 0.5},
            (800, 1250),
            "stress",
        ),
    )


def _theorem_4_2() -> Recipe:
    """Printed without a rate, so the corrected statement is judged. The method has no noise: every seed is the same."""
    name = "feddro_without_h"
    return Recipe(
        modified_fedavg,
        (
            Instance(name, {"eta": R(1, 5), "I": 1}, "equal clients, one local step", EQUAL, (100, 200)),
            Instance(name, {"eta": R(1, 5), "I": 4}, "clients differ, rounds of 4", NEAR, (150, 300)),
            Instance(name, {"eta": R(1, 16), "I": 16}, "clients differ, long rounds of 16", NEAR, (320, 640)),
            *_tuned_edge_and_stress(),
        ),
        label="corrected",
    )


def _tuned_edge_and_stress() -> tuple[Instance, ...]:
    name = "feddro_without_h"
    return (
        Instance(name, {"eta": R(17, 25), "I": 2}, "least bound for rounds of 2", NEAR, (40, 80), "tuned"),
        Instance(name, {"eta": R(1, 3), "I": 4}, "eta at 98% of its largest value", NEAR, (60, 100), "edge"),
        Instance(
            name,
            {"eta": R(1, 6), "I": 8},
            "start near rest, rounds of 8 at the edge: drift makes the bound",
            {"start": 0.5, "target": 0.0, "dim": 8},
            (50, 100),
            "stress",
        ),
    )


def _corollary_1() -> Recipe:
    """I is at most T^(1/4) / K^(3/4), with the O(.) of the corollary read as 1."""
    four = {**NEAR, "clients": 4}
    return Recipe(
        feddro,
        (
            *on_schedule(
                Instance("feddro_homogeneous", {"I": 1, "b": 1}, "equal clients", NEAR, powers(2, (8, 16), 4)),
                Instance("feddro_heterogeneous", {"I": 2, "b": 1}, "clients differ", four, powers(2, (24, 32), 4)),
                Instance("feddro_noisy", {"I": 2, "b": 1}, "large noise", four, powers(2, (16, 24), 4)),
            ),
            *_long_rounds_and_stress(),
        ),
        average="after",
    )


def _long_rounds_and_stress() -> tuple[Instance, ...]:
    return (
        Instance(
            "feddro_heterogeneous",
            {"I": 4, "b": 1},
            "I = T^(1/4) / K^(3/4) at T = 2048: as long as Corollary 1 allows",
            {**FEW, "start": 2.0},
            (2048, 4608),
            "edge",
        ),
        Instance("feddro_noisy", {"I": 3, "b": 1}, "start at rest: noise only", FEW, (1024, 2048), "stress"),
    )


RECIPES = {
    "feddro.theorem_5_1": _theorem_5_1(),
    "feddro.theorem_f_1": _theorem_5_1(),
    "feddro.corollary_1": _corollary_1(),
    "feddro.theorem_4_2": _theorem_4_2(),
}
