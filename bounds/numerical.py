"""A global numerical search for statements that are not geometric programs. It proves nothing, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy as sp

from .reading import InputError

if TYPE_CHECKING:
    from .task import Task

_DECADES = 12.0
"""Real hyperparameters are searched over this many decades on both sides of 1, whole ones from 1 upwards."""
_REJECTED = 1e6


def differential_evolution(task: Task, *, seed: int = 0, steps: int = 300) -> dict[str, float]:
    """The best admissible point that scipy's differential evolution finds in the logarithms of the hyperparameters.

    Raises:
        InputError: no admissible point was found.
    """
    from scipy.optimize import differential_evolution as search

    names = [binding.name for binding in task.model.free]
    evaluate = penalised(task)
    bounds = [_decades(*task.box()[name]) for name in names]
    whole = [name in task.model.whole for name in names]
    answer = search(
        lambda x: evaluate(x, whole),
        bounds,
        seed=seed,
        maxiter=steps,
        popsize=20,
        tol=1e-10,
        vectorized=True,
        updating="deferred",
    )
    if answer.fun >= _REJECTED / 2:
        raise InputError(
            f"{task.model.theorem.id} ({task.model.label}): no admissible values were found by a numerical search"
        )
    point = {name: 10.0**value for name, value in zip(names, answer.x, strict=True)}
    return {name: float(round(value)) if name in task.model.whole else value for name, value in point.items()}


def _decades(low: float, high: float) -> tuple[float, float]:
    from math import inf, log10

    return (log10(low) if low > 0 else -_DECADES, log10(high) if high < inf else _DECADES)


def penalised(task: Task) -> Any:
    """log10 of the objective at an array of log10 points, shape (names, many); a penalty where something is
    violated."""
    import numpy as np

    made = task.model
    arguments = [binding.symbol for binding in made.free]
    objective = made.total() if task.cost is None else task.cost
    slacks = [condition.slack for condition in made.conditions]
    slacks += [_exact(limit) - expr for _, expr, limit in task.limits]
    for name, (low, high) in task.ranges.items():
        symbol = made.theorem.vocabulary[name].symbol
        slacks += [symbol - _exact(low)] if low is not None else []
        slacks += [_exact(high) - symbol] if high is not None else []
    if task.target is not None:
        slacks.append(_exact(task.target) - made.total())
    function = sp.lambdify(arguments, [sp.N(expr, 25) for expr in (objective, *slacks)], "numpy", cse=True)

    def evaluate(points: Any, whole: list[bool]) -> Any:
        values = [np.maximum(np.rint(10.0**p), 1.0) if w else 10.0**p for p, w in zip(points, whole, strict=True)]
        with np.errstate(all="ignore"):
            first, *rest = (np.broadcast_to(np.asarray(v, float), np.shape(points[0])) for v in function(*values))
            bad = sum((np.where(slack < 0, 1.0, 0.0) for slack in rest), np.zeros_like(first))
            return np.where(bad > 0, _REJECTED + bad, np.log10(np.maximum(first, 1e-300)))

    return evaluate


def _exact(number: Any) -> sp.Rational:
    return sp.Rational(number.numerator, number.denominator)
