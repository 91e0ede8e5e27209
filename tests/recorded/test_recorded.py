"""What the theory commands answered when it was recorded, they answer still; see `record.py`."""

from __future__ import annotations

import copy
import os
import subprocess
import sys

import pytest
from comparison import TUNED, differences
from record import COMMANDS, FOLDER, answer, recorded

SAMPLED = {"bound": 12, "admissible": 24, "tune": 32, "complexity": 48, "rates": 48, "audit": 5, "replay": 6}
"""One answer in so many is asked again in a quick run."""


def compared(command: str, step: int = 1) -> list[str]:
    """Every difference of the answers to a command, with the answer that it is in."""
    entries = list(recorded(command).items())[::step]
    return [
        f"{command}: {key}: {difference}"
        for key, entry in entries
        for difference in differences(command, entry["answer"], answer(command, entry["question"]))
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_sample_of_the_answers_is_as_recorded(command):
    assert compared(command, SAMPLED[command]) == []


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_answer_is_as_recorded(command):
    assert compared(command) == []


@pytest.mark.slow
def test_an_answer_is_the_same_in_every_process():
    """Two pairs of whole numbers cost the same here; which is taken must not depend on the order of a set of names."""
    asking = (
        "import json; from record import answer, recorded\n"
        "asked = recorded('tune')['comfedl.theorem_1 composed eps']['question']\n"
        "print(json.dumps(answer('tune', asked), sort_keys=True))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", asking],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join([*sys.path, str(FOLDER)])},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "0123"
    }
    assert len(found) == 1, found


def test_most_recorded_answers_are_figures():
    for command in COMMANDS:
        answers = [entry["answer"] for entry in recorded(command).values()]
        refused = sum("refused" in found for found in answers)
        assert len(answers) >= 7 and refused <= len(answers) / 10, command


def test_the_points_that_are_called_inside_satisfy_their_conditions():
    inside = [entry["answer"] for key, entry in recorded("bound").items() if key.endswith(" inside")]
    assert len(inside) > 150 and all(found["admissible"] for found in inside)


# --- the comparison itself -------------------------------------------------------------------------------------------


def answers_of(command: str) -> dict:
    return next(entry["answer"] for entry in recorded(command).values() if "refused" not in entry["answer"])


def _nudged(value: float, by: float) -> float:
    return value * (1 + by)


PLANTED = {
    "bound": lambda a: a.update(total=_nudged(a["total"], 3e-16)),
    "admissible": lambda a: a.update(feasible=not a["feasible"]),
    "tune": lambda a: a.update(value=_nudged(a["value"], 3e-6)),
    "complexity": lambda a: a["tuned"]["values"].update({next(iter(a["tuned"]["values"])): "123456789"}),
    "rates": lambda a: a["costs"].pop(next(iter(a["costs"]))),
    "audit": lambda a: a["findings"].update(new={}),
    "replay": lambda a: a.update(confirmed=False),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_planted_change_is_seen(command):
    before = answers_of(command)
    now = copy.deepcopy(before)
    PLANTED[command](now)
    assert differences(command, before, before) == []
    assert differences(command, before, now), command


def test_only_a_tuner_may_differ_within_its_gap():
    for command, field in (("bound", "total"), ("tune", "value")):
        before = answers_of(command)
        now = {**before, field: _nudged(before[field], 1e-8)}
        assert bool(differences(command, before, now)) == (command not in TUNED)


def test_a_new_term_is_a_difference_and_a_new_field_beside_the_recorded_ones_is_none():
    before = answers_of("bound")
    assert differences("bound", before, {**before, "terms": {**before["terms"], "new": 0.0}})
    assert differences("bound", before, {**before, "status": "refuted"}) == []
    assert differences("bound", before, {n: before[n] for n in before if n != "terms"})
