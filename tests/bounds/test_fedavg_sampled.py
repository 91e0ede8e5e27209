"""FedAvg with sampled clients: its bound against exact second moments of the server's model on random quadratic clients, x in R, whose
curvatures differ; and what the kernel refuses of it.

From one server's model to the next, means and second moments follow from those of a client's p steps (section 24 of
docs/theory/library.md). zeta is as large as the clients' gradients are apart in mean square at any step of the run, which is all that the
proof needs of it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest
from fedco.bounds.evaluation.arrays import bound_on_arrays
from fedco.bounds.language.metrics import METRICS
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import ProofError, Reader, Var, check
from fedco.bounds.proof.kernel.problem import metric_points
from fedco.bounds.proof.kernel.readings import Reading
from fedco.bounds.registry import get_theorem
from fedco.validation.exact.statistic import Statistic
from fedco.validation.falsifier.declared import target_of
from fedco.validation.runs.registry import recipe_for
from rewritten import rewritten

FEDAVG = get_theorem("library.fedavg_sampled")
COUNT, SEED = 200, 5
SETS = [(1, 1), (2, 1), (2, 2), (3, 2), (8, 1), (8, 4), (64, 1)]
PERIODS, ROUNDS = (1, 2, 3, 8), (1, 4, 64)


def mean(rows):
    return rows.mean(1, keepdims=True)


def problems(rng, clients):
    """F_i(x) = h_i x^2/2 + a_i x, F convex: (h, a, sigma, x_0), (COUNT, clients) or (COUNT, 1) each."""

    def size(low, high):
        return 10 ** rng.uniform(low, high, (COUNT, 1))

    def maybe(low, high):
        return size(low, high) * rng.integers(0, 2, (COUNT, 1))

    apart, other = rng.normal(size=(2, COUNT, clients))
    tilt = np.where(rng.random((COUNT, 1)) < 1 / 2, apart, other)  # along the curvatures, so that drift is a bias
    h = (apart - mean(apart)) * maybe(-2, 0) + size(-2, 0)
    return h, (tilt - mean(tilt)) * maybe(-2, 1), maybe(-2, 1), size(-5, 1)


def local_steps(h, a, sigma, eta, p):
    """After 0, ..., p steps of a client from z its model is A z + B plus noise of the variance V: (A, B, V) each time."""
    A, B, V = np.ones_like(h), np.zeros_like(h), np.zeros_like(h)
    yield A, B, V
    for _ in range(p):
        A, B, V = (1 - eta * h) * A, (1 - eta * h) * B - eta * a, (1 - eta * h) ** 2 * V + (eta * sigma) ** 2
        yield A, B, V


def squared(moments, A, B):
    """E (A z + B)^2."""
    first, second = moments
    return A**2 * second + 2 * A * B * first + B**2


def next_moments(moments, end, N, m):
    """E z and E z^2 after a round of m of N clients, whose models end as `end` says."""
    A, B, V = end
    share = 0 if m == N else (N - m) / (m * (N - 1))
    away = mean(squared(moments, A - mean(A), B - mean(B)))
    return mean(A) * moments[0] + mean(B), squared(moments, mean(A), mean(B)) + share * away + mean(V) / m


@cache
def runs():
    """(left side, constants) of problems at a number of rounds; half of the steps are as long as the condition allows."""
    rng, found = np.random.default_rng(SEED), []
    for (N, m), p in product(SETS, PERIODS):
        h, a, sigma, x = problems(rng, N)
        L = np.abs(h).max(1, keepdims=True)
        eta = np.where(rng.random((COUNT, 1)) < 1 / 2, 1 - 1e-9, rng.random((COUNT, 1))) / (3 * p * L)
        *inside, end = local_steps(h, a, sigma, eta, p)
        gap = (mean(h) * x + mean(a)) ** 2 / (2 * mean(h))
        moments, total, apart = (x, x**2), 0, np.zeros((COUNT, 1))
        for rounds in range(1, ROUNDS[-1] + 1):
            total = total + squared(moments, mean(h), mean(a))
            for A, B, V in inside:  # what the clients differ by at their mean model
                k, c = h - mean(h), a - mean(a)
                apart = np.maximum(apart, mean(squared(moments, k * mean(A), k * mean(B) + c) + k**2 * mean(V) / N))
            moments = next_moments(moments, end, N, m)
            if rounds in ROUNDS:
                numbers = dict(L=L, sigma=sigma, zeta=np.sqrt(apart), F_gap=gap, eta=eta)
                flat = {name: value[:, 0] for name, value in numbers.items()}
                found.append((total[:, 0] / rounds, {**flat, "N": N, "r": m / N, "p": p, "b": 1, "T": p * rounds}))
    return tuple(found)


def largest_ratio(term="", factor=1.0):
    """Left side by bound, one of whose terms counts by a factor."""
    worst = 0.0
    for left, numbers in runs():
        values = bound_on_arrays(FEDAVG.statement("printed"), numbers)
        assert values.admissible.all()
        bound = sum(value * factor if name == term else value for name, value in values.terms.items())
        worst = max(worst, float((left / bound).max()))
    return worst


def test_no_problem_exceeds_the_bound():
    assert 0.6 < largest_ratio() < 1


@pytest.mark.parametrize(
    ("term", "factor"),
    [("initialisation", 1 / 2), ("variance", 1 / 2), ("sampling", 1 / 16), ("heterogeneity", 1 / 32)],
)
def test_a_bound_with_a_smaller_term_is_exceeded(term, factor):
    """Noise that drifts is seen nowhere: on quadratic functions it leaves no bias of a size that noise itself does not hide."""
    assert largest_ratio(term, factor) > 1.1


def test_the_moments_are_those_of_all_sets():
    """Every set of every round, without noise, in fractions: three clients, two rounds of two steps."""
    h, a, eta = (
        (Fraction(1), Fraction(2), Fraction(-1, 2)),
        (Fraction(1), Fraction(-1), Fraction(1, 3)),
        Fraction(1, 10),
    )

    def ends(z):
        models = [z] * 3
        for _ in range(2):
            models = [x - eta * (k * x + c) for x, k, c in zip(models, h, a, strict=True)]
        return models

    for m in (1, 2, 3):
        servers = [Fraction(1)]
        for _ in range(2):
            servers = [sum(ends(z)[i] for i in one) / m for z in servers for one in combinations(range(3), m)]
        moments = np.ones((1, 1)), np.ones((1, 1))
        *_, end = local_steps(*(np.array([list(map(float, each))]) for each in (h, a)), 0.0, float(eta), 2)
        for _ in range(2):
            moments = next_moments(moments, end, 3, m)
        wanted = [float(sum(z**power for z in servers) / len(servers)) for power in (1, 2)]
        np.testing.assert_allclose([each.item() for each in moments], wanted, rtol=1e-12)


# --- what the kernel refuses ------------------------------------------------------------------------------------------

SMALLER = [
    ("variance", "L*eta*sigma**2/(N*b)"),
    ("variance", "(3 - 2*r)*L*eta*sigma**2/(N*b)"),
    ("variance", "(2 - r)*L*eta*sigma**2/(r*N*b)"),
    ("sampling", "0*zeta"),
    ("sampling", "4*s*L*eta*zeta**2"),
    ("sampling", "3*s*p*L*eta*zeta**2"),
    ("sampling", "4*s*(p - 1)*L*eta*zeta**2"),
    ("heterogeneity", "(p/2 - 1/2)*(2*p - 1)*eta**2*L**2*zeta**2"),
    ("heterogeneity", "(3*p/4 - 3/4)*(2*p - 2)*eta**2*L**2*zeta**2"),
    ("noise_drift", "(3*p/2 - 3/2)*(1 - 1/N)*eta**2*L**2*sigma**2/b"),
    ("noise_drift", "0*sigma"),
    ("initialisation", "F_gap/(eta*T)"),
]


QUICK = {
    "(2 - r)*L*eta*sigma**2/(r*N*b)",
    "3*s*p*L*eta*zeta**2",
    "(3*p/4 - 3/4)*(2*p - 2)*eta**2*L**2*zeta**2",
    "(3*p/2 - 3/2)*(1 - 1/N)*eta**2*L**2*sigma**2/b",
    "F_gap/(eta*T)",
}
"""The nearest to what is true, of each term."""


@pytest.mark.parametrize(
    ("term", "formula"), [pytest.param(*case, marks=() if case[1] in QUICK else pytest.mark.slow) for case in SMALLER]
)
def test_a_stronger_statement_does_not_follow(term, formula):
    with pytest.raises(ProofError, match="the statement"):
        derivation(rewritten(FEDAVG, {term: formula}))


@pytest.mark.parametrize("formula", ["2*p*eta*L <= 1", "3*(p - 1)*eta*L <= 1", "3*eta*L <= 1"])
def test_longer_steps_are_refused(formula):
    with pytest.raises(ProofError, match="not certified to be nonnegative"):
        derivation(rewritten(FEDAVG, {"step_size": formula}))


def test_a_run_that_may_end_inside_a_round_is_refused():
    """The mean over the steps of the server's model is that over the rounds only where all rounds are whole."""
    listed = tuple(item for item in FEDAVG.assumptions if item.name != "whole rounds")
    found = check(derivation(FEDAVG), replace(FEDAVG, assumptions=listed), "printed")
    assert "no assumption of the theorem says that the horizon is a whole number of rounds" in found.failure


def measured_at(theorem):
    """Where the kernel takes the mean squared gradient of a run with the theorem's method."""
    plan, statement = derivation(theorem), theorem.statement("printed")
    along = replace(theorem, metric=METRICS["mean_gradient_sq"])
    return metric_points(Reading(along, statement, Reader(along, statement), plan.setting, model=plan.model), {})


def test_the_mean_of_all_clients_is_not_what_a_run_measures():
    """The rules accepted a derivation about the mean of all N clients inside rounds, of which a run measures those that take part."""
    with pytest.raises(ProofError, match="the mean of the clients that take part, not of all"):
        measured_at(FEDAVG)
    assert measured_at(get_theorem("library.sampled_sgd")) == (Var("x"),), "one model, that of the server"


def test_the_new_models_of_the_server_are_measured_by_no_rule():
    """A run takes them once a round, at T = p the last model only; the kernel took them after every step, the first model p - 1 times.

    Both locks accepted 2 L F_gap/T + L^2 eta^2 sigma^2/(N b T) + (1 - 1/T) G^2 for Local SGD, which a Huber function in many
    dimensions exceeds from its minimiser.
    """
    with pytest.raises(ProofError, match="after each round a run takes it at the new model"):
        plan, later = derivation(FEDAVG), replace(FEDAVG, average="after")
        reading = Reading(later, later.statement(), Reader(later, later.statement()), plan.setting, model=plan.model)
        metric_points(reading, {})


def test_runs_and_searches_take_it_once_a_round():
    values = {"p": 4, "T": 8}
    every = recipe_for(FEDAVG.id).every
    assert every is not None and every(values) == 4 and recipe_for("library.sampled_sgd").every is None
    assert target_of(FEDAVG, "printed").statistic(values) == Statistic(every=4)
