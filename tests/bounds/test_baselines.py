"""The lemmas of the baselines are steps of derivations, and add up to the theorems."""

from dataclasses import replace
from fractions import Fraction as R

import fedco
import pytest
from fedco.bounds import paper_theorems
from fedco.bounds.audit.findings import RecheckError
from fedco.bounds.audit.status import status
from fedco.bounds.papers.baselines.checks import STEPS, agrees
from quick import slow_but

AT = {
    "L": R(3, 5), "L_bar": R(2, 5), "G": R(7, 4), "sigma": R(2, 3), "zeta": R(5, 7), "F_gap": R(9, 2), "eta": R(1, 20),
    "C_f": R(4, 3), "L_f": R(3, 7), "C_g": R(6, 5), "L_g": R(2, 9), "delta_g": R(3, 8), "B_f": R(5, 3), "S_f": R(3, 11),
    "S_g": R(2, 13), "gamma": R(2, 7), "p": 4, "b": 3, "m": 5, "N": 6, "T": 700,
    "gradient_sq": R(3, 2), "direction_sq": R(4, 3), "bias_sq": R(1, 9), "noise_sq": R(5, 8), "moment_sq": R(7, 4),
    "consensus_error": R(2, 15), "used_error": R(3, 14), "kept_error": R(5, 17),
}  # fmt: skip


def values_of(name, **changes):
    return {key: value for key, value in (AT | changes).items() if key in fedco.theorem(name).symbols("printed")}


def exact_terms(name, **changes):
    statement, at = fedco.theorem(name).statement("printed"), values_of(name, **changes)
    symbols = {binding.symbol: at[key] for key, binding in fedco.theorem(name).symbols("printed").items()}
    return {term.name: statement.at(term.expr, symbols) for term in statement.terms}


QUICK = [f"baselines.{name}" for name in ("averaged_noise", "local_sgd_descent", "scgd_values", "biased_sgd_bias")]


@pytest.mark.parametrize(
    "lemma", slow_but(QUICK, [name for name in paper_theorems("baselines") if fedco.theorem(name).kind == "lemma"])
)
def test_a_lemma_is_the_step_of_a_derivation_that_the_kernel_accepts(lemma):
    """And twice the lemma, or another left side, is not."""
    name = lemma.partition(".")[2]
    step = STEPS[name]
    assert agrees(name, step)["step"].endswith(f", {step.name}")
    assert status(fedco.theorem(lemma), "printed").outcome == "derived"
    with pytest.raises(RecheckError, match="not confirmed"):
        agrees(name, replace(step, factor=lambda s: 2 * step.factor(s)))
    with pytest.raises((RecheckError, KeyError)):
        agrees(name, replace(step, left="||x||^2"))


@pytest.mark.parametrize(("theorem", "descent", "rate", "inserted"), [
    ("local_sgd", "local_sgd_descent", 1, {"noise_sq": "averaged_noise", "consensus_error": "local_sgd_drift"}),
    ("local_sgd_heterogeneity", "local_sgd_descent", 1,
     {"noise_sq": "averaged_noise", "consensus_error": "local_sgd_heterogeneity_drift"}),
    ("minibatch_sgd", "minibatch_sgd_descent", R(99, 50), {"noise_sq": "averaged_noise"}),
    ("scgd", "scgd_descent", 1, {"moment_sq": "scgd_moment", "used_error": "scgd_values"}),
    ("biased_sgd", "biased_sgd_descent", 1, {"noise_sq": "biased_sgd_noise", "bias_sq": "biased_sgd_bias"}),
])  # fmt: skip
def test_the_lemmas_add_up_to_the_theorem(theorem, descent, rate, inserted):
    """The descent of T steps, less than F_gap, solved for the squared gradient: rate eta/2 of it descends, 2 - L_bar eta = 99/50 here."""
    given = {name: total(f"baselines.{lemma}", L=AT["L"]) for name, lemma in inserted.items()}
    terms = exact_terms(f"baselines.{descent}", **given)
    rest = sum(R(str(value)) for name, value in terms.items() if name != "descent")
    assert R(str(terms["descent"])) == -rate * AT["eta"] / 2 * AT["gradient_sq"]
    implied = (AT["F_gap"] / AT["T"] + rest) * 2 / AT["eta"] / rate
    assert implied * rate == total(f"baselines.{theorem}")
    assert rate >= 1  # what minibatch SGD keeps and the theorem leaves out


def total(name, **changes):
    return sum(R(str(value)) for value in exact_terms(name, **changes).values())
