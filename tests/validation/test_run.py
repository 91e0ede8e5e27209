"""`fedco run` as a user runs it: grids, metrics, bounds, resume, files; each number against one computed another way."""

import csv
import io
import json
import os
import signal
from fractions import Fraction

import fedco
import numpy as np
import pytest
import torch
from fedco.algorithms import ComFedL, FedDRO, LocalSGD, drive, metrics
from fedco.algorithms.engine.progress import Interrupted
from fedco.cli import app
from fedco.errors import InputError
from fedco.storage import DamagedWarning
from fedco.synthetic.applications.user import LocalFromFunctions
from fedco.validation.experiments.bounds import matches
from fedco.validation.experiments.table import compared, read_run
from fedco.validation.runs.experiments import measure
from fedco.validation.runs.recipe import Instance
from typer.testing import CliRunner

FAST = {"T": 24, "seeds": 3}


def command(*arguments: str):
    return CliRunner().invoke(app, list(arguments), catch_exceptions=True)


def refusal(*arguments: str) -> str:
    found = command("run", *arguments)
    assert found.exit_code != 0
    return str(found.exception)


def test_every_grid_point_is_its_own_run(tmp_path):
    """Real numbers step together, whole ones apart, parameters make another problem; each equals a run of `drive` alone."""
    done = fedco.run(
        "local_sgd", "federated_noisy", **FAST, metrics=["objective", "consensus_error", "messages", "bytes"],
        settings=["problem.dim=3"], grid={"tau": [2, 3], "eta": [0.05, 0.2], "problem.Delta": [0.1, 0.2]}, every=8, out=tmp_path,
    )  # fmt: skip
    assert done.table.size == 8 and done.table.times == (0, 8, 16, 24)
    for index in range(8):
        point = done.table.point(index)
        problem = fedco.problem("federated_noisy", dim=3, Delta=point["problem.Delta"])
        alone = drive(
            LocalSGD(eta=point["eta"], tau=point["tau"]), problem, steps=24, seeds=3,
            record={"objective": metrics.objective, "consensus_error": metrics.consensus_error}, every=8,
        )  # fmt: skip
        for name in ("objective", "consensus_error"):
            assert np.array_equal(done.table.values[name][index], alone.values[name].T.numpy())
        assert (done.final("messages")[index] == 24 // point["tau"]).all()
        assert (done.final("bytes")[index] == 8 * 3 * (24 // point["tau"])).all()
    rows = list(csv.DictReader(io.StringIO((tmp_path / "runs.csv").read_text())))
    assert len(rows) == 8 * 3 * 4
    frame = done.frame()
    assert [float(row["objective"]) for row in rows] == frame["objective"].tolist()
    assert list(frame.columns) == list(rows[0])


def test_a_folder_shows_one_run(tmp_path):
    """What an earlier run wrote is taken away, unless somebody changed it; files of others stay."""
    first = ["objective", "messages", "bytes"]
    fedco.run("local_sgd", "federated_noisy", **FAST, metrics=first, settings=["tau=2", "eta=0.1"], out=tmp_path)
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "bytes.svg").write_text("edited")
    fedco.run(
        "local_sgd", "federated_noisy", **FAST, metrics=["objective"], settings=["tau=3", "eta=0.1"], out=tmp_path
    )
    left = {path.name for path in tmp_path.iterdir()}
    assert left.isdisjoint({"messages.svg", "messages.data.csv"}) and {"mine.txt", "bytes.svg", "objective.svg"} <= left


def test_csv_and_parquet_hold_the_same(tmp_path):
    import pandas

    arguments = ("run", "fedprox", "--problem", "federated_sines", "--set", "tau=2", "--set", "mu=0.1", "--grid", "eta=0.1,0.2",
                 "--T", "12", "--seeds", "2", "--metric", "objective", "--metric", "distance")  # fmt: skip
    assert command(*arguments, "--out", str(tmp_path / "a")).exit_code == 0
    assert command(*arguments, "--out", str(tmp_path / "b"), "--format", "parquet").exit_code == 0
    left = pandas.read_csv(tmp_path / "a" / "runs.csv")
    assert left.equals(pandas.read_parquet(tmp_path / "b" / "runs.parquet"))
    assert (tmp_path / "a" / "objective.svg").stat().st_size > 1000


def test_the_bound_is_the_theorems_and_the_mean_is_its_statistic():
    """Against `theorem.bound` and `measure`, for a statement about every step and one about the rounds."""
    cases = (
        ("feddro", "feddro_homogeneous", "feddro.theorem_5_1", {"eta": 0.01, "beta": 0.1, "I": 4}, FedDRO),
        ("comfedl", "local_homogeneous", "comfedl.theorem_1", {"eta": 0.01, "tau": 4}, ComFedL),
    )
    for name, problem, theorem, hyper, method in cases:
        done = fedco.run(name, problem, **FAST, metrics=["gradient_sq"], settings=hyper, theorems=[theorem], every=24)
        (bound,) = done.bounds
        exact = {key: Fraction(str(value)) for key, value in hyper.items()}
        label = fedco.theorem(theorem).default
        measured = measure(
            theorem, Instance(problem, {**exact, "b": 1}, ""), 24, 3, label=label, method=method(**hyper)
        )
        assert bound["T"][-1] == 24 and bound["values"][-1] == pytest.approx(float(measured.bound.total), rel=1e-12)
        np.testing.assert_allclose(done.final("mean_gradient_sq")[0], measured.statistic, rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "problem", "theorem", "hyper"),
    [
        ("feddro", "feddro_homogeneous", "feddro.theorem_5_1", {"eta": 0.01, "beta": 0.1, "I": 4}),
        ("comfedl", "local_homogeneous", "comfedl.theorem_1", {"eta": 0.01, "tau": 4}),
    ],
)
def test_the_mean_along_a_run_is_over_the_steps_of_the_statement(name, problem, theorem, hyper):
    """From the squared gradients of every step; the bound stands at a few times, with the value that it has there."""
    done = fedco.run(
        name, problem, T=32, seeds=2, metrics=["gradient_sq", "bytes"], settings=hyper, theorems=[theorem], every=1
    )
    gradients, means = (done.table.values[each][0] for each in ("gradient_sq", "mean_gradient_sq"))
    (match,) = matches(method_of(name, hyper), fedco.problem(problem), 32, only=[theorem])
    assert np.isnan(means[:, 0]).all() and match.every == (1 if name == "feddro" else 4)
    assert match.after is (name == "feddro")
    for t in range(1, 33):
        steps = [s for s in range(1 if match.after else 0, t + match.after) if s % match.every == 0]
        if match.after and t % match.every:
            assert np.isnan(means[:, t]).all()
        else:
            np.testing.assert_allclose(means[:, t], gradients[:, steps].mean(axis=1), rtol=1e-12)
    (bound,) = done.bounds
    assert bound["T"][0] > 0 and bound["T"][-1] == 32 and len(bound["T"]) <= 25
    assert bound["values"] == [match.at(T)[0] for T in bound["T"]]
    sent = method_of(name, hyper).messages(fedco.problem(problem), 32)
    assert (done.final("bytes") == 8 * (sent.model_floats + sent.embedding_floats)).all()


def method_of(name, hyper):
    return {"feddro": FedDRO, "comfedl": ComFedL}[name](**hyper)


def test_a_bound_needs_the_methods_own_statement_and_certified_constants():
    problem = fedco.problem("feddro_homogeneous")
    method = FedDRO(eta=0.01, beta=0.1, I=4)
    assert "feddro.theorem_5_1" in {match.theorem.id for match in matches(method, problem, 50)}
    with pytest.raises(InputError, match="kind"):
        matches(method, problem, 50, only=["comfedl.theorem_1"])
    with pytest.raises(InputError, match="another method"):
        matches(LocalSGD(eta=0.01, tau=4), fedco.problem("federated_homogeneous"), 50, only=["baselines.minibatch_sgd"])
    rows = torch.ones(2, 3, 1, dtype=torch.float64)
    estimated = LocalFromFunctions(lambda x, row: x * row, lambda y, _: y.sum(), rows)
    assert matches(ComFedL(eta=0.01, tau=1), estimated, 50) == []
    with pytest.raises(InputError, match="estimate"):
        matches(ComFedL(eta=0.01, tau=1), estimated, 50, only=["comfedl.theorem_1"])


def test_a_stopped_run_goes_on_to_the_same_table(tmp_path, monkeypatch):
    monkeypatch.setattr("fedco.algorithms.engine.driver._SECONDS_BETWEEN_REPORTS", 0.0)
    options = dict(T=60, seeds=2, metrics=["objective"], settings={"tau": 3}, grid={"b": [1, 2], "eta": [0.1, 0.2]})
    whole = fedco.run("local_sgd", "federated_noisy", **options)

    def stop(label):
        return lambda progress: os.kill(os.getpid(), signal.SIGINT) if (label, progress.step) == ("2/2 ", 41) else None

    with pytest.raises(Interrupted):
        fedco.run("local_sgd", "federated_noisy", **options, out=tmp_path, progress=stop)
    assert len(list((tmp_path / "parts").glob("*.npz"))) == 1
    assert len(list((tmp_path / "parts").glob("*.checkpoint"))) == 1
    seen = []

    def see(label):
        return lambda progress: seen.append((label, progress.first_step))

    assert (
        fedco.run("local_sgd", "federated_noisy", **options, out=tmp_path, progress=see).table.csv()
        == whole.table.csv()
    )
    assert set(seen) == {("2/2 ", 41)}
    kept = sorted((tmp_path / "parts").glob("*.npz"))
    assert len(kept) == 2
    kept[0].write_bytes(kept[0].read_bytes()[:-9])
    with pytest.warns(DamagedWarning):
        assert fedco.run("local_sgd", "federated_noisy", **options, out=tmp_path).table.csv() == whole.table.csv()


def test_a_run_that_is_kept_is_not_run_again(tmp_path, monkeypatch):
    options = dict(**FAST, settings={"tau": 3, "eta": 0.1}, out=tmp_path)
    first = fedco.run("local_sgd", "federated_noisy", **options)
    import fedco.validation.experiments.run as module

    monkeypatch.setattr(module, "drive", None)
    assert fedco.run("local_sgd", "federated_noisy", **options).table.csv() == first.table.csv()
    with pytest.raises(TypeError):
        fedco.run("local_sgd", "federated_noisy", **{**options, "settings": {"tau": 3, "eta": 0.2}})


def test_runs_are_compared_and_a_changed_file_is_refused(tmp_path):
    for eta in ("0.1", "0.2"):
        made = command("run", "local_sgd", "--problem", "federated_noisy", "--set", f"eta={eta}", "--set", "tau=2", "--T", "10",
                       "--seeds", "2", "--out", str(tmp_path / eta), "--json")  # fmt: skip
        assert made.exit_code == 0
    rows = json.loads(command("compare-runs", str(tmp_path / "0.1"), str(tmp_path / "0.2"), "--json").stdout)["runs"]
    assert [row["settings"]["eta"] for row in rows] == [0.1, 0.2]
    assert rows == compared([tmp_path / "0.1", tmp_path / "0.2"])
    kept = read_run(tmp_path / "0.1")
    assert (
        kept["seeds"] == [0, 1] and kept["versions"]["torch"] and kept["points"][0]["metrics"]["objective"]["mean"] > 0
    )
    table = tmp_path / "0.1" / "runs.csv"
    table.write_text(table.read_text().replace("1", "2", 1))
    with pytest.raises(InputError, match=r"runs\.csv"):
        read_run(tmp_path / "0.1")


def test_what_cannot_be_run_is_one_line_that_names_it(tmp_path):
    out = ("--out", str(tmp_path / "never"))
    base = ("local_sgd", "--problem", "federated_noisy", "--T", "10", *out)
    assert "tau" in refusal(*base, "--set", "eta=0.1")
    assert "wanted one of objective gradient_norm gradient_sq" in refusal(
        *base, "--set", "eta=0.1", "--set", "tau=2", "--metric", "accuracy"
    )
    assert "eto" in refusal(*base, "--set", "eto=0.1", "--set", "tau=2")
    assert "both set and in the grid" in refusal(*base, "--set", "eta=0.1", "--grid", "eta=1,2", "--set", "tau=2")
    assert "tau must be an integer" in refusal(*base, "--set", "eta=0.1", "--set", "tau=0.5")
    assert "not defined on problem kind" in refusal("feddro", "--problem", "federated_noisy", "--set", "eta=0.1",
                                                    "--set", "beta=0.1", "--set", "I=2", "--T", "10", *out)  # fmt: skip
    assert not (tmp_path / "never").exists()


def test_a_method_and_a_problem_of_ones_own(tmp_path):
    file = tmp_path / "own.py"
    file.write_text(
        "from fedco.algorithms import LocalSGD\nfrom fedco.synthetic.families.federated import FederatedQuadratic\n\n\n"
        "class Mine(LocalSGD):\n    name = 'mine'\n\n\ndef problem(L=1.0):\n    return FederatedQuadratic(name='q', L=L, mu=0.1)\n"
    )
    found = command("run", f"{file}:Mine", "--problem", f"{file}:problem", "--set", "problem.L=0.5", "--set", "eta=0.1",
                    "--set", "tau=1", "--T", "5", "--seeds", "2", "--out", str(tmp_path / "out"), "--json")  # fmt: skip
    assert found.exit_code == 0, found.exception
    assert json.loads(found.stdout)["method"] == "mine"
