"""The factor bound / measured as a product: a line for each constant put in as it is along the run, then the links of the proof."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import comb, exp, isfinite
from typing import Any

import numpy as np

from ...bounds.evaluation.evaluate import Bound
from ...errors import InputError
from ...synthetic.certificate import Certificate
from ..lemmas.link import trace_run
from ..lemmas.report import LemmaReport
from ..lemmas.sides import START, counterparts, report_of
from ..runs.registry import chain_for
from .along import Trajectory, attained
from .bench import Bench, sides_over

MOST = 14
"""Most constants that are put in, in all 2^14 combinations; others stay."""


@dataclass(frozen=True)
class ConstantLine:
    """One constant put in as it is along the run.

    Args:
        worst: its value in the theorem's bound. along: the largest value along the run.
        factor: the bound before over the bound after, its geometric mean over all orders in which the constants can be put in.
        assumptions: of the theorem's list, those that state it.
    """

    symbol: str
    quantity: str
    worst: float
    along: float
    factor: float
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True)
class LinkLine:
    """A step of the paper's proof with the constants along the run.

    `bound` is what the steps up to here give for the measured metric, everything else as observed; `factor` is it over the one before, the
    first over what was measured.
    """

    name: str
    bound: float
    factor: float


@dataclass(frozen=True)
class TermLine:
    """A term of the bound.

    Args:
        worst: in the theorem's bound. value: with the constants along the run; `times` is it over the measured metric.
        counterpart: what the run shows of it by the lemmas' observables; None where no lemma observes it.
        slack: value / counterpart; None without one, or where it is not positive.
    """

    name: str
    value: float
    times: float
    worst: float
    counterpart: float | None = None
    slack: float | None = None

    @property
    def excess(self) -> float:
        """What of `times` no lemma observes."""
        return self.times if self.slack is None else self.times * (1 - 1 / self.slack)


@dataclass(frozen=True)
class Explanation:
    """Why a bound is so many times the measured metric. The product of `constants` and `remaining` is `factor`.

    Args:
        factor: bound / measured.
        constants: one line each, in the order of the theorem's notation.
        remaining: bound with all these constants along the run / measured.
        links: the steps of the proof; their product is `remaining`. Empty where the theorem has no chain of lemmas (`no_links` says why).
        terms: the terms of that bound; their `times` add up to `remaining`.
        kept: symbol -> why it stays at its value.
    """

    factor: float
    constants: tuple[ConstantLine, ...]
    remaining: float
    terms: tuple[TermLine, ...]
    kept: Mapping[str, str]
    links: tuple[LinkLine, ...] = ()
    no_links: str = ""

    @property
    def along(self) -> dict[str, Fraction]:
        """The constants along the run, by symbol."""
        return {line.symbol: Fraction(line.along) for line in self.constants}


def along_the_run(
    bench: Bench, models: Trajectory, how: Callable[[Any, str, Trajectory], float | None] = attained
) -> tuple[dict[str, Fraction], dict[str, str]]:
    """Constants of a statement along a run, by symbol, and why the others stay; `how` is `attained` or `typical`."""
    found: dict[str, Fraction] = {}
    kept: dict[str, str] = {}
    for name, binding in bench.statement.symbols.items():
        if binding.quantity.role != "constant":
            continue
        try:
            value = how(bench.problem, binding.quantity.name, models)
        except InputError as error:  # such as noise over the examples of clients that have not as many
            kept[name] = f"cannot be measured along a run: {error}"
            continue
        if value is None:
            kept[name] = "not measured along a run"
            continue
        if bench.problem.certificates[binding.quantity.name].kind != "estimated":
            value = min(value, float(bench.values[name]))  # proved to be no more: what is above is a rounding error
        found[name] = Fraction(value)
    return found, kept


def explain(bench: Bench, theory: Fraction, seeds: int, models: Trajectory) -> Explanation | None:
    """The product for the runs at one step size; None where the bound or the measured metric is not positive.

    Args:
        models: of these runs.
    """
    bound, measured = bench.bound(theory), bench.measure(theory, seeds).mean
    if not (bound.total and bound.total > 0 and measured and measured > 0 and bound.admissible):
        return None
    along, kept = along_the_run(bench, models)
    along = _accepted(bench, theory, along, kept)
    factors = _factors(bench, theory, along)
    last = bench.bound(theory, **along)
    assert last.total is not None
    lines = tuple(
        ConstantLine(
            name,
            bench.statement.symbols[name].quantity.name,
            float(bench.values[name]),
            float(value),
            factors[name],
            _stated_by(bench, name),
        )
        for name, value in along.items()
    )
    links, seen, why = _links(bench, theory, seeds, measured, last, along)
    terms = _terms(bench, bound, last, measured, seen)
    return Explanation(bound.total / measured, lines, last.total / measured, terms, kept, links, why)


def _accepted(
    bench: Bench, theory: Fraction, along: Mapping[str, Fraction], kept: dict[str, str]
) -> dict[str, Fraction]:
    """The constants that can be put in together; `kept` gets the reason for each of the others."""
    taken: dict[str, Fraction] = {}
    for name, value in along.items():
        if len(taken) == MOST:
            kept[name] = f"more than {MOST} constants"
            continue
        try:
            total = bench.bound(theory, **taken, **{name: value}).total
        except InputError as error:
            kept[name] = f"{float(value):.4g} along the run cannot be put in: {error}"
            continue
        totals = _totals(bench, theory, {**taken, name: value})
        if total is None or not np.all(np.isfinite(totals) & (totals > 0)):
            kept[name] = f"{float(value):.4g} along the run makes the bound {total}"
            continue
        taken[name] = value
    return taken


def _totals(bench: Bench, theory: Fraction, along: Mapping[str, Fraction]) -> np.ndarray:
    """The bound with every subset of these constants put in: (2^n,), bit k of the index for the k-th of them."""
    subsets = np.arange(2 ** len(along))
    put = {
        name: np.where(subsets >> k & 1, float(value), float(bench.values[name]))
        for k, (name, value) in enumerate(along.items())
    }
    total: np.ndarray = sides_over(bench.statement, {**bench.values, bench.step: float(theory), **put})["total"]
    return np.broadcast_to(total, subsets.shape)


def _factors(bench: Bench, theory: Fraction, along: Mapping[str, Fraction]) -> dict[str, float]:
    """Of each constant the geometric mean, over all orders, of the bound before over the bound after it is put in.

    A subset of k others stands before it in 1 of n binom(n - 1, k) orders, up to the order inside (the Shapley value of the logarithm).
    """
    if not along:
        return {}
    logs = np.log(_totals(bench, theory, along))
    subsets, n = np.arange(len(logs)), len(along)
    size = np.sum([subsets >> k & 1 for k in range(n)], axis=0)
    weights = np.array([1 / (n * comb(n - 1, k)) for k in range(n)])
    found = {}
    for place, name in enumerate(along):
        without = subsets[(subsets >> place & 1) == 0]
        gains = logs[without] - logs[without | 1 << place]
        found[name] = exp(float((weights[size[without]] * gains).sum()))
    return found


def _stated_by(bench: Bench, symbol: str) -> tuple[str, ...]:
    """The entries of the theorem's list that state a constant."""
    return tuple(
        item.name
        for item in bench.theorem.assumptions
        if any(symbol == (each if isinstance(each, str) else each[0]) for each in item.bounds)
        and item.only in ("", bench.label)
    )


@dataclass(frozen=True)
class _Along:
    """A problem as the lemmas read it, with constants along a run in the place of its own."""

    name: str
    certificates: Mapping[str, Certificate]


def _links(
    bench: Bench, theory: Fraction, seeds: int, measured: float, last: Bound, along: Mapping[str, Fraction]
) -> tuple[tuple[LinkLine, ...], dict[str, float], str]:
    """The links of the proof, what the run shows of each term, and why there are no links."""
    try:
        chain = chain_for(bench.theorem.id)
    except InputError:
        return (), {}, "the theorem has no chain of lemmas whose sides can be observed"
    symbols = bench.statement.symbols
    own = dict(bench.problem.certificates)
    for name, value in along.items():
        quantity = symbols[name].quantity.name
        own[quantity] = Certificate(quantity, float(value), "estimated", "the largest value along the run")
    seen_as = _Along(bench.problem.name, own)
    numbers, steps = bench.numbers(theory), bench.steps(theory)
    try:
        trace = trace_run(chain, bench.method(theory), bench.problem, steps, seeds, numbers, bench.root_seed)
        report = report_of(
            bench.theorem.id, bench.label, chain.links, trace, seen_as, bench.problem.name, steps, last.total
        )
        seen = counterparts(chain.links, bench.label, trace, seen_as)
    except (InputError, ValueError) as error:
        return (), {}, f"its lemmas cannot be evaluated here: {error}"
    observed = _shared_out(seen, chain.stands_for, bench, last)
    if any(not (isfinite(item.bound) and item.bound > 0) for item in report.implied):
        return (), observed, "a lemma of the chain implies no positive bound here"
    return _lines(report, measured), observed, ""


def _shared_out(
    seen: Mapping[str, float], stands_for: Mapping[str, tuple[str, ...]], bench: Bench, last: Bound
) -> dict[str, float]:
    """What the run shows of each term: a part that several terms come out of is shared out among them by size.

    A part stands for the term of its name where the chain says nothing else; the descent of the run for the terms of the start.
    """
    taken = {term for terms in stands_for.values() for term in terms}
    roles = {term.name: term.role for term in bench.statement.terms}
    at_start = tuple(name for name, role in roles.items() if role == START and name not in taken)
    found: dict[str, float] = {}
    for part, value in seen.items():
        terms = at_start if part == START else stands_for.get(part, (part,))
        total = sum(last.terms.get(term, 0.0) for term in terms)
        if total > 0:
            found |= {term: value * last.terms[term] / total for term in terms if term in last.terms}
    return found


def _lines(report: LemmaReport, measured: float) -> tuple[LinkLine, ...]:
    lines, before = [], measured
    for item in report.implied:
        lines.append(LinkLine(item.link, item.bound, item.bound / before))
        before = item.bound
    return tuple(lines)


def _terms(bench: Bench, bound: Bound, last: Bound, measured: float, seen: Mapping[str, float]) -> tuple[TermLine, ...]:
    """Every term with its counterpart."""
    lines = []
    for name, value in last.terms.items():
        found = seen.get(name)
        slack = value / found if found and found > 0 else None
        lines.append(TermLine(name, value, value / measured, bound.terms[name], found, slack))
    return tuple(lines)
