"""The moves of a composed proof refuse what does not follow, and a certificate can be checked again, and fail."""

from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp
from fedco.bounds.language.notation import slack_symbol
from fedco.bounds.language.theorem import Condition, DeclarationError
from fedco.bounds.proof.certificates import prove_nonnegative
from fedco.bounds.proof.compose import Chain

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


def test_a_root_is_checked_through_its_own_variable():
    found = prove_nonnegative(sp.sqrt(x) * y + x)
    assert found is not None and found.recheck()
    assert not replace(found, expr=sp.sqrt(x) * y - x).recheck()
