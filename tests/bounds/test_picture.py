"""Pictures of the exact instances: what is drawn is what was certified."""

from __future__ import annotations

from fractions import Fraction
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


def test_a_picture_has_its_marks_and_one_height_for_every_model():
    for name, case in pictured().items():
        drawn = case.picture.drawn()
        assert set(drawn["marks"].values()) <= set(drawn["x"]), name
        assert all(len(heights) == len(drawn["x"]) for heights in (drawn["mean"], *drawn["clients"])), name
        assert any(any(heights) for heights in drawn["clients"]), name


def test_the_drawn_drop_from_the_start_to_the_minimiser_is_the_certified_gap():
    seen = 0
    for name, case in pictured().items():
        drawn = case.picture.drawn()
        if {"start", "minimiser"} <= set(drawn["marks"]) and "F_gap" in case.constants:
            at = dict(zip(drawn["x"], drawn["mean"], strict=True))
            drop = at[drawn["marks"]["start"]] - at[drawn["marks"]["minimiser"]]
            gap = float(case.constants["F_gap"][0])
            assert drop == pytest.approx(gap, rel=2e-2), name  # Simpson across a kink that is not on the grid
            seen += 1
    assert seen >= 4


def test_a_start_at_the_minimiser_is_drawn_lowest():
    for name, case in pictured().items():
        drawn = case.picture.drawn()
        for word in ("start, the minimiser", "start, a minimiser"):
            if word in drawn["marks"]:
                at = dict(zip(drawn["x"], drawn["mean"], strict=True))
                assert at[drawn["marks"][word]] <= min(drawn["mean"]) + 1e-9, name


def test_heights_are_the_integral_of_the_slopes():
    drawn = Picture((lambda x: 3 * x**2, lambda x: -x), (-1, 2), {"start": Fraction(1, 3)}).drawn()
    x = drawn["x"]
    assert drawn["clients"][0] == pytest.approx([v**3 - 1 / 27 for v in x])
    assert drawn["mean"] == pytest.approx([(v**3 - 1 / 27 - v * v / 2 + 1 / 18) / 2 for v in x])


def test_a_picture_without_clients_or_with_an_empty_interval_is_refused():
    with pytest.raises(ValueError, match="a client"):
        Picture((), (0, 1))
    with pytest.raises(ValueError, match="interval"):
        Picture((abs,), (1, 1))
