"""Acc-FCSG-M: printed claims refuted by exact instances (see `bounds/audit/refutation.py` for what an entry is)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from ...audit.instance import DRAWN, Clients, Curve, Law, X
from ...audit.picture import Picture
from ...audit.refutation import Case, declared_in, refutes
from ...evaluation.enclosure import ends
from ..fcsg import instances as lab
from ..fcsg.instances import Q, clip, proof_parameters, smoothness
from . import averaged_models
from . import moments as moments

THEOREM = "acc_fcsg_m.theorem_4_7"
C_READING = (
    "c is not defined in the theorem; c = 30 S_F^2/(b N), the only value in the paper, is used. F_gap is F(x_0) minus "
    "the infimum, at least the printed F(x_0) - F(xbar_T)"
)
_WHY = {
    "L_f": "|f'| of every sample: offset plus curvature times radius",
    "L_g": "g(x) = x for every sample",
    "S_f": "|f''| of every sample inside the radius, 0 outside",
    "S_g": "g is affine; the paper wants a positive bound",
    "sigma_g": "the inner function has no noise; the paper wants a positive bound",
    "F_gap": "the start is the minimiser of F",
}


def clipped(offsets: Sequence[int | Q], curvatures: Sequence[int | Q], radius: Q) -> Picture:
    """Clients with derivative offset + curvature clip(x, radius), started at the minimiser 0 of their mean."""
    slopes = tuple(lambda x, a=a, c=c: a + c * clip(x, radius) for a, c in zip(offsets, curvatures, strict=True))
    return Picture(slopes, (-3 * radius, 3 * radius), {"start, the minimiser": 0}, (-radius, radius))


def scalar_clients(groups: Sequence[Sequence[tuple[int | Q, int | Q]]], radius: Q) -> Clients:
    """Groups of clients behind g(x) = x, started at 0: (offset, curvature) of the derivative offset + curvature clip(y, radius) of each
    equally likely sample."""
    laws = [
        Law.fair(*(Curve.with_slope([(-radius, a - c * radius), (radius, a + c * radius)]) for a, c in group))
        for group in groups
    ]
    signs = "the moments are those of signs that are drawn afresh for every step, client and entry of a batch"
    reasons = {"not stated: domain": "the functions are defined on the whole line"}
    if any(len(group) > 1 for group in groups):
        reasons |= dict.fromkeys(DRAWN, signs)
    inner = tuple(Law.surely(Curve.whole(X)) for _ in laws)
    return Clients(Q(0), tuple(laws), inner, by_construction=reasons)


def scalar_constants(known: Mapping[str, Any], **why: str) -> dict[str, tuple[Any, str]]:
    """Certificates of the scalar family of `fcsg_instances`."""
    return {name: (value, {**_WHY, **why}[name]) for name, value in {**known, "F_gap": Q(0)}.items()}


@refutes(THEOREM, "acc_fcsg_m.lost_inner_lipschitz", variant="inner_lipschitz", slip="6 beta L_f^2 L_g^2/(N b)")
def lost_inner_lipschitz() -> Case:
    """One client, f = H_1(y) + xi y with xi = +-1 behind g = 1000 x, 40 steps: exact second moments."""
    L_g, T = 1000, 40
    known = {**lab.constants(2, L_g, 1), "S_g": Q(1, 2)}
    q, N, b, B = 2, 1, 10**4, 10**9
    alpha = 1 / (6 * q * smoothness(known))
    beta, step = 5 * smoothness(known) * alpha, alpha * L_g**2
    square, cross, error, total = Q(0), Q(0), Q(1, B), Q(0)  # E z^2, E z e, E e^2 of z = L_g x
    for _ in range(T):
        total += square
        square, cross = (
            (1 - step) ** 2 * square - 2 * step * (1 - step) * cross + step**2 * error,
            (1 - beta) * ((1 - step) * cross - step * error),
        )
        error = (1 - beta) ** 2 * error + beta**2 / b
    return Case(
        {"name": "one client, a steep inner map", "parameters": {"radius": 1, "noise": 1, "start": 0}},
        scalar_constants(
            known, L_f="|f'| <= 1 + 1 for every sample", L_g="g(x) = 1000 x", S_g="g is affine; any positive number"
        ),
        {"alpha": alpha, "beta": beta, "q": q, "m": 1, "b": b, "B": B, "N": N, "T": T},
        Q(L_g**2) * total / T,
        {"|L_g x| <= 1 for ever, as a mean of signs has size at most 1": 0 < step < 1 and 0 < beta < 1},
        picture=clipped((0,), (L_g**2,), Q(1, L_g)),
        choice=C_READING,
    )


_CURVED = {"h": Q(1), "mu": Q(17, 20), "s": Q(3, 20)}


def _floor(q: int, radius: Q, averaged: bool, rounds: int, B: int) -> tuple[Case, Any]:
    """The two clients of `acc_fcsg_m_moments` with the parameters of the proof, N = 2 and b = 1."""
    family = moments.Family(**_CURVED, R=radius)
    known = lab.constants(family.L_f, 1, family.S_f)
    alpha, beta, _ = proof_parameters(known, q, 1, 2)
    low, high = ends(moments.metric_sum(family, alpha, beta, q, rounds, averaged)).pair
    steps = q * rounds
    case = Case(
        {
            "name": "two clients with multiplicative noise",
            "parameters": {**_CURVED, "offsets": [1, -1], "radius": radius, "start": 0, "u_1_averaged": int(averaged)},
        },
        scalar_constants(known),
        {"alpha": alpha, "beta": beta, "q": q, "m": 1, "b": 1, "B": B, "N": 2, "T": steps},
        (low / steps, high / steps),
        {"every iterate stays where the moments are exact": moments.stays_inside(family, alpha, beta, q, averaged)},
        picture=clipped((1, -1), (_CURVED["mu"], _CURVED["mu"]), radius),
        choice=C_READING,
        clients=scalar_clients([[(a * family.h, family.mu + z * family.s) for z in (1, -1)] for a in (1, -1)], radius),
    )
    return case, alpha


@refutes(
    "acc_fcsg_m.corollary_4_8",
    "acc_fcsg_m.corollary_false",
    alternatives={"u_1 is averaged before the first step: the bundle averaged_start": "refuted"},
)
def corollary() -> Case:
    """Two clients with slopes +-1 + (17/20 + 3 xi/20) clip(y), the corollary's own schedule with rounds of 10^6."""
    q = 10**6
    case, alpha = _floor(q, Q(1), False, 4 * q * q, q)
    T = case.hyperparameters["T"]
    hyper = {name: case.hyperparameters[name] for name in ("m", "b", "N", "T")}
    S_F = smoothness({name: value for name, (value, _) in case.constants.items()})
    facts = {
        **case.facts,
        "T = q^3 N^2 and B = q": q**3 * 4 == T,
        "alpha = N^(2/3)/(12 S_F T^(1/3))": alpha == 1 / (12 * S_F * q),
    }
    parameters = {**case.problem["parameters"], "q": q}
    return Case(
        {**case.problem, "parameters": parameters},
        case.constants,
        hyper,
        case.left,
        facts,
        picture=case.picture,
        clients=case.clients,
        choice="the algorithm as printed: u_1 is not averaged before the first step",
    )


@refutes(
    "acc_fcsg_m.corollary_4_8",
    "acc_fcsg_m.corollary_false",
    variant="averaged_start",
    alternatives={"u_1 is not averaged, as line 2 of Algorithm 2 prints: the bundle without a suffix": "refuted"},
)
def corollary_averaged() -> Case:
    """The same with u_1 averaged once before the first step, rounds of 4*10^7."""
    q = 4 * 10**7
    case, alpha = _floor(q, Q(13, 25), True, 4 * q * q, q)
    hyper = {name: case.hyperparameters[name] for name in ("m", "b", "N", "T")}
    S_F = smoothness({name: value for name, (value, _) in case.constants.items()})
    facts = {**case.facts, "alpha on the schedule": alpha == 1 / (12 * S_F * q)}
    parameters = {**case.problem["parameters"], "q": q}
    return Case(
        {**case.problem, "parameters": parameters},
        case.constants,
        hyper,
        case.left,
        facts,
        picture=case.picture,
        clients=case.clients,
        choice="u_1 is averaged before the first step, which line 2 of Algorithm 2 does not say",
    )


@refutes(THEOREM, "acc_fcsg_m.communication_floor", variant="most_charitable", statement="composed")
def communication_floor() -> Case:
    """The same two clients with alpha, beta, c of the proof, u_1 averaged and L_g = 1: false for rounds of 4*10^7."""
    case, _ = _floor(4 * 10**7, Q(13, 25), True, 10**25, 1)
    return case


# --- lemmas ----------------------------------------------------------------------------------------------------------


def _of_lemma(known: Mapping[str, Any], *names: str, **why: str) -> dict[str, tuple[Any, str]]:
    return {name: pair for name, pair in scalar_constants(known, **why).items() if name in names}


@refutes("acc_fcsg_m.lemma_d_2", "acc_fcsg_m.communication_jump")
def communication_jump() -> Case:
    """Four clients with slopes +-1 + xi clip(y), the communication at t = q = 2, all signs of a step enumerated."""
    N, q, b, radius = 4, 2, 1, Q(1, 10)
    known = lab.constants(1 + radius, 1, 1)
    alpha, beta, _ = proof_parameters(known, q, b, N)
    offsets = (Q(1), Q(1), Q(-1), Q(-1))
    first = [-alpha * a for a in offsets]  # x_0 = 0, where there is no noise: u_1^n = a_n
    left = error_sq = Q(0)
    for signs in product((-1, 1), repeat=N):
        mean = sum((a + xi * x for a, xi, x in zip(offsets, signs, first, strict=True)), Q(0)) / N
        x_2 = -alpha * mean  # xbar_1 = 0
        fresh = sum(((x_2 - (1 - beta) * x) ** 2 for x in first), Q(0)) / N**2
        left += ((1 - beta) ** 2 * mean**2 + fresh) / 2**N
        error_sq += mean**2 / 2**N  # grad F = 0, so that the averaged estimate is its own error
    return Case(
        {
            "name": "four clients with noisy curvature",
            "parameters": {"offsets": list(offsets), "radius": radius, "start": 0},
        },
        _of_lemma(known, "L_f", "L_g", "S_f", "S_g"),
        {"alpha": alpha, "beta": beta, "q": q, "N": N, "b": b},
        left,
        {"every model stays inside the radius": max(map(abs, first)) <= radius},
        picture=clipped((1, -1), (0, 0), radius),
        clients=scalar_clients([[(a, 1), (a, -1)] for a in offsets], radius),
        observables={"error_sq": error_sq, "update_sq": error_sq, "dispersion_sq": 0},
        choice="u_t^n is the averaged estimate, as line 6 sets it, so its dispersion is 0",
    )


@refutes(
    "acc_fcsg_m.lemma_d_2",
    "acc_fcsg_m.lost_inner_lipschitz",
    variant="inner_lipschitz",
    slip="2 beta^2 L_f^2 L_g^2/(N b)",
)
def lemma_d_2_units() -> Case:
    """One client, f_xi(y) = xi y behind g = 10 x, away from a communication."""
    L_g, beta, B, q = Q(10), Q(1, 5), 4, 3
    known = lab.constants(1, L_g, lab.TINY)
    alpha = 1 / (12 * q * smoothness(known))
    start = L_g**2 / B
    return Case(
        {"name": "one linear client", "parameters": {"first_batch": B, "noise": 1}},
        _of_lemma(
            known,
            "L_f",
            "L_g",
            "S_f",
            "S_g",
            L_f="|f'| = |xi| = 1",
            L_g="g(x) = 10 x",
            S_f="f is linear; the paper wants a positive bound",
        ),
        {"alpha": alpha, "beta": beta, "q": q, "N": 1, "b": 1},
        (1 - beta) ** 2 * start + beta**2 * L_g**2,
        {"t = 1 is not a communication": q > 1},
        {"error_sq": start, "update_sq": start, "dispersion_sq": 0},
    )


@refutes("acc_fcsg_m.lemma_d_1", "acc_fcsg_m.lost_sum", slip="the sum over the clients")
def lost_sum() -> Case:
    """Three noiseless clients at 1, -1 and 0, the one client of the printed line being the third."""
    known, alpha, reach = lab.constants(10, 1, 1), Q(1, 100), Q(10)
    models = (Q(1), Q(-1), Q(0))
    ubar = lab.mean([clip(models[0], reach), Q(0), Q(0)])
    return Case(
        {"name": "three clients, one of them curved", "parameters": {"models": list(models), "radius": reach}},
        _of_lemma(known, "L_f", "L_g", "S_f", "S_g", "sigma_g"),
        {"alpha": alpha, "m": 1, "N": 3},
        lab.huber(-alpha * ubar, reach) / 3,
        {"xbar_t = 0, the minimiser": sum(models) == 0},
        {"gradient_sq": 0, "update_sq": ubar**2, "error_sq": 0, "client_deviation_sq": models[2] ** 2},
        picture=Picture(
            (lambda x: clip(x, reach), lambda x: Q(0), lambda x: Q(0)),
            (-3, 3),
            {f"model {k}": x for k, x in enumerate(models, start=1)},
        ),
        choice="the deviation is that of one client n: the printed line has no sum over the clients",
    )


REFUTATIONS = (*declared_in(globals()), *declared_in(vars(averaged_models)))
