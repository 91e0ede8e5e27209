"""The two sides of a lemma by hand: slack, failing steps, what descent implies, and what a report says of it."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from fedco.validation.lemmas import sides
from fedco.validation.lemmas.link import Link
from fedco.validation.lemmas.report import Implied, LemmaReport, LemmaRow, section, worst
from fedco.validation.lemmas.trace import Trace

# --- two sides ---------------------------------------------------------------------------------------------------------------

LINK = Link("x.lemma", lambda r: r["left"], note="noted", part="a part")


OF_A_RUN = replace(LINK, ends_round=None)


def compared(monkeypatch, left, parts, *, link=OF_A_RUN, admissible=True, gradient=None, period=2):
    """Rows and implied bound, where the lemma's terms have these values at every step, `(steps, seeds)`."""
    known = SimpleNamespace(labels=("printed",), statement=lambda label: label, symbols=lambda label: {})
    monkeypatch.setattr(sides, "get_theorem", lambda name: known)
    monkeypatch.setattr(sides, "constants", lambda *given: ({}, ()))
    monkeypatch.setattr(
        sides, "evaluate", lambda statement, **seen: {"terms": parts, "admissible": np.array(admissible)}
    )
    seen = {} if gradient is None else {"gradient_sq": lambda trace: gradient}
    trace = Trace({"left": left}, {}, period, len(left))
    return sides.compare_sides(replace(link, observables=seen), "printed", trace, None)


def test_a_row_by_hand(monkeypatch):
    """Two steps of two seeds: lefts 1, 3 and 2, 2; terms 4 and -1. The negative one is moved to the left."""
    left = np.array([[1.0, 3.0], [2.0, 2.0]])
    parts = {"noise": np.full((2, 2), 4.0), "gain": np.full((2, 2), -1.0)}
    ((row,), _) = compared(monkeypatch, left, parts)
    about = (row.lemma, row.statement, row.when, row.steps, row.note, row.part)
    assert about == ("x.lemma", "printed", "run", 2, "noted", "a part")
    assert (row.left, row.right) == (3.0, 4.0) and row.slack == pytest.approx(4 / 3)
    assert row.difference == -1.0 and row.standard_error == pytest.approx(np.std([-1.5, -0.5], ddof=1) / math.sqrt(2))
    assert row.failing == 0 and row.conditions_hold and row.holds and row.name == "x.lemma a part (printed)"


def test_a_descent_lemma_is_read_as_descent_below_everything_else(monkeypatch):
    left = np.array([[0.5], [1.5]])
    parts = {"noise": np.full((2, 1), 4.0), "descent": np.array([[-2.0], [-4.0]])}
    ((row,), _) = compared(monkeypatch, left, parts, admissible=False)
    assert (row.left, row.right, row.slack, row.standard_error) == (3.0, 3.0, 1.0, 0.0) and not row.conditions_hold
    assert row.difference == pytest.approx(1.0 - 1.0) and row.failing == 1  # the second step: 1.5 > 4 - 4


def test_a_step_fails_beyond_four_standard_errors_and_rounding(monkeypatch):
    parts = {"noise": np.ones((1, 4))}
    spread = np.array([-1.0, -1.0, 1.0, 1.0])
    error = spread.std(ddof=1) / 2
    for shift, failing in ((3.99 * error, 0), (4.01 * error, 1)):
        ((row,), _) = compared(monkeypatch, 1 + shift + spread[None, :], parts)
        assert row.failing == failing and row.holds == (failing == 0)
    for shift, failing in ((1e-9, 0), (3e-9, 1)):  # 1e-9 of both sides is rounding
        ((row,), _) = compared(monkeypatch, np.full((1, 4), 1 + shift), parts)
        assert row.failing == failing
    ((nothing,), _) = compared(monkeypatch, np.zeros((1, 4)), parts)
    assert nothing.slack is None and nothing.left == 0


def test_what_a_descent_lemma_implies_by_hand(monkeypatch):
    """2 g <= 6 - left with mean gradient 5 and mean left 1: g is at most 5 (6 - 1) / 10."""
    parts = {"noise": np.full((2, 1), 6.0), "descent": np.full((2, 1), -10.0)}
    left, gradient = np.full((2, 1), 1.0), np.array([[4.0], [6.0]])

    def implied(parts=parts, gradient=gradient, **more):
        return compared(monkeypatch, left, parts, gradient=gradient, **more)[1]

    assert implied() == pytest.approx(2.5)
    assert implied({"noise": parts["noise"]}) is None and implied(gradient=None) is None
    assert implied({**parts, "descent": np.zeros((2, 1))}) is None
    first = replace(LINK, keeps=lambda trace, rows: np.array([True, False]))
    assert implied(link=first) == pytest.approx(2.0)  # the gradient of the kept steps
    assert implied(link=first, gradient=gradient[:1]) == pytest.approx(2.0)


def test_steps_are_grouped_by_what_ends_them(monkeypatch):
    """Rounds of two: steps 1 and 3 end one; step 2 is left out, and a group without steps has no row."""
    left, parts = np.array([[1.0], [2.0], [3.0], [4.0]]), {"noise": np.full((4, 1), 9.0)}
    some = replace(LINK, keeps=lambda trace, rows: np.array([True, True, False, True]))
    rows, _ = compared(monkeypatch, left, parts, link=some)
    assert [(row.when, row.steps, row.left) for row in rows] == [("communication", 2, 3.0), ("between", 1, 1.0)]
    (alone,), _ = compared(monkeypatch, left, parts, link=replace(some, ends_round=None))
    assert (alone.when, alone.steps) == ("run", 3)
    (last,), _ = compared(monkeypatch, left[:1], {"noise": np.full((1, 1), 9.0)}, link=replace(LINK, keeps=None))
    assert last.when == "between"


# --- a report ----------------------------------------------------------------------------------------------------------------


def row(**changes) -> LemmaRow:
    made = {
        "lemma": "x.lemma_1", "statement": "printed", "when": "between", "steps": 6, "left": 1.0, "right": 2.5, "slack": 2.5,
        "difference": -1.5, "standard_error": 0.25, "failing": 0, "conditions_hold": True, "note": "",
    }  # fmt: skip
    return LemmaRow(**{**made, **changes})


def report() -> LemmaReport:
    rows = (row(), row(lemma="x.lemma_2", slack=None, difference=1.5, failing=2, conditions_hold=False, note="n"))
    implied = (Implied("x.lemma_1", 0.5, 2.0), Implied("x.theorem", math.inf, 4.0))
    return LemmaReport("x.theorem", "printed", "an instance", 12, 32, 0.25, 3.0, rows, implied)


def test_a_report_says_what_fails_and_what_loses_most():
    made = report()
    assert made.failing == ("x.lemma_2",) and made.worst.link == "x.theorem"
    assert row(failing=1).holds and LemmaReport("t", "s", "i", 1, 1, 1.0, None, (row(failing=1),), ()).failing == (
        "x.lemma_1",
    )
    assert LemmaReport("t", "s", "i", 1, 1, 1.0, None, (), ()).worst is None
    assert not row(difference=1.1).holds and row(difference=0.9).holds  # four standard errors are 1


def test_a_report_in_json_and_back():
    made = report()
    data = made.to_dict()
    assert data["implied"][1] == {"link": "x.theorem", "bound": "inf", "factor": 4.0} and data["worst"] == "x.theorem"
    assert (
        [r["holds"] for r in data["rows"]] == [True, False]
        and data["failing"] == ["x.lemma_2"]
        and data["kind"] == "measurement"
    )
    assert LemmaReport.from_dict(data) == made
    odd = LemmaReport("t", "s", "i", 1, 1, -math.inf, None, (row(left=math.nan),), ())
    assert odd.to_dict()["measured"] == "-inf" and odd.to_dict()["rows"][0]["left"] == "nan"
    back = LemmaReport.from_dict(odd.to_dict())
    assert back.measured == -math.inf and math.isnan(back.rows[0].left)


def test_the_tables_of_a_report():
    shown = section([report()])
    assert shown["worst"] == "x.theorem (x 4); fails: x.lemma_2"
    assert worst([]) == "" and section([])["runs"] == []
    (run,) = shown["runs"]
    assert run["title"] == "an instance, T = 12, 32 seeds; mean squared gradient 0.25"
    assert run["rows"] == [
        {"lemma": "x.lemma_1 (printed)", "when": "between (6)", "left": "1", "right": "2.5", "slack": "2.5",
         "difference": "-1.5 +- 0.25", "failing": "0 of 6", "note": ""},
        {"lemma": "x.lemma_2 (printed) (outside its conditions)", "when": "between (6)", "left": "1", "right": "2.5", "slack": "",
         "difference": "1.5 +- 0.25", "failing": "2 of 6; fails in the mean", "note": "n"},
    ]  # fmt: skip
    assert run["implied"] == [
        {"link": "x.lemma_1", "bound": "0.5", "factor": "x 2"},
        {"link": "x.theorem", "bound": "inf", "factor": "x 4"},
    ]


def test_the_factors_of_a_report_grow_from_the_measured_gradient(monkeypatch):
    """Measured 2, implied 6 and 9, the theorem 36: factors 3, 1.5 and 4; the step that looks ahead is no part of the measured one."""
    given = {"a": 6.0, "b": 9.0, "c": None}
    monkeypatch.setattr(sides, "compare_sides", lambda link, *_: ([row(lemma=link.lemma)], given[link.lemma]))
    trace = Trace({"gradient_sq": np.array([[1.0, 3.0], [2.0, 2.0], [99.0, 99.0]])}, {}, 1, 2)
    links = [Link(name, lambda r: r["left"]) for name in given]
    made = sides.report_of("x.t", "printed", links, trace, None, "i", 7, 36.0)
    assert made.measured == 2.0 and made.seeds == 2 and made.T == 7 and len(made.rows) == 3
    assert [(i.link, i.bound, i.factor) for i in made.implied] == [("a", 6.0, 3.0), ("b", 9.0, 1.5), ("x.t", 36.0, 4.0)]
    nothing = Trace({"gradient_sq": np.zeros((2, 2))}, {}, 1, 2)
    without = sides.report_of("x.t", "printed", links, nothing, None, "i", 7)
    assert [(i.link, i.factor) for i in without.implied] == [("a", math.inf), ("b", 1.5)] and without.bound is None
