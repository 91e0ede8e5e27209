"""Slopes and sweeps over symbols: what they move, that they resume, which exponents they see, and what reaching eps costs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from fedco import theorem
from fedco.bounds.cost.claims import claims_of
from fedco.bounds.cost.resources import MEANING, RESOURCES
from fedco.bounds.registry import all_papers
from fedco.errors import InputError
from fedco.validation.report import rates
from fedco.validation.report.rates import measure_rates
from fedco.validation.runs import campaign, registry
from fedco.validation.runs import sweeps as module
from fedco.validation.runs.measured_complexity import claimed_exponents, cost_exponents
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.registry import complexities, recipe_for, recipes, sweep_for, sweeps
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
from fedco.validation.statistics.slopes import SlopeEstimate, bound_slope, log_log_slope, slope_interval
from hypothesis import given, settings
from hypothesis import strategies as st
from quick import slow_but, slow_but_one
from scipy import stats

# --- slopes of curves -------------------------------------------------------------------------------------------------


HORIZONS = np.array([100, 200, 400, 800, 1600])


def skewed_runs(rng, repeats, seeds):
    """Independent runs per horizon: T^(-1/2) times a squared Gaussian, (repeats, seeds, horizons)."""
    return HORIZONS**-0.5 * (0.05 + rng.standard_normal((repeats, seeds, len(HORIZONS))) ** 2)


@settings(max_examples=30)
@given(st.floats(-3, 3), st.floats(1e-6, 1e6))
def test_a_power_law_has_its_exponent_as_slope(exponent, scale):
    assert log_log_slope(HORIZONS, scale * HORIZONS**exponent) == pytest.approx(exponent, abs=1e-9)


def test_the_interval_covers_on_skewed_data():
    """800 data sets of 16 seeds; a nominal 95% interval covers between 93% and 97%."""
    data = skewed_runs(np.random.default_rng(1), 800, 16)
    covered = sum(slope_interval(HORIZONS, values).contains(-0.5) for values in data)
    low, high = stats.binomtest(covered, 800).proportion_ci(0.999, "exact")
    assert low < 0.95 < high


def test_grouping_removes_the_bias_of_the_logarithm():
    """Skewness that fades with T: per-seed slopes are off, group means are not."""
    rng = np.random.default_rng(3)
    degrees = np.array([1, 2, 4, 8, 16])
    values = HORIZONS**-0.5 * rng.chisquare(degrees, (20_000, 5)) / degrees
    alone, grouped = slope_interval(HORIZONS, values), slope_interval(HORIZONS, values, group_size=200)
    assert not alone.contains(-0.5) and alone.slope > -0.3
    assert abs(grouped.slope + 0.5) < 0.01 and grouped.samples == 100


def test_a_bound_with_a_floor_is_flatter_than_its_limit_exponent():
    bound = 10 / HORIZONS**0.5 + 0.5
    assert -0.5 < bound_slope(HORIZONS, bound) < -0.1


@pytest.mark.parametrize(
    ("horizons", "values", "match"),
    [
        ([1.0], [1.0], "two distinct"),
        ([2.0, 2.0], [1.0, 2.0], "two distinct"),
        ([1.0, 2.0], [1.0, 0.0], "values: wanted positive"),
        ([1.0, 2.0], [1.0, np.nan], "values: wanted positive"),
        ([0.0, 2.0], [1.0, 1.0], "horizons: wanted positive"),
        ([1.0, 2.0], [1.0, 1.0, 1.0], "last axis of 2"),
    ],
)
def test_bad_curves_are_refused(horizons, values, match):
    with pytest.raises(ValueError, match=match):
        log_log_slope(horizons, values)


def test_an_interval_needs_two_groups_and_a_coverage():
    with pytest.raises(ValueError, match="two groups of 3"):
        slope_interval(HORIZONS, np.ones((5, 5)), group_size=3)
    with pytest.raises(ValueError, match="two groups"):
        slope_interval(HORIZONS, np.ones(5))
    with pytest.raises(ValueError, match="coverage"):
        slope_interval(HORIZONS, np.ones((5, 5)), coverage=95)


def test_the_ends_are_in_the_interval():
    estimate = SlopeEstimate(-0.5, -0.75, -0.25, 0.95, 8)
    assert estimate.contains(-0.75) and estimate.contains(-0.25) and not estimate.contains(-0.24)


def test_the_interval_of_three_seeds_is_that_of_the_t_test():
    """Three curves c T^a with a = -1, -0.6 and -0.2, against the one-sample t-interval of scipy."""
    exponents = np.array([-1.0, -0.6, -0.2])
    found = slope_interval(HORIZONS, 5 * HORIZONS ** exponents[:, None], coverage=0.9)
    wanted = stats.ttest_1samp(exponents, 0).confidence_interval(0.9)
    assert (found.lower, found.upper) == pytest.approx(tuple(wanted)) and found.slope == pytest.approx(-0.6)
    assert found.upper - found.slope == pytest.approx(2.919986 * 0.4 / 3**0.5, rel=1e-6)  # t of 2 degrees of freedom


def test_two_groups_are_enough_and_left_over_seeds_are_dropped():
    """Five seeds in groups of two: the interval of two slopes, each of the mean of two curves."""
    values = np.random.default_rng(6).uniform(1, 2, (5, 2))
    means = (values[0:4:2] + values[1:4:2]) / 2
    slopes = np.log(means[:, 1] / means[:, 0]) / np.log(4)
    found = slope_interval([1, 4], values, group_size=2)
    wanted = stats.ttest_1samp(slopes, 0).confidence_interval(0.95)
    assert (found.lower, found.upper) == pytest.approx(tuple(wanted)) and found.samples == 2
    with pytest.raises(ValueError, match="two distinct"):
        log_log_slope([1, 2, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="one axis"):
        log_log_slope([[1, 2], [3, 4]], [[1, 2], [3, 4]])


# --- sweeps over symbols ----------------------------------------------------------------------------------------------


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
    made = experiments_of(sweep, 16)
    assert [e.root_seed for e in made] == [FIRST_ROOT_SEED + k for k in range(len(sweep.points))]
    assert {e.seeds for e in made} == {16}
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


# --- costs to reach eps -----------------------------------------------------------------------------------------------


ALL_CLAIMS = [claim for paper in all_papers() for claim in claims_of(paper)]
COMPLEXITIES = complexities()

CONDITIONAL = ("fcsg.corollary_4_2", "fcsg_m.corollary_4_5", "acc_fcsg_m.corollary_4_8")
NAMES = sorted(COMPLEXITIES)
FINITE_T = 0.05
"""How far, relatively, the bound's exponent over the sweep may be from the claimed limit: ComFedL has terms of order 1/T."""


def _cut(name: str):
    return replace(COMPLEXITIES[name], points=COMPLEXITIES[name].points[:2])


def _on_paper(name: str, statistic=None) -> SweepResult:
    """A sweep that was not run: a given statistic of the horizon, that of the bound without one, one message a
    round, and one embedding a step where the method sends them."""
    sweep = COMPLEXITIES[name]
    _, bounds, _ = evaluate_sweep(sweep)
    totals = np.array([bound.total for bound in bounds])
    horizons = np.array([bound.numbers[sweep.over] for bound in bounds])
    noise = np.random.default_rng(0).normal(0, 0.01, (32, len(bounds)))
    values = np.tile(totals, (32, 1)) if statistic is None else statistic(horizons) * np.exp(noise)
    sent = tuple(
        {"rounds": _rounds(b.numbers), "model_floats": _rounds(b.numbers), "embedding_floats": _steps(name, b.numbers)}
        for b in bounds
    )
    return SweepResult(
        sweep,
        recipe_for(name).label,
        tuple(horizons),
        values,
        tuple(totals),
        {},
        (),
        tuple(bound.numbers for bound in bounds),
        sent,
        slope_interval(horizons, values, group_size=8),
        0.0,
    )


def _rounds(numbers) -> str:
    period = next(numbers[key] for key in ("I", "q", "p", "tau") if key in numbers)
    return str(numbers["T"] / period if "T" in numbers else numbers["K"])


def _steps(name: str, numbers) -> str:
    return str(numbers["T"]) if name.startswith("feddro") else "0"


def test_every_claim_on_a_schedule_is_measured():
    assert set(COMPLEXITIES) == {claim.statement_of for claim in ALL_CLAIMS}
    for claim in ALL_CLAIMS:
        assert claimed_exponents(claim.statement_of)[claim.resource] == (-float(claim.order.eps), claim.where)
    assert claimed_exponents("fcsg.theorem_4_1") == {}  # its corollary has the schedule of the claim


@pytest.mark.parametrize("name", NAMES)
def test_along_the_sweep_the_bound_has_the_claimed_exponents(name):
    """So the sweep does follow the schedule that the claim is about, inner batches and periods included."""
    result = _on_paper(name)
    assert len(result.bounds) >= 3 and all(first > last for first, last in pairwise(result.bounds))
    found = {cost.resource: cost for cost in cost_exponents(result)}
    for resource in {claim.resource for claim in ALL_CLAIMS if claim.statement_of == name}:
        assert found[resource].claimed is not None
        assert found[resource].bound == pytest.approx(found[resource].claimed, rel=FINITE_T), resource


def test_a_schedule_that_is_not_the_claimed_one_is_seen():
    """m fixed instead of of order 1/eps: samples then grow as the iterations do."""
    sweep = COMPLEXITIES["fcsg.corollary_4_2"]
    fixed = tuple((replace(item, hyperparameters={**item.hyperparameters, "m": 9}), T) for item, T in sweep.points)
    slopes = []
    for case in (sweep, replace(sweep, points=fixed)):
        _, bounds, _ = evaluate_sweep(case)
        samples = [bound.numbers["m"] * bound.numbers["T"] for bound in bounds]
        slopes.append(float(log_log_slope([bound.total for bound in bounds], samples)))
    assert slopes[0] == pytest.approx(-3, abs=0.02) and slopes[1] > -2.3


@pytest.mark.parametrize(
    "name",
    slow_but(("local_scgdm.corollary_3_5",), ("local_scgdm.corollary_3_5", "feddro.corollary_1", "comfedl.theorem_1")),
)
def test_rounds_and_messages_are_those_that_the_runs_count(name):
    result = run_sweep(_cut(name), seeds=16)
    found = {cost.resource: cost for cost in cost_exponents(result)}
    assert set(found) <= set(RESOURCES) == set(MEANING)
    dim = result.sweep.points[0][0].parameters["dim"]
    for index, row in enumerate(result.messages):
        assert found["rounds"].costs[index] == float(row["rounds"])
        per_round = float(row["model_floats"]) / dim / float(row["rounds"])
        assert per_round in (1, 2) and found["model_messages"].costs[index] == float(row["model_floats"])
    assert ("embedding_messages" in found) == (float(result.messages[0]["embedding_floats"]) > 0)


def test_an_exponent_is_read_off_the_statistic_and_the_costs():
    for power, wanted in ((-0.5, -2.0), (-0.25, -4.0)):
        found = {c.resource: c for c in cost_exponents(_on_paper("local_scgdm.corollary_3_5", lambda T, p=power: T**p))}
        assert found["samples"].measured.slope == pytest.approx(wanted, abs=0.05)
        assert found["rounds"].measured.slope == pytest.approx(0.75 * wanted, abs=0.05)
        assert (found["samples"].claimed, found["samples"].claim) == (-2.0, "Remark 3.7")
        assert found["samples"].measured.contains(-2.0) is (power == -0.5)


def test_a_multiple_of_a_claimed_cost_has_its_claim_and_another_has_none():
    costs = {c.resource: c for c in cost_exponents(_on_paper("local_scgdm.corollary_3_5"))}
    assert (costs["model_messages"].claimed, costs["model_messages"].claim) == (-1.5, "Remark 3.7, as rounds")
    assert costs["iterations"].claim == "Remark 3.7, as samples"
    costs = {c.resource: c for c in cost_exponents(_on_paper("meta_fl.theorem_8"))}
    assert costs["rounds"].claimed == -1.5
    assert costs["samples"].claimed is None and "no claim" in str(costs["samples"])


def test_the_report_shows_samples_and_rounds_of_the_conditional_family(tmp_path, monkeypatch):
    name = "fcsg.corollary_4_2"
    sweep = COMPLEXITIES[name]
    short = replace(sweep, points=tuple((replace(sweep.points[0][0], hyperparameters={"b": 1, "m": n}), n**4)
                                       for n in (2, 3)))  # fmt: skip
    monkeypatch.setattr(rates, "sweeps_of", lambda theorem_id: ())
    monkeypatch.setattr(rates, "complexity_of", {name: short}.get)
    rows = {row["resource"]: row for row in measure_rates(name, seeds=16, cache=tmp_path).to_dict()["costs"]}
    assert (rows["samples"]["claimed_exponent"], rows["samples"]["claim"]) == (-3.0, "Remark 4.3")
    assert rows["rounds"]["claimed_exponent"] == -1.5 and all(row["why"] == sweep.why for row in rows.values())
    assert measure_rates("fcsg.theorem_4_1", seeds=16, cache=tmp_path).costs == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", CONDITIONAL)
def test_measured_complexities_of_the_conditional_family(name):
    """Over these horizons within 5% of the claimed exponents, samples and rounds alike."""
    found = {cost.resource: cost for cost in cost_exponents(run_sweep(COMPLEXITIES[name], seeds=32))}
    for resource in ("iterations", "samples", "rounds"):
        cost = found[resource]
        assert cost.measured.slope == pytest.approx(cost.claimed, rel=0.05), str(cost)


@pytest.mark.parametrize("name", NAMES)
def test_the_statement_of_a_claim_is_the_one_that_is_run(name):
    assert recipe_for(name).label == "printed" and "printed" in theorem(name).labels
