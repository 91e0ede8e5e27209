"""Whole numbers that use a budget up: many neighbours of a point at once, then the rest chosen again for the best few.

A budget is rarely a product of nice numbers, and branch and bound stops within its gap; here thousands of combinations
near the point that it found are ranked by floating point, and geometric programs at fixed whole numbers decide.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

from .numerical import measured
from .posynomial import EmptyBoxError, NotPosynomialError
from .program import solve
from .search import Found, program
from .task import Task

_STEPS = 600
_LARGE = 1e7
_SOLVED = 12
_TOLERANCE = 1e-7
_ROUNDS = 30


def polish(task: Task, found: Found) -> Found:
    """The same point, or a better one whose whole numbers differ by up to some hundred steps."""
    whole = _movable(task, found)
    if not whole:
        return found
    rank = _ranking(task)
    at_one_value = {name: low for name, (low, high) in task.box().items() if low == high}
    found = replace(found, point={**at_one_value, **found.point})  # a program has no variable for these
    for _ in range(_ROUNDS):
        before = found
        for candidate in candidates(rank, task, found, whole):
            found = _decided(task, found, candidate)
        if found is before:
            break
    return found


def _movable(task: Task, found: Found) -> list[str]:
    box = task.box()
    return [n for n in task.model.whole if n in found.point and box[n][0] < box[n][1] and found.point[n] < _LARGE]


def _ranking(task: Task) -> Any:
    """The objective where everything holds (to the error of the point that is polished), else infinity."""
    import numpy as np

    measure = measured(task, _TOLERANCE)
    names = [binding.name for binding in task.model.free]

    def rank(point: dict[str, Any]) -> Any:
        objective, failed = measure(*(np.asarray(point[name], float) for name in names))
        return np.where((failed > 0) | ~np.isfinite(objective), np.inf, objective)

    return rank


def candidates(
    rank: Any, task: Task, found: Found, whole: list[str], *, steps: int = _STEPS, most: int = _SOLVED
) -> list[dict[str, float]]:
    """The most promising whole numbers: one of them moved, and another raised until a budget is used up, after a third was scaled
    against it or not; or none, one or all of the others scaled against it (rounded down, or one of them or all of them up).
    """
    import numpy as np

    box = task.box()
    seen: dict[tuple[float, ...], tuple[float, dict[str, float]]] = {}
    free = [b.name for b in task.model.free if b.name not in task.model.whole and box[b.name][0] < box[b.name][1]]

    def reals(ratio: Any) -> list[dict[str, Any]]:
        """The real hyperparameters where they are, or scaled with the number that moves, as a step size is with T."""
        return [{name: found.point[name] * ratio**power for name in free} for power in (0.0, -0.5, -1.0)]

    def keep(point: dict[str, Any], moved: Any) -> None:
        values = np.minimum.reduce([rank({**point, **moves}) for moves in reals(moved / centre)])
        for place in np.argsort(values)[:most]:
            if np.isfinite(values[place]):
                chosen = {n: float(np.broadcast_to(point[n], moved.shape)[place]) for n in whole}
                rated = (float(values[place]), chosen)
                seen[tuple(chosen.values())] = min(rated, seen.get(tuple(chosen.values()), rated), key=lambda r: r[0])

    for first in whole:
        centre = found.point[first]
        low, high = max(box[first][0], centre - steps), min(box[first][1], centre + steps)
        moved = np.arange(np.ceil(low), np.floor(high) + 1)
        others = [name for name in whole if name != first]
        for name in others:
            point = dict(found.point) | {first: moved}
            point[name] = largest_allowed(rank, point, name, box[name][0], min(box[name][1], _LARGE))
            keep(point, moved)
        for held, filled in permutations(others, 2):
            for more in (0, 1):
                point = dict(found.point) | {first: moved}
                down = np.floor(found.point[held] * centre / moved + _TOLERANCE)
                point[held] = np.clip(down + more, *box[held])
                point[filled] = largest_allowed(rank, point, filled, box[filled][0], min(box[filled][1], _LARGE))
                keep(point, moved)
        for group in ([], *([name] for name in others), *([others] if len(others) > 1 else [])):
            for raised in dict.fromkeys([(), tuple(group), *((name,) for name in group)]):
                point = dict(found.point) | {first: moved}
                for name in group:
                    scaled = np.floor(found.point[name] * centre / moved + _TOLERANCE) + (name in raised)
                    point[name] = np.clip(scaled, *box[name])
                keep(point, moved)
    ordered = sorted(seen.values(), key=lambda item: item[0])
    return [chosen for value, chosen in ordered[:most] if value < found.value * (1 + 1e-4)]


def largest_allowed(rank: Any, point: dict[str, Any], name: str, low: float, high: float) -> Any:
    """The largest whole value of one number that every budget still allows, by bisection; `low` where none does."""
    import numpy as np

    size = np.broadcast_arrays(*(np.asarray(value, float) for value in point.values()))[0].shape
    inside, outside = np.full(size, float(low)), np.full(size, float(high) + 1)
    for _ in range(int(np.ceil(np.log2(max(high - low, 2.0)))) + 1):
        middle = np.floor((inside + outside) / 2)
        allowed = np.isfinite(rank({**point, name: middle}))
        inside, outside = np.where(allowed, middle, inside), np.where(allowed, outside, middle)
    return np.maximum(inside, low)


def _decided(task: Task, found: Found, chosen: dict[str, float]) -> Found:
    """The point with these whole numbers, if the exact program there is better."""
    fixed = {name: (value, value) for name, value in chosen.items()}
    still = {n: (found.point[n], found.point[n]) for n in task.model.whole if n in found.point and n not in chosen}
    try:
        answer = solve(program(task.make, {**task.box(), **still, **fixed}, upper=True)[0])
    except (EmptyBoxError, NotPosynomialError):  # such as q - 1 < 0: outside the conditions
        return found
    if answer is None or answer.value >= found.value:
        return found
    point = {**answer.point, **{name: pair[0] for name, pair in {**still, **fixed}.items()}}
    return replace(found, value=answer.value, point=point, lower=min(found.lower, answer.value))
