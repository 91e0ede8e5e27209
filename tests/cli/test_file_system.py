"""A file-system error is one line on stderr that names the path, found before anything is run."""

from __future__ import annotations

import json
import os

import pytest
from in_process import MAIN, VALUES, run, sets

COMMANDS = {
    "validate": ["validate", MAIN, "--out", "{place}"],
    "lemmas": ["validate", MAIN, "--lemmas", "--out", "{place}"],
    "report": ["report", "--quick", "--out", "{place}"],
    "counterexample": ["counterexample", "--out", "{place}"],
    "plot": ["plot", MAIN, "--over", "T", *sets(VALUES), "--out", "{place}/figure.svg"],
    "falsify": ["falsify", "comfedl.theorem_1", "--seconds", "1000", "--out", "{place}"],
    "sweep": ["plot", MAIN, "--sweep", "K", "--out", "{place}/figure.svg"],
}


@pytest.fixture(params=["/proc/fedco", "file"])
def place(request, tmp_path):
    """A folder that cannot be made, and a file where a folder is wanted."""
    (tmp_path / "file").write_text("mine")
    yield request.param if request.param.startswith("/") else str(tmp_path / "file")
    assert (tmp_path / "file").read_text() == "mine" and os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_folder_that_cannot_be_written_is_named_at_once(command, place, monkeypatch):
    for heavy in (
        "runs.campaign.measure",
        "runs.sweeps.evaluate_sweep",
        "lemmas.measure.trace_run",
        "papers.feddro.counterexample.certify",
    ):
        monkeypatch.setattr(f"fedco.validation.{heavy}", None)  # whatever is computed before the error is an error
    status, out, err = run(*(part.format(place=place) for part in command))
    assert status == 2 and out == ""
    (line,) = err.strip().splitlines()
    assert line.startswith("fedco: ") and place in line


def test_a_figure_goes_into_a_folder_that_is_made_for_it(tmp_path):
    path = tmp_path / "new" / "figure.svg"
    drawn = ("--statement", "printed", "--over", "T", *sets(VALUES))
    status, _, _ = run("plot", MAIN, *drawn, "--out", str(path))
    assert status == 0 and sorted(os.listdir(path.parent)) == ["figure.data.csv", "figure.svg"]


def test_a_damaged_file_is_one_line(tmp_path):
    asked = f"validate {MAIN} --problem feddro_homogeneous --lemmas --seeds 4 --out"
    arguments = [*asked.split(), str(tmp_path)]
    run(*arguments)
    (path,) = (tmp_path / "lemmas").iterdir()
    path.write_text("{")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.filters", [])
        status, out, err = run(*arguments)
    assert status == 0 and out
    (line,) = err.strip().splitlines()
    assert line.startswith("fedco: ") and str(path) in line and "was damaged" in line


def test_a_bundle_that_is_a_folder_is_named(tmp_path):
    status, out, err = run("replay", str(tmp_path))
    assert status == 2 and out == "" and len(err.strip().splitlines()) == 1 and tmp_path.name in err


def test_verify_measures_again_and_says_what_differs(tmp_path):
    (tmp_path / "results.json").write_text("{}")
    status, out, _ = run("verify", str(tmp_path), "--json")
    assert status == 1 and json.loads(out)["verified"] is False
    status, out, err = run("verify", str(tmp_path / "nowhere"))
    assert status == 2 and out == "" and "nowhere" in err


HUGE = {
    "seeds": ["validate", MAIN, "--seeds", "99999999999"],
    "seeds with more hours": ["validate", MAIN, "--seeds", "99999999999", "--max-hours", "1e15"],
    "seeds of a lemma": ["validate", MAIN, "--lemmas", "--seeds", "99999999999"],
    "seeds of a sweep": ["plot", MAIN, "--sweep", "K", "--out", "{folder}/a.svg", "--seeds", "99999999999"],
    "jobs": ["validate", MAIN, "--jobs", "100000"],
    "jobs of a sweep": ["plot", MAIN, "--sweep", "K", "--out", "{folder}/a.svg", "--jobs", "100000"],
    "jobs of a report": ["report", "--quick", "--jobs", "100000", "--out", "{folder}"],
}


@pytest.mark.parametrize("command", HUGE.values(), ids=HUGE)
def test_what_cannot_fit_or_end_is_refused_at_once(command, tmp_path):
    status, out, err = run(*(part.format(folder=tmp_path) for part in command))
    (line,) = err.strip().splitlines()
    assert status == 2 and out == "" and line.startswith(("fedco: seeds", "fedco: jobs"))
    assert "wanted" in line and any(unit in line for unit in ("years", "days", "TiB"))


def test_a_page_cannot_take_the_place_of_the_working_folder(command, tmp_path):
    """It was a traceback: the name of `.` is empty."""
    done = command("explore", "fcsg.theorem_4_1", "--out", ".", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == "fedco: .: cannot be read or written (Is a directory)"
