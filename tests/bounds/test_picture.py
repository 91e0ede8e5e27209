"""Pictures of the exact instances: what is drawn is what was certified."""

from __future__ import annotations

from functools import cache

import pytest
from fedco.bounds.audit.picture import Picture
from fedco.bounds.audit.refuted import refutations


@cache
def pictured():
    cases = {name: item.case() for name, item in refutations().items()}
    return {name: case for name, case in cases.items() if case.picture is not None}


def test_most_instances_have_a_picture():
    assert len(pictured()) > len(refutations()) * 3 / 4


def test_what_is_drawn_is_what_was_certified():
    """Marks on the grid, a height for every model; the drop from the start to the minimiser is the certified gap."""
    gaps = lowest = 0
    for name, case in pictured().items():
        drawn = case.picture.drawn()
        marks, at = drawn["marks"], dict(zip(drawn["x"], drawn["mean"], strict=True))
        assert set(marks.values()) <= set(drawn["x"]), name
        assert all(len(heights) == len(drawn["x"]) for heights in drawn["clients"]), name
        assert any(any(heights) for heights in drawn["clients"]), name
        if {"start", "minimiser"} <= set(marks) and "F_gap" in case.constants:
            gap = float(case.constants["F_gap"][0])  # Simpson across a kink that is not on the grid
            assert at[marks["start"]] - at[marks["minimiser"]] == pytest.approx(gap, rel=2e-2), name
            gaps += 1
        for word in {"start, the minimiser", "start, a minimiser"} & set(marks):
            assert at[marks[word]] <= min(drawn["mean"]) + 1e-9, name
            lowest += 1
    assert gaps >= 4 and lowest


def test_a_picture_without_clients_or_with_an_empty_interval_is_refused():
    with pytest.raises(ValueError, match="a client"):
        Picture((), (0, 1))
    with pytest.raises(ValueError, match="interval"):
        Picture((abs,), (1, 1))
