"""Calibration on skewed laws of known mean: e-values keep their level, t-intervals do not, and a broken engine is seen."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from fedco.validation.statistics import evalues
from fedco.validation.statistics.evalues import log_e_refute, log_e_support
from fedco.validation.statistics.planning import log_threshold
from scipy import stats

LEVELS = (5e-2, 1e-2, 1e-3)
SEEDS, RUNS = 20, 10_000
OFF = 1.02
"""A bound is at the mean, or off by this factor."""


class Law(NamedTuple):
    """A nonnegative law; no cap where it is unbounded."""

    mean: float
    cap: float | None
    draw: Callable


RARE, COIN, CHI_CAP = 0.01, 0.3, 6.0
LAWS = {
    "chi2_1": Law(1.0, None, lambda rng, shape: rng.standard_normal(shape) ** 2),
    "chi2_1 capped at 6": Law(
        float(stats.chi2.cdf(CHI_CAP, 3) + CHI_CAP * stats.chi2.sf(CHI_CAP, 1)),
        CHI_CAP,
        lambda rng, shape: np.minimum(rng.standard_normal(shape) ** 2, CHI_CAP),
    ),
    "lognormal(2)": Law(np.exp(2.0), None, lambda rng, shape: np.exp(2 * rng.standard_normal(shape))),
    "1% rare event": Law(RARE, 1.0, lambda rng, shape: (rng.random(shape) < RARE).astype(float)),
    "beta(1/2, 3)": Law(1 / 7, 1.0, lambda rng, shape: rng.beta(0.5, 3.0, shape)),
    "two points": Law(COIN, 1.0, lambda rng, shape: (rng.random(shape) < COIN).astype(float)),
    "point mass": Law(0.25, 1.0, lambda rng, shape: np.full(shape, 0.25)),
}


@pytest.fixture(params=LAWS, ids=str)
def law(request):
    return LAWS[request.param]


def drawn(law, root_seed=1, runs=RUNS):
    return law.draw(np.random.default_rng(root_seed), (runs, SEEDS))


def least_rates(log_e):
    """For each level the lower end of the 99.9% interval of the rate of rejections."""
    rejected = [int((log_e >= log_threshold(level)).sum()) for level in LEVELS]
    return [stats.binomtest(count, len(log_e)).proportion_ci(0.999, "exact").low for count in rejected]


def keeps_its_level(log_e):
    return all(rate <= level for rate, level in zip(least_rates(log_e), LEVELS, strict=True))


@pytest.mark.parametrize("factor", [1.0, OFF])
def test_refuting_a_true_bound_is_as_rare_as_its_level(law, factor):
    assert keeps_its_level(log_e_refute(drawn(law), law.mean * factor))


@pytest.mark.parametrize("factor", [1.0, OFF])
def test_supporting_a_false_bound_is_as_rare_as_its_level(law, factor):
    if law.cap is not None:
        assert keeps_its_level(log_e_support(drawn(law), law.mean / factor, law.cap))


@pytest.mark.parametrize(("name", "noted"), [("chi2_1", 0.03), ("lognormal(2)", 0.25), ("1% rare event", 0.82)])
def test_t_intervals_support_what_is_false_on_the_same_draws(name, noted):
    """The negative control: their rates at level 1e-3."""
    chosen = LAWS[name]
    values = drawn(chosen)
    error = values.std(axis=1, ddof=1) / np.sqrt(SEEDS)
    supported = chosen.mean - values.mean(axis=1) > stats.t.ppf(1 - 1e-3, SEEDS - 1) * error
    assert supported.mean() == pytest.approx(noted, rel=0.15)


def test_declared_means_and_caps_are_right(law):
    values = drawn(law, 3, 20_000)
    error = 5 * values.std() / np.sqrt(values.size)
    assert abs(values.mean() - law.mean) <= error + 1e-12
    assert values.min() >= 0 and (law.cap is None or values.max() <= law.cap)


def test_a_sum_instead_of_the_mean_over_the_grid_exceeds_its_level():
    """The sum is as many times the mean as the grid has points."""
    coin = LAWS["two points"]
    both = (log_e_refute(drawn(coin), coin.mean), log_e_support(drawn(coin), coin.mean, coin.cap))
    assert not all(keeps_its_level(log_e + np.log(len(evalues.GRID))) for log_e in both)


def test_a_cap_read_off_the_data_exceeds_its_level():
    """Each data set with its own largest value as the cap."""
    rare = LAWS["1% rare event"]
    sets = [values[None] for values in drawn(rare, runs=2000)]
    log_e = [log_e_support(values, rare.mean, max(float(values.max()), 1.01 * rare.mean))[0] for values in sets]
    assert not keeps_its_level(np.array(log_e))
