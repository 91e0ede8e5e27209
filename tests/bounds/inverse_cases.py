"""Constants for the inverse questions: two fixed sets, and random exact ones from the declared domains, the same in every run."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

from fedco.bounds.language.notation import Binding
from fedco.bounds.language.quantities import BETWEEN, COUNT, STEPS, UP_TO_ONE
from fedco.bounds.language.theorem import Theorem
from registry_cases import STATEMENTS, THEOREMS

FCSG = {"L_f": 1, "L_g": 1, "S_f": 1, "S_g": 1, "sigma_g": 1, "F_gap": 1, "N": 4}
"""Constants of fcsg.theorem_4_1 and its corollary."""
FEDDRO = {
    "L_h": 1,
    "L_f": 1,
    "L_g": 1,
    "B_f": 1,
    "B_g": 1,
    "sigma_h": "1/2",
    "sigma_g": "1/2",
    "Delta_h": "1/2",
    "Delta_g": "1/2",
    "Phi_gap": 1,
    "y_err": 0,
    "K": 8,
}
"""Constants of feddro.theorem_5_1."""
FOUR_POINTS = {"participation": Fraction(1), "fine_tuning_steps": Fraction(2), "hidden_constant": Fraction(1)}


def draw(binding: Binding, rng: Random) -> Fraction:
    """A value in the domain of a symbol, over a few scales."""
    quantity = binding.quantity
    if quantity.name in FOUR_POINTS:
        return FOUR_POINTS[quantity.name]
    if quantity.name in (
        "step_size",
        "momentum",
        "gradient_momentum",
        "inner_momentum",
        "fine_tuning_step_size",
        "difference_step",
    ):
        return Fraction(rng.randint(1, 9), 10 ** rng.randint(1, 4))
    if quantity.domain in (BETWEEN, UP_TO_ONE):
        return Fraction(rng.randint(1, 9), 10)
    if quantity.domain == COUNT:
        large = quantity.name in ("iterations", "rounds")
        return Fraction(int(10 ** rng.uniform(2, 8)) if large else rng.randint(1, 12))
    if quantity.domain == STEPS:
        return Fraction(rng.randint(1, 3))
    return Fraction(rng.randint(1, 30), rng.randint(1, 12))


def constants(theorem: Theorem, label: str, rng: Random, *, without: tuple[str, ...] = ()) -> dict[str, Fraction]:
    """Values for every symbol but those in `without` and those that the statement's schedule gives."""
    scheduled = theorem.statement(label).schedule
    drawn = {name: draw(binding, rng) for name, binding in theorem.symbols(label).items()}
    return {name: value for name, value in drawn.items() if name not in without and name not in scheduled}


@cache
def solvable() -> list[tuple[str, str, str]]:
    """(theorem, statement, hyperparameter) for every hyperparameter in some condition."""
    found = []
    for name, label in STATEMENTS:
        theorem, statement = THEOREMS[name], THEOREMS[name].statement(label)
        inside = {
            str(s) for c in statement.conditions for side in (c.left, c.right) for s in statement.symbols_of(side)
        }
        for symbol, binding in theorem.symbols(label).items():
            if binding.quantity.role == "hyperparameter" and symbol in inside:
                found.append((name, label, symbol))
    return found


def tunable() -> list[tuple[str, str]]:
    """Statements with positive terms and something to choose: the theorems and corollaries that bound a metric."""
    return [
        (name, label)
        for name, label in STATEMENTS
        if THEOREMS[name].kind in ("theorem", "corollary") and THEOREMS[name].statement(label).terms
    ]


def seeds(name: str, label: str, count: int) -> Iterator[Random]:
    """Reproducible generators, one per instance."""
    for number in range(count):
        yield Random(f"{name} {label} {number}")


def given(theorem: Theorem, label: str, rng: Random) -> dict[str, Any]:
    """Constants, and the hyperparameters that a tuner does not choose."""
    from fedco.bounds.optimum.model import GIVEN

    bindings = theorem.symbols(label)
    kept = {n: b for n, b in bindings.items() if b.quantity.role != "hyperparameter" or b.quantity.name in GIVEN}
    return {name: draw(binding, rng) for name, binding in kept.items()}


def plain(text: str) -> str:
    """A text without the spaces that align its columns."""
    return " ".join(text.split())
