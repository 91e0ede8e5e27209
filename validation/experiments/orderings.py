"""Does a measured figure show what the paper's shows: orderings of curves, judged on pairs of runs with one seed.

A statistic of each run is compared seed by seed: both curves of a pair had the same draws, as far as the two methods draw
the same things. The verdict is the exact two-sided sign test at the level 0.05, which assumes nothing of the distribution;
beside it stands a 95% percentile bootstrap interval of the mean difference. Many orderings are judged at that level, so one
in twenty that is not there may appear: a verdict is a description of this figure and no e-value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

LEVEL = 0.05
RESAMPLES = 10_000
_LAST_SHARE = 0.1


@dataclass(frozen=True)
class Ordering:
    """What the paper's figure shows of two curves.

    Args:
        better, worse: names of curves. metric: which of their values; larger: whether more is better.
        when: "end", the mean over the last tenth of the kept values, "along", over all of them (speed), or "least", the
            smallest of them.
        exact: nothing is random, so one run decides, no test is made, and equal is enough.
        alike: the paper shows no difference; then `margin` is the largest difference that counts as none.
        controls: reasons why ours may show another ordering, each with the run that tests it.
    """

    better: str
    worse: str
    metric: str
    larger: bool = True
    when: str = "end"
    alike: bool = False
    margin: float = 0.0
    exact: bool = False
    controls: tuple[Control, ...] = ()

    @property
    def text(self) -> str:
        place = {"end": "at the end", "along": "along the run", "least": "at its smallest"}[self.when]
        if self.alike:
            return f"{self.better} and {self.worse} within {self.margin:g} in {self.metric} {place}"
        relation = (
            ("not below" if self.larger else "not above") if self.exact else ("above" if self.larger else "below")
        )
        return f"{self.better} {relation} {self.worse} in {self.metric} {place}"


@dataclass(frozen=True)
class Control:
    """A reason why an ordering differs from the paper's, as a run that can refuse it: the figure with something changed.

    Args:
        change: what is changed, for instance "with step sizes tuned for each method".
        ordering: what is then seen if the reason is the true one; its curves are those of `measure`.
        measure: of a `Setup`, the `Made` with the curves; controls that share one share its runs.
    """

    change: str
    ordering: Ordering
    measure: Callable[[Any], Any]


@dataclass(frozen=True)
class Judged:
    """An ordering with what the runs say of it.

    Attributes:
        outcome: "same", "opposite" or "not distinguishable"; for `alike`: "same", "different" or "not distinguishable".
        difference: mean of better minus worse (or of worse minus better where less is better), with its bootstrap ends.
        p: of the sign test. seeds: how many pairs.
        tried: the controls that were run as the outcome is not the paper's: what was changed, and what was then seen.
    """

    ordering: Ordering
    outcome: str
    difference: tuple[float, float, float]
    p: float
    seeds: int
    tried: tuple[tuple[str, Judged], ...] = ()

    @property
    def explained(self) -> bool:
        """Whether a control confirms its reason."""
        return any(found.outcome == "same" for _, found in self.tried)

    @property
    def why(self) -> str:
        """Empty where ours is the paper's; else what the controls say, or that there is none."""
        if self.outcome == "same":
            return ""
        if not self.tried:
            return "not explained: no control was run"
        confirmed, others = (
            "; ".join(
                f"{change}, {found.said(self.ordering)}"
                for change, found in self.tried
                if (found.outcome == "same") == is_confirmed
            )
            for is_confirmed in (True, False)
        )
        if not confirmed:
            return f"not explained; tried: {others}"
        return f"explained by a control: {confirmed}" + (f"; tried too, without showing it: {others}" if others else "")

    def said(self, wanted: Ordering) -> str:
        """What was seen, in a phrase, by one who looks for `wanted`."""
        mean, low, high = self.difference
        seen = {"same": "it is so", "opposite": "the opposite holds", "different": "it is not so"}
        outcome = seen.get(self.outcome, "this cannot be told")
        which = "" if self.ordering.text == wanted.text else f"{self.ordering.text}: "
        return f"{which}{outcome} (advantage {mean:.3g} [{low:.3g}, {high:.3g}], p = {self.p:.2g})"

    def to_dict(self) -> dict[str, Any]:
        return {
            "ordering": self.ordering.text,
            "outcome": self.outcome,
            "advantage": dict(zip(("mean", "low", "high"), self.difference, strict=True)),
            "sign_test_p": self.p,
            "seeds": self.seeds,
            "why": self.why,
            "controls": [{"change": change, **_without_controls(found)} for change, found in self.tried],
        }

    def __str__(self) -> str:
        mean, low, high = self.difference
        numbers = f"advantage {mean:.3g} [{low:.3g}, {high:.3g}], sign test p = {self.p:.2g}, {self.seeds} seeds"
        if self.ordering.exact:
            numbers = f"advantage {mean:.3g}, nothing is random"
        reason = f"\n      {self.why}" if self.why else ""
        return f"{self.outcome}: {self.ordering.text} ({numbers}){reason}"


def _without_controls(found: Judged) -> dict[str, Any]:
    return {name: value for name, value in found.to_dict().items() if name not in ("why", "controls")}


def statistic(values: np.ndarray, when: str, larger: bool) -> np.ndarray:
    """Of each run, `(seeds, times) -> (seeds,)`; a run that diverged counts as worse than all others."""
    count = values.shape[1]
    kept = values[:, max(0, count - max(1, round(_LAST_SHARE * count))) :] if when == "end" else values
    with np.errstate(invalid="ignore", over="ignore"):
        means = values.min(1) if when == "least" else kept.mean(1)
    return np.where(np.isfinite(means), means, -math.inf if larger else math.inf)


def judge(ordering: Ordering, curves: Mapping[str, Mapping[str, np.ndarray]]) -> Judged:
    """The verdict on the curves, `{name: {metric: (seeds, times)}}`."""
    left, right = (
        statistic(np.asarray(curves[name][ordering.metric]), ordering.when, ordering.larger)
        for name in (ordering.better, ordering.worse)
    )
    with np.errstate(invalid="ignore"):
        gain = left - right if ordering.larger else right - left
    gain = np.where(np.isnan(gain), 0.0, gain)  # both diverged
    p = sign_test(gain)
    interval = bootstrap(gain)
    if ordering.exact:
        return Judged(ordering, "same" if (gain >= 0).all() else "opposite", interval, 0.0, len(gain))
    if ordering.alike:
        outcome = _alike(gain, interval, p, ordering.margin)
    else:
        outcome = (
            "not distinguishable" if p > LEVEL else ("same" if (gain > 0).sum() > (gain < 0).sum() else "opposite")
        )
    return Judged(ordering, outcome, interval, p, len(gain))


def explain(
    judged: Judged, measured: Callable[[Callable[[Any], Any]], Mapping[str, Mapping[str, np.ndarray]]]
) -> Judged:
    """With the controls of its ordering judged, if it is not the paper's; `measured` gives the curves of a control's run."""
    if judged.outcome == "same":
        return judged
    tried = ((one.change, judge(one.ordering, measured(one.measure))) for one in judged.ordering.controls)
    return replace(judged, tried=tuple(tried))


def _alike(gain: np.ndarray, interval: tuple[float, float, float], p: float, margin: float) -> str:
    if -margin <= interval[1] and interval[2] <= margin:
        return "same"
    return "different" if p <= LEVEL and abs(interval[0]) > margin else "not distinguishable"


def sign_test(gain: np.ndarray) -> float:
    """Two-sided exact p-value; zeros say nothing and are left out."""
    from scipy.stats import binomtest

    wins, losses = int((gain > 0).sum()), int((gain < 0).sum())
    return 1.0 if wins + losses == 0 else float(binomtest(wins, wins + losses).pvalue)


def bootstrap(gain: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """The mean and its percentile interval, of 10000 resamples; with a fixed seed."""
    if not np.isfinite(gain).all():
        mean = float(np.sign(gain[~np.isfinite(gain)]).sum())
        return (math.copysign(math.inf, mean), -math.inf, math.inf) if mean else (math.nan, -math.inf, math.inf)
    picks = np.random.default_rng(0).integers(len(gain), size=(RESAMPLES, len(gain)))
    low, high = np.quantile(gain[picks].mean(1), [(1 - level) / 2, (1 + level) / 2])
    return float(gain.mean()), float(low), float(high)
