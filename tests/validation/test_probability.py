"""Bounds that hold with a probability: how they are declared, judged by how often they fail, proved, and what cannot be done with them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import fedco
import numpy as np
import pytest
import sympy as sp
from fedco.bounds import get_theorem
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.definition import keys_of
from fedco.bounds.language.metrics import METRICS, with_probability
from fedco.bounds.language.reading import InputError
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import check
from fedco.validation.falsifier.attack import falsify
from fedco.validation.proofs.lock import instances_of
from fedco.validation.runs.campaign import Experiment, verdict_for
from fedco.validation.runs.experiments import measure
from fedco.validation.runs.measures import judged
from fedco.validation.runs.recipe import Instance
from fedco.validation.statistics.alpha_budget import AlphaBudget
from fedco.validation.statistics.verdict import judge

SGD = get_theorem("library.sgd_probable")
DELTA = Fraction(1, 4)
KEYS: dict[str, Any] = {
    "id": "mine.probable",
    "symbols": {
        "L": "objective_smoothness",
        "sigma": "local_gradient_noise",
        "F_gap": "objective_gap",
        "eta": "step_size",
        "delta": "failure_probability",
        "N": "clients",
        "T": "iterations",
    },
    "probability": {"failure": "delta"},
    "terms": {"start": "2*F_gap/(eta*T*delta)", "noise": "L*eta*sigma**2/(N*delta)"},
    "conditions": {"step": "eta <= 1/L"},
    "method": {"name": "minibatch_sgd", "eta": "eta", "b": 1},
}


def changed(factor: Any = 1, failure: str | None = None):
    """The theorem with all terms times a number, or about expectations."""
    statement = SGD.statement("printed")
    terms = tuple(replace(term, expr=sp.sympify(factor) * term.expr) for term in statement.terms)
    theorem = SGD if failure is None else replace(SGD, metric=METRICS["mean_gradient_sq"])
    return with_statement(theorem, replace(statement, terms=terms))


# --- the language ------------------------------------------------------------------------------------------------------


def test_a_definition_says_with_which_probability_its_bound_may_fail():
    theorem = fedco.define(**KEYS)
    assert theorem.metric == SGD.metric
    assert theorem.metric.name == "with probability 1 - delta, (1/T) sum_t ||grad F(xbar_t)||^2"
    assert (
        theorem.metric.latex.startswith(r"\text{with probability }1-\delta\text{, }")
        and "{E}" not in theorem.metric.latex
    )
    assert "E" not in with_probability(METRICS["last_gap"], "delta", "").name
    again = fedco.define(**keys_of(theorem, "printed"))
    assert again.metric == theorem.metric and again.statement() == theorem.statement()
    values = {"L": 1, "sigma": 1, "F_gap": 1, "eta": 1, "N": 4, "T": 100}
    assert theorem.bound(delta="1/4", **values).total == pytest.approx(4 * (0.02 + 0.25))
    with pytest.raises(InputError, match=r"delta: wanted a number in \(0, 1\)"):
        theorem.bound(delta=1, **values)


@pytest.mark.parametrize(
    ("probability", "reason"),
    [
        ({"failure": "eta"}, "wanted a symbol for failure_probability, got 'eta'"),
        ({"failure": 0.1}, "wanted a symbol for failure_probability"),
        ({"fails": "delta"}, "'fails' is not a key here"),
    ],
)
def test_another_probability_is_one_line(probability: Any, reason: str):
    with pytest.raises(InputError) as raised:
        fedco.define(**{**KEYS, "probability": probability})
    assert reason in str(raised.value) and "\n" not in str(raised.value)


# --- how often it fails ------------------------------------------------------------------------------------------------


def test_a_verdict_is_about_how_often_the_bound_fails():
    found = judged(SGD.metric, {"delta": 0.25}, np.array([1.0, 3.0, 2.0, 5.0]), 2.0, 100.0)
    assert (found.values.tolist(), found.bound, found.cap) == ([0, 1, 0, 1], 0.25, 1.0)
    mean = judged(METRICS["mean_gradient_sq"], {}, np.array([1.0, 3.0]), 2.0, 100.0)
    assert (mean.values.tolist(), mean.bound, mean.cap) == ([1, 3], 2.0, 100.0)


def test_a_bound_that_cannot_fail_supports_nothing():
    found = judged(SGD.metric, {"delta": 0.25}, np.zeros(800), 4.0, 3.0)
    verdict = judge(found.values, found.bound, alpha=Fraction(1, 1000), cap=found.cap, certificates_kind="exact")
    assert verdict.vacuous and str(verdict.outcome) == "INCONCLUSIVE"


@pytest.mark.parametrize(("rate", "outcome"), [(0.02, "SUPPORTED"), (0.25, "INCONCLUSIVE"), (0.6, "REFUTED")])
def test_e_values_for_a_proportion(rate: float, outcome: str):
    rng = np.random.default_rng(3)
    statistic = np.where(rng.random(800) < rate, 1e9, 0.0)  # a mean that no cap of the metric would survive
    found = judged(SGD.metric, {"delta": float(DELTA)}, statistic, 1.0, 1e10)
    verdict = judge(found.values, found.bound, alpha=Fraction(1, 1000), cap=found.cap, certificates_kind="exact")
    assert str(verdict.outcome) == outcome


def test_a_run_is_judged_by_its_own_number():
    instance = Instance("federated_homogeneous", {"eta": Fraction(1, 2), "b": 4, "delta": DELTA}, "", {"start": 3.0})
    for factor, outcome in ((1, "SUPPORTED"), (sp.Rational(1, 100), "REFUTED")):
        theorem = changed(factor)
        experiment = Experiment(theorem, "printed", instance, 40, 200, 0)
        found = measure(theorem, instance, 40, 200, label="printed")
        ledger = AlphaBudget(Fraction(1, 1000))
        ledger.allot(experiment.name, Fraction(1, 1000), 200)
        verdict = verdict_for(experiment, found, ledger)
        assert str(verdict.outcome) == outcome, verdict
        assert verdict.bound == 0.25 and "how often it fails" in verdict.claim


def test_the_search_asks_how_often_a_run_exceeds_the_bound():
    """What holds in expectation is exceeded with a probability above delta, and the true bound is not."""
    assert falsify(SGD, seconds=1).outcome == "SURVIVED"
    statement = SGD.statement("printed")
    delta = SGD.notation[SGD.metric.failure].symbol
    terms = tuple(replace(term, expr=term.expr * delta / 4) for term in statement.terms)
    found = falsify(with_statement(SGD, replace(statement, terms=terms)), seconds=5)
    assert found.refuted and found.ratio > 1


# --- Markov's inequality -----------------------------------------------------------------------------------------------


def test_a_proof_of_the_mean_is_one_of_a_probability_by_the_factor_delta():
    found = derivation(SGD)
    verdict = check(found, SGD, "printed")
    assert verdict.accepted and "Markov's inequality" in verdict.rests_on["metric"]
    delta = SGD.notation[SGD.metric.failure].symbol
    of_the_mean = changed(delta)  # the terms of the bound of the expectation
    assert not check(found, of_the_mean, "printed").accepted
    assert not check(found, changed(sp.Rational(99, 100)), "printed").accepted


def test_a_sharper_statement_fails_on_an_instance(few_families):
    found = instances_of(derivation(SGD), changed(sp.Rational(1, 20)))
    assert any("statement" in line for line in found.failed)


def test_of_expectations_the_same_derivation_proves_delta_times_the_terms_and_no_less():
    delta = SGD.notation[SGD.metric.failure].symbol
    theorem = changed(delta, failure="")
    found = derivation(theorem)
    assert check(found, theorem, "printed").accepted
    assert not check(found, changed(delta / 2, failure=""), "printed").accepted
