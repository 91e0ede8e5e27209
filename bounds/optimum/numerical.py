"""A global numerical search for statements that are not geometric programs. It proves nothing, and says so."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import sympy as sp

from ..evaluation.evaluate import exact, in_doubles
from ..language.reading import InputError
from ..region.conditions import ordered

if TYPE_CHECKING:
    from .task import Task

_DECADES = 12.0
"""Real hyperparameters are searched over this many decades on both sides of 1, whole ones from 1 upwards."""
_REJECTED = 1e6
_SMALL = 10
"""Up to here the neighbours of a whole number are tried as well."""
_TOLERANCE = 1e-7
_FARTHEST = 1e3
"""Most decades for which the sides of a condition that fails count."""


def best_found(task: Task) -> dict[str, float]:
    """The best admissible point of a numerical search, with each small whole number moved by 1 and the rest chosen again as long as that is
    better: from one small whole number to the next the objective jumps, and the search may stop beside the best one.

    Raises:
        InputError: no admissible point was found.
    """
    point, box = differential_evolution(task), task.box()
    measure = measured(task, _TOLERANCE)

    def value(at: Mapping[str, float]) -> float:
        objective, failed = measure(*(at[binding.name] for binding in task.model.free))
        return float("inf") if failed else float(objective)

    for name in task.model.whole:
        moved = True
        while moved and point[name] <= _SMALL:
            near = [n for n in (point[name] - 1, point[name] + 1) if box[name][0] <= n <= box[name][1]]
            best = min([point, *(found for n in near for found in _held_at(task, {name: n}))], key=value)
            point, moved = best, best is not point
    return point


def _held_at(task: Task, held: Mapping[str, float]) -> list[dict[str, float]]:
    """The best point with these values, if one is admissible."""
    try:
        return [differential_evolution(task, held=held)]
    except InputError:
        return []


def differential_evolution(
    task: Task, *, held: Mapping[str, float] = MappingProxyType({}), seed: int = 0, steps: int = 300
) -> dict[str, float]:
    """The best admissible point that scipy's differential evolution finds in the logarithms of the hyperparameters.

    Args:
        held: hyperparameters that keep a value.

    Raises:
        InputError: no admissible point was found.
    """
    from scipy.optimize import differential_evolution as search

    names = [binding.name for binding in task.model.free]
    box = {**task.limited(), **{name: (value, value) for name, value in held.items()}}
    bounds = [_decades(*box[name]) for name in names]
    whole = [name in task.model.whole for name in names]
    for by_size in (False, True):  # where the admissible points are few, how far the others are from them leads there
        evaluate = penalised(task, by_size=by_size)
        answer = search(
            lambda x, evaluate=evaluate: evaluate(x, whole),
            bounds,
            seed=seed,
            maxiter=steps,
            popsize=20,
            tol=1e-10,
            vectorized=True,
            updating="deferred",
        )
        if answer.fun < _REJECTED / 2:
            break
    else:
        raise InputError(f"{task.model.statement.name}: no admissible values were found by a numerical search")
    point = {name: 10.0**value for name, value in zip(names, answer.x, strict=True)}
    return {name: float(round(value)) if name in task.model.whole else value for name, value in point.items()}


def _decades(low: float, high: float) -> tuple[float, float]:
    from math import inf, log10

    return (log10(low) if low > 0 else -_DECADES, log10(high) if 0 < high < inf else _DECADES)


def measured(task: Task, tolerance: float = 0.0, *, by_size: bool = False) -> Any:
    """A numpy function of the free hyperparameters, one array each: the objective, and how many conditions, budgets,
    ranges and targets fail there; with ``by_size`` each counts for more, the more decades its sides are apart.

    What speaks of real hyperparameters may fail by a relative ``tolerance``; between whole numbers there is none.
    """
    import numpy as np

    made = task.model
    total = made.total()
    pairs = [ordered(c) for c in made.conditions]
    pairs += [(expr, exact(limit)) for _, expr, limit in task.limits]
    for name, (low, high) in task.ranges.items():
        symbol = made.statement.symbols[name].symbol
        pairs += [(exact(low), symbol)] if low is not None else []
        pairs += [(symbol, exact(high))] if high is not None else []
    if task.target is not None:
        pairs.append((total, exact(task.target)))
    whole = {binding.symbol for binding in made.free if binding.name in made.whole}
    allowed = [0.0 if pair[0].free_symbols | pair[1].free_symbols <= whole else tolerance for pair in pairs]
    outputs = [total if task.cost is None else task.cost, *(side for pair in pairs for side in pair)]
    arguments = [binding.symbol for binding in made.free]
    expressions = [sp.N(expr, 25) for expr in outputs]
    function = in_doubles(arguments, expressions)

    def measure(*arrays: Any) -> tuple[Any, Any]:
        shape = np.broadcast_shapes(*(np.shape(array) for array in arrays))
        with np.errstate(all="ignore"):
            objective, *sides = (np.broadcast_to(np.asarray(v, float), shape) for v in function(*arrays))
            failed = np.zeros(shape)
            for small, large, room in zip(sides[::2], sides[1::2], allowed, strict=True):
                fails = small > large + room * np.abs(large)
                decades = np.log10(np.abs(small)) - np.log10(np.maximum(large, 1e-300)) if by_size else 0.0
                failed += fails * (1.0 + np.clip(np.nan_to_num(decades), 0.0, _FARTHEST))
        return objective, failed

    return measure


def penalised(task: Task, *, by_size: bool = False) -> Any:
    """log10 of the objective at an array of log10 points, shape (names, many); a penalty where something fails."""
    import numpy as np

    measure = measured(task, by_size=by_size)

    def evaluate(points: Any, whole: list[bool]) -> Any:
        values = [np.maximum(np.rint(10.0**p), 1.0) if w else 10.0**p for p, w in zip(points, whole, strict=True)]
        objective, failed = measure(*values)
        return np.where(failed > 0, _REJECTED + failed, np.log10(np.maximum(objective, 1e-300)))

    return evaluate
