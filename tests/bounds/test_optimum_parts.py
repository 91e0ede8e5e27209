"""The parts of the tuner, one by one: posynomials, programs with known optima, boxes, whole numbers and words."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from itertools import count
from math import exp, inf, log, log10
from pathlib import Path
from random import Random
from types import SimpleNamespace

import clarabel
import fedco
import numpy as np
import pytest
import sympy as sp
from fedco.bounds.language.definition import define, load
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Condition
from fedco.bounds.optimum import numerical, polish, posynomial, search, tuning, whole_numbers
from fedco.bounds.optimum import program as geometric
from fedco.bounds.optimum.linear import UnboundedError
from fedco.bounds.optimum.linear import minimise as minimise_linear
from fedco.bounds.optimum.model import model
from fedco.bounds.optimum.posynomial import Converter, EmptyBoxError, NotPosynomialError, Posynomial, condition_parts
from fedco.bounds.optimum.program import Program, Solution, solve
from fedco.bounds.optimum.search import Found, dive, minimise, program
from fedco.bounds.optimum.task import Task, make_task
from fedco.bounds.region import joint

EXAMPLE = load(Path(fedco.__file__).parent / "examples" / "pr_sgd.toml").statement("printed")
CONSTANTS = {"L": 2, "sigma": 3, "G": 4, "F_gap": 5, "N": 7}
x, y = (sp.Symbol(name, positive=True) for name in "xy")
number, variable = Posynomial.number, Posynomial.variable


def some(rng: Random, size: int) -> Posynomial:
    total = Posynomial({})
    for _ in range(size):
        powers = variable("x", F(rng.randint(-4, 4), 2)) * variable("y", F(rng.randint(-3, 3), 3))
        total = total + powers * number(rng.uniform(0.1, 3))
    return total


# --- posynomials ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(8))
def test_the_arithmetic_of_posynomials_is_that_of_their_values(seed):
    rng = Random(seed)
    a, b, one = some(rng, 3), some(rng, 2), some(rng, 1)
    point = {"x": rng.uniform(0.2, 3), "y": rng.uniform(0.2, 3)}
    assert (a + b).at(point) == pytest.approx(a.at(point) + b.at(point))
    assert (a * b).at(point) == pytest.approx(a.at(point) * b.at(point))
    for power in (F(5, 3), F(-1, 2), -3, 0):
        assert one.power(power).at(point) == pytest.approx(one.at(point) ** float(power))
    for power in (1, 2, F(3)):
        assert a.power(power).at(point) == pytest.approx(a.at(point) ** float(power))
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


@pytest.mark.parametrize("seed", range(6))
def test_a_condition_is_a_posynomial_below_one_where_it_holds(seed):
    rng = Random(seed)
    left, right = (x**2 + 3 * y) / x, 7 * y / (x + 1)
    part = condition_parts(left, right, Converter({}))
    for _ in range(20):
        point = {"x": rng.uniform(0.1, 3), "y": rng.uniform(0.1, 3)}
        exact = [float(side.subs({x: point["x"], y: point["y"]})) for side in (left, right)]
        assert part.at(point) == pytest.approx(exact[0] / exact[1])
    assert condition_parts(x, 2 * y, Converter({})).at({"x": 3.0, "y": 1.5}) == pytest.approx(1.0)


# --- programs ---------------------------------------------------------------------------------------------------------------------


def test_a_program_by_hand():
    """x + 4/x is least, 4, at x = 2; below x = 1 it is 5, and a percent more room is worth 3/5 of a percent."""
    objective = variable("x") + variable("x", -1) * number(4.0)
    free = solve(Program(objective, ()))
    assert free.point["x"] == pytest.approx(2, rel=1e-4) and free.value == pytest.approx(4, rel=1e-9)
    assert free.lower <= free.value and free.gap < 1e-8 and free.prices == {} and free.escapes == ()
    limited = solve(Program(objective, (("cap", variable("x")), ("fixed", number(1.0)), ("empty", Posynomial({})))))
    assert limited.value == pytest.approx(5, rel=1e-8) and limited.prices == {"cap": pytest.approx(3 / 5, rel=1e-5)}
    twice = solve(Program(objective, (("cap", variable("x")), ("cap", variable("x") * number(0.5)))))
    assert twice.prices["cap"] == pytest.approx(3 / 5, rel=1e-5)
    assert solve(Program(objective, (("cap", variable("x")),)), proved=False).lower == 0.0
    assert solve(Program(objective, (("no", number(1 + 1e-11)),))) is None
    with pytest.raises(ValueError, match="nothing to minimise"):
        solve(Program(Posynomial({}), ()))
    assert solve(Program(number(3.0), (("fixed", number(0.5)),))) == Solution({}, 3.0, 3.0, {})
    made = Program(objective, (("a", variable("z") + number(1.0)), ("b", variable("y"))))
    assert made.names == ("x", "y", "z") and made.size == 5


def test_an_objective_that_has_no_least_value_runs_to_the_edge():
    found = solve(Program(variable("x", -1), (("y", variable("y") + variable("y", -1) * number(0.2)),)))
    assert found.escapes == ("x",) and found.value == pytest.approx(exp(-80), rel=1e-3)


@pytest.mark.parametrize("seed", range(6))
def test_any_weights_prove_a_lower_bound(seed):
    """x/a + b y + c/(x y) has the least value 3 (b c/a)^(1/3); a y <= d at most moves it up. The prices may be any."""
    rng = Random(seed)
    a, b, c, d = (rng.uniform(0.2, 5) for _ in range(4))
    goal = variable("x") * number(1 / a) + variable("y") * number(b) + variable("x", -1) * variable("y", -1) * number(c)
    limit = variable("y") * number(1 / d)
    found = solve(Program(goal, (("limit", limit),)))
    forms = [geometric._log_form(part, ("x", "y")) for part in (goal, limit)]
    centre = np.log([found.point["x"], found.point["y"]])
    for spread in (0.0, 1e-3, 0.3):
        for price in (0.0, found.prices["limit"], 0.3, -1.0):
            at = centre + spread * np.array([rng.gauss(0, 1), rng.gauss(0, 1)])
            proved = geometric._dual_value(forms[0], forms[1:], [price], at)
            assert proved <= log(found.value) + 1e-9
            near = spread < 1e-2 and abs(price - found.prices["limit"]) < 1e-6
            assert proved > log(found.value) - 1e-6 or not near
    assert geometric._dual_value(forms[0], [], [], centre) == pytest.approx(log(3 * (b * c / a) ** (1 / 3)), abs=1e-2)


def test_where_the_exponents_do_not_cancel_nothing_is_proved():
    found = solve(Program(variable("x"), ()))
    assert found.lower == 0.0 and found.escapes == ("x",) and found.value == pytest.approx(exp(-80), rel=1e-3)


@pytest.mark.parametrize(
    ("status", "x", "trusted"),
    [
        ("Solved", 1.0, True),
        ("AlmostSolved", 1.0, True),
        ("InsufficientProgress", 0.0, True),
        ("InsufficientProgress", 1.0, False),
        ("MaxIterations", -0.5, True),
        ("MaxIterations", 1.0, False),
        ("PrimalInfeasible", 0.0, False),
    ],
)
def test_how_far_the_solver_is_trusted(status, x, trusted, monkeypatch):
    """What it calls solved is taken; where it gave up, a point at which x <= 1 holds; nothing where it says that there is none."""
    told = SimpleNamespace(status=status, x=[x, 0.0], z=[0.5, 0.25, 0.0, 0.0])
    monkeypatch.setattr(clarabel, "DefaultSolver", lambda *given: SimpleNamespace(solve=lambda: told))
    found = solve(Program(variable("x"), (("limit", variable("x")),)), proved=False)
    assert found == (Solution({"x": exp(x)}, exp(x), 0.0, {"limit": 0.25}) if trusted else None)


def test_what_is_proved_lies_below_what_was_found(monkeypatch):
    made = Program(variable("x"), (("least", variable("x", -1) * number(3.0)),))
    for dual, lower in ((log(2.0), 2.0), (log(4.0), None), (-inf, 0.0), (1e4, None)):
        monkeypatch.setattr(geometric, "_dual_value", lambda *given, dual=dual: dual)
        found = solve(made)
        assert found.lower == (found.value if lower is None else pytest.approx(lower)), "no bound lies above the point"


def test_the_price_of_a_product_and_of_a_sum():
    """3/x with x <= 2 falls by one per cent for each, and so does x with 1/x + 1/(3 x) <= 1; nothing else costs anything."""
    at_most = ("cap", variable("x") * number(0.5))
    one = solve(Program(variable("x", -1) * number(3.0), (at_most,)))
    least = ("sum", variable("x", -1) + variable("x", -1) * number(1 / 3))
    half = solve(Program(variable("x"), (least, ("wide", variable("x") * number(0.1)))))
    assert (one.value, half.value) == (pytest.approx(1.5, rel=1e-8), pytest.approx(4 / 3, rel=1e-8))
    assert one.prices == {"cap": pytest.approx(1, abs=1e-6)}
    assert half.prices == {"sum": pytest.approx(1, abs=1e-6), "wide": pytest.approx(0, abs=1e-6)}


def test_what_is_left_of_an_exponent_counts_over_the_whole_range():
    """x^(1e-10) is least at the far edge of the range, x = e^-80, and not 1 anywhere near."""
    form = (np.array([[1e-10]]), np.array([0.0]))
    assert geometric._dual_value(form, [], [], np.array([0.0])) == pytest.approx(-80e-10, rel=1e-6)
    assert geometric._dual_value((np.array([[1e-8]]), np.array([0.0])), [], [], np.array([0.0])) == -inf


@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0])
def test_shares_of_exponentials(shift):
    assert geometric._softmax(shift + np.log([1.0, 3.0])) == pytest.approx([0.25, 0.75])


def test_a_point_may_violate_a_constraint_by_the_error_of_the_solver():
    one, two = (np.array([[power]]) for power in (1.0, -1.0))
    both = ("both", np.array([[1.0], [0.0]]), np.log([0.5, 0.5]))  # x/2 + 1/2 <= 1
    for x, holds in ((-0.5, True), (0.0, True), (0.9e-6, True), (3e-6, False), (1.0, False)):
        assert geometric._nearly_feasible(np.array([x]), [("a", one, np.array([0.0])), both]) is holds
    assert not geometric._nearly_feasible(np.array([0.0]), [both, ("b", two, np.array([0.1]))])


@pytest.mark.parametrize("share", [0.89, 0.91])
def test_which_variables_ran_into_the_edge(share):
    """A variable escapes where its logarithm is more than nine tenths of the way to the edge of the search, up or down."""
    for direction in (1, -1):
        edge = number(exp(direction * share * 80))
        cap = variable("x", -direction) * edge.power(direction)
        found = solve(Program(variable("x", direction) + variable("y") + variable("y", -1), (("far", cap),)))
        assert found.escapes == (("x",) if share > 0.9 else ())


def test_a_gap_is_a_share_of_the_value():
    assert Solution({}, 4.0, 3.0, {}).gap == Found(4.0, {}, 3.0).gap == 0.25
    assert Solution({}, 0.0, 0.0, {}).gap == Found().gap == Found(0.0).gap == 0.0
    assert Found(4.0, {}, 5.0).gap == 0.0


@pytest.mark.parametrize(
    ("box", "tighten", "names"),
    [
        ({"x": (2.0, 8.0)}, 1.0, {"limit": 0.5, "x at least 2": 0.4, "x at most 8": 0.625}),
        ({"x": (0.0, inf)}, 0.5, {"limit": 1.0}),
        ({"x": (5.0, 5.0)}, 0.5, {"limit": 0.5}),
    ],
)
def test_a_box_is_part_of_the_program(box, tighten, names):
    """At x = 5: the limit x/10 <= 1, with room in it where it has a variable, and the ends of the box."""
    made, converter = program(
        lambda c: (c.convert(x), [("limit", c.convert(x) * number(0.1))]), box, upper=True, tighten=tighten
    )
    assert {name: part.at({"x": 5.0}) for name, part in made.constraints} == pytest.approx(names)
    assert converter.upper and not program(lambda c: (c.convert(x), []), box, upper=False)[1].upper


# --- whole numbers ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "low", "high", "found"),
    [
        (3.4, 1.0, 9.0, [3, 4]),
        (3.0, 1.0, 9.0, [3]),
        (0.2, 1.0, inf, [1]),
        (11.7, 1.0, 9.5, [9]),
        (3.4, 3.2, 9.0, [4]),
        (1e7, 1.0, inf, [10**7]),
        (2e8, 1.0, inf, [2 * 10**8 - 2, 2 * 10**8, 2 * 10**8 + 2]),
        (2.5e8, 1.0, inf, [249999997, 25 * 10**7, 250000003]),
    ],
)
def test_neighbours_of_a_number_in_a_box(value, low, high, found):
    assert search._neighbours(value, low, high) == found


def solution(**point):
    return Solution(point, 1.0, 0.5, {})


@pytest.mark.parametrize(
    ("box", "at", "replaced", "parts"),
    [
        ((1.0, 9.0), 4.0, True, [(1, 4), (5, 9)]),
        ((4.0, 9.0), 4.2, True, [(4, 6), (7, 9)]),
        ((1.0, 9.0), 8.5, True, [(1, 3), (4, 9)]),
        ((10.0, 90.0), 15.0, True, [(10, 15), (16, 90)]),  # from a tenth above the lower end
        ((10.0, 90.0), 11.0, True, [(10, 30), (31, 90)]),
        ((10.0, 90.0), 80.0, True, [(10, 80), (81, 90)]),  # to a tenth below the upper one
        ((10.0, 90.0), 81.0, True, [(10, 30), (31, 90)]),
        ((1.0, inf), 1.0, True, [(1, 1), (2, inf)]),
        ((5.0, 6.0), 6.0, True, [(5, 5), (6, 6)]),
        ((1.0, 9.0), 4.5, False, [(1, 4), (5, 9)]),
        ((1.0, 9.0), 4.0, False, []),
        ((1.0, 4.0), 4.5, False, []),
        ((5.0, 9.0), 4.5, False, []),
        ((3.0, 3.0), 3.0, True, []),
    ],
)
def test_a_box_is_split_at_a_whole_number(box, at, replaced, parts):
    names = {"the factor": frozenset({"I"})} if replaced else {}
    found = search._split({"I": box, "z": (1.0, 2.0)}, ("I",), solution(I=at), names)
    assert [part["I"] for part in found] == parts and all(part["z"] == (1.0, 2.0) for part in found)


@pytest.mark.parametrize(
    ("box", "at", "middle"),
    [
        ((1.0, 9.0), 4.0, 4.0),
        ((4.0, 9.0), 4.2, 6.0),
        ((1.0, 9.0), 8.5, 3.0),
        ((10.0, 90.0), 15.0, 15.0),
        ((10.0, 90.0), 11.0, 30.0),
        ((10.0, 90.0), 80.0, 80.0),
        ((10.0, 90.0), 81.0, 30.0),
        ((0.0, 8.0), 7.5, None),
        ((1.0, 1.0 + 1e-5), 1.0, (1.0 + 1e-5) ** 0.5),
        ((0.0, inf), 2.0, 2.0),
        ((1.0, inf), 1.0, None),
        ((1.0, 1.0 + 1e-7), 1.0, None),
    ],
)
def test_a_box_is_split_at_a_real_number(box, at, middle):
    found = search._split({"x": box}, (), solution(x=at), {"the factor": frozenset({"x", "gone"})})
    assert [part["x"] for part in found] == ([] if middle is None else [(box[0], middle), (middle, box[1])])


def test_a_box_is_split_where_the_program_does_not_know_its_variable():
    """Somewhere inside where there is no lower end; at the lower end nothing can be split off."""
    names = {"the factor": frozenset({"x"})}
    (left, right) = search._split({"x": (0.0, inf)}, (), solution(), names)
    assert left["x"][0] == 0.0 < left["x"][1] == right["x"][0] < right["x"][1] == inf
    assert search._split({"x": (2.0, inf)}, (), solution(), names) == []


def test_the_whole_number_farthest_from_one_is_split_where_nothing_is_replaced():
    found = search._split({"a": (1.0, 9.0), "b": (1.0, 9.0)}, ("a", "b"), solution(a=3.1, b=5.5), {})
    assert [part["b"] for part in found] == [(1, 5), (6, 9)] and found[0]["a"] == (1.0, 9.0)
    box = {"a": (1.0, 9.0), "b": (1.0, 9.0), "c": (4.0, 4.0)}  # nothing is known of a, and c is fixed
    found = search._split(box, ("a", "b", "c"), solution(b=5.1, c=4.5), {})
    assert [part["b"] for part in found] == [(1, 5), (6, 9)] and all(part["a"] == (1.0, 9.0) for part in found)


@pytest.mark.parametrize("seed", range(6))
def test_branch_and_bound_finds_the_least_of_all_whole_numbers(seed):
    """a x/m + b m n + c/(n x) with m n <= 12, over every pair, the real x = sqrt(c m/(a n)) put in."""
    rng = Random(seed)
    a, b, c = (rng.uniform(0.5, 20) for _ in range(3))
    m, n = (sp.Symbol(name, positive=True, integer=True) for name in "mn")

    def make(converter):
        goal = converter.convert(sp.Float(a) * x / m + sp.Float(b) * m * n + sp.Float(c) / (n * x))
        return goal, [("product", converter.convert(m * n) * number(1 / 12))]

    found = minimise(make, {"m": (1.0, 12.0), "n": (1.0, 12.0), "x": (0.0, inf)}, ("m", "n"))
    pairs = [(i, j) for i in range(1, 13) for j in range(1, 13) if i * j <= 12]
    best = min(2 * (a * c / (i * j)) ** 0.5 + b * i * j for i, j in pairs)
    assert found.value == pytest.approx(best, rel=1e-6) and found.lower <= best * (1 + 1e-9) and found.gap < 1e-4
    assert (found.point["m"], found.point["n"]) in pairs and found.nodes >= 1


def growing(monkeypatch, tree, *, size=2):
    """Branch and bound on boxes that are known by their upper ends: end -> (lower bound, value, ends of the parts); None is empty."""

    def below(make, box):
        known = tree[box["x"][1]]
        return known and (Solution({"x": box["x"][1]}, known[0], known[0], {}, ("x",)), {})

    def dived(solve_at, box, whole, start):
        assert start.point == {"x": box["x"][1]}
        return {"x": box["x"][1]}, tree[box["x"][1]][1]

    monkeypatch.setattr(search, "_below", below)
    monkeypatch.setattr(search, "dive", dived)
    monkeypatch.setattr(search, "_refined", lambda solve_at, make, box, whole, replaced, point, value: (point, value))
    monkeypatch.setattr(search, "_split", lambda box, whole, *rest: [{"x": (0.0, end)} for end in tree[box["x"][1]][2]])

    def make(converter):
        assert converter.upper
        return Posynomial({(("x", i),): 1.0 for i in range(1, size)}), []

    return make


@pytest.mark.parametrize(
    ("tree", "value", "at", "lower", "nodes"),
    [
        ({9.0: (1, 10, ())}, 10, 9.0, 1, 1),  # nothing to split
        ({9.0: (1, 10, (4.0, 5.0)), 4.0: (6, 9, ()), 5.0: (3, 8, ())}, 8, 5.0, 3, 3),
        ({9.0: (1, 10, (4.0, 5.0)), 4.0: (6, 9, ()), 5.0: (3, 4, ())}, 4, 5.0, 3, 2),  # 6 is above 4
        ({9.0: (1, 10, (4.0, 5.0)), 4.0: (8, 9, ()), 5.0: (3, 8, ())}, 8, 5.0, 3, 2),  # 8 is no better than 8
        ({9.0: (3, 10, (4.0,)), 4.0: (2, 7, (2.0,)), 2.0: None}, 7, 4.0, 7, 2),  # the other part is empty
        ({9.0: (3, 10, (4.0,)), 4.0: (2, 7, ())}, 7, 4.0, 3, 2),  # a part is not below its whole
        ({9.0: (3, inf, (4.0, 5.0)), 4.0: None, 5.0: None}, inf, None, inf, 1),  # nothing is admissible
        ({9.0: (10, 10, (4.0,)), 4.0: (10, 10, ())}, 10, 9.0, 10, 1),
        ({9.0: (1, 4, (4.0,)), 4.0: (2, 5, ())}, 4, 9.0, 2, 2),  # a part has no better point
    ],
)
def test_what_branch_and_bound_keeps(tree, value, at, lower, nodes, monkeypatch):
    """The best box first, until no other can hold less than the best point; what is proved is the least that was left."""
    found = minimise(growing(monkeypatch, tree), {"x": (0.0, 9.0)}, (), gap=0.0)
    assert (found.value, found.lower, found.nodes) == (value, lower, nodes)
    assert found.point == ({} if at is None else {"x": at}) and found.escapes == ("x",)


@pytest.mark.parametrize(("gap", "nodes"), [(0.39, 2), (0.41, 1)])
def test_branch_and_bound_stops_within_the_gap(gap, nodes, monkeypatch):
    make = growing(monkeypatch, {9.0: (1, 10, (5.0,)), 5.0: (6, 9, ())})
    found = minimise(make, {"x": (0.0, 9.0)}, (), gap=gap)
    assert found.nodes == nodes and found.lower == 6 and found.value == (9 if nodes == 2 else 10)


@pytest.mark.parametrize(("size", "asked", "nodes"), [(5, 12, 12), (10, 40, 20), (10, 15, 15), (90, 40, 6), (5, 2, 6)])
def test_a_long_statement_is_searched_in_fewer_boxes(size, asked, nodes, monkeypatch):
    """Each box has a part as wide as itself: at most 200 monomials in all boxes together, but some boxes always."""
    monkeypatch.setattr(search, "_MONOMIALS", 200)
    make = growing(monkeypatch, {9.0: (1, 10, (9.0,))}, size=size)
    assert minimise(make, {"x": (0.0, 9.0)}, (), nodes=asked).nodes == nodes


def test_a_point_is_looked_for_again_in_narrower_and_narrower_boxes(monkeypatch):
    """Around the point, within the box, whole ends for whole numbers; the best of all is kept."""
    boxes, answers = [], iter([({"x": 5.0, "n": 3.0, "z": 1.0}, 7.0), ({}, inf), ({"x": 6.0, "n": 2.0, "z": 1.0}, 6.5)])

    def dived(solve_at, near, whole, start):
        boxes.append(near)
        return next(answers)

    monkeypatch.setattr(search, "dive", dived)
    box = {"x": (0.5, 40.0), "n": (1.0, inf), "z": (1.0, 2.0), "fixed": (3.0, 3.0)}
    replaced = {"a": frozenset({"x", "n"}), "b": frozenset({"fixed", "gone"})}

    def make(converter):
        assert converter.upper
        return converter.convert(x), []

    at = {"x": 10.0, "n": 4.0, "z": 1.5, "fixed": 3.0}
    assert search._refined(None, make, box, ("n", "fixed"), replaced, at, 9.0) == ({"x": 6.0, "n": 2.0, "z": 1.0}, 6.5)
    assert len(boxes) == 3 and all((near["z"], near["fixed"]) == (box["z"], box["fixed"]) for near in boxes)
    centres = [10.0, 5.0, 5.0]
    widths = [near["x"][1] / near["x"][0] for near in boxes]
    assert all(low < centre < high for centre, (low, high) in zip(centres, (near["x"] for near in boxes), strict=True))
    assert widths[0] > 1.5 * widths[1] > 1.6 * widths[2] > 1.6 and boxes[0]["n"] == (2.0, 8.0)
    assert boxes[1]["n"] == (2.0, 4.0) == boxes[2]["n"]
    wide = {"x": (9.9, 10.05), "n": (4.0, 4.0)}
    boxes.clear()
    answers = iter([({}, inf)] * 3)
    assert search._refined(None, make, wide, ("n",), replaced, at, 9.0) == (at, 9.0)
    assert [near["x"] for near in boxes[:2]] == [(9.9, 10.05)] * 2 and all(near["n"] == (4.0, 4.0) for near in boxes)
    small = {"x": (0.001, 40.0), "n": (0.0, 9.0)}
    boxes.clear()
    answers = iter([({}, inf)] * 3)
    search._refined(None, make, small, ("n",), {"a": frozenset({"n"})}, {"n": 0.5}, 9.0)
    assert boxes[0]["n"] == (0.25, 1.0), "below 1 no whole number is left to round to"
    for without in ({}, {"z": 1.0}):  # no point, or none of what was replaced
        assert search._refined(None, make, box, (), replaced, without, 9.0) == (without, 9.0)


def test_where_nothing_is_admissible_the_lower_bound_is_infinite():
    none = minimise(lambda c: (c.convert(x), [("a", number(2.0))]), {"x": (0.0, inf)}, ())
    assert (none.value, none.lower, none.point) == (inf, inf, {})

    def empty(converter):
        raise EmptyBoxError("a")

    assert minimise(empty, {"x": (0.0, inf)}, ()).lower == inf and search.relaxed(empty, {"x": (0.0, inf)}) is None


def test_a_dive_fixes_the_smallest_first_and_takes_the_better_neighbour():
    """m + 6/m is 5 at 2 and at 3, and m n/7 + 7/(m n) then wants n = 3.5 or 7/3."""
    asked = []
    values = {(2.0, 3.0): 9.0, (2.0, 4.0): 8.0, (3.0, 2.0): 7.0}

    def solve_at(box):
        asked.append({name: pair[0] for name, pair in box.items() if pair[0] == pair[1]})
        fixed = asked[-1]
        if len(fixed) == 2:
            value = values.get((fixed["m"], fixed["n"]))
            return None if value is None else Solution({"n": 99.0, "z": 0.5}, value, 0.0, {})
        return Solution({"n": 3.4 if fixed["m"] == 2 else 2.0}, {2.0: 5.0, 3.0: 6.0}[fixed["m"]], 0.0, {})

    box = {"n": (1.0, 9.0), "m": (1.0, 9.0)}
    point, value = dive(solve_at, box, ("n", "m"), solution(n=5.0, m=2.5))
    assert (point, value) == ({"n": 4.0, "m": 2.0, "z": 0.5}, 8.0)
    assert asked[:2] == [{"m": 2.0}, {"m": 3.0}] and {"m": 3.0, "n": 2.0} not in asked
    values.clear()
    assert dive(solve_at, box, ("n", "m"), solution(n=5.0, m=2.5)) == ({}, inf)
    assert dive(lambda box: None, {"n": (4.0, 4.0)}, ("n",), solution()) == ({}, inf)
    asked.clear()
    values[(2.0, 3.0)] = 9.0
    dive(solve_at, {"n": (3.0, 9.0), "m": (2.0, inf)}, ("n", "m"), solution(n=5.0))
    assert asked == [{"m": 2.0}, {"m": 2.0, "n": 3.0}, {"m": 2.0, "n": 4.0}, {"m": 2.0, "n": 3.0}], "of m the lower end"


@pytest.mark.parametrize("limit", [1, 2, 17, 1000, 1001, 10**6])
@pytest.mark.parametrize("high", [1.0, 2.0, 1000.0])
def test_the_largest_value_that_is_allowed(limit, high):
    def rank(point):
        return np.where(point["n"] * point["m"] <= limit, 1.0, np.inf)

    moved = np.array([1.0, 3.0, 7.0])
    found = polish._filled(rank, {"m": moved, "n": 0.0}, "n", 1.0, high)
    assert found.tolist() == [max(1.0, min(high, limit // m)) for m in moved]


def asking(**changed) -> Task:
    given = {"budget": {"samples": 1000}, "eps": None, "cost": None, "ranges": None} | changed
    return make_task(model(EXAMPLE, CONSTANTS), *given.values())


def test_which_numbers_can_move():
    task = asking(ranges={"p": (3, 3)})
    point = {"eta": 0.5, "p": 3.0, "T": 1000.0}
    assert polish._movable(task, Found(1.0, point)) == ["T"] and polish._movable(asking(), Found(1.0, point)) == [
        "p",
        "T",
    ]
    assert polish._movable(asking(), Found(1.0, point | {"T": 1e7})) == ["p"]
    assert polish._movable(asking(), Found(1.0, {"T": 1e6})) == ["T"]


PLACES = ({"m": 5.0, "n": 4.0, "k": 2.0, "x": 0.7}, {"m": 7.0, "n": 4.0, "k": 2.0, "x": 2.1})


@pytest.mark.parametrize(("at", "slack", "size"), [(PLACES[0], 0.5, 12), (PLACES[0], -2.0, 6), (PLACES[1], 0.0, 2)])
def test_what_a_polish_looks_at(at, slack, size, monkeypatch):
    """Against the same in plain words for three whole numbers with m n k <= 60 and a real one, up to 3 steps away."""
    monkeypatch.setattr(polish, "_STEPS", 3)
    monkeypatch.setattr(polish, "_SOLVED", 12)
    limits = {"m": (2.0, 9.0), "n": (1.0, inf), "k": (1.0, 3.0), "x": (0.0, inf)}
    task = SimpleNamespace(
        box=lambda: dict(limits),
        model=SimpleNamespace(free=[SimpleNamespace(name=name) for name in limits], whole=("m", "n", "k")),
    )

    def value(m, n, k, x):
        return 30 / (x * m) + x * (n - 4.2) ** 2 + 5 / k + x if m * n * k <= 60 else inf

    def rank(point):
        arrays = np.broadcast_arrays(*(np.asarray(point[name], float) for name in limits))
        return np.array([value(*each) for each in zip(*map(np.ravel, arrays), strict=True)]).reshape(arrays[0].shape)

    best = dict[tuple[float, ...], float]()
    for first in ("m", "n", "k"):
        low, high = limits[first]
        others = [name for name in ("m", "n", "k") if name != first]
        for moved in range(int(max(low, at[first] - 3)), int(min(high, at[first] + 3)) + 1):
            tried = []
            for name in others:  # as large as the budget allows
                (third,) = (other for other in others if other != name)
                largest = min(limits[name][1], 60 // (moved * at[third]))
                tried.append({name: max(largest, limits[name][0])})
                for more in (0, 1):  # the third scaled first, rounded down or up
                    scaled = min(max(at[third] * at[first] / moved // 1 + more, limits[third][0]), limits[third][1])
                    largest = min(limits[name][1], 60 // (moved * scaled))
                    tried.append({third: scaled, name: max(largest, limits[name][0])})
            for group in ([], [others[0]], [others[1]], others):  # scaled, rounded down or up
                for up in ([], [others[0]], [others[1]], others):
                    scaled = {n: at[n] * at[first] / moved // 1 + (n in up) for n in group}
                    tried.append({n: min(max(v, limits[n][0]), limits[n][1]) for n, v in scaled.items()})
            for changed in tried:
                point = {**at, **changed, first: float(moved)}
                steps = [at["x"] * (moved / at[first]) ** -power for power in (0, 0.5, 1)]
                least = min(value(point["m"], point["n"], point["k"], x) for x in steps)
                numbers = point["m"], point["n"], point["k"]
                if least < best.get(numbers, inf):
                    best[numbers] = least
    found = Found(value(*at.values()) + slack, at)
    wanted = sorted((v, chosen) for chosen, v in best.items() if v <= found.value)[:12]
    assert len(wanted) == size < len(best)
    assert (at["m"], at["n"], at["k"]) in [chosen for _, chosen in wanted] or slack
    got = polish._best(rank, task, found, ["m", "n", "k"])
    assert [tuple(chosen.values()) for chosen in got] == [chosen for _, chosen in wanted]


@pytest.mark.parametrize(("value", "better"), [(6.9, True), (7.0, False), (None, False)])
def test_whole_numbers_are_decided_by_the_program_there(value, better, monkeypatch):
    task, asked = asking(ranges={"eta": (None, 3)}), []

    def solved(made):
        asked.append(made)
        return value and Solution({"eta": 0.25}, value, 0.0, {})

    monkeypatch.setattr(polish, "solve", solved)
    found = Found(7.0, {"eta": 0.5, "p": 3.0, "T": 100.0}, 6.95, 4)
    after = polish._decided(task, found, {"T": 90.0})
    assert after == (Found(6.9, {"eta": 0.25, "p": 3.0, "T": 90.0}, 6.9, 4) if better else found)
    (made,) = asked
    assert made.names == ("eta",), "the other whole numbers stay where they are"
    if better:
        assert polish._decided(task, replace(found, lower=1.0), {"T": 90.0}).lower == 1.0
        polish._decided(task, replace(found, point={"eta": 0.5, "T": 100.0}), {"T": 90.0})
        assert asked[-1].names == ("eta", "p"), "what no point is known of stays free"

    def fails(make, box, *, upper):
        assert upper
        raise EmptyBoxError("a")

    monkeypatch.setattr(polish, "program", fails)
    assert polish._decided(task, found, {"T": 90.0}) is found


def test_a_polish_goes_on_as_long_as_it_finds_something(monkeypatch):
    task, found, tried = asking(), Found(7.0, {"eta": 0.5, "p": 3.0, "T": 100.0}, 1.0), []
    monkeypatch.setattr(polish, "_ranking", lambda task: None)
    monkeypatch.setattr(polish, "_best", lambda rank, task, found, whole: [{"T": found.value}, {"T": found.value + 1}])

    def decided(task, found, chosen):
        tried.append(chosen["T"])
        return replace(found, value=chosen["T"] - 2) if chosen["T"] > 3 else found

    monkeypatch.setattr(polish, "_decided", decided)
    assert polish.polish(task, found).value == 2.0 and tried == [
        7.0,
        8.0,
        6.0,
        7.0,
        5.0,
        6.0,
        4.0,
        5.0,
        3.0,
        4.0,
        2.0,
        3.0,
    ]
    assert polish.polish(asking(ranges={"p": (3, 3), "T": (100, 100)}), found) is found


# --- what is asked ----------------------------------------------------------------------------------------------------------------


def test_what_is_measured_is_the_statement_and_what_fails():
    """Conditions, budgets, ranges and the target at values of eta, p and T, by hand; whole numbers without tolerance."""
    task = asking(ranges={"eta": ("1/100", "1/4"), "p": (2, None)})

    def by_hand(eta, p, T, room):
        total = 10 / (eta * T) + 18 * eta / 7 + 4 * eta**2 * p**2 * 4 * 25
        failed = (eta > 0.5 * (1 + room)) + (T > 1000) + (eta * (1 + room) < 0.01) + (eta > 0.25 * (1 + room)) + (p < 2)
        return total, failed

    for tolerance in (0.0, 0.1):
        measure = numerical.measured(task, tolerance)
        for point in (
            (0.1, 3.0, 500.0),
            (0.26, 2.0, 1000.0),
            (0.3, 1.0, 1001.0),
            (0.0095, 2.0, 4.0),
            (0.52, 1.0, 1000.0),
        ):
            objective, failed = measure(*(np.array([value]) for value in point))
            assert (objective[0], failed[0]) == pytest.approx(by_hand(*point, tolerance)), (point, tolerance)
    goal = asking(budget=None, eps=30)
    objective, failed = numerical.measured(goal)(np.array([0.1, 0.01]), np.array([1.0, 1.0]), np.array([10.0, 20.0]))
    assert objective.tolist() == [10.0, 20.0] and failed.tolist() == [0, 1]
    ranked = numerical.penalised(goal)(np.array([[-1.0, -2.0], [0.1, -3.0], [1.0, log10(20)]]), [False, True, True])
    assert ranked == pytest.approx([1.0, numerical._REJECTED + 1])


def test_a_numerical_search_finds_the_least_value_or_nothing():
    """18 eta/7 + 10/(eta T) + 400 eta^2 p^2 with T = 100 is least at p = 1 and where its slope in eta is 0."""
    task = make_task(model(EXAMPLE, CONSTANTS | {"T": 100}), {"samples": 1000}, None, None, {"p": (None, 40)})
    point = numerical.differential_evolution(task, steps=10)
    (eta,) = (r.real for r in np.roots([800, 18 / 7, 0, -0.1]) if r.imag == 0 and r.real > 0)
    assert point == {"eta": pytest.approx(eta, rel=1e-3), "p": 1.0}
    with pytest.raises(InputError, match=r"^pr_sgd\.theorem_1 \(printed\): no admissible values were found"):
        numerical.differential_evolution(asking(ranges={"eta": (3, None)}), steps=3)


def test_how_many_decades_are_searched():
    assert numerical._decades(0.0, inf) == (-12.0, 12.0) and numerical._decades(0.01, 1000.0) == pytest.approx((-2, 3))
    assert numerical._decades(0.5, 1.0) == pytest.approx((log10(0.5), 0.0))


def test_a_task_holds_at_its_limits_and_not_beyond():
    """eta = 1/4, p = 2 and T = 1000 with every limit just there; then each limit passed by a little."""
    exact = F(10 * 4, 1000) + F(18, 28) + F(4 * 4 * 4 * 25, 16)
    point = {"eta": F(1, 4), "p": F(2), "T": F(1000)}
    fine = asking(ranges={"eta": ("1/4", "1/4"), "p": (2, 2)})
    assert whole_numbers.accepts(fine, point) and whole_numbers.objective_at(fine, point) == pytest.approx(float(exact))
    for ranges in ({"eta": ("1/3", None)}, {"eta": (None, "1/5")}, {"p": (3, None)}, {"p": (None, 1)}):
        assert not whole_numbers.accepts(asking(ranges=ranges), point)
    assert not whole_numbers.accepts(asking(budget={"samples": "999.999"}), point)
    assert whole_numbers.accepts(asking(budget=None, eps=exact), point)
    assert not whole_numbers.accepts(asking(budget=None, eps=exact - F(1, 10**20)), point)
    assert not whole_numbers.accepts(asking(), point | {"eta": F(51, 100)})
    assert whole_numbers.objective_at(asking(budget=None, eps=1), point) == 1000.0


def test_the_constraints_of_a_task():
    point = {"eta": 0.25, "p": 2.0, "T": 500.0}
    total = 10 / (0.25 * 500) + 18 * 0.25 / 7 + 4 * 0.25**2 * 4 * 100
    objective, limits = asking(budget={"samples": 1000, "rounds": 100}).make(Converter({}))
    found = {name: part.at(point) for name, part in limits if not name.startswith("method_range")}
    assert objective.at(point) == pytest.approx(total)
    assert found == pytest.approx({"step_size": 0.5, "budget of samples": 0.5, "budget of rounds": 2.5})
    cost, limits = asking(budget=None, eps=5, cost={"samples": 2, "rounds": "1/2"}).make(Converter({}))
    assert cost.at(point) == pytest.approx(2 * 500 + 125) and dict(limits)["target"].at(point) == pytest.approx(
        total / 5
    )
    assert asking(budget=None, eps=5).objective == "samples" and asking().objective == "bound"
    weighted = asking(budget={"cost": 10}, cost={"samples": 2})
    assert dict(weighted.make(Converter({}))[1])["budget of cost"].at(point) == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"eps": 1}, "got both"),
        ({"budget": None}, "got neither"),
        ({"budget": {"samples": 0}}, "budget of samples: wanted a positive"),
        ({"budget": None, "eps": 0}, "eps: wanted a positive"),
        ({"ranges": {"p": (3, 2)}}, "got 3 > 2"),
        ({"ranges": {"p": (0, 2)}}, "range of p: wanted a positive"),
        ({"budget": None, "eps": 1, "cost": {"samples": 0}}, "weight of samples: wanted a positive"),
    ],
)
def test_what_is_no_task(changed, message):
    with pytest.raises(InputError, match=message):
        asking(**changed)


def test_a_term_that_makes_no_sense_where_a_condition_fails_is_no_error():
    task = asking()
    for value, error in ((2.0, EmptyBoxError), (1.0, NotPosynomialError), (1 + 1e-10, NotPosynomialError)):
        broken = SimpleNamespace(
            limits=lambda converter, value=value: [("a", variable("x")), ("b", number(value))], terms={"t": x - y}
        )
        with pytest.raises(error):
            replace(task, model=broken).make(Converter({}, upper=False))


def test_a_model_of_a_statement():
    made = model(EXAMPLE, CONSTANTS)
    assert made.whole == ("p", "T") and made.real == ("eta",)
    assert made.box() == {"eta": (0.0, inf), "p": (1.0, inf), "T": (1.0, inf)}
    with pytest.raises(InputError, match=r"step_size: the values given violate eta <= 1/L: wanted <= 0\.5, got 0\.75"):
        model(EXAMPLE, CONSTANTS | {"eta": "3/4"})
    assert "step_size" not in [c.name for c in model(EXAMPLE, CONSTANTS | {"eta": "1/2"}).conditions]


PLANNED = {
    "id": "m.t",
    "symbols": {
        "F_gap": "objective_gap",
        "L": "local_smoothness",
        "eta": "step_size",
        "T": "iterations",
        "p": "communication_period",
        "N": "clients",
    },
    "terms": {"first": "F_gap/(eta*T)", "second": "L*eta*p*F_gap*L/N"},
    "schedule": {"eta": "1/(L*p)", "p": "T/N"},
}


def planned(schedule=PLANNED["schedule"], *conditions):
    """With these conditions alone: the schedule is a proposal, no condition."""
    made = define(**PLANNED | {"schedule": schedule}).statement("printed")
    return replace(made, conditions=conditions), {name: binding.symbol for name, binding in made.symbols.items()}


def test_a_schedule_is_followed_where_nothing_else_is_said():
    """eta = 1/(L p) and p = T/N: what is given stays, and so does what an equality fixes; the rest follows."""
    statement, symbols = planned()
    T, eta = symbols["T"], symbols["eta"]
    constants = {"F_gap": 3, "L": 2, "N": 5}

    def followed(statement, **given):
        made = model(statement, constants | given, follow_schedule=True)
        return [binding.name for binding in made.free], dict(made.determined)

    assert followed(statement) == (["T"], {"eta": 5 / (2 * T), "p": T / 5})
    assert followed(statement, eta="1/7") == (["T"], {"p": T / 5})
    assert followed(statement, p=4) == (["T"], {"eta": sp.Rational(1, 8)})
    step = Condition("step", eta, "==", 3 / (symbols["L"] * T))
    assert followed(planned(PLANNED["schedule"], step)[0]) == (["T"], {"eta": 3 / (2 * T), "p": T / 5})
    free = model(statement, constants)
    assert [binding.name for binding in free.free] == ["eta", "T", "p"] and not free.determined
    best, usual = (
        tuning.tune(statement, constants, budget={"T": 100}, **how) for how in ({}, {"follow_schedule": True})
    )
    assert best.value < usual.value == float(usual.bound) and float(usual.values["p"]) == float(usual.values["T"]) / 5


def test_equalities_express_one_hyperparameter_by_the_others():
    """What numbers decide is checked and dropped; what stands alone on the left is solved for, else a real before a count."""
    _, s = planned()
    constants = {"F_gap": 3, "L": 2, "N": 5}

    def fixed(*equalities, **given):
        statement, _ = planned(
            {}, *(Condition(f"e{i}", left, "==", right) for i, (left, right) in enumerate(equalities))
        )
        made = model(statement, constants | given)
        assert all(c.name.startswith("method_range") for c in made.conditions)
        assert {*made.determined} | {b.name for b in made.free} == {"eta", "p", "T"} - {*given}
        assert (
            not {s[name] for name in made.determined}
            & sp.Tuple(*made.terms.values(), *made.costs.values()).free_symbols
        )
        return made.determined

    assert fixed((s["eta"] * s["p"], sp.Integer(3))) == {"eta": 3 / s["p"]}
    assert fixed((s["p"], 3 / s["eta"])) == {"p": 3 / s["eta"]}
    assert fixed((s["T"], s["p"] * 7), (s["eta"], 1 / s["T"])) == {"T": 7 * s["p"], "eta": 1 / (7 * s["p"])}
    assert fixed((s["eta"], 1 / s["T"]), (s["T"], s["p"] * 7)) == {"T": 7 * s["p"], "eta": 1 / (7 * s["p"])}
    assert fixed((s["T"] / s["p"], s["N"]), (s["eta"], 1 / s["p"]), p=4, T=20) == {"eta": sp.Rational(1, 4)}
    assert fixed((s["eta"] * s["p"], sp.Integer(3)), p=4) == {"eta": sp.Rational(3, 4)}
    with pytest.raises(InputError, match=r"^e0: wanted .*; the values given do not satisfy it"):
        fixed((s["T"] / s["p"], s["N"]), p=4, T=21)
    with pytest.raises(InputError, match=r"^e0: cannot solve .* for a hyperparameter"):
        fixed((s["T"] + s["p"], s["eta"] + s["N"]))


def test_conditions_of_a_model_are_at_most_one_where_they_hold():
    """Both directions of a relation; a part of an extremum keeps its name, and what fails already says why."""
    _, s = planned()
    least = Condition("least", s["eta"], "<=", sp.Min(1 / s["L"], 3 / s["p"]))
    statement, _ = planned({}, Condition("long", s["T"], ">=", 4 * s["p"]), least)
    made = model(statement, {"F_gap": 3, "L": 2, "N": 5})
    at = {"eta": 0.25, "T": 20.0, "p": 2.0}
    parts = {name: part.at(at) for name, part in made.limits(Converter({})) if not name.startswith("method_range")}
    assert parts == pytest.approx({"long": 0.4, "least[1]": 0.5, "least[2]": 1 / 6})
    with pytest.raises(InputError, match=r"^least: the values given violate .*: wanted <= 0\.3, got 0\.4$"):
        model(statement, {"F_gap": 3, "L": 2, "N": 5, "eta": "2/5", "p": 10})
    with pytest.raises(
        InputError, match=r"^method_range_p: .*: wanted <= 20, got 21 \(a run communicates at least once\)$"
    ):
        model(planned({})[0], {"F_gap": 3, "L": 2, "N": 5, "T": 20, "p": 21})


def test_what_a_tuner_may_choose():
    """Hyperparameters, but not what belongs to the problem, unless it may be left open; constants have to be given."""
    statement, _ = planned({})
    constants = {"F_gap": 3, "L": 2}
    with pytest.raises(InputError, match=r"missing: N\b"):
        model(statement, constants)
    free = model(statement, constants, also_free=frozenset({"clients"})).free
    assert {b.name for b in free} == {"eta", "T", "p", "N"}
    with pytest.raises(InputError, match=r"missing: L\b"):
        model(statement, {"F_gap": 3, "N": 5}, also_free=frozenset({"clients", "local_smoothness"}))
    with pytest.raises(InputError, match="bounds nothing"):
        model(replace(statement, terms=()), {})


def test_what_an_equality_fixes_is_chosen_with_the_rest():
    """What the schedule gives is left to it; anything else has to be said when the statement is evaluated."""
    for schedule, chosen_too in (({"eta": "1/L"}, {"p": F(3)}), ({"eta": "1/L", "p": "1 + T/N"}, {})):
        _, symbols = planned()
        rounds = Condition("rounds", symbols["p"], "==", 1 + symbols["T"] / symbols["N"])
        statement, _ = planned(schedule, rounds)
        task = make_task(model(statement, {"F_gap": 3, "L": 2, "N": 5}), {"T": 100}, None, None, None)
        assert [*task.model.determined] == ["p"]
        chosen = whole_numbers._with_reals(task, {"T": F(10)}, {"eta": 0.25, "T": 10.0}, 0.0, 10)
        assert chosen == {"T": F(10), "eta": F(1, 4)} | chosen_too


# --- answers ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gap", "text"), [(0.0, "gap below 1e-08"), (9e-9, "gap below 1e-08"), (1e-8, "gap 1.0e-08"), (0.25, "gap 2.5e-01")]
)
def test_a_gap_in_words(gap, text):
    assert tuning._gap(gap) == text


@pytest.mark.parametrize(
    ("value", "text"), [(999999999.0, "999999999"), (1e9, "1e+09"), (2.5, "2.5"), (1234567.5, "1.23457e+06")]
)
def test_an_amount_in_words(value, text):
    assert tuning._amount(value) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("budget of samples", "1% more samples buys 0.5% of the bound"),
        ("eta at most 3", "relaxing the limit eta at most 3 by 1% would buy 0.5% of the bound"),
        ("step_size", "relaxing step_size (eta <= 1/L) by 1% would buy 0.5% of the bound"),
    ],
)
def test_a_price_in_words(name, text):
    assert tuning._sentence(asking(), name, 0.5) == text


def test_the_price_of_a_target_in_words():
    task = asking(budget=None, eps=1)
    assert tuning._sentence(task, "target", 1 / 3) == "a target that is 1% less strict saves 0.33% of the samples"
    assert tuning._sentence(task, "step_size", 2).endswith("would buy 2% of the samples")


def test_an_answer_is_its_parts():
    found = tuning.tune(EXAMPLE, CONSTANTS | {"p": 1}, budget={"samples": 1000})
    assert found.bound.admissible and found.cost["samples"] == int(found.values["T"]) == 1000
    eta = float(found.values["eta"])
    nearby = [10 / (at * 1000) + 18 * at / 7 + 400 * at**2 for at in (eta * 0.999, eta, eta * 1.001)]
    assert nearby[1] == min(nearby) and float(found) == pytest.approx(nearby[1])
    assert 0 <= found.gap == pytest.approx((found.value - found.lower) / found.value, abs=1e-15) and found.gap < 1e-6
    assert found.binding == ("budget of samples",) == tuple(found.prices) and len(found.advice) == 1
    assert found.prices["budget of samples"] == pytest.approx(10 / (eta * 1000) / nearby[1], rel=1e-3)
    given = tuning.tune(EXAMPLE, CONSTANTS | {"p": 1, "eta": eta, "T": 10}, budget={"samples": 1000})
    assert (given.method, given.note, given.lower) == ("evaluated", "nothing left to choose", None)


def test_an_answer_in_words_and_tables():
    """With a certificate and without one; each number where it belongs, and of what has no row only what was chosen."""
    found = tuning.tune(EXAMPLE, CONSTANTS | {"p": 1}, budget={"samples": 1000})
    eta, price = found.bound.numbers["eta"], found.prices["budget of samples"]
    page = found.sheet()
    assert page.title == "pr_sgd.theorem_1 (printed): best hyperparameters" and page.claim == found.bound.sheet().claim
    tables = {table.name: table for table in page.tables}
    assert [*tables] == ["schedule", "costs", "binding limits", "constants"]
    assert [(row[0].text, float(row[2])) for row in tables["schedule"].rows] == [
        ("eta", pytest.approx(eta)),
        ("T", 1000),
    ]
    assert tables["binding limits"].rows == (("budget of samples", price),) and tables["binding limits"].bars == (1.0,)
    spent = {"iterations": 1000.0, "rounds": 1000.0, "samples": 1000.0, "model_messages": 1000.0}
    assert found.cost == spent and [row[1] for row in tables["costs"].rows] == [*spent.values()]
    constants = {row[0].text: row[2] for row in tables["constants"].rows}
    assert constants == {**CONSTANTS, "p": 1}
    certificate = f"geometric program, global optimum: no choice has bound below {found.lower:.6g} (gap "
    assert page.notes[-2].startswith(certificate) and page.notes[-1] == found.advice[0]
    lines = str(found).splitlines()
    assert lines[0] == f"pr_sgd.theorem_1 (printed): eta = {eta:.10g}, T = 1000"
    assert lines[1].startswith(f"  {found.bound.metric} <= ") and "  samples per client: 1000" in lines
    assert f"  {certificate}" in str(found) and lines[-1] == f"  {found.advice[0]}"
    data = found.to_dict()
    assert (
        data["values"] == {"eta": str(found.values["eta"]), "T": "1000"} and data["bound"]["total"] == found.bound.total
    )
    assert data["status"] == tuning.status_of(EXAMPLE)["status"] and "status" not in found.numbers_only()
    point = CONSTANTS | {"p": 1, "eta": "1/100", "T": 900}
    given = tuning.tune(EXAMPLE, point, eps=2, cost="rounds")
    page = given.sheet()
    assert page.title == "pr_sgd.theorem_1 (printed): least rounds" and not page.tables[0].rows
    assert [table.name for table in page.tables] == ["schedule", "costs", "constants"]
    assert page.notes[-2:] == ("evaluated", "nothing left to choose") and given.value == 900 == float(given)
    assert str(given).splitlines()[-2:] == ["  evaluated", "  nothing left to choose"] and given.gap is None


def test_what_was_replaced_is_said_and_fixed_where_prices_are_told():
    """48 (p - 1)^2 eta^2/5 beside 3/(eta T) with T/p <= 90: at p = 6, T = 540, a per cent more rounds is worth what T^(-2/3) says."""
    drift = {"first": "F_gap/(eta*T)", "drift": "2*(p-1)**2*L**3*eta**2*F_gap/N"}
    made = define(**PLANNED | {"terms": drift, "schedule": {}}, costs={"rounds": "T/p", "samples": "T"}).statement(
        "printed"
    )
    found = tuning.tune(made, {"F_gap": 3, "L": 2, "N": 5, "p": 6}, budget={"rounds": 90})
    free = tuning.tune(made, {"F_gap": 3, "L": 2, "N": 5}, budget={"rounds": 90}, ranges={"p": (6, None)})
    assert found.replacements == () and found.prices == {"budget of rounds": pytest.approx(2 / 3, rel=1e-4)}
    assert free.replacements == ("p - 1 (exact at fixed p)",) and free.values["p"] == 6
    assert free.prices["budget of rounds"] == pytest.approx(2 / 3, rel=1e-4) and free.value == pytest.approx(
        found.value, rel=1e-6
    )


@pytest.mark.parametrize(
    ("escapes", "value", "vanishes"), [(("x",), 1e-21, True), (("x",), 1e-20, False), ((), 1e-30, False)]
)
def test_an_objective_that_vanishes(escapes, value, vanishes):
    assert tuning._vanishes(Solution({}, value, 0.0, {}, escapes)) is vanishes


def test_what_keeps_improving_is_named():
    for escapes, named in ((("aux 0", "T"), "T"), (("aux 0",), "eta")):
        with pytest.raises(InputError, match=f"^{named}: wanted a value or a range"):
            tuning._refuse_endless(asking(), Solution({}, 1.0, 0.0, {}, escapes))


def test_why_nothing_is_admissible():
    apart = {"ranges": {"eta": (3, None)}}
    with pytest.raises(InputError, match=r"no admissible choice; in conflict: .*step_size"):
        tuning.tune(EXAMPLE, CONSTANTS, budget={"samples": 1000}, **apart)
    with pytest.raises(InputError) as caught:
        tuning.tune(EXAMPLE, CONSTANTS, eps="1e-9", ranges={"T": (None, 100)})
    least = float(str(caught.value).split("more than ")[1].split(",")[0])
    best = tuning.tune(EXAMPLE, CONSTANTS, budget={"T": 100})
    assert least == pytest.approx(best.value, rel=1e-4) and best.values["p"] == 1
    assert str(caught.value).endswith("got 1e-09; pr_sgd.theorem_1 (printed) has no smaller bound")


@pytest.mark.parametrize(
    ("names", "reached", "text"),
    [
        (["a", "target", "b"], Solution({}, 3.5, 3.0, {}), "eps: wanted more than 3, got 0.5; {} has no smaller bound under a, b"),
        (["target"], None, "eps: wanted a target within reach, got 0.5; {} does not reach it"),
        (["target", "a"], Solution({}, 3.5, 3.0, {}, ("T",)), "eps: wanted a target within reach, got 0.5; {} does not reach it under a"),
        (["a", "b"], None, "{}: no admissible choice; in conflict: a, b"),
    ],
)  # fmt: skip
def test_a_conflict_in_words(names, reached, text, monkeypatch):
    monkeypatch.setattr(joint, "conflict_of", lambda make, box: names)
    monkeypatch.setattr(tuning, "relaxed", lambda make, box: reached)
    assert tuning._infeasible(asking(budget=None, eps="1/2")) == text.format("pr_sgd.theorem_1 (printed)")
    assert tuning._infeasible(asking()).endswith(f"in conflict: {', '.join(names)}")


def test_exact_values_have_few_digits_and_hold(monkeypatch):
    """The first room in which everything holds: 10 digits with a billionth of room, then fewer, then the point itself."""
    task, asked = asking(), []
    for refused, digits in ((0, 10), (1, 8), (2, 7), (3, 15)):
        asked.clear()

        def accepts(task, chosen, refused=refused):
            asked.append(chosen)
            return len(asked) > refused

        monkeypatch.setattr(whole_numbers, "accepts", accepts)
        found = whole_numbers._exact(task, {"eta": 0.0123456789012345, "p": 1.0, "T": 1000.0})
        assert len(asked) == refused + 1 and found["T"] == 1000 and found["p"] == 1
        assert float(f"{float(found['eta']):.{digits}g}") == float(found["eta"])
        if digits == 15:
            assert found["eta"] == F("0.0123456789012345")


def test_real_values_keep_away_from_every_limit(monkeypatch):
    """The program with room in every constraint, from above, gives them; without room they stay where they were."""
    best = tuning.tune(EXAMPLE, CONSTANTS | {"p": 1, "T": 1000}, budget={"samples": 1000}).values["eta"]
    asked, made = [], whole_numbers.program
    monkeypatch.setattr(whole_numbers, "program", lambda *given, **how: asked.append(how) or made(*given, **how))
    task, point = asking(), {"eta": 0.4, "p": 1.0, "T": 1000.0}
    found = whole_numbers._with_reals(task, {"p": F(1), "T": F(1000)}, point, 1e-3, 6)
    assert asked == [{"upper": True, "tighten": 1 - 1e-3}] and float(found["eta"]) == pytest.approx(
        float(best), rel=1e-4
    )
    same = whole_numbers._with_reals(task, {"p": F(1), "T": F(1000)}, point, 0.0, 6)
    assert len(asked) == 1 and same == {"eta": F("0.4"), "p": F(1), "T": F(1000)}
    tight = whole_numbers._with_reals(asking(budget={"samples": 999}), {"p": F(1), "T": F(1000)}, point, 1e-3, 6)
    assert tight is None, "no value has room in a budget that is spent"


def test_neighbours_are_tried_where_no_digits_help(monkeypatch):
    """One of the whole numbers a little away, the best objective first; 1 stays."""
    task, tried, place = asking(budget={"samples": 10**8}), [], count()

    def accepts(task, chosen):
        tried.append((chosen["p"], chosen["T"]))
        return next(place) == 5

    monkeypatch.setattr(whole_numbers, "accepts", accepts)
    found = whole_numbers._exact(task, {"eta": 0.01, "p": 1.0, "T": 5e7})
    assert tried[:4] == [(1, 5 * 10**7)] * 4
    assert tried[4] == (1, 5 * 10**7 + 5) and tried[5] == (1, 5 * 10**7 - 5) == (found["p"], found["T"])
    monkeypatch.setattr(whole_numbers, "accepts", lambda task, chosen: tried.append(chosen["p"]) and False)
    tried.clear()
    with pytest.raises(InputError, match="no admissible values"):
        whole_numbers._exact(task, {"eta": 0.01, "p": 1.0, "T": 10.0})
    assert sorted(map(int, tried)) == [1] * 6


# --- linear programs --------------------------------------------------------------------------------------------------------------


def test_linear_programs_that_touch_their_ends():
    one = F(1)
    assert minimise_linear({"a": one}, [({"a": -one}, F(-3))], frozenset("a")) == {"a": 3}
    assert minimise_linear({"a": one}, [({"a": -one}, F(3))], frozenset()) == {"a": -3}
    assert minimise_linear({"a": one}, [({"a": one}, F(2)), ({"a": -one}, F(-2))], frozenset()) == {"a": 2}
    assert minimise_linear({"a": one}, [({"a": one}, F(2)), ({"a": -one}, F(-3))], frozenset()) is None
    doubled = [({"a": -one, "b": F(0)}, F(-1)), ({"a": -one}, F(-2)), ({"a": -one}, F(-1))]
    assert minimise_linear({"a": one}, doubled, frozenset("a"))["a"] == 2  # the strictest of equal rows
    with pytest.raises(UnboundedError):
        minimise_linear({"a": -one}, [({"b": one}, F(1))], frozenset("a"))
    assert minimise_linear({}, [], frozenset()) == {}


@pytest.mark.parametrize("goal", ["bound", "rounds"])
@pytest.mark.parametrize(
    ("escapes", "far", "nearby", "gap", "wanted"),
    [
        ((), 1e9, True, 0.0, "searched"),  # an optimum like any other
        ((), 1.01e9, True, 0.0, "near"),  # it is approached far out
        ((), 1.01e9, False, 0.0, {"bound": "endless", "rounds": "searched"}),
        (("T",), 5.0, True, 0.0, "near"),
        (("T",), 5.0, False, 0.0, "endless"),
        ((), 5.0, True, 0.9e-6, "searched"),
        ((), 5.0, True, 1.1e-6, "polished"),
    ],
)
def test_how_an_answer_is_looked_for(goal, escapes, far, nearby, gap, wanted, monkeypatch):
    task = asking() if goal == "bound" else asking(budget=None, eps=30, cost="rounds")
    wanted = wanted if isinstance(wanted, str) else wanted[goal]
    best, near = Found(4.0, {"T": 7.0}, 4.0 * (1 - gap)), (Found(5.0), task, "near")
    made = tuning.program
    monkeypatch.setattr(tuning, "program", lambda make, box, *, upper: made(make, box, upper=upper) if upper else None)
    monkeypatch.setattr(tuning, "relaxed", lambda make, box: Solution({}, 2.5, 2.0, {}))
    monkeypatch.setattr(tuning, "solve", lambda made: Solution({"T": far, "eta": 1e12}, 3.0, 0.0, {}, escapes))
    monkeypatch.setattr(
        tuning, "_plateau", lambda task, root, least: near if nearby and (root.lower, least) == (2.0, 2.5) else None
    )
    monkeypatch.setattr(tuning, "minimise", lambda make, box, whole: best)
    monkeypatch.setattr(tuning, "polish", lambda task, found: replace(found, nodes=99))
    if wanted == "endless":
        with pytest.raises(InputError, match="keeps improving without limit"):
            tuning._search(task)
        return
    found = tuning._search(task)
    assert (
        found == {"near": near, "searched": (best, task, ""), "polished": (replace(best, nodes=99), task, "")}[wanted]
    )
    monkeypatch.setattr(tuning, "_plateau", lambda *given: None)
    monkeypatch.setattr(tuning, "solve", lambda made: None)
    monkeypatch.setattr(tuning, "minimise", lambda make, box, whole: Found())
    monkeypatch.setattr(tuning, "_infeasible", lambda task: "nothing is admissible")
    with pytest.raises(InputError, match="nothing is admissible"):
        tuning._search(task)


def test_what_has_no_resource_has_no_least_cost():
    free = define(id="m.t", symbols={"T": "iterations"}, units=["objective_gap", "step_size"], terms={"all": "1/T"})
    with pytest.raises(InputError, match=r"^m\.t \(printed\): has no resource to minimise"):
        free.statement("printed").theorem.tune("printed", eps="1/10")
    assert free.tune("printed", budget={"T": 10}).value == pytest.approx(0.1)


def test_a_term_with_a_minus_is_no_bound_to_minimise():
    task = asking()
    broken = SimpleNamespace(statement=EXAMPLE, terms={"good": x, "bad": -x})
    with pytest.raises(InputError, match=r"pr_sgd\.theorem_1: the term bad is negative"):
        tuning._refuse_signs(replace(task, model=broken))
    tuning._refuse_signs(task)


# --- optima that are not attained --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("answered", "share"), [(0, 0.001), (1, 0.01), (2, 0.1), (3, 0.501), (4, None)])
@pytest.mark.parametrize("goal", ["bound", "rounds", "samples"])
def test_how_near_an_infimum_a_cheap_point_is_looked_for(goal, answered, share, monkeypatch):
    """Within 0.1, 1 and 10 per cent of it, at last as near as the program from above came; the first that has an answer."""
    task = asking() if goal == "bound" else asking(budget=None, eps=1, cost=goal)
    asked, cheap = [], "iterations" if goal == "samples" else "samples"

    def fake(make, box, whole):
        asked.append(make.__self__)
        return Found(7.0, {"T": 5.0}) if len(asked) == answered + 1 else Found()

    monkeypatch.setattr(tuning, "minimise", fake)
    found = tuning._plateau(task, Solution({}, 3.0, 1.5, {}), 2.0)
    reached = [each.target if goal == "bound" else each.limits[-1][2] for each in asked]
    assert [float(each) for each in reached] == pytest.approx([2 * 1.001, 2 * 1.01, 2 * 1.1, 2 * 1.501][: answered + 1])
    made = replace(task.model, costs={name: sp.Symbol(name) for name in task.model.costs})
    tuning._plateau(replace(task, model=made), Solution({}, 3.0, 1.5, {}), 2.0)
    assert asked[-1].cost == made.costs[cheap]
    assert all(each.cost == task.model.costs[cheap] for each in asked if each.model is task.model)
    if share is None:
        assert found is None
        return
    best, same, note = found
    assert same is task and (best.value, best.lower) == (7.0, 1.5)
    assert note == f"the least {goal} is only approached; these are the fewest {cheap} within {share:.1%} of it"


def test_a_point_at_the_edge_or_an_objective_that_vanishes_is_no_answer(monkeypatch):
    monkeypatch.setattr(tuning, "minimise", lambda make, box, whole: Found(7.0, escapes=("T",)))
    assert tuning._plateau(asking(), Solution({}, 3.0, 1.5, {}), 2.0) is None
    monkeypatch.setattr(tuning, "minimise", lambda make, box, whole: pytest.fail("it runs to 0"))
    assert tuning._plateau(asking(), Solution({}, 1e-30, 0.0, {}, ("T",)), 1e-31) is None
