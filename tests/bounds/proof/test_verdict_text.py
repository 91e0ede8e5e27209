"""What a verdict of the kernel prints of its steps."""

from __future__ import annotations

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
