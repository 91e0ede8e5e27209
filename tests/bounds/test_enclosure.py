"""Ball arithmetic: enclosures contain the exact value, stay narrow, and refuse what is not finite."""

from __future__ import annotations

import time
from decimal import Decimal, localcontext
from fractions import Fraction

import fedco
import pytest
import sympy as sp
from fedco.bounds.evaluation.enclosure import EnclosureError, enclose, enclose_bound, ends, fmpq_of, values_on
from fedco.bounds.evaluation.evaluate import bound, complete
from fedco.bounds.language.recursion import root, step_function
from fedco.bounds.language.theorem import put_in
from flint import arb
from hypothesis import given
from hypothesis import strategies as st
from registry_cases import anywhere, every_statement, few, find

x = sp.Symbol("x", real=True)
fractions = st.fractions(min_value=-50, max_value=50, max_denominator=1000)


@every_statement
def test_the_enclosure_contains_the_bound(name, label):
    theorem, statement = find(name, label)

    @few(2)
    @given(point=anywhere(theorem, label))
    def check(point):
        one = bound(theorem.statement(label), point, strict=False)
        found = enclose_bound(theorem.statement(label), point)
        exact = complete(theorem.statement(label), point)
        values = {**one.derived, **one.terms} | ({"total": one.total} if one.terms else {})
        exprs = {item.name: item.expr for item in (*statement.derived, *statement.terms)}
        assert set(found) == set(values)
        for where, value in values.items():
            low, high = found[where].floats()
            assert low <= value <= high, where
            assert found[where].width <= Fraction(1, 10**24) * (1 + abs(Fraction(value))) * 10**6
            true = statement.at(exprs[where], exact) if where in exprs else None
            if true is not None and true.is_Rational:
                assert found[where].contains(Fraction(int(true.p), int(true.q)))

    check()


@few(20)
@given(power=st.integers(1_000_010, 2**40), base=st.sampled_from([2, 3, -3, Fraction(7, 2)]))
def test_ends_that_would_fill_the_memory_are_not_written_out(power, base):
    """A run that diverges for 2^31 rounds asked for gigabytes."""
    ball = arb(fmpq_of(Fraction(base))) ** power
    with pytest.raises(EnclosureError, match="no enclosure is written out of a number of about 2"):
        ends(ball)
    tiny = ends(1 / ball)
    limit = Fraction(1, 2**999_998)
    assert bool(-limit <= tiny.lower <= 0 <= tiny.upper <= limit)


@few(40)
@given(a=fractions, b=fractions.filter(bool))
def test_rational_arithmetic_is_enclosed(a, b):
    exprs = {
        x**3 - 7 * x: a**3 - 7 * a,
        sp.Max(x, 2) + sp.Abs(x): max(a, Fraction(2)) + abs(a),
        sp.floor(x): Fraction(a // 1),
    }
    for expr, value in exprs.items():
        assert enclose(expr, {x: sp.Rational(a.numerator, a.denominator)}).contains(value)
    quotient = enclose(1 / x, {x: sp.Rational(b.numerator, b.denominator)})
    assert quotient.contains(1 / b) and quotient.sign == (1 if b > 0 else -1)


@few(30)
@given(a=st.fractions(min_value=Fraction(1, 100), max_value=100, max_denominator=500), n=st.integers(2, 5))
def test_roots_are_enclosed(a, n):
    ball = enclose(x ** sp.Rational(1, n), {x: sp.Rational(a.numerator, a.denominator)})
    assert ball.lower**n <= a <= ball.upper**n and ball.width < Fraction(1, 10**30)


@pytest.mark.parametrize("expr", [1 / x, sp.log(x), sp.sqrt(x - 1), x ** sp.Rational(-1, 3), sp.zoo, sp.nan])
def test_what_is_not_finite_is_an_error(expr):
    with pytest.raises(EnclosureError):
        enclose(expr, {x: sp.Integer(0)})


def test_a_missing_value_and_an_unknown_function_are_errors():
    with pytest.raises(EnclosureError, match="x: wanted a value"):
        enclose(x + 1)
    with pytest.raises(EnclosureError, match="no ball arithmetic for gamma"):
        enclose(sp.gamma(x), {x: sp.Rational(1, 3)})


def test_more_bits_make_it_narrower_and_the_precision_is_restored():
    from flint import ctx

    before = ctx.prec
    wide, narrow = (enclose(sp.sqrt(2), bits=bits) for bits in (60, 300))
    assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper and narrow.width < wide.width * Fraction(1, 2**200)
    assert ctx.prec == before


def test_a_root_of_a_long_number_is_not_factored():
    """sympy would look for prime factors of a number of 40,000 bits: minutes."""
    size = 10**3000 + 7
    began = time.process_time()
    found = put_in(3 * sp.sqrt(x**4 + 1) + sp.sqrt(sp.sqrt(x**4 + 1) + 2), {x: sp.Integer(size)})
    theorem = fedco.theorem("meta_fl.lemma_5")
    theorem.bound(
        "corrected", strict=False, **{name: "100" if name == "nu" else "1e30" for name in theorem.symbols("corrected")}
    )
    assert time.process_time() - began < 5
    assert abs(sp.log(found.evalf(30)) - sp.log(sp.Float(3, 30)) - 2 * sp.log(sp.Float(size, 30))) < 1e-20
    assert put_in(sp.sqrt(x**2 + 1), {x: sp.Rational(3, 4)}) == sp.Rational(5, 4)


def test_a_recursion_may_have_a_number_on_the_left():
    """x -> 3 - sqrt(x)/2 + 1/x five times from 2, against the same steps in decimals."""

    def rule(steps, value):
        for _ in range(steps):
            value = 3 - root(value) / 2 + 1 / value
        return value

    ball = enclose(step_function("left", rule, "left", lazy=True)(x, sp.Integer(2)), {x: sp.Integer(5)})
    with localcontext() as context:
        context.prec = 60
        value = Decimal(2)
        for _ in range(5):
            value = 3 - value.sqrt() / 2 + 1 / value
    assert abs(ball.lower - Fraction(value)) < Fraction(1, 10**30) and ball.width < Fraction(1, 10**30)


def test_a_rule_that_compares_is_decided_or_refused():
    """Whether sqrt(v)^2 < 2: at v = 2 no number of digits tells."""

    def rule(steps, value):
        return Fraction(steps) if root(value) * root(value) < 2 else Fraction(0)

    function = step_function("compares", rule, "compares", lazy=True)
    for value, wanted in ((sp.Rational(3, 2), 5), (sp.Integer(3), 0)):
        ball = enclose(function(x, value), {x: sp.Integer(5)})
        assert (ball.lower, ball.upper) == (wanted, wanted)
    with pytest.raises(EnclosureError, match="which is smaller"):
        enclose(function(x, sp.Integer(2)), {x: sp.Integer(5)})


def test_a_rule_may_have_symbols_beside_numbers():
    function = step_function("mixed", lambda steps, base, more: base**steps + more, "mixed")
    assert function(sp.Integer(2), x, sp.Integer(3)) == x**2 + 3
    assert function(sp.Integer(2), sp.Rational(1, 2), sp.Integer(3)) == sp.Rational(13, 4)


@pytest.mark.parametrize(("power", "wanted"), [(1, (-2, 2)), (2, (0, 4)), (3, (-8, 8))])
def test_a_power_of_a_ball_around_0_is_enclosed(power, wanted):
    """Of a ball whose midpoint is 0 `arb` gives no power, and the symbol at a region's centre has one."""
    x = sp.Symbol("x")
    value, _ = values_on(arb(0, 2), x, x**power, ())
    low, high = ends(value).pair
    assert low <= wanted[0] and wanted[1] <= high and high - low < wanted[1] - wanted[0] + Fraction(1, 10**6)
