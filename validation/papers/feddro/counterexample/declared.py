"""The counterexample of Theorem 4.1 as commands, report and gallery take it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .....figures import Plot
from ....runs.declaration import Counterexample
from . import Case, figure, limit_point, summary, trajectories
from .companions import converging
from .instance import PAPER_LEVEL

_CAPTION = (
    "xbar at each communication of vanilla FedAvg for several step sizes, with certified limit points, and the two "
    "methods that do reach the stationary point 0."
)
_ABOUT = (
    "Two clients, g_1 = 4x - 4 and g_2 = -2x + 4, f = sqrt(y^2 + 4): the objective is sqrt(x^2 + 4), minimised at 0. The "
    "table certifies, in ball arithmetic and for every step size of the range at once, that the average never comes below "
    "1/2 at a communication."
)


def text(found: Mapping[str, Any]) -> str:
    """What `fedco counterexample` prints of a case."""
    certificate, limits = found["certificate"], found["limit_points"]
    points = [
        f"  eta = {p['eta_upper']:.5f}: xbar -> {p['x_lower']:.9f}, ||grad Phi|| = {p['gradient_norm_lower']:.6f}"
        for p in limits["points"]
    ]
    zero = limits["eta_to_zero"]
    return "\n".join(
        [
            f"Case {found['case']}: {found['claim']['statement']} for 0 < eta <= {found['claim']['eta_upper']}",
            f"  certificate: {certificate['status']} up to eta = {certificate['eta_certified']}, boxes: {certificate['boxes']}, "
            f"re-checked with fractions: {certificate['rechecked_with_fractions']}",
            f"  eta -> 0: xbar -> {zero['x_lower']:.9f}, ||grad Phi|| = {zero['gradient_norm_lower']:.6f} (the minimiser is 0)",
            *points,
        ]
    )


def row(found: Mapping[str, Any]) -> dict[str, str]:
    """The row of a case in the report, by heading."""
    certificate, last = found["certificate"], found["limit_points"]["points"][-1]
    return {
        "case": found["case"],
        "claimed range": f"0 < eta < {found['claim']['eta_upper']}",
        "certificate": f"{certificate['status']}, {certificate['boxes']} boxes",
        "range certified here": found["beyond_the_claim"]["two_local_steps"]["eta_certified"],
        "limit point at the end of the range": f"{last['x_lower']:.9f}",
        "||grad Phi|| there": f"{last['gradient_norm_lower']:.6f}",
    }


def plot(case: str) -> Plot:
    """The figure of a case, with the methods that converge beside it."""
    return figure(case, converging())


def scene(case: str) -> dict[str, Any]:
    """xbar at each communication on the objective: FedAvg at several step sizes, and the methods that converge."""
    stuck = [
        (f"FedAvg, step {one.eta:g}", one.values, float(limit_point(Case(case), Fraction(one.eta)).lower))
        for one in trajectories(Case(case))
    ]
    x = np.linspace(-0.6, 1.8, 97)
    return {
        "landscape": {"x": x.tolist(), "y": np.sqrt(x**2 + 4).tolist(), "label": "the objective sqrt(x² + 4)"},
        "paths": [
            *({"name": n, "values": _short(v), "converges": False, "limit": end} for n, v, end in stuck),
            *({"name": one.label, "values": _short(one.values), "converges": True} for one in converging()),
        ],
        "story": "All start at 1/2. At every step size FedAvg climbs away from the stationary point, and stays there; the two "
        "other methods (dashed) go down to it.",
        "floor": {"at": float(PAPER_LEVEL), "text": "FedAvg never comes in here"},
        "target": {"at": 0.0, "text": "stationary point 0"},
        "round": "communication round",
        "variable": "average model",
    }


def _short(values: NDArray[np.float64]) -> list[float]:
    return [float(f"{value:.6g}") for value in values]


COUNTEREXAMPLE = Counterexample(
    "Vanilla FedAvg does not converge", _ABOUT, ("I", "II"), summary, text, row, plot, _CAPTION, scene
)
