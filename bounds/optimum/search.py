"""Branch and bound over whole numbers: geometric programs below, exact geometric programs at fixed whole numbers above.

On a box of the variables a program from below proves that nothing better is in the box; a dive (fix the whole numbers
one by one, smallest first, and solve again) finds a point that is admissible for the statement itself. Boxes are
split until the two meet. Replaced factors such as (I - 1)^2 are exact at fixed I and nearly exact on a narrow box.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from itertools import count
from math import ceil, floor, inf, sqrt

from .posynomial import Converter, EmptyBoxError, NotPosynomialError, Posynomial
from .program import Program, Solution, solve

Box = dict[str, tuple[float, float]]
Maker = Callable[[Converter], tuple[Posynomial, list[tuple[str, Posynomial]]]]
"""Objective and constraints of a problem, and a function that makes a program of them on a box."""

Solver = Callable[[Box], Solution | None]
"""The function that makes the program from above on a box."""

Replaced = Mapping[str, frozenset[str]]
"""What was replaced, in words -> the variables that make the program exact when they are fixed."""

GAP = 1e-6
NODES = 30
_ERROR = 1e-8
_EXACT = 1e-6
"""Relative distances below this are no reason to split a box."""
_LARGE = 1e7
_MONOMIALS = 1000
"""Nodes times monomials: a long statement is searched less, so that an answer takes a second or two."""


@dataclass
class Found:
    """Best point so far and what is proved about the rest."""

    value: float = inf
    point: dict[str, float] = field(default_factory=dict)
    lower: float = 0.0
    nodes: int = 0
    escapes: tuple[str, ...] = ()

    @property
    def gap(self) -> float:
        return max(self.value - self.lower, 0.0) / self.value if 0 < self.value < inf else 0.0


def program(make: Maker, box: Box, upper: bool, tighten: float = 1.0) -> tuple[Program, Converter]:
    """The geometric program on a box; `tighten` < 1 asks for some room in every constraint."""
    converter = Converter(box, upper)
    objective, constraints = make(converter)
    room = Posynomial.number(1 / tighten)
    made = [(name, part * room if part.names and tighten != 1 else part) for name, part in constraints]
    made += [("side", part) for part in converter.sides]
    for name, (low, high) in box.items():
        if low == high:
            continue
        if low > 0:
            made.append((f"{name} at least {low:g}", Posynomial.number(low) * Posynomial.variable(name, -1)))
        if high < inf:
            made.append((f"{name} at most {high:g}", Posynomial.variable(name) * Posynomial.number(1 / high)))
    return Program(objective, tuple(made)), converter


def minimise(make: Maker, box: Box, whole: tuple[str, ...], *, nodes: int = NODES, gap: float = GAP) -> Found:
    """The least value over real and whole variables in a box, with a lower bound.

    Returns:
        `value` inf where no admissible point was found; then `lower` inf proves that there is none.
    """
    found, order = Found(), count()
    root = _below(make, box)
    if root is None:
        found.lower = inf
        return found
    found.escapes = root[0].escapes
    ending = frozenset(name for name, (_, high) in box.items() if high < inf)
    nodes = max(min(nodes, _MONOMIALS // program(make, box, upper=True)[0].size), 6)
    solve_at = _remembered(make)
    heap = [(root[0].lower, next(order), dict(box), *root)]
    closed = inf
    while heap and found.nodes < nodes:
        lower, _, here, solution, replaced = heapq.heappop(heap)
        if lower >= found.value * (1 - gap):
            closed = min(closed, lower)
            break
        found.nodes += 1
        point, value = dive(solve_at, here, whole, solution)
        if value < found.value:
            found.point, found.value = _refined(solve_at, make, here, whole, replaced, point, value)
        parts = split(here, whole, solution, replaced, ending)
        if not parts:
            closed = min(closed, lower)
        for part in parts:
            below = _below(make, part)
            if below is not None:
                bound = max(below[0].lower, lower)
                heapq.heappush(heap, (bound, next(order), part, *below))
    found.lower = min([closed, found.value, *(item[0] for item in heap)])
    return found


def _below(make: Maker, box: Box) -> tuple[Solution, Replaced] | None:
    try:
        made, converter = program(make, box, upper=False)
    except EmptyBoxError:
        return None
    if not made.objective.terms and program(make, box, upper=True)[0].objective.terms:
        raise NotPosynomialError("what is subtracted may be all of it")
    solution = solve(made)
    return None if solution is None else (solution, dict(converter.replacements))


def relaxed(make: Maker, box: Box) -> Solution | None:
    """The program from below with whole variables taken as real: its optimum bounds the problem's from below."""
    below = _below(make, box)
    return None if below is None else below[0]


def dive(solve_at: Solver, box: Box, whole: tuple[str, ...], start: Solution) -> tuple[dict[str, float], float]:
    """Fix the whole variables one by one at a neighbour of where the program wants them; the rest is solved again."""
    here, solution = dict(box), start
    open_names = [name for name in whole if here[name][0] != here[name][1]]
    while open_names:
        wanted = {name: solution.point.get(name, here[name][0]) for name in open_names}
        name = min(open_names, key=lambda n: (wanted[n], n))
        open_names.remove(name)
        best = None
        for value in _neighbours(wanted[name], *here[name]):
            trial = {**here, name: (value, value)}
            answer = solve_at(trial)
            if answer is not None and (best is None or answer.value < best[0].value):
                best = answer, trial
        if best is None:
            return {}, inf
        solution, here = best
    answer = solve_at(here)
    if answer is None:
        return {}, inf
    return {**answer.point, **{name: here[name][0] for name in whole}}, answer.value


def _remembered(make: Maker) -> Solver:
    """The program from above on boxes around fixed whole numbers, each solved once: many dives end at the same ones.

    None too where a factor such as q - 1 is negative.
    """
    known: dict[tuple[tuple[str, tuple[float, float]], ...], Solution | None] = {}

    def solve_at(box: Box) -> Solution | None:
        key = tuple(box.items())
        if key not in known:
            try:
                known[key] = solve(program(make, box, upper=True)[0], proved=False)
            except (EmptyBoxError, NotPosynomialError):
                known[key] = None
        return known[key]

    return solve_at


def _refined(
    solve_at: Solver,
    make: Maker,
    box: Box,
    whole: tuple[str, ...],
    replaced: Replaced,
    point: dict[str, float],
    value: float,
) -> tuple[dict[str, float], float]:
    """Dive again in narrower and narrower boxes around a point: there the replacements are nearly exact from above
    too."""
    loose = [name for name in _loose(box, replaced) if point and name in point]
    for factor in (2.0, 1.1, 1.01) if loose else ():
        near = dict(box)
        for name in loose:
            low, high = max(box[name][0], point[name] / factor), min(box[name][1], point[name] * factor)
            near[name] = (float(floor(low)), float(ceil(high))) if name in whole and low >= 1 else (low, high)
        start = solve(program(make, near, upper=True)[0], proved=False)
        again = dive(solve_at, near, whole, start) if start is not None else ({}, inf)
        if again[1] < value:
            point, value = again
    return point, value


def _loose(box: Box, replaced: Replaced) -> list[str]:
    """Variables of replaced factors that are not fixed."""
    names = {name for found in replaced.values() for name in found if name in box}
    return sorted(name for name in names if box[name][0] != box[name][1])


def _neighbours(value: float, low: float, high: float) -> list[float]:
    candidates = [floor(value), ceil(value)]
    if value > _LARGE:  # the solver's own error is more than 1
        candidates += [floor(value * (1 - _ERROR)), ceil(value * (1 + _ERROR))]
    clipped = {min(max(float(c), ceil(low)), floor(high) if high < inf else inf) for c in candidates}
    return sorted(clipped)


def split(
    box: Box, whole: tuple[str, ...], solution: Solution, replaced: Replaced, ending: Collection[str] = ()
) -> list[Box]:
    """Two smaller boxes, or none where the program from below is already exact enough to stop.

    A real variable of a replaced factor is split as long as its box is wider than what the whole numbers are from being whole.

    Args:
        ending: variables whose domain has an end: what is lost with 1 - v is lost near it, so they are split in their middle.
    """
    fractions = {
        name: abs(solution.point[name] - round(solution.point[name])) / solution.point[name]
        for name in whole
        if name in solution.point and box[name][0] != box[name][1]
    }
    rough = max(fractions, key=lambda n: fractions[n], default="")
    narrow = 1 + max(fractions.get(rough, 0.0), _EXACT)
    for name in sorted(_loose(box, replaced), key=lambda n: (n not in whole, n)):
        low, high = box[name]
        at = solution.point.get(name, low or 1.0)
        if name in whole:
            if high < inf and not 1.1 * low < at < 0.9 * high:
                at = sqrt(low * high)
            middle = float(min(max(floor(at + 1e-6), low), high - 1))
            return [{**box, name: (low, middle)}, {**box, name: (middle + 1, high)}]
        far = 1.1 * low < at < 0.9 * high
        if name in ending:
            at, far = (low + high) / 2, low < high / 2
        middle = at if far else (sqrt(low * high) if low > 0 and high < inf else 0.0)
        if middle > 0 and (high == inf or high / max(low, 1e-300) > narrow):
            return [{**box, name: (low, middle)}, {**box, name: (middle, high)}]
    if not rough or fractions[rough] < _EXACT:
        return []
    low, high = box[rough]
    middle = float(floor(solution.point[rough]))
    return [{**box, rough: (low, middle)}, {**box, rough: (middle + 1, high)}] if low <= middle < high else []
