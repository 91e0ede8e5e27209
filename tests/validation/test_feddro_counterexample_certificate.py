"""The box certificate of Theorem 4.1: it holds where the claim is true, fails where it is false, is re-checked."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q

import numpy as np
import pytest
from fedco.validation.papers.feddro.counterexample import certificate as certifier
from fedco.validation.papers.feddro.counterexample.certificate import (
    Box,
    BoxCertificate,
    Counterexample,
    ProvedBox,
    box_holds,
    certify,
    covers,
    is_counterexample,
    move,
    recheck,
    slope_interval,
)
from fedco.validation.papers.feddro.counterexample.figure import simulate
from fedco.validation.papers.feddro.counterexample.instance import PAPER_CLAIMS, Case, Claim, Instance, slope
from flint import arb

THREE = Instance((3, -1, 2), (1, 2, -4))


def moved(claim: Claim, x: float, etas: list[float], only: int | None) -> float:
    """-(1/K) sum over the clients and the steps (or one step) of a s(y), as Algorithm 1 has it, one client at a time."""
    slopes, offsets = claim.instance.slopes, claim.instance.offsets
    shared, total = slope(np.mean(slopes) * x + np.mean(offsets)), 0.0
    for a, c in zip(slopes, offsets, strict=True):
        at = x
        for step, eta in enumerate(etas):
            gradient = a * (shared if step == 0 and claim.case is Case.II else slope(a * at + c))
            at -= eta * gradient
            total += gradient if only in (None, step) else 0.0
    return -total / len(slopes)


RATIO = Claim(Case.II, Q(1, 22), step_ratio=Q(11, 100))
CERTIFIED = [
    (PAPER_CLAIMS[Case.I], 4),
    (PAPER_CLAIMS[Case.II], 1),
    (Claim(Case.I, Q(4, 5)), 703),
    (Claim(Case.II, Q(1)), 58),
    (RATIO, 134),
    (replace(RATIO, step_ratio=Q(1)), None),
    # the second step pushes down in some boxes, where it counts in full and at its largest
    (Claim(Case.II, Q(1), threshold=Q(-3), start=Q(-3), step_ratio=Q(1, 2)), 18),
    # g_2 = -2x + 1 has its optimum at 1/2: both clients still keep [1/2, inf), so a refusal would be wrong
    (Claim(Case.I, Q(1, 8), instance=Instance((4, -2), (-4, 1))), None),
]
"""True claims, and how many boxes their certificates have: a rule that decides less takes more of them."""


@pytest.mark.parametrize(("claim", "boxes"), CERTIFIED, ids=str)
def test_true_claims_are_certified_and_rechecked_with_fractions(claim, boxes):
    """docs/theory/counterexample.md has the numbers of boxes of the paper's instance."""
    found = certify(claim)
    assert (found.status, found.eta_certified, found.undecided, found.base_case) == (
        "certified",
        claim.eta_max,
        (),
        True,
    )
    assert found.counterexample is None and boxes in (None, len(found.proved))
    if claim in PAPER_CLAIMS.values():
        assert found.worst_margin("drift") > 1
    if claim.eta_max < 1 / Q(2):
        assert recheck(found) == ()


@pytest.mark.parametrize("claim", [Claim(Case.I, Q(1, 2)), RATIO], ids=str)
def test_what_is_proved_of_a_box_holds_at_random_points_in_it(claim):
    """The margin bounds what its rule is about, and the round stays above the threshold for every second step that is admitted."""
    found, rng = certify(claim), np.random.default_rng(5)
    assert found.status == "certified" and len(found.proved) > 20
    for proved in found.proved:
        box, margin = proved.box, float(proved.margin)
        for x, eta in zip(rng.uniform(*map(float, (box.x_lower, box.x_upper)), 10),
                          rng.uniform(*map(float, (box.eta_lower, box.eta_upper)), 10), strict=True):  # fmt: skip
            least = eta if claim.step_ratio is None else float(claim.step_ratio) * eta
            for second in (least, float(claim.eta_max) if claim.step_ratio else least):
                first_move, second_move = (moved(claim, x, [eta, second], step) for step in (0, 1))
                assert x - 0.5 + eta * first_move + second * second_move >= 0
                if proved.rule == "drift":
                    assert (eta * first_move + second * second_move) / eta >= margin - 1e-12
                else:
                    end = (
                        float(box.x_lower)
                        - 0.5
                        + float(box.eta_upper) * min(first_move, 0)
                        + second * min(second_move, 0)
                    )
                    assert end >= margin - 1e-12 or claim.step_ratio is None
        assert proved.margin >= 0


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param(Claim(Case.I, eta_max=Q(1)), id="case I, steps up to 1"),
        pytest.param(Claim(Case.II, eta_max=Q(1), local_steps=3), id="case II, I = 3, steps up to 1"),
        pytest.param(Claim(Case.I, eta_max=Q(1, 8), threshold=Q(13, 10), start=Q(13, 10)), id="threshold 1.3"),
        pytest.param(Claim(Case.II, eta_max=Q(1, 22), threshold=Q(12, 10), start=Q(12, 10)), id="threshold 1.2"),
        pytest.param(Claim(Case.I, eta_max=Q(1, 8), instance=Instance((4, -2), (0, 4))), id="g_1 = 4x"),
        pytest.param(Claim(Case.II, eta_max=Q(1, 22), instance=Instance((4, -2), (0, 4))), id="g_1 = 4x, case II"),
        pytest.param(Claim(Case.I, eta_max=Q(1, 8), instance=Instance((4, 2), (4, 4))), id="signs of g_1 and g_2"),
        pytest.param(Claim(Case.II, eta_max=Q(1, 22), local_steps=1), id="I = 1 is gradient descent"),
        pytest.param(Claim(Case.II, eta_max=Q(1, 22), step_ratio=Q(1079, 10000)), id="small second step"),
        pytest.param(Claim(Case.II, eta_max=Q(1, 22), step_ratio=Q(1, 10)), id="smaller second step"),
    ],
)
def test_false_claims_are_refuted_by_an_exact_point(claim):
    found = certify(claim)
    assert found.status == "refuted" and found.counterexample is not None
    assert is_counterexample(claim, found.counterexample)
    assert recheck(found) == ()
    assert not is_counterexample(claim, replace(found.counterexample, x=found.counterexample.x + 1000))
    if claim.step_ratio == Q(
        1, 10
    ):  # the round ends 0.0006 below the threshold, and 0.004 above it from 1/200 further on
        assert not is_counterexample(claim, replace(found.counterexample, x=found.counterexample.x + Q(1, 200)))


def test_threshold_above_the_start_fails_at_the_base_case():
    found = certify(Claim(Case.I, eta_max=Q(1, 8), threshold=Q(6, 10)))
    assert found.status == "refuted" and not found.base_case and found.counterexample is None
    assert found.eta_certified == 0
    assert "base case" in " ".join(recheck(replace(found, status="certified")))


def test_a_sign_error_in_the_certifier_is_caught_by_the_recheck(monkeypatch):
    honest = certifier.slope_ball
    monkeypatch.setattr(certifier, "slope_ball", lambda y: -honest(y))
    accepted = certify(Claim(Case.I, eta_max=Q(1, 8), instance=Instance((4, -2), (0, 4))))
    assert accepted.status == "certified"  # a false claim passes the mutant certifier ...
    assert recheck(accepted)  # ... and not the independent re-check
    rejected = certify(PAPER_CLAIMS[Case.I])
    assert rejected.status == "refuted" and "not a counterexample" in " ".join(recheck(rejected))


def test_balls_that_are_not_finite_prove_nothing(monkeypatch):
    monkeypatch.setattr(certifier, "slope_ball", lambda y: y * arb("nan"))
    found = certify(PAPER_CLAIMS[Case.II], box_limit=50)
    assert found.status == "partial" and found.eta_certified == 0 and not found.proved


def test_a_box_limit_leaves_an_honest_partial_range():
    full, cut = (certify(Claim(Case.I, eta_max=Q(3, 4)), box_limit=limit) for limit in (60_000, 200))
    assert full.status == "certified"
    assert cut.status == "partial" and 0 < cut.eta_certified < Q(3, 4)
    assert cut.eta_certified == min(box.eta_lower for box in cut.undecided)


def shrunk(found: BoxCertificate) -> ProvedBox:
    box = found.proved[0].box
    return replace(found.proved[0], box=replace(box, x_upper=(box.x_lower + box.x_upper) / 2))


TAMPERED = {
    "a box is missing": lambda found: {"proved": found.proved[1:]},
    "a box is smaller": lambda found: {"proved": (shrunk(found), *found.proved[1:])},
    "the claim is wider": lambda found: {"claim": replace(found.claim, eta_max=found.claim.eta_max * Q(101, 100))},
    "the threshold is higher": lambda found: {"claim": replace(found.claim, threshold=Q(3), start=Q(3))},
    "a box is false": lambda found: {"proved": (ProvedBox(certifier.search_region(found.claim), "drift", Q(1)),)},
}


@pytest.mark.parametrize("change", TAMPERED.values(), ids=TAMPERED)
def test_the_recheck_catches_a_tampered_certificate(change):
    found = certify(Claim(Case.I, eta_max=Q(1, 2)))
    assert recheck(found) == ()
    assert recheck(replace(found, **change(found)))


def test_recheck_slope_is_an_enclosure_and_tight():
    for y in (Q(-7, 3), Q(0), Q(1, 10**9), Q(5, 2)):
        low, high = slope_interval((y, y))
        assert low * abs(low) * (y * y + 4) <= y * abs(y) <= high * abs(high) * (y * y + 4)
        assert high - low <= Q(1, 2**62)


def test_meaningless_claims_are_refused():
    ratio = "step_ratio: wanted a positive rational"
    for case, wrong, said in (
        (Case.I, {"eta_max": Q(0)}, "eta_max: wanted a positive"),
        (Case.I, {"local_steps": 0}, "local_steps: wanted a positive"),
        (Case.I, {"step_ratio": Q(1, 2)}, ratio),
        (Case.II, {"step_ratio": Q(0)}, ratio),
        (Case.II, {"step_ratio": Q(1, 2), "local_steps": 3}, ratio),
    ):
        with pytest.raises(ValueError, match=said):
            Claim(case, **{"eta_max": Q(1), **wrong})
    assert Claim(Case.II, eta_max=Q(1, 10**6), local_steps=2, step_ratio=Q(1, 10**6)).step_ratio == Q(1, 10**6)
    assert Claim(Case.I, eta_max=Q(1), local_steps=1).reach == 3
    for slopes, offsets in (((), ()), ((1, 2), (1,))):
        with pytest.raises(ValueError, match="as many of one as of the other"):
            Instance(slopes, offsets)


@pytest.mark.parametrize("case", list(Case))
@pytest.mark.parametrize("I", [1, 2, 4])
def test_the_simulation_is_algorithm_1(case, I):
    """Round after round, with one step size each and with steps that vary in a round."""
    rng = np.random.default_rng(I)
    claim, steps = Claim(case, eta_max=Q(1), local_steps=I), rng.uniform(0.01, 0.3, (5, 6, I))
    for etas, given in ((steps, steps), (np.broadcast_to(steps[:, :1, :1], steps.shape), steps[:, 0, 0])):
        x = np.full(5, 0.5)
        found = simulate(case, given, 6, I)
        for n in range(6):
            for run in range(5):
                at = list(etas[run, n])
                x[run] += sum(eta * moved(claim, x[run], at, step) for step, eta in enumerate(at))
            np.testing.assert_allclose(found[:, n + 1], x, atol=1e-14)


@pytest.mark.parametrize("case", list(Case))
@pytest.mark.parametrize("only", [None, 0, 1, 2])
def test_the_recheck_encloses_the_move_of_every_step_and_hardly_more(case, only):
    claim, rng = Claim(case, eta_max=Q(1), local_steps=3, instance=THREE), np.random.default_rng(0)
    etas, x = [Q(1, 4), Q(1, 3), Q(1, 7)], Q(-3, 5)
    low, high = move(claim, (x, x), [(eta, eta) for eta in etas], only)
    assert 0 <= high - low < Q(1, 2**55)
    assert float(low) == pytest.approx(moved(claim, float(x), [float(eta) for eta in etas], only), abs=1e-13)
    wide = [(eta, eta + Q(1, 10)) for eta in etas]
    low, high = move(claim, (x, x + Q(1, 5)), wide, only)
    found = [
        moved(claim, float(x) + 0.2 * rng.random(), [float(eta) + 0.1 * rng.random() for eta in etas], only)
        for _ in range(100)
    ]
    assert low <= min(found) <= max(found) <= high and high - low < 3


def test_what_a_cover_needs_and_what_it_does_not():
    """Boxes may reach beyond the region, and strips beyond it need none; a gap of any width counts."""
    whole = Box(Q(0), Q(2), Q(0), Q(1))
    assert covers([whole], Q(0), Q(2), Q(1)) and covers([Box(Q(-1), Q(3), Q(-1), Q(2))], Q(0), Q(2), Q(1))
    for beyond in (Box(Q(0), Q(1), Q(1), Q(2)), Box(Q(0), Q(1), Q(-1), Q(0))):
        assert covers([whole, beyond], Q(0), Q(2), Q(1))
    assert not covers([whole], Q(0), Q(2) + Q(1, 10**9), Q(1)) and not covers([whole], Q(-1, 10**9), Q(2), Q(1))
    halves = [Box(Q(0), Q(1), Q(0), Q(1)), Box(Q(1) + Q(1, 10**9), Q(2), Q(0), Q(1))]
    assert not covers(halves, Q(0), Q(2), Q(1))
    short = [Box(Q(0), Q(2), Q(0), Q(1, 2)), Box(Q(0), Q(1), Q(1, 2), Q(1))]
    assert (
        not covers(short, Q(0), Q(2), Q(1)) and covers(short, Q(0), Q(1), Q(1)) and covers(short, Q(0), Q(2), Q(1, 2))
    )
    assert covers([halves[0], whole], Q(0), Q(2), Q(1)) and covers([whole, halves[0]], Q(0), Q(2), Q(1))
    assert not covers([], Q(0), Q(1), Q(1))


@pytest.mark.parametrize("ratio", [None, Q(1, 2)])
def test_the_recheck_of_a_single_point_is_its_inequality(ratio):
    """u + eta F >= 0; with two step sizes those that push down count in full, at the largest second step, the others not at all."""
    rng, seen = np.random.default_rng(1), set()
    for level, u, eta in zip((-3, 1) * 150, 5 * rng.random(300) ** 3, 2 * rng.random(300), strict=True):
        claim, x = Claim(Case.II, Q(2), threshold=Q(level), step_ratio=ratio, instance=THREE), level + u
        first, second = (moved(claim, x, [eta, eta], step) for step in (0, 1))
        room, upward = u + eta * (first + second), [first + second]
        if ratio is not None:
            room, upward = u + eta * min(first, 0) + 2 * min(second, 0), [second, first + float(ratio) * second]
        if min(map(abs, (room, *upward))) > 1e-9:
            holds = bool(room >= 0 or min(upward) >= 0)
            assert box_holds(claim, Box(Q(x), Q(x), Q(eta), Q(eta))) == holds
            seen.add((holds, *(bool(each >= 0) for each in upward), bool(first >= 0)))
    assert {holds for holds, *_ in seen} == {True, False} and len(seen) >= (3 if ratio is None else 6)


def test_a_counterexample_has_its_point_and_its_steps_inside_the_claim():
    claim = Claim(Case.I, eta_max=Q(1, 8), instance=Instance((4, -2), (0, 4)))
    found = certify(claim).counterexample
    assert found is not None and certifier.probe(claim, found.x, found.eta) == found
    assert is_counterexample(claim, replace(found, eta=claim.eta_max, second_eta=claim.eta_max))
    assert not is_counterexample(Claim(Case.I, eta_max=Q(1)), Counterexample(Q(1, 2), Q(1, 8), Q(1, 8), Q(1, 100)))
    for wrong in (
        {"x": claim.threshold - Q(1, 10**6)},
        {"eta": Q(0), "second_eta": Q(0)},
        {"eta": claim.eta_max + Q(1, 10**6), "second_eta": claim.eta_max + Q(1, 10**6)},
        {"second_eta": found.eta / 2},
    ):
        assert not is_counterexample(claim, replace(found, **wrong))
        if "second_eta" not in wrong or "eta" in wrong:
            assert certifier.probe(claim, wrong.get("x", found.x), wrong.get("eta", found.eta)) is None
    assert certifier.probe(claim, claim.threshold, claim.eta_max) is not None  # the ends are inside
    ratio = Claim(Case.II, eta_max=Q(1, 22), step_ratio=Q(1, 10))
    found = certifier.probe(ratio, Q(1, 2), Q(1, 50))
    assert found is not None and (found.second_eta, is_counterexample(ratio, found)) == (Q(1, 500), True)
    after = 0.5 + 0.02 * moved(ratio, 0.5, [0.02, 0.002], 0) + 0.002 * moved(ratio, 0.5, [0.02, 0.002], 1)
    assert float(found.below_by) == pytest.approx(0.5 - after, rel=1e-9) and found.below_by > 0
    for second, admitted in ((Q(1, 500), True), (Q(1, 501), False)):
        assert is_counterexample(ratio, replace(found, second_eta=second)) == admitted
    assert not is_counterexample(ratio, replace(found, second_eta=Q(1, 21)))
    more = Claim(Case.II, eta_max=Q(1, 22), step_ratio=Q(3))
    assert certifier.probe(more, Q(1, 2), Q(1, 22)) is None  # the second step is cut at the largest one


def test_the_region_that_is_searched_is_where_a_round_can_reach_below():
    """|a| is 3 on average: two steps move by less than 6 eta; with two step sizes each part has a bound of its own."""
    one, two = Claim(Case.II, eta_max=Q(1, 22)), Claim(Case.II, eta_max=Q(1, 22), step_ratio=Q(1, 2))
    assert certifier.search_region(one) == Box(Q(1, 2), Q(1, 2) + Q(6, 22), Q(0), Q(1, 22))
    assert certifier.search_region(two) == Box(Q(1, 2), Q(1, 2) + Q(12, 22), Q(0), Q(1, 22))
    assert Claim(Case.I, eta_max=Q(1), local_steps=3, instance=THREE).reach == 6


def test_boxes_are_cut_along_their_longer_side_and_counted():
    box = Box(Q(0), Q(3), Q(0), Q(1))
    assert box.split(Q(2)) == (Box(Q(0), Q(3, 2), Q(0), Q(1)), Box(Q(3, 2), Q(3), Q(0), Q(1)))
    assert box.split(Q(3)) == (Box(Q(0), Q(3), Q(0), Q(1, 2)), Box(Q(0), Q(3), Q(1, 2), Q(1)))
    for limit in (1, 2, 200):
        cut = certify(Claim(Case.I, eta_max=Q(3, 4)), box_limit=limit)
        assert (cut.status, cut.evaluations) == ("partial", limit)
        assert len(cut.undecided) == 1 + limit - 2 * len(cut.proved)  # every box that is not decided becomes two
    margins = [proved.margin for proved in cut.proved if proved.rule == "clearance"]
    assert cut.worst_margin("clearance") == min(margins) < max(margins)
    assert cut.worst_margin("other") is None


def test_balls_of_the_slope_and_of_the_curvature_have_the_values_at_their_ends():
    for low, high in ((Q(-1, 3), Q(5, 2)), (Q(1, 3), Q(5, 2)), (Q(-3), Q(-2))):
        ball, y = certifier.hull(low, high), np.linspace(float(low), float(high), 2001)
        for found, values in (
            (certifier.slope_ball(ball), slope(y)),
            (certifier.curvature_ball(ball), 4 / (y * y + 4) ** 1.5),
        ):
            ends = float(certifier.lower_fraction(found)), float(certifier.upper_fraction(found))
            assert ends == pytest.approx((values.min(), values.max()), abs=1e-6)
            assert ends[0] <= values.min() + 1e-15 and values.max() - 1e-15 <= ends[1]
