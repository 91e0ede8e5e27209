"""Admissible sets of one variable: both sides of every end, a scan of the whole line, and mutants."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from functools import cache
from random import Random

import fedco
import pytest
import sympy as sp
from fedco.bounds.language.definition import define
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Condition
from fedco.bounds.region.conditions import reduced
from fedco.bounds.region.intervals import failing, intersect, of_one
from inverse_cases import constants, seeds, solvable
from quick import slow_but_these
from registry_cases import THEOREMS

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


@pytest.mark.parametrize("case", slow_but_these(QUICK, CASES))
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
        with pytest.raises(InputError, match=message):
            theorem.admissible(solve, "printed")


def test_a_mutant_condition_moves_the_end():
    """The checks above are not blind: a threshold that is a factor too large fails them."""
    x = sp.Symbol("x", positive=True)
    right, wrong = (Condition("c", x, "<=", sp.Rational(n, 3)) for n in (1, 2))
    (piece,) = intersect([wrong], x)
    with pytest.raises(AssertionError):
        check_ends(piece, [right], x, {"c"})


# --- sets whose pieces are known by hand -----------------------------------------------------------------------------------

SYMBOLS = {"F_gap": "objective_gap", "eta": "step_size", "T": "iterations", "L": "local_smoothness"}
COUNTS = {"p": "communication_period", "N": "clients"}


def solved(name: str, **conditions: str):
    """The admissible values of one hyperparameter under these conditions, with L = 1."""
    symbols = SYMBOLS | {n: q for n, q in COUNTS.items() if any(n in text for text in conditions.values())}
    if not any("L" in text for text in conditions.values()):
        del symbols["L"]
    theorem = define(id="region.case", symbols=symbols, terms={"all": "F_gap/(eta*T)"}, conditions=conditions)
    return theorem.admissible(name, "printed", **({"L": 1} if "L" in symbols else {}))


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


def test_an_equality_between_counts_is_a_point_or_a_conflict():
    found = solved("p", a="p == 5").intervals["p"]
    assert (found.lower, found.upper, found.lower_closed, found.upper_closed) == (5, 5, True, True)
    for conditions in ({"a": "p == 5", "b": "p <= 4"}, {"b": "p <= 4", "a": "p == 5", "c": "p >= 2"}):
        region = solved("p", **conditions)
        assert not region.feasible and set(region.conflict) == {"a", "b"} and region.intervals == {}
    half = solved("p", a="2*p == 5")
    assert not half.feasible and half.conflict == ("a",)


# --- what stands for a symbol that is neither given nor solved for ----------------------------------------------------------------


def left_open(schedule, *conditions, **given):
    """What limits T where the schedule gives p, which stands in the conditions; with L = 2, N = 3 and eta = 1/10."""
    symbols = SYMBOLS | {"p": "communication_period", "N": "clients"}
    declared = {"first": "F_gap/(eta*T)", "second": "L**2*eta*p*F_gap/N"}
    made = define(id="region.case", symbols=symbols, terms=declared).statement("printed")
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
        with pytest.raises(InputError, match=r"^T: limited by conditions on p too, without a value"):
            left_open(schedule, limit)
    assert left_open({"p": "floor(T/N)"}, limit, ("p*T", "==", "36")) == ["36/(5*T) <= 1", "36/T >= 1"]
    with pytest.raises(InputError, match=r"missing: L, p\b"):
        left_open({"p": "floor(T/N)"}, limit, L=None)


@pytest.mark.parametrize(("condition", "is_said"), [("floor(eta*L) <= 1", True), ("log(1 + eta*L) <= 1", False)])
def test_points_at_jumps_are_said_to_be_left_out(condition, is_said):
    """eta = 1/L is admissible and in neither of the two pieces."""
    symbols = {"L": "local_smoothness", "F_gap": "objective_gap", "eta": "step_size", "T": "iterations"}
    terms = {"initialisation": "F_gap/(eta*T)", "drift": "eta*L**2*F_gap"}
    made = fedco.define(id="r.theorem_6", symbols=symbols, terms=terms, conditions={"c": condition})
    found = of_one(made.statement("printed"), "eta", {"L": 1, "F_gap": 1, "T": 1})
    assert ("where floor or ceil jumps" in found.note) == is_said and len(found.pieces.get("eta", [1])) == 1 + is_said
