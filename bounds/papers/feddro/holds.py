"""FedDRO: printed claims that hold, each with its argument and a check of it."""

from __future__ import annotations

import sympy as sp

from ...audit.findings import Evidence, confirm
from ...proof.certificates import prove_nonnegative


def modified_fedavg() -> Evidence:
    """The corrected statement with eta = 1/(54 (L_Phi + B_f L_g) sqrt(T)): its conditions hold for I <= T^{1/4} and every T >= 1,
    and both of its terms tend to 0."""
    from ...registry import get_theorem

    theorem = get_theorem("feddro.theorem_4_2")
    corrected, s = theorem.statement("corrected"), theorem.notation.namespace()
    smooth = corrected.constant("L_Phi").symbol
    eta = 1 / (54 * (smooth + s.B_f * s.L_g) * sp.sqrt(s.T))
    longest = {s.eta: eta, s.I: s.T ** sp.Rational(1, 4)}
    horizon = sp.Symbol("horizon", positive=True)  # T as a real number, for the limits

    def at(expr: sp.Expr) -> sp.Expr:
        return expr.xreplace(longest).xreplace({s.T: horizon})

    sums = [sp.limit(at(term.expr), horizon, sp.oo) for term in corrected.terms]
    # eta I <= 1/(54 B_f L_g T^{1/4}) and eta <= 1/(54 L_Phi) are largest at T = 1
    rooms = [at(condition.slack).xreplace({horizon: sp.Integer(1)}) for condition in corrected.conditions]
    certified = all(prove_nonnegative(room) is not None for room in rooms)
    return confirm(all(value == 0 for value in sums) and certified, limits=[str(value) for value in sums])


HOLDS = (("theorem_4_2", "printed", modified_fedavg),)
