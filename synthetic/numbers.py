"""Numbers of a description of a model: read where they are given, and refused in one line."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from ..errors import InputError


class _Wanted(NamedTuple):
    """What a number has to be, in words; the least value, whether it is one itself, and whether only whole numbers are."""

    words: str
    least: float = -math.inf
    included: bool = False
    whole: bool = False


POSITIVE = _Wanted("a finite number above 0", 0)
NONNEGATIVE = _Wanted("a finite number of at least 0", 0, included=True)
REAL = _Wanted("a finite number")
COUNT = _Wanted("a whole number of at least 1", 1, included=True, whole=True)
WHOLE = _Wanted("a whole number of at least 0", 0, included=True, whole=True)
WANTED: Mapping[str, _Wanted] = {
    "weight": POSITIVE,
    "gamma": POSITIVE,
    "lam": POSITIVE,
    "alpha": POSITIVE,
    "margin": POSITIVE,
    "level": REAL,
    "nu": COUNT,
    "support": WHOLE,
    "radius": NONNEGATIVE,
    "points": COUNT,
    "lower_bound": REAL,
    "seed": WHOLE,
}
"""The numbers of all forms of models, and those that say how constants are sought."""


def read_numbers(given: Mapping[str, Any]) -> dict[str, Any]:
    """The same with an `int` for each whole number and a `float` for each other one; what has no row and what is None stay as they are.

    Raises:
        InputError: what is none of the numbers that are wanted under its name.
    """
    return {
        name: _read(name, value) if name in WANTED and value is not None else value for name, value in given.items()
    }


def _read(name: str, value: Any) -> int | float:
    wanted = WANTED[name]
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    inside = math.isfinite(number) and (number > wanted.least or (wanted.included and number == wanted.least))
    if not inside or (wanted.whole and number % 1):
        got = (
            f"{value:g}"
            if isinstance(value, (int, float, Fraction)) and not isinstance(value, bool)
            else repr(value)[:30]
        )
        raise InputError(f"{name}: wanted {wanted.words}, got {got}")
    return int(number) if wanted.whole else number
