"""ComFedL: every statement against an evaluation written from the paper alone, the findings, and mutants of both."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from math import log, sqrt
from random import Random

import fedco
import kept_findings
import pytest
import sympy as sp
from fedco.bounds import paper_theorems
from fedco.bounds.audit.checks import automatic, compare_terms
from fedco.bounds.audit.findings import RecheckError
from fedco.bounds.audit.refuted import kept
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.theorem import DeclarationError, Term
from fedco.bounds.papers.comfedl import checks as comfedl_checks
from fedco.bounds.papers.comfedl import composed as comfedl_proof
from fedco.bounds.papers.comfedl.checks import FINDINGS
from fedco.bounds.proof.certificates import prove_nonnegative
from fedco.bounds.proof.compose import Chain
from fedco.validation.exact.curve import Curve, mean

s = comfedl_proof.s

# --- the paper in plain Python: nothing between this line and the next one uses fedco -----------------------


def ending(G_f, G_g, L, eta, tau):
    return {"mean_drift": L * tau * eta * G_g**2 * G_f**2, "second_order": L * eta / 2 * G_f**2 * G_g**2}


def equation_12(G_f, G_g, L_f, L_g, L, sigma, F_gap, eta, tau, b, b_1, T):
    H = sqrt(G_g**2 * L_f**2 + G_f**4 * L_g**2)
    product_ = sqrt(5) * H * tau * G_g * G_f * eta * sqrt(5) * G_f * sigma / sqrt(b_1)
    return {
        "initialisation": F_gap / (T * eta),
        "drift_times_outer_noise": G_f * G_g * product_,
        "inner_jacobian_noise": G_f * G_g * sqrt(5) * G_g * sigma / sqrt(b),
        "inner_value_noise": G_f * G_g * sqrt(5) * L_g * G_f * sigma / sqrt(b),
        **ending(G_f, G_g, L, eta, tau),
    }


def equation_34(G_f, G_g, L_f, L_g, L, sigma, F_gap, eta, tau, b, b_1, T):
    root = sqrt(5 * (G_g**2 * L_f**2 + G_f**4 * L_g**2))
    return {
        "initialisation": F_gap / (T * eta),
        "estimator_drift": G_f * G_g * root * tau * eta * G_g * G_f,
        "outer_noise": G_f * G_g * sqrt(5) * G_f * sigma / sqrt(b_1),
        "inner_jacobian_noise": G_f * G_g * sqrt(5) * G_g * sigma / sqrt(b),
        "inner_value_noise": G_f * G_g * sqrt(5) * L_g * G_f * sigma / sqrt(b),
        **ending(G_f, G_g, L, eta, tau),
    }


def equation_13(G_f, G_g, L_f, L_g, L, sigma, F_gap, eta, tau, b, T):
    H = sqrt(G_g**2 * L_f**2 + G_f**4 * L_g**2)
    return {
        "initialisation": F_gap / (T * eta),
        "estimator_drift": G_f * G_g * 2 * H * tau * eta * G_g * G_f,
        "inner_jacobian_noise": G_f * G_g * 2 * G_g * sigma / sqrt(b),
        "inner_value_noise": G_f * G_g * 2 * L_g * G_f * sigma / sqrt(b),
        **ending(G_f, G_g, L, eta, tau),
    }


def repaired(G_f, G_g, L_f, L_g, L, sigma, F_gap, eta, tau, b, T):
    """docs/theory/comfedl.md, the display of the section on `corrected`."""
    steps, G = (tau - 1) / 2, G_f * G_g
    return {
        "initialisation": F_gap / (T * eta),
        "estimator_drift": steps * eta * (G_g * L_f + L_g * G_f**2) * G**2,
        "mean_drift": steps * eta * L * G**2,
        "inner_value_noise": L_g * G_f**2 * G_g * sigma / sqrt(b),
        "second_order": L * eta / 2 * G**2,
    }


def equation_28(G_f, G_g, eta, t):
    return {"drift": t**2 * eta**2 * G_g**2 * G_f**2}


def lemma_2(G_f, G_g, eta, tau):
    return {"drift": tau**2 * eta**2 * G_g**2 * G_f**2}


def equation_30(G_f, G_g, L_f, L_g, sigma, b, b_1, client_drift_sq, factor=5):
    return {
        "drift": factor * G_g**2 * L_f**2 * client_drift_sq + factor * G_f**4 * L_g**2 * client_drift_sq,
        "outer_noise": factor * G_f**2 * sigma**2 / b_1,
        "inner_jacobian_noise": factor * G_g**2 * sigma**2 / b,
        "inner_value_noise": factor * L_g**2 * G_f**2 * sigma**2 / b,
    }


def equation_29(G_f, G_g, L_f, L_g, sigma, eta, tau, b, b_1):
    return equation_30(G_f, G_g, L_f, L_g, sigma, b, b_1, tau**2 * eta**2 * G_g**2 * G_f**2)


def before_37(G_f, G_g, L_f, L_g, sigma, b, client_drift_sq):
    terms = equation_30(G_f, G_g, L_f, L_g, sigma, b, 1, client_drift_sq, factor=4)
    del terms["outer_noise"]
    return terms


def equation_37(G_f, G_g, L_f, L_g, sigma, eta, tau, b):
    return before_37(G_f, G_g, L_f, L_g, sigma, b, tau**2 * eta**2 * G_g**2 * G_f**2)


def equation_32(G_f, G_g, L, eta, gradient_sq, estimator_error, mean_drift):
    return {
        "descent": -eta * gradient_sq,
        "estimator": eta * G_f * G_g * estimator_error,
        "mean_drift": eta * L * G_f * G_g * mean_drift,
        "second_order": L * eta**2 / 2 * G_f**2 * G_g**2,
    }


PRINTED_AND_PROVED = {
    "theorem_2": equation_13,
    "lemma_2": lemma_2,
    "lemma_2_step": equation_28,
    "lemma_3": equation_29,
    "lemma_3_step": equation_30,
    "lemma_4": equation_37,
    "lemma_4_step": before_37,
    "descent": equation_32,
}
PAPER = {
    (name, label): formula for name, formula in PRINTED_AND_PROVED.items() for label in ("printed", "composed")
} | {
    ("theorem_1", "printed"): equation_12,
    ("theorem_1", "composed"): equation_34,
    ("theorem_1", "corrected"): repaired,
    ("theorem_2", "corrected"): repaired,
    ("remark_1", "printed"): equation_34,
    ("remark_2", "printed"): equation_13,
}

# ------------------------------------------------------------------------------------------------------------

THEOREMS = tuple(paper_theorems("comfedl").values())
THEOREM_1, THEOREM_2 = fedco.theorem("comfedl.theorem_1"), fedco.theorem("comfedl.theorem_2")
COUNTS = {"tau": (1, 2, 5), "b": (1, 7, 64), "b_1": (1, 7, 64), "T": (10, 1000, 10**6), "n": (1, 3, 10)}


def draw(names, seed):
    """Random rationals over several scales; counts where a count is wanted, T a multiple of tau, b = b_1."""
    rng = Random(seed)
    values = {
        name: rng.choice(COUNTS[name]) if name in COUNTS else Q(rng.randint(1, 99), rng.choice((7, 100, 13)))
        for name in names
    }
    if {"b", "b_1"} <= set(names):
        values["b"] = values["b_1"]
    return values


@pytest.mark.parametrize(("name", "label"), PAPER)
@pytest.mark.parametrize("seed", range(4))
def test_a_statement_is_what_the_paper_says(name, label, seed):
    theorem = fedco.theorem(f"comfedl.{name}")
    values = draw(theorem.symbols(label), seed)
    bound = theorem.bound(label, strict=False, **values)
    expected = PAPER[name, label](**values)
    assert bound.terms == pytest.approx({k: float(v) for k, v in expected.items()}, rel=1e-12)
    assert bound.total == pytest.approx(float(sum(expected.values())), rel=1e-12)
    assert bound.admissible or name.startswith("remark")


def test_every_registered_statement_is_compared_with_the_paper():
    registered = {(item.id.split(".")[1], label) for item in THEOREMS for label in item.labels}
    assert registered - set(PAPER) == {("lemma_1", label) for label in ("printed", "composed", "corrected")}


@pytest.mark.parametrize(("label", "slope"), [("printed", Q(1, 4)), ("composed", Q(1, 4)), ("corrected", 1)])
def test_lemma_1_defines_value_and_multiplier(label, slope):
    lemma = fedco.theorem("comfedl.lemma_1")
    values = {"gamma": "3/2", "n": 4, "mean_exp": "1/5"}
    bound = lemma.bound(label, **{name: values[name] for name in lemma.symbols(label)})
    value = 1.5 * log(0.2)
    assert bound.total is None
    assert bound.derived == pytest.approx({"J": value, "lam": 1.5 * float(slope) - value}, rel=1e-12)


def test_lemma_1_gives_the_maximum_and_kl_to_it():
    """value(r*) = J, and J - value(r) = gamma KL(r, r*) for other weights."""
    gamma, losses, other = 1.5, (0.3, -1.0, 2.0), (0.5, 0.3, 0.2)
    weights = [2.718281828459045 ** (f / gamma) for f in losses]
    best = [a / sum(weights) for a in weights]

    def value(r):
        return sum(p * f - gamma * p * log(3 * p) for p, f in zip(r, losses, strict=True))

    bound = fedco.theorem("comfedl.lemma_1").bound("corrected", gamma="3/2", mean_exp=Q(sum(weights) / 3))
    divergence = sum(p * log(p / q) for p, q in zip(other, best, strict=True))
    assert value(best) == pytest.approx(bound.derived["J"], rel=1e-12)
    assert bound.derived["J"] - value(other) == pytest.approx(gamma * divergence, rel=1e-9)


@pytest.mark.parametrize("name", [item.id for item in THEOREMS if "composed" in item.labels])
def test_proved_is_printed_except_in_theorem_1(name):
    outcomes = {term: outcome for term, (outcome, _) in compare_terms(fedco.theorem(name)).items()}
    different = {term for term, outcome in outcomes.items() if outcome != "equal"}
    wrong = {"drift_times_outer_noise", "estimator_drift", "outer_noise"}
    assert different == (wrong if name == "comfedl.theorem_1" else set())


def test_the_audit_finds_the_missing_sign_by_itself():
    found = {finding.id: finding for item in THEOREMS for finding in automatic(item)}
    serious = {name for name, finding in found.items() if finding.severity != "slip"}
    assert serious == {"comfedl.theorem_1:homogeneity", "comfedl.theorem_1:terms"}
    assert all(name.endswith(":units") for name in set(found) - serious)
    with_plus = replace(THEOREM_1.statement("composed"), label="printed", conditions=(comfedl_proof.WHOLE_ROUNDS,))
    repaired_theorem = replace(THEOREM_1, statements={**THEOREM_1.statements, "printed": with_plus})
    assert [*automatic(repaired_theorem)] == []


def test_proved_conditions_do_not_ask_for_equal_batches():
    values = draw(THEOREM_1.symbols("composed"), 1) | {"b": 2, "b_1": 3}
    assert THEOREM_1.bound("composed", **values).admissible
    assert THEOREM_1.bound("printed", strict=False, **values).failed == ("equal_batches",)


def test_moves_that_do_not_follow_are_refused():
    step = fedco.theorem("comfedl.lemma_2_step")
    printed = step.statement("printed")
    negative = replace(fedco.theorem("comfedl.lemma_2").statement("printed"), terms=(Term("drift", -s.eta),))
    with pytest.raises(DeclarationError, match="may be negative"):
        comfedl_proof.root(negative, comfedl_proof.H)
    with pytest.raises(DeclarationError, match="may be negative"):
        comfedl_proof.telescope(Chain(s.eta * s.gradient_sq))
    with pytest.raises(DeclarationError, match="not certified to grow"):
        comfedl_proof.drift_in_round(with_statement(step, replace(printed, terms=(Term("drift", s.eta / (1 + s.t)),))))


def test_corrected_is_below_printed_theorem_2_and_below_theorem_1_with_its_sign():
    smooth, rough = s.G_g * s.L_f + s.L_g * s.G_f**2, comfedl_proof.H.expr**2
    assert sp.expand(2 * rough - smooth**2 - (s.G_f**2 * s.L_g - s.G_g * s.L_f) ** 2) == 0
    corrected, printed = (THEOREM_2.statement(label) for label in ("corrected", "printed"))
    for name in ("initialisation", "inner_value_noise", "mean_drift", "second_order"):
        assert prove_nonnegative(printed.term(name).expr - corrected.term(name).expr), name
    assert {term.name for term in corrected.terms} < {term.name for term in printed.terms}
    drift = corrected.expand(corrected.term("estimator_drift").expr / smooth)
    per_h = printed.term("estimator_drift").expr / comfedl_proof.H.symbol
    assert prove_nonnegative(per_h - 2 * drift)  # smooth <= sqrt(2) H <= 2 H


@pytest.mark.parametrize("finding", FINDINGS, ids=lambda finding: finding.id)
def test_a_finding_survives_its_own_check(finding):
    kept_findings.check(finding)
    assert finding.theorem in {item.id for item in THEOREMS}


def test_the_refuting_instance_depends_on_the_printed_sign(monkeypatch):
    honest = comfedl_checks.total

    def with_plus(name, label, values):
        return honest(name, "composed" if label == "printed" else label, values)

    monkeypatch.setattr(comfedl_checks, "total", with_plus)
    with pytest.raises(RecheckError):
        comfedl_checks.theorem_1_false()


def test_the_printed_bound_of_the_refuting_instance_and_the_one_with_a_plus():
    values = {name: float(value) for name, value in kept("comfedl.theorem_1").case.values.items()}
    assert sum(equation_12(**values).values()) < 0.0034 < 0.01 < sum(equation_34(**values).values())


@pytest.mark.parametrize(("name", "eta", "tau"), [("theorem_1", Q(1, 5), 2), ("theorem_1.eight_steps", Q(1, 20), 8)])
def test_the_clients_bend_only_where_the_local_steps_end(name, eta, tau):
    """The round of tau steps in plain fractions: from 0 and back, over just the range on which the clients are straight."""
    shape = kept(f"comfedl.{name}").case.problem["parameters"]["instance"]["parameters"]
    ends, asked = [], []
    clients = [
        Curve(tuple(zip(map(Q, p), v, strict=True))) for p, v in zip(shape["knots"], shape["slopes"], strict=True)
    ]
    for client in clients:
        x = Q(0)
        for _ in range(tau):
            asked.append(x)
            x -= eta * client(x)
        ends.append(x)
    assert sum(ends) == 0 and mean(clients)(Q(0)) != 0
    assert all(client.positions[1:] == (min(asked), max(asked)) for client in clients)


def test_remarks_admit_no_horizon_beyond_one():
    for name in ("remark_1", "remark_2"):
        claim = fedco.theorem(f"comfedl.{name}")
        values = draw(claim.symbols("printed"), 2) | {"tau": 1}
        constants = {k: v for k, v in values.items() if k not in ("eta", "b", "b_1", "T")}
        assert claim.bound("printed", T=1, **constants).admissible
        assert "b_one_sample" in claim.bound("printed", strict=False, T=100, **constants).failed
