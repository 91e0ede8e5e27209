"""E-values: E[E] <= 1 under the null, by enumeration of laws in rationals; and the seeds that are planned for them."""

import math
from fractions import Fraction as F
from itertools import product

import mpmath
import numpy as np
import pytest
from fedco.errors import InputError
from fedco.validation.statistics import evalues, planning
from fedco.validation.statistics.evalues import (
    GRID,
    CapExceeded,
    log_e_refute,
    log_e_support,
    mean_bracket,
    round_down,
    round_up,
)
from fedco.validation.statistics.planning import (
    Undetectable,
    detectable,
    log_threshold,
    seeds_to_refute,
    seeds_to_support,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

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


EACH = (lambda x: log_e_refute(x, 1), lambda x: log_e_support(x, 1, 2), mean_bracket)
INFINITE = (math.inf, -math.inf, math.nan)


def test_the_default_grid_lies_in_the_unit_interval_and_is_exact():
    assert all(isinstance(lam, F) and 0 < lam <= 1 for lam in GRID)
    assert list(GRID) == sorted(set(GRID))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: log_e_refute([], 1), "at least one seed"),
        (lambda: log_e_support([1.0], 2, 2), "vacuous"),
        *((lambda bad=bad, of=of: of([0.5, bad]), "at index 1") for bad in (math.nan, math.inf, -1e-9) for of in EACH),
        *((lambda bad=bad: log_e_refute([0.5], bad), "bound: wanted a finite number") for bad in INFINITE),
        *((lambda bad=bad: log_e_support([0.5], bad, 4), "bound: wanted a finite number") for bad in INFINITE),
        *((lambda bad=bad: log_e_support([0.5], 1, bad), "cap: wanted a finite number") for bad in INFINITE),
        *((lambda bad=bad: mean_bracket([0.5], bad), "cap: wanted a finite number") for bad in INFINITE),
    ],
)
def test_what_cannot_be_weighed_is_refused_by_name(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_a_value_above_the_cap_names_the_cap_and_the_value():
    for call in (lambda: log_e_support([1.0, 2.02], 1, 2), lambda: mean_bracket([1.0, 2.02], 2)):
        with pytest.raises(CapExceeded, match=r"2\.0.*2\.02 at index 1"):
            call()


def test_bound_zero_and_below():
    assert log_e_refute([0.0, 0.0], 0) == 0.0  # E = 1: all zeros say nothing against E X <= 0
    assert log_e_refute([0.0, 1e-300], 0) == math.inf
    assert log_e_refute([0.0], -1) == math.inf  # contradicts X >= 0
    assert log_e_support([0.0], 0, 1) == -math.inf


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
    for exact in (0.1, F(1, 2), F(3), 5, 0):
        assert round_up(exact) == round_down(exact) == float(exact)


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


# --- planned seeds, against the exact power and against their own inverse ---------------------------------------------


ALPHA = 1e-6
WANTED = log_threshold(ALPHA)


def rejected_share(log_e):
    """Fraction of rejections with its 99.9% interval."""
    count = int((log_e >= WANTED).sum())
    return stats.binomtest(count, len(log_e)).proportion_ci(0.999, "exact")


@pytest.mark.parametrize("ratio", [2.0, 1.5])
def test_planned_refutation_without_a_cap_reaches_its_power_on_the_reference_law(ratio):
    seeds = seeds_to_refute(1, ratio, ALPHA)
    data = ratio * np.random.default_rng(9).standard_normal((600, seeds)) ** 2
    low, high = rejected_share(log_e_refute(data, 1))
    assert low <= 0.97 and high >= 0.85  # a normal approximation


def test_tamer_laws_need_no_more_seeds_than_planned():
    seeds, rng = seeds_to_support(1, 4, 3, ALPHA), np.random.default_rng(10)
    for values in (4 * rng.beta(0.5, 5.5, (400, seeds)), rng.uniform(0, 2 / 3, (400, seeds))):
        assert rejected_share(log_e_support(values, 1, 4))[0] > 0.9


def test_detectable_without_a_cap_inverts_the_plan_and_has_no_slack():
    told = detectable(256, 7, None, ALPHA)
    assert told.slack is None and told.violation is not None
    assert seeds_to_refute(7, 1.001 * told.violation, ALPHA) <= 256 < seeds_to_refute(7, told.violation / 1.02, ALPHA)


def test_too_few_seeds_detect_nothing():
    assert detectable(20, 1, 1000, ALPHA).slack is None  # even X = 0 on all 20 seeds does not support
    assert detectable(1, 1, 4, ALPHA).violation is None
    assert detectable(1, 1, None, ALPHA).violation > 1e3  # without a cap one enormous value refutes


@pytest.mark.parametrize("bound", [0, -1, 4, 5])
def test_bounds_that_cannot_be_tested_detect_nothing(bound):
    told = detectable(100, bound, 4, ALPHA)
    assert told.slack is None and told.violation is None


def test_impossible_plans_say_so():
    with pytest.raises(Undetectable, match="ratio"):
        seeds_to_refute(1, 5, ALPHA, cap=4)
    with pytest.raises(Undetectable, match=r"seeds: wanted at most.*smaller cap"):
        seeds_to_support(1e-9, 1, 2, ALPHA)
    assert issubclass(Undetectable, InputError)
    for slack in (1.0, 0.5):
        with pytest.raises(ValueError, match="slack"):
            seeds_to_support(1, 4, slack, ALPHA)


@pytest.mark.parametrize(
    "bad", [{"alpha": 0}, {"alpha": 1}, {"power": 1.0}, {"cap": 1}, {"bound": 0}, {"bound": 4}, {"bound": -1}], ids=str
)
def test_levels_and_bounds_are_checked_wherever_they_are_given(bad):
    """That of a bound which cannot be tested nothing is detectable is no error: it is tested above."""
    given, named = {"bound": 1, "cap": 4, "alpha": ALPHA, "power": 0.9} | bad, next(iter(bad)).replace("cap", "bound")
    plans = (lambda: seeds_to_support(slack=2, **given), lambda: seeds_to_refute(ratio=2, **given))
    for plan in (*plans, *([lambda: detectable(100, **given)] if named != "bound" else [])):
        with pytest.raises(ValueError, match=f"^{named}"):
            plan()


@pytest.mark.parametrize("cap", [None, 4])
@pytest.mark.parametrize("ratio", [1.0, 0.5, float("inf"), float("nan")])
def test_what_is_no_violation_has_no_plan(ratio, cap):
    with pytest.raises(ValueError, match="ratio: wanted a number strictly between 1"):
        seeds_to_refute(1, ratio, ALPHA, cap=cap)


@pytest.mark.parametrize("scale", [8.0, 2.0**-20])
def test_a_plan_does_not_depend_on_the_unit(scale):
    """Only bound / cap enters: bound and cap times a power of two give the same numbers, digit for digit."""
    for cap in (4.0, None):
        for seeds in (1, 30, 200):
            scaled = None if cap is None else scale * cap
            assert detectable(seeds, scale, scaled, ALPHA) == detectable(seeds, 1.0, cap, ALPHA)
    assert seeds_to_support(scale, 4 * scale, 3, ALPHA) == seeds_to_support(1, 4, 3, ALPHA)
    assert seeds_to_refute(scale, 2, ALPHA, cap=4 * scale) == seeds_to_refute(1, 2, ALPHA, cap=4)
    assert seeds_to_refute(scale, 2, ALPHA) == seeds_to_refute(1, 2, ALPHA)


def exact_e_of_hits(seeds, hits, at_zero, at_cap):
    """The e-value of `hits` seeds at the cap and the others at 0, from its definition."""
    return sum(((1 - g) + g * at_zero) ** (seeds - hits) * ((1 - g) + g * at_cap) ** hits for g in GRID) / len(GRID)


def power_to_support(seeds, bound, cap, share, alpha):
    best = F(cap) / (F(cap) - F(bound))
    hits = [h for h in range(seeds + 1) if exact_e_of_hits(seeds, h, best, 0) >= 1 / alpha]
    return sum(stats.binom.pmf(h, seeds, share) for h in hits)


def power_to_refute(seeds, bound, cap, share, alpha):
    hits = [h for h in range(seeds + 1) if exact_e_of_hits(seeds, h, 0, F(cap) / F(bound)) >= 1 / alpha]
    return sum(stats.binom.pmf(h, seeds, share) for h in hits)


@pytest.mark.parametrize(
    ("bound", "cap", "ratio", "alpha", "power"),
    [(3, 8, 2.5, F(1, 20), 0.8), (1, 4, 2, F(1, 5), 0.9), (F(5, 2), 5, 1.75, F(1, 10), 0.6), (1, 4, 4, F(1, 100), 0.9)],
)
def test_a_plan_is_enough_and_one_seed_less_is_not(bound, cap, ratio, alpha, power):
    """Against the exact power on the law on 0 and the cap, by enumeration; with `ratio * bound = cap` it is certain."""
    for seeds, reached, share in (
        (seeds_to_support(bound, cap, ratio, alpha, power=power), power_to_support, float(bound / F(ratio) / cap)),
        (seeds_to_refute(bound, ratio, alpha, cap=cap, power=power), power_to_refute, float(bound * F(ratio) / cap)),
    ):
        assert reached(seeds, bound, cap, share, alpha) >= power > reached(seeds - 1, bound, cap, share, alpha)


@pytest.mark.parametrize(("bound", "cap", "seeds", "power"), [(3, 8, 12, 0.8), (1, 5, 40, 0.95)])
def test_what_is_detectable_is_detected_with_just_the_power(bound, cap, seeds, power):
    told = detectable(seeds, bound, cap, F(1, 10), power=power)
    assert (told.seeds, told.alpha, told.power) == (seeds, 0.1, power)
    violated, kept = told.violation * bound / cap, bound / (told.slack * cap)
    assert power_to_refute(seeds, bound, cap, violated, F(1, 10)) == pytest.approx(power)
    assert power_to_support(seeds, bound, cap, kept, F(1, 10)) == pytest.approx(power)


@pytest.mark.parametrize(("seeds", "ratio", "power"), [(50, 1.5, 0.9), (300, 4.0, 0.7)])
def test_the_margin_without_a_cap_is_that_of_the_square_of_a_normal_variable(seeds, ratio, power):
    """Mean and variance of the logarithm of each factor by Gauss-Hermite quadrature; the grid's best one counts."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(180)
    weights = weights / weights.sum()
    margins = []
    for lam in (float(g) for g in GRID if g < F(9, 10)):  # beyond, the logarithm is too steep at 0 for so few nodes
        logs = np.log1p(lam * (ratio * nodes**2 - 1))
        mean = logs @ weights
        spread = math.sqrt((logs - mean) ** 2 @ weights)
        margins.append(seeds * mean - stats.norm.ppf(power) * math.sqrt(seeds) * spread)
    wanted = max(margins) - math.log(len(GRID)) + math.log(1e-3)
    assert planning.reference_margin(seeds, ratio, 1e-3, power) == pytest.approx(wanted, rel=0.01, abs=0.05)


@pytest.mark.parametrize("needed", [1, 2, 3, 77, 2**23, 2**23 + 1, planning.MOST_SEEDS])
def test_the_fewest_seeds_are_found_up_to_the_most(needed):
    assert planning.fewest(lambda seeds: seeds >= needed) == needed


def test_one_more_than_the_most_seeds_is_refused():
    with pytest.raises(Undetectable, match="at most 10000000"):
        planning.fewest(lambda seeds: seeds > planning.MOST_SEEDS)


def test_no_violation_however_large_is_seen_at_a_tiny_level_by_one_seed():
    assert detectable(1, 1, None, 1e-40).violation is None
    assert 1 < detectable(2000, 1, None, 1e-3).violation < 1.25


@pytest.mark.parametrize("alpha", [F(1, 3), F(1, 10**6), 0.05])
def test_the_threshold_is_just_above_the_logarithm(alpha):
    with mpmath.workdps(40):
        exact = -mpmath.log(mpmath.mpf(F(alpha).numerator) / F(alpha).denominator)
        assert 0 < mpmath.mpf(log_threshold(alpha)) - exact < 1e-14


def test_a_plan_that_just_reaches_the_threshold_is_enough(monkeypatch):
    """A test rejects at its threshold, and so a margin of 0 is none too few: 37 seeds at the ratio 2, and that ratio for 37 seeds."""
    monkeypatch.setattr(planning, "reference_margin", lambda seeds, ratio, alpha, power: seeds * ratio - 74)
    assert seeds_to_refute(1, 2, ALPHA) == 37 and seeds_to_refute(1, 2.0001, ALPHA) == 37
    assert seeds_to_refute(1, 1.9999, ALPHA) == 38
    assert planning.reference_violation.__wrapped__(37, ALPHA, 0.9) == pytest.approx(2, rel=1e-12)


def test_hits_count_where_their_evidence_just_reaches_the_threshold(monkeypatch):
    """Up to 4 hits of 10 support and from 6 on they refute, each with just the evidence wanted; none where no number has it."""
    monkeypatch.setattr(planning, "log_threshold", lambda alpha: 3.0)

    def evidence(low, high):
        def of_hits(seeds, hits, at_zero, at_cap):
            return 3.0 if (hits <= low if at_cap == 0.0 else hits >= high) else 2.9

        monkeypatch.setattr(planning, "log_e_of_hits", of_hits)
        return planning.most_hits_supported(10, 1, 4, ALPHA), planning.fewest_hits_refuting(10, 1, 4, ALPHA)

    assert evidence(4, 6) == (4, 6) and evidence(0, 10) == (0, 10) and evidence(10, 0) == (10, 0)
    assert evidence(-1, 11) == (None, None)


def test_a_plan_whose_power_is_just_the_wanted_one_is_enough(monkeypatch):
    """One hit of 8 decides: no hit has the probability (3/4)^8 in 8 seeds, and 1 less that of a hit."""
    monkeypatch.setattr(planning, "most_hits_supported", lambda seeds, *given: 0 if seeds >= 5 else None)
    monkeypatch.setattr(planning, "fewest_hits_refuting", lambda seeds, *given: 1 if seeds >= 5 else None)
    none, some = (float(tail(0, 8, 0.25)) for tail in (stats.binom.cdf, stats.binom.sf))
    assert (none, some) == (pytest.approx(0.75**8), pytest.approx(1 - 0.75**8))
    assert seeds_to_support(1, 2, 2, ALPHA, power=none) == 5 and seeds_to_refute(1, 2, ALPHA, cap=8, power=some) == 8
