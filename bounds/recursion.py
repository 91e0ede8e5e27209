"""Constants given by a recursion in a whole number of steps, as sympy functions.

A rule `rule(steps, ...)` is plain arithmetic. With a number of steps it is unrolled, exactly on sympy numbers and in floating
point on arrays; with a symbolic number it stays a function of it, so that a statement can be declared, printed, checked for
dimensions and compiled like any other, and is unrolled as soon as the number is put in.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, ClassVar

import sympy as sp

from .quantities import MAX_STEPS
from .reading import InputError

PROBED = (1, 2, 3)
"""A recursion is homogeneous when it is so unrolled for these numbers of steps."""


class StepFunction(sp.Function):
    """A constant given by a rule in a number of steps, its first argument; unrolled when that is a number."""

    rule: ClassVar[Callable[..., Any]]
    letter: ClassVar[str]
    is_nonnegative = True

    @classmethod
    def eval(cls, steps: sp.Expr, *arguments: sp.Expr) -> sp.Expr | None:
        return cls.rule(checked(int(steps)), *arguments) if steps.is_Integer else None

    def unrolled(self) -> tuple[sp.Expr, ...]:
        return tuple(sp.sympify(type(self).rule(steps, *self.args[1:])) for steps in PROBED)

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        steps, first, *_ = (printer._print(argument) for argument in self.args)
        text = self.letter.format(steps=steps, first=first)
        return rf"\left({text}\right)^{{{exp}}}" if exp else text


def checked(steps: int) -> int:
    """A number of steps that is not too large to unroll.

    Raises:
        InputError: too many steps.
    """
    if steps > MAX_STEPS:
        raise InputError(f"steps: wanted a whole number of at most {MAX_STEPS}, got {steps}")
    return steps


def step_function(name: str, rule: Callable[..., Any], letter: str) -> type[StepFunction]:
    """A StepFunction with this rule; `letter` is its LaTeX, in which {steps} and {first} are the first two arguments."""
    parts = {"rule": staticmethod(rule), "letter": letter, "_imp_": staticmethod(_on_arrays(rule))}
    return type(name, (StepFunction,), parts)


def recursion(equation: str) -> Callable[[Callable[..., Any]], Callable[[SimpleNamespace, Any], sp.Expr]]:
    """Make a rule callable as `constant(s, nu)`, its other arguments being read by name from the namespace s.

    Entries of s may be lists, one entry per step, when nu is a number.
    """

    def wrap(rule: Callable[..., Any]) -> Callable[[SimpleNamespace, Any], sp.Expr]:
        names = rule.__code__.co_varnames[1 : rule.__code__.co_argcount]
        node = step_function(rule.__name__, rule, rf"\operatorname{{rec}}_{{{equation}}}({{steps}})")

        def constant(s: SimpleNamespace, nu: Any) -> sp.Expr:
            arguments = [getattr(s, name) for name in names]
            nu = sp.sympify(nu)
            if nu.is_Integer:
                return sp.sympify(rule(checked(int(nu)), *arguments))
            if any(isinstance(argument, (list, tuple)) for argument in arguments):
                raise InputError(f"nu: wanted a number of steps where entries differ from step to step, got {nu}")
            return node(nu, *arguments)

        constant.__doc__, constant.__name__ = rule.__doc__, rule.__name__
        constant.rule = rule  # type: ignore[attr-defined]
        return constant

    return wrap


def _on_arrays(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule in floating point; the number of steps may be an array (nan where it is no whole number, or too large)."""

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


def entry(values: Any, step: int) -> Any:
    """What a list holds for a step; a single number serves every step."""
    return values[step] if isinstance(values, (list, tuple)) else values


def root(value: Any) -> Any:
    """Square root, exact for sympy numbers."""
    if isinstance(value, (int, sp.Basic)):
        return sp.sqrt(value)
    import numpy as np

    return np.sqrt(value)


def least(left: Any, right: Any) -> Any:
    """The smaller of two; left as it stands between symbols."""
    if isinstance(left, sp.Basic) or isinstance(right, sp.Basic):
        free = sp.sympify(left).free_symbols | sp.sympify(right).free_symbols
        return sp.Min(left, right, evaluate=not free)
    import numpy as np

    return np.minimum(left, right)


# --- sums of powers --------------------------------------------------------------------------------------------------


def _geometric(steps: int, ratio: Any) -> Any:
    total = 0 * ratio
    for _ in range(steps):
        total = 1 + ratio * total
    return total


def _nested(steps: int, ratio: Any) -> Any:
    return sum((_geometric(j, ratio) for j in range(1, steps)), 0 * ratio)


Geometric = step_function("Geometric", _geometric, r"\sum_{{l=0}}^{{{steps}-1}}\left({first}\right)^l")
"""Geometric(nu, a) = 1 + a + ... + a^(nu-1); 0 for nu <= 0."""
Nested = step_function("Nested", _nested, r"\sum_{{j=1}}^{{{steps}-1}}\sum_{{i=0}}^{{j-1}}\left({first}\right)^i")
"""Nested(nu, a) = the sum of Geometric(j, a) over j = 1 .. nu-1; 0 for nu <= 1."""
