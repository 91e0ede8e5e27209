"""The wheel alone, in an environment outside the repository: every command on an example that is data and on one that is code.

tests/cli/test_own_theorem.py asks every example more in this process.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fedco
import pytest
from installed import run

ROOT = Path(fedco.__file__).parent


def test_the_package_is_that_of_the_wheel(folder: Path):
    where = run(folder, "python", "-c", "import fedco; print(fedco.__file__)").strip()
    assert Path(where).is_relative_to(folder.parent / "environment") and not (folder.parent / "source").exists()


EXAMPLES = {"half_sgd.toml": "L sigma G F_gap N eta b T", "parallel_sgd.py:theorem_2": "L sigma G F_gap N eta b p T"}
VALUES = {"L": "1", "sigma": "1", "G": "2", "F_gap": "3", "N": "8", "eta": "1/10", "p": "2", "b": "4", "T": "1000"}
SEVERAL = """
import json, sys
from contextlib import redirect_stdout
from io import StringIO
from fedco.cli import main
answers = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["fedco", *arguments, "--json"]
    with redirect_stdout(StringIO()) as out:
        try:
            main()
        except SystemExit as stop:
            assert not stop.code, arguments
    answers.append(json.loads(out.getvalue()))
print(json.dumps(answers))
"""
"""Several commands in one process: each start of the program costs more than most of them."""


def sets(names: str, *but: str) -> list[str]:
    return [part for name in names.split() if name not in but for part in ("--set", f"{name}={VALUES[name]}")]


def commands(file: str, names: str) -> dict[str, list[str]]:
    constants = sets(names, "eta", "p", "b", "T")
    return {
        "show": ["show", file],
        "bound": ["bound", file, *sets(names), "--sensitivity"],
        "admissible": ["admissible", file, "--solve", "eta", *sets(names, "eta")],
        "budget": ["tune", file, *constants, "--budget", "rounds=1000", "--budget", "samples=4000"],
        "target": ["tune", file, *constants, "--eps", "1/10", "--cost", "rounds"],
        "orders": ["complexity", file],
        "complexity": ["complexity", file, *constants, "--eps", "1/10"],
        "compare": ["compare", file, "fcsg.theorem_4_1", "--eps", "1/10"],
        "audit": ["audit", file],
        "theorems": ["theorems", file],
        "plot": ["plot", file, "--over", "T", *sets(names, "T"), "--out", "bound.svg"],
    }


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[str, dict[str, Any]]:
    """What every command answers on every example, and what comes with the wheel, as data."""
    asked = [(" ".join(command), "", command) for command in COMES_WITH_THE_WHEEL]
    asked += [
        (file, verb, [*command, "--trust"] if "half_sgd" in file and verb != "theorems" else command)
        for file, names in EXAMPLES.items()
        for verb, command in commands(file, names).items()
    ]
    printed = json.loads(run(folder, "python", "-c", SEVERAL, json.dumps([command for *_, command in asked])))
    found: dict[str, dict[str, Any]] = {file: {} for file, *_ in asked}
    for (file, verb, _), answer in zip(asked, printed, strict=True):
        found[file][verb] = answer
    return found


VALIDATE = ["validate", "half_sgd.toml", "--trust", "--problem", "ring.py:problem", "--seeds", "64", "--jobs", "1"]
COMES_WITH_THE_WHEEL = (["replay", "feddro.theorem_5_1"], ["audit", "fcsg"], VALIDATE)


@pytest.mark.parametrize("file", EXAMPLES)
def test_every_command_about_theory(answers: dict[str, dict[str, Any]], folder: Path, file: str):
    found = answers[file]
    assert found["bound"]["admissible"] and found["bound"]["total"] > 0
    assert found["budget"]["bound"]["total"] <= found["bound"]["total"]
    assert found["target"]["bound"]["total"] <= 0.1 and found["complexity"]["tuned"]["bound"]["total"] <= 0.1
    assert found["orders"]["costs"]["samples"]["eps"] == "-2" and found["audit"]["findings"] == []
    assert [row["cost"]["samples"] > 0 for row in found["compare"]["rows"]] == [True, True]
    assert (folder / "bound.svg").stat().st_size > 1000


PYTHON = """
import numpy as np
import fedco
from fedco.bounds.evaluation.evaluate import evaluate
from fedco.bounds.evaluation.strategies import values
from hypothesis import given, settings

theorem = fedco.load("pr_sgd.toml")
given_ = dict(L=1, sigma=1, G=2, F_gap=3, N=8, p=2, T=1000)
found = evaluate(theorem.statement(), eta=np.array([0.1, 0.5, 2.0]), **given_)
assert found["admissible"].tolist() == [True, True, False]
assert abs(found["total"][0] - theorem.bound(eta="1/10", **given_).total) < 1e-12

@settings(max_examples=5, database=None)
@given(values(theorem.statement()))
def drawn(point):
    assert theorem.bound(**point).admissible

drawn()
again = fedco.define(id="mine.theorem_1", symbols={"F_gap": "objective_gap", "eta": "step_size", "T": "iterations"},
                     terms={"initialisation": "2*F_gap/(eta*T)"})
assert again.bound(F_gap=1, eta="1/10", T=100).total == 0.2
assert fedco.theorem("parallel_sgd.py:theorem_2").rates().costs["samples"]
print("done")
"""


def test_python(folder: Path):
    assert run(folder, "python", "-c", PYTHON) == "done\n"


def test_the_program_itself(folder: Path):
    printed = run(folder, "fedco", "bound", "pr_sgd.toml", *sets("L sigma G F_gap N eta p T"))
    assert printed.splitlines()[1:4] == ["  initialisation = 0.06", "  variance = 0.0125", "  drift = 0.8"]


def test_refutations_and_the_audit_with_its_dates_come_with_the_wheel(answers: dict[str, dict[str, Any]]):
    replayed, audited = answers["replay feddro.theorem_5_1"][""], answers["audit fcsg"][""]
    assert replayed["confirmed"] and {each["verdict"]["outcome"] for each in replayed["bundles"]} == {"REFUTED"}
    assert len(audited["findings"]) > 5 and all(audited["checked"].values())


def test_a_method_and_a_problem_of_ones_own_are_validated(answers: dict[str, dict[str, Any]]):
    found = answers[" ".join(VALIDATE)][""]
    assert {row["verdict"]["outcome"] for row in found["results"]} == {"SUPPORTED"}
    assert {row["outcome"] for row in found["negative_controls"]} == {"REFUTED"}


def test_every_file_that_the_package_reads_is_in_the_wheel(folder: Path):
    """The marker of types, the style of the figures, templates, tables, refutations: all that is no Python and no test."""
    (installed,) = (folder.parent / "environment" / "lib").glob("python*/site-packages/fedco")
    mine = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*")
        if path.is_file() and path.suffix in DATA and path.relative_to(ROOT).parts[0] in ROOMS
    }
    mine |= {
        "py.typed",
        "fedco.mplstyle",
        "docs/reproduced/results.json",
        *(str(path.relative_to(ROOT)) for path in (ROOT / "docs/reproduced").glob("*/*.svg")),
    }
    missing = sorted(name for name in mine if not (installed / name).is_file())
    assert len(mine) > 50 and not missing


ROOMS = {"algorithms", "bounds", "cli", "synthetic", "validation"}
DATA = {".html", ".css", ".js", ".csv", ".json", ".mplstyle", ".txt", ".toml"}
