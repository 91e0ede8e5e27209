"""Generalised meta federated learning: printed claims that hold, each with its argument and a check of it."""

from __future__ import annotations

import sympy as sp

from ...audit.findings import Evidence, confirm
from ...language.notation import slack_symbol
from ...proof.certificates import prove_nonnegative


def first_order_is_vacuous() -> Evidence:
    """The bias term alone is at least the largest value of the left side, so that the bound says nothing: |grad F| is at most
    (1 + alpha L)^nu B, by the chain rule and Assumptions 1 and 2, for every hidden constant c >= 1."""
    from ...registry import get_theorem

    theorem = get_theorem("meta_fl.theorem_8_FO")
    printed, s = theorem.statement("printed"), theorem.notation.namespace()
    largest = s.B**2 * (1 + s.alpha * s.L) ** (2 * s.nu)
    difference = printed.expand(printed.term("bias").expr).xreplace({s.c: 1 + slack_symbol("hidden")}) - largest
    power, sums = slack_symbol("power"), slack_symbol("sums")
    for part in difference.atoms(sp.Function):
        difference = difference.xreplace({part: sums})
    difference = difference.subs((1 + s.alpha * s.L) ** s.nu, power)
    return confirm(prove_nonnegative(difference) is not None, difference=str(difference))


HOLDS = (("theorem_8_FO", "printed", first_order_is_vacuous),)
