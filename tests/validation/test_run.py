"""`fedco run`: grids, metrics, bounds, resume, files; each number against one computed another way, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import signal
from fractions import Fraction
from pathlib import Path
from typing import Any

import fedco
import numpy as np
import pytest
import torch
from fedco.algorithms import (
    DRFA,
    ComFedL,
    FedDRO,
    FedNova,
    LocalSGD,
    MetaFL,
    MinibatchSGD,
    NotApplicable,
    Schedule,
    drive,
    metrics,
)
from fedco.algorithms.engine.progress import Interrupted
from fedco.errors import InputError
from fedco.storage import DamagedWarning
from fedco.synthetic.applications.user import LocalFromFunctions
from fedco.validation.experiments import bounds, run
from fedco.validation.experiments.bounds import matches
from fedco.validation.experiments.plan import Axis, Plan, as_axes, product, read_axis, read_setting, split_setting
from fedco.validation.experiments.table import compared, read_run
from fedco.validation.runs.experiments import measure
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.values import evaluate_at

FAST = {"T": 24, "seeds": 3}


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


def test_csv_and_parquet_hold_the_same(command, tmp_path):
    import pandas

    arguments = ("run", "fedprox", "--problem", "federated_sines", "--set", "tau=2", "--set", "mu=0.1", "--grid", "eta=0.1,0.2",
                 "--T", "12", "--seeds", "2", "--metric", "objective", "--metric", "distance")  # fmt: skip
    assert command(*arguments, "--out", str(tmp_path / "a")).returncode == 0
    assert command(*arguments, "--out", str(tmp_path / "b"), "--format", "parquet").returncode == 0
    left = pandas.read_csv(tmp_path / "a" / "runs.csv")
    assert left.equals(pandas.read_parquet(tmp_path / "b" / "runs.parquet"))
    assert (tmp_path / "a" / "objective.svg").stat().st_size > 1000


@pytest.mark.parametrize(
    ("name", "problem", "theorem", "hyper"),
    [
        ("feddro", "feddro_homogeneous", "feddro.theorem_5_1", {"eta": 0.01, "beta": 0.1, "I": 4}),
        ("comfedl", "local_homogeneous", "comfedl.theorem_1", {"eta": 0.01, "tau": 4}),
    ],
)
def test_the_mean_along_a_run_is_over_the_steps_of_the_statement_and_the_bound_is_the_theorems(
    name, problem, theorem, hyper
):
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
    exact = {key: Fraction(str(value)) for key, value in hyper.items()}
    whole = measure(
        theorem,
        Instance(problem, {**exact, "b": 1}, ""),
        32,
        2,
        label=fedco.theorem(theorem).default,
        method=method_of(name, hyper),
    )
    assert bound["values"][-1] == pytest.approx(float(whole.bound.total), rel=1e-12)
    np.testing.assert_allclose(means[:, -1], whole.statistic, rtol=1e-12)
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


def test_runs_are_compared_and_a_changed_file_is_refused(command, tmp_path):
    for eta in ("0.1", "0.2"):
        made = command("run", "local_sgd", "--problem", "federated_noisy", "--set", f"eta={eta}", "--set", "tau=2", "--T", "10",
                       "--seeds", "2", "--out", str(tmp_path / eta), "--json")  # fmt: skip
        assert made.returncode == 0
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


def test_what_cannot_be_run_is_one_line_that_names_it(command, tmp_path):
    base = ("run", "local_sgd", "--problem", "federated_noisy", "--T", "10", "--set", "eta=0.1", "--out", "never")
    for options, said in (
        (("--set", "tau=2", "--metric", "accuracy"), "wanted one of objective gradient_norm gradient_sq"),
        (("--set", "tau=0.5"), "tau must be an integer"),
    ):
        done = command(*base, *options, cwd=tmp_path)
        assert done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1
    assert not (tmp_path / "never").exists()


def test_a_method_and_a_problem_of_ones_own(command, tmp_path):
    file = tmp_path / "own.py"
    file.write_text(
        "from fedco.algorithms import LocalSGD\nfrom fedco.synthetic.families.federated import FederatedQuadratic\n\n\n"
        "class Mine(LocalSGD):\n    name = 'mine'\n\n\ndef problem(L=1.0):\n    return FederatedQuadratic(name='q', L=L, mu=0.1)\n"
    )
    found = command("run", f"{file}:Mine", "--problem", f"{file}:problem", "--set", "problem.L=0.5", "--set", "eta=0.1",
                    "--set", "tau=1", "--T", "5", "--seeds", "2", "--out", str(tmp_path / "out"), "--json")  # fmt: skip
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["method"] == "mine"


# --- settings, grids, the groups of a plan that step together, seeds on workers ---------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "kind"),
    [("3", 3, int), ("3.0", 3.0, float), ("1/2", 0.5, float), ("4/2", 2, int), ("1e2", 100.0, float), ("1E2", 100.0, float),
     ("true", True, bool), ("false", False, bool), ("word_1", "word_1", str), (" 5 ", 5, int)],
)  # fmt: skip
def test_a_setting_is_a_number_a_truth_or_a_word(text: str, value: Any, kind: type) -> None:
    assert read_setting("x", text) == value and type(read_setting("x", text)) is kind


def test_names_and_values_of_settings() -> None:
    assert split_setting(" problem.a_1 = 3=4 ") == ("problem.a_1", "3=4")
    for wrong in ("a", "=3", "a=", "a= ", "1a=3", "other.a=3", "a b=3"):
        with pytest.raises(InputError, match="wanted NAME=VALUE"):
            split_setting(wrong)


def test_a_range_has_its_ends_and_equal_steps() -> None:
    assert read_axis("x=0:1:2").values == (0.0, 1.0) and read_axis("x=1:100:3log").values == pytest.approx((1, 10, 100))
    assert (
        read_axis("x=-1:1:5lin").values == (-1.0, -0.5, 0.0, 0.5, 1.0) and len(read_axis("x=0:1:1000").values) == 1000
    )
    for wrong in (
        "x=0:1:1001",
        "x=0:1:1",
        "x=1:1:3",
        "x=0:1:3log",
        "x=-1:1:3log",
        "x=0:1:3other",
        "x=__import__('os')",
    ):
        with pytest.raises(InputError, match=r"x: .*wanted"):
            read_axis(wrong)


def test_a_step_size_may_be_a_schedule() -> None:
    assert read_setting("eta", " 1/2 ") == 0.5 and read_setting("eta", "0.5/(t + 4)") == "0.5/(t + 4.0)"
    assert read_axis("eta=0.1,0.5/sqrt(t + 4)").values == (0.1, "0.5/sqrt(t + 4.0)")
    for wrong in ("a/(t + t0)", "f(x)", "0.5/(t - 4)"):
        with pytest.raises(InputError, match=r"eta: schedule: wanted A/\(t \+ T0\).* with numbers A and T0"):
            read_setting("eta", wrong)
    options = {"T": 6, "seeds": 2, "metrics": ["gradient_sq"]}
    grid = {"eta": [0.25, "0.5/(t + 2)", "0.5/(t + 2)**(1/3)"]}
    found = run.run("local_sgd", "federated_noisy", settings={"tau": 2}, grid=grid, **options)
    for index, eta in enumerate((0.25, Schedule(0.5, 2.0), Schedule(0.5, 2.0, Fraction(1, 3)))):
        alone = run.run(LocalSGD(eta=eta, tau=2), "federated_noisy", **options)
        assert found.final("gradient_sq")[index].tolist() == alone.final("gradient_sq")[0].tolist()
    assert (
        found.to_dict()["grid"] == grid
        and json.loads(json.dumps(found.to_dict()["points"]))[1]["point"]["eta"] == "0.5/(t + 2)"
    )


def test_every_combination_the_first_axis_slowest() -> None:
    assert product([Axis("a", (1, 2)), Axis("b", ("x", "y"))]) == [
        {"a": 1, "b": "x"}, {"a": 1, "b": "y"}, {"a": 2, "b": "x"}, {"a": 2, "b": "y"},
    ]  # fmt: skip
    assert product([]) == [{}] and as_axes(None) == () and as_axes(["a=1,2"]) == (Axis("a", (1, 2)),)
    assert as_axes({"a": np.array([1.5, 2.5])})[0].values == (1.5, 2.5)
    for wrong in ([Axis("a", (1,)), Axis("a", (2,))],):
        with pytest.raises(InputError, match="a name occurs twice"):
            product(wrong)
    for values in ([], [1, 1]):
        with pytest.raises(InputError, match="at least one value and no value twice"):
            as_axes({"a": values})
    with pytest.raises(InputError, match="wanted finite numbers"):
        as_axes({"a": [math.inf]})


def test_a_grid_is_cut_into_groups_that_step_together() -> None:
    axes = (Axis("tau", (2, 3)), Axis("eta", (0.1, 0.2)), Axis("problem.dim", (2, 4)))
    groups = Plan("local_sgd", "federated_noisy", {"b": 2}, axes).groups()
    assert [(g.method.tau, g.problem.dim, g.method.b) for g in groups] == [(2, 2, 2), (2, 4, 2), (3, 2, 2), (3, 4, 2)]
    assert all(g.method.eta.tolist() == [0.1, 0.2] for g in groups)
    assert groups[1].points == ({"tau": 2, "problem.dim": 4, "eta": 0.1}, {"tau": 2, "problem.dim": 4, "eta": 0.2})
    fixed = Plan(LocalSGD(eta=0.5, tau=3), "federated_noisy", {}, (Axis("tau", (1, 2)),)).groups()
    assert [(g.method.eta, g.method.tau) for g in fixed] == [(0.5, 1), (0.5, 2)]
    whole = Plan(LocalSGD, fedco.problem("federated_noisy"), {"eta": 1, "tau": 2}).groups()[0].method
    assert type(whole.eta) is float and type(whole.tau) is int
    assert Plan("fcsg", "federated_noisy", {}).owner.name == "fcsg"


@pytest.mark.parametrize(
    ("method", "problem", "settings", "axes", "why"),
    [
        ("local_sgd", "federated_noisy", {"eta": 1}, (), "local_sgd: wanted values of tau; give --set tau=… or --grid tau=…"),
        ("local_sgd", "federated_noisy", {"eta": 1, "tau": 1, "x": 2}, (), "x: neither a hyperparameter of local_sgd nor a parameter"),
        ("local_sgd", "federated_noisy", {"eta": 1, "tau": 1}, (Axis("eta", (1,)),), "eta: both set and in the grid"),
        ("local_sgd", fedco.problem("federated_noisy"), {"eta": 1, "tau": 1, "problem.dim": 3}, (), "problem.dim: neither"),
        ("local_sgd", "federated_noisy", {"eta": 1, "tau": 1, "name": 3}, (), "name: neither"),
        ("feddro", "federated_noisy", {"eta": 1, "beta": 1, "I": 1}, (), "not defined on problem kind"),
        ("local_sgd", "federated_noisy", {"eta": 1, "tau": 0}, (), "tau"),
        ("local_sgd", "federated_noisy", {"eta": "x", "tau": 1}, (), "eta must be a finite number >= 0, .* or a Schedule; got 'x'"),
        ("local_sgd", "federated_noisy", {"eta": 1, "tau": "1/(t + 1)"}, (), "tau must be an integer >= 1"),
        ("local_sgd", "federated_noisy", {"eta": 1, "tau": 1, "sigma": 1e160}, (), "wanted parameters whose constants are finite"),
        ("feddro", "feddro_noisy", {"eta": 1, "beta": 1, "I": 1, "B_f": 1e160}, (), "feddro_noisy: wanted parameters whose .* got B_f=1e"),
    ],
)  # fmt: skip
def test_a_plan_that_cannot_be_is_refused(method: Any, problem: Any, settings: dict, axes: tuple, why: str) -> None:
    with pytest.raises((InputError, NotApplicable), match=why):
        Plan(method, problem, settings, axes).groups()


def test_what_a_run_refuses() -> None:
    for wrong in ({"T": 0}, {"T": 1, "seeds": 0}, {"T": 1, "every": -1}):
        with pytest.raises(InputError, match="T, seeds and every: wanted at least 1"):
            run.run("local_sgd", "federated_noisy", **wrong)
    with pytest.raises(InputError, match="--format xls: wanted csv or parquet"):
        run.run("local_sgd", "federated_noisy", T=1, format="xls")
    with pytest.raises(InputError, match="a name is set twice in eta tau eta"):
        run.run("local_sgd", "federated_noisy", T=1, settings=["eta=1", "tau=2", "eta=3"])
    for name, why in (("accuracy", "is not offered by"), ("accurate", "is no metric")):
        with pytest.raises(InputError, match=why):
            run.run("local_sgd", "federated_noisy", T=1, metrics=[name], settings={"eta": 1, "tau": 2})


def test_the_seeds_of_a_run_are_dealt_out_over_workers_and_what_is_kept_is_not_asked_for(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Four seeds at once; the same numbers as here, whatever comes first."""
    asked: list[tuple[str, list[str]]] = []

    def on_workers(calls: Any, address: str) -> Any:
        asked.append((address, list(calls)))
        return ((key, calls[key]()) for key in reversed(calls))

    monkeypatch.setattr(run, "run_on_scheduler", on_workers)
    monkeypatch.setattr(run, "write_run", lambda *given: None)  # its table and figures are not what this is about
    options = dict(T=6, seeds=9, settings={"tau": 2, "b": 1}, grid={"eta": [0.1, 0.2]})
    here = run.run("local_sgd", "federated_noisy", **options)
    there = run.run("local_sgd", "federated_noisy", **options, scheduler="tcp://one:1")
    assert there.table.csv() == here.table.csv() and there.table.seeds == tuple(range(9))
    ((address, keys),) = asked
    assert address == "tcp://one:1" and [key.rpartition("-")[2] for key in keys] == ["0", "1", "2"]
    first = run.run("local_sgd", "federated_noisy", **options, scheduler="tcp://one:1", out=tmp_path)
    assert first.table.csv() == here.table.csv() and len(asked) == 2 and first.out == tmp_path
    assert len(list((tmp_path / "parts").glob("*.npz"))) == 1
    again = run.run("local_sgd", "federated_noisy", **options, scheduler="tcp://one:1", out=tmp_path)
    assert again.table.csv() == here.table.csv() and len(asked) == 2


def test_a_short_run_keeps_every_step_and_a_long_one_about_a_hundred(monkeypatch: pytest.MonkeyPatch) -> None:
    options = dict(settings={"eta": 0.1, "tau": 1}, seeds=1)
    assert run.run("local_sgd", "federated_noisy", T=7, **options).table.times == tuple(range(8))
    found = run.run("local_sgd", "federated_noisy", T=250, **options)
    assert found.table.times[:3] == (0, 2, 4) and found.description["every"] == 2 and found.out is None
    assert str(found).startswith("objective") and "written to" not in str(found)
    bound = {"statement": "t", "point": {}, "T": [3, 9], "values": [2.0, 1.23456]}
    said = str(run.RunResult(found.table, found.summary, (bound,), found.description, Path("x")))
    assert said.splitlines()[-2:] == ["bound t: 1.235 at T=9", "written to x"]


# --- which statements are about a run ---------------------------------------------------------------------------------


NOISY = fedco.problem("federated_noisy")


def names(method, problem=NOISY, steps=16):
    return {match.theorem.id for match in bounds.matches(method, problem, steps)}


def test_hyperparameters_are_equal_up_to_rounding_and_no_further():
    one = LocalSGD(eta=0.3, tau=4)
    assert bounds.is_same(one, LocalSGD(eta=0.1 + 0.2, tau=4), NOISY)
    assert not bounds.is_same(one, LocalSGD(eta=0.3 * (1 + 1e-9), tau=4), NOISY)


def test_weights_that_are_not_set_are_equal_ones():
    unset, equal, other = (FedNova(eta=0.1, tau=2, weights=w) for w in (None, (1 / 8,) * 8, (1 / 4,) * 4 + (0.0,) * 4))
    assert bounds.is_same(unset, equal, NOISY) and not bounds.is_same(unset, other, NOISY)


def test_a_run_with_sampled_clients_is_that_of_the_statement_about_them():
    assert names(LocalSGD(eta=0.01, tau=1, m=2, b=8)) == {"library.sampled_sgd", "library.fedavg_sampled"}
    everybody = names(LocalSGD(eta=0.01, tau=1, b=8))
    assert names(LocalSGD(eta=0.01, tau=1, m=8, b=8)) == everybody >= {"baselines.local_sgd"}


@pytest.mark.parametrize(
    ("method", "name"),
    [
        (LocalSGD(eta=1e100, tau=2), "feddro_noisy"),
        (MinibatchSGD(eta=0.1, b=2), "conditional_noisy"),
        (DRFA(eta=0.1, gamma=1e100, tau=2), "local_noisy"),
    ],
)
def test_a_statement_that_gives_what_no_method_takes_is_not_about_the_run(method, name):
    """FedDRO's momentum would be above 1, a period 0: these ended in a traceback."""
    assert names(method, fedco.problem(name), 4) <= {"baselines.biased_sgd"}


def test_a_bound_of_another_metric_is_not_drawn_with_the_squared_gradient():
    method, problem = LocalSGD(eta=0.01, tau=1), fedco.problem("federated_strongly_convex")
    assert {fedco.theorem(name).metric.of for name in names(method, problem)} == {"gradient_sq"}
    with pytest.raises(InputError, match=r"local_sgd_convex: bounds .*; only a mean of squared gradients is drawn"):
        bounds.matches(method, problem, 16, only=["library.local_sgd_convex"])


def test_a_bound_above_what_holds_without_running_is_called_vacuous():
    method, problem = LocalSGD(eta=0.3, tau=2), fedco.problem("federated_homogeneous")
    (match,) = bounds.matches(method, problem, 20, only=["baselines.local_sgd_heterogeneity"])
    assert [note for note in match.worth(20).notes if note.startswith("vacuous")]


def test_an_estimated_constant_is_refused_whatever_the_problem_says_of_itself(monkeypatch):
    found = bounds.evaluate_at
    monkeypatch.setattr(bounds, "evaluate_at", lambda *given: (found(*given)[0], "estimated"))
    with pytest.raises(InputError, match="a constant of federated_noisy is estimated"):
        bounds.matches(LocalSGD(eta=0.01, tau=1, b=8), NOISY, 16, only=["baselines.local_sgd"])


def test_a_horizon_in_rounds_has_as_many_steps_in_each_and_none_for_a_part_of_a_round():
    """Theorem 8 of meta FL counts rounds: K = 8 is 16 steps of rounds of 2; 15 steps are no horizon; a batch D_H that is not set is D."""
    problem = fedco.problem("meta_noisy")
    method = MetaFL(beta=0.05, tau=2, D=16)
    (match,) = bounds.matches(method, problem, 16, only=["meta_fl.theorem_8"])
    exact, _ = evaluate_at(match.theorem, match.label, problem, dict(match.hyperparameters), 8)
    assert match.at(16) == (float(exact.total), exact.admissible) and match.at(15) is None
    assert bounds.is_same(method, MetaFL(beta=0.05, tau=2, D=16, D_H=16), problem)
    assert not bounds.is_same(method, MetaFL(beta=0.05, tau=2, D=16, D_H=2), problem)
    with pytest.raises(InputError, match="is about a run with other hyperparameters"):
        bounds.matches(method, problem, 15, only=["meta_fl.theorem_8"])
