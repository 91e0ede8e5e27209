"""Second moments of runs of any length, where a round is affine in its state and in its signs: by powers of what a round does.

The first round is run by itself. Every later round does the same: with z the state less that after the first round,

    z -> A z + b + C xi,    roots  H z + h + G xi   of what counts,

so that sums of squares over R rounds need log2(R) products of small matrices. `Counted` and `AffineRound` serve instances in doubles,
many beside each other, and one in exact numbers: only how a round is read off the method's code differs.

In exact numbers (`in_powers`) the first round is run in fractions. A later one is run once from the state after the first, each part
of it a variable that is as far from there as it can ever be: where no piece of a function ends within that reach the round is affine
for every later state. Powers are taken in ball arithmetic, and so is a bound of the reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np

from ...algorithms import Method
from ...bounds.evaluation.enclosure import ball_of, ends, precision
from ...bounds.language.metrics import LAST, MEAN
from .interval import Bends, Ends
from .noise import AffineSigns, GroupSigns, Noisy, expectation
from .problem import ExactProblem
from .run import LATER, SQUARES, CannotReplay, Walk, require_equal_rounds
from .statistic import Statistic
from .tensor import entries_of, with_entries

Q = Fraction
Array = np.ndarray
T = TypeVar("T")
_BITS = 1024
_SMALL = Q(1, 2**200)
"""How far the parts of a state are moved to see what a round does, before it is known how far they can go."""
_MOST_ROUNDS = 1 + 2**60


@dataclass(frozen=True)
class Counted:
    """What counts of a round of so many steps."""

    period: int
    statistic: Statistic

    def at(self, t: int) -> bool:
        """Whether the time t counts, in a round that begins at 0."""
        return self.statistic.counts(t, self.period)

    @property
    def number(self) -> int:
        return sum(self.at(t) for t in range(self.period + 1))

    def passed(self, step: Callable[[], None], look: Callable[[], T]) -> list[T]:
        """What is seen on the way through a round, at the times that count."""
        seen = []
        for t in range(self.period + 1):
            if self.at(t):
                seen.append(look())
            if t < self.period:
                step()
        return seen

    def statistics(
        self, first: Any, later: AffineRound, start: Array, rounds: Sequence[int], share: Array
    ) -> Iterator[Any]:
        """The statistic of runs of so many rounds, each at least 2, rising.

        Args:
            first: the expected squares in the first round, `(...)`.
            later, start, share: a later round, and what stands in `AffineRound.totals`.
        """
        is_last = self.statistic.is_last
        totals = later.totals(start, [r - 1 for r in rounds], share, only_last=is_last)
        for count, total in zip(rounds, totals, strict=True):
            yield total if is_last else (first + total) / (count * self.number)


@dataclass(frozen=True)
class AffineRound:
    """What a round does, the constant 1 being the last coordinate of the state.

    Args:
        step: of the state, `(..., size, size)`.
        noise: what each sign does to the state, `(..., size, signs)`.
        seen: the roots of what counts, `(..., roots, size)`.
        seen_noise: what each sign does to them, `(..., roots, signs)`.
    """

    step: Array
    noise: Array
    seen: Array
    seen_noise: Array

    def totals(self, start: Array, rounds: Sequence[int], share: Array, *, only_last: bool) -> Iterator[Any]:
        """The expected squares over so many rounds, from second moments M = S S' of the state: with W_R = sum_{r<R} A'^r Q A^r

        <W_R, M> + <V_R, C C'> + R |G|^2,    V_R = sum_{r<R} W_r;

        of the last round only |H A^(R-1) S|^2 + <W_(R-1), C C'> + |G|^2, where Q = H'H.

        Args:
            start: S, `(..., size, columns)`.
            share: the variance of a sign, `(...)`.
        """
        jitter = self.noise @ self.noise.swapaxes(-2, -1) * share[..., None, None]
        # squares and no powers, which `arb` does not have around 0
        each = np.square(self.seen_noise).sum(axis=(-2, -1)) * share
        nothing = np.zeros_like(self.step)
        base = self.seen.swapaxes(-2, -1) @ self.seen
        doubled = [_Sums(1, base, nothing, self.step)]
        for count in (count - only_last for count in rounds):
            while 2 * doubled[-1].rounds <= count:
                doubled.append(doubled[-1].then(doubled[-1]))
            whole = _Sums(0, nothing, nothing, nothing + np.eye(self.step.shape[-1], dtype=int))
            for part in doubled:
                whole = whole.then(part) if part.rounds & count else whole
            if only_last:  # squared last: what decays is far smaller than what it is a difference of
                begun = np.square(self.seen @ whole.power @ start).sum(axis=(-2, -1))
                yield begun + (whole.weight * jitter).sum(axis=(-2, -1)) + each
            else:
                second = start @ start.swapaxes(-2, -1)
                begun = (whole.weight * second).sum(axis=(-2, -1))
                yield begun + (whole.later * jitter).sum(axis=(-2, -1)) + count * each

    def reach(self, spread: Array, doublings: int, larger: Callable[[Array, Array], Array] = np.maximum) -> Array:
        """How far each part of the state can be from where it was after the first round, at most, in up to 2^doublings rounds.

        Args:
            spread: what each sign did to it in the first round, `(..., size - 1, signs)`.
        """
        ever = self.step[..., :-1, :-1]
        power, largest = np.abs(ever), np.abs(spread)
        summed = np.abs(self.step[..., :-1, -1]) + np.abs(self.noise[..., :-1, :]).sum(-1)
        for _ in range(doublings):
            largest = larger(largest, power @ largest)
            summed = summed + (power @ summed[..., None])[..., 0]
            ever = ever @ ever
            power = np.abs(ever)
        found: Array = largest.sum(-1) + summed
        return found


@dataclass(frozen=True)
class _Sums:
    """W_R, V_R and A^R for R rounds, `(..., size, size)`."""

    rounds: int
    weight: Array
    later: Array
    power: Array

    def then(self, more: _Sums) -> _Sums:
        """Of these rounds and more after them."""
        back = self.power.swapaxes(-2, -1)
        return _Sums(
            self.rounds + more.rounds,
            self.weight + back @ more.weight @ self.power,
            self.later + more.rounds * self.weight + back @ more.later @ self.power,
            more.power @ self.power,
        )


# --- exact numbers ---


def in_powers(
    method: Method,
    problem: ExactProblem,
    steps: int,
    period: int,
    statistic: Statistic = SQUARES,
    *,
    members: int = 1,
) -> Ends:
    """An enclosure of a statistic of a run of whole rounds, a mean or the last one.

    Args:
        members: of each group of equal clients; where it is not 1, the problem has two clients of each group beside each other.

    Raises:
        CannotReplay: no whole rounds, a method that does not do the same in every round, or members of a group that matter apart.
        Bends: a round is not affine in what it may meet.
        EnclosureError: the powers of a round grow without limit.
        InexactError: the method calls what has no exact counterpart.
    """
    rounds = steps // period
    if steps % period or period % statistic.every or not 2 <= rounds <= _MOST_ROUNDS:
        raise CannotReplay(f"{steps} steps: wanted whole rounds of {period}, at least two")
    if statistic.over not in (MEAN, LAST) or statistic.failure is not None:
        raise CannotReplay("in powers of a round only a mean of expectations is evaluated, or the last one")
    require_equal_rounds(method)
    counted = Counted(period, statistic)
    share = Q(1) if members == 1 else GroupSigns.mean_share(members)
    run = Walk(method, problem, problem.start, _draws(problem, members))
    roots = _round(run, counted)
    _check_groups(roots, members)
    first = sum((g.centre**2 + share * (expectation(g * g) - g.centre**2) for g in roots), Q(0))
    state, scale = run.state, statistic.measure.scale(problem)
    round_of = partial(_affine, method, problem, state, counted=counted, members=members)
    moved = _moved(round_of, state, period)
    made, *others = [round_of(moved, period * later) for later in LATER]
    if any(not _is_same(made, other) for other in others):
        raise CannotReplay(f"{method.name} does not do the same in every round")
    spread = [entry.parts for entry in _flat(state)]
    (low, high), reach = _powers(counted, first, made, spread, rounds, share)
    round_of(reach, period)  # Bends if a state within reach meets a kink
    return scale * low, scale * high


def _draws(problem: ExactProblem, members: int) -> AffineSigns | GroupSigns:
    return AffineSigns(problem.clients) if members == 1 else GroupSigns(problem.clients // 2)


def _check_groups(gradients: Sequence[Noisy], members: int) -> None:
    """Whether the average over a group is all that a gradient depends on.

    Raises:
        CannotReplay: it is not.
    """
    if members > 1 and any(
        part for g in gradients for k, part in g.parts.items() if k >= 0 and GroupSigns.is_offset(k)
    ):
        raise CannotReplay("what one member of a group does is not undone by the others")


def _round(run: Walk, counted: Counted) -> list[Noisy]:
    """One round on; the roots of what counts, at the averaged model."""
    return counted.passed(run.step, lambda: _noisy(counted.statistic.measure.root(run.problem, run.average)))


def _noisy(value: Any) -> Noisy:
    made = value if isinstance(value, Noisy) else Noisy(Q(value), {})
    if made.is_blurred:
        raise Bends("noise multiplies what a round leaves")
    return made


def _flat(state: Any) -> list[Noisy]:
    """The entries of a state that a run may move."""
    return [_noisy(entry) for entry in entries_of(state)]


def _affine(
    method: Method,
    problem: ExactProblem,
    state: Any,
    reach: Sequence[Fraction],
    first: int,
    counted: Counted,
    members: int,
) -> AffineRound:
    """What the round from time `first` does to states that are at most `reach` from the given one.

    Raises:
        Bends: it is not affine there.
    """
    centres = [entry.centre for entry in _flat(state)]
    moved = [Noisy.around(c, r, -1 - j) for j, (c, r) in enumerate(zip(centres, reach, strict=True))]
    run = Walk(method, problem, problem.start, _draws(problem, members))
    run.state, run.t, run.draws = with_entries(state, moved), first, _draws(problem, members)
    seen = _round(run, counted)
    _check_groups(seen, members)
    ends = [entry - c for entry, c in zip(_flat(run.state), centres, strict=True)] + [Noisy(Q(1), {})]

    def rates(entries: Sequence[Noisy]) -> Array:
        rows = [[e.rate(-1 - j) / r if r else Q(0) for j, r in enumerate(reach)] for e in entries]
        return np.array([[*row, e.centre] for row, e in zip(rows, entries, strict=True)], dtype=object)

    def signs(entries: Sequence[Noisy]) -> Array:
        return np.array([[e.rate(k) for k in range(run.draws.columns.count)] for e in entries], dtype=object)

    return AffineRound(rates(ends), signs(ends), rates(seen), signs(seen))


def _is_same(a: AffineRound, b: AffineRound) -> bool:
    return all(np.array_equal(part, other) for part, other in zip(vars(a).values(), vars(b).values(), strict=True))


def _moved(round_of: Callable[..., AffineRound], state: Any, period: int) -> list[Fraction]:
    """A small number for each part of the state that ever moves, 0 for those that nothing moves."""
    reach = [_SMALL if entry.parts else Q(0) for entry in _flat(state)]
    while True:
        affine = round_of(reach, period)
        moves = [row.any() for row in np.concatenate([affine.step, affine.noise], axis=1)[:-1]]
        further = [_SMALL if r or m else Q(0) for r, m in zip(reach, moves, strict=True)]
        if further == reach:
            return reach
        reach = further


def _powers(
    counted: Counted,
    first: Fraction,
    affine: AffineRound,
    spread: Sequence[Mapping[int, Fraction]],
    rounds: int,
    share: Fraction,
) -> tuple[Ends, list[Fraction]]:
    """The statistic of so many rounds, and how far each part of the state can be from where it was after the first one.

    Args:
        spread: what each sign did to each part of the state in the first round.
        share: the variance of what stands for a sign.
    """
    in_balls = np.frompyfunc(ball_of, 1, 1)
    with precision(_BITS):
        signs = sorted({k for parts in spread for k in parts})
        alone = in_balls(np.array([[parts.get(k, Q(0)) for k in signs] for parts in spread], dtype=object))
        later = AffineRound(*(in_balls(part) for part in vars(affine).values()))
        start = np.zeros((len(spread) + 1, len(signs) + 1), dtype=object)
        start[:-1, :-1], start[-1, -1] = alone * ball_of(share).sqrt(), 1
        variance = np.array(ball_of(share), dtype=object)
        (found,) = counted.statistics(ball_of(first), later, start, [rounds], variance)
        larger = np.frompyfunc(lambda a, b: a.max(b), 2, 1)
        reach = later.reach(alone, (rounds - 2).bit_length(), larger)
        return ends(found).pair, [ends(far).upper for far in reach]
