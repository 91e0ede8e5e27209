"""FCSG-M: what only a reader finds. Every check is exact."""

from __future__ import annotations

from fractions import Fraction as Q
from itertools import product

import sympy as sp

from ...audit.exactly import admitted, value
from ...audit.findings import Evidence, confirm, read_findings
from ...audit.refuted import kept
from ...language.notation import slack_symbol
from ...proof.certificates import prove_nonnegative
from ...registry import get_theorem as find
from ..fcsg.counterexamples import constants, smoothness


def _at_most(smaller: sp.Expr, larger: sp.Expr, name: str) -> bool:
    """Certified for all q, N >= 1."""
    notation = find(name).notation
    counts = {notation[letter].symbol: 1 + slack_symbol(letter) for letter in ("q", "N")}
    return prove_nonnegative(larger - smaller, counts) is not None


def expected_smoothness() -> Evidence:
    """Display of Assumption 3.1 only: the window instance, q = 1, against the infimum."""
    _, (left, _), (_, right) = kept("fcsg_m.theorem_4_4.displayed_assumption")
    return confirm(left > right, left=float(left), right=float(right), ratio=float(left / right))


def heterogeneity() -> Evidence:
    """12 = 3 * 4 by Lemma A.2(d); 3 = 3 * 1 when Lemma A.1 bounds the spread by the second moment."""
    spread_below_moment = all(
        sum((v - Q(sum(t), len(t))) ** 2 for v in t) <= sum(v * v for v in t) for t in product(range(-2, 3), repeat=4)
    )
    known = find("fcsg_m.theorem_4_4")
    printed, composed, corrected = (
        known.statement(label).term("drift").expr for label in ("printed", "composed", "corrected")
    )
    q, N = (known.notation[name].symbol for name in ("q", "N"))
    ratio = sp.limit(sp.simplify(composed / printed), q, sp.oo)
    return confirm(
        spread_below_moment
        and sp.simplify(ratio - (13 + 1 / N) / (4 + 1 / N)) == 0
        and _at_most(corrected, printed, known.id),
        proved_over_printed_for_long_rounds=str(ratio),
        corrected_at_most_printed=True,
    )


def step_letter() -> Evidence:
    """With beta = 5 S_F alpha the averaged estimate can be dropped; with beta = S_F alpha it cannot."""
    known = constants(1, 1, 1)
    alpha = 1 / (6 * smoothness(known))
    values = {**known, "alpha": alpha, "q": 1}
    fits, fails = (
        admitted("fcsg_m.theorem_4_4", "composed", beta=factor * smoothness(known) * alpha, **values)
        for factor in (5, 1)
    )
    declared = {binding.name for binding in find("fcsg_m.theorem_4_4").notation}
    return confirm(fits and not fails and "eta" not in declared, beta_5_S_F_alpha=fits, beta_S_F_alpha=fails)


def corollary_drift() -> Evidence:
    """(96/5)/36 * 14 = 112/15 with 1 + 1/N <= 2; the corollary prints five times that."""
    from_proof, from_print = Q(96, 5) / 36 * 14, Q(96, 5) / 36 * 5
    known = constants(1, 1, 1)
    printed = 10**6 * value("fcsg_m.corollary_4_5", only="drift", **known, N=1, T=10**12)
    return confirm(
        printed == Q(112, 3) == 5 * from_proof and from_print == Q(8, 3),
        printed=str(printed),
        from_the_proved_theorem=str(from_proof),
        from_the_printed_theorem=str(from_print),
        corrected=str(10**6 * value("fcsg_m.corollary_4_5", "corrected", "drift", **known, N=1, T=10**12)),
    )


def first_block() -> Evidence:
    """Two halves with slopes +-1: u_1 has dispersion 1, (30) allows beta (13 + 1/N) L_f^2 L_g^2 at t = 1."""
    known, N, q, beta = constants(Q(101, 100), 1, 1), 100, 5, Q(1, 20)
    alpha = beta / (5 * smoothness(known))
    values = {**known, "alpha": alpha, "beta": beta, "q": q}
    left = Q(1)  # u_1 is 1 and -1, at the common start
    right = beta * (1 + Q(1, N) + 12) * known["L_f"] ** 2 * known["L_g"] ** 2
    lemma = find("fcsg_m.lemma_c_3")
    survives = _at_most(lemma.statement("corrected").total, lemma.statement("printed").total, lemma.id)
    fact = admitted("fcsg_m.theorem_4_4", **values) and left > right and survives
    return confirm(fact, dispersion_of_u_1=str(left), allowed_by_30=float(right), lemma_c_3_survives=survives)


def lost_clients() -> Evidence:
    """The mean of N B independent signs has variance 1/(N B); Theorem 4.4 keeps 8 L_f^2 L_g^2/(beta B T)."""
    N, B = 2, 3
    variance = sum(Q(sum(signs), N * B) ** 2 for signs in product((-1, 1), repeat=N * B)) / 2 ** (N * B)
    known = {**constants(1, 1, 1), "beta": Q(1, 2), "B": B, "T": 7}
    ratio = value("fcsg_m.theorem_4_4", only="start", **known) / value(
        "fcsg_m.theorem_4_4", "corrected", "start", N=N, **known
    )
    return confirm(variance == Q(1, N * B) and ratio == N, variance=str(variance), printed_over_corrected=str(ratio))


FINDINGS, SECOND_READING = read_findings(vars())
