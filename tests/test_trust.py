"""A TOML file is data: code that it names runs only where the user trusts it, and every way to it asks."""

from __future__ import annotations

import fedco
import pytest
from fedco.bounds.files import theorem_of_file
from fedco.bounds.proof.derivations import prove
from fedco.cli import app
from fedco.errors import InputError
from fedco.validation.falsifier.attack import falsify
from typer.testing import CliRunner

METHOD = """
from pathlib import Path
from fedco.algorithms import LocalSGD

Path(__file__).with_name("ran").touch()

class Mine(LocalSGD):
    name = "mine"
    costs = {"samples": "b*T"}
"""
THEOREM = """
id = "mine.theorem_1"
proof = "my_proof.py:prove"
[symbols]
L = "local_smoothness"
sigma = "local_gradient_noise"
G = "local_gradient_bound"
F_gap = "objective_gap"
eta = "step_size"
p = "communication_period"
N = "clients"
T = "iterations"
[terms]
initialisation = "2*F_gap/(eta*T)"
variance = "L*eta*sigma**2/N"
drift = "4*eta**2*p**2*L**2*(G**2 + sigma**2)"
[conditions]
step_size = "eta <= 1/L"
[method]
name = "my_method.py:Mine"
eta = "eta"
tau = "p"
b = 1
"""
SETS = [part for pair in ["L=1", "sigma=1", "G=1", "F_gap=1", "p=2", "N=4"] for part in ("--set", pair)]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "my_method.py").write_text(METHOD)
    (tmp_path / "my_proof.py").write_text(
        "from pathlib import Path\nPath(__file__).with_name('ran').touch()\ndef prove(s):\n    return s.eta\n"
    )
    (tmp_path / "mine.toml").write_text(THEOREM)
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["falsify", "--seconds", "0.2"],
        ["tune", "--eps", "1", *SETS],
        ["complexity"],
        ["validate", "--problem", "federated_noisy", "--seeds", "4"],
        ["prove", "--rules-only"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_code_that_a_file_names_runs_only_with_trust(folder, arguments):
    command, *options = arguments
    name = str(folder / "mine.toml")
    found = CliRunner().invoke(app, [command, name, *options])
    assert isinstance(found.exception, InputError) and "--trust runs it" in str(found.exception)
    assert not (folder / "ran").exists()
    CliRunner().invoke(app, [command, name, *options, "--trust"])
    assert (folder / "ran").exists()


@pytest.mark.parametrize("command", ["show", "bound", "admissible", "audit", "explore"])
def test_reading_a_file_runs_nothing(folder, command):
    options = {
        "bound": [*SETS, "--set", "eta=1/2", "--set", "T=9"],
        "admissible": ["--solve", "eta", *SETS, "--set", "T=9"],
    }
    more = ["--out", str(folder / "explore.html")] if command == "explore" else options.get(command, [])
    found = CliRunner().invoke(app, [command, str(folder / "mine.toml"), *more])
    assert found.exit_code == 0, found.output
    assert not (folder / "ran").exists()


def test_a_metric_that_a_file_names_is_measured_only_with_trust(folder):
    own = '[metric]\nmeasure = "my_metric.py:measure"\ncap = "G**2"\n'
    text = THEOREM.replace('proof = "my_proof.py:prove"', own).replace("my_method.py:Mine", "local_sgd")
    (folder / "mine.toml").write_text(text)
    (folder / "my_metric.py").write_text(
        "from pathlib import Path\nPath(__file__).with_name('ran').touch()\n"
        "def measure(problem, state, t):\n    return problem.gradient(state.average).square().sum(-1)\n"
    )
    command = ["validate", str(folder / "mine.toml"), "--problem", "federated_noisy", "--seeds", "64", "--jobs", "1"]
    found = CliRunner().invoke(app, command)
    assert str(found.exception).endswith(
        "my_metric.py: not run: measure is code that a file of data names; --trust runs it (in Python: trust=True)"
    )
    assert not (folder / "ran").exists()
    assert CliRunner().invoke(app, [*command, "--trust"]).exit_code == 0 and (folder / "ran").exists()


def test_trust_ends_with_the_command(folder):
    CliRunner().invoke(app, ["show", str(folder / "mine.toml"), "--trust"])
    with pytest.raises(InputError, match="--trust runs it"):
        falsify(fedco.load(folder / "mine.toml"), seconds=0.2)


def test_a_trusted_file_is_searched_and_its_proof_is_asked_for(folder):
    theorem = fedco.load(folder / "mine.toml", trust=True)
    assert falsify(theorem, seconds=0.2).outcome == "SURVIVED"
    with pytest.raises(InputError, match=r"mine\.theorem_1: wanted a derivation from its proof, got Signomial"):
        prove(theorem)
    (folder / "my_proof.py").write_text("def prove(s):\n    return s.kappa\n")
    with pytest.raises(InputError, match=r"mine\.theorem_1: its proof prove fails: \w+: .*kappa"):
        prove(fedco.load(folder / "mine.toml", trust=True))


def test_a_proof_is_named_with_its_function(folder):
    (folder / "mine.toml").write_text(THEOREM.replace("my_proof.py:prove", "my_proof"))
    with pytest.raises(InputError, match=r"proof: wanted FILE\.py:NAME, got 'my_proof'"):
        fedco.load(folder / "mine.toml")


PAPER = """
from dataclasses import replace
import fedco
from fedco.bounds.papers.baselines.derivations import minibatch_sgd

mine = replace(fedco.theorem("baselines.minibatch_sgd"), id="mine.sgd")
paper = fedco.Paper("mine", "Mine", {"theorems": [mine], "derivations": DERIVATIONS})
"""


def test_the_derivations_of_a_paper_in_a_file_are_its_theorems_proofs(tmp_path):
    for name, derivations in (("without", "()"), ("with_proof", "(('sgd', minibatch_sgd),)")):
        (tmp_path / f"{name}.py").write_text(PAPER.replace("DERIVATIONS", derivations))
    with pytest.raises(InputError, match="no derivation"):
        prove(theorem_of_file(f"{tmp_path}/without.py:mine"))
    assert prove(theorem_of_file(f"{tmp_path}/with_proof.py:mine")).checked
