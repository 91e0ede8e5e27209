"""The generated JavaScript against exact Python: values, conditions, schedules, intervals, elasticities, tuned bounds.

Points are log-uniform, inside and outside the conditions; the browser evaluates all of a statement's points in one call.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sympy as sp
from fedco.bounds.evaluation.enclosure import Enclosure, EnclosureError, enclose, enclose_bound
from fedco.bounds.evaluation.evaluate import bound, complete
from fedco.bounds.language.quantities import COUNT, NONNEGATIVE, STEPS
from fedco.bounds.language.reading import InputError
from fedco.bounds.language.theorem import Statement, Theorem
from fedco.bounds.registry import all_papers, get_theorem
from fedco.validation.explorer.page import write_explorer
from quick import slowly

RELATIVE = 1e-9
FEW, MANY = 15, 1000
BITS = 256
LARGEST = Fraction(1.7e308)
"""Beyond it a double is infinite, and so is what the page says."""
ROUNDING = 1e-12
"""Sides this close, relatively, are too close for double precision to tell which is larger."""


def drawn(statement: Statement, count: int, seed: int) -> list[dict[str, str]]:
    """Texts of values for every symbol without a schedule; a scheduled one is set in every third point."""
    rng = random.Random(seed)
    points = []
    for index in range(count):
        point = {}
        for name, binding in statement.symbols.items():
            if name not in statement.schedule or index % 3 == 0:
                point[name] = value(rng, binding.quantity.domain)
        points.append(point)
    return points


def value(rng: random.Random, domain: str) -> str:
    if domain == STEPS:
        return str(rng.randint(0, 6))
    if domain == COUNT:
        return str(round(10 ** rng.uniform(0, 6)))
    if domain == NONNEGATIVE and rng.random() < 0.1:
        return "0"
    return f"{10 ** rng.uniform(-3, 3):.3g}" if rng.random() < 0.9 else f"{rng.randint(1, 30)}/{rng.randint(1, 30)}"


def formulas_of(statement: Statement) -> list[sp.Expr]:
    """Terms, both sides of every condition, derived constants."""
    sides = [side for c in statement.requirements for side in (c.left, c.right)]
    return [*(t.expr for t in statement.terms), *sides, *(d.expr for d in statement.derived)]


def rounding(statement: Statement, formula: sp.Expr, point: Mapping[str, str]) -> float:
    """How far doubles may take a formula from its value, to first order; 0 where that is not derived.

    A number that is read, a sum of two and a product are rounded by a factor 1 + d with |d| <= 2^-53, and a power by twice that at most.
    In products such factors multiply, and a power has those of its base as often as its exponent says. In a sum each summand keeps its
    own, so that the error is small beside the sum of absolute values, but not beside a difference of almost equal numbers.
    """
    schedule = {
        statement.symbols[n].symbol: statement.expand(e) for n, e in statement.schedule.items() if n not in point
    }
    found = _factors(statement.expand(formula).xreplace(schedule))
    if found is None:
        return 0.0
    size, factors = found
    ball = enclose(size, complete(statement, point), bits=BITS)
    return 1.001 * factors * 2.0**-53 * as_double(ball.upper)


def _factors(formula: sp.Expr) -> tuple[sp.Expr, float] | None:
    """The formula with the absolute values of all summands, and how many factors change one of them; None where another rule is needed."""
    if formula.is_Symbol or formula.is_Number:
        return abs(formula), 1.0
    if formula.is_Pow:
        base, exponent = formula.args
        is_double = exponent.is_Rational and exponent.q in (1, 2, 4, 8)
        inside = _factors(base) if is_double and (exponent >= 1 or not base.has(sp.Add)) else None
        return inside and (inside[0] ** exponent, inside[1] * float(abs(exponent)) + 2)
    parts = [_factors(part) for part in formula.args] if formula.is_Add or formula.is_Mul else [None]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    counts = [count for _, count in known]
    changed = max(counts) if formula.is_Add else sum(counts)
    return formula.func(*(size for size, _ in known)), changed + len(known) - 1


def enclosed(statement: Statement, point: Mapping[str, str]) -> list[Fraction | Jump | None]:
    """Terms, both sides of every condition, derived constants, each as the middle of a tiny ball; None where undefined."""
    known = complete(statement, point)

    def middle(expr: sp.Expr) -> Fraction | Jump | None:
        whole = statement.expand(expr)
        try:
            ball = enclose(whole, known, bits=BITS)
            return Jump() if whole.has(sp.floor, sp.ceiling) and ball.width >= 1 else narrow(ball)
        except (EnclosureError, ZeroDivisionError):
            return None

    sides = [middle(side) for c in statement.requirements for side in (c.left, c.right)]
    try:
        whole = {name: narrow(ball) for name, ball in enclose_bound(statement, point, bits=BITS).items()}
    except (EnclosureError, ZeroDivisionError):
        terms, derived = [middle(t.expr) for t in statement.terms], [middle(d.expr) for d in statement.derived]
    else:
        terms, derived = [whole[t.name] for t in statement.terms], [whole[d.name] for d in statement.derived]
    return [*terms, *sides, *derived]


class Jump:
    """A step function where it jumps, as floor at r n + 1/2 = 17: rounded arithmetic may take either side."""


def narrow(ball: Enclosure) -> Fraction:
    assert ball.width <= abs(ball.upper) * Fraction(1, 10**20) or ball.width < Fraction(1, 10**60)
    return (ball.lower + ball.upper) / 2


def as_double(exact: Fraction) -> float:
    infinite = math.inf if exact > 0 else -math.inf
    return infinite if abs(exact) > LARGEST else float(exact)


def differs(got: float, wanted: Fraction | Jump | None) -> bool:
    if isinstance(wanted, Jump):
        return not math.isfinite(got)
    if wanted is None or abs(wanted) > LARGEST:
        return math.isfinite(got)
    return not math.isclose(got, float(wanted), rel_tol=RELATIVE, abs_tol=1e-300)


def is_rounded(statement: Statement, formula: sp.Expr, got: float, wanted: Any, point: Mapping[str, str]) -> bool:
    """Whether the rounding of a difference of almost equal numbers explains what was got."""
    return (
        isinstance(wanted, Fraction) and math.isfinite(got) and abs(got - wanted) <= rounding(statement, formula, point)
    )


def compare(page: Any, statement: Statement, key: int, count: int) -> int:
    """How many defined values agreed; fails on the first that does not."""
    return compare_at(page, statement, key, drawn(statement, count, seed=key))


def compare_at(page: Any, statement: Statement, key: int, points: list[dict[str, str]]) -> int:
    answers = page.evaluate("([key, points]) => fedco.evaluate(key, points)", [key, points])
    agreed, formulas, first = 0, formulas_of(statement), len(statement.terms)
    for point, answer in zip(points, answers, strict=True):
        wanted = enclosed(statement, point)
        got = [float(text) for text in answer["values"]]
        sides = list(map(float, answer["sides"]))
        assert len(got) == len(wanted)
        for at, ours in (*enumerate(got), *enumerate(sides, first)):
            is_right = not differs(ours, wanted[at]) or is_rounded(statement, formulas[at], ours, wanted[at], point)
            assert is_right, (statement.name, at, ours, wanted[at], point)
        agreed += sum(exact is not None for exact in wanted)
    return agreed


def statements_of(page: Any) -> Iterator[tuple[Statement, int]]:
    for row in page.evaluate("fedco.data.theorems.map(t => [t.reference, t.statements.map(s => [s.label, s.key])])"):
        for label, key in row[1]:
            yield get_theorem(row[0]).statement(label), key


def check_all(page: Any, count: int) -> int:
    checked = 0
    for statement, key in statements_of(page):
        agreed = compare(page, statement, key, count)
        wanted = len(statement.terms) + 2 * len(statement.requirements) + len(statement.derived)
        assert agreed > 0.5 * count * wanted, statement.name
        checked += 1
    return checked


def test_values_agree_with_exact_ones(headline: Any) -> None:
    headlines = [item for paper in all_papers() for item in paper.main_theorems]
    assert check_all(headline, FEW) == sum(len(item.labels) for item in headlines)


@pytest.mark.slow
def test_values_agree_for_every_statement_of_every_paper(open_page: Any, tmp_path: Path) -> None:
    out = tmp_path / "all.html"
    papers = all_papers()
    write_explorer(out, [paper.key for paper in papers])
    assert out.stat().st_size < 4_000_000
    wanted = sum(len(item.labels) for paper in papers for item in paper.theorems.values())
    assert check_all(open_page(out), MANY) == wanted


def test_a_difference_that_is_0_is_0_up_to_its_rounding(open_page: Any, tmp_path: Path) -> None:
    """The drift of FCSG-M's corollary has the factor (T/N^3)^(1/4) - 1, from two roots; where T = N^3, a double of it is not 0."""
    write_explorer(tmp_path / "one.html", ["fcsg_m"])
    page = open_page(tmp_path / "one.html")
    ((statement, key),) = ((s, k) for s, k in statements_of(page) if s.name == "fcsg_m.corollary_4_5 (composed)")
    points = drawn(statement, 20, seed=key)
    points = [{**point, "N": str(n), "T": str(n**3)} for n, point in enumerate(points, start=2)]
    assert compare_at(page, statement, key, points)
    drift = [float(answer["values"][1]) for answer in page.evaluate("([k, p]) => fedco.evaluate(k, p)", [key, points])]
    assert any(drift), "else this test would see nothing"
    for point, got in zip(points, drift, strict=True):
        assert not is_rounded(
            statement, statement.terms[1].expr, got + 1e-9 * size_of(statement, point), Fraction(0), point
        )


def size_of(statement: Statement, point: Mapping[str, str]) -> float:
    """The drift with 1 in the place of the difference."""
    s = {name: binding.symbol for name, binding in statement.symbols.items()}
    one = 8 * s["L_f"] ** 2 * s["L_g"] ** 2 * (13 * s["N"] + 1) / (15 * (s["N"] * s["T"]) ** sp.Rational(3, 4))
    return as_double(narrow(enclose(one, complete(statement, point), bits=BITS)))


def test_a_wrong_digit_is_noticed(open_page: Any, headline_page: Path) -> None:
    page = open_page(headline_page)
    statement, key = next(statements_of(page))
    page.evaluate(
        """key => { const formulas = fedco.formulas[key], right = formulas.all;
        formulas.all = (v, o) => { right(v, o); o[0] *= 1 + 1e-8; }; }""",
        key,
    )
    with pytest.raises(AssertionError):
        compare(page, statement, key, 3)


def test_enclosures_are_what_bound_answers(headline: Any) -> None:
    """The balls above against the public exact evaluation, and the verdict on each condition, on a point each."""
    for statement, key in statements_of(headline):
        for point in drawn(statement, 1, seed=1000 + key):
            try:
                found = bound(statement, point, strict=False)
            except InputError:
                continue
            wanted = enclosed(statement, point)
            n = len(statement.terms)
            for ours, theirs in zip(found.terms.values(), wanted[:n], strict=True):
                if math.isinf(ours):  # beyond the doubles, such as (1 - kappa eta)^T far outside the conditions
                    assert theirs is None
                else:
                    assert theirs is not None and math.isclose(ours, as_double(theirs), rel_tol=1e-14, abs_tol=5e-324)
            for at, check in enumerate((*found.conditions, *found.method_range)):
                left, right = wanted[n + 2 * at : n + 2 * at + 2]
                assert left is not None and right is not None
                if abs(left - right) > ROUNDING * max(abs(left), abs(right)):
                    assert check.holds == js_holds(headline, statement, key, at, point)


def js_holds(page: Any, statement: Statement, key: int, at: int, point: Mapping[str, str]) -> bool:
    asked = "([key, texts, at]) => fedco.conditions(key, texts)[at].holds"
    return bool(page.evaluate(asked, [key, dict(point), at]))


def starts(page: Any, step: int = 1) -> Iterator[tuple[Theorem, str, dict[str, str]]]:
    """Every statement of the page, of one theorem in so many, with the values from which it starts; the scheduled ones are left out."""
    for reference, values in page.evaluate("fedco.data.theorems.map(t => [t.reference, t.values])")[::step]:
        theorem = get_theorem(reference)
        for label in theorem.labels:
            statement = theorem.statement(label)
            yield (theorem, label, {n: values[n] for n in statement.symbols if n not in statement.schedule})


@pytest.mark.parametrize("step", [3, slowly(1)])
def test_intervals_are_those_of_admissible(headline: Any, step: int) -> None:
    """Of every hyperparameter, from the values that the headline starts with; the scheduled ones follow, or are solved for."""
    compared = 0
    for theorem, label, values in starts(headline, step):
        for name, binding in theorem.symbols(label).items():
            if binding.quantity.role != "hyperparameter":
                continue
            asked = "([id, label, texts, name]) => fedco.intervals(id, label, texts, name)"
            got = headline.evaluate(asked, [theorem.id, label, values, name])
            wanted = theorem.admissible(name, label, **{n: v for n, v in values.items() if n != name})
            pieces = wanted.pieces.get(name, tuple(wanted.intervals.values()))
            where = (theorem.id, label, name, got, pieces)
            assert len(got) == len(pieces), where
            for ours, theirs in zip(got, pieces, strict=True):
                high = math.inf if theirs.upper is None else theirs.upper
                assert math.isclose(ours["low"], theirs.lower, rel_tol=RELATIVE, abs_tol=1e-12), where
                assert math.isclose(math.inf if ours["high"] is None else ours["high"], high, rel_tol=RELATIVE), where
                assert (ours["lowClosed"], ours["highClosed"]) == (theirs.lower_closed, theirs.upper_closed), where
                for side, end in (("lower", "lowBinds"), ("upper", "highBinds")):
                    named = theirs.binding[side] or ""
                    assert set(ours[end].split(", ")) == {part.partition("[")[0] for part in named.split(", ")}, where
                compared += 1
    assert compared > 150 / step / 2


def test_the_search_comes_close_to_the_tuned_optimum(headline: Any) -> None:
    """Never below what `tune` proves to be least, and within a percent above it."""
    compared = 0
    for theorem, label, values in starts(headline):
        statement = theorem.statement(label)
        if label != theorem.default:
            continue
        symbols = headline.evaluate("id => fedco.data.theorems.find(t => t.id === id).symbols", theorem.id)
        tuned = {each["name"] for each in symbols if each["tuned"]} & set(statement.symbols)
        quantities = {
            each["quantity"]: float(Fraction(values[each["name"]])) for each in symbols if each["name"] in values
        }
        horizon = headline.evaluate("id => fedco.data.theorems.find(t => t.id === id).horizon", theorem.id)
        steps = 10**5
        rounds = "rounds" in quantities
        given = {name: value for name, value in values.items() if name not in tuned}
        given[horizon] = str(Fraction(steps) / (Fraction(quantities["communication_period"]) if rounds else 1))
        got = headline.evaluate("([id, q, t]) => fedco.best(id, q, t)", [theorem.id, quantities, steps])
        if Fraction(given[horizon]).denominator != 1 or not tuned:
            continue
        try:
            least = theorem.tune(label, budget={horizon: given.pop(horizon)}, **given).bound.total
        except InputError:
            continue
        assert least is not None and least * (1 - 1e-6) <= got["bound"] <= 1.01 * least, (theorem.id, label, got, least)
        compared += 1
    assert compared >= 8


@pytest.mark.parametrize("step", [3, slowly(1)])
def test_elasticities_are_those_of_python(headline: Any, step: int) -> None:
    for theorem, label, values in starts(headline, step):
        given = {name: value for name, value in values.items() if Fraction(value) > 0}
        wanted = theorem.elasticities(label, **{**values, **given}).values
        got = {
            row["name"]: row["value"]
            for row in headline.evaluate(
                "([id, label, texts]) => fedco.elasticities(id, label, texts)", [theorem.id, label, values]
            )
        }
        assert set(got) == set(wanted), (theorem.id, label)
        for name, value in wanted.items():
            assert math.isclose(got[name], value, rel_tol=1e-5, abs_tol=1e-6), (theorem.id, label, name)
