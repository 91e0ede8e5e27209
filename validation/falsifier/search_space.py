"""One search space of the search: a kind's space with the whole numbers fixed, and the score of a population on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from scipy.stats.qmc import Sobol

from ...algorithms.engine.method import Start
from ...synthetic.families.piecewise import Family
from ..lemmas.trace import Trace
from .formula import Panel
from .instance_space import Array, InstanceSpace, Values
from .laws.base import REST_BISECTIONS
from .lemma import Place, balanced, rounding_of, rows_of, trace_of

CAP = 2.0
"""The score saturates here: without it the search runs to bounds of 0 and absurd scales."""
REJECTED, INADMISSIBLE, _ASTRAY = -30.0, -9.0, -12.0
"""Scores of what is no instance; below which a condition is violated or a side is no number; of runs that a law cannot take."""
_MOST, _LED, _FAR = 0.5, -6.0, -9.0
"""Share of the bound that a changed term must have; the scores of points where its share is smaller."""
_PROBED = 512


@dataclass(frozen=True)
class Candidate:
    """One point of a search space in numbers: parameters of the family, values of every symbol, score log10(left/bound).

    `place` says at which row of a run a lemma is compared.
    """

    parameters: Mapping[str, Array]
    values: Mapping[str, float]
    score: float
    stays: bool
    place: Place | None


@dataclass(frozen=True)
class _Evaluated:
    """A batch of points in numbers, and what they say of every statement of a panel.

    Args:
        values: of one number per point, where the length of the run is not what a statement is worst at.
        scores: `(statements, count)`.
        guided: the same where the changed term makes up most of the bound, else how far it is from that; see `_guided`.
        horizons: value of the symbol for the length of a run at which a statement is worst, `(statements, count)`.
        rows: where a lemma is compared, `(statements, count)`; `seen` has its observables, `(rows, count)`.
    """

    parameters: dict[str, Array]
    values: Values
    scores: Array
    guided: Array
    horizons: Array
    rows: Array | None = None
    seen: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SearchSpace(InstanceSpace):
    """The instances of a search, and the score of a population of them."""

    @property
    def stepped(self) -> int:
        """What its runs are stepped through, in the unit of the horizon: of a long run in powers the first few rounds."""
        return self.law.stepped(self)

    def effort(self, count: int) -> float:
        """About the seconds of a generation of so many points, from its size and not by the clock.

        What is searched next must not depend on how fast this machine is at the moment.
        """
        return self.law.effort(self, count)

    @cached_property
    def alone(self) -> Panel:
        """The statement by itself."""
        return Panel(self.formula)

    def scores(self, points: Array, panel: Panel) -> Array:
        """log10 of left side over bound, `(statements, count)`, of points `(count, size)`; very negative where inadmissible.

        Capped.
        """
        return self.judged(points, panel)[0]

    def judged(self, points: Array, panel: Panel) -> tuple[Array, Array]:
        """The scores, and those by which a search is led to where a changed term matters; both capped."""
        found = self._evaluate(points, panel)
        return np.minimum(found.scores, CAP), np.minimum(found.guided, CAP)

    def score(self, points: Array) -> Array:
        """The same of the statement by itself, `(count,)`."""
        return self.scores(points, self.alone)[0]

    def candidate(self, point: Array, panel: Panel | None = None, of: int = 0) -> Candidate:
        """Everything about one point, as a candidate against one statement of a panel."""
        found = self._evaluate(point[None, :], panel or self.alone)
        values = self.with_horizon(found.values, found.horizons[of])
        place = None
        if found.rows is not None:
            row = int(found.rows[of, 0])
            values |= {name: array[min(row, len(array) - 1)] for name, array in found.seen.items()}
            place = Place(row, self.horizon)
        picked = {name: np.asarray(v)[0] for name, v in found.parameters.items()}
        numbers = {name: float(np.broadcast_to(v, (1,))[0]) for name, v in values.items()}
        return Candidate(picked, numbers, float(found.scores[of, 0]), self.stays, place)

    def admits(self, points: Array) -> Array:
        """Which points meet the conditions, `(count,)`; for a statement about a run, without running it."""
        parameters, values = self.numbers(points)
        values = self.with_horizon(values, float(self.horizon))
        met: Array = np.broadcast_to(self.formula.admits(values), (len(points),))
        return met & self.is_valid(parameters) & ~self.beyond(values)

    def _evaluate(self, points: Array, panel: Panel) -> _Evaluated:
        parameters, values = self.numbers(points)
        if self.target.link is not None:
            return self._along_the_run(self.family(parameters, len(points)), parameters, values, panel)
        astray: Array = np.zeros(len(points))
        if self.stays and self.law.solves_rest:
            parameters, astray = at_rest(self, parameters, values, len(points))
            values = {**values, **self.constants(self.family(parameters, len(points)))}
        found = self.law.left(self, parameters, values, len(points))
        astray, lengths = np.maximum(astray, found.astray), np.array(found.lengths)
        scores, guided = self._judge(np.stack(found.sides), self.with_horizon(values, lengths[:, None]), panel)
        known = self.with_horizon(values, float(self.horizon))
        fine, settled = self.is_valid(parameters) & ~self.beyond(known), _ASTRAY * (1 + astray)

        def best(of: Array) -> Array:
            found: Array = np.where(fine, np.where(astray > 0, settled, of.max(axis=1)), REJECTED)
            return found

        return _Evaluated(parameters, values, best(scores), best(guided), lengths[scores.argmax(axis=1)])

    @property
    def probe(self) -> Array:
        """Points to see whether the conditions can be met."""
        points: Array = Sobol(self.size, rng=np.random.default_rng(0)).random(_PROBED)
        return points

    # --- lemmas ---

    def _along_the_run(self, family: Family, parameters: dict[str, Array], values: Values, panel: Panel) -> _Evaluated:
        """A lemma at every row of a run, the row where it is worst for each instance."""
        link = self.target.link
        assert link is not None
        values = self.with_horizon(values, self.horizon)
        trace = self._trace(family, parameters, values)
        with np.errstate(all="ignore"):
            left, seen, keep = rows_of(link, self.target.label, trace)
            known = {**values, **seen}
            if link.right is None:
                whole: list[Any] = self.formula.terms(known)
                compared = list(panel.terms(known, whole))
            else:  # a constant that the lemma defines, which no change of a term touches
                derived: Any = self.formula.derived(known)
                whole = [link.right(derived)]
                compared = [whole] * len(panel.changes)
            sides = [balanced(left, terms) for terms in compared]
            rounding = rounding_of(link, trace)
            ratios = [np.log10(np.maximum(lower - rounding, 0.0) / upper) for lower, upper in sides]
        admissible, excess = (np.broadcast_to(a, left.shape) for a in self.formula.met(known))
        scores = self._scored(np.stack([np.broadcast_to(r, left.shape) for r in ratios]), admissible, excess)
        uppers = np.stack([np.broadcast_to(upper, left.shape) for _, upper in sides])
        fine = self.is_valid(parameters) & ~self.beyond(values)
        scores, guided = (
            np.where(fine & keep[:, None], of, REJECTED)
            for of in (scores, _guided(scores, uppers, balanced(left, whole)[1]))
        )
        rows = scores.argmax(axis=1)
        lengths = np.full(rows.shape, float(self.horizon))
        return _Evaluated(parameters, values, scores.max(axis=1), guided.max(axis=1), lengths, rows, seen)

    def _trace(self, family: Family, parameters: dict[str, Array], values: Values) -> Trace:
        assert self.target.chain is not None
        lanes = self.law.lanes(self)
        if lanes is None:
            start = Start(x=family.start, y=family.parameters.get("estimate"))
            method, numbers = self.method(values, family.runs), self._numbers(family, values)
            return trace_of(self.target.chain, method, family, self.walked, start, numbers)
        method, tall, start = self.noisy_run(parameters, values, family.runs).build(len(lanes))
        wide = {name: np.repeat(np.broadcast_to(v, (family.runs,)), len(lanes)) for name, v in values.items()}
        draws, numbers = lanes.draws(family.runs, self.clients), self._numbers(tall, wide)
        return trace_of(self.target.chain, method, tall, self.walked, start, numbers, draws, lanes.expectation)

    def _numbers(self, family: Family, values: Values) -> dict[str, Any]:
        """What the statistics of a chain are made of: one number per instance, whole numbers as they are."""
        found: dict[str, Any] = {}
        certified = family.constants()
        for name, binding in self.target.theorem.notation.bindings.items():
            quantity = binding.quantity
            if name in values and quantity.domain == "positive integer":
                found[name] = self.whole(quantity.name)
            elif name in values:
                found[name] = torch.from_numpy(np.broadcast_to(np.asarray(values[name], float), (family.runs,)).copy())
            elif quantity.name in certified:
                found[name] = certified[quantity.name]
        return found

    # --- theorems ---

    def _judge(self, left: Array, values: Values, panel: Panel) -> tuple[Array, Array]:
        """The scores of every statement for every horizon, `(statements, horizons, count)`, from `(horizons, count)`.

        The second ones are guided.
        """
        terms = self.formula.terms(values)
        admissible, excess = (np.broadcast_to(a, left.shape) for a in self.formula.met(values))
        with np.errstate(all="ignore"):
            bounds = np.stack([np.broadcast_to(sum(t, np.zeros(())), left.shape) for t in panel.terms(values, terms)])
            ratios = np.where(bounds > 0, np.log10(left / bounds), np.nan)
        scores = self._scored(ratios, admissible, excess)
        return scores, _guided(scores, bounds, np.broadcast_to(sum(terms, np.zeros(())), left.shape))

    @staticmethod
    def _scored(ratios: Array, admissible: Array, excess: Array) -> Array:
        """Logarithms of ratios, where they are numbers and the conditions hold; else how far the conditions are from it."""
        return np.where(admissible & np.isfinite(ratios), ratios, -10.0 - 10.0 * excess)


def _guided(scores: Array, bounds: Array, whole: Array) -> Array:
    """The scores where what a change takes away is most of the bound; elsewhere the share of it, below all of those.

    Without this a search stays where the bound is tight for another reason, and never sees that a term is missing.
    """
    with np.errstate(all="ignore"):
        share = np.log10(np.maximum(1 - bounds / whole, 1e-15) / _MOST)
    led = _LED + (_LED - _FAR) * np.maximum(share / 15, -0.99)
    return np.where((share < 0) & (scores > _FAR) & ~np.isnan(share), led, scores)


# --- starts that a round keeps: endless runs stay where they begin ---


def at_rest(
    space: InstanceSpace, parameters: dict[str, Array], values: Values, count: int
) -> tuple[dict[str, Array], Array]:
    """Parameters for which a round ends where it began, found by bisection, and how far the ends are from allowing it.

    The second is 0 where a round moves both ends inwards, else a number up to 1.
    """

    def moved(shift: Array) -> Array:
        shifted = space.shifted(parameters, shift)
        start = space.family(shifted, count).start.expand(count, 1)[:, 0].numpy()
        return space.law.round_end(space, shifted, values, count) - start

    low, high = -np.ones(count), np.ones(count)
    at_low, at_high = moved(low), moved(high)
    wrong = np.maximum(np.maximum(-at_low, at_high), 0.0)
    size = np.abs(at_low) + np.abs(at_high)
    astray = np.where(
        (at_low > 0) & (at_high < 0), 0.0, np.maximum(np.nan_to_num(wrong / (size + 1e-300), nan=1.0), 1e-3)
    )
    for _ in range(REST_BISECTIONS):
        middle = (low + high) / 2
        ahead = moved(middle) > 0
        low, high = np.where(ahead, middle, low), np.where(ahead, high, middle)
    astray = np.where(_is_settled(space, parameters, low, high), astray, np.maximum(astray, 1e-3))
    return space.shifted(parameters, (low + high) / 2), astray


def _is_settled(space: InstanceSpace, parameters: dict[str, Array], low: Array, high: Array) -> Array:
    """Whether the gradient is far larger than what bisection leaves open: else it is nothing but that."""
    ends = [space.family(space.shifted(parameters, shift), len(shift)) for shift in (low, high)]
    a, b = (family.gradient(family.start.expand(family.runs, 1))[:, 0].numpy() for family in ends)
    settled: Array = np.abs(a - b) <= 0.01 * np.abs(a + b)
    return settled
