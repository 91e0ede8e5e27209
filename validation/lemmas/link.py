"""A lemma with the statistics that it names, and the lemmas of a proof in their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...algorithms import Method
from ...algorithms.engine.limits import check_memory
from ..runs.values import exact_start
from .report import LemmaReport
from .trace import Array, Numbers, StepMetric, Trace, walk

Side = Callable[[Trace], Array]
"""What a lemma compares, `(rows, seeds)`, of what was recorded along a run."""


def at(name: str) -> Side:
    """A statistic at each step."""
    return lambda r: r[name]


def before(name: str) -> Side:
    """A statistic at the steps whose change a lemma bounds."""
    return lambda r: r[name][:-1]


def after(name: str) -> Side:
    """The same after them: row i is about step i + 1."""
    return lambda r: r[name][1:]


def change(name: str) -> Side:
    """What a statistic gains in a step."""
    return lambda r: np.diff(r[name], axis=0)


def mean_of(name: str) -> Side:
    """The mean of a statistic over the steps, one row."""
    return lambda r: r[name][: r.steps].mean(axis=0)[None, :]


def at_start(name: str) -> Side:
    """A statistic at the first step, one row."""
    return lambda r: r[name][0][None, :]


def step_in_round(name: str) -> Side:
    """How many steps of its round come before each step, as many as a statistic has, of its type: exact where the run is."""

    def counted(r: Trace) -> Array:
        like = r[name]
        return np.repeat(r.step_in_round(len(like))[:, None].astype(like.dtype), like.shape[1], axis=1)

    return counted


def inside_rounds(trace: Trace, rows: int) -> Array:
    """Steps but the first of each round, at which no client has moved."""
    return trace.step_in_round(rows) > 0


def all_but_the_first(_: Trace, rows: int) -> Array:
    """Steps but the first of the run."""
    return np.arange(rows) > 0


def observed(place: Callable[[str], Side], *names: str, **others: str) -> dict[str, Side]:
    """Observables at a place; `others` are recorded under another name than the lemma's symbol."""
    return {symbol: place(name) for symbol, name in {**{name: name for name in names}, **others}.items()}


@dataclass(frozen=True)
class Link:
    """One lemma with the quantities of a run that it speaks of.

    Args:
        lemma: id in `bounds`.
        left: (rows, seeds), the left side; rows are steps t = 0, 1, ... or one row for the whole run.
        observables: symbol of the lemma -> (rows, seeds).
        ends_round: rows that end in a communication; None where the lemma is about a whole run.
        right: for a lemma that only defines constants, the right side from its derived constants.
        keeps: rows that the lemma speaks of; all without it.
        statement: a label other than the chain's, where the printed lemma cannot be measured.
        bounds_gradient: the left side is the mean squared gradient itself, so that the right side is its implied bound.
        feeds: the observable of the chain's last descent link that the proof replaces by this lemma's right side.
        fed: from the mean right side to that observable, where they differ by a root or a factor.
        part: which of the lemma's bounds, where it has several.
        of_a_run: the sides are seen along a run; False for an expectation over every outcome of a batch.
        also: label of another statement -> its own observables: what a run says of it is no part of the chain.
        between: labels of the statements that speak of the steps between communications alone.
        difference_of: squared size of the vectors whose small difference the left side is the squared size of, where it is one, so
            that a search takes no rounding for a violation.
        note: what the statistic is, where that is not obvious.
    """

    lemma: str
    left: Side
    observables: Mapping[str, Side] = field(default_factory=dict)
    ends_round: Callable[[Trace, int], Array] | None = lambda trace, rows: trace.ends_round(rows)
    right: Callable[[Mapping[str, float]], float] | None = None
    keeps: Callable[[Trace, int], Array] | None = None
    statement: str = ""
    bounds_gradient: bool = False
    feeds: str = ""
    fed: Callable[[float, Trace], float] = lambda right, _trace: right
    part: str = ""
    of_a_run: bool = True
    also: Mapping[str, Mapping[str, Side]] = field(default_factory=dict)
    between: tuple[str, ...] = ()
    difference_of: Side | None = None
    note: str = ""


@dataclass(frozen=True)
class LemmaChain:
    """The lemmas of a theorem's proof in the order of the proof, and how a run is measured.

    `period` names the hyperparameter that counts the steps of a round; without one every step is a round. `extra_steps` are
    run beyond the horizon, for lemmas that look ahead. `metrics(problem, numbers)` builds the recorded quantities.
    `demonstrations` are runs outside the recipe that show a link fail. `stands_for` names, by a part of the last link with a
    descent term, the terms of the theorem that come out of it, where that is not one of the same name.
    """

    metrics: Callable[[Any, Numbers], Mapping[str, StepMetric]]
    links: tuple[Link, ...]
    period: str = ""
    extra_steps: int = 1
    demonstrations: tuple[Callable[[], LemmaReport], ...] = ()
    stands_for: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def round_of(self, numbers: Mapping[str, Any]) -> int:
        """The steps of a round."""
        return int(numbers[self.period]) if self.period else 1


def trace_run(
    chain: LemmaChain, method: Method, problem: Any, steps: int, seeds: int, numbers: Numbers, root_seed: int = 0
) -> Trace:
    """Run and record every metric of the chain at every step."""
    period = chain.round_of(numbers)
    metrics = chain.metrics(problem, numbers)
    total = steps + chain.extra_steps
    check_memory(8 * total * seeds * len(metrics), "seeds")
    values = {name: np.empty((total, seeds)) for name in metrics}
    for step in walk(method, problem, total, seeds, root_seed=root_seed, start=exact_start(problem), period=period):
        for name, metric in metrics.items():
            values[name][step.t] = metric(step).cpu().numpy()
    return Trace(values, numbers, period, steps)
