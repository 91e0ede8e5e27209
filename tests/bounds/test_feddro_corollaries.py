"""The orders of the corrected corollaries of FedDRO are the best inside the corrected Theorem 5.1, and its rate at the longest rounds."""

from dataclasses import replace
from fractions import Fraction as F

import pytest
import sympy as sp
from fedco.bounds import get_theorem as theorem
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.theorem import Condition, Term
from fedco.bounds.proof.derivations import prove
from fedco.bounds.proof.kernel import Corollary, Reader, follow

MAIN, FIRST, SECOND = (theorem(f"feddro.{name}") for name in ("theorem_5_1", "corollary_1", "corollary_2"))
s = MAIN.notation.namespace()
PARENT, CORRECTED = MAIN.statement("corrected"), FIRST.statement("corrected")
L = PARENT.constant("L_Phi").symbol
n = s.b * s.K
RATE = s.I ** sp.Rational(1, 4) / sp.sqrt(n * s.T)


def test_the_orders_of_the_second_corollary():
    """At I = T^{2/5}/n^{6/5} the rate is eps for T = eps^{-5/2} n^{-2}: rounds eps^{-3/2}, whatever n."""
    eps = sp.Symbol("eps", positive=True)
    I = SECOND.statement("corrected").schedule["I"].args[1].args[0]
    at = {s.T: eps ** sp.Rational(-5, 2) / n**2}

    def plain(expr):
        return sp.simplify(sp.powdenest(sp.expand_power_base(expr, force=True), force=True))

    assert plain(RATE.xreplace({s.I: I}).xreplace(at)) == plain(eps)
    assert plain((s.T / I).xreplace(at)) == plain(eps ** sp.Rational(-3, 2))


@pytest.mark.slow
def test_no_schedule_with_a_bounded_batch_does_better_inside_the_theorem():
    """The linear program over all powers, with b = K = 1: least rounds, then least samples, and the other way round."""
    from fedco.bounds.cost.orders import rates

    one = {s.b: sp.Integer(1), s.K: sp.Integer(1)}
    known = MAIN.statement("corrected")
    terms = tuple(replace(term, expr=known.expand(term.expr).xreplace(one)) for term in known.terms)
    conditions = tuple(c.each_side(lambda side: known.expand(side).xreplace(one)) for c in known.conditions)
    made = with_statement(MAIN, replace(known, terms=terms, conditions=conditions)).statement("corrected")

    def best(*order):
        return {name: cost.eps for name, cost in rates(made, order).costs.items() if name in order}

    assert best("rounds", "samples") == {"rounds": F(3, 2), "samples": F(5, 2)}
    assert best("samples", "rounds") == {"samples": F(2), "rounds": F(2)}


# --- Corollary 2 with its constants: the bound at the longest rounds is at most A/(n^{4/5} T^{2/5}) ---------------------

GROWTH = (s.T ** sp.Rational(1, 10)) / (s.b * s.K) ** sp.Rational(3, 10)
ONE_STEP = Condition("one_step", s.I, ">=", sp.Integer(1), "I is a whole number")
POWERS = (("local_updates", F(1, 4)), ("one_step", F(1, 2)))


def at_longest_rounds(size=1):
    """Corollary 1 with each term that of I = 1 times (T/n^3)^{1/10}, the largest I^{1/4}."""
    parts = {t.name: sp.expand(t.expr).xreplace({s.I: sp.Integer(1)}) for t in CORRECTED.terms}
    terms = tuple(Term(t.name, sp.expand(size * parts[t.name] * GROWTH), t.role) for t in CORRECTED.terms)
    return with_statement(FIRST, replace(CORRECTED, terms=terms, conditions=(*CORRECTED.conditions, ONE_STEP)))


def certificate(reader, expr):
    """I^{1/4} <= (T/n^3)^{1/10}; I^{-1/4} <= I^{1/4} as I^{1/2} >= 1; I^{-3/4} <= I^{1/4} as I >= 1."""
    found = []
    for part in sp.Add.make_args(sp.expand(expr)):
        coefficient, power = part.as_independent(s.I)
        (exponent,) = (power.as_base_exp()[1],)
        found.append((reader.read(coefficient), ("local_updates^1/4",)))
        if exponent != sp.Rational(1, 4):
            smaller = "one_step^1/2" if exponent == -sp.Rational(1, 4) else "one_step"
            found.append((reader.read(part), (smaller,)))
    return tuple(found)


def costs(theorem, powers=POWERS):
    reader = Reader(FIRST, theorem.statement("corrected"))
    given = {f"term {t.name}": certificate(reader, t.expr) for t in CORRECTED.terms}
    inside = {name: F(1) for name in theorem.symbols("corrected") if name not in ("eta", "beta")} | {"T": F(10**10)}
    return follow(Corollary(FIRST, inside, powers, given), theorem, "corrected", prove(FIRST))


@pytest.mark.slow
def test_the_rate_at_the_longest_rounds_with_its_constant():
    found = costs(at_longest_rounds())
    assert found.checked, found.failure
    assert not costs(at_longest_rounds(F(99, 100))).checked, "less than the bound at I = 1 and T = n^3"
    assert not costs(at_longest_rounds(), POWERS[:1]).checked
    for term in at_longest_rounds().statement("corrected").terms:
        assert sp.simplify(term.expr * n ** sp.Rational(4, 5) * s.T ** sp.Rational(2, 5)).free_symbols.isdisjoint(
            {s.I, s.T}
        )
