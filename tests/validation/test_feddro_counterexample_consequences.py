"""What follows for Theorem 4.1's instance: limit points, lemmas, how far they reach, the printed proof; its summary and figure."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction as Q
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
from fedco.bounds.evaluation.enclosure import ball_of
from fedco.validation.papers.feddro.counterexample import consequences, summary
from fedco.validation.papers.feddro.counterexample.certificate import Box, certify, is_counterexample, slope_ball
from fedco.validation.papers.feddro.counterexample.consequences import (
    AFTER_THE_SHARED_STEP,
    ETA_SQUARED,
    LARGE_STEP,
    LOCAL_STEP,
    PROOF_STEPS,
    Fact,
    V,
    band_is_increasing,
    contracts,
    envelope,
    epsilon_2_below,
    first_failure,
    invariance_range,
    is_above,
    limit_band,
    limit_point,
    local_step_polynomial,
    refute_varying_steps,
)
from fedco.validation.papers.feddro.counterexample.figure import FIGURE_ETAS, Trajectory, figure, simulate
from fedco.validation.papers.feddro.counterexample.instance import (
    PAPER_CLAIMS,
    Case,
    Claim,
    round_derivatives,
    round_drift,
    slope,
)
from flint import arb

ETA_MAX = {Case.I: Q(1, 8), Case.II: Q(1, 22)}


def curvature(y):
    return 4.0 / (y * y + 4.0) ** 1.5


def test_case_i_limit_as_eta_vanishes_is_the_root_of_the_papers_averaged_field():
    """With a = x - 1, 2 s(4x - 4) = s(4 - 2x) squares to 12a^4 - 24a^3 + 27a^2 + 2a - 1 = 0."""
    found = limit_point(Case.I, Q(0))

    def quartic(x: Q) -> Q:
        a = x - 1
        return 12 * a**4 - 24 * a**3 + 27 * a**2 + 2 * a - 1

    assert quartic(found.x.lower) < 0 < quartic(found.x.upper)
    assert 1.16866 < found.x.lower < found.x.upper < 1.16867
    assert Q(504, 1000) < found.gradient.lower <= found.gradient.upper < Q(505, 1000)


@pytest.mark.parametrize("local_steps", [2, 3, 8])
def test_case_ii_limit_as_eta_vanishes_weighs_the_local_steps(local_steps):
    """s(x) = (I - 1) (s(4 - 2x) - 2 s(4x - 4))."""
    x = float(limit_point(Case.II, Q(0), local_steps).x.lower)
    assert slope(x) == pytest.approx((local_steps - 1) * (slope(4 - 2 * x) - 2 * slope(4 * x - 4)), abs=1e-10)
    assert x > 1


@pytest.mark.parametrize("case", list(Case))
@pytest.mark.parametrize("local_steps", [2, 3])
def test_enclosures_contain_what_the_simulation_reaches(case, local_steps):
    etas = [Q(1, 50), ETA_MAX[case] / 2, ETA_MAX[case]]
    reached = simulate(case, [float(eta) for eta in etas], 800, local_steps)[:, -1]
    for eta, value in zip(etas, reached, strict=True):
        found = limit_point(case, eta, local_steps)
        assert float(found.x.lower) - 1e-11 <= value <= float(found.x.upper) + 1e-11
        assert float(found.gradient.lower) <= slope(value) + 1e-11
        assert found.x.upper - found.x.lower < Q(1, 10**11)


@pytest.mark.parametrize("case", list(Case))
def test_the_band_covers_every_eta_and_increases(case):
    band = limit_band(case, ETA_MAX[case])
    assert band[0].eta.lower == 0 and band[-1].eta.upper == ETA_MAX[case]
    assert all(left.eta.upper == right.eta.lower for left, right in pairwise(band))
    assert band_is_increasing(case, band)
    for cell in band:
        point = limit_point(case, (cell.eta.lower + 2 * cell.eta.upper) / 3)
        assert cell.x.lower <= point.x.lower and point.x.upper <= cell.x.upper
        assert cell.x.upper - cell.x.lower < Q(3, 100)
    assert band[0].x.lower > 1  # the paper's remark on figure 6, for every step size of the range


@pytest.mark.parametrize("case", list(Case))
def test_contraction_is_certified_and_the_simulation_obeys_it(case):
    assert contracts(case, ETA_MAX[case], Q(2, 5)) and not contracts(case, ETA_MAX[case], Q(3))
    eta = 0.04
    limit = float(limit_point(case, Q(eta)).x.lower)
    gaps = np.abs(simulate(case, [eta], 200)[0] - limit)
    assert (gaps[1:] <= (1 - 0.4 * eta) * gaps[:-1] + 1e-11).all()


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


@pytest.mark.parametrize("etas", [[0.0], [-0.1], [float("nan")], np.full((1, 3, 2), 0.1)])
def test_simulation_refuses_bad_step_sizes(etas):
    with pytest.raises(ValueError, match="etas"):
        simulate(Case.I, etas, 5)


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
    limits_ = [float(limit_point(Case.II, Q(eta)).x.lower) for eta in FIGURE_ETAS]
    assert [end[0] for end in ends] == [400] * 4 and [end[1] for end in ends] == pytest.approx(limits_, abs=1e-12)
    assert drawn.title == "Vanilla FedAvg, case II: I = 2, xbar^0 = 1/2"
    assert all(min(values) >= 0.5 for name, values in drawn.data.items() if name.startswith("FedAvg"))
    drawn.save(tmp_path / "figure6.png")
    assert (tmp_path / "figure6.png").stat().st_size > 5000


def test_a_bound_is_certified_on_boxes_and_is_not_reached_by_touching_it():
    """A quantity whose lower bound on a box is 1 minus the box's width: above 0 only after 1 + 2 + 4 boxes."""
    wide, tall = (Box(Q(0), Q(1), Q(0), height) for height in (Q(1), Q(1, 10)))

    def narrow(box):
        return 1 - ball_of(box.x_upper - box.x_lower)

    for region, bound, limit, known in (
        (wide, Q(-1), 1, True),
        (wide, Q(0), 6, False),
        (wide, Q(0), 7, True),
        (tall, Q(0), 6, False),  # halves are of the region's shape
        (tall, Q(0), 7, True),
    ):
        assert is_above(region, narrow, bound, limit) == known
    assert not is_above(wide, lambda box: arb("nan"), Q(-1), limit=20)


def test_an_interval_that_a_round_leaves_is_no_contraction(monkeypatch):
    """The limit is between 1 and 2: from 1 the round climbs, and from 2 it falls."""
    assert contracts(Case.I, Q(1, 8), Q(1, 100))
    for trap in ((Q(1, 2), Q(1)), (Q(2), Q(3))):
        monkeypatch.setattr(consequences, "TRAP", trap)
        assert not contracts(Case.I, Q(1, 8), Q(1, 100))
    with pytest.raises(ArithmeticError, match="sign of F at 2 is not certain"):
        limit_band(Case.I, Q(1, 8), cells=2)


def test_a_limit_that_does_not_rise_is_not_said_to(monkeypatch):
    band = limit_band(Case.I, Q(1, 8), cells=2)
    assert len(band) == 2 and band[0].eta.upper == Q(1, 16) and band_is_increasing(Case.I, band)
    for by_eta in (arb(-1), arb(0)):
        monkeypatch.setattr(consequences, "round_derivatives", lambda *_, by_eta=by_eta: (arb(9), by_eta))
        assert not band_is_increasing(Case.I, band)


def test_the_floats_of_a_limit_point_are_rounded_outward():
    told = limit_point(Case.II, Q(1, 33))
    floats = told.as_dict()
    for name, exact in (("eta", told.eta.pair), ("x", told.x.pair)):
        assert Q(floats[f"{name}_lower"]) <= exact[0] <= exact[1] <= Q(floats[f"{name}_upper"])
    ends = floats["gradient_norm_lower"], floats["gradient_norm_upper"]
    assert ends[0] <= slope(float(told.x.lower)) + 1e-15 and slope(float(told.x.upper)) - 1e-15 <= ends[1]
    assert floats["eta_upper"] - floats["eta_lower"] < 1e-16 and floats["x_upper"] - floats["x_lower"] < 1e-11


# --- lemmas, reach and the printed proof ----------------------------------------------------------------------------

SQRT2_OVER_4 = 2**0.5 / 4


def test_lemma_mutants_fail():
    assert not Fact("larger step", local_step_polynomial(0, Q(1, 7)), root=Q(1, 2)).holds
    assert not Fact("higher threshold", local_step_polynomial(0, threshold=Q(6, 10)), root=Q(1, 2)).holds
    assert not Fact("wrong root", local_step_polynomial(0), root=Q(1, 3)).holds
    assert not Fact("no root", local_step_polynomial(0)).holds
    flipped = -LARGE_STEP.facts[1].polynomial
    assert not replace(LARGE_STEP, facts=(*LARGE_STEP.facts, Fact("sign", flipped))).holds
    assert not replace(LOCAL_STEP, facts=()).holds
    assert Fact("", V**2).holds and not Fact("", 1 - V).holds and Fact("", sp.Integer(0)).holds
    assert Fact("", 1 - 2 * V + V**2, root=Q(1)).holds and not Fact("", 2 - 3 * V + V**2, root=Q(1)).holds


def test_local_step_polynomial_is_the_square_it_is_said_to_be_and_sharp():
    assert sp.expand(local_step_polynomial(0) - (2 * V - 1) ** 2 * (4 * V**2 + 8 * V + 1)) == 0
    assert sp.expand(local_step_polynomial(1) - (4 * V**4 + 12 * V**3 + 11 * V**2 + 12 * V + 9)) == 0
    # at x = 3/2 the step back is 4 eta s(2) = 4 eta / sqrt(2): equal to 1 exactly at eta^2 = 1/8, more beyond
    assert 16 * ETA_SQUARED * Q(1, 2) == 1
    eta = 0.3536
    assert 1.5 - 4 * eta * 2 / 8**0.5 < 0.5 and eta > SQRT2_OVER_4


@pytest.mark.parametrize("local_steps", [1, 2, 3, 8])
def test_case_i_keeps_every_random_schedule_above_one_half(local_steps):
    rng = np.random.default_rng(local_steps)
    etas = SQRT2_OVER_4 * (1 - rng.random((300, 40, local_steps)) ** 3)
    assert etas.max() > 0.35 and etas.min() < 0.05
    assert simulate(Case.I, etas, 40, local_steps).min() >= 0.5


@pytest.mark.parametrize("local_steps", [2, 3, 8])
def test_case_ii_keeps_random_schedules_whose_second_step_is_large_enough(local_steps):
    rng = np.random.default_rng(local_steps)
    etas = SQRT2_OVER_4 * (1 - rng.random((300, 40, local_steps)))
    etas[:, :, 1] = np.maximum(etas[:, :, 1], 0.75 * etas[:, :, 0])
    assert AFTER_THE_SHARED_STEP.holds
    assert simulate(Case.II, etas, 40, local_steps).min() >= 0.5


def test_large_step_lemma_at_random_points():
    rng = np.random.default_rng(3)
    claim = Claim(Case.II, eta_max=Q(1))
    eta = 10 ** rng.uniform(0, 3, 200_000)
    x = 0.5 + eta * rng.uniform(0, 7, eta.size) * rng.integers(0, 2, eta.size) + rng.exponential(1.0, eta.size)
    after = x + eta * round_drift(claim, x, eta)
    assert after.min() >= 0.5


@pytest.mark.parametrize("local_steps", [2, 3, 8])
def test_zero_is_not_a_fixed_point_so_no_constant_step_converges_to_it(local_steps):
    """Case II, I = 2: F(0, eta) = 3 s(4) for every eta. Elsewhere F(0, .) > 0 on (0, 1/8], by balls."""
    for case in Case:
        for i in range(64 * local_steps):
            eta = arb(i) / (512 * local_steps)
            ball = eta.union(arb(i + 1) / (512 * local_steps))
            assert round_drift(Claim(case, Q(1, 8), local_steps), arb(0), ball, slope_ball) > 0
    far = round_drift(Claim(Case.II, Q(1)), arb(0), arb(1000), slope_ball)
    assert far.overlaps(3 * slope_ball(arb(4)))


def test_gradient_descent_has_no_such_range():
    with pytest.raises(ValueError, match="at least 2"):
        invariance_range(Case.II, 1)


@pytest.mark.parametrize("local_steps", [2, 5])
def test_shrinking_later_steps_reach_the_stationary_point_in_case_ii(local_steps):
    refuted = refute_varying_steps(Q(1, 22), local_steps, rounds=300)
    assert refuted.first_round_below < 25
    assert refuted.final_bound <= refuted.envelope_bound < Q(1, 100)
    assert 0 < refuted.shared_step < Q(1, 22)
    assert envelope(refuted.shared_step, 3000) < Q(1, 10**20)
    assert envelope(refuted.shared_step, 0) >= Q(1, 2)
    a = float(refuted.shared_step)
    etas = np.array([[[a] + [a * 2.0**-n / (local_steps - 1)] * (local_steps - 1) for n in range(300)]])
    simulated = simulate(Case.II, etas, 300, local_steps)[0]
    assert abs(simulated[-1]) <= float(refuted.final_bound) * (1 + 1e-6)
    assert (simulated[: refuted.first_round_below] >= 0.5).all() and simulated[refuted.first_round_below] < 0.5
    assert simulate(Case.I, etas, 300, local_steps).min() >= 0.5  # the same schedule does not rescue case I


def test_a_schedule_that_never_falls_is_not_reported_as_a_refutation():
    with pytest.raises(ArithmeticError, match="not certified"):
        refute_varying_steps(Q(1, 22), rounds=3)
    with pytest.raises(ValueError, match="local_steps"):
        refute_varying_steps(Q(1, 22), local_steps=1)


def test_the_facts_of_the_lemma_of_large_steps_are_the_inequalities_that_they_state():
    """Of eta = 1 + v; the three without eta are numbers."""
    e = np.array([1.0, 1.25, 2.0, 5.0])
    wanted = [
        16 * e**2 - 4 - 12 * e,
        9 * (4 * e**2 - 1) - 4 * (e + 0.5) ** 2,
        np.full(4, min(16 / 5 - (1 + 25 / 32) ** 2, 41 - (5 / (25 / 32)) ** 2)),
        np.full(4, 25 * 16 - 9 * 41.0),  # s(5/2)^2 = 25/41 and (3/4)^2 = 9/16
        2 * (4 + 3 * e) ** 2 - 4 * e,
        np.full(4, 16 * 16 - 5 * 49.0),  # (4/sqrt(5))^2 = 16/5 and (7/4)^2 = 49/16
        9 * e**2 - 4 - (0.5 + e / 4) ** 2,
    ]
    assert len(LARGE_STEP.facts) == len(wanted)
    for fact, values in zip(LARGE_STEP.facts, wanted, strict=True):
        found = [float(fact.polynomial.subs(V, at - 1)) for at in e]
        np.testing.assert_allclose(found, values, err_msg=fact.statement)


def test_the_facts_after_the_shared_step_are_the_inequality_at_both_ratios():
    """4 r^2 >= (1/2 + speed r)^2 (2 - r^2), with speed at least 2 sqrt(2) times the largest step, and hardly more."""
    for fact, ratio, largest in zip(AFTER_THE_SHARED_STEP.facts, (0.75, 0.4), (SQRT2_OVER_4, 1 / 22), strict=True):
        value = float(fact.polynomial)
        least = 2 * 2**0.5 * largest
        speed = ((4 * ratio**2 - value) / (2 - ratio**2)) ** 0.5 / ratio - 0.5 / ratio
        assert (
            least * (1 - 1e-12) <= speed <= 1.07 * least
            and f"second step >= {Q(ratio).limit_denominator(9)}" in fact.statement
        )


def test_the_shared_step_stays_where_the_envelope_holds_and_the_envelope_is_its_formula():
    """a = 9/10 of the largest step, at most 1/12; q^n / 2 + 3 a sum_{m < n} q^(n-1-m) 2^-m with q = 1 - 4 a / 9."""
    assert refute_varying_steps(Q(1, 22), rounds=60).shared_step == Q(9, 220)
    assert refute_varying_steps(Q(1), rounds=60).shared_step == Q(1, 12)
    for a, n in ((Q(1, 12), 7), (Q(9, 220), 1), (Q(1, 20), 40)):
        q = 1 - 4 * a / 9
        wanted = q**n / 2 + 3 * a * sum(q ** (n - 1 - m) / 2**m for m in range(n))
        assert wanted <= envelope(a, n) <= wanted * (1 + Q(1, 10**12))
    for wrong in (Q(0), Q(-1, 2)):
        with pytest.raises(ValueError, match="wanted eta_max > 0"):
            refute_varying_steps(wrong)


def test_a_range_is_what_the_lemmas_give_or_what_the_boxes_give_whichever_reaches_further(monkeypatch):
    """The lemmas reach sqrt(2)/4, cut after five digits; boxes are asked for up to the gap below the first failure."""
    assert consequences.LEMMA_ETA**2 <= Q(1, 8) < (consequences.LEMMA_ETA + Q(1, 10**5)) ** 2
    asked = []

    def certify(claim, limit=None):
        asked.append(claim.eta_max)
        return SimpleNamespace(eta_certified=reached, proved=(1, 2, 3), status="partial", counterexample="point")

    failure = SimpleNamespace(eta=Q(3, 4))
    monkeypatch.setattr(consequences, "certify", certify)
    monkeypatch.setattr(consequences, "first_failure", lambda claim: failure)
    for reached, wanted in (  # noqa: B007
        (Q(1, 2), (Q(1, 2), "3 boxes")),
        (Q(1, 3), (consequences.LEMMA_ETA, "lemmas")),
        (consequences.LEMMA_ETA, (consequences.LEMMA_ETA, "3 boxes")),
    ):
        found = invariance_range(Case.I, 3, Q(1, 100))
        assert (found.certified, found.argument) == wanted and asked[-1] == Q(3, 4) - Q(1, 100)
        assert found.counterexample == failure
    failure = None
    invariance_range(Case.I, 3)
    assert asked[-1] == 1
    reached = Q(1, 5)
    for lemma in ("LOCAL_STEP", "AFTER_THE_SHARED_STEP"):
        with monkeypatch.context() as patch:
            patch.setattr(consequences, lemma, SimpleNamespace(holds=False))
            assert invariance_range(Case.I, 3).certified == reached
    two = invariance_range(Case.II, 2)
    assert (two.certified, two.argument, two.counterexample) == (reached, "3 boxes", "point") and asked[-1] == 1


def test_every_step_size_needs_the_lemma_beyond_the_boxes(monkeypatch):
    monkeypatch.setattr(consequences, "LARGE_STEP", SimpleNamespace(holds=False))
    found = invariance_range(Case.II, 2)
    assert (found.certified, found.argument) == (1, "58 boxes")


def test_the_first_failure_is_the_smallest_step_of_its_grid():
    """With a point that is certified, at a step below which the scan of the same grid finds none."""
    claim = Claim(Case.I, eta_max=Q(1))
    found = first_failure(claim, eta_points=40, x_points=400)
    assert found is not None and (found.eta * 40).denominator == 1 and is_counterexample(claim, found)
    assert (found.x * 2**24).denominator == 1
    before = found.eta - Q(1, 40)
    x = 0.5 + np.linspace(0, 6 * float(before), 400)
    assert (x + float(before) * round_drift(claim, x, float(before)) >= 0.5).all()
    assert first_failure(Claim(Case.I, eta_max=Q(1, 8)), eta_points=8, x_points=50) is None
    assert Q(811, 1000) < first_failure(claim).eta < Q(813, 1000)


def test_epsilon_against_a_bound_by_its_definition():
    for x, eta in ((0.5, 0.25), (1.5, 0.1), (3.0, 2.0)):
        epsilon = 2 * eta / math.sqrt(x * x + 4)
        for part in (0.99, 1.01):
            assert epsilon_2_below(Q(x), Q(eta), Q(part * epsilon)) == (part > 1)
    assert not epsilon_2_below(Q(3, 2), Q(3, 4), Q(3, 5))  # equal is not below


def test_the_checks_of_case_3_fail_where_their_inequalities_do():
    """At the right end 11/10 they hold; beyond the point at which the printed quantity is reached they do not."""
    x = np.linspace(1.1, 1.2, 100_001)
    ratio = (4 - 2 * x * 23 / 22) / np.sqrt((4 - 2 * x) ** 2 + 4)
    for step in (-1e-4, 1e-4):
        assert consequences.six_tenths(Q(float(x[ratio < 0.6][0] + step))) == (step < 0)
    assert not consequences.six_tenths(Q(2))


def test_the_checks_of_the_signs_need_steps_below_their_bounds():
    """epsilon_2 < eta needs eta < 1/5 for the missing signs; the end of case (3) is 1/(1 - 2 eta) at eta = 1/22 alone."""
    for eta, missing, ends in ((Q(1, 22), True, True), (Q(19, 100), True, False), (Q(1, 5), False, False)):
        assert (consequences.missing_signs(eta), consequences.ends_of_case_3(eta)) == (missing, ends)


def test_the_claims_of_the_paper_are_those_that_it_prints():
    """Appendix D: C_eta = 1/8 in case I and 1/22 in case II, two local steps, from 1/2 on."""
    for case, eta in ((Case.I, Q(1, 8)), (Case.II, Q(1, 22))):
        assert PAPER_CLAIMS[case] == Claim(case, eta, local_steps=2, threshold=Q(1, 2), start=Q(1, 2))
    assert PAPER_CLAIMS[Case.I].instance.slopes == (4, -2) and PAPER_CLAIMS[Case.I].instance.offsets == (-4, 4)


WITH_BOXES = {
    "claims, C_eta": [Claim(Case.II, Q(1))],
    "claims": list(PAPER_CLAIMS.values()),
    "Theorem 4.1, 'for any 0 < eta^t < C_eta'": [Claim(Case.II, Q(1, 22), step_ratio=Q(1, 10))],
}
"""The steps whose checks are listings of boxes, and of which claims."""
ON_LEMMAS = {
    "LOCAL_STEP": {"case I, cases (2) and (3)", "claims, C_eta", "Theorem 4.1, 'a fixed I > 1'"},
    "AFTER_THE_SHARED_STEP": {"claims, C_eta", "Theorem 4.1, 'a fixed I > 1'"},
    "LARGE_STEP": {"claims, C_eta"},
}


def failing() -> set[str]:
    return {step.where for step in PROOF_STEPS if not step.as_dict()["rechecked"]}


def test_a_step_of_the_proof_fails_where_its_boxes_or_their_recheck_or_a_lemma_does(monkeypatch):
    """`all` of what a step names, not any of it."""
    honest = {claim: certify(claim) for claims in WITH_BOXES.values() for claim in claims}
    monkeypatch.setattr(consequences, "certify", honest.__getitem__)
    assert failing() == set()
    for claim, found in honest.items():
        wheres = {where for where, claims in WITH_BOXES.items() if claim in claims}
        for other in (replace(found, status="partial"), replace(found, status="other")):
            with monkeypatch.context() as patch:
                patch.setattr(
                    consequences, "certify", lambda asked, c=claim, o=other: o if asked == c else honest[asked]
                )
                assert failing() == wheres
        with monkeypatch.context() as patch:
            patch.setattr(consequences, "recheck", lambda asked, found=found: ("a fault",) if asked is found else ())
            assert failing() == wheres
    for lemma, wheres in ON_LEMMAS.items():
        with monkeypatch.context() as patch:
            patch.setattr(consequences, lemma, SimpleNamespace(holds=False))
            assert failing() == wheres
    cells = tuple(SimpleNamespace(x=SimpleNamespace(lower=Q(level))) for level in (2, 1))
    monkeypatch.setattr(consequences, "limit_band", lambda case, eta: cells)
    assert failing() == {"figure 6, remark"}
