"""Sweeps over symbols: they move what they say, they are admissible, they resume, and they see the exponents they must."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fedco import theorem
from fedco.bounds.language.reading import InputError
from fedco.validation.runs import campaign, registry
from fedco.validation.runs import sweeps as module
from fedco.validation.runs.measured_complexity import cost_exponents
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.registry import recipe_for, recipes, sweep_for, sweeps
from fedco.validation.runs.sweeps import (
    FIRST_ROOT_SEED,
    Comparison,
    NeededConstant,
    SweepResult,
    evaluate_sweep,
    experiments_of,
    hidden_symbol,
    needed_constant,
    proved_value,
    run_sweep,
    sweep_figure,
)
from fedco.validation.runs.tables import along
from fedco.validation.runs.validate import measured_slope
from fedco.validation.statistics.slopes import SlopeEstimate
from quick import slow_but_one

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
ALL = [pytest.param(sweep, id=sweep.name, marks=marks) for *_, sweep, marks in slow_but_one(SWEEPS.values())]


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


@pytest.mark.slow
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


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[SweepResult, Path]:
    """A short sweep, and the folder that keeps it."""
    sweep, folder = sweep_for(FIVE, "sigma_h"), tmp_path_factory.mktemp("kept")
    return run_sweep(replace(sweep, points=sweep.points[:2]), seeds=16, cache=folder), folder


def test_a_sweep_is_resumed_and_not_computed_again(kept, monkeypatch):
    first, folder = kept
    monkeypatch.setattr(campaign, "measure", None)
    assert np.array_equal(run_sweep(first.sweep, seeds=16, cache=folder).statistic, first.statistic)


def test_points_share_no_randomness():
    cells = experiments_of(sweep_for(FIVE, "K"), 16)
    assert len({cell.root_seed for cell in cells}) == len(cells)


def test_the_figure_carries_both_slopes_units_and_data(kept):
    found, _ = kept
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


SGD = "baselines.local_sgd"


def measured(T: int, statistic) -> SimpleNamespace:
    return SimpleNamespace(experiment=SimpleNamespace(T=T), statistic=np.asarray(statistic, dtype=float))


def test_a_slope_needs_two_horizons_two_groups_and_positive_values():
    rows = [measured(T, np.full(16, T**-0.5)) for T in (100, 400)]
    assert measured_slope(rows).slope == pytest.approx(-0.5)
    assert measured_slope(rows[:1]) is None
    assert measured_slope([measured(100, np.ones(15)), rows[1]]) is None
    assert measured_slope([measured(100, [0.0, *np.ones(15)]), rows[1]]) is None
    longer = [measured(100, [*np.full(16, 0.1), *np.full(8, 77.0)]), rows[1]]  # as many seeds as the fewer
    assert measured_slope(longer).slope == pytest.approx(-0.5)


def test_a_sweep_moves_what_its_symbol_is():
    """A horizon, a hyperparameter, a constant of the problem, what belongs to the objective; and what moves along."""
    base = Instance("meta_noisy", {"beta": Q(1, 20), "tau": 2}, "sweep", {"start": 0.0})
    name = "meta_fl.theorem_8"

    def points(over, T, listed, **more):
        return [
            (dict(i.hyperparameters), dict(i.parameters), i.horizons, T)
            for i, T in along(name, over, base, T, listed, "w", **more).points
        ]

    hyper, own = {"beta": Q(1, 20), "tau": 2}, {"start": 0.0}
    assert points("K", 99, (10, 20)) == [(hyper, own, (T,), T) for T in (10, 20)]
    assert points("tau", 60, (3,)) == [({**hyper, "tau": 3}, own, (60,), 60)]
    assert points("nu", 60, (4,)) == [(hyper, {**own, "nu": 4}, (60,), 60)]
    assert points("n", 60, (4,)) == [(hyper, {**own, "clients": 4}, (60,), 60)]
    assert points("sigma_G", lambda s: int(100 * s), (0.5,)) == [(hyper, {**own, "sigma_G": 0.5}, (50,), 50)]
    moved = points("D", 60, (8,), hyper=lambda D: {"D_H": D}, parameters=lambda D: {"start": D / 2})
    assert moved == [({**hyper, "D": 8, "D_H": 8}, {"start": 4.0}, (60,), 60)]
    with pytest.raises(InputError, match="Z: not a symbol of meta_fl"):
        along(name, "Z", base, 1, (1,), "")


def found_sweep(**changes) -> SweepResult:
    sweep = SimpleNamespace(theorem="x.y", over="T", why="why", claimed=-0.5, name="x.y over T")
    made = SweepResult(
        sweep, "printed", (10.0, 20.0), np.array([[1.0, 2.0], [3.0, 6.0]]), (8.0, 2.0), {"a": (8.0, 2.0)}, (9.0, 9.0),
        ({}, {}), ({}, {}), SlopeEstimate(-0.6, -0.7, -0.5, 0.95, 8), -0.55,
    )  # fmt: skip
    return replace(made, **changes)


def test_a_sweep_says_its_means_its_tightness_and_how_it_compares():
    found = found_sweep()
    assert found.means == (2.0, 4.0) and found.tightness == (4.0, 0.5)
    assert found.to_dict() == {
        "theorem": "x.y", "statement": "printed", "over": "T", "why": "why", "values": [10.0, 20.0], "mean": [2.0, 4.0],
        "bound": [8.0, 2.0], "terms": {"a": [8.0, 2.0]}, "seeds": 2, "measured_slope": [-0.6, -0.7, -0.5], "bound_slope": -0.55,
        "claimed_exponent": -0.5, "comparison": str(found.comparison),
    }  # fmt: skip


def test_a_sweep_agrees_within_the_tolerance_and_not_beyond():
    edge = module.EXPONENT_TOLERANCE
    for low, high, wanted in (
        (-1.0, -edge, "EQUAL"), (-1.0, -edge - 1e-9, "SLOWER"), (edge, 1.0, "EQUAL"), (edge + 1e-9, 1.0, "FASTER"),
    ):  # fmt: skip
        estimate = SlopeEstimate(0.0, low, high, 0.95, 8)
        assert found_sweep(measured=estimate, theory=0.0).comparison is module.Comparison[wanted]


def test_points_of_a_sweep_have_root_seeds_beyond_those_of_a_validation():
    sweep = registry.sweeps_of("feddro.theorem_5_1")[0]
    made = module.experiments_of(sweep, 16)
    assert [e.root_seed for e in made] == [FIRST_ROOT_SEED + k for k in range(len(sweep.points))] and {
        e.seeds for e in made
    } == {16}
    assert max(T for _, T in sweep.points) == module.tasks_of_sweeps([sweep], 16)[0].experiment.T


def test_the_hidden_constant_of_a_statement_and_what_its_proof_gives():
    assert hidden_symbol("meta_fl.theorem_8", "printed") == "c" and hidden_symbol(SGD, "printed") is None
    assert proved_value("meta_fl.theorem_8", "printed") == 10.0 and proved_value(SGD, "printed") is None


def test_the_hidden_constant_by_hand(monkeypatch):
    """Means 5 and 1, initialisation 1, bounds 11 and 21 at c = 10: needed (5 - 1) / 1, and 0 where the first term is enough."""
    monkeypatch.setattr(module, "mean_bracket", lambda column, cap: SimpleNamespace(upper=column.mean() + cap))
    sweep = SimpleNamespace(theorem="meta_fl.theorem_8", over="D")
    made = found_sweep(
        sweep=sweep, statistic=np.array([[4.0, 1.0], [6.0, 1.0]]), bounds=(11.0, 21.0), cap=(3.0, 4.0),
        terms={"initialisation": (1.0, 1.0)}, numbers=({"c": 10.0}, {"c": 10.0}),
    )  # fmt: skip
    found = needed_constant(made)
    assert found.needed == (4.0, 0.0) and found.upper == (7.0, 2.0) and found.slope is None and found.largest == 7.0
    both = needed_constant(replace(made, statistic=np.array([[4.0, 17.0], [6.0, 17.0]])))
    assert both.needed == (4.0, 8.0) and both.slope == pytest.approx(1.0)  # twice as much at twice the value
    plain = NeededConstant("D", (1.0,), (4.0,), (7.0,), None, None)
    assert plain.to_dict() == {
        "over": "D",
        "values": [1.0],
        "needed": [4.0],
        "upper": [7.0],
        "slope": None,
        "proved": None,
    }
