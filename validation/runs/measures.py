"""What a run measures of a theorem's metric, and the bound of it that holds almost surely, without which nothing is supported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from ...algorithms import Method, Result
from ...algorithms.engine import metrics
from ...algorithms.engine.own_metric import own_metric
from ...bounds.evaluation.weights import step_weights
from ...bounds.language.metrics import (
    AVERAGED,
    DISTANCE_SQ,
    GAP,
    GRADIENT,
    GRADIENT_SQ,
    LAST,
    MINIMUM,
    TAKE_WEIGHTS,
    WEIGHTED,
    gradient_power,
    speaks_of_minimiser,
)
from ...bounds.language.reading import InputError
from ...bounds.language.theorem import Metric, OwnMeasure, Theorem
from ..statistics.verdict import RESOLUTION, Verdict, judge

RECORDED: Mapping[str, Callable[[Any, Any, int], Any]] = {
    GRADIENT_SQ: metrics.gradient_norm_squared,
    GRADIENT: metrics.gradient_norm,
    GAP: metrics.gap,
    DISTANCE_SQ: metrics.distance_squared,
}
"""Measure -> what a run records of it, at the averaged model."""


def measure_of(metric: Metric) -> metrics.Metric:
    """What is recorded of a metric's measure.

    Raises:
        InputError: it is code that a file of data names, and that is not trusted; or it is no function. When it measures: it fails, or
            gives something else than a number that is at least 0 for each seed.
    """
    return RECORDED[metric.of] if metric.own is None else own_metric(metric.own.code)


def recorded(
    metric: Metric, problem: Any, shares: np.ndarray | None = None, numbers: Mapping[str, float] | None = None
) -> Mapping[str, Callable[[Any, Any, int], Any]]:
    """What a run records for a metric: under "metric" what is measured, under "share" that times the weight of the iterate.

    Args:
        shares: of the iterates t = 0, ..., T, where the metric weighs them.
        numbers: the values of the statement's symbols, where the cap of a metric of one's own is compared with every number.

    Raises:
        InputError: the problem has no known minimiser, or the metric is a minimum over the iterates; as `measure_of`. When it measures:
            a number exceeds the cap.
    """
    if metric.over == MINIMUM:
        raise InputError(
            f"{metric.name}: a run measures no minimum of expectations; wanted mean_{metric.of}, which is at least as large"
        )
    if speaks_of_minimiser(metric) and getattr(problem, "minimiser", None) is None:
        raise InputError(f"{problem.name}: wanted a problem that knows its minimiser, which {metric.name} speaks of")
    measure = measure_of(metric)
    if metric.own is not None and metric.own.cap is not None and numbers is not None:
        measure = _within(measure, said_cap(metric.own, numbers), metric.own)
    if metric.over != WEIGHTED or shares is None:
        return {"metric": measure}
    return {"metric": measure, "share": lambda problem, state, t: float(shares[t]) * measure(problem, state, t)}


def _within(measure: metrics.Metric, cap: float, own: OwnMeasure) -> metrics.Metric:
    """The same, with every number compared with what its definition says that it never exceeds."""

    def checked(problem: Any, state: Any, t: int) -> Any:
        found = measure(problem, state, t)
        if (largest := float(found.max())) > cap * (1 + RESOLUTION):
            raise InputError(
                f"{own.code.text}: wanted at most its cap {own.cap} = {cap:g}, got {largest:g} at step {t}"
            )
        return found

    return checked


def shares_of(metric: Metric, numbers: Mapping[str, float], steps: int, average: str) -> np.ndarray | None:
    """(steps + 1,) the weights of the iterates over their sum, where the metric weighs them.

    Raises:
        InputError: one is negative, or all are 0.
    """
    if metric.over not in TAKE_WEIGHTS:
        return None
    return step_weights(metric, numbers).shares(steps, after=average == "after")


def statistic_of(
    metric: Metric, problem: Any, result: Result, average: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(seeds,) each: what the statement speaks of, and the means over t = 0..T-1 and t = 1..T of what was recorded as "metric"."""
    first, last = result.values["metric"][0], result.values["metric"][-1]
    before = result.mean("metric").flatten()
    after = before + (last - first) / float(result.counts[-1])
    if metric.over == WEIGHTED:
        found = result.sums["share"][-1] + result.values["share"][-1]
    elif metric.over == AVERAGED:
        found = measure_of(metric)(problem, At(result.averaged), int(result.counts[-1]))
    else:
        found = last if metric.over == LAST else after if average == "after" else before
    found, before, after = (each.flatten().cpu() for each in (found, before, after))
    return found.numpy(), before.numpy(), after.numpy()


@dataclass(frozen=True)
class At:
    """Models that are measured as those of a state are."""

    average: Any


def squared_cap(problem: Any) -> float:
    """The almost sure bound of ||grad F||^2 that verdicts, plans and figures are made with.

    Raises:
        InputError: the problem certifies none, as where gradients are unbounded.
    """
    certificate = problem.certificates.get("gradient_cap")
    if certificate is None:
        wanted = "wanted a problem that certifies gradient_cap, got one with unbounded gradients"
        raise InputError(f"{problem.name}: {wanted}: without a cap nothing can be supported")
    return float(certificate.value) ** 2


def metric_cap(
    theorem: Theorem,
    problem: Any,
    moves: Callable[[], Method],
    steps: Callable[[], int],
    numbers: Mapping[str, float] | None = None,
) -> float:
    """The almost sure bound of what a theorem's metric measures, along a run.

    The gradient has one everywhere. A squared distance is at most R^2, and a gap at most L/2 R^2 and C R, where R is how far
    a run of the method can come from the minimiser, and C bounds the gradient, where it has a bound. The problem knows R for methods
    whose models are means of gradient steps. A metric of one's own has the cap that its definition says.

    Args:
        numbers: the values of the statement's symbols, which such a cap speaks of.

    Raises:
        InputError: no such bound is known.
    """
    metric = theorem.metric
    if metric.own is not None:
        return said_cap(metric.own, numbers or {})
    if power := gradient_power(metric):
        return float(squared_cap(problem) ** (power / 2))
    method, reach = moves(), getattr(problem, "reach", None)
    step = method.gradient_step
    if step is None or reach is None:
        who = f"the method {method.name}" if step is None else problem.name
        raise InputError(f"{theorem.id}: {who} has no bound of {metric.name} along a run, so nothing can be supported")
    radius = reach(float(step), steps())
    if radius is None:
        raise InputError(f"{theorem.id}: on {problem.name} no bound of {metric.name} is known for steps of {step:g}")
    if metric.of == DISTANCE_SQ:
        return float(radius**2)
    known = problem.certificates
    steepest = float(known["gradient_cap"].value) * radius if "gradient_cap" in known else float("inf")
    return min(float(known["objective_smoothness"].value) * radius**2 / 2, steepest)


def said_cap(own: OwnMeasure, numbers: Mapping[str, Any]) -> float:
    """What a metric of one's own never exceeds, as its definition says.

    Raises:
        InputError: it says nothing, or speaks of a symbol without a value.
    """
    if own.cap is None:
        raise InputError(
            f"nothing says what {own.name} never exceeds, without which nothing is supported; wanted cap = FORMULA under [metric]"
        )
    names = {symbol: str(symbol) for symbol in own.cap.free_symbols}
    if missing := sorted(names.values() - numbers.keys()):
        raise InputError(f"the cap of {own.name} speaks of {missing[0]}, which has no value before the run")
    cap = own.cap.xreplace({symbol: sp.Float(float(numbers[name]), 30) for symbol, name in names.items()})
    if not (cap.is_number and cap.is_finite and cap.is_positive):
        raise InputError(f"the cap of {own.name}, {own.cap}: wanted a positive number, got {cap}")
    return float(cap)


@dataclass(frozen=True)
class Judged:
    """What is judged of a bound: the mean of `values`, known to `resolution`, is at most `bound`, and none of them is above `cap`."""

    values: np.ndarray
    bound: float
    cap: float
    resolution: float | None = None

    def verdict(self, **about: Any) -> Verdict:
        """That of `judge`, which has its other arguments."""
        return judge(self.values, self.bound, cap=self.cap, resolution=self.resolution, **about)


def judged(metric: Metric, numbers: Mapping[str, float], statistic: np.ndarray, bound: float, cap: float) -> Judged:
    """The claim on expectations that a verdict is about: of a bound that may fail with probability delta, how often it does.

    A bound that is not below the cap never fails, and says nothing: it is judged as it stands, as vacuous.

    Args:
        statistic: (seeds,) what the metric measures along each run. numbers: the values of the statement's symbols.
    """
    if not metric.failure or bound >= cap:
        return Judged(statistic, bound, cap)
    fails, near = (
        statistic > bound,
        np.abs(statistic - bound) <= RESOLUTION * cap,
    )  # where rounding decides nothing is said
    return Judged(fails.astype(float), numbers[metric.failure], 1.0, 1.0 if near.any() else None)
