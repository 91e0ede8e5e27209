"""A short form of the fuzz campaign; `make fuzz` runs it whole."""

import sys
from pathlib import Path

import pytest
from fedco.errors import InputError

sys.path.insert(0, str(Path(__file__).parent))
from fuzz_campaign import TARGETS, Finding, call, fuzz, run_command

INPUTS = 40


@pytest.mark.parametrize("target", TARGETS)
def test_only_results_or_one_line_errors(target):
    counts, _ = fuzz(target, INPUTS)
    assert sum(counts.values()) >= INPUTS and counts["refused"] > 0


def test_the_campaign_notices_what_it_looks_for():
    def broken():
        raise KeyError("gamma")

    def two_lines():
        raise InputError("a\nb")

    with pytest.raises(Finding, match="KeyError"):
        call(broken)
    with pytest.raises(Finding, match="several lines"):
        call(two_lines)
    assert run_command(["bound", "no.theorem"]) == "refused" and run_command(["theorems"]) == "answered"
