"""Limit points, simulation, figure and summary of Theorem 4.1's instance."""

from __future__ import annotations

import json
from fractions import Fraction as Q
from itertools import pairwise

import numpy as np
import pytest
from fedco.bounds.evaluation.enclosure import ball_of
from fedco.validation.papers.feddro.counterexample import limits, summary
from fedco.validation.papers.feddro.counterexample.certificate import Box, float_above, float_below
from fedco.validation.papers.feddro.counterexample.figure import FIGURE_ETAS, Trajectory, figure, simulate
from fedco.validation.papers.feddro.counterexample.instance import Case, Claim, round_derivatives, round_drift
from fedco.validation.papers.feddro.counterexample.limits import (
    band_is_increasing,
    contraction,
    limit_band,
    limit_point,
)
from flint import arb

ETA_MAX = {Case.I: Q(1, 8), Case.II: Q(1, 22)}


def slope(y):
    return y / np.sqrt(y * y + 4.0)


def curvature(y):
    return 4.0 / (y * y + 4.0) ** 1.5


def test_case_i_limit_as_eta_vanishes_is_the_root_of_the_papers_averaged_field():
    """With a = x - 1, 2 s(4x - 4) = s(4 - 2x) squares to 12a^4 - 24a^3 + 27a^2 + 2a - 1 = 0."""
    found = limit_point(Case.I, Q(0))

    def quartic(x: Q) -> Q:
        a = x - 1
        return 12 * a**4 - 24 * a**3 + 27 * a**2 + 2 * a - 1

    assert quartic(found.lower) < 0 < quartic(found.upper)
    assert 1.16866 < found.lower < found.upper < 1.16867
    assert Q(504, 1000) < found.gradient_lower <= found.gradient_upper < Q(505, 1000)


@pytest.mark.parametrize("local_steps", [2, 3, 8])
def test_case_ii_limit_as_eta_vanishes_weighs_the_local_steps(local_steps):
    """s(x) = (I - 1) (s(4 - 2x) - 2 s(4x - 4))."""
    x = float(limit_point(Case.II, Q(0), local_steps).lower)
    assert slope(x) == pytest.approx((local_steps - 1) * (slope(4 - 2 * x) - 2 * slope(4 * x - 4)), abs=1e-10)
    assert x > 1


@pytest.mark.parametrize("case", list(Case))
@pytest.mark.parametrize("local_steps", [2, 3])
def test_enclosures_contain_what_the_simulation_reaches(case, local_steps):
    etas = [Q(1, 50), ETA_MAX[case] / 2, ETA_MAX[case]]
    reached = simulate(case, [float(eta) for eta in etas], 800, local_steps)[:, -1]
    for eta, value in zip(etas, reached, strict=True):
        found = limit_point(case, eta, local_steps)
        assert float(found.lower) - 1e-11 <= value <= float(found.upper) + 1e-11
        assert float(found.gradient_lower) <= slope(value) + 1e-11
        assert found.upper - found.lower < Q(1, 10**11)


@pytest.mark.parametrize("case", list(Case))
def test_the_band_covers_every_eta_and_increases(case):
    band = limit_band(case, ETA_MAX[case])
    assert band[0].eta_lower == 0 and band[-1].eta_upper == ETA_MAX[case]
    assert all(left.eta_upper == right.eta_lower for left, right in pairwise(band))
    assert band_is_increasing(case, band)
    for cell in band:
        point = limit_point(case, (cell.eta_lower + 2 * cell.eta_upper) / 3)
        assert cell.lower <= point.lower and point.upper <= cell.upper
        assert cell.upper - cell.lower < Q(3, 100)
    assert band[0].lower > 1  # the paper's remark on figure 6, for every step size of the range


@pytest.mark.parametrize("case", list(Case))
def test_contraction_is_certified_and_the_simulation_obeys_it(case):
    shrink = contraction(case, ETA_MAX[case], Q(2, 5))
    assert shrink is not None
    eta = 0.04
    limit = float(limit_point(case, Q(eta)).lower)
    gaps = np.abs(simulate(case, [eta], 200)[0] - limit)
    assert (gaps[1:] <= (1 - 0.4 * eta) * gaps[:-1] + 1e-11).all()


def test_a_contraction_rate_that_is_too_fast_is_not_certified():
    assert contraction(Case.I, Q(1, 8), Q(3)) is None


@pytest.mark.parametrize("case", list(Case))
def test_derivatives_of_the_drift_agree_with_differences(case):
    claim, x, eta, h = Claim(case, Q(1, 8), local_steps=4), np.linspace(-1, 3, 9), 0.06, 1e-6
    by_x, by_eta = round_derivatives(claim, x, eta, slope, curvature)
    numeric_x = (round_drift(claim, x + h, eta, slope) - round_drift(claim, x - h, eta, slope)) / (2 * h)
    numeric_eta = (round_drift(claim, x, eta + h, slope) - round_drift(claim, x, eta - h, slope)) / (2 * h)
    np.testing.assert_allclose(by_x, numeric_x, atol=1e-7)
    np.testing.assert_allclose(by_eta, numeric_eta, atol=1e-7)


def test_limit_points_are_refused_where_the_round_map_need_not_be_monotone():
    with pytest.raises(ValueError, match=r"\[0, 1/8\]"):
        limit_point(Case.I, Q(1, 7))


def test_simulation_of_one_round_by_hand():
    x, eta = 0.5, 0.1
    first, second = x - 4 * eta * slope(x), x + 2 * eta * slope(x)
    first, second = first - 4 * eta * slope(4 * first - 4), second + 2 * eta * slope(4 - 2 * second)
    assert simulate(Case.II, [eta], 1)[0, 1] == pytest.approx((first + second) / 2, abs=1e-15)
    first, second = x - 4 * eta * slope(4 * x - 4), x + 2 * eta * slope(4 - 2 * x)
    first, second = first - 4 * eta * slope(4 * first - 4), second + 2 * eta * slope(4 - 2 * second)
    assert simulate(Case.I, [eta], 1)[0, 1] == pytest.approx((first + second) / 2, abs=1e-15)


def test_case_ii_with_one_local_step_is_gradient_descent():
    assert simulate(Case.II, [0.5], 400, local_steps=1)[0, -1] < 1e-6


@pytest.mark.parametrize("etas", [[0.0], [-0.1], [float("nan")], np.full((1, 3, 2), 0.1)])
def test_simulation_refuses_bad_step_sizes(etas):
    with pytest.raises(ValueError, match="etas"):
        simulate(Case.I, etas, 5)


def test_floats_are_rounded_so_as_not_to_claim_more():
    for value in (Q(1, 3), Q(1, 10), Q(2, 3), Q(-1, 3), Q(0), Q(1, 4)):
        assert Q(float_below(value)) <= value <= Q(float_above(value))


@pytest.mark.parametrize("case", ["I", "II"])
def test_summary_is_plain_json_and_certified(case):
    result = json.loads(json.dumps(summary(case), allow_nan=False))
    assert result["theorem"] == "feddro.theorem_4_1" and result["case"] == case
    assert result["certificate"]["status"] == "certified"
    assert result["certificate"]["rechecked_with_fractions"] is True
    assert result["limit_points"]["increasing_in_eta"] is True
    assert result["limit_points"]["contraction"] is not None
    assert all(step["rechecked"] for step in result["proof"])
    assert all(lemma["holds"] for lemma in result["beyond_the_claim"]["any_number_of_local_steps"]["lemmas"])
    assert result["limit_points"]["eta_to_zero"]["gradient_norm_lower"] > 0.46
    beyond = result["beyond_the_claim"]
    assert beyond["any_number_of_local_steps"]["local_steps"] == {"I": "every I >= 1", "II": "every I >= 2"}[case]
    names = [lemma["name"] for lemma in beyond["any_number_of_local_steps"]["lemmas"]]
    assert names == ["local_step", *(["after_the_shared_step", "large_step"] if case == "II" else [])]
    two = beyond["two_local_steps"]
    if case == "I":  # boxes up to the summary's gap below the first failure
        assert Q(two["eta_certified"]) == Q(two["fails_at"]["eta"]) - Q(3, 250)
    else:
        assert two["eta_certified"] == "every eta > 0" and two["fails_at"] is None
    assert [point["eta_upper"] for point in result["limit_points"]["points"]] == pytest.approx(
        [float(ETA_MAX[Case(case)]) * i / 8 for i in range(1, 9)]
    )


def test_summary_reports_the_step_sizes_that_defeat_case_ii():
    varying = summary("II")["beyond_the_claim"]["step_sizes_within_a_round"]
    assert varying["certificate"]["status"] == "certified" and varying["fails_at"] is not None
    assert varying["converging_schedule"]["abs_x_upper"] < 1e-3


def test_summary_refuses_another_case():
    with pytest.raises(ValueError, match="I or II"):
        summary("III")


def test_figure_has_labels_data_and_the_extra_trajectories(tmp_path):
    other = Trajectory("modified FedAvg", 0.04, np.linspace(0.5, 0.0, 50))
    drawn = figure("II", extra=(other,))
    axes = drawn.figure.axes[0]
    assert axes.get_xlabel() == "communication round" and "bar" in axes.get_ylabel()
    assert len(drawn.data) == len(FIGURE_ETAS) + 1 and drawn.data["modified FedAvg: xbar"] == other.values.tolist()
    np.testing.assert_array_equal(axes.lines[len(FIGURE_ETAS)].get_ydata(), other.values)
    levels = [line.get_ydata()[0] for line in axes.lines if len(line.get_ydata()) == 2]
    assert levels == [0.5, 0.0] and [note.xy[1] for note in axes.texts] == [
        0.5,
        0.0,
    ]  # the floor and the stationary point
    ends = [(line.get_xdata()[0], line.get_ydata()[0]) for line in axes.lines if len(line.get_ydata()) == 1]
    limits_ = [float(limit_point(Case.II, Q(eta)).lower) for eta in FIGURE_ETAS]
    assert [end[0] for end in ends] == [400] * 4 and [end[1] for end in ends] == pytest.approx(limits_, abs=1e-12)
    assert drawn.title == "Vanilla FedAvg, case II: I = 2, xbar^0 = 1/2"
    assert all(min(values) >= 0.5 for name, values in drawn.data.items() if name.startswith("FedAvg"))
    drawn.save(tmp_path / "figure6.png")
    assert (tmp_path / "figure6.png").stat().st_size > 5000


def test_boxes_that_cover_a_region_are_counted_and_no_bound_is_reached_by_touching_it():
    """A quantity whose lower bound on a box is 1 minus the box's width: above 1 - 1/2^k only after k + 1 cuts."""
    region = Box(Q(0), Q(1), Q(0), Q(1))

    def narrow(box):
        return 1 - ball_of(box.x_upper - box.x_lower)

    assert limits.boxes_above(region, narrow, Q(-1)) == 1
    assert limits.boxes_above(region, narrow, Q(0)) == 4  # two halves of x, each cut along eta first
    assert limits.boxes_above(region, narrow, Q(0), limit=6) is None  # it takes 1 + 2 + 4 boxes
    assert limits.boxes_above(region, narrow, Q(0), limit=8) == 4
    assert limits.boxes_above(region, lambda box: arb("nan"), Q(-1), limit=20) is None
    tall = Box(Q(0), Q(1), Q(0), Q(1, 10))
    assert limits.boxes_above(tall, narrow, Q(0)) == 4  # halves are of the region's shape


def test_an_interval_that_a_round_leaves_is_no_contraction(monkeypatch):
    """The limit is between 1 and 2: from 1 the round climbs, and from 2 it falls."""
    found = contraction(Case.I, Q(1, 8), Q(1, 100))
    assert found is not None and (found.eta_max, found.rate) == (Q(1, 8), Q(1, 100)) and found.boxes >= 1
    for trap in ((Q(1, 2), Q(1)), (Q(2), Q(3))):
        monkeypatch.setattr(limits, "TRAP", trap)
        assert contraction(Case.I, Q(1, 8), Q(1, 100)) is None


def test_a_limit_that_does_not_rise_is_not_said_to(monkeypatch):
    band = limit_band(Case.I, Q(1, 8), cells=2)
    assert len(band) == 2 and band[0].eta_upper == Q(1, 16) and band_is_increasing(Case.I, band)
    for by_eta in (arb(-1), arb(0)):
        monkeypatch.setattr(limits, "round_derivatives", lambda *_, by_eta=by_eta: (arb(9), by_eta))
        assert not band_is_increasing(Case.I, band)
    monkeypatch.setattr(limits, "TRAP", (Q(2), Q(3)))
    with pytest.raises(ArithmeticError, match="sign of F at 2 is not certain"):
        limit_band(Case.I, Q(1, 8), cells=2)


def test_the_floats_of_a_limit_point_are_rounded_outward():
    told = limit_point(Case.II, Q(1, 33))
    floats = told.as_dict()
    for name, exact in (("eta", (told.eta_lower, told.eta_upper)), ("x", (told.lower, told.upper))):
        assert Q(floats[f"{name}_lower"]) <= exact[0] <= exact[1] <= Q(floats[f"{name}_upper"])
    ends = floats["gradient_norm_lower"], floats["gradient_norm_upper"]
    assert ends[0] <= slope(float(told.lower)) + 1e-15 and slope(float(told.upper)) - 1e-15 <= ends[1]
    assert floats["eta_upper"] - floats["eta_lower"] < 1e-16 and floats["x_upper"] - floats["x_lower"] < 1e-11
