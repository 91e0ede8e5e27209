"""FCSG: its method, its instances, and the problems that the papers with momentum share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from ....algorithms import FCSG, FCSGM, AccFCSGM, Method
from ...runs.instance import Instance
from ...runs.parameters import AT_REST, NEAR, powers
from ...runs.recipe import Recipe, optional

R = Fraction


def fcsg(values: Mapping[str, float]) -> Method:
    """b and B stand in the algorithm and not in the printed theorem, which holds for any."""
    return FCSG(
        alpha=values["alpha"], q=int(values["q"]), m=int(values["m"]), b=int(values["b"]), B=optional(values, "B")
    )


def with_momentum(method: type[FCSGM] | type[AccFCSGM]) -> Callable[[Mapping[str, float]], Method]:
    def build(values: Mapping[str, float]) -> Method:
        whole: dict[str, Any] = {name: int(values[name]) for name in ("q", "m", "b", "B")}
        return method(alpha=values["alpha"], beta=values["beta"], **whole)

    return build


def three_problems(
    method: Callable[[Mapping[str, float]], Method],
    homogeneous: tuple[Mapping[str, int | Fraction], tuple[int, ...]],
    heterogeneous: tuple[Mapping[str, int | Fraction], tuple[int, ...]],
    noisy: tuple[Mapping[str, int | Fraction], tuple[int, ...]],
    *more: Instance,
    case: str = "interior",
    limit_exponent: float = -0.5,
    parameters: Mapping[str, Any] = NEAR,
) -> Recipe:
    """The three problems of FCSG, FCSG-M and Acc-FCSG-M; per problem hyperparameters and horizons; `more` come after them."""
    is_scheduled = case == "schedule"  # the schedule has local steps everywhere
    chosen = (
        ("conditional_homogeneous", "one law" if is_scheduled else "one law, communication at every step", homogeneous),
        ("conditional_heterogeneous", "every client has outcomes of its own, local steps", heterogeneous),
        ("conditional_noisy", "inner noise of half the signal, small inner batch", noisy),
    )
    instances = tuple(Instance(name, hyper, why, parameters, horizons, case) for name, why, (hyper, horizons) in chosen)
    return Recipe(method, (*instances, *more), limit_exponent=limit_exponent, defaults={"b": 1})


def at_rest(*horizons: int, clients: int, **more: int) -> tuple[Instance, ...]:
    """FCSG's family with the schedule of its corollary, at rest."""
    parameters = {**AT_REST, "clients": clients}
    chosen = {"m": 1, "b": 1, **more}
    return (Instance("conditional_noisy", chosen, "start at rest, one inner sample", parameters, horizons, "stress"),)


def _tuned_edge_and_stress() -> tuple[Instance, ...]:
    return (
        Instance(
            "conditional_noisy",
            {"alpha": R(11, 200), "q": 2, "m": 2, "b": 1},
            "least bound for rounds of 2",
            NEAR,
            (350, 700),
            "tuned",
        ),
        Instance(
            "conditional_homogeneous",
            {"alpha": R(3, 10), "q": 1, "m": 2, "b": 1},
            "alpha at 97% of its largest value",
            NEAR,
            (200, 400),
            "edge",
        ),
        Instance(
            "conditional_noisy",
            {"alpha": R(1, 20), "q": 3, "m": 1, "b": 1},
            "start at rest, one inner sample: bias and drift make the bound",
            AT_REST,
            (200, 400),
            "stress",
        ),
    )


RECIPES = {
    "fcsg.theorem_4_1": three_problems(
        fcsg,
        ({"alpha": R(1, 5), "q": 1, "m": 1, "b": 1}, (75, 150, 225)),
        ({"alpha": R(1, 25), "q": 3, "m": 2, "b": 1}, (300, 600)),
        ({"alpha": R(1, 20), "q": 2, "m": 2, "b": 1}, (350, 700)),
        *_tuned_edge_and_stress(),
    ),
    "fcsg.corollary_4_2": three_problems(
        fcsg,
        ({"m": 2, "b": 1}, powers(4, (3, 4), 8)),
        ({"m": 2, "b": 1}, powers(4, (3, 4), 8)),
        ({"m": 2, "b": 1}, powers(4, (3, 4), 8)),
        *at_rest(648, 2048, clients=2),
        case="schedule",
        parameters={**NEAR, "clients": 2},
    ),
}
