"""Planted falsehoods that only one kind of search space shows, and what the search reads off such a search space."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as Q
from itertools import product
from typing import Any

import numpy as np
import pytest
from fedco.algorithms import LocalSGD
from fedco.bounds.language.change import Change
from fedco.validation.exact.infinite_clients import InfiniteClients, bits_of, chance_to_miss
from fedco.validation.exact.noise import AllPaths
from fedco.validation.exact.problem import ExactProblem, Instance, exact_problem
from fedco.validation.exact.run import CannotReplay, Walk, scalar
from fedco.validation.falsifier.confirm import Confirmed, NotConfirmed, confirm
from fedco.validation.falsifier.declared import Target
from fedco.validation.falsifier.laws import INFINITE, PARTIAL, POWERS
from fedco.validation.falsifier.search_space import SearchSpace
from quick import slow_but
from searching import claims_on, replayed, spaces_of


def found_on(name: str, label: str, part: str, where: Callable[[SearchSpace], bool]) -> tuple[Target, Confirmed]:
    """A violation of a statement without a term, searched on some of its search spaces only, and checked exactly."""
    (claim,) = claims_on([i for i in spaces_of(name, label) if where(i)], Change(part, "dropped"))
    assert claim.found.violation is not None, f"{claim.found.ratio:.3g}"
    return claim.target, claim.found.violation


@pytest.mark.parametrize("name", slow_but(["meta_fl.theorem_8"], ["meta_fl.theorem_8", "meta_fl.theorem_8_FO"]))
def test_noise_of_gradients_shows_the_noise_term_of_meta_learning(name: str) -> None:
    _, found = found_on(name, "corrected", "noise", lambda i: i.law is POWERS and i.period == 1)
    assert found.ratio > 2 and any(found.claimed.instance.parameters["gradient_noise"])


def test_one_of_two_clients_in_a_round_shows_the_sampling_term_where_fine_tuning_is_short() -> None:
    """The bias of the first-order method, which stays in the bound, vanishes with the fine-tuning step."""
    _, found = found_on(
        "meta_fl.theorem_8_FO",
        "corrected",
        "sampling",
        lambda i: i.law is PARTIAL and "short" in i.name,
    )
    assert found.ratio > 2 and found.claimed.hyperparameters["r"] == Q(1, 2)


def test_long_rounds_of_many_clients_show_the_drift_by_heterogeneity() -> None:
    """Where everything that is divided by clients and samples is gone, in a run of 1e12 steps without noise."""
    _, found = found_on(
        "feddro.theorem_5_1", "corrected", "drift_heterogeneity", lambda i: i.name.endswith("in powers of a round")
    )
    sizes = found.claimed.hyperparameters
    assert found.ratio > 1.05 and sizes["K"] * sizes["b"] > 1e4
    assert not any(found.claimed.instance.parameters["gradient_noise"])


def test_long_runs_with_noise_in_jacobians_show_the_heterogeneity_of_the_innovation() -> None:
    """At the theorem's own schedule, in 2^61 steps, on every path of the noise: a bundle of it is confirmed from its data alone."""
    target, found = found_on(
        "feddro.theorem_5_1", "corrected", "inner_heterogeneity", lambda i: i.law.name == "long moments"
    )
    sizes = found.claimed.hyperparameters
    assert found.ratio > 1.05 and sizes["T"] >= 2**41 and sizes["I"] >= 2
    assert any(found.claimed.instance.parameters["jacobian_noise"])
    assert replayed(target, found)


def test_clients_without_number_show_what_noise_does_within_a_round() -> None:
    target, found = found_on("baselines.local_sgd_heterogeneity", "printed", "noise_drift", lambda i: i.law is INFINITE)
    assert found.ratio > 2 and found.claimed.hyperparameters["N"] >= 10**60
    assert any(found.claimed.instance.parameters["gradient_noise"])
    fewer = replace(found.claimed, hyperparameters={**found.claimed.hyperparameters, "N": Q(8)})
    assert replayed(target, found)
    with pytest.raises(NotConfirmed, match="too few clients"):
        confirm(target, fewer)
    with pytest.raises(NotConfirmed, match="wanted whole rounds"):
        confirm(target, replace(fewer, interval=None))


@pytest.mark.slow
def test_clients_without_number_show_the_bias_of_fine_tuning() -> None:
    """No step size makes it small: what a step expects is 0 where the gradient is not."""
    _, found = found_on("meta_fl.theorem_8", "corrected", "bias", lambda i: i.law is INFINITE and i.period == 1)
    assert found.ratio > 1.05 and found.claimed.hyperparameters["n"] >= 10**60


def test_a_true_statement_survives_clients_without_number() -> None:
    crowds = [i for i in spaces_of("baselines.local_sgd_heterogeneity") if i.law is INFINITE]
    (claim,) = claims_on(crowds, None, evolve=False)
    assert claim.is_open and claim.found.evaluations >= 64 * len(crowds) > 0


BENT = {"knots": [[Q(-1), Q(0), Q(2)]], "slopes": [[Q(-1), Q(0), Q(4)]], "gradient_noise": [Q(3)]}


def clients(number: int, start: Q = Q(1, 8)) -> ExactProblem:
    """So many equal clients, each with its own noise."""
    return exact_problem(Instance("federated", {**{n: v * number for n, v in BENT.items()}, "start": start}))


def steps_of(period: int) -> LocalSGD:
    return LocalSGD(eta=scalar(Q(1, 4)), tau=period)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_round_of_a_crowd_ends_where_a_round_of_any_number_is_expected_to(number: int) -> None:
    """By all paths of all clients: the noise bends, so that it matters."""
    problem, period = clients(number), 3
    crowd = InfiniteClients(steps_of(period), clients(1), bits_of(steps_of(period), clients(1), period), period)
    run = Walk(steps_of(period), problem, problem.start, AllPaths(number * period, number))
    for _ in range(period):
        run.step()
    assert sum(run.averages, Q(0)) / len(run.averages) == crowd.end(problem.start)
    silent = exact_problem(Instance("federated", {**BENT, "gradient_noise": [Q(0)], "start": problem.start}))
    alone = Walk(steps_of(period), silent, silent.start)
    for _ in range(period):
        alone.step()
    assert alone.average != crowd.end(problem.start)


def test_a_crowd_in_doubles_is_the_exact_one() -> None:
    crowds = [i for i in spaces_of("baselines.local_sgd_heterogeneity") if i.law is INFINITE]
    search_space = next(i for i in crowds if i.clients == 2 and i.period == 4)
    parameters, values = search_space.numbers(np.random.default_rng(0).random((4, search_space.size)))
    ends, squares = search_space.law.round(search_space, parameters, values, 4)
    for run in range(4):
        exact = {n: v[run].tolist() if v.ndim > 1 else float(v[run]) for n, v in parameters.items()}
        problem = exact_problem(Instance("federated", _as_fractions(exact)))
        method = LocalSGD(eta=scalar(Q(float(values["eta"][run]))), tau=4)
        crowd = InfiniteClients(method, problem, 4, 4)
        size = float(np.ptp(parameters["knots"][run]))
        assert float(crowd.end(problem.start)) == pytest.approx(ends[run], abs=1e-12 * size)
        *models, _, _ = crowd.models(problem.start)
        found = [float(problem.gradient_at(sum(m, Q(0)) / len(m))) ** 2 for m in models]
        assert np.mean(found) == pytest.approx(squares[run], rel=1e-6)


def _as_fractions(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_fractions(part) for name, part in value.items()}
    return [_as_fractions(part) for part in value] if isinstance(value, list) else Q(value)


def test_how_far_an_average_can_be_from_its_mean() -> None:
    """The bound against all outcomes of so many fair signs."""
    for number in (6, 12):
        means = [Q(sum(signs), number) for signs in product((-1, 1), repeat=number)]
        for margin in (Q(1, 2), Q(2, 3), Q(5, 6)):
            share = Q(sum(abs(mean) >= margin for mean in means), len(means))
            assert share <= chance_to_miss(number, margin, Q(2))
    assert chance_to_miss(32, Q(1, 2), Q(2)) == 2 * Q(1, 16) and chance_to_miss(10**9, Q(1), Q(1)) == 2 * Q(1, 2**4096)
    assert chance_to_miss(5, Q(1, 10), Q(0)) == 0


class Shared(LocalSGD):
    """Every client takes the mean gradient of all."""

    def local_step(self, problem: Any, state: Any, draws: Any, t: int) -> Any:
        gradients = problem.local_gradient(state.x, problem.sample(draws, 1))
        mean = gradients.mean(1, True).expand(-1, problem.clients, -1)
        return replace(state, x=state.x - self.eta * mean)


def test_clients_that_do_not_run_their_rounds_by_themselves_are_refused() -> None:
    bits = 2
    with pytest.raises(CannotReplay, match="depends on the noise of others"):
        InfiniteClients(Shared(eta=scalar(Q(1, 4)), tau=2), clients(1), bits, 2)
    with pytest.raises(CannotReplay, match="exchanges models within a round"):
        InfiniteClients(steps_of(1), clients(1), bits, 2)
    with pytest.raises(CannotReplay, match="does not average"):
        InfiniteClients(steps_of(3), clients(1), bits, 2)


def test_an_interval_that_a_crowd_leaves_is_refused() -> None:
    crowd = InfiniteClients(steps_of(2), clients(1), 2, 2)
    with pytest.raises(CannotReplay, match="leaves the interval"):
        crowd.average((Q(1, 16), Q(3, 16)), 10**60, 10**60)
    rest = crowd.refined_start(Q(1))
    kept = (rest - Q(1, 1000), rest + Q(1, 1000))
    low, high = crowd.average(kept, 10**60, 10**60)
    mean = crowd.problem.gradient_at(rest) ** 2
    assert 0 < low <= mean * Q(3, 2) and high < 10 * mean + 1
    with pytest.raises(CannotReplay, match="too few clients"):
        crowd.average(kept, 100, 10**60)


@pytest.mark.parametrize(
    ("name", "label"),
    [
        pytest.param("meta_fl.theorem_8", "corrected", marks=pytest.mark.slow),
        ("baselines.local_sgd_heterogeneity", "printed"),
        ("comfedl.lemma_3_step", "composed"),
    ],
)
def test_the_effort_of_every_island_is_known(name: str, label: str) -> None:
    """A search that comes to a search space asks for it, whatever its noise is."""
    listed = spaces_of(name, label)
    assert all(0 < search_space.effort(64) < search_space.effort(4096) < 1000 for search_space in listed)
    wanted = {"meta_fl.theorem_8": {"none", "powers", "partial participation", "infinite clients"}}.get(name, {"none"})
    assert {i.law.name for i in listed} >= wanted
