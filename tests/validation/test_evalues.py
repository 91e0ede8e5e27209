"""E-values: E[E] <= 1 under the null, by enumeration of laws in rationals, and the engine against the definition."""

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from fedco.validation.statistics import evalues
from fedco.validation.statistics.evalues import (
    GRID,
    CapExceeded,
    log_e_refute,
    log_e_support,
    mean_bracket,
    round_down,
    round_up,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st

F = Fraction
# A law is a tuple of (value, probability). This one has mean exactly 1.
SKEWED = ((F(0), F(3, 4)), (F(4), F(1, 4)))


def mean_of(law):
    return sum(value * weight for value, weight in law)


def average(parts):
    return sum(parts) / len(parts)


def exact_e(ratios, grid):
    """The definition, in rationals: an independent reference for the engine."""
    return average([math.prod((1 - lam) + lam * ratio for ratio in ratios) for lam in grid])


def outcomes(law, seeds):
    for draw in product(law, repeat=seeds):
        yield [value for value, _ in draw], math.prod(weight for _, weight in draw)


def expected(law, seeds, statistic):
    return sum(weight * statistic(values) for values, weight in outcomes(law, seeds))


def refuting(bound, grid):
    return lambda values: exact_e([x / bound for x in values], grid)


def supporting(bound, cap, grid):
    return lambda values: exact_e([(cap - x) / (cap - bound) for x in values], grid)


@st.composite
def laws(draw):
    values = draw(st.lists(st.fractions(0, 5, max_denominator=12), min_size=1, max_size=3, unique=True))
    weights = [draw(st.integers(1, 9)) for _ in values]
    return tuple((v, F(w, sum(weights))) for v, w in zip(values, weights, strict=True))


@given(law=laws(), excess=st.fractions(0, 2, max_denominator=6))
@settings(max_examples=40)
def test_the_engine_in_doubles_keeps_the_expectation(law, excess):
    bound = mean_of(law) + excess
    assume(bound > 0)
    refute = expected(law, 3, lambda values: F(float(np.exp(log_e_refute(values, bound)))))
    support = expected(law, 3, lambda v: F(float(np.exp(log_e_support(v, mean_of(law), 6)))) if mean_of(law) else 0)
    assert refute <= 1
    assert support <= 1


@given(values=st.lists(st.fractions(0, 5, max_denominator=16), min_size=1, max_size=6))
@settings(max_examples=40)
def test_the_engine_equals_the_definition_and_never_exceeds_it(values):
    doubles = [float(x) for x in values]
    for bound in (F(1, 2), F(2)):
        exact = float(refuting(bound, GRID)([F(x) for x in doubles]))
        engine = math.exp(log_e_refute(doubles, bound))
        assert exact * (1 - 1e-11) <= engine <= exact
        exact = float(supporting(bound, F(5), GRID)([F(x) for x in doubles]))
        assert exact * (1 - 1e-11) <= math.exp(log_e_support(doubles, bound, 5)) <= exact


def test_a_mutated_engine_is_caught(monkeypatch):
    def engine(values):
        return F(float(np.exp(log_e_refute(values, 1))))

    assert expected(SKEWED, 3, engine) <= 1
    monkeypatch.setattr(evalues, "log_mean", lambda log_products: log_products.max(axis=0))
    assert expected(SKEWED, 3, engine) > 1


def test_the_default_grid_lies_in_the_unit_interval_and_is_exact():
    assert all(isinstance(lam, Fraction) and 0 < lam <= 1 for lam in GRID)
    assert list(GRID) == sorted(set(GRID))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -1e-9])
def test_bad_values_are_named(bad):
    for call in (lambda x: log_e_refute(x, 1), lambda x: log_e_support(x, 1, 2), mean_bracket):
        with pytest.raises(ValueError, match="at index 1"):
            call([0.5, bad])


def test_no_seeds_is_an_error():
    with pytest.raises(ValueError, match="at least one seed"):
        log_e_refute([], 1)


def test_a_value_above_the_cap_names_the_cap_and_the_value():
    with pytest.raises(CapExceeded, match=r"2\.0.*2\.02 at index 1"):
        log_e_support([1.0, 2.02], 1, 2)
    with pytest.raises(CapExceeded):
        mean_bracket([1.0, 2.02], 2)


def test_a_bound_that_is_not_below_the_cap_cannot_be_supported():
    with pytest.raises(ValueError, match="vacuous"):
        log_e_support([1.0], 2, 2)


def test_bound_zero_and_below():
    assert log_e_refute([0.0, 0.0], 0) == 0.0  # E = 1: all zeros say nothing against E X <= 0
    assert log_e_refute([0.0, 1e-300], 0) == math.inf
    assert log_e_refute([0.0], -1) == math.inf  # contradicts X >= 0
    assert log_e_support([0.0], 0, 1) == -math.inf


def test_deterministic_values_reject_with_certainty_at_the_known_number_of_seeds():
    assert log_e_refute(np.ones(100), 1) == pytest.approx(0, abs=1e-12)
    assert log_e_refute(np.full(100, 2.0), 1) > 60  # lam = 1 gives 100 log 2 - log 19 = 66.4
    alone = 100 * math.log(4 / 3) - math.log(19)  # what lam = 1 gives; its neighbours on the grid add a little
    assert alone < log_e_support(np.zeros(100), 1, 4) < alone + 1


def test_extreme_magnitudes_do_not_overflow():
    assert log_e_refute([0.0, 1e308], 1e-300) > 500
    assert log_e_refute(np.full(10, 1e308), 1e308) == pytest.approx(0, abs=1e-9)
    assert log_e_support([1.0, 0.0], math.nextafter(1, 0), 1) > 20


def test_leading_axes_are_separate_data_sets():
    data = np.random.default_rng(5).random((3, 2, 7))
    together = log_e_refute(data, 0.3)
    assert together.shape == (3, 2)
    assert together[2, 1] == pytest.approx(float(log_e_refute(data[2, 1], 0.3)), abs=1e-12)


def test_bounds_are_rounded_outward():
    third = F(1, 3)
    assert F(round_down(third)) < third < F(round_up(third))
    assert round_up(third) == math.nextafter(round_down(third), 1)
    assert round_up(0.1) == round_down(0.1) == 0.1


def test_the_evidence_moves_monotonically_with_the_bound():
    data = np.random.default_rng(1).exponential(size=60)
    against = [float(log_e_refute(data, b)) for b in np.linspace(0.05, 3, 40)]
    data = np.minimum(data, 5)
    towards = [float(log_e_support(data, b, 5)) for b in np.linspace(0.05, 4.9, 40)]
    assert np.all(np.diff(against) < 0)
    assert np.all(np.diff(towards) > 0)


def test_the_bracket_ends_are_the_switches_of_the_two_tests():
    data = np.minimum(np.random.default_rng(2).exponential(size=200), 6)
    bracket, wanted = mean_bracket(data, 6, coverage=0.95), math.log(40)
    assert bracket.lower < data.mean() < bracket.upper < 6
    assert log_e_refute(data, bracket.lower) >= wanted > log_e_refute(data, bracket.lower * (1 + 1e-9))
    assert log_e_support(data, bracket.upper, 6) >= wanted > log_e_support(data, bracket.upper * (1 - 1e-9), 6)


def test_the_bracket_covers_the_mean_of_a_skewed_law():
    """150 fixed data sets of a 5% rare event: the observed share of misses stays below 5%."""
    rng = np.random.default_rng(11)
    misses = 0
    for _ in range(150):
        low, high = mean_bracket((rng.random(40) < 0.05).astype(float), 1)
        misses += not low <= 0.05 <= high
    assert misses <= 7


def test_bracket_edge_cases():
    assert mean_bracket(np.zeros(5)) == (0.0, math.inf)
    assert mean_bracket([1.0], 1.0).upper == 1.0
    point = mean_bracket(np.full(2000, 0.25), 1.0)
    assert 0.2 < point.lower <= 0.25 <= point.upper < 0.26
    huge = mean_bracket(np.full(50, 1e308))
    assert 1e307 < huge.lower <= 1e308
    with pytest.raises(ValueError, match="coverage"):
        mean_bracket([1.0], coverage=1.0)
    with pytest.raises(ValueError, match="one axis"):
        mean_bracket([[1.0]])


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_a_bound_and_a_cap_are_finite_numbers(bad):
    for refused in (lambda: log_e_refute([0.5], bad), lambda: log_e_support([0.5], bad, 4)):
        with pytest.raises(ValueError, match="bound: wanted a finite number"):
            refused()
    for refused in (lambda: log_e_support([0.5], 1, bad), lambda: mean_bracket([0.5], bad)):
        with pytest.raises(ValueError, match="cap: wanted a finite number"):
            refused()


def test_answers_without_data_have_one_place_for_each_data_set():
    data = np.zeros((3, 2, 7))
    data[1, 0, 4] = 1.0
    for answer, wanted in (
        (log_e_refute(data, -1), np.full((3, 2), math.inf)),
        (log_e_refute(data, 0), np.where(data.any(axis=-1), math.inf, 0.0)),
        (log_e_support(data, 0, 4), np.full((3, 2), -math.inf)),
    ):
        assert answer.shape == (3, 2) and np.array_equal(answer, wanted)
    with pytest.raises(ValueError, match=r"-1.0 at index \(1, 0, 4\)"):
        log_e_refute(-data, 1)


@pytest.mark.parametrize("exact", [F(1, 2), F(3), 5, 0])
def test_a_double_is_not_rounded(exact):
    assert round_up(exact) == round_down(exact) == float(exact)


def test_what_is_taken_off_for_rounding_is_what_is_documented():
    """eps * seeds * (8 + 4 M) from the logarithm of a product, against 50 digits; M is at least the sum of the |terms|."""
    eps, y, grid = np.finfo(float).eps, np.array([1e-3, 0.5, 2.0, 7.0] * 200), np.array([0.25, 1.0])
    found = evalues.log_products(y, grid, y.max(), np.empty((2, 800)))
    with mpmath.workdps(50):
        for lam, value in zip(grid, found, strict=True):
            terms = [mpmath.log((1 - mpmath.mpf(lam)) + mpmath.mpf(lam) * mpmath.mpf(each)) for each in y]
            magnitude = 2 * len(y) * max(terms) - sum(terms)
            assert magnitude >= sum(map(abs, terms))
            assert float((sum(terms) - value) / (eps * len(y) * (8 + 4 * magnitude))) == pytest.approx(1, rel=1e-3)
    ones = evalues.log_products(np.ones(50), grid, np.float64(1), np.empty((2, 50)))
    assert ones == pytest.approx(-8 * 50 * eps, rel=1e-9)  # every term is 0
    for level in (0.0, 100.0, -100.0):  # and from the mean over the grid
        taken = level - float(evalues.log_mean(np.full(4, level)))
        assert taken == pytest.approx(64 * eps * (1 + abs(level)), rel=0.03)


def test_a_mean_beyond_the_doubles_on_the_way():
    assert evalues.mean(np.array([1e308, 1e308, 4e307])) == pytest.approx(8e307, rel=1e-12)


def test_an_end_is_a_bound_whose_test_just_reaches_its_threshold(monkeypatch):
    """Bounds from 3/2 down are refuted and bounds from 5/2 up supported, both with an e-value that is just the one wanted."""
    monkeypatch.setattr(evalues, "log_e_refute", lambda x, bound: 3.0 if bound <= 1.5 else 2.9)
    monkeypatch.setattr(evalues, "log_e_support", lambda x, bound, cap: 3.0 if bound >= 2.5 else 2.9)
    x = np.array([1.0, 3.0])
    low, high = evalues.lower_end(x, 3.0), evalues.upper_end(x, 4.0, 3.0)
    assert 1.5 * (1 - 1e-9) < low <= 1.5 and 2.5 <= high < 2.5 * (1 + 1e-9)
    assert (evalues.lower_end(x, 3.1), evalues.upper_end(x, 4.0, 3.1)) == (0.0, 4.0)
