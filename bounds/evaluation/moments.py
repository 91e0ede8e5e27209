"""Second moments of a linear random recursion over any number of steps: matrix powers in ball arithmetic.

A method on a problem whose oracles are linear where its paths stay is affine in its state z for every outcome w of the
noise of one step. With Z = (1, z) it is linear, Z -> M_w Z, and for noise that is drawn afresh in every step

    E[Z_{t+1} Z_{t+1}^T] = sum_w P(w) M_w E[Z_t Z_t^T] M_w^T + Q,

Q the covariance of centred additive noise. This is one matrix on the n (n + 1) / 2 entries of a symmetric E[Z Z^T], and a
second row block adds up a statistic. So T steps with a communication after every I-th are a few matrix powers, whatever T is.
Every result is an interval that contains the true value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any

from .enclosure import Enclosure, EnclosureError, ball_of, ends, precision

Entry = Fraction | int | Any
"""A rational number, or a ball (`flint.arb`) for what is not rational, such as a step size sqrt(K/T)."""
Matrix = Sequence[Sequence[Entry]]

_FIRST_BITS, _MOST_BITS = 256, 8192


@dataclass(frozen=True)
class RandomMap:
    """Z -> M_w Z with probability P(w), plus centred noise that is independent of it.

    Args:
        outcomes: (probability, M_w); every M_w is (n, n) and acts on Z = (1, z).
        covariance: of the additive noise, (n, n), its first row and column zero; None for no such noise.

    Raises:
        ValueError: probabilities that do not add up to 1, or matrices of other shapes.
    """

    outcomes: Sequence[tuple[Fraction | int, Matrix]]
    covariance: Matrix | None = None

    def __post_init__(self) -> None:
        if (total := sum((Fraction(weight) for weight, _ in self.outcomes), Fraction(0))) != 1:
            raise ValueError(f"probabilities: wanted a sum of 1, got {total}")
        matrices = [M for _, M in self.outcomes] + ([] if self.covariance is None else [self.covariance])
        for M in matrices:
            if len(M) != self.size or any(len(row) != self.size for row in M):
                raise ValueError(f"a map of Z: wanted {self.size} rows and columns, got {[len(row) for row in M]}")
        if any(list(M[0]) != [1, *[0] * (self.size - 1)] for _, M in self.outcomes):
            raise ValueError("a map of Z = (1, z): wanted the first row (1, 0, ..., 0)")
        if self.covariance is not None and any(self.covariance[0][j] != 0 for j in range(self.size)):
            raise ValueError("covariance: the constant 1 of Z has no noise")

    @property
    def size(self) -> int:
        """n, the entries of Z."""
        return len(self.outcomes[0][1])


@dataclass(frozen=True)
class Recursion:
    """A local step at every t, and a communication after the steps t with t + 1 divisible by the period.

    Args:
        start: z_0.
        local: one step of all clients.
        communication: what follows at the end of a round, such as averaging; None for a recursion without rounds.
        period: steps per round.
        first: the step t = 0 where it differs, such as an estimate that is only initialised.
    """

    start: Sequence[Entry]
    local: RandomMap
    communication: RandomMap | None = None
    period: int = 1
    first: RandomMap | None = None

    def __post_init__(self) -> None:
        wanted = 1 + len(self.start)
        for part in (self.local, self.communication, self.first):
            if part is not None and part.size != wanted:
                raise ValueError(f"wanted maps of {wanted} entries (1, z), got {part.size}")
        if self.period < 1:
            raise ValueError(f"period: wanted at least 1, got {self.period}")

    def mean_square(self, G: Matrix, steps: int, *, relative: Fraction = Fraction(1, 10**12)) -> Enclosure:
        """E|G Z_steps|^2.

        Args:
            G: one row per component; its first column multiplies the 1 in Z.
            steps: t, of any size.
            relative: wanted width of the answer over its value.

        Raises:
            EnclosureError: no such width within 8192 bits.
        """
        return _until(lambda: self._statistic_after(G, steps), relative)

    def _statistic_after(self, G: Matrix, steps: int) -> Any:
        run = _Run(self, G)
        return run.statistic(run.after(steps))

    def average(
        self, G: Matrix, steps: int, *, after: bool = False, relative: Fraction = Fraction(1, 10**12)
    ) -> Enclosure:
        """The mean of E|G Z_t|^2 over t = 0, ..., steps - 1, or with `after` over t = 1, ..., steps.

        Raises:
            ValueError: no steps.
            EnclosureError: as `mean_square`.
        """
        if steps < 1:
            raise ValueError(f"steps: wanted at least 1, got {steps}")

        def mean() -> Any:
            run = _Run(self, G)
            state = run.after(steps)
            shift = run.statistic(state) - run.statistic(run.start) if after else 0
            return (run.total(state) + shift) / steps

        return _until(mean, relative)

    def stays(self, rows: Matrix, reach: Fraction, steps: int) -> bool:
        """Whether no |row Z_t| exceeds a reach before one of so many steps, where no map is random.

        Raises:
            ValueError: one is.
        """
        with precision(_MOST_BITS // 8):
            maps = [part and _matrix([[ball_of(v) for v in row] for row in _only(part)]) for part in self.maps]
            Z, asked, most = (
                _column([ball_of(1), *map(ball_of, self.start)]),
                _matrix([[ball_of(v) for v in row] for row in rows]),
                ball_of(reach),
            )
            first, local, communication = maps
            for t in range(steps):
                if not all(abs(value) <= most for value in (asked * Z).entries()):
                    return False
                Z = (first if t == 0 and first is not None else local) * Z
                if communication is not None and (t + 1) % self.period == 0:
                    Z = communication * Z
        return True

    @property
    def maps(self) -> tuple[RandomMap | None, RandomMap, RandomMap | None]:
        """The first step, every other one, and the communication."""
        return self.first, self.local, self.communication


def _only(part: RandomMap) -> Matrix:
    if len(part.outcomes) != 1 or part.covariance is not None:
        raise ValueError("wanted a map that is not random")
    return part.outcomes[0][1]


@dataclass(frozen=True)
class RandomRounds:
    """Whole rounds, each of which is one of several that is drawn afresh, such as those of different clients.

    Args:
        rounds: (probability, recursion, statistic) of each; start and period are those of all.

    Raises:
        ValueError: probabilities that do not add up to 1.
    """

    rounds: Sequence[tuple[Fraction, Recursion, Matrix]]

    def __post_init__(self) -> None:
        if sum(weight for weight, _, _ in self.rounds) != 1:
            raise ValueError("the probabilities of the rounds: wanted a sum of 1")

    def average(self, count: int, *, relative: Fraction = Fraction(1, 10**12)) -> Enclosure:
        """The mean of E|G Z_t|^2 over the steps of so many rounds, each with the statistic G of its own."""

        def mean() -> Any:
            runs = [(weight, _Run(recursion, G)) for weight, recursion, G in self.rounds]
            first = runs[0][1]
            state = _applied(
                sum((run.round * ball_of(weight) for weight, run in runs), first.nothing), count, first.start
            )
            return first.total(state) / (count * first.recursion.period)

        return _until(mean, relative)


def _until(quantity: Callable[[], Any], relative: Fraction) -> Enclosure:
    """A quantity at growing precision, until it is as narrow as wanted."""
    bits = _FIRST_BITS
    while bits <= _MOST_BITS:
        with precision(bits):
            found = quantity()
            if found.is_finite():
                interval = ends(found)
                if interval.width <= relative * min(abs(interval.lower), abs(interval.upper)):
                    return interval
        bits *= 2
    raise EnclosureError(f"the second moment is not known to a relative {float(relative):.1g} with {_MOST_BITS} bits")


class _Run:
    """The recursion on (the entries of E[Z Z^T], the sum of the statistic so far), at the precision that is set."""

    def __init__(self, recursion: Recursion, G: Matrix) -> None:
        self.recursion = recursion
        self.size = recursion.local.size
        self.pairs = list(combinations_with_replacement(range(self.size), 2))
        self.place = {pair: k for k, pair in enumerate(self.pairs)}
        self.weights = self._weights(G)
        Z = [ball_of(1), *(ball_of(v) for v in recursion.start)]
        self.start = _column([*(Z[i] * Z[j] for i, j in self.pairs), ball_of(0)])

    def _weights(self, G: Matrix) -> list[Any]:
        """E|G Z|^2 as a linear form in the entries."""
        if any(len(row) != self.size for row in G):
            raise ValueError(f"a statistic: wanted rows of {self.size} entries, got {[len(row) for row in G]}")
        rows = [[ball_of(v) for v in row] for row in G]
        return [sum((row[i] * row[j] * (1 if i == j else 2) for row in rows), ball_of(0)) for i, j in self.pairs]

    def statistic(self, state: Any) -> Any:
        return sum((weight * state[k, 0] for k, weight in enumerate(self.weights)), ball_of(0))

    def total(self, state: Any) -> Any:
        return state[len(self.pairs), 0]

    def after(self, steps: int) -> Any:
        state = self.start
        for operator, count in self._schedule(steps):
            state = _applied(operator, count, state)
        return state

    def _schedule(self, steps: int) -> Iterator[tuple[Any, int]]:
        """(operator, how often), in order; a communication belongs to the step that it follows."""
        o, period = self.recursion, self.recursion.period
        lead = min(period, steps) if o.first is not None else 0
        if o.first is not None and lead:
            yield self._operator(o.first), 1
            yield self.local, lead - 1
            yield self.communication, int(lead == period)
        rounds, rest = divmod(steps - lead, period)
        yield self.round, rounds
        yield self.local, rest

    @property
    def round(self) -> Any:
        return self.communication * _applied(self.local, self.recursion.period, _identity(len(self.pairs) + 1))

    @property
    def nothing(self) -> Any:
        """A matrix of zeros."""
        return _identity(len(self.pairs) + 1) * ball_of(0)

    @cached_property
    def local(self) -> Any:
        return self._operator(self.recursion.local)

    @cached_property
    def communication(self) -> Any:
        part = self.recursion.communication
        return _identity(len(self.pairs) + 1) if part is None else self._operator(part, counts=False)

    def _operator(self, part: RandomMap, counts: bool = True) -> Any:
        """One map on the entries; with `counts` it first adds the statistic to the sum."""
        entries = len(self.pairs)
        rows = [[ball_of(0)] * (entries + 1) for _ in range(entries + 1)]
        for weight, M in part.outcomes:
            self._add(rows, ball_of(weight), [{j: ball_of(v) for j, v in enumerate(row) if v != 0} for row in M])
        if part.covariance is not None:
            for k, (i, j) in enumerate(self.pairs):
                rows[k][0] += ball_of(part.covariance[i][j])  # the entry (0, 0) of E[Z Z^T] is 1
        rows[entries] = [*(self.weights if counts else [ball_of(0)] * entries), ball_of(1)]
        return _matrix(rows)

    def _add(self, rows: list[list[Any]], weight: Any, M: list[dict[int, Any]]) -> None:
        """Add weight * (M S M^T)_ij as a linear form in the entries of the symmetric S."""
        for k, (i, j) in enumerate(self.pairs):
            for a, left in M[i].items():
                for b, right in M[j].items():
                    rows[k][self.place[min(a, b), max(a, b)]] += weight * left * right


def _matrix(rows: list[list[Any]]) -> Any:
    from flint import arb_mat

    return arb_mat(len(rows), len(rows[0]), [v for row in rows for v in row])


def _column(values: list[Any]) -> Any:
    return _matrix([[v] for v in values])


def _applied(operator: Any, count: int, state: Any) -> Any:
    """operator^count state by repeated squaring; counts beyond a machine word too."""
    while count:
        if count & 1:
            state = operator * state
        count >>= 1
        if count:
            operator = operator * operator
    return state


def _identity(size: int) -> Any:
    return _matrix([[ball_of(int(i == j)) for j in range(size)] for i in range(size)])
