"""Trajectories of vanilla FedAvg on the instance of Theorem 4.1, and a figure that corresponds to the paper's figure 6.

Plain float64, independent of `algorithms/`: a cross-check of the torch methods as much as a simulation. Trajectories of
modified FedAvg or FedDRO, run elsewhere, join the figure as `Trajectory` objects.

Source: feddro, Algorithm 1, figure 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .....figures import Plot, legend_below, listed, look, styled
from .instance import PAPER, PAPER_LEVEL, Case, Claim, Instance, local_gradients

#: Step sizes of the figure, all admitted by both of the paper's claims.
FIGURE_ETAS = (1 / 25, 1 / 50, 1 / 100, 1 / 200)
FIGURE_ROUNDS = 400


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
    start: float = float(PAPER_LEVEL),
    instance: Instance = PAPER,
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
    claim = Claim(case, eta_max=PAPER_LEVEL, local_steps=local_steps, instance=instance)
    means = np.empty((steps.shape[0], rounds + 1))
    means[:, 0] = start
    for n in range(rounds):
        points = [means[:, n]] * instance.clients
        for step in range(local_steps):
            gradients, _ = local_gradients(claim, points, step, _slope)
            eta = steps[:, n, step]
            points = [point - eta * gradient for point, gradient in zip(points, gradients, strict=True)]
        means[:, n + 1] = sum(points[1:], points[0]) / instance.clients
    return means


def trajectories(
    case: Case, etas: Sequence[float] = FIGURE_ETAS, rounds: int = FIGURE_ROUNDS, local_steps: int = 2
) -> tuple[Trajectory, ...]:
    """One trajectory per step size, labelled for the figure."""
    values = simulate(case, etas, rounds, local_steps)
    return tuple(
        Trajectory(f"FedAvg, case {case.value}, $\\eta$ = {eta:g}", eta, row)
        for eta, row in zip(etas, values, strict=True)
    )


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


def _slope(y: NDArray[np.float64]) -> NDArray[np.float64]:
    return y / np.sqrt(y * y + 4.0)
