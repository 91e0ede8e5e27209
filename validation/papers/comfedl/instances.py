"""ComFedL: its method, and the instances on which Theorems 1 and 2 are validated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from ....algorithms import ComFedL, Method
from ...runs.instance import Instance
from ...runs.parameters import AT_REST, LOCAL_NOISE, NEAR, NOISY_AT_REST
from ...runs.recipe import Recipe, optional

R = Fraction
ONE_OUTER = {"sigma_f": 0.0, "spread": 0.0}
"""One deterministic outer function, which Theorem 2 asks for."""
NEAR_ONE_OUTER = {**NEAR, **ONE_OUTER}


def comfedl(problem_form: str) -> Callable[[Mapping[str, float]], Method]:
    """m is the number of clients in C_s; no statement depends on it."""

    def build(values: Mapping[str, float]) -> Method:
        return ComFedL(
            eta=values["eta"],
            tau=int(values["tau"]),
            b=int(values["b"]),
            b_1=optional(values, "b_1") or 1,
            m=optional(values, "m"),
            problem_form=problem_form,
        )

    return build


def _period(values: Mapping[str, float]) -> int:
    """ComFedL's theorems average over the server models that begin a round."""
    return int(values["tau"])


def _theorem_2() -> Recipe:
    noisy = {**NEAR_ONE_OUTER, **LOCAL_NOISE}
    return Recipe(
        comfedl("special"),
        (
            Instance(
                "local_homogeneous", {"eta": R(1, 25), "tau": 1, "b": 16}, "equal clients", NEAR_ONE_OUTER, (200, 400)
            ),
            Instance(
                "local_heterogeneous",
                {"eta": R(1, 50), "tau": 2, "b": 16, "m": 4},
                "inner maps differ, 4 of 8 clients in a round",
                NEAR_ONE_OUTER,
                (400, 800),
            ),
            Instance("local_noisy", {"eta": R(1, 50), "tau": 2, "b": 64}, "large inner noise", noisy, (400, 800)),
            *_tuned_stress_and_edge(outer=False),
        ),
        every=_period,
    )


def _theorem_1() -> Recipe:
    noisy = {**NEAR, **LOCAL_NOISE, "sigma_f": 0.3}
    return Recipe(
        comfedl("general"),
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
            *_tuned_stress_and_edge(outer=True),
        ),
        every=_period,
        defaults={"b_1": 1},
    )


def _tuned_stress_and_edge(outer: bool) -> tuple[Instance, ...]:
    """outer: Theorem 1 (noisy outer functions, a batch b_1); else Theorem 2, which has no such batch."""

    def hyper(eta: Fraction, tau: int, batch: int) -> dict[str, int | Fraction]:
        return {"eta": eta, "tau": tau, "b": batch, **({"b_1": batch} if outer else {})}

    far = {**NEAR, **LOCAL_NOISE, "sigma_f": 0.3} if outer else {**NEAR, **LOCAL_NOISE, **ONE_OUTER}
    rest = (
        NOISY_AT_REST if outer else {**AT_REST, **LOCAL_NOISE, **ONE_OUTER, "start": 0.5}
    )  # exactly at rest nothing would move
    return (
        Instance("local_noisy", hyper(R(3, 100), 2, 64), "least bound for rounds of 2", far, (800, 1000), "tuned"),
        Instance(
            "local_noisy",
            hyper(R(1, 200), 16, 64),
            f"start {'at' if outer else 'near'} rest, rounds of 16: noise and drift make the bound",
            rest,
            (160, 320),
            "stress",
        ),
        Instance(
            "local_noisy",
            hyper(R(1, 500), 64, 64),
            "tau = T / 2: two rounds, the fewest with a second server model",
            rest,
            (128, 192),
            "edge",
        ),
    )


RECIPES = {"comfedl.theorem_1": _theorem_1(), "comfedl.theorem_2": _theorem_2()}
