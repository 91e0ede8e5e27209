"""The method that a theorem is about, built from the values of its symbols: its own declaration, or one that the caller gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from fractions import Fraction
from typing import Any, TypeAlias

import sympy as sp

from ...algorithms import Method
from ...algorithms.declared import DEFAULTS
from ...algorithms.engine.method import WHOLE, annotation_of
from ...algorithms.engine.schedule import Schedule
from ...algorithms.registry import get_method
from ...bounds.language.bounding import SERVER_MODEL
from ...bounds.language.clients import at_clients, bare, client_symbols
from ...bounds.language.formula import read_formula
from ...bounds.language.notation import STEP, Binding
from ...bounds.language.reading import InputError
from ...bounds.language.schedule import read_schedule
from ...bounds.language.theorem import Theorem
from ...user_files import one_line
from .recipe import Build

Given: TypeAlias = Method | type[Method] | Build
"""What a caller may give: a method with its hyperparameters, its class, or a function of the values of the symbols."""


def build_of(theorem: Theorem, given: Given | None = None) -> Build:
    """Builds the method from the values of the theorem's symbols.

    Args:
        given: instead of the method that the theorem declares. A class gets its hyperparameters as the theorem's own
            method does, and those that it does not name from the symbols of the same name.

    Raises:
        InputError: no method is given, and the theorem declares none; when it is built: a symbol says more than the constant of the
            method that it bounds, such as a variance that is smaller than that of the compressor.
    """
    made = _unchecked(theorem, given)

    def build(values: Mapping[str, float]) -> Method:
        method = made(values)
        _check_constants(theorem, method, values)
        return method

    return build


def _unchecked(theorem: Theorem, given: Given | None) -> Build:
    if isinstance(given, Method):
        ready = given
        return lambda values: ready
    if given is not None and not isinstance(given, type):
        return given
    call = theorem.method
    if given is None and call is None:
        raise InputError(f"{theorem.id}: declares no method to run; give one, or a table [method] with its name")
    owner = given or get_method(call.name, call.code)  # type: ignore[union-attr]
    formulas, options = (dict(call.values), dict(call.options)) if call else ({}, {})
    names_all = given is None

    def made(values: Mapping[str, float]) -> Method:
        return owner(**_hyperparameters(theorem, owner, formulas, values, names_all), **options)

    return made


def _check_constants(theorem: Theorem, method: Method, values: Mapping[str, float]) -> None:
    """Raises where a symbol says more than the constant of the method that it bounds."""
    bound = {b.quantity.name: b for b in theorem.notation if b.name in values}
    for quantity in sorted(bound.keys() & {*method.constants, *method.measured}):
        name, value = bound[quantity].name, _constant(method, quantity, bound, values)
        says_more = values[name] > value if bound[quantity].quantity.more_is_stronger else values[name] < value
        if says_more and not (
            quantity in method.measured
            and "clients" in bound
            and method.attains(quantity, values[name], int(values[bound["clients"].name]))
        ):
            digits = "g" if f"{value:g}" != f"{values[name]:g}" else ".15g"
            raise InputError(f"{name}: {method.name} has a {quantity} of {value:{digits}}, got {values[name]:{digits}}")


def _constant(method: Method, quantity: str, bound: Mapping[str, Binding], values: Mapping[str, float]) -> float:
    """What a method says of itself, by its hyperparameters or for so many clients.

    Raises:
        InputError: it depends on the number of clients, of which nothing is said.
    """
    if quantity in method.constants:
        numbers = {f.name: getattr(method, f.name) for f in fields(method)}
        own = {name: sp.sympify(value) for name, value in numbers.items() if isinstance(value, int | float)}
        return float(read_formula(method.constants[quantity], own))
    if "clients" not in bound:
        raise InputError(f"{bound[quantity].name}: the {quantity} of {method.name} depends on the number of clients")
    found = method.measure(int(values[bound["clients"].name]))
    if quantity not in found:
        raise InputError(f"{method.name}: lists {quantity} under `measured`, and measure() does not give it")
    return found[quantity]


def _hyperparameters(
    theorem: Theorem,
    method: type[Method],
    formulas: Mapping[str, sp.Expr],
    values: Mapping[str, float],
    names_all: bool,
) -> dict[str, Any]:
    """The hyperparameters at values of the symbols.

    Args:
        names_all: the formulas name all that differs from the defaults, as those of a theorem's own method do. Else a symbol with
            the name of a hyperparameter is that one.
    """
    known = [b for b in theorem.notation if b.name in values]
    symbols = {b.symbol: sp.Float(values[b.name], 30) for b in known if not b.per_client}
    lists = _lists(theorem, values)
    found: dict[str, Any] = {}
    for declared in fields(method):
        name = declared.name
        if name in formulas:
            value = at_clients(sp.sympify(formulas[name]), lists).xreplace(symbols)
            if unknown := value.free_symbols - {STEP} - lists.keys():
                raise InputError(_without_value(theorem, name, min(map(str, unknown))))
            if own := bare(value):
                each = zip(*(lists[symbol] for symbol in own), strict=True)
                found[name] = tuple(float(value.xreplace(dict(zip(own, numbers, strict=True)))) for numbers in each)
            else:
                found[name] = _declining(value) if STEP in value.free_symbols else float(value)
        elif name in values and not (names_all and _has_default(declared)):
            found[name] = values[name]
        elif declared.default is MISSING and name in DEFAULTS:
            found[name] = DEFAULTS[name]
        elif not _has_default(declared):
            raise InputError(f"{theorem.id}: its method {method.name} wants {name}, which the theorem does not give")
        if name in found and annotation_of(declared).startswith(WHOLE):
            value = found[name]
            is_list = isinstance(value, tuple)
            found[name] = tuple(_whole(theorem, name, v) for v in value) if is_list else _whole(theorem, name, value)
    return found


def _has_default(declared: Field[Any]) -> bool:
    return declared.default is not MISSING or declared.default_factory is not MISSING


def _lists(theorem: Theorem, values: Mapping[str, Any]) -> dict[sp.Symbol, tuple[sp.Expr, ...]]:
    """The numbers of single clients among the values of a theorem's symbols."""
    own = (b for b in theorem.notation if b.per_client and b.name in values)
    return {b.symbol: tuple(sp.nsimplify(v, rational=True) for v in values[b.name]) for b in own}


def _declining(formula: sp.Expr) -> Schedule:
    """A step size that depends on the step, in which all symbols have values."""
    found = read_schedule(formula)
    if found is None:
        raise InputError(
            f"{formula}: wanted a step size such as a/(t + t0) with t0 > 0, and a whole number of steps K in floor(t/K)"
        )
    return Schedule(float(found.a), float(found.t0), found.power, int(found.every))


def _without_value(theorem: Theorem, name: str, symbol: str) -> str:
    wanted = "wanted it in a term or a condition too, or a number in its place"
    return f"{theorem.id}: {symbol} stands only under [method] ({name}), so nothing gives it a value; {wanted}"


def _whole(theorem: Theorem, name: str, value: float) -> int:
    if value != round(value):
        raise InputError(f"{theorem.id}: its method wants a whole number for {name}, got {value:g}")
    return round(value)


def measured_by(theorem: Theorem, clients: int) -> Mapping[str, float]:
    """What the theorem's method measures for so many clients, by quantity; nothing where it names none, or one that measures nothing.

    The other hyperparameters have no say in it, so that they are those that a theorem need not give, or 1.
    """
    call = theorem.method
    owner = get_method(call.name, call.code) if call else Method
    if call is None or not owner.measured:
        return {}
    required = [f.name for f in fields(owner) if not _has_default(f)]
    try:
        return owner(**{name: DEFAULTS.get(name, 1) for name in required}, **call.options).measure(clients)
    except ValueError as error:
        raise InputError(f"{theorem.id}: {one_line(error)}") from None


def fixed_by(theorem: Theorem, given: Given | None) -> dict[str, Fraction]:
    """Hyperparameters of the theorem that a method with hyperparameters of its own fixes, by symbol."""
    if not isinstance(given, Method):
        return {}
    formulas = dict(theorem.method.values) if theorem.method else {}
    table = {str(expr): field for field, expr in formulas.items() if sp.sympify(expr).is_Symbol}
    hyper = (b.name for b in theorem.notation if b.quantity.role == "hyperparameter")
    found = {name: getattr(given, table.get(name, name), None) for name in hyper}
    return {name: Fraction(str(value)) for name, value in found.items() if isinstance(value, (int, float))}


def steps_of(theorem: Theorem) -> Callable[[Mapping[str, Any]], int]:
    """The local steps that the values of the symbols stand for: the iterations, or the rounds times their length.

    Raises:
        InputError: no symbol stands for the iterations or for the rounds, or a round has no length that can be read.
    """
    named = {binding.quantity.name: binding.name for binding in theorem.notation}
    if "iterations" in named:
        return lambda values: int(values[named["iterations"]])
    if "rounds" not in named:
        raise InputError(
            f"{theorem.id}: has no symbol for the number of iterations or of rounds, so no run to compare with"
        )
    taken, length = _length_of_round(theorem)
    if not client_symbols(length):
        period = period_of(theorem)
        return lambda values: int(values[named["rounds"]]) * int(values[period] if isinstance(period, str) else period)

    def steps(values: Mapping[str, Any]) -> int:
        period = at_clients(length, _lists(theorem, values))
        if not period.is_Integer:
            raise InputError(f"{theorem.id}: wanted a whole number for {taken} of its method, got {period}")
        return int(values[named["rounds"]]) * int(period)

    return steps


def period_of(theorem: Theorem) -> str | int:
    """The steps of a round: a symbol, or a number. They are what the theorem's method gets, else the symbol that means them, else 1.

    Raises:
        InputError: the method gets a formula, or something else than the statement's symbol for the steps of a round.
    """
    taken, given = _length_of_round(theorem)
    if not (given.is_Symbol or given.is_Integer):
        wanted = "wanted a symbol or a whole number"
        raise InputError(f"{theorem.id}: {wanted} for {taken} of {theorem.method and theorem.method.name}, got {given}")
    stated = _stated_period(theorem)
    if stated is not None and given != stated:
        name = theorem.method.name if theorem.method else theorem.id
        got = f"{name} gets {taken} = {given}" if taken else f"no hyperparameter of {name} is known to be that"
        wanted = f'wanted it under [method] as {stated}, and quantities = {{NAME: "communication_period"}} in a class of your own'
        raise InputError(f"{theorem.id}: {stated} is the statement's number of steps in a round, and {got}; {wanted}")
    return str(given) if given.is_Symbol else int(given)


def every_of(theorem: Theorem) -> Callable[[Mapping[str, Any]], int] | None:
    """The steps between two models that the metric speaks of: a round where it is taken at the server's model; None for every step."""
    if theorem.metric.at != SERVER_MODEL:
        return None
    period = period_of(theorem)
    return lambda values: int(values[period] if isinstance(period, str) else period)


def _length_of_round(theorem: Theorem) -> tuple[str, sp.Expr]:
    """What the hyperparameter is called by which the theorem's method gets the steps of a round, and the formula that it gets."""
    named = {binding.quantity.name: binding.symbol for binding in theorem.notation}
    call = theorem.method
    if call is None:
        return "", sp.sympify(named.get("communication_period", 1))
    owner = get_method(call.name, call.code)
    taken = next((name for name, quantity in owner.quantities.items() if quantity == "communication_period"), None)
    if taken is None:
        stated = _stated_period(theorem)
        given = next((name for name, formula in call.values.items() if sp.sympify(formula) == stated), None)
        return ("", sp.Integer(1)) if given is None or stated is None else (given, stated)
    default = next((f.default for f in fields(owner) if f.name == taken), None)
    return taken, sp.sympify(call.values.get(taken, default))


def _stated_period(theorem: Theorem) -> sp.Symbol | None:
    """The symbol of the statement for the steps of a round; a proof reads its horizon off that one (`kernel.problem.period`)."""
    stated = theorem.symbols(theorem.first).values()
    return next((b.symbol for b in stated if b.quantity.name == "communication_period"), None)
