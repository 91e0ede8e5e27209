"""Branch and bound: what is proved and what is found, against every whole number, and where a box is split."""

from __future__ import annotations

from math import inf, sqrt

import pytest
import sympy as sp
from fedco.bounds.optimum.posynomial import EmptyBoxError, Posynomial
from fedco.bounds.optimum.program import Solution
from fedco.bounds.optimum.search import Found, dive, minimise, program, relaxed, split
from hypothesis import given, settings
from hypothesis import strategies as st

x = sp.Symbol("x", positive=True)
m, n = (sp.Symbol(name, positive=True, integer=True) for name in "mn")
number, variable = Posynomial.number, Posynomial.variable


def solution(**point):
    return Solution(point, 1.0, 0.5, {})


# --- the whole search -------------------------------------------------------------------------------------------------------------

SIZES = st.floats(0.5, 20)
EVERYWHERE = {"m": (1.0, 12.0), "n": (1.0, 12.0), "x": (0.0, inf)}


def problem(a: float, b: float, c: float, d: float):
    """a x/m + b m n + c/(n x) + d (m - 1)^2 with m n <= 12; its least value, the real x = sqrt(c m/(a n)) put in."""
    goal = sp.Float(a) * x / m + sp.Float(b) * m * n + sp.Float(c) / (n * x) + sp.Float(d) * (m - 1) ** 2

    def make(converter):
        return converter.convert(goal), [("product", converter.convert(m * n) * number(1 / 12))]

    pairs = [(i, j) for i in range(1, 13) for j in range(1, 13) if i * j <= 12]
    return make, pairs, min(2 * sqrt(a * c / (i * j)) + b * i * j + d * (i - 1) ** 2 for i, j in pairs)


@settings(max_examples=25)
@given(SIZES, SIZES, SIZES, st.floats(0.01, 2))
def test_branch_and_bound_finds_the_least_of_all_whole_numbers(a, b, c, d):
    make, pairs, best = problem(a, b, c, d)
    found = minimise(make, EVERYWHERE, ("m", "n"))
    assert found.value == pytest.approx(best, rel=2e-6) and found.lower <= best * (1 + 1e-9) and found.gap < 1e-4
    assert (found.point["m"], found.point["n"]) in pairs and found.nodes >= 1 and found.escapes == ()


@settings(max_examples=25)
@given(SIZES, SIZES, SIZES, st.floats(0.01, 2), st.sampled_from([1, 7, 12]), st.sampled_from([0.0, 1e-6, 0.3]))
def test_what_is_proved_holds_wherever_the_search_stops(a, b, c, d, nodes, gap):
    make, _, best = problem(a, b, c, d)
    found = minimise(make, EVERYWHERE, ("m", "n"), nodes=nodes, gap=gap)
    assert found.lower <= best * (1 + 1e-9) and best <= found.value * (1 + 1e-9) and found.lower <= found.value
    assert 1 <= found.nodes <= max(nodes, 6) and (found.gap <= gap + 1e-9 or found.nodes == max(nodes, 6))


@pytest.mark.parametrize(
    ("expr", "box", "least", "boxes"),
    [
        (1 / (x * (1 - x)), {"x": (0.01, 0.99)}, 4, {0.3: 4, 0.1: 10}),
        (1 / (x * (1 - x)), {"x": (0.3, 0.99)}, 4, {0.1: 30, 0.025: 30}),
        (1 / (x * (1 - x)), {"x": (0.01, 0.7)}, 4, {0.1: 30, 0.025: 30}),
        ((x**2 + 9) / (x - 1), {"x": (1.5, 90.0)}, 2 + 2 * sqrt(10), {0.3: 3, 0.1: 6, 0.01: 18}),
        (
            (m**2 + 90 * x) / (m - 1) + 40 / x,
            {"m": (2.0, inf), "x": (0.0, inf)},
            256 / 15 + 2 * sqrt(240),
            {0.1: 1, 0.01: 7, 1e-6: 9},
        ),
    ],
)
def test_a_search_takes_as_many_boxes_as_the_gap_asks_for(expr, box, least, boxes):
    """Replaced factors cost boxes: no more of them than this, and the last ones only where more is asked."""
    for gap, most in boxes.items():
        found = minimise(lambda c: (c.convert(expr), []), box, tuple(name for name in box if name == "m"), gap=gap)
        assert found.gap <= gap and found.nodes <= most, gap
        assert found.lower <= least * (1 + 1e-9) and found.value >= least * (1 - 1e-9)


def test_a_point_is_looked_for_again_in_narrower_boxes():
    """From above, x - 1 is known nearly exactly only beside the point: one box, and within a hundredth of a best answer there."""
    found = minimise(lambda c: (c.convert((x**2 + 9) / (x - 1)), []), {"x": (1.5, inf)}, (), gap=1.0)
    assert found.nodes == 1 and found.value == pytest.approx(2 + 2 * sqrt(10), rel=0.09)


@pytest.mark.parametrize(("more", "asked", "nodes"), [(0, 12, 12), (0, 2, 6), (46, 40, 20), (190, 40, 6)])
def test_a_long_statement_is_searched_in_fewer_boxes(more, asked, nodes):
    """At most 1000 monomials in all boxes together, of which each has four and these, but six boxes always."""
    limits = [("far", variable("x") * number(1e-9))] * more

    def make(converter):
        return converter.convert((x**2 + 9) / (x - 1)), limits

    assert minimise(make, {"x": (1.5, 90.0)}, (), nodes=asked, gap=-1.0).nodes == nodes


def test_what_runs_to_the_edge_is_told():
    assert minimise(lambda c: (c.convert(m / x), []), {"x": (0.0, inf), "m": (1.0, 3.0)}, ("m",)).escapes == ("x",)


def test_where_nothing_is_admissible_the_lower_bound_is_infinite():
    none = minimise(lambda c: (c.convert(x), [("a", number(2.0))]), {"x": (0.0, inf)}, ())
    assert (none.value, none.lower, none.point) == (inf, inf, {})

    def empty(converter):
        raise EmptyBoxError("a")

    assert minimise(empty, {"x": (0.0, inf)}, ()).lower == inf and relaxed(empty, {"x": (0.0, inf)}) is None


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


# --- its parts --------------------------------------------------------------------------------------------------------------------


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
def test_a_dive_tries_the_neighbours_of_a_number_in_its_box(value, low, high, found):
    tried = []
    dive(lambda box: tried.append(box["n"][0]), {"n": (low, high)}, ("n",), solution(n=value))
    assert tried == found


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
    found = split({"I": box, "z": (1.0, 2.0)}, ("I",), solution(I=at), names)
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
    found = split({"x": box}, (), solution(x=at), {"the factor": frozenset({"x", "gone"})})
    assert [part["x"] for part in found] == ([] if middle is None else [(box[0], middle), (middle, box[1])])


def test_a_box_is_split_where_the_program_does_not_know_its_variable():
    """Somewhere inside where there is no lower end; at the lower end nothing can be split off."""
    names = {"the factor": frozenset({"x"})}
    (left, right) = split({"x": (0.0, inf)}, (), solution(), names)
    assert left["x"][0] == 0.0 < left["x"][1] == right["x"][0] < right["x"][1] == inf
    assert split({"x": (2.0, inf)}, (), solution(), names) == []


def test_the_whole_number_farthest_from_one_is_split_where_nothing_is_replaced():
    found = split({"a": (1.0, 9.0), "b": (1.0, 9.0)}, ("a", "b"), solution(a=3.1, b=5.5), {})
    assert [part["b"] for part in found] == [(1, 5), (6, 9)] and found[0]["a"] == (1.0, 9.0)
    box = {"a": (1.0, 9.0), "b": (1.0, 9.0), "c": (4.0, 4.0)}  # nothing is known of a, and c is fixed
    found = split(box, ("a", "b", "c"), solution(b=5.1, c=4.5), {})
    assert [part["b"] for part in found] == [(1, 5), (6, 9)] and all(part["a"] == (1.0, 9.0) for part in found)
