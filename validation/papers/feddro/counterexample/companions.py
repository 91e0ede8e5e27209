"""The counterexample again, with the methods that do converge: modified FedAvg and FedDRO from the same start."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .....algorithms import FedDRO, Method, ModifiedFedAvg, Start, drive
from .....synthetic import problem as find_problem
from .figure import Trajectory

ETA = 0.04
ROUNDS = 400
LOCAL_STEPS = 2


def converging(rounds: int = ROUNDS, eta: float = ETA) -> tuple[Trajectory, ...]:
    """xbar at each communication of modified FedAvg and of FedDRO (no noise, so one run each)."""
    methods: dict[str, Method] = {
        "modified FedAvg": ModifiedFedAvg(eta=eta, I=LOCAL_STEPS),
        "FedDRO": FedDRO(eta=eta, beta=0.5, I=LOCAL_STEPS),
    }
    return tuple(Trajectory(name, eta, _averages(method, rounds)) for name, method in methods.items())


def _averages(method: Method, rounds: int) -> np.ndarray:
    """(rounds + 1,) xbar at rounds 0, 1, 2, ..."""
    problem: Any = find_problem("feddro_counterexample")
    result = drive(
        method,
        problem,
        steps=rounds * LOCAL_STEPS,
        seeds=1,
        start=Start(y=problem.inner_mean(problem.initial_point.unsqueeze(0)).squeeze(0)),
        record={"x": lambda _problem, state, _t: state.average[:, 0]},
        every=LOCAL_STEPS,
        average=False,
    )
    return torch.as_tensor(result.values["x"]).flatten().numpy()
