"""The exact check of a candidate: constants, conditions and both sides, from the instance alone.

Nothing of the search is trusted. A violation that passes is one of the statement, not of floating point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import sympy as sp

from ...algorithms import Start
from ...bounds.evaluation.enclosure import EnclosureError, enclose, enclose_bound
from ...bounds.evaluation.evaluate import InadmissibleError, complete, holds
from ...bounds.language.reading import InputError
from ..exact.at_rest import square_at_rest
from ..exact.closed_moments import moment_average
from ..exact.infinite_clients import InfiniteClients, bits_of, laid_out
from ..exact.interval import Bends, Ends, Interval
from ..exact.long_run import long_average_square
from ..exact.noise import expectation
from ..exact.problem import ExactProblem, Instance, exact_problem
from ..exact.rounds import kept_interval, random_round
from ..exact.run import (
    MOST_STEPS,
    CannotReplay,
    average_square,
    constant,
    endless_square,
    expected,
    invariant_interval,
    scalar,
)
from ..exact.tensor import ExactTensor, InexactError
from ..lemmas.trace import Trace
from .declared import Target
from .formula import Formula
from .lemma import Place, balanced, rows_of, trace_of, unseen
from .properties import PROPERTIES

Q = Fraction
_BITS = 384
_LONGEST_LEMMA = 256
STEPPED = 160
"""Longer runs with noise are not stepped through; MOST_STEPS is the limit of those without."""


class NotConfirmed(ValueError):
    """A candidate is not what it says: an assumption or a condition fails, or the bound holds.

    `ratio` is left side over bound where both are known exactly.
    """

    def __init__(self, why: str, ratio: float | None = None) -> None:
        super().__init__(why)
        self.ratio = ratio


@dataclass(frozen=True)
class Claimed:
    """An instance with the numbers under which a statement is claimed to fail.

    Args:
        instance: the problem as data.
        constants: symbol -> declared constant, at least the true one.
        hyperparameters: symbol -> value, those that the statement determines left out.
        interval: starts that every round keeps, where the run is endless; else None.
        place: where a lemma is compared.
        reach: what models and inner values never exceed, where second moments close within that (`moment_average`); else None.
    """

    instance: Instance
    constants: Mapping[str, Fraction]
    hyperparameters: Mapping[str, Fraction]
    interval: Ends | None = None
    place: Place | None = None
    reach: Mapping[str, Fraction] | None = None

    @property
    def values(self) -> dict[str, Fraction]:
        return {**self.constants, **self.hyperparameters}

    def stated(self, target: Target) -> dict[str, Fraction]:
        """The values of the statement's own symbols; a method may need more."""
        return {name: value for name, value in self.values.items() if name in target.stated}


@dataclass(frozen=True)
class Confirmed:
    """Both sides in exact numbers: `left[0] > right[1]`. `checked` says what was found true on the way.

    For a lemma every negative part has been moved to the other side, and `seen` are the observables.
    """

    claimed: Claimed
    left: Ends
    right: Ends
    checked: tuple[str, ...] = field(default=())
    seen: Mapping[str, Fraction] = field(default_factory=dict)

    def stated(self, target: Target) -> dict[str, Fraction]:
        """The values of the statement's own symbols, observables included."""
        return {**self.claimed.stated(target), **_of(target, self.seen)}

    @property
    def ratio(self) -> float:
        """A lower bound of left over right."""
        return float(self.left[0] / self.right[1]) if self.right[1] > 0 else float("inf")


def sides(target: Target, claimed: Claimed) -> Confirmed:
    """Both sides of the statement at a claimed instance; says nothing of which is larger.

    Raises:
        NotConfirmed: an assumption or a condition fails, or no exact run is possible.
    """
    try:
        problem = exact_problem(claimed.instance)
        checked = [*_check_constants(target, claimed, problem), *_check_shape(target, claimed, problem)]
        if target.link is not None:
            left, right, seen = _lemma_sides(target, claimed, problem)
            return Confirmed(claimed, left, right, tuple(checked), seen)
        point = _completed(target, claimed.stated(target), claimed)
        left = _left(target, claimed, problem, point)
        right = _right(target, claimed)
    except (ValueError, InputError, InexactError, EnclosureError, ArithmeticError, KeyError, TypeError) as error:
        raise NotConfirmed(f"{target.theorem.id} ({target.label}): {error}") from error
    return Confirmed(claimed, left, right, tuple(checked))


def left_side(target: Target, claimed: Claimed) -> tuple[Ends, dict[str, Fraction], tuple[str, ...]]:
    """The left side as it stands, the observables of a lemma, and what was found true on the way; constants are taken as they are claimed.

    Raises:
        NotConfirmed: a condition fails, or no exact run is possible.
    """
    try:
        problem = exact_problem(claimed.instance)
        checked = _check_shape(target, claimed, problem)
        if target.link is not None:
            number, seen = _lemma_left(target, claimed, problem)
            return (number, number), _of(target, seen), tuple(checked)
        return _left(target, claimed, problem, _completed(target, claimed.stated(target), claimed)), {}, tuple(checked)
    except (ValueError, InputError, InexactError, EnclosureError, ArithmeticError, KeyError, TypeError) as error:
        raise NotConfirmed(f"{target.theorem.id} ({target.label}): {error}") from error


def confirm(target: Target, claimed: Claimed) -> Confirmed:
    """A violation, checked.

    Raises:
        NotConfirmed: it is none.
    """
    found = sides(target, claimed)
    if not found.left[0] > found.right[1]:
        raise NotConfirmed(
            f"{target.theorem.id} ({target.label}): the bound holds, ratio {found.ratio:.6g}", found.ratio
        )
    return found


def _check_constants(target: Target, claimed: Claimed, problem: ExactProblem) -> list[str]:
    """Every constant of the statement is declared, and at least what the instance has."""
    true = problem.constants()
    wanted = {name: b for name, b in target.symbols.items() if b.quantity.role == "constant"}
    if set(wanted) != set(claimed.constants):
        raise ValueError(f"constants: wanted {sorted(wanted)}, got {sorted(claimed.constants)}")
    for name, binding in wanted.items():
        value = true[binding.quantity.name]
        if claimed.constants[name] < value:
            raise ValueError(f"{name}: declared {claimed.constants[name]}, the instance has {value}")
        if binding.quantity.name == "objective_gap" and claimed.constants[name] > value:
            _check_grows(target, name, claimed)
    return ["every declared constant is at least that of the instance, recomputed from its knots"]


def _check_grows(target: Target, gap: str, claimed: Claimed) -> None:
    """A gap that is declared larger than it is counts only where the bound grows with it."""
    smaller = {**claimed.constants, gap: claimed.constants[gap] / 2}
    other = Claimed(claimed.instance, smaller, claimed.hyperparameters)
    if _right(target, other)[0] > _right(target, claimed)[1]:
        raise ValueError(f"{gap}: declared larger than it is, and the bound does not grow with it")


def _check_shape(target: Target, claimed: Claimed, problem: ExactProblem) -> list[str]:
    """The properties that the theorem assumes, and the hyperparameters that are the instance's own.

    These are clients in equal groups, everybody taking part, and the fine-tuning.
    """
    for name in target.assumed:
        if not PROPERTIES[name].holds(claimed.instance.parameters):
            raise ValueError(f"the instance does not have the property {name}")
    for name, binding in target.symbols.items():
        value, quantity = claimed.hyperparameters.get(name), binding.quantity.name
        if value is None:
            continue
        if quantity == "clients" and value % problem.clients != 0:
            raise ValueError(f"{name}: wanted a multiple of {problem.clients} clients, got {value}")
        if quantity == "clients" and value != problem.clients and problem.is_noisy and claimed.interval is None:
            raise ValueError(f"{name}: wanted {problem.clients}, as the noise of equal clients differs, got {value}")
        if quantity == "participation" and value != 1:
            _check_some_take_part(target, claimed, problem, value)
        if quantity == "fine_tuning_step_size" and value != problem.parameters["alpha"]:
            raise ValueError(f"{name}: the instance has {problem.parameters['alpha']}, got {value}")
        if quantity == "fine_tuning_steps" and value != problem.settings["nu"]:
            raise ValueError(f"{name}: the instance has {problem.settings['nu']}, got {value}")
    if problem.is_noisy and claimed.interval is not None:
        return [
            "the average of so many clients, whose noise is independent, misses what is expected by next to nothing"
        ]
    return ["a group of equal clients moves as one, so that any multiple of the clients is the same run"]


def _check_some_take_part(target: Target, claimed: Claimed, problem: ExactProblem, share: Fraction) -> None:
    """Where not everybody takes part, a group of equal clients does not move as one."""
    total = claimed.hyperparameters.get(target.named("clients") or "")
    if total != problem.clients:
        raise ValueError(f"clients: wanted {problem.clients} where a part of them takes part, got {total}")
    if (share * problem.clients).denominator != 1 or not 0 < share < 1:
        raise ValueError(f"participation: wanted a whole number of {problem.clients} clients, got {share} of them")


def _completed(target: Target, stated: Mapping[str, Fraction], claimed: Claimed) -> dict[str, Ends]:
    """Every symbol of the statement, those that its schedule sets included, as enclosures.

    Raises:
        InadmissibleError: a condition fails.
    """
    theorem, label = target.theorem, target.label
    theorem.bound(label, **dict[str, Any](stated))  # decides every condition exactly
    point = complete(theorem.statement(label), stated)
    for condition in Formula(theorem, label).inherited:
        if not holds(condition.each_side(lambda side: side.xreplace(point))):
            raise ValueError(f"condition {condition.name} of {theorem.follows_from} fails")
    more = {name: (v, v) for name, v in claimed.hyperparameters.items() if name not in target.stated}
    return {**{str(symbol): _enclosed(value) for symbol, value in point.items()}, **more}


def _enclosed(value: sp.Expr) -> Ends:
    if value.is_Rational:
        exact = Q(int(value.p), int(value.q))
        return exact, exact
    return enclose(value, bits=_BITS).pair


def _left(target: Target, claimed: Claimed, problem: ExactProblem, point: Mapping[str, Ends]) -> Ends:
    whole, handed = _handed(target, problem, point)
    method = target.method(handed)
    every = target.every(whole) if target.every else 1
    if target.steps(whole) % every:
        raise CannotReplay("the statistic is one of whole rounds")
    if claimed.interval is not None:
        period = target.round_length(whole)
        _whole_rounds(target, whole, period)
        low, high = claimed.interval
        if not low <= problem.start <= high:
            raise CannotReplay("the start is not in the interval")
        if problem.is_noisy:
            total = whole[target.named("clients") or ""]
            crowd = infinite_clients_of(target, problem, point, period)
            return crowd.square(claimed.interval, total, target.steps(whole) // period, every)
        if (size := _taking_part(target, problem, point)) < problem.clients:
            found = random_round(method, problem, period, claimed.interval, size, every)
            square, off = found.mean_square()
            slack = off / (target.steps(whole) // period)
            return square - slack, square + slack
        return endless_square(method, problem, period, claimed.interval, every=every)
    steps, after = target.steps(whole), target.average == "after"
    if claimed.reach is not None:
        return moment_average(method, problem, steps, target.round_length(whole), claimed.reach, after=after)
    if steps > (STEPPED if problem.is_noisy else MOST_STEPS):
        period = target.round_length(whole)
        try:
            return long_average_square(method, problem, steps, period, every=every, after=after)
        except (Bends, InexactError):
            return square_at_rest(method, problem, period)
    return average_square(method, problem, steps, every=every, after=after)


def infinite_clients_of(
    target: Target, problem: ExactProblem, point: Mapping[str, Ends], period: int
) -> InfiniteClients:
    """The infinitely many clients of an endless run with noise, and the method for them.

    Raises:
        CannotReplay: the noise of a round has too many paths, or the clients do not run their rounds by themselves.
    """
    bits = bits_of(target.method(_handed(target, problem, point)[1]), problem, period)
    return InfiniteClients(target.method(_handed(target, laid_out(problem, bits), point)[1]), problem, bits, period)


def _taking_part(target: Target, problem: ExactProblem, point: Mapping[str, Ends]) -> int:
    """How many clients run a round."""
    share = target.named("participation")
    return problem.clients if share is None else int(point[share][0] * problem.clients)


def _whole_rounds(target: Target, whole: Mapping[str, int], period: int) -> None:
    if target.steps(whole) % period or target.average == "after":
        raise CannotReplay("an endless run averages over whole rounds, their first steps included")


def _handed(target: Target, problem: ExactProblem, point: Mapping[str, Ends]) -> tuple[dict[str, int], dict[str, Any]]:
    """Whole numbers by symbol, and what the declared method is built from; a group of equal clients is one client."""
    whole: dict[str, int] = {}
    handed: dict[str, Any] = {}
    for name, (low, high) in point.items():
        binding = target.symbols[name]
        if binding.quantity.domain.startswith(("positive integer", "whole number")):
            if low != high or low.denominator != 1:
                raise ValueError(f"{name}: wanted a whole number, got {float(low):.6g}")
            whole[name] = int(low)
            handed[name] = problem.clients if binding.quantity.name == "clients" else int(low)
        elif binding.quantity.name == "participation":
            handed[name] = low
        else:
            handed[name] = scalar(constant((low, high)))
    return whole, handed


def _right(target: Target, claimed: Claimed) -> Ends:
    total = enclose_bound(target.theorem.statement(target.label), claimed.stated(target), bits=_BITS)["total"]
    return total.lower, total.upper


def _lemma_left(target: Target, claimed: Claimed, problem: ExactProblem) -> tuple[Fraction, dict[str, Fraction]]:
    """The left side of a lemma at its place in a run, and the observables there.

    Raises:
        CannotReplay: there is no such row, or the lemma does not speak of it.
    """
    link, place = target.link, claimed.place
    assert link is not None
    if place is None:
        raise CannotReplay("wanted the row of the run at which a lemma is compared")
    stated = {**unseen(target.stated), **claimed.stated(target)}
    point = {str(s): _enclosed(v) for s, v in complete(target.theorem.statement(target.label), stated).items()}
    point |= {name: (v, v) for name, v in claimed.hyperparameters.items() if name not in target.stated}

    def take(draws: Any) -> tuple[Fraction, dict[str, Fraction]]:
        known = {n: e for n, e in point.items() if n in target.symbols}
        trace = _exact_trace(target, claimed, problem, known, place, draws)
        left, observables, keep = rows_of(link, target.label, trace)
        if not (0 <= place.row < len(left) and keep[place.row]):
            raise CannotReplay(f"row {place.row} of {len(left)}: the lemma does not speak of it")
        seen = {name: _mean(side[min(place.row, len(side) - 1)]) for name, side in observables.items()}
        return _mean(left[place.row]), seen

    return expected(problem, place.steps, take)


def _lemma_sides(target: Target, claimed: Claimed, problem: ExactProblem) -> tuple[Ends, Ends, dict[str, Fraction]]:
    """Both sides of a lemma at its place in a run, negative parts moved, and the observables there."""
    link = target.link
    assert link is not None
    number, seen = _lemma_left(target, claimed, problem)
    stated = {**unseen(target.stated), **claimed.stated(target), **_of(target, seen)}
    _completed(target, stated, claimed)
    parts = enclose_bound(target.theorem.statement(target.label), stated, bits=_BITS)
    statement = target.theorem.statement(target.label)
    if link.right is not None:
        found: Any = link.right({item.name: constant(parts[item.name].pair) for item in statement.derived})
        ends: list[Ends] = [found.values if isinstance(found, Interval) else (found, found)]
    else:
        ends = [parts[term.name].pair for term in statement.terms]
    low = balanced(number, [low for low, _ in ends], max)
    high = balanced(number, [high for _, high in ends], max)
    return (high[0], low[0]), (low[1], high[1]), seen  # larger terms: less on the left, more on the right


def _of(target: Target, seen: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """The observables that the statement names: one without a term has fewer than its chain gives."""
    return {name: value for name, value in seen.items() if name in target.stated}


def _mean(row: Any) -> Fraction:
    """The expectation of a row of lanes."""
    return sum((expectation(number) for number in row), Q(0)) / len(row)


def _exact_trace(
    target: Target, claimed: Claimed, problem: ExactProblem, point: Mapping[str, Ends], place: Place, draws: Any
) -> Trace:
    """The run of a lemma in exact numbers."""
    whole, handed = _handed(target, problem, point)
    numbers: dict[str, Any] = {**{n: scalar(constant(e)) for n, e in point.items()}, **whole}
    certified = problem.constants() if problem.has_known_noise else {}
    for name, binding in target.theorem.notation.bindings.items():
        if name not in numbers and binding.quantity.name in certified:
            numbers[name] = scalar(certified[binding.quantity.name])
    steps = place.steps if target.length is None else target.steps(whole)
    most = _LONGEST_LEMMA if target.length is None else MOST_STEPS
    if steps > most:
        raise CannotReplay(f"{steps} steps: wanted at most {most}")
    assert target.chain is not None
    estimate = problem.parameters.get("estimate")
    start = Start(x=problem.initial_point, y=None if estimate is None else ExactTensor.of([estimate]))
    return trace_of(target.chain, target.method(handed), problem, steps, start, numbers, draws)


def interval_of(target: Target, claimed: Claimed) -> Ends:
    """An interval around the start of a claimed endless run that every round keeps.

    Raises:
        NotConfirmed: none is found.
    """
    try:
        problem = exact_problem(claimed.instance)
        point = _completed(target, claimed.stated(target), claimed)
        whole, handed = _handed(target, problem, point)
        period = target.round_length(whole)
        if problem.is_noisy:
            return infinite_clients_of(target, problem, point, period).interval()
        method = target.method(handed)
        if (size := _taking_part(target, problem, point)) < problem.clients:
            return kept_interval(method, problem, period, size)
        return invariant_interval(method, problem, period)
    except (ValueError, InexactError, InadmissibleError, InputError, ArithmeticError) as error:
        raise NotConfirmed(str(error)) from error
