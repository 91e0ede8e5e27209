"""Theorems of the wider literature as a stranger writes them: what `validate` and `falsify` make of each without a word more.

Their constants are ours and nothing is said of whether they hold: the tests are about instances being found, and found right.
"""

from fractions import Fraction

import fedco
import numpy as np
import pytest
from fedco.algorithms import GossipSGD
from fedco.bounds import get_theorem
from fedco.bounds.language.reading import InputError
from fedco.validation import validate
from fedco.validation.falsifier.attack import falsify
from fedco.validation.runs.generate import instances_of
from fedco.validation.runs.measures import judged
from fedco.validation.runs.registry import recipe_for
from fedco.validation.statistics.verdict import Outcome, judge
from searching import violation_of

COMMON = {"F_gap": "objective_gap", "eta": "step_size", "T": "iterations"}
DELAYED = {
    "id": "others.delayed",
    "symbols": {**COMMON, "L": "objective_smoothness", "sigma": "local_gradient_noise", "D": "delay", "N": "clients"},
    "terms": {"initialisation": "4*F_gap/(eta*T)", "noise": "4*eta*L*sigma**2/N + 4*eta**2*L**2*D*sigma**2/N"},
    "conditions": {"step_size": "eta <= 1/(10*L*sqrt(D*(D + 1)))"},
    "method": {"name": "delayed_sgd", "eta": "eta", "D": "D", "b": 1},
}
GOSSIP = {
    "id": "others.gossip",
    "symbols": {
        **COMMON,
        **{"L": "local_smoothness", "sigma": "local_gradient_noise", "zeta": "local_gradient_heterogeneity"},
        **{"rho": "spectral_gap", "tau": "communication_period", "N": "clients"},
    },
    "terms": {
        "initialisation": "8*F_gap/(eta*T)",
        "noise": "8*L*eta*sigma**2/N",
        "consensus": "64*L**2*eta**2*(tau**2*zeta**2/rho**2 + tau*sigma**2/rho)",
    },
    "conditions": {"step_size": "eta <= rho/(64*L*tau)"},
    "method": {"name": "gossip_sgd", "eta": "eta", "tau": "tau", "b": 1},
}
CONTRACTED = {
    **GOSSIP,
    "id": "others.contracted",
    "symbols": {**{k: v for k, v in GOSSIP["symbols"].items() if k != "rho"}, "lam": "mixing_contraction"},
    "terms": {k: v.replace("rho", "(1 - lam)") for k, v in GOSSIP["terms"].items()},
    "conditions": {"step_size": "eta <= (1 - lam)/(64*L*tau)"},
}
AT_THE_MINIMISER = {
    "id": "others.minimiser",
    "metric": "averaged_gap",
    "assume": ["convex_clients"],
    "symbols": {
        **{k: v for k, v in COMMON.items() if k != "F_gap"},
        **{"L": "local_smoothness", "sigma": "minimiser_second_moment", "D": "initial_distance"},
        **{"H": "communication_period", "N": "clients"},
    },
    "terms": {"start": "2*D**2/(eta*T)", "noise": "2*eta*sigma**2/N + 4*eta**2*L*sigma**2*(H - 1)"},
    "conditions": {"step_size": "eta <= 1/(4*L*H)"},
    "method": {"name": "local_sgd", "eta": "eta", "tau": "H", "b": 1},
}
EXACT = {
    "id": "others.exact",
    "assume": ["deterministic"],
    "symbols": {**COMMON, "L": "objective_smoothness"},
    "terms": {"initialisation": "2*F_gap/(eta*T)"},
    "conditions": {"step_size": "eta <= 1/L"},
    "method": {"name": "marina", "eta": "eta", "p": 1, "ratio": 1, "b": 1, "oracle": "exact"},
}


def generated(theorem, problem):
    return instances_of(theorem, "printed", recipe_for(theorem).instances, [problem])


@pytest.mark.parametrize("keys", [DELAYED, GOSSIP, CONTRACTED, AT_THE_MINIMISER, EXACT], ids=lambda keys: keys["id"])
def test_instances_are_found(keys):
    theorem = fedco.define(**keys)
    made = generated(theorem, "federated_homogeneous" if keys is AT_THE_MINIMISER else "federated_sines")
    assert made.instances and {each.case for each in made.instances} >= {"tuned"}


def test_a_gap_is_what_the_methods_matrix_has_and_says_no_more():
    for keys, name, is_weaker in ((GOSSIP, "rho", Fraction.__le__), (CONTRACTED, "lam", Fraction.__ge__)):
        quantity = keys["symbols"][name]
        (instance, *_) = generated(fedco.define(**keys), "federated_sines").instances
        said = Fraction(instance.hyperparameters[name])
        measured = Fraction(GossipSGD(eta=1.0, tau=1).measure(instance.made().clients)[quantity])
        assert is_weaker(said, measured) and abs(said - measured) < Fraction(1, 500) and said.denominator <= 10_000


def test_a_delay_is_the_methods_and_is_searched():
    theorem = fedco.define(**DELAYED)
    delays = {each.hyperparameters["D"] for each in generated(theorem, "federated_homogeneous").instances}
    assert delays == {2, 4}
    smaller = {name: f"({term})/100" for name, term in DELAYED["terms"].items()}
    assert violation_of(fedco.define(**DELAYED | {"terms": smaller}))
    assert not falsify(theorem, seconds=1).why[0].startswith("D:")


def test_a_true_bound_that_is_zero_at_rest_is_not_refuted_by_rounding():
    """The gradients of clients that differ cancel to 1e-17 at the minimiser, where the bound is 0."""
    found = validate(fedco.define(**EXACT), problems=["federated_noisy"], seeds=16, jobs=1)
    assert {each.case for each in (r.experiment.instance for r in found.results)} == {"tuned", "edge", "stress"}
    assert "REFUTED" not in {str(each.outcome) for each in found.verdicts}


def test_exact_gradients_are_those_of_problems_without_noise():
    theorem = fedco.define(**EXACT)
    assert all(each.parameters["sigma"] == 0.0 for each in generated(theorem, "federated_noisy").instances)
    every = instances_of(theorem, "printed", recipe_for(theorem).instances)
    assert len({each.problem for each in every.instances}) >= 3
    silent = fedco.define(**EXACT | {"assume": ["deterministic", "equal_inner_maps"]})
    with pytest.raises(InputError, match="none is known to have equal_inner_maps"):
        instances_of(silent, "printed", ())


def test_what_is_refuted_by_noise_that_it_does_not_speak_of_says_so():
    """A statement about exact gradients that forgets to say so is false of noisy ones: the answer says how to say it."""
    stochastic = {key: value for key, value in EXACT["method"].items() if key != "oracle"}
    meant = fedco.define(**{**EXACT, "assume": [], "method": stochastic})
    said = "No constant of the statement bounds the noise, so any noise counts"
    found = validate(meant, problems=["federated_noisy"], seeds=32, jobs=1)
    assert "REFUTED" in {str(each.outcome) for each in found.verdicts}
    assert said in str(found) and said in found.to_dict()["noise"] and any(said in note for note in found.sheet().notes)
    plain = {**EXACT, "assume": [], "method": {"name": "minibatch_sgd", "eta": "eta", "b": 1}}
    assert any(said in line for line in falsify(fedco.define(**plain), seconds=20).why)
    named = {**plain, "symbols": {**EXACT["symbols"], "sigma": "local_gradient_noise"}}
    named["terms"] = {"initialisation": "F_gap/(4*eta*T) + eta*L*sigma**2/1000"}
    assert not any(said in line for line in falsify(fedco.define(**named), seconds=20).why)


def test_a_reason_that_several_cases_have_is_said_once():
    theorem = fedco.define(**EXACT | {"terms": {"initialisation": "2*F_gap/(eta*T) + 9*F_gap*L"}})
    with pytest.raises(
        InputError, match=r"others.exact: tuned, edge, stress: eps: wanted more than [\d.]+, got 0.5; [^:]*$"
    ):
        generated(theorem, "federated_noisy")


def test_a_method_that_cannot_be_built_is_one_line():
    star = {**GOSSIP["method"], "topology": "star"}
    with pytest.raises(InputError, match=r"gossip_sgd: topology must be one of ring, complete; got 'star'"):
        generated(fedco.define(**{**GOSSIP, "method": star}), "federated_sines")


@pytest.mark.parametrize(("cap", "outcome"), [(1000.0, Outcome.REFUTED), (1e15, Outcome.INCONCLUSIVE)])
def test_how_often_a_bound_fails_is_not_decided_within_rounding(cap: float, outcome: Outcome):
    """A bound of 100 that 500 exceeds in every run was SUPPORTED where the cap is so large that 400 is rounding."""
    metric = get_theorem("library.sgd_probable").metric
    claim = judged(metric, {"delta": 0.1}, np.full(99, 500.0), 100.0, cap)
    found = judge(
        claim.values, claim.bound, alpha=1e-6, cap=claim.cap, resolution=claim.resolution, certificates_kind="exact"
    )
    assert found.outcome is outcome


def test_two_cases_that_come_to_one_instance_are_judged_once():
    """Where the tuned step size is the largest one, both had the same name, of which the second had no probability of error left."""
    theorem = fedco.define(
        id="others.same",
        symbols={**COMMON, **{"L": "local_smoothness", "sigma": "local_gradient_noise", "D": "delay", "N": "clients"}},
        terms={
            "start": "F_gap/(8*eta*T)",
            "noise": "L*eta*sigma**2/N/10",
            "stale": "L**2*eta**2*D*sigma**2/N",
        },
        conditions={"step_size": "eta*L*(D + 1)*4 <= 1"},
        method={"name": "delayed_sgd", "eta": "eta", "D": "D", "b": 1},
    )
    made = generated(theorem, "federated_sines").instances
    named = [(each.name, T) for each in made for T in each.horizons]
    assert len(named) == len(set(named))


def test_a_schedule_without_a_first_step_size_is_no_method():
    theorem = fedco.define(
        id="others.pole",
        symbols={"L": "objective_smoothness", "F_gap": "objective_gap", "T": "iterations"}
        | {"a": "step_numerator", "t0": "step_offset", "sigma": "local_gradient_noise"},
        terms={"start": "2*F_gap*(T + t0)/(a*T) + L*a*sigma**2"},
        conditions={"first_step": "a <= t0/L"},
        method={"name": "minibatch_sgd", "eta": "a/(t + t0 - 1)", "b": 1},
    )
    assert falsify(theorem, seconds=2).outcome in ("REFUTED", "SURVIVED")
