"""Second moments over any number of steps of a method whose noise multiplies the state: a random affine map per step, in ball arithmetic.

While the models and the inner values that the oracles are asked for stay where every function is a straight line, a step on one path of
its signs is affine in the state. The map is read off the method's own code; `bounds.evaluation.moments` takes its powers. A batch is the
mean of its signs, of which second moments know the variance only. That no path leaves the reach is seen here where every map keeps it,
or where none is given and `kept_reach` finds one; otherwise who gives a reach shows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...algorithms import Method
from ...bounds.evaluation.moments import RandomMap, RandomRounds, Recursion
from .composite import ExactConditional, ExactLocalComposite, ExactSharedComposite
from .draws import choices
from .interval import Bends, Ends
from .kept_reach import coordinates, kept_reach
from .noise import BatchMeans, Noisy
from .plain import ExactMeta
from .problem import ExactProblem
from .run import MOST_SIGNS, CannotReplay, Walk, keeps_models_only
from .tensor import ExactTensor, entries_of, tensors_of, with_entries

Q = Fraction
Array = np.ndarray
Act = Callable[[Any, Any], Any]
_OF_MODELS, _OF_INNER_VALUES = ("inner", "inner_vjp", "extra_gradient", "sample_gradient"), "outer_gradient"
"""Oracles by what they are asked for."""
_SMALL = Q(1, 2**200)
"""How far an entry of the state is moved to see what a step does with it."""


def moment_average(
    method: Method,
    problem: ExactProblem,
    steps: int,
    period: int,
    reach: Mapping[str, Fraction] | None = None,
    *,
    after: bool = False,
    taking_part: int | None = None,
    is_kept: bool = True,
) -> Ends:
    """An enclosure of the mean of E|F'(xbar_t)|^2 over t < steps, or over t = 1, ..., steps.

    Args:
        reach: "model" and "inner_value" -> what none that an oracle is asked for exceeds in size, on any path. Without one it is found,
            and shown in exact numbers: the coordinates of the state have limits that a round keeps whatever its signs are.
        taking_part: clients of a round, drawn afresh; everybody where it is None.
        is_kept: whether it is known that no path leaves the reach. Otherwise the one path of a conditional problem without noise is
            followed, and of another one every map has to keep it, the method keeping models only.

    Raises:
        CannotReplay: a random start, too many paths, or a method that does not do the same in every step or leaves the reach.
        Bends: a function is no straight line within reach.
        EnclosureError: see `Recursion`.
    """
    if taking_part not in (None, problem.clients) and (after or steps % period):
        raise CannotReplay("rounds of a part of the clients are averaged as whole ones, their first steps included")
    part = problem.clients if taking_part is None else taking_part
    if reach is None and part != problem.clients:
        raise CannotReplay(
            "wanted a reach where a part of the clients takes part: one is found where every round is alike"
        )
    masks = [torch.tensor([mask], dtype=torch.float64) for mask in choices(problem.clients, part)]
    if len(masks) == 1:
        whole, seen = _recursion(method, problem, period, reach, None, None if is_kept else steps)
        return whole.average(seen, steps, after=after).pair
    rounds = [_recursion(method, problem, period, reach, mask, None if is_kept else steps) for mask in masks]
    return RandomRounds([(Q(1, len(rounds)), whole, seen) for whole, seen in rounds]).average(steps // period).pair


def found_reach(method: Method, problem: ExactProblem, period: int) -> dict[str, Fraction]:
    """The reach that `moment_average` finds: "model" and "inner_value" -> what no point that an oracle is asked for exceeds on any path.

    Raises:
        CannotReplay, Bends: as there.
    """
    run = _begun(method, problem, None)
    return _found(run, _read(run, period, None), None)


def _recursion(
    method: Method,
    problem: ExactProblem,
    period: int,
    reach: Mapping[str, Fraction] | None,
    chosen: Tensor | None,
    followed: int | None,
) -> tuple[Recursion, list[list[Fraction]]]:
    """The maps of a method's steps, with the clients that take part, and the derivative of the objective as a row.

    `followed`: steps during which it has to be seen that the reach is kept.
    """
    run = _begun(method, problem, chosen)
    state, moves, begin = run.state, run.method, entries_of(run.state)
    if reach is not None:
        _check_straight(problem, moves, state, reach, chosen)
    whole = _read(run, period, chosen)
    seen = problem.gradient_at(_held(state, 1).average.numbers[0, 0])
    if reach is None:
        _found(run, whole, chosen)
    elif followed is not None and isinstance(problem, ExactConditional) and not problem.is_noisy:
        asked: Any = _Asked(problem)
        moves.local_step(asked, _held(state, 1), run.draws, 1)
        rows = [_row(model, begin) for model in asked.models]
        if not whole.stays([row for row in rows if any(row)], reach["model"], followed):
            raise CannotReplay("the run leaves the reach")
    elif followed is not None:
        _check_kept(method, state, [part for part in whole.maps if part is not None], begin, reach["model"])
    return whole, [_row(seen, begin)]


def _begun(method: Method, problem: ExactProblem, chosen: Tensor | None) -> Walk:
    """The run before its first step.

    Raises:
        CannotReplay: the start is random.
    """
    run = Walk(method, problem, problem.start, BatchMeans(problem.clients, chosen=chosen))
    if run.draws.sizes:
        raise CannotReplay("the start is random")
    return run


def _read(run: Walk, period: int, chosen: Tensor | None) -> Recursion:
    """The maps of the steps around the start, where no path leaves the straight lines.

    Raises:
        CannotReplay: the method does not do the same in every step.
    """
    problem, state, moves, begin = run.problem, run.state, run.method, entries_of(run.state)

    def local(t: int) -> RandomMap:
        return _map(lambda held, draws: moves.local_step(problem, held, draws.at(t), t), state, problem, chosen)

    def communication(t: int) -> RandomMap:
        return _map(lambda held, draws: moves.communicate(problem, held, t), state, problem, chosen)

    first, step, averaging = local(0), local(1), communication(period - 1)
    if any(local(t) != step for t in (2, period, 2 * period)) or averaging != communication(3 * period - 1):
        raise CannotReplay(f"{moves.name} does not do the same in every step")
    nothing = RandomMap([(Q(1), [[Q(int(i == j)) for j in range(len(begin) + 1)] for i in range(len(begin) + 1)])])
    if period > 1:
        if any(communication(t) != nothing for t in (period - 2, period) if t > 0):
            raise CannotReplay(f"{moves.name} communicates within a round")
        first = _then(first, communication(0))
    return Recursion(begin, step, averaging, period, None if first == step else first)


def _found(run: Walk, whole: Recursion, chosen: Tensor | None) -> dict[str, Fraction]:
    """A reach that no path leaves, within which every oracle is straight.

    Raises:
        CannotReplay: none is found.
        Bends: an oracle is not.
    """
    at_first, later = (_asked(run, t, chosen) for t in (0, 1))
    reach = kept_reach(whole, _coordinates(run.state, run.problem), at_first, later)
    _check_straight(run.problem, run.method, run.state, reach, chosen)
    return reach


class _Asked:
    """A problem, and the points that its oracles are asked for: the models, and the inner values where they are asked for by themselves."""

    def __init__(self, problem: ExactProblem) -> None:
        self._problem, self.models, self.inner_values = problem, list[Any](), list[Any]()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._problem, name)
        if name not in _OF_MODELS and name != _OF_INNER_VALUES:
            return found

        def asked(point: ExactTensor, *more: Any) -> ExactTensor:
            into = self.inner_values if name == _OF_INNER_VALUES else self.models
            into += point.numbers.flatten().tolist()
            answer: ExactTensor = found(point, *more)
            return answer

        return asked


def _asked(run: Walk, t: int, chosen: Tensor | None) -> dict[str, Array]:
    """ "model" and "inner_value" -> the points that a step asks its oracles for, as rows over (1, z).

    Raises:
        CannotReplay: of this kind of problem it is not known which oracles take what.
    """
    problem, state = run.problem, run.state
    if not isinstance(problem, (ExactLocalComposite, ExactSharedComposite)):
        raise CannotReplay("wanted a reach, or a composition in front of which one is found")
    asked: Any = _Asked(problem)
    begin = entries_of(state)
    counting: Any = BatchMeans(problem.clients, chosen=chosen)
    run.method.local_step(problem, _held(state, 1), counting.at(t), t)
    draws: Any = BatchMeans(problem.clients, counting.sizes, chosen)
    run.method.local_step(asked, _held(state, draws.runs), draws.at(t), t)
    points = {"model": asked.models, "inner_value": asked.inner_values}
    rows = {name: {tuple(_row(v, begin)): None for v in of} for name, of in points.items()}
    return {name: np.array([*of], dtype=object).reshape(-1, 1 + len(begin)) for name, of in rows.items()}


def _coordinates(state: Any, problem: Any) -> Array:
    """`kept_reach.coordinates` of a state, of which every entry is one of z."""
    sizes = {name: numbers[0].size for name, numbers in tensors_of(_held(state, 1)).items()}
    rows, parts, first = _fractions(np.eye(1 + sum(sizes.values()), dtype=int)), {}, 1
    for name, size in sizes.items():
        parts[name], first = rows[first : first + size], first + size
    slopes, offsets = _fractions(problem.slopes), _fractions(problem.offsets)
    return coordinates(parts, slopes, offsets, is_shared=isinstance(problem, ExactSharedComposite))


def _fractions(numbers: Any) -> Array:
    """An array of fractions from whole numbers and fractions."""
    found: Array = np.vectorize(Q, otypes=[object])(np.array(numbers, dtype=object))
    return found


def _check_kept(
    method: Method, state: Any, maps: Sequence[RandomMap], begin: Sequence[Fraction], reach: Fraction
) -> None:
    """That every map takes models within reach to such ones.

    Raises:
        CannotReplay: one does not, or the method keeps more than models.
    """
    if not keeps_models_only(state):
        raise CannotReplay(
            f"{method.name} keeps more than models: wanted `within`, which shows that it keeps its reach"
        )
    rows = (row for part in maps for _, matrix in part.outcomes for row in matrix[1:])
    ends = (abs(row[0]) + reach * sum(map(abs, row[1:])) for row in rows)
    if any(abs(number) > reach for number in begin) or any(end > reach for end in ends):
        raise CannotReplay("a path may leave the reach")


def _check_straight(
    problem: ExactProblem, method: Method, state: Any, reach: Mapping[str, Fraction], chosen: Tensor | None
) -> None:
    """That every oracle is affine within reach.

    Raises:
        Bends: one is not.
        CannotReplay: the start is not within reach, or a problem of another kind.
    """
    if abs(problem.start) > reach["model"]:
        raise CannotReplay("wanted a start within reach")
    draws: Any = BatchMeans(problem.clients, chosen=chosen)
    models = _within(problem, reach["model"])
    problem.gradient_at(models.numbers[0, 0, 0])
    if isinstance(problem, ExactMeta):
        method.local_step(problem, replace(state, x=models), draws, 0)
    elif isinstance(problem, ExactConditional):
        outer = problem.sample_outer(draws, 1)
        problem.sample_gradient(models, outer, problem.sample_inner(draws, outer, 1))
    elif isinstance(problem, (ExactLocalComposite, ExactSharedComposite)):
        sample = problem.sample(draws, 1)
        problem.inner(models, sample)
        problem.inner_vjp(models, ExactTensor.of([[[Q(1)] for _ in range(problem.clients)]]), sample)
        problem.outer_gradient(_within(problem, reach["inner_value"]), sample)
        if isinstance(problem, ExactSharedComposite):
            problem.extra_gradient(models, sample)
    else:
        raise CannotReplay("wanted a composition, or losses after fine-tuning")


def _within(problem: ExactProblem, reach: Fraction) -> ExactTensor:
    """Any number within reach at every client."""
    return ExactTensor.of([[[Noisy(Q(0), {-1: Q(reach)})] for _ in range(problem.clients)]])


def _map(act: Act, state: Any, problem: ExactProblem, chosen: Tensor | None) -> RandomMap:
    """What `act` does to a state, for every outcome of the batches that it asks for.

    Raises:
        CannotReplay: too many outcomes, or a state that is not affine in the mean of a batch.
    """
    counting, begin = BatchMeans(problem.clients, chosen=chosen), entries_of(state)
    act(_held(state, 1), counting)
    if len(counting.sizes) > MOST_SIGNS:
        raise CannotReplay(f"{len(counting.sizes)} signs of a step have too many paths")
    draws = BatchMeans(problem.clients, counting.sizes, chosen)
    ended = act(_held(state, draws.runs), draws)
    first = [Q(1), *[Q(0)] * len(begin)]
    maps = [[first, *(_row(entry, begin) for entry in entries_of(ended, lane))] for lane in range(draws.runs)]
    for lane, column in np.ndindex(draws.runs, len(draws.sizes)):
        if (sides := draws.opposite(lane, column)) is None:
            continue
        middle = [
            [(a + b) / 2 for a, b in zip(*rows, strict=True)] for rows in zip(*(maps[s] for s in sides), strict=True)
        ]
        if maps[lane] != middle:
            raise CannotReplay("a step is not affine in the mean of a batch")
    return RandomMap(list(zip(draws.weights, maps, strict=True)))


def _then(first: RandomMap, second: RandomMap) -> RandomMap:
    """One map after another that is not random."""
    ((_, after),) = second.outcomes
    left = np.array(after, dtype=object)
    return RandomMap([(weight, (left @ np.array(before, dtype=object)).tolist()) for weight, before in first.outcomes])


def _row(entry: Any, begin: Sequence[Fraction]) -> list[Fraction]:
    """A number as a constant and a multiple of each entry of the state."""
    if not isinstance(entry, Noisy):
        return [Q(entry), *[Q(0)] * len(begin)]
    if any(part and not -len(begin) <= index < 0 for index, part in entry.parts.items()):
        raise Bends("a step multiplies two entries of the state")
    rates = [entry.parts.get(-1 - j, Q(0)) / _SMALL for j in range(len(begin))]
    return [entry.centre - sum((rate * at for rate, at in zip(rates, begin, strict=True)), Q(0)), *rates]


def _held(state: Any, lanes: int) -> Any:
    """The state with every entry a variable near it, in so many lanes."""
    held = [Noisy(Q(value), {-1 - place: _SMALL}) for place, value in enumerate(entries_of(state))]
    return with_entries(state, held, lanes)
