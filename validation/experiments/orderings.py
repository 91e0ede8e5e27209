"""Does a measured figure show what the paper's shows: orderings of curves, decided from pairs of runs with one seed.

An ordering is the paper's, the opposite, or undecided. A statistic of each run is compared seed by seed: both curves of a pair had
the same draws, as far as the two methods draw the same things. The test is the exact two-sided sign test on these differences, zeros
left out. It assumes that the seeds are independent and that, where two methods do equally well, a difference is as likely above 0 as
below; nothing else of the distribution. The level is `LEVEL` divided by the number of comparisons of all figures, controls included
(Bonferroni): the chance that any word of all figures is wrong is at most `LEVEL`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .figures import Made

LEVEL = 0.05
"""Level of all comparisons of all figures together."""
INTERVAL = 0.95
PAPERS, OPPOSITE, UNDECIDED = "the paper's", "the opposite", "undecided"
OUTCOMES = (PAPERS, OPPOSITE, UNDECIDED)
RESAMPLES = 10_000
_LAST_SHARE = 0.1
_PLACES = {"end": "at the end", "along": "along the run"}


@dataclass(frozen=True)
class Ordering:
    """What the paper's figure shows of two curves.

    Args:
        better, worse: names of curves. metric: which of their values; larger: whether more is better.
        when: "end", the mean over the last tenth of the kept values, or "along", over all of them (speed).
        exact: nothing is random, so one run decides and no test is made.
    """

    better: str
    worse: str
    metric: str
    larger: bool = True
    when: str = "end"
    exact: bool = False

    def __post_init__(self) -> None:
        if self.better == self.worse or self.when not in _PLACES:
            raise ValueError(f"{self}: wanted two curves and `when` among {sorted(_PLACES)}")

    @property
    def text(self) -> str:
        return f"{self.better} {'above' if self.larger else 'below'} {self.worse} in {self.metric} {_PLACES[self.when]}"


def is_share(metric: str) -> bool:
    """Whether it is an accuracy or a precision, of which more is better."""
    return metric.endswith(("accuracy", "average_precision"))


def better(pairs: Sequence[tuple[str, str]], *metrics: str, when: str = "end") -> tuple[Ordering, ...]:
    """The first of each pair is better in each metric: a share is larger, any other smaller."""
    return tuple(Ordering(*pair, metric, is_share(metric), when) for metric in metrics for pair in pairs)


@dataclass(frozen=True)
class Control:
    """A figure with something changed, equally for all its methods; every ordering of the figure is judged on it.

    Args:
        change: what is changed, for instance "with twice the step size for all methods".
        measure: of a `Setup`, the `Made` with the figure's curves.
        reason: why the paper's orderings are expected there, stated before the control is first run; empty where there was none.
    """

    change: str
    measure: Callable[[Any], Any]
    reason: str = ""


@dataclass(frozen=True)
class Judged:
    """An ordering with what the runs say of it.

    Attributes:
        gains: of each seed, by how much better is better than worse. level: of this one test, corrected.
    """

    ordering: Ordering
    gains: tuple[float, ...]
    level: float

    @property
    def p(self) -> float:
        """Of the sign test; 0 where nothing is random."""
        return 0.0 if self.ordering.exact else sign_test(self.gains)

    @property
    def outcome(self) -> str:
        """One of `OUTCOMES`."""
        return word(self.gains, self.level, self.ordering.exact)

    @property
    def why(self) -> str:
        """Why it is undecided; else empty."""
        if self.outcome != UNDECIDED:
            return ""
        if not self.ordering.exact and not can_decide(len(self.gains), self.level):
            return f"{len(self.gains)} seeds cannot decide at this level"
        return f"p is above {self.level:.2g}"

    @property
    def advantage(self) -> tuple[float, float, float]:
        """The mean of the gains and a 95% bootstrap interval of it, which no decision uses."""
        return bootstrap(np.asarray(self.gains))

    def to_dict(self) -> dict[str, Any]:
        return {
            "ordering": self.ordering.text,
            "outcome": self.outcome,
            "why": self.why,
            "advantage": dict(zip(("mean", "low", "high"), self.advantage, strict=True)),
            "sign_test_p": self.p,
            "exact": self.ordering.exact,
            "gains": [gain if math.isfinite(gain) else str(gain) for gain in self.gains],
        }

    def __str__(self) -> str:
        mean, low, high = self.advantage
        numbers = f"advantage {mean:.3g} [{low:.3g}, {high:.3g}], sign test p = {self.p:.2g}, {len(self.gains)} seeds"
        if self.ordering.exact:
            numbers = f"advantage {mean:.3g}, nothing is random"
        return f"{self.outcome}: {self.ordering.text} ({numbers}{'; ' if self.why else ''}{self.why})"


@dataclass(frozen=True)
class Tried:
    """A control with what was seen of every ordering of its figure."""

    control: Control
    judged: tuple[Judged, ...]

    @property
    def explains(self) -> bool:
        """Whether its reason was stated before, and every ordering is the paper's under it."""
        return bool(self.control.reason and self.judged) and all(each.outcome == PAPERS for each in self.judged)

    def to_dict(self) -> dict[str, Any]:
        return {
            "change": self.control.change,
            "reason": self.control.reason,
            "explains": self.explains,
            "verdict": tally([each.outcome for each in self.judged]),
            "orderings": [each.to_dict() for each in self.judged],
        }

    def __str__(self) -> str:
        word = "explained" if self.explains else "tried"
        return f"{word}: {self.control.change}: {tally([each.outcome for each in self.judged])}"


def tally(outcomes: Sequence[str]) -> str:
    """How many orderings are the paper's, the opposite, and undecided."""
    return f"of {len(outcomes)} orderings " + ", ".join(f"{outcomes.count(each)} {each}" for each in OUTCOMES)


def word(gains: Sequence[float], level: float, exact: bool = False) -> str:
    """The outcome that the differences of the seeds decide at this level."""
    wins, losses = _signs(gains)
    if exact:
        return PAPERS if wins == len(gains) else OPPOSITE if losses == len(gains) else UNDECIDED
    if sign_test(gains) > level:
        return UNDECIDED
    return PAPERS if wins > losses else OPPOSITE


def can_decide(seeds: int, level: float) -> bool:
    """Whether so many seeds that all agree have a p-value of at most the level."""
    return sign_test([1.0] * seeds) <= level


def statistic(values: np.ndarray, when: str, larger: bool) -> np.ndarray:
    """Of each run, `(seeds, times) -> (seeds,)`; a run that diverged counts as worse than all others."""
    count = values.shape[1]
    kept = values[:, max(0, count - max(1, round(_LAST_SHARE * count))) :] if when == "end" else values
    with np.errstate(invalid="ignore", over="ignore"):
        means = kept.mean(1)
    return np.where(np.isfinite(means), means, -math.inf if larger else math.inf)


def judge(ordering: Ordering, curves: Mapping[str, Mapping[str, np.ndarray]], level: float) -> Judged:
    """The verdict on the curves, `{name: {metric: (seeds, times)}}`, at this level."""
    left, right = (
        statistic(np.asarray(curves[name][ordering.metric]), ordering.when, ordering.larger)
        for name in (ordering.better, ordering.worse)
    )
    with np.errstate(invalid="ignore"):
        gain = left - right if ordering.larger else right - left
    return Judged(ordering, tuple(np.where(np.isnan(gain), 0.0, gain).tolist()), level)  # NaN: both diverged


def sign_test(gains: Sequence[float]) -> float:
    """Two-sided exact p-value; zeros say nothing and are left out."""
    return _sign_test(*_signs(gains))


@cache
def _sign_test(wins: int, losses: int) -> float:
    from scipy.stats import binomtest

    return 1.0 if wins + losses == 0 else float(binomtest(wins, wins + losses).pvalue)


def _signs(gains: Sequence[float]) -> tuple[int, int]:
    return sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains)


def bootstrap(gain: np.ndarray) -> tuple[float, float, float]:
    """The mean and its percentile interval of level `INTERVAL`, of 10000 resamples; with a fixed seed."""
    if not np.isfinite(gain).all():
        mean = float(np.sign(gain[~np.isfinite(gain)]).sum())
        return (math.copysign(math.inf, mean), -math.inf, math.inf) if mean else (math.nan, -math.inf, math.inf)
    picks = np.random.default_rng(0).integers(len(gain), size=(RESAMPLES, len(gain)))
    low, high = np.quantile(gain[picks].mean(1), [(1 - INTERVAL) / 2, (1 + INTERVAL) / 2])
    return float(gain.mean()), float(low), float(high)


def implied(orderings: Sequence[Ordering]) -> list[Ordering]:
    """Those that follow from others of the same metric and place, or stand there twice: facts that would be counted again."""
    return [
        each for place, each in enumerate(orderings) if _follows(each, [*orderings[:place], *orderings[place + 1 :]])
    ]


def _follows(one: Ordering, others: Sequence[Ordering]) -> bool:
    kind = (one.metric, one.when, one.larger)
    below = {one.better}
    for _ in others:
        below |= {
            other.worse
            for other in others
            if other.better in below and (other.metric, other.when, other.larger) == kind
        }
    return one.worse in below


# --- does a control treat all methods of its figure alike: read off what was run before and after, never declared ------------

_TUNED, _KEPT = "tuned", "kept"


def check_treatment(change: str, before: Made, after: Made, compared: Collection[str]) -> None:
    """Every setting that changes does so for all compared curves: to one value, by one factor, or to a tuned value.

    Raises:
        ValueError: a curve is missing or says nothing of its settings, a setting changes for some curves only, or nothing changes.
    """
    old, new = (_settings(made, compared, change) for made in (before, after))
    is_changed = False
    for name in sorted({name for each in (*old.values(), *new.values()) for name in each}):
        pairs = [(old[curve].get(name), new[curve].get(name)) for curve in compared]
        moves = [_move(name, *pair) for pair in pairs]
        is_changed |= any(move != {_KEPT} for move in moves)
        if not set.intersection(*moves):
            raise ValueError(
                f"a control {change}: wanted {name} changed alike for all methods, got {sorted(map(str, pairs))}"
            )
    if not is_changed:
        raise ValueError(f"a control {change}: wanted something changed, got the figure's own run")


def _settings(made: Made, compared: Collection[str], change: str) -> dict[str, Mapping[str, Any]]:
    """Of each compared curve, with what was tuned for it named so."""
    found = {}
    for curve in made.curves:
        tuned = made.chosen.get(curve.name)
        found[curve.key] = {**curve.settings, **dict.fromkeys(tuned if isinstance(tuned, Mapping) else (), _TUNED)}
    if silent := sorted(name for name in compared if not found.get(name)):
        raise ValueError(f"a control {change}: wanted the settings of every compared curve, got none of {silent}")
    return {name: found[name] for name in compared}


def _move(name: str, old: Any, new: Any) -> set[Any]:
    """The ways in which this change can be put; two curves are treated alike where they share one."""
    if old == new:
        return {_KEPT}
    if name == "problem":  # each method may have its own
        return {"another problem"}
    is_scaled = all(isinstance(value, (int, float)) and value for value in (old, new))
    return {("to", new), *([("times", round(new / old, 12))] if is_scaled else [])}
