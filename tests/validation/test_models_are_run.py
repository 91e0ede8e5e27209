"""Every verb on one description of a model: run with its trained module, going on after a stop, validate, tune, practice."""

import json
import os
import signal

import fedco
import numpy as np
import pytest
import torch
from fedco.algorithms.engine.progress import Interrupted
from fedco.errors import InputError

FILE = """
import torch
from torch import nn
from torch.nn.functional import cross_entropy

def build():
    torch.manual_seed(0)
    x = torch.randn(40, 3)
    data = [(part, (part[:, 0] > 0).long()) for part in x.split(20)]
    return {"model": nn.Linear(3, 2), "loss": cross_entropy, "clients": data, "points": 1}

def network():
    made = build()
    made["model"] = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 2))
    return made

def regression():
    torch.manual_seed(0)
    return {"model": nn.Linear(3, 1), "loss": "mse_loss", "clients": [(torch.randn(20, 3), torch.randn(20, 1))] * 2}

def views():
    torch.manual_seed(0)
    x = torch.randn(12, 1, 3) + 0.1 * torch.randn(12, 4, 3)
    data = [(part, (part[:, 0, 0] > 0).long()) for part in x.split(6)]
    return {"model": nn.Linear(3, 2), "loss": cross_entropy, "clients": data, "form": "invariant", "points": 1}
"""
SETTINGS = {"tau": 2, "b": 3}


@pytest.fixture
def file(tmp_path):
    (tmp_path / "my_model.py").write_text(FILE)
    return str(tmp_path / "my_model.py")


def test_the_trained_module_comes_back(file, tmp_path):
    """As a state_dict that the user's own module takes, in its own float type: of every grid point, and of every seed in Python."""
    out = tmp_path / "out"
    done = fedco.run("local_sgd", f"{file}:build", T=6, seeds=2, settings=SETTINGS, grid={"eta": [0.1, 0.5]}, out=out)
    assert done.models.shape == (2, 2, 8)
    model = fedco.user_files.load_object(f"{file}:build")()["model"]
    for point in range(2):
        state = torch.load(out / f"module_{point}.pt", weights_only=True)
        assert all(torch.equal(value, done.module(point).state_dict()[name]) for name, value in state.items())
        model.load_state_dict(state)
        assert next(model.parameters()).dtype == torch.float32
        problem = done.problems[point]
        at = torch.cat([one.detach().flatten() for one in model.parameters()]).double()
        wanted = done.final("objective")[point, 0]
        assert float(problem.objective(at[None])) == pytest.approx(wanted, rel=1e-6)
    assert not torch.equal(done.models[0, 0], done.models[0, 1])
    assert "module_1.pt" in json.loads((out / "run.json").read_text())["files"]
    again = fedco.run("local_sgd", f"{file}:build", T=6, seeds=2, settings=SETTINGS, grid={"eta": [0.1, 0.5]}, out=out)
    assert torch.equal(again.models, done.models)  # read back, and not run again
    for point, seed in ((2, 0), (0, 2), (-1, 0)):
        with pytest.raises(InputError, match="module: wanted a point below 2 and a seed below 2"):
            done.module(point, seed)


def test_what_diverged_or_has_no_module_leaves_none(file, tmp_path):
    options = {
        "T": 300,
        "seeds": 1,
        "settings": {"tau": 1, "b": 20},
        "grid": {"eta": [0.01, 50.0]},
        "metrics": ["messages"],
    }
    done = fedco.run("local_sgd", f"{file}:regression", out=tmp_path / "out", **options)
    assert (tmp_path / "out" / "module_0.pt").exists() and not (tmp_path / "out" / "module_1.pt").exists()
    with pytest.raises(InputError, match="module: seed 0 of point 1 diverged"):
        done.module(1)
    other = fedco.run(
        "local_sgd", "federated_quadratic", T=2, seeds=1, settings={"eta": 0.1, "tau": 1}, out=tmp_path / "q"
    )
    assert not list((tmp_path / "q").glob("*.pt")) and other.models.shape == (1, 1, other.problems[0].dim)
    with pytest.raises(InputError, match="federated_quadratic is made of no module"):
        other.module()


def test_a_stopped_run_of_a_model_goes_on(file, tmp_path, monkeypatch):
    monkeypatch.setattr("fedco.algorithms.engine.driver._SECONDS_BETWEEN_REPORTS", 0.0)
    options = {"T": 12, "seeds": 2, "settings": {"eta": 0.2, **SETTINGS}}
    whole = fedco.run("local_sgd", f"{file}:network", **options)
    seen = []

    def stop(label):
        return lambda progress: os.kill(os.getpid(), signal.SIGINT) if progress.step == 5 else None

    with pytest.raises(Interrupted):
        fedco.run("local_sgd", f"{file}:network", progress=stop, out=tmp_path / "out", **options)
    assert not list((tmp_path / "out").glob("*.pt"))
    see = lambda label: lambda progress: seen.append(progress.first_step)  # noqa: E731
    done = fedco.run("local_sgd", f"{file}:network", progress=see, out=tmp_path / "out", **options)
    assert set(seen) == {5}
    assert torch.equal(done.models, whole.models) and np.array_equal(done.final("objective"), whole.final("objective"))
    assert (tmp_path / "out" / "module_0.pt").exists()


def test_a_bound_of_a_model_is_drawn_where_its_constants_are_proved(file):
    options = {"T": 6, "seeds": 2, "settings": {"eta": 0.01, **SETTINGS}, "metrics": ["gradient_sq"]}
    (bound,) = fedco.run("local_sgd", f"{file}:build", theorems=["baselines.local_sgd"], **options).bounds
    assert bound["T"][-1] == 6 and bound["values"][-1] > 0
    with pytest.raises(InputError, match="its constants are estimated, and an estimate supports no bound"):
        fedco.run("local_sgd", f"{file}:network", theorems=["baselines.local_sgd"], **options)


def test_a_method_for_another_kind_names_the_forms(file):
    with pytest.raises(
        InputError, match="it runs on conditional; the forms invariant average_precision maml_tasks are of such a kind"
    ):
        fedco.run("fcsg", f"{file}:build", T=2, settings={"alpha": 0.1, "q": 1, "m": 1})
    done = fedco.run(
        "feddro", f"{file}:build", T=2, seeds=1, settings={"eta": 0.1, "beta": 0.5, "I": 1, "problem.form": "chi2_dro"}
    )
    assert done.description["kind"] == "shared_composite"


@pytest.mark.slow
def test_validate_judges_a_model_and_an_estimate_supports_nothing(file):
    """The bound of the run is far above what is measured, and with proved constants that many seeds support it."""
    options = {"seeds": 600, "alpha": "1e-2"}
    judged = [
        fedco.validate("baselines.minibatch_sgd", problems=[f"{file}:{name}"], **options)
        for name in ("build", "network")
    ]
    proved, searched = (found.verdicts[0] for found in judged)
    assert [found.certificates for found in judged] == ["", ""], (
        "they are fedco's own, by rules or by a search that says so"
    )
    assert proved.outcome.value == "SUPPORTED" and searched.outcome.value == "INCONCLUSIVE"


def test_tune_estimates_first_and_says_so(command, file, tmp_path):
    asked = ["--set", "p=2", "--set", "b=2", "--budget", "T=100"]
    name = f"{file}:network"
    code = command("estimate", name, "--theorem", "baselines.local_sgd", "--out", str(tmp_path / "c.toml"))
    assert code.returncode == 0
    one = command("tune", "baselines.local_sgd", "--model", name, *asked, "--json")
    assert one.returncode == 0 and "local_smoothness" in one.stderr  # progress
    told = json.loads(one.stdout)
    assert {"L", "G", "sigma"} <= {one["symbol"] for one in told["rests_on_estimates"]}
    filed = json.loads(
        command("tune", "baselines.local_sgd", "--constants", str(tmp_path / "c.toml"), *asked, "--json").stdout
    )
    assert told["bound"]["total"] == pytest.approx(filed["bound"]["total"], rel=1e-9)
    both = command("tune", "baselines.local_sgd", "--model", name, "--constants", str(tmp_path / "c.toml"), *asked)
    assert both.returncode == 2 and "--model: wanted either --model or --constants, got both" in both.stderr
    other = command("tune", "feddro.theorem_5_1", "--model", name, "--budget", "T=100")
    assert other.returncode == 2 and "which the forms kl_dro chi2_dro make; got the form federated" in other.stderr


def test_fcsg_is_reached_from_a_model(file):
    name, lines = f"{file}:views", []
    found = fedco.practice("fcsg.theorem_4_1", name, T=4, seeds=2, above=0, note=lines.append)
    assert (
        lines[0] == "constants of my_model:" and lines[-2].startswith("bound / measured") and "heuristics" in lines[-1]
    )
    assert found.problem == "my_model" and len(found.rows) == 2 and found.explanation is not None
    assert any("constants of my_model are estimated" in note for note in found.notes)


@pytest.mark.slow
def test_a_model_without_a_bound_below_its_cap_is_no_instance(file):
    with pytest.raises(InputError, match=r"not an instance of fcsg\.theorem_4_1: tuned, edge: eps: wanted more than"):
        fedco.validate("fcsg.theorem_4_1", problems=[f"{file}:views"], seeds=2)
