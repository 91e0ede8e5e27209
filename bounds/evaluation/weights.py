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
from ..language.theorem import Metric, Statement

_SMALL = 4
"""Primes above this many of them are tried as values of the symbols, whole ones or their inverses: no two are alike."""
_EACH = 16
"""Steps at each end of a long run, and between them, at which the sign of the weights is looked at."""
_DIGITS = 30
"""Digits with which weights are computed that are too large or too small for doubles."""


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
        found = _rational(self.formula, t)
        if found is None or found < 0:
            what = "it is no rational number" if found is None else f"it is {found}"
            raise InputError(
                f"the weight {self.formula} at t = {t}: wanted a nonnegative number that is rational, {what}"
            )
        return found

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
        """The weights over the largest one."""
        counted = range(1, steps + 1) if after else range(steps)
        each = [sp.N(self.formula.xreplace({STEP: sp.Integer(t)}), _DIGITS) for t in counted]
        if not all(w.is_Float or w.is_Integer for w in each):
            return np.full(steps + 1, np.nan)
        largest = max((w for w in each), default=sp.S.One) or sp.S.One
        row = [float(w / largest) for w in each]
        return np.array([0.0, *row] if after else [*row, 0.0])


def step_weights(metric: Metric, numbers: Mapping[str, Any]) -> StepWeights:
    """The weights of a metric at the values of the statement's symbols, which are taken exactly."""
    formula = sp.S.One if metric.weights is None else metric.weights
    known = {symbol: sp.Rational(*Fraction(numbers[symbol.name]).as_integer_ratio()) for symbol in _named(formula)}
    return StepWeights(formula.xreplace(known))


def refuse_weights(statement: Statement, point: Mapping[sp.Symbol, sp.Expr]) -> None:
    """Of a long run the first and the last steps are looked at, and some between.

    Raises:
        InputError: a weight of the metric is negative or no number at these values of the symbols, or all of a short run are 0.
    """
    theorem, metric = statement.theorem, statement.theorem.metric
    values = {b.quantity.name: point[b.symbol] for b in statement.symbols.values() if b.symbol in point}
    steps = values.get("iterations", values.get("rounds", 0) * values.get("communication_period", 1))
    formula, first = sp.sympify(metric.weights).xreplace(dict(point)), int(theorem.average == "after")
    last = int(steps)
    ends, halves = min(last, _EACH), (last >> times for times in range(min(last.bit_length(), 4 * _EACH)))
    times = sorted({*range(ends), *range(last - ends, last), *(half - 1 for half in halves)})
    found = {t + first: sp.N(formula.xreplace({STEP: sp.Integer(t + first)}), _DIGITS) for t in times}
    for t, weight in found.items():
        if not (weight.is_real and weight.is_finite and weight >= 0):
            shown = f"{float(weight):.6g}" if weight.is_real and weight.is_finite else "no finite real number"
            raise InputError(f"weights {metric.weights}: wanted numbers of at least 0, got {shown} at t = {t}")
    if found and len(found) == steps and all(weight == 0 for weight in found.values()):
        raise InputError(f"weights {metric.weights}: wanted one above 0, all are 0 in {steps} steps")


def has_rational_weights(metric: Metric) -> bool:
    """Whether the weights are rational numbers wherever the symbols of the statement are."""
    formula = sp.sympify(1 if metric.weights is None else metric.weights)
    primes = (sp.Integer(sp.prime(place + _SMALL)) for place in count())
    some = {s: p if s.is_integer else 1 / p for s, p in zip(sorted(_named(formula), key=str), primes, strict=False)}
    return _rational(formula.xreplace(some), 2) is not None and not any(
        part.args[1].is_Rational and not part.args[1].is_Integer for part in formula.atoms(sp.Pow, Power)
    )


def in_doubles(metric: Metric) -> Callable[..., Any]:
    """The weight as a function of the step and of the symbols of `names_in`, on arrays."""
    return _compiled(sp.sympify(1 if metric.weights is None else metric.weights))


@lru_cache(maxsize=64)
def _compiled(formula: sp.Expr) -> Callable[..., Any]:
    return sp.lambdify([STEP, *sorted(_named(formula), key=str)], formula, "numpy")


def names_in(metric: Metric) -> Sequence[str]:
    """The symbols that the weights of a metric speak of."""
    return sorted(symbol.name for symbol in _named(sp.sympify(metric.weights or 1)))


def _named(formula: sp.Expr) -> set[sp.Symbol]:
    return {symbol for symbol in formula.free_symbols if symbol != STEP}


def _rational(expr: sp.Expr, t: int) -> Fraction | None:
    """The value at step t, where it is made by sums, products, whole powers and rounding."""
    if expr == STEP:
        return Fraction(t)
    if expr.is_Rational:
        return Fraction(int(expr.p), int(expr.q))
    parts = [_rational(part, t) for part in expr.args]
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    if expr.is_Add:
        return sum(known, Fraction(0))
    if expr.is_Mul:
        return Fraction(np.prod(np.array(known, dtype=object)))
    if isinstance(expr, sp.floor | sp.ceiling):
        (number,) = known
        return Fraction(number.__floor__() if isinstance(expr, sp.floor) else number.__ceil__())
    if isinstance(expr, sp.Min | sp.Max):
        return min(known) if isinstance(expr, sp.Min) else max(known)
    if isinstance(expr, sp.Pow | Power):
        base, exponent = known
        whole = exponent.denominator == 1 and (base != 0 or exponent >= 0)
        return base ** int(exponent) if whole else None
    return None
