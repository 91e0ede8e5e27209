"""Which statements are about a run: equal hyperparameters, what None stands for, who takes part, horizons, estimates."""

from __future__ import annotations

import fedco
import pytest
from fedco.algorithms import DRFA, FedNova, LocalSGD, MetaFL, MinibatchSGD
from fedco.errors import InputError
from fedco.validation.experiments import bounds
from fedco.validation.runs.values import evaluate_at

NOISY = fedco.problem("federated_noisy")


def names(method, problem=NOISY, steps=16):
    return {match.theorem.id for match in bounds.matches(method, problem, steps)}


def test_hyperparameters_are_equal_up_to_rounding_and_no_further():
    one = LocalSGD(eta=0.3, tau=4)
    assert bounds.is_same(one, LocalSGD(eta=0.1 + 0.2, tau=4), NOISY)
    assert not bounds.is_same(one, LocalSGD(eta=0.3 * (1 + 1e-9), tau=4), NOISY)


def test_weights_that_are_not_set_are_equal_ones():
    unset, equal, other = (FedNova(eta=0.1, tau=2, weights=w) for w in (None, (1 / 8,) * 8, (1 / 4,) * 4 + (0.0,) * 4))
    assert bounds.is_same(unset, equal, NOISY) and not bounds.is_same(unset, other, NOISY)


def test_a_run_with_sampled_clients_is_that_of_the_statement_about_them():
    assert names(LocalSGD(eta=0.01, tau=1, m=2, b=8)) == {"library.sampled_sgd", "library.fedavg_sampled"}
    everybody = names(LocalSGD(eta=0.01, tau=1, b=8))
    assert names(LocalSGD(eta=0.01, tau=1, m=8, b=8)) == everybody >= {"baselines.local_sgd"}


@pytest.mark.parametrize(
    ("method", "name"),
    [
        (LocalSGD(eta=1e100, tau=2), "feddro_noisy"),
        (MinibatchSGD(eta=0.1, b=2), "conditional_noisy"),
        (DRFA(eta=0.1, gamma=1e100, tau=2), "local_noisy"),
    ],
)
def test_a_statement_that_gives_what_no_method_takes_is_not_about_the_run(method, name):
    """FedDRO's momentum would be above 1, a period 0: these ended in a traceback."""
    assert names(method, fedco.problem(name), 4) <= {"baselines.biased_sgd"}


def test_a_bound_of_another_metric_is_not_drawn_with_the_squared_gradient():
    method, problem = LocalSGD(eta=0.01, tau=1), fedco.problem("federated_strongly_convex")
    assert {fedco.theorem(name).metric.of for name in names(method, problem)} == {"gradient_sq"}
    with pytest.raises(InputError, match=r"local_sgd_convex: bounds .*; only a mean of squared gradients is drawn"):
        bounds.matches(method, problem, 16, only=["library.local_sgd_convex"])


def test_a_bound_above_what_holds_without_running_is_called_vacuous():
    method, problem = LocalSGD(eta=0.3, tau=2), fedco.problem("federated_homogeneous")
    (match,) = bounds.matches(method, problem, 20, only=["baselines.local_sgd_heterogeneity"])
    assert [note for note in match.worth(20).notes if note.startswith("vacuous")]


def test_an_estimated_constant_is_refused_whatever_the_problem_says_of_itself(monkeypatch):
    found = bounds.evaluate_at
    monkeypatch.setattr(bounds, "evaluate_at", lambda *given: (found(*given)[0], "estimated"))
    with pytest.raises(InputError, match="a constant of federated_noisy is estimated"):
        bounds.matches(LocalSGD(eta=0.01, tau=1, b=8), NOISY, 16, only=["baselines.local_sgd"])


def test_a_horizon_in_rounds_has_as_many_steps_in_each_and_none_for_a_part_of_a_round():
    """Theorem 8 of meta FL counts rounds: K = 8 is 16 steps of rounds of 2; 15 steps are no horizon; a batch D_H that is not set is D."""
    problem = fedco.problem("meta_noisy")
    method = MetaFL(beta=0.05, tau=2, D=16)
    (match,) = bounds.matches(method, problem, 16, only=["meta_fl.theorem_8"])
    exact, _ = evaluate_at(match.theorem, match.label, problem, dict(match.hyperparameters), 8)
    assert match.at(16) == (float(exact.total), exact.admissible) and match.at(15) is None
    assert bounds.is_same(method, MetaFL(beta=0.05, tau=2, D=16, D_H=16), problem)
    assert not bounds.is_same(method, MetaFL(beta=0.05, tau=2, D=16, D_H=2), problem)
    with pytest.raises(InputError, match="is about a run with other hyperparameters"):
        bounds.matches(method, problem, 15, only=["meta_fl.theorem_8"])
