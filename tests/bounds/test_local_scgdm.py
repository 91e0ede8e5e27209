"""Local-SCGDM: every statement against an evaluation written from the paper alone, and the findings; slips are in test_injection.py."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from math import sqrt
from random import Random

import fedco
import kept_findings
import pytest
from fedco.bounds import paper_theorems
from fedco.bounds.audit.checks import automatic, compare_terms, corollary_terms
from fedco.bounds.audit.findings import RecheckError
from fedco.bounds.audit.refuted import kept
from fedco.bounds.evaluation.evaluate import InadmissibleError
from fedco.bounds.language.change import Change, changed
from fedco.bounds.language.theorem import DeclarationError
from fedco.bounds.papers.local_scgdm import checks as local_scgdm_checks
from fedco.bounds.papers.local_scgdm import composed as local_scgdm_proof
from fedco.bounds.papers.local_scgdm.checks import FINDINGS
from fedco.bounds.proof.certificates import prove_nonnegative
from fedco.bounds.proof.derivations import prove

THEOREMS = paper_theorems("local_scgdm")

# --- the paper in plain Python: nothing between this line and the next one uses fedco -----------------------


def equation_6(
    C_f, C_g, L_f, L_g, sigma_f, sigma_g, delta_g, F_gap, alpha, beta, gamma, eta, p, T, noise=2, letter=None
):
    L_F, letter = C_g**2 * L_f + C_f * L_g, L_g if letter is None else letter
    return {
        "initial_gap": 2 * F_gap / (beta * eta * T),
        "initial_momentum": 6
        * (C_g**2 * sigma_f**2 + C_g**2 * L_f**2 * delta_g**2 + C_f**2 * sigma_g**2)
        / (alpha * eta * T),
        "initial_inner": 4 * C_g**2 * letter**2 * delta_g**2 / (gamma * eta * T),
        "inner_noise": noise * gamma * eta * C_g**2 * L_f**2 * delta_g**2,
        "gradient_noise": noise * alpha * eta * (C_g**2 * sigma_f**2 + C_f**2 * sigma_g**2),
        "inner_noise_second": noise * gamma**2 * eta**2 * C_g**2 * L_f**2 * delta_g**2,
        "drift": 32
        * (p * beta * eta * L_F) ** 2
        * (16 * C_g**2 * L_f**2 * delta_g**2 + C_g**2 * sigma_f**2 + 3 * C_f**2 * sigma_g**2),
    }


def composed(**v):
    return equation_6(**v, noise=4, letter=v["L_f"])


def repaired(C_f, C_g, L_f, L_g, sigma_f, sigma_g, delta_g, F_gap, alpha, beta, gamma, eta, p, T):
    """The table of the memo, case (A)."""
    k, w, c = (C_g * L_f * delta_g) ** 2, gamma * eta, alpha * eta
    noise = (C_g * sigma_f) ** 2 + 2 * (C_f * sigma_g) ** 2
    return {
        "initial_gap": 2 * F_gap / (beta * eta * T),
        "initial_momentum": (noise + 2 * k) / (c * T),
        "initial_inner": 16 * k / (3 * w * T),
        "inner_noise": 8 * k * w / 3,
        "gradient_noise": c * noise,
        "inner_noise_second": 2 * k * w**2,
        "inner_disagreement": 8 * p * k * w**2 / 3,
        "drift": (32 * C_g**4 * L_f**2 / 3 + 8 * (C_f * L_g) ** 2) * ((p - 1) * beta * eta * C_f * C_g) ** 2,
    }


def scheduled(formula):
    def at(T, **v):
        return formula(eta=T**-0.5, p=T**0.25, T=T, **{k: float(x) for k, x in v.items()})

    return at


def equation_11(C_f, C_g, L_f, sigma_f, sigma_g, alpha, beta, eta, momentum_sq, momentum_error, next_inner_error):
    return lemma_4_1(
        C_f, C_g, L_f, sigma_f, sigma_g, alpha, beta, eta, momentum_sq, momentum_error, next_inner_error, L_f
    )


def lemma_4_1(C_f, C_g, L_f, sigma_f, sigma_g, alpha, beta, eta, momentum_sq, momentum_error, next_inner_error, letter):
    return {
        "momentum_error": (1 - alpha * eta) * momentum_error,
        "inner_error": 2 * alpha * eta * C_g**2 * L_f**2 * next_inner_error,
        "momentum": 2 * eta * beta**2 * letter**2 / alpha * momentum_sq,
        "gradient_noise": 2 * alpha**2 * eta**2 * (C_g**2 * sigma_f**2 + C_f**2 * sigma_g**2),
    }


def equation_25(L_g, **v):
    return lemma_4_1(**v, letter=v["C_g"] ** 2 * v["L_f"] + v["C_f"] * L_g)


def lemma_4_1_between_communications(L_g, **v):
    """docs/theory/local_scgdm.md, section 5: the bias costs 2 alpha eta, the noise (alpha eta)^2, with 2 for the sample Jacobian."""
    noise = v["C_g"] ** 2 * v["sigma_f"] ** 2 + 2 * v["C_f"] ** 2 * v["sigma_g"] ** 2
    return equation_25(L_g, **v) | {"gradient_noise": (v["alpha"] * v["eta"]) ** 2 * noise}


def lemma_a_2_for_identical_clients(C_f, C_g, L_f, L_g, sigma_f, sigma_g, consensus_error, inner_consensus):
    return {
        "drift": 4 * C_f**2 * L_g**2 * consensus_error,
        "inner_consensus": 4 * C_g**2 * L_f**2 * inner_consensus,
        "outer_noise": 4 * C_g**2 * sigma_f**2,
        "jacobian_noise": 4 * C_f**2 * sigma_g**2,
    }


def equation_12(C_g, delta_g, beta, gamma, eta, momentum_sq, inner_error):
    return {
        "momentum": eta * beta**2 * C_g**2 / gamma * momentum_sq,
        "inner_noise": gamma**2 * eta**2 * delta_g**2,
        "inner_error": (1 - gamma * eta) * inner_error,
    }


def equation_13(C_f, C_g, L_f, sigma_f, sigma_g, delta_g, beta, eta, p, L_g=None, alpha=None, gamma=None):
    scale = (p * beta * eta) ** 2
    return {
        "inner_noise": 256 * scale * C_g**2 * L_f**2 * delta_g**2,
        "outer_noise": 16 * scale * C_g**2 * sigma_f**2,
        "jacobian_noise": 48 * scale * C_f**2 * sigma_g**2,
    }


def equation_27(C_g, delta_g, p, consensus_sum, gamma=None, eta=None):
    return {"inner_noise": 8 * p * delta_g**2, "drift": 8 * C_g**2 * consensus_sum}


def equation_33(C_f, C_g, L_f, L_g, sigma_f, sigma_g, inner_consensus, consensus_error):
    return {
        "drift": 48 * C_f**2 * L_g**2 * consensus_error,
        "inner_consensus": 16 * C_g**2 * L_f**2 * inner_consensus,
        "outer_noise": 8 * C_g**2 * sigma_f**2,
        "jacobian_noise": 24 * C_f**2 * sigma_g**2,
    }


def equation_15(C_f, C_g, L_f, L_g, beta, eta, gradient_sq, momentum_sq, momentum_error, consensus_error):
    step = beta * eta
    return {
        "descent": -step / 2 * gradient_sq,
        "momentum": -step / 4 * momentum_sq,
        "momentum_error": step * momentum_error,
        "drift": step * (C_g**2 * L_f + C_f * L_g) ** 2 * consensus_error,
    }


def equation_17(C_f, C_g, L_f, L_g, sigma_f, sigma_g, delta_g, alpha, beta, gamma, eta, gradient_sq, consensus_error):
    k = C_g**2 * L_f**2 * delta_g**2
    return {
        "descent": -beta * eta / 2 * gradient_sq,
        "drift": beta * eta * (C_g**2 * L_f + C_f * L_g) ** 2 * consensus_error,
        "inner_noise": 2 * beta * gamma * eta**2 * k,
        "gradient_noise": 2 * alpha * beta * eta**2 * (C_g**2 * sigma_f**2 + C_f**2 * sigma_g**2),
        "inner_noise_second": 2 * beta * gamma**2 * eta**3 * k,
    }


def equation_40(momentum_sq, **v):
    a, b, c, e = (v[name] for name in ("alpha", "beta", "gamma", "eta"))
    coupled, smooth = v["C_g"] ** 4 * v["L_f"] ** 2, v["C_g"] ** 2 * v["L_f"] + v["C_f"] * v["L_g"]
    return equation_17(**v) | {
        "momentum_inner": (2 * e * b**3 * coupled / c**2 + 2 * e**2 * b**3 * coupled / c) * momentum_sq,
        "momentum": (2 * e * b**3 * smooth**2 / a**2 - b * e / 4) * momentum_sq,
    }


def remark_3_6(C_f, C_g, L_f, L_g):
    return {"limit": 1 / sqrt(16 * C_g**4 * L_f**2 + 8 * (C_g**2 * L_f + C_f * L_g) ** 2)}


def remark_3_7(T):
    return {"rounds": T**0.75}


def equation_44(delta_g):
    return {"inner_noise": delta_g**2}


PAPER = {
    ("theorem_3_4", "printed"): equation_6,
    ("theorem_3_4", "composed"): composed,
    ("theorem_3_4", "corrected"): repaired,
    ("corollary_3_5", "printed"): scheduled(equation_6),
    ("corollary_3_5", "composed"): scheduled(composed),
    ("corollary_3_5", "corrected"): scheduled(repaired),
    ("lemma_4_1", "printed"): equation_11,
    ("lemma_4_1", "composed"): equation_25,
    ("lemma_4_1", "corrected"): lemma_4_1_between_communications,
    ("lemma_a_2", "corrected"): lemma_a_2_for_identical_clients,
    ("lemma_4_2", "printed"): equation_12,
    ("lemma_4_2", "composed"): equation_12,
    ("lemma_4_3", "printed"): equation_13,
    ("lemma_4_3", "composed"): equation_13,
    ("lemma_a_1", "printed"): equation_27,
    ("lemma_a_1", "composed"): equation_27,
    ("lemma_a_2", "printed"): equation_33,
    ("descent", "printed"): equation_15,
    ("descent", "composed"): equation_15,
    ("potential", "printed"): equation_17,
    ("potential", "composed"): equation_17,
    ("potential_step", "composed"): equation_40,
    ("remark_3_6", "printed"): remark_3_6,
    ("remark_3_6", "composed"): remark_3_6,
    ("remark_3_7", "printed"): remark_3_7,
    ("remark_3_7", "composed"): remark_3_7,
    ("start_inner", "printed"): equation_44,
    ("start_inner", "composed"): equation_44,
}

# ------------------------------------------------------------------------------------------------------------

THEOREM = fedco.theorem("local_scgdm.theorem_3_4")
COUNTS = {"p": (1, 2, 5), "T": (16, 1296, 10**8)}


def draw(names, seed):
    """Random rationals over several scales; counts where a count is wanted."""
    rng = Random(seed)
    return {
        name: rng.choice(COUNTS[name]) if name in COUNTS else Q(rng.randint(1, 99), rng.choice((7, 100, 13)))
        for name in names
    }


@pytest.mark.parametrize(("name", "label"), PAPER)
@pytest.mark.parametrize("seed", range(3))
def test_a_statement_is_what_the_paper_says(name, label, seed):
    theorem = fedco.theorem(f"local_scgdm.{name}")
    values = draw(theorem.symbols(label), seed)
    if name == "corollary_3_5":
        values = {k: v for k, v in values.items() if k not in ("eta", "p")}
    bound = theorem.bound(label, strict=False, **values)
    expected = PAPER[name, label](**values)
    assert bound.terms == pytest.approx({k: float(v) for k, v in expected.items()}, rel=1e-12)
    assert bound.total == pytest.approx(float(sum(expected.values())), rel=1e-12)


@pytest.mark.parametrize("label", ["printed", "corrected"])
def test_lemma_3_9_defines_the_constants(label):
    lemma = fedco.theorem("local_scgdm.lemma_3_9")
    v = {"L_1": 2, "L_2": 3, "sigma_1": Q(1, 2), "sigma_2": Q(1, 3), "G": 5, "lam": Q(1, 4)}
    expected = {"L_f": 2, "L_g": 0.75, "C_f": sqrt(25.25), "C_g": sqrt(2.25 + 1 / 144), "sigma_f": 0.5}
    expected |= {"sigma_g": 1 / 12, "delta_g": 0.125, "L_F": 2.25 * 2 + 3.75}
    if label == "corrected":
        expected |= {"C_g": 1 + (2 + 1 / 3) / 4, "sigma_f": sqrt(25.25)}
    assert lemma.bound(label, **v).derived == pytest.approx(expected, rel=1e-12)


def smooth(v):
    return v["C_g"] ** 2 * v["L_f"] + v["C_f"] * v["L_g"]


def test_proved_against_printed_as_the_referee_says():
    different = {name for name, (outcome, _) in compare_terms(THEOREM).items() if outcome != "equal"}
    assert different == {"initial_inner", "inner_noise", "gradient_noise", "inner_noise_second"}
    elsewhere = {"lemma_4_1": {"momentum"}, "potential_step": {"momentum_inner"}, "start_potential": {"initial_inner"}}
    for item in THEOREMS.values():
        name = item.id.partition(".")[2]
        if "composed" in item.labels and name not in ("theorem_3_4", "corollary_3_5", "summed"):
            differs = {term for term, (outcome, _) in compare_terms(item).items() if outcome != "equal"}
            assert differs == elsewhere.get(name, set()), name


def test_the_corollary_is_the_theorem_at_its_schedule():
    outcomes = {
        name: outcome for name, (outcome, *_) in corollary_terms(fedco.theorem("local_scgdm.corollary_3_5")).items()
    }
    assert set(outcomes.values()) == {"equal"} and len(outcomes) == 7


def test_the_audit_finds_the_wrong_letter_and_no_condition_that_the_theorem_or_the_method_has():
    found = {finding.id.partition(".")[2]: finding for item in THEOREMS.values() for finding in automatic(item)}
    assert {
        "theorem_3_4:homogeneity",
        "theorem_3_4:terms",
        "lemma_4_1:homogeneity",
        "potential_step:homogeneity",
    } <= set(found)
    assert not any(":condition:" in name for name in found)


def test_moves_that_do_not_follow_are_refused(monkeypatch):
    known = local_scgdm_proof.CONDITIONS
    wide = replace(known["step_size"], right=2 * known["step_size"].right)
    monkeypatch.setattr(local_scgdm_proof, "CONDITIONS", {**known, "step_size": wide})
    with pytest.raises(DeclarationError, match="does not follow"):
        local_scgdm_proof.potential(fedco.theorem("local_scgdm.potential_step"))
    found = prove(changed(THEOREM, "corrected", Change("step_size", "relaxed", Q(4))))
    assert not found.accepted and found.failure.startswith("step descent: left over")


def test_corrected_without_noise_and_with_p_1_is_gradient_descent():
    values = draw(THEOREM.symbols("corrected"), 3) | {"sigma_f": 0, "sigma_g": 0, "delta_g": 0, "p": 1}
    bound = THEOREM.bound("corrected", strict=False, **values)
    assert bound.total == pytest.approx(float(2 * values["F_gap"] / (values["beta"] * values["eta"] * values["T"])))


def test_corrected_noise_is_below_proved_noise():
    corrected, proved = THEOREM.statement("corrected"), THEOREM.statement("composed")
    for name in ("initial_gap", "initial_momentum", "inner_noise", "gradient_noise"):
        assert prove_nonnegative(proved.term(name).expr - corrected.term(name).expr), name


def test_printed_and_corrected_on_long_rounds_of_the_frozen_instance():
    """Its inner functions differ, so that `corrected` does not apply: there the bound would be wrong as well."""
    values = kept(THEOREM.id).case.values | {"eta": Q(1, 10**4), "p": 100, "T": 10**8}
    assert THEOREM.bound("printed", **values).total < 0.0013
    assert THEOREM.bound("corrected", **values).total < 1


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.id)
def test_a_finding_survives_its_own_check(finding):
    kept_findings.check(finding)
    assert finding.theorem in THEOREMS


def test_a_repaired_letter_is_not_refuted(monkeypatch):
    honest = local_scgdm_checks.printed
    repaired_letter = lambda values, label="printed", name="local_scgdm.theorem_3_4": honest(values, "composed", name)  # noqa: E731
    monkeypatch.setattr(local_scgdm_checks, "printed", repaired_letter)
    with pytest.raises(RecheckError):
        local_scgdm_checks.initial_inner()


def test_outside_the_conditions_it_raises():
    values = kept(THEOREM.id).case.values | {"beta": 10}
    with pytest.raises(InadmissibleError, match="step_size"):
        THEOREM.bound("printed", **values)
