"""Theorems of the library that the kernel cannot say: their argument, and a check that its inequalities give the bound that is stated.

The inequalities of a step are those of docs/theory/library.md, which a reader checks. What is checked here is the rest: that a
weighted sum of them leaves nothing of the error of y, keeps the squared direction with the sign that a condition gives, and sums to
the stated terms.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from ...audit.findings import Evidence, confirm
from ...language.power import Power
from ...language.theorem import Statement

GRADIENT, DIRECTION, ERROR = (sp.Symbol(name) for name in ("squared_gradient", "squared_direction", "error_of_y"))


@dataclass(frozen=True)
class Potential:
    """F + weight times the squared error of y, along a step x - eta d.

    Args:
        wrong: bound of the squared distance of the mean of d from the gradient. variance: bound of the variance of d.
        growth: bound of the growth of the error of y in a step. first: the error of y at first.
    """

    weight: sp.Expr
    wrong: sp.Expr
    variance: sp.Expr
    growth: sp.Expr
    first: sp.Expr


def ascent(s: Any) -> Potential:
    """That of section 18, in the symbols of its theorem."""
    a, V, V_y = s.mu_y * s.eta_y, s.sigma**2 / (s.N * s.b), s.sigma_y**2 / (s.N * s.b)
    moved = (1 + a) / a * (s.c / s.mu_y * s.eta) ** 2 * (DIRECTION + V)
    growth = -a * ERROR + (1 + a) * s.eta_y**2 * V_y + moved
    return Potential(s.eta * s.c**2 / (2 * a), s.c**2 * ERROR, V, growth, s.e_y**2)


def lower_level(s: Any) -> Potential:
    """That of section 19, in the symbols of its theorem."""
    a, V_g = s.mu_g * s.eta_y, s.sigma_g**2 / (s.N * s.b)
    V = (s.sigma + s.c_g * s.sigma_y / s.mu_g) ** 2 / (s.N * s.b)
    bias_sq = (s.c_g * s.C / s.mu_g) ** 2 * Power(1 - s.mu_g * s.eta_v, 2 * s.K)
    growth = -a * ERROR + s.eta_y**2 * V_g + (s.c_g / s.mu_g * s.eta) ** 2 / a * (DIRECTION + V)
    wrong = 2 * bias_sq + 2 * s.M**2 * ERROR
    return Potential(s.eta * s.M**2 / a, wrong, V, growth, (1 - a) ** 2 * s.e_y**2)


def left_over(statement: Statement, potential: Potential) -> tuple[sp.Expr, ...]:
    """What is left of the error of y, of the direction and of the gradient in a step, and of the bound: 0 for a statement that follows."""
    s = statement.theorem.notation.namespace()
    descent = -s.eta / 2 * GRADIENT - (s.eta / 2 - s.L_bar * s.eta**2 / 2) * DIRECTION
    rise = descent + s.eta / 2 * potential.wrong + s.L_bar * s.eta**2 / 2 * potential.variance
    step = sp.expand(rise + potential.weight * potential.growth)
    (slack,) = (condition.slack for condition in statement.conditions if condition.name == "step_size")
    constant = step.xreplace({GRADIENT: 0, DIRECTION: 0, ERROR: 0})
    total = 2 / s.eta * constant + 2 / (s.eta * s.T) * (s.F_gap + potential.weight * potential.first)
    found = (
        step.coeff(ERROR),
        step.coeff(DIRECTION) + s.eta / 2 * slack,
        step.coeff(GRADIENT) + s.eta / 2,
        total - statement.expand(statement.total),
    )
    return tuple(sp.cancel(each) for each in found)


def _sums(name: str, potential: Any) -> Evidence:
    from ...registry import get_theorem

    theorem = get_theorem(f"library.{name}")
    found = left_over(theorem.statement("printed"), potential(theorem.notation.namespace()))
    return confirm(not any(found), left_over=str(found))


def sgda() -> Evidence:
    """The descent lemma and the recursion of the distance of y from the maximiser, weighted, sum to the bound (section 18 of
    docs/theory/library.md); the kernel has no maximiser: the two inequalities are read, and their sum is checked."""
    return _sums("sgda", ascent)


def fed_ttsa() -> Evidence:
    """The descent lemma and the recursion of the distance of y from the lower level's minimiser, weighted, sum to the bound (section
    19 of docs/theory/library.md); the kernel has no such minimiser: the two inequalities are read, and their sum is checked."""
    return _sums("fed_ttsa", lower_level)


HOLDS = (("sgda", "printed", sgda), ("fed_ttsa", "printed", fed_ttsa))
