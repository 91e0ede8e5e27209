"""The usual letters of the theorems that tests define, small statements in them, and a tuner's task about one of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import fedco
from fedco.bounds.language.definition import define, load
from fedco.bounds.language.theorem import Theorem
from fedco.bounds.optimum.model import model
from fedco.bounds.optimum.task import Task, make_task

MEANING = {
    "L": "local_smoothness",
    "L_bar": "objective_smoothness",
    "mu": "strong_convexity",
    "sigma": "local_gradient_noise",
    "G": "local_gradient_bound",
    "zeta": "local_gradient_heterogeneity",
    "F_gap": "objective_gap",
    "D": "initial_distance",
    "eta": "step_size",
    "b": "batch_size",
    "p": "communication_period",
    "beta": "momentum",
    "t0": "step_offset",
    "K": "communication_period",
    "a": "step_numerator",
    "nu": "fine_tuning_steps",
    "rho": "spectral_gap",
    "delta": "failure_probability",
    "N": "clients",
    "T": "iterations",
    "R": "rounds",
}


def symbols(letters: str, **others: str) -> dict[str, str]:
    """The table of symbols of a theorem: usual letters, with a space between them, and others with their quantities."""
    return {letter: MEANING[letter] for letter in letters.split()} | others


LETTERS = symbols("F_gap L sigma eta T p N b beta")
FORMULAS = ("derived", "conditions", "schedule")


def small(
    terms: str | Mapping[str, str], *, id: str = "m.t", symbols: Mapping[str, str] | None = None, **more: Any
) -> Theorem:
    """A theorem with these terms, or this one, in the letters that its formulas have; `symbols` stand for other quantities."""
    named = terms if isinstance(terms, Mapping) else {"all": terms}
    formulas = " ".join(
        text for table in (named, *(more.get(key) or {} for key in FORMULAS)) for text in table.values()
    )
    used = {name: quantity for name, quantity in LETTERS.items() if re.search(rf"\b{name}\b", formulas)}
    return define(id=id, symbols={**used, **(symbols or {})}, terms=named, **more)


def merged(keys: Mapping[str, Any], tables: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a definition with other ones: a table is merged, and what is None is taken out, entries of tables too."""
    made = dict(keys)
    for name, value in tables.items():
        both = (
            {**keys.get(name, {}), **value}
            if isinstance(value, dict) and isinstance(keys.get(name, {}), dict)
            else value
        )
        made[name] = {k: v for k, v in both.items() if v is not None} if isinstance(both, dict) else both
    return {name: value for name, value in made.items() if value is not None}


EXAMPLE = load(Path(fedco.__file__).parent / "examples" / "pr_sgd.toml").statement("printed")
CONSTANTS = {"L": 2, "sigma": 3, "G": 4, "F_gap": 5, "N": 7}
PLANNED = {"first": "F_gap/(eta*T)", "second": "L*eta*p*F_gap*L/N"}
SCHEDULE = {"eta": "1/(L*p)", "p": "T/N"}


def asking(**changed) -> Task:
    given = {"budget": {"samples": 1000}, "eps": None, "cost": None, "ranges": None} | changed
    return make_task(model(EXAMPLE, CONSTANTS), *given.values())


def planned(schedule=SCHEDULE, *conditions):
    """With these conditions alone: the schedule is a proposal, no condition."""
    made = small(PLANNED, schedule=schedule).statement("printed")
    return replace(made, conditions=conditions), {name: binding.symbol for name, binding in made.symbols.items()}
