"""E-values for the mean of a nonnegative or bounded variable, in log space.

An e-value is a nonnegative statistic E with E[E] <= 1 under the null hypothesis; by Markov's inequality
P(E >= 1/alpha) <= alpha, whatever the law and however few the observations. Nothing is asked of the tails, which is why
these replace t-intervals for skewed statistics such as ||grad F||^2.

Why E[E] <= 1. Let X_1, ..., X_n be independent.

- Refuting E X <= B (the null is E X_i <= B, X_i >= 0): for fixed lam in [0, 1] the factor (1 - lam) + lam X_i / B is
  nonnegative and has mean (1 - lam) + lam E[X_i] / B <= 1. A product of independent nonnegative factors has the product
  of the means as its mean, hence at most 1, and a mean of such products over a grid of lam fixed in advance keeps that.
- Supporting E X <= B (the null is E X_i >= B, 0 <= X_i <= U): the same with Y_i = (U - X_i) / (U - B), which is
  nonnegative and has mean at most 1 exactly when E X_i >= B.

The proof uses lam in [0, 1], a mean over the grid and a grid that does not look at the data: with lam outside [0, 1]
a factor may be negative or have mean above 1, and the maximum over the grid is not an e-value.

Every returned number is rounded towards *not* rejecting: the bounds are rounded outward when they are turned into
doubles and an error bound of the floating-point sum is subtracted.

Source: Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, JRSS B 86 (2024); Wald (1945).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from numbers import Rational
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...lossless import Number as Number

Array: TypeAlias = NDArray[np.float64]

#: The fixed grid of betting fractions. Small ones serve rare large values (U/B large), those near 1 serve X close to 0.
GRID: tuple[Fraction, ...] = tuple(
    Fraction(per_mille, 1000)
    for per_mille in (1, 2, 5, 10, 20, 50, 100, 150, 200, 300, 400, 500, 600, 700, 800, 900, 950, 990, 1000)
)

FRACTIONS = np.array([float(lam) for lam in GRID])
"""The same as doubles."""
_EPS = float(np.finfo(np.float64).eps)
_LARGEST_RATIO = 1e300  # factors are clipped here; the e-value increases with them, so clipping is conservative
_BISECTION_STEPS = 44
_BLOCK = 100_000  # numbers handled at once: small data sets take the whole grid in one go


class CapExceeded(ValueError):
    """A value lies above the almost-sure cap: the cap, or the constants that it came from, are wrong."""


class Bracket(NamedTuple):
    """A confidence interval for a mean; `upper` is `inf` where no cap is known."""

    lower: float
    upper: float


def log_e_refute(values: Any, bound: Number) -> Array:
    """Log e-value against the claim E X <= `bound`, for independent X >= 0.

    Assumption: `values` are independent, nonnegative, one per seed; their number was fixed in advance, or at least not
    chosen by looking at several e-values. Guarantee: if E X_i <= bound for every i then
    P(exp(result) >= 1/alpha) <= alpha. The unit of `bound` is the unit of `values`.

    Args:
        values: `(..., seeds)`; leading axes are separate data sets, each gets its own e-value.
        bound: the right-hand side. At 0 any positive value refutes with certainty (`inf`); below 0 the claim
            contradicts X >= 0 and is refuted without data (`inf`).

    Returns:
        `(...)` natural logarithms of the e-values.

    Raises:
        ValueError: a value is NaN, infinite or negative, or there are no seeds.
    """
    x = checked_values(values)
    upper = round_up(_finite("bound", bound))
    if upper < 0:
        return np.full(x.shape[:-1], np.inf)
    if upper == 0:
        return np.where((x > 0).any(axis=-1), np.inf, 0.0)
    with np.errstate(over="ignore"):
        return log_mixture(x / upper)


def log_e_support(values: Any, bound: Number, cap: Number) -> Array:
    """Log e-value against E X >= `bound`, that is in support of E X <= `bound`, for independent 0 <= X <= `cap`.

    Assumption: independent values, and `cap` holds almost surely for every law that the claim's assumptions allow (it
    is derived from them, for instance ||grad F||^2 <= C_f^2 C_g^2, not read off the data). Guarantee: if
    E X_i >= bound for every i then P(exp(result) >= 1/alpha) <= alpha.

    Args:
        values: `(..., seeds)` as in `log_e_refute`.
        bound: the right-hand side, in the unit of `values`; 0 or less can never be supported (result -inf).
        cap: the almost-sure cap U, in the unit of `values`; must exceed `bound`, else the claim is vacuous.

    Returns:
        `(...)` natural logarithms of the e-values.

    Raises:
        CapExceeded: a value lies above `cap`; the message names both.
        ValueError: bad values, or `bound` not below `cap`.
    """
    x = checked_values(values)
    check_cap(x, cap)
    top, target = round_up(_finite("cap", cap)), round_down(_finite("bound", bound))
    if not target < top:
        raise ValueError(f"bound: wanted a number below the cap {top!r} (else the claim is vacuous), got {target!r}")
    if target <= 0:
        return np.full(x.shape[:-1], -np.inf)
    with np.errstate(over="ignore"):
        return log_mixture((top - np.minimum(x, top)) / (top - target))


def mean_bracket(values: Any, cap: Number | None = None, *, coverage: float = 0.95) -> Bracket:
    """Confidence interval for a mean, by inverting the two e-values at a number of seeds fixed in advance.

    Assumption: independent 0 <= X <= `cap` with a common mean. Guarantee: the interval holds the mean with probability
    at least `coverage`, each end failing with probability at most (1 - coverage)/2. The lower end is the largest bound
    found that is refuted, the upper end the smallest found that is supported.

    Args:
        values: `(seeds,)`.
        cap: almost-sure cap; without it the upper end is `inf`.
        coverage: in (0, 1).
    """
    x = checked_values(values)
    if x.ndim != 1:
        raise ValueError(f"values: wanted one axis (seeds), got shape {x.shape}")
    if not 0 < coverage < 1:
        raise ValueError(f"coverage: wanted a number in (0, 1), got {coverage!r}")
    wanted = math.log(2 / (1 - coverage))
    lower = lower_end(x, wanted)
    if cap is None:
        return Bracket(lower, math.inf)
    check_cap(x, cap)
    return Bracket(lower, upper_end(np.minimum(x, round_up(cap)), round_up(cap), wanted))


def round_up(x: Number) -> float:
    """The smallest double that is not below `x`."""
    nearest = float(x)
    return math.nextafter(nearest, math.inf) if isinstance(x, Rational) and Fraction(nearest) < x else nearest


def round_down(x: Number) -> float:
    """The largest double that is not above `x`."""
    return -round_up(-x)


def checked_values(values: Any) -> Array:
    """The values as doubles; raises ValueError unless they are finite, nonnegative and at least one."""
    x = np.asarray(values, dtype=np.float64)
    if x.ndim == 0 or x.shape[-1] == 0:
        raise ValueError(f"values: wanted at least one seed along the last axis, got shape {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError(f"values: wanted finite numbers, got {_first(x, ~np.isfinite(x))} (a diverged run?)")
    if (x < 0).any():
        raise ValueError(f"values: wanted numbers >= 0, got {_first(x, x < 0)}")
    return x


def mean(x: Array) -> float:
    """The mean of a one-dimensional array, correctly rounded sum, without overflow."""
    try:
        return math.fsum(x) / len(x)
    except OverflowError:
        return float((x / len(x)).sum())


ROUNDING = 256 * 2.0**-52
"""By how much, relatively, the sum of some hundred rounded squares may exceed a cap that its exact value attains."""


def check_cap(x: Array, cap: Number, spare: float = 0.0) -> None:
    """Raise CapExceeded unless every value is at most the cap, but for the rounding of a sum and `spare` beside it."""
    top = round_up(_finite("cap", cap)) * (1 + ROUNDING)
    if (over := x - spare > top).any():
        raise CapExceeded(f"cap: wanted every value <= {top!r} almost surely, got {_first(x, over)}")


def lower_end(x: Array, wanted: float) -> float:
    """Largest refuted bound found by bisection; the mean itself is never refuted because the logarithm is concave."""

    def refuted(bound: float) -> bool:
        return bool(log_e_refute(x, bound) >= wanted)

    kept = centre = mean(x)
    while kept > 0 and not refuted(kept):
        centre, kept = kept, kept / 16
    return _bisect(refuted, kept, centre) if kept > 0 else 0.0


def upper_end(x: Array, top: float, wanted: float) -> float:
    """Smallest supported bound found by bisection between the mean and the cap; the cap where none is supported."""
    centre = min(mean(x), top)
    just_below = math.nextafter(top, -math.inf)
    supported: Callable[[float], bool] = lambda bound: bool(log_e_support(x, bound, top) >= wanted)  # noqa: E731
    if not centre < just_below or not supported(just_below):
        return top
    return _bisect(supported, just_below, centre)


def _bisect(rejected: Callable[[float], bool], inside: float, outside: float) -> float:
    """Shrink [inside, outside] towards the switch of `rejected`; the returned end is one that is rejected."""
    for _ in range(_BISECTION_STEPS):
        middle = inside + 0.5 * (outside - inside)
        inside, outside = (middle, outside) if rejected(middle) else (inside, middle)
    return inside


def log_mixture(ratio: Array) -> Array:
    """log of mean_lam prod_i ((1 - lam) + lam ratio_i), rounded down. ratio: (..., seeds) -> (...)."""
    y = np.minimum(ratio, _LARGEST_RATIO)
    largest = y.max(axis=-1)
    together = max(1, _BLOCK // y.size)
    blocks = [FRACTIONS[start : start + together] for start in range(0, len(FRACTIONS), together)]
    scratch = np.empty((min(together, len(FRACTIONS)), *y.shape))
    return log_mean(np.concatenate([log_products(y, lam, largest, scratch[: len(lam)]) for lam in blocks]))


def log_products(y: Array, grid: Array, largest: Array, scratch: Array) -> Array:
    """Lower bounds of sum_i log((1 - lam) + lam y_i), one for each lam: (grid, ...).

    Each factor carries at most 6 roundings; the error of the logarithms and of their sum is below
    4 * seeds * eps * sum |terms|, with sum |terms| <= M = 2 * seeds * log^+(largest factor) - sum terms. What is taken off is
    seeds * eps * (8 + 4 * M).
    """
    seeds = y.shape[-1]
    lam = grid.reshape(-1, *[1] * y.ndim)
    np.multiply(lam, y, out=scratch)
    np.add(scratch, 1 - lam, out=scratch)
    with np.errstate(divide="ignore"):
        total = np.log(scratch, out=scratch).sum(axis=-1)
    lam = lam[..., 0]
    magnitude = 2 * seeds * np.log(np.maximum((1 - lam) + lam * largest, 1.0)) - total
    return total - _EPS * seeds * (8 + 4 * magnitude)


def log_mean(log_products: Array) -> Array:
    """log of the mean over the first axis, rounded down."""
    mixed = np.logaddexp.reduce(log_products, axis=0) - math.log(len(log_products))
    return mixed - 64 * _EPS * (1 + np.abs(mixed))


def _first(x: Array, bad: NDArray[np.bool_]) -> str:
    where = tuple(int(i) for i in np.argwhere(bad)[0])
    return f"{float(x[where])!r} at index {where[0] if len(where) == 1 else where}"


def _finite(name: str, x: Number) -> Number:
    if not math.isfinite(x):
        raise ValueError(f"{name}: wanted a finite number, got {x!r}")
    return x
