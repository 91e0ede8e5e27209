"""Trajectories on the instance of Theorem 4.1, and a figure that corresponds to the paper's figure 6.

Vanilla FedAvg in plain float64, independent of `algorithms/`: a cross-check of the torch methods as much as a simulation.
Beside it the two methods that do converge, modified FedAvg and FedDRO, run by those.

Source: feddro, Algorithm 1, figure 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from .....algorithms import FedDRO, Method, ModifiedFedAvg, Start, drive
from .....figures import Plot, legend_below, listed, look, styled
from .....synthetic import problem as find_problem
from .consequences import limit_point
from .instance import PAPER_LEVEL, Case, Claim, one_round

#: Step sizes of the figure, all admitted by both of the paper's claims.
FIGURE_ETAS = (1 / 25, 1 / 50, 1 / 100, 1 / 200)
FIGURE_ROUNDS = 400
LOCAL_STEPS = 2
#: Of the methods that converge.
ETA = 0.04


@dataclass(frozen=True)
class Trajectory:
    """xbar at communication rounds 0, 1, 2, ...; `values` (rounds + 1,)."""

    label: str
    eta: float
    values: NDArray[np.float64]


def simulate(
    case: Case,
    etas: NDArray[np.float64] | Sequence[float],
    rounds: int,
    local_steps: int = 2,
) -> NDArray[np.float64]:
    """Vanilla FedAvg, deterministic, all step sizes at once.

    Args: etas: (grid,) one step size per run, or (grid, rounds, local_steps) for step sizes that vary.
    Returns: xbar at every communication round, (grid, rounds + 1).
    """
    steps = np.asarray(etas, dtype=np.float64)
    if steps.ndim == 1:
        steps = np.broadcast_to(steps[:, None, None], (steps.size, rounds, local_steps))
    if steps.shape[1:] != (rounds, local_steps) or not (np.isfinite(steps).all() and (steps > 0).all()):
        raise ValueError(f"etas: wanted positive (grid,) or (grid, {rounds}, {local_steps}), got shape {steps.shape}")
    claim = Claim(case, eta_max=PAPER_LEVEL, local_steps=local_steps)
    means = np.empty((steps.shape[0], rounds + 1))
    means[:, 0] = float(PAPER_LEVEL)
    for n in range(rounds):
        means[:, n + 1], _ = one_round(claim, means[:, n], [steps[:, n, step] for step in range(local_steps)])
    return means


def trajectories(case: Case) -> tuple[Trajectory, ...]:
    """One trajectory per step size of the figure, labelled for it."""
    values = simulate(case, FIGURE_ETAS, FIGURE_ROUNDS, LOCAL_STEPS)
    return tuple(
        Trajectory(f"FedAvg, case {case.value}, $\\eta$ = {eta:g}", eta, row)
        for eta, row in zip(FIGURE_ETAS, values, strict=True)
    )


def converging() -> tuple[Trajectory, ...]:
    """xbar at each communication of modified FedAvg and of FedDRO (no noise, so one run each)."""
    methods: dict[str, Method] = {
        "modified FedAvg": ModifiedFedAvg(eta=ETA, I=LOCAL_STEPS),
        "FedDRO": FedDRO(eta=ETA, beta=0.5, I=LOCAL_STEPS),
    }
    return tuple(Trajectory(name, ETA, _averages(method)) for name, method in methods.items())


def _averages(method: Method) -> np.ndarray:
    """(rounds + 1,) xbar at rounds 0, 1, 2, ..."""
    problem: Any = find_problem("feddro_counterexample")
    result = drive(
        method,
        problem,
        steps=FIGURE_ROUNDS * LOCAL_STEPS,
        seeds=1,
        start=Start(y=problem.inner_mean(problem.initial_point.unsqueeze(0)).squeeze(0)),
        record={"x": lambda _problem, state, _t: state.average[:, 0]},
        every=LOCAL_STEPS,
        average=False,
    )
    return torch.as_tensor(result.values["x"]).flatten().numpy()


def draw(
    drawn: Sequence[Trajectory],
    extra: Sequence[Trajectory] = (),
    limits: Sequence[float] = (),
    title: str = "",
) -> Plot:
    """xbar against communication rounds, FedAvg first, then `extra` (other methods).

    Args: limits: certified limit points, one per trajectory of `drawn`, marked at its right end.
    """
    everything = (*drawn, *extra)
    with styled(7.0, 4.0, title=title) as figure:
        axes = figure.add_subplot(xlabel="communication round", ylabel=r"$\bar{x}$ at each communication round")
        for i, one in enumerate(everything):
            shape = look(i)
            axes.plot(one.values, label=one.label, color=shape["color"], linestyle=shape["linestyle"])
        for i, (one, limit) in enumerate(zip(drawn, limits, strict=False)):
            label = "certified limit point" if i == 0 else None
            axes.plot(one.values.size - 1, limit, "o", color=look(i)["color"], markersize=5, label=label)
        axes.axhline(float(PAPER_LEVEL), color="0.45", linewidth=0.9, linestyle=":")
        axes.axhline(0.0, color="0.45", linewidth=0.9)
        note: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
        note |= {"fontsize": "small", "color": "0.35"}
        axes.annotate("certified floor 1/2 of FedAvg", (0.99, float(PAPER_LEVEL)), **note)
        axes.annotate("stationary point $x^* = 0$", (0.99, 0.0), **note)
        legend_below(figure)
    return Plot(
        figure, title, {f"{one.label}: xbar": listed([float(value) for value in one.values]) for one in everything}
    )


def figure(case: str = "II", extra: tuple[Trajectory, ...] | None = None) -> Plot:
    """The figure of a case, certified limit points marked, with other methods' runs: those that converge without it."""
    chosen = Case(case)
    limits = [float(limit_point(chosen, Fraction(eta)).x.lower) for eta in FIGURE_ETAS]
    title = f"Vanilla FedAvg, case {chosen.value}: I = 2, xbar^0 = 1/2"
    return draw(trajectories(chosen), converging() if extra is None else extra, limits, title=title)


def scene(case: str) -> dict[str, Any]:
    """xbar at each communication on the objective: FedAvg at several step sizes, and the methods that converge."""
    stuck = [
        (f"FedAvg, step {one.eta:g}", one.values, float(limit_point(Case(case), Fraction(one.eta)).x.lower))
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
