"""`fedco reproduce`: the list, the verdicts on figures and their controls, and figures as a user makes them."""

import hashlib
import json
from xml.etree import ElementTree

import numpy as np
import pytest
from fedco.cli import app
from fedco.errors import InputError
from fedco.storage import read_json, write_json
from fedco.validation.experiments import keeping, reproduce
from fedco.validation.experiments.figures import STANDINGS, Figure, Made, Measured, Setup
from fedco.validation.experiments.figures import reproduce as measure
from fedco.validation.experiments.orderings import (
    OPPOSITE,
    OUTCOMES,
    PAPERS,
    UNDECIDED,
    Control,
    Ordering,
    can_decide,
    sign_test,
    word,
)
from fedco.validation.experiments.reproduce import FORMAT, figures, measured_on, run_figure, totals
from typer.testing import CliRunner

EVERYTHING = {
    "comfedl": [f"figure_{k}" for k in range(1, 9)],
    "fcsg": ["figure_1", "figure_2", "figure_3", "table_1", "table_2"],
    "feddro": ["table_1", *(f"figure_{k}" for k in range(1, 7))],
    "local_scgdm": [f"figure_{k}" for k in range(1, 8)],
    "meta_fl": ["figure_1"],
}
"""Counted in the papers: every figure and table that they have."""


def test_every_figure_and_table_of_the_five_papers_is_in_the_list():
    listed = {key: [name.partition("/")[2] for name in figures() if name.startswith(f"{key}/")] for key in EVERYTHING}
    assert {key: sorted(names) for key, names in listed.items()} == {
        key: sorted(names) for key, names in EVERYTHING.items()
    }
    shown = CliRunner().invoke(app, ["reproduce", "--json"]).stdout
    rows = json.loads(shown)["figures"]
    assert len(rows) == sum(map(len, EVERYTHING.values()))
    for row in rows:
        assert row["standing"] in STANDINGS and row["paper_shows"] and row["title"]
        assert row["runs"] or row["standing"] == "theory" or row["figure"] == "comfedl/figure_1"
        assert row["differences"] or row["standing"] == "theory"


def test_every_figure_that_runs_has_orderings_or_says_that_it_has_none():
    for name, figure in figures().items():
        if figure.measure is not None:
            assert figure.metrics and (
                figure.orderings or any("nothing is judged" in each for each in figure.differences)
            ), name


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


def test_the_counterexample_figure_is_made_with_its_files(tmp_path):
    shown = CliRunner().invoke(app, ["reproduce", "feddro/figure_6", "--out", str(tmp_path)])
    assert shown.exit_code == 0 and "of 4 orderings 4 the paper's" in shown.stdout
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
def test_what_cannot_be_run_is_said_in_one_line(arguments, said, tmp_path):
    (tmp_path / "empty").mkdir()
    arguments = [str(tmp_path / "empty") if text == "EMPTY" else text for text in arguments]
    found = CliRunner().invoke(app, ["reproduce", *arguments, "--out", str(tmp_path / "never")])
    assert found.exit_code != 0 and said in str(found.exception) and "\n" not in str(found.exception)
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
