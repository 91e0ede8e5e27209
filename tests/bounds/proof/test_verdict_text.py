"""What a verdict of the kernel prints of its steps."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from fedco.bounds.proof.kernel import ProofError, alternatives
from fedco.bounds.proof.kernel.alternatives import Alternatives, check_each
from fedco.bounds.proof.kernel.derivation import Line, Verdict


def test_a_step_says_what_it_comes_from_and_why():
    steps = (
        Line("first", "a <= b", "assumption", ()),
        Line("second", "a <= c", "transitivity", ("first", "b <= c"), "c is large"),
    )
    rows = str(Verdict("t", "printed", True, steps)).splitlines()
    assert rows[2:6] == [
        "  1. first: a <= b",
        "     assumption",
        "  2. second: a <= c",
        "     transitivity, from first, b <= c. c is large",
    ]
    assert rows[0] == "t, printed" and rows[-1] == "checked: 2 steps"
    assert str(Verdict("t", "printed", False, steps, failure="step 3")).endswith("NOT CHECKED: step 3")
    given = str(Verdict("t", "printed", True, steps, assumptions=("A",), unused=("C",), given=("lemma",))).splitlines()
    assert given[-4:] == [
        "assumed: A",
        "not used: C",
        "given, not checked by the kernel: lemma",
        "checked given lemma: 2 steps",
    ]


def test_the_verdict_on_cases_has_what_any_of_them_rests_on(monkeypatch):
    """Assumptions in the order of the theorem, conditions of every case, loose only where no case needs them exactly."""
    common = {"given": ("lemma",), "lines": ()}
    one = {
        "assumptions": ("a", "b"),
        "conditions": ("c", "d"),
        "unused": ("e", "d"),
        "loose": ("c", "d"),
        "dropped": ("x",),
    }
    two = {"assumptions": ("a",), "conditions": ("c", "f"), "unused": ("b", "e"), "loose": ("f",), "reading": ("r",)}
    verdicts = {name: Verdict("t", "corrected", True, **common, **its) for name, its in (("one", one), ("two", two))}
    monkeypatch.setattr(alternatives, "check", lambda derivation, theorem, label, numbers: verdicts[derivation.name])
    theorem = SimpleNamespace(id="t", assumptions=[SimpleNamespace(name=name) for name in ("which", "b", "e", "a")])
    cases = tuple((case, SimpleNamespace(name=name, either="which")) for case, name in (("A", "one"), ("B", "two")))
    found = check_each(Alternatives("which", cases), theorem, "corrected")
    assert (found.assumptions, found.conditions, found.unused, found.loose) == (
        ("which", "b", "a"),
        ("c", "d", "f"),
        ("e",),
        ("d", "f"),
    )
    assert (found.dropped, found.reading, found.given, found.accepted) == (("A: x",), ("B: r",), ("lemma",), True)
    with pytest.raises(ProofError, match="two or more cases with different names"):
        Alternatives("which", (("A", "one"), ("A", "two")))
    with pytest.raises(ProofError, match="two or more cases"):
        Alternatives("which", (("A", "one"),))
