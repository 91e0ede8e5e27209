"""fedco tune | complexity | compare: JSON, exit status, speed, no heavy imports, and the how-to page."""

from __future__ import annotations

import json
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path

import fedco
import pytest
from quick import slowly

PAGE = Path(fedco.__file__).parent / "docs" / "howto" / "choose-step-sizes.md"
FCSG = [part for name in ("L_f", "L_g", "S_f", "S_g", "sigma_g", "F_gap") for part in ("--set", f"{name}=1")] + [
    "--set",
    "N=4",
]


def test_tune_prints_one_json_object(command):
    done = command("tune", "fcsg.theorem_4_1", *FCSG, "--statement", "printed", "--budget", "samples=100000", "--json")
    data = json.loads(done.stdout)
    assert done.returncode == 0 and data["bound"]["admissible"] is True
    assert data["objective"] == "bound" and data["gap"] < 1e-3 and data["cost"]["samples"] <= 100000
    assert set(data["values"]) == {"alpha", "q", "m", "T"}


def test_complexity_prints_one_json_object(command):
    done = command("complexity", "fcsg.corollary_4_2", *FCSG, "--eps", "1/2", "--json")
    data = json.loads(done.stdout)
    assert data["tuned"]["bound"]["total"] <= 0.5 and data["rates"]["costs"]["rounds"] == {
        "eps": "-3/2",
        "clients": "0",
    }
    orders = json.loads(command("complexity", "fcsg.theorem_4_1", "--json").stdout)
    assert orders["costs"]["samples"] == {"eps": "-3", "clients": "-1"}


def test_compare_prints_one_json_object(command):
    done = command("compare", "--eps", "1/2", "--kind", "conditional", "--json")
    rows = {row["theorem"]: row for row in json.loads(done.stdout)["rows"]}
    papers = {"fcsg.theorem_4_1", "fcsg_m.theorem_4_4", "acc_fcsg_m.theorem_4_7"}
    assert set(rows) == {*papers, "baselines.biased_sgd"}
    assert all(row["cost"]["samples"] > 0 and row["times_plain"] is None for row in rows.values())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tune", "fcsg.theorem_4_1", *FCSG], "either a budget or a target"),
        (["tune", "fcsg.theorem_4_1", *FCSG, "--budget", "energy=3"], "energy: not a resource"),
        (["tune", "fcsg.theorem_4_1", *FCSG, "--budget", "T"], "wanted NAME=VALUE"),
        (["tune", "fcsg.theorem_4_1", *FCSG, "--eps", "nan"], "eps: wanted a positive number"),
        (["tune", "fcsg.theorem_4_1", *FCSG, "--eps", "-1"], "eps: wanted a positive number, got -1"),
        (["tune", "fcsg.theorem_4_1", *FCSG, "--eps", "1", "--range", "m=5"], "wanted LOW:HIGH"),
        (["tune", "fcsg.theorem_4_1", *FCSG, "--eps", "1", "--cost", "rounds", "--weight", "T=1"], "got both"),
        (["tune", "fcsg.theorem_4_1", "--set", "statement=1", "--eps", "1"], "statement: not a symbol"),
        (["tune", "fcsg.theorem_4_1", *FCSG, "--set", "m=1", "--eps", "1/10"], "wanted more than 2, got 0.1"),
        (
            ["tune", "fcsg.theorem_4_1", *FCSG, "--eps", "1", "--statement", "wished"],
            "has printed, composed, corrected",
        ),
        (["complexity", "fcsg.theorem_4_1", *FCSG], "--eps: wanted a target"),
        (["compare", "--eps", "1/2", "--set", "L_f=1"], "not a quantity"),
        (["compare", "--eps", "1/2", "--kind", "convex"], "not a kind"),
    ],
)
def test_user_errors_are_one_line_and_status_two(command, arguments, message):
    done = command(*arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert message in done.stderr and done.stderr.count("\n") == 1


def test_the_papers_tables_are_derived_again(command):
    """Wu et al., Table 1 (their eps is the norm: halve the exponents): Acc-FCSG-M has its orders only when corrected."""
    rows = json.loads(command("compare", "--orders", "--kind", "conditional", "--json").stdout)["rows"]
    found = {(row["theorem"], row["statement"]): row["costs"] for row in rows}
    assert found["fcsg.theorem_4_1", "printed"]["samples"] == {"eps": "-3", "clients": "-1"}
    assert found["fcsg.theorem_4_1", "printed"]["rounds"] == {"eps": "-3/2", "clients": "0"}
    assert found["fcsg_m.theorem_4_4", "printed"] == found["fcsg.theorem_4_1", "printed"]
    assert found["acc_fcsg_m.theorem_4_7", "printed"]["samples"] == {"eps": "-3", "clients": "-1"}
    assert found["acc_fcsg_m.theorem_4_7", "corrected"]["samples"] == {"eps": "-5/2", "clients": "-1"}
    assert found["acc_fcsg_m.theorem_4_7", "corrected"]["rounds"] == {"eps": "-1", "clients": "0"}
    assert command("compare", "--orders", "--eps", "1").returncode == 2 == command("compare").returncode


def code(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


COMMANDS = [line.removeprefix("$ ") for block in code("console") for line in block.splitlines()]


def test_no_command_of_the_page_is_overlooked():
    assert len(COMMANDS) >= 10 and all(line.startswith("fedco ") for line in COMMANDS)
    assert {"front.png", "compare.png"} <= {word for line in COMMANDS for word in shlex.split(line)}


@pytest.mark.parametrize(
    "line", [slowly(line) if {"front.png", "compare.png"} & {*line.split()} else line for line in COMMANDS]
)
def test_a_command_of_the_page_runs(line: str, command, tmp_path: Path):
    (constants,) = code("toml")
    (tmp_path / "constants.toml").write_text(constants, encoding="utf-8")
    done = command(*shlex.split(line)[1:], cwd=tmp_path)
    assert done.returncode == 0 and done.stdout, done.stderr
    assert all((tmp_path / word).exists() for word in shlex.split(line) if word.endswith(".png"))


def test_the_program_of_the_page_runs(capsys, monkeypatch, tmp_path: Path):
    (program,) = code("python")
    monkeypatch.chdir(tmp_path)
    exec(compile(program, str(PAGE), "exec"), {})
    assert r"\epsilon^{-3/2}" in capsys.readouterr().out and (tmp_path / "region.png").exists()


@pytest.mark.slow
def test_tune_is_quick():
    """Under three seconds of processor time with start-up (wall time depends on what else the machine does)."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    asked = ["tune", "fcsg.theorem_4_1", *FCSG, "--budget", "samples=1000000"]
    subprocess.run([sys.executable, "-m", "fedco", *asked], capture_output=True, timeout=120, check=True)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 3


@pytest.mark.parametrize("label", ["printed", "composed", "corrected"])
def test_a_corollary_with_a_hyperparameter_left_open(label: str, command):
    """A free weight (gamma) that occurs nowhere in the bound was a KeyError."""
    known = [f"{name}=1" for name in ("C_f", "C_g", "L_f", "L_g", "F_gap", "alpha")]
    known += ["sigma_f=0", "sigma_g=0", "delta_g=0", "beta=1/10"]
    sets = [part for item in known for part in ("--set", item)]
    done = command("tune", "local_scgdm.corollary_3_5", "--statement", label, *sets, "--eps", "1/2")
    assert done.returncode == 0 and "gamma = " in done.stdout, done.stderr
