"""Admissible sets of several variables: a point inside, projections against known ends, conflicts, and pictures."""

from __future__ import annotations

import operator
from dataclasses import replace
from fractions import Fraction
from fractions import Fraction as Q
from itertools import combinations
from math import inf, nextafter
from random import Random
from types import SimpleNamespace

import fedco
import numpy as np
import pytest
import sympy as sp
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Condition, Statement
from fedco.bounds.region import pictures
from fedco.bounds.region.admissible import region_picture
from fedco.bounds.region.conditions import reduced, solved_for, split_extrema
from fedco.bounds.region.intervals import Interval, intersect, longest
from fedco.bounds.region.joint import centre as centre_of
from fedco.bounds.region.joint import holds_at, projection, reaching, without_equalities
from fedco.bounds.region.pictures import intervals_plot, label_place, region_plot, window_around
from inverse_cases import constants, seeds, solvable
from quick import slow_after
from refusal import is_refused
from registry_cases import THEOREMS
from small_theorems import small

PAIRS = sorted(
    (*first[:2], *sorted((first[2], second[2])))
    for first, second in combinations(solvable(), 2)
    if first[:2] == second[:2]
)
FEDDRO = {"L_h": 1, "L_f": 1, "L_g": 1, "B_f": 1, "B_g": 1, "K": 8, "b": 1}


def check_pair(name: str, label: str, first: str, second: str, rng) -> bool:
    theorem = THEOREMS[name]
    values = constants(theorem, label, rng, without=(first, second))
    try:
        region = theorem.admissible((first, second), label, **values)
    except InputError as error:
        assert any(
            word in str(error)
            for word in ("missing", "without a value", "posynomial", "inside", "one at a time", "cannot solve")
        )
        return False
    conditions = reduced(theorem.statement(label), (first, second), values)
    symbols = [theorem.notation[v].symbol for v in (first, second)]
    if not region.feasible:
        assert region.conflict
        return False
    if not region.interior:
        assert region.note
        return False
    point = {s: sp.sympify(region.interior[str(s)]) for s in symbols}
    assert holds_at(tuple(conditions), point)
    for symbol in symbols:
        if symbol.is_integer and not point[symbol].is_Integer:
            assert f"{symbol} not whole inside" in region.note
            assert any(c.relation == "==" and symbol in c.left.free_symbols | c.right.free_symbols for c in conditions)
            continue
        value, interval = float(point[symbol]), region.intervals[str(symbol)]
        ends = [interval.lower] if interval.upper is None else [interval.lower, interval.upper]
        assert interval.contains(value) or any(value == pytest.approx(end, rel=1e-12) for end in ends)
    return True


@pytest.mark.parametrize("case", PAIRS[:: len(PAIRS) // 8], ids="-".join)
def test_the_point_inside_is_inside(case):
    for rng in seeds(case[0], "-".join(case), 1):
        check_pair(*case, rng)


@pytest.mark.slow
@pytest.mark.parametrize("case", PAIRS, ids="-".join)
def test_the_point_inside_is_inside_everywhere(case):
    for rng in seeds(case[0], "-".join(case), 10):
        check_pair(*case, rng)


def test_whole_numbers_reach_their_ends(monkeypatch: pytest.MonkeyPatch):
    """I = 1 and I = 2 are admissible, as printed: 165512 I^2 K / 3 <= T and 4 (2281 K/6 + 1250/9)^2 / (9 K) <= T.

    By the theorem's own conditions: its schedule has a momentum above 1 here."""
    monkeypatch.setattr(Statement, "method_range", property(lambda statement: ()))
    values = {"L_h": 4, "L_f": 2, "L_g": "5/3", "B_f": "19/9", "B_g": "25/6", "b": 9, "T": 298787}
    theorem = fedco.theorem("feddro.corollary_2")
    region = theorem.admissible(("I", "K"), "printed", **values)
    whole = [(i, k) for i in range(1, 6) for k in range(1, 8) if _holds_printed(i, k, values["T"])]
    for name, column in (("I", 0), ("K", 1)):
        found = {pair[column] for pair in whole}
        assert (region.intervals[name].lower, region.intervals[name].upper) == (min(found), max(found))


def _holds_printed(i: int, k: int, horizon: int) -> bool:
    return (
        165512 * i**2 * Fraction(k, 3) <= horizon
        and 4 * (Fraction(2281 * k, 6) + Fraction(1250, 9)) ** 2 / (9 * k) <= horizon
    )


def test_a_count_that_an_equality_fixes_is_said_to_be_no_whole_number():
    """B = T^(1/3) / N^(2/3) has hardly a solution in whole numbers."""
    values = {"L_f": 1, "L_g": 1, "S_f": 1, "S_g": 1, "sigma_g": 1, "F_gap": 1, "q": 3, "m": 9, "b": 12, "T": 7804}
    region = fedco.theorem("acc_fcsg_m.corollary_4_8").admissible(("B", "N"), "corrected", **values)
    assert "not whole inside" in region.note and not all(v.isdigit() for v in region.interior.values())


def test_the_projection_is_exact_where_variables_can_be_eliminated():
    region = fedco.theorem("feddro.theorem_5_1").admissible(("eta", "beta", "I"), "corrected", **FEDDRO, sigma_g="1/2")
    assert region.note == ""
    assert region.intervals["eta"].upper == pytest.approx(3**0.5 / 36, rel=1e-12)
    assert region.intervals["beta"].upper == 1.0 and region.intervals["I"].lower == 1


def test_names_are_checked():
    theorem = fedco.theorem("feddro.theorem_5_1")
    with is_refused("different hyperparameters"):
        theorem.admissible(("eta", "eta"), "printed", **FEDDRO)
    with is_refused("wanted a hyperparameter"):
        theorem.admissible(("eta", "L_f"), "printed", **FEDDRO)


# --- sets whose ends are known by hand -----------------------------------------------------------------------------------


def solved(*names: str, **conditions: str):
    """The admissible set of these hyperparameters under these conditions, with L = 1."""
    theorem = small("F_gap/(eta*T)", conditions=conditions)
    return theorem.admissible(names, "printed", **({"L": 1} if "L" in theorem.symbols() else {}))


def test_numerical_ends_lie_inside_by_a_billionth():
    """Some beta satisfies both where eta <= max beta (1 - beta) = 1/4 and eta >= 1/(100/4) = 1/25; beta: both at eta = 1/10."""
    region = solved("eta", "beta", a="beta + eta*L/beta <= 1", b="beta + 1/(100*eta*L*beta) <= 1")
    low, high = (1 - 0.6**0.5) / 2, (1 + 0.6**0.5) / 2
    for name, lower, upper in (("eta", 0.04, 0.25), ("beta", low, high)):
        found = region.intervals[name]
        assert lower < found.lower < lower * (1 + 3e-9) and upper * (1 - 3e-9) < found.upper < upper, name
        assert found.lower_closed and found.upper_closed
    assert "programming" in region.note
    assert region.intervals["eta"].binding == {"lower": "b", "upper": "a"}


def test_a_numerical_end_that_is_only_approached_is_open():
    """eta <= beta (1 - beta): every eta below 1/4 and every beta below 1; and eta >= 1/(beta (1 - beta)) has no largest eta."""
    region = solved("eta", "beta", a="beta + eta*L/beta <= 1")
    eta, beta = (region.intervals[name] for name in ("eta", "beta"))
    assert (eta.lower, eta.lower_closed, eta.binding) == (0.0, False, {"lower": None, "upper": "a"})
    assert eta.upper_closed and 0.25 * (1 - 3e-9) < eta.upper < 0.25
    assert (beta.lower, beta.lower_closed, beta.binding["lower"]) == (0.0, False, None)
    region = solved("eta", "beta", a="beta + 1/(eta*L*beta) <= 1")
    eta = region.intervals["eta"]
    assert (eta.upper, eta.upper_closed, eta.binding) == (None, False, {"lower": "a", "upper": None})
    assert eta.lower_closed and 4 < eta.lower < 4 * (1 + 3e-9)
    whole = solved("beta", "p", a="beta + 1/(p*beta) <= 1").intervals["p"]
    assert (whole.lower, whole.upper, whole.lower_closed, whole.upper_closed) == (4, None, True, False)


@pytest.mark.parametrize("least", ["1/4", "1/4 - 1/10**10"], ids=["one point", "narrower than the margin"])
def test_a_set_as_narrow_as_the_margin_keeps_its_point(least):
    region = solved("eta", "beta", a="beta + eta*L/beta <= 1", b=f"eta*L >= {least}")
    assert region.interior == {"eta": "1/4", "beta": "1/2"}
    assert region.intervals["eta"].lower == region.intervals["eta"].upper == 0.25
    assert region.intervals["beta"].lower <= 0.5 <= region.intervals["beta"].upper


def test_an_end_that_lost_the_point_to_the_margin_is_moved_out_to_it():
    """The set is wider than the margins of both ends and has its one decimal of two digits at an end."""
    wide = solved("eta", "beta", a="beta + eta*L/beta <= 1", b="eta*L >= 1/4 - 1/10**9")
    assert wide.interior["eta"] == "1/4" and wide.intervals["eta"].upper == nextafter(0.25, 0.0)
    assert 0.25 - 1e-9 < wide.intervals["eta"].lower < 0.25 - 1e-10
    wide = solved("eta", "beta", a="beta + 1/(100*eta*L*beta) <= 1", b="eta*L <= 1/25 + 1/(5*10**9)")
    assert wide.interior["eta"] == "1/25" and wide.intervals["eta"].lower == nextafter(0.04, inf)
    assert 0.04 + 1e-10 < wide.intervals["eta"].upper < 0.04 + 2e-10


def test_the_point_inside_has_a_factor_two_where_there_is_one():
    """The middles of the two projections, eta = 10 and beta = 1/10, lie on the border eta beta = 1."""
    region = solved("eta", "beta", a="eta*L*beta <= 1", b="eta*L >= 1", c="beta >= 1/100")
    eta, beta = (Fraction(region.interior[name]) for name in ("eta", "beta"))
    assert eta * beta <= Fraction(51, 100) and eta >= Fraction(199, 100) and beta >= Fraction(199, 10000)
    assert eta * beta >= Fraction(1, 3)  # no farther from the middles than it has to be


def test_the_point_inside_has_the_most_room_where_there_is_less():
    """25/36 <= eta <= 1: at the middle, 5/6, both conditions have the factor 6/5 and nowhere both have more."""
    region = solved("eta", "beta", a="eta*L <= 1", b="eta*L >= 25/36", c="beta <= 1")
    eta = Fraction(region.interior["eta"])
    assert eta <= Fraction(85, 100) and Fraction(25, 36) / eta <= Fraction(85, 100)


def test_nothing_is_admissible_together_and_the_conflict_is_minimal():
    region = solved("eta", "beta", a="eta*L*beta <= 1", b="eta*L >= 2", c="beta >= 1", d="eta*L <= 100")
    assert not region.feasible and set(region.conflict) == {"a", "b", "c"}
    assert region.intervals == {} and region.interior == {} and region.conditions == ()
    assert "infeasible; conflicting conditions: a, b, c" in str(region)


def test_a_strict_condition_is_in_conflict_where_its_border_is_not():
    region = solved("eta", "beta", a="eta*L < 1", b="eta*L >= 1", c="beta <= 1")
    assert not region.feasible and set(region.conflict) == {"a", "b"} and region.intervals == {}
    assert solved("eta", "beta", a="eta*L <= 1", b="eta*L >= 1", c="beta <= 1").feasible


def test_an_equality_is_solved_for_the_real_number_so_that_the_count_stays_whole():
    region = solved("eta", "p", a="eta*L*p == 1", b="eta*L <= 1/3")
    count = int(region.interior["p"])
    assert Fraction(region.interior["eta"]) * count == 1 and count >= 3 and region.note == ""
    assert (region.intervals["p"].lower, region.intervals["p"].upper) == (3, None)


def test_a_count_that_an_equality_determines_is_at_least_one():
    region = solved("p", "N", a="p*N == 12")
    for name, other in (("p", "N"), ("N", "p")):
        found = region.intervals[name]
        assert (found.lower, found.upper, found.binding["upper"]) == (1, 12, f"{other}_count")
    assert int(region.interior["p"]) * int(region.interior["N"]) == 12


@pytest.mark.parametrize(("relation", "closed"), [("<", False), ("<=", True)])
def test_an_end_is_open_where_one_of_the_conditions_behind_it_is_strict(relation, closed):
    for first, second in (("<=", relation), (relation, "<=")):
        found = solved("eta", "beta", a=f"eta*L {first} beta", b=f"beta {second} 1/2").intervals["eta"]
        assert (found.upper, found.upper_closed) == (0.5, closed)
        assert set(found.binding["upper"].split(", ")) == {"a", "b"}


def test_the_ends_of_a_whole_number_belong_to_its_set():
    """eta <= p (1 - p/10): 1.6 at p = 2, 2.1 at 3 and at 7, 1.6 at 8, at most 2.5 at 5."""
    region = solved("eta", "p", a="p/10 + eta*L/p <= 1", b="eta*L >= 2")
    whole = region.intervals["p"]
    assert (whole.lower, whole.upper, whole.lower_closed, whole.upper_closed) == (3, 7, True, True)
    assert (
        2 <= region.intervals["eta"].lower < 2 * (1 + 3e-9) and 2.5 * (1 - 3e-9) < region.intervals["eta"].upper <= 2.5
    )
    region = solved("beta", "p", a="beta + p/(21*beta) <= 1", b="p >= 5/2")  # p <= 21 beta (1 - beta) <= 5.25
    whole = region.intervals["p"]
    assert (whole.lower, whole.upper, whole.lower_closed, whole.upper_closed) == (3, 5, True, True)
    assert "programming" in region.note


@pytest.mark.parametrize(("count", "most"), [pytest.param("K", 2, marks=pytest.mark.slow), ("b", 1)])
def test_a_root_of_a_number_of_more_than_1024_bits_is_decided(count, most):
    """sympy gives up on such a root, which stands at a point between two ends of eta; the count's range is that beside beta."""
    values = {
        "L_h": "15/2",
        "L_f": "21/8",
        "L_g": "19/9",
        "B_f": "27/10",
        "B_g": "11/10",
        "sigma_h": "4/7",
        "sigma_g": 10,
    }
    values |= {
        "delta_g": "14/3",
        "Delta_h": "11/10",
        "Delta_g": "29/4",
        "Phi_gap": "8/3",
        "y_err": "18/11",
        "I": 8,
        "T": 43688,
    }
    values |= {"b": 3} if count == "K" else {"K": 4}
    theorem = fedco.theorem("feddro.corollary_1")
    ranges = [theorem.admissible((count, other), "corrected", **values).intervals[count] for other in ("eta", "beta")]
    assert ranges[0].upper == ranges[1].upper == most
    assert ranges[0].lower == ranges[1].lower == 1


def test_what_is_replaced_by_more_proves_no_conflict():
    """(eta - 1)^2 <= 1/b holds at eta = 1 for every b; without the minus it holds nowhere near."""
    symbols = {"L": "local_smoothness", "F": "objective_gap", "T": "iterations", "eta": "step_size", "b": "batch_size"}
    own = fedco.define(
        id="m.t", symbols=symbols, terms={"a": "F/(eta*T) + F*L*b/T"}, conditions={"s": "(eta*L - 1)**2 <= 1/b"}
    )
    with is_refused("it is not proved that there are none"):
        own.admissible(solve=["eta", "b"], L=1, F=1, T=100)


def test_ends_of_counts_that_an_equality_ties_together_are_said_to_be_of_real_numbers():
    symbols = {
        "L": "local_smoothness",
        "F": "objective_gap",
        "T": "iterations",
        "p": "communication_period",
        "b": "batch_size",
    }
    conditions = {"tied": "2*p == 3*b", "most": "p <= T"}
    own = fedco.define(id="m.t", symbols=symbols, terms={"a": "F*L*b/T + F*L*p/T"}, conditions=conditions)
    found = own.admissible(solve=["p", "b"], L=1, F=1, T=10)
    assert "an end need not be possible for whole numbers" in found.note, "p = 10 would need 20/3 samples"
    whole = fedco.define(
        id="m.t", symbols=symbols, terms={"a": "F*L*b/T + F*L*p/T"}, conditions={**conditions, "tied": "p == 3*b"}
    )
    assert "whole numbers" not in whole.admissible(solve=["p", "b"], L=1, F=1, T=10).note


def test_a_factor_that_may_be_negative_proves_no_conflict():
    """b (eta - 1) + 3/2 <= 1 at eta = 1/2, b = 1; with 0 for eta - 1 below 1 it holds nowhere."""
    symbols = {"L": "local_smoothness", "F": "objective_gap", "T": "iterations", "eta": "step_size", "b": "batch_size"}
    symbols |= {"p": "communication_period"}
    conditions = {"s": "b*(eta*L - 1) + p/10 <= 1"}
    own = fedco.define(
        id="m.t", symbols=symbols, terms={"a": "F/(eta*T) + F*L*b/T"}, conditions=conditions, costs={"samples": "T"}
    )
    assert own.tune(budget={"samples": 100}, L=1, F=1, p=15).bound.admissible
    with is_refused("it is not proved that there are none"):
        own.admissible(solve=["eta", "b"], L=1, F=1, T=100, p=15)


X, Y = (sp.Symbol(name, positive=True) for name in "xy")
COUNT = sp.Symbol("n", positive=True, integer=True)
HOLDS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq}


def names(binding: str | None) -> set[str]:
    return set(binding.split(", ")) if binding else set()


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
            true = [bool(HOLDS[p.relation](p.left.xreplace(at), p.right.xreplace(at))) for p in (whole, *parts)]
            assert all(true[1:]) == true[0], (whole, at)


# --- projections of sets in two variables -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("top", "largest"), [(Q(5, 2), (0.0, 1.0)), (Q(7, 2), (2.0, 3.5)), (None, (2.0, None))])
def test_a_projection_of_several_pieces_is_the_longest(top: Q | None, largest: tuple[float, float | None]):
    conditions = [Condition("hole", (X - 1) * (X - 2), ">=", sp.Integer(0)), Condition("other", Y, "<=", sp.Integer(1))]
    conditions += [Condition("top", X, "<=", sp.Rational(top.numerator, top.denominator))] if top else []
    pieces, note = projection((X, Y), conditions, X)
    found = longest(pieces)
    assert (found.lower, found.upper) == largest and note == () and len(pieces) == 2


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


# --- what an interval says of itself ----------------------------------------------------------------------------------


def test_the_exact_ends_are_kept_but_not_printed_nor_compared():
    x = sp.Symbol("x", positive=True)
    (root,) = intersect([Condition("c", x**2, "<=", sp.Integer(2))], x)
    low, high = root.enclosure["upper"]
    assert low**2 < 2 < high**2 and "enclosure" not in repr(root)
    (near,) = intersect([Condition("c", x, "<=", sp.Rational(low + (high - low) / 3))], x)
    assert near == root and near.enclosure != root.enclosure


def test_a_coefficient_that_vanishes_unseen_does_not_move_an_end():
    """sqrt(3 + 2 sqrt(2)) = 1 + sqrt(2): what is left is x^3 <= 2 x."""
    x = sp.Symbol("x", positive=True)
    (found,) = intersect([Condition("c", x**3 + 1 + sp.sqrt(2), "<=", 2 * x + sp.sqrt(3 + 2 * sp.sqrt(2)))], x)
    low, high = found.enclosure["upper"]
    assert low**2 < 2 < high**2 and high - low < 1e-15
    assert found.lower == 0 and not found.lower_closed


def test_a_picture_spans_three_decades_around_the_ends():
    def of(low: float, high: float | None) -> tuple[float, float]:
        interval = Interval(low, high, False, False, {})
        window, other = window_around({"x": interval}, ("x", "y"))
        assert other == (1e-4, 1e4), "nothing is known of y"
        return window

    for low, high in ((2.0, None), (0.0, 2000.0), (0.0, None), (2.0, 5.0)):
        left, right = of(low, high)
        assert 0 < left < (low or right) and right > (high or low)
        if not low or high is None:
            assert right / left == pytest.approx(3 * 1.5 * 1000)
    assert of(2.0, 5.0) == pytest.approx((2 / 1.5, 15))
    assert of(0.0, None)[0] < 1 < of(0.0, None)[1], "of a set without ends the part around 1"


# --- pictures -------------------------------------------------------------------------------------------------------------------

CONDITIONS = {"a": "eta*L*beta <= 1", "b": "1/10 <= eta*L", "far": "eta*L <= 10**6", "line": "T == 12"}
WINDOW = ((0.01, 100.0), (0.001, 10.0))


def statement():
    return small("F_gap/(eta*T)", id="picture.case", conditions=CONDITIONS).statement("printed")


def test_a_region_is_drawn_with_its_borders(monkeypatch):
    interior = {"eta": "1/2", "beta": "1/4"}
    plot = region_plot(statement(), ("eta", "beta"), {"L": 1, "T": 12}, {}, interior, WINDOW)
    assert plot.data["a point inside: eta"] == [0.5] and plot.data["a point inside: beta"] == [0.25]
    drawn = {name.partition(":")[0] for name in plot.data}
    assert drawn == {"a", "b", "a point inside", "method_range_beta"}, "what is outside the window has no border in it"
    for name, value in (("a", lambda e, b: e * b), ("b", lambda e, b: 10 * e), ("method_range_beta", lambda e, b: b)):
        points = list(zip(plot.data[f"{name}: eta"], plot.data[f"{name}: beta"], strict=True))
        assert len(points) > 200 and all(value(e, b) == pytest.approx(1, rel=2e-2) for e, b in points), name
    (axes,) = plot.figure.axes
    assert (axes.get_xlim(), axes.get_ylim()) == WINDOW and plot.title == "picture.case (printed): admissible set"
    assert "step size" in axes.get_xlabel() and "weight" in axes.get_ylabel()
    (filled,) = [c for c in axes.collections if len(c.get_facecolor())]
    inside = [
        any(path.contains_point(at) for path in filled.get_paths())
        for at in ((0.5, 0.25), (0.05, 0.25), (5, 0.5), (5, 0.1))
    ]
    assert inside == [True, False, False, True] and not any(p.contains_point((0.5, 2)) for p in filled.get_paths())
    (marked,) = [line for line in axes.lines if line.get_marker() == "o"]
    assert (list(marked.get_xdata()), list(marked.get_ydata())) == ([0.5], [0.25])
    legend = [text.get_text() for each in plot.figure.legends for text in each.get_texts()]
    assert set(legend) == {"a", "b", "method_range_beta", "a point inside"}
    assert {text.get_text() for text in axes.texts} == {"a", "b", "method_range_beta"}
    bare = region_plot(statement(), ("eta", "beta"), {"L": 1, "T": 12}, {}, {"eta": "1/2"}, WINDOW)
    assert not any(name.startswith("a point") for name in bare.data)
    monkeypatch.setattr(pictures, "POINTS", 40)
    for top, borders in (
        (1.5, {"a", "b", "method_range_beta"}),
        (0.9, {"a", "b"}),
    ):  # beta <= 1 just inside, just outside
        near = region_plot(statement(), ("eta", "beta"), {"L": 1, "T": 12}, {}, {}, ((0.01, 100.0), (0.001, top)))
        assert {name.partition(":")[0] for name in near.data} == borders
    none = region_plot(statement(), ("eta", "beta"), {"L": 1, "T": 12}, {}, {}, ((0.01, 100.0), (1.2, 10.0)))
    assert {name.partition(":")[0] for name in none.data} == {"a", "b"}, "beta <= 1 holds nowhere"
    chosen = region_plot(
        statement(), ("eta", "beta"), {"L": 1, "T": 12}, {"eta": Interval(2.0, 8.0, True, True, {})}, {}
    )
    assert chosen.figure.axes[0].get_xlim() == pytest.approx((2 / 1.5, 24)) and chosen.figure.axes[0].get_ylim() == (
        1e-4,
        1e4,
    )


@pytest.mark.parametrize(
    ("x", "along", "wanted"),
    [
        (1.0, (1, 10), 10**0.5),  # the middle of the part along the set
        (1.0, (0.01, 100), 1.0),
        (1.0, (5, 100), (5 * 10**1.4) ** 0.5),  # of what is within the frame
        (1.0, (60, 100), 10 ** (-2 + 4 * 0.85)),  # as near to it as the name is within the frame
        (1.0, (0.01, 0.012), 10 ** (-2 + 4 * 0.15)),
        (1.0, None, 1.0),  # the set is elsewhere
        (0.02, (2, 20), 40**0.5),  # the border runs along the frame
        (50.0, (2, 20), 40**0.5),
        (0.0105, (2, 20), 40**0.5),  # on the frame: nowhere is better
    ],
)
def test_the_name_of_a_border_stands_beside_the_set(x, along, wanted):
    """A vertical border in a frame from 1/100 to 100 on both axes, and the same lying down."""
    ys = np.geomspace(0.01, 100, 401)
    grid = np.geomspace(0.01, 100, 400)
    near = np.abs(np.log(grid / x)) < 0.03
    inside = np.zeros((400, 400), dtype=bool)
    if along:
        inside[np.ix_((grid >= along[0]) & (grid <= along[1]), near)] = True
    upright = SimpleNamespace(allsegs=[[np.column_stack([np.full(401, x), ys]), np.empty((0, 2))]])
    lying = SimpleNamespace(allsegs=[[np.column_stack([ys, np.full(401, x)])]])
    found = label_place(upright, inside, (0.01, 100), (0.01, 100))
    assert found == pytest.approx((x, wanted), rel=0.05)
    assert label_place(lying, inside.T, (0.01, 100), (0.01, 100)) == pytest.approx((wanted, x), rel=0.05)


def test_intervals_are_bars_with_their_ends():
    rows = [("eta", Interval(0.0, 0.5, False, True, {"lower": None, "upper": "a"}))]
    rows += [("beta", Interval(2.0, 4000.0, False, True, {"lower": "b", "upper": None}))]
    rows += [("T", Interval(3.0, None, True, False, {"lower": "c", "upper": None}))]
    plot = intervals_plot(statement(), rows)
    (axes,) = plot.figure.axes
    assert axes.get_xlim() == pytest.approx((0.5 / 1000, 40000)) and axes.get_ylim() == pytest.approx((2.6, -0.7))
    assert plot.figure.get_figheight() == pytest.approx(1.2 + 3 * 0.55)
    bars = [line for line in axes.lines if line.get_marker() == "None"]
    assert len({bar.get_color() for bar in bars}) == 3
    assert [(list(bar.get_xdata()), list(bar.get_ydata())) for bar in bars] == [
        ([0.5 / 1000, 0.5], [0, 0]),
        ([2, 4000], [1, 1]),
        ([3, 40000], [2, 2]),
    ]
    marks = {(line.get_xdata()[0], line.get_ydata()[0]): line for line in axes.lines if line.get_marker() == "o"}
    closed = {at: line.get_markerfacecolor() != "white" for at, line in marks.items()}
    assert closed == {(0.5, 0): True, (2.0, 1): False, (4000.0, 1): True, (3.0, 2): True}
    assert {text.xy: text.get_text() for text in axes.texts} == {
        (0.5, 0): "0.5\na",
        (2.0, 1): "2\nb",
        (4000.0, 1): "4000\n",
        (3.0, 2): "3\nc",
    }
    assert list(axes.get_yticks()) == [0, 1, 2]
    assert [label.get_text() for label in axes.get_yticklabels()] == [r"$\eta$", r"$\beta$", "$T$"]
    assert not any(line.get_visible() for line in axes.yaxis.get_gridlines())
    assert plot.data == {"lower": [0.0, 2.0, 3.0], "upper": [0.5, 4000.0, None]}
    nothing = intervals_plot(statement(), [("eta", Interval(0.0, None, False, False, {"lower": None, "upper": None}))])
    assert nothing.figure.axes[0].get_xlim() == pytest.approx((1e-3, 10)) and not nothing.figure.axes[0].texts


def test_a_window_is_named_after_each_axis():
    one, other = Interval(2.0, 5.0, False, False, {}), Interval(10.0, 20.0, False, False, {})
    assert window_around({"x": one, "y": other}, ("x", "y")) == ((2 / 1.5, 15), (10 / 1.5, 60))
    assert window_around({"y": other}, ("x", "y")) == ((1e-4, 1e4), (10 / 1.5, 60))


# --- answers --------------------------------------------------------------------------------------------------------------------

TOGETHER = """picture.case (printed):
  eta in `[0.1, 1000000]` (binding: b / far)
  beta in `(0, 1]` (binding: - / method_range_beta)
  where a: beta*eta <= 1
  where b: 1/10 <= eta
  where far: eta <= 1000000
  where method_range_beta: beta <= 1
  for instance {inside}
  method_range_beta: beta <= 1 (the weight of what is new in a moving average)"""
RANGE_OF_BETA = "method_range_beta: beta <= 1 (the weight of what is new in a moving average)"


def cells(table):
    return [tuple(getattr(cell, "text", cell) for cell in row) for row in table.rows]


def test_the_answer_for_two_hyperparameters(monkeypatch):
    found = statement().theorem.admissible(("eta", "beta"), "printed", L=1, T=12)
    eta, beta = (found.interior[name] for name in ("eta", "beta"))
    assert str(found) == TOGETHER.format(inside=f"eta = {eta}, beta = {beta}")
    page = found.sheet()
    tables = {table.name: cells(table) for table in page.tables}
    assert [*tables] == ["admissible values", "together they satisfy", "a point inside", "constants"]
    assert tables["together they satisfy"] == [
        ("a", "beta*eta <= 1"), ("b", "1/10 <= eta"), ("far", "eta <= 1000000"), ("method_range_beta", "beta <= 1")
    ]  # fmt: skip
    assert tables["a point inside"] == [("eta", eta), ("beta", beta)] and page.notes == (RANGE_OF_BETA,)
    assert page.claim.text == "eta in [0.1, 1000000], beta in (0, 1]"
    assert page.claim.latex == r"\eta \in \left[0.1, 1000000\right],\quad \beta \in \left(0, 1\right]"
    data = found.to_dict()
    assert data["conditions"] == [f"{name}: {words}" for name, words in tables["together they satisfy"]]
    assert data["interior"] == found.interior and "note" not in data and data["remarks"] == [RANGE_OF_BETA]
    drawn = []
    monkeypatch.setattr(pictures, "region_plot", lambda about, names, given, *rest: drawn.append((names, given)))
    monkeypatch.setattr(pictures, "intervals_plot", lambda about, rows: drawn.append([name for name, _ in rows]))
    monkeypatch.setattr(pictures, "save_picture", lambda plot, out: drawn.append(out))
    found.plot()
    replace(found, feasible=False).plot()
    replace(found, solved=("eta",)).plot()
    replace(found, solved=("eta", "beta", "T")).plot()
    assert drawn == [(("eta", "beta"), {"L": 1, "T": 12}), *[["eta", "beta"]] * 3]
    again = region_picture(statement(), ("eta", "beta"), {"L": 1, "T": 12}, "out.svg")
    assert drawn[-1] == "out.svg" and again == found
    with is_refused("wanted two hyperparameters, got 1"):
        region_picture(statement(), ("eta",), {"L": 1, "T": 12}, "out.svg")


def test_long_formulas_are_shown_with_few_digits():
    """On the page and in the answer; short ones with all of theirs."""
    long = Fraction(10**60 + 1, 10**55 + 7)
    found = statement().theorem.admissible(("eta", "beta"), "printed", L=long, T=12)
    shown = dict(cells(found.sheet().tables[1]))
    assert shown["a"] == "100000.0*beta*eta <= 1"
    assert "a: 100000.0*beta*eta <= 1" in found.to_dict()["conditions"]
    short = statement().theorem.admissible(("eta", "beta"), "printed", L=Fraction(10**30 + 1, 10**30), T=12)
    assert str(10**30 + 1) in dict(cells(short.sheet().tables[1]))["a"] and str(10**30 + 1) in str(
        short.to_dict()["conditions"]
    )


DIFFERENCES = [
    # condition, values of eta, b and q that satisfy it
    ("(eta*L - 1)*(eta*L - 2) <= 1/b", {"eta": "1", "b": 3}),
    ("(eta*L - b)**2 <= 1", {"eta": "1", "b": 1}),
    ("(b - 2)*(b - 4)*eta*L + 1 <= eta*L*2", {"eta": "1", "b": 3}),
    ("(eta*L - 2)**4 <= b/10", {"eta": "2", "b": 1}),
    ("(1 - 1/b)*eta*L <= 1/4", {"eta": "5", "b": 1}),
    ("(eta*L - 2)**3*(eta*L - 1) <= 1/b", {"eta": "3/2", "b": 5}),
    ("(b - 1)*eta*L <= 1/4", {"eta": "5", "b": 1}),
]


@pytest.mark.parametrize(("condition", "point"), DIFFERENCES)
def test_what_satisfies_a_condition_with_differences_is_never_ruled_out(condition, point):
    """An answer may be that the set cannot be described, or that an end is not proved; else every admissible point lies inside."""
    symbols = {"L": "local_smoothness", "F": "objective_gap", "T": "iterations", "eta": "step_size", "b": "batch_size"}
    own = fedco.define(id="m.t", symbols=symbols, terms={"a": "F/(eta*T) + F*L*b/T"}, conditions={"s": condition})
    assert own.bound(L=1, F=1, T=20, **point).admissible
    try:
        found = own.admissible(solve=["eta", "b"], L=1, F=1, T=20)
    except fedco.InputError as refused:
        assert "not proved" in str(refused) or "was not found" in str(refused)
        return
    assert found.feasible
    for name, value in point.items():
        pieces = found.pieces.get(name) or (found.intervals[name],)
        inside = any(piece.contains(float(Fraction(value))) for piece in pieces)
        assert inside or f"end of {name} is not proved" in found.note, (name, found)
