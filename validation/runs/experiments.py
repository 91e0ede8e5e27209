"""An admissible run of a theorem's method, and the theorem's own statistic per seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ...algorithms import Result, drive
from ...bounds.evaluation.evaluate import Bound
from ...bounds.language.metrics import AVERAGED
from ...bounds.language.reading import InputError
from ...bounds.language.theorem import Metric, Theorem
from ...bounds.registry import get_theorem
from ..statistics.verdict import Verdict
from .measures import judged, metric_cap, recorded, shares_of, statistic_of
from .method_of import Given
from .recipe import Instance, Recipe
from .registry import recipe_for
from .values import evaluate_at, exact_start, numbers_of


@dataclass(frozen=True)
class Measured:
    """One run of an instance: per-seed statistics and what the theorem says.

    Attributes:
        statistic: (seeds,) what the statement speaks of, an average over the iterates or the last one.
        before: (seeds,) the mean over t = 0..T-1 of what the metric measures of one iterate.
        after: (seeds,) the same over t = 1..T.
        messages: what one client sends, by size.
    """

    instance: Instance
    bound: Bound
    cap: float
    certificates: str
    statistic: np.ndarray
    before: np.ndarray
    after: np.ndarray
    messages: dict[str, str]
    seconds: float

    def judged(self, bound: float | None, alpha: Fraction, claim: str, where: str, **about: Any) -> Verdict:
        """The verdict on a bound, the statement's own or another one, of what the statement speaks of."""
        assert bound is not None
        found = judged(self.bound.about.theorem.metric, self.bound.numbers, self.statistic, bound, self.cap)
        return found.verdict(alpha=alpha, certificates_kind=self.certificates, claim=claim, instance=where, **about)


def measure(
    theorem: str | Theorem,
    instance: Instance,
    T: int,
    seeds: int | Sequence[int],
    *,
    label: str = "printed",
    root_seed: int = 0,
    device: str = "cpu",
    progress: Callable[[Any], None] | None = None,
    strict: bool = True,
    method: Given | None = None,
) -> Measured:
    """Run the theorem's method on an instance and collect its statistic.

    Args:
        strict: refuse an instance on which a condition fails; a negative control runs it all the same.
        method: instead of the one that the theorem is about.

    Raises:
        InputError: the theorem has no recipe, or its conditions fail on this instance.
        NotApplicable: the method is not defined on the problem.
        ValueError: the run is shorter than one round.
    """
    item, recipe = get_theorem(theorem), recipe_for(theorem, method)
    problem = instance.made(device)
    bound, kind = evaluate_at(item, label, problem, instance.hyperparameters, T)
    if strict and not bound.admissible:
        raise InputError(f"{item.id}: condition {', '.join(bound.failed)} fails on {instance.name} at T={T}")
    numbers = numbers_of(instance, bound, recipe.defaults)
    result, statistic, before, after = statistics(
        recipe, problem, numbers, seeds, metric=item.metric, root_seed=root_seed, progress=progress
    )
    cap = cap_of(item, problem, instance, bound, method)
    return Measured(instance, bound, cap, kind, statistic, before, after, result.messages.to_json(), result.seconds)


def cap_of(theorem: Theorem, problem: Any, instance: Instance, bound: Bound, method: Given | None = None) -> float:
    """The almost sure bound of a theorem's metric along the run of an instance.

    Raises:
        InputError: none is known.
    """
    recipe = recipe_for(theorem, method)
    numbers = numbers_of(instance, bound, recipe.defaults)
    return metric_cap(theorem, problem, lambda: recipe.method(numbers), lambda: recipe.steps(numbers), numbers)


def statistics(
    recipe: Recipe,
    problem: Any,
    numbers: Mapping[str, float],
    seeds: int | Sequence[int],
    *,
    metric: Metric,
    root_seed: int = 0,
    progress: Callable[[Any], None] | None = None,
) -> tuple[Result, np.ndarray, np.ndarray, np.ndarray]:
    """The run of a recipe, what the metric of its statement measures, and the means over t = 0..T-1 and t = 1..T, `(seeds,)` each.

    Args:
        numbers: what the method is built from (`numbers_of`).

    Raises:
        NotApplicable: the method is not defined on the problem.
        ValueError: the run is shorter than one round, or the method refuses a number.
    """
    steps = recipe.steps(numbers)
    every = recipe.every(numbers) if recipe.every else None
    moves = recipe.method(numbers)
    moves.check_steps(steps)
    shares = shares_of(metric, numbers, steps, recipe.average)
    result = drive(
        moves,
        problem,
        steps=steps,
        seeds=seeds,
        root_seed=root_seed,
        start=exact_start(problem),
        record=recorded(metric, problem, shares, numbers),
        every=every or steps,
        average=every is None,
        shares=shares.tolist() if shares is not None and metric.over == AVERAGED else None,
        progress=progress,
    )
    statistic, before, after = statistic_of(metric, problem, result, recipe.average)
    return result, statistic, before, after
