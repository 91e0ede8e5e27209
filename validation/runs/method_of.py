"""The method that a theorem is about, built from the values of its symbols: in doubles, in the lanes of a search, or in fractions.

Which hyperparameters a method gets, and as which formulas, is one rule for all three. They differ in their arithmetic, and in what is said
where a number does not do. Here too: how many steps a run has, and a round of it.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import MISSING, Field, dataclass, fields, replace
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from operator import add, mul
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

import sympy as sp
import torch
from torch import Tensor

from ...algorithms import Method
from ...algorithms.declared import DEFAULTS
from ...algorithms.engine.method import WHOLE, annotation_of
from ...algorithms.engine.schedule import Schedule
from ...algorithms.registry import get_method
from ...bounds.language.bounding import SERVER_MODEL
from ...bounds.language.clients import at_clients, bare, client_symbols
from ...bounds.language.formula import read_formula
from ...bounds.language.notation import STEP, Binding
from ...bounds.language.reading import InputError, is_array
from ...bounds.language.schedule import StepSchedule, read_schedule
from ...bounds.language.theorem import MethodCall, Theorem
from ...ranges import AT_MOST
from ...user_files import one_line
from ..exact.tensor import ExactTensor, InexactError
from .recipe import Build

Given: TypeAlias = Method | type[Method] | Build
"""What a caller may give: a method with its hyperparameters, its class, or a function of the values of the symbols."""
TINY = 1e-300


class UnbuiltError(InputError):
    """The method cannot be built from what a search makes of the symbols."""


def build_of(theorem: Theorem, given: Given | None = None) -> Build:
    """Builds the method of a run from the values of the theorem's symbols, in doubles.

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
    if given is None and theorem.method is None:
        raise InputError(f"{theorem.id}: declares no method to run; give one, or a table [method] with its name")
    owner = given or _owner(theorem.method)  # type: ignore[arg-type]
    options = theorem.method.options if theorem.method else {}

    def made(values: Mapping[str, float]) -> Method:
        formulas = _formulas(theorem, owner, values, names_all=given is None)
        return owner(**_hyperparameters(owner, formulas, _Doubles(theorem, values)), **options)

    return made


def build_in_lanes(
    theorem: Theorem, attained: Mapping[str, str] = MappingProxyType({})
) -> Callable[[Mapping[str, Any]], Method]:
    """Builds the method of a search, from numbers, tensors over the lanes or exact tensors.

    An `UnbuiltError` where a whole hyperparameter gets a number that need not be one.

    Args:
        theorem: one that names its method. attained: symbols that the method is chosen to have, with their quantities.

    Raises:
        InputError: there is no such method, or it cannot be given what the theorem says.
    """
    call = _called(theorem)
    owner = _owner(call)
    formulas = _formulas(theorem, owner, theorem.notation.bindings)
    for formula in formulas.values():
        _read(formula)
    shares = {
        name
        for name, quantity in owner.quantities.items()
        if (most := AT_MOST.get(quantity)) and not (most.over or most.per)
    }

    def build(values: Mapping[str, Any]) -> Method:
        numbers = _Lanes(call, values)
        given = _hyperparameters(owner, formulas, numbers)
        if not numbers.is_exact:
            given |= {name: _at_most_one(given[name]) for name in shares & given.keys()}
        try:
            method: Method = owner(**given, **call.options)
        except TypeError as error:
            raise InputError(f"{call.name}: cannot be built from what the theorem gives it: {error}") from None
        for name, quantity in attained.items():
            method = method.attaining(quantity, values[name])
        return method

    return build


def built_in_fractions(theorem: Theorem, values: Mapping[str, Fraction]) -> Method:
    """A theorem's method, with the hyperparameters that the theorem gives as exact numbers.

    Raises:
        InexactError: a hyperparameter has no exact value.
        InputError: one that counts is no whole number.
    """
    call = _called(theorem)
    owner = _owner(call)
    numbers = _Fractions(theorem, values)
    return owner(**_hyperparameters(owner, _formulas(theorem, owner, values), numbers), **call.options)


def _called(theorem: Theorem) -> MethodCall:
    assert theorem.method is not None
    return theorem.method


def _owner(call: MethodCall) -> type[Method]:
    return get_method(call.name, call.code)


# --- which hyperparameters, as which formulas -----------------------------------------------------------------------------


def _formulas(
    theorem: Theorem, owner: type[Method], known: Container[str], *, names_all: bool = True
) -> dict[str, sp.Expr]:
    """The hyperparameters that a method gets, as formulas in the theorem's symbols.

    Args:
        known: names that have values.
        names_all: the theorem names all that differs from the defaults, as it does of its own method. Else a symbol with
            the name of a hyperparameter is that one.

    Raises:
        InputError: the method has none of a name, or wants one that is not given.
    """
    own = {declared.name: declared for declared in fields(owner)}
    told = {name: sp.sympify(formula) for name, formula in (theorem.method.values if theorem.method else {}).items()}
    if names_all and (unknown := sorted(told.keys() - own.keys())):
        wanted = f"wanted one of {', '.join(own)}"
        raise InputError(f"{theorem.id}: its method {owner.name} has no hyperparameter {unknown[0]}; {wanted}")
    found: dict[str, sp.Expr] = {}
    for name, declared in own.items():
        if name in told:
            found[name] = told[name]
        elif name in known and not (names_all and _has_default(declared)):
            found[name] = _symbol(theorem, name)
        elif declared.default is MISSING and name in DEFAULTS:
            found[name] = sp.Integer(DEFAULTS[name])
        elif not _has_default(declared):
            raise InputError(f"{theorem.id}: its method {owner.name} wants {name}, which the theorem does not give")
    return found


def _has_default(declared: Field[Any]) -> bool:
    return declared.default is not MISSING or declared.default_factory is not MISSING


def _symbol(theorem: Theorem, name: str) -> sp.Symbol:
    """That of the theorem, or one for what only an instance names."""
    known = theorem.notation.bindings.get(name)
    return known.symbol if known is not None else sp.Symbol(name)


@lru_cache(maxsize=256)
def _read(formula: sp.Expr) -> sp.Expr | StepSchedule:
    """The schedule that a formula in the step is; any other formula as it is."""
    if STEP not in formula.free_symbols:
        return formula
    found = read_schedule(formula)
    if found is None or not found.every.is_number:
        raise InputError(
            f"{formula}: wanted a step size such as a/(t + t0) with t0 > 0, and a whole number of steps K in floor(t/K)"
        )
    return found


# --- in which arithmetic --------------------------------------------------------------------------------------------------


class _Numbers(Protocol):
    """The values of the symbols, and what becomes of a formula in them."""

    def with_values(self, name: str, formula: sp.Expr) -> sp.Expr:
        """The formula of a hyperparameter, its symbols replaced by numbers where these are single ones."""

    def number(self, name: str, formula: sp.Expr) -> Any: ...

    def whole(self, name: str, formula: sp.Expr) -> Any:
        """A whole number, or one for each client; raises where it is none."""

    def positive(self, value: Any) -> Any:
        """A number that has to be positive, where a single one that is not would spoil others."""


def _hyperparameters(owner: type[Method], formulas: Mapping[str, sp.Expr], numbers: _Numbers) -> dict[str, Any]:
    """The hyperparameters at values of the symbols."""
    found: dict[str, Any] = {}
    for declared in (each for each in fields(owner) if each.name in formulas):
        name = declared.name
        formula = _read(numbers.with_values(name, formulas[name]))
        if isinstance(formula, StepSchedule):
            a, t0 = (numbers.number(name, part) for part in (formula.a, formula.t0))
            found[name] = Schedule(a, numbers.positive(t0), formula.power, int(formula.every))
        elif annotation_of(declared).startswith(WHOLE):
            found[name] = numbers.whole(name, formula)
        else:
            found[name] = numbers.number(name, formula)
    return found


@dataclass(frozen=True)
class _Doubles:
    """Those of one run: what does not fit is the user's to mend."""

    theorem: Theorem
    values: Mapping[str, Any]

    @cached_property
    def lists(self) -> dict[sp.Symbol, tuple[sp.Expr, ...]]:
        return _lists(self.theorem, self.values)

    def with_values(self, name: str, formula: sp.Expr) -> sp.Expr:
        exactly = STEP in formula.free_symbols  # t/K changes at whole numbers of steps
        singles = {
            _symbol(self.theorem, n): self._single(v, exactly) for n, v in self.values.items() if not is_array(v)
        }
        value = at_clients(formula, self.lists).xreplace(singles)
        if unknown := value.free_symbols - {STEP} - self.lists.keys():
            wanted = "wanted it in a term or a condition too, or a number in its place"
            where = f"{min(map(str, unknown))} stands only under [method] ({name})"
            raise InputError(f"{self.theorem.id}: {where}, so nothing gives it a value; {wanted}")
        return value

    def _single(self, value: float, exactly: bool) -> sp.Number:
        return sp.Integer(value) if exactly and value == int(value) else sp.Float(value, 30)

    def number(self, name: str, formula: sp.Expr) -> float | tuple[float, ...]:
        if own := bare(formula):
            each = zip(*(self.lists[symbol] for symbol in own), strict=True)
            return tuple(float(formula.xreplace(dict(zip(own, numbers, strict=True)))) for numbers in each)
        return float(formula)

    def whole(self, name: str, formula: sp.Expr) -> int | tuple[int, ...]:
        value = self.number(name, formula)
        return (
            tuple(self._whole(name, each) for each in value) if isinstance(value, tuple) else self._whole(name, value)
        )

    def _whole(self, name: str, value: float) -> int:
        if value != round(value):
            raise InputError(f"{self.theorem.id}: its method wants a whole number for {name}, got {value:g}")
        return round(value)

    def positive(self, value: Any) -> Any:
        return value


@dataclass(frozen=True)
class _Lanes:
    """Numbers, tensors over lanes or exact tensors: where the conditions fail, an instance counts for nothing, and disturbs no other."""

    call: MethodCall
    values: Mapping[str, Any]

    @cached_property
    def is_exact(self) -> bool:
        return any(isinstance(value, ExactTensor) for value in self.values.values())

    def with_values(self, name: str, formula: sp.Expr) -> sp.Expr:
        return formula

    def number(self, name: str, formula: sp.Expr) -> Any:
        value = value_of(formula, self.values)
        if isinstance(value, Fraction):
            return ExactTensor.of([value]) if self.is_exact else float(value)
        return value

    def whole(self, name: str, formula: sp.Expr) -> int:
        value = _one_number(value_of(formula, self.values))
        if not (isinstance(value, (int, float, Fraction)) and value == round(value)):
            raise UnbuiltError(
                f"{self.call.name}: wants a whole number for {name}; a search makes {formula} any number"
            )
        return int(value)

    def positive(self, value: Any) -> Any:
        """What has no first step size counts for nothing, and is no method."""
        if isinstance(value, (int, float)):
            return max(float(value), TINY)
        return value.clamp_min(TINY) if type(value) is Tensor else value


@dataclass(frozen=True)
class _Fractions:
    """Exact numbers: what has no exact value is not decided."""

    theorem: Theorem
    values: Mapping[str, Fraction]

    def with_values(self, name: str, formula: sp.Expr) -> sp.Expr:
        return formula.xreplace(
            {_symbol(self.theorem, n): sp.Rational(*v.as_integer_ratio()) for n, v in self.values.items()}
        )

    def number(self, name: str, formula: sp.Expr) -> ExactTensor:
        if not formula.is_Rational:
            raise InexactError(f"{name} = {formula} is no fraction")
        return ExactTensor.of([Fraction(int(formula.p), int(formula.q))])

    def whole(self, name: str, formula: sp.Expr) -> int:
        if not formula.is_Integer:
            raise InputError(f"{self.theorem.id}: its method wants a whole number for {name}, got {formula}")
        return int(formula)

    def positive(self, value: Any) -> Any:
        return value


def _lists(theorem: Theorem, values: Mapping[str, Any]) -> dict[sp.Symbol, tuple[sp.Expr, ...]]:
    """The numbers of single clients among the values of a theorem's symbols."""
    own = (b for b in theorem.notation if b.per_client and b.name in values)
    return {b.symbol: tuple(sp.nsimplify(v, rational=True) for v in values[b.name]) for b in own}


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


# --- what a method says of itself -----------------------------------------------------------------------------------------


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


# --- how many steps -------------------------------------------------------------------------------------------------------


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
