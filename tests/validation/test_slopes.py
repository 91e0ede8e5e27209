"""Slopes: per-seed slopes with independent horizons cover."""

import numpy as np
import pytest
from fedco.validation.statistics.slopes import SlopeEstimate, bound_slope, log_log_slope, slope_interval
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

HORIZONS = np.array([100, 200, 400, 800, 1600])


def skewed_runs(rng, repeats, seeds):
    """Independent runs per horizon: T^(-1/2) times a squared Gaussian, (repeats, seeds, horizons)."""
    return HORIZONS**-0.5 * (0.05 + rng.standard_normal((repeats, seeds, len(HORIZONS))) ** 2)


@settings(max_examples=30)
@given(st.floats(-3, 3), st.floats(1e-6, 1e6))
def test_a_power_law_has_its_exponent_as_slope(exponent, scale):
    assert log_log_slope(HORIZONS, scale * HORIZONS**exponent) == pytest.approx(exponent, abs=1e-9)


def test_the_interval_covers_on_skewed_data():
    """800 data sets of 16 seeds; a nominal 95% interval covers between 93% and 97%."""
    data = skewed_runs(np.random.default_rng(1), 800, 16)
    covered = sum(slope_interval(HORIZONS, values).contains(-0.5) for values in data)
    low, high = stats.binomtest(covered, 800).proportion_ci(0.999, "exact")
    assert low < 0.95 < high


def test_grouping_removes_the_bias_of_the_logarithm():
    """Skewness that fades with T: per-seed slopes are off, group means are not."""
    rng = np.random.default_rng(3)
    degrees = np.array([1, 2, 4, 8, 16])
    values = HORIZONS**-0.5 * rng.chisquare(degrees, (20_000, 5)) / degrees
    alone, grouped = slope_interval(HORIZONS, values), slope_interval(HORIZONS, values, group_size=200)
    assert not alone.contains(-0.5) and alone.slope > -0.3
    assert abs(grouped.slope + 0.5) < 0.01 and grouped.samples == 100


def test_the_interval_narrows_with_seeds_and_widens_with_coverage():
    data = skewed_runs(np.random.default_rng(4), 1, 400)[0]
    few, many = slope_interval(HORIZONS, data[:20]), slope_interval(HORIZONS, data)
    assert many.upper - many.lower < 0.5 * (few.upper - few.lower)
    wide = slope_interval(HORIZONS, data, coverage=0.999)
    assert wide.lower < many.lower < many.slope < many.upper < wide.upper


def test_a_wrong_exponent_is_told_apart():
    estimate = slope_interval(HORIZONS, skewed_runs(np.random.default_rng(5), 1, 2000)[0])
    assert estimate.contains(-0.5) and not estimate.contains(-1.0) and not estimate.contains(-0.25)


def test_a_bound_with_a_floor_is_flatter_than_its_limit_exponent():
    bound = 10 / HORIZONS**0.5 + 0.5
    assert -0.5 < bound_slope(HORIZONS, bound) < -0.1


@pytest.mark.parametrize(
    ("horizons", "values", "match"),
    [
        ([1.0], [1.0], "two distinct"),
        ([2.0, 2.0], [1.0, 2.0], "two distinct"),
        ([1.0, 2.0], [1.0, 0.0], "values: wanted positive"),
        ([1.0, 2.0], [1.0, np.nan], "values: wanted positive"),
        ([0.0, 2.0], [1.0, 1.0], "horizons: wanted positive"),
        ([1.0, 2.0], [1.0, 1.0, 1.0], "last axis of 2"),
    ],
)
def test_bad_curves_are_refused(horizons, values, match):
    with pytest.raises(ValueError, match=match):
        log_log_slope(horizons, values)


def test_an_interval_needs_two_groups_and_a_coverage():
    with pytest.raises(ValueError, match="two groups of 3"):
        slope_interval(HORIZONS, np.ones((5, 5)), group_size=3)
    with pytest.raises(ValueError, match="two groups"):
        slope_interval(HORIZONS, np.ones(5))
    with pytest.raises(ValueError, match="coverage"):
        slope_interval(HORIZONS, np.ones((5, 5)), coverage=95)


def test_the_ends_are_in_the_interval():
    estimate = SlopeEstimate(-0.5, -0.75, -0.25, 0.95, 8)
    assert estimate.contains(-0.75) and estimate.contains(-0.25) and not estimate.contains(-0.24)


def test_the_interval_of_three_seeds_is_that_of_the_t_test():
    """Three curves c T^a with a = -1, -0.6 and -0.2, against the one-sample t-interval of scipy."""
    exponents = np.array([-1.0, -0.6, -0.2])
    found = slope_interval(HORIZONS, 5 * HORIZONS ** exponents[:, None], coverage=0.9)
    wanted = stats.ttest_1samp(exponents, 0).confidence_interval(0.9)
    assert (found.lower, found.upper) == pytest.approx(tuple(wanted)) and found.slope == pytest.approx(-0.6)
    assert found.upper - found.slope == pytest.approx(2.919986 * 0.4 / 3**0.5, rel=1e-6)  # t of 2 degrees of freedom


def test_two_groups_are_enough_and_left_over_seeds_are_dropped():
    """Five seeds in groups of two: the interval of two slopes, each of the mean of two curves."""
    values = np.random.default_rng(6).uniform(1, 2, (5, 2))
    means = (values[0:4:2] + values[1:4:2]) / 2
    slopes = np.log(means[:, 1] / means[:, 0]) / np.log(4)
    found = slope_interval([1, 4], values, group_size=2)
    wanted = stats.ttest_1samp(slopes, 0).confidence_interval(0.95)
    assert (found.lower, found.upper) == pytest.approx(tuple(wanted)) and found.samples == 2
    with pytest.raises(ValueError, match="two distinct"):
        log_log_slope([1, 2, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="one axis"):
        log_log_slope([[1, 2], [3, 4]], [[1, 2], [3, 4]])
