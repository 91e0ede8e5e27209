"""The corrected corollaries of FedDRO follow from the corrected Theorem 5.1, and their orders are the best inside it."""

from dataclasses import replace
from fractions import Fraction as F

import pytest
import sympy as sp
from fedco.bounds import get_theorem as theorem
from fedco.bounds.language.notation import slack_symbol
from fedco.bounds.language.theorem import Condition, Term
from fedco.bounds.proof.certificates import prove_nonnegative
from fedco.bounds.proof.derivations import prove
from fedco.bounds.proof.kernel import Corollary, Reader, follow
from fedco.bounds.proof.mutation import with_statement

MAIN, FIRST, SECOND = (theorem(f"feddro.{name}") for name in ("theorem_5_1", "corollary_1", "corollary_2"))
s = MAIN.notation.namespace()
PARENT, CORRECTED = MAIN.statement("corrected"), FIRST.statement("corrected")
L = PARENT.constant("L_Phi").symbol
n = s.b * s.K
RATE = s.I ** sp.Rational(1, 4) / sp.sqrt(n * s.T)
TABLE = CORRECTED.schedule


def scheduled(expr):
    """eta and beta put in."""
    beta = TABLE["beta"].xreplace({s.eta: TABLE["eta"]})
    return expr.xreplace({s.eta: TABLE["eta"], s.beta: beta})


def coarsened(expr):
    """The theorem's term with its three replacements: W/eta, the jump factor and the drift factor."""
    weight = 4 * s.B_g**2 * s.L_f**2 / s.beta + 2 * s.sigma_g**2 * s.L_f**2 / n + 3 * s.eta * L * s.B_g**2 * s.L_f**2
    expr = expr.xreplace({weight: 5 * s.B_g**2 * s.L_f**2 / s.beta, 1 + (s.I - 1) ** 2 / s.I: s.I})
    return scheduled(expr.xreplace({(s.I - 1) ** 2: RATE / L**2 / s.eta**2}))


@pytest.mark.parametrize("name", [term.name for term in CORRECTED.terms])
def test_each_term_is_that_of_the_theorem_with_three_replacements(name):
    left = coarsened(PARENT.term(name).expr)
    difference = sp.expand(sp.powsimp(sp.expand(sp.expand_power_base(left - CORRECTED.term(name).expr, force=True))))
    assert sp.simplify(difference) == 0


def test_no_term_is_forgotten():
    assert {term.name for term in PARENT.terms} == {term.name for term in CORRECTED.terms}
    kept = {condition.name for condition in CORRECTED.conditions}
    assert {condition.name for condition in PARENT.conditions} <= kept


u, w = slack_symbol("u"), slack_symbol("w")


def test_the_replacements_raise_the_bound():
    """At I = (1+u)^4, and at T = n^3 I^{5/2} (1+w)^2, which is I <= T^{2/5}/n^{6/5}."""
    at = {s.I: (1 + u) ** 4}
    assert prove_nonnegative((s.I - 1 - (s.I - 1) ** 2 / s.I).xreplace({s.I: 1 + u})) is not None
    step_squared = n / s.T / (sp.sqrt(s.I) * L**2)
    horizon = {s.T: n**3 * (1 + u) ** 10 * (1 + w) ** 2}
    room = sp.powdenest((RATE / L**2 - step_squared * s.I**2).xreplace(at).xreplace(horizon), force=True)
    assert prove_nonnegative(sp.simplify(room)) is not None
    limit = CORRECTED.condition("local_updates").right.xreplace(horizon)
    assert prove_nonnegative(sp.powdenest(sp.expand_power_base(limit, force=True), force=True) ** 5 - (1 + u) ** 20)
    condition = CORRECTED.condition("weight")
    first = 4 * s.B_g**2 * s.L_f**2 / s.beta
    rest = 2 * s.sigma_g**2 * s.L_f**2 / n + 3 * s.eta * L * s.B_g**2 * s.L_f**2
    scale = s.B_g**2 * s.L_f**2 / s.beta
    assert sp.expand(scale * (condition.right - condition.left) - (sp.Rational(5, 4) * first - first - rest)) == 0


ONES = dict.fromkeys(
    ["L_h", "L_f", "L_g", "B_f", "B_g", "sigma_h", "sigma_g", "delta_g", "Delta_h", "Delta_g", "Phi_gap", "y_err"], F(1)
)


@pytest.mark.parametrize(("I", "T"), [(1, 10**8), (16, 10**11), (10**4, 10**16)])
def test_the_value_is_at_least_the_theorem_s(I, T):
    values = {**ONES, "I": I, "K": 4, "b": 2, "T": T}
    small = FIRST.bound("corrected", **values)
    root = (8 / T) ** 0.5 / (I**0.25 * 3)
    large = MAIN.bound("corrected", **values, eta=root, beta=root * I**0.5)
    assert small.total >= large.total * (1 - 1e-9) > 0


def test_outside_the_rounds_it_is_refused():
    from fedco.bounds.evaluation.evaluate import InadmissibleError

    with pytest.raises(InadmissibleError, match="local_updates"):
        FIRST.bound("corrected", **ONES, I=100, K=4, b=2, T=10**6)


def test_the_orders_of_the_second_corollary():
    """At I = T^{2/5}/n^{6/5} the rate is eps for T = eps^{-5/2} n^{-2}: rounds eps^{-3/2}, whatever n."""
    eps = sp.Symbol("eps", positive=True)
    I = SECOND.statement("corrected").schedule["I"].args[1].args[0]
    at = {s.T: eps ** sp.Rational(-5, 2) / n**2}

    def plain(expr):
        return sp.simplify(sp.powdenest(sp.expand_power_base(expr, force=True), force=True))

    assert plain(RATE.xreplace({s.I: I}).xreplace(at)) == plain(eps)
    assert plain((s.T / I).xreplace(at)) == plain(eps ** sp.Rational(-3, 2))


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


def test_the_rate_at_the_longest_rounds_with_its_constant():
    found = costs(at_longest_rounds())
    assert found.checked, found.failure
    assert not costs(at_longest_rounds(F(99, 100))).checked, "less than the bound at I = 1 and T = n^3"
    assert not costs(at_longest_rounds(), POWERS[:1]).checked
    for term in at_longest_rounds().statement("corrected").terms:
        assert sp.simplify(term.expr * n ** sp.Rational(4, 5) * s.T ** sp.Rational(2, 5)).free_symbols.isdisjoint(
            {s.I, s.T}
        )
