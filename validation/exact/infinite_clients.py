"""Endless runs of very many clients with independent noise, in exact numbers: see `EveryPath`.

For every start in an interval [low, high], a round of infinitely many clients ends at least `margin` within it. With N clients the
average of a round's models misses the expected one by that much with probability at most 2 exp(-2 N margin^2 / width^2)
(Hoeffding), where `width` is how far apart the models of one step can be. So all of R rounds stay, but for R times that, and
the squared gradients are those on the interval.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from ...algorithms import Method
from ...synthetic.families.piecewise import FAMILIES
from .draws import EveryPath
from .interval import Ends, Interval, ends_of
from .problem import ExactProblem, Instance, exact_problem
from .run import SQUARES, CannotReplay, Walk, keeps_models_only, moved_least, require_equal_rounds, signs_of
from .statistic import Statistic
from .tensor import ExactTensor, raw

Q = Fraction
MOST_BITS = 6
"""Signs of a client in a round: with more there are too many paths."""
_RADII = (80, 60, 40, 20, 10)
"""Powers of 1/2, of the least distance between knots, that are tried as the half-width of an interval."""
_LEAST_MARGIN = Q(1, 2**40)
_LEAST_POWER = 4096
"""Probabilities below 2 to minus this are not told apart."""


class InfiniteClients:
    """A problem whose every client stands for infinitely many, with a method whose rounds its clients run by themselves.

    Args:
        method: for as many clients as there are paths of all of them.
        problem: its clients, before they are laid out.
        bits: signs that a client asks for in a round, see `bits_of`.

    Raises:
        CannotReplay: the method keeps more than models, or a client's round depends on another client's noise.
    """

    def __init__(self, method: Method, problem: ExactProblem, bits: int, period: int) -> None:
        require_equal_rounds(method)
        self.method, self.period, self.bits, self.groups = method, period, bits, problem.clients
        self.problem = laid_out(problem, bits)
        if not self._runs_apart():
            raise CannotReplay(f"{method.name}: a client's round depends on the noise of others")

    def draws(self, turned: int | None = None) -> Any:
        return EveryPath(self.groups, self.bits, wrap=lambda signs: ExactTensor.of(raw(signs)), turned=turned)

    def _runs_apart(self) -> bool:
        """Whether a client that takes another path changes no other client before the models are averaged."""
        usual, other = (self.models(self.problem.start, turned) for turned in (None, 0))
        return all(a[1:] == b[1:] for a, b in zip(usual[:-1], other[:-1], strict=True))

    def models(self, start: Any, turned: int | None = None) -> list[list[Any]]:
        """The models of a round from `start` at t = 0, ..., period - 1, those before they are averaged, and the average, once.

        Raises:
            CannotReplay: models are exchanged within the round, or differ at its end.
        """
        run = Walk(self.method, self.problem, start, self.draws(turned))
        if not keeps_models_only(run.state):
            raise CannotReplay(f"{self.method.name} keeps more than models: a round is no map of the start alone")
        passed, state = [], run.state
        for t in range(self.period):
            passed.append(_models(state))
            moved = run.method.local_step(self.problem, state, run.draws.at(t), t)
            state = run.method.communicate(self.problem, moved, t)
            if t < self.period - 1 and _models(state) != _models(moved):
                raise CannotReplay(f"{self.method.name} exchanges models within a round")
        ends = _models(state)
        if any(end != ends[0] for end in ends):
            raise CannotReplay(f"{self.method.name} does not average the models at the end of a round")
        return [*passed, _models(moved), ends[:1]]

    def end(self, start: Any) -> Any:
        """Where a round from `start` ends."""
        return self.models(start)[-1][0]

    def interval(self) -> Ends:
        """An interval around the start, well within which a round ends that begins in it.

        Raises:
            CannotReplay: none was found.
        """
        start, gap = self.problem.start, self.problem.least_gap
        for power in _RADII:
            radius = gap / 2**power
            if self._margin(start - radius, start + radius) > radius * _LEAST_MARGIN:
                return start - radius, start + radius
        raise CannotReplay("no interval around the start that a round of a crowd keeps")

    def _margin(self, low: Fraction, high: Fraction) -> Fraction:
        a, b = ends_of(self.end(Interval.variable(low, high)))
        return min(a - low, high - b)

    def refined_start(self, window: Fraction) -> Fraction:
        """A start within a window around the problem's that a round moves by next to nothing.

        Raises:
            CannotReplay: a round does not move the ends of the window inwards.
        """
        return moved_least(self.end, self.problem.start, window, bits=200)

    def average(self, interval: Ends, clients: int, rounds: int, statistic: Statistic = SQUARES) -> Ends:
        """An enclosure of a mean of squared gradients over so many rounds of so many clients.

        Raises:
            CannotReplay: a round does not keep the interval, or there are too few clients to say so.
        """
        low, high = interval
        if statistic != Statistic(every=statistic.every):
            raise CannotReplay("of very many clients only the mean of squared gradients is evaluated")
        margin = self._margin(low, high)
        if margin <= 0:
            raise CannotReplay("a round leaves the interval")
        *steps, _ = self.models(Interval.variable(low, high))
        passed = [[ends_of(model) for model in models] for models in steps]
        width = max(max(b for _, b in ends) - min(a for a, _ in ends) for ends in passed)
        missed = rounds * (self.period + 1) * chance_to_miss(clients, margin, width)
        if missed >= 1:
            raise CannotReplay("too few clients: their average is not known well enough")
        rows = []
        for t in (t for t in range(self.period) if statistic.counts(t, self.period)):
            a, b = (sum((pair[i] for pair in passed[t]), Q(0)) / len(passed[t]) for i in (0, 1))
            near = Interval.variable(a - margin, b + margin)
            rows.append([statistic.measure.at(self.problem, near)])
        least, most = statistic.of_run(rows)
        return (1 - missed) * least, most + missed * self.problem.steepest**2


def bits_of(method: Method, problem: ExactProblem, period: int) -> int:
    """Signs that a client asks for in a round.

    Raises:
        CannotReplay: too many.
    """

    def walk(draws: Any) -> None:
        run = Walk(method, problem, problem.start, draws)
        for _ in range(period):
            run.step()

    bits = signs_of(problem, walk) // problem.clients
    if bits > MOST_BITS:
        raise CannotReplay(f"{bits} signs of a client in a round have too many paths")
    return bits


def laid_out(problem: ExactProblem, bits: int) -> ExactProblem:
    """The problem with every client as often as it has paths."""
    shapes = FAMILIES[problem.kind].SHAPES
    parameters = {
        name: [part for part in value for _ in range(2**bits)] if shapes[name] in ("client", "knots") else value
        for name, value in problem.parameters.items()
    }
    return exact_problem(Instance(problem.kind, parameters, problem.settings))


def _models(state: Any) -> list[Any]:
    return list(state.x.numbers[0, :, 0])


def chance_to_miss(clients: int, margin: Fraction, width: Fraction) -> Fraction:
    """The probability with which an average of so many numbers within `width` misses its mean by `margin`, at most."""
    if width == 0:
        return Q(0)
    power = min(int(2 * clients * (margin / width) ** 2), _LEAST_POWER)
    return 2 * Q(1, 2**power)
