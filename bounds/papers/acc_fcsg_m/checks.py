"""Acc-FCSG-M: what only a reader finds. Every check is exact; runs are read off the bundles in `refutations/`."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction as Q
from typing import Any

import sympy as sp

from ...audit.exactly import admitted, huber, value
from ...audit.findings import Evidence, confirm, read_findings
from ...audit.refuted import kept
from ...cost.orders import Order, rates
from ...registry import get_theorem as find
from ..fcsg.counterexamples import TINY, WIDTH, constants, smoothness, windows

THEOREM, COROLLARY = "acc_fcsg_m.theorem_4_7", "acc_fcsg_m.corollary_4_8"
PROOF = "acc_fcsg_m.lemma_d_3"
"""The statement whose conditions are those of the proof of Theorem 4.7."""


def proof_parameters(known: Mapping[str, Any], q: int, b: int, N: int) -> tuple[Q, Q, Q]:
    """(alpha, beta, c) of the proof of Theorem 4.7: alpha = 1/(12 q S_F), beta = c alpha^2, c = 30 S_F^2/(bN)."""
    size = smoothness(known)
    alpha, c = 1 / (12 * q * size), 30 * size**2 / (b * N)
    return alpha, c * alpha**2, c


def _shown(name: str) -> tuple[bool, str]:
    """Whether a kept run exceeds the bound, and both sides in words."""
    _, (left, _), (_, right) = kept(name)
    return left > right, f"left {float(left):.3e}, right {float(right):.3e}"


def printed_conditions() -> Evidence:
    """alpha = 1/(6 q S_F), beta = 5 S_F alpha, c = 30 S_F^2/(bN): 100 noiseless clients, start at the minimiser, against the infimum."""
    found = {"printed_start": _shown(THEOREM), "averaged_start": _shown(f"{THEOREM}.averaged_start")}
    values = kept(THEOREM).case.values
    _, proof_beta, _ = proof_parameters(values, 2, values["b"], values["N"])  # alpha = 1/(24 S_F), as here with q = 4
    is_other = values["alpha"] == 1 / (24 * smoothness(values)) and values["beta"] != proof_beta
    return confirm(
        is_other and all(good for good, _ in found.values()), **{name: text for name, (_, text) in found.items()}
    )


def lost_inner_lipschitz() -> Evidence:
    """N = 1, f = H_1(y) + xi y, g = 1000 x, conditions as printed; and Lemma D.2 for f = xi y, g = 10 x."""
    case, (left, _), (_, right) = kept(f"{THEOREM}.inner_lipschitz")
    more = case.values["L_g"] ** 2 - 1
    restored = right + more * value(THEOREM, only="variance", **case.values)
    lemma, (of_lemma, _), (_, printed) = kept("acc_fcsg_m.lemma_d_2.inner_lipschitz")
    beta, L_f, L_g = (lemma.values[name] for name in ("beta", "L_f", "L_g"))
    repaired = printed + 2 * beta**2 * L_f**2 * (L_g**2 - 1)
    return confirm(
        right < left <= restored and printed < of_lemma <= repaired,
        left=float(left),
        right=float(right),
        with_L_g_squared=float(restored),
        lemma_d_2={"left": float(of_lemma), "right": float(printed), "with_L_g_squared": float(repaired)},
    )


def communication_jump() -> Evidence:
    """Lemma D.2 at t = q = 2: four clients with slopes +-1 + xi clip(y), over all signs.

    u_t^n is the averaged estimate, as the server sets it at a communication, so the dispersion of the lemma is 0. After a step from 0
    the models are +-alpha.
    """
    case, (left, _), (_, right) = kept("acc_fcsg_m.lemma_d_2")
    repaired = value("acc_fcsg_m.lemma_d_2", "corrected", **case.values, previous_consensus=case.values["alpha"] ** 2)
    return confirm(right < left <= repaired, left=float(left), right=float(right), corrected=float(repaired))


def first_local_step() -> Evidence:
    """(45) at t = q = 2, noiseless, b = 10^6, slopes +-1 + clip(y, 1/2): u_3 is more dispersed than its right-hand side, whose D_2 is 0.

    x_1 = -+alpha, so that u_2 = +-(1 - alpha); both are averaged to 0, and u_3 = +-(1 - (1 - beta)(1 - alpha)).
    """
    N, b = 2, 10**6
    known = constants(Q(3, 2), 1, 1)
    alpha, beta, c = proof_parameters(known, 2, b, N)
    left = N * (alpha + beta - alpha * beta) ** 2
    right = Q(26) * N * known["L_f"] ** 2 * known["L_g"] ** 2 * c**2 / (3 * smoothness(known)) * alpha**3
    return confirm(left > right and alpha < Q(1, 2), left=float(left), right=float(right))


def first_block() -> Evidence:
    """Parameters of the proof, one noiseless round from the minimiser with slopes 1 + clip(y, 1/10) and -1, against F(xbar_T) and F_*.

    Each client moves by its own gradient: x_t^1 = (1 - alpha)^t - 1 and x_t^2 = alpha t, and F' = clip(x, 1/10)/2.
    """
    radius, found = Q(1, 10), []
    for N, q, b, B, infimum in ((100, 20, 1, 10**10, False), (2, 40, 10**4, 10**16, True)):
        known = constants(1 + radius, 1, 1)
        alpha, beta, _ = proof_parameters(known, q, b, N)
        means = [((1 - alpha) ** t - 1 + alpha * t) / 2 for t in range(q + 1)]
        left = sum((x / 2) ** 2 for x in means[:q]) / q
        gap = Q(0) if infimum else -huber(means[-1], radius) / 2
        values = {**known, "alpha": alpha, "beta": beta, "q": q, "m": 1, "b": b, "B": B, "N": N, "T": q, "F_gap": gap}
        inside = alpha * q <= radius and admitted(PROOF, **{k: values[k] for k in _OF_PROOF})
        found.append((inside, value(THEOREM, **values), left, value(THEOREM, "corrected", **values)))
    (raw_inside, raw, left, corrected), (weak_inside, weak, weak_left, weak_corrected) = found
    _, (spread, _), (_, printed) = kept(PROOF)
    fact = raw_inside and weak_inside and raw < 0 < left <= corrected and weak < weak_left <= weak_corrected
    return confirm(
        fact and spread > printed,
        left=float(left),
        right=float(raw),
        left_with_the_infimum=float(weak_left),
        right_with_the_infimum=float(weak),
        corrected=float(corrected),
        lemma_d_3=f"left {float(spread):.3e}, right {float(printed):.3e}",
    )


_OF_PROOF = ("L_f", "L_g", "S_f", "S_g", "alpha", "beta", "q", "b", "N")


# --- the floor that communications leave ----------


def communication_floor() -> Evidence:
    """Theorem 4.7 with everything repaired that can be read into it: false at q = 4*10^7."""
    case, (left, _), (_, right) = kept(f"{THEOREM}.most_charitable")
    fact = left > right and admitted(PROOF, **{name: case.values[name] for name in _OF_PROOF})
    return confirm(fact, left=float(left), right=float(right), ratio=float(left / right))


def corollary_false() -> Evidence:
    """Corollary 4.8 on its own schedule T = q^3 N^2, B = q, N = 2, b = 1, start at the minimiser.

    Printed algorithm: violated at q = 10^6. With u_1 averaged: violated at q = 4*10^7, and ten times as much with rounds ten times as
    long, so that no constant saves the rate.
    """
    variants = {"as_printed": "", "u_1_averaged": ".averaged_start", "ten_times_as_long": ".longer_rounds"}
    found = {name: _shown(COROLLARY + variant) for name, variant in variants.items()}
    short, long = (kept(f"{COROLLARY}.{name}") for name in ("averaged_start", "longer_rounds"))
    rate = (Q(long.case.values["T"]) / short.case.values["T"]) ** 2  # (NT)^(2/3), cubed
    growth = rate * (long.left[0] / short.left[1]) ** 3
    return confirm(
        all(good for good, _ in found.values()) and growth > Q(99, 10) ** 3,
        **{name: text for name, (_, text) in found.items()},
        growth_per_decade_of_q=round(float(growth) ** (1 / 3), 3),
    )


def complexity() -> Evidence:
    """The largest period of the corrected corollary at T = eps^-3/N, and a schedule that reaches eps^-2 rounds."""
    N, eps = sp.symbols("N epsilon", positive=True)

    def simple(expr: sp.Expr) -> sp.Expr:
        return sp.simplify(sp.powdenest(sp.expand_power_base(expr, force=True), force=True))

    T = eps**-3 / N
    rounds = simple(T / (9 ** sp.Rational(2, 3) * (T / N**2) ** sp.Rational(2, 9)))
    exponents = simple(rounds * 9 ** sp.Rational(2, 3) * N ** sp.Rational(1, 3) * eps ** sp.Rational(7, 3)) == 1
    steps, batch, alpha = eps**-2, 1 / (N * eps), sp.Rational(1, 12)
    beta = 30 * alpha**2 / (batch * N)
    terms = [1 / (alpha * steps), 1 / (beta * batch * N * steps), alpha**2 / (batch * N) ** 2, beta / (N * batch)]
    large_batches = all(simple(term / eps**2).is_number for term in terms)
    return confirm(
        bool(exponents and large_batches), rounds_with_constant_batch=str(rounds), with_b_1_over_N_eps="eps^-2"
    )


def printed_rate() -> Evidence:
    """Least samples that Theorem 4.7 allows with its printed momentum, and with that of the proof; metric <= eps^2."""
    found = {label: rates(find(THEOREM).statement(label)).costs["samples"] for label in ("printed", "composed")}
    plain = rates(find("fcsg.theorem_4_1").statement("printed")).costs["samples"]
    return confirm(
        found["printed"] == Order(Q(3), Q(-1)) == plain and found["composed"] == Order(Q(5, 2), Q(-1)),
        printed=f"samples ~ {found['printed']} for metric <= eps, that is eps^-6",
        composed=f"samples ~ {found['composed']}, that is eps^-5",
        fcsg=f"samples ~ {plain} without acceleration",
    )


def expected_smoothness() -> Evidence:
    """Display of Assumption 3.1 only: the window instance against the infimum, printed and proof parameters.

    q = 1 and there is no noise, so that u is the gradient: descent jumps between 1 +- alpha w/2 for ever, where it is +-w if alpha >= 2.
    """
    known, q, N, b, B, T = windows(100), 1, 10, 1000, 10**9, 100
    ratios = {}
    for rule, owner in (("printed", THEOREM), ("proof", PROOF)):
        alpha, beta, _ = proof_parameters(known, q, b, N)
        if rule == "printed":
            alpha = 1 / (6 * q * smoothness(known))
            beta = 5 * smoothness(known) * alpha
        gap = WIDTH * alpha * WIDTH / 2 - WIDTH**2 / 2  # phi at the start
        at = {"F_gap": gap, "alpha": alpha, "beta": beta, "q": q, "m": 1, "b": b, "B": B, "N": N}
        values = {**known, **at, "T": T}
        extra = (known["L_g"] ** 2 - 1) * value(THEOREM, only="variance", **values)
        ratios[rule] = WIDTH**2 / (value(THEOREM, **values) + extra)
        if alpha < 2 or not admitted(owner, **values):
            return confirm(False, reason="a condition fails", rule=rule)
    return confirm(all(r > 1 for r in ratios.values()), **{f"ratio_{rule}": float(r) for rule, r in ratios.items()})


def mean_square_smoothness() -> Evidence:
    """f S_f-smooth for every sample, g = r x/sqrt(p) with r ~ Bernoulli(p): (11) holds, its square does not."""
    p, S_f, distance = Q(1, 100), Q(1), Q(1)
    L_g_sq = p / p
    first = p * (S_f / p) * distance
    second = p * (S_f / p) ** 2 * distance**2
    S_F = S_f * L_g_sq + TINY
    return confirm(first <= S_F * distance and second > (S_F * distance) ** 2, first=str(first), second=str(second))


def lemma_d_3_left_over() -> Evidence:
    """Divided by the factor on the left: (38) is 3/5 and 9/5, (46) is 20/101 and 260/101."""
    printed = tuple(Q(*pair) / Q(15, 72) for pair in ((1, 8), (3, 8)))
    proof_end = tuple(Q(*pair) / Q(101, 240) for pair in ((1, 12), (13, 12)))
    lemma = find("acc_fcsg_m.lemma_d_3").notation
    at = {**constants(1, 1, 1), "alpha": 1, "b": 1, "N": 1}
    del at["sigma_g"]
    declared = tuple(
        value("acc_fcsg_m.lemma_d_3", label, "direction", update_sq=1, **at) for label in ("printed", "composed")
    )
    return confirm(
        lemma.paper == "acc_fcsg_m"
        and declared == (printed[0], proof_end[0])
        and printed[0] > proof_end[0]
        and printed[1] < proof_end[1],
        printed=[str(v) for v in printed],
        end_of_the_proof=[str(v) for v in proof_end],
    )


def lost_sum() -> Evidence:
    """Three noiseless clients at 0 and -+9 alpha, n = 1: false with one client's deviation, true with the sum."""
    case, (left, _), (_, printed) = kept("acc_fcsg_m.lemma_d_1")
    spread = 2 * (9 * case.values["alpha"]) ** 2 / 3
    with_sum = value("acc_fcsg_m.lemma_d_1", "corrected", **case.values, consensus_error=spread)
    return confirm(printed < left <= with_sum, left=float(left), printed=float(printed), with_the_sum=float(with_sum))


FINDINGS, SECOND_READING = read_findings(vars())
