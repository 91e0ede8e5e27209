"""Admissible sets of several variables: a point inside, projections against a scan, and conflicts."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path

import fedco
import pytest
import sympy as sp
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Statement
from fedco.bounds.region.admissible import region_picture
from fedco.bounds.region.conditions import reduced
from fedco.bounds.region.intervals import failing
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
        assert any(word in str(error) for word in ("missing", "posynomial", "inside", "one at a time", "cannot solve"))
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


@pytest.mark.parametrize("case", PAIRS[:: max(1, len(PAIRS) // 40)], ids="-".join)
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


def test_a_projection_agrees_with_a_scan():
    """alpha is in the projection where some beta on a fine grid satisfies every condition."""
    theorem = fedco.theorem("fcsg_m.theorem_4_4")
    values = {"L_f": 1, "L_g": 1, "S_f": 1, "S_g": 1}
    upper = theorem.admissible(("alpha", "beta"), "corrected", **values).intervals["alpha"].upper
    for alpha in (upper * 0.999, upper * 1.001):
        possible = any(
            theorem.admissible("alpha", "corrected", **values, beta=str(beta / 1000)).intervals["alpha"].contains(alpha)
            for beta in (1, 10, 100, 500, 999, 1000)
        )
        assert possible == (alpha < upper)


def test_conflicting_conditions_are_named():
    """A horizon and a round length that exclude each other."""
    region = fedco.theorem("comfedl.theorem_1").admissible(("b", "T"), "printed", b_1=3, tau=5)
    assert (
        region.feasible
        and region.intervals["T"].lower == 5
        and region.intervals["b"].lower == region.intervals["b"].upper
    )
    clash = fedco.theorem("meta_fl.theorem_8").admissible(
        ("beta", "r"),
        "printed",
        B=1,
        L=1,
        rho=1,
        alpha="1/10",
        nu=2,
        tau=2,
        n=1,
        D=1,
        D_H=1,
        K=10,
        c=1,
        sigma_G=1,
        sigma_H=1,
        kappa_G=1,
        kappa_H=1,
        gamma_G=1,
        gamma_H=1,
        F_gap=1,
    )
    assert clash.feasible and clash.intervals["r"].lower == clash.intervals["r"].upper


def test_names_are_checked():
    theorem = fedco.theorem("feddro.theorem_5_1")
    with pytest.raises(InputError, match="different hyperparameters"):
        theorem.admissible(("eta", "eta"), "printed", **FEDDRO)
    with pytest.raises(InputError, match="wanted a hyperparameter"):
        theorem.admissible(("eta", "L_f"), "printed", **FEDDRO)


def test_a_picture_is_drawn(tmp_path: Path):
    theorem = fedco.theorem("feddro.theorem_5_1")
    out = tmp_path / "region.png"
    region = region_picture(theorem.statement("corrected"), ("eta", "beta"), {**FEDDRO, "I": 4, "sigma_g": 1}, out)
    assert region.feasible and out.stat().st_size > 5000
    with pytest.raises(InputError, match="known ending"):
        region_picture(
            theorem.statement("corrected"), ("eta", "beta"), {**FEDDRO, "I": 4, "sigma_g": 1}, tmp_path / "x.unknown"
        )


def test_failing_is_exact_at_an_irrational_border():
    conditions = reduced(
        fedco.theorem("feddro.theorem_5_1").statement("composed"),
        ("eta",),
        {**FEDDRO, "I": 1},
    )
    from fractions import Fraction

    symbol = fedco.theorem("feddro.theorem_5_1").notation["eta"].symbol
    below, above = Fraction("0.0481125224324688"), Fraction("0.0481125224324689")
    assert not failing(conditions, symbol, below) and failing(conditions, symbol, above) == ["step_size_period"]
