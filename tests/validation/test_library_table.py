"""The table of the library in docs/theory/library.md is what the verbs answer; a failure prints the table as it should be."""

from __future__ import annotations

from pathlib import Path

import fedco
import pytest
from fedco.bounds import get_paper
from fedco.bounds.audit.status import status
from fedco.bounds.cost.orders import rates
from fedco.bounds.language.bounding import MEAN_MODEL
from fedco.bounds.language.metrics import METRICS
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Theorem
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import check
from fedco.validation.falsifier import record
from fedco.validation.falsifier.attack import falsify
from fedco.validation.runs.registry import recipe_for

PAGE = Path(fedco.__file__).parent / "docs" / "theory" / "library.md"
HEAD = ("theorem", "bounds", "prove", "validate: instances", "complexity: samples", "falsify")


def bounded(theorem: Theorem) -> str:
    word = f"{theorem.metric.over}_{theorem.metric.of}"
    assert word in METRICS
    place = f", {theorem.metric.at}" if theorem.metric.at != MEAN_MODEL else ""
    return f"`{word}`{place}" + (f", with probability 1 - {theorem.metric.failure}" if theorem.metric.failure else "")


def proved(theorem: Theorem) -> str:
    plan = derivation(theorem)
    if plan is None:
        return status(theorem).outcome
    verdict = check(plan, theorem, theorem.default)
    return f"{len(verdict.lines)} lines" if verdict.accepted else "no"


def ordered(theorem: Theorem) -> str:
    try:
        return str(rates(theorem.statement()).costs["samples"])
    except InputError as error:
        return (str(error).partition(": ")[2] or str(error)).partition(";")[0]


def searched(theorem: Theorem) -> str:
    """What a short search says now, which a longer one that is kept says too, with its largest ratio."""
    kept = record.searched(theorem, "printed")
    found = falsify(theorem, seconds=1)
    if found.outcome == "NOT_APPLICABLE":
        return found.outcome
    assert kept is not None, "python -m fedco.validation.falsifier.record --statement printed"
    assert found.outcome == kept.outcome and found.ratio <= max(1, kept.ratio)
    return f"{kept.outcome}, {kept.ratio:.3g}"


def row(theorem: Theorem) -> str:
    instances = str(len(recipe_for(theorem).instances))
    cells = (f"`{theorem.id}`", bounded(theorem), proved(theorem), instances, ordered(theorem), searched(theorem))
    return f"| {' | '.join(cells)} |"


@pytest.mark.slow
def test_the_table_is_what_the_verbs_answer():
    table = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    table += [row(theorem) for theorem in get_paper("library").theorems.values()]
    assert "\n".join(table) in PAGE.read_text(encoding="utf-8"), "\n".join(table)
