"""Log-log slopes of convergence curves, with an interval that is honest for skewed data, and the bound's own slope.

One trajectory is not data about a slope: its running mean at T and at 2T share half of their noise, so a regression
line through one trajectory has residuals that say nothing about the error of its slope (a nominal 95% interval from
it covers about 25%). Here each seed has its own independent run per horizon, gives one slope, and the interval is a
t-interval over these slopes. Averaging over independent slopes of logarithms is close to normal even where the values
are skewed, because the logarithm removes the heavy upper tail; a t-interval on the *values* would not be honest.

What the interval is about: the slope of E[log X_T] against log T. It equals the slope of log E[X_T] when the law of
X_T / E[X_T] does not change with T; otherwise averaging groups of seeds before taking logarithms (`group_size`) shrinks
the difference in proportion to 1/group_size.

A measured slope is to be compared with the bound's own slope over the same horizons (`bound_slope`) as well as with the
limit exponent: at finite T a bound with several terms and a floor is flatter than its leading power.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from .evalues import Array

#: Exponents closer than this count as equal: the first steps of a run, before any rate sets in, bend a curve that much.
EXPONENT_TOLERANCE = 0.05


@dataclass(frozen=True)
class SlopeEstimate:
    """A mean slope with its interval; `samples` counts the independent slopes that it rests on."""

    slope: float
    lower: float
    upper: float
    coverage: float
    samples: int

    def contains(self, slope: float) -> bool:
        return self.lower <= slope <= self.upper

    def __str__(self) -> str:
        return f"{self.slope:.3f} [{self.lower:.3f}, {self.upper:.3f}]"


def log_log_slope(horizons: Any, values: Any) -> Array:
    """Least-squares slope of log(values) against log(horizons).

    Args:
        horizons: `(horizons,)`, at least two distinct positive numbers (steps, rounds, clients: any symbol).
        values: `(..., horizons)`, positive; leading axes are separate curves.

    Returns:
        `(...)` slopes.
    """
    t, y = _checked(horizons, values)
    centred = np.log(t) - np.log(t).mean()
    return np.asarray((np.log(y) * centred).sum(axis=-1) / (centred * centred).sum())


def slope_interval(horizons: Any, values: Any, *, group_size: int = 1, coverage: float = 0.95) -> SlopeEstimate:
    """The slope over seeds with a t-interval.

    Assumption: `values[seed, j]` comes from a run of length `horizons[j]` that shares no randomness with the other
    horizons of that seed (a running mean read off one run does not qualify), and seeds are independent. Guarantee:
    asymptotic in the number of seeds, for the slope of E[log X_T]; see the module for what it means for E[X_T].

    Args:
        horizons: `(horizons,)`.
        values: `(seeds, horizons)`, positive, in any one unit.
        group_size: seeds averaged before the logarithm; must leave at least two groups. Left-over seeds are dropped.
        coverage: in (0, 1).
    """
    t, y = _checked(horizons, values)
    if not 0 < coverage < 1:
        raise ValueError(f"coverage: wanted a number in (0, 1), got {coverage!r}")
    if y.ndim != 2 or group_size < 1 or len(y) // group_size < 2:
        raise ValueError(f"values: wanted (seeds, horizons) with two groups of {group_size} seeds, got {y.shape}")
    groups = len(y) // group_size
    averaged = y[: groups * group_size].reshape(groups, group_size, len(t)).mean(axis=1)
    return t_interval(log_log_slope(t, averaged), coverage)


def t_interval(slopes: Array, coverage: float) -> SlopeEstimate:
    """The mean of independent slopes with the t-interval over them."""
    centre, spread = float(slopes.mean()), float(slopes.std(ddof=1)) / math.sqrt(len(slopes))
    reach = float(stats.t.ppf(0.5 + coverage / 2, len(slopes) - 1)) * spread
    return SlopeEstimate(centre, centre - reach, centre + reach, coverage, len(slopes))


def bound_slope(horizons: Any, bounds: Any) -> float:
    """The bound's own slope over the same horizons, by the same fit: what the theory predicts at finite T."""
    return float(log_log_slope(horizons, bounds))


def _checked(horizons: Any, values: Any) -> tuple[Array, Array]:
    t, y = np.asarray(horizons, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if t.ndim != 1 or len(np.unique(t)) < 2 or len(np.unique(t)) < len(t):
        raise ValueError(f"horizons: wanted at least two distinct numbers along one axis, got {t.tolist()}")
    if y.ndim == 0 or y.shape[-1] != len(t):
        raise ValueError(f"values: wanted a last axis of {len(t)} horizons, got shape {y.shape}")
    for name, x in (("horizons", t), ("values", y)):
        if not (np.isfinite(x) & (x > 0)).all():
            raise ValueError(f"{name}: wanted positive finite numbers for a log-log slope, got {float(x.min())!r}")
    return t, y
