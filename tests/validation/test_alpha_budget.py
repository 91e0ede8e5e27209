"""The alpha ledger: named in advance, spent once, never overspent."""

import json
from fractions import Fraction

import pytest
from fedco.validation.statistics.alpha_budget import REPORT_ALPHA, Allotment, AlphaBudget, LedgerError, read_level
from hypothesis import given, settings
from hypothesis import strategies as st

F = Fraction


@pytest.fixture
def ledger():
    made = AlphaBudget("1e-6")
    made.allot("a", F(1, 2_000_000), 100)
    made.allot("b", F(1, 4_000_000), 200)
    return made


def test_the_default_total_is_one_in_a_million():
    assert AlphaBudget().total == REPORT_ALPHA == F(1, 10**6)


def test_a_test_is_spent_once_and_returns_its_alpha(ledger):
    assert ledger.spend("a", actual_seeds=100) == F(1, 2_000_000)
    with pytest.raises(LedgerError, match="already spent"):
        ledger.spend("a", actual_seeds=100)


def test_a_name_is_allotted_once(ledger):
    with pytest.raises(LedgerError, match="already allotted"):
        ledger.allot("a", F(1, 10**9), 5)


def test_overspending_is_refused_and_changes_nothing(ledger):
    assert ledger.remaining == F(1, 4_000_000)
    with pytest.raises(LedgerError, match="what remains"):
        ledger.allot("c", F(1, 4_000_000) + F(1, 10**30), 5)
    ledger.allot("c", F(1, 4_000_000), 5)  # exactly what remains: in floats this would be a matter of rounding
    assert ledger.remaining == 0


def test_an_unnamed_test_cannot_be_spent(ledger):
    with pytest.raises(LedgerError, match="not allotted in advance"):
        ledger.spend("forgotten", actual_seeds=1)


def test_the_first_spending_seals_the_list(ledger):
    ledger.spend("a", actual_seeds=100)
    with pytest.raises(LedgerError, match="sealed"):
        ledger.allot("late", F(1, 10**9), 5)
    assert ledger.sealed


def test_an_open_ended_ledger_takes_later_tests_within_the_total():
    ledger = AlphaBudget("1e-6", open_ended=True)
    ledger.allot("a", "1/2000000", 10)
    ledger.spend("a", actual_seeds=10)
    ledger.allot("b", "1/2000000", 10)
    with pytest.raises(LedgerError, match="what remains"):
        ledger.allot("c", "1e-30", 10)


def test_more_seeds_than_planned_are_refused(ledger):
    with pytest.raises(LedgerError, match="100 planned seeds, got 101"):
        ledger.spend("a", actual_seeds=101, deviation="it was nearly there")


def test_fewer_seeds_need_a_reason(ledger):
    with pytest.raises(LedgerError, match="100 planned seeds, got 60"):
        ledger.spend("a", actual_seeds=60)
    ledger.spend("a", actual_seeds=60, deviation="the worker was stopped")
    assert [(e.planned_seeds, e.actual_seeds, e.deviation) for e in ledger.entries if e.spent] == [
        (100, 60, "the worker was stopped")
    ]


def test_sharing_is_exact_and_all_or_nothing():
    ledger = AlphaBudget("1e-6")
    with pytest.raises(LedgerError, match="distinct"):
        ledger.share(["x", "x"], 10)
    with pytest.raises(LedgerError, match="missing"):
        ledger.share(["x", "y"], {"x": 10})
    with pytest.raises(LedgerError, match="none"):
        ledger.share([], 10)
    assert ledger.entries == ()
    ledger.share(["x", "y", "z"], {"x": 1, "y": 2, "z": 3})
    assert [entry.alpha for entry in ledger.entries] == [F(1, 3_000_000)] * 3
    assert ledger.remaining == 0


@settings(max_examples=40)
@given(st.lists(st.fractions(F(1, 10**6), F(1, 10), max_denominator=10**6), max_size=30))
def test_no_sequence_of_allotments_overspends(amounts):
    ledger = AlphaBudget("1/4")
    for index, amount in enumerate(amounts):
        try:
            ledger.allot(str(index), amount, 1)
        except LedgerError:
            assert amount > ledger.remaining
    assert sum(entry.alpha for entry in ledger.entries) <= F(1, 4)


def test_json_round_trip(ledger):
    ledger.spend("b", actual_seeds=150, deviation="stopped")
    again = AlphaBudget.from_dict(json.loads(ledger.to_json()))
    assert again.entries == ledger.entries
    assert (again.total, again.sealed, again.remaining) == (ledger.total, True, ledger.remaining)
    with pytest.raises(LedgerError, match="already spent"):
        again.spend("b", actual_seeds=150)


def tampered(ledger, change):
    data = ledger.to_dict()
    change(data)
    return data


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["tests"].append(data["tests"][0]),
        lambda data: data["tests"][0].update(alpha="1/2"),
        lambda data: data["tests"][0].update(actual_seeds=10**6),
        lambda data: data["tests"][0].pop("alpha"),
        lambda data: data["tests"][0].update(planned_seeds="100"),
        lambda data: data.update(total=1e-6),
        lambda data: data.update(format="other"),
        lambda data: data.pop("tests"),
    ],
)
def test_a_tampered_file_is_refused(ledger, change):
    with pytest.raises(LedgerError):
        AlphaBudget.from_dict(tampered(ledger, change))


@pytest.mark.parametrize(
    "level", [0.001, "0", "1", "2", "-1/2", "1e999999999", "1/0", "nan", "", "1e-6 ", F(3, 2), True]
)
def test_levels_are_exact_and_strictly_between_zero_and_one(level):
    with pytest.raises(LedgerError, match="wanted an exact number"):
        read_level("alpha", level)


def test_levels_are_read_exactly():
    assert read_level("alpha", "1e-6") == read_level("alpha", "0.000001") == read_level("a", "1/1000000") == F(1, 10**6)


def test_an_allotment_has_a_name_and_a_level():
    with pytest.raises(LedgerError, match="non-empty"):
        Allotment("", F(1, 100), 5)
    with pytest.raises(LedgerError, match="a: wanted an exact number"):
        Allotment("a", F(2), 5)


@pytest.mark.parametrize("seeds", [0, -3, 2.0, True])
def test_planned_seeds_are_whole_and_positive(seeds):
    with pytest.raises(LedgerError, match="whole number"):
        Allotment("a", F(1, 100), seeds)


@pytest.mark.parametrize("open_ended", [False, True])
@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("spent", [False, True])
def test_a_read_ledger_takes_the_tests_that_the_kept_one_took(open_ended, closed, spent):
    ledger = AlphaBudget("1/2", open_ended=open_ended)
    ledger.allot("a", "1/4", 10)
    if spent:
        ledger.spend("a", actual_seeds=10)
    if closed:
        ledger.seal()
    text = ledger.to_json()
    assert text == json.dumps(ledger.to_dict(), indent=2)
    again = AlphaBudget.from_dict(json.loads(text))
    assert (again.sealed, again.open_ended) == (closed or (spent and not open_ended), open_ended)
    assert again.sealed is ledger.sealed and again.to_dict() == ledger.to_dict()
    hidden = AlphaBudget.from_dict(
        json.loads(text) | {"sealed": False}
    )  # what was spent closes it, whatever the file says
    assert hidden.sealed is (spent and not open_ended)


def test_names_that_are_taken_are_not_shared_again(ledger):
    with pytest.raises(LedgerError, match=r"distinct test names, got \['a'\]"):
        ledger.share(["new", "a"], 10)
    assert [entry.name for entry in ledger.entries] == ["a", "b"]
