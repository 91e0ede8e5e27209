"""Second moments of noisy runs that are too long to be stepped through, in ball arithmetic.

The first round is run in fractions. A later one is run once from the state after the first, each part of it a variable that is
as far from there as it can ever be. Where no piece of a function ends within that reach the round is affine for every later
state, and powers of its matrix give the expectation. A bound of the reach comes from the same powers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

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
_BITS = 1024
_SMALL = Q(1, 2**200)
"""How far the parts of a state are moved to see what a round does, before it is known how far they can go."""
_MOST_ROUNDS = 2**60


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
    rounds = steps // period - 1
    if steps % period or period % statistic.every or not 1 <= rounds <= _MOST_ROUNDS:
        raise CannotReplay(f"{steps} steps: wanted whole rounds of {period}, at least two")
    if statistic.over not in (MEAN, LAST) or statistic.failure is not None:
        raise CannotReplay("in powers of a round only a mean of expectations is evaluated, or the last one")
    require_equal_rounds(method)
    times = [t for t in range(period + 1) if statistic.counts(t, period)]
    share = Q(1) if members == 1 else GroupSigns.mean_share(members)
    run = Walk(method, problem, problem.start, _draws(problem, members))
    roots = _round(run, period, times, statistic)
    _check_groups(roots, members)
    first = sum((g.centre**2 + share * (expectation(g * g) - g.centre**2) for g in roots), Q(0))
    state, scale = run.state, statistic.measure.scale(problem)
    rounds_of = partial(
        _affine, method, problem, state, period=period, times=times, statistic=statistic, members=members
    )
    moved = _moved(rounds_of, state, period)
    made = [rounds_of(moved, period * later) for later in LATER]
    if any(other != made[0] for other in made[1:]):
        raise CannotReplay(f"{method.name} does not do the same in every round")
    spread = [entry.parts for entry in _flat(state)]
    total, reach = _powers(made[0], spread, rounds, share, only_last=statistic.is_last)
    rounds_of(reach, period)  # Bends if a state within reach meets a kink
    if statistic.is_last:
        return scale * total[0], scale * total[1]
    count = (rounds + 1) * len(times)
    return scale * (first + total[0]) / count, scale * (first + total[1]) / count


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


@dataclass(frozen=True)
class _Affine:
    """A round: state -> step state + shift + noise signs, roots of what counts = seen state + level + seen_noise signs."""

    step: list[list[Fraction]]
    shift: list[Fraction]
    noise: list[list[Fraction]]
    seen: list[list[Fraction]]
    level: list[Fraction]
    seen_noise: list[list[Fraction]]


def _round(run: Walk, period: int, times: Sequence[int], statistic: Statistic) -> list[Noisy]:
    """One round on; the roots of what counts, at the averaged model."""
    found = []
    for t in range(period + 1):
        if t in times:
            found.append(_noisy(statistic.measure.root(run.problem, run.average)))
        if t < period:
            run.step()
    return found


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
    period: int,
    times: Sequence[int],
    statistic: Statistic,
    members: int,
) -> _Affine:
    """What the round from time `first` does to states that are at most `reach` from the given one, its noise left out.

    Raises:
        Bends: it is not affine there.
    """
    centres = [entry.centre for entry in _flat(state)]
    moved = [Noisy.around(c, r, -1 - j) for j, (c, r) in enumerate(zip(centres, reach, strict=True))]
    run = Walk(method, problem, problem.start, _draws(problem, members))
    run.state, run.t, run.draws = with_entries(state, moved), first, _draws(problem, members)
    seen = _round(run, period, times, statistic)
    _check_groups(seen, members)
    later, count = _flat(run.state), run.draws.columns.count

    def rates(entry: Noisy) -> list[Fraction]:
        return [entry.rate(-1 - j) / r if r else Q(0) for j, r in enumerate(reach)]

    def signs(entry: Noisy) -> list[Fraction]:
        return [entry.rate(k) for k in range(count)]

    return _Affine(
        [rates(end) for end in later],
        [end.centre - c for end, c in zip(later, centres, strict=True)],
        [signs(end) for end in later],
        [rates(g) for g in seen],
        [g.centre for g in seen],
        [signs(g) for g in seen],
    )


def _moved(rounds_of: Callable[..., _Affine], state: Any, period: int) -> list[Fraction]:
    """A small number for each part of the state that ever moves, 0 for those that nothing moves."""
    reach = [_SMALL if entry.parts else Q(0) for entry in _flat(state)]
    while True:
        affine = rounds_of(reach, period)
        rows = zip(affine.step, affine.shift, affine.noise, strict=True)
        moves = [bool(b) or any(noise) or any(step) for step, b, noise in rows]
        further = [_SMALL if r or m else Q(0) for r, m in zip(reach, moves, strict=True)]
        if further == reach:
            return reach
        reach = further


def _powers(
    affine: _Affine, spread: Sequence[Mapping[int, Fraction]], rounds: int, share: Fraction, *, only_last: bool
) -> tuple[Ends, list[Fraction]]:
    """The summed squares over so many rounds, or those of the last one, and how far each part of the state can be from where it begins.

    `share` is the variance of what stands for a sign.
    """
    from flint import arb, arb_mat

    with precision(_BITS):
        signs = sorted({k for parts in spread for k in parts})
        alone = [[parts.get(k, Q(0)) for k in signs] or [Q(0)] for parts in spread]
        size = len(spread)
        step = _matrix([*([*r, b] for r, b in zip(affine.step, affine.shift, strict=True)), [Q(0)] * size + [Q(1)]])
        seen = _matrix([[*r, h] for r, h in zip(affine.seen, affine.level, strict=True)])
        noise = _matrix([*(row or [Q(0)] for row in affine.noise), [Q(0)] * max(1, len(affine.noise[0]))])
        begin = _matrix([*alone, [Q(0)] * len(alone[0])])
        base = seen.transpose() * seen
        weight, later = arb_mat(size + 1, size + 1), arb_mat(size + 1, size + 1)
        power = arb_mat(size + 1, size + 1, [int(i == j) for i in range(size + 1) for j in range(size + 1)])
        done = 0
        for bit in bin(rounds - only_last)[2:]:  # n -> 2 n, and one more where the bit is set
            back = power.transpose()
            later, weight = later + weight * arb(done) + back * later * power, weight + back * weight * power
            power, done = power * power, 2 * done
            if bit == "1":
                later, weight = later + weight, weight + power.transpose() * base * power
                power, done = step * power, done + 1
        if only_last:
            weight, later = power.transpose() * base * power, weight
        each = sum((number**2 for row in affine.seen_noise for number in row), Q(0))
        random = _trace(begin.transpose() * weight * begin) + _trace(noise.transpose() * later * noise)
        total = weight[size, size] + random * ball_of(share)
        low, high = ends(total).pair
        each *= share * (1 if only_last else rounds)
        return (low + each, high + each), _reach(affine, alone, rounds)


def _reach(affine: _Affine, alone: list[list[Fraction]], rounds: int) -> list[Fraction]:
    """How far each part of the state can be from where it is after the first round, at most."""
    power = _matrix(affine.step)
    size = len(affine.step)
    largest = [[abs(entry) for entry in row] for row in _rows(_matrix(alone))]
    pushes = ([b, *row] for b, row in zip(affine.shift, affine.noise, strict=True))
    summed = [sum((abs(entry) for entry in row), _zero()) for row in _rows(_matrix(list(pushes)))]
    done = 1
    while done < rounds:
        sizes = [[abs(entry) for entry in row] for row in _rows(power)]
        onward = [
            [sum((sizes[i][j] * largest[j][k] for j in range(size)), _zero()) for k in range(len(largest[0]))]
            for i in range(size)
        ]
        largest = [[a.max(b) for a, b in zip(x, y, strict=True)] for x, y in zip(largest, onward, strict=True)]
        summed = [summed[i] + sum((sizes[i][j] * summed[j] for j in range(size)), _zero()) for i in range(size)]
        power, done = power * power, 2 * done
    return [ends(sum(row, total)).upper for row, total in zip(largest, summed, strict=True)]


def _zero() -> Any:
    from flint import arb

    return arb(0)


def _matrix(rows: Sequence[Sequence[Fraction]]) -> Any:
    from flint import arb_mat

    return arb_mat(len(rows), len(rows[0]), [ball_of(entry) for row in rows for entry in row])


def _rows(matrix: Any) -> list[list[Any]]:
    rows: list[list[Any]] = matrix.tolist()
    return rows


def _trace(matrix: Any) -> Any:
    return sum((row[i] for i, row in enumerate(_rows(matrix))), _zero())
