"""The small changes that are planted are the ones that their words say; the shortcut of a survey, and the search for certificates."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from random import Random

import pytest
from fedco.bounds import get_theorem
from fedco.bounds.language.change import with_statement
from fedco.bounds.language.reading import InputError
from fedco.bounds.proof.derivations import derivation
from fedco.bounds.proof.kernel import (
    LOCAL,
    Assume,
    Combine,
    Step,
    Var,
    check,
    parameter,
    scalar,
    signomial,
    sq,
)
from fedco.bounds.proof.kernel.region import Region
from fedco.bounds.proof.mutation import (
    Resumed,
    Survey,
    constant_mutants,
    mutants,
    statement_mutants,
    survey,
    what_is_established,
)
from fedco.bounds.proof.search import certificate_for, negative_at, points_near

A, B, N = parameter("a"), parameter("b"), parameter("n", count=True)
NAME = "fcsg.theorem_4_1"


def listed(value):
    return [(m.where, m.value) for m in mutants(value)]


def test_changes_of_numbers():
    number = 3 * A**2 * B - 5
    everything = [v for _, v in listed(number)]
    one, other = 3 * A**2 * B, signomial(5)
    assert set(everything) == {
        *(factor * one - other for factor in (2, Q(1, 2), -1)),
        *(one - factor * other for factor in (2, Q(1, 2), -1)),
        one * A - other,
        one * B - other,
    }
    assert len(everything) == 8 and [w for w, _ in listed(one)][-2:] == [": exponent of a", ": exponent of b"]
    assert signomial(1) in [v for _, v in listed(1 / A)]
    smaller = (A**2).least(B)
    changed = [v for _, v in listed(smaller)]
    assert (2 * A**2).least(B) in changed and (A**2).least(B / 2) in changed and (A**3).least(B) in changed
    assert not [v for v in changed if v == smaller]


def test_changes_of_everything_else():
    assert listed(True) == [("", False)] and listed(7) == [("", 8), ("", 6)]
    assert listed((1, False)) == [("[0]", (2, False)), ("[0]", (0, False)), ("[1]", (1, True))]
    assert listed({"x": 1}) == [("[x]", {"x": 2}), ("[x]", {"x": 0})]
    assert listed("text") == [] and listed(None) == [] and listed(LOCAL) == []
    step = Step("s", Combine(scalar(0), 2 * sq(Var("x"))), "why")
    found = dict(listed(step))
    assert Step("s", Combine(scalar(0), 4 * sq(Var("x"))), "why") in found.values()
    assert Step("s", Combine(scalar(0), 2 * sq(Var("x")), equal=True), "why") in found.values()
    assert all(each.name == "s" and each.why == "why" for each in found.values())
    assert listed(Assume("a", (Var("x", 3),))) == [], "a shift that only renames the step is left alone"


def test_changes_of_a_statement():
    """Of each term and condition, once: doubled, halved, negated, with one symbol more or less; a condition is also left out."""
    statement = get_theorem(NAME).statement("corrected")
    found = {m.where: m.value for m in statement_mutants(statement)}
    symbols = {term.name: len(term.expr.free_symbols) for term in statement.terms}
    sizes = {c.name: len(c.right.free_symbols) for c in statement.conditions}
    assert len(found) == sum(3 + 2 * n for n in symbols.values()) + sum(4 + 2 * n for n in sizes.values())
    for changed in found.values():
        parts = [set(getattr(changed, name)) ^ set(getattr(statement, name)) for name in ("terms", "conditions")]
        assert len({each.name for part in parts for each in part}) == 1 and sum(map(len, parts)) <= 2
    first, *_ = statement.terms
    assert found[f"term {first.name}: halved"].term(first.name).expr == first.expr / 2
    steps = next(symbol for symbol in first.expr.free_symbols if str(symbol) == "T")
    assert found[f"term {first.name}: divided by T"].term(first.name).expr == first.expr / steps


def test_changes_of_a_constant():
    """Also of what stands inside its formula: every exponent, and every term and factor that may be left out."""
    statement = get_theorem("meta_fl.lemma_5").statement()
    found = [m.value for m in constant_mutants(statement)]
    assert len(found) > 10
    for changed in found:
        both = zip(changed.derived, statement.derived, strict=True)
        assert sum(one.expr != other.expr for one, other in both) == 1


# --- surveys ----------------------------------------------------------------------------------------------------------


def test_a_change_is_checked_from_where_it_was_made_as_it_is_from_the_start():
    theorem = get_theorem(NAME)
    plan = derivation(theorem)
    known, rng = Resumed(plan, theorem, "corrected"), Random(1)
    assert known.accepted == check(plan, theorem)
    steps = rng.sample([m.value for m in mutants(plan) if m.where.startswith(".steps")], 4)
    declared = rng.sample([m.value for m in mutants(plan) if m.where.startswith(".axioms")], 1)
    for changed in (*steps, *declared, replace(plan, steps=plan.steps[:-1]), plan):
        assert known.verdict(changed, theorem) == check(changed, theorem)
    for mutant in rng.sample([*statement_mutants(theorem.statement("corrected"))], 3):
        about = with_statement(theorem, mutant.value)
        assert known.verdict(plan, about) == check(plan, about)


def test_a_step_that_says_the_same_needs_no_other_check():
    """What later steps see of the step that was just checked decides."""
    theorem = get_theorem(NAME)
    plan = derivation(theorem)
    known = Resumed(plan, theorem, "corrected")
    for at, step in enumerate(plan.steps):
        progress = known.before[at + 1]
        fact, name, *_, used, dropped, exact = what_is_established(progress)
        assert (fact, name) == (progress.state.facts[step.name], step.name)
        assert (used, dropped, exact) == (progress.state.used, progress.state.dropped, progress.state.exact)
    for at in Random(2).sample(range(len(plan.steps)), 2):
        copied = replace(plan, steps=(*plan.steps[:at], replace(plan.steps[at]), *plan.steps[at + 1 :]))
        assert known.verdict(copied, theorem) is known.accepted


def test_what_a_survey_says():
    found = Survey("t", 10, {"refused": 3, "same": 0, "survived": 1}, ("here",))
    assert (found.tried, found.share) == (4, Q(3, 4))
    assert str(found) == "t: 4 of 10 changes tried: 3 refused, 0 same, 1 survived; noticed 75.00%\n  survived: here"
    assert Survey("t", 0, {}, ()).share == 1
    with pytest.raises(InputError, match="no derivation of the corrected statement"):
        survey(get_theorem("fcsg.lemma_b_1"))


# --- the search for certificates --------------------------------------------------------------------------------------


def test_points_near_one_inside():
    """That point first; every other one with one or two coordinates three times as large or small, where all conditions hold."""
    a, b, n, c = (next(iter(x.params)) for x in (A, B, N, parameter("c")))
    region = Region({"small": 4 - A}, {c: A * B}, {})
    found = points_near({a: Q(2), b: Q(5), n: Q(3)}, region)
    assert found[0] == {a: 2, b: 5, n: 3, c: 10}
    assert all(point[a] <= 4 and point[c] == point[a] * point[b] and point[n].denominator == 1 for point in found)
    moved = [{p.name: point[p] / found[0][p] for p in (a, b, n) if point[p] != found[0][p]} for point in found]
    single = [change for change in moved if len(change) == 1]
    assert sorted(map(str, single)) == sorted(map(str, ({"a": Q(1, 3)}, {"b": Q(3)}, {"b": Q(1, 3)}, {"n": Q(3)}))), (
        "a whole number is only enlarged, and a is at most 4"
    )
    assert {len(change) for change in moved} == {0, 1, 2}


def test_a_point_at_which_a_number_is_negative():
    (a,), (b,) = A.params, B.params
    points = ({a: Q(1), b: Q(1)}, {a: Q(4), b: Q(1)})
    assert negative_at(3 - A, points) == points[1] and negative_at(5 - A, points) is None
    assert negative_at(A - 1, points) is None and negative_at(A - B - 1, points) == points[0]
    assert negative_at(1 - A ** Q(1, 2) - B, points) is None, "roots may not be rational"
    assert negative_at(1 - N, points) is None, "no value"


def test_certificates_that_are_found_show_it():
    region = Region({"small": 1 - A, "order": B - A})
    for number in (1 - A**2, B - A**3 / 1, 2 * B - A * B - A, (1 - A) * (B - A) + B, (N - 1) * (2 * N - 3) + 0 * A):
        found = certificate_for(number, region)
        assert found is not None and region.certified(number, found), number
    for number in (A - 1, A - B, 2 - A - B, N - 2):
        assert certificate_for(number, region) is None, number
