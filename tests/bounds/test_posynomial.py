"""Posynomials: their arithmetic is that of their values, and what a formula is replaced by bounds it from the asked side."""

from __future__ import annotations

from fractions import Fraction as F
from math import inf

import pytest
import sympy as sp
from fedco.bounds.optimum import posynomial
from fedco.bounds.optimum.posynomial import Converter, NotPosynomialError, Posynomial, condition_parts
from hypothesis import given
from hypothesis import strategies as st

x, y = (sp.Symbol(name, positive=True) for name in "xy")
number, variable = Posynomial.number, Posynomial.variable
POSITIVE = st.floats(0.1, 3)
MONOMIALS = st.builds(
    lambda c, p, q: number(c) * variable("x", F(p, 2)) * variable("y", F(q, 3)),
    POSITIVE,
    st.integers(-4, 4),
    st.integers(-3, 3),
)
SUMS = st.lists(MONOMIALS, min_size=1, max_size=3).map(lambda parts: sum(parts, Posynomial({})))
POINTS = st.fixed_dictionaries({"x": POSITIVE, "y": POSITIVE})


@given(SUMS, SUMS, MONOMIALS, POINTS)
def test_the_arithmetic_of_posynomials_is_that_of_their_values(a, b, one, point):
    assert (a + b).at(point) == pytest.approx(a.at(point) + b.at(point))
    assert (a * b).at(point) == pytest.approx(a.at(point) * b.at(point))
    for power in (F(5, 3), F(-1, 2), -3, 0):
        assert one.power(power).at(point) == pytest.approx(one.at(point) ** float(power))
    for power in (1, 2, F(3)):
        assert a.power(power).at(point) == pytest.approx(a.at(point) ** float(power))


def test_exponents_are_written_in_one_way():
    cancelled = variable("x", F(1, 2)) * variable("x", F(-1, 2))
    assert cancelled.terms == number(1.0).terms == variable("x", 0).terms == {(): 1.0}
    assert (variable("x", F(3, 2)) * variable("x", F(1, 2))).terms == {(("x", 2),): 1.0}
    assert all(type(p) is int for key in (variable("x", F(4, 2)) * variable("y")).terms for _, p in key)


def test_posynomials_that_are_0_and_names():
    nothing = Posynomial({})
    assert number(0.0).terms == number(-1.0).terms == nothing.terms and number(0.5).terms == {(): 0.5}
    assert nothing.power(F(1, 2)) is nothing and not nothing.is_monomial and nothing.at({}) == 0
    for power in (0, -1):
        with pytest.raises(NotPosynomialError):
            nothing.power(power)
    both = variable("x") + number(2.0)
    assert both.exponent("x") == {0, 1} and both.names == {"x"} and variable("x").is_monomial


def test_how_large_a_posynomial_may_become(monkeypatch):
    both = variable("x") + number(1.0)
    assert len(both.power(posynomial.MAX_POWER).terms) == 25
    for power in (25, F(1, 2), -1, 0):
        with pytest.raises(NotPosynomialError, match="of a sum"):
            both.power(power)
    monkeypatch.setattr(posynomial, "MAX_MONOMIALS", 4)
    assert len((both * both).terms) == 3
    with pytest.raises(NotPosynomialError, match="too many"):
        (both * both) * both


@pytest.mark.parametrize(
    ("expr", "box", "above", "below"),
    [
        (x - 1, (2.0, 5.0), {1: 0.8}, {1: 0.5}),
        (x - 1, (1.0, inf), {1: 1.0}, {}),
        (x - 1, (0.5, 0.75), {}, {}),
        (2 * x**2 - 3, (2.0, 4.0), {2: 2 * (1 - 3 / 32)}, {2: 2 * (1 - 3 / 8)}),
        (1 - x, (0.25, 0.5), {0: 0.75}, {0: 0.5}),
        (5 - 2 * x, (0.5, inf), {0: 4.0}, {}),
        (1 - x, (2.0, 3.0), {}, {}),
        (x - 1 / x, (2.0, 3.0), {1: 1.0}, None),
        (x**2 - x, (2.0, 3.0), {2: 1.0}, None),
        (1 - 1 / x, (2.0, 4.0), {0: 1.0}, None),
        (x + 1 - 2 * y, (2.0, 3.0), {0: 1.0, 1: 1.0}, None),
        (x - 1, (3.0, 3.0), {0: 2.0}, {0: 2.0}),
        (x - y, (3.0, 3.0), {0: 3.0}, {}),
    ],
)
def test_a_difference_is_bounded_at_the_ends_of_its_box(expr, box, above, below):
    """Power of x -> coefficient; what is bounded below by nothing is refused."""
    for upper, wanted in ((True, above), (False, below)):
        converter = Converter({"x": box}, upper)
        if wanted is None:
            with pytest.raises(NotPosynomialError, match="no lower bound"):
                converter.convert(expr)
            continue
        found = converter.convert(expr).terms
        assert {dict(key).get("x", 0): value for key, value in found.items()} == pytest.approx(wanted)
        assert all(dict(key).keys() <= {"x"} for key in found)
        assert bool(converter.replacements) is (box[0] != box[1] or expr.has(y))


@pytest.mark.parametrize("expr", [x ** sp.sqrt(2), x**y, 2 * x**sp.pi + 1])
def test_a_power_that_is_no_ratio_is_refused(expr):
    with pytest.raises(NotPosynomialError, match=r"^exponent (sqrt\(2\)|y|pi)$"):
        Converter({}).convert(expr)


def test_the_smaller_of_two_is_one_of_them_above_and_a_constant_below():
    smaller = sp.Min(x + 2, 5 * x + 1)
    for low, wanted in ((0.0, {0: 1.0, 1: 5.0}), (1.0, {0: 2.0, 1: 1.0})):
        found = Converter({"x": (low, inf)}, True).convert(smaller)
        assert {dict(key).get("x", 0): value for key, value in found.terms.items()} == wanted
    assert Converter({}, False).convert(smaller).terms == {(): 1.0}
    with pytest.raises(NotPosynomialError):
        Converter({}, False).convert(sp.Min(x, x**2 + 1))


def test_a_new_variable_stands_for_the_largest():
    converter = Converter({})
    found = converter.convert(sp.Max(x, y**2) * 3)
    (name,) = found.names
    assert name == f"{posynomial.AUXILIARY}0" and found.terms == {((name, 1),): 3.0}
    values = sorted(part.at({"x": 2.0, "y": 5.0, name: 10.0}) for part in converter.sides)
    assert values == pytest.approx([0.2, 2.5])
    root = converter.convert(sp.sqrt(x + y))
    assert (
        root.is_monomial
        and root.at({f"{posynomial.AUXILIARY}2": 9.0}) == pytest.approx(3.0)
        and len(converter.sides) == 3
    )
    assert Converter({}).convert(sp.Max(x, 0)).terms == {(("x", 1),): 1.0}


def test_a_condition_is_a_posynomial_below_one_where_it_holds():
    left, right = (x**2 + 3 * y) / x, 7 * y / (x + 1)
    part = condition_parts(left, right, Converter({}))
    for point in ({"x": 0.1, "y": 3.0}, {"x": 2.5, "y": 0.7}):
        exact = [float(side.subs({x: point["x"], y: point["y"]})) for side in (left, right)]
        assert part.at(point) == pytest.approx(exact[0] / exact[1])
    assert condition_parts(x, 2 * y, Converter({})).at({"x": 3.0, "y": 1.5}) == pytest.approx(1.0)
