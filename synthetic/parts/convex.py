"""A certified lower bound of the minimum of a convex function of one variable."""

from __future__ import annotations

from collections.abc import Callable

_BISECTIONS = 200
_ROUNDING = 1e-12  # relative: a few hundred rounding errors of the value at the end point


def convex_minimum(function: Callable[[float], tuple[float, float]], low: float, high: float) -> float:
    """A number at most min of a convex differentiable `function` on [low, high], and within rounding of it.

    Bisection on the sign of the slope; then, by convexity, min >= value(r) - |slope(r)| (high - low) for every r.

    Args:
        function: returns (value, slope) at a point.
        low, high: the interval, low <= high.

    Raises:
        ValueError: when low > high.

    Example:
        >>> abs(convex_minimum(lambda r: ((r - 1) ** 2, 2 * (r - 1)), 0.0, 5.0)) < 1e-11
        True
    """
    if low > high:
        raise ValueError(f"low must not exceed high, got {low} and {high}")
    left, right = low, high
    for _ in range(_BISECTIONS):
        middle = 0.5 * (left + right)
        left, right = (left, middle) if function(middle)[1] > 0 else (middle, right)
    return max(_bound_from(function, point, low, high) for point in (low, high, left, right))


def _bound_from(function: Callable[[float], tuple[float, float]], point: float, low: float, high: float) -> float:
    value, slope = function(point)
    reach = (point - low) if slope > 0 else (high - point)
    return value - abs(slope) * reach - _ROUNDING * (1.0 + abs(value))
