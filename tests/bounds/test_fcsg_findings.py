"""FCSG, FCSG-M, Acc-FCSG-M: what the lemmas give, what the audit finds, and the re-check of every finding."""

from fractions import Fraction as Q

import fedco
import kept_findings
import pytest
import sympy as sp
from fedco.bounds.audit.checks import audit, automatic, compare_terms, corollary_terms
from fedco.bounds.audit.refuted import evidence, kept, refutations
from fedco.bounds.papers.acc_fcsg_m import checks as acc_fcsg_m
from fedco.bounds.papers.fcsg import checks as fcsg
from fedco.bounds.papers.fcsg.counterexamples import constants
from fedco.bounds.papers.fcsg_m import checks as fcsg_m

PAPERS = ("fcsg", "fcsg_m", "acc_fcsg_m")
FINDINGS = [*fcsg.FINDINGS, *fcsg_m.FINDINGS, *acc_fcsg_m.FINDINGS]

EQUAL_TO_PROVED = {
    "fcsg.theorem_4_1": {"initialisation", "bias", "variance"},
    "fcsg_m.theorem_4_4": {"initialisation", "bias", "start", "variance"},
    "acc_fcsg_m.theorem_4_7": {"initialisation", "start", "drift", "bias", "variance"},
    "acc_fcsg_m.corollary_4_8": {"initialisation", "start", "drift", "bias", "variance"},
    "fcsg.lemma_a_3": {"drift", "heterogeneity"},
    "fcsg.lemma_b_1": {"drift"},
    "fcsg.lemma_b_2": {"descent", "drift", "bias", "variance"},
    "fcsg_m.lemma_c_1": {"descent", "direction", "drift", "bias", "estimate"},
    "fcsg_m.lemma_c_2": {"start", "direction", "variance", "drift"},
    "fcsg_m.lemma_c_3": {"drift"},
}


@pytest.mark.parametrize("name", EQUAL_TO_PROVED)
def test_terms_that_the_lemmas_give_as_printed(name):
    outcomes = {term: outcome for term, (outcome, *_) in compare_terms(fedco.theorem(name)).items()}
    assert {term for term, outcome in outcomes.items() if outcome == "equal"} == EQUAL_TO_PROVED[name]


def test_corollaries_against_their_theorems():
    found = {
        name: {term: outcome for term, (outcome, *_) in corollary_terms(fedco.theorem(name)).items()}
        for name in ("fcsg.corollary_4_2", "fcsg_m.corollary_4_5", "acc_fcsg_m.corollary_4_8")
    }
    assert found["fcsg.corollary_4_2"] == {
        "initialisation": "equal", "bias": "equal", "variance": "violated", "drift": "larger"
    }  # fmt: skip
    assert {term for term, outcome in found["fcsg_m.corollary_4_5"].items() if outcome == "equal"} == {
        "initialisation", "bias", "start", "variance"
    }  # fmt: skip
    assert set(found["acc_fcsg_m.corollary_4_8"].values()) == {"equal"}


def test_conditions_that_the_proofs_use():
    def names(theorem, label):
        return {condition.name for condition in fedco.theorem(theorem).statement(label).conditions}

    assert names("fcsg.theorem_4_1", "composed") == {"step_size"}
    assert names("fcsg_m.theorem_4_4", "composed") == {"step_size", "momentum_range", "direction"}
    assert names("acc_fcsg_m.theorem_4_7", "composed") == {"step_size", "momentum_choice", "momentum_range"}
    assert names("acc_fcsg_m.theorem_4_7", "corrected") == {"step_size", "momentum_choice", "long_round"}


def test_the_drift_of_corollary_4_5_is_printed_five_times_too_large():
    """The audit leaves it open (it needs N >= 1); (13 + 1/N) (1 - 1/q) <= 14 decides it."""
    at = {"L_f": 1, "L_g": 1, "S_f": 1, "S_g": 1, "sigma_g": 0, "F_gap": 1, "m": 1}
    corollary = fedco.theorem("fcsg_m.corollary_4_5")
    for N, q in ((1, 2), (1, 1000), (7, 30)):
        printed, proved = (corollary.bound(label, N=N, T=N**3 * q**4, **at) for label in ("printed", "composed"))
        assert printed.terms["drift"] > 5 * proved.terms["drift"]


def test_what_the_audit_finds_by_itself():
    made = [
        finding for paper in PAPERS for t in fedco.bounds.paper_theorems(paper).values() for finding in automatic(t)
    ]
    found = {finding.id for finding in made}
    for finding in made:
        kept_findings.check(finding)
    assert {
        "fcsg.theorem_4_1:terms",
        "fcsg.corollary_4_2:corollary",
        "fcsg.lemma_b_2:condition:descent_step",
        "fcsg_m.theorem_4_4:terms",
        "acc_fcsg_m.theorem_4_7:homogeneity",
        "acc_fcsg_m.theorem_4_7:condition:step_size",
        "acc_fcsg_m.theorem_4_7:condition:momentum_choice",
        "acc_fcsg_m.lemma_d_1:terms",
        "acc_fcsg_m.lemma_d_2:homogeneity",
        "acc_fcsg_m.lemma_d_3:terms",
    } <= found
    assert not [name for name in found if name.startswith("fcsg") and name.endswith(":homogeneity")]


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.id)
def test_a_finding_survives_its_check(finding):
    kept_findings.check(finding)


def test_findings_reach_the_audit():
    listed = [finding.id for paper in PAPERS for finding in audit(paper)]
    assert {finding.id for finding in FINDINGS} <= set(listed) and len(set(listed)) == len(listed)
    declared = {name for paper in PAPERS for name in fedco.bounds.paper_theorems(paper)}
    assert {finding.theorem for finding in FINDINGS} <= declared


@pytest.mark.parametrize(
    "bundle",
    ["corollary_4_8", "corollary_4_8.averaged_start", "corollary_4_8.longer_rounds", "theorem_4_7", "theorem_4_7.averaged_start",
     "theorem_4_7.inner_lipschitz", "theorem_4_7.most_charitable", "lemma_d_1", "lemma_d_2", "lemma_d_2.inner_lipschitz", "lemma_d_3"],
)  # fmt: skip
def test_a_check_notices_when_its_run_refutes_nothing(bundle, monkeypatch):
    """A finding that rests on several runs, such as one for each reading, needs every one of them."""
    from fedco.bounds.audit.findings import RecheckError

    def harmless(name):
        found = kept(name)
        less = found.right[0] - abs(found.right[0]) / 2
        return found._replace(left=(less, less)) if name == f"acc_fcsg_m.{bundle}" else found

    resting = [
        item
        for item in acc_fcsg_m.FINDINGS
        if item.id in {**refutations(), **evidence()}[f"acc_fcsg_m.{bundle}"].findings
    ]
    monkeypatch.setattr(acc_fcsg_m, "kept", harmless)
    assert resting
    for finding in resting:
        with pytest.raises(RecheckError):
            finding.check()


def test_the_jump_at_a_communication_by_hand():
    """Four clients at -+alpha, where a client's noise is a sign times alpha: the mean of the noise has variance alpha^2/4."""
    case = kept("acc_fcsg_m.lemma_d_2").case
    alpha, beta = case.hyperparameters["alpha"], case.hyperparameters["beta"]
    variance = alpha**2 / 4
    assert case.observables == {"error_sq": variance, "update_sq": variance, "dispersion_sq": 0}
    moved = 4 * alpha**2 * variance + 4 * (1 - beta) ** 2 * alpha**2  # the x_n of the communication add up to 0
    assert case.left == (1 - beta) ** 2 * variance + moved / 4**2


def test_the_negative_bound_of_dependent_samples_by_hand():
    """Theorem 4.1 for one step of one client in a round of one: nothing drifts, and F falls by E H(x_1) = p H(alpha/p)."""
    p = alpha = Q(1, 100)
    L_f = L_g = Q(3, 2)
    after = p * Q(1, 2)  # the Huber function with the curvature 1 up to 1, at 1
    known = constants(L_f, L_g, 1)
    S_F = known["S_g"] * L_f + L_g**2
    bias = 2 * L_g**2 * known["sigma_g"] ** 2
    right = 2 * -after / alpha + bias + 2 * alpha * S_F * L_f**2 * L_g**2
    shown = fcsg.product_of_moments()
    assert shown["right"] == pytest.approx(float(right), rel=1e-12) and shown["right"] < 0 == shown["left"]


def test_the_condition_of_the_corrected_theorem_is_implied_up_to_81_steps():
    statement = fedco.theorem("acc_fcsg_m.theorem_4_7").statement("corrected")
    limits = [statement.condition(name).right for name in ("step_size", "long_round")]
    period = fedco.theorem("acc_fcsg_m.theorem_4_7").notation["q"].symbol
    assert [sp.simplify(limits[1] / limits[0]).subs(period, q) >= 1 for q in (1, 80, 81, 82)] == [
        True,
        True,
        True,
        False,
    ]
