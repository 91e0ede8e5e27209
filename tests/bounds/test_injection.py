"""Erratum injection: slips planted in copies of registered statements, and which check catches which.

`pytest tests/bounds/test_injection.py -s` prints the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import pytest
import test_comfedl
import test_fcsg
import test_feddro
import test_local_scgdm
import test_meta_fl
from fedco.bounds import get_paper, paper_theorems
from fedco.bounds.audit import checks as audit
from fedco.bounds.language.theorem import DeclarationError, Theorem
from feddro_paper import PAPER
from injection_slips import SLIPS, planted
from registry_cases import MISSING
from test_registry_reductions import SIMPLER_WORLDS, staying

STATEMENT_BY_STATEMENT = {"comfedl": test_comfedl, "local_scgdm": test_local_scgdm}
COLUMNS = ("construction", "homogeneity", "proved", "corollary", "conditions", "properties", "independent")
STRICTER = "stricter than needed, so the proof covers it"
UNCAUGHT = {
    "feddro.theorem_5_1 corrected relation momentum_range < for <=": "differs on a null set that no comparison visits",
    "feddro.theorem_5_1 corrected schedule beta factor 2": "a default only: every admissible eta and beta is right",
    "comfedl.theorem_2 printed right whole_rounds 2 tau for tau": STRICTER,
    "fcsg.theorem_4_1 printed right step_size limit x 0.9": STRICTER,
    "local_scgdm.theorem_3_4 printed right step_scale_descent limit x 1.1": "redundant: implied by the other step limits",
    "acc_fcsg_m.theorem_4_7 printed right step_size limit x 1.1": "already reported as too loose, by a factor 2",
}
"""What nothing catches, and why."""


# --- the checks: each returns something that a slip should change ----------------------------------------------------


def homogeneity(theorem: Theorem, label: str):
    return sorted(slip.where for slip in theorem.inhomogeneities(theorem.statement(label), theorem.unit_choices))


def proved(theorem: Theorem, label: str):
    """Printed against proved, term by term."""
    if "composed" not in theorem.labels or label == "corrected":
        return None
    return {term: outcome for term, (outcome, *_) in audit.compare_terms(theorem).items()}


def corollary(theorem: Theorem, label: str):
    """The theorem's own corollary check, and that of each corollary that follows from it."""
    if label != "printed":
        return None
    family = paper_theorems(theorem.id.partition(".")[0]).values()
    concerned = [item for item in family if item.follows_from and theorem.id in (item.id, item.follows_from[0].id)]
    return {item.id: {t: outcome for t, (outcome, *_) in audit.corollary_terms(item).items()} for item in concerned}


def conditions(theorem: Theorem, label: str):
    """Conditions of the proof that the printed ones do not imply, and equalities that the schedule does not satisfy."""
    statement = theorem.statement(label)
    left_over = [c.name for c in audit.at_schedule(statement, statement.conditions) if c.relation == "=="]
    if "composed" not in theorem.labels or label == "corrected":
        return left_over
    return left_over, [finding.id for finding in audit.condition_findings(theorem)]


def properties(theorem: Theorem, label: str):
    """What stays in a simpler world."""
    return {world: staying(theorem, theorem.statement(label), world) for world in SIMPLER_WORLDS}


def independent(theorem: Theorem, label: str):
    """Whether plain Python written from the paper agrees: the tests of each paper, run on the copy."""
    paper, _, name = theorem.id.partition(".")
    try:
        if paper == "feddro":
            return sorted(test_feddro.differences(theorem, label, PAPER[name, label], range(4)))
        if paper in STATEMENT_BY_STATEMENT:
            module = STATEMENT_BY_STATEMENT[paper]
            return [module.test_a_statement_is_what_the_paper_says(name, label, seed) for seed in range(3)]
        if paper == "meta_fl":
            return test_meta_fl.test_theorem_8_agrees_with_plain_python(name)
        return test_fcsg.test_agrees_with_the_paper_written_in_plain_python(theorem.id, label)
    except (AssertionError, ValueError, KeyError, TypeError) as error:  # it differs, or a symbol is gone or too many
        return type(error).__name__


CHECKS = (homogeneity, independent, corollary, properties, conditions, proved)
"""Cheapest first."""


@contextmanager
def registered(theorem: Theorem) -> Iterator[None]:
    """The registry with one theorem exchanged."""
    paper = get_paper(theorem.id.partition(".")[0])
    known = paper.theorems
    vars(paper)["theorems"] = {**known, theorem.id: theorem}
    try:
        yield
    finally:
        vars(paper)["theorems"] = known


@cache
def baseline(name: str, label: str, check) -> str:
    return repr(check(paper_theorems(name.partition(".")[0])[name], label))


def caught_by(name: str, label: str, place: str, change) -> Iterator[str]:
    """The checks whose outcome a slip changes, one after the other."""
    try:
        copy = planted(paper_theorems(name.partition(".")[0])[name], label, place, change)
    except DeclarationError:
        yield "construction"
        return
    for check in CHECKS:
        expected = baseline(name, label, check)
        with registered(copy):
            found = repr(check(copy, label))
        if found != expected:
            yield check.__name__


PRESENT = [slip for slip in SLIPS if slip[0].partition(".")[0] not in MISSING]


@pytest.mark.parametrize("slip", PRESENT, ids=[" ".join(slip[:4]) for slip in PRESENT])
def test_a_planted_slip_is_caught_unless_listed(slip):
    name, label, place, _, change = slip
    first = next(caught_by(name, label, place, change), None)
    assert (first is None) == (" ".join(slip[:4]) in UNCAUGHT), f"caught by {first}"


def test_there_are_enough_slips_and_few_escape():
    keys = [" ".join(slip[:4]) for slip in PRESENT]
    assert len(set(keys)) == len(keys) >= 60 and set(UNCAUGHT) <= set(keys)
    assert len({key.partition(".")[0] for key in keys}) >= 5 and len(UNCAUGHT) <= len(keys) / 15


@pytest.mark.slow
def test_the_table_of_slips():
    """Which check catches which slip; printed with -s."""
    found = {" ".join(slip[:4]): tuple(caught_by(*slip[:3], slip[4])) for slip in PRESENT}
    lines = [f"{'slip':<74} " + " ".join(f"{column:<12}" for column in COLUMNS)]
    for key, checks in found.items():
        marks = " ".join(f"{'x' if column in checks else '.':<12}" for column in COLUMNS)
        lines.append(f"{key:<74} {marks}" + ("" if checks else f"  uncaught: {UNCAUGHT.get(key)}"))
    counts = {column: sum(column in checks for checks in found.values()) for column in COLUMNS}
    missed = {key for key, checks in found.items() if not checks}
    print("\n".join([*lines, "", f"{len(found)} slips, {len(missed)} uncaught; caught by: {counts}"]))
    assert missed == set(UNCAUGHT)
    assert all(counts[column] for column in COLUMNS), "a check that catches nothing is not needed"


def test_every_check_is_quiet_on_an_unchanged_copy():
    """Planting nothing changes nothing: the table above is about the slips and not about the copying."""
    for name, label in (("fcsg.corollary_4_2", "printed"), ("fcsg.theorem_4_1", "composed")):
        theorem = paper_theorems(name.partition(".")[0])[name]
        copy = replace(theorem, title=theorem.title + " (copy)")
        with registered(copy):
            after = [repr(check(copy, label)) for check in CHECKS]
        assert after == [baseline(name, label, check) for check in CHECKS]
