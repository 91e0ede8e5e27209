"""Step sizes that decline in the step t, as formulas: a/(t + t0), a/sqrt(t + t0), and floor(t/K) in the place of t."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from .notation import STEP

SCHEDULES = ("a/(t + t0)", "a/sqrt(t + t0)", "a/(floor(t/K) + t0)", "a/sqrt(floor(t/K) + t0)")
"""What a hyperparameter of a method may be where it depends on the step, with formulas for a and t0 and a whole number for K."""


@dataclass(frozen=True)
class StepSchedule:
    """a / (floor(t/every) + t0), or with `root` over its square root."""

    a: sp.Expr
    t0: sp.Expr
    root: bool = False
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
    inverse = 1 / formula
    for root, line in ((False, inverse), (True, inverse**2)):
        line = sp.cancel(line)
        if line.is_polynomial(time) and sp.degree(line, time) == 1:
            slope, shift = sp.Poly(line, time).all_coeffs()
            if shift.is_nonpositive:
                return None
            a = 1 / sp.sqrt(slope) if root else 1 / slope
            return StepSchedule(sp.simplify(a), sp.cancel(shift / slope), root, every)
    return None
