"""From a candidate in doubles to an exact claim: short fractions, the step size just below its limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np

from ...bounds.language.quantity import Quantity
from ...bounds.language.reading import InputError
from ...synthetic.families.piecewise import FAMILIES
from ..exact.problem import Instance, exact_problem
from ..exact.run import CannotReplay
from .confirm import OF_THE_START, Claimed, Confirmed, NotConfirmed, confirm, exact_run, interval_of
from .declared import Target
from .edges import POWER, edge, stepped_by
from .formula import Formula
from .laws import FOREVER, law_of
from .lemma import Place, unseen
from .search_space import Candidate

Q = Fraction
_CLOSE = Q(1, 10**6)
"""Relative change that the first rounding may make."""


def simplest(low: Fraction, high: Fraction) -> Fraction:
    """The fraction with the least denominator in [low, high] (Stern-Brocot).

    Example:
        >>> simplest(Fraction(31, 100), Fraction(34, 100))
        Fraction(1, 3)
    """
    if low > high:
        raise ValueError(f"wanted low <= high, got {low} > {high}")
    if low <= 0 <= high:
        return Q(0)
    if high < 0:
        return -simplest(-high, -low)
    whole = -(-low.numerator // low.denominator)
    if whole <= high:
        return Q(whole)
    floor = low.numerator // low.denominator
    return floor + 1 / simplest(1 / (high - floor), 1 / (low - floor))


def near(number: float | Fraction, tolerance: Fraction) -> Fraction:
    """The simplest fraction within a relative tolerance."""
    exact = Q(number)
    slack = abs(exact) * tolerance
    return simplest(exact - slack, exact + slack)


@dataclass(frozen=True)
class Draft:
    """A candidate in fractions, before the step size is set.

    Args:
        parameters: of the family, nested lists of fractions.
        settings: whole numbers of the family.
        free: the hyperparameters that the user chooses, but for the step size.
        play: a step size is the simplest fraction between this part of its limit and the limit.
        tiny: what a positive constant is declared as where the instance has 0.
        least: symbol -> what a constant is declared as at least.
        stays: the run is endless.
        place: where a lemma is compared.
    """

    kind: str
    parameters: Mapping[str, Any]
    settings: Mapping[str, int]
    free: Mapping[str, Fraction]
    play: Fraction
    tiny: Fraction
    stays: bool
    place: Place | None = None
    least: Mapping[str, Fraction] = field(default_factory=dict)


def drafts(
    target: Target,
    formula: Formula,
    candidate: Candidate,
    settings: Mapping[str, int],
    least: Mapping[str, float] = MappingProxyType({}),
) -> Iterator[Draft]:
    """The candidate with numbers rounded to short fractions, then as the doubles are: fine structure does not survive rounding."""
    for tolerance in (_CLOSE, Q(0)):
        made = _draft(target, formula, candidate, settings, tolerance)
        yield replace(made, least={name: Q(number) for name, number in least.items()})


def _draft(
    target: Target, formula: Formula, candidate: Candidate, settings: Mapping[str, int], tolerance: Fraction
) -> Draft:
    shapes = FAMILIES[target.kind].SHAPES
    parameters = {
        name: _listed(value, shapes[name], lambda number: near(number, tolerance))
        for name, value in candidate.parameters.items()
    }
    free = {}
    for name, binding in target.symbols.items():
        if binding.quantity.role == "hyperparameter" and name not in formula.determined:
            number = candidate.values[name]
            if number >= FOREVER:
                free[name] = round(number / FOREVER) * Q(10) ** round(math.log10(FOREVER))
                continue
            is_whole = binding.quantity.numbers.whole
            free[name] = Q(round(number)) if is_whole else near(number, tolerance)
    for name, binding in target.symbols.items():
        if binding.quantity.name == "fine_tuning_step_size":
            free[name] = parameters["alpha"]
    return Draft(
        target.kind, parameters, dict(settings), free, Q(999, 1000), Q(1, 10**15), candidate.stays, candidate.place
    )


def _listed(value: Any, shape: str, rounded: Callable[[float], Fraction]) -> Any:
    array = np.asarray(value, dtype=float)
    if array.ndim == 0:
        return rounded(float(array))
    return [_listed(part, shape, rounded) for part in array]


def settle(target: Target, formula: Formula, made: Draft) -> Claimed:
    """The draft with exact constants, and the step size that the conditions still admit.

    Raises:
        NotConfirmed: the instance violates an assumption, or no step size is admissible.
    """
    instance = Instance(made.kind, made.parameters, made.settings)
    try:
        certified = exact_problem(instance).constants()
    except (ValueError, ZeroDivisionError) as error:
        raise NotConfirmed(str(error)) from error
    constants = {  # papers ask for positive bounds, and every positive one holds
        name: declared_as(b.quantity, certified, formula.fixed.get(name) or made.least.get(name), made.tiny)
        for name, b in target.symbols.items()
        if b.quantity.role == "constant"
    }
    free, steps = dict(made.free), {n: side for n, side in stepped_by(target.symbols) if n in made.free}
    for name, side in list(steps.items()):
        del steps[name]
        values = {key: float(value) for key, value in {**unseen(target.symbols), **constants, **free}.items()}
        end = float(edge(formula, values, name, side, steps, 1)[0])
        free[name] = _step(name, end, side, made.free[name], made.play)
    for name, value in formula.chosen({**constants, **free}).items():
        (constants if name in constants else free)[name] = value
    claimed = Claimed(instance, constants, free, place=made.place)
    return _at_rest(target, claimed) if made.stays else claimed


def declared_as(
    quantity: Quantity, certified: Mapping[str, Fraction], fixed: Fraction | None, tiny: Fraction
) -> Fraction:
    """What a constant is declared as: what the instance has, or what the statement sets where that says less.

    Raises:
        NotConfirmed: the instance has no such constant.
    """
    if quantity.name not in certified:
        raise NotConfirmed(f"an exact instance has no known {quantity.name}")
    if not quantity.more_is_stronger:
        return max(certified[quantity.name], fixed or Q(0)) or tiny
    if not certified[quantity.name] >= (fixed or tiny):
        raise NotConfirmed(f"{quantity.name}: the instance has {float(certified[quantity.name]):.3g}")
    return fixed or certified[quantity.name]


def _step(name: str, end: float, side: int, wanted: Fraction, play: Fraction) -> Fraction:
    """The simplest step size a little within the limit of the conditions, or the wanted one where that is farther within.

    Raises:
        NotConfirmed: no value is admissible.
    """
    if end == -POWER:
        raise NotConfirmed(f"{name}: no admissible value")
    nearest = (min if side > 0 else max)(10.0 ** (side * end), float(wanted))
    near, far = (Q(nearest) * part**side for part in (Q(999999, 1000000), play))
    return simplest(min(near, far), max(near, far))


def _at_rest(target: Target, claimed: Claimed) -> Claimed:
    """The claim with a start that a round keeps, and the interval that proves it."""
    interval = _try_interval(target, claimed)
    if interval is None:
        claimed = _moved_start(target, claimed)
        interval = interval_of(target, claimed)
    low, high = interval
    start = low if low == high else claimed.instance.parameters["start"]
    placed = Instance(claimed.instance.kind, {**claimed.instance.parameters, "start": start}, claimed.instance.settings)
    return _with_gap(target, replace(claimed, instance=placed, interval=interval))


def _try_interval(target: Target, claimed: Claimed) -> Any:
    try:
        return interval_of(target, claimed)
    except NotConfirmed:
        return None


def _moved_start(target: Target, claimed: Claimed) -> Claimed:
    """The start moved to where a round stands still, to some two hundred bits."""
    start = claimed.instance.parameters["start"]
    run = replace(exact_run(target, claimed), interval=(start, start))
    law = law_of(run)
    for power in (20, 14, 8, 4, 1):
        try:
            start = law.refined_start(run, run.problem.least_gap / 2**power)
        except CannotReplay:
            continue
        moved = Instance(
            claimed.instance.kind, {**claimed.instance.parameters, "start": start}, claimed.instance.settings
        )
        return replace(claimed, instance=moved)
    raise NotConfirmed("no start near the candidate's that a round keeps")


def _with_gap(target: Target, claimed: Claimed) -> Claimed:
    """The constants that depend on the start, computed anew."""
    certified = exact_problem(claimed.instance).constants()
    constants = dict(claimed.constants)
    for name, binding in target.symbols.items():
        if binding.quantity.name in (*OF_THE_START, "initial_inner_error"):
            constants[name] = certified[binding.quantity.name] or constants[name]
    return replace(claimed, constants=constants)


def confirmed(target: Target, formula: Formula, made: Draft) -> Confirmed:
    """The draft settled and checked.

    Raises:
        NotConfirmed: it is no violation, or one of its numbers is outside its domain.
    """
    try:
        return confirm(target, settle(target, formula, made))
    except InputError as error:
        raise NotConfirmed(str(error)) from error
