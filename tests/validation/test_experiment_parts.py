"""The parts of runs and of the papers' experiments by their definitions: grids, tables, orderings, figures, splits, files and pages."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fedco
import numpy as np
import pytest
import torch
from fedco.algorithms import LocalSGD, NotApplicable
from fedco.errors import InputError
from fedco.validation.experiments import (
    curves,
    datasets,
    figure,
    figures,
    keeping,
    models,
    orderings,
    page,
    reproduce,
    run,
    splits,
    table,
)
from fedco.validation.experiments.curves import Best, CurveTable, Row, Size, varied
from fedco.validation.experiments.figures import Figure, Made, Measured, Reproduced, Setup
from fedco.validation.experiments.grid import Axis, as_axes, product, read_axis, read_setting, split_setting
from fedco.validation.experiments.orderings import PAPERS, Judged, Ordering, judge, statistic
from fedco.validation.experiments.plan import Plan
from fedco.validation.experiments.table import RunTable, aligned, bands, mean_interval
from fedco.validation.experiments.tasks import TaskMethod
from scipy.stats import t as student

# --- grids -----------------------------------------------------------------------------------------------------------------------


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
    for wrong in ("x=0:1:1001", "x=0:1:1", "x=1:1:3", "x=0:1:3log", "x=-1:1:3log", "x=0:1:3other"):
        with pytest.raises(InputError, match="--grid x: wanted"):
            read_axis(wrong)


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


# --- tables ----------------------------------------------------------------------------------------------------------------------


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
    assert "<table>" in done._repr_html_() and "m on p, 7 steps" in done.to_markdown()
    assert len(done.to_frame()) == 12 and str(done.plot()).startswith("Plot(")
    with pytest.raises(ValueError, match="shorter"):
        aligned([["a"], ["b", "c"]])


# --- orderings -------------------------------------------------------------------------------------------------------------------


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
    assert orderings.sign_test([0.0] * 3) == 1.0
    both = {"a": {"m": np.full((6, 1), math.nan)}, "b": {"m": np.full((6, 1), math.nan)}}
    assert judge(Ordering("a", "b", "m"), both, 0.05).advantage[0] == 0.0


# --- figures ---------------------------------------------------------------------------------------------------------------------


def declared(**more: Any) -> Figure:
    return Figure(
        **{
            "name": "figure_1",
            "title": "about it",
            "standing": "exact",
            "shows": "one above",
            "measure": lambda setup: made(),
            **more,
        }
    )


def made(*, seeds: int = 3) -> Made:
    values = {"m": np.arange(2.0 * seeds).reshape(seeds, 2), "accuracy": np.full((seeds, 2), 0.5)}
    other = {"m": np.array([[1.0, math.nan]] * seeds)}
    return Made((Measured("left", "one", (0, 5), values, "rounds"), Measured("", "two", (0, 7), other, "rounds")))


def test_why_a_figure_cannot_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held = tmp_path / "held"
    monkeypatch.setitem(datasets.HOLDS, "images", lambda folder: folder == held)
    needs = {"standing": "needs data"}
    assert declared(measure=None).missing(held) == "nothing to run"
    assert [declared().missing(data) for data in (None, held)] == ["", ""] and declared(
        source="generated", **needs
    ).missing(None) == ""
    assert (
        declared().missing(tmp_path) == f"{tmp_path} has no images files"
        and declared(source="generated").missing(tmp_path) == ""
    )
    assert declared(**needs).missing(None) == "needs images files: --data DIR" and declared(**needs).missing(held) == ""
    for wrong in ({"standing": "other"}, {"standing": "substitute"}, {"source": "other"}):
        with pytest.raises(ValueError, match="figure_1"):
            declared(**wrong)
    assert declared(standing="substitute", differences=("small",)).standing == "substitute"
    with pytest.raises(InputError, match=r"k/figure_1: nothing to run; nothing is measured in it; one above"):
        figures.reproduce("k", declared(measure=None, standing="theory"), Setup(), 0.05)


def reproduced(*gains: float, **more: Any) -> Reproduced:
    judged = tuple(Judged(Ordering("a", "b", "m"), (gain,) * 6, 0.05) for gain in gains)
    given = {"figure": declared(), "made": made(), "setup": Setup(seeds=6), "seconds": 1.26, "cpu_seconds": 2.34}
    return Reproduced("key", judged=judged, level=0.05, **{**given, **more})


def test_the_verdict_on_a_figure() -> None:
    assert reproduced().verdict == "no ordering is judged"
    assert reproduced(1, 1, -1, 0).verdict == "of 4 orderings 2 the paper's, 1 the opposite, 1 undecided"
    few = reproduced(0, setup=Setup(seeds=3)).verdict
    assert few == "of 1 orderings 0 the paper's, 0 the opposite, 1 undecided: 3 seeds cannot decide at the level 0.05"
    told = reproduced(1).to_dict()
    assert (told["figure"], told["seeds"], told["seconds"], told["cpu_seconds"], told["full"], told["level"]) == (
        "key/figure_1",
        6,
        1.3,
        2.3,
        False,
        0.05,
    )


class Drawn:
    """What would be drawn: the panels with their curves, and the numbers behind each."""

    def __init__(self, panels: Any, *, title: str) -> None:
        self.panels, self.title, self.data = panels, title, dict[str, list[float]]()
        for each in panels:
            prefix = f"{each.title}: " if each.title else ""
            for curve in each.curves:
                for part in ("x", "y", "lower", "upper"):
                    self.data[f"{prefix}{curve.name}: {part}"] = list(getattr(curve, part) or ())


@pytest.fixture
def drawn_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "panel_plot", Drawn)
    monkeypatch.setattr(figure, "panel_plot", Drawn)


def test_a_figure_of_every_panel_and_metric(drawn_only: None) -> None:
    drawn = reproduced().plot()
    assert drawn.title == "key/figure_1: about it (exact; mean over 3 seeds, bands are 95% t-intervals)"
    assert [each.title for each in drawn.panels] == ["left: m", "left: accuracy", "m"]
    half = student.ppf(0.975, 2) * 2 / math.sqrt(3)
    assert drawn.data["left: m: one: y"] == [2.0, 3.0] and drawn.data["left: m: one: upper"] == pytest.approx(
        [2 + half, 3 + half]
    )
    assert drawn.data["left: m: one: x"] == [0, 5] and {str(each.x_axis) for each in drawn.panels} == {"rounds"}
    assert reproduced(made=made(seeds=1)).plot().title.endswith("(exact; one run)")
    assert len(reproduced(figure=declared(metrics=("accuracy",)), made=Made(made().curves[:1])).plot().panels) == 1


@pytest.mark.parametrize(
    ("metric", "values", "log"),
    [("m", (1.0, 10.0), False), ("m", (1.0, 10.5), True), ("m", (0.01, 0.2), True), ("m", (50.0, 400.0), False),
     ("m", (0.0, 50.0), False), ("accuracy", (0.01, 0.9), False),
     ("average_precision", (0.01, 0.9), False), ("m", (math.nan, math.nan), False), ("m", (math.nan, 3.0), False)],
)  # fmt: skip
def test_an_axis_is_logarithmic_over_more_than_a_decade(metric: str, values: tuple, log: bool) -> None:
    curve = figure.Curve("a", [0, 1], list(values))
    assert figure.is_log(metric, [curve]) == log


def test_a_curve_is_recorded_every_so_many_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def fake(method: Any, problem: Any, **more: Any) -> Any:
        asked.update(more, method=method)
        return SimpleNamespace(
            table=tabled(axes=(), points={}, times=(0, 20), values={"objective": np.arange(12.0).reshape(2, 3, 2)})
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


def test_the_better_of_a_pair_is_above_in_a_share_and_below_in_any_other() -> None:
    assert orderings.better([("a", "b"), ("c", "d")], "worst_accuracy", "test_loss", when="along") == (
        Ordering("a", "b", "worst_accuracy", True, "along"), Ordering("c", "d", "worst_accuracy", True, "along"),
        Ordering("a", "b", "test_loss", False, "along"), Ordering("c", "d", "test_loss", False, "along"),
    )  # fmt: skip


# --- the figure of a run ---------------------------------------------------------------------------------------------------------


def done(metric: str, points: int, *, bounds: tuple = (), seeds: int = 2, **more: Any) -> Any:
    axis = {"eta": [10.0**-k for k in range(points)], **more}
    values = {metric: 1.0 + np.arange(points * seeds * 2.0).reshape(points, seeds, 2)}
    if metric == "gradient_sq":
        values[table.MEAN] = values[metric] / 2
    made = RunTable(tuple(axis), axis, tuple(range(seeds)), (0, 4), values)
    return SimpleNamespace(table=made, description={"method": "m", "problem": "p"}, bounds=bounds)


def test_a_run_is_drawn_along_its_steps_and_a_long_grid_over_its_axis(drawn_only: None) -> None:
    few = figure.run_figure(done("objective", 7), "objective")
    assert few.data["eta=0.1: x"] == [0, 4] and len(few.panels[0].curves) == 7
    assert few.title == "m on p; bands are 95% t-intervals of the mean over 2 seeds"
    many = figure.run_figure(done("objective", 8), "objective")
    assert many.data["objective at the end: x"] == [10.0**-k for k in range(8)] and many.data[
        "objective at the end: y"
    ] == [3.0 + 4 * k for k in range(8)]
    assert many.panels[0].x_log and many.panels[0].y_log
    assert figure.run_figure(done("objective", 1, seeds=1), "objective").title == "m on p"
    words = figure.run_figure(done("objective", 8, eta=list("abcdefgh")), "objective")
    assert len(words.panels[0].curves) == 7 and "eta=a: y" in words.data and "eta=h: y" in words.data
    two = done("objective", 8, tau=[1] * 8)
    assert "eta=1, tau=1: y" in figure.run_figure(two, "objective").data
    one = figure.run_figure(done("objective", 8, seeds=1), "objective").data
    assert one["objective at the end: lower"] == one["objective at the end: y"] == one["objective at the end: upper"]
    with pytest.raises(InputError, match=r"bytes: not measured in this run; wanted one of objective"):
        figure.run_figure(done("objective", 1), "bytes")


def test_bounds_stand_beside_the_mean_of_the_squared_gradient(drawn_only: None) -> None:
    bound = [
        {"statement": f"t{s}", "point": {"eta": 10.0**-k}, "T": [2, 4], "values": [9.0, 7.0 + k]}
        for k in range(8)
        for s in (1, 2)
    ]
    few = figure.run_figure(done("gradient_sq", 2, bounds=tuple(bound[:4])), "gradient_sq").data
    assert few["its mean over the steps, eta=0.1: y"] == [3.0, 3.5] and few["bound of the mean, t2 eta=0.1: y"] == [
        9.0,
        8.0,
    ]
    assert few["bound of the mean, t1 eta=1: x"] == [2, 4] and "bound of the mean, t1 eta=0.01: x" not in few
    many = figure.run_figure(done("gradient_sq", 8, bounds=tuple(bound)), "gradient_sq").data
    assert many["bound of the mean, t1: y"] == [7.0 + k for k in range(8)] and many["bound of the mean, t2: x"] == [
        10.0**-k for k in range(8)
    ]
    assert many["its mean over the steps: y"] == [1.5 + 2 * k for k in range(8)]
    nothing = done("gradient_sq", 2)
    nothing.table.values[table.MEAN][0] = np.nan
    drawn = figure.run_figure(nothing, "gradient_sq").data
    assert "its mean over the steps, eta=0.1: y" in drawn and "its mean over the steps, eta=1: y" not in drawn
    bare = done("gradient_sq", 1, eta=[0.5])
    bare.table = RunTable((), {}, bare.table.seeds, bare.table.times, bare.table.values)
    assert {"gradient_sq: y", "its mean over the steps: y"} <= set(figure.run_figure(bare, "gradient_sq").data)


def test_a_mean_of_squared_gradients_is_drawn_and_told_where_there_is_one(drawn_only: None) -> None:
    """Not beside another metric, and not where it was not measured."""
    only = done("gradient_sq", 8)
    del only.table.values[table.MEAN]
    assert [c.name for c in figure.run_figure(only, "gradient_sq").panels[0].curves] == ["gradient_sq at the end"]
    both = done("objective", 8)
    both.table.values[table.MEAN] = both.table.values["objective"] / 2
    assert [c.name for c in figure.run_figure(both, "objective").panels[0].curves] == ["objective at the end"]
    few = done("objective", 2)
    few.table.values[table.MEAN] = few.table.values["objective"] / 2
    assert [c.name for c in figure.run_figure(few, "objective").panels[0].curves] == ["eta=1", "eta=0.1"]
    told = table.summarise(few.table).to_list()
    assert told[0]["metrics"][table.MEAN]["mean"] == told[0]["metrics"]["objective"]["mean"] / 2


def test_the_seconds_of_a_figure_are_those_of_its_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, used = iter((10.0, 14.0)), iter((5.0, 7.5))
    monkeypatch.setattr(
        figures, "time", SimpleNamespace(perf_counter=lambda: next(clock), process_time=lambda: next(used))
    )
    found = figures.reproduce("k", declared(), Setup(), 0.05)
    assert (found.seconds, found.cpu_seconds) == (4.0, 2.5)


@pytest.mark.parametrize(("values", "log"), [((1.0, 20.0), False), ((1.0, 21.0), True), ((0.0, 21.0), False)])
def test_the_axis_of_a_grid_is_logarithmic_over_a_wide_range(values: tuple, log: bool, drawn_only: None) -> None:
    grid = [values[0] + (values[1] - values[0]) * k / 7 for k in range(8)]
    assert figure.run_figure(done("objective", 8, eta=grid), "objective").panels[0].x_log == log


# --- what is run -----------------------------------------------------------------------------------------------------------------


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
    assert said.splitlines()[-2:] == ["bound t at {}: 1.235 at T=9", "written to x"]


# --- bounds of a run -------------------------------------------------------------------------------------------------------------


def test_what_a_method_of_tasks_sends() -> None:
    problem = SimpleNamespace(dim=5)

    def sent(**more: Any) -> tuple[int, int, int]:
        found = TaskMethod(**{"eta": 0.1, "gamma": 0.5, "alpha": 0.5, "p": 3, "inner_states": "task", **more}).messages(
            problem, 11
        )
        return found.rounds, found.model_floats, found.embedding_floats

    assert sent() == (3, 30, 0) and sent(inner_states="one") == (3, 30, 15)
    assert sent(alpha=1) == (3, 15, 0) and sent(alpha=torch.tensor([1.0, 0.5], dtype=torch.float64)) == (3, 30, 0)


# --- models, splits and files ----------------------------------------------------------------------------------------------------


def test_models_are_what_they_say() -> None:
    linear = models.softmax_regression(4, 3)
    assert [tuple(p.shape) for p in linear.parameters()] == [(3, 4), (3,)] and all(
        (p == 0).all() and p.dtype == torch.float64 for p in linear.parameters()
    )
    net = models.network((4, 7, 3))
    assert [type(part).__name__ for part in net] == ["Linear", "ReLU", "Linear"] and net[2].weight.shape == (3, 7)
    same, other = models.network((4, 7, 3), seed=0), models.network((4, 7, 3), seed=1)
    assert torch.equal(net[0].weight, same[0].weight) and not torch.equal(net[0].weight, other[0].weight)
    state = torch.random.get_rng_state()
    models.network((2, 2))
    assert torch.equal(state, torch.random.get_rng_state())
    small = models.convolutional((1, 6, 6), 5, filters=4, layers=3, groups=2)
    kinds = [type(part).__name__ for part in small]
    one = ["Conv2d", "GroupNorm", "ReLU", "MaxPool2d"]
    assert kinds == ["Unflatten", *one, *one, "Conv2d", "GroupNorm", "ReLU", "Flatten", "Linear"]  # sides 6, 3, 1
    assert small(torch.zeros(2, 36, dtype=torch.float64)).shape == (2, 5) and small[-1].in_features == 4
    alone = models.convolutional((1, 6, 6), 5, filters=4, layers=1)
    assert alone(torch.zeros(36, dtype=torch.float64)).shape == (5,)
    usual = [part for part in models.convolutional((1, 28, 28), 5) if isinstance(part, torch.nn.Conv2d)]
    assert [part.out_channels for part in usual] == [64] * 4  # as for few-shot learning, where it is from
    assert "GroupNorm" not in [type(part).__name__ for part in models.convolutional((1, 4, 4), 5, filters=4, layers=1)]


def test_a_residual_network_has_twenty_layers() -> None:
    net = models.residual((3, 8, 8), 10)
    layers = [m for m in net.modules() if isinstance(m, (torch.nn.Conv2d, torch.nn.Linear))]
    assert len(layers) == 20 and net(torch.zeros(1, 192, dtype=torch.float64)).shape == (1, 10)
    assert [m.stride[0] for m in layers[:-1]].count(2) == 2 and layers[-1].in_features == 64
    assert {(m.kernel_size, m.padding, m.bias) for m in layers[:-1]} == {((3, 3), (1, 1), None)}
    assert [m.out_channels for m in layers[:-1]] == [16] * 7 + [32] * 6 + [
        64
    ] * 6  # the first one, and six of each size


def test_examples_are_dealt_out() -> None:
    labels, inputs = torch.arange(100) % 4, torch.arange(100.0)
    parts = splits.of_sizes(inputs, labels, [60, 40])
    assert sorted(torch.cat([x for x, _ in parts]).tolist()) == list(range(100)) and [len(x) for x, _ in parts] == [
        60,
        40,
    ]
    with pytest.raises(ValueError, match="at most 100 examples in all, got 101"):
        splits.of_sizes(inputs, labels, [60, 41])
    assert [len(x) for x, _ in splits.equally(inputs, labels, 3)] == [33, 33, 33]
    for client, (_, own) in enumerate(splits.dominant(inputs, labels, 6, 0.7, 20)):
        assert torch.bincount(own, minlength=4).tolist() == [14 if c == client % 4 else 2 for c in range(4)]
    rich = splits.dominant(inputs, labels, 1, 1.0, 50)[0][0]
    assert len(set(rich.tolist())) == 25 and torch.equal(
        rich[:25], rich[25:]
    )  # a class of 25, used once and then again
    kept = splits.thinned(labels, [1, 2], 3)
    assert kept.tolist() == sorted([*range(0, 100, 4), *range(3, 100, 4), 89, 93, 97, 90, 94, 98])
    assert torch.bincount(labels[splits.thinned(labels, [0], 0.2)]).tolist() == [5, 25, 25, 25]
    assert torch.bincount(labels[splits.thinned(labels, [0], 1e-9)])[0] == 1


def test_client_shares_of_a_dirichlet_law() -> None:
    labels, inputs = torch.arange(300) % 3, torch.arange(300.0)
    examples = datasets.Examples("x", inputs, labels, inputs, labels)
    flat, uneven = (splits.dirichlet(examples, 4, alpha, 30, seed=1) for alpha in (1e6, 1e-2))
    for own_inputs, own in flat:
        assert torch.bincount(own).tolist() == [10, 10, 10] and len(set(own_inputs.tolist())) == 30
        assert torch.equal(own_inputs.long() % 3, own) and own.tolist() != sorted(own.tolist())
    assert all(torch.bincount(own).max() == 30 for _, own in uneven)
    again = splits.dirichlet(examples, 4, 1e6, 30, seed=1)
    assert all(torch.equal(a[0], b[0]) for a, b in zip(flat, again, strict=True))


def idx(shape: tuple[int, ...], values: bytes, head: bytes = b"\0\0\x08") -> bytes:
    return head + bytes([len(shape)]) + b"".join(size.to_bytes(4, "big") for size in shape) + values


@pytest.mark.parametrize(("pixels", "labels"), [((2, 3, 3), (3,)), ((2, 3), (2,)), ((2, 3, 3), (2, 1))])
def test_as_many_images_as_labels(pixels: tuple, labels: tuple, tmp_path: Path) -> None:
    good = {
        "train-images-idx3-ubyte": (2, 3, 3),
        "train-labels-idx1-ubyte": (2,),
        "t10k-images-idx3-ubyte": (2, 3, 3),
        "t10k-labels-idx1-ubyte": (2,),
    }
    for bad in ("train", "t10k"):
        for name, shape in good.items():
            shape = (pixels if "images" in name else labels) if name.startswith(bad) else shape
            (tmp_path / name).write_bytes(idx(shape, bytes(range(math.prod(shape)))))
        with pytest.raises(InputError, match="wanted as many images as labels"):
            datasets.mnist(tmp_path)


@pytest.mark.parametrize(
    "name", ["train-images-idx3-ubyte", "train-images-idx3-ubyte.gz", "data_batch_1.bin", "train.bin"]
)
def test_a_folder_holds_images_where_the_first_file_of_a_set_is_there(name: str, tmp_path: Path) -> None:
    held = datasets.HOLDS
    for other in ("data_batch_2.bin", "test.bin", "train-labels-idx1-ubyte"):
        (tmp_path / other).write_bytes(b"")
    assert (held["generated"](tmp_path), held["images"](tmp_path), held["omniglot"](tmp_path)) == (True, False, False)
    (tmp_path / name).write_bytes(b"")
    assert held["images"](tmp_path)
    character = tmp_path / "images_evaluation" / "Greek" / "character01"
    character.mkdir(parents=True)
    assert not held["omniglot"](tmp_path)
    (character / "1.png").write_bytes(b"")
    assert held["omniglot"](tmp_path)


def test_a_set_of_examples() -> None:
    shape = torch.zeros(4, 2, 3, 5)
    found = datasets.Examples("x", shape, torch.tensor([0, 3, 1, 0]), shape[:1], torch.tensor([0]))
    assert (found.classes, found.features, found.shape) == (4, 30, (2, 3, 5)) and found.flat.inputs.shape == (
        4,
        30,
    ) == (4, found.flat.features)


# --- pages and files of the experiments ------------------------------------------------------------------------------------------

ROW = {
    "figure": "k/figure_1", "title": "about it", "standing": "exact", "paper_shows": "one above", "differences": ["small <er>"],
    "verdict": "as it is", "seeds": 6, "seconds": 90.4, "cpu_seconds": 150.0, "full": False, "date": "2026-01-02",
    "versions": {"fedco": "0.1.0", "source": "abc", "machine": "m"},
    "orderings": [
        {"ordering": "a above b", "outcome": outcome, "advantage": {"mean": mean, "low": None, "high": 2.0}, "sign_test_p": 0.03125,
         "why": why, "gains": [mean or 0.0, 1.0], "exact": False}
        for outcome, mean, why in ((PAPERS, 1.23456, ""), ("the opposite", None, ""), ("undecided", 0.5, "so"))
    ],
}  # fmt: skip
ROW["controls"] = [
    {
        "change": f"with {name}",
        "reason": reason,
        "explains": bool(reason),
        "verdict": "all",
        "orderings": ROW["orderings"][:1],
    }
    for name, reason in (("a", ""), ("b", "it is larger"))
]
LISTED = [
    {"figure": "k/figure_1", "title": "about it", "standing": "exact", "paper_shows": "one above", "differences": []},
    {"figure": "k/table_2", "title": "list", "standing": "theory", "paper_shows": "two", "differences": ["not ours"]},
    {"figure": "k/table_3", "title": "more", "standing": "needs data", "paper_shows": "three", "differences": []},
]


def test_the_page_of_the_experiments_line_by_line(tmp_path: Path) -> None:
    (tmp_path / "k").mkdir()
    (tmp_path / "k" / "figure_1.svg").write_text(
        '<?xml?><svg a="1"><metadata>x</metadata><g id="p"/><use href="#p" style="url(#p)"/></svg>'
    )
    text = page.write_page(tmp_path / "index.html", tmp_path, [ROW], LISTED, "a note").read_text()
    assert "<td><a href='#k-figure-1'>k/figure_1</a></td><td>about it</td><td>exact</td><td>as it is</td>" in text
    assert "<td>k/table_2</td><td>list</td><td>theory</td><td>nothing to run; the paper shows: two</td>" in text
    assert "<td>k/table_3</td><td>more</td><td>needs data</td><td>not run; the paper shows: three</td>" in text
    assert text.count("<section") == 1 and "a note</p>" in text and "<li>small &lt;er&gt;</li>" in text
    assert "<strong>Ours:</strong> as it is; 6 seeds, 90 s.</p>" in text
    assert "<td>a above b</td><td class='same'>the paper&#x27;s</td><td>1.23 [∞, 2]</td><td>0.031</td><td></td>" in text
    assert "<td class='other'>the opposite</td><td>∞ [∞, 2]</td><td>0.031</td><td></td>" in text
    assert "<p>Tried: with a: all.</p>" in text and "<p>Explained: with b, because it is larger: all.</p>" in text
    assert (
        "<figure><svg role='img' aria-label='about it' a=\"1\">"
        '<g id="k-figure-1-p"/><use href="#k-figure-1-p" style="url(#k-figure-1-p)"/></svg></figure>' in text
    )
    full = page.write_page(
        tmp_path / "full.html", tmp_path, [{**ROW, "full": True, "differences": []}], LISTED, ""
    ).read_text()
    assert "90 s, the paper’s sizes.</p>" in full and "<p>As in the paper.</p>" in full


def test_the_numbers_behind_a_figure() -> None:
    rows = list(csv.reader(io.StringIO(reproduce.as_csv(reproduced()))))
    assert rows[0] == ["panel", "curve", "seed", "rounds", "m", "accuracy"] and len(rows) == 1 + 2 * 3 * 2
    assert rows[1:3] == [["left", "one", "0", "0", "0.0", "0.5"], ["left", "one", "0", "5", "1.0", "0.5"]]
    assert rows[-2:] == [["", "two", "2", "0", "1.0", ""], ["", "two", "2", "7", "", ""]]


def test_figures_that_are_kept_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []

    def measure(setup: Setup) -> Made:
        runs.append(setup.seeds)
        return Made(made().curves, plot=SimpleNamespace())  # type: ignore[arg-type]

    def save(plot: Any, path: Path) -> Path:
        path.write_text("<svg />")
        return path

    monkeypatch.setattr(reproduce, "save", save)
    known = {"k/figure_1": declared(measure=measure), "k/figure_2": declared(name="figure_2", standing="needs data"),
             "k/table_3": declared(name="table_3", standing="theory", measure=None)}  # fmt: skip
    monkeypatch.setattr(reproduce, "figures", lambda: known)
    monkeypatch.setattr(
        "fedco.validation.runs.validate.versions", lambda: {"fedco": "1", "source": "s", "machine": "m"}
    )

    def all_of(again: bool = False, **more: Any) -> tuple[list[str], list[Any]]:
        said: list[str] = []
        rows = reproduce.run_all(Setup(**{"seeds": 3, **more}), tmp_path, said.append, again)
        return [line.partition(" (")[0] for line in said], [row["figure"] for row in rows]

    first = [
        "k/figure_2: not run, needs images files: --data DIR",
        "k/figure_1 …",
        "k/figure_1: no ordering is judged",
    ]
    assert all_of() == (first, ["k/figure_1"]) and runs == [3]
    assert sorted(all_of()[0]) == ["k/figure_1: kept from an earlier run", first[0]] and runs == [3]
    assert all_of(again=True)[0] == first and all_of(seeds=4)[0] == first and runs == [3, 3, 4]
    said = json.loads((tmp_path / "k" / "figure_1.json").read_text())
    assert said["files"].keys() == {"figure_1.svg", "figure_1.csv"} and (tmp_path / "index.html").exists()
    assert not (tmp_path / "k" / "figure_1.parts").exists()
    assert (
        "k/figure_1  exact        about it" in reproduce.listing_text()
        and "theory: nothing is measured in it" in reproduce.listing_text()
    )
    with pytest.raises(InputError, match=r"'k/figure_9': no such figure; .*k/figure_2"):
        reproduce.get_figure("k/figure_9")
    assert reproduce.get_figure("k/table_3") == ("k", known["k/table_3"])
    assert [row["runs"] for row in reproduce.listing()] == [True, True, False]


def test_a_constants_file_says_where_each_number_is_from() -> None:
    from fedco.validation.experiments.estimates import ForTheorem

    theorem = fedco.theorem("baselines.local_sgd")
    names = list(theorem.symbols(theorem.default))[:2]
    one = SimpleNamespace(kind="estimated", where="along a run", said="the largest of 3", how_sure="no proof")
    values = {names[0]: Fraction(1, 3), names[1]: Fraction(4)}
    made_of = ForTheorem(theorem, theorem.default, values, {names[0]: one})  # type: ignore[dict-item]
    text = made_of.toml()
    assert f'{names[0]} = "0.3333333333333333"\n' in text and f"\n{names[1]} = 4\n" in text
    assert "estimated, along a run: the largest of 3" in text.replace("\n# ", " ") and "Given by the problem." in text
    assert text.startswith(
        f"# Constants of baselines.local_sgd ({theorem.default}), estimated by fedco.\n"
    ) and text.endswith(f'4\n\n[estimated]\n{names[0]} = "no proof"\n')


def test_what_was_reproduced_is_kept_from_the_first_folder_in_the_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The drawing with fewer digits, what was said without its sums, and the site's page."""
    monkeypatch.setattr(keeping, "listing", lambda: LISTED)
    source, target = tmp_path / "a", tmp_path / "b"
    (source / "k").mkdir(parents=True)
    (source / "k" / "figure_1.svg").write_text('<svg><path d="M 1.23456 -7.000 2.5" id="1.23456"/></svg>')
    keeping.write_json(source / "k" / "figure_1.json", {"format": keeping.FORMAT, **ROW, "files": {"x": "sum"}})
    keeping.main(source, target)
    written = [target / "k" / "figure_1.svg", target / "k" / "figure_1.json", target / "index.md"]
    assert capsys.readouterr().out.splitlines() == [str(path) for path in written]
    assert written[0].read_text() == '<svg><path d="M 1.23 -7 2.5" id="1.23456"/></svg>'
    (row,) = keeping.kept_rows(target)
    assert {name: row[name] for name in ROW} == ROW and "files" not in row
    assert written[2].read_text() == keeping.as_markdown([row]) and keeping.kept_rows(tmp_path) == []


@pytest.mark.parametrize("kind", ["grey", "colour", "alpha"])
def test_a_picture_of_a_character_is_shrunk_by_means_and_ink_is_one(kind: str, tmp_path: Path) -> None:
    """Of grey or of three colours, whose mean counts; how opaque it is does not."""
    from PIL import Image

    grey = np.array([[0, 255, 0, 0], [255, 255, 0, 0], [51, 51, 255, 255], [51, 51, 255, 255]], dtype=np.uint8)
    shift = np.array([0, 0, 0])
    picture = grey
    if kind != "grey":
        shift = np.array([30, -30, 0])
        inside = np.clip(grey.astype(int), 30, 225)[..., None]
        picture = (inside + shift).astype(np.uint8)
        grey = inside[..., 0].astype(np.uint8)
    if kind == "alpha":
        picture = np.concatenate([picture, np.full((4, 4, 1), 128, dtype=np.uint8)], axis=-1)
    folder = tmp_path / "images_background" / "Greek" / "character01"
    folder.mkdir(parents=True)
    Image.fromarray(picture).save(folder / "a.png")
    ink = 1 - grey / 255
    wanted = [ink[i : i + 2, j : j + 2].mean() for i in (0, 2) for j in (0, 2)]
    np.testing.assert_allclose(datasets.omniglot(tmp_path, 2).pixels[0, 0], wanted, atol=1e-6)


def test_characters_of_both_parts_or_of_the_folder_itself(tmp_path: Path) -> None:
    """The usual side is 28 pixels; a folder of a character without images is none."""
    from PIL import Image

    parts = {"images_background": ("Greek", "Runic"), "images_evaluation": ("Attic",)}
    for part, alphabets in parts.items():
        for alphabet in alphabets:
            for k, folder in enumerate(("character02", "character01")):
                place = tmp_path / part / alphabet / folder
                place.mkdir(parents=True)
                for j in range(2):
                    Image.fromarray(np.full((4, 4), 100 * k + 20 * j, dtype=np.uint8)).save(place / f"{j}.png")
    (tmp_path / "images_evaluation" / "Attic" / "character03").mkdir()
    found = datasets.omniglot(tmp_path)
    assert found.alphabets == ("Greek", "Greek", "Runic", "Runic", "Attic", "Attic") and found.name == "Omniglot"
    assert found.pixels.shape == (6, 2, 28 * 28)
    assert found.pixels[:, :, 0].mul(255).round().tolist() == [[155, 135], [255, 235]] * 3
    alone = datasets.omniglot(tmp_path / "images_background", 4)
    assert alone.alphabets == ("Greek", "Greek", "Runic", "Runic") and alone.pixels.shape == (4, 2, 16)
    (tmp_path / "images_background" / "Greek" / "character01" / "1.png").unlink()
    with pytest.raises(InputError, match=r"as many images of every character, got \[1, 2\]"):
        datasets.omniglot(tmp_path)
