"""Erratum injection: slips planted in copies of registered statements, and which check catches which.

`pytest tests/bounds/test_injection.py -s` prints the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache

import pytest
from fedco.bounds import get_paper, paper_theorems
from fedco.bounds.audit import checks as audit
from fedco.bounds.language.theorem import DeclarationError, Theorem
from injection_slips import SLIPS, planted
from test_registry_reductions import SIMPLER_WORLDS, staying
from transcribed import differences

COLUMNS = ("construction", "homogeneity", "proved", "corollary", "conditions", "properties", "independent")


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
    """What differs from the transcription in plain Python."""
    try:
        return sorted(differences(theorem, label))
    except (ValueError, KeyError, TypeError) as error:  # a symbol is gone or too many
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


@pytest.mark.parametrize(
    "slip",
    [
        pytest.param(slip, id=" ".join(slip[:4]), marks=pytest.mark.slow if place % 4 else ())
        for place, slip in enumerate(SLIPS)
    ],
)
def test_a_planted_slip_differs_from_the_transcription(slip):
    name, label, place, _, change = slip
    try:
        copy = planted(paper_theorems(name.partition(".")[0])[name], label, place, change)
    except DeclarationError:
        return  # refused at construction
    assert independent(copy, label)


@pytest.mark.slow
def test_the_table_of_slips():
    """Which check catches which slip; printed with -s."""
    found = {" ".join(slip[:4]): tuple(caught_by(*slip[:3], slip[4])) for slip in SLIPS}
    lines = [f"{'slip':<74} " + " ".join(f"{column:<12}" for column in COLUMNS)]
    for key, checks in found.items():
        marks = " ".join(f"{'x' if column in checks else '.':<12}" for column in COLUMNS)
        lines.append(f"{key:<74} {marks}")
    counts = {column: sum(column in checks for checks in found.values()) for column in COLUMNS}
    print("\n".join([*lines, "", f"{len(found)} slips; caught by: {counts}"]))
    assert all(found.values())
    assert all(counts[column] for column in COLUMNS), "a check that catches nothing is not needed"


def test_every_check_is_quiet_on_an_unchanged_copy():
    """Planting nothing changes nothing: the table above is about the slips and not about the copying."""
    name, label = "fcsg.corollary_4_2", "printed"
    theorem = paper_theorems("fcsg")[name]
    copy = replace(theorem, title=theorem.title + " (copy)")
    with registered(copy):
        after = [repr(check(copy, label)) for check in CHECKS]
    assert after == [baseline(name, label, check) for check in CHECKS] and after[CHECKS.index(independent)] == "[]"
