"""How many seeds a verdict needs, computed before the run, and what a given number of seeds can detect.

Planning is done against the least favourable law on [0, cap]: the two-point law on {0, cap} with the wanted mean. The
logarithm of each e-value factor is concave in X, so among all laws on [0, cap] with that mean the two-point law has the
smallest expected growth per seed, which is (at the best betting fraction) the Kullback-Leibler divergence
KL(mean/cap || bound/cap). Under this law the e-value depends on the data only through the number of seeds that hit the
cap, so the power is an exact binomial probability, mixture cost included (the rounding allowance of the e-value, of the
order of 1e-10, is not).

Refuting with no cap known has no least favourable law (a rare huge value can hide any violation). There the plan uses
the scaled chi-square law with one degree of freedom, a square of one Gaussian, as a *reference* law and a normal
approximation of the log e-value; that is a convention for comparing plans and not a guarantee.

Source: Kelly (1956); Waudby-Smith and Ramdas (2024).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

from ...bounds.evaluation.without_running import is_vacuous
from ...errors import InputError
from .evalues import FRACTIONS, Array, Number, round_down

#: Probability with which a planned test reaches its verdict.
DEFAULT_POWER = 0.9
#: Above this a plan says "choose another instance" instead of a number.
MOST_SEEDS = 10_000_000

_REFERENCE_ATOMS = 2048
_MATCHED_RATIO_STEPS = 50


class Undetectable(InputError):
    """No admissible number of seeds reaches the wanted verdict."""


@dataclass(frozen=True)
class Detectable:
    """What a number of seeds can tell at level alpha and power: ratios above 1, None where nothing can be told.

    `violation`: the bound is refuted when the true mean is at least `violation * bound`.
    `slack`: the bound is supported when the true mean is at most `bound / slack`.
    """

    seeds: int
    alpha: float
    power: float
    violation: float | None
    slack: float | None


def seeds_to_support(bound: Number, cap: Number, slack: float, alpha: Number, *, power: float = DEFAULT_POWER) -> int:
    """Seeds that support E X <= bound with probability `power` when the true mean is bound/slack.

    Assumption: the planning law is two-point on {0, cap}; see the module. bound and cap in the unit of X.
    Raises Undetectable when more than MOST_SEEDS are needed, ValueError on a vacuous bound or slack <= 1.
    """
    _check_levels(alpha, power)
    _check_between("bound", float(bound), 0.0, float(cap))
    _check_between("slack", slack, 1.0, math.inf)
    mean_share = float(bound) / (slack * float(cap))

    def enough(seeds: int) -> bool:
        hits = most_hits_supported(seeds, bound, cap, alpha)
        return hits is not None and stats.binom.cdf(hits, seeds, mean_share) >= power

    return fewest(enough)


def seeds_to_refute(
    bound: Number, ratio: float, alpha: Number, *, cap: Number | None = None, power: float = DEFAULT_POWER
) -> int:
    """Seeds that refute E X <= bound with probability `power` when the true mean is ratio*bound.

    With a cap the planning law is two-point on {0, cap}; without one it is the reference law of the module (the bound
    then cancels, since only X/bound enters). Raises as `seeds_to_support`, and when ratio*bound exceeds the cap.
    """
    _check_levels(alpha, power)
    _check_between("bound", float(bound), 0.0, math.inf if cap is None else float(cap))
    _check_between("ratio", ratio, 1.0, math.inf)
    if cap is None:
        return fewest(lambda seeds: reference_margin(seeds, ratio, float(alpha), power) >= 0)
    share = ratio * float(bound) / float(cap)
    if share > 1:
        raise Undetectable(f"ratio: wanted ratio * bound <= cap = {float(cap)!r}, got {ratio * float(bound)!r}")

    def enough(seeds: int) -> bool:
        hits = fewest_hits_refuting(seeds, bound, cap, alpha)
        return hits is not None and stats.binom.sf(hits - 1, seeds, share) >= power

    return fewest(enough)


def detectable(
    seeds: int, bound: Number, cap: Number | None, alpha: Number, *, power: float = DEFAULT_POWER
) -> Detectable:
    """The smallest violation and the smallest slack that `seeds` seeds detect with probability `power`.

    The slack is None without a cap, for a vacuous bound, and where even X = 0 on every seed does not suffice.
    """
    _check_levels(alpha, power)
    if bound <= 0 or is_vacuous(bound, cap):
        return Detectable(seeds, float(alpha), power, None, None)
    if cap is None:
        return Detectable(seeds, float(alpha), power, reference_violation(seeds, float(alpha), power), None)
    violation = _two_point_violation(seeds, bound, cap, alpha, power)
    return Detectable(seeds, float(alpha), power, violation, _two_point_slack(seeds, bound, cap, alpha, power))


def _two_point_violation(seeds: int, bound: Number, cap: Number, alpha: Number, power: float) -> float | None:
    hits = fewest_hits_refuting(seeds, bound, cap, alpha)
    if hits is None:
        return None
    share = float(stats.beta.ppf(power, hits, seeds - hits + 1))  # P(Binomial(seeds, share) >= hits) = power
    return share * float(cap) / float(bound)


def _two_point_slack(seeds: int, bound: Number, cap: Number, alpha: Number, power: float) -> float | None:
    hits = most_hits_supported(seeds, bound, cap, alpha)
    if hits is None:
        return None
    share = float(stats.beta.ppf(1 - power, hits + 1, seeds - hits))  # P(Binomial(seeds, share) <= hits) = power
    return float(bound) / (share * float(cap))


def log_e_of_hits(seeds: int, hits: int, at_zero: float, at_cap: float) -> float:
    """Log e-value of `hits` seeds at the cap and the others at 0, from the two values of X/B (or of its mirror)."""
    lam = FRACTIONS
    with np.errstate(divide="ignore"):
        logs = [
            count * np.log((1 - lam) + lam * ratio) if count else np.zeros_like(lam)
            for count, ratio in ((seeds - hits, at_zero), (hits, at_cap))
        ]
    return float(np.logaddexp.reduce(logs[0] + logs[1])) - math.log(len(lam))


def most_hits_supported(seeds: int, bound: Number, cap: Number, alpha: Number) -> int | None:
    """Largest number of seeds at the cap that still supports; None where even none at the cap does not."""
    wanted, best = log_threshold(alpha), float(cap) / (float(cap) - float(bound))
    first = bisect_left(range(seeds + 1), True, key=lambda hits: log_e_of_hits(seeds, hits, best, 0.0) < wanted)
    return None if first == 0 else first - 1


def fewest_hits_refuting(seeds: int, bound: Number, cap: Number, alpha: Number) -> int | None:
    """Smallest number of seeds at the cap that refutes; None where even all of them do not."""
    wanted, best = log_threshold(alpha), float(cap) / float(bound)
    first = bisect_left(range(seeds + 1), True, key=lambda hits: log_e_of_hits(seeds, hits, 0.0, best) >= wanted)
    return None if first > seeds else first


def log_threshold(alpha: Number) -> float:
    """log(1/alpha): the log e-value at which a test of level alpha rejects, rounded towards not rejecting."""
    return math.nextafter(-math.log(round_down(alpha)), math.inf)


def fewest(enough: Callable[[int], bool]) -> int:
    """A number of seeds that is enough while one less is not: doubling, then bisection (power is a sawtooth in n)."""
    low, high = 0, 1
    while not enough(high):
        if high == MOST_SEEDS:
            raise Undetectable(f"seeds: wanted at most {MOST_SEEDS}; choose an instance with a smaller cap / bound")
        low, high = high, min(2 * high, MOST_SEEDS)
    return low + 1 + bisect_left(range(low + 1, high), True, key=enough)


@lru_cache(maxsize=1)
def _reference_law() -> Array:
    """Equiprobable atoms (quantile midpoints) of chi-square with one degree of freedom, scaled to mean 1."""
    atoms = stats.chi2.ppf((np.arange(_REFERENCE_ATOMS) + 0.5) / _REFERENCE_ATOMS, 1)
    return np.asarray(atoms / atoms.mean(), dtype=np.float64)


def reference_margin(seeds: int, ratio: float, alpha: float, power: float) -> float:
    """How far the (1 - power) quantile of the log e-value lies above log(1/alpha), under ratio * reference law."""
    lam = FRACTIONS[:, None]
    factors = np.log((1 - lam) + lam * ratio * _reference_law())
    low_quantile = seeds * factors.mean(1) - stats.norm.ppf(power) * math.sqrt(seeds) * factors.std(1)
    return float(low_quantile.max()) - math.log(len(FRACTIONS)) + math.log(alpha)


@lru_cache(maxsize=256)
def reference_violation(seeds: int, alpha: float, power: float) -> float | None:
    low, high = 1.0, 2.0
    while reference_margin(seeds, high, alpha, power) < 0:
        low, high = high, high * high
        if high > 1e30:
            return None
    for _ in range(_MATCHED_RATIO_STEPS):
        middle = math.sqrt(low * high)
        enough = reference_margin(seeds, middle, alpha, power) >= 0
        low, high = (low, middle) if enough else (middle, high)
    return high


def _check_levels(alpha: Number, power: float) -> None:
    _check_between("alpha", float(alpha), 0.0, 1.0)
    _check_between("power", power, 0.0, 1.0)


def _check_between(name: str, x: float, low: float, high: float) -> None:
    if not low < x < high:
        raise ValueError(f"{name}: wanted a number strictly between {low} and {high}, got {x!r}")
