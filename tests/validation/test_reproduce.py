"""`fedco reproduce`: the list, the verdicts on figures and their controls, what is drawn, and what a page and a folder keep of it."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from fedco.errors import InputError
from fedco.storage import read_json, write_json
from fedco.validation.experiments import datasets, figure, keeping, reproduce, table
from fedco.validation.experiments import figures as drawing
from fedco.validation.experiments.figures import STANDINGS, Figure, Made, Measured, Reproduced, Setup
from fedco.validation.experiments.figures import reproduce as measure
from fedco.validation.experiments.orderings import (
    OPPOSITE,
    OUTCOMES,
    PAPERS,
    UNDECIDED,
    Control,
    Judged,
    Ordering,
    can_decide,
    sign_test,
    word,
)
from fedco.validation.experiments.reproduce import FORMAT, figures, measured_on, run_figure, totals
from fedco.validation.experiments.table import RunTable
from scipy.stats import t as student

EVERYTHING = {
    "comfedl": [f"figure_{k}" for k in range(1, 9)],
    "fcsg": ["figure_1", "figure_2", "figure_3", "table_1", "table_2"],
    "feddro": ["table_1", *(f"figure_{k}" for k in range(1, 7))],
    "local_scgdm": [f"figure_{k}" for k in range(1, 8)],
    "meta_fl": ["figure_1"],
}
"""Counted in the papers: every figure and table that they have."""


def test_every_figure_and_table_of_the_five_papers_is_in_the_list(command):
    listed = {key: [name.partition("/")[2] for name in figures() if name.startswith(f"{key}/")] for key in EVERYTHING}
    assert {key: sorted(names) for key, names in listed.items()} == {
        key: sorted(names) for key, names in EVERYTHING.items()
    }
    shown = command("reproduce", "--json").stdout
    rows = json.loads(shown)["figures"]
    assert len(rows) == sum(map(len, EVERYTHING.values()))
    for row in rows:
        assert row["standing"] in STANDINGS and row["paper_shows"] and row["title"]
        assert row["runs"] or row["standing"] == "theory" or row["figure"] == "comfedl/figure_1"
        assert row["differences"] or row["standing"] == "theory"


def test_every_figure_that_runs_has_orderings_or_says_that_it_has_none():
    for name, each in figures().items():
        if each.measure is not None:
            assert each.metrics and (each.orderings or any("nothing is judged" in one for one in each.differences)), (
                name
            )


# --- verdicts ----------------------------------------------------------------------------------------------------------


def test_the_level_counts_every_comparison_of_every_figure(monkeypatch):
    tests = [(sum(not each.exact for each in f.orderings), 1 + len(f.controls)) for f in figures().values()]
    assert reproduce.level() == pytest.approx(0.05 / sum(own * times for own, times in tests))
    monkeypatch.setattr(reproduce, "figures", lambda: {"x": _figure(*[_control()] * 9)})
    assert reproduce.level() == 0.05 / 10


def test_at_the_level_of_all_figures_noise_is_undecided_and_three_of_a_figures_seeds_may_disagree():
    """Of 2000 pairs of curves that differ by noise alone, the test is expected to be wrong in less than one."""
    seeds = Setup().seeds
    found = [word(gains, reproduce.level()) for gains in np.random.default_rng(5).normal(size=(2000, seeds))]
    assert found.count(UNDECIDED) >= 1997
    outcomes = [word([1.0] * (seeds - losses) + [-1.0] * losses, reproduce.level()) for losses in (3, 4)]
    assert outcomes == [PAPERS, UNDECIDED]


def _lines(seeds, gain, *steps):
    """Curves a, and b and c below it by this much at each seed, with the step size of each."""
    low = np.linspace(0, 1, 20) + np.zeros((seeds, 1))
    values = {"a": low + np.asarray(gain)[..., None], "b": low, "c": low}
    told = zip(values, steps or (1, 1, 1), strict=True)
    return Made(tuple(Measured("", k, range(20), {"m": values[k]}, settings={"eta": eta}) for k, eta in told))


def _control(gain=1.0, steps=(2, 2, 2), reason="") -> Control:
    return Control("with other steps", lambda setup: _lines(setup.seeds, gain, *steps), reason)


def _figure(*controls: Control, gain=-1.0, worse=("b",), **more) -> Figure:
    """Where the paper has a above b and ours shows the gain."""
    return Figure(
        "figure_1",
        "two lines",
        "exact",
        "a line above another",
        (),
        tuple(Ordering("a", each, "m") for each in worse),
        lambda setup: _lines(setup.seeds, gain),
        ("m",),
        "generated",
        controls,
        **more,
    )


LEVEL = 0.01
REASON = "the larger step is needed"


def _measured(figure, seeds=24):
    return measure("x", figure, Setup(seeds=seeds), 0.05 / figure.comparisons)


def test_only_a_reason_stated_before_explains_and_only_with_every_ordering():
    for control, explains in (
        (_control(reason=REASON), True),
        (_control(), False),
        (_control(gain=-1.0, reason=REASON), False),
        (_control(gain=np.random.default_rng(2).normal(size=24), reason=REASON), False),
    ):
        done = _measured(_figure(control))
        assert [each.explains for each in done.tried] == [explains]
        assert ("explained" in done.verdict) == explains == ("explained" in str(done))
        assert totals([done.to_dict()])["explained"] == explains
    half = Control("for one only", lambda setup: _half(setup.seeds), REASON)
    done = _measured(_figure(half, worse=("b", "c")))
    assert not done.tried[0].explains and [each.outcome for each in done.tried[0].judged] == [PAPERS, OPPOSITE]


def _half(seeds):
    a, b, c = _lines(seeds, 1.0, 2, 2, 2).curves
    higher = Measured("", "c", c.times, {"m": c.values["m"] + 2}, settings=c.settings)
    return Made((a, b, higher))


@pytest.mark.parametrize("steps", [(2, 1), (1, 2), (2, 3), (1, 1)])
def test_a_control_that_treats_one_method_otherwise_is_refused(steps):
    """Also one that changes nothing."""
    with pytest.raises(ValueError, match="with other steps: wanted"):
        _measured(_figure(_control(steps=(*steps, 1), reason=REASON)))
    silent = Control("silent", lambda setup: Made(_lines(setup.seeds, 1.0, 2, 2, 2).curves[:1]), REASON)
    with pytest.raises(ValueError, match="silent: wanted the settings of every compared curve"):
        _measured(_figure(silent))


def test_a_control_may_scale_each_step_by_one_factor_or_tune_them_all():
    def changed(steps, **chosen):
        return Control("x", lambda setup: Made(_lines(setup.seeds, 1.0, *steps, 1).curves, chosen), REASON)

    assert _measured(_figure(changed((3, 3)))).tried[0].explains
    assert _measured(_figure(changed((3, 5), a={"eta": 3}, b={"eta": 5}))).tried[0].explains
    with pytest.raises(ValueError, match="wanted eta changed alike"):
        _measured(_figure(changed((3, 5), a={"eta": 3})))


def test_one_success_of_many_controls_does_not_pass_the_correction():
    """Of ten controls without an effect one is planted with a p-value below 0.05, and below what one control alone is asked."""
    rng = np.random.default_rng(3)
    lucky = np.array([1.0] * 20 + [-1.0] * 4)
    others = [_control(gain=rng.permutation([1.0] * 12 + [-1.0] * 12), reason=REASON) for _ in range(99)]
    alone = _measured(_figure(_control(gain=lucky, reason=REASON)))
    assert alone.tried[0].explains and sign_test(lucky) < 0.05
    done = _measured(_figure(_control(gain=lucky, reason=REASON), *others))
    assert [each.judged[0].outcome for each in done.tried] == [UNDECIDED] * 100 and "explained" not in done.verdict


def test_controls_run_only_where_an_ordering_is_not_the_papers():
    assert _measured(_figure(_control(), gain=1.0)).tried == () != _measured(_figure(_control())).tried


def test_one_fact_in_two_figures_is_counted_once():
    gain = np.random.default_rng(0).normal(size=24)
    rows = [measure(key, _figure(gain=gain), Setup(seeds=24), LEVEL).to_dict() for key in ("x", "y")]
    other = measure("z", _figure(gain=gain + 1), Setup(seeds=24), LEVEL).to_dict()
    assert totals(rows)["orderings"] == 1 and totals([*rows, other])["orderings"] == 2
    still = [measure(key, _figure(gain=0.0), Setup(seeds=24), LEVEL).to_dict() for key in ("x", "y")]
    assert totals(still)["orderings"] == 2  # no difference at all is no sign of one fact


def test_an_ordering_that_others_imply_or_that_cannot_fail_is_refused():
    ab, bc, ac = Ordering("a", "b", "m"), Ordering("b", "c", "m"), Ordering("a", "c", "m")
    for wrong in ((ab, ab), (ab, bc, ac), (ac, bc, ab)):
        with pytest.raises(ValueError, match="counted by the other orderings already"):
            Figure("f", "", "exact", "", (), wrong)
    Figure("f", "", "exact", "", (), (ab, bc, Ordering("a", "c", "m", when="along"), Ordering("a", "c", "n")))
    for given in ({"worse": "a"}, {"when": "least"}):
        with pytest.raises(ValueError, match="wanted two curves"):
            Ordering(**{"better": "a", "worse": "b", "metric": "m", **given})


def test_the_words_that_are_kept_follow_from_the_numbers_beside_them():
    rows = keeping.kept_rows()
    assert len(rows) > 15
    for row in rows:
        assert row["level"] == pytest.approx(reproduce.level()), row["figure"]
        for part in (row, *row["controls"]):
            for each in part["orderings"]:
                gains = [float(gain) for gain in each["gains"]]
                assert each["outcome"] == word(gains, row["level"], each["exact"])
                if not gains:  # kept before differences were: too few seeds to decide anything
                    assert not can_decide(row["seeds"], row["level"]) and "cannot decide" in each["why"]
                elif not each["exact"]:
                    assert each["sign_test_p"] == pytest.approx(sign_test(gains)) and len(gains) == row["seeds"]
        for each in row["controls"]:
            all_are = all(one["outcome"] == PAPERS for one in each["orderings"])
            assert each["explains"] == (bool(each["reason"]) and all_are)


def test_a_reason_cannot_be_given_to_a_control_that_was_seen(tmp_path, monkeypatch):
    for place, reason in (("first", ""), ("second", REASON)):
        monkeypatch.setattr(
            reproduce, "figures", lambda reason=reason: {"x/figure_1": _figure(_control(reason=reason))}
        )
        reproduce.run_all(Setup(seeds=6), tmp_path / place, lambda text: None)
    keeping.keep(tmp_path / "first", tmp_path / "kept")
    with pytest.raises(InputError, match="a reason cannot be stated after its results were kept"):
        keeping.keep(tmp_path / "second", tmp_path / "kept")
    keeping.keep(tmp_path / "second", tmp_path / "fresh")


# --- figures -----------------------------------------------------------------------------------------------------------


def test_the_counterexample_figure_is_made_with_its_files(command, tmp_path):
    shown = command("reproduce", "feddro/figure_6", "--out", str(tmp_path))
    assert shown.returncode == 0 and "of 4 orderings 4 the paper's" in shown.stdout
    kept = read_json(tmp_path / "feddro" / "figure_6.json", FORMAT)
    for name, wanted in kept["files"].items():
        assert hashlib.sha256((tmp_path / "feddro" / name).read_bytes()).hexdigest() == wanted
    rows = np.genfromtxt(tmp_path / "feddro" / "figure_6.csv", delimiter=",", skip_header=1, usecols=(3, 4))
    assert rows[:, 1].min() == 0.5


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["feddro/figure_9"], "no such figure; the nearest is feddro/figure_"),
        (["feddro/table_1"], "nothing to run"),
        (["fcsg/figure_2"], "needs omniglot files: --data DIR"),
        (["fcsg/figure_2", "--data", "EMPTY"], "has no omniglot files"),
        (["comfedl/figure_3", "--data", "EMPTY"], "has no images files"),
        (["feddro/figure_6", "--all"], "got both"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_line(command, arguments, said, tmp_path):
    (tmp_path / "empty").mkdir()
    arguments = [str(tmp_path / "empty") if text == "EMPTY" else text for text in arguments]
    found = command("reproduce", *arguments, "--out", str(tmp_path / "never"))
    assert found.returncode == 2 and said in found.stderr and found.stderr.count("\n") == 1
    assert not (tmp_path / "never").exists()


def test_a_stopped_figure_goes_on(tmp_path, monkeypatch):
    from fedco.algorithms import LocalSGD
    from fedco.synthetic import problem
    from fedco.validation.experiments import run as runs
    from fedco.validation.experiments.curves import curve

    setup, method = Setup(seeds=6, kept=tmp_path / "parts"), LocalSGD(eta=0.01, tau=2)
    first = curve(setup, "x", method, problem("federated_quadratic"), 20, ("objective",))
    monkeypatch.setattr(runs, "drive", None)  # it may not be called again
    again = curve(setup, "x", method, problem("federated_quadratic"), 20, ("objective",))
    assert np.array_equal(first.values["objective"], again.values["objective"])
    with pytest.raises(TypeError):
        curve(Setup(seeds=6), "x", method, problem("federated_quadratic"), 20, ("objective",))


def test_kept_results_make_the_page_of_the_report_and_of_the_site(tmp_path, monkeypatch):
    only = {"feddro/figure_6": figures()["feddro/figure_6"], "feddro/table_1": figures()["feddro/table_1"]}
    monkeypatch.setattr(reproduce, "figures", lambda: only)
    reproduce.run_all(Setup(seeds=6), tmp_path / "run", lambda text: None)
    keeping.keep(tmp_path / "run", tmp_path / "kept")
    drawn = (tmp_path / "kept" / "feddro" / "figure_6.svg").read_text()
    assert len(drawn) < len((tmp_path / "run" / "feddro" / "figure_6.svg").read_text())
    ElementTree.fromstring(drawn)
    said = (tmp_path / "kept" / "index.md").read_text()
    figure = only["feddro/figure_6"]
    assert (
        f"The paper's figure shows:** {figure.shows}" in said and "(feddro/figure_6.svg)" in said and "table_1" in said
    )
    counts = {"figures": 1, "orderings": 4, "papers": 4, "opposite": 0, "undecided": 0, "explained": 0}
    assert keeping.write_kept(tmp_path / "page.html", tmp_path / "kept") == counts
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg ") == 1 and figure.shows in page and "has changed since" not in page
    (row,) = keeping.kept_rows(tmp_path / "kept")
    assert row["seeds"] == 6 and row["date"] and row["versions"]["fedco"] and "files" not in row
    older = {**row, "versions": {**row["versions"], "fedco": "0.0.0"}}
    write_json(tmp_path / "kept" / "results.json", {"format": FORMAT, "figures": [older]})
    keeping.write_kept(tmp_path / "page.html", tmp_path / "kept")
    assert "has changed since" in (tmp_path / "page.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, figure in figures().items() if not figure.missing(None)])
def test_every_figure_runs_and_judges(name, tmp_path):
    pytest.importorskip("sklearn")
    done = run_figure(name, Setup(seeds=6), tmp_path)
    assert {each.outcome for each in done.judged} <= {*OUTCOMES} and len(done.judged) == len(figures()[name].orderings)
    assert all(each.why for each in done.judged if each.outcome == UNDECIDED)


def test_the_time_of_the_kept_runs_is_that_of_those_that_tell_it():
    rows = [
        {"seeds": 4, "date": "2026-01-02", "seconds": 90.0, "cpu_seconds": 150.0},
        *({"seeds": 2} for _ in range(30)),
    ]
    said = measured_on(rows)
    assert "Measured on 2026-01-02 " in said and "2 or 4 seeds: 31 figures" in said
    assert "in 1.5 minutes, 2.5 minutes of processor time" in said


# --- what is drawn and told of a figure -------------------------------------------------------------------------------


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
        drawing.reproduce("k", declared(measure=None, standing="theory"), Setup(), 0.05)


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
    monkeypatch.setattr(drawing, "panel_plot", Drawn)
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


@pytest.mark.parametrize(("values", "log"), [((1.0, 20.0), False), ((1.0, 21.0), True), ((0.0, 21.0), False)])
def test_the_axis_of_a_grid_is_logarithmic_over_a_wide_range(values: tuple, log: bool, drawn_only: None) -> None:
    grid = [values[0] + (values[1] - values[0]) * k / 7 for k in range(8)]
    assert figure.run_figure(done("objective", 8, eta=grid), "objective").panels[0].x_log == log


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
    text = reproduce.write_page(tmp_path / "index.html", tmp_path, [ROW], LISTED, "a note").read_text()
    assert "<td><a href='#k-figure-1'>k/figure_1</a></td><td>about it</td><td>exact</td><td>as it is</td>" in text
    assert "<td>k/table_2</td><td>list</td><td>theory</td><td>nothing to run; the paper shows: two</td>" in text
    assert "<td>k/table_3</td><td>more</td><td>needs data</td><td>not run; the paper shows: three</td>" in text
    assert text.count("<section") == 1 and "a note</p>" in text and "<li>small &lt;er&gt;</li>" in text
    assert "<strong>Ours:</strong> as it is; 6 seeds, 90 s.</p>" in text
    assert (
        "<td>a above b</td><td class='same'>the paper&#x27;s</td><td>1.23 [not finite, 2]</td><td>0.031</td><td></td>"
        in text
    )
    assert "<td class='other'>the opposite</td><td>not finite [not finite, 2]</td><td>0.031</td><td></td>" in text
    assert "<p>Tried: with a: all.</p>" in text and "<p>Explained: with b, because it is larger: all.</p>" in text
    assert (
        "<figure><svg role='img' aria-label='about it' a=\"1\">"
        '<g id="k-figure-1-p"/><use href="#k-figure-1-p" style="url(#k-figure-1-p)"/></svg></figure>' in text
    )
    full = reproduce.write_page(
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
    written = [target / "k" / "figure_1.svg", target / "results.json", target / "index.md"]
    assert capsys.readouterr().out.splitlines() == [str(path) for path in written]
    assert written[0].read_text() == '<svg><path d="M 1.23 -7 2.5" id="1.23456"/></svg>'
    (row,) = keeping.kept_rows(target)
    assert {name: row[name] for name in ROW} == ROW and "files" not in row
    assert written[2].read_text() == keeping.as_markdown([row]) and keeping.kept_rows(tmp_path) == []
    other, newer = {**ROW, "figure": "k/table_3"}, {**ROW, "verdict": "as it was measured later"}
    for later in (other, newer):  # what is not measured again stays
        for path in source.rglob("*.json"):
            path.unlink()
        (source / f"{later['figure']}.svg").write_text("<svg />")
        keeping.write_json(source / f"{later['figure']}.json", {"format": keeping.FORMAT, **later})
        keeping.keep(source, target)
    found = {row["figure"]: row["verdict"] for row in keeping.kept_rows(target)}
    assert found == {"k/figure_1": newer["verdict"], "k/table_3": ROW["verdict"]}
