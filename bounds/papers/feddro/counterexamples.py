"""FedDRO: the claim that no bundle says (Theorem 4.1: the step sizes change within a round), and why the paths of other bundles stay.

The bundles `long_rounds`: two clients, b = 1, h_1 = D x, h_2 = -D x, g_k(x; z) = u (B x + s z phi(x)) with z = +-1 independent,
f(y) = H(y/u) with H(y) = y^2/4 on |y| <= 1 and |y|/2 - 1/4 beyond, started at the minimiser x^0 = y^0 = 0, on the schedule
eta = sqrt(K/T) and beta = 4 B_g^4 L_f^2 eta = eta with T = 8 I^4. The unit u of the inner value is B_g; it changes no iterate. phi is x
on |x| <= 1/2; here is why no path leaves that, so that second moments close. Derivation of the limit: docs/theory/feddro.md.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    reading="the claim for the clients of its proof, the step size changing within a round",
    alternatives={
        "the claim for the clients of its proof, one step size within each round": "not refuted",
        "that some clients are such, which need not be those of the proof": "not refuted",
    },
    evidence=True,
)
def varying_steps() -> Case:
    """The paper's own clients in case II with eta = 1/23 on the shared step and 2^-n/23 after it in round n: xbar falls
    below 1/2, the level that the proof says it keeps, and goes on to the stationary point 0.

    The theorem says that some clients exist: the instance speaks of the proof's clients only.
    """
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
        "one step size per round the claim is certified (fedco counterexample). What the instance refutes is the choice of "
        "clients in the proof, not that clients exist for which FedAvg does not converge",
    )


_ERROR = Q(2, 5)
"""c, the largest error of y in the unit of the inner value."""


def limits(I: int, B: Q, s: Q, drift: Q) -> dict[str, Q]:
    """Bounds that hold on every path: |x_k - xbar| <= spread, |y - B xbar| <= error, |xbar| <= mean, |y| <= estimate.

    With `error` = c, |xbar| <= c/B is kept, since xbar moves by eta/2 times a slope in [B - s, B + s] times -(B xbar + e),
    so that |y| <= 2c. A round moves a client by at most eta (I - 1)(D + s c) from the mean. The error forgets at the rate
    beta = eta; its noise s |x_k^t - (1 - beta) x_k^{t-1}| sums to s (D + (B + s) c + c/B + spread), and the jump
    s spread of each communication to s spread (1 + 1/(beta I)), as 1/(1 - (1 - beta)^I) <= 1 + 1/(beta I).
    """
    c, eta = _ERROR, Q(1, 2 * I**2)
    spread = eta * (I - 1) * (drift + s * c)
    sums = s * (drift + (B + s) * c + c / B + spread) + s * spread * (1 + 1 / (eta * I))
    return {"spread": spread, "error": c, "mean": c / B, "estimate": 2 * c, "error_reached": sums}


def stays(parameters: Mapping[str, Any], hyperparameters: Mapping[str, Any]) -> dict[str, bool]:
    """What shows that no path leaves the reach of a bundle, as a sentence -> whether it is true of its instance."""
    shape, reach = parameters["instance"]["parameters"], parameters["reach"]
    unit, I = Q(shape["knots"][0][1]), int(hyperparameters["I"])
    curve = Q(shape["slopes"][0][1]) * unit  # of H, for |y| <= 1
    noise = [Q(value) / unit for _, value in shape["value_noise"][0]["slope"]]
    B, s, drift = Q(shape["inner_slope"][0]) / unit, max(noise), Q(shape["extra_slopes"][0][0])
    at = limits(I, B, s, drift)
    twice = {name: shape[name] for name in ("inner_slope", "value_noise") if shape[name] != [shape[name][0]] * 2}
    level = reach["model"]
    return {
        "both clients have the noise and the inner map of which the limits speak, and drift apart": not twice
        and [row[0] for row in shape["extra_slopes"]] == [drift, -drift]
        and min(noise) == 0
        and shape["inner_offset"] == [0, 0]
        and s < B,
        "they start at the minimiser, with eta = beta = 1/(2 I^2) and H' of slope 1/2": shape["start"] == 0
        and shape["estimate"] == 0
        and hyperparameters["eta"] == hyperparameters["beta"] == Q(1, 2 * I**2)
        and curve == Q(1, 2),
        "the error of y stays below 2/5 on every path": at["error_reached"] <= at["error"],
        "then |x_k| stays within the reach of a model": at["mean"] + at["spread"] <= level,
        "and |y| within that of an inner value, as B x does": unit * at["estimate"] <= reach["inner_value"],
        "a step moves xbar towards -y/B without passing it": Q(1, 2 * I**2) * curve * (B + s) * B <= 1,
    }


REFUTATIONS = declared_in(globals())
