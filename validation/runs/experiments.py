"""An admissible run of a theorem's method, and the theorem's own statistic per seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...algorithms import Result, drive
from ...algorithms.engine import metrics
from ...bounds.evaluation.evaluate import Bound
from ...bounds.language.reading import InputError
from ...bounds.language.theorem import Theorem
from ...bounds.registry import get_theorem
from .instance import Instance
from .method_of import Given
from .recipe import Recipe
from .registry import recipe_for
from .values import evaluate_at, exact_start, numbers_of, squared_cap


@dataclass(frozen=True)
class Measured:
    """One run of an instance: per-seed statistics and what the theorem says.

    Attributes:
        statistic: (seeds,) the average of ||grad||^2 that the statement speaks of.
        proof_average: (seeds,) the same over t = 0..T-1, which the proof bounds.
        messages: what one client sends, by size.
    """

    instance: Instance
    bound: Bound
    cap: float
    certificates: str
    statistic: np.ndarray
    proof_average: np.ndarray
    messages: dict[str, str]
    seconds: float


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
    result, statistic, before = statistics(recipe, problem, numbers, seeds, root_seed=root_seed, progress=progress)
    cap = squared_cap(problem)
    return Measured(instance, bound, cap, kind, statistic, before, result.messages.to_json(), result.seconds)


def statistics(
    recipe: Recipe,
    problem: Any,
    numbers: Mapping[str, float],
    seeds: int | Sequence[int],
    *,
    root_seed: int = 0,
    progress: Callable[[Any], None] | None = None,
) -> tuple[Result, np.ndarray, np.ndarray]:
    """The run of a recipe, the average of ||grad||^2 that its statement speaks of, and the same over t = 0..T-1, `(seeds,)` each.

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
    result = drive(
        moves,
        problem,
        steps=steps,
        seeds=seeds,
        root_seed=root_seed,
        start=exact_start(problem),
        record={"gradient": metrics.gradient_norm_squared},
        every=every or steps,
        average=every is None,
        progress=progress,
    )
    before, after = _averages(result, steps)
    return result, after if recipe.average == "after" else before, before


def _averages(result: Any, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """(seeds,) means of the recorded squared gradient norm over t = 0..T-1 and over t = 1..T."""
    first, last = result.values["gradient"][0], result.values["gradient"][-1]
    before = result.mean("gradient").flatten()
    counted = float(result.counts[-1])
    return before.cpu().numpy(), (before + (last - first) / counted).cpu().numpy()
