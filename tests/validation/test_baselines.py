"""The baselines on runs: theorems hold where they should, lemmas along the way; what is halved is refuted, and practice shows each loss."""

from __future__ import annotations

import json
import math
from fractions import Fraction as R

import fedco
import numpy as np
import pytest
from fedco.bounds.language.change import Change
from fedco.errors import InputError
from fedco.validation.falsifier.attack import falsify
from fedco.validation.lemmas.measure import measure_lemmas
from fedco.validation.papers.baselines import RUNS
from fedco.validation.runs.experiments import measure
from fedco.validation.runs.recipe import Instance
from fedco.validation.runs.registry import chains
from fedco.validation.statistics.evalues import log_e_refute
from quick import slow_but

# --- theorems ---------------------------------------------------------------------------------------------------------


RECIPES = RUNS.recipes
SEEDS = 48


@pytest.mark.parametrize("name", slow_but(("baselines.local_sgd", "baselines.minibatch_sgd"), RECIPES))
def test_the_mean_stays_below_the_bound_on_every_instance(name):
    for instance in RECIPES[name].instances:
        found = measure(name, instance, instance.horizons[0], SEEDS)
        assert found.bound.admissible and found.bound.total < found.cap
        assert np.mean(found.statistic) < found.bound.total, instance.name


def test_the_variance_of_minibatch_sgd_is_attained_so_that_nine_tenths_of_it_are_refuted():
    stress = next(i for i in RECIPES["baselines.minibatch_sgd"].instances if i.case == "stress")
    found = measure("baselines.minibatch_sgd", stress, 400, 400)
    assert 0.95 < np.mean(found.statistic) / found.bound.total < 1
    assert log_e_refute(found.statistic, R(9, 10) * R(found.bound.total)) > np.log(1e6)
    assert log_e_refute(found.statistic, R(found.bound.total)) < np.log(1e6)


def test_unbounded_gradients_have_no_cap_and_that_is_said_in_one_line():
    instance = Instance("federated_quadratic", {"eta": R(1, 4), "p": 2, "b": 1}, "quadratic", {}, (10, 20))
    with pytest.raises(InputError, match="federated_quadratic: wanted a problem that certifies gradient_cap"):
        measure("baselines.local_sgd_heterogeneity", instance, 10, 4)


# --- lemmas -----------------------------------------------------------------------------------------------------------


CHAINS = [name for name in chains() if name.startswith("baselines.")]
LEMMAS = sorted({link.lemma for name in CHAINS for link in chains()[name].links})
HALF, TWICE = R(2), R(1, 2)
MUTANTS = [
    ("averaged_noise", "variance", HALF),
    ("local_sgd_step", "descent", TWICE),
    ("local_sgd_step", "direction", TWICE),
    ("local_sgd_step", "bias", HALF),
    ("local_sgd_step", "variance", HALF),
    ("local_sgd_bias", "drift", HALF),
    ("local_sgd_descent", "descent", TWICE),
    ("local_sgd_descent", "drift", HALF),
    ("local_sgd_descent", "variance", HALF),
    ("local_sgd_drift", "drift", HALF),
    ("local_sgd_heterogeneity_drift", "heterogeneity", R(16)),
    ("local_sgd_heterogeneity_drift", "noise_drift", R(16)),
    ("minibatch_sgd_descent", "descent", TWICE),
    ("minibatch_sgd_descent", "variance", HALF),
    ("scgd_moment", "variance", HALF),
    ("scgd_value", "kept", HALF),
    ("scgd_value", "inner_noise", HALF),
    ("scgd_estimate", "kept", HALF),
    ("scgd_estimate", "inner_noise", R(16)),
    ("scgd_estimate", "inner_drift", R(4)),
    ("scgd_values", "inner_start", R(100)),
    ("scgd_values", "inner_noise", R(100)),
    ("scgd_values", "inner_drift", R(100)),
    ("scgd_descent", "descent", TWICE),
    ("scgd_descent", "bias", HALF),
    ("scgd_descent", "variance", HALF),
    ("biased_sgd_noise", "variance", HALF),
    ("biased_sgd_bias", "bias", R(16)),
    ("biased_sgd_step", "descent", TWICE),
    ("biased_sgd_step", "direction", TWICE),
    ("biased_sgd_step", "bias", HALF),
    ("biased_sgd_step", "variance", HALF),
    ("biased_sgd_descent", "descent", TWICE),
    ("biased_sgd_descent", "bias", HALF),
    ("biased_sgd_descent", "variance", HALF),
]
"""Every part with a coefficient half as large (of a negative one, twice); where that is true as well, smaller still."""


def test_every_part_of_every_lemma_is_tried():
    parts = {(name, term.name) for name in LEMMAS for term in fedco.theorem(name).statement("printed").terms}
    assert {(f"baselines.{lemma}", part) for lemma, part, _ in MUTANTS} == parts


QUICK_MUTANTS = {
    ("averaged_noise", "variance"),
    ("local_sgd_step", "descent"),
    ("local_sgd_step", "direction"),
    ("local_sgd_drift", "drift"),
}
"""A mean, a descent with a square, one with an inner product, and what a round adds up: tried in every run of the tests."""


@pytest.mark.parametrize(
    ("lemma", "part", "factor"),
    [pytest.param(*row, marks=() if row[:2] in QUICK_MUTANTS else pytest.mark.slow) for row in MUTANTS],
)
def test_a_smaller_coefficient_is_refuted_in_exact_numbers(lemma, part, factor):
    found = falsify(f"baselines.{lemma}", seconds=20, change=Change(part, "divided", factor))
    assert found.outcome == "REFUTED" and found.ratio > 1


@pytest.mark.parametrize("lemma", slow_but(("baselines.local_sgd_step",), LEMMAS))
def test_a_lemma_is_not_refuted(lemma):
    found = falsify(lemma, seconds=1)
    assert found.outcome == "SURVIVED" and 0 < found.ratio <= 1


@pytest.mark.parametrize("name", slow_but(("baselines.local_sgd", "baselines.scgd"), CHAINS))
def test_no_lemma_fails_along_the_runs_of_its_theorem(name):
    reports = measure_lemmas(name, seeds=8)
    assert len(reports) >= 3
    for report in reports:
        assert report.failing == () and all(row.conditions_hold for row in report.rows)
        product = report.measured * math.prod(link.factor for link in report.implied)
        assert product == pytest.approx(report.bound, rel=1e-12) and report.implied[-1].link == name


IN_PRACTICE = {
    "baselines.local_sgd": ("federated_logistic", {"initialisation", "variance", "drift"}),
    "baselines.local_sgd_heterogeneity": (
        "federated_heterogeneous",
        {"initialisation", "variance", "heterogeneity", "noise_drift"},
    ),
    "baselines.minibatch_sgd": ("federated_logistic", {"initialisation", "variance"}),
    "baselines.scgd": ("local_noisy", {"initialisation", "inner_start", "inner_noise", "inner_drift", "variance"}),
    "baselines.biased_sgd": ("conditional_noisy", {"initialisation", "bias", "variance"}),
}


@pytest.mark.parametrize("name", slow_but(("baselines.local_sgd", "baselines.scgd"), CHAINS))
def test_practice_has_a_line_for_each_link_and_a_counterpart_for_each_term(name):
    """The lines multiply out from the numbers of the JSON object alone; what is above 1 by more than noise is a loss of the proof."""
    problem, wanted = IN_PRACTICE[name]
    told = json.loads(fedco.practice(name, problem, T=60, seeds=4, above=0).to_json())["explanation"]
    constants, links = ([line["factor"] for line in told[part]] for part in ("constants", "links"))
    assert len(links) >= 3 and not told["no_links"] and told["links"][-1]["name"] == name
    assert math.isclose(math.prod(links), told["remaining"], rel_tol=1e-12)
    assert math.isclose(math.prod((*constants, *links)), told["factor"], rel_tol=1e-12)
    slack = {line["name"]: line["slack"] for line in told["terms"]}
    assert set(slack) == wanted and all(each is not None and each > 0.9 for each in slack.values())


def test_terms_that_come_out_of_one_part_share_its_counterpart():
    """Those of the drift have one slack together: the consensus error is not told apart by its cause."""
    found = fedco.practice("baselines.local_sgd_heterogeneity", "federated_heterogeneous", T=60, seeds=4, above=0)
    terms = {term.name: term for term in found.explanation.terms}
    of_drift = [terms[name] for name in ("heterogeneity", "noise_drift")]
    assert of_drift[0].slack == pytest.approx(of_drift[1].slack) and of_drift[0].slack != terms["variance"].slack
    together = sum(term.value for term in of_drift) / sum(term.counterpart for term in of_drift)
    assert of_drift[0].slack == pytest.approx(together) and together > 1
