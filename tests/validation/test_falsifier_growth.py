"""Wrong orders: rounds are made longer where a ratio grows with them, and clients stand for groups whose noise is the mean of theirs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q

import fedco
import numpy as np
import pytest
from fedco.algorithms import LocalSGD
from fedco.bounds.language.change import Change
from fedco.bounds.language.definition import keys_of
from fedco.bounds.language.theorem import Theorem
from fedco.bounds.registry import get_theorem
from fedco.validation.exact.infinite_clients import laid_out
from fedco.validation.exact.interval import Bends
from fedco.validation.exact.long_run import in_powers
from fedco.validation.exact.noise import GroupSigns, expectation
from fedco.validation.exact.problem import ExactProblem, Instance, exact_problem
from fedco.validation.exact.run import scalar, stepped
from fedco.validation.falsifier.confirm import NotConfirmed, confirm
from fedco.validation.falsifier.declared import target_of
from fedco.validation.falsifier.exact_run import ExactRun
from fedco.validation.falsifier.formula import Formula
from fedco.validation.falsifier.growth import FACTOR, grows_from, longest_times, next_times, with_rounds
from fedco.validation.falsifier.laws import MOMENTS, POWERS, law_of
from fedco.validation.falsifier.search import Claim, Search
from searching import claims_on, falsified, replayed, spaces_of

SGD = get_theorem("baselines.local_sgd")


# --- longer rounds ------------------------------------------------------------------------------------------------------------


def wrong_drift() -> Theorem:
    """4 eta^2 p L^2 (G^2 + sigma^2) for the drift of local SGD, which grows like p^2 / 3: true up to rounds of 12 steps."""
    keys = keys_of(SGD, "printed")
    del keys["derived"]["M"]
    terms = {**keys["terms"], "drift": "4*eta**2*p*L**2*(G**2 + sigma**2)"}
    return fedco.define(**{**keys, "id": "mine.wrong_drift", "terms": terms})


def test_a_lost_power_of_the_period_is_found_though_it_shows_in_long_rounds_only() -> None:
    short = [i for i in spaces_of(wrong_drift()) if i.stays and i.period == 4 and not i.is_random]
    (sampled,), (claim,) = (claims_on(short, None, evolve=evolve) for evolve in (False, True))
    assert (
        sampled.is_open
        and claim.found.violation is not None
        and claim.found.violation.claimed.hyperparameters["p"] > 12
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_lost_power_of_the_period_is_found_in_seconds(seed: int) -> None:
    found = falsified(wrong_drift(), seconds=30, seed=seed)
    assert found.refuted and int(found.instance["p"]) > 12


def test_rounds_are_made_longer_where_the_ratio_grows_with_them_and_further_the_slower_it_does() -> None:
    assert next_times(4, -0.5, -0.1, 1024) == 16  # 0.4 from one length to the next: half of it is left
    assert next_times(4, -1.0, -0.7, 1024) == 64  # three more lengths are needed, and two are taken at once
    assert next_times(16, -1.0, -0.4, 64) == 64 and next_times(16, -1.0, -0.4, 16) is None
    for before, after in ((-0.5, -0.5), (-0.5, -0.6), (-0.5, -0.49), (-0.5, -30.0), (-30.0, -12.0)):
        assert next_times(4, before, after, 1024) is None


def test_the_same_runs_have_longer_rounds() -> None:
    grown = [i for i in spaces_of(SGD) if grows_from(i)]
    assert {i.law.name for i in grown} == {"none", "powers"} and {i.period for i in grown} == {4}
    for space in grown:
        longer = with_rounds(space, FACTOR)
        assert (longer.period, longer.size, longer.clients) == (16, space.size, space.clients)
        assert longer.horizon == space.horizon * (1 if space.stays else FACTOR)
    assert longest_times(grown[0], lambda space: True) * 4 == 2**12
    assert longest_times(grown[0], lambda space: space.period < 20) == 4
    assert not any(grows_from(i) for i in spaces_of(SGD, where=("p=4",)))


# --- groups of clients ----------------------------------------------------------------------------------------------------------


def bowls(repeated: int, width: Q = Q(900), start: Q = Q(2)) -> ExactProblem:
    """Two clients whose minimisers differ, each so many times."""
    parameters = {
        "knots": [[-width, width], [1 - width, 1 + width]],
        "slopes": [[-width, width]] * 2,
        "gradient_noise": [Q(1), Q(1, 3)],
    }
    return exact_problem(
        Instance(
            "federated",
            {**{n: [row for row in v for _ in range(repeated)] for n, v in parameters.items()}, "start": start},
        )
    )


def method() -> LocalSGD:
    return LocalSGD(eta=scalar(Q(1, 10)), tau=2)


def test_a_group_of_three_has_the_second_moments_of_its_members() -> None:
    """Against all members, each with signs of its own, stepped through in fractions."""
    low, high = in_powers(method(), laid_out(bowls(1), 1), 8, 2, members=3)
    wanted = stepped(method(), bowls(3), 8)[0]
    assert low <= wanted <= high and high - low < Q(1, 10**50)


def test_a_member_of_a_group_may_go_further_than_its_mean() -> None:
    """A client alone stays within a bowl that a member of a group may leave: what it is off its group is up to 2 of its signs."""
    narrow = bowls(1, Q(6, 5), Q(1, 2))
    assert in_powers(method(), narrow, 8, 2)
    with pytest.raises(Bends):
        in_powers(method(), laid_out(narrow, 1), 8, 2, members=2)


def test_the_signs_of_two_members_are_their_mean_and_opposite_offsets() -> None:
    first, second = GroupSigns(1).at(0).signs("a").numbers[0]
    mean = (first + second) / 2
    assert expectation(mean * mean) * GroupSigns.mean_share(7) == Q(1, 7) and mean.reach == 1
    assert (first - mean).reach == (second - mean).reach == 2 and (first + second - 2 * mean).reach == 0


def test_a_lost_power_of_the_clients_is_found_where_they_act_in_groups() -> None:
    (claim,) = claims_on(
        [i for i in spaces_of("baselines.scgd") if i.law is POWERS], Change("variance", "power", Q(-1), "N")
    )
    assert claim.found.violation is not None, claim.found.ratio
    claimed = claim.found.violation.claimed
    clients = len(claimed.instance.parameters["gradient_noise"])
    assert claimed.hyperparameters["N"] > clients and any(claimed.instance.parameters["gradient_noise"])
    assert replayed(claim.target, claim.found.violation)
    with pytest.raises(NotConfirmed, match="the bound holds"):  # with one client for each group 1/N is the same
        confirm(claim.target, replace(claimed, hyperparameters={**claimed.hyperparameters, "N": Q(1)}))


# --- what an exact check may take --------------------------------------------------------------------------------------------


def test_a_run_with_noise_is_stepped_through_while_its_numbers_are_short() -> None:
    """A search of ComFedL took 7 GB: in 100 steps of eight clients a number has thousands of signs, in fractions of 30,000 digits."""
    target = target_of(SGD, "printed")

    def law(steps: int, clients: int, copies: int = 1):
        point = {n: (Q(v), Q(v)) for n, v in {"T": steps, "p": 1, "b": 1, "N": clients * copies}.items()}
        return law_of(ExactRun(target, bowls(clients // 2), point))

    assert law(64, 2) is MOMENTS and law(65, 2) is POWERS
    assert law(16, 8) is MOMENTS and law(17, 8) is POWERS
    assert law(8, 2, copies=3) is POWERS
    problem = bowls(1)
    once = LocalSGD(eta=scalar(Q(1, 10)), tau=1)
    low, high = in_powers(once, problem, 64, 1)
    assert low <= stepped(once, problem, 64)[0] <= high


def test_after_its_time_a_search_begins_one_more_exact_check(monkeypatch: pytest.MonkeyPatch) -> None:
    now = {"at": 0.0}
    run = Search([], Formula(SGD, "printed"), [Claim(target_of(SGD, "printed"))], 0, 1.0, None, lambda: now["at"])
    assert [run.has_time_to_check() for _ in range(3)] == [True] * 3
    now["at"] = 2.0
    assert [run.has_time_to_check() for _ in range(3)] == [True, False, False]


def test_free_clients_of_a_run_with_noise_are_groups() -> None:
    for space in [i for i in spaces_of("baselines.scgd") if i.is_random]:
        numbers = space.numbers(np.random.default_rng(0).random((64, space.size)))[1]["N"]
        has_groups = space.law is POWERS and not space.space.own_noise
        if not space.law.infinite:
            assert (np.max(numbers) > space.clients) == has_groups
