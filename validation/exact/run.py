"""A method's own code in exact numbers: for a given number of steps, or for ever from a start that a round keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from typing import Any, NoReturn, TypeVar

import torch
from torch import Tensor

from ...algorithms import Method
from ...algorithms.engine.method import Start
from ...bounds.language.metrics import TAKE_WEIGHTS
from .interval import Ends, Interval, ends_of
from .noise import AffineSigns, AllPaths, Bends
from .problem import ExactProblem
from .statistic import Statistic
from .tensor import ExactTensor

Q = Fraction
MOST_STEPS = 4096
"""Longer runs are not iterated."""
_EXACT_STEPS = 256
"""Longer runs keep numbers short by intervals rounded outward."""
LATER = (1, 2, 5)
"""Rounds that are compared: a method that does something else from round to round is not run by what one of them does."""
MOST_SIGNS = 10
"""More signs have too many paths."""
T = TypeVar("T")


class CannotReplay(ValueError):
    """The exact replay does not apply: a run that is or takes too long, or a start that the round does not keep."""


_IS_OVER: ContextVar[Callable[[], bool] | None] = ContextVar("_IS_OVER", default=None)


@contextmanager
def as_long_as(is_over: Callable[[], bool]) -> Iterator[None]:
    """Runs in here are broken off at the first step at which the time is over.

    A step with noise takes longer the more signs were drawn before it, so that nobody knows beforehand how long a run takes.
    """
    token = _IS_OVER.set(is_over)
    try:
        yield
    finally:
        _IS_OVER.reset(token)


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
        """One step on.

        Raises:
            CannotReplay: the time is over (`as_long_as`).
        """
        is_over = _IS_OVER.get()
        if is_over is not None and is_over():
            raise CannotReplay(f"the exact run takes too long: broken off at step {self.t}")
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


def expected(problem: ExactProblem, take: Callable[[Any], T], *, by_path: bool = False) -> T:
    """What `take(draws)` gives for a run: with signs in closed form, else over all paths of a short run.

    Args:
        by_path: over all paths anyway: what is taken is no expectation.

    Raises:
        CannotReplay: the noise bends the run, and there are too many paths.
    """
    if not problem.is_noisy:
        return take(NoNoise(problem.clients))
    try:
        if by_path:
            raise Bends("the law of a run is wanted")
        return take(AffineSigns(problem.clients))
    except Bends as error:
        count = signs_of(problem, take)
        if count > MOST_SIGNS:
            raise CannotReplay(f"{error}, and {count} signs have too many paths") from error
        return take(AllPaths(count, problem.clients))


def signs_of(problem: ExactProblem, take: Callable[[Any], Any]) -> int:
    """How many signs a run asks for."""
    counting = AllPaths(0, problem.clients)
    counting.is_counting = True
    take(counting)
    return counting.columns.count


SQUARES = Statistic()
"""The mean of |F'(xbar_t)|^2 over t < steps."""


def stepped(method: Method, problem: ExactProblem, steps: int, statistic: Statistic = SQUARES) -> Ends:
    """An enclosure of a statistic of a run that is stepped through.

    Raises:
        CannotReplay: too many steps.
        InexactError: the method calls what has no exact counterpart, or the weights of the iterates are no rational numbers.
    """
    if steps > MOST_STEPS:
        raise CannotReplay(f"{steps} steps: wanted at most {MOST_STEPS}")
    start: Any = problem.start
    if steps > _EXACT_STEPS and not problem.is_noisy:
        start = Interval((start, start), (Q(0), Q(0)), (start, start), Q(0))

    def take(draws: Any) -> Ends:
        run, path = Walk(method, problem, start, draws), []
        for t in range(steps + 1):
            if statistic.counts(t, steps):
                path.append((t, run.averages))
            if t < steps:
                run.step()
        return statistic.of_path(problem, path)

    return expected(problem, take, by_path=statistic.failure is not None)


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
    """Where a round from `start` ends, and the averaged models at t = 0, ..., period."""
    require_equal_rounds(method)
    run = Walk(method, problem, start)
    if not keeps_models_only(run.state):
        raise CannotReplay(f"{method.name} keeps more than models: a round is no map of the start alone")
    path = [run.average]
    for _ in range(period):
        run.step()
        path.append(run.average)
    first, *others = run.state.x.numbers[0, :, 0]
    if not all(model is first or (model == first and not isinstance(model, Interval)) for model in others):
        raise CannotReplay(f"{method.name} does not average the models at the end of a round")
    return path[-1], path


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
    return moved_least(lambda x: _round(method, problem, x, period)[0], problem.start, window, bits=230)


def moved_least(end: Callable[[Fraction], Fraction], start: Fraction, window: Fraction, *, bits: int) -> Fraction:
    """A number within a window around a start that a round, whose end this function gives, moves by next to nothing.

    Args:
        bits: halvings of the window.

    Raises:
        CannotReplay: the round does not move both ends of the window inwards.
    """
    low, high = start - window, start + window
    if not (end(low) > low and end(high) < high):
        raise CannotReplay("a round does not move the ends of a window around the start inwards")
    while high - low > window / 2**bits:
        middle = _short((low + high) / 2, window)
        low, high = (middle, high) if end(middle) > middle else (low, middle)
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


def endless(method: Method, problem: ExactProblem, period: int, interval: Ends, statistic: Statistic = SQUARES) -> Ends:
    """An enclosure of a statistic of any number of whole rounds that start in an invariant interval.

    Raises:
        CannotReplay: a round does not map the interval into itself, or its times have weights.
    """
    if statistic.over in TAKE_WEIGHTS:
        raise CannotReplay("an endless run weighs all rounds alike")
    low, high = interval
    start: Any = low if low == high else Interval.variable(low, high)
    end, path = _round(method, problem, start, period)
    ends = ends_of(end)
    if not (low <= ends[0] and ends[1] <= high):
        raise CannotReplay("a round leaves the interval")
    return statistic.of_run(
        [[statistic.measure.at(problem, x)] for t, x in enumerate(path) if statistic.counts(t, period)]
    )
