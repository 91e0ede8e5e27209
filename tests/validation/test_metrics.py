"""Each metric is what a run measures: gradient descent on quadratics, whose iterates are known, against plain numbers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import fedco
import numpy as np
import pytest
from fedco.bounds.language.metrics import MEASURES, METRICS, MINIMUM, WEIGHTED
from fedco.bounds.language.reading import InputError
from fedco.synthetic.families.federated import FederatedQuadratic
from fedco.validation.falsifier.attack import falsify
from fedco.validation.runs.experiments import measure
from fedco.validation.runs.fit import misfit
from fedco.validation.runs.recipe import Instance
from quick import slow_but

STEPS, ETA = 6, 0.25
PROBLEM = FederatedQuadratic(clients=4, dim=3, L=1.5, mu=0.25, sigma=0.0, Delta=0.75, start=2.0)
UNITS = {"gradient_sq": "L_bar**2*D**2", "gradient": "L_bar*D", "gap": "L_bar*D**2", "distance_sq": "D**2"}


def theorem(word: str, **more: object):
    """A theorem that bounds this metric by as much as holds at the start."""
    if METRICS[word].over == WEIGHTED:
        more = {"weights": "t + 1", **more}
    return fedco.define(
        id="mine.metric",
        metric=word,
        symbols={"L_bar": "objective_smoothness", "D": "initial_distance", "eta": "step_size", "T": "iterations"},
        terms={"start": UNITS[METRICS[word].of] + "*(1 + 1/T)"},
        conditions={"step": "eta <= 1/L_bar"},
        method={"name": "minibatch_sgd", "eta": "eta", "b": "1"},
        **more,
    )


CURVATURES = np.array([1.5, 0.875, 0.25])
MODELS = np.array([PROBLEM.initial_point.numpy() * (1 - ETA * CURVATURES) ** t for t in range(STEPS + 1)])


def by_hand(x: np.ndarray = MODELS) -> dict[str, np.ndarray]:
    """Every measure at models `(models, dim)`, by default those at t = 0, ..., T."""
    curvatures = CURVATURES
    return {
        "gradient_sq": ((curvatures * x) ** 2).sum(1),
        "gradient": np.sqrt(((curvatures * x) ** 2).sum(1)),
        "gap": (curvatures * x**2).sum(1) / 2,
        "distance_sq": (x**2).sum(1),
    }


def measured(word: str, **more: object) -> float:
    instance = Instance(PROBLEM, {"eta": Fraction(1, 4)}, "")
    return float(measure(theorem(word, **more), instance, STEPS, 1, label="printed").statistic[0])


@pytest.mark.parametrize("of", [each for each in MEASURES if not each.startswith("gradient")])
def test_every_metric_is_measured_as_it_is_declared(of: str):
    rows = by_hand()[of]
    assert measured(f"mean_{of}") == pytest.approx(rows[:-1].mean(), rel=1e-12)
    assert measured(f"mean_{of}", average="after") == pytest.approx(rows[1:].mean(), rel=1e-12)
    assert measured(f"last_{of}") == pytest.approx(rows[-1], rel=1e-12)
    assert measured(f"last_{of}", average="after") == pytest.approx(rows[-1], rel=1e-12)


@pytest.mark.parametrize("word", ["mean_gap", "last_gap"])
def test_the_means_before_and_after_are_those_of_their_iterates(word: str):
    """Whatever the statement itself averages."""
    found = measure(theorem(word), Instance(PROBLEM, {"eta": Fraction(1, 4)}, ""), STEPS, 1, label="printed")
    rows = by_hand()["gap"]
    assert found.before.item() == pytest.approx(rows[:-1].mean(), rel=1e-12)
    assert found.after.item() == pytest.approx(rows[1:].mean(), rel=1e-12)


WEIGHTS = {
    "(t + 1)**2": lambda t: (t + 1.0) ** 2,
    "(1 - L_bar*eta/2)**(-t)": lambda t: 0.8125**-t,
    "(1 - L_bar*eta)**(-t)": lambda t: 0.625**-t,
    "sqrt(t + T)": lambda t: np.sqrt(t + STEPS),
    "floor(t/2)": lambda t: t // 2,
}


@pytest.mark.parametrize("of", [each for each in MEASURES if not each.startswith("gradient")])
@pytest.mark.parametrize("weights", WEIGHTS)
def test_weights_are_those_of_the_steps(of: str, weights: str):
    for average, counted in (("before", slice(0, STEPS)), ("after", slice(1, STEPS + 1))):
        w = WEIGHTS[weights](np.arange(STEPS + 1.0))[counted]
        mean = (w * by_hand()[of][counted]).sum() / w.sum()
        average_of_models = (w[:, None] * MODELS[counted]).sum(0) / w.sum()
        assert measured(f"weighted_{of}", weights=weights, average=average) == pytest.approx(mean, rel=1e-12)
        found = measured(f"averaged_{of}", weights=weights, average=average)
        assert found == pytest.approx(by_hand(average_of_models[None])[of][0], rel=1e-12)
        assert abs(found - mean) > 1e-2 * mean


@pytest.mark.parametrize("of", [each for each in MEASURES if not each.startswith("gradient")])
def test_an_averaged_iterate_weighs_all_alike_where_nothing_is_said(of: str):
    assert measured(f"averaged_{of}") == pytest.approx(by_hand(MODELS[:-1].mean(0, keepdims=True))[of][0], rel=1e-12)
    assert measured(f"averaged_{of}", weights="3") == measured(f"averaged_{of}")


def test_weights_that_are_negative_or_all_zero_are_no_weights():
    """A formula whose sign depends on the step is read; a run refuses it, and `falsify` never takes such an instance."""
    for weights in ("t - 2", "2 - t", "0*t", "floor(t/100)"):
        with pytest.raises(InputError, match="weights"):
            measured("weighted_gap", weights=weights)
    assert falsify(theorem("weighted_gap", weights="t - 2"), seconds=1).outcome != "REFUTED"


def test_weights_that_are_no_rational_numbers_are_not_falsified():
    found = falsify(theorem("weighted_gap", weights="sqrt(t + 1)"), seconds=1)
    assert found.outcome == "NOT_APPLICABLE" and "rational numbers" in " ".join(found.why)


def test_the_last_squared_gradient_is_measured_where_it_has_a_cap():
    instance = Instance("federated_homogeneous", {"eta": Fraction(1, 4)}, "")
    last, mean, after = (
        measure(theorem(word, average=average), instance, 20, 4, label="printed").statistic
        for word, average in (
            ("last_gradient_sq", "before"),
            ("mean_gradient_sq", "before"),
            ("mean_gradient_sq", "after"),
        )
    )
    start = float(
        fedco.problem("federated_homogeneous")
        .gradient(fedco.problem("federated_homogeneous").initial_point.unsqueeze(0))
        .square()
        .sum()
    )
    assert last == pytest.approx(start + 20 * (after - mean), rel=1e-9)


@pytest.mark.parametrize("of", MEASURES)
def test_a_minimum_of_expectations_is_not_measured(of: str):
    with pytest.raises(InputError, match=f"wanted mean_{of}"):
        measured(f"minimum_{of}")


def test_a_problem_without_a_known_minimiser_does_not_fit():
    gap = theorem("last_gap")
    assert "initial_distance" in misfit(gap, fedco.problem("federated_logistic"))
    assert not misfit(gap, PROBLEM)


FEW = ("mean_gradient_sq", "last_gap", "last_distance_sq", "averaged_gap", "minimum_gap")
"""Weighted ones are searched in test_falsifier_metrics.py; an expected norm is a sum over all paths, and dear."""


@pytest.mark.parametrize("word", slow_but(FEW, METRICS))
def test_the_search_does_not_take_one_metric_for_another(word: str):
    """Without noise, and where F is convex, each bound holds; noise breaks it, but for the least, which is at most the first."""
    without_noise = theorem(word, assume=["deterministic", "convex"])
    assert falsify(without_noise, seconds=0.5).outcome == "SURVIVED"
    is_least = METRICS[word].over == MINIMUM
    assert falsify(theorem(word), seconds=0.5 if is_least else 5).outcome == ("SURVIVED" if is_least else "REFUTED")


def test_only_a_known_minimiser_gives_a_gap():
    elsewhere = replace(theorem("last_gap"), problem="local_composite")
    found = falsify(elsewhere, seconds=1)
    assert found.outcome == "NOT_APPLICABLE" and "a minimiser that is known exactly" in " ".join(found.why)


def test_validation_judges_a_theorem_of_ones_own_by_its_metric():
    """The distance after T steps, on instances that are generated for it."""
    own = fedco.define(
        id="mine.distance",
        metric="last_distance_sq",
        symbols={
            "L_bar": "objective_smoothness",
            "mu": "strong_convexity",
            "sigma": "local_gradient_noise",
            "D": "initial_distance",
            "eta": "step_size",
            "N": "clients",
            "T": "iterations",
        },
        terms={"start": "(1 - mu*eta)**T*D**2", "noise": "eta*sigma**2/(mu*N)"},
        conditions={"step": "eta <= 1/L_bar", "contraction": "mu*eta <= 1"},
        method={"name": "minibatch_sgd", "eta": "eta", "b": "1"},
    )
    result = fedco.validate(own, problems=["federated_strongly_convex"], seeds=300, jobs=1)
    outcomes = {str(verdict.outcome) for verdict in result.verdicts}
    assert "SUPPORTED" in outcomes
    assert outcomes <= {"SUPPORTED", "INCONCLUSIVE"}
