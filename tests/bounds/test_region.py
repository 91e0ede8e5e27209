"""Admissible sets of one variable: both sides of every end and a scan on every statement, mutants, and sets whose ends are known.

Those are random products of factors with known roots, and roots, poles and holes with known solutions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction as Q
from functools import cache
from itertools import combinations, pairwise
from math import inf, nextafter
from random import Random

import fedco
import pytest
import sympy as sp
from fedco.bounds.language.quantities import MAX_STEPS
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Condition
from fedco.bounds.region import intervals
from fedco.bounds.region.conditions import reduced
from fedco.bounds.region.intervals import End, Interval, failing, intersect, minimal_conflict, of_one
from fedco.bounds.region.roots import decided_sign
from inverse_cases import constants, seeds, solvable
from quick import slow_after
from refusal import is_refused
from registry_cases import THEOREMS
from small_theorems import small

CASES = solvable()
QUICK = [
    ("acc_fcsg_m.corollary_4_8", "corrected", "B"),
    ("comfedl.remark_1", "printed", "tau"),
    ("fcsg.theorem_4_1", "corrected", "alpha"),
    ("feddro.corollary_1", "printed", "K"),
    ("feddro.corollary_2", "corrected", "eta"),
    ("feddro.corollary_2", "printed", "I"),
    ("feddro.lemma_f_5", "printed", "K"),
    ("feddro.theorem_5_1", "composed", "beta"),
    ("library.compressed_sgd", "printed", "omega"),
    ("library.gossip_sgd", "printed", "rho"),
    ("local_scgdm.corollary_3_5", "composed", "T"),
    ("local_scgdm.summed", "printed", "alpha"),
    ("meta_fl.lemma_6", "printed", "nu"),
    ("meta_fl.theorem_8", "printed", "alpha"),
    ("meta_fl.theorem_8", "printed", "n"),
    ("meta_fl.theorem_8", "printed", "nu"),
    ("meta_fl.theorem_8", "printed", "r"),
]
"""Real numbers, counts and steps in every relation and every form of a side that a statement has: powers, roots, sums in a
denominator, extrema, rounding, recursions, multiples, and symbols that a schedule or an equality gives."""
FEDDRO = {"L_h": 1, "L_f": 1, "L_g": 1, "B_f": 1, "B_g": 1, "K": 8, "b": 1, "sigma_g": "1/2"}


def check_region(name: str, label: str, variable: str, rng: Random, scanned: int) -> bool:
    """Both sides of every end and a scan, against the conditions evaluated exactly; whether anything is admissible."""
    theorem = THEOREMS[name]
    values = constants(theorem, label, rng, without=(variable,))
    try:
        region = theorem.admissible(variable, label, **values)
    except InputError as error:
        assert "missing" in str(error) or "without a value" in str(error)  # a rounded schedule asks for its value
        return False
    statement = theorem.statement(label)
    symbol, conditions = statement.symbols[variable].symbol, reduced(statement, (variable,), values)
    named = {condition.name for condition in theorem.statement(label).requirements} | {
        f"{n}_count" for n in theorem.symbols(label)
    }
    pieces = region.pieces.get(variable, tuple(region.intervals.values()))
    for piece in pieces:
        check_ends(piece, conditions, symbol, named)
    scan = scan_points(pieces, symbol, rng, scanned)
    for value in scan:
        inside = any(lies_in(piece, value) for piece in pieces)
        assert inside == (not failing(conditions, symbol, value)), (value, region)
    if not region.feasible:
        assert region.conflict and set(region.conflict) <= named
        assert_minimal(conditions, symbol, region.conflict)
    return region.feasible


def check_ends(piece, conditions, symbol, named) -> None:
    whole = bool(symbol.is_integer)
    for side, sign in (("lower", -1), ("upper", 1)):
        enclosure = piece.enclosure[side]
        if enclosure is None or (piece.binding[side] is None and (whole or not any(enclosure))):
            continue  # the end of the domain, such as 0, is no condition's
        low, high = enclosure
        assert high - low <= high * Q(1, 10**17)
        inner = low if sign > 0 else high
        outside = (high if sign > 0 else low) + sign * (1 if whole else inner * Q(1, 10**9))
        wrong = failing(conditions, symbol, outside)
        assert wrong and set(piece.binding[side].split(", ")) <= named
        assert set(wrong) >= set(piece.binding[side].split(", "))
        if piece.lower != piece.upper:
            inside = inner - sign * (0 if whole else min(inner * Q(1, 10**9), width(piece) / 3))
            assert not failing(conditions, symbol, inside)
        shown = piece.upper if sign > 0 else piece.lower
        if piece.lower != piece.upper:
            assert Q(shown) <= low if sign > 0 else Q(shown) >= high


def width(piece) -> Q:
    low = piece.enclosure["lower"][1] if piece.enclosure["lower"] else Q(0)
    return piece.enclosure["upper"][0] - low if piece.enclosure["upper"] else Q(1)


def lies_in(piece, value: Q) -> bool:
    low, high = piece.enclosure["lower"], piece.enclosure["upper"]
    above = low is None or value > low[1] or (piece.lower_closed and value >= low[0])
    return above and (high is None or value < high[0] or (piece.upper_closed and value <= high[1]))


def scan_points(pieces, symbol, rng: Random, count: int) -> list[Q]:
    """Points over many scales, and points around the ends."""
    ends = [end[0] for piece in pieces for end in piece.enclosure.values() if end]
    near = [end * factor for end in ends for factor in (Q(99, 100), Q(101, 100), Q(1, 3), Q(3))]
    wide = [Q(rng.randint(1, 99)) * Q(10) ** rng.randint(-9, 9) for _ in range(count)]
    if symbol.is_integer and not symbol.is_positive:
        return [Q(rng.randint(0, 30)) for _ in range(count)]
    return [Q(max(1, round(v))) for v in near + wide] if symbol.is_integer else near + wide


def assert_minimal(conditions, symbol, conflict: tuple[str, ...]) -> None:
    def only(names):
        return [c for c in conditions if c.name.partition("[")[0] in names]

    assert not intersect(only(conflict), symbol)
    for name in conflict:
        rest = [c for c in only(conflict) if c.name.partition("[")[0] != name]
        assert not rest or intersect(rest, symbol)


@cache
def feasible(case: tuple[str, str, str]) -> bool:
    """Whether an instance of a statement has an admissible value: they are checked up to the first that has one, at most twelve."""
    name, label, variable = case
    return any(check_region(*case, rng, 12) for rng in seeds(name, label + variable, 12))


@pytest.mark.parametrize("case", QUICK, ids="-".join)
def test_both_sides_of_every_end(case):
    feasible(case)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_both_sides_of_every_end_on_two_hundred_instances(case):
    name, label, variable = case
    for rng in seeds(name, label + variable, 200):
        check_region(*case, rng, 20)


def test_the_instances_are_not_degenerate():
    """Most statements have feasible instances among those drawn."""
    assert {*QUICK} <= {*CASES}
    assert sum(map(feasible, QUICK)) >= 0.7 * len(QUICK)


def test_a_quadratic_with_an_irrational_root_is_not_dropped():
    """A root whose sign sympy does not know: (sqrt(24 E^2 + 1) - 1)/(12 E^2 L)."""
    x = sp.Symbol("x", positive=True)
    (piece,) = intersect([Condition("c", 6 * x**2 + x, "<=", sp.Rational(1, 2))], x)
    low, high = piece.enclosure["upper"]
    assert 6 * low**2 + low <= Q(1, 2) <= 6 * high**2 + high and piece.binding["upper"] == "c"


def test_a_missing_horizon_is_solved_for():
    """eta follows from T = b K / eta^2 where T is not given: the horizon becomes a limit on eta."""
    region = fedco.theorem("feddro.theorem_5_1").admissible(
        "eta", "printed", **{k: v for k, v in FEDDRO.items() if k != "sigma_g"}, I=4
    )
    assert region.intervals["eta"].binding["upper"] == "horizon"
    assert region.intervals["eta"].upper == pytest.approx((8 / 55296) ** 0.5, rel=1e-12)


def test_what_cannot_be_solved_for_is_refused():
    theorem = fedco.theorem("fcsg.theorem_4_1")
    for solve, message in (("zeta", "not a symbol"), ("S_f", "wanted a hyperparameter"), ("alpha", "missing: L_f")):
        with is_refused(message):
            theorem.admissible(solve, "printed")


def test_a_mutant_condition_moves_the_end():
    """The checks above are not blind: a threshold that is a factor too large fails them."""
    x = sp.Symbol("x", positive=True)
    right, wrong = (Condition("c", x, "<=", sp.Rational(n, 3)) for n in (1, 2))
    (piece,) = intersect([wrong], x)
    with pytest.raises(AssertionError):
        check_ends(piece, [right], x, {"c"})


# --- sets whose pieces are known by hand -----------------------------------------------------------------------------------


def solved(name: str, **conditions: str):
    """The admissible values of one hyperparameter under these conditions, with L = 1."""
    theorem = small("F_gap/(eta*T)", conditions=conditions)
    return theorem.admissible(name, "printed", **({"L": 1} if "L" in theorem.symbols() else {}))


OUTSIDE = "(eta*L)**2 + 2 >= 3*eta*L"  # (eta L - 1)(eta L - 2) >= 0


@pytest.mark.parametrize(
    ("more", "ends", "largest"),
    [
        ({}, [(0.0, 1.0), (2.0, None)], (2.0, None)),
        ({"b": "eta*L <= 5"}, [(0.0, 1.0), (2.0, 5.0)], (2.0, 5.0)),
        ({"b": "eta*L <= 5/2"}, [(0.0, 1.0), (2.0, 2.5)], (0.0, 1.0)),
    ],
)
def test_every_piece_is_given_and_the_largest_first(more, ends, largest):
    region = solved("eta", a=OUTSIDE, **more)
    first, pieces = region.intervals["eta"], region.pieces["eta"]
    assert (first.lower, first.upper) == largest and first in pieces
    assert [(piece.lower, piece.upper) for piece in pieces] == ends
    assert [(p["lower"], p["upper"]) for p in region.to_dict()["pieces"]["eta"]] == ends
    assert len([line for line in str(region).splitlines() if "eta in" in line]) == len(ends)
    assert all(piece.binding["upper"] == "a" for piece in pieces[:1]) and pieces[1].binding["lower"] == "a"


def test_one_piece_is_not_listed_twice():
    region = solved("eta", a=OUTSIDE, b="eta*L <= 3/2")
    assert region.pieces == {} and "pieces" not in region.to_dict()
    assert (region.intervals["eta"].lower, region.intervals["eta"].upper) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("equality", "name", "upper", "binding"),
    [
        ("p*N == 12", "p", 12, "N_count"),
        ("p**2*N == 48", "p", 6, "N_count"),
        ("p**2*N == 48", "N", 48, "p_count"),
        ("12 == p*N", "N", 12, "p_count"),
    ],
)
def test_a_missing_count_that_an_equality_determines_is_at_least_one(equality, name, upper, binding):
    found = solved(name, a=equality).intervals[name]
    assert (found.lower, found.upper, found.binding) == (1, upper, {"lower": None, "upper": binding})


# --- what stands for a symbol that is neither given nor solved for ----------------------------------------------------------------


def left_open(schedule, *conditions, **given):
    """What limits T where the schedule gives p, which stands in the conditions; with L = 2, N = 3 and eta = 1/10."""
    made = small({"first": "F_gap/(eta*T)", "second": "L**2*eta*p*F_gap/N"}).statement("printed")
    words = {name: binding.symbol for name, binding in made.symbols.items()}
    stated = tuple(
        Condition(f"c{i}", sp.sympify(left, words), relation, sp.sympify(right, words))
        for i, (left, relation, right) in enumerate(conditions)
    )
    proposed = {name: sp.sympify(formula, words) for name, formula in schedule.items()}
    known = {name: value for name, value in ({"L": 2, "N": 3, "eta": "1/10"} | given).items() if value is not None}
    left = reduced(replace(made, conditions=stated, schedule=proposed), ("T",), known)
    return [str(c) for c in left if not c.name.startswith("method_range")]


def test_a_schedule_stands_for_what_is_not_given():
    limit = ("eta*L*p", "<=", "1")
    assert left_open({"p": "T/N"}, limit) == ["T/15 <= 1", "T/3 >= 1"], "a count is at least 1"
    assert left_open({"p": "T/N"}, limit, p=4) == ["4/5 <= 1"]
    for schedule in ({"p": "floor(T/N)"}, {}):  # rounded off it is no formula to solve with
        with is_refused(r"^T: limited by conditions on p too, without a value"):
            left_open(schedule, limit)
    assert left_open({"p": "floor(T/N)"}, limit, ("p*T", "==", "36")) == ["36/(5*T) <= 1", "36/T >= 1"]
    with is_refused(r"missing: L, p\b"):
        left_open({"p": "floor(T/N)"}, limit, L=None)


@pytest.mark.parametrize(("condition", "is_said"), [("floor(eta*L) <= 1", True), ("log(1 + eta*L) <= 1", False)])
def test_points_at_jumps_are_said_to_be_left_out(condition, is_said):
    """eta = 1/L is admissible and in neither of the two pieces."""
    made = small({"initialisation": "F_gap/(eta*T)", "drift": "eta*L**2*F_gap"}, conditions={"c": condition})
    found = of_one(made.statement("printed"), "eta", {"L": 1, "F_gap": 1, "T": 1})
    assert ("where floor or ceil jumps" in found.note) == is_said and len(found.pieces.get("eta", [1])) == 1 + is_said


# --- random products of factors with known roots ----------------------------------------------------------------------


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
    with is_refused(r"^cannot solve for x: not a sum of powers in "):
        intersect([Condition("c", left, "<=", sp.Integer(5))], X)


def test_the_domain_of_steps_ends_without_a_condition():
    """What fails beyond the most steps that there may be does not bind there."""
    last = MAX_STEPS + sp.Rational(1, 2)
    (found,) = intersect([Condition("c", STEPS, "<=", last)], STEPS)
    assert (found.lower, found.upper, found.binding) == (0, MAX_STEPS, {"lower": None, "upper": None})
    (found,) = intersect([Condition("c", STEPS, "<=", last - 1)], STEPS)
    assert (found.upper, found.binding["upper"]) == (MAX_STEPS - 1, "c")


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
