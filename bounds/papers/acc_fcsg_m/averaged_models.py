"""Acc-FCSG-M with x_{t-1} averaged as well as x_t at a communication: the claim fails under this reading too.

Two noiseless clients, f_1' = 1 + clip(y, 1/2) and f_2' = -1 behind g(x) = x, started at the minimiser 0 of F' = clip(x, 1/2)/2.
Within a round the first client's slope falls with its model; the averaged estimate keeps what the models lose when they are
averaged, and forgets it at the rate beta = c alpha^2 only. Iterated in ball arithmetic.
"""

from __future__ import annotations

from typing import Any

from ...audit.picture import Picture
from ...audit.refutation import Case, refutes
from ...evaluation.enclosure import ends
from ..fcsg import instances as lab
from ..fcsg.instances import Q, proof_parameters

RADIUS = Q(1, 2)
_BITS = 320
"""The balls of the two errors grow by a factor of 2 or 3 in each round: some 130 bits for 60 rounds."""


def run(q: int, T: int, alpha: Q, beta: Q, averaged: bool) -> tuple[Any, bool]:
    """(Ball of the mean of |F'(xbar_t)|^2 over t < T, whether every model stayed within the radius).

    Args:
        averaged: u_1 is averaged before the first step.
    """
    from flint import arb, ctx, fmpq

    saved, ctx.prec = ctx.prec, _BITS
    try:
        a, kept, half = (arb(fmpq(v.numerator, v.denominator)) for v in (alpha, 1 - beta, RADIUS))
        x, y = arb(0), arb(0)  # the models of both clients
        e, d = (
            (arb(-1), arb(1)) if averaged else (arb(0), arb(0))
        )  # u_1 - (1 + x_1) and u_2 + 1: errors of the estimates
        total, inside = arb(0), True
        for t in range(1, T + 1):
            total += (x + y) * (x + y) / 16
            if t % q == 0:
                mean, shared = (x + y) / 2, (x + e + d) / 2
                e, d = kept * (shared - 1 - mean), kept * (shared + 1)
                x = y = mean - a * shared
            else:
                x, y = (1 - a) * x - a * (1 + e), y + a * (1 - d)
                e, d = kept * e, kept * d
            inside = inside and bool(abs(x) <= half)
        return total / T, inside
    finally:
        ctx.prec = saved


@refutes(
    "acc_fcsg_m.theorem_4_7",
    "acc_fcsg_m.communication_floor",
    reading="x_{t-1} is averaged with x_t at a communication",
    alternatives={
        "x_{t-1} is each client's own at a communication, as printed: the bundle most_charitable": "refuted",
        "u_1 is averaged before the first step, on this instance": "undecided",
    },
    variant="averaged_models",
    statement="composed",
)
def averaged_models() -> Case:
    """Two noiseless clients with slopes 1 + clip(y, 1/2) and -1, rounds of 200, x_{t-1} averaged with x_t."""
    q, rounds = 200, 60
    known = lab.constants(1 + RADIUS, 1, 1)
    alpha, beta, _ = proof_parameters(known, q, 1, 2)
    left, inside = run(q, q * rounds, alpha, beta, averaged=False)
    return Case(
        {
            "name": "two noiseless clients, one of them curved",
            "parameters": {"offsets": [1, -1], "curvatures": [1, 0], "radius": RADIUS, "start": 0, "u_1_averaged": 0},
        },
        {
            "L_f": (known["L_f"], "|f_1'| <= 1 + 1/2 and |f_2'| = 1"),
            "L_g": (known["L_g"], "g(x) = x"),
            "S_f": (known["S_f"], "f_1'' is 1 inside the radius and 0 outside"),
            "S_g": (known["S_g"], "g is affine; the paper wants a positive bound"),
            "sigma_g": (known["sigma_g"], "the inner function has no noise; the paper wants a positive bound"),
            "F_gap": (Q(0), "the start is the minimiser of F"),
        },
        {"alpha": alpha, "beta": beta, "q": q, "m": 1, "b": 1, "B": 10**9, "N": 2, "T": q * rounds},
        ends(left).pair,
        {
            "the curved client stays within the radius, at every step": inside,
        },
        picture=Picture(
            (lambda x: 1 + lab.clip(x, RADIUS), lambda x: Q(-1)),
            (-2, 2),
            {"start, the minimiser": 0},
            (-RADIUS, RADIUS),
        ),
        choice="x_{t-1} is averaged with x_t at a communication; c = 30 S_F^2/(b N), alpha = 1/(12 q S_F), beta = c alpha^2 as in "
        "the proof; u_1 is not averaged before the first step, as line 2 of Algorithm 2 prints",
    )
