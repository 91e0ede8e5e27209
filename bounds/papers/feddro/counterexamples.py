"""FedDRO: printed claims refuted by exact instances (see `bounds/audit/refutation.py` for what an entry is)."""

from __future__ import annotations

from fractions import Fraction as Q
from math import sqrt
from typing import Any

from ...audit.picture import Picture, Slope
from ...audit.refutation import Case, declared_in, refutes
from ...evaluation.enclosure import ends


def _behind(slope: int, offset: int) -> Slope:
    """The derivative of sqrt(y^2 + 4) behind y = slope x + offset."""
    return lambda x: slope * (slope * x + offset) / sqrt((slope * x + offset) ** 2 + 4)


@refutes(
    "feddro.theorem_4_1",
    "feddro.varying_steps",
    reading="the step size may change within a round",
    alternatives={"one step size within each round": "not refuted"},
)
def varying_steps() -> Case:
    """The paper's own clients in case II with eta = 1/23 on the shared step and 2^-n/23 after it in round n: xbar falls
    below 1/2, the level that the proof says it keeps, and goes on to the stationary point 0."""
    from flint import arb, ctx

    level, rounds, rate = Q(1, 2), 120, Q(1, 23)
    saved, ctx.prec = ctx.prec, 400
    try:
        a = arb(1) / 23
        x = arb(1) / 2

        def pull(y: Any) -> Any:
            return y / (y * y + 4).sqrt()

        falls = []
        for n in range(1, rounds + 1):
            late = a / arb(2) ** n
            x_1, x_2 = x - 4 * a * pull(x), x + 2 * a * pull(x)
            x_1, x_2 = x_1 - 4 * late * pull(4 * x_1 - 4), x_2 + 2 * late * pull(4 - 2 * x_2)
            falls.append(bool((x_1 + x_2) / 2 < x))
            x = (x_1 + x_2) / 2
        right = ends(x).pair
    finally:
        ctx.prec = saved
    return Case(
        {
            "name": "the counterexample of Theorem 4.1, case II, two local steps",
            "parameters": {
                "slopes": [4, -2],
                "offsets": [-4, 4],
                "start": level,
                "rounds": rounds,
                "late_step_ratio": Q(1, 2),
            },
        },
        {"level": (level, "the proof's induction: xbar >= 1/2 at every communication")},
        {"eta": rate},
        level,
        {
            "every step size is below the printed C_eta = 1/22": rate < Q(1, 22),
            "xbar falls in the last hundred rounds": all(falls[-100:]),
            "the late steps still to come move xbar by less than 10^-30": 3 * rate / 2**rounds < Q(1, 10**30),
            # without late steps a round is x - eta s(x), a contraction to 0 on [0, 1/2]
            "what is left goes to 0: |x - eta s(x)| < |x|": rate < 1,
        },
        right=right,
        picture=Picture(
            (_behind(4, -4), _behind(-2, 4)),
            (-1, 4),
            {"start": level, "stationary point": 0},
            objective=_behind(1, 0),
        ),
        choice="'for any 0 < eta^t < C_eta for t = 0, ..., T-1' lets the step size change inside a round, as printed; with "
        "one step size per round the claim is certified (fedco counterexample)",
    )


REFUTATIONS = declared_in(globals())
