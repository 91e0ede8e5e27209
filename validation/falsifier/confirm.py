"""The exact check of a candidate: constants, conditions and both sides, from the instance alone.

Nothing of the search is trusted. A violation that passes is one of the statement, not of floating point.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp

from ...algorithms import Start
from ...bounds.evaluation.enclosure import EnclosureError, enclose, enclose_bound
from ...bounds.evaluation.evaluate import complete, fraction_of, holds
from ...bounds.language.reading import InputError
from ..exact.closed_moments import moment_average
from ..exact.interval import Ends, ends_of
from ..exact.noise import expectation
from ..exact.problem import ExactProblem, Instance, exact_problem
from ..exact.run import MOST_STEPS, CannotReplay, constant, expected, scalar
from ..exact.statistic import Statistic
from ..exact.tensor import ExactTensor, InexactError
from ..lemmas.trace import Trace
from .declared import Target
from .exact_run import ExactRun
from .formula import Formula
from .laws import law_of
from .lemma import Place, balanced, rows_of, trace_of, unseen
from .properties import PROPERTIES

Q = Fraction
BITS = 384
"""Of the enclosures by which two sides are compared."""
_LONGEST_LEMMA = 256
_NO_RUN = (ValueError, InputError, InexactError, EnclosureError, ArithmeticError, KeyError, TypeError)
"""Errors which say that an instance is not what it claims to be, or has no exact run."""


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
        options: places where the pseudocode has several readings, and that of the run.
        is_kept: whether it is shown elsewhere that no path leaves the reach.
    """

    instance: Instance
    constants: Mapping[str, Fraction]
    hyperparameters: Mapping[str, Fraction]
    interval: Ends | None = None
    place: Place | None = None
    reach: Mapping[str, Fraction] | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    is_kept: bool = False

    def __post_init__(self) -> None:
        """
        Raises:
            ValueError: a constant stands among the hyperparameters too.
        """
        if twice := sorted(set(self.constants) & set(self.hyperparameters)):
            raise ValueError(f"{twice[0]}: it is a constant, which no hyperparameter is")

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
    with _refused(target):
        problem = exact_problem(claimed.instance)
        checked = [*check_constants(target, claimed, problem), *check_shape(target, claimed, problem)]
        if target.link is not None:
            left, right, seen = _lemma_sides(target, claimed, problem)
            return Confirmed(claimed, left, right, tuple(checked), seen)
        point = _completed(target, claimed.stated(target), claimed)
        left = _left(target, claimed, problem, point)
        right = _right(target, claimed)
    return Confirmed(claimed, left, right, tuple(checked))


@contextmanager
def _refused(target: Target) -> Iterator[None]:
    """What says that an instance is not what it claims to be, or has no exact run, as a `NotConfirmed`."""
    try:
        yield
    except _NO_RUN as error:
        raise NotConfirmed(f"{target.theorem.id} ({target.label}): {error}") from error


def left_side(target: Target, claimed: Claimed) -> tuple[Ends, dict[str, Fraction], tuple[str, ...]]:
    """The left side as it stands, the observables of a lemma, and what was found true on the way; constants are taken as they are claimed.

    Raises:
        NotConfirmed: a condition fails, or no exact run is possible.
    """
    with _refused(target):
        problem = exact_problem(claimed.instance)
        checked = check_shape(target, claimed, problem)
        if target.link is not None:
            number, seen = _lemma_left(target, claimed, problem)
            return (number, number), _of(target, seen), tuple(checked)
        return _left(target, claimed, problem, _completed(target, claimed.stated(target), claimed)), {}, tuple(checked)


def confirm(target: Target, claimed: Claimed) -> Confirmed:
    """A violation, checked.

    Raises:
        NotConfirmed: it is none.
    """
    return _violating(target, sides(target, claimed))


def _violating(target: Target, found: Confirmed) -> Confirmed:
    if not found.left[0] > found.right[1]:
        raise NotConfirmed(
            f"{target.theorem.id} ({target.label}): the bound holds, ratio {found.ratio:.6g}", found.ratio
        )
    return found


def confirm_beside(target: Target, found: Confirmed) -> Confirmed:
    """A violation of one statement as one of another that differs from it in a term: the run, and so the left side, is the same.

    Raises:
        NotConfirmed: it is none, or the statement is a lemma, which has parts of its bound on the left.
    """
    if target.link is not None:
        raise NotConfirmed(f"{target.theorem.id} ({target.label}): its left side depends on its terms")
    with _refused(target):
        _completed(target, found.claimed.stated(target), found.claimed)
        right = _right(target, found.claimed)
    return _violating(target, replace(found, right=right))


def coefficient_lower_bound(target: Target, found: Confirmed) -> float:
    """The part of the term's coefficient that the instance needs: with any smaller part the bound is violated there.

    0 where the change is none of a term's coefficient, or where the term vanishes there.
    """
    change, declared = target.change, target.declared
    if change is None or change.way not in ("dropped", "divided"):
        return 0.0
    statement = declared.statement(target.label)
    try:
        known = {**found.claimed.values, **found.seen}
        point = {name: value for name, value in known.items() if name in statement.symbols}
        lower, upper = enclose_bound(statement, point, bits=BITS)[change.part].pair
    except (InputError, EnclosureError, KeyError):
        return 0.0
    if lower <= 0:
        return 0.0
    kept = Q(0) if change.way == "dropped" else 1 / change.factor
    return max(0.0, float((found.left[0] - found.right[1]) / upper + kept))


def check_constants(target: Target, claimed: Claimed, problem: ExactProblem) -> list[str]:
    """Every constant of the statement is declared, and at least what the instance has."""
    true = problem.constants()
    wanted = {name: b.quantity for name, b in target.symbols.items() if b.quantity.role == "constant"}
    if set(wanted) != set(claimed.constants):
        raise ValueError(f"constants: wanted {sorted(wanted)}, got {sorted(claimed.constants)}")
    larger = {}
    for name, quantity in wanted.items():
        value, declared = true[quantity.name], claimed.constants[name]
        if declared > value if quantity.more_is_stronger else declared < value:
            raise ValueError(f"{name}: declared {declared}, the instance has {value}")
        if quantity.name in OF_THE_START and declared > value:
            larger[name] = value or declared / 2
    if larger:
        _check_grows(target, claimed, larger)
    return ["every declared constant is one that the instance has, recomputed from its knots"]


OF_THE_START = ("objective_gap", "initial_distance", "initial_gradient_heterogeneity")
"""Quantities of the start, of which a statement may speak as of equalities."""


def _check_grows(target: Target, claimed: Claimed, true: Mapping[str, Fraction]) -> None:
    """Gaps that are declared larger than they are count only where the statement, with all of them as they are, says no less of the run.

    `true`: their values; half of what is declared for one that is 0.
    """
    other = replace(claimed, constants={**claimed.constants, **true})
    there, here = (_completed(target, each.stated(target), each) for each in (other, claimed))
    said = f"{', '.join(true)}: declared larger than it is"
    if moved := [name for name in here if name not in true and here[name] != there.get(name)]:
        raise ValueError(f"{said}, and {moved[0]} depends on it")
    if _right(target, other)[1] > _right(target, claimed)[1]:
        raise ValueError(f"{said}, and the bound does not grow with it")


def check_shape(target: Target, claimed: Claimed, problem: ExactProblem) -> list[str]:
    """The properties that the theorem assumes, and the hyperparameters that are the instance's own.

    These are clients in equal groups, everybody taking part, and the fine-tuning.
    """
    for name in target.assumed:
        if not PROPERTIES[name].holds(problem):
            raise ValueError(f"the instance does not have the property {name}")
    for name, binding in target.symbols.items():
        value, quantity = claimed.hyperparameters.get(name), binding.quantity.name
        if value is None:
            continue
        if name in target.measured:
            _check_attains(target, claimed, problem, name, value)
        if quantity == "clients" and target.measured and not target.is_chosen and value != problem.clients:
            raise ValueError(f"{name}: wanted {problem.clients}, of which the theorem's matrix is one, got {value}")
        if quantity == "clients" and value % problem.clients != 0:
            raise ValueError(f"{name}: wanted a multiple of {problem.clients} clients, got {value}")
        if quantity == "clients" and value != problem.clients and problem.is_noisy and target.link is not None:
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
    total = claimed.hyperparameters.get(target.named("clients") or "", problem.clients)
    if problem.is_noisy and total != problem.clients:
        return ["equal clients with independent noise move in the mean as one, whose noise is the mean of theirs"]
    return ["a group of equal clients moves as one, so that any multiple of the clients is the same run"]


def _check_attains(target: Target, claimed: Claimed, problem: ExactProblem, name: str, value: Fraction) -> None:
    """What the matrix has, whether it is the theorem's own or was chosen for this number, in doubles as a method in torch has it."""
    number, quantity = float(value) if target.is_chosen else value, target.measured[name]
    method = target.method({**dict.fromkeys(target.symbols, 1), name: number})
    if not method.attains(quantity, number, problem.clients):
        raise ValueError(f"{name}: {method.name} with {problem.clients} clients has no {quantity} of {value}")


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
    return _enclosures(target, point, claimed)


def _enclosures(target: Target, point: Mapping[sp.Symbol, sp.Expr], claimed: Claimed) -> dict[str, Ends]:
    """Of the values of a statement's symbols, and of what the method needs besides."""
    more = {name: (v, v) for name, v in claimed.hyperparameters.items() if name not in target.stated}
    return {**{str(symbol): _enclosed(value) for symbol, value in point.items()}, **more}


def _enclosed(value: sp.Expr) -> Ends:
    if value.is_Rational:
        exact = fraction_of(value)
        return exact, exact
    return enclose(value, bits=BITS).pair


def _left(target: Target, claimed: Claimed, problem: ExactProblem, point: Mapping[str, Ends]) -> Ends:
    run = ExactRun(target, problem, point, claimed.interval, claimed.options)
    run.check()
    if claimed.reach is not None:
        if run.statistic != Statistic(after=run.statistic.after):
            raise CannotReplay("where noise multiplies the state only the mean of squared gradients is evaluated")
        after, part, kept = run.statistic.after, run.taking_part, claimed.is_kept
        return moment_average(
            run.method, problem, run.steps, run.period, claimed.reach, after=after, taking_part=part, is_kept=kept
        )
    return law_of(run).left_side(run)


def _right(target: Target, claimed: Claimed) -> Ends:
    total = enclose_bound(target.theorem.statement(target.label), claimed.stated(target), bits=BITS)["total"]
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
    point = _enclosures(target, complete(target.theorem.statement(target.label), stated), claimed)

    def take(draws: Any) -> tuple[Fraction, dict[str, Fraction]]:
        known = {n: e for n, e in point.items() if n in target.symbols}
        trace = _exact_trace(target, claimed, problem, known, place, draws)
        left, observables, keep = rows_of(link, target.label, trace)
        if not (0 <= place.row < len(left) and keep[place.row]):
            raise CannotReplay(f"row {place.row} of {len(left)}: the lemma does not speak of it")
        seen = {name: _mean(side[min(place.row, len(side) - 1)]) for name, side in observables.items()}
        return _mean(left[place.row]), seen

    return expected(problem, take)


def _lemma_sides(target: Target, claimed: Claimed, problem: ExactProblem) -> tuple[Ends, Ends, dict[str, Fraction]]:
    """Both sides of a lemma at its place in a run, negative parts moved, and the observables there."""
    link = target.link
    assert link is not None
    number, seen = _lemma_left(target, claimed, problem)
    stated = {**unseen(target.stated), **claimed.stated(target), **_of(target, seen)}
    _completed(target, stated, claimed)
    parts = enclose_bound(target.theorem.statement(target.label), stated, bits=BITS)
    statement = target.theorem.statement(target.label)
    if link.right is not None:
        found: Any = link.right({item.name: constant(parts[item.name].pair) for item in statement.derived})
        ends: list[Ends] = [ends_of(found)]
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


def _expectations(taken: np.ndarray) -> np.ndarray:
    """Of a statistic at every step, `(steps, lanes)`: one column."""
    return np.array([[_mean(row)] for row in taken], dtype=object)


def _exact_trace(
    target: Target, claimed: Claimed, problem: ExactProblem, point: Mapping[str, Ends], place: Place, draws: Any
) -> Trace:
    """The run of a lemma in exact numbers."""
    run = ExactRun(target, problem, point, options=claimed.options)
    numbers: dict[str, Any] = {**{n: scalar(constant(e)) for n, e in point.items()}, **run.whole}
    certified = problem.constants() if problem.has_known_noise else {}
    for name, binding in target.theorem.notation.bindings.items():
        if name not in numbers and binding.quantity.name in certified:
            numbers[name] = scalar(certified[binding.quantity.name])
    steps = place.steps if target.length is None else run.steps
    most = _LONGEST_LEMMA if target.length is None else MOST_STEPS
    if steps > most:
        raise CannotReplay(f"{steps} steps: wanted at most {most}")
    assert target.chain is not None
    estimate = problem.parameters.get("estimate")
    start = Start(x=problem.initial_point, y=None if estimate is None else ExactTensor.of([estimate]))
    expectation_of = _expectations if problem.is_noisy else None
    return trace_of(target.chain, run.method, problem, steps, start, numbers, draws, expectation_of)


def exact_run(target: Target, claimed: Claimed) -> ExactRun:
    """The run of a claimed instance.

    Raises:
        NotConfirmed: a condition fails.
    """
    with _refused(target):
        problem = exact_problem(claimed.instance)
        return ExactRun(target, problem, _completed(target, claimed.stated(target), claimed), claimed.interval)


def interval_of(target: Target, claimed: Claimed) -> Ends:
    """An interval around the start of a claimed endless run that every round keeps.

    Raises:
        NotConfirmed: none is found.
    """
    run = replace(exact_run(target, claimed), interval=(claimed.instance.parameters["start"],) * 2)
    with _refused(target):
        return law_of(run).interval(run)
