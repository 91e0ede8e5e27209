"""Which method a theorem is about, what its statistic averages, and on which instances it is validated.

A new theorem is one line in `RECIPES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ..algorithms import FedDRO, Method, ModifiedFedAvg
from ..bounds.reading import InputError


@dataclass(frozen=True)
class Instance:
    """A problem with dials, the hyperparameters of the theorem (exact), the horizons T, and why it was chosen."""

    problem: str
    hyperparameters: Mapping[str, int | Fraction]
    why: str
    dials: Mapping[str, Any] = field(default_factory=dict)
    horizons: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        shown = ", ".join(f"{key}={value}" for key, value in self.hyperparameters.items())
        return f"{self.problem} ({shown})"


@dataclass(frozen=True)
class Recipe:
    """How a theorem is validated.

    Args:
        method: builds the algorithm from the values of the theorem's symbols (floats by name, scheduled ones included).
        instances: certified problems with hyperparameters that the theorem admits.
        average: "after" averages the squared gradient norm over t = 1..T, "before" over t = 0..T-1.
        label: the statement that is judged unless the user asks for another.
        steps: local steps that T stands for, from the same values (T itself by default).
        every: the statistic uses every so many steps (ComFedL speaks of server models only); None uses every step.
        limit_exponent: exponent of T that the paper claims, drawn beside the curves.
    """

    method: Callable[[Mapping[str, float]], Method]
    instances: tuple[Instance, ...]
    average: str = "before"
    label: str = "printed"
    steps: Callable[[Mapping[str, float]], int] = lambda values: int(values["T"])
    every: Callable[[Mapping[str, float]], int] | None = None
    limit_exponent: float = -0.5


def _feddro(values: Mapping[str, float]) -> Method:
    return FedDRO(eta=values["eta"], beta=values["beta"], I=int(values["I"]), b=int(values["b"]))


def _modified(values: Mapping[str, float]) -> Method:
    return ModifiedFedAvg(eta=values["eta"], I=int(values["I"]))


def square(clients: int, *roots: int) -> tuple[int, ...]:
    """Horizons T = K n^2, for which FedDRO's step size sqrt(K/T) = 1/n is rational."""
    return tuple(clients * n * n for n in roots)


RECIPES: dict[str, Recipe] = {
    "feddro.theorem_5_1": Recipe(
        _feddro,
        (
            Instance("feddro_homogeneous", {"I": 1, "b": 1}, "equal clients, one local step", horizons=square(4, 8, 16, 24)),
            Instance("feddro_heterogeneous", {"I": 4, "b": 1}, "clients differ, rounds of 4", horizons=square(8, 16, 20, 24)),
            Instance("feddro_noisy", {"I": 2, "b": 1}, "noise as large as the signal", horizons=square(16, 8, 10, 12)),
        ),
        average="after",
    ),
}


def recipe_for(theorem_id: str) -> Recipe:
    """The recipe of a theorem.

    Raises:
        InputError: none is registered.
    """
    if theorem_id not in RECIPES:
        raise InputError(f"{theorem_id}: no recipe to validate it; wanted one of {' '.join(RECIPES)}")
    return RECIPES[theorem_id]
