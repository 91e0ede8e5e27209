"""The checks of the findings on Acc-FCSG-M that need more than one line: exact runs, exact second moments, and exact orders."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import sympy as sp

from ...audit.findings import Evidence, confirm
from ...cost.orders import Order, rates
from ...registry import get_theorem as find
from ..fcsg import instances as lab
from ..fcsg.instances import Q, admitted, clip, huber, proof_parameters, smoothness, value
from . import moments as moments

THEOREM, COROLLARY = "acc_fcsg_m.theorem_4_7", "acc_fcsg_m.corollary_4_8"
PROOF = "acc_fcsg_m.lemma_d_3"
"""The statement whose conditions are those of the proof of Theorem 4.7."""
CURVED = {"h": Q(1), "mu": Q(17, 20), "s": Q(3, 20)}


def _halves(radius: Q) -> tuple[lab.Slope, lab.Slope]:
    """Half of the clients y + H_R(y), the other half -y: F = H_R/2, minimised at 0."""
    return (lambda y: 1 + clip(y, radius)), (lambda y: Q(-1))


def printed_conditions() -> Evidence:
    """alpha = 1/(6 q S_F), beta = 5 S_F alpha, c = 30 S_F^2/(bN): 100 noiseless clients, start at the minimiser."""
    radius = Q(1, 2)
    known = lab.constants(1 + radius, 1, 1)
    q, T, N, b, B = 4, 40, 100, 10**5, 10**4
    alpha = 1 / (6 * q * smoothness(known))
    beta = 5 * smoothness(known) * alpha
    values = {**known, "alpha": alpha, "beta": beta, "q": q, "m": 1, "b": b, "B": B, "N": N, "T": T}
    shown = {}
    for averaged in (False, True):
        path = lab.run("acc_fcsg_m", _halves(radius), alpha, beta, q, T, Q(0), averaged)
        left = path.average(lambda x: clip(x, radius) / 2)
        rights = [value(THEOREM, F_gap=gap, **values) for gap in (-huber(path.means[-1], radius) / 2, Q(0))]
        if not left > max(rights):
            return confirm(False, averaged=averaged)
        name = "averaged_start" if averaged else "printed_start"
        shown[name] = f"left {float(left):.3e}, right {float(rights[0]):.3e}, with the infimum {float(rights[1]):.3e}"
    proof_beta = 30 * smoothness(known) ** 2 / (b * N) * alpha**2
    return confirm(admitted(THEOREM, F_gap=0, **values) and beta != proof_beta, **shown)


def lost_inner_lipschitz(T: int = 40) -> Evidence:
    """N = 1, f = H_1(y) + xi y, g = 1000 x, conditions as printed: exact second moments in z = L_g x.

    |z| <= 1 for ever, because the error of u/L_g is a mean of signs, of size at most 1.
    """
    L_g = 1000
    known = {**lab.constants(2, L_g, 1), "S_g": Q(1, 2)}
    q, N, b, B = 2, 1, 10**4, 10**9
    alpha = 1 / (6 * q * smoothness(known))
    beta, step = 5 * smoothness(known) * alpha, alpha * L_g**2
    values = {**known, "alpha": alpha, "beta": beta, "q": q, "m": 1, "b": b, "B": B, "N": N, "T": T}
    square, cross, error, total = Q(0), Q(0), Q(1, B), Q(0)  # E z^2, E z e, E e^2
    for _ in range(T):
        total += square
        square, cross = (
            (1 - step) ** 2 * square - 2 * step * (1 - step) * cross + step**2 * error,
            (1 - beta) * ((1 - step) * cross - step * error),
        )
        error = (1 - beta) ** 2 * error + beta**2 / b
    left = L_g**2 * total / T
    path, infimum = (value(THEOREM, F_gap=gap, **values) for gap in (-square / 2, Q(0)))
    last = value(THEOREM, only="variance", **values)
    restored = path + (L_g**2 - 1) * last
    fact = 0 < step < 1 and 0 < beta < 1 and admitted(THEOREM, F_gap=0, **values)
    return confirm(
        fact and left > infimum >= path and left <= restored,
        left=float(left),
        right=float(path),
        with_the_infimum=float(infimum),
        with_L_g_squared=float(restored),
        lemma_d_2=dict(_lemma_d_2_units()),
    )


def _lemma_d_2_units() -> Evidence:
    """N = b = 1, q = 3, t = 1, f_xi(y) = xi y, g = 10 x: Lemma D.2 away from a communication."""
    L_g, beta, B, q = Q(10), Q(1, 5), 4, 3
    known = {**lab.constants(1, L_g, lab.TINY)}
    alpha = 1 / (12 * q * smoothness(known))
    start = L_g**2 / B  # grad F = 0, so u_1 = e_1 = L_g times a mean of signs
    left = (1 - beta) ** 2 * start + beta**2 * L_g**2
    values = {**known, "alpha": alpha, "beta": beta, "q": q, "N": 1, "b": 1, "error_sq": start, "update_sq": start}
    right = value("acc_fcsg_m.lemma_d_2", **values, dispersion_sq=0)
    restored = right + 2 * beta**2 * known["L_f"] ** 2 * (L_g**2 - 1)
    return confirm(right < left <= restored, left=float(left), right=float(right), with_L_g_squared=float(restored))


def communication_jump() -> Evidence:
    """Lemma D.2 at t = q = 2: four clients with slopes +-1 + xi clip(y), all signs of step 1 enumerated.

    u_t^n is the averaged estimate, as line 6 sets it, so the dispersion of the lemma is 0.
    """
    N, q, b, radius = 4, 2, 1, Q(1, 10)
    known = lab.constants(1 + radius, 1, 1)
    alpha, beta, _ = proof_parameters(known, q, b, N)
    offsets = (Q(1), Q(1), Q(-1), Q(-1))
    first = [-alpha * a for a in offsets]  # x_0 = 0, where there is no noise: u_1^n = a_n
    left = error_sq = update_sq = Q(0)
    for signs in product((-1, 1), repeat=N):
        mean = sum((a + xi * x for a, xi, x in zip(offsets, signs, first, strict=True)), Q(0)) / N
        x_2 = -alpha * mean  # xbar_1 = 0
        fresh = sum(((x_2 - (1 - beta) * x) ** 2 for x in first), Q(0)) / N**2
        left += ((1 - beta) ** 2 * mean**2 + fresh) / 2**N
        error_sq += mean**2 / 2**N
        update_sq += mean**2 / 2**N
    values = {**known, "alpha": alpha, "beta": beta, "q": q, "N": N, "b": b, "dispersion_sq": 0}
    values |= {"error_sq": error_sq, "update_sq": update_sq}
    right = value("acc_fcsg_m.lemma_d_2", **values)
    spread = lab.mean([x**2 for x in first])
    repaired = value("acc_fcsg_m.lemma_d_2", "corrected", **values, previous_consensus=spread)
    fact = max(map(abs, first)) <= radius and right < left <= repaired
    return confirm(fact, left=float(left), right=float(right), corrected=float(repaired))


def first_local_step() -> Evidence:
    """(45) at t = q = 2, noiseless, b = 10^6: u_3 is more dispersed than its right-hand side, whose D_2 is 0."""
    radius, q, N, b = Q(1, 2), 2, 2, 10**6
    known = lab.constants(1 + radius, 1, 1)
    alpha, beta, c = proof_parameters(known, q, b, N)
    slopes = [(lambda y: 1 + clip(y, radius)), (lambda y: -1 + clip(y, radius))]
    path = lab.run("acc_fcsg_m", slopes, alpha, beta, q, 3, Q(0))
    left = N * lab.dispersion(path.fresh[2])
    S, noise = smoothness(known), known["L_f"] ** 2 * known["L_g"] ** 2
    right = Q(2) * N * S / 3 * alpha * path.used[2][0] ** 2 + Q(26) * N * noise * c**2 / (3 * S) * alpha**3
    return confirm(left > right, left=float(left), right=float(right))


def first_block() -> Evidence:
    """Parameters of the proof, noiseless, start at the minimiser: u_1 averaged or not, against F(xbar_T) and F_*."""
    radius, found = Q(1, 10), {}
    for N, q, b, B, infimum in ((100, 20, 1, 10**10, False), (2, 40, 10**4, 10**16, True)):
        known = lab.constants(1 + radius, 1, 1)
        alpha, beta, _ = proof_parameters(known, q, b, N)
        values = {**known, "alpha": alpha, "beta": beta, "q": q, "m": 1, "b": b, "B": B, "N": N, "T": q}
        for averaged in (False, True):
            path = lab.run("acc_fcsg_m", _halves(radius), alpha, beta, q, q, Q(0), averaged)
            left = path.average(lambda x: clip(x, radius) / 2)
            gap = Q(0) if infimum else -huber(path.means[-1], radius) / 2
            right = value(THEOREM, F_gap=gap, **values)
            repaired = value(THEOREM, "corrected", F_gap=gap, **values)
            found[infimum, averaged] = left, right, repaired, _dispersion_lemma(path, values)
    raw, weak, averaged_run = found[False, False], found[True, False], found[False, True]
    fact = (
        raw[1] < 0 < raw[0] <= raw[2]
        and weak[1] < weak[0] <= weak[2]
        and averaged_run[0] <= averaged_run[1]
        and raw[3] == (False, True)
        and averaged_run[3] == (True, True)
    )
    return confirm(
        fact,
        left=float(raw[0]),
        right=float(raw[1]),
        left_with_the_infimum=float(weak[0]),
        right_with_the_infimum=float(weak[1]),
        corrected=float(raw[2]),
        with_u_1_averaged=f"left {float(averaged_run[0]):.3e}, right {float(averaged_run[1]):.3e}",
    )


def _dispersion_lemma(path: lab.Run, values: dict[str, Any]) -> tuple[bool, bool]:
    """Whether (46) and the corrected Lemma D.3 hold on a run over T steps."""
    T = values["T"]
    known = {k: v for k, v in values.items() if k in ("L_f", "L_g", "S_f", "S_g", "alpha", "beta", "q", "b", "N")}
    spread = sum((lab.dispersion(u) for u in path.used[1:]), Q(0)) / T
    known["update_sq"] = sum((lab.mean(u) ** 2 for u in path.used[1:]), Q(0)) / T
    composed = value("acc_fcsg_m.lemma_d_3", "composed", **{k: v for k, v in known.items() if k not in ("q", "beta")})
    corrected = value(
        "acc_fcsg_m.lemma_d_3", "corrected", **{k: v for k, v in known.items() if k not in ("b", "N")}, T=T
    )
    return spread <= composed, spread <= corrected


# --- the floor that communications leave ----------


def _floor(q: int, radius: Q, averaged: bool, rounds: int, b: int = 1, B: int = 1) -> tuple[dict[str, Any], Any]:
    """Values of the theorem with the parameters of the proof, N = 2, and the left-hand side over q * rounds steps."""
    family = moments.Family(**CURVED, R=radius)
    known = lab.constants(family.L_f, 1, family.S_f)
    alpha, beta, _ = proof_parameters(known, q, b, 2)
    if not moments.stays_inside(family, alpha, beta, q, averaged):
        raise AssertionError("the iterates may leave the region where the moments are exact")
    left = moments.metric_sum(family, alpha, beta, q, rounds, averaged) / (q * rounds)
    values = {**known, "F_gap": 0, "alpha": alpha, "beta": beta, "q": q, "m": 1, "b": b, "B": B, "N": 2}
    return {**values, "T": q * rounds}, left


def communication_floor() -> Evidence:
    """Theorem 4.7 with everything repaired that can be read into it: false at q = 4*10^7, true at q = 10^6."""
    values, left = _floor(4 * 10**7, Q(13, 25), True, 10**25)
    right = moments.ball(value(THEOREM, **values))
    control, control_left = _floor(10**6, Q(13, 25), True, 10**25)
    fact = (
        admitted(PROOF, **{k: v for k, v in values.items() if k in _CONDITION_SYMBOLS})
        and bool(left > right)
        and bool(control_left < moments.ball(value(THEOREM, **control)))
    )
    return confirm(fact, left=float(left.mid()), right=float(right.mid()), ratio=float((left / right).mid()))


_CONDITION_SYMBOLS = ("L_f", "L_g", "S_f", "S_g", "alpha", "beta", "q", "b", "N")


def corollary_false() -> Evidence:
    """Corollary 4.8 on its own schedule T = q^3 N^2, B = q, N = 2, b = 1, start at the minimiser.

    Printed algorithm: violated at q = 10^6. With u_1 averaged: violated at q = 4*10^7, and the left-hand side times
    (NT)^(2/3) grows linearly in q, so that no constant saves the rate.
    """

    def side(q: int, radius: Q, averaged: bool) -> tuple[Any, Q, Any]:
        values, left = _floor(q, radius, averaged, 4 * q * q, B=q)
        schedule = {k: v for k, v in values.items() if k not in ("alpha", "beta", "q", "B")}
        return left, value(COROLLARY, **schedule), left * (2 * q) ** 2

    printed, averaged = side(10**6, Q(1), False), side(4 * 10**7, Q(13, 25), True)
    decades = [side(10**e, Q(13, 25), True)[2] for e in (5, 6, 7)]
    growth = [later / earlier for earlier, later in pairwise(decades)]
    fact = all(bool(left > moments.ball(right)) for left, right, _ in (printed, averaged))
    return confirm(
        fact and all(bool(g > 9.9) for g in growth),
        as_printed=f"left {float(printed[0].mid()):.3e}, right {float(printed[1]):.3e}",
        u_1_averaged=f"left {float(averaged[0].mid()):.3e}, right {float(averaged[1]):.3e}",
        growth_per_decade_of_q=[round(float(g.mid()), 3) for g in growth],
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
