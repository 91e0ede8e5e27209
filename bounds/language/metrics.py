"""The metrics that a theorem may bound: one row for what is measured of an iterate, one for the iterates that are spoken of.

A metric is a measure over some iterates, `mean_gradient_sq` or `last_distance_sq`: a run records it, the kernel concludes it, and
an answer writes it, all by these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .bounding import MEAN_MODEL
from .dimension import OBJECTIVE, VARIABLE, Dimension
from .theorem import Metric

GRADIENT_SQ, GAP, DISTANCE_SQ = "gradient_sq", "gap", "distance_sq"
MEAN, MINIMUM, LAST = "mean", "minimum", "last"


@dataclass(frozen=True)
class Measure:
    """What is measured at one iterate, with {x} in the place of the iterate."""

    text: str
    latex: str
    dimension: Dimension
    meaning: str


@dataclass(frozen=True)
class Over:
    """The iterates that a metric speaks of: {inner} is the measure, {x} one iterate."""

    text: str
    latex: str
    x: str
    latex_x: str
    meaning: str


MEASURES: Mapping[str, Measure] = {
    GRADIENT_SQ: Measure(
        "E||grad F({x})||^2", r"\mathbb{{E}}\|\nabla F({x})\|^2", (OBJECTIVE / VARIABLE) ** 2, "squared gradient norm"
    ),
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
}


def _metric(of: str, over: str, failure: str = "", letter: str = "") -> Metric:
    measure, where = MEASURES[of], OVER[over]
    text, latex = measure.text.format(x=where.x), measure.latex.format(x=where.latex_x)
    if failure:
        text, latex = text.removeprefix("E"), latex.removeprefix(r"\mathbb{E}")
    said, what = where.text.format(inner=text), where.meaning.format(what=measure.meaning)
    return Metric(
        f"with probability 1 - {failure}, {said}" if failure else said,
        rf"\text{{with probability }}1-{letter}\text{{, }}" * bool(failure) + where.latex.format(inner=latex),
        measure.dimension,
        f"{what}, but for a probability of {failure}" if failure else f"expected {what}",
        MEAN_MODEL,
        of=of,
        over=over,
        failure=failure,
    )


def with_probability(metric: Metric, failure: str, letter: str) -> Metric:
    """The same along a run, in the place of its expectation: its bound fails with the probability that a symbol stands for."""
    return _metric(metric.of, metric.over, failure, letter)


METRICS: Mapping[str, Metric] = {f"{over}_{of}": _metric(of, over) for over in OVER for of in MEASURES}
"""The metrics that a definition has a word for, such as `mean_gradient_sq`; at the mean of the clients' models."""
