"""ComFedL: printed claims that hold, each with its argument and a check of it."""

from __future__ import annotations

import sympy as sp

from ...audit.checks import compare_expressions
from ...audit.findings import Evidence, confirm
from ...language.notation import slack_symbol
from ...proof.certificates import prove_nonnegative


def theorem_2() -> Evidence:
    """Term by term at least the corrected statement; for the drift of the estimator by squares, with (a + b)^2 <= 2 (a^2 + b^2)
    for a = G_f^2 L_g and b = G_g L_f."""
    from ...registry import get_theorem

    theorem = get_theorem("comfedl.theorem_2")
    printed, corrected = theorem.statement("printed"), theorem.statement("corrected")
    s = theorem.notation.namespace()

    def sides(name: str) -> tuple[sp.Expr, sp.Expr]:
        return printed.expand(printed.term(name).expr), corrected.expand(corrected.term(name).expr)

    others = [term.name for term in corrected.terms if term.name != "estimator_drift"]
    compared = {name: compare_expressions(*sides(name))[0] for name in others}
    left, right = sides("estimator_drift")
    a, b, common = s.G_f**2 * s.L_g, s.G_g * s.L_f, (s.G_f**2 * s.G_g**2 * s.eta) ** 2
    weight = 4 * s.tau**2 - (s.tau - 1) ** 2 / 2
    squares = common * (weight * (a**2 + b**2) + (s.tau - 1) ** 2 * (a - b) ** 2 / 4)
    identity = sp.expand(left**2 - right**2 - squares) == 0
    longer = prove_nonnegative(weight, {s.tau: 1 + slack_symbol("more")}) is not None
    known = set(compared.values()) <= {"equal", "larger"} and printed.conditions == corrected.conditions
    return confirm(known and identity and longer, terms=compared)


HOLDS = (("theorem_2", "printed", theorem_2),)
