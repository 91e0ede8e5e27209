"""Second moments over any number of steps of a method whose noise multiplies the state: a random affine map per step, in ball arithmetic.

While the models and the inner values that the oracles are asked for stay where every function is a straight line, a step on one path of
its signs is affine in the state. The map is read off the method's own code; `bounds.evaluation.moments` takes its powers. That no path
leaves the reach is not seen here: who gives a reach shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ...algorithms import Method
from ...bounds.evaluation.moments import RandomMap, Recursion
from .composite import ExactLocalComposite, ExactSharedComposite
from .interval import Ends
from .noise import AllPaths, Noisy
from .problem import ExactProblem
from .run import MOST_SIGNS, CannotReplay, Walk
from .tensor import ExactTensor

Q = Fraction
Act = Callable[[Any, Any], Any]
_SMALL = Q(1, 2**200)
"""By how much an entry of the state is moved to see what a step does with it."""


def moment_average(
    method: Method,
    problem: ExactProblem,
    steps: int,
    period: int,
    reach: Mapping[str, Fraction],
    *,
    after: bool = False,
) -> Ends:
    """An enclosure of the mean of E|F'(xbar_t)|^2 over t < steps, or over t = 1, ..., steps.

    Args:
        reach: "model" and "inner_value" -> what none that an oracle is asked for exceeds in size, on any path.

    Raises:
        CannotReplay: a random start, too many paths, or a method that does not do the same in every step.
        Bends: a function is no straight line within reach.
        EnclosureError: see `Recursion`.
    """
    _check_straight(problem, reach)
    run = Walk(method, problem, problem.start, _counting(problem))
    if run.draws.columns.count:
        raise CannotReplay("the start is random")
    state, moves = run.state, run.method
    begin = _entries(state, 0)

    def local(t: int) -> RandomMap:
        return _map(lambda held, draws: moves.local_step(problem, held, draws.at(t), t), state, problem)

    def communication(t: int) -> RandomMap:
        return _map(lambda held, draws: moves.communicate(problem, held, t), state, problem)

    step, averaging = local(1), communication(period - 1)
    if any(local(t) != step for t in (2, period, 2 * period)) or averaging != communication(3 * period - 1):
        raise CannotReplay(f"{method.name} does not do the same in every step")
    if period > 1 and any(communication(t) != _identity(len(begin)) for t in (0, period - 2, period)):
        raise CannotReplay(f"{method.name} communicates within a round")
    whole = Recursion(begin, step, averaging, period, local(0))
    seen = problem.gradient_at(_held(state, 1).average.numbers[0, 0])
    return whole.average([_row(seen, begin)], steps, after=after).pair


def _check_straight(problem: ExactProblem, reach: Mapping[str, Fraction]) -> None:
    """That every oracle is affine within reach.

    Raises:
        Bends: one is not.
        CannotReplay: the start is not within reach, or the problem has no inner maps.
    """
    if abs(problem.start) > reach["model"] or not isinstance(problem, (ExactLocalComposite, ExactSharedComposite)):
        raise CannotReplay("wanted a composition, and a start within reach")
    models, values = (
        ExactTensor.of([[[Noisy(Q(0), {-1: Q(reach[name])})] for _ in range(problem.clients)]])
        for name in ("model", "inner_value")
    )
    sample = problem.sample(_counting(problem), 1)
    problem.inner(models, sample)
    problem.inner_vjp(models, ExactTensor.of([[[Q(1)] for _ in range(problem.clients)]]), sample)
    problem.outer_gradient(values, sample)
    if isinstance(problem, ExactSharedComposite):
        problem.extra_gradient(models, sample)
    problem.gradient_at(models.numbers[0, 0, 0])


def _counting(problem: ExactProblem) -> AllPaths:
    draws = AllPaths(0, problem.clients)
    draws.is_counting = True
    return draws


def _map(act: Act, state: Any, problem: ExactProblem) -> RandomMap:
    """What `act` does to a state, for every path of the signs that it asks for."""
    counting, begin = _counting(problem), _entries(state, 0)
    act(_held(state, 1), counting)
    signs = counting.columns.count
    if signs > MOST_SIGNS:
        raise CannotReplay(f"{signs} signs of a step have too many paths")
    ended = act(_held(state, 2**signs), AllPaths(signs, problem.clients))
    first = [Q(1), *[Q(0)] * len(begin)]
    rows = ([first, *(_row(entry, begin) for entry in _entries(ended, lane))] for lane in range(2**signs))
    return RandomMap([(Q(1, 2**signs), matrix) for matrix in rows])


def _identity(size: int) -> RandomMap:
    return RandomMap([(Q(1), [[Q(int(i == j)) for j in range(size + 1)] for i in range(size + 1)])])


def _entries(state: Any, lane: int) -> list[Any]:
    """The entries of a lane of a state; what is the same in all lanes may be held once."""
    parts = [getattr(state, name).numbers for name in _names(state)]
    return [entry for numbers in parts for entry in numbers[lane if len(numbers) > 1 else 0].flatten()]


def _row(entry: Any, begin: Sequence[Fraction]) -> list[Fraction]:
    """A number as a constant and a multiple of each entry of the state."""
    if not isinstance(entry, Noisy):
        return [Q(entry), *[Q(0)] * len(begin)]
    rates = [entry.parts.get(-1 - j, Q(0)) / _SMALL for j in range(len(begin))]
    return [entry.centre - sum((rate * at for rate, at in zip(rates, begin, strict=True)), Q(0)), *rates]


def _names(state: Any) -> list[str]:
    return [f.name for f in fields(state) if isinstance(getattr(state, f.name), ExactTensor)]


def _held(state: Any, lanes: int) -> Any:
    """The state with every entry a variable near it, in so many lanes."""
    parts, place = {}, 0
    for name in _names(state):
        held = getattr(state, name).numbers[:1].copy()
        for where in np.ndindex(held.shape):
            held[where], place = Noisy(Q(held[where]), {-1 - place: _SMALL}), place + 1
        parts[name] = ExactTensor.of(np.repeat(held, lanes, axis=0))
    return replace(state, **parts)
