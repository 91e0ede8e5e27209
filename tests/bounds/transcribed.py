"""Every statement of the papers beside the same in plain Python, as a test case, and where a declared one differs from it.

A module `<paper>_paper.py` has PAPER, (theorem, label) -> the terms and constants from the numbers of the symbols, and CONDITIONS,
(theorem, label) -> name -> (left, relation, right), of which both sides may be multiplied by a positive number.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import isclose
from random import Random
from typing import Any

import baselines_paper
import comfedl_paper
import fcsg_paper
import feddro_paper
import local_scgdm_paper
import meta_fl_paper
from fedco.bounds import paper_theorems
from fedco.bounds.evaluation.evaluate import complete
from fedco.bounds.language.theorem import Statement, Theorem
from registry_cases import number

KEYS = ("feddro", "comfedl", "local_scgdm", "meta_fl", "fcsg", "fcsg_m", "acc_fcsg_m", "baselines")
MODULES = {
    "baselines": baselines_paper,
    "comfedl": comfedl_paper,
    "feddro": feddro_paper,
    "local_scgdm": local_scgdm_paper,
    "meta_fl": meta_fl_paper,
}


def _named(table: str) -> dict[tuple[str, str], Any]:
    found = {(f"{key}.{n}", label): v for key, each in MODULES.items() for (n, label), v in vars(each)[table].items()}
    return found | vars(fcsg_paper)[table]


NUMBERS, CONDITIONS = _named("PAPER"), _named("CONDITIONS")
DEFAULTS = {**fcsg_paper.DEFAULTS, **{(f"feddro.{n}", label): v for (n, label), v in feddro_paper.DEFAULTS.items()}}
STATEMENTS = {
    (name, label): theorem.statement(label)
    for key in KEYS
    for name, theorem in paper_theorems(key).items()
    for label in theorem.labels
}
COUNTS = {"T": (16, 1296, 10**8), "nu": (2, 3, 4), "n": (2, 5, 30), "I": (2, 5, 40), "tau": (2, 3, 5), "p": (2, 3, 5)}
REL = 1e-11


def draw(statement: Statement, seed: int) -> dict[str, Fraction]:
    """Exact numbers for the symbols, whole ones for counts; without those that the schedule gives, for a corollary or a third seed."""
    rng = Random(f"{statement.name} {seed}")
    values = {}
    for name, binding in statement.symbols.items():
        if binding.symbol.is_integer:
            values[name] = Fraction(rng.choice(COUNTS.get(name, range(1, 40))))
        else:
            least = 2 if binding.quantity.numbers.most == 1 else 1
            top = rng.randint(1, 99)
            values[name] = Fraction(top, 100 if least == 2 else rng.choice((7, 100, 13)))
    if statement.theorem.kind == "corollary" or seed % 3 == 2:
        return {name: value for name, value in values.items() if name not in statement.schedule}
    return values


def differences(theorem: Theorem, label: str) -> set[str]:
    """Names of the terms, constants, conditions and schedules that differ from those of the paper, at the first point where some do."""
    statement = theorem.statement(label)
    found = (_differences(statement, (theorem.id, label), seed) for seed in range(3))
    return next((names for names in found if names), set())


def _differences(statement: Statement, case: tuple[str, str], seed: int) -> set[str]:
    given = draw(statement, seed)
    point = complete(statement, given)
    v = {str(symbol): number(value) for symbol, value in point.items()}
    terms = {term.name: number(statement.at(term.expr, point)) for term in statement.terms}
    wrong = _numbers(statement, terms, point, NUMBERS[case](**v)) if case in NUMBERS else set()
    sides = CONDITIONS.get(case, {})
    wanted = sides(**v) if callable(sides) else {name: side(v) for name, side in sides.items()}
    wrong |= {condition.name for condition in statement.conditions} ^ set(wanted)
    for condition in statement.conditions:
        left, relation, right = wanted.get(condition.name, (1, "", 1))
        mine = [number(statement.at(side, point)) for side in (condition.left, condition.right)]
        if condition.relation != relation or not isclose(mine[0] * right, mine[1] * left, rel_tol=REL):
            wrong.add(condition.name)
        is_prescribed = str(condition.left) in statement.schedule and str(condition.left) not in given
        if is_prescribed and condition.name.endswith("choice") and not isclose(*mine, rel_tol=REL):
            wrong.add(f"schedule of {condition.left}")
    for name, formula in DEFAULTS.get(case, {}).items():
        if not isclose(number(statement.at(statement.schedule[name], point)), formula(v), rel_tol=REL):
            wrong.add(f"schedule of {name}")
    return wrong


def _numbers(statement: Statement, terms: Mapping[str, float], point: Any, theirs: Mapping[str, float]) -> set[str]:
    """Every term and every constant that the paper names; where it gives the sum alone, that."""
    mine = {**terms, **{item.name: number(statement.at(item.expr, point)) for item in statement.derived}}
    wrong = {name for name in theirs if name in mine and not isclose(mine[name], theirs[name], rel_tol=REL)}
    if "total" in theirs:
        return wrong if isclose(sum(terms.values()), theirs["total"], rel_tol=REL) else wrong | {"total"}
    if statement.theorem.id.startswith("meta_fl"):  # whose transcription gives every constant for every statement
        return wrong | (set(terms) - set(theirs)) | (set() if mine.keys() & theirs.keys() else {"nothing in common"})
    return wrong | (set(terms) ^ set(theirs)) - {item.name for item in statement.derived}
