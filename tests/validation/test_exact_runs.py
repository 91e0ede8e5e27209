"""Exact runs by hand: squares along a run, endless and long runs, a crowd, and what a search in doubles finds of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace

import numpy as np
import pytest
from fedco.algorithms import GossipSGD, LocalSGD, Schedule
from fedco.bounds.registry import get_theorem
from fedco.validation.exact import infinite_clients, long_run, run
from fedco.validation.exact.base import Instance
from fedco.validation.exact.problem import exact_problem
from fedco.validation.exact.run import (
    CannotReplay,
    endless,
    refined_start,
    scalar,
    stepped,
)
from fedco.validation.exact.statistic import Statistic
from fedco.validation.falsifier.confirm import Claimed, NotConfirmed, check_shape, sides
from fedco.validation.falsifier.declared import target_of
from fedco.validation.falsifier.laws import MOMENTS, PARTIAL, PATHS, POWERS
from fedco.validation.falsifier.rounding import drafts, settle
from fedco.validation.falsifier.search_space import SearchSpace
from fedco.validation.falsifier.spaces import SPACES
from searching import targeted

# --- runs --------------------------------------------------------------------------------------------------------------------

WELL = {"knots": [[Q(-8), Q(8)]], "slopes": [[Q(-8), Q(8)]], "gradient_noise": [Q(0)]}


def well(start: Q = Q(2), **changes):
    """F' = x within 8 of 0, which a step of 1/2 halves."""
    return exact_problem(Instance("federated", {**WELL, "start": start, **changes}))


def halving(period: int = 2) -> LocalSGD:
    return LocalSGD(eta=scalar(Q(1, 2)), tau=period)


def test_squares_along_a_run_by_hand():
    """2, 1, 1/2, 1/4, 1/8."""
    assert stepped(halving(), well(), 4) == ((4 + 1 + Q(1, 4) + Q(1, 16)) / 4,) * 2
    assert stepped(halving(), well(), 4, Statistic(after=True)) == ((1 + Q(1, 4) + Q(1, 16) + Q(1, 64)) / 4,) * 2
    assert stepped(halving(), well(), 4, Statistic(every=2)) == ((4 + Q(1, 4)) / 2,) * 2
    assert stepped(halving(), well(), 4, Statistic(every=2, after=True)) == ((Q(1, 4) + Q(1, 64)) / 2,) * 2
    with pytest.raises(CannotReplay, match="wanted at most 4096"):
        stepped(halving(), well(), 4097)


def test_an_endless_run_from_a_fixed_point_and_from_an_interval():
    assert (
        run.invariant_interval(halving(), well(Q(0)), 2)
        == (0, 0)
        == run.invariant_interval(halving(), well(Q(1, 3)), 2)
    )
    assert endless(halving(), well(Q(0)), 2, (Q(0), Q(0))) == (0, 0)
    low, high = endless(halving(), well(Q(1)), 2, (Q(1, 2) - 1, Q(1)))
    assert low == 0 and high == (1 + Q(1, 4)) / 2
    with pytest.raises(CannotReplay, match="leaves the interval"):
        endless(halving(), well(Q(1)), 2, (Q(1, 2), Q(1)))
    assert abs(refined_start(halving(), well(Q(1, 7)), 2, Q(1))) < Q(1, 2**200)
    with pytest.raises(CannotReplay, match="inwards"):
        refined_start(halving(), well(Q(3)), 2, Q(1))


def resting(at: Q, start: Q, size: Q = Q(8)):
    """F' = x - at to the left of `at` and half of that to the right: a kink at the rest."""
    return well(start, knots=[[at - size, at, at + size]], slopes=[[-size, Q(0), size / 2]])


def test_an_interval_that_a_round_keeps_is_looked_for_on_four_scales():
    """2^-200, 2^-184, 2^-168 and 2^-152, of the start where that is above 1: the first that reaches the rest beside the start."""
    for away, radius in ((2**190, Q(1, 2**184)), (2**170, Q(1, 2**168)), (2**153, Q(1, 2**152))):
        start = -Q(1, away)
        assert run.invariant_interval(halving(), resting(Q(0), start), 2) == (start - radius, start + radius)
    with pytest.raises(CannotReplay, match="no interval around the start"):
        run.invariant_interval(halving(), resting(Q(0), -Q(1, 2**151)), 2)
    far = 4096 - Q(1, 2**175)
    low, high = run.invariant_interval(halving(), resting(Q(4096), far), 2)
    assert low < far < high and (high - low) / 2 == Q(1, 2**172) * far / 4096


PULLED = {
    "knots": [[Q(-8), Q(8)]] * 4,
    "slopes": [[Q(-9), Q(7)], [Q(-7), Q(9)], [Q(-12), Q(4)], [Q(-4), Q(12)]],
    "gradient_noise": [Q(0)] * 4,
    "start": Q(0),
}
"""Four clients whose pulls cancel at 0."""


def test_a_round_that_leaves_the_models_apart_is_not_repeated():
    """From 0 everywhere the mean stays at 0 for one exchange on a ring, and the models are apart after it."""
    gossip, both = GossipSGD(eta=scalar(Q(1, 2)), tau=2), exact_problem(Instance("federated", PULLED))
    for ask in (lambda m: run.invariant_interval(m, both, 2), lambda m: endless(m, both, 2, (Q(0), Q(0)))):
        with pytest.raises(CannotReplay, match="gossip_sgd does not average the models at the end of a round"):
            ask(gossip)
        ask(halving())
        ask(GossipSGD(eta=scalar(Q(1, 2)), tau=2, topology="complete"))


@pytest.mark.parametrize("every", [1, 64])
def test_rounds_with_steps_of_their_own_are_not_repeated(every):
    """A schedule that changes late does the same in the rounds that are compared."""
    method = LocalSGD(eta=Schedule(scalar(Q(1, 2)), scalar(Q(1)), every=every), tau=2)
    noisy = well(gradient_noise=[Q(1)])
    for ask in (
        lambda: run.invariant_interval(method, well(), 2),
        lambda: endless(method, well(), 2, (Q(0), Q(0))),
        lambda: long_run.in_powers(method, noisy, 20, 2),
        lambda: infinite_clients.InfiniteClients(method, noisy, 2, 2),
    ):
        with pytest.raises(CannotReplay, match="local_sgd has a schedule in t: no round is like another"):
            ask()
    first, second = (Q(1, 2), Q(1, 4)) if every == 1 else (Q(1, 2), Q(1, 2))
    end = 2 * (1 - first)
    assert stepped(method, well(), 3)[0] == (4 + end**2 + (end * (1 - second)) ** 2) / 3


def test_a_fixed_point_at_which_clients_pull_has_one_square():
    """F_1' = x - 1, F_2' = (x + 1) / 2: a round of two halves ends at (13 x + 5) / 32, F' = (3 x - 1) / 4 at 5/19 and 11/38."""
    parameters = {
        "knots": [[Q(-8), Q(8)]] * 2,
        "slopes": [[Q(-9), Q(7)], [Q(-7, 2), Q(9, 2)]],
        "gradient_noise": [Q(0)] * 2,
        "start": Q(5, 19),
    }
    both = exact_problem(Instance("federated", parameters))
    assert run.invariant_interval(halving(), both, 2) == (Q(5, 19), Q(5, 19))
    first, second = Q(1, 19) ** 2, Q(5, 152) ** 2
    assert endless(halving(), both, 2, (Q(5, 19),) * 2) == ((first + second) / 2,) * 2
    assert endless(halving(), both, 2, (Q(5, 19),) * 2, Statistic(every=2)) == (first, first)


def test_a_fixed_point_is_found_however_near_a_kink_is():
    """F' = x - 1/1000 up to 1/500, and half as steep beyond: a round is affine on a short interval only."""
    rest, kink = Q(1, 1000), Q(1, 500)
    bent = well(Q(0), knots=[[Q(-8), kink, Q(8)]], slopes=[[-8 - rest, kink - rest, kink - rest + (8 - kink) / 2]])
    assert run.invariant_interval(halving(), bent, 2) == (rest, rest)


def test_a_long_run_is_one_of_whole_rounds():
    for steps, period, every in ((7, 2, 1), (8, 4, 3), (2, 2, 1)):
        with pytest.raises(CannotReplay, match="whole rounds"):
            long_run.in_powers(halving(), well(), steps, period, Statistic(every=every))


def test_a_long_run_has_two_rounds_and_up_to_two_to_the_sixtieth_after_the_first():
    """From 2 without noise the squares add up to (4 + 1) (1 + 1/16 + ...) = 16/3, over 2 gradients of each round."""
    short, _ = long_run.in_powers(halving(), well(), 4, 2), None
    assert short[0] <= (4 + 1 + Q(1, 4) + Q(1, 16)) / 4 <= short[1]
    rounds = 2**60 + 1
    low, high = long_run.in_powers(halving(), well(), 2 * rounds, 2)
    assert low <= Q(16, 3) / (2 * rounds) * (1 + Q(1, 2**100)) and Q(16, 3) / (2 * rounds) * (1 - Q(1, 2**100)) <= high
    assert high - low < Q(1, 2**300)
    with pytest.raises(CannotReplay, match="at least two"):
        long_run.in_powers(halving(), well(), 2 * (rounds + 1), 2)


@pytest.mark.parametrize("when", [1, 2, 5])
def test_a_method_that_does_something_else_in_a_round_is_not_run_by_powers(when):
    """The rounds after the first that are compared are those of the times 1, 2 and 5."""

    class Twice(LocalSGD):
        def local_step(self, problem, state, draws, t):
            moved = super().local_step(problem, state, draws, t)
            return super().local_step(problem, moved, draws, t) if t == when else moved

    with pytest.raises(CannotReplay, match="not do the same in every round"):
        long_run.in_powers(Twice(eta=scalar(Q(1, 2)), tau=1), well(), 40, 1)


def test_a_run_over_all_paths_is_the_mean_over_them():
    """A kink at 0, noise 2, steps of 1/2: from 0 to -+1, then to -1/4, 7/4, 1/2 and -3/2, where slopes are 1/2 and 1."""
    bent = well(Q(0), gradient_noise=[Q(2)], knots=[[Q(-8), Q(0), Q(8)]], slopes=[[Q(-8), Q(0), Q(4)]])
    first, second = (Q(1, 4) + 1) / 2, (Q(1, 16) + Q(49, 64) + Q(1, 16) + Q(9, 4)) / 4
    assert stepped(halving(1), bent, 3) == ((first + second) / 3,) * 2
    assert stepped(halving(1), bent, 2, Statistic(after=True)) == ((first + second) / 2,) * 2


def test_a_crowd_of_quadratics_by_hand(monkeypatch):
    """Noise 1 and steps of 1/2 from [-1, 1]: a round of two ends in [-1/4, 1/4], 3/4 within, its models in [-1, 1]."""
    noisy = well(Q(0), gradient_noise=[Q(1)])
    made = infinite_clients.InfiniteClients(halving(), noisy, infinite_clients.bits_of(halving(), noisy, 2), 2)
    assert made.bits == 2 and made._margin(Q(-1), Q(1)) == Q(3, 4) and made.end(Q(1)) == Q(1, 4)
    passed = made.models(Q(1))
    assert [sorted(set(models)) for models in passed] == [[1], [0, 1], [Q(-1, 2), 0, Q(1, 2), 1], [Q(1, 4)]]
    asked = []
    monkeypatch.setattr(infinite_clients, "chance_to_miss", lambda *given: asked.append(given) or Q(1, 100))
    low, high = made.average((Q(-1), Q(1)), 50, 3)
    assert asked == [(50, Q(3, 4), Q(2))]
    missed = 3 * 3 * Q(1, 100)
    # at t = 0 the average is within 3/4 of [-1, 1], at t = 1 within 3/4 of [-1/2, 1/2]
    assert low == 0 and high == ((1 + Q(3, 4)) ** 2 + (Q(1, 2) + Q(3, 4)) ** 2) / 2 + missed * 64
    only, _ = made.average((Q(-1), Q(1)), 50, 3, Statistic(every=2)), None
    assert only[1] == (1 + Q(3, 4)) ** 2 + missed * 64
    with pytest.raises(CannotReplay, match="too few clients"):
        made.average((Q(-1), Q(1)), 50, 34)
    asked.clear()
    loud = well(Q(0), gradient_noise=[Q(2)])  # the second step leads to x / 4 -+ 1/2 -+ 1, within 7/4 of 0
    infinite_clients.InfiniteClients(halving(), loud, infinite_clients.bits_of(halving(), loud, 2), 2).average(
        (Q(-1), Q(1)), 50, 3
    )
    assert asked == [(50, Q(3, 4), Q(7, 2))]


@pytest.mark.parametrize("when", [0, 1])
def test_a_method_that_exchanges_models_within_a_round_has_no_crowd(when):
    class Early(LocalSGD):
        def communicate(self, problem, state, t):
            return LocalSGD(eta=self.eta, tau=1).communicate(problem, state, t) if t in (when, 2) else state

    noisy = well(Q(0), gradient_noise=[Q(1)])
    with pytest.raises(CannotReplay, match="exchanges models within a round"):
        infinite_clients.InfiniteClients(Early(eta=scalar(Q(1, 2)), tau=3), noisy, 3, 3)
    assert len(infinite_clients.InfiniteClients(halving(3), noisy, 3, 3).models(Q(1))) == 5


def test_too_many_signs_of_a_client_are_refused():
    noisy = well(Q(0), gradient_noise=[Q(1)])
    assert infinite_clients.bits_of(halving(6), noisy, 6) == 6
    with pytest.raises(CannotReplay, match="7 signs"):
        infinite_clients.bits_of(halving(7), noisy, 7)


# --- a search in doubles and the exact check --------------------------------------------------------------------------------------

SEARCHED = {
    "a run": ("baselines.local_sgd", SPACES["federated"].silent[0], 2, 2, 8, {}),
    "a run of bowls": ("baselines.local_sgd_heterogeneity", SPACES["federated"].silent[1], 2, 3, 6, {}),
    "a run with an inner estimate": ("baselines.scgd", SPACES["local_composite"].silent[0], 2, 1, 8, {}),
    "a run with momentum": ("local_scgdm.theorem_3_4", SPACES["local_composite"].silent[3], 2, 2, 4, {}),
    "a lemma along a run": ("local_scgdm.lemma_4_1", SPACES["local_composite"].silent[3], 2, 2, 4, {}),
    "an endless run": ("baselines.local_sgd", SPACES["federated"].silent[0], 2, 2, 16, {"stays": True}),
    "moments": ("baselines.local_sgd", SPACES["federated"].affine[0], 2, 2, 4, {"law": MOMENTS}),
    "moments behind inner maps": ("baselines.scgd", SPACES["local_composite"].affine[0], 1, 1, 4, {"law": MOMENTS}),
    "powers": ("baselines.local_sgd", SPACES["federated"].affine[0], 1, 2, 2 * (1 + 2**9), {"law": POWERS}),
    "paths": ("baselines.local_sgd", SPACES["federated"].silent[0], 1, 2, 4, {"law": PATHS}),
    "rounds": ("meta_fl.theorem_8", SPACES["meta"].partial[0], 2, 2, 16, {"law": PARTIAL, "stays": True, "settings": {"nu": 1}}),
}  # fmt: skip


@pytest.mark.parametrize("kind", SEARCHED)
def test_a_search_scores_what_the_exact_check_finds(kind):
    """Left side over bound of instances at random, in doubles and in fractions, the step just below its limit in both."""
    name, space, clients, period, horizon, more = SEARCHED[kind]
    target, formula = targeted(name)
    search_space = SearchSpace(target, formula, space, clients, period, horizon, **more)
    points = np.random.default_rng(0).random((48, search_space.size))
    scores = search_space.score(points)
    order = np.argsort(-np.where(scores < -0.05, scores, -np.inf))
    compared = 0
    for k in order[:6]:
        candidate = search_space.candidate(points[k])
        made = replace(
            list(drafts(target, search_space.formula, candidate, search_space.settings))[1], play=Q(999999, 1000000)
        )
        try:
            found = sides(target, settle(target, search_space.formula, made))
        except NotConfirmed:  # an enclosure where the exact run needs a number, or an interval that is not kept
            continue
        assert candidate.score > -8 and 10**candidate.score == pytest.approx(found.ratio, rel=1e-4)
        compared += 1
    assert compared, "nothing to compare"


def test_what_a_check_says_of_clients_that_stand_for_many():
    """A group of equal clients moves as one without noise; with noise an endless run is about an average of very many."""
    target = target_of(get_theorem("baselines.local_sgd"), "printed")
    for noisy, ends, said in (
        (False, None, "moves as one"),
        (False, (Q(0), Q(1)), "moves as one"),
        (True, None, "moves as one"),
        (True, (Q(0), Q(1)), "whose noise is independent"),
    ):
        made = well(gradient_noise=[Q(int(noisy))])
        (line,) = check_shape(target, Claimed(SimpleNamespace(parameters={}), {}, {}, ends), made)  # type: ignore[arg-type]
        assert said in line
    groups, very_many, one = "whose noise is the mean of theirs", "whose noise is independent", "moves as one"
    for ends, given, said in ((None, Q(2), groups), ((Q(0), Q(1)), Q(2), very_many), (None, Q(1), one)):
        claimed = Claimed(SimpleNamespace(parameters={}), {}, {"N": given}, ends)  # type: ignore[arg-type]
        assert said in check_shape(target, claimed, well(gradient_noise=[Q(1)]))[0]
    lemma = replace(target, link=SimpleNamespace())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="noise of equal clients differs"):
        check_shape(lemma, Claimed(SimpleNamespace(parameters={}), {}, {"N": Q(2)}), well(gradient_noise=[Q(1)]))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="wanted a multiple of 1 clients"):
        check_shape(target, Claimed(SimpleNamespace(parameters={}), {}, {"N": Q(3, 2)}), well())  # type: ignore[arg-type]
