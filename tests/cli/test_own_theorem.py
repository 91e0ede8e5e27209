"""Every command about theory on the files of examples/, in this process; tests/test_wheel.py does it with the wheel alone."""

from __future__ import annotations

import json
from pathlib import Path

import fedco
import pytest
from in_process import run
from quick import slow_but

EXAMPLES = Path(fedco.__file__).parent / "examples"
CONSTANTS = {"L": "2", "sigma": "1", "G": "2", "F_gap": "3", "N": "8"}
CHOSEN = {"eta": "1/10", "p": "2", "b": "4", "T": "1000"}
FILES = {
    "pr_sgd.toml": ("L", "sigma", "G", "F_gap", "N", "eta", "p", "T"),
    "half_sgd.toml": ("L", "sigma", "G", "F_gap", "N", "eta", "b", "T"),
    "parallel_sgd.py:theorem_1": ("L", "sigma", "F_gap", "N", "eta", "b", "T"),
    "parallel_sgd.py:theorem_2": ("L", "sigma", "G", "F_gap", "N", "eta", "b", "p", "T"),
    "parallel_sgd.py:corollary_1": ("L", "sigma", "F_gap", "N", "b", "T"),
}


@pytest.fixture(params=slow_but({"pr_sgd.toml", "half_sgd.toml", "parallel_sgd.py:corollary_1"}, FILES))
def command(request):
    """A function that runs a command on one example and returns its JSON; `given` and `constants` are its --set options."""
    names, file = FILES[request.param], f"{EXAMPLES}/{request.param}"

    def ask(verb, *options):
        trust = ["--trust"] if "half_sgd" in file else []
        status, out, err = run(verb, file, *options, *trust, "--json")
        assert status == 0, err
        return json.loads(out)

    def sets(values, but=()):
        return [
            part
            for name, value in values.items()
            if name in names and name not in but
            for part in ("--set", f"{name}={value}")
        ]

    ask.given = lambda *but: sets({**CONSTANTS, **CHOSEN}, but)
    ask.constants = sets(CONSTANTS)
    ask.names = names
    return ask


def test_show(command):
    found = command("show")
    assert set(found["statements"]["printed"]["symbols"]) >= set(command.names)
    assert found["dimension"] == "[f]^2 [x]^-2" and "align" in found["statements"]["printed"]["latex"]


def test_bound_with_sensitivity(command):
    found = command("bound", *command.given(), "--sensitivity")
    assert found["admissible"] and found["total"] == pytest.approx(sum(found["terms"].values()))
    assert found["sensitivity"]["elasticities"]["F_gap"] == pytest.approx(
        found["terms"]["initialisation"] / found["total"]
    )


def test_admissible(command):
    if "eta" in command.names:
        found = command("admissible", "--solve", "eta", *command.given("eta"))["intervals"]["eta"]
        assert (found["lower"], found["upper"], found["binding"]["upper"]) == (0, 0.5, "step_size")
    else:
        found = command("admissible", "--solve", "T", *command.given("T"))["intervals"]["T"]
        assert (found["lower"], found["binding"]["lower"]) == (32, "horizon")


def test_tune(command):
    best = command("tune", *command.constants, "--budget", "T=1000", "--budget", "samples=4000")
    there = command("bound", *command.given())
    assert best["bound"]["total"] <= there["total"] and best["gap"] < 1e-3
    target = command("tune", *command.constants, "--eps", "1/10", "--cost", "samples")
    assert target["bound"]["total"] <= 0.1 and {"iterations", "rounds", "samples", "model_messages"} <= set(
        target["cost"]
    )


def test_complexity(command):
    orders = command("complexity")
    assert orders["costs"]["samples"]["eps"] == "-2" and orders["costs"]["samples"]["clients"] == "-1"
    assert command("complexity", *command.constants, "--eps", "1/10")["tuned"]["bound"]["total"] <= 0.1


def test_audit(command):
    """Nothing is wrong with the examples; tests of the audit itself show that it would find a slip."""
    assert command("audit")["findings"] == []


def test_compare_and_theorems():
    files = [f"{EXAMPLES}/{name}" for name in ("pr_sgd.toml", "half_sgd.toml", "parallel_sgd.py")]
    status, out, err = run("compare", *files, "fcsg.theorem_4_1", "--eps", "1/10", "--trust", "--json")
    assert status == 0, err
    rows = {row["theorem"]: row for row in json.loads(out)["rows"]}
    assert len(rows) == 6 and all(row["cost"]["samples"] > 0 for row in rows.values())
    assert rows["parallel_sgd.theorem_1"]["cost"]["samples"] < rows["pr_sgd.theorem_1"]["cost"]["samples"]
    status, out, _ = run("compare", *files, "--orders", "--kind", "federated", "--trust", "--json")
    assert status == 0 and all(row["costs"]["samples"]["eps"] == "-2" for row in json.loads(out)["rows"])
    status, out, _ = run("theorems", files[2], "--json")
    assert [row["kind"] for row in json.loads(out)["theorems"]] == ["theorem", "theorem", "corollary"]


WRONG = "fedco.define(id='x.y', symbols={'eta': 'step_size', 'T': 'iterations', 'F_gap': 'objective_gap', 'L': 'local_smoothness'}, terms="
SLIP = f"""import fedco
parent = {WRONG}{{'a': '2*F_gap/(eta*T)', 'b': 'L**2*eta*F_gap'}})
corollary = fedco.define(id='x.z', symbols={{'T': 'iterations', 'F_gap': 'objective_gap', 'L': 'local_smoothness', 'eta': 'step_size'}},
    terms={{'a': '2*L*F_gap/T', 'b': 'L*F_gap/2'}}, schedule={{'eta': '1/L'}}, follows_from=parent)
"""


def test_a_corollary_that_is_too_small_is_found_and_rechecked(monkeypatch, tmp_path):
    (tmp_path / "slip.py").write_text(SLIP)
    monkeypatch.chdir(tmp_path)
    status, out, err = run("audit", "slip.py", "--json")
    assert status == 0, err
    (finding,) = json.loads(out)["findings"]
    assert (finding["id"], finding["where"]) == ("x.z:corollary", "term b")
    assert finding["recheck"] == "fedco audit slip.py --recheck x.z:corollary"
    status, out, _ = run(*finding["recheck"].split()[1:], "--json")
    assert status == 0 and json.loads(out)["confirmed"]


PR_SGD = [f"{EXAMPLES}/pr_sgd.toml", *(part for item in CONSTANTS.items() for part in ("--set", "=".join(item)))]
BAD = [
    (["bound", "none.toml"], ("none.toml", "no such file")),
    (["show", "."], ("'.'", "not a theorem")),
    (["show", "folder.toml"], ("folder.toml", "a folder")),
    (["show", "none.py:theorem_1"], ("none.py", "no such file")),
    (["tune", "broken.toml", "--eps", "1"], ("broken.toml", "readable TOML")),
    (["audit", "wrong.toml"], ("wrong.toml", "term drift", "column 15", "'LL'", "nearest is L")),
    (["compare", "wrong.toml", "--eps", "1"], ("wrong.toml", "term drift")),
    (["theorems", "wrong.toml"], ("wrong.toml", "term drift")),
    (["complexity", "raises.py:x"], ("raises.py", "line 1", "ZeroDivisionError")),
    (["bound", "slip.py"], ("slip.py", "FILE.py:NAME", "parent corollary")),
    (["bound", "slip.py:parents"], ("slip.py", "'parents'", "nearest is parent")),
    (["bound", "slip.py:parent", "--set", "L=1", "--set", "zeta=2"], ("zeta", "not a symbol of x.y")),
    (["audit", "slip.py", "--recheck", "x.z:units"], ("x.z:units", "not a finding", "x.z:corollary")),
    (["tune", "slip.py:parent", "--set", "L=1", "--set", "F_gap=1", "--eps", "1"], ("x.y", "under `costs`")),
    (["complexity", "slip.py:parent"], ("samples", "x.y", "it has none", "under `costs`")),
    (["tune", *PR_SGD, "--budget", "round=5"], ("round: not a resource of pr_sgd.theorem_1", "the nearest is rounds")),
    (
        ["tune", "slip.py:parent", "--set", "L=1", "--set", "F_gap=1", "--budget", "rounds=5"],
        ("rounds", "not a resource of x.y", "it has eta T", "under `costs`"),
    ),
]


@pytest.mark.parametrize(("arguments", "named"), BAD, ids=[" ".join(arguments)[:40] for arguments, _ in BAD])
def test_a_bad_file_is_one_line_and_status_2(arguments, named, monkeypatch, tmp_path):
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "broken.toml").write_text("id = ")
    (tmp_path / "wrong.toml").write_text((EXAMPLES / "pr_sgd.toml").read_text().replace("L**2*M**2", "LL**2*M**2"))
    (tmp_path / "raises.py").write_text("1/0")
    (tmp_path / "slip.py").write_text(SLIP)
    monkeypatch.chdir(tmp_path)
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1 and err.startswith("fedco: ")
    assert all(word in err for word in named), err
