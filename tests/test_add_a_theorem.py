"""The theorem that CONTRIBUTING adds, added to a copy: two files of its paper change, and every command knows it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import fedco
import pytest

ROOT = Path(fedco.__file__).parent
ROOMS = ("bounds", "algorithms", "synthetic", "validation", "cli")
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
BLOCKS = re.findall(r"^```diff\n# (\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^\$ fedco (.*)$", PAGE, re.MULTILINE)
ID = "baselines.local_sgd_simple"
VALUES = {"L": 1, "G": 1, "sigma": "1/2", "F_gap": 1, "N": 4, "b": 2}
FREE = {"eta": "1/10", "p": 2, "T": 1000}


def sets(**values):
    return [part for name, value in values.items() for part in ("--set", f"{name}={value}")]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The package with the blocks applied; it takes the place of the installed one."""
    place = tmp_path_factory.mktemp("copy") / "fedco"
    for room in ROOMS:
        shutil.copytree(ROOT / room, place / room)  # with what is compiled
    for file in [*ROOT.glob("*.py"), *ROOT.glob("*.mplstyle")]:
        shutil.copy(file, place / file.name)
    for name, block in BLOCKS:
        lines = block.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        if any(line.startswith("-") for line in lines):  # a change may stand for the beginning of a line
            before, after = before.rstrip("\n"), after.rstrip("\n")
        text = (place / name).read_text()
        assert text.count(before) == 1, f"{name}: want one {before!r}"
        (place / name).write_text(text.replace(before, after))
    return place


def run(copy, *arguments):
    """What a command prints."""
    environment = os.environ | {"PYTHONPATH": str(copy.parent)}
    command = [sys.executable, "-m", "fedco", *map(str, arguments)]
    done = subprocess.run(command, cwd=copy.parent, capture_output=True, text=True, env=environment, timeout=500)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def answer(copy, *arguments):
    return json.loads(run(copy, *arguments, "--json"))


def test_only_the_papers_own_folder_and_file_change(copy):
    names = [path.relative_to(copy) for path in copy.rglob("*") if path.suffix in (".py", ".toml")]
    changed = {str(name) for name in names if (copy / name).read_bytes() != (ROOT / name).read_bytes()}
    assert (
        changed
        == {name for name, _ in BLOCKS}
        == {"bounds/papers/baselines/paper.toml", "validation/papers/baselines/runs.toml"}
    )


QUICK = {
    "theorems": ["theorems"],
    "show": ["show", ID],
    "audit": ["audit", ID, "--json"],
    "prove": ["prove", ID],
    "bound": ["bound", ID, *sets(**VALUES, **FREE), "--json"],
    "admissible": ["admissible", ID, "--solve", "eta", *sets(**VALUES, p=2, T=1000), "--json"],
}
IN_ONE_PROCESS = f"""
import contextlib, io, json, sys
import fedco
from fedco.cli import main
found = {{}}
for name, arguments in json.loads(sys.argv[1]).items():
    sys.argv = ["fedco", *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            main()
        except SystemExit as stop:
            found[name] = [stop.code or 0, printed.getvalue()]
mine = fedco.theorem({ID!r})
assert {ID!r} in fedco.theorems() and mine.rates().costs
assert mine.elasticities(**{VALUES}, **{FREE}) is not None
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def answers(copy):
    """The status of commands and what they print; beside them the theorem is used in Python."""
    command = [sys.executable, "-c", IN_ONE_PROCESS, json.dumps(QUICK)]
    environment = os.environ | {"PYTHONPATH": str(copy.parent)}
    done = subprocess.run(command, cwd=copy.parent, capture_output=True, text=True, env=environment, timeout=500)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_it_is_listed_shown_and_audited(answers):
    assert ID in answers["theorems"][1] and "lower orders" in answers["show"][1]
    assert json.loads(answers["audit"][1])["findings"] == []
    assert answers["prove"] == [2, ""]  # it has no derivation, as its neighbours


def test_its_bound_is_evaluated_and_inverted(answers):
    found = json.loads(answers["bound"][1])
    drift = 4 / 3 * 0.01 * (1 + 0.25 / 2)
    assert found["admissible"] and found["terms"]["drift"] == pytest.approx(drift)
    assert found["total"] == pytest.approx(2 / 100 + 0.1 * 0.25 / 8 + drift)
    region = json.loads(answers["admissible"][1])
    assert region["intervals"]["eta"]["upper"] == 1 and region["intervals"]["eta"]["upper_closed"]


@pytest.mark.slow
def test_it_is_tuned_costed_and_compared(copy):
    tuned = answer(copy, "tune", ID, "--budget", "T=10000", *sets(**VALUES))
    assert tuned["cost"]["rounds"] == 10000 / int(tuned["values"]["p"])  # from the method's own count
    total = answer(copy, "bound", ID, *sets(**VALUES, **tuned["values"]))["total"]
    assert total == pytest.approx(tuned["value"])
    assert total < answer(copy, "bound", ID, *sets(**VALUES, eta="1/10", p=2, T=10000))["total"]
    reached = answer(copy, "tune", ID, "--eps", "1/10", *sets(**VALUES))
    assert reached["bound"]["total"] <= 0.1
    costs = answer(copy, "complexity", ID, "--eps", "1/10", *sets(**VALUES))
    assert costs["tuned"]["cost"] == reached["cost"]
    constants = {
        "local_smoothness": 1,
        "local_gradient_bound": 1,
        "local_gradient_noise": "1/2",
        "objective_gap": 1,
        "clients": 4,
    }
    rows = answer(copy, "compare", ID, "baselines.local_sgd", "--eps", "1/10", *sets(**constants))["rows"]
    samples = {row["theorem"]: row["cost"]["samples"] for row in rows}
    assert samples[ID] >= samples["baselines.local_sgd"] > 0  # its drift is never smaller


@pytest.mark.slow
def test_it_is_drawn_and_explored(copy, tmp_path):
    run(copy, "plot", ID, "--over", "T", "--out", tmp_path / "bound.svg", *sets(**VALUES, eta="1/10", p=2))
    assert "<svg" in (tmp_path / "bound.svg").read_text()
    run(copy, "explore", ID, "--out", tmp_path / "explore.html")
    assert ID in (tmp_path / "explore.html").read_text()


@pytest.mark.slow
def test_it_is_validated_and_attacked(copy, tmp_path):
    """One instance is judged SUPPORTED; the search for a false instance ends without one."""
    chosen = ("--problem", "federated_homogeneous", "--seeds", 64, "--alpha", "1/100", "--jobs", 1)
    verdicts = [
        each["verdict"] for each in answer(copy, "validate", ID, *chosen, "--out", tmp_path / "runs")["results"]
    ]
    assert verdicts and {verdict["outcome"] for verdict in verdicts} <= {"SUPPORTED", "INCONCLUSIVE"}
    attacked = answer(copy, "falsify", ID, "--seconds", 5, "--out", tmp_path / "falsified")
    assert attacked["outcome"] == "SURVIVED" and attacked["evaluations"] > 0


@pytest.mark.slow
def test_the_commands_of_the_page(copy):
    shown, validated, falsified = (run(copy, *command.split()) for command in COMMANDS)
    assert "lower orders" in shown and "SUPPORTED" in validated and "SURVIVED" in falsified
