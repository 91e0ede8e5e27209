"""What is run: settings, grids, the groups of a plan that step together, seeds on workers, and what is refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import fedco
import numpy as np
import pytest
from fedco.algorithms import LocalSGD, NotApplicable, Schedule
from fedco.errors import InputError
from fedco.validation.experiments import run
from fedco.validation.experiments.plan import Axis, Plan, as_axes, product, read_axis, read_setting, split_setting


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
