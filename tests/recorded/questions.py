"""The questions to record: for every statement the same points in every run, drawn from the declared domains.

Only a new recording needs this file; the comparison reads the questions from the recorded files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from record import answer

sys.path.insert(0, str(Path(__file__).parents[1] / "bounds"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from fedco import bounds
from fedco.bounds.evaluation.strategies import admissible_hyperparameters
from fedco.validation.runs import refutations
from inverse_cases import constants, draw, given, solvable, tunable
from registry_cases import STATEMENTS, THEOREMS

Asked = Iterator[tuple[str, dict[str, Any]]]
TRIES = 20


def texts(values: dict[str, Fraction]) -> dict[str, str]:
    return {name: str(value) for name, value in values.items()}


def inside(name: str, label: str) -> dict[str, Fraction]:
    """A point that satisfies every condition of a statement."""
    item = THEOREMS[name]
    hyper = tuple(n for n, b in item.symbols(label).items() if b.quantity.role == "hyperparameter")
    hyper = tuple(n for n in hyper if n not in item.statement(label).schedule)
    for number in range(TRIES):
        rng = Random(f"{name} {label} {number}")
        fixed = constants(item, label, rng, without=hyper)
        if not item.statement(label).conditions:
            return {**fixed, **{n: draw(item.symbols(label)[n], rng) for n in hyper}}
        if found := admissible_hyperparameters(item.statement(label), fixed, hyper, number):
            return found
    raise LookupError(f"{name} ({label}): no admissible point in {TRIES} draws")


def bound() -> Asked:
    """Every statement at an admissible point, and at one that is drawn anywhere."""
    for name, label in STATEMENTS:
        anywhere = constants(THEOREMS[name], label, Random(f"{name} {label} anywhere"))
        for where, point in (("inside", inside(name, label)), ("anywhere", anywhere)):
            yield f"{name} {label} {where}", {"id": name, "statement": label, "set": texts(point)}


def admissible() -> Asked:
    """Every hyperparameter of every statement, the others as at the admissible point."""
    for name, label, symbol in solvable():
        point = {n: value for n, value in inside(name, label).items() if n != symbol}
        yield f"{name} {label} {symbol}", {"id": name, "statement": label, "set": texts(point), "solve": symbol}


def _budgets() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Every statement that bounds a metric under a budget of samples, or of iterations where none are counted."""
    for name, label in tunable():
        values = texts(given(THEOREMS[name], label, Random(f"{name} {label}")))
        for resource in ("samples", "iterations"):
            asked = {"id": name, "statement": label, "set": values, "budget": {resource: 10**6}}
            found = answer("tune", asked)
            if "refused" not in found:
                break
        yield f"{name} {label}", asked, found


def _targets() -> Asked:
    """The same statements with a target near what that budget reaches."""
    for key, asked, found in _budgets():
        yield key, {**{n: asked[n] for n in ("id", "statement", "set")}, "eps": f"{found.get('value', 0.1):.3g}"}


def tune() -> Asked:
    yield from ((f"{key} budget", asked) for key, asked, _ in _budgets())
    yield from ((f"{key} eps", asked) for key, asked in _targets())


def complexity() -> Asked:
    yield from _targets()


def rates() -> Asked:
    yield from ((f"{name} {label}", {"id": name, "statement": label}) for name, label in tunable())


def audit() -> Asked:
    yield from ((paper, {"paper": paper}) for paper in bounds.paper_keys())


def replay() -> Asked:
    yield from ((name, {"file": path.name}) for name, path in refutations.kept().items())
