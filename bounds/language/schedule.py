"""Step sizes that decline in the step t, as formulas: a/(t + t0)**q with 0 < q <= 1, and floor(t/K) in the place of t."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import sympy as sp

from .notation import STEP

SCHEDULES = ("a/(t + t0)", "a/sqrt(t + t0)", "a/(t + t0)**(1/3)", "one of these with floor(t/K) for t")
"""What a hyperparameter of a method may be where it depends on the step, with formulas for a and t0, any power up to 1 and whole K."""


@dataclass(frozen=True)
class StepSchedule:
    """a / (floor(t/every) + t0)^power."""

    a: sp.Expr
    t0: sp.Expr
    power: Fraction = Fraction(1)
    every: sp.Expr = sp.S.One


def read_schedule(formula: sp.Expr) -> StepSchedule | None:
    """The schedule that a formula with `STEP` in it is, or None where it is none of `SCHEDULES`.

    Example:
        >>> a, t0 = sp.symbols("a t0", positive=True)
        >>> read_schedule(2 * a / (STEP + t0)).a
        2*a
    """
    time, every = STEP, sp.S.One
    if floors := formula.atoms(sp.floor):
        (inside,) = floors.pop().args if len(floors) == 1 else (STEP,)
        every = sp.cancel(STEP / inside)
        time = sp.Dummy("time", nonnegative=True)
        formula = formula.xreplace({sp.floor(inside): time})
        if STEP in formula.free_symbols | every.free_symbols or (every.is_number and every != int(every)):
            return None
    exponents = {-part.exp for part in formula.atoms(sp.Pow) if part.exp.is_Rational and part.has(time)}
    for power in sorted({sp.S.One, sp.S.Half, *(q for q in exponents if 0 < q < 1)}, reverse=True):
        line = sp.cancel(sp.powdenest((1 / formula) ** (1 / power), force=True))
        if line.is_polynomial(time) and sp.degree(line, time) == 1:
            slope, shift = sp.Poly(line, time).all_coeffs()
            if shift.is_nonpositive:
                return None
            a = sp.simplify(slope**-power)
            return StepSchedule(a, sp.cancel(shift / slope), Fraction(int(power.p), int(power.q)), every)
    return None
