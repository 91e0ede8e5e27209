"""Sets whose ends are known: random products of factors with known roots, and equalities and extrema with known solutions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction as Q
from itertools import combinations, pairwise
from math import inf, nextafter
from random import Random

import pytest
import sympy as sp
from fedco.bounds.language.quantities import MAX_STEPS
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Condition
from fedco.bounds.region import intervals
from fedco.bounds.region.conditions import solved_for, split_extrema
from fedco.bounds.region.intervals import End, Interval, failing, intersect, longest, minimal_conflict
from fedco.bounds.region.joint import centre as centre_of
from fedco.bounds.region.joint import projection, reaching, without_equalities
from fedco.bounds.region.roots import decided_sign
from quick import slow_after

X = sp.Symbol("x", positive=True)
COUNT = sp.Symbol("n", positive=True, integer=True)
STEPS = sp.Symbol("nu", nonnegative=True, integer=True)
HOLDS = {
    "<": lambda s: s < 0,
    "<=": lambda s: s <= 0,
    ">": lambda s: s > 0,
    ">=": lambda s: s >= 0,
    "==": lambda s: s == 0,
}
SQUARES = [Q(1, 9), Q(1, 2), Q(1), Q(4, 3), Q(2), Q(4), Q(5), Q(25, 4), Q(9), Q(16)]
"""Squares of the roots: a few are rational, the rest irrational."""


@dataclass(frozen=True)
class Product:
    """`factor * prod (x - root) relation 0`; the square of each root is known."""

    name: str
    squares: tuple[Q, ...]
    relation: str
    factor: int

    def sign(self, square: Q) -> int:
        sign = 1 if self.factor > 0 else -1
        for root in self.squares:
            sign *= (square > root) - (square < root)
        return sign

    def holds(self, square: Q) -> bool:
        """At the root of this number."""
        return bool(HOLDS[self.relation](self.sign(square)))

    def condition(self, variable: sp.Symbol, rng: Random) -> Condition:
        """Written in one of several ways, on both sides of the relation."""
        parts, once = [], len({*self.squares}) == len(self.squares)
        for square in self.squares:
            number = sp.Rational(square.numerator, square.denominator)
            ways = [variable**2 - number, 1 - number / variable**2]
            ways += (
                [variable - sp.sqrt(number)] if once else []
            )  # a double root with irrational coefficients is refused
            if sp.sqrt(number).is_Rational:
                ways += [1 / sp.sqrt(number) - 1 / variable]
            if sp.root(number, 4).is_Rational or (once and sp.sqrt(number).is_Rational):
                ways += [sp.sqrt(variable) - sp.root(number, 4)]
            parts.append(rng.choice(ways))
        whole = sp.expand(self.factor * sp.Mul(*parts))
        moved = rng.choice([sp.Integer(0), sum(t for t in sp.Add.make_args(whole) if t.could_extract_minus_sign())])
        return Condition(self.name, whole - moved, self.relation, -moved)


def pieces_of(products: list[Product]) -> list[tuple[Q | None, bool, Q | None, bool, set[str], set[str]]]:
    """Squares of the ends of each piece, whether they belong to it, and what fails beyond them."""
    ends = sorted({square for p in products for square in p.squares})
    between = [ends[0] / 2, *((a + b) / 2 for a, b in pairwise(ends)), ends[-1] * 2] if ends else [Q(1)]
    cells = [(between[0], None)]
    for end, gap in zip(ends, between[1:], strict=True):
        cells += [(end, end), (gap, None)]

    def wrong(at: int) -> set[str]:
        return {p.name for p in products if not p.holds(cells[at][0])}

    found, start = [], None
    for at in range(len(cells) + 1):
        inside = at < len(cells) and not wrong(at)
        if inside and start is None:
            start = at
        if not inside and start is not None:
            stop, low, high = at - 1, None, None
            below, above = set[str](), set[str]()
            low_closed, high_closed = cells[start][1] is not None, cells[stop][1] is not None
            if start > 0:
                low = cells[start][0] if low_closed else cells[start - 1][0]
                below = wrong(start - 1) if low_closed else wrong(start - 2) or wrong(start - 1)
            if stop < len(cells) - 1:
                high = cells[stop][0] if high_closed else cells[stop + 1][0]
                above = wrong(stop + 1) if high_closed else wrong(stop + 2) or wrong(stop + 1)
            found.append((low, low_closed, high, high_closed, below, above))
            start = None
    return found


def drawn(rng: Random, most: int = 3) -> list[Product]:
    relations = ["<", "<=", ">", ">=", "<=", ">=", "=="]
    return [
        Product(
            f"c{i}",
            tuple(rng.choice(SQUARES) for _ in range(rng.choice([1, 1, 2, 3]))),
            rng.choice(relations),
            rng.choice([-2, -1, 1, 3]),
        )
        for i in range(rng.randint(1, most))
    ]


def names(binding: str | None) -> set[str]:
    return set(binding.split(", ")) if binding else set()


@pytest.mark.parametrize("seed", slow_after(20, range(60)))
def test_pieces_of_products_with_known_roots(seed: int):
    rng = Random(seed)
    products = drawn(rng)
    conditions = [p.condition(X, rng) for p in products]
    wanted, found = pieces_of(products), intersect(conditions, X)
    assert len(found) == len(wanted), (products, found)
    for piece, (low, low_closed, high, high_closed, below, above) in zip(found, wanted, strict=True):
        assert (names(piece.binding["lower"]), names(piece.binding["upper"])) == (below, above), (products, piece)
        for square, side in ((low, "lower"), (high, "upper")):
            if square is None:
                assert piece.enclosure[side] is None
                continue
            left, right = piece.enclosure[side]
            assert left**2 <= square <= right**2 and right - left < Q(1, 10**40)
        if low is not None and low == high:
            assert piece.lower == piece.upper == pytest.approx(float(low) ** 0.5, rel=1e-15)
            assert piece.lower_closed and piece.upper_closed
            continue
        assert (piece.lower_closed, piece.upper_closed) == (low_closed, high_closed)
        lower_end, upper_end = piece.enclosure["lower"], piece.enclosure["upper"]
        if low is None:
            assert piece.lower == 0.0
        else:  # the nearest double on the inner side
            assert Q(piece.lower) >= lower_end[1] > Q(nextafter(piece.lower, -inf))
        if high is None:
            assert piece.upper is None
        else:
            assert Q(piece.upper) <= upper_end[0] < Q(nextafter(piece.upper, inf))


@pytest.mark.parametrize("seed", slow_after(24, range(60)))
def test_whole_numbers_between_known_roots(seed: int):
    rng = Random(1000 + seed)
    products = drawn(rng, 2)
    last = MAX_STEPS if seed % 4 == 0 else None
    variable = STEPS if last else COUNT
    whole = [p.condition(COUNT, Random(seed)).at({COUNT: variable}) for p in products]
    if last:  # steps begin at 0, where nothing may be divided
        whole = [
            Condition(
                p.name, p.factor * sp.Mul(*(variable - sp.sqrt(sp.Rational(q)) for q in p.squares)), p.relation, 0
            )
            for p in products
        ]
    first, top = (0, last) if last else (1, 30)

    def wrong(n: int) -> set[str]:
        return {p.name for p in products if not HOLDS[p.relation](p.sign(Q(n * n) if n else Q(-1)))}

    inside = [n for n in range(first, top + 1) if not wrong(n)]
    runs = [n for n in inside if n - 1 not in inside], [n for n in inside if n + 1 not in inside]
    found = intersect(whole, variable)
    assert len(found) == len(runs[0]), (products, found)
    for piece, low, high in zip(found, *runs, strict=True):
        upper = None if high == top and last is None else high
        assert (piece.lower, piece.upper) == (low, upper)
        assert piece.lower_closed and piece.upper_closed == (upper is not None)
        assert names(piece.binding["lower"]) == (wrong(low - 1) if low > first else set())
        assert names(piece.binding["upper"]) == (wrong(high + 1) if high < top else set())
        assert piece.enclosure == {"lower": (low, low), "upper": None if upper is None else (high, high)}


def test_a_point_that_a_condition_leaves_out_is_bound_by_it():
    """Both neighbours hold, the end does not; and a root of two conditions, one of them strict."""
    for square in (Q(1), Q(2)):
        hole = [Product("hole", (square, square), ">", 1), Product("top", (Q(9),), "<=", 1)]
        first, second = intersect([p.condition(X, Random(0)) for p in hole], X)
        assert (first.binding, second.binding) == (
            {"lower": None, "upper": "hole"},
            {"lower": "hole", "upper": "top"},
        )


@pytest.mark.parametrize(
    ("left", "right", "relation", "root"),
    [
        (sp.sqrt(X**2 + X), sp.sqrt(6), "<=", 2),
        (2 * sp.cbrt(1 + X), X, ">=", 1 + sp.sqrt(5)),  # x^3 - 8x - 8 = (x + 2) (x^2 - 2x - 4)
        (sp.sqrt(1 + X) * sp.cbrt(1 + X), 32, "<", 63),
        (sp.sqrt(1 + X) * sp.cbrt(8 + 8 * X), 64, "<", 63),
        (3 * sp.sqrt(X * (1 + X)), sp.root(X**3 * (2 + X), 4) * 4, ">=", -1 + sp.sqrt(sp.Rational(256, 175))),
        (X / sp.sqrt(4 + X**2), sp.Rational(3, 5), "<=", sp.Rational(3, 2)),
    ],
)
def test_a_variable_under_a_root_of_a_sum(left: sp.Expr, right: sp.Expr, relation: str, root: sp.Expr):
    """Products with roots of sums, raised to a power at which no root is left; the end solves the equation."""
    conditions = [Condition("c", left, relation, sp.sympify(right)), Condition("low", X, ">=", sp.Rational(1, 100))]
    (piece,) = intersect(conditions, X)
    low, high = piece.enclosure["upper"]
    assert piece.binding["upper"] == "c" and piece.upper_closed is (relation != "<") and high - low < Q(1, 10**40)
    middle = sp.Rational(low.numerator, low.denominator)
    assert abs(sp.N((left - right).xreplace({X: middle}), 40)) < 1e-30
    assert abs(sp.N(middle - root, 60)) < 1e-40


@pytest.mark.parametrize(("square", "whole"), [(Q(4), False), (Q(2), False), (Q(4), True)])
def test_a_condition_does_not_hold_where_it_has_a_pole(square: Q, whole: bool):
    """1/(root - x) <= 2 up to root - 1/2 and beyond the root; the reciprocal of a square everywhere but there."""
    x, number = COUNT if whole else X, sp.sqrt(sp.Rational(square.numerator, square.denominator))
    pole = Condition("pole", 1 / (number - x), "<=", sp.Integer(2))
    first, second = intersect([pole], x)
    assert first.upper == (1 if whole else pytest.approx(float(number) - 0.5)) and first.upper_closed
    assert second.lower == (3 if whole else pytest.approx(float(number))) and second.lower_closed is whole
    assert (first.binding, second.binding) == ({"lower": None, "upper": "pole"}, {"lower": "pole", "upper": None})
    if square == 4:
        hole = Condition("hole", 1 / (x - 2) ** 2, ">", sp.Integer(0))
        below, above = intersect([hole], x)
        ends = (1, 3) if whole else (2, 2)
        assert (below.upper, above.lower) == ends and (below.binding["upper"], above.binding["lower"]) == (
            "hole",
            "hole",
        )
        assert failing([pole], x, Q(2)) == ["pole"] and failing([pole], x, Q(3)) == []


@pytest.mark.parametrize(
    ("left", "relation", "right", "lower", "upper"),
    [
        (sp.sqrt(1 - X), ">=", sp.Rational(1, 2), None, (Q(3, 4), True)),
        (sp.sqrt(1 - X), ">", sp.Rational(1, 2), None, (Q(3, 4), False)),
        (sp.sqrt(1 - X), "<=", sp.Rational(1, 2), (Q(3, 4), True), (Q(1), True)),
        (sp.Rational(1, 2), "<", sp.sqrt(1 - X), None, (Q(3, 4), False)),
        (sp.sqrt(1 - X), "<", sp.Integer(3), None, (Q(1), True)),
        (1 / sp.sqrt(1 - X), ">=", sp.Integer(2), (Q(3, 4), True), (Q(1), False)),
        (sp.cbrt(X - 2), "<=", sp.Integer(1), (Q(2), True), (Q(3), True)),
        (X, ">", 2 * sp.sqrt(X - 1), (Q(1), True), None),
        (sp.sqrt(X / (3 - X)), "<=", sp.Integer(1), None, (Q(3, 2), True)),
        (sp.sqrt(2 - X) * sp.sqrt(X - 1), "<=", sp.Integer(1), (Q(1), True), (Q(2), True)),
        (sp.sqrt(1 - X) * sp.sqrt(X - 1), "<=", sp.Integer(1), (Q(1), True), (Q(1), True)),
        (1 / sp.sqrt(X / (3 - X)), ">=", sp.Integer(1), None, (Q(3, 2), True)),
        (1 / sp.sqrt(X / (3 - X)), "<=", sp.Integer(1), (Q(3, 2), True), (Q(3), False)),
    ],
)
def test_a_condition_does_not_hold_where_a_root_has_no_real_value(left, relation, right, lower, upper):
    found = intersect([Condition("root", left, relation, right)], X)
    assert intersect([Condition("root", sp.sqrt(1 - X) * sp.sqrt(X - 2), "<=", sp.Integer(1))], X) == []
    if left == X:  # a hole at 2, where x = 2 sqrt(x - 1)
        assert [(p.lower, p.upper) for p in found] == [(1.0, 2.0), (2.0, None)] and not found[0].upper_closed
    piece = found[0]
    assert piece.binding["lower"] == ("root" if lower else None)
    assert piece.enclosure["lower"] == (lower and (lower[0], lower[0])) and piece.lower_closed is bool(
        lower and lower[1]
    )
    if upper:
        assert piece.enclosure["upper"] == (upper[0], upper[0]) and piece.upper_closed is upper[1]
        assert piece.binding["upper"] == "root"


def test_an_irrational_end_of_a_root_is_left_out():
    """The one point sqrt(2), where sqrt(2 - x^2) is 0, is not decided; beyond it there is no value."""
    for right in (sp.Integer(3), sp.Rational(1, 2)):
        (piece,) = intersect([Condition("root", sp.sqrt(2 - X**2), "<=", right)], X)
        low, high = piece.enclosure["upper"]
        assert low**2 <= 2 <= high**2 and high - low < Q(1, 10**40) and not piece.upper_closed
        assert piece.lower == (0.0 if right == 3 else pytest.approx(1.75**0.5, rel=1e-15))
    (piece,) = intersect([Condition("root", sp.sqrt(2 - X**2), ">=", sp.Rational(1, 2))], X)
    assert piece.upper == pytest.approx(1.75**0.5, rel=1e-15) and piece.upper_closed
    assert [
        (p.lower, p.upper) for p in intersect([Condition("n", sp.sqrt(10 - COUNT**2), "<=", sp.Integer(2))], COUNT)
    ] == [(3, 3)]


@pytest.mark.parametrize("left", [X + sp.sqrt(1 + X), X + X ** sp.sqrt(2), X + 2**X])
def test_what_is_no_sum_of_powers_is_refused(left: sp.Expr):
    with pytest.raises(InputError, match=r"^cannot solve for x: not a sum of powers in "):
        intersect([Condition("c", left, "<=", sp.Integer(5))], X)


def test_the_domain_of_steps_ends_without_a_condition():
    """What fails beyond the most steps that there may be does not bind there."""
    last = MAX_STEPS + sp.Rational(1, 2)
    (found,) = intersect([Condition("c", STEPS, "<=", last)], STEPS)
    assert (found.lower, found.upper, found.binding) == (0, MAX_STEPS, {"lower": None, "upper": None})
    (found,) = intersect([Condition("c", STEPS, "<=", last - 1)], STEPS)
    assert (found.upper, found.binding["upper"]) == (MAX_STEPS - 1, "c")


@pytest.mark.parametrize(("top", "largest"), [(Q(5, 2), (0.0, 1.0)), (Q(7, 2), (2.0, 3.5)), (None, (2.0, None))])
def test_a_projection_of_several_pieces_is_the_longest(top: Q | None, largest: tuple[float, float | None]):
    conditions = [Condition("hole", (X - 1) * (X - 2), ">=", sp.Integer(0)), Condition("other", Y, "<=", sp.Integer(1))]
    conditions += [Condition("top", X, "<=", sp.Rational(top.numerator, top.denominator))] if top else []
    pieces, note = projection((X, Y), conditions, X)
    found = longest(pieces)
    assert (found.lower, found.upper) == largest and note == () and len(pieces) == 2


@pytest.mark.parametrize("error", [OverflowError, ValueError])
def test_a_difference_that_sympy_gives_up_on_is_decided_as_it_stands(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
):
    class Long:
        """A number that sympy cannot subtract while it simplifies."""

        def __sub__(self, other: object) -> sp.Expr:
            if sp.core.parameters.global_parameters.evaluate:
                raise error
            return sp.Integer(-3)

    monkeypatch.setattr(intervals, "put_in", lambda side, table: Long())
    side = X**2 if error is ValueError else X**3  # what was decided before is kept
    assert failing([Condition("a", X, "<", side), Condition("b", X, ">=", side)], X, Q(54321, 7)) == ["b"]


def test_two_sides_that_are_the_same_function():
    """They meet everywhere: no value is an end, and only a strict relation leaves something out."""
    left, right = (X + 1) ** 2, X**2 + 2 * X + 1
    for relation, whole in (("<=", True), (">=", True), ("==", True), ("<", False), (">", False)):
        found = [(p.lower, p.upper) for p in intersect([Condition("c", left, relation, right)], X)]
        assert found == ([(0.0, None)] if whole else [])


@pytest.mark.parametrize("seed", slow_after(4, range(12)))
def test_a_conflict_is_minimal(seed: int):
    rng = Random(2000 + seed)
    products = drawn(rng, 4)
    while pieces_of(products):
        products += drawn(rng, 1)
        products = [Product(f"c{i}", p.squares, p.relation, p.factor) for i, p in enumerate(products)]
    named = minimal_conflict([p.condition(X, rng) for p in products], X)
    chosen = [p for p in products if p.name in named]
    assert len(chosen) == len(named) and not pieces_of(chosen)
    assert all(pieces_of(list(fewer)) for fewer in combinations(chosen, len(chosen) - 1) if fewer)


def test_a_conflict_is_minimal_by_the_names_that_a_reader_sees():
    """One condition with two parts excludes everything; a third condition excludes everything with the second part alone."""
    two = [Condition("c[1]", X, "<=", sp.Integer(1)), Condition("c[2]", X, ">=", sp.Integer(2))]
    assert minimal_conflict([*two, Condition("d", X, "<", sp.Integer(2))], X) == ("c",)


def test_what_fails_at_a_point_is_named_once_and_without_its_index():
    two = [Condition(f"c[{i}]", X, "<=", sp.Integer(i)) for i in (1, 2)] + [Condition("d", X, ">", sp.Integer(0))]
    assert failing(two, X, Q(3)) == ["c"] and failing(two, X, Q(3, 2)) == ["c"] and failing(two, X, Q(1)) == []


# --- what an interval says of itself --------------------------------------------------------------------------------------


@pytest.mark.parametrize("low_closed", [True, False])
@pytest.mark.parametrize("high_closed", [True, False])
def test_an_interval_contains_its_closed_ends(low_closed: bool, high_closed: bool):
    bounded = Interval(1.0, 3.0, low_closed, high_closed, {"lower": "a", "upper": None})
    inside = [bounded.contains(v) for v in (0.5, 1.0, nextafter(1, 2), 2.0, nextafter(3, 0), 3.0, 3.5)]
    assert inside == [False, low_closed, True, True, True, high_closed, False]
    half = Interval(1.0, None, low_closed, high_closed, {"lower": None, "upper": "b"})
    assert [half.contains(v) for v in (0.5, 1.0, 2.0, 1e300)] == [False, low_closed, True, True]
    left, right = "[" if low_closed else "(", "]" if high_closed else ")"
    assert str(bounded) == f"{left}1, 3{right}" and str(half) == f"{left}1, inf{right}"
    assert bounded.markdown() == f"`{left}1, 3{right}` (binding: a / -)"
    assert half.markdown() == f"`{left}1, inf{right}` (binding: - / b)"
    assert bounded.latex() == rf"\left{left}1, 3\right{right}" and half.latex() == rf"\left{left}1, \infty\right{right}"
    third = Interval(1 / 3, 2 / 3, low_closed, high_closed, {})
    assert third.latex() == rf"\left{left}0.333334, 0.666666\right{right}", "rounded to the inside"


@pytest.mark.parametrize(
    ("low", "high", "meets"), [(0, 1, True), (2, 3, True), (0, 3, True), (1, 1, True), (3, 4, False), (-1, 0, False)]
)
def test_enclosures_that_touch_may_hold_the_same_point(low: int, high: int, meets: bool):
    assert End(Q(1), Q(2)).meets((Q(low), Q(high))) is meets


def test_the_sign_of_a_number_is_decided():
    root = sp.sqrt(3 + 2 * sp.sqrt(2)) - 1 - sp.sqrt(2)  # 0, and no sum of rationals
    near = sp.sqrt(2) - sp.Rational(14142135623730950488, 10**19)
    numbers = (sp.Integer(0), sp.Rational(-1, 3), sp.Integer(2), root, near, -near, root + sp.pi / 10**30)
    assert [decided_sign(number) for number in numbers] == [0, -1, 1, 0, 1, -1, 1]


# --- equalities and extrema ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [1, -1, 2, -3, Q(1, 2), Q(-2, 3)])
def test_an_equality_is_solved(power: Q | int):
    y, z = sp.symbols("y z", positive=True)
    exponent = sp.Rational(Q(power).numerator, Q(power).denominator)
    for left, right in ((3 * X**exponent * y, 7 * z), (7 * z, 3 * X**exponent * y), (X**exponent / z, y / X**5)):
        value = solved_for(Condition("e", left, "==", right), X)
        at = {y: sp.Rational(2, 3), z: sp.Rational(5)}
        gap = (left - right).xreplace({X: value}).xreplace(at)
        assert value is not None and not value.has(X) and abs(sp.N(gap, 30)) < 1e-25, (left, right)
    assert solved_for(Condition("e", X, "==", y + z), X) == y + z
    assert solved_for(Condition("e", X, "==", X * y), X) is None, "no power of x is left"
    assert solved_for(Condition("e", X + y, "==", z), X) is None and solved_for(Condition("e", y, "==", z), X) is None
    assert solved_for(Condition("e", 2**X, "==", z), X) is None


@pytest.mark.parametrize("relation", ["<", "<=", ">", ">=", "=="])
def test_the_parts_of_an_extremum_say_the_same_together(relation: str):
    a, b, c = sp.symbols("a b c", positive=True)
    sides = [X, a, sp.Min(a, b), sp.Max(a, b), sp.Min(a, sp.Max(b, c)), sp.Max(a, sp.Min(b, c)), sp.Min(a, b, c)]
    for left, right in [(p, q) for p in sides for q in sides]:
        whole, after = Condition("c", left, relation, right), Condition("after", X, "<", a)
        *parts, last = split_extrema([whole, after])
        assert last == after and len({p.name for p in parts}) == len(parts)
        small, large = (right, left) if relation in (">", ">=") else (left, right)
        splits = relation != "==" and (isinstance(large, sp.Min) or isinstance(small, sp.Max))
        if splits:
            assert parts[0].name.startswith("c[1]") and {p.relation for p in parts} == {relation.replace(">", "<")}
            assert not any(isinstance(p.left, sp.Max) or isinstance(p.right, sp.Min) for p in parts)
        else:
            assert parts == [whole]
        for values in ((1, 2, 3, 2), (3, 1, 2, 2), (2, 3, 1, 1), (2, 2, 2, 2), (1, 1, 4, 3), (4, 2, 2, 1)):
            at = dict(zip((a, b, c, X), map(sp.Integer, values), strict=True))
            true = [bool(HOLDS[p.relation](p.left.xreplace(at) - p.right.xreplace(at))) for p in (whole, *parts)]
            assert all(true[1:]) == true[0], (whole, at)


# --- projections of sets in two variables -------------------------------------------------------------------------------------

Y = sp.Symbol("y", positive=True)


@pytest.mark.parametrize("seed", slow_after(20, range(40)))
def test_projections_of_a_box_with_one_more_condition(seed: int):
    """x in a box, y in a box, and x^p y^q <= e: some y serves an x where the best one does."""
    rng = Random(3000 + seed)
    low, high = {}, {}
    conditions, strict = [], {}
    for v in (X, Y):
        low[v], high[v] = Q(rng.randint(1, 5), rng.randint(1, 4)), Q(rng.randint(6, 12))
        for side, end in (("low", low[v]), ("high", high[v])):
            strict[v, side] = rng.random() < 0.4
            number = sp.Rational(end.numerator, end.denominator)
            relation = {"low": ">", "high": "<"}[side] + ("" if strict[v, side] else "=")
            turned = rng.random() < 0.5
            left, right = (number, v) if turned else (v, number)
            flipped = relation.replace(">", "?").replace("<", ">").replace("?", "<") if turned else relation
            conditions.append(Condition(f"{v}_{side}", left, flipped, right))
    p, q, e = rng.choice([1, -1]), rng.choice([1, 2, -1, -2]), Q(rng.randint(1, 60), rng.randint(1, 4))
    more = rng.random() < 0.4
    number = sp.Rational(e.numerator, e.denominator)
    conditions.append(Condition("more", X**p * Y**q, "<" if more else "<=", number))
    rng.shuffle(conditions)
    best, at = (low[Y], strict[Y, "low"]) if q > 0 else (high[Y], strict[Y, "high"])
    limit, limit_strict = (e / best**q if p > 0 else best**q / e), more or at
    bottom, top = [(low[X], strict[X, "low"])], [(high[X], strict[X, "high"])]
    (top if p > 0 else bottom).append((limit, limit_strict))
    lower = max(bottom, key=lambda end: (end[0], end[1]))
    upper = min(top, key=lambda end: (end[0], not end[1]))
    pieces, note = projection((X, Y), conditions, X)
    found = longest(pieces) if pieces else None
    known = {c.name for c in conditions}
    if lower[0] > upper[0] or (lower[0] == upper[0] and (lower[1] or upper[1])):
        assert found is None and "more" in {part for name in note for part in name.split(", ")}
        return
    assert note == () and found is not None
    assert found.enclosure == {"lower": (lower[0],) * 2, "upper": (upper[0],) * 2}, (conditions, found)
    if lower[0] < upper[0]:
        assert (found.lower_closed, found.upper_closed) == (not lower[1], not upper[1]), (conditions, found)
    for side in ("lower", "upper"):
        assert names(found.binding[side]) and names(found.binding[side]) <= known


def test_a_projection_over_whole_numbers():
    """The other count is best at 1 where it pulls upwards, and as large as one likes where it pulls downwards."""
    n = COUNT

    def projected(on: sp.Symbol, *conditions: tuple[sp.Expr, str, sp.Expr]) -> Interval:
        made = [Condition(f"c{i}", *each) for i, each in enumerate(conditions)]
        (found,), note = projection((X, n), made, on)
        assert note == ()
        return found

    found = projected(X, (X * n, "<=", sp.Integer(5)), (X, ">", sp.Rational(1, 2)))
    assert (found.lower, found.upper, found.lower_closed, found.upper_closed) == (0.5, 5.0, False, True)
    found = projected(n, (X * n, "<=", sp.Integer(5)), (X, ">", sp.Rational(1, 2)))
    assert (found.lower, found.upper) == (1, 9), "10/2 = 5 is out, as x > 1/2"
    assert projected(n, (X * n, "<=", sp.Integer(5)), (X, ">=", sp.Rational(1, 2))).upper == 10
    found = projected(X, (X / n, "<=", sp.Integer(5)))
    assert (found.lower, found.upper) == (0.0, None), "a large count serves every x"
    found = projected(X, (X + 1 / n, "<=", sp.Integer(5)))
    assert (found.upper, found.upper_closed) == (5.0, False), "1/n never vanishes"
    found = projected(X, (X * n + n**2, "<=", sp.Integer(5)))
    assert (found.upper, found.upper_closed) == (4.0, True)
    found = projected(X, (sp.Integer(5), ">=", X * n))
    assert found.upper == 5.0
    equal = projected(X, (X * n, "==", sp.Integer(6)), (X, "<=", sp.Integer(4)))
    assert (equal.lower, equal.upper) == (0.0, 4.0)


def test_what_an_equality_determines():
    z = sp.Symbol("z", positive=True)
    conditions = [
        Condition("e", X * Y, "==", 6 * z),
        Condition("f", z, "==", 2 * X**2),
        Condition("g", Y, "<=", sp.Integer(3)),
    ]
    joint = without_equalities((X, Y, z), conditions)
    assert len(joint.symbols) == 1 and {c.name for c in joint.conditions} == {"g"}
    (free,) = joint.symbols
    point = {free: sp.Rational(1, 7)} | {s: f.xreplace({free: sp.Rational(1, 7)}) for s, f in joint.determined.items()}
    assert set(point) == {X, Y, z} and all((c.left - c.right).xreplace(point) == 0 for c in conditions[:2])
    kept = without_equalities((X, Y), [Condition("e", X * Y, "==", sp.Integer(6))], keep=Y)
    assert kept.symbols == (Y,) and kept.determined == {X: 6 / Y}
    count = without_equalities((COUNT,), [Condition("e", 2 * COUNT, "==", sp.Integer(5))])
    assert [str(c) for c in count.conditions] == ["5/2 >= 1"] and count.symbols == ()
    both = without_equalities((COUNT, X), [Condition("e", COUNT * X, "==", sp.Integer(5))])
    assert both.symbols == (COUNT,) and both.conditions == (), "the real one is solved for"
    assert (both.whole, both.box()) == (("n",), {"n": (1.0, inf)})
    assert without_equalities((X, Y), [Condition("e", X + Y, "==", sp.Integer(6))]).conditions[0].relation == "=="


@pytest.mark.parametrize(
    ("low", "high", "centre"),
    [(2.0, 8.0, 4.0), (0.0, 8.0, 4.0), (3.0, None, 6.0), (0.0, None, 1.0), (0.25, 0.25, 0.25)],
)
def test_the_centre_of_an_interval(low: float, high: float | None, centre: float):
    assert centre_of(Interval(low, high, True, True, {})) == centre


def test_an_interval_reaches_the_point_inside():
    """Moved out to it, one double short of it, and no farther."""

    def reached(low: float, high: float | None, inside: float) -> tuple[float, float | None]:
        found = reaching(Interval(low, high, True, True, {"lower": "a", "upper": "b"}), inside)
        assert found.binding == {"lower": "a", "upper": "b"} and found.lower_closed
        return found.lower, found.upper

    assert reached(1.0, 3.0, 2.0) == (1.0, 3.0) == reached(1.0, 3.0, 3.0) == reached(1.0, 3.0, 1.0)
    assert reached(1.0, 3.0, 4.0) == (1.0, nextafter(4.0, 0)) and reached(1.0, 3.0, 0.5) == (nextafter(0.5, inf), 3.0)
    assert reached(1.0, None, 0.5) == (nextafter(0.5, inf), None) and reached(1.0, None, 9.0) == (1.0, None)
    assert reached(3.0, 2.0, 2.5) == (2.5, 2.5), "ends that the margin turned round meet at the point"
