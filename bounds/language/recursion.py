"""Constants given by a recursion in a whole number of steps, as sympy functions.

A rule `rule(steps, ...)` is plain arithmetic. With a symbolic number of steps it stays a function of it, so that a
statement can be declared, printed, checked for dimensions and compiled like any other. With numbers it is worked
out in fractions; where a square root is irrational it is unrolled in sympy or, for a `lazy` rule whose radicals
would nest, stays exact as a function of numbers that is evaluated to any precision asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from types import SimpleNamespace
from typing import Any, ClassVar

import sympy as sp

from .quantities import MAX_STEPS
from .reading import InputError

PROBED = (1, 2, 3)
"""A recursion is homogeneous when it is so unrolled for these numbers of steps."""
_GUARD_BITS = 40


class IrrationalError(ArithmeticError):
    """A square root that is no fraction."""


class StepFunction(sp.Function):
    """A constant given by a rule in a number of steps, its first argument."""

    rule: ClassVar[Callable[..., Any]]
    recurrence: ClassVar[Recurrence | None] = None
    letter: ClassVar[str]
    lazy: ClassVar[bool]
    is_nonnegative = True

    @classmethod
    def eval(cls, steps: sp.Expr, *arguments: sp.Basic) -> sp.Expr | None:
        if not steps.is_Integer:
            return None
        count = checked(int(steps))
        if all(part.is_Rational for part in sp.Tuple(*sp.flatten(arguments))):
            try:
                return sp.sympify(cls.rule(count, *map(_fractions, arguments)))
            except IrrationalError:
                if cls.lazy:
                    return None
        return sp.sympify(cls.rule(count, *arguments))

    def unrolled(self) -> tuple[sp.Expr, ...]:
        return tuple(sp.sympify(type(self).rule(steps, *self.args[1:])) for steps in PROBED)

    def _eval_evalf(self, prec: int) -> sp.Expr | None:
        import mpmath

        steps, *arguments = self.args
        if not steps.is_Integer or self.free_symbols:
            return None
        with mpmath.workprec(prec + _GUARD_BITS):
            values = [
                _map(argument, lambda part: mpmath.mpf(part._to_mpmath(prec + _GUARD_BITS))) for argument in arguments
            ]
            return sp.Float(type(self).rule(int(steps), *values), precision=prec)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        steps, last, first = (printer._print(part) for part in (self.args[0], self.args[0] - 1, self.args[1]))
        text = self.letter.replace("<steps>", steps).replace("<last>", last).replace("<first>", first)
        return rf"\left({text}\right)^{{{exp}}}" if exp else text


def _map(argument: sp.Basic, change: Callable[[sp.Expr], Any]) -> Any:
    return [change(part) for part in argument] if isinstance(argument, sp.Tuple) else change(argument)


def _fractions(argument: sp.Basic) -> Any:
    return _map(argument, lambda part: Fraction(int(part.p), int(part.q)))


def checked(steps: int) -> int:
    """A number of steps that is not too large to unroll.

    Raises:
        InputError: too many steps.
    """
    if steps > MAX_STEPS:
        raise InputError(f"steps: wanted a whole number of at most {MAX_STEPS}, got {steps}")
    return steps


@dataclass(frozen=True)
class Recurrence:
    """A rule as data: how its values start, and how they go on at step l.

    Args:
        start, after: the first values, and the next ones as a function of the last ones, each followed by the arguments of the
            rule, of which a list holds one entry for each step.
        along: a rule whose value at l is put in front, for l = steps - 1, ..., 0: the rule goes back through what that one made.
            `start` then has its value at l = steps in front, and the entries of that step.
        result: which of the values the rule gives.
    """

    start: Callable[..., tuple[Any, ...]]
    after: Callable[..., tuple[Any, ...]]
    along: Recurrence | None = None
    result: int = 0

    @property
    def reads(self) -> tuple[str, ...]:
        """The names of the arguments."""
        code = self.start.__code__
        return code.co_varnames[self.along is not None : code.co_argcount]

    @property
    def states(self) -> int:
        """How many values there are."""
        return int(self.after.__code__.co_argcount) - len(self.reads) - (self.along is not None)

    def values(self, steps: int, *arguments: Any) -> list[tuple[Any, ...]]:
        """The values after 0, 1, ..., steps steps."""
        if self.along is None:
            found = [self.start(*(entry(a, 0) for a in arguments))]
            for l in range(steps):
                found.append(self.after(*found[-1], *(entry(a, l) for a in arguments)))
            return found
        given = [arguments[self.reads.index(name)] for name in self.along.reads]
        path = [values[self.along.result] for values in self.along.values(steps, *given)]
        found = [self.start(path[steps], *(_last(a, steps) for a in arguments))]
        for l in reversed(range(steps)):
            found.append(self.after(path[l], *found[-1], *(entry(a, l) for a in arguments)))
        return found

    def __call__(self, steps: int, *arguments: Any) -> Any:
        return self.values(max(steps, 0), *arguments)[-1][self.result]


def _last(values: Any, steps: int) -> Any:
    """The entry of the last step; of a list without one, the last entry, which no rule may then use."""
    many = isinstance(values, (list, tuple, sp.Tuple))
    return values[min(steps, len(values) - 1)] if many else values


def step_function(name: str, rule: Callable[..., Any], letter: str, *, lazy: bool = False) -> type[StepFunction]:
    """A StepFunction with this rule, which may be a `Recurrence`.

    Args:
        letter: its LaTeX, in which <steps>, <last> and <first> stand for the number of steps, that minus 1, and the
            next argument.
        lazy: do not unroll nested radicals.
    """
    parts = {"rule": staticmethod(rule), "letter": letter, "lazy": lazy, "_imp_": staticmethod(_on_arrays(rule))}
    parts["recurrence"] = rule if isinstance(rule, Recurrence) else None
    return type(name, (StepFunction,), parts)


@dataclass(frozen=True)
class Recursion:
    """A rule callable as `constant(s, nu)`: its arguments but the first are read by name from the namespace s.

    Entries of s may be lists, one entry per step, when nu is a number.
    """

    rule: Callable[..., Any]
    node: type[StepFunction]

    @property
    def reads(self) -> tuple[str, ...]:
        """The symbols that the rule needs."""
        if isinstance(self.rule, Recurrence):
            return self.rule.reads
        return self.rule.__code__.co_varnames[1 : self.rule.__code__.co_argcount]

    def __call__(self, s: SimpleNamespace, nu: Any) -> sp.Expr:
        arguments = [getattr(s, name) for name in self.reads]
        steps = sp.sympify(nu)
        if not steps.is_Integer and any(isinstance(argument, (list, tuple)) for argument in arguments):
            raise InputError(f"nu: wanted a number of steps where entries differ from step to step, got {nu}")
        return self.node(steps, *(sp.Tuple(*a) if isinstance(a, (list, tuple)) else a for a in arguments))


def recursion(equation: str, *, lazy: bool = False) -> Callable[[Callable[..., Any]], Recursion]:
    """Declare a rule as a Recursion; `equation` is what stands for it in LaTeX."""

    def wrap(rule: Callable[..., Any]) -> Recursion:
        letter = rf"\operatorname{{rec}}_{{{equation}}}(<steps>)"
        return Recursion(rule, step_function(rule.__name__, rule, letter, lazy=lazy))

    return wrap


def stepwise(
    name: str,
    equation: str,
    start: Callable[..., tuple[Any, ...]],
    after: Callable[..., tuple[Any, ...]],
    *,
    along: Recursion | None = None,
    result: int = 0,
    lazy: bool = False,
) -> Recursion:
    """A Recursion given by how it starts and goes on, see `Recurrence`; `equation` is what stands for it in LaTeX."""
    if along is not None and not isinstance(along.rule, Recurrence):
        raise TypeError(f"{name}: wanted a stepwise rule to go along")
    rule = Recurrence(start, after, along.rule if along else None, result)  # type: ignore[arg-type]
    letter = rf"\operatorname{{rec}}_{{{equation}}}(<steps>)"
    return Recursion(rule, step_function(name, rule, letter, lazy=lazy))


def _on_arrays(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule in floating point; the number of steps may be an array (nan where it is no whole number, or too
    large).
    """

    def values(steps: Any, *arguments: Any) -> Any:
        import numpy as np

        steps = np.asarray(steps, dtype=float)
        shape = np.broadcast_shapes(steps.shape, *map(np.shape, arguments))
        distinct = [number for number in np.unique(steps) if number <= MAX_STEPS and number == int(number)]
        if steps.size == 1 and distinct:
            return np.broadcast_to(rule(int(distinct[0]), *arguments), shape)
        steps, *arrays = np.broadcast_arrays(steps, *arguments)
        result = np.full(shape, np.nan)
        for number in distinct:
            chosen = steps == number
            result[chosen] = rule(int(number), *(array[chosen] for array in arrays))
        return result

    return values


# --- what a rule is written with: numbers may be fractions, sympy or mpmath numbers, symbols, or arrays ---------------


def entry(values: Any, step: int) -> Any:
    """What a list holds for a step; a single number serves every step.

    Raises:
        InputError: the list is too short.
    """
    if not isinstance(values, (list, tuple, sp.Tuple)):
        return values
    if not 0 <= step < len(values):
        raise InputError(f"wanted a list with an entry for step {step}, got one with {len(values)}")
    return values[step]


def root(value: Any) -> Any:
    """Square root; exact, or IrrationalError, for a fraction."""
    if isinstance(value, sp.Basic):
        return sp.sqrt(value)
    if isinstance(value, (int, Fraction)):
        top, bottom = (isqrt(part) for part in Fraction(value).as_integer_ratio())
        if Fraction(top**2, bottom**2) != value:
            raise IrrationalError(f"sqrt({value})")
        return Fraction(top, bottom)
    if hasattr(value, "sqrt"):
        return value.sqrt()
    import numpy as np

    return np.sqrt(value)


def least(left: Any, right: Any) -> Any:
    """The smaller of two; left as it stands between symbols."""
    if isinstance(left, sp.Basic) or isinstance(right, sp.Basic):
        return sp.Min(left, right, evaluate=not (sp.sympify(left).free_symbols | sp.sympify(right).free_symbols))
    if hasattr(left, "shape") or hasattr(right, "shape"):
        import numpy as np

        return np.minimum(left, right)
    return left.least(right) if hasattr(left, "least") else min(left, right)


# --- sums of powers --------------------------------------------------------------------------------------------------


_geometric = Recurrence(lambda ratio: (0 * ratio,), lambda total, ratio: (1 + ratio * total,))
_nested = Recurrence(
    lambda ratio: (0 * ratio, 0 * ratio), lambda total, power_sum, ratio: (total + power_sum, 1 + ratio * power_sum)
)
Geometric = step_function("Geometric", _geometric, r"\sum_{l=0}^{<last>}\left(<first>\right)^l")
"""Geometric(nu, a) = 1 + a + ... + a^(nu-1); 0 for nu <= 0."""
Nested = step_function("Nested", _nested, r"\sum_{j=1}^{<last>}\sum_{i=0}^{j-1}\left(<first>\right)^i")
"""Nested(nu, a) = the sum of Geometric(j, a) over j = 1 .. nu-1; 0 for nu <= 1."""
