"""FCSG and FCSG-M under the displayed Assumption 3.1: an instance with thousands of outcomes, which no bundle can list.

`count` equally likely xi: f_i(y) = phi(y/c_i), g(x, i) = c_i x, c_i = 1 + 3 w i with phi' = clip(y - 1, w). Every stochastic gradient is
phi'(x): no noise at all. At a fixed y the windows |y/c_i - 1| <= w, where f_i is curved, are disjoint, so that
E|f'(y_1) - f'(y_2)| <= |y_1 - y_2|/count while F'' = 1. Under the words before the display, each f_xi smooth for every xi, no instance
is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction as Q
from typing import Any

from ...audit.exactly import clip, huber
from ...audit.picture import Picture
from ...audit.refutation import Case, declared_in, refutes

TINY = Q(1, 10**9)
WIDTH = Q(1, 10**9)
READING = "the displayed formula of Assumption 3.1 alone"
SAVED = {"every sample has the Lipschitz constants, as the lemmas use": "not refuted"}
DISPLAY = (
    "E||grad f_xi(y_1) - grad f_xi(y_2)|| <= S_f ||y_1 - y_2|| at two fixed points; the words before the display, every "
    "f_xi is S_f-smooth, do not admit the instance"
)
_WHY = {
    "L_f": "|f_i'| = |phi'|/c_i <= w",
    "L_g": "|c_i| <= 1 + 3 w count",
    "S_f": "the windows where f_i is curved are disjoint, so that E|f'(y_1) - f'(y_2)| <= |y_1 - y_2|/count",
    "S_g": "g is affine; the paper wants a positive bound",
    "sigma_g": "the inner function has no noise; the paper wants a positive bound",
    "F_gap": "F = phi exactly, with minimum 0",
}


def constants(L_f: Q | int, L_g: Q | int, S_f: Q | int, **more: Q) -> dict[str, Any]:
    """Constants of an affine g without noise: the paper asks for positive bounds."""
    return {"L_f": Q(L_f), "L_g": Q(L_g), "S_f": Q(S_f), "S_g": TINY, "sigma_g": TINY, **more}


def smoothness(known: Mapping[str, Any]) -> Q:
    """S_F = S_g L_f + S_f L_g^2."""
    found: Q = known["S_g"] * known["L_f"] + known["S_f"] * known["L_g"] ** 2
    return found


def windows(count: int) -> dict[str, Any]:
    """Constants of the instance under the displayed Assumptions 3.1 and 3.2.

    Raises:
        ValueError: the windows overlap.
    """
    for i in (0, count - 2):  # the gap between neighbouring windows is linear in i
        if (1 + 3 * WIDTH * i) * (1 + WIDTH) > (1 + 3 * WIDTH * (i + 1)) * (1 - WIDTH):
            raise ValueError("the windows overlap")
    return constants(WIDTH, 1 + 3 * WIDTH * count, Q(1, count), sigma_g=TINY * WIDTH)


def slope(x: Q) -> Q:
    """phi'."""
    return clip(x - 1, WIDTH)


def case(count: int, start: Q, alpha: Q, beta: Q | None, T: int, **more: int) -> Case:
    """One client with q = 1: x moves by alpha u, where u = phi'(x), or with momentum (1 - beta) u + beta phi'(x) from u_1 = phi'(x_0)."""
    known, x, u, total = windows(count), start, slope(start), Q(0)
    for _ in range(T):
        total += slope(x) ** 2
        x -= alpha * u
        u = slope(x) if beta is None else (1 - beta) * u + beta * slope(x)
    gap = huber(start - 1, WIDTH)
    curvature = (slope(1 + WIDTH) - slope(1 - WIDTH)) / (
        2 * WIDTH
    )  # of f_0 between the ends of its window, for every sample
    return Case(
        {"name": "disjoint windows of curvature", "parameters": {"outcomes": count, "width": WIDTH, "start": start}},
        {n: (v, _WHY[n]) for n, v in {**known, "F_gap": gap}.items()},
        {"alpha": alpha, **({} if beta is None else {"beta": beta}), "q": 1, "m": 1, **more, "T": T},
        total / T,
        {"F_gap >= 0": gap >= 0},
        picture=Picture(
            (lambda shift: slope(1 + shift),),
            (-4 * WIDTH, max(4 * WIDTH, (start - 1) * 5 / 4)),
            {"start": start - 1, "minimiser": 0},
            (-WIDTH, WIDTH),
            "x - 1",
        ),
        choice=DISPLAY,
        assumptions={"3.1": curvature <= known["S_f"], "3.2": known["L_f"] >= WIDTH},
    )


@refutes(
    "fcsg.theorem_4_1",
    "fcsg.expected_smoothness",
    variant="displayed_assumption",
    reading=READING,
    alternatives=SAVED,
)
def fcsg() -> Case:
    """Gradient descent at the largest admitted step oscillates across the minimiser of the window instance for ever."""
    alpha = 1 / (6 * smoothness(windows(40)))
    return case(40, 1 + alpha * WIDTH / 2, alpha, None, 20, N=100)


REFUTATIONS = declared_in(globals())
