"""From a point in floating point to exact values with few digits at which everything holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import sympy as sp

from ...errors import UndefinedError
from ..evaluation.evaluate import InadmissibleError, bound, complete, exact, fraction_of, sign
from ..language.reading import InputError
from .model import Model
from .posynomial import NotPosynomialError
from .program import Solution, solve
from .search import Box, program
from .task import Task


def rounded(task: Task, point: Mapping[str, float]) -> dict[str, Fraction]:
    """Whole numbers as they are and reals with few digits, such that every condition, budget and target holds exactly.

    Raises:
        InputError: none is found (the admissible set has no interior).
    """
    return _on_schedule(task, _exact(task, point))


_LEVELS = ((1e-9, 10), (1e-7, 8), (1e-5, 7), (0.0, 15))
"""Shares of room that are left for rounding, and the digits to which real numbers are rounded."""
_DIGITS = ((0.0, 10), (0.0, 7), (0.0, 4))
"""The same for a point that is not moved."""
_WORSE = 0.9999
"""The point itself is taken where its value is below this share of the program's choice: there the program only bounds a factor."""


def _exact(task: Task, point: Mapping[str, float]) -> dict[str, Fraction]:
    made = task.model
    whole = {name: Fraction(round(point[name])) for name in made.whole}
    moved = [c for m in _multiples(task, whole) for c in [_finished(task, m, point)] if c is not None]
    if moved:
        return min(moved, key=lambda c: objective_at(task, c))
    as_it_is = _finished(task, whole, point)
    if as_it_is is not None:
        return as_it_is
    steps = {name: max(1, round(float(whole[name]) * 1e-7)) for name in made.whole}
    nudged = [{**whole, n: whole[n] + sign * step} for n, step in steps.items() for sign in (1, -1) if whole[n] > step]
    near = [c for candidate in nudged for c in [_with_reals(task, candidate, point, *_LEVELS[0])] if c is not None]
    for chosen in sorted(near, key=lambda c: objective_at(task, c)):
        if accepts(task, chosen):
            return chosen
    raise InputError(
        f"{made.statement.name}: no admissible values with finitely many digits were found; "
        f"where {' or '.join(task.ranges) or 'a hyperparameter'} can have one value only, that value is wanted, as in --set NAME=VALUE"
    )


_MOST_NEIGHBOURS = 4096
"""Largest number of which divisors are looked for."""


def _multiples(task: Task, whole: Mapping[str, Fraction]) -> Iterator[dict[str, Fraction]]:
    """The whole numbers moved to the next multiples; one that has to divide a given number becomes its divisors."""
    free, values = set(whole), {**task.model.values, **whole}
    for condition in (c for c in task.model.statement.multiples if {str(s) for s in c.left.free_symbols} & free):
        large, small = (str(side) for side in condition.left.args)
        if large in free:
            down = values[large] // values[small] * values[small]
            yield from ({**whole, large: m} for m in (down, down + values[small]) if m > 0)
        if small in free:
            most = min(int(2 * values[small]), int(values[large]), _MOST_NEIGHBOURS)
            yield from ({**whole, small: Fraction(d)} for d in range(1, most + 1) if values[large] % d == 0)


def _finished(task: Task, whole: dict[str, Fraction], point: Mapping[str, float]) -> dict[str, Fraction] | None:
    """What the program chooses at these whole numbers, or the point itself where the program only knows worse ones."""
    chosen = _first_accepted(task, whole, point, _LEVELS)
    if chosen is None:
        return _first_accepted(task, whole, point, _DIGITS)
    itself = _with_reals(task, whole, point, *_DIGITS[0])
    if itself is None or objective_at(task, itself) >= _WORSE * objective_at(task, chosen):
        return chosen
    return _first_accepted(task, whole, point, _DIGITS) or chosen


def _first_accepted(
    task: Task, whole: dict[str, Fraction], point: Mapping[str, float], levels: Sequence[tuple[float, int]]
) -> dict[str, Fraction] | None:
    tried = (_with_reals(task, whole, point, room, digits) for room, digits in levels)
    return next((chosen for chosen in tried if chosen is not None and accepts(task, chosen)), None)


def _on_schedule(task: Task, chosen: dict[str, Fraction]) -> dict[str, Fraction]:
    """Of whole numbers that the objective does not tell apart, the schedule's, rounded down where it is not whole."""
    made = task.model
    for name in made.whole:
        if name in made.statement.schedule:
            others = {key: value for key, value in chosen.items() if key != name}
            scheduled = sp.floor(
                complete(made.statement, {**made.values, **others})[made.statement.symbols[name].symbol]
            )
            candidate = {**chosen, name: Fraction(int(scheduled))}
            if objective_at(task, candidate) == objective_at(task, chosen) and accepts(task, candidate):
                chosen = candidate
    return chosen


def objective_at(task: Task, chosen: Mapping[str, Fraction]) -> float:
    """The bound or the cost at exact values."""
    expr = task.model.total() if task.cost is None else task.cost
    return float(expr.xreplace({binding.symbol: exact(chosen[binding.name]) for binding in task.model.free}))


def _with_reals(
    task: Task, whole: Mapping[str, Fraction], point: Mapping[str, float], room: float, digits: int
) -> dict[str, Fraction] | None:
    """Real hyperparameters for given whole ones, away from every limit by a relative `room`, in decimal digits.

    Those whose domain has an end stay where the search put them: a program that bounds 1 - v by 1 does not choose v.
    """
    made = task.model
    box = task.box()  # a hyperparameter that nothing depends on is in no program, and may be anything
    reals = {name: point.get(name, min(max(1.0, box[name][0]), box[name][1])) for name in made.real}
    ending = [b.name for b in made.free if b.name in reals and b.quantity.numbers.most is not None]
    held = {**whole, **{name: Fraction(f"{reals[name]:.{digits}g}") for name in ending}}
    if made.real and room:
        answer = _tightened(task, {**task.box(), **{n: (float(v), float(v)) for n, v in held.items()}}, 1 - room)
        if answer is None:
            return None
        reals = {name: answer.point.get(name, reals[name]) for name in made.real}
    chosen = {name: Fraction(f"{value:.{digits}g}") for name, value in reals.items()} | held
    table = {binding.symbol: exact(chosen[binding.name]) for binding in made.free}
    for name, expr in _determined_outside_schedule(made).items():
        value = expr.xreplace(table)
        if value.is_Rational:
            chosen[name] = fraction_of(value)
    return chosen


def _tightened(task: Task, box: Box, tighten: float) -> Solution | None:
    try:
        return solve(program(task.make, box, upper=True, tighten=tighten)[0])
    except NotPosynomialError:
        return None


def accepts(task: Task, chosen: Mapping[str, Fraction]) -> bool:
    """Whether the statement, the budgets, the ranges and the target hold at these values, decided exactly."""
    made = task.model
    table = {binding.symbol: exact(chosen[binding.name]) for binding in made.free}
    for name, (low, high) in task.ranges.items():
        if (low is not None and chosen[name] < low) or (high is not None and chosen[name] > high):
            return False
    try:
        if any(sign(expr.xreplace(table) - exact(limit)) > 0 for _, expr, limit in task.limits):
            return False
        if task.target is not None and sign(made.total().xreplace(table) - exact(task.target)) > 0:
            return False
        bound(made.statement, {**made.values, **chosen})
    except (InadmissibleError, UndefinedError):
        return False
    return True


def _determined_outside_schedule(made: Model) -> dict[str, sp.Expr]:
    schedule = made.statement.schedule
    return {name: expr for name, expr in made.determined.items() if name not in schedule}
