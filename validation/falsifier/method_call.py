"""The method that a theorem names, built from the values of the theorem's symbols."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from functools import reduce
from operator import add, mul
from types import MappingProxyType
from typing import Any

import sympy as sp
import torch
from torch import Tensor

from ...algorithms import Method
from ...algorithms.engine.method import WHOLE, annotation_of
from ...algorithms.engine.schedule import Schedule
from ...algorithms.registry import get_method
from ...bounds.language.notation import STEP
from ...bounds.language.reading import InputError
from ...bounds.language.schedule import StepSchedule, read_schedule
from ...bounds.language.theorem import MethodCall
from ...ranges import AT_MOST
from ..exact.tensor import ExactTensor

TINY = 1e-300


class UnbuiltError(InputError):
    """The method cannot be built from what a search makes of the symbols."""


def method_of(
    call: MethodCall, attained: Mapping[str, str] = MappingProxyType({})
) -> Callable[[Mapping[str, Any]], Method]:
    """Values of the symbols -> the method; an `UnbuiltError` where a whole hyperparameter gets a number that need not be one.

    Args:
        attained: symbols that the method is chosen to have, with their quantities.

    Raises:
        InputError: there is no such method.
    """
    made = get_method(call.name, call.code)
    whole = {f.name for f in fields(made) if annotation_of(f).startswith(WHOLE)}
    shares = {
        name
        for name, quantity in made.quantities.items()
        if (most := AT_MOST.get(quantity)) and not (most.over or most.per)
    }
    schedules = {name: _schedule(expr) for name, expr in call.values.items() if STEP in sp.sympify(expr).free_symbols}

    def build(values: Mapping[str, Any]) -> Method:
        given = {name: value_of(expr, values) for name, expr in call.values.items() if name not in schedules}
        given |= {name: _at(schedule, values) for name, schedule in schedules.items()}
        found = {name: _one_number(given[name]) for name in whole & given.keys()}
        counts = {name: int(value) for name, value in found.items() if _is_whole(value)}
        if real := sorted((whole & given.keys()) - counts.keys()):
            raise UnbuiltError(
                f"{call.name}: wants a whole number for {real[0]}; a search makes {call.values[real[0]]} any number"
            )
        is_exact = any(isinstance(value, ExactTensor) for value in values.values())
        if not is_exact:
            given |= {name: _at_most_one(given[name]) for name in shares & given.keys()}
        fixed = {
            name: ExactTensor.of([v]) if is_exact else float(v) for name, v in given.items() if isinstance(v, Fraction)
        }
        try:
            method: Method = made(**given | fixed | counts, **call.options)
        except TypeError as error:
            raise InputError(f"{call.name}: cannot be built from what the theorem gives it: {error}") from None
        for name, quantity in attained.items():
            method = method.attaining(quantity, values[name])
        return method

    return build


def _schedule(formula: sp.Expr) -> StepSchedule:
    """The schedule that a formula in the step is.

    Raises:
        InputError: it is none.
    """
    found = read_schedule(formula)
    if found is None or not found.every.is_Integer:
        raise InputError(f"{formula}: wanted a step size such as a/(t + t0), with a whole number K in floor(t/K)")
    return found


def _at(schedule: StepSchedule, values: Mapping[str, Any]) -> Schedule:
    """A schedule at values of its symbols."""
    parts = (value_of(part, values) for part in (schedule.a, schedule.t0))
    a, t0 = (float(part) if isinstance(part, (int, Fraction)) else part for part in parts)
    if isinstance(t0, float) or type(t0) is Tensor:  # what has no first step size counts for nothing, and is no method
        t0 = t0.clamp_min(TINY) if isinstance(t0, Tensor) else max(t0, TINY)
    return Schedule(a, t0, schedule.power, int(schedule.every))


def _at_most_one(value: Any) -> Any:
    """A share where the conditions hold, in doubles: where they do not, the instance counts for nothing."""
    if isinstance(value, Schedule):
        return replace(value, a=_at_most(value.a, value.t0 ** float(value.power)))
    return _at_most(value, 1.0)


def _at_most(value: Any, limit: Any) -> Any:
    if not any(isinstance(each, Tensor) for each in (value, limit)):
        return min(value, limit)
    return torch.minimum(*(torch.as_tensor(each, dtype=torch.float64) for each in (value, limit)))


def _one_number(value: Any) -> Any:
    """The number that all entries of a tensor are; anything else as it is."""
    if not isinstance(value, Tensor):
        return value
    entries = value.numbers if isinstance(value, ExactTensor) else value.numpy()
    return entries.flat[0] if (entries == entries.flat[0]).all() else value


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, float, Fraction)) and value == round(value)


def value_of(expr: sp.Expr, values: Mapping[str, Any]) -> Any:
    """A formula of sums, products and whole powers at numbers, arrays or exact tensors.

    Raises:
        InputError: another function in the formula, or a symbol without a value.
    """
    if expr.is_Symbol:
        try:
            return values[str(expr)]
        except KeyError:
            raise InputError(f"{expr}: the method needs it, and the theorem has no such symbol") from None
    if expr.is_Rational:
        exact = Fraction(int(expr.p), int(expr.q))
        return int(exact) if exact.denominator == 1 else exact
    parts = [value_of(part, values) for part in expr.args]
    if expr.is_Add or expr.is_Mul:
        return reduce(lambda a, b: _joined(add if expr.is_Add else mul, a, b), parts)
    if expr.is_Pow and isinstance(parts[1], int):
        power = reduce(mul, [parts[0]] * abs(parts[1]))
        return power if parts[1] > 0 else 1 / power
    raise InputError(f"{expr}: wanted sums, products and whole powers in the hyperparameters of a method")


def _joined(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Fractions meet doubles as doubles, and whatever is exact as they are."""
    if any(isinstance(v, ExactTensor) for v in (a, b)):
        return operation(*(ExactTensor.of(v) if isinstance(v, Fraction) else v for v in (a, b)))
    if all(isinstance(v, (Fraction, int)) for v in (a, b)):
        return operation(a, b)
    return operation(*(float(v) if isinstance(v, Fraction) else v for v in (a, b)))
