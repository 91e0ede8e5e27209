"""Every statement of the five papers and of the baselines against its transcription, which shares no code with the package."""

from __future__ import annotations

import pytest
from transcribed import CONDITIONS, DEFAULTS, NUMBERS, STATEMENTS, differences

BY_ITSELF = {("feddro.theorem_4_1", "composed"): "the first two steps of an instance, in numbers"}
OTHERWISE = {
    "local_scgdm.lemma_4_3_step": "between two displays, both of which are here",
    "local_scgdm.summed": "between two displays, both of which are here",
    "local_scgdm.potential_step": "printed: (16) is closed too early; composed is (40)",
    "local_scgdm.start_momentum": "between two displays, both of which are here",
    "local_scgdm.start_potential": "between two displays, both of which are here",
    "meta_fl.theorem_8": "sharpened: other splits of Young's inequality, which the kernel checks",
    "meta_fl.theorem_8_FO": "sharpened",
    "meta_fl.theorem_8_HF": "sharpened",
    "baselines.minibatch_sgd": "sharpened: what the theorem leaves out, which the kernel checks",
    "baselines.scgd": "sharpened",
}
"""Statements of which conditions alone are here."""


@pytest.mark.parametrize("case", [case for case in STATEMENTS if case not in BY_ITSELF], ids=" ".join)
def test_a_statement_is_what_its_source_says(case):
    """Terms, constants, conditions, and schedules that no condition repeats."""
    assert differences(STATEMENTS[case].theorem, case[1]) == set()


def test_every_statement_is_transcribed():
    missing = {case for case, statement in STATEMENTS.items() if case not in NUMBERS and case not in BY_ITSELF}
    assert {name for name, _ in missing} == set(OTHERWISE)
    assert not {*NUMBERS, *CONDITIONS, *DEFAULTS} - set(STATEMENTS)


def test_every_schedule_is_transcribed():
    """By a condition `<name>_choice` that fixes the value, or by a table of defaults."""
    for case, statement in STATEMENTS.items():
        chosen = {c.left for c in statement.conditions if c.name.endswith("choice")}
        for name in statement.schedule:
            symbol = statement.symbols[name].symbol
            assert symbol in chosen or name in DEFAULTS.get(case, {}), (case, name)
