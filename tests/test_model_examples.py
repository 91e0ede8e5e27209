"""Each file examples/model_*.py: the commands at its head, from a model to a figure, and the trained module in the user's own hands."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import fedco
import pytest
import torch
from fedco.synthetic.models import FORMS
from fedco.user_files import load_object

EXAMPLES = Path(fedco.__file__).parent / "examples"
FILES = {path.stem.removeprefix("model_"): path for path in sorted(EXAMPLES.glob("model_*.py"))}
QUICK = "dro"


def built(name):
    pytest.importorskip("sklearn")
    return load_object(f"{FILES[name]}:build")()


def lines_of(name):
    text = FILES[name].read_text("utf-8").replace("\\\n", "")
    return [shlex.split(line) for line in re.findall(r"^\$ fedco (.*)$", text, re.MULTILINE)]


@pytest.mark.parametrize(
    "name", [name if name == QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FILES]
)
def test_from_a_model_to_a_figure(command, name, tmp_path):
    described = built(name)
    (tmp_path / FILES[name].name).write_text(FILES[name].read_text("utf-8"))
    said = {}
    for arguments in lines_of(name):
        done = command(*arguments, cwd=tmp_path)
        assert done.returncode == 0, (arguments, done.stderr)
        said[arguments[0]] = done.stdout
    assert list(said) == ["estimate", "tune", "run", "plot"]
    assert "rests on estimates" in said["tune"] and "estimated" in said["estimate"]
    assert (tmp_path / "bound.svg").read_text().startswith("<?xml")
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    values = [point["metrics"][run["metrics"][0]]["mean"] for point in run["points"]]
    assert len(values) == 3 and values[0] != values[2]
    problem = fedco.problem(described)
    start = float(problem.objective(problem.initial_point[None]))
    losses = []
    for point in range(3):
        described["model"].load_state_dict(torch.load(tmp_path / "run" / f"module_{point}.pt", weights_only=True))
        at = torch.cat(
            [one.detach().flatten() for one in described["model"].parameters()]
        ).double()  # the user's own module
        losses.append(float(problem.objective(at[None])))
    assert losses[1] < losses[0] < start  # the first step size is short, the second one practical


def test_every_kind_has_an_example():
    pytest.importorskip("sklearn")
    kinds = {FORMS[built(name).get("form", "federated")].kind for name in FILES}
    assert kinds == {made.kind for made in FORMS.values()}
