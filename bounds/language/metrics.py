"""The metrics that a theorem may bound: one row for what is measured of an iterate, one for the iterates that are spoken of.

A metric is a measure over some iterates, `mean_gradient_sq` or `last_distance_sq`: a run records it, the kernel concludes it, and
an answer writes it, all by these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import sympy as sp

from .bounding import MEAN_MODEL
from .dimension import OBJECTIVE, VARIABLE, Dimension
from .theorem import Metric, OwnMeasure

GRADIENT_SQ, GRADIENT, GAP, DISTANCE_SQ = "gradient_sq", "gradient", "gap", "distance_sq"
OWN = "own"
"""The measure of a metric of a theorem's own."""
MEAN, MINIMUM, LAST, WEIGHTED, AVERAGED = "mean", "minimum", "last", "weighted", "averaged"
TAKE_WEIGHTS = (WEIGHTED, AVERAGED)
"""Those that weigh the iterates by a formula in the step t; an averaged iterate without one weighs all alike."""
OVER_OWN = (MEAN, LAST, WEIGHTED, AVERAGED)
"""The iterates of a measure of a theorem's own: those of which a run measures something."""


@dataclass(frozen=True)
class Measure:
    """What is measured at one iterate, with {x} in the place of the iterate.

    `gradient`: the power of the gradient norm that it is; 0 where it is measured from the minimiser.
    """

    text: str
    latex: str
    dimension: Dimension
    meaning: str
    gradient: int = 0


@dataclass(frozen=True)
class Over:
    """The iterates that a metric speaks of: {inner} is the measure, {x} one iterate, {w} the weight of one."""

    text: str
    latex: str
    x: str
    latex_x: str
    meaning: str


MEASURES: Mapping[str, Measure] = {
    GRADIENT_SQ: Measure(
        "E||grad F({x})||^2",
        r"\mathbb{{E}}\|\nabla F({x})\|^2",
        (OBJECTIVE / VARIABLE) ** 2,
        "squared gradient norm",
        2,
    ),
    GRADIENT: Measure("E||grad F({x})||", r"\mathbb{{E}}\|\nabla F({x})\|", OBJECTIVE / VARIABLE, "gradient norm", 1),
    GAP: Measure(
        "E[F({x}) - F(x_*)]", r"\mathbb{{E}}[F({x})-F(x_*)]", OBJECTIVE, "distance of the objective from its minimum"
    ),
    DISTANCE_SQ: Measure(
        "E||{x} - x_*||^2", r"\mathbb{{E}}\|{x}-x_*\|^2", VARIABLE**2, "squared distance from the minimiser"
    ),
}
OVER: Mapping[str, Over] = {
    MEAN: Over(
        "(1/T) sum_t {inner}", r"\frac1T\sum_t{inner}", "xbar_t", r"\bar x_t", "{what}, averaged over the iterates"
    ),
    MINIMUM: Over(
        "min_t {inner}", r"\min_t{inner}", "xbar_t", r"\bar x_t", "{what}, where it is least over the iterates"
    ),
    LAST: Over("{inner}", "{inner}", "xbar_T", r"\bar x_T", "{what} at the last iterate"),
    WEIGHTED: Over(
        "sum_t {w} {inner} / sum_t {w}",
        r"\frac{{\sum_t{w}\,{inner}}}{{\sum_t{w}}}",
        "xbar_t",
        r"\bar x_t",
        "{what}, averaged over the iterates with weights",
    ),
    AVERAGED: Over(
        "{inner}",
        "{inner}",
        "(1/T) sum_t xbar_t",
        r"\tfrac1T\sum_t\bar x_t",
        "{what} at the average of the iterates",
    ),
}
AT_WEIGHTED_AVERAGE = replace(
    OVER[AVERAGED], x="sum_t {w} xbar_t / sum_t {w}", latex_x=r"\tfrac{{\sum_t{w}\bar x_t}}{{\sum_t{w}}}"
)
"""The metric at an average of the iterates with weights, as it is written."""


def _metric(
    of: str,
    over: str,
    failure: str = "",
    letter: str = "",
    weights: sp.Expr | None = None,
    weights_latex: str = "",
    own: OwnMeasure | None = None,
) -> Metric:
    measure = MEASURES[of] if own is None else _said_of(own)
    where = AT_WEIGHTED_AVERAGE if over == AVERAGED and weights is not None else OVER[over]
    said = {"w": "w_t"} if weights is None else {"w": f"({sp.sstr(weights)})"}
    typeset = {"w": "w_t"} if weights is None else {"w": rf"\left({weights_latex}\right)"}
    text, latex = (
        measure.text.format(x=where.x.format(**said)),
        measure.latex.format(x=where.latex_x.format(**typeset)),
    )
    if failure:
        text, latex = text.removeprefix("E"), latex.removeprefix(r"\mathbb{E}")
    name, what = where.text.format(inner=text, **said), where.meaning.format(what=measure.meaning)
    return Metric(
        f"with probability 1 - {failure}, {name}" if failure else name,
        rf"\text{{with probability }}1-{letter}\text{{, }}" * bool(failure)
        + where.latex.format(inner=latex, **typeset),
        measure.dimension,
        f"{what}, but for a probability of {failure}" if failure else f"expected {what}",
        MEAN_MODEL if own is None else "",
        of=of,
        over=over,
        failure=failure,
        weights=weights,
        weights_latex=weights_latex,
        own=own,
    )


def _said_of(own: OwnMeasure) -> Measure:
    name = own.name.replace("_", r"\_")
    return Measure(
        f"E {own.name}({{x}})",
        rf"\mathbb{{{{E}}}}\,\text{{{{{name}}}}}({{x}})",
        own.dimension,
        f"{own.meaning}, by {own.code.text}",
    )


def of_its_own(own: OwnMeasure, over: str) -> Metric:
    """A metric that is measured by code, over some iterates, of `OVER_OWN`."""
    return _metric(OWN, over, own=own)


def with_probability(metric: Metric, failure: str, letter: str) -> Metric:
    """The same along a run, in the place of its expectation: its bound fails with the probability that a symbol stands for."""
    return _metric(metric.of, metric.over, failure, letter, metric.weights, metric.weights_latex, metric.own)


def with_weights(metric: Metric, weights: sp.Expr, latex: str) -> Metric:
    """The same with these weights of the iterates, a formula in the step t."""
    return _metric(metric.of, metric.over, metric.failure, "", weights, latex, metric.own)


METRICS: Mapping[str, Metric] = {f"{over}_{of}": _metric(of, over) for over in OVER for of in MEASURES}
"""The metrics that a definition has a word for, such as `mean_gradient_sq`; at the mean of the clients' models."""


def gradient_power(metric: Metric) -> int:
    """The power of the gradient norm that a metric along a run measures; 0 where it is something else."""
    return 0 if metric.own is not None else MEASURES[metric.of].gradient


def speaks_of_minimiser(metric: Metric) -> bool:
    """Whether a metric along a run is measured from the minimiser."""
    return metric.own is None and not gradient_power(metric)


def word_of(metric: Metric) -> str:
    """The word of a definition for a metric, whatever its weights and probability; empty where it has none."""
    if metric.own is not None:
        return ""
    word = f"{metric.over}_{metric.of}"
    same = _metric(metric.of, metric.over, metric.failure, "", metric.weights, metric.weights_latex)
    return word if word in METRICS and same.name == metric.name else ""
