"""The factor bound / measured as a product: a line for each constant put in as it is along the run, and one for what remains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

from ...bounds.evaluation.evaluate import Bound
from ...bounds.evaluation.evaluate import bound as evaluated
from ...bounds.language.reading import InputError
from ...bounds.language.theorem import Statement
from .along import Trajectory, attained


@dataclass(frozen=True)
class ConstantLine:
    """One constant put in as it is along the run: `factor` is the bound before over the bound after.

    Args:
        worst: its value in the theorem's bound. along: the largest value along the run.
    """

    symbol: str
    quantity: str
    worst: float
    along: float
    factor: float


@dataclass(frozen=True)
class TermLine:
    """A term of the bound with the constants along the run; `times` is it over the measured metric."""

    name: str
    value: float
    times: float


@dataclass(frozen=True)
class Explanation:
    """Why a bound is so many times the measured metric. The product of all lines is `factor`.

    Args:
        factor: bound / measured.
        constants: one line each, in the order of the theorem's notation; another order gives other lines.
        remaining: bound with all these constants along the run / measured. It is computed as this quotient: that it completes the
            product says nothing of its cause.
        terms: the terms of that bound; their `times` add up to `remaining`.
        kept: symbol -> why it stays at its value.
    """

    factor: float
    constants: tuple[ConstantLine, ...]
    remaining: float
    terms: tuple[TermLine, ...]
    kept: Mapping[str, str]


def explain(
    statement: Statement, values: Mapping[str, Any], bound: Bound, measured: float, problem: Any, models: Trajectory
) -> Explanation:
    """The product for one run.

    Args:
        values: those of the statement's symbols with which `bound` was evaluated.
        measured: the metric of the statement, positive.
        models: of the run that was measured.
    """
    known, now = dict(values), bound
    lines: list[ConstantLine] = []
    kept: dict[str, str] = {}
    for name, binding in statement.symbols.items():
        if binding.quantity.role != "constant":
            continue
        value = attained(problem, binding.quantity.name, models)
        if value is None:
            kept[name] = "not measured along a run"
            continue
        if problem.certificates[binding.quantity.name].kind != "estimated":
            value = min(value, float(known[name]))  # proved to be no more: what is above is a rounding error
        try:
            after = evaluated(statement, {**known, name: Fraction(value)}, strict=False)
        except InputError as error:
            kept[name] = f"{value:.4g} along the run cannot be put in: {error}"
            continue
        if after.total is None or now.total is None or not (isfinite(after.total) and after.total > 0):
            kept[name] = f"{value:.4g} along the run makes the bound {after.total}"
            continue
        lines.append(ConstantLine(name, binding.quantity.name, float(known[name]), value, now.total / after.total))
        known[name], now = Fraction(value), after
    assert bound.total is not None and now.total is not None
    terms = tuple(TermLine(name, value, value / measured) for name, value in now.terms.items())
    return Explanation(bound.total / measured, tuple(lines), now.total / measured, terms, kept)
