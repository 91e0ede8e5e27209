"""Noisy runs that nothing moves: on every path of its signs a round leaves all clients at the start, so that every later one does.

Where the steps of a run differ, each of them is taken from all that the state can hold before it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...algorithms import Method
from .interval import Ends, ends_of
from .noise import AllPaths
from .problem import ExactProblem
from .run import LATER, MOST_SIGNS, SQUARES, CannotReplay, Walk, constant, require_equal_rounds, signs_of
from .statistic import Statistic
from .tensor import ExactTensor, entries_of, tensors_of, with_entries


def at_rest(method: Method, problem: ExactProblem, period: int, statistic: Statistic = SQUARES) -> Ends:
    """A statistic at the start, where every path of a run of whole rounds stays.

    Raises:
        CannotReplay: a path leaves the start, a round has too many paths, or the method has a schedule in t.
    """
    require_equal_rounds(method)
    first = _round(method, problem, period)
    for later in LATER:
        if entries_of(_round(method, problem, period, later * period, first)) != entries_of(first):
            raise CannotReplay("a round changes what the method keeps")
    return statistic.measure.at(problem, problem.start)


def at_rest_for(method: Method, problem: ExactProblem, steps: int, statistic: Statistic = SQUARES) -> Ends:
    """A statistic at the start, where every path of so many steps stays; hyperparameters may depend on the step.

    Raises:
        CannotReplay: a path may leave the start, or a step has too many paths.
    """
    state = None
    for t in range(steps):
        walked = _round(method, problem, 1, t, state, same_end=False)
        state = replace(walked, **{name: _hull(numbers) for name, numbers in tensors_of(walked).items()})
    return statistic.measure.at(problem, problem.start)


def _hull(lanes: np.ndarray) -> ExactTensor:
    """One lane with an enclosure of what each entry is in any of them, `(1, ...)`."""
    found = np.empty_like(lanes[:1])
    for place in np.ndindex(lanes.shape[1:]):
        ends = [ends_of(number) for number in lanes[(slice(None), *place)]]
        found[(0, *place)] = constant((min(low for low, _ in ends), max(high for _, high in ends)))
    return ExactTensor.of(found)


def _round(
    method: Method, problem: ExactProblem, period: int, t: int = 0, state: Any = None, *, same_end: bool = True
) -> Any:
    """The state in which a round ends, in a lane for each path; one and the same for all of them, unless it need not be.

    Raises:
        CannotReplay: they end in several, or one of them leaves the start.
    """
    count = signs_of(problem, lambda draws: _walked(method, problem, period, t, state, draws))
    if count > MOST_SIGNS:
        raise CannotReplay(f"{count} signs in a round have too many paths")
    run = _walked(method, problem, period, t, state, AllPaths(count, problem.clients))
    if same_end and any(
        lane != numbers[0].tolist() for numbers in tensors_of(run.state).values() for lane in numbers.tolist()
    ):
        raise CannotReplay("the paths of a round end in several states")
    return run.state


def _walked(method: Method, problem: ExactProblem, period: int, t: int, state: Any, draws: Any) -> Walk:
    run = Walk(method, problem, problem.start, draws)
    if state is not None:
        run.state, run.t = with_entries(state, entries_of(state), draws.runs), t
    for _ in range(period):
        run.step()
        models = run.state.x.numbers
        if any(ends_of(model) != (problem.start, problem.start) for model in models.flatten()):
            raise CannotReplay("a path leaves the start")
    return run
