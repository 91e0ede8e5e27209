"""The unit cube that a search moves in, read coordinate by coordinate."""

from __future__ import annotations

import numpy as np

Array = np.ndarray
_CORNERS = 1.5
"""A range is made so much wider and then clipped, so that its ends are hit."""


class UnitCube:
    """Points `(count, size)` of the unit cube; each call below consumes one coordinate of all points.

    Made without points it counts the coordinates that a decoder wants.

    Example:
        >>> cube = UnitCube(np.array([[0.0, 0.5]]))
        >>> cube.clipped(-1, 1), cube.log(-2, 2)
        (array([-1.]), array([1.]))
    """

    def __init__(self, points: Array | None = None) -> None:
        self.points, self.used = points, 0

    def take(self) -> Array:
        """The next coordinate as it is, in [0, 1]."""
        column = np.full(1, 0.5) if self.points is None else self.points[:, self.used]
        self.used += 1
        return column

    def clipped(self, low: float, high: float) -> Array:
        """Uniform on a range, its ends included with positive probability."""
        middle, half = (low + high) / 2, (high - low) / 2
        return np.clip(middle + _CORNERS * half * (2 * self.take() - 1), low, high)

    def log(self, low: float, high: float) -> Array:
        """10 to a power that is uniform on a range."""
        return 10.0 ** (low + (high - low) * self.take())

    def unit(self, reach: float) -> Array:
        """A scale that is 1 for a third of the coordinate, and up to 10^(+-reach) on either side of it."""
        away = 2 * self.take() - 1
        return 10.0 ** (reach * np.sign(away) * np.maximum(0.0, 1.5 * np.abs(away) - 0.5))

    def limit(self, reach: float) -> Array:
        """A fraction of a limit: 1 for half of the coordinate, down to 10^(-reach) over the other half."""
        return 10.0 ** (-reach * np.maximum(0.0, 1 - 2 * self.take()))

    def whole(self, largest: float) -> Array:
        """A whole number from 1 up, on a log scale to 10^largest; 1 for a third of the coordinate."""
        power = np.maximum(0.0, 1.5 * self.take() - 0.5)
        return np.round(10.0 ** (largest * power))
