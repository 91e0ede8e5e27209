"""Calibration: the engine keeps its level, t-intervals do not, a broken engine is caught, what is stored is current."""

import inspect
import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from fedco.validation.statistics import calibration, evalues
from fedco.validation.statistics.calibration import (
    LEVELS,
    Law,
    Placement,
    calibrate,
    clopper_pearson,
    engine_fingerprint,
    exceedances,
    laws,
    load,
    main,
    store,
)
from scipy import stats

STORED = Path(__file__).parents[2] / "benchmarks" / "calibration.json"


@pytest.fixture(scope="module")
def small():
    return calibrate(4000, seeds=(20,), root_seed=1)


def t_rate(result, law, level="0.001"):
    cells = [c for c in result["cells"] if c["law"] == law and c["where"] == "at the bound" and c["seeds"] == 20]
    return next(c["t_interval"][level] for c in cells if c["false_verdict"] == "SUPPORTED")


def test_e_values_keep_every_level_on_every_law(small):
    assert exceedances(small) == []
    assert len(small["cells"]) == 4 * len(laws())
    assert all(cell["mean_e_value"] is None or cell["mean_e_value"] < 1.5 for cell in small["cells"])


def test_t_intervals_fail_on_the_same_draws(small):
    """The negative control, with the rates of the notes: 3e-2, 0.25 and 0.82 at level 1e-3 and 20 seeds."""
    failures = exceedances(small, "t_interval")
    assert len(failures) > 20 and any("SUPPORTED" in failure for failure in failures)
    for law, noted in (("chi2_1", 0.03), ("lognormal(2)", 0.25), ("1% rare event", 0.82)):
        rate = t_rate(small, law)
        assert rate["low"] <= noted * 1.15 and rate["high"] >= noted * 0.85


@pytest.mark.parametrize("law", laws(), ids=lambda law: law.name)
def test_declared_means_and_caps_are_right(law):
    values = law.draw(np.random.default_rng(3), (1, 400_000))[0]
    error = 5 * values.std() / np.sqrt(len(values))
    assert abs(values.mean() - law.mean) <= error + 1e-12
    assert values.min() >= 0 and (law.cap is None or values.max() <= law.cap)
    assert law.name == "point mass" or values.std() > 0.1 * law.mean


def test_a_law_with_a_mean_2_percent_too_small_would_be_caught():
    law = next(law for law in laws() if law.name == "beta(1/2, 3)")
    values = law.draw(np.random.default_rng(3), (1, 400_000))[0]
    assert abs(values.mean() - law.mean / 1.02) > 5 * values.std() / np.sqrt(len(values))


def chosen(*names):
    return [law for law in laws() if law.name in names]


def sum_over_the_grid(log_products):
    return np.logaddexp.reduce(log_products, axis=0)


def cap_from_the_data(values, bound, cap):
    seen = np.maximum(values.max(axis=1, keepdims=True), 1.01 * bound)
    return evalues.log_mixture((seen - values) / (seen - bound), np.array([float(lam) for lam in evalues.GRID]))


@pytest.mark.parametrize(
    ("module", "name", "mutant", "law"),
    [
        pytest.param(evalues, "log_mean", sum_over_the_grid, "two points", id="sum instead of mean over the grid"),
        pytest.param(calibration, "log_e_support", cap_from_the_data, "1% rare event", id="cap read off the data"),
    ],
)
def test_a_broken_engine_exceeds_its_level(module, name, mutant, law, monkeypatch):
    assert exceedances(calibrate(10_000, seeds=(20,), chosen=chosen(law))) == []
    monkeypatch.setattr(module, name, mutant)
    assert exceedances(calibrate(10_000, seeds=(20,), chosen=chosen(law)))


@pytest.mark.parametrize("mutant", [sum_over_the_grid, lambda log_products: log_products.max(axis=0)])
def test_another_engine_has_another_fingerprint(mutant, monkeypatch):
    sound = engine_fingerprint()
    monkeypatch.setattr(evalues, "log_mean", mutant)
    assert engine_fingerprint() != sound


def test_a_law_that_breaks_its_cap_is_refused():
    liar = Law("liar", 1.0, 2.0, lambda rng, shape: 3 * rng.random(shape))
    with pytest.raises(evalues.CapExceeded):
        calibrate(10, seeds=(5,), chosen=[liar])


def test_the_same_root_seed_gives_the_same_hash_and_another_does_not():
    one = [laws()[0]]
    first, again = (calibrate(500, seeds=(5,), chosen=one, root_seed=2) for _ in range(2))
    assert first["sha256"] == again["sha256"]
    assert calibrate(500, seeds=(5,), chosen=one, root_seed=3)["sha256"] != first["sha256"]


@pytest.mark.parametrize(("count", "runs"), [(0, 50), (3, 50), (50, 50)])
def test_clopper_pearson_ends_solve_the_binomial_tails(count, runs):
    low, high = clopper_pearson(count, runs, 0.95)
    assert low == 0 if count == 0 else stats.binom.sf(count - 1, runs, low) == pytest.approx(0.025)
    assert high == 1 if count == runs else stats.binom.cdf(count, runs, high) == pytest.approx(0.025)


def test_an_altered_result_is_refused(tmp_path):
    path = tmp_path / "calibration.json"
    store(calibrate(200, seeds=(5,), chosen=[laws()[0]]), path)
    assert load(path)["runs_per_cell"] == 200
    path.write_text(path.read_text().replace('"runs_per_cell": 200', '"runs_per_cell": 1000000'))
    with pytest.raises(ValueError, match="hash"):
        load(path)


def test_the_command_writes_a_loadable_file(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(calibration, "SEEDS", (5,))
    path = tmp_path / "c.json"
    assert main(["--runs", "50", "--out", str(path)]) == 0
    assert json.loads(capsys.readouterr().out) == {"sha256": load(path)["sha256"], "exceedances": []}


def test_the_stored_calibration_is_of_a_million_runs_of_this_engine():
    result = load(STORED)
    assert result["engine_fingerprint"] == engine_fingerprint()
    assert result["runs_per_cell"] >= 1_000_000
    assert exceedances(result) == [] and len(exceedances(result, "t_interval")) > 50
    million_to_one = [cell["e_value"][str(LEVELS[-1])]["count"] for cell in result["cells"] if cell["e_value"]]
    assert max(million_to_one) <= 8  # P(Poisson(1) > 8) = 1e-6


def test_the_evidence_is_that_of_the_verdict_which_would_be_false():
    """Values far over the bound refute it and do not support it; values far under it the other way round."""
    coin = Law("coin", 0.5, 1.0, lambda rng, shape: rng.random(shape).round())
    refuted, supported = (Placement("at", verdict, 1.0) for verdict in ("REFUTED", "SUPPORTED"))
    high, low = np.full((1, 50), 0.9), np.full((1, 50), 0.1)
    assert calibration.log_evidence(coin, refuted, high) > 5 and calibration.log_evidence(coin, refuted, low) < 0
    assert calibration.log_evidence(coin, supported, low) > 5 and calibration.log_evidence(coin, supported, high) < 0
    uncapped = Law("no cap", 0.5, None, coin.draw)
    assert (
        calibration.log_evidence(uncapped, refuted, high) > 5
        and calibration.log_evidence(uncapped, supported, low) == -np.inf
    )


def test_each_verdict_that_is_counted_is_false_where_it_is_counted():
    """REFUTED where the mean is at most the bound, SUPPORTED where it is at least the bound, two per cent off or at it."""
    for place in calibration.PLACEMENTS:
        below = {"at the bound": 0, "just under the bound": 1, "just over the bound": -1}[place.where]
        assert place.bound_over_mean == pytest.approx(1.02**below) and (below == 0) is (place.bound_over_mean == 1)
        assert place.false_verdict == {1: "REFUTED", -1: "SUPPORTED"}.get(below, place.false_verdict)
    assert {place.false_verdict for place in calibration.PLACEMENTS if place.where == "at the bound"} == {
        "REFUTED",
        "SUPPORTED",
    }


def test_the_stored_calibration_is_of_these_laws_levels_and_placements():
    result = load(STORED)
    assert (result["just"], result["confidence"]) == (calibration.JUST, calibration.CONFIDENCE) == (1.02, 0.999)
    assert result["root_seed"] == inspect.signature(calibrate).parameters["root_seed"].default
    cells = iter(result["cells"])
    for seeds in calibration.SEEDS:
        for law in laws():
            for place in calibration.PLACEMENTS:
                cell = next(cells)
                assert (cell["seeds"], cell["law"], cell["where"]) == (seeds, law.name, place.where)
                assert cell["cap_over_mean"] == (law.cap and pytest.approx(law.cap / law.mean, rel=1e-12))
                assert [*cell["t_interval"]] == [str(level) for level in LEVELS]
    assert next(cells, None) is None
    for rate in cell["t_interval"].values():
        assert (rate["low"], rate["high"]) == pytest.approx(clopper_pearson(rate["count"], result["runs_per_cell"]))


@pytest.mark.parametrize("cap", [4.0, None])
def test_rates_are_the_counted_rejections_of_the_two_tests(cap):
    """A table of 40 data sets instead of draws, each e-value from its definition and each t-test from scipy's law of t."""
    data = np.random.default_rng(8).choice([0.0, 0.5, 1.0, 4.0], (40, 6), p=[0.5, 0.2, 0.2, 0.1])
    data[3], data[4], data[5] = 1.0, 0.0, 4.0  # without spread: at the mean, below and above
    data[6:12] = [4, 4, 1, 4, 0.5, 4]
    data[12:18] = [0, 0.5, 0, 0, 0, 0]
    law, levels, seen = Law("table", 1.0, cap, lambda rng, shape: data), (0.5, 0.1), 0
    for cell, place in zip(calibration.rejection_rates(law, 6, 40, levels, 1), calibration.PLACEMENTS, strict=True):
        bound, refuting = place.bound_over_mean, place.false_verdict == "REFUTED"
        ratio = data / bound if refuting else (4 - data) / (4 - bound)
        e = np.mean([np.prod((1 - float(lam)) + float(lam) * ratio, axis=1) for lam in evalues.GRID], axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (data.mean(1) - bound) / (data.std(1, ddof=1) / np.sqrt(6)) * (1 if refuting else -1)
        found = {level: cell["t_interval"][str(level)]["count"] for level in levels}
        assert found == {level: int((stats.t.sf(t, 5) < level).sum()) for level in levels}
        if cap is None and not refuting:
            assert cell["e_value"] is None and cell["mean_e_value"] is None
            continue
        assert cell["mean_e_value"] == pytest.approx(e.mean())
        for level in levels:
            rate, count = cell["e_value"][str(level)], int((e >= 1 / level).sum())
            assert (rate["count"], rate["rate"]) == (count, count / 40)
            assert (rate["low"], rate["high"]) == pytest.approx(clopper_pearson(count, 40, 0.999))
            seen += count
    assert seen > 5


@pytest.mark.parametrize(
    ("seeds", "runs", "sizes"), [(20, 4000, [3276, 724]), (1, 65537, [65536, 1]), (70000, 2, [1, 1])]
)
def test_draws_do_not_depend_on_the_blocks_in_which_they_are_made(seeds, runs, sizes):
    law = laws()[0]
    found = [*calibration.drawn_in_blocks(law, seeds, runs, 9)]
    assert [len(block) for block in found] == sizes
    rng = np.random.default_rng([9, seeds, zlib.crc32(law.name.encode())])
    assert np.array_equal(np.concatenate(found), law.draw(rng, (runs, seeds)))


def test_a_rate_exceeds_its_level_where_its_whole_interval_does():
    cell = {"law": "l", "seeds": 5, "where": "w", "false_verdict": "REFUTED", "t_interval": None}
    for low, wanted in ((0.05, 0), (0.0501, 1), (0.0499, 0)):
        assert len(exceedances({"cells": [cell | {"e_value": {"0.05": {"low": low}}}]})) == wanted
    assert exceedances({"cells": [cell | {"e_value": None}]}, "t_interval") == []


def test_the_command_makes_a_million_runs_and_fails_where_a_level_is_exceeded(tmp_path, monkeypatch, capsys):
    asked = {}

    def fake(runs, *, progress):
        asked["runs"] = runs
        progress("a line")
        return {"sha256": "s", "cells": []}

    monkeypatch.setattr(calibration, "calibrate", fake)
    monkeypatch.setattr(calibration, "exceedances", lambda result: ["a cell"])
    monkeypatch.chdir(tmp_path)
    assert main([]) == 1 and asked == {"runs": 1_000_000} and (tmp_path / "calibration.json").exists()
    assert capsys.readouterr().err == "a line\n"


def test_each_law_is_reported_when_it_is_done():
    lines = []
    calibrate(5, seeds=(3, 4), chosen=laws()[:2], progress=lines.append)
    assert lines == [f"{law.name}, {number} seeds: done" for number in (3, 4) for law in laws()[:2]]


def test_a_rejection_at_the_threshold_is_counted_and_a_difference_of_0_is_none(monkeypatch):
    """E-values that are just the threshold reject; a t-interval of values that do not vary ends at their mean and excludes less."""
    law = Law("point", 0.25, 1.0, lambda _, shape: np.full(shape, 0.25))
    for excess, count in ((0.0, 7), (-1e-9, 0)):
        monkeypatch.setattr(
            calibration, "log_evidence", lambda law, place, values, e=excess: np.full(len(values), 3.0 + e)
        )
        monkeypatch.setattr(calibration, "log_threshold", lambda level: 3.0)
        cells = calibration.rejection_rates(law, 5, 7, [0.05, 0.01], 1)
        assert all(cell["e_value"][level]["count"] == count for cell in cells for level in ("0.05", "0.01"))
    for side in ("REFUTED", "SUPPORTED"):
        assert calibration.t_rejections(np.full((3, 5), 0.25), 0.25, side, [0.05]) == [0]
    assert calibration.t_rejections(np.full((3, 5), 0.25), 0.26, "SUPPORTED", [0.05]) == [3]
