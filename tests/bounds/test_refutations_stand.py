"""A bundle refutes by what it holds: an edited one does not make a statement refuted."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from fedco.bounds import get_theorem
from fedco.bounds.audit.bundled import from_data
from fedco.bounds.audit.decide import decide
from fedco.bounds.audit.refuted import refutations

NAME = next(
    name
    for name, item in refutations().items()
    if item.data is not None and item.grade == "refuted" and item.statement == "printed"
)


def edited(change: Callable[[dict[str, Any]], Any]):
    data = deepcopy(dict(refutations()[NAME].data or {}))
    change(data)
    return from_data(NAME, data)


def test_a_kept_refutation_stands():
    assert refutations()[NAME].stands
    assert edited(lambda data: None).stands


def _larger_constants(data: dict[str, Any]) -> None:
    for row in data["certificates"].values():
        row["value"] = 1000 * row["value"]


def _smaller_constants(data: dict[str, Any]) -> None:
    for row in data["certificates"].values():
        row["value"] = row["value"] / 1000


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.update(values=[0]),
        lambda data: data.update(values=[data["bound"][0], data["bound"][0]]),
        _larger_constants,
        _smaller_constants,
        lambda data: data["problem"]["parameters"]["instance"].update(kind="nothing"),
    ],
    ids=["a left side of 0", "a left side at the bound", "larger constants", "smaller constants", "no such kind"],
)
def test_an_edited_bundle_does_not_stand(change: Callable[[dict[str, Any]], Any]):
    """By its left side, by its bound, or by an assumption that its functions violate."""
    assert not edited(change).stands


def test_a_statement_whose_bundle_does_not_stand_is_not_called_refuted(monkeypatch):
    item = refutations()[NAME]
    statement = get_theorem(item.claim).statement(item.statement)
    fallen = edited(lambda data: data.update(values=[0]))
    monkeypatch.setattr("fedco.bounds.audit.refuted.refutations", lambda: {NAME: fallen})
    monkeypatch.setattr("fedco.bounds.audit.refuted.stands", lambda name: fallen.stands)
    monkeypatch.setattr("fedco.bounds.audit.decide.refuted_by", lambda statement: (NAME,))
    assert decide(statement.theorem, statement.label, "").outcome != "refuted"
