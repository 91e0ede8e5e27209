"""Sweeps over symbols: they move what they say, they are admissible, they resume, and they see the exponents they must."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from fedco import theorem
from fedco.bounds.language.reading import InputError
from fedco.validation.runs import campaign
from fedco.validation.runs.hidden_constant import needed_constant
from fedco.validation.runs.measured_complexity import cost_exponents
from fedco.validation.runs.registry import recipe_for, recipes, sweep_for, sweeps
from fedco.validation.runs.sweeps import Comparison, evaluate_sweep, experiments_of, run_sweep, sweep_figure
from fedco.validation.statistics.slopes import SlopeEstimate

RECIPES = recipes()
SWEEPS = sweeps()
WITHOUT_SWEEPS = ("baselines", "library")
"""Papers that declare none."""

FIVE = "feddro.theorem_5_1"
MOVED_WITH = {
    ("feddro", "T"): {"I"},
    ("comfedl", "b"): {"b_1"},
    ("meta_fl", "n"): {"r"},
    ("meta_fl", "D"): {"D_H"},
}
"""By paper and symbol: what a sweep moves along, as its `why` says."""
ALL = [pytest.param(sweep, id=sweep.name) for found in SWEEPS.values() for sweep in found]


@pytest.mark.parametrize("sweep", ALL)
def test_every_point_is_admissible_and_only_the_symbol_moves(sweep):
    values, bounds, caps = evaluate_sweep(sweep)
    assert len(values) >= 3 and all(low < high for low, high in pairwise(values))
    assert all(bound.admissible and bound.total > 0 for bound in bounds) and min(caps) > 0
    declared = theorem(sweep.theorem)
    symbols = declared.symbols(recipe_for(sweep.theorem).label)
    hyper = {name for name in symbols if symbols[name].quantity.role == "hyperparameter"}
    moving = {name for name in hyper if len({bound.numbers[name] for bound in bounds}) > 1}
    along_schedule = declared.statement(recipe_for(sweep.theorem).label).schedule
    assert moving - set(along_schedule) - MOVED_WITH.get((sweep.theorem.partition(".")[0], sweep.over), set()) <= {
        sweep.over
    }


def test_every_recipe_has_sweeps_and_the_horizon_is_among_them():
    assert set(SWEEPS) == {name for name in RECIPES if name.partition(".")[0] not in WITHOUT_SWEEPS}
    for name, found in SWEEPS.items():
        names = [sweep.over for sweep in found]
        assert len(set(names)) == len(names) and ("T" in names or "K" in names), name


def test_linear_speed_up_and_noise_exponents_of_theorem_5_1(tmp_path: Path):
    """Noise alone: the statistic is proportional to sigma_h^2 / K at fixed T, where the bound claims sigma_h^2 / sqrt(K)."""
    clients = run_sweep(sweep_for(FIVE, "K"), seeds=64, cache=tmp_path)
    assert clients.measured.upper < -0.7 and clients.theory == pytest.approx(-0.5, abs=0.01)
    assert clients.comparison is Comparison.SLOWER
    noise = run_sweep(replace(sweep_for(FIVE, "sigma_h"), points=sweep_for(FIVE, "sigma_h").points[:3]), seeds=32)
    assert noise.measured.contains(2.0) and noise.theory == pytest.approx(2.0, abs=0.01)
    assert noise.comparison is Comparison.EQUAL


def test_the_rate_of_theorem_5_1_in_T(tmp_path: Path):
    short = replace(sweep_for(FIVE, "T"), points=sweep_for(FIVE, "T").points[:3])
    found = run_sweep(short, seeds=32, cache=tmp_path)
    assert found.theory == pytest.approx(-0.5, abs=0.01)
    assert found.comparison is Comparison.EQUAL and found.measured.upper < -0.4
    assert all(1 < ratio < 4 for ratio in found.tightness)


def test_a_sweep_is_resumed_and_not_computed_again(tmp_path: Path, monkeypatch):
    short = replace(sweep_for(FIVE, "K"), points=sweep_for(FIVE, "K").points[:2])
    first = run_sweep(short, seeds=16, cache=tmp_path)
    monkeypatch.setattr(campaign, "measure", None)
    assert np.array_equal(run_sweep(short, seeds=16, cache=tmp_path).statistic, first.statistic)


def test_points_share_no_randomness():
    cells = experiments_of(sweep_for(FIVE, "K"), 16)
    assert len({cell.root_seed for cell in cells}) == len(cells)


def test_the_comparison_has_three_answers():
    found = run_sweep(replace(sweep_for(FIVE, "K"), points=sweep_for(FIVE, "K").points[:2]), seeds=16)
    for measured, wanted in ((-1.0, Comparison.SLOWER), (-0.52, Comparison.EQUAL), (0.3, Comparison.FASTER)):
        estimate = SlopeEstimate(measured, measured - 0.01, measured + 0.01, 0.95, 8)
        assert replace(found, measured=estimate, theory=-0.5).comparison is wanted


def test_the_figure_carries_both_slopes_units_and_data():
    found = run_sweep(replace(sweep_for(FIVE, "sigma_h"), points=sweep_for(FIVE, "sigma_h").points[:2]), seeds=16)
    figure = sweep_figure(found)
    axes = figure.figure.axes[0]
    assert r"$[f]\,[x]^{-1}$" in axes.get_xlabel() and r"$[f]^{2}\,[x]^{-2}$" in axes.get_ylabel()
    texts = [text.get_text() for text in figure.figure.legends[0].get_texts()]
    assert texts[0].startswith("measured, slope") and "claimed 2" in texts[1]
    assert figure.data[f"{texts[1]}: y"] == list(found.bounds)


def test_unknown_symbols_are_named():
    with pytest.raises(InputError, match=r"no sweep of .* over it; there are sweeps over T K b I"):
        sweep_for(FIVE, "L_f")
    with pytest.raises(InputError, match="no sweep"):
        sweep_for("feddro.lemma_3_1", "T")


@pytest.mark.slow
def test_complexities_of_corollary_2():
    """Samples eps^-2, rounds eps^-3/2 along I = T^(1/4) with one client."""
    (sweep,) = SWEEPS["feddro.corollary_1"]
    found = {cost.resource: cost for cost in cost_exponents(run_sweep(sweep, seeds=32))}
    assert {"samples", "rounds", "model_messages", "embedding_messages"} <= set(found)
    assert found["samples"].measured.slope == pytest.approx(-2, abs=0.1)
    assert found["rounds"].measured.slope == pytest.approx(-1.5, abs=0.1)
    assert found["rounds"].bound == pytest.approx(-1.5, abs=0.05)
    assert found["embedding_messages"].claimed == -2 and found["model_messages"].claimed == -1.5


@pytest.mark.slow
def test_the_hidden_constant_of_theorem_8_stays_far_below_what_the_proof_gives():
    for parameter in ("D", "r"):
        found = needed_constant(run_sweep(sweep_for("meta_fl.theorem_8", parameter), seeds=64))
        assert 0 < max(found.needed) < 0.02 and found.largest < found.proved == 10, str(found)
        assert found.slope is not None and found.slope < 0.2


def test_the_hidden_constant_is_solved_for():
    """needed * rest + initialisation is the measured mean, by construction."""
    found = run_sweep(
        replace(sweep_for("meta_fl.theorem_8", "D"), points=sweep_for("meta_fl.theorem_8", "D").points[-2:]), seeds=16
    )
    constant = needed_constant(found)
    for index, needed in enumerate(constant.needed):
        rest = sum(values[index] for name, values in found.terms.items() if name != "initialisation") / 10
        assert found.terms["initialisation"][index] + needed * rest == pytest.approx(found.means[index], rel=1e-9)
