"""The expected norm of the gradient: concluded from its square by Jensen's inequality, under both locks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from fedco.bounds import get_theorem
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.formula import read_formula
from fedco.bounds.language.metrics import METRICS, with_probability
from fedco.bounds.language.notation import derived_symbol
from fedco.bounds.language.theorem import Derived, Term, Theorem
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import Derivation, check
from fedco.validation.proofs.lock import instances_of

SGD = get_theorem("library.sgd_probable")
FOUND = derivation(SGD)
assert isinstance(FOUND, Derivation)
PLAN = replace(FOUND, inside={**FOUND.inside, "F_gap": Fraction(7, 8)})
"""The point inside of the region is one at which Q is a rational number, 2."""
SQUARE = "2*F_gap/(eta*T) + L_bar*eta*sigma**2/(N*b)"


def bounded(term: str, square: str = SQUARE, metric=METRICS["mean_gradient"]) -> Theorem:
    """SGD on a smooth objective, with Q the root of a sum."""
    statement, names = SGD.statement("printed"), {b.name: b.symbol for b in SGD.notation}
    root = Derived("Q", read_formula(f"sqrt({square})", names), "Q")
    names["Q"] = derived_symbol("Q")
    said = replace(statement, derived=(root,), terms=(Term("all", read_formula(term, names)),))
    return with_statement(replace(SGD, metric=metric), said)


@pytest.mark.parametrize("word", ["mean_gradient", "minimum_gradient"])
def test_the_norm_is_at_most_the_root_of_the_mean_square(word: str):
    verdict = check(PLAN, bounded("Q", metric=METRICS[word]), "printed")
    assert verdict.accepted, verdict.failure
    assert "Jensen's inequality from its square" in verdict.rests_on["metric"]


@pytest.mark.slow
def test_it_holds_on_the_instances():
    found = instances_of(PLAN, bounded("Q"))
    assert not found.failed and found.tried


def test_with_a_probability_the_norm_exceeds_its_bound_as_often_as_markov_says():
    metric = with_probability(METRICS["mean_gradient"], "delta", "")
    assert check(PLAN, bounded("Q/delta", metric=metric), "printed").accepted
    assert not check(PLAN, bounded("Q", metric=metric), "printed").accepted


@pytest.mark.parametrize(
    ("term", "square", "why"),
    [
        ("9/10*Q", SQUARE, "left over"),
        ("Q", "2*F_gap/(eta*T) + L_bar*eta*sigma**2/(N**2*b)", "left over"),
        ("Q", "2*F_gap/(eta*T**2) + L_bar*eta*sigma**2/(N*b)", "left over"),
        ("-Q", SQUARE, "nowhere negative"),
        ("Q - 3*Q", SQUARE, "nowhere negative"),
    ],
)
def test_a_false_bound_is_refused(term: str, square: str, why: str):
    """The square of -Q is that of Q: a bound is not negative."""
    verdict = check(PLAN, bounded(term, square), "printed")
    assert not verdict.accepted and why in verdict.failure, verdict.failure


def test_the_bound_of_the_square_is_none_of_the_norm():
    """As the mean of the squares is at most Q^2, a proof that did not square would take Q^2 for a bound of the norm."""
    other = replace(SGD, metric=METRICS["mean_gradient"])
    assert not check(PLAN, other, "printed").accepted


@pytest.mark.slow
def test_an_instance_breaks_a_false_bound():
    found = instances_of(PLAN, bounded("Q/16"))
    assert any(line.startswith("statement") for line in found.failed), found


def test_the_norm_at_the_average_or_from_another_quantity_is_not_concluded():
    for word, why in (("averaged_gradient", "no convex function"), ("mean_gap", "minimiser")):
        verdict = check(PLAN, bounded("Q", metric=METRICS[word]), "printed")
        assert not verdict.accepted and why in verdict.failure, verdict.failure
