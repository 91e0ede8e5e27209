"""fedco plot --sweep: measures a registered sweep, writes the figure, prints one JSON object; bad input gets one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fedco.cli import app
from typer.testing import CliRunner


def run(*arguments: str):
    return CliRunner().invoke(app, ["plot", *arguments])


def test_a_sweep_is_measured_drawn_and_resumed(tmp_path: Path):
    out, cache = tmp_path / "figure.svg", tmp_path / "cache"
    command = (
        "feddro.theorem_4_2",
        "--sweep",
        "I",
        "--seeds",
        "16",
        "--jobs",
        "1",
        "--cache",
        str(cache),
        "--out",
        str(out),
    )
    done = run(*command, "--json")
    data = json.loads(done.stdout)
    assert done.exit_code == 0 and out.read_text(encoding="utf-8").startswith("<?xml")
    assert data["over"] == "I" and data["values"] == [2, 4, 8, 16] and data["seeds"] == 16
    assert len(data["bound"]) == len(data["mean"]) == 4 and data["bound_slope"] > 1
    assert len(list(cache.glob("*.json"))) == 4
    assert json.loads(run(*command, "--json").stdout)["mean"] == data["mean"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("feddro.theorem_5_1", "--out", "a.svg"), "either --over NAME or --sweep NAME"),
        (("feddro.theorem_5_1", "--sweep", "K", "--over", "T", "--out", "a.svg"), "either --over NAME or --sweep NAME"),
        (("feddro.theorem_5_1", "--sweep", "L_f", "--out", "a.svg"), "there are sweeps over T K b I"),
        (("feddro.theorem_5_1", "--sweep", "K", "--out", "a.gif"), "wanted a file ending in .svg"),
    ],
)
def test_bad_input_is_named(arguments: tuple[str, ...], message: str, monkeypatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.exit_code != 0 and message in f"{done.output}{done.exception}"
    assert not list(tmp_path.iterdir())
