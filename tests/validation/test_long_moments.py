"""Long runs with noise in Jacobians in doubles, held against the exact ones: the left side, how far paths come, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from fedco.bounds.registry import get_theorem
from fedco.validation.exact.closed_moments import found_reach
from fedco.validation.exact.interval import Bends
from fedco.validation.exact.run import CannotReplay
from fedco.validation.falsifier.confirm import NotConfirmed, exact_run, sides
from fedco.validation.falsifier.declared import formula_of, target_of
from fedco.validation.falsifier.laws import LONG_MOMENTS, law_of
from fedco.validation.falsifier.rounding import drafts, settle
from fedco.validation.falsifier.search_spaces import search_spaces
from fedco.validation.falsifier.second_moments import reaches, read, straightened

TARGET = target_of(get_theorem("feddro.theorem_5_1"), "corrected")


@cache
def spaces():
    return [space for space in search_spaces(TARGET, formula_of(TARGET)) if space.law is LONG_MOMENTS]


def points_of(space, count: int = 64):
    return np.random.default_rng(7).random((count, space.size))


def claims(space, kept: bool, most: int = 3):
    """Points of a space whose runs stay where all is straight, or do not, with what is claimed of them."""
    points = points_of(space)
    parameters, values = space.numbers(points)
    found = space.law.left(space, parameters, values, len(points))
    chosen = np.flatnonzero((found.astray == 0) == kept)[:most]
    assert len(chosen) == most, "there are such points"
    for index in chosen:
        draft = next(drafts(TARGET, space.formula, space.candidate(points[index]), space.settings))
        yield index, settle(TARGET, space.formula, draft), found


@pytest.mark.parametrize("period", [2, 4])
def test_the_left_side_is_the_exact_one(period):
    space = next(s for s in spaces() if s.period == period)
    for index, claimed, found in claims(space, kept=True):
        left = float(sides(TARGET, claimed).left[0])
        assert left > 0 and found.sides[0][index] == pytest.approx(left, rel=1e-3)


def test_paths_come_as_far_as_the_exact_limits_say():
    space = next(s for s in spaces() if s.period == 2)
    points = points_of(space)
    parameters, values = space.numbers(points)
    maps = read(space.noisy_run(straightened(parameters), values, len(points)), space.clients, space.period)
    models, estimates = reaches(maps, space.period)
    for index, claimed, _ in claims(space, kept=True):
        run = exact_run(TARGET, claimed)
        assert law_of(run) is LONG_MOMENTS
        exact = found_reach(run.method, run.problem, run.period)
        assert models[index] == pytest.approx(float(exact["model"]), rel=1e-3)
        assert estimates[index] == pytest.approx(float(exact["inner_value"]), rel=1e-3)


def test_a_run_that_leaves_the_straight_lines_is_told_in_doubles_and_refused_exactly():
    space = next(s for s in spaces() if s.period == 2)
    for _, claimed, _ in claims(space, kept=False):
        run = exact_run(TARGET, claimed)
        with pytest.raises((Bends, CannotReplay)):
            found_reach(run.method, run.problem, run.period)
        with pytest.raises(NotConfirmed):
            sides(TARGET, claimed)


def test_where_noise_grows_from_round_to_round_no_limits_are_found():
    """Noise nearly as large as the slope."""
    space = next(s for s in spaces() if s.period == 2)
    points = points_of(space, 8)
    parameters, values = space.numbers(points)
    large = {**parameters, "jacobian_noise": np.abs(parameters["inner_slope"]) * 0.9}
    run = space.noisy_run(straightened(large), values, len(points))
    model, estimate = reaches(read(run, space.clients, space.period), space.period)
    assert np.isinf(model).all() and np.isinf(estimate).all()


def test_such_runs_are_searched_for_a_method_that_keeps_an_estimate_and_the_last_models():
    assert {(s.clients, s.period) for s in spaces()} == {(2, 2), (2, 4)}
    for name in ("local_scgdm.theorem_3_4", "comfedl.theorem_1"):
        other = target_of(get_theorem(name), get_theorem(name).default)
        assert not any(s.law is LONG_MOMENTS for s in search_spaces(other, formula_of(other)))


def settle_of(space):
    return next(claims(space, kept=True))[1]


def test_a_silent_run_is_none_of_them():
    claimed = settle_of(next(s for s in spaces() if s.period == 2))
    silent = {**claimed.instance.parameters, "jacobian_noise": [0, 0]}
    run = exact_run(TARGET, replace(claimed, instance=replace(claimed.instance, parameters=silent)))
    assert law_of(run) is not LONG_MOMENTS
