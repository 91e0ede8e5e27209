"""The weights of the iterates in a metric, at numbers: exactly, and in doubles as shares of their sum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
import sympy as sp

from ..language.notation import STEP
from ..language.power import Power
from ..language.reading import InputError
from ..language.theorem import Metric, put_in
from .enclosure import EnclosureError, enclose
from .evaluate import fraction_of, in_doubles

_SMALL = 4
"""Primes above this many of them are tried as values of the symbols, whole ones or their inverses: no two are alike."""


@dataclass(frozen=True)
class StepWeights:
    """The weight of the iterate at step t; all weigh alike without a formula.

    Args:
        formula: in `notation.STEP` alone, with exact numbers.

    Example:
        >>> StepWeights((STEP + 1) ** 2).exactly(3)
        Fraction(16, 1)
    """

    formula: sp.Expr

    def exactly(self, t: int) -> Fraction:
        """The weight at step t.

        Raises:
            InputError: it is negative, or no rational number.
        """
        found = _at(self.formula, t)
        if not found.is_Rational or found < 0:
            what = f"it is {found}" if found.is_Rational else "it is no rational number"
            raise InputError(
                f"the weight {self.formula} at t = {t}: wanted a nonnegative number that is rational, {what}"
            )
        return fraction_of(found)

    def exact_shares(self, times: Sequence[int]) -> list[Fraction]:
        """The weights at some steps over their sum.

        Raises:
            InputError: one is negative, or no rational number, or all are 0.
        """
        each = [self.exactly(t) for t in times]
        if not (whole := sum(each, Fraction(0))):
            raise InputError(f"the weights {self.formula} are all 0")
        return [weight / whole for weight in each]

    def shares(self, steps: int, *, after: bool) -> np.ndarray:
        """`(steps + 1,)` the weights at t = 0, ..., steps over their sum; 0 where the metric does not speak of the iterate.

        Args:
            after: whether it speaks of t = 1, ..., steps, and not of t = 0, ..., steps - 1.

        Raises:
            InputError: one is negative or no number, or all are 0.
        """
        times = np.arange(steps + 1, dtype=float)  # whole numbers would wrap around
        with np.errstate(all="ignore"):
            found = np.broadcast_to(np.asarray(_compiled(self.formula)(times), dtype=float), times.shape).copy()
            found[0 if after else -1] = 0.0
            total = found.sum()
        if not (np.isfinite(found).all() and np.isfinite(total) and total > 0):
            found = self._at_any_size(steps, after)
            total = found.sum()
        if not (np.isfinite(found).all() and (found >= 0).all() and total > 0):
            raise InputError(
                f"the weights {self.formula}: wanted nonnegative numbers for t up to {steps}, one of them above 0"
            )
        return np.asarray(found / total)

    def _at_any_size(self, steps: int, after: bool) -> np.ndarray:
        """The weights over the largest one; NaN where one is no number."""
        counted = range(1, steps + 1) if after else range(steps)
        try:
            each = [enclose(self.formula, {STEP: sp.Integer(t)}).lower for t in counted]
        except EnclosureError:
            return np.full(steps + 1, np.nan)
        largest = max(each, default=Fraction(1)) or Fraction(1)
        row = [float(weight / largest) for weight in each]
        return np.array([0.0, *row] if after else [*row, 0.0])


def step_weights(metric: Metric, numbers: Mapping[str, Any]) -> StepWeights:
    """The weights of a metric at the values of the statement's symbols, which are taken exactly."""
    formula = sp.S.One if metric.weights is None else metric.weights
    known = {symbol: sp.Rational(*Fraction(numbers[symbol.name]).as_integer_ratio()) for symbol in _named(formula)}
    return StepWeights(formula.xreplace(known))


def has_rational_weights(metric: Metric) -> bool:
    """Whether the weights are rational numbers wherever the symbols of the statement are."""
    formula = sp.sympify(1 if metric.weights is None else metric.weights)
    primes = (sp.Integer(sp.prime(place + _SMALL)) for place in count())
    some = {s: p if s.is_integer else 1 / p for s, p in zip(sorted(_named(formula), key=str), primes, strict=False)}
    return bool(_at(formula.xreplace(some), 2).is_Rational) and not any(
        part.args[1].is_Rational and not part.args[1].is_Integer for part in formula.atoms(sp.Pow, Power)
    )


def weight_in_doubles(metric: Metric) -> Callable[..., Any]:
    """The weight as a function of the step and of the symbols of `names_in`, on arrays."""
    return _compiled(sp.sympify(1 if metric.weights is None else metric.weights))


@lru_cache(maxsize=64)
def _compiled(formula: sp.Expr) -> Callable[..., Any]:
    return in_doubles([STEP, *sorted(_named(formula), key=str)], formula)


def names_in(metric: Metric) -> Sequence[str]:
    """The symbols that the weights of a metric speak of."""
    return sorted(symbol.name for symbol in _named(sp.sympify(metric.weights or 1)))


def _named(formula: sp.Expr) -> set[sp.Symbol]:
    return {symbol for symbol in formula.free_symbols if symbol != STEP}


def _at(formula: sp.Expr, t: int) -> sp.Expr:
    """The value at step t, long powers of numbers worked out."""
    return put_in(formula.replace(Power, sp.Pow), {STEP: sp.Integer(t)})
