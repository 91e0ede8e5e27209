"""The status of a corrected statement follows from the kernel; the front door's caution agrees with it."""

import pytest
from fedco.bounds import get_theorem, paper_theorems
from fedco.bounds.audit.caution import caution
from fedco.bounds.audit.refuted import refuted_by
from fedco.bounds.audit.status import status
from fedco.bounds.language.reading import InputError
from fedco.bounds.proof.derivations import derived_ids


def test_what_the_kernel_accepts_is_proved():
    assert {status(get_theorem(name), get_theorem(name).default).outcome for name in derived_ids()} == {"proved"}


def test_what_an_instance_breaks_is_refuted():
    theorem = get_theorem("feddro.theorem_5_1")
    assert status(theorem, "printed").outcome == "refuted" == caution(theorem.statement("printed")).status
    assert (
        "feddro.theorem_5_1"
        in refuted_by(theorem.statement("printed"))
        == caution(theorem.statement("printed")).bundles
    )


def test_a_corrected_statement_without_a_derivation_says_so():
    without = [t for t in paper_theorems("fcsg").values() if "corrected" in t.labels and t.id not in derived_ids()]
    assert without and {status(theorem, "corrected").outcome for theorem in without} == {"derived"}


def test_an_unknown_label_is_refused():
    with pytest.raises(InputError):
        status(get_theorem("fcsg.theorem_4_1"), "wished")
