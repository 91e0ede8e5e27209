"""A violation is made as simple as it gets while it is still one: against a judge that says which drafts are violations."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from fedco.validation.falsifier import shrink
from fedco.validation.falsifier.confirm import NotConfirmed
from fedco.validation.falsifier.rounding import Draft, near
from fedco.validation.falsifier.shrink import cost, shrunk
from hypothesis import given
from hypothesis import strategies as st


def draft(**changes) -> Draft:
    parameters = {"knots": [[Q(-1), Q(1, 3)], [Q(0), Q(5)]], "start": Q(7, 9), "alpha": Q(1, 4)}
    free = {"K": Q(10), "alpha": Q(1, 4), "c": Q(22, 7)}
    return replace(Draft("meta", parameters, {"nu": 1}, free, Q(1, 2), Q(1, 1000), False), **changes)


def with_start(start: Q) -> Draft:
    """Nothing but one number is there to be simplified."""
    return draft(parameters={"start": start}, free={}, tiny=Q(0), play=Q(9, 10))


def target_of(length: str | None = None):
    def symbol(whole: bool):
        return SimpleNamespace(quantity=SimpleNamespace(numbers=SimpleNamespace(whole=whole)))

    symbols = {"K": symbol(True), "alpha": symbol(False), "c": symbol(False)}
    return SimpleNamespace(length=length, symbols=symbols, named={"hidden_constant": "c"}.get)


def judged(
    made: Draft, ratio, *, first: float = 2.0, steps: int = 1, length: str | None = None, tries: int | None = 10**6
):
    """What a violation of ratio `first` becomes where others have the ratio that this function gives; and every draft that was asked."""
    asked: list[Draft] = []

    def confirmed(target, formula, other):
        asked.append(other)
        found = ratio(other)
        if found is None:
            raise NotConfirmed("no violation")
        return SimpleNamespace(ratio=found)

    known = SimpleNamespace(ratio=first, claimed=SimpleNamespace(stated=lambda target: {"T": steps}))
    with patch.object(shrink, "confirmed", confirmed):
        found, check = shrunk(target_of(length), None, made, known, tries=tries)  # type: ignore[arg-type]
    return found, check.ratio, asked


def test_the_cost_of_a_draft_is_its_characters():
    """-1, 1/3, 0 for nothing, 5, 7/9, 1/4, 10, 1/4, 22/7, and 1/1000 for what is tiny."""
    assert cost(draft()) == 2 + 3 + 0 + 1 + 3 + 3 + 2 + 3 + 4 + 6


def test_where_everything_is_a_violation_nothing_is_left_but_what_has_to_be():
    """Zeros, one for a whole number, the value of the hidden constant, which is the user's, and the least that is tiny."""
    found, ratio, asked = judged(draft(), lambda other: 1.5)
    assert found.parameters == {"knots": [[0, 0], [0, 0]], "start": 0, "alpha": 0} and ratio == 1.5
    assert found.free == {"K": 1, "alpha": 0, "c": near(Q(22, 7), Q(1, 2))} and found.settings == {"nu": 1}
    assert (found.play, found.tiny) == (Q(9, 10), Q(1, 1000))
    assert asked[2].free == {"K": 10, "alpha": near(Q(1, 4), Q(1, 2)), "c": 2}, (
        "rounded all at once, but for whole numbers"
    )


@given(
    st.fractions(-20, 20, max_denominator=50),
    st.fractions(-20, 20, max_denominator=50),
    st.fractions(0, 1, max_denominator=40),
)
def test_what_is_found_is_a_violation_and_no_more_costly_than_what_was_given(start, knot, least):
    """Whatever counts as one; what the instance and a hyperparameter share stays shared, and each draft is as cheap as the last taken."""
    given_one = draft(parameters={"start": start, "knots": [[knot]], "alpha": Q(1, 4)})

    def ratio(other):
        return 1.2 if abs(other.parameters["start"] - start) <= least else None

    found, _, asked = judged(given_one, ratio)
    assert abs(found.parameters["start"] - start) <= least and cost(found) <= cost(given_one)
    for other in asked:
        assert other.free["alpha"] == other.parameters["alpha"] and cost(other) <= cost(given_one)
        assert other.free["K"].denominator == 1
    assert found.parameters["knots"] == [[0]] and found.free["K"] == 1


def test_the_coarsest_rounding_that_is_a_violation_is_taken_and_the_largest_that_is_tiny():
    exact = {"start": Q(31416, 10000), "alpha": Q(27183, 10000)}
    made = draft(parameters=exact, free={"alpha": exact["alpha"]}, tiny=Q(1, 10**9))

    def ratio(other):
        close = abs(other.parameters["start"] - exact["start"]) < Q(1, 20) and abs(
            other.parameters["alpha"] - exact["alpha"]
        ) < Q(1, 20)
        return 1.5 if close and other.tiny <= Q(1, 10**6) and other.play == Q(1, 2) else None

    found, _, asked = judged(made, ratio)
    assert [other.play for other in asked[:2]] == [Q(1, 2), Q(9, 10)]
    tolerances = [Q(1, n) for n in (2, 3, 5, 10, 30, 100)]
    tried = [{n: near(v, tolerance) for n, v in exact.items()} for tolerance in tolerances]
    allowed = next(numbers for numbers in tried if ratio(draft(parameters=numbers, tiny=Q(0))))
    assert [other.parameters for other in asked[2 : 3 + tried.index(allowed)]] == tried[: tried.index(allowed) + 1]
    assert found.tiny == Q(1, 10**6) and found.play == Q(1, 2) and cost(found) < cost(made)


@pytest.mark.parametrize(
    ("start", "sign", "size"),
    [(Q(-37, 100), -1, Q(1, 10)), (Q(12345, 2), 1, 10**4), (Q(30007, 10**9 + 9), 1, Q(1, 10**5))],
)
def test_a_number_is_replaced_by_simpler_ones_the_simplest_first(start, sign, size):
    """Small ones, then fractions nearer and nearer to it, then a power of ten: those that are shorter; where none will do it stays."""
    found, _, asked = judged(with_start(start), lambda other: None)
    small = [0, sign, Q(sign, 2), 2 * sign, 10 * sign, Q(sign, 10)]
    simple = [*small, *(near(start, Q(1, n)) for n in (2, 3, 5, 10, 30, 100)), sign * size]
    shorter = [number for number in simple if number == 0 or len(str(number)) < len(str(start))]
    tried = [other.parameters["start"] for other in asked]
    assert found == with_start(start) and tried[-len(shorter) :] == shorter and len(shorter) > 8


def test_whole_numbers_are_replaced_by_smaller_whole_ones():
    made = draft(parameters={}, free={"K": Q(5000)}, tiny=Q(0), play=Q(9, 10))
    _, _, asked = judged(made, lambda other: None)
    assert [other.free["K"] for other in asked if other.free["K"] != 5000] == [1, 2, 4, 16, 100]
    found, _, _ = judged(made, lambda other: 1.5 if other.free["K"] >= 3 else None)
    assert found.free["K"] == 4


def test_a_violation_by_less_than_a_twentieth_is_not_worth_its_simplicity():
    for first, ratio, taken in ((2.0, 1.04, False), (2.0, 1.06, True), (1.01, 1.01, True), (1.02, 1.01, False)):
        found, _, _ = judged(draft(), lambda other, ratio=ratio: ratio, first=first)
        assert (found != draft()) is taken, (first, ratio)


def test_passes_over_the_numbers_go_on_as_long_as_they_help():
    """The start can go only after the knot, which comes later: a second pass finds that."""
    made = draft(parameters={"start": Q(7, 9), "knot": Q(5, 9)}, free={}, tiny=Q(0))
    found, _, _ = judged(
        made, lambda other: 1.5 if other.parameters["start"] == Q(7, 9) or other.parameters["knot"] == 0 else None
    )
    assert found.parameters == {"start": 0, "knot": 0}


@pytest.mark.parametrize(
    ("steps", "length", "tries"), [(1, "T", 250), (160, "T", 250), (161, "T", 8), (10**9, None, 250)]
)
def test_long_runs_are_shrunk_with_few_tries(steps, length, tries):
    many = draft(parameters={"knots": [[Q(1234567 + n, 7654321)] for n in range(99)]}, free={})
    _, _, asked = judged(many, lambda other: None, steps=steps, length=length, tries=None)
    assert len(asked) == tries
    assert judged(many, lambda other: 1.5, tries=0)[0] == many
