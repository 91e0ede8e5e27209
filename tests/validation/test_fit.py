"""Which theorem fits which problem is computed; the lists that were written by hand before are recorded here and agree."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from fedco.bounds.registry import all_theorems, get_theorem
from fedco.synthetic import problem
from fedco.validation.runs.fit import fits, fitting_theorems, misfit
from fedco.validation.runs.problem_list import listed

FEDDRO = "feddro.corollary_1 feddro.corollary_2 feddro.lemma_3_1 feddro.theorem_5_1 feddro.theorem_f_1"
LOCAL = (
    "comfedl.theorem_1 local_scgdm.corollary_3_5 local_scgdm.lemma_4_1 local_scgdm.lemma_4_2 local_scgdm.lemma_4_3"
    " local_scgdm.theorem_3_4"
)
CONDITIONAL = (
    "acc_fcsg_m.corollary_4_8 acc_fcsg_m.theorem_4_7 baselines.biased_sgd fcsg.corollary_4_2 fcsg.lemma_a_2 fcsg.theorem_4_1"
    " fcsg_m.corollary_4_5 fcsg_m.theorem_4_4"
)
META = (
    "meta_fl.lemma_10 meta_fl.lemma_11 meta_fl.lemma_4 meta_fl.lemma_5 meta_fl.lemma_6 meta_fl.lemma_7 meta_fl.theorem_8"
    " meta_fl.theorem_8_FO meta_fl.theorem_8_HF"
)
FEDERATED = "baselines.local_sgd_heterogeneity baselines.minibatch_sgd"
LISTED = {
    "feddro_homogeneous feddro_heterogeneous feddro_noisy chi2_dro chi2_dro_clients imbalanced_logistic_wine fair_classifier": FEDDRO,
    "feddro_without_h feddro_without_h_homogeneous feddro_without_h_noisy kl_dro imbalanced_logistic": f"{FEDDRO} feddro.theorem_4_2",
    "feddro_counterexample": f"{FEDDRO} feddro.theorem_4_1 feddro.theorem_4_2",
    "local_homogeneous": f"{LOCAL} baselines.scgd comfedl.theorem_2",
    "local_heterogeneous": LOCAL,
    "local_noisy": f"{LOCAL} baselines.scgd",
    "conditional_homogeneous conditional_heterogeneous conditional_noisy average_precision invariant_logistic": CONDITIONAL,
    "meta_homogeneous meta_heterogeneous meta_noisy": META,
    "federated_homogeneous federated_heterogeneous federated_noisy federated_sines federated_logistic": f"{FEDERATED} baselines.local_sgd",
    "federated_quadratic federated_breast_cancer": FEDERATED,
    "maml_homogeneous maml_noisy": f"{LOCAL} baselines.scgd local_scgdm.lemma_3_9",
    "maml_heterogeneous": f"{LOCAL} local_scgdm.lemma_3_9",
    "agnostic_maml kl_dro_clients": f"{LOCAL} comfedl.theorem_2",
}
"""Problems -> the theorems that were listed for them."""
OF_PROBLEM = {name: set(listed.split()) for names, listed in LISTED.items() for name in names.split()}
CLAIMS = sorted(set().union(*OF_PROBLEM.values()))
DIFFERENCES = {
    ("feddro_counterexample", "feddro.theorem_4_1"): "it is about this one instance, not about a kind of problem",
}


@pytest.mark.parametrize("name", sorted(OF_PROBLEM))
def test_the_computed_fit_is_what_was_listed_except_where_it_is_explained(name):
    made = problem(name)
    computed = {claim for claim in CLAIMS if fits(get_theorem(claim), made)}
    differences = {(name, claim) for claim in computed ^ OF_PROBLEM[name]}
    assert differences == {pair for pair in DIFFERENCES if pair[0] == name}


def test_every_registered_problem_fits_a_theorem_where_there_is_one_of_its_kind():
    stated = {get_theorem(name).problem for name in all_theorems()}
    assert len(stated) >= 5
    for known in listed():
        assert bool(fitting_theorems(known)) == (known.kind in stated), known.name


def test_a_misfit_says_which_kind_constant_or_property_is_missing():
    noisy, theorem = problem("local_noisy"), get_theorem("comfedl.theorem_2")
    assert misfit(theorem, noisy) == "the problem is not known to have one_outer_function"
    assert "wanted a problem of the kind local_composite, got meta" in misfit(theorem, problem("meta_noisy"))
    poor = SimpleNamespace(kind=noisy.kind, certificates={}, properties=noisy.properties)
    assert "certifies no inner_sample_lipschitz" in misfit(theorem, poor)
    assert fits(replace(theorem, assume=()), noisy)


def test_the_theorems_that_fit_are_listed():
    known = {each.name: each for each in listed()}
    found = fitting_theorems(known["local_homogeneous"])
    assert {"comfedl.theorem_2", "local_scgdm.theorem_3_4"} <= set(found) and "comfedl.lemma_2" not in found
    of_counterexample = fitting_theorems(known["feddro_counterexample"])
    assert "feddro.theorem_5_1" not in of_counterexample, "its L_g is 0, and the theorem divides by it"
    assert fitting_theorems(known["local_heterogeneous"])["local_scgdm.theorem_3_4"] == ("printed",)
