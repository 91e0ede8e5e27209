"""A run that cannot end in reasonable time is refused before it starts, with the estimate."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from ...algorithms import Method, drive
from ...algorithms.engine import metrics
from ...algorithms.engine.limits import check_memory
from ...errors import InputError
from .campaign import CHUNK, Experiment
from .registry import recipe_for
from .values import evaluate_at, exact_start, numbers_of

HOURS = 24.0
"""Hours that a run may take unless the user allows more."""
_LEAST_SECONDS = 1e-6
"""Seconds for one step of one seed on one core: a fifth of the least that was measured over all recipes (5 to 20 microseconds)."""
_MOST_TIMES_LEAST = 1000.0
"""Factor by which a recipe may be slower before its time is measured."""
_ANY_TIMES_LEAST = 1e6
"""The same factor for a run of any method on any problem, such as a network: a second for a step of a seed."""
_PROBE_STEPS = 8
_BYTES_PER_SEED = 80
"""Bytes of two statistics, as Python's and as NumPy's numbers."""


def check_experiments(
    experiments: Sequence[Experiment], jobs: int, hours: float = HOURS, *, scheduled: bool = False
) -> None:
    """Refuse experiments that would take longer than `hours`, or whose results do not fit in memory.

    Args:
        jobs: processes of this machine; more than it has cores make nothing faster.
        scheduled: they run on a scheduler's workers, whose number is not known: only memory is looked at.

    Raises:
        InputError: says the estimate, and that `hours` may be raised.
    """
    work = sum(experiment.T * experiment.seeds for experiment in experiments) / min(jobs, os.cpu_count() or 1)
    if not scheduled:
        _check_least(work, hours)
    _check_fit(experiments)
    if not scheduled and work * _LEAST_SECONDS * _MOST_TIMES_LEAST > hours * 3600:
        longest = max(experiments, key=lambda experiment: experiment.T * experiment.seeds)
        _check_about(work * seconds_per_step(longest), hours)


def check_runs(runs: Sequence[tuple[Method, Any]], steps: int, seeds: int, hours: float, **options: Any) -> None:
    """Refuse runs that together would take longer than `hours` on one core.

    Args:
        runs: methods, whose grid points step together, each with its problem.
        options: of `drive`, for the few steps that are timed where the least estimate does not decide.

    Raises:
        InputError: says the estimate, and that `hours` may be raised.
    """
    work = steps * seeds * sum(method.grid for method, _ in runs)
    _check_least(work, hours)
    if work * _LEAST_SECONDS * _ANY_TIMES_LEAST > hours * 3600:
        _check_about(sum(_seconds(*run, steps, seeds, **options) for run in runs) * steps * seeds, hours)


def _check_least(work: float, hours: float) -> None:
    if work * _LEAST_SECONDS > hours * 3600:
        _refuse(work * _LEAST_SECONDS, "at least", hours)


def _check_about(seconds: float, hours: float) -> None:
    if seconds > hours * 3600:
        _refuse(seconds, "about", hours)


def _check_fit(experiments: Sequence[Experiment]) -> None:
    check_memory(_BYTES_PER_SEED * sum(experiment.seeds for experiment in experiments), "seeds")


def seconds_per_step(experiment: Experiment) -> float:
    """What one seed takes for one step of the horizon, from a few steps of a chunk of them."""
    instance, recipe = experiment.instance, recipe_for(experiment.theorem, experiment.method)
    problem = instance.made()
    bound, _ = evaluate_at(experiment.theorem, experiment.label, problem, instance.hyperparameters, experiment.T)
    numbers = numbers_of(instance, bound, recipe.defaults)
    steps, record = recipe.steps(numbers), {"gradient": metrics.gradient_norm_squared}
    once = _seconds(recipe.method(numbers), problem, steps, experiment.seeds, start=exact_start(problem), record=record)
    return once * steps / experiment.T


def _seconds(method: Method, problem: Any, steps: int, seeds: int, **options: Any) -> float:
    """What a seed takes for a step, from a few steps of a chunk of seeds."""
    tried, few = min(_PROBE_STEPS, steps), min(CHUNK, seeds)
    return drive(method, problem, steps=tried, seeds=few, every=tried, **options).seconds / (tried * few)


def _refuse(seconds: float, how: str, hours: float) -> None:
    raise InputError(
        f"seeds and horizons: wanted a run of at most {hours:g} hours, got one of {how} {duration(seconds)} on this machine;"
        " --max-hours allows more"
    )


def duration(seconds: float) -> str:
    """A time for a person."""
    for unit, length in (("years", 365.25 * 86400), ("days", 86400.0), ("hours", 3600.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.2g} {unit}"
    return f"{seconds:.0f} seconds"
