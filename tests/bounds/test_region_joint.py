"""Admissible sets of several variables: a point inside, projections against a scan, and conflicts."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import combinations
from math import inf, nextafter

import fedco
import pytest
import sympy as sp
from fedco.bounds.language.definition import define
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Statement
from fedco.bounds.region.conditions import reduced
from fedco.bounds.region.joint import holds_at
from inverse_cases import constants, seeds, solvable
from registry_cases import THEOREMS

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
    with pytest.raises(InputError, match="different hyperparameters"):
        theorem.admissible(("eta", "eta"), "printed", **FEDDRO)
    with pytest.raises(InputError, match="wanted a hyperparameter"):
        theorem.admissible(("eta", "L_f"), "printed", **FEDDRO)


# --- sets whose ends are known by hand -----------------------------------------------------------------------------------

SYMBOLS = {
    "F_gap": "objective_gap",
    "L": "local_smoothness",
    "eta": "step_size",
    "beta": "momentum",
    "p": "communication_period",
    "N": "clients",
    "T": "iterations",
}


def solved(*names: str, **conditions: str):
    """The admissible set of these hyperparameters under these conditions, with L = 1."""
    words = {"F_gap", "eta", "T", *(w for text in conditions.values() for w in re.findall(r"[A-Za-z_]+", text))}
    symbols = {name: quantity for name, quantity in SYMBOLS.items() if name in words}
    theorem = define(id="joint.case", symbols=symbols, terms={"all": "F_gap/(eta*T)"}, conditions=conditions)
    return theorem.admissible(names, "printed", **({"L": 1} if "L" in words else {}))


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
    with pytest.raises(InputError, match="it is not proved that there are none"):
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
    with pytest.raises(InputError, match="it is not proved that there are none"):
        own.admissible(solve=["eta", "b"], L=1, F=1, T=100, p=15)
