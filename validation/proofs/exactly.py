"""A method built from exact numbers; and, where its code has no exact run, whether all numbers are so simple that doubles decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import sympy as sp

from ...algorithms import Method
from ...algorithms.engine.schedule import Schedule
from ...bounds.language.notation import STEP
from ...bounds.language.reading import InputError
from ...bounds.language.schedule import read_schedule
from ...bounds.language.theorem import Theorem
from ...bounds.proof.kernel import Setting, Signomial, Sum, Term
from ...bounds.proof.kernel.terms import inside
from ..exact.tensor import ExactTensor, InexactError

SIMPLE = 1000
"""A number with a larger numerator or denominator may be a small change of another one."""
DEGREE = 6
"""A product of more hyperparameters, each between 1/10 and 1, may be too small for doubles to notice."""


def in_fractions(theorem: Theorem, method: Method, values: Mapping[str, Fraction]) -> Method:
    """A theorem's method, with the hyperparameters that the theorem gives as exact numbers.

    Args:
        method: the same, built from doubles.
        values: of the theorem's symbols.

    Raises:
        InexactError: a hyperparameter has no exact value.
        InputError: one that counts is no whole number.
    """
    call = theorem.method
    assert call is not None
    symbols = {b.symbol: sp.Rational(*values[b.name].as_integer_ratio()) for b in theorem.notation if b.name in values}
    names = {str(symbol): symbol for symbol in symbols}
    exact: dict[str, Any] = {}
    for declared in fields(method):
        name, value = declared.name, getattr(method, declared.name)
        formula = call.values.get(name, names.get(name))
        if formula is not None:
            exact[name] = _exact(f"{name} = {formula}", value, sp.sympify(formula).xreplace(symbols))
    return replace(method, **exact)


def _exact(what: str, value: Any, formula: sp.Expr) -> Any:
    if STEP in formula.free_symbols:
        schedule = read_schedule(formula)
        if schedule is None:
            raise InexactError(f"{what}: no exact schedule")
        a, t0 = (_scalar(what, part) for part in (schedule.a, schedule.t0))
        return Schedule(a, t0, schedule.power, int(schedule.every))
    if isinstance(value, int):
        if formula != value:
            raise InputError(f"{what}: wanted a whole number, got {formula}")
        return value
    if not isinstance(value, float):
        raise InexactError(f"{what}: no exact value")
    return _scalar(what, formula)


def _scalar(what: str, formula: Any) -> ExactTensor:
    found = sp.sympify(formula)
    if not found.is_Rational:
        raise InexactError(f"{what}: {found} is no fraction")
    return ExactTensor.of([Fraction(int(found.p), int(found.q))])


def not_simple(theorem: Theorem, setting: Setting) -> Iterator[str]:
    """Numbers in the formulas of a method, and in update equations, that doubles might take for other ones."""
    for name, formula in theorem.method.values.items() if theorem.method else ():
        written = sp.sympify(formula)
        if not all(map(_is_short, written.atoms(sp.Number))) or _degree(written) > DEGREE:
            yield f"{name} = {formula}"
    for variable in setting.variables:
        for _, term in variable.equations:
            yield from (f"{variable.name}: {c!r}" for c in _coefficients(term) if not _is_simple(c))


def _is_short(number: sp.Number) -> bool:
    return bool(number.is_Rational and max(abs(number.p), number.q) <= SIMPLE)


def _degree(formula: sp.Expr) -> int:
    """The sum of the exponents of the products in a formula, at most."""
    if formula.is_Pow:
        return int(abs(formula.exp) + 1) * _degree(formula.base) if formula.exp.is_number else DEGREE + 1
    return sum(map(_degree, formula.args)) if formula.args else int(formula.is_Symbol)


def _coefficients(term: Term) -> Iterator[Signomial]:
    for part in term.parts if isinstance(term, Sum) else ():
        yield part[0]
    for inner in inside(term):
        yield from _coefficients(inner)


def _is_simple(coefficient: Signomial) -> bool:
    return all(
        max(abs(number.numerator), number.denominator) <= SIMPLE
        and sum(abs(Fraction(e)) for _, e in monomial) <= DEGREE
        for monomial, number in coefficient.terms
    )
