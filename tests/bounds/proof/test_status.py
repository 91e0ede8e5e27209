"""The status of a corrected statement follows from the kernel; what is said beside a number agrees with it."""

from dataclasses import replace

import pytest
from fedco.bounds import all_theorems, get_theorem, paper_theorems
from fedco.bounds.audit.refuted import refuted_by
from fedco.bounds.audit.status import status
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.rendering import describe, notes_about, status_of, to_text
from fedco.bounds.proof.derivations import derived_ids
from fedco.bounds.registry import get_paper


def test_what_both_locks_accept_is_proved():
    for name in derived_ids():
        known = status(get_theorem(name), get_theorem(name).default)
        assert known.outcome == ("derived" if lemmas(name) else "proved"), name
        assert all(lemma in known.why for lemma in lemmas(name)), known


def lemmas(name):
    """Lemmas without a derivation, on which the statement rests."""
    return get_paper(name.partition(".")[0]).unchecked(name)


def test_what_an_instance_breaks_is_refuted():
    theorem = get_theorem("feddro.theorem_5_1")
    found = status(theorem, "printed")
    assert (
        found.outcome == "refuted" and "feddro.theorem_5_1" in refuted_by(theorem.statement("printed")) == found.bundles
    )


def test_a_corrected_statement_without_a_derivation_says_so():
    without = [t for t in paper_theorems("fcsg").values() if "corrected" in t.labels and t.id not in derived_ids()]
    assert without and {status(theorem, "corrected").outcome for theorem in without} == {"derived"}


def test_an_unknown_label_is_refused():
    with pytest.raises(InputError):
        status(get_theorem("fcsg.theorem_4_1"), "wished")


def test_show_says_what_stands_behind_a_statement():
    """Of those of one paper, of which some have a derivation."""
    for theorem in paper_theorems("fcsg").values():
        if "corrected" not in theorem.labels:
            continue
        checked = theorem.id in derived_ids() and not lemmas(theorem.id)
        shown = describe(theorem)["statements"]
        assert shown["corrected"]["derivation"] == (theorem.id in derived_ids()), theorem.id
        assert not shown["printed"]["derivation"], "a derivation is that of the default statement"
        own = to_text(theorem).partition("\ncorrected:")[2]
        assert (f"a derivation that a kernel checks: fedco prove {theorem.id}" in own) == checked
        assert ("not checked by the kernel" in own) == (not checked)
        assert all(lemma in own for lemma in (lemmas(theorem.id) if theorem.id in derived_ids() else ()))


def test_a_number_of_an_unchecked_statement_says_so():
    """In text and as data, beside every number; a paper's corrected statement and one of a user's own."""
    for theorem in all_theorems().values():
        if "corrected" not in theorem.labels:
            continue
        statement = theorem.statement("corrected")
        unchecked = theorem.id not in derived_ids() or bool(lemmas(theorem.id))
        assert any("not checked by the kernel" in note for note in notes_about(statement)) == unchecked, theorem.id
        assert status_of(statement)["status"] in (("derived",) if unchecked else ("derived", "proved"))
    typed = replace(get_theorem("comfedl.theorem_1"), id="mine.theorem_1")
    known = status(typed, "corrected")
    assert known.word == "derived" and known.warning == "derived by its author, not checked by the kernel"
