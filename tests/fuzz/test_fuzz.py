"""A short form of the fuzz campaign; `make fuzz` runs it whole."""

import time
from pathlib import Path

import fuzz_campaign
import pytest
from fedco.errors import InputError
from fuzz_campaign import FIELDS, MARK, TARGETS, Finding, TooLong, call, fuzz, run_command, time_limit, try_page
from hypothesis import HealthCheck, Phase, given, seed, settings

INPUTS = {target: 4 if target in ("work", "page") else 40 for target in TARGETS}


@pytest.mark.parametrize("target", TARGETS)
def test_only_results_or_one_line_errors(target):
    counts, different, _ = fuzz(target, INPUTS[target])
    assert sum(counts.values()) >= INPUTS[target] and counts["refused"] > 0 and different > INPUTS[target] / 4


@pytest.mark.parametrize(
    ("lines", "tried", "attempt", "least"),
    [
        (fuzz_campaign.sound(), 3, fuzz_campaign.try_work, 2),
        (fuzz_campaign.in_order(), 30, lambda folder, line: run_command(line), 12),
    ],
    ids=["compute", "answer"],
)
def test_commands_in_order_are_answered(tmp_path, lines, tried, attempt, least):
    """So that it is tried how commands answer, and not only how they refuse; some statements bound nothing, and say so."""
    answered = []

    @settings(max_examples=tried, database=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @seed(1)
    @given(lines)
    def check(line):
        answered.append(attempt(tmp_path, line))

    check()
    assert answered.count("answered") >= least


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


def test_a_status_of_1_is_an_answer_only_where_the_help_says_so(monkeypatch):
    def ends_with_no(told):
        def main():
            print(told, end="")
            raise SystemExit(1)

        monkeypatch.setattr(fuzz_campaign.cli, "main", main)

    ends_with_no('{"checked": false}')
    assert run_command(["prove", "fcsg.theorem_4_1", "--json"]) == "answered"
    with pytest.raises(Finding, match="exit status 1"):
        run_command(["bound", "fcsg.theorem_4_1", "--json"])
    ends_with_no("")
    with pytest.raises(Finding, match="exit status 1"):
        run_command(["prove", "fcsg.theorem_4_1", "--json"])


def test_every_command_that_can_end_with_status_1_says_so():
    assert fuzz_campaign.says_no_by_status() == {"prove", "replay", "sharpen", "verify"}


def test_markup_of_a_stranger_is_noticed(tmp_path, monkeypatch):
    fields = {**FIELDS, "title": f"<b {MARK}>"}
    assert try_page(tmp_path, fields) == "answered"
    monkeypatch.setattr(fuzz_campaign, "run_command", lambda line: leaking(Path(line[-1])))
    with pytest.raises(Finding, match="markup"):
        try_page(tmp_path, fields)


def leaking(page):
    page.write_text(f"<p><b {MARK}>a title</b></p>")
    return "answered"


def test_a_time_limit_is_one_of_processor_time():
    with pytest.raises(TooLong), time_limit(1):
        while True:
            pass
    with time_limit(1):
        time.sleep(1.2)
