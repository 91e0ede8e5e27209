"""SCAFFOLD and FedProx: what the kernel refuses of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import App, Assumed, Mean, ProofError, Quantity, Reader, StartValue, Var, check, sq
from fedco.bounds.proof.kernel.derivation import begin
from fedco.bounds.proof.kernel.readings import Reading
from fedco.bounds.proof.kernel.scalars import At, One
from fedco.bounds.registry import get_theorem
from rewritten import rewritten

SCAFFOLD, FEDPROX = (get_theorem(f"library.{name}") for name in ("scaffold", "fedprox"))
SMALLER = [
    (SCAFFOLD, "noise_drift", "6*(p - 1)*eta**2*L**2*sigma**2/b"),
    (SCAFFOLD, "noise_drift", "7*(p - 1)*eta**2*L**2*sigma**2/(N*b)"),
    (SCAFFOLD, "first_round", "p**2*(p - 1)*eta**2*L**2*zeta_0**2/T"),
    (SCAFFOLD, "first_round", "0*zeta_0"),
    (SCAFFOLD, "variance", "L*eta*sigma**2/(2*N*b)"),
    (FEDPROX, "initialisation", "2*F_gap/(eta*T)"),
    (FEDPROX, "variance", "(1 + eta*gamma*p)*L*eta*sigma**2/(N*b)"),
    (FEDPROX, "heterogeneity", "(8*p/9 - 8/9)*(2*p - 1)*eta**2*L**2*zeta**2"),
    (FEDPROX, "noise_drift", "(1 + eta*gamma*p)*(8*p/3 - 8/3)*(1 - 1/N)*eta**2*L**2*sigma**2/(N*b)"),
]


QUICK = {
    "6*(p - 1)*eta**2*L**2*sigma**2/b",
    "p**2*(p - 1)*eta**2*L**2*zeta_0**2/T",
    "2*F_gap/(eta*T)",
    "(8*p/9 - 8/9)*(2*p - 1)*eta**2*L**2*zeta**2",
}
"""The nearest to what is true, of each of these terms."""


@pytest.mark.parametrize(
    ("theorem", "term", "formula"),
    [pytest.param(*case, marks=() if case[2] in QUICK else pytest.mark.slow) for case in SMALLER],
)
def test_a_stronger_statement_does_not_follow(theorem, term, formula):
    with pytest.raises(ProofError, match="the statement"):
        derivation(rewritten(theorem, {term: formula}))


def test_controls_that_start_elsewhere_are_refused():
    listed = tuple(item for item in SCAFFOLD.assumptions if item.name != "controls at rest")
    found = check(derivation(SCAFFOLD), replace(SCAFFOLD, assumptions=listed), "printed")
    assert "'controls at rest' is not in the theorem's list" in found.failure


def first_gradients(meaning, of="unlike"):
    """What the kernel makes of zeta_0, as a bound of a quantity or of a value of the clients' gradient at the server's model."""
    plan = derivation(SCAFFOLD)
    reader = Reader(SCAFFOLD, SCAFFOLD.statement())
    reading = Reading(SCAFFOLD, SCAFFOLD.statement(), reader, plan.setting, (Quantity("unlike", meaning),), "x")
    return reading.axioms({"first": Assumed("zeta_0", of)})["first"]


def gradients(point, *samples):
    return App("dF", point, samples or (None,))


X = Var("x")
HERE = Mean("n", X)


def away(term):
    return term - Mean("n", term)


def test_what_is_unlike_at_the_start_is_bounded_there_and_nowhere_else():
    axiom = first_gradients(sq(away(gradients(HERE))))
    assert isinstance(axiom, StartValue) and axiom.assumption == "first gradients" and axiom.offset == 0
    plan = derivation(SCAFFOLD)
    fact = axiom.instance(begin(plan, SCAFFOLD, "printed").state, ())
    assert fact.phases is None and [type(atom) for atom, _ in fact.form if not isinstance(atom, One)] == [At]


@pytest.mark.parametrize(
    "meaning",
    [
        sq(gradients(HERE)),
        sq(away(gradients(X))),
        sq(away(gradients(Var("z")))),
        sq(away(gradients(HERE, 0))),
        sq(Mean("n", gradients(HERE))),
        2 * sq(away(gradients(HERE))),
        sq(away(gradients(Mean("n", Var("x", 1))))),
        sq(away(Var("c"))),
    ],
    ids=repr,
)
def test_it_bounds_no_other_quantity(meaning):
    with pytest.raises(ProofError, match="is not the squared distance of"):
        first_gradients(meaning)


def test_it_bounds_no_gradient_at_any_point():
    with pytest.raises(ProofError, match="zeta_0 says nothing of dF"):
        first_gradients(sq(away(gradients(HERE))), of="dF")
