"""FCSG: a printed claim refuted under the displayed Assumption 3.1 (see `bounds/audit/refutation.py`).

Under the words before the display, each f_xi smooth for every xi, no instance is known.
"""

from __future__ import annotations

from typing import Any

from ...audit.picture import Picture
from ...audit.refutation import Case, declared_in, refutes
from . import instances as lab
from .instances import Q, smoothness

READING = "the displayed formula of Assumption 3.1 alone"
DISPLAY = (
    "E||grad f_xi(y_1) - grad f_xi(y_2)|| <= S_f ||y_1 - y_2|| at two fixed points; the words before the display, every "
    "f_xi is S_f-smooth, do not admit the instance"
)
WINDOW_WHY = {
    "L_f": "|f_i'| = |phi'|/c_i <= w",
    "L_g": "|c_i| <= 1 + 3 w count",
    "S_f": "the windows where f_i is curved are disjoint, so that E|f'(y_1) - f'(y_2)| <= |y_1 - y_2|/count",
    "S_g": "g is affine; the paper wants a positive bound",
    "sigma_g": "the inner function has no noise; the paper wants a positive bound",
    "F_gap": "F = phi exactly, with minimum 0",
}


def windows(method: str, count: int, start: Q, alpha: Q, beta: Q, q: int, T: int, **more: int) -> Case:
    """The window instance: `count` outcomes with f_i(y) = phi(y/c_i), g(x, i) = c_i x and no gradient noise at all."""
    known = lab.windows(count)
    path = lab.run(method, [lab.window_slope], alpha, beta, q, T, start)
    momentum: dict[str, Any] = {"beta": beta} if beta else {}
    return Case(
        {
            "name": "disjoint windows of curvature",
            "parameters": {"outcomes": count, "width": lab.WIDTH, "start": start},
        },
        {n: (v, WINDOW_WHY[n]) for n, v in {**known, "F_gap": lab.window_height(start)}.items()},
        {"alpha": alpha, **momentum, "q": q, "m": 1, **more, "T": T},
        path.average(lab.window_slope),
        {"F_gap >= 0": lab.window_height(start) >= 0},
        picture=Picture(
            (lambda shift: lab.window_slope(1 + shift),),
            (-4 * lab.WIDTH, max(4 * lab.WIDTH, (start - 1) * 5 / 4)),
            {"start": start - 1, "minimiser": 0},
            (-lab.WIDTH, lab.WIDTH),
            "x - 1",
        ),
        choice=DISPLAY,
        assumptions={"3.1": lab.window_curvature() <= known["S_f"], "3.2": known["L_f"] >= lab.WIDTH},
    )


@refutes(
    "fcsg.theorem_4_1",
    "fcsg.expected_smoothness",
    variant="displayed_assumption",
    reading=READING,
    alternatives={"every sample has the Lipschitz constants, as the lemmas use": "not refuted"},
)
def fcsg() -> Case:
    """Gradient descent at the largest admitted step oscillates across the minimiser of the window instance for ever."""
    known = lab.windows(40)
    alpha = 1 / (6 * smoothness(known))
    start = 1 + alpha * lab.WIDTH / 2
    return windows("fcsg", 40, start, alpha, Q(0), 1, 20, N=100)


REFUTATIONS = declared_in(globals())
