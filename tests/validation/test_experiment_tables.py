"""The table of a run by its definition, the tables of curves that an experiment is, and how two curves are compared."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fedco.algorithms import LocalSGD
from fedco.errors import InputError
from fedco.validation.experiments import curves, orderings, run, table
from fedco.validation.experiments.curves import Best, CurveTable, Row, Size, varied
from fedco.validation.experiments.figures import Measured, Setup
from fedco.validation.experiments.orderings import Judged, Ordering, judge, statistic
from fedco.validation.experiments.table import RunTable, aligned, bands, mean_interval
from in_a_notebook import html
from scipy.stats import t as student


def tabled(**more: Any) -> RunTable:
    made = {"axes": ("eta",), "points": {"eta": [0.5, 0.25]}, "seeds": (0, 1, 2), "times": (0, 8),
            "values": {"objective": np.arange(12.0).reshape(2, 3, 2), "distance": np.full((2, 3, 2), np.nan)}}  # fmt: skip
    return RunTable(**{**made, **more})


def test_a_table_row_by_row() -> None:
    rows = list(csv.reader(io.StringIO(tabled().csv())))
    assert rows[0] == ["eta", "seed", "t", "objective", "distance"]
    wanted = [[eta, str(s), str(t)] for eta in ("0.5", "0.25") for s in range(3) for t in (0, 8)]
    assert [row[:3] for row in rows[1:]] == wanted
    assert [row[3:] for row in rows[1:]] == [[f"{k}.0", ""] for k in range(12)]
    assert tabled().final("objective").tolist() == [[1, 3, 5], [7, 9, 11]] and tabled().point(1) == {"eta": 0.25}
    with pytest.raises(InputError, match=r"nothing: not measured in this run; wanted one of objective distance"):
        tabled().final("nothing")


def test_tables_are_joined_one_after_another() -> None:
    other = tabled(points={"eta": [1.0, 2.0]}, values={"objective": -np.ones((2, 3, 2)), "bytes": np.ones((2, 3, 2))})
    made = RunTable.joined([tabled(), other], ("eta",))
    assert (
        made.points == {"eta": [0.5, 0.25, 1.0, 2.0]}
        and made.size == 4
        and made.metrics == ("objective", "distance", "bytes")
    )
    assert made.values["objective"][2:].max() == -1 and made.values["objective"][1, 2, 1] == 11
    assert np.isnan(made.values["bytes"][:2]).all() and (made.values["bytes"][2:] == 1).all()


def test_the_interval_is_students() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    half = student.ppf(0.975, 3) * math.sqrt(((values - 4) ** 2).sum() / 3 / 4)
    assert mean_interval(values) == pytest.approx((4.0, 4.0 - half, 4.0 + half))
    assert bands(np.stack([values, values + 1], axis=1))[1] == pytest.approx([4 - half, 5 - half])
    assert bands(np.stack([values, values + 1], axis=1))[2] == pytest.approx([4 + half, 5 + half])
    narrow = mean_interval(values, 0.5)
    assert narrow[2] - 4 == pytest.approx(half * student.ppf(0.75, 3) / student.ppf(0.975, 3))
    two = np.array([1.0, 3.0])
    assert mean_interval(two)[1] == pytest.approx(2 - student.ppf(0.975, 1))
    one = mean_interval(np.array([5.0]))
    assert one[0] == 5 and math.isnan(one[1]) and math.isnan(one[2])
    assert math.isnan(mean_interval(np.array([1.0, math.inf]))[1])
    assert [part.tolist() for part in bands(np.array([[1.0, 2.0]]))] == [[1.0, 2.0]] * 3
    assert bands(np.array([[1.0], [3.0]]))[0].tolist() == [2.0]


def test_a_summary_in_columns() -> None:
    made = table.summarise(tabled(values={"objective": np.array([[[0.0, 1.0]] * 3, [[0.0, 1.0], [0.0, 2.0], [0.0, 6.0]]]),
                                          table.MEAN: np.full((2, 3, 2), np.nan)}))  # fmt: skip
    half = student.ppf(0.975, 2) * math.sqrt(7 / 3)
    assert str(made) == (
        f"eta   objective\n0.5   1\n0.25  3 [{3 - half:.4g}, {3 + half:.4g}]\nat the end, mean over 3 seeds [95% t-interval]"
    )
    assert made.to_list()[0] == {
        "point": {"eta": 0.5},
        "metrics": {"objective": {"mean": 1.0, "low": 1.0, "high": 1.0}},
        "diverged": 0,
    }


def test_a_run_that_diverged_is_named() -> None:
    """nan says neither that it diverged nor how many seeds did."""
    values = np.array([[[0.0, 1.0]] * 3, [[0.0, 1.0], [0.0, math.inf], [0.0, math.nan]]])
    made = table.summarise(tabled(values={"objective": values}))
    assert made.diverged == (0, 2) and [point["diverged"] for point in made.to_list()] == [0, 2]
    assert made.notes == ("diverged at eta = 0.25: 2 of 3 seeds end with no finite value",)
    lines = str(made).splitlines()
    assert lines[2].split() == ["0.25", "diverged"] and lines[-1] == made.notes[0] and "nan" not in str(made)


def test_a_run_shows_itself_on_one_screen() -> None:
    values = np.array([[[0.0, 1.0]] * 3, [[0.0, 1.0], [0.0, math.inf], [0.0, 2.0]]])
    rows = tabled(values={"objective": values})
    told = {"method": "m", "problem": "p", "T": 7}
    done = run.RunResult(rows, table.summarise(rows), (), told)
    assert len(repr(done).splitlines()) <= 6 and len(repr(done)) < 500 and "diverged" in repr(done)
    cells = done.sheet().tables[0].rows
    assert cells == ((0.5, 1.0, 1.0, 1.0), (0.25, "diverged", None, None))
    assert "<table>" in html(done) and "m on p, 7 steps" in done.to_markdown()
    assert len(done.to_frame()) == 12 and str(done.plot()).startswith("Plot(")
    with pytest.raises(ValueError, match="shorter"):
        aligned([["a"], ["b", "c"]])


def test_a_curve_is_recorded_every_so_many_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def fake(method: Any, problem: Any, **more: Any) -> Any:
        asked.update(more, method=method)
        return SimpleNamespace(
            table=tabled(axes=(), points={}, times=(0, 20), values={"objective": np.arange(12.0).reshape(2, 3, 2)}),
            models=["those of the first point"],
        )

    monkeypatch.setattr(curves, "run", fake)
    monkeypatch.setattr(curves, "settings", lambda *given: {"given": given})
    said: list[str] = []
    setup = Setup(seeds=3, say=said.append, kept=Path("k"), hours=2.0)
    found = curves.curve(setup, "one", "m", "p", 1000, ("objective",), panel="left", period=10)
    assert (asked["every"], asked["T"], asked["seeds"], asked["checkpoints"], asked["hours"]) == (
        20,
        1000,
        3,
        Path("k"),
        2.0,
    )
    assert (found.times, found.over, found.key, said) == (
        [0.0, 2.0],
        "communication rounds",
        "left, one",
        ["left one: 1000 steps"],
    )
    assert found.models == "those of the first point"
    assert found.values["objective"].tolist() == [[0, 1], [2, 3], [4, 5]] and found.settings["given"] == (
        setup,
        "m",
        "p",
        1000,
    )
    alone = curves.curve(setup, "one", "m", "p", 30, ("objective",))
    assert (asked["every"], alone.over, alone.times, alone.key) == (1, "steps", [0, 20], "one")
    curves.curve(setup, "one", "m", "p", 90, ("objective",), period=20, records=2)
    assert asked["every"] == 40


def test_the_best_grid_point_by_the_end_of_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the mean of the last three kept values; what diverged is never best."""
    values = np.zeros((3, 2, 5))
    values[0, :, -3:], values[1, :, -3:], values[2] = 2.0, 1.0, math.nan
    values[0, :, 0], values[1, :, 0] = -99.0, 99.0
    asked: dict[str, Any] = {}

    def fake(owner: Any, problem: Any, **more: Any) -> Any:
        asked.update(more)
        return SimpleNamespace(table=tabled(points={"eta": [0.5, 0.25, 1.0]}, values={"m": values}))

    monkeypatch.setattr(curves, "run", fake)
    for larger, eta in ((True, 0.5), (False, 0.25)):
        method, best = curves.tuned(
            Setup(), LocalSGD, {"tau": 2}, {"eta": [0.5, 0.25, 1.0]}, "p", 100, "m", larger=larger
        )
        assert best == {"eta": eta} and method.hyperparameters() == LocalSGD(eta=eta, tau=2).hyperparameters()
    assert asked["every"] == 5 and asked["seeds"] < Setup().seeds and asked["root_seed"] != 0
    curves.tuned(Setup(), LocalSGD, {"tau": 2}, {"eta": [0.5, 0.25, 1.0]}, "p", 10, "m", larger=True)
    assert asked["every"] == 1
    assert (Setup().size(1, 2), Setup(full=True).size(1, 2)) == (1, 2)


def test_a_single_grid_point_is_best_without_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curves, "run", None)
    method, best = curves.tuned(Setup(), LocalSGD, {"tau": 2}, {"eta": [0.5]}, "p", 100, "m", larger=True)
    assert best == {"eta": 0.5} and method.hyperparameters() == LocalSGD(eta=0.5, tau=2).hyperparameters()


class Asked:
    """What a table asks for: problems made, tunings and curves, in their order; the last value of a grid is best."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.problems: list[dict[str, Any]] = []
        self.tunings: list[tuple] = []
        self.curves: list[tuple] = []
        monkeypatch.setattr(curves, "tuned", self._tuned)
        monkeypatch.setattr(curves, "curve", self._curve)

    def problem(self, setup: Setup, **given: Any) -> Any:
        self.problems.append(given)
        return SimpleNamespace(name="made", **given)

    def _tuned(self, setup, owner, settings, grid, problem, T, metric, *, larger):
        self.tunings.append((settings, grid, T, metric, larger))
        best = {name: values[-1] for name, values in grid.items()}
        return owner(**settings, **best), best

    def _curve(self, setup, name, method, problem, T, metrics, *, panel, period, records):
        self.curves.append((panel, name, method.hyperparameters(), T, period, records, metrics))
        return Measured(panel, name, (0,), {metric: np.zeros((2, 1)) for metric in metrics})


def test_a_table_runs_its_rows_with_the_settings_of_the_row_before_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings are hyperparameters where the method has them, else parameters of the problem, which is made once."""
    asked = Asked(monkeypatch)
    rows = (
        Row("fixed", LocalSGD, asked.problem, {"eta": Size(0.5, 0.25), "tau": 4}, "left"),
        Row("other", LocalSGD, asked.problem, {"rho": 1}, rounds=7, period=1),
        Row("long", LocalSGD, asked.problem, only_full=True),
    )
    table = CurveTable(
        rows, ("m",), Size(3, 30), "tau", {"eta": 0.1, "tau": 2, "rho": Size(0, 2)}, 20, step_label="step"
    )
    made = table(Setup())
    found = [(panel, name, hyper["eta"], hyper["tau"], *more) for panel, name, hyper, *more in asked.curves]
    assert found == [("left", "fixed", 0.5, 4, 12, 4, 20, ("m",)), ("", "other", 0.1, 2, 7, 1, 20, ("m",))]
    assert asked.problems == [{"rho": 0}, {"rho": 1}] and not asked.tunings
    assert (made.chosen, made.data_name, [each.key for each in made.curves]) == (
        {"step": 0.1}, "made", ["left, fixed", "other"],
    )  # fmt: skip
    asked.curves.clear()
    table(Setup(full=True))
    assert [(name, hyper["eta"], T) for _, name, hyper, T, *_ in asked.curves] == [
        ("fixed", 0.25, 120), ("other", 0.1, 7), ("long", 0.1, 60),
    ]  # fmt: skip
    assert asked.problems[2:] == [{"rho": 2}, {"rho": 1}]
    asked.curves.clear()
    table.changed(tau=5, rho=9)(Setup())
    assert [hyper["tau"] for _, _, hyper, *_ in asked.curves] == [5, 5] and asked.problems[4:] == [{"rho": 9}]


def test_a_table_tunes_what_is_marked_once_for_each_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(monkeypatch)
    marked = Best((0.1, 0.2))
    rows = (
        *(
            replace(row, choice="shared", tuning={"tau": 5})
            for row in varied("tau", (1, 3), LocalSGD, asked.problem, panel="p", eta=marked, b=8)
        ),
        Row("alone", LocalSGD, asked.problem, {"tau": 2, "eta": marked, "b": Best((1, 16))}),
        Row("fixed", LocalSGD, asked.problem, {"tau": 2, "eta": 0.7}),
    )
    table = CurveTable(rows, ("m",), 10, "tau", tuned_for="loss", tuning_rounds=4, data_name="generated")
    made = replace(table, finish=lambda made: replace(made, plot="drawn"))(Setup())  # type: ignore[arg-type]
    assert asked.tunings == [
        ({"tau": 5, "b": 8}, {"eta": [0.1, 0.2]}, 20, "loss", False),
        ({"tau": 2}, {"eta": [0.1, 0.2], "b": [1, 16]}, 8, "loss", False),
    ]
    found = [(panel, name, hyper["eta"], hyper["tau"], hyper["b"], T) for panel, name, hyper, T, *_ in asked.curves]
    assert found == [
        ("p", "tau=1", 0.2, 1, 8, 10), ("p", "tau=3", 0.2, 3, 8, 30), ("", "alone", 0.2, 2, 16, 20), ("", "fixed", 0.7, 2, 1, 20),
    ]  # fmt: skip
    assert made.chosen == {"shared": {"eta": 0.2}, "alone": {"eta": 0.2, "b": 16}}
    assert (made.data_name, made.plot, len(asked.problems)) == ("generated", "drawn", 1)
    replace(table, tuned_for="accuracy", tuning_rounds=None)(Setup())
    assert [(T, larger) for *_, T, _, larger in asked.tunings[2:]] == [(50, True), (20, True)]


# --- what two curves are compared by, and how an ordering is judged ---------------------------------------------------


def test_what_is_compared_of_a_run() -> None:
    values = np.stack([np.arange(20.0), -np.arange(20.0)])
    assert statistic(values, "end", True).tolist() == [18.5, -18.5]  # the last tenth: two of twenty
    assert (
        statistic(values[:, :14], "end", True).tolist() == [13.0, -13.0]
        and statistic(values[:, :3], "end", True)[0] == 2
    )
    assert statistic(values, "along", True).tolist() == [9.5, -9.5]
    lost = np.array([[0.0, math.nan], [0.0, math.inf], [0.0, 1.0]])
    assert statistic(lost, "end", True).tolist() == [-math.inf, -math.inf, 1] and statistic(
        lost, "end", False
    ).tolist() == [math.inf, math.inf, 1]


def two_curves(gain: list[float]) -> dict[str, dict[str, np.ndarray]]:
    """Two curves of one time each, by how much the first is larger."""
    return {"a": {"m": np.array(gain)[:, None]}, "b": {"m": np.zeros((len(gain), 1))}}


@pytest.mark.parametrize(
    ("gain", "more", "outcome"),
    [
        ([1.0] * 6, {}, "the paper's"),
        ([1.0] * 5, {}, "undecided"),  # 2 / 2^5 is above 0.05
        ([-1.0] * 6, {}, "the opposite"),
        ([1.0] * 6, {"larger": False}, "the opposite"),
        ([-1.0] * 6, {"larger": False}, "the paper's"),
        ([1.0, 1.0], {"exact": True}, "the paper's"),
        ([1.0, 0.0], {"exact": True}, "undecided"),
        ([-1e-9], {"exact": True}, "the opposite"),
    ],
)
def test_an_ordering_is_judged(gain: list[float], more: dict[str, Any], outcome: str) -> None:
    found = judge(Ordering("a", "b", "m", **more), two_curves(gain), 0.05)
    sign = 1 if more.get("larger", True) else -1
    assert found.outcome == outcome and len(found.gains) == len(gain)
    assert found.advantage[0] == pytest.approx(sign * np.mean(gain))
    assert found.p == (0.0 if more.get("exact") else 2 / 2 ** len(gain))


def test_curves_are_compared_seed_by_seed_at_their_end_or_along_the_run() -> None:
    """Far less than the spread over the seeds decides where it is the same for each; speed and end are different questions."""
    spread = np.tile(np.random.default_rng(0).normal(size=(8, 1)) * 100, (1, 50))
    slow, fast = np.linspace(0, 1, 50), np.minimum(0.9, np.linspace(0, 9, 50))
    mixed = np.array([1, -1] * 4)[:, None]
    for when, gain, outcome in (
        ("end", 0.1, "the paper's"),
        ("end", 0.1 * mixed, "undecided"),
        ("along", fast - slow, "the paper's"),
        ("end", fast - slow, "the opposite"),
    ):
        curves = {"a": {"m": spread + gain}, "b": {"m": spread}}
        assert judge(Ordering("a", "b", "m", when=when), curves, 0.01).outcome == outcome


def test_the_bootstrap_interval_covers_the_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orderings, "RESAMPLES", 1000)
    rng = np.random.default_rng(1)
    ends = [orderings.bootstrap(rng.normal(size=40))[1:] for _ in range(200)]
    assert 0.92 <= np.mean([low <= 0.0 <= high for low, high in ends]) <= 0.97  # of the 200, 95% are expected


def test_a_verdict_says_why_it_is_none() -> None:
    wanted = Ordering("a", "b", "m")
    held = Judged(wanted, (1.0,) * 6, 0.05)
    few, mixed = Judged(wanted, (1.0,) * 6, 0.01), Judged(wanted, (1.0, -1.0) * 5, 0.01)
    assert few.outcome == "undecided" and few.why == "6 seeds cannot decide at this level"
    assert mixed.why == "p is above 0.01" and held.why == ""
    told = Judged(wanted, (1.0, math.inf, -math.inf), 0.05).to_dict()
    assert told["gains"] == [1.0, "inf", "-inf"] and (told["outcome"], told["exact"]) == ("undecided", False)


def test_a_run_that_is_lost_has_no_interval() -> None:
    assert orderings.bootstrap(np.array([1.0, math.inf])) == (math.inf, -math.inf, math.inf)
    assert orderings.bootstrap(np.array([-math.inf, 5.0])) == (-math.inf, -math.inf, math.inf)
    assert math.isnan(orderings.bootstrap(np.array([-math.inf, math.inf]))[0])
    assert orderings.sign_test([0.0] * 3) == orderings.sign_test([1.0, -1.0, 0.0, 0.0]) == 1.0
    both = {"a": {"m": np.full((6, 1), math.nan)}, "b": {"m": np.full((6, 1), math.nan)}}
    assert judge(Ordering("a", "b", "m"), both, 0.05).advantage[0] == 0.0


def test_the_better_of_a_pair_is_above_in_a_share_and_below_in_any_other() -> None:
    assert orderings.better([("a", "b"), ("c", "d")], "worst_accuracy", "test_loss", when="along") == (
        Ordering("a", "b", "worst_accuracy", True, "along"), Ordering("c", "d", "worst_accuracy", True, "along"),
        Ordering("a", "b", "test_loss", False, "along"), Ordering("c", "d", "test_loss", False, "along"),
    )  # fmt: skip
