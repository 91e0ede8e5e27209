"""The status of a statement follows from the kernel and from the refutations."""

import pytest
from fedco.bounds import get_theorem, paper_theorems
from fedco.bounds.language.reading import InputError
from fedco.bounds.proof.derivations import derived_ids
from fedco.bounds.proof.status import DERIVED, OPEN, PROVED, REFUTED, refuted_by, status


def test_what_the_kernel_accepts_is_proved():
    assert {status(get_theorem(name), "corrected") for name in derived_ids()} == {PROVED}


def test_what_an_instance_breaks_is_refuted():
    theorem = get_theorem("feddro.theorem_5_1")
    assert status(theorem, "printed") == REFUTED
    assert "feddro.theorem_5_1" in refuted_by(theorem, "printed")


def test_a_corrected_statement_without_a_derivation_says_so():
    without = [t for t in paper_theorems("fcsg").values() if "corrected" in t.labels and t.id not in derived_ids()]
    assert without and {status(theorem, "corrected") for theorem in without} == {DERIVED}


def test_what_nobody_decided_is_open():
    theorem = get_theorem("fcsg.theorem_4_1")
    assert status(theorem, "printed") == (REFUTED if refuted_by(theorem, "printed") else OPEN)
    with pytest.raises(InputError):
        status(theorem, "wished")
