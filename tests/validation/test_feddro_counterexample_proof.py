"""The printed proof of Theorem 4.1 against exact arithmetic, and the lemmas that go further than it."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp
from fedco.validation.papers.feddro.counterexample import printed, reach
from fedco.validation.papers.feddro.counterexample.certificate import certify, slope_ball
from fedco.validation.papers.feddro.counterexample.figure import simulate
from fedco.validation.papers.feddro.counterexample.instance import PAPER_CLAIMS, Case, Claim, round_drift
from fedco.validation.papers.feddro.counterexample.printed import (
    AFTER_THE_SHARED_STEP,
    ETA_SQUARED,
    LARGE_STEP,
    LOCAL_STEP,
    PROOF_STEPS,
    Fact,
    V,
    epsilon_2_below,
    local_step_polynomial,
    slope_below,
)
from fedco.validation.papers.feddro.counterexample.reach import (
    envelope,
    first_failure,
    invariance_range,
    refute_varying_steps,
)
from fedco.validation.papers.feddro.counterexample.recheck import is_counterexample
from flint import arb

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
    after = x + eta * round_drift(claim, x, eta, lambda y: y / np.sqrt(y * y + 4))
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
    assert printed.LEMMA_ETA**2 <= Q(1, 8) < (printed.LEMMA_ETA + Q(1, 10**5)) ** 2
    asked = []

    def certify(claim, limit=None):
        asked.append(claim.eta_max)
        return SimpleNamespace(eta_certified=reached, proved=(1, 2, 3), status="partial", counterexample="point")

    failure = SimpleNamespace(eta=Q(3, 4))
    monkeypatch.setattr(reach, "certify", certify)
    monkeypatch.setattr(reach, "first_failure", lambda claim: failure)
    for reached, wanted in (  # noqa: B007
        (Q(1, 2), (Q(1, 2), "3 boxes")),
        (Q(1, 3), (printed.LEMMA_ETA, "lemmas")),
        (printed.LEMMA_ETA, (printed.LEMMA_ETA, "3 boxes")),
    ):
        found = invariance_range(Case.I, 3, Q(1, 100))
        assert (found.certified, found.argument) == wanted and asked[-1] == Q(3, 4) - Q(1, 100)
        assert (found.case, found.local_steps, found.counterexample) == (Case.I, 3, failure)
    failure = None
    invariance_range(Case.I, 3)
    assert asked[-1] == 1
    reached = Q(1, 5)
    for lemma in ("LOCAL_STEP", "AFTER_THE_SHARED_STEP"):
        with monkeypatch.context() as patch:
            patch.setattr(reach, lemma, SimpleNamespace(holds=False))
            assert invariance_range(Case.I, 3).certified == reached
    two = invariance_range(Case.II, 2)
    assert (two.certified, two.argument, two.counterexample) == (reached, "3 boxes", "point") and asked[-1] == 1


def test_every_step_size_needs_the_lemma_beyond_the_boxes(monkeypatch):
    monkeypatch.setattr(reach, "LARGE_STEP", SimpleNamespace(holds=False))
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
    assert (x + float(before) * round_drift(claim, x, float(before), lambda y: y / np.sqrt(y * y + 4)) >= 0.5).all()
    assert first_failure(Claim(Case.I, eta_max=Q(1, 8)), eta_points=8, x_points=50) is None
    assert Q(811, 1000) < first_failure(claim).eta < Q(813, 1000)


def test_epsilon_and_the_slope_against_a_bound_by_their_definitions():
    for x, eta in ((0.5, 0.25), (1.5, 0.1), (3.0, 2.0)):
        slope, epsilon = x / math.sqrt(x * x + 4), 2 * eta / math.sqrt(x * x + 4)
        for part in (0.99, 1.01):
            assert slope_below(Q(x), Q(part * slope)) == epsilon_2_below(Q(x), Q(eta), Q(part * epsilon)) == (part > 1)
    assert not slope_below(Q(3, 2), Q(3, 5)) and not epsilon_2_below(Q(3, 2), Q(3, 4), Q(3, 5))  # equal is not below


def test_the_checks_of_case_3_fail_where_their_inequalities_do():
    """At the right end 11/10 they hold; beyond the point at which the printed quantity is reached they do not."""
    x = np.linspace(1.1, 1.2, 100_001)
    ratio = (4 - 2 * x * 23 / 22) / np.sqrt((4 - 2 * x) ** 2 + 4)
    for check, end in ((printed.six_tenths, x[ratio < 0.6][0]), (printed.sign_of_13, 2 / 3**0.5)):
        for step in (-1e-4, 1e-4):
            assert check(Q(float(end + step))) == (step < 0), check
    assert not printed.six_tenths(Q(2))


def test_the_checks_of_the_signs_need_steps_below_their_bounds():
    """epsilon_2 < eta needs eta < 1/5 for the missing signs; the end of case (3) is 1/(1 - 2 eta) at eta = 1/22 alone."""
    for eta, missing, ends in ((Q(1, 22), True, True), (Q(19, 100), True, False), (Q(1, 5), False, False)):
        assert (printed.missing_signs(eta), printed.ends_of_case_3(eta)) == (missing, ends)


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
    monkeypatch.setattr(printed, "certify", honest.__getitem__)
    assert failing() == set()
    for claim, found in honest.items():
        wheres = {where for where, claims in WITH_BOXES.items() if claim in claims}
        for other in (replace(found, status="partial"), replace(found, status="other")):
            with monkeypatch.context() as patch:
                patch.setattr(printed, "certify", lambda asked, c=claim, o=other: o if asked == c else honest[asked])
                assert failing() == wheres
        with monkeypatch.context() as patch:
            patch.setattr(printed, "recheck", lambda asked, found=found: ("a fault",) if asked is found else ())
            assert failing() == wheres
    for lemma, wheres in ON_LEMMAS.items():
        with monkeypatch.context() as patch:
            patch.setattr(printed, lemma, SimpleNamespace(holds=False))
            assert failing() == wheres
    cells = (SimpleNamespace(lower=Q(2)), SimpleNamespace(lower=Q(1)))
    monkeypatch.setattr(printed, "limit_band", lambda case, eta: cells)
    assert failing() == {"figure 6, remark"}
