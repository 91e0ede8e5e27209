"""A method's own code in exact numbers: for a given number of steps, or for ever from a start that a round keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NoReturn, TypeVar

import torch
from torch import Tensor

from ...algorithms import Method
from ...algorithms.engine.method import Start
from .interval import Ends, Interval
from .noise import AffineSigns, AllPaths, Bends, Noisy, expectation
from .problem import ExactProblem
from .tensor import ExactTensor

Q = Fraction
MOST_STEPS = 4096
"""Longer runs are not iterated."""
_EXACT_STEPS = 256
"""Longer runs keep numbers short by intervals rounded outward."""
MOST_SIGNS = 10
"""More signs have too many paths."""
T = TypeVar("T")


class CannotReplay(ValueError):
    """The exact replay does not apply: a run that is too long, or a start that the round does not keep."""


class NoNoise:
    """The draws of a run without randomness: everybody takes part, nothing else may be drawn."""

    def __init__(self, clients: int) -> None:
        self.clients, self.runs, self.seed_indices = clients, 1, (0,)

    def at(self, step: int) -> NoNoise:
        return self

    def subset(self, purpose: str, size: int) -> Tensor:
        if size != self.clients:
            raise CannotReplay(f"{size} of {self.clients} clients take part: the run is random")
        return torch.ones(1, self.clients, dtype=torch.float64)

    def __getattr__(self, name: str) -> NoReturn:
        raise CannotReplay(f"the method draws {name} of its own: the run is random")


class Walk:
    """The states of a method on a problem, one step at a time."""

    def __init__(self, method: Method, problem: ExactProblem, start: Any, draws: Any = None) -> None:
        self.method, self.problem, self.t = method.over(1), problem, 0
        self.draws: Any = draws
        if draws is None:
            self.draws = NoNoise(problem.clients)
        estimate = problem.parameters.get("estimate")
        y = None if estimate is None else ExactTensor.of([estimate])
        begin = Start(x=ExactTensor.of([start]), y=y)
        with torch.no_grad():
            self.state: Any = self.method.init(problem, begin, self.draws)

    def step(self) -> None:
        with torch.no_grad():
            moved = self.method.local_step(self.problem, self.state, self.draws.at(self.t), self.t)
            self.state = self.method.communicate(self.problem, moved, self.t)
        self.t += 1

    @property
    def averages(self) -> list[Any]:
        """The averaged model, one number for each lane."""
        mean = self.state.average
        assert isinstance(mean, ExactTensor)
        return list(mean.numbers[:, 0])

    @property
    def average(self) -> Any:
        """The averaged model of the first lane."""
        return self.averages[0]


def scalar(number: Any) -> ExactTensor:
    """A hyperparameter as a method takes it: one grid point."""
    return ExactTensor.of([number])


def constant(ends: Ends) -> Any:
    """A number known to lie between two ends: itself where they are equal."""
    low, high = ends
    return low if low == high else Interval((low, high), (Q(0), Q(0)), (low, high), Q(0))


def _square(number: Any) -> Ends:
    if isinstance(number, Noisy):
        return expectation(number * number), expectation(number * number)
    return number.squared() if isinstance(number, Interval) else (number**2, number**2)


def expected(problem: ExactProblem, steps: int, take: Callable[[Any], T]) -> T:
    """What `take(draws)` gives for a run of so many steps: with signs in closed form, else over all paths of a short run.

    Raises:
        CannotReplay: the noise bends the run, and there are too many paths.
    """
    if not problem.is_noisy:
        return take(NoNoise(problem.clients))
    affine = AffineSigns(problem.clients)
    try:
        return take(affine)
    except Bends as error:
        count = _signs_of(problem, steps, take)
        if count > MOST_SIGNS:
            raise CannotReplay(f"{error}, and {count} signs have too many paths") from error
        return take(AllPaths(count, problem.clients))


def _signs_of(problem: ExactProblem, steps: int, take: Callable[[Any], T]) -> int:
    """How many signs a run asks for."""
    counting = AllPaths(0, problem.clients)
    counting.is_counting = True
    take(counting)
    return counting.columns.count


def average_square(method: Method, problem: ExactProblem, steps: int, *, every: int = 1, after: bool = False) -> Ends:
    """An enclosure of the mean of |F'(xbar_t)|^2 over t = 0, every, ... < steps, or over t = every, ..., steps.

    Raises:
        CannotReplay: too many steps.
        InexactError: the method calls what has no exact counterpart.
    """
    if steps > MOST_STEPS:
        raise CannotReplay(f"{steps} steps: wanted at most {MOST_STEPS}")
    start: Any = problem.start
    if steps > _EXACT_STEPS and not problem.is_noisy:
        start = Interval((start, start), (Q(0), Q(0)), (start, start), Q(0))

    def take(draws: Any) -> Ends:
        run = Walk(method, problem, start, draws)
        low, high, count = Q(0), Q(0), 0
        for t in range(steps + 1):
            is_counted = t % every == 0 and (t > 0 if after else t < steps)
            if is_counted:
                a, b = _mean_square(problem, run.averages)
                low, high, count = low + a, high + b, count + 1
            if t < steps:
                run.step()
        return low / count, high / count

    return expected(problem, steps, take)


def _mean_square(problem: ExactProblem, points: list[Any]) -> Ends:
    squares = [_square(problem.gradient_at(x)) for x in points]
    return sum((a for a, _ in squares), Q(0)) / len(squares), sum((b for _, b in squares), Q(0)) / len(squares)


def keeps_models_only(state: Any) -> bool:
    """Whether a method carries nothing from round to round but the models."""
    return set(vars(state)) <= {"x", "active"}


def require_equal_rounds(method: Method) -> None:
    """What is known of one round is known of all.

    Raises:
        CannotReplay: a hyperparameter depends on t.
    """
    if method.is_scheduled:
        raise CannotReplay(f"{method.name} has a schedule in t: no round is like another")


def _round(method: Method, problem: ExactProblem, start: Any, period: int) -> tuple[Any, list[Any]]:
    """Where a round from `start` ends, and the averaged models at its steps."""
    require_equal_rounds(method)
    run = Walk(method, problem, start)
    if not keeps_models_only(run.state):
        raise CannotReplay(f"{method.name} keeps more than models: a round is no map of the start alone")
    path = []
    for _ in range(period):
        path.append(run.average)
        run.step()
    first, *others = run.state.x.numbers[0, :, 0]
    if not all(model is first or (model == first and not isinstance(model, Interval)) for model in others):
        raise CannotReplay(f"{method.name} does not average the models at the end of a round")
    return run.average, path


def invariant_interval(method: Method, problem: ExactProblem, period: int) -> Ends:
    """An interval around the start that every round maps into itself: a single point where one is found.

    Raises:
        CannotReplay: none was found.
    """
    point = _fixed_point(method, problem, period)
    if point is not None:
        return point, point
    radius = Q(1, 2**200) * max(abs(problem.start), Q(1))
    for _ in range(4):
        low, high = problem.start - radius, problem.start + radius
        end, _ = _round(method, problem, Interval.variable(low, high), period)
        if low <= end.values[0] and end.values[1] <= high:
            return low, high
        radius *= 2**16
    raise CannotReplay("no interval around the start that a round maps into itself")


def refined_start(method: Method, problem: ExactProblem, period: int, window: Fraction) -> Fraction:
    """A start near the problem's that a round moves by next to nothing, by bisection in fractions.

    Raises:
        CannotReplay: the round does not move both ends of the window inwards.
    """
    low, high = problem.start - window, problem.start + window

    def moved(x: Fraction) -> Fraction:
        return _round(method, problem, x, period)[0] - x

    if not moved(low) > 0 > moved(high):
        raise CannotReplay("a round does not move the ends of a window around the start inwards")
    while high - low > window / 2**230:
        middle = _short((low + high) / 2, window)
        low, high = (middle, high) if moved(middle) > 0 else (low, middle)
    return low


def _short(number: Fraction, window: Fraction) -> Fraction:
    bits = 260 + max(0, (1 / window).numerator.bit_length() - (1 / window).denominator.bit_length())
    return Q(round(number * 2**bits), 2**bits)


def _fixed_point(method: Method, problem: ExactProblem, period: int) -> Fraction | None:
    """The fixed point of a round that is affine around the start, if the solution of that affine map is one."""
    x, step = problem.start, Q(1, 2**60)
    try:
        a, b = (_round(method, problem, point, period)[0] - point for point in (x, x + step))
        if a == 0:
            return x
        if a == b:
            return None
        guess: Fraction = x - a * step / (b - a)
        return guess if _round(method, problem, guess, period)[0] == guess else None
    except CannotReplay:
        raise
    except (ArithmeticError, OverflowError):
        return None


def endless_square(method: Method, problem: ExactProblem, period: int, interval: Ends, *, every: int = 1) -> Ends:
    """An enclosure of the mean of |F'(xbar_t)|^2 over any number of whole rounds that start in an invariant interval.

    Raises:
        CannotReplay: a round does not map the interval into itself.
    """
    low, high = interval
    start: Any = low if low == high else Interval.variable(low, high)
    end, path = _round(method, problem, start, period)
    ends = end.values if isinstance(end, Interval) else (end, end)
    if not (low <= ends[0] and ends[1] <= high):
        raise CannotReplay("a round leaves the interval")
    squares = [_square(problem.gradient_at(x)) for x in path[::every]]
    return sum((a for a, _ in squares), Q(0)) / len(squares), sum((b for _, b in squares), Q(0)) / len(squares)


def whole_numbers(values: Mapping[str, Any]) -> dict[str, int]:
    """The entries that are whole numbers, as integers."""
    return {name: int(v) for name, v in values.items() if isinstance(v, (int, Fraction)) and Q(v).denominator == 1}
