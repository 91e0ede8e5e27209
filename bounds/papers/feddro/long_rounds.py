"""FedDRO: the jump of the models at a communication refutes the rates of Theorem 5.1, at the right start and for every B_g.

The bundles `long_rounds`: two clients, b = 1, h_1 = D x, h_2 = -D x, g_k(x; z) = u (B x + s z phi(x)) with z = +-1 independent,
f(y) = H(y/u) with H(y) = y^2/4 on |y| <= 1 and |y|/2 - 1/4 beyond, started at the minimiser x^0 = y^0 = 0, on the schedule
eta = sqrt(K/T) and beta = 4 B_g^4 L_f^2 eta = eta with T = 8 I^4. The unit u of the inner value is B_g; it changes no iterate. phi is x
on |x| <= 1/2; here is why no path leaves that, so that second moments close. Derivation of the limit: docs/theory/feddro.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction as Q
from typing import Any

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
