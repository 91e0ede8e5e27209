"""Proofs from lemmas: the moves of a composed proof refuse what does not follow, and a certificate can be checked again, and fail.

The lemmas of the baselines are steps of derivations, and add up to the theorems."""

from dataclasses import replace
from fractions import Fraction
from fractions import Fraction as R

import fedco
import pytest
import sympy as sp
from fedco.bounds import paper_theorems
from fedco.bounds.audit.findings import RecheckError
from fedco.bounds.audit.status import status
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.notation import slack_symbol
from fedco.bounds.language.theorem import Condition, DeclarationError, Term
from fedco.bounds.papers.baselines.checks import STEPS, agrees
from fedco.bounds.papers.comfedl import composed as comfedl
from fedco.bounds.papers.local_scgdm import composed as local_scgdm
from fedco.bounds.papers.meta_fl import composed as meta_fl
from fedco.bounds.proof.certificates import find_violation, prove_nonnegative, violates
from fedco.bounds.proof.compose import Chain, split
from quick import slow_but

b, x, y, u = (slack_symbol(name) for name in "bxyu")
IN_RANGE = Condition("range", b, "<=", sp.Integer(1))
SWEEP = {b: 1 / (1 + u)}


def test_a_factor_is_replaced_only_by_something_larger():
    chain = Chain((1 - b) ** 2 * x)
    assert chain.at_most((1 - b) ** 2, sp.Integer(1), "<= 1", IN_RANGE, substitution=SWEEP).expr == x
    with pytest.raises(DeclarationError, match="does not follow"):
        chain.at_most((1 - b) ** 2, sp.Rational(1, 10**6), "wished for", IN_RANGE, substitution=SWEEP)
    with pytest.raises(DeclarationError, match="does not follow"):
        chain.at_most((1 - b) ** 2, sp.Integer(1), "no region given", IN_RANGE)
    with pytest.raises(DeclarationError, match="may be negative"):
        Chain(-((1 - b) ** 2) * x).at_most((1 - b) ** 2, sp.Integer(1), "wrong sign", IN_RANGE, substitution=SWEEP)
    with pytest.raises(DeclarationError, match="does not occur"):
        Chain(x).at_most((1 - b) ** 2, sp.Integer(1), "nothing there", IN_RANGE, substitution=SWEEP)


@pytest.mark.parametrize("factor", [sp.Integer(-1), b - 1, -y])
def test_an_inequality_is_not_multiplied_by_a_negative_factor(factor):
    with pytest.raises(DeclarationError, match="may be negative"):
        Chain(x).scale(factor, "times")


def test_an_inequality_is_multiplied_by_a_positive_factor():
    assert Chain(x + y).scale(2 * b, "times").expr == 2 * b * x + 2 * b * y
    assert Chain(x).scale(1 - b, "times", (IN_RANGE,), SWEEP).conditions == (IN_RANGE,)


def certificate():
    found = prove_nonnegative(1 - b**2 + sp.sqrt(x), SWEEP)
    assert found is not None and found.recheck()
    return found


def test_a_recheck_can_fail():
    found = certificate()
    assert not replace(found, expr=found.expr - 2).recheck(), "another claim"
    assert not replace(found, substitution=((b, 1 + u), *found.substitution[1:])).recheck(), "another region"
    for name in ("numerator", "denominator"):
        (monomial, coefficient), *others = getattr(found, name)
        assert not replace(found, **{name: ((monomial, coefficient + 1), *others)}).recheck(), "another polynomial"
        assert not replace(found, **{name: ((monomial, Fraction(-1)), *others)}).recheck(), "a negative coefficient"
    assert not replace(found, numerator=()).recheck()
    assert not replace(found, denominator=()).recheck()


def test_a_certificate_says_what_it_claims():
    assert certificate().claim == "-slack_b**2 + sqrt(slack_x) + 1 >= 0"


def test_what_has_a_certificate():
    half = sp.Rational(1, 2)
    for expr in (
        x + 1,
        sp.Integer(0),
        half,
        x * y / (1 + u),
        -x / (-1 - y),
        (x - y) ** 2 + 2 * x * y,
        x**half + x ** (3 * half),
    ):
        found = prove_nonnegative(expr)
        assert found is not None and found.recheck(), expr
    for expr in (x - y, sp.Integer(-1), x / (1 - y), x / (-1 - y), sp.sqrt(2) * x, 2 + sp.sin(x), (x - 1) / (1 - x)):
        assert prove_nonnegative(expr) is None, expr


def test_a_substitution_is_applied_in_its_order():
    found = prove_nonnegative(1 - b, {b: y / 2, y: 1 / (1 + u)})
    assert found is not None and found.recheck() and found.symbols == (u,)
    assert prove_nonnegative(1 - b, {y: 1 / (1 + u), b: y / 2}) is None


def test_the_moves_of_a_chain():
    chain = Chain(2 * x * u + y)
    assert chain.coefficient(x) == 2 * u
    with pytest.raises(DeclarationError, match="not linear in"):
        Chain(x**2).coefficient(x)
    put_in = chain.insert(x, 3 * y, "by y").plus(b, "and b")
    assert put_in.expr == 6 * u * y + y + b and put_in.steps == ("by y", "and b")
    with pytest.raises(DeclarationError, match="may be negative"):
        Chain((b - 1) * x).insert(x, y, "wrong way")
    limited = Chain(b * x + y).limit(x, sp.Integer(1), "b <= 1", (IN_RANGE,), SWEEP)
    assert limited.expr == x + y and limited.conditions == (IN_RANGE,) and limited.steps == ("b <= 1",)
    assert limited.require(IN_RANGE).conditions == (IN_RANGE,)
    assert Chain((b - 1) * x + y).limit(x, sp.Integer(0), "drop", (IN_RANGE,), SWEEP).expr == y
    with pytest.raises(DeclarationError, match="does not follow"):
        Chain(b * x).limit(x, sp.Rational(1, 2), "too small", (IN_RANGE,), SWEEP)
    changed = Chain((1 - b) ** 2 * x + y).at_most((1 - b) ** 2, sp.Integer(1), "<= 1", IN_RANGE, substitution=SWEEP)
    assert changed.expr == x + y and changed.steps == ("<= 1",) and changed.conditions == (IN_RANGE,)


def test_summands_are_sorted_into_terms():
    whole = 2 * x * y + 3 * x + y + 5
    found = split(whole, {"both": (x, y), "none": (b,), "first": (x,)}, "rest")
    assert [(t.name, sp.expand(t.expr)) for t in found] == [("both", 2 * x * y), ("first", 3 * x), ("rest", y + 5)]
    found = split(whole, {"rest": (y,), "first": (x,)}, "rest")
    assert [(t.name, sp.expand(t.expr)) for t in found] == [("rest", 2 * x * y + y + 5), ("first", 3 * x)]


def test_a_violation_is_exact_and_satisfies_what_is_given():
    p, q = sp.symbols("p q", positive=True)
    n = sp.Symbol("n", positive=True, integer=True)
    claim = Condition("claim", p, "<=", sp.Integer(1))
    assert find_violation(claim, (Condition("given", p, "<=", sp.Integer(2)),)) == {"p": 2}
    assert find_violation(claim, (Condition("given", p, "<=", sp.Integer(1)),)) is None
    found = find_violation(Condition("claim", p, "<=", q), (Condition("given", p, "==", 5 * q),))
    assert found is not None and found["p"] == 5 * found["q"]
    assert find_violation(Condition("claim", n, "<=", sp.Integer(2))) == {"n": 3}
    assert find_violation(Condition("claim", sp.Integer(2), "<=", sp.Integer(1))) == {}
    assert find_violation(Condition("claim", sp.Integer(1), "<=", sp.Integer(2))) is None
    steps = sp.Symbol("nu", nonnegative=True, integer=True)
    assert find_violation(Condition("claim", steps, ">=", sp.Integer(1))) == {"nu": 0}
    assert violates(claim, (), {p: Fraction(101, 100)}) and not violates(claim, (), {p: Fraction(1)})
    assert not violates(claim, (Condition("given", p, ">=", sp.Integer(3)),), {p: Fraction(2)})


# --- the moves of the papers -------------------------------------------------------------------------------------------


def test_moves_of_comfedl_that_do_not_follow_are_refused():
    s, step = comfedl.s, fedco.theorem("comfedl.lemma_2_step")
    negative = replace(fedco.theorem("comfedl.lemma_2").statement("printed"), terms=(Term("drift", -s.eta),))
    with pytest.raises(DeclarationError, match="may be negative"):
        comfedl.root(negative, comfedl.H)
    with pytest.raises(DeclarationError, match="may be negative"):
        comfedl.telescope(Chain(s.eta * s.gradient_sq))
    falling = replace(step.statement("printed"), terms=(Term("drift", s.eta / (1 + s.t)),))
    with pytest.raises(DeclarationError, match="not certified to grow"):
        comfedl.drift_in_round(with_statement(step, falling))


def test_a_potential_with_longer_steps_is_refused(monkeypatch):
    known = local_scgdm.CONDITIONS
    wide = replace(known["step_size"], right=2 * known["step_size"].right)
    monkeypatch.setattr(local_scgdm, "CONDITIONS", {**known, "step_size": wide})
    with pytest.raises(DeclarationError, match="does not follow"):
        local_scgdm.potential(fedco.theorem("local_scgdm.potential_step"))


def test_theorem_8_with_a_smaller_constant_is_refused(monkeypatch):
    smaller = {(1228, 243): sp.Rational(1215, 243)}
    monkeypatch.setattr(meta_fl, "R", lambda p, q: smaller.get((p, q), sp.Rational(p, q)))
    with pytest.raises(DeclarationError, match="does not follow"):
        meta_fl.theorem_8(fedco.theorem("meta_fl.lemma_6"), fedco.theorem("meta_fl.lemma_7"))


# --- the lemmas of the baselines --------------------------------------------------------------------------------------


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
