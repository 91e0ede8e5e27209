"""Parts of the audit that every paper of fedco passes by: a paper without a folder, an equation that gives an inequality."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import fedco
import pytest
import sympy as sp
from fedco.bounds.audit import keeping
from fedco.bounds.audit.checks import audit
from fedco.bounds.audit.status import _gives
from fedco.bounds.language.rendering import lines_about, notes_about
from fedco.bounds.language.theorem import Condition
from fedco.bounds.language.typesetting import _balanced

X, Y = sp.symbols("x y", positive=True)


def test_a_ledger_is_kept_in_the_folder_of_its_paper(monkeypatch, tmp_path):
    monkeypatch.setattr(keeping, "folder_of", lambda key: None)
    with pytest.raises(ValueError, match="no folder"):
        keeping.write("fcsg")
    made = SimpleNamespace(rows=({"id": "f"},), proved=("t",), checked="2026-01-01")
    monkeypatch.setattr(keeping, "make", lambda key: made)
    monkeypatch.setattr(keeping, "folder_of", lambda key: tmp_path)
    monkeypatch.setattr(keeping, "fingerprint", lambda folder: "a")
    kept = json.loads(keeping.write("fcsg_m").read_text())
    assert [*tmp_path.iterdir()] == [tmp_path / keeping.NAME]
    assert (kept["paper"], kept["made_from"], kept["checked"]) == ("fcsg_m", "a", "2026-01-01")
    assert (kept["findings"], kept["proved"]) == ([{"id": "f"}], ["t"])


@pytest.mark.parametrize(
    ("own", "wanted", "gives"),
    [
        ("==", "<=", True),
        ("==", ">=", True),
        ("==", "<", False),
        ("==", ">", False),
        ("<=", "<", False),
        ("<", "<=", False),
    ],
)
def test_an_equation_gives_the_weak_inequality_between_its_sides(own, wanted, gives):
    assert _gives(Condition("a", X, own, Y), Condition("b", X, wanted, Y)) is gives
    assert not _gives(Condition("a", X, own, 2 * Y), Condition("b", X, wanted, Y))
    assert _gives(Condition("b", X, wanted, Y), Condition("b", X, wanted, Y))


@pytest.mark.parametrize("changed", [{"kind": "wish"}, {"severity": "grave"}])
def test_a_finding_has_a_known_kind_and_severity(changed):
    finding = audit("fcsg_m")[0]
    assert replace(finding) == finding
    with pytest.raises(ValueError, match="unknown kind"):
        replace(finding, **changed)


def test_what_is_said_beside_a_number_is_said_in_its_text():
    refuted = fedco.theorem("local_scgdm.theorem_3_4").statement("printed")
    (note,) = notes_about(refuted)
    assert lines_about(refuted) == (f"  {note}",) and note.startswith("REFUTED")
    assert lines_about(None) == ()


@pytest.mark.parametrize(
    ("inside", "whole"), [("a + (b) c", True), ("", True), ("a) + (b", False), ("(a", False), ("a)", False)]
)
def test_parentheses_are_balanced_where_each_is_closed_after_it_was_opened(inside, whole):
    assert _balanced(inside) is whole
